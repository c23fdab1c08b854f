// SPDX-License-Identifier: BSD-2-Clause
use core::marker::PhantomData;

use crate::error::{check, Error};
use crate::path::Path;
use crate::sys;
use crate::volume::Volume;

/// An attribute that is to be set or removed: see [`Volume::set_attributes`].
#[repr(transparent)]
pub struct Attribute<'a> {
    attribute: sys::Attr,
    value: PhantomData<&'a [u8]>,
}

impl<'a> Attribute<'a> {
    /// The mode of POSIX, 2 bytes; then, or not, owner and group, 2 bytes each; little endian. The
    /// library does not look at it.
    pub const MODE: u8 = 0x01;
    /// The time of modification: see [`Volume::modified`].
    pub const TIME: u8 = 0x10;
    /// The first of the 32 ids that are for applications.
    pub const USER: u8 = 0x20;
    /// The last of them.
    pub const USER_LAST: u8 = 0x3F;

    /// Sets it. A value that is too long for any file is [`Error::FileTooLarge`].
    pub fn new(id: u8, value: &'a [u8]) -> Result<Attribute<'a>, Error> {
        let length = u8::try_from(value.len()).map_err(|_| Error::FileTooLarge)?;
        let data = value.as_ptr().cast();
        Ok(Attribute { attribute: sys::Attr { id, length, data }, value: PhantomData })
    }

    /// Removes it, if it is there.
    pub fn remove(id: u8) -> Attribute<'a> {
        let data = core::ptr::null();
        Attribute { attribute: sys::Attr { id, length: 0, data }, value: PhantomData }
    }
}

const TIME_BYTES: usize = 5;

impl Volume<'_> {
    /// Copies the value of an attribute into `buffer`, and returns it.
    ///
    /// [`Error::NotFound`]: there is no such name, or it has no such attribute.
    /// [`Error::BufferTooSmall`]: the value is longer. The root has no attributes
    /// ([`Error::InvalidInput`]).
    pub fn attribute<'b>(
        &self,
        path: &(impl Path + ?Sized),
        id: u8,
        buffer: &'b mut [u8],
    ) -> Result<&'b mut [u8], Error> {
        let room = u32::try_from(buffer.len()).unwrap_or(u32::MAX);
        let data = buffer.as_mut_ptr().cast();
        // SAFETY: the core copies at most `room` bytes.
        let length = self.with_path(path, |fs, path| {
            check(unsafe { sys::nf2_getattr(fs, path, id, data, room) })
        })? as usize;
        buffer.get_mut(..length).ok_or(Error::BufferTooSmall)
    }

    /// Sets and removes attributes of a file or directory, all of them with one change: durable when
    /// it returns, and all or nothing when the power fails.
    ///
    /// All attributes of a name share 255 bytes, in which each takes two more than its value
    /// ([`Error::FileTooLarge`]). A file that is open for writing is [`Error::Busy`].
    ///
    /// ```
    /// use nf2fs::{ram::RamFlash, Attribute, Error, Storage};
    ///
    /// # fn main() -> Result<(), Error> {
    /// # let mut storage: Storage<_> = Storage::new_multiwrite(RamFlash::new(1 << 20));
    /// # storage.format(true)?;
    /// # let volume = storage.mount()?;
    /// volume.write("image", b"...")?;
    /// volume.set_attributes("image", &[Attribute::new(Attribute::USER, b"v1.2")?])?;
    /// assert_eq!(volume.attribute("image", Attribute::USER, &mut [0; 8])?, b"v1.2");
    /// # Ok(())
    /// # }
    /// ```
    pub fn set_attributes(
        &self,
        path: &(impl Path + ?Sized),
        attributes: &[Attribute<'_>],
    ) -> Result<(), Error> {
        let count = u32::try_from(attributes.len()).map_err(|_| Error::InvalidInput)?;
        let list = attributes.as_ptr().cast::<sys::Attr>();
        // SAFETY: an `Attribute` is laid out as the core's, and borrows its value.
        self.with_path(path, |fs, path| {
            check(unsafe { sys::nf2_setattr(fs, path, list, count) }).map(drop)
        })
    }

    /// From now on until the unmount, changes set the time of modification of files, by
    /// [`Options::time`](crate::Options::time). Content that does not lie in a file's entry then
    /// costs one program more, when it is closed. Without such a clock it is
    /// [`Error::InvalidInput`].
    pub fn keep_times(&self) -> Result<(), Error> {
        let entered = self.enter()?;
        // SAFETY: the volume is mounted.
        check(unsafe { sys::nf2_keep_times(entered.fs) }).map(drop)
    }

    /// When a file was modified, in seconds since 1970-01-01 UTC; `None` where that is not known.
    pub fn modified(&self, path: &(impl Path + ?Sized)) -> Result<Option<u64>, Error> {
        self.metadata(path)?;
        let mut bytes = [0; 8];
        match self.attribute(path, Attribute::TIME, &mut bytes[..TIME_BYTES]) {
            Ok(time) if time.len() == TIME_BYTES => Ok(Some(u64::from_le_bytes(bytes))),
            Ok(_) | Err(Error::NotFound | Error::BufferTooSmall) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
