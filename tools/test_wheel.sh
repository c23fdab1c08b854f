#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Installs the wheel under one Python and runs the package's tests over it. Usage: test_wheel.sh PYTHON ENVIRONMENT DIRECTORY-OF-THE-WHEEL
set -eu

[ $# -eq 3 ] || { echo "usage: test_wheel.sh PYTHON ENVIRONMENT DIRECTORY" >&2; exit 2; }
python=$1
venv=$2
wheels=$3
cd "$(dirname "$0")/.."

if ! "$python" -c pass 2>/dev/null; then
    echo "test_wheel.sh: $python is not installed: not tested"
    exit 0
fi
[ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
grep -v '^matplotlib' tools/requirements-test.txt >"$venv/requirements.txt"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --requirement "$venv/requirements.txt" "$wheels"/nf2fs-*.whl
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --force-reinstall "$wheels"/nf2fs-*.whl
echo "$("$venv/bin/python" --version):"
unset NF2FS_LIBRARY NORBENCH_CELL
"$venv/bin/python" -c 'import nf2fs, sys; sys.exit("site-packages" not in nf2fs.__file__)'
"$venv/bin/python" -m pytest -q -p no:cacheprovider -o pythonpath=tests/python tests/python/test_python_api.py tests/python/test_volume.py \
    tests/python/test_nf2.py tests/python/test_locks.py tests/python/test_check.py tests/python/test_safe.py tests/python/test_diff.py \
    tests/python/test_pack.py tests/python/test_dump_records.py
"$venv/bin/nf2" --version
