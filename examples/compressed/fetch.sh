#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Fetches the C sources of LZ4 (1.9.4, inside the source package of the Python package lz4) and of heatshrink (inside that of
# heatshrink2) into a folder. Usage: fetch.sh DESTINATION   afterwards configure with -DNF2FS_CODECS_DIR=DESTINATION
# Pinned by version and hash, unpacked unmodified; does nothing where the same sources lie there already.
set -eu

lz4=lz4-4.4.5
lz4_hash=5f0b9e53c1e82e88c10d7c180069363980136b9d7a8306c4dca4f760d60c39f0
heatshrink=heatshrink2-0.15.0
heatshrink_hash=d57904c07414fdfd9ae33182d613bac754b0137479f47bf865ce267157fc6e18
python=${PYTHON:-python3}

fail() {
    echo "fetch.sh: $*" >&2
    exit 1
}

[ $# -eq 1 ] || fail "usage: fetch.sh DESTINATION"
destination=$1
if [ "$(cat "$destination/fetched" 2>/dev/null || true)" = "$lz4_hash $heatshrink_hash" ]; then
    echo "the codecs' sources are in $destination"
    exit 0
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# get NAME-VERSION HASH: the source package, unpacked
get() {
    "$python" -m pip download --quiet --disable-pip-version-check --no-deps --no-binary :all: --dest "$work" \
        "${1%-*}==${1##*-}" >"$work/log" 2>&1 ||
        { cat "$work/log" >&2; fail "pip could not download $1 (is the package index reachable?)"; }
    found=$(sha256sum "$work/$1.tar.gz" | cut -d ' ' -f 1)
    [ "$found" = "$2" ] || fail "$1.tar.gz has the hash $found, not $2: not used"
    tar -xzf "$work/$1.tar.gz" -C "$work"
}

get "$lz4" "$lz4_hash"
get "$heatshrink" "$heatshrink_hash"
mkdir -p "$destination"
cp "$work/$lz4/lz4libs/lz4.c" "$work/$lz4/lz4libs/lz4.h" "$destination/"
for file in heatshrink_decoder.c heatshrink_decoder.h heatshrink_common.h heatshrink_config.h; do
    cp "$work/$heatshrink/heatshrink2/_heatshrink/$file" "$destination/$file"
done
echo "$lz4_hash $heatshrink_hash" >"$destination/fetched"
echo "the codecs' sources are in $destination"
