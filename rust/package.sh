#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Makes the package of the crate, with the C sources inside, and compiles it as cargo does before it publishes one.
# Usage: package.sh FOLDER [package|publish --dry-run]   Everything goes into FOLDER.
set -eu

folder=${1:?usage: package.sh FOLDER [CARGO COMMAND]}
shift
[ $# -gt 0 ] || set -- package
here=$(cd "$(dirname "$0")" && pwd)
crate=$folder/nf2fs

rm -rf "$crate"
mkdir -p "$crate/core/include"
cp -R "$here/Cargo.toml" "$here/build.rs" "$here/layout.c" "$here/README.md" "$here/src" "$here/tests" "$here/chip" \
    "$here/../LICENSE" "$crate"
cp -R "$here/../src" "$crate/core/src"
cp -R "$here/../include/nf2fs" "$crate/core/include/nf2fs"

# The folder is made, and no part of a commit.
cd "$crate"
CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$folder/target} cargo "$@" --allow-dirty
