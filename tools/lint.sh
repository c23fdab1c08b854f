#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# lint.sh "SOURCES" "INCLUDE DIRECTORIES": ruff over the Python code, clang-tidy over these sources.
# A tool that is missing is named and left out; findings make it fail, and so does having neither.
# RUFF and CLANG_TIDY name the programs, where they are not on the path.
set -u
RUFF=${RUFF:-ruff}
CLANG_TIDY=${CLANG_TIDY:-clang-tidy}
ran=0
failed=0

if command -v "$RUFF" >/dev/null; then
    ran=1
    echo "lint: ruff check"
    "$RUFF" check . || failed=1
else
    echo "lint: ruff was not found: pip install ruff, or name it in RUFF" >&2
fi

if command -v "$CLANG_TIDY" >/dev/null; then
    ran=1
    echo "lint: clang-tidy, a minute or two"
    set -- "$1" $(printf -- '-I%s ' $2)
    sources=$1
    shift
    "$CLANG_TIDY" --quiet $sources -- -std=c11 -DNF2_DEBUG "$@" 2>/dev/null || failed=1
else
    echo "lint: clang-tidy was not found (Debian: clang-tidy), or name it in CLANG_TIDY" >&2
fi

if [ "$ran" = 0 ]; then
    exit 1
fi
exit "$failed"
