#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Fetches the sources of YAFFS2 (fs/yaffs2 of Debian's source package u-boot) into a build directory.
# Usage: fetch.sh DESTINATION   afterwards configure with -DNF2FS_YAFFS2_DIR=DESTINATION
# Pinned by version and hash, unpacked unmodified; does nothing where the same sources lie there already.
# Needs apt-get and Debian's keyring, but neither root nor a change of the system's package sources.
set -eu

version=2023.01+dfsg
archive=u-boot_$version.orig.tar.xz
hash=e75da6f089d063aaef39a1c17f1631791d87700662624e18de2121fa39a1ed44
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

fail() {
    echo "fetch.sh: $*" >&2
    exit 1
}

[ $# -eq 1 ] || fail "usage: fetch.sh DESTINATION"
destination=$1
if [ "$(cat "$destination/fetched" 2>/dev/null || true)" = "$hash" ]; then
    echo "YAFFS2 sources are in $destination"
    exit 0
fi
command -v apt-get >/dev/null 2>&1 || fail "apt-get was not found: YAFFS2 comes from Debian's source package u-boot $version"
[ -f "$keyring" ] || fail "$keyring is missing (Debian: debian-archive-keyring)"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/cache/archives/partial"
: >"$work/status"
echo "deb-src [signed-by=$keyring] $mirror bookworm main" >"$work/sources.list"
cat >"$work/apt.conf" <<CONF
Dir::State::lists "$work/lists";
Dir::State::status "$work/status";
Dir::Cache "$work/cache";
Dir::Etc::sourcelist "$work/sources.list";
Dir::Etc::sourceparts "-";
APT::Sandbox::User "root";
CONF
APT_CONFIG=$work/apt.conf
export APT_CONFIG
apt-get -qq update >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "apt-get could not read the package lists of $mirror"; }
(cd "$work" && apt-get -qq source --download-only --tar-only u-boot) >"$work/log" 2>&1 ||
    { cat "$work/log" >&2; fail "apt-get could not download the source package u-boot"; }
[ -f "$work/$archive" ] || fail "the mirror has another version than $version: $(ls "$work" | grep orig || echo none)"
found=$(sha256sum "$work/$archive" | cut -d ' ' -f 1)
[ "$found" = "$hash" ] || fail "$archive has the hash $found, not $hash: not used"

tar -xJf "$work/$archive" -C "$work" --wildcards 'u-boot-2023.01/fs/yaffs2/*' 'u-boot-2023.01/Licenses/gpl-2.0.txt'
mkdir -p "$destination"
cp "$work"/u-boot-2023.01/fs/yaffs2/* "$work/u-boot-2023.01/Licenses/gpl-2.0.txt" "$destination/"
echo "$hash" >"$destination/fetched"
echo "YAFFS2 sources are in $destination"
