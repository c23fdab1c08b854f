#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# What the tests need of the machine beside README's list: FUSE, a browser, cross compilers, emulators. Run as root on Debian it
# installs what is missing, else it says what is. Quick where all is there. Usage: test_needs.sh [--check]   (--check installs
# nothing). Exit code 1: something is missing; the tests that need it are then skipped, and say so.
set -u

root=$(cd "$(dirname "$0")/.." && pwd)

# Each line: Debian's packages, and the command that succeeds where they are there.
needs() {
    cat <<'END'
fuse3: command -v fusermount3
libfuse3-dev pkg-config: pkg-config --exists fuse3
chromium: command -v chromium || command -v chromium-browser || command -v google-chrome
groff-base: command -v groff
g++: command -v c++
ninja-build: command -v ninja
bash: command -v bash
cargo: command -v cargo
binutils: command -v nm
cpio: command -v cpio
qemu-user: command -v qemu-arm
qemu-system-x86: command -v qemu-system-x86_64
gcc-12: command -v gcc-12
xz-utils: command -v xz
clang lld wasi-libc libclang-rt-dev-wasm32: echo 'int main(void) { return 0; }' | clang --target=wasm32-wasi -o /dev/null -x c -
END
}

# The packages of this script's own list that are missing.
missing() {
    needs | while IFS=: read -r packages test; do
        sh -c "$test" >/dev/null 2>&1 || echo "$packages"
    done
}

packages=$(missing | tr '\n' ' ')
if [ -n "$packages" ] && [ "${1:-}" != --check ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    export DEBIAN_FRONTEND=noninteractive
    # shellcheck disable=SC2086
    apt-get update -qq && apt-get -o DPkg::Lock::Timeout=600 install -y -qq --no-install-recommends $packages
    packages=$(missing | tr '\n' ' ')
fi

code=0
if [ -n "$packages" ]; then
    echo "test_needs.sh: missing; on Debian, as root: apt-get install $packages" >&2
    code=1
fi
# The emulators and cross compilers of the firmware see to themselves in the same way.
"$root/ports/firmware/tools.sh" ${1:+"$1"} || code=1
exit $code
