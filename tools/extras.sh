#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Installs what requirements-extras.txt lists into an environment that venv.sh made; what this machine has no means for is left out,
# with a word on what to install. Usage: extras.sh VENV
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
list=$root/tools/requirements-extras.txt

[ $# -eq 1 ] || { echo "usage: extras.sh VENV" >&2; exit 1; }
venv=$1

install() {
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "$@"
}

grep -v '^#' "$list" | while read -r package; do
    case $package in
    pyfuse3*)
        if ! pkg-config --exists fuse3 2>/dev/null; then
            echo "extras.sh: \`nf2 mount' is left out: it needs libfuse 3 (Debian: libfuse3-dev, pkg-config)" >&2
            continue
        fi ;;
    esac
    install "$package" || echo "extras.sh: $package could not be installed: what needs it is left out" >&2
done
touch "$venv/extras"
