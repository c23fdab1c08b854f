// SPDX-License-Identifier: BSD-2-Clause
use core::fmt;
use core::mem::MaybeUninit;
use core::str::Utf8Error;

use crate::error::{check, Error};
use crate::sys::{self, layout};
use crate::volume::{FileType, Metadata, Volume};

/// The entries of a directory.
///
/// An entry that is there from the begin to the end of the listing is listed exactly once, whatever
/// changes meanwhile. One that is added or removed meanwhile may be listed or not.
pub struct ReadDir<'v> {
    pub(crate) volume: &'v Volume<'v>,
    /// It holds the last entry's name and no address: it may move.
    pub(crate) dir: MaybeUninit<layout::Dir>,
    pub(crate) ended: bool,
}

impl Iterator for ReadDir<'_> {
    type Item = Result<DirEntry, Error>;

    /// After an error the listing has ended.
    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let mut entry = MaybeUninit::<sys::Dirent>::zeroed();
        let result = self.volume.enter().and_then(|entered| {
            // SAFETY: `dir` was opened, and the core fills the entry.
            check(unsafe {
                sys::nf2_readdir(entered.fs, self.dir.as_mut_ptr(), entry.as_mut_ptr())
            })
        });
        self.ended = !matches!(result, Ok(1));
        match result {
            // SAFETY: zeros are an entry, and so is what the core has put in their place.
            Ok(1) => Some(Ok(DirEntry::new(unsafe { entry.assume_init() }))),
            Ok(_) => None,
            Err(error) => Some(Err(error)),
        }
    }
}

impl core::iter::FusedIterator for ReadDir<'_> {}

/// An entry of a directory.
#[derive(Clone, Copy)]
pub struct DirEntry {
    entry: sys::Dirent,
    length: u8,
}

impl DirEntry {
    fn new(entry: sys::Dirent) -> DirEntry {
        let length = entry.name.iter().position(|&byte| byte == 0).unwrap_or(sys::NAME_MAX);
        DirEntry { entry, length: length as u8 }
    }

    /// The name, as bytes.
    pub fn name(&self) -> &[u8] {
        &self.entry.name[..usize::from(self.length)]
    }

    /// The name, if it is UTF-8.
    pub fn name_str(&self) -> Result<&str, Utf8Error> {
        core::str::from_utf8(self.name())
    }

    /// Size and type.
    pub fn metadata(&self) -> Metadata {
        Metadata { kind: FileType::from_c(self.entry.kind), len: self.entry.size }
    }
}

impl fmt::Debug for DirEntry {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "\"{}\" ({:?})", self.name().escape_ascii(), self.metadata())
    }
}
