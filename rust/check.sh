#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# All that is checked of the crate: tests, clippy, documentation, format, package, and the build for a Cortex-M4.
# Usage: check.sh BUILD   What is made goes into BUILD/rust and BUILD/crate. A tool that is missing is named, and its step left out.
set -eu

build=$(mkdir -p "${1:?usage: check.sh BUILD}" && cd "$1" && pwd)
cd "$(dirname "$0")"
export CARGO_TARGET_DIR="$build/rust"
target=thumbv7em-none-eabihf

command -v cargo >/dev/null || { echo "rust/check.sh: cargo was not found: nothing was checked" >&2; exit 1; }

step() {
    echo "== $1"
    shift
    "$@"
}

left_out() {
    echo "== left out: $1" >&2
}

step "tests" cargo test --quiet --workspace
step "without std" cargo check --lib
if cargo clippy --version >/dev/null 2>&1; then
    step "clippy" cargo clippy --quiet --workspace --all-targets -- -D warnings
    step "clippy without std" cargo clippy --quiet --lib --features defmt -- -D warnings
else
    left_out "clippy: cargo clippy is missing"
fi
if cargo fmt --version >/dev/null 2>&1; then
    step "format" cargo fmt --all --check
else
    left_out "format: cargo fmt is missing"
fi
step "documentation" env RUSTDOCFLAGS="-D warnings" cargo doc --quiet --no-deps --features std
step "package" ./package.sh "$build/crate" package --quiet
if ! command -v arm-none-eabi-gcc >/dev/null; then
    left_out "$target: arm-none-eabi-gcc is missing"
elif ! rustc --print target-libdir --target "$target" | xargs test -d; then
    left_out "$target: the standard library for it is missing (rustup target add $target)"
else
    step "$target" cargo clippy --quiet --lib --target "$target" -- -D warnings
    step "$target" cargo build --quiet --lib --release --target "$target"
    step "$target, the embassy tasks" cargo build --quiet --lib --release --target "$target" --manifest-path embassy/Cargo.toml
    if command -v qemu-system-arm >/dev/null && command -v timeout >/dev/null; then
        step "$target, in an emulator" cd firmware
        cargo build --quiet --release
        timeout 120 cargo run --quiet --release
        cd ..
    else
        left_out "the run on a Cortex-M4: qemu-system-arm is missing"
    fi
fi
step "the bench, with a part of its work" cargo test --quiet --release --manifest-path bench/Cargo.toml
step "the embassy example" cargo build --quiet --release --features measure --manifest-path embassy/Cargo.toml
echo "== the crate is in order"
