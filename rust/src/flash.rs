// SPDX-License-Identifier: BSD-2-Clause
//! What the core calls, and the driver of the user that it reaches.

use core::ffi::{c_int, c_void};
use core::slice;

use embedded_storage::nor_flash::{NorFlash, NorFlashError, NorFlashErrorKind};

use crate::sys;

/// What the core's functions get as their context: a driver, and what it last failed with.
pub(crate) struct Driver<F: NorFlash> {
    pub flash: F,
    pub is_bad_block: fn(&F::Error) -> bool,
    pub error: Option<NorFlashErrorKind>,
}

impl<F: NorFlash> Driver<F> {
    fn result(&mut self, result: Result<(), F::Error>) -> c_int {
        match result {
            Ok(()) => sys::OK,
            Err(error) => {
                self.error = Some(error.kind());
                if (self.is_bad_block)(&error) {
                    sys::FLASH_BAD
                } else {
                    sys::ERR_IO
                }
            }
        }
    }
}

/// # Safety
/// `context` is a `Driver<F>` that nothing else uses, and `data` has room for `length` bytes.
pub(crate) unsafe extern "C" fn read<F: NorFlash>(
    context: *mut c_void,
    address: u32,
    data: *mut c_void,
    length: u32,
) -> c_int {
    let (driver, data) = unsafe {
        (
            &mut *context.cast::<Driver<F>>(),
            slice::from_raw_parts_mut(data.cast::<u8>(), length as usize),
        )
    };
    let result = driver.flash.read(address, data);
    match driver.result(result) {
        sys::OK => sys::OK,
        _ => sys::ERR_IO, // a read has no other failure
    }
}

/// # Safety
/// As `read`; `data` holds `length` bytes.
pub(crate) unsafe extern "C" fn program<F: NorFlash>(
    context: *mut c_void,
    address: u32,
    data: *const c_void,
    length: u32,
) -> c_int {
    let (driver, data) = unsafe {
        (
            &mut *context.cast::<Driver<F>>(),
            slice::from_raw_parts(data.cast::<u8>(), length as usize),
        )
    };
    let result = driver.flash.write(address, data);
    driver.result(result)
}

/// # Safety
/// `context` is a `Driver<F>` that nothing else uses.
pub(crate) unsafe extern "C" fn erase<F: NorFlash>(
    context: *mut c_void,
    address: u32,
    length: u32,
) -> c_int {
    let driver = unsafe { &mut *context.cast::<Driver<F>>() };
    // The end of a chip of 4 GiB is past 32 bits; no such chip gets here (see `geometry`).
    let result = driver.flash.erase(address, address + length);
    driver.result(result)
}
