// SPDX-License-Identifier: BSD-2-Clause
use core::ptr::{addr_of, addr_of_mut};

use embedded_io::{ErrorType, Read, Seek, SeekFrom, Write};

use crate::error::{check, Error};
use crate::storage::Handle;
use crate::sys::{self, layout};
use crate::volume::Volume;

/// An open file. Reads, writes and seeks are those of the traits of [`embedded_io`] (with the feature
/// `std` also those of [`std::io`]); `flush` is [`sync`](File::sync).
///
/// What is written is durable once `sync` or [`close`](File::close) has returned. A power cut before
/// leaves the file as it was at its last sync; one during the sync leaves all of the writes since
/// then, or none. A write is accepted as a whole or not at all.
///
/// A `File` that is dropped is closed, hence synced, and an error of that is lost. That commits what
/// was accepted, also where a later write was refused: after [`Volume::create`] and a write that
/// finds no space, the file is empty. [`Volume::write`] keeps the old content then. A `File` that is
/// forgotten ([`core::mem::forget`]) keeps its handle until the volume is unmounted, and is not
/// synced.
pub struct File<'v> {
    pub(crate) volume: &'v Volume<'v>,
    pub(crate) handle: *mut Handle,
}

impl File<'_> {
    /// A call of the core with this handle.
    fn call(
        &self,
        call: impl FnOnce(*mut layout::Fs, *mut layout::File) -> i32,
    ) -> Result<u32, Error> {
        let entered = self.volume.enter()?;
        // SAFETY: the handle lies in the storage, which stays where it is.
        let file = unsafe { addr_of_mut!((*self.handle).file).cast() };
        check(call(entered.fs, file))
    }

    /// Makes all writes since the last sync durable, all or nothing.
    pub fn sync(&mut self) -> Result<(), Error> {
        // SAFETY: here and below, the handle is open, and `call` lets one call in at a time.
        self.call(|fs, file| unsafe { sys::nf2_sync(fs, file) }).map(drop)
    }

    /// Syncs and closes. The handle is closed even after an error; what was not synced is lost then.
    pub fn close(self) -> Result<(), Error> {
        let file = core::mem::ManuallyDrop::new(self);
        file.end(sys::nf2_close)
    }

    /// Gives up what was written since the last sync, and closes.
    pub fn discard(self) -> Result<(), Error> {
        let file = core::mem::ManuallyDrop::new(self);
        file.end(sys::nf2_discard)
    }

    fn end(
        &self,
        end: unsafe extern "C" fn(*mut layout::Fs, *mut layout::File) -> i32,
    ) -> Result<(), Error> {
        let entered = self.volume.enter()?;
        // SAFETY: the handle is open; after the call the core knows it no more.
        unsafe {
            let result = end(entered.fs, addr_of_mut!((*self.handle).file).cast());
            (*addr_of!((*self.handle).used)).set(false);
            check(result).map(drop)
        }
    }

    /// Bytes of the file, with what is not synced.
    pub fn len(&self) -> Result<u32, Error> {
        self.call(|fs, file| unsafe { sys::nf2_size(fs, file) })
    }

    /// Whether the file holds nothing.
    pub fn is_empty(&self) -> Result<bool, Error> {
        self.len().map(|length| length == 0)
    }

    /// The position of the next read or write.
    pub fn position(&self) -> Result<u32, Error> {
        self.call(|fs, file| unsafe { sys::nf2_tell(fs, file) })
    }

    /// Makes the file shorter, or longer with zeros. A part of the next sync, like a write.
    pub fn set_len(&mut self, length: u32) -> Result<(), Error> {
        self.call(|fs, file| unsafe { sys::nf2_truncate(fs, file, length) }).map(drop)
    }

    /// Sets aside the blocks that writing from the file's end up to `length` bytes needs, so that
    /// those writes do not fail with [`Error::NoSpace`]. (Synced appends of less than a page need
    /// more.) Closing gives back what was not used.
    pub fn preallocate(&mut self, length: u32) -> Result<(), Error> {
        self.call(|fs, file| unsafe { sys::nf2_preallocate(fs, file, length) }).map(drop)
    }

    /// Writes all of `data` in one call of the core, so that a refusal leaves nothing of it.
    fn write_once(&mut self, data: &[u8]) -> Result<(), Error> {
        let length = u32::try_from(data.len()).map_err(|_| Error::FileTooLarge)?;
        self.call(|fs, file| unsafe { sys::nf2_write(fs, file, data.as_ptr().cast(), length) })
            .map(drop)
    }

    fn read_some(&mut self, buffer: &mut [u8]) -> Result<usize, Error> {
        let length = buffer.len().min(sys::FILE_MAX as usize) as u32;
        self.call(|fs, file| unsafe { sys::nf2_read(fs, file, buffer.as_mut_ptr().cast(), length) })
            .map(|read| read as usize)
    }

    fn write_some(&mut self, data: &[u8]) -> Result<usize, Error> {
        let data = &data[..data.len().min(sys::FILE_MAX as usize)];
        self.write_once(data).map(|()| data.len())
    }

    /// The core takes signed offsets of 32 bits; a position of a file always fits.
    fn seek_to(&mut self, from: SeekFrom) -> Result<u64, Error> {
        let position = match from {
            SeekFrom::Start(offset) => i64::try_from(offset).ok(),
            SeekFrom::Current(offset) => i64::from(self.position()?).checked_add(offset),
            SeekFrom::End(offset) => i64::from(self.len()?).checked_add(offset),
        };
        let position = position
            .and_then(|position| i32::try_from(position).ok())
            .ok_or(Error::InvalidInput)?;
        self.call(|fs, file| unsafe { sys::nf2_seek(fs, file, position, sys::SEEK_SET) })
            .map(u64::from)
    }
}

impl Drop for File<'_> {
    fn drop(&mut self) {
        let _ = self.end(sys::nf2_close);
    }
}

impl ErrorType for File<'_> {
    type Error = Error;
}

impl Read for File<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Error> {
        self.read_some(buffer)
    }
}

impl Write for File<'_> {
    fn write(&mut self, data: &[u8]) -> Result<usize, Error> {
        self.write_some(data)
    }

    fn flush(&mut self) -> Result<(), Error> {
        self.sync()
    }
}

impl Seek for File<'_> {
    fn seek(&mut self, position: SeekFrom) -> Result<u64, Error> {
        self.seek_to(position)
    }
}

#[cfg(feature = "std")]
impl std::io::Read for File<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        Ok(self.read_some(buffer)?)
    }
}

#[cfg(feature = "std")]
impl std::io::Write for File<'_> {
    fn write(&mut self, data: &[u8]) -> std::io::Result<usize> {
        Ok(self.write_some(data)?)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(self.sync()?)
    }
}

#[cfg(feature = "std")]
impl std::io::Seek for File<'_> {
    fn seek(&mut self, position: std::io::SeekFrom) -> std::io::Result<u64> {
        Ok(self.seek_to(position.into())?)
    }
}
