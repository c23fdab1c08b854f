#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The core, the virtual chip, repair and the inspector as one WebAssembly module, for the pages of python/nf2fs/browser.
# Usage: wasm.sh MODULE. Needs clang with its wasm32 target, lld and wasi-libc (Debian: clang lld wasi-libc
# libclang-rt-dev-wasm32; CLANG names another clang).
set -eu

out=$1
root=$(cd "$(dirname "$0")/.." && pwd)
clang=${CLANG:-clang}
vflash=$(ls "$root"/vflash/*.c | grep -v -e /spi_ -e /image.c)
sources="$(ls "$root"/src/*.c "$root"/repair/*.c "$root"/inspect/*.c "$root"/python/native/*.c | grep -v /host_trace.c) $vflash"

mkdir -p "$(dirname "$out")"
# A stack for repair's largest buffers; memory grows with the image.
# shellcheck disable=SC2086
"$clang" --target=wasm32-wasi -mexec-model=reactor -Oz -std=c11 -Wall -Wextra -fvisibility=hidden \
    -I"$root/include" -I"$root" -I"$root/src" -I"$root/repair" -I"$root/vflash" -I"$root/python/native" \
    -Wl,--export-dynamic,--export=malloc,--export=free,--strip-all,-z,stack-size=262144 \
    -o "$out.new" $sources
mv "$out.new" "$out"
