// SPDX-License-Identifier: BSD-2-Clause
//! The C functions and structures. What they promise is in `nf2fs.h`.
//!
//! `layout` comes from the C compiler. The structures that are written down here a second time are
//! compared with it below, so a core that has changed them does not compile.

use core::ffi::{c_char, c_int, c_void};
use core::mem::{align_of, offset_of, size_of};

pub mod layout {
    #![allow(dead_code)]
    include!(concat!(env!("OUT_DIR"), "/layout.rs"));
}

pub const OK: c_int = 0;
pub const ERR_IO: c_int = -5;
pub const FLASH_BAD: c_int = -300;

pub const FORMAT_QUICK: c_int = 0;
pub const FORMAT_ERASE: c_int = 1;
pub const MOUNT_RDWR: c_int = 0;
pub const MOUNT_RDONLY: c_int = 1;

pub const O_RDONLY: c_int = 1;
pub const O_WRONLY: c_int = 2;
pub const O_CREAT: c_int = 0x10;
pub const O_EXCL: c_int = 0x20;
pub const O_TRUNC: c_int = 0x40;
pub const O_APPEND: c_int = 0x80;
pub const O_SYNC: c_int = 0x100;

pub const SEEK_SET: c_int = 0;

pub const TYPE_FILE: layout::CType = 1;
pub const TYPE_DIR: layout::CType = 2;

pub const NAME_MAX: usize = 255;
pub const FILE_MAX: u32 = 0x7FFF_FFFF;

#[repr(C)]
pub struct Flash {
    pub context: *mut c_void,
    pub read: Option<unsafe extern "C" fn(*mut c_void, u32, *mut c_void, u32) -> c_int>,
    pub program: Option<unsafe extern "C" fn(*mut c_void, u32, *const c_void, u32) -> c_int>,
    pub erase: Option<unsafe extern "C" fn(*mut c_void, u32, u32) -> c_int>,
    pub chip_size: u32,
    pub block_size: u32,
    pub large_erase_size: u32,
    pub page_size: u32,
    pub program_unit: u32,
    pub read_unit: u32,
    pub read_page_us: u32,
    pub program_page_us: u32,
    pub erase_block_us: u32,
    pub large_erase_us: u32,
    pub erase_begin: Option<unsafe extern "C" fn(*mut c_void, u32, u32) -> c_int>,
    pub erase_done: Option<unsafe extern "C" fn(*mut c_void) -> c_int>,
}

#[repr(C)]
pub struct Config {
    pub flash: *const Flash,
    pub offset: u32,
    pub size: u32,
    pub buffer: *mut c_void,
    pub buffer_size: u32,
    pub lock: Option<unsafe extern "C" fn(*mut c_void)>,
    pub unlock: Option<unsafe extern "C" fn(*mut c_void)>,
    pub lock_context: *mut c_void,
    pub wear_age: u32,
    pub wear_spread: u32,
    pub now_us: Option<unsafe extern "C" fn(*mut c_void) -> u32>,
    pub clock_context: *mut c_void,
    pub time_s: Option<unsafe extern "C" fn(*mut c_void) -> u64>,
}

#[repr(C)]
pub struct Attr {
    pub id: u8,
    pub length: u8,
    pub data: *const c_void,
}

#[repr(C)]
#[derive(Default)]
pub struct Statfs {
    pub block_size: u32,
    pub blocks: u32,
    pub blocks_free: u32,
    pub blocks_erased: u32,
    pub blocks_available: u32,
    pub blocks_bad: u32,
}

#[repr(C)]
#[derive(Default)]
pub struct Health {
    pub erases_min: u32,
    pub erases_max: u32,
    pub erases_mean: u32,
    pub erases_total: u64,
    pub mounts_unclean: u32,
    pub blocks_bad: u32,
}

#[repr(C)]
#[derive(Default)]
pub struct Stat {
    pub kind: layout::CType,
    pub size: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Dirent {
    pub kind: layout::CType,
    pub size: u32,
    pub name: [u8; NAME_MAX + 1],
}

#[repr(C)]
pub struct Finding {
    pub kind: layout::CKind,
    pub block: u32,
    pub id: u32,
    pub number: u32,
    pub name: *const u8,
    pub name_length: u8,
}

pub type Report = unsafe extern "C" fn(*mut c_void, *const Finding);

const _: () = {
    assert!(size_of::<Flash>() == layout::FLASH_SIZE);
    assert!(offset_of!(Flash, large_erase_us) == layout::FLASH_LARGE_ERASE_US);
    assert!(size_of::<Config>() == layout::CONFIG_SIZE);
    assert!(offset_of!(Config, wear_age) == layout::CONFIG_WEAR_AGE);
    assert!(offset_of!(Config, clock_context) == layout::CONFIG_CLOCK_CONTEXT);
    assert!(offset_of!(Config, time_s) == layout::CONFIG_TIME_S);
    assert!(size_of::<Attr>() == layout::ATTR_SIZE);
    assert!(offset_of!(Attr, data) == layout::ATTR_DATA);
    assert!(size_of::<Statfs>() == layout::STATFS_SIZE);
    assert!(size_of::<Health>() == layout::HEALTH_SIZE);
    assert!(offset_of!(Health, erases_total) == layout::HEALTH_ERASES_TOTAL);
    assert!(size_of::<Stat>() == layout::STAT_SIZE);
    assert!(size_of::<Dirent>() == layout::DIRENT_SIZE);
    assert!(offset_of!(Dirent, name) == layout::DIRENT_NAME);
    assert!(size_of::<Finding>() == layout::FINDING_SIZE);
    assert!(offset_of!(Finding, name) == layout::FINDING_NAME);
    assert!(align_of::<layout::Fs>() == layout::FS_ALIGN);
    assert!(size_of::<layout::Fs>() == layout::FS_SIZE);
    assert!(size_of::<layout::File>() == layout::FILE_SIZE);
    assert!(size_of::<layout::Dir>() == layout::DIR_SIZE);
};

extern "C" {
    pub fn nf2_error_text(error: c_int) -> *const c_char;
    pub fn nf2_finding_text(kind: layout::CKind) -> *const c_char;

    pub fn nf2_format(fs: *mut layout::Fs, config: *const Config, flags: c_int) -> c_int;
    pub fn nf2_mount(fs: *mut layout::Fs, config: *const Config, flags: c_int) -> c_int;
    pub fn nf2_mount_rdonly(fs: *mut layout::Fs, config: *const Config) -> c_int;
    pub fn nf2_unmount(fs: *mut layout::Fs) -> c_int;
    pub fn nf2_statfs(fs: *mut layout::Fs, out: *mut Statfs) -> c_int;
    pub fn nf2_health(fs: *mut layout::Fs, out: *mut Health) -> c_int;
    pub fn nf2_maintain(fs: *mut layout::Fs, budget_us: u32) -> c_int;
    pub fn nf2_check(fs: *mut layout::Fs, report: Option<Report>, context: *mut c_void) -> c_int;

    pub fn nf2_stat(fs: *mut layout::Fs, path: *const c_char, out: *mut Stat) -> c_int;
    pub fn nf2_mkdir(fs: *mut layout::Fs, path: *const c_char) -> c_int;
    pub fn nf2_remove(fs: *mut layout::Fs, path: *const c_char) -> c_int;
    pub fn nf2_rename(fs: *mut layout::Fs, from: *const c_char, to: *const c_char) -> c_int;
    pub fn nf2_opendir(fs: *mut layout::Fs, dir: *mut layout::Dir, path: *const c_char) -> c_int;
    pub fn nf2_readdir(fs: *mut layout::Fs, dir: *mut layout::Dir, out: *mut Dirent) -> c_int;

    pub fn nf2_open(
        fs: *mut layout::Fs,
        file: *mut layout::File,
        path: *const c_char,
        flags: c_int,
        buffer: *mut c_void,
    ) -> c_int;
    pub fn nf2_close(fs: *mut layout::Fs, file: *mut layout::File) -> c_int;
    pub fn nf2_discard(fs: *mut layout::Fs, file: *mut layout::File) -> c_int;
    pub fn nf2_read(
        fs: *mut layout::Fs,
        file: *mut layout::File,
        data: *mut c_void,
        length: u32,
    ) -> i32;
    pub fn nf2_write(
        fs: *mut layout::Fs,
        file: *mut layout::File,
        data: *const c_void,
        length: u32,
    ) -> i32;
    pub fn nf2_seek(
        fs: *mut layout::Fs,
        file: *mut layout::File,
        offset: i32,
        whence: c_int,
    ) -> i32;
    pub fn nf2_tell(fs: *mut layout::Fs, file: *mut layout::File) -> i32;
    pub fn nf2_size(fs: *mut layout::Fs, file: *mut layout::File) -> i32;
    pub fn nf2_truncate(fs: *mut layout::Fs, file: *mut layout::File, size: u32) -> c_int;
    pub fn nf2_preallocate(fs: *mut layout::Fs, file: *mut layout::File, size: u32) -> c_int;
    pub fn nf2_sync(fs: *mut layout::Fs, file: *mut layout::File) -> c_int;

    pub fn nf2_save(
        fs: *mut layout::Fs,
        path: *const c_char,
        data: *const c_void,
        length: u32,
    ) -> c_int;
    pub fn nf2_load(fs: *mut layout::Fs, path: *const c_char, data: *mut c_void, room: u32) -> i32;

    pub fn nf2_getattr(
        fs: *mut layout::Fs,
        path: *const c_char,
        id: u8,
        data: *mut c_void,
        room: u32,
    ) -> i32;
    pub fn nf2_setattr(
        fs: *mut layout::Fs,
        path: *const c_char,
        attributes: *const Attr,
        count: u32,
    ) -> c_int;
    pub fn nf2_keep_times(fs: *mut layout::Fs) -> c_int;
}
