#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Fetches the sources of FatFs R0.15 (inside the source package of the Python package fatfs) into a build folder.
# Usage: fetch.sh DESTINATION   afterwards configure with -DNF2FS_FATFS_DIR=DESTINATION
# Pinned by version and hash, unpacked unmodified (their ffconf.h, which is meant to be replaced, is left out); does nothing where the same sources lie there already.
set -eu

version=0.1.2
archive=fatfs-$version.tar.gz
hash=824c7679bc6d25c462b465faf177f81009711cff9bf3001b2a91f9c5bfa5c589
python=${PYTHON:-python3}

fail() {
    echo "fetch.sh: $*" >&2
    exit 1
}

[ $# -eq 1 ] || fail "usage: fetch.sh DESTINATION"
destination=$1
if [ "$(cat "$destination/fetched" 2>/dev/null || true)" = "$hash" ]; then
    echo "FatFs sources are in $destination"
    exit 0
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$python" -m pip download --quiet --disable-pip-version-check --no-deps --no-binary fatfs \
    --dest "$work" "fatfs==$version" >"$work/log" 2>&1 ||
    { cat "$work/log" >&2; fail "pip could not download fatfs $version (is the package index reachable?)"; }
found=$(sha256sum "$work/$archive" | cut -d ' ' -f 1)
[ "$found" = "$hash" ] || fail "$archive has the hash $found, not $hash: not used"

tar -xzf "$work/$archive" -C "$work"
mkdir -p "$destination"
for file in ff.c ff.h ffunicode.c diskio.h; do
    cp "$work/fatfs-$version/foreign/fatfs/source/$file" "$destination/$file"
done
echo "$hash" >"$destination/fetched"
echo "FatFs sources are in $destination"
