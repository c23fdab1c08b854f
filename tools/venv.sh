#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Makes the Python environment of the build: CMake, what the host tools need (requirements.txt), and the commands nf2 and
# norbench, which run the package of this source tree. Usage: venv.sh DESTINATION [REQUIREMENTS]   (PYTHON names another
# interpreter). With a second list of requirements the environment exists already, and gets those, too.
set -eu

python=${PYTHON:-python3}
root=$(cd "$(dirname "$0")/.." && pwd)
requirements=$root/tools/requirements.txt

fail() {
    echo "venv.sh: $*" >&2
    exit 1
}

[ $# -eq 1 ] || [ $# -eq 2 ] || fail "usage: venv.sh DESTINATION [REQUIREMENTS]"
venv=$1

# install LIST
install() {
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --prefer-binary --requirement "$1" ||
        fail "could not install what $1 lists (is the Python package index reachable?)"
}

if [ $# -eq 2 ]; then
    install "$2"
    exit 0
fi

command -v "${CC:-cc}" >/dev/null 2>&1 || fail "no C compiler (${CC:-cc}) was found: install one (Debian: gcc), or name it in CC"
command -v "$python" >/dev/null 2>&1 || fail "$python was not found: install Python 3.11 or later (Debian: python3), or name it in PYTHON"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    fail "$("$python" --version) is too old: Python 3.11 or later is needed (name it in PYTHON)"
"$python" -c 'import ensurepip' 2>/dev/null || fail "this Python cannot make environments: install its venv module (Debian: python3-venv)"

"$python" -m venv "$venv" || fail "could not make $venv"
install "$requirements"

site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
echo "$root/python" >"$site/nf2fs-source.pth"

# command NAME MODULE: a console command that calls MODULE.main().
command_file() {
    printf '#!%s/bin/python\nfrom %s import main\n\nmain()\n' "$venv" "$2" >"$venv/bin/$1"
    chmod +x "$venv/bin/$1"
}
command_file nf2 nf2fs.cli
command_file norbench nf2fs.bench_cli
touch "$venv/ready"
