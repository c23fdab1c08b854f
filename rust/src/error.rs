// SPDX-License-Identifier: BSD-2-Clause
use core::ffi::{c_int, CStr};
use core::fmt;

use crate::sys;

/// Why a call failed.
///
/// A call that returns another error than [`Error::Io`] has changed nothing, except where the call
/// says otherwise. After `Io` the change may be there or not, as after a power cut. After the driver
/// has failed a program or an erase, nothing is written until the next mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Error {
    /// There is no such file or directory.
    NotFound,
    /// The driver failed ([`Volume::driver_error`](crate::Volume::driver_error) says how), or data on
    /// the chip fails its check.
    Io,
    /// The file is not open for this.
    NotOpenForThis,
    /// The file is open (remove, replace), or another handle writes it (open).
    Busy,
    /// The name exists already.
    AlreadyExists,
    /// A part of the path is a file.
    NotADirectory,
    /// The path is a directory.
    IsADirectory,
    /// An argument is wrong: a path with a NUL in it, a directory moved into itself, a volume that
    /// is not aligned to blocks.
    InvalidInput,
    /// The file would pass 2 GiB - 1, or its attributes would pass 255 bytes.
    FileTooLarge,
    /// There is no space, after all garbage was reclaimed.
    NoSpace,
    /// The volume is mounted read-only.
    ReadOnly,
    /// A name has more than 255 bytes, or a path that is not a `CStr` has more than
    /// [`PATH_MAX`](crate::PATH_MAX) bytes.
    NameTooLong,
    /// The directory has entries.
    DirectoryNotEmpty,
    /// There is no volume: its range reads as erased, where it was looked at (see
    /// [the crate](crate#formatting-the-first-time)), or a format was cut.
    Blank,
    /// The chip holds something else.
    Foreign,
    /// The volume is damaged beyond use.
    Corrupt,
    /// The volume was made for another geometry, or the geometry is one that NF2FS cannot use.
    Geometry,
    /// The volume has a format version that this library does not know.
    Version,
    /// All handles of the [`Storage`](crate::Storage) are in use.
    TooManyFiles,
    /// The file is larger than the buffer that was given for it.
    BufferTooSmall,
    /// A call of the volume was made from inside of another one, from its driver or its report.
    Reentered,
    /// A code that this crate does not know.
    Other(i32),
}

impl Error {
    /// The error of a negative result of the core.
    pub(crate) fn from_code(code: c_int) -> Error {
        debug_assert!(code < 0);
        ERRORS
            .iter()
            .find(|(known, _)| *known == code)
            .map_or(Error::Other(code), |(_, error)| *error)
    }

    /// The code of the C library (`NF2_ERR_*` in `nf2fs.h`), if the error is one of its own.
    pub fn code(self) -> Option<i32> {
        match self {
            Error::Other(code) => Some(code),
            _ => ERRORS.iter().find(|(_, known)| *known == self).map(|(code, _)| *code),
        }
    }
}

const ERRORS: [(c_int, Error); 18] = [
    (-2, Error::NotFound),
    (-5, Error::Io),
    (-9, Error::NotOpenForThis),
    (-16, Error::Busy),
    (-17, Error::AlreadyExists),
    (-20, Error::NotADirectory),
    (-21, Error::IsADirectory),
    (-22, Error::InvalidInput),
    (-27, Error::FileTooLarge),
    (-28, Error::NoSpace),
    (-30, Error::ReadOnly),
    (-36, Error::NameTooLong),
    (-39, Error::DirectoryNotEmpty),
    (-200, Error::Blank),
    (-201, Error::Foreign),
    (-202, Error::Corrupt),
    (-203, Error::Geometry),
    (-204, Error::Version),
];

/// `Ok` with a result that is not negative.
pub(crate) fn check(result: c_int) -> Result<u32, Error> {
    u32::try_from(result).map_err(|_| Error::from_code(result))
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self, self.code()) {
            (Error::Other(code), _) => write!(out, "unknown error {code}"),
            (_, Some(code)) => {
                // SAFETY: the function takes any number, and returns a constant text, never NULL.
                let text = unsafe { CStr::from_ptr(sys::nf2_error_text(code)) };
                out.write_str(text.to_str().unwrap_or("unknown error"))
            }
            (Error::TooManyFiles, _) => out.write_str("all file handles are in use"),
            (Error::BufferTooSmall, _) => out.write_str("the file is larger than the buffer"),
            (Error::Reentered, _) => out.write_str("a call from inside of another call"),
            (_, None) => out.write_str("unknown error"),
        }
    }
}

impl core::error::Error for Error {}

impl embedded_io::Error for Error {
    fn kind(&self) -> embedded_io::ErrorKind {
        use embedded_io::ErrorKind;
        match self {
            Error::NotFound => ErrorKind::NotFound,
            Error::NotOpenForThis | Error::ReadOnly => ErrorKind::PermissionDenied,
            Error::AlreadyExists => ErrorKind::AlreadyExists,
            Error::NotADirectory
            | Error::IsADirectory
            | Error::InvalidInput
            | Error::NameTooLong => ErrorKind::InvalidInput,
            Error::Blank | Error::Foreign | Error::Corrupt | Error::Geometry => {
                ErrorKind::InvalidData
            }
            Error::Version => ErrorKind::Unsupported,
            Error::NoSpace | Error::TooManyFiles | Error::BufferTooSmall => ErrorKind::OutOfMemory,
            _ => ErrorKind::Other,
        }
    }
}

#[cfg(feature = "std")]
impl From<Error> for std::io::Error {
    fn from(error: Error) -> std::io::Error {
        use std::io::ErrorKind;
        let kind = match error {
            Error::NotFound => ErrorKind::NotFound,
            Error::Busy => ErrorKind::ResourceBusy,
            Error::AlreadyExists => ErrorKind::AlreadyExists,
            Error::NotADirectory => ErrorKind::NotADirectory,
            Error::IsADirectory => ErrorKind::IsADirectory,
            Error::DirectoryNotEmpty => ErrorKind::DirectoryNotEmpty,
            Error::InvalidInput | Error::NameTooLong => ErrorKind::InvalidInput,
            Error::NoSpace => ErrorKind::StorageFull,
            Error::ReadOnly => ErrorKind::ReadOnlyFilesystem,
            Error::NotOpenForThis => ErrorKind::PermissionDenied,
            Error::Blank | Error::Foreign | Error::Corrupt | Error::Geometry => {
                ErrorKind::InvalidData
            }
            Error::Version => ErrorKind::Unsupported,
            _ => ErrorKind::Other,
        };
        std::io::Error::new(kind, error)
    }
}
