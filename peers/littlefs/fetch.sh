#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Fetches the sources of LittleFS 2.11 (inside the source package of littlefs-python) into a build folder.
# Usage: fetch.sh DESTINATION   afterwards configure with -DNF2FS_LITTLEFS_DIR=DESTINATION
# Pinned by version and hash, unpacked unmodified; does nothing where the same sources lie there already.
set -eu

version=0.19.0
archive=littlefs_python-$version.tar.gz
hash=4ce8c6eeeb2703abaf8cb60f2dab624b17af42b13df3dbc6c42d4142bad79a59
python=${PYTHON:-python3}

fail() {
    echo "fetch.sh: $*" >&2
    exit 1
}

[ $# -eq 1 ] || fail "usage: fetch.sh DESTINATION"
destination=$1
if [ "$(cat "$destination/fetched" 2>/dev/null || true)" = "$hash" ]; then
    echo "LittleFS sources are in $destination"
    exit 0
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$python" -m pip download --quiet --disable-pip-version-check --no-deps --no-binary littlefs-python \
    --dest "$work" "littlefs-python==$version" >"$work/log" 2>&1 ||
    { cat "$work/log" >&2; fail "pip could not download littlefs-python $version (is the package index reachable?)"; }
found=$(sha256sum "$work/$archive" | cut -d ' ' -f 1)
[ "$found" = "$hash" ] || fail "$archive has the hash $found, not $hash: not used"

tar -xzf "$work/$archive" -C "$work"
mkdir -p "$destination"
for file in lfs.c lfs.h lfs_util.c lfs_util.h LICENSE.md; do
    cp "$work/littlefs_python-$version/littlefs/$file" "$destination/$file"
done
echo "$hash" >"$destination/fetched"
echo "LittleFS sources are in $destination"
