// SPDX-License-Identifier: BSD-2-Clause
//! Compiles the virtual chip of the repository.

use std::path::Path;

const SOURCES: [&str; 18] = [
    "background",
    "catalogue",
    "checkpoint",
    "chip_file",
    "conditions",
    "count",
    "fault",
    "image",
    "nand",
    "nand_driver",
    "nand_errors",
    "rules",
    "spi_array",
    "spi_chip",
    "spi_kinds",
    "spi_sfdp",
    "units",
    "vflash",
];

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut build = cc::Build::new();
    build.opt_level(2).include(root.join("include")).include(root.join("vflash")).file("glue.c");
    for source in SOURCES {
        build.file(root.join("vflash").join(source).with_extension("c"));
    }
    build.compile("nf2fs_chip");
    println!("cargo:rerun-if-changed={}", root.join("vflash").display());
    println!("cargo:rerun-if-changed=glue.c");
    println!("cargo:rerun-if-changed=build.rs");
}
