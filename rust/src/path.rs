// SPDX-License-Identifier: BSD-2-Clause
use core::ffi::{c_char, CStr};

use crate::error::Error;

/// The most bytes of a path that is given as `&str` or `&[u8]`. It is copied to the stack, since the
/// core wants a NUL behind it. A `&CStr` is taken as it is, however long.
pub const PATH_MAX: usize = 255;

/// A path on a volume: names with `/` between them. A `/` in front is optional; `.` and `..` work.
///
/// Names are bytes, so paths may be `&str`, `&[u8]` or `&CStr` (`c"dir/name"`). Of these only a
/// `&CStr` is used without a copy.
pub trait Path: sealed::Sealed {}

impl Path for str {}
impl Path for [u8] {}
impl Path for CStr {}

pub(crate) mod sealed {
    use super::*;

    pub trait Sealed {
        fn with<R>(&self, call: impl FnOnce(*const c_char) -> Result<R, Error>)
            -> Result<R, Error>;
    }

    impl Sealed for CStr {
        fn with<R>(
            &self,
            call: impl FnOnce(*const c_char) -> Result<R, Error>,
        ) -> Result<R, Error> {
            call(self.as_ptr())
        }
    }

    impl Sealed for [u8] {
        fn with<R>(
            &self,
            call: impl FnOnce(*const c_char) -> Result<R, Error>,
        ) -> Result<R, Error> {
            let mut copy = [0u8; PATH_MAX + 1];
            if self.len() > PATH_MAX {
                return Err(Error::NameTooLong);
            }
            if self.contains(&0) {
                return Err(Error::InvalidInput);
            }
            copy[..self.len()].copy_from_slice(self);
            call(copy.as_ptr().cast())
        }
    }

    impl Sealed for str {
        fn with<R>(
            &self,
            call: impl FnOnce(*const c_char) -> Result<R, Error>,
        ) -> Result<R, Error> {
            self.as_bytes().with(call)
        }
    }
}
