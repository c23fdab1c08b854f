// SPDX-License-Identifier: BSD-2-Clause
//! The project's virtual NOR chip (`vflash`) as a driver of `embedded-storage`: it counts what is
//! asked of it, charges the times of a data sheet, refuses what a real chip would corrupt, and can
//! lose its power at any operation.

use std::ffi::{c_char, c_int, c_void, CString};
use std::ptr::NonNull;

use embedded_storage::nor_flash::{
    ErrorType, MultiwriteNorFlash, NorFlash, NorFlashError, NorFlashErrorKind, ReadNorFlash,
};

#[repr(C)]
struct Vflash {
    private: [u8; 0],
}

extern "C" {
    fn glue_new(name: *const c_char, size: u32, program_unit: u32) -> *mut Vflash;
    fn glue_size(chip: *const Vflash) -> u32;
    fn glue_read(chip: *mut Vflash, address: u32, data: *mut c_void, length: u32) -> c_int;
    fn glue_program(chip: *mut Vflash, address: u32, data: *const u8, length: u32) -> c_int;
    fn glue_erase(chip: *mut Vflash, from: u32, to: u32) -> c_int;
    fn glue_cut(
        chip: *mut Vflash,
        operation: u64,
        byte: u32,
        mask: u32,
        shuffle: c_int,
        erase: c_int,
        seed: u64,
    );
    fn glue_counts(chip: *const Vflash, out: *mut u64);
    fn vflash_free(chip: *mut Vflash);
    fn vflash_operations(chip: *const Vflash) -> u64;
    fn vflash_power_on(chip: *mut Vflash);
    fn vflash_fail_at(chip: *mut Vflash, operation: u64);
    fn vflash_break_block(chip: *mut Vflash, block: u32, silent: bool);
    fn vflash_wear(chip: *const Vflash, block: u32) -> u32;
}

/// What the chip or its rules said: a result of its driver's functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChipError(pub i32);

impl ChipError {
    /// The block fails for good.
    pub const BAD: ChipError = ChipError(-300);
    /// The power is off.
    pub const OFF: ChipError = ChipError(-1000);
    /// A real chip would refuse or corrupt this.
    pub const VIOLATION: ChipError = ChipError(-1001);
}

impl NorFlashError for ChipError {
    fn kind(&self) -> NorFlashErrorKind {
        NorFlashErrorKind::Other
    }
}

/// What reached the chip, and the time that it takes by the data sheet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub read_calls: u64,
    pub read_bytes: u64,
    pub read_pages: u64,
    pub program_calls: u64,
    pub program_bytes: u64,
    pub program_pages: u64,
    /// By size of the erase.
    pub erases: [u64; 3],
    /// Microseconds; each page that is touched costs a page's time.
    pub time_us: u64,
    /// Nanoseconds; reads and programs cost by their bytes, too.
    pub time_byte_ns: u64,
}

/// Where the power fails.
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    /// At this program or erase, counted from 1.
    pub operation: u64,
    /// Of a program: so many bytes land, and these bits of the next one.
    pub bytes: u32,
    pub mask: u8,
    /// Bytes land in a seeded random order.
    pub shuffle: bool,
    /// What it leaves of an erase: see `enum vflash_erase_cut`.
    pub erase: u8,
    pub seed: u64,
}

/// A virtual chip that is programmed in units of `UNIT` bytes. A driver is a `&Chip`.
pub struct Chip<const UNIT: usize = 1> {
    raw: NonNull<Vflash>,
}

impl<const UNIT: usize> Chip<UNIT> {
    /// A blank chip as the one of this name in the catalogue, of `size` bytes (0: its own size).
    pub fn new(name: &str, size: u32) -> Self {
        let name = CString::new(name).expect("no NUL in the name");
        // SAFETY: the name ends with a NUL.
        let raw = unsafe { glue_new(name.as_ptr(), size, UNIT as u32) };
        Chip { raw: NonNull::new(raw).expect("a chip of the catalogue, and memory for it") }
    }

    /// The power fails there; programs and erases count anew from now on.
    pub fn cut_at(&self, cut: Cut) {
        // SAFETY: here and below, the chip is there as long as `self`.
        unsafe {
            glue_cut(
                self.raw.as_ptr(),
                cut.operation,
                cut.bytes,
                cut.mask.into(),
                cut.shuffle.into(),
                cut.erase.into(),
                cut.seed,
            )
        }
    }

    /// Programs and erases since `cut_at`.
    pub fn operations(&self) -> u64 {
        unsafe { vflash_operations(self.raw.as_ptr()) }
    }

    /// The power comes back.
    pub fn power_on(&self) {
        unsafe { vflash_power_on(self.raw.as_ptr()) }
    }

    /// That call of the driver from now on does nothing and fails.
    pub fn fail_at(&self, call: u64) {
        unsafe { vflash_fail_at(self.raw.as_ptr(), call) }
    }

    /// From now on the block fails to erase and to program, and the chip says so.
    pub fn break_block(&self, block: u32) {
        unsafe { vflash_break_block(self.raw.as_ptr(), block, false) }
    }

    /// Erases of a block.
    pub fn wear(&self, block: u32) -> u32 {
        unsafe { vflash_wear(self.raw.as_ptr(), block) }
    }

    /// What reached the chip so far.
    pub fn counts(&self) -> Counts {
        let mut all = [0; 11];
        unsafe { glue_counts(self.raw.as_ptr(), all.as_mut_ptr()) };
        let [read_calls, read_bytes, read_pages, program_calls, program_bytes, program_pages, small, middle, large, time_us, time_byte_ns] =
            all;
        Counts {
            read_calls,
            read_bytes,
            read_pages,
            program_calls,
            program_bytes,
            program_pages,
            erases: [small, middle, large],
            time_us,
            time_byte_ns,
        }
    }
}

impl<const UNIT: usize> Drop for Chip<UNIT> {
    fn drop(&mut self) {
        unsafe { vflash_free(self.raw.as_ptr()) }
    }
}

fn result(code: c_int) -> Result<(), ChipError> {
    match code {
        0 => Ok(()),
        code => Err(ChipError(code)),
    }
}

/// Of lengths that no chip has, too.
fn length(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).unwrap_or(u32::MAX)
}

impl<const UNIT: usize> ErrorType for &Chip<UNIT> {
    type Error = ChipError;
}

impl<const UNIT: usize> ReadNorFlash for &Chip<UNIT> {
    const READ_SIZE: usize = 1;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), ChipError> {
        let length = length(bytes);
        result(unsafe { glue_read(self.raw.as_ptr(), offset, bytes.as_mut_ptr().cast(), length) })
    }

    fn capacity(&self) -> usize {
        unsafe { glue_size(self.raw.as_ptr()) as usize }
    }
}

impl<const UNIT: usize> NorFlash for &Chip<UNIT> {
    const WRITE_SIZE: usize = UNIT;
    const ERASE_SIZE: usize = 4096;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), ChipError> {
        result(unsafe { glue_erase(self.raw.as_ptr(), from, to) })
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), ChipError> {
        result(unsafe { glue_program(self.raw.as_ptr(), offset, bytes.as_ptr(), length(bytes)) })
    }
}

impl MultiwriteNorFlash for &Chip<1> {}

/// The program of the guide runs.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/rust.md")]
struct Guide;
