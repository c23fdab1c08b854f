#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Fetches the FreeRTOS kernel 11.2.0 (MIT), which the crate freertos-next carries, into a build directory.
# Usage: fetch.sh DESTINATION   afterwards configure with -DNF2FS_FREERTOS_DIR=DESTINATION
# Pinned by version and hash, unpacked unmodified; does nothing where the same sources lie there already.
set -eu

version=0.12.0
name=freertos-next-$version
hash=b7824fb42660c16e1b3b573eef99c2fe5c5cba6294a631c309084635f6bfcbb0

fail() {
    echo "fetch.sh: $*" >&2
    exit 1
}

[ $# -eq 1 ] || fail "usage: fetch.sh DESTINATION"
destination=$1
if [ "$(cat "$destination/fetched" 2>/dev/null || true)" = "$hash" ]; then
    echo "FreeRTOS sources are in $destination"
    exit 0
fi
command -v cargo >/dev/null 2>&1 ||
    fail "cargo was not found: install it (Debian: cargo), or unpack the FreeRTOS kernel elsewhere and set NF2FS_FREERTOS_DIR"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/src"
: >"$work/src/lib.rs"
printf '[package]\nname = "fetch"\nversion = "0.0.0"\nedition = "2021"\n[dependencies]\nfreertos-next = "=%s"\n' \
    "$version" >"$work/Cargo.toml"
CARGO_HOME="$work/home" cargo fetch --quiet --manifest-path "$work/Cargo.toml" >"$work/log" 2>&1 ||
    { cat "$work/log" >&2; fail "cargo could not fetch $name (is the crate registry reachable?)"; }
archive=$(find "$work/home/registry/cache" -name "$name.crate")
found=$(sha256sum "$archive" | cut -d ' ' -f 1)
[ "$found" = "$hash" ] || fail "$name.crate has the hash $found, not $hash: not used"

tar -xzf "$archive" -C "$work"
mkdir -p "$destination"
cp -R "$work/$name/FreeRTOS-Kernel/." "$destination/"
echo "$hash" >"$destination/fetched"
echo "FreeRTOS sources are in $destination"
