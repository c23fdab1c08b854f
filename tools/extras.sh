#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Installs what requirements-extras.txt lists into an environment that venv.sh made; what this machine has no means for is left out,
# with a word on what to install, also in VENV/left-out. Usage: extras.sh VENV
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
list=$root/tools/requirements-extras.txt

[ $# -eq 1 ] || { echo "usage: extras.sh VENV" >&2; exit 1; }
venv=$1
left_out=$venv/left-out
rm -f "$venv/extras" "$left_out"

leave_out() {
    echo "extras.sh: $*" | tee -a "$left_out" >&2
}

install() {
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "$@"
}

grep -v '^#' "$list" | while read -r package; do
    case $package in
    pyfuse3*)
        if ! pkg-config --exists fuse3 2>/dev/null; then
            leave_out "\`nf2 mount' is left out: it needs libfuse 3 (Debian: fuse3, libfuse3-dev, pkg-config); then \`make extras' again"
            continue
        fi ;;
    esac
    install "$package" || leave_out "$package could not be installed: what needs it is left out"
done
[ -e "$left_out" ] || touch "$venv/extras"
