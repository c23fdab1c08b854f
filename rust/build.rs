// SPDX-License-Identifier: BSD-2-Clause
//! Compiles the core, which is C, and learns how large its structures are on the target.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// What `layout.c` says, in its order. Sizes and offsets in bytes.
const NAMES: [&str; 27] = [
    "FS_SIZE",
    "FS_ALIGN",
    "FILE_SIZE",
    "FILE_ALIGN",
    "DIR_SIZE",
    "DIR_ALIGN",
    "FLASH_SIZE",
    "FLASH_LARGE_ERASE_US",
    "CONFIG_SIZE",
    "CONFIG_WEAR_AGE",
    "CONFIG_CLOCK_CONTEXT",
    "CONFIG_TIME_S",
    "ATTR_SIZE",
    "ATTR_DATA",
    "STATFS_SIZE",
    "HEALTH_SIZE",
    "HEALTH_ERASES_TOTAL",
    "STAT_SIZE",
    "DIRENT_SIZE",
    "DIRENT_NAME",
    "FINDING_SIZE",
    "FINDING_NAME",
    "TYPE_SIZE",
    "KIND_SIZE",
    "BUFFER_BASE",
    "BLOCKS_MIN",
    "FOUND_KINDS",
];
const MARK: &[u8] = b"NF2-LAYOUT: ";

fn main() {
    let crate_folder = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("set by cargo"));
    let core = core_folder(&crate_folder);

    let mut layout = compiler(&core);
    // Link-time optimization would leave no bytes of the array in the object.
    let objects = layout
        .flag_if_supported("-fno-lto")
        .file(crate_folder.join("layout.c"))
        .compile_intermediates();
    let numbers = numbers_in(&fs::read(&objects[0]).expect("the object of layout.c is read"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("set by cargo"));
    fs::write(out.join("layout.rs"), rust_of(&numbers)).expect("layout.rs is written");

    let mut build = compiler(&core);
    for source in sources(&core.join("src")) {
        build.file(source);
    }
    if env::var_os("CARGO_FEATURE_STD").is_some()
        && env::var("DEBUG").is_ok_and(|debug| debug != "false")
    {
        build.define("NF2_DEBUG", None);
    }
    build.compile("nf2fs");

    for watched in ["build.rs", "layout.c"] {
        println!("cargo:rerun-if-changed={watched}");
    }
    for watched in ["src", "include"] {
        println!("cargo:rerun-if-changed={}", core.join(watched).display());
    }
}

/// The core in the package, or in the repository around the crate.
fn core_folder(crate_folder: &Path) -> PathBuf {
    let mut candidates = vec![crate_folder.join("core")];
    candidates.extend(crate_folder.parent().map(Path::to_path_buf));
    candidates
        .into_iter()
        .find(|folder| folder.join("include/nf2fs/nf2fs.h").is_file() && folder.join("src").is_dir())
        .expect("the C sources lie in core/ of the package, or beside the crate in the repository of NF2FS")
}

fn compiler(core: &Path) -> cc::Build {
    let mut build = cc::Build::new();
    build.std("c11").include(core.join("include")).include(core.join("src"));
    build
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(folder)
        .expect("the folder of the C sources is read")
        .map(|entry| entry.expect("an entry of the folder is read").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "c"))
        .collect();
    found.sort();
    found
}

fn numbers_in(object: &[u8]) -> Vec<u32> {
    let start = object.windows(MARK.len()).position(|window| window == MARK).expect(
        "the object of layout.c holds the layout: was it compiled for link-time optimization?",
    ) + MARK.len();
    let length =
        object[start..].iter().position(|&byte| byte == b';').expect("the layout has an end");
    let text = std::str::from_utf8(&object[start..start + length]).expect("the layout is text");
    let numbers: Vec<u32> = text
        .split_whitespace()
        .map(|word| word.parse().expect("the layout is made of numbers"))
        .collect();
    assert_eq!(numbers.len(), NAMES.len(), "layout.c and build.rs list the same numbers");
    numbers
}

fn rust_of(numbers: &[u32]) -> String {
    let mut text = String::from("// Made by build.rs.\n");
    let value =
        |name: &str| numbers[NAMES.iter().position(|&known| known == name).expect("a known name")];
    for (name, number) in NAMES.iter().zip(numbers) {
        text += &format!("pub const {name}: usize = {number};\n");
    }
    for (name, key) in [("Fs", "FS"), ("File", "FILE"), ("Dir", "DIR")] {
        let (size, align) = (value(&format!("{key}_SIZE")), value(&format!("{key}_ALIGN")));
        text += &format!(
            "#[repr(C, align({align}))]\npub struct {name}(#[allow(dead_code)] [u8; {size}]);\n"
        );
    }
    for (name, key) in [("CType", "TYPE_SIZE"), ("CKind", "KIND_SIZE")] {
        text += &format!("pub type {name} = u{};\n", 8 * value(key));
    }
    text
}
