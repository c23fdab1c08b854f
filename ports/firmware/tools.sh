#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Sees to the emulator and the cross compilers: installs them with apt-get where this is run as root on Debian, else says
# what to install. Usage: tools.sh [--check]   (--check installs nothing). Exit code 1: something is missing.
set -eu

packages="qemu-system-arm qemu-system-misc gcc-arm-none-eabi libnewlib-arm-none-eabi gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf"

missing() {
    for tool in qemu-system-arm qemu-system-riscv32 arm-none-eabi-gcc riscv64-unknown-elf-gcc; do
        command -v "$tool" >/dev/null 2>&1 || echo "$tool"
    done
    printf '#include <stdio.h>\n' | arm-none-eabi-gcc -fsyntax-only -xc - >/dev/null 2>&1 || echo newlib
    printf "#include <string.h>\n" | riscv64-unknown-elf-gcc --specs=picolibc.specs -fsyntax-only -xc - >/dev/null 2>&1 || echo picolibc
}

[ -n "$(missing)" ] || exit 0
if [ "${1:-}" != --check ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    # shellcheck disable=SC2086
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages; } >&2
fi
[ -z "$(missing)" ] || {
    echo "tools.sh: missing: $(missing | tr '\n' ' '); on Debian, as root: apt-get install $packages" >&2
    exit 1
}
