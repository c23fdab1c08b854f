// SPDX-License-Identifier: BSD-2-Clause
//! Tells the linker where memory.x lies.

fn main() {
    println!("cargo:rustc-link-search={}", env!("CARGO_MANIFEST_DIR"));
    println!("cargo:rerun-if-changed=memory.x");
}
