// SPDX-License-Identifier: BSD-2-Clause
use core::ffi::{c_int, c_void, CStr};
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ptr::{addr_of, addr_of_mut, NonNull};
use core::slice;
use core::time::Duration;

use embedded_storage::nor_flash::NorFlashErrorKind;

use crate::dir::ReadDir;
use crate::error::{check, Error};
use crate::file::File;
use crate::options::OpenOptions;
use crate::path::Path;
use crate::storage::{Core, Handle};
use crate::sys::{self, layout};

/// A mounted volume. Files and listings borrow it, so they end before it does.
///
/// Its calls take `&self`: several files may be open at a time. It belongs to one thread. When it is
/// dropped it is unmounted, and an error of that is lost: call [`unmount`](Volume::unmount) to see
/// it. Without an unmount nothing that was synced is lost; the first change after the next mount
/// has more to do.
///
/// A handle does not outlive its volume:
///
/// ```compile_fail,E0505
/// use nf2fs::{ram::RamFlash, Storage};
///
/// let mut storage: Storage<_> = Storage::new(RamFlash::new(1 << 20));
/// storage.format(true).unwrap();
/// let volume = storage.mount().unwrap();
/// let file = volume.create("log").unwrap();
/// volume.unmount().unwrap(); // error: `file` borrows it
/// file.close().unwrap();
/// ```
pub struct Volume<'s> {
    pub(crate) core: NonNull<Core>,
    pub(crate) error: NonNull<Option<NorFlashErrorKind>>,
    pub(crate) handles: NonNull<Handle>,
    pub(crate) pages: NonNull<u8>,
    pub(crate) files: usize,
    pub(crate) page: usize,
    pub(crate) storage: PhantomData<&'s mut ()>,
}

/// Whether a name is a file or a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum FileType {
    /// A file.
    File,
    /// A directory.
    Directory,
}

impl FileType {
    pub(crate) fn from_c(kind: layout::CType) -> FileType {
        if kind == sys::TYPE_DIR {
            FileType::Directory
        } else {
            debug_assert_eq!(kind, sys::TYPE_FILE);
            FileType::File
        }
    }
}

/// What a name leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Metadata {
    /// A file or a directory.
    pub kind: FileType,
    /// Bytes; 0 for a directory.
    pub len: u32,
}

/// Space of a volume, in blocks. There may be more free blocks than this says, never fewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Space {
    /// Bytes of a block.
    pub block_size: u32,
    /// All blocks of the volume.
    pub blocks: u32,
    /// Blocks that hold nothing, the reserve included.
    pub free: u32,
    /// Free blocks that are known to be erased.
    pub erased: u32,
    /// Blocks for the data of files: the free ones less the reserve.
    pub available: u32,
    /// Blocks that failed for good.
    pub bad: u32,
}

/// Wear of a volume: erases of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Health {
    /// The mean of the least worn group of blocks.
    pub erases_min: u32,
    /// The mean of the most worn group of blocks.
    pub erases_max: u32,
    /// The mean of all blocks.
    pub erases_mean: u32,
    /// All erases of blocks since the format.
    pub erases_total: u64,
    /// Mounts since the format that found the volume not left cleanly.
    pub mounts_unclean: u32,
    /// Blocks that failed for good.
    pub blocks_bad: u32,
}

/// One thing that [`Volume::check`] finds wrong.
#[derive(Clone, Copy, Debug)]
pub struct Finding<'a> {
    /// What is wrong, in a short English phrase.
    pub text: &'a str,
    /// The block where it is, if it is in one.
    pub block: Option<u32>,
    /// The number of the directory or file that is affected, if there is one.
    pub id: Option<u32>,
    /// The name of the entry that is affected; empty where there is none.
    pub name: &'a [u8],
}

/// While it lives, a call of the core is on. See [`Error::Reentered`].
pub(crate) struct Entered<'v> {
    busy: &'v core::cell::Cell<bool>,
    pub fs: *mut layout::Fs,
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.busy.set(false);
    }
}

impl<'s> Volume<'s> {
    /// Begins a call of the core.
    pub(crate) fn enter(&self) -> Result<Entered<'_>, Error> {
        let core = self.core.as_ptr();
        // SAFETY: the storage is there as long as the volume; `busy` is touched by nothing else.
        let (busy, fs) = unsafe { (&*addr_of!((*core).busy), addr_of_mut!((*core).fs).cast()) };
        if busy.replace(true) {
            return Err(Error::Reentered);
        }
        Ok(Entered { busy, fs })
    }

    pub(crate) fn with_path<R>(
        &self,
        path: &(impl Path + ?Sized),
        call: impl FnOnce(*mut layout::Fs, *const core::ffi::c_char) -> Result<R, Error>,
    ) -> Result<R, Error> {
        path.with(|path| {
            let entered = self.enter()?;
            call(entered.fs, path)
        })
    }

    /// Unmounts the volume: writes what is pending and marks it as cleanly left. After an error it is
    /// not mounted either.
    pub fn unmount(self) -> Result<(), Error> {
        let volume = core::mem::ManuallyDrop::new(self);
        volume.end()
    }

    fn end(&self) -> Result<(), Error> {
        let entered = self.enter()?;
        // SAFETY: no handle borrows the volume any more. A forgotten one is closed by the core.
        check(unsafe { sys::nf2_unmount(entered.fs) }).map(drop)
    }

    /// What the driver last failed with since the mount.
    pub fn driver_error(&self) -> Option<NorFlashErrorKind> {
        let _entered = self.enter().ok()?; // inside of a call it belongs to the driver
                                           // SAFETY: no call is on, so that nothing else uses it.
        unsafe { *self.error.as_ptr() }
    }

    // ---- files ----

    /// Opens a file for reading.
    pub fn open(&self, path: &(impl Path + ?Sized)) -> Result<File<'_>, Error> {
        self.open_with(path, OpenOptions::new().read(true))
    }

    /// Opens a file for writing, creates it if it is not there, and empties it if it is. The old
    /// content is there until the new one is synced; it is not lost if the power fails before.
    pub fn create(&self, path: &(impl Path + ?Sized)) -> Result<File<'_>, Error> {
        self.open_with(path, OpenOptions::new().write(true).create(true).truncate(true))
    }

    /// Opens a file with these options.
    pub fn open_with(
        &self,
        path: &(impl Path + ?Sized),
        options: OpenOptions,
    ) -> Result<File<'_>, Error> {
        let index = self.free_handle()?;
        // SAFETY: the index is that of a handle.
        let handle = unsafe { self.handles.as_ptr().add(index) };
        self.with_path(path, |fs, path| {
            // SAFETY: handle and page are in use by nothing else, and stay where they are as long as
            // the volume lives. Both are in use until the core has closed the handle.
            unsafe {
                let page: *mut c_void = self.pages.as_ptr().add(index * self.page).cast();
                let file = addr_of_mut!((*handle).file).cast();
                check(sys::nf2_open(fs, file, path, options.flags as c_int, page))?;
                (*addr_of!((*handle).used)).set(true);
            }
            Ok(())
        })?;
        Ok(File { volume: self, handle })
    }

    /// A handle that is not in use. One whose `File` was forgotten is in use until the unmount.
    fn free_handle(&self) -> Result<usize, Error> {
        (0..self.files)
            // SAFETY: the index is that of a handle; `used` is touched outside of the core alone.
            .find(|&index| unsafe { !(*addr_of!((*self.handles.as_ptr().add(index)).used)).get() })
            .ok_or(Error::TooManyFiles)
    }

    /// Reads a whole file into `buffer`, and returns what was read, as it was last synced. It is an
    /// error ([`Error::BufferTooSmall`]) if the file does not fit. It needs no handle.
    pub fn read<'b>(
        &self,
        path: &(impl Path + ?Sized),
        buffer: &'b mut [u8],
    ) -> Result<&'b mut [u8], Error> {
        let room = u32::try_from(buffer.len()).unwrap_or(u32::MAX);
        let data = buffer.as_mut_ptr().cast();
        // SAFETY: the core fills at most `room` bytes.
        let length = self.with_path(path, |fs, path| {
            match check(unsafe { sys::nf2_load(fs, path, data, room) }) {
                Err(Error::FileTooLarge) => Err(Error::BufferTooSmall),
                other => other,
            }
        })?;
        Ok(&mut buffer[..length as usize])
    }

    /// Makes `data` the content of a file, which is created if it is not there: durable when it
    /// returns, and all or nothing when the power fails. After an error other than [`Error::Io`] the
    /// file is as it was. It needs no handle; a file that is open for writing is [`Error::Busy`].
    ///
    /// The driver gets `data` as it is: it cannot program from memory that is read through the chip
    /// itself, such as a constant in a program that runs from there.
    pub fn write(&self, path: &(impl Path + ?Sized), data: &[u8]) -> Result<(), Error> {
        let length = u32::try_from(data.len()).map_err(|_| Error::FileTooLarge)?;
        // SAFETY: the core reads `length` bytes; `data` is no buffer of the volume.
        self.with_path(path, |fs, path| {
            check(unsafe { sys::nf2_save(fs, path, data.as_ptr().cast(), length) }).map(drop)
        })
    }

    /// Size and type of what a name leads to.
    pub fn metadata(&self, path: &(impl Path + ?Sized)) -> Result<Metadata, Error> {
        let mut stat = sys::Stat::default();
        // SAFETY: the core fills `stat`.
        self.with_path(path, |fs, path| check(unsafe { sys::nf2_stat(fs, path, &mut stat) }))?;
        Ok(Metadata { kind: FileType::from_c(stat.kind), len: stat.size })
    }

    /// Whether a name is there.
    pub fn exists(&self, path: &(impl Path + ?Sized)) -> Result<bool, Error> {
        match self.metadata(path) {
            Ok(_) => Ok(true),
            Err(Error::NotFound) => Ok(false),
            Err(error) => Err(error),
        }
    }

    // ---- names ----

    /// Makes a directory; its parent must be there. Durable when it returns, all or nothing.
    pub fn create_dir(&self, path: &(impl Path + ?Sized)) -> Result<(), Error> {
        // SAFETY: the path ends with a NUL.
        self.with_path(path, |fs, path| check(unsafe { sys::nf2_mkdir(fs, path) }).map(drop))
    }

    /// Removes a file or an empty directory, also on a full volume. Durable when it returns, all or
    /// nothing.
    pub fn remove(&self, path: &(impl Path + ?Sized)) -> Result<(), Error> {
        // SAFETY: the path ends with a NUL.
        self.with_path(path, |fs, path| check(unsafe { sys::nf2_remove(fs, path) }).map(drop))
    }

    /// Renames a file or directory, and replaces what `to` leads to in the same instant. Durable when
    /// it returns, all or nothing.
    pub fn rename(
        &self,
        from: &(impl Path + ?Sized),
        to: &(impl Path + ?Sized),
    ) -> Result<(), Error> {
        from.with(|from| {
            // SAFETY: both paths end with a NUL.
            self.with_path(to, |fs, to| check(unsafe { sys::nf2_rename(fs, from, to) }).map(drop))
        })
    }

    /// Lists a directory, in the order of the names' bytes (names that share their first 20 bytes in
    /// any order among themselves).
    pub fn read_dir(&self, path: &(impl Path + ?Sized)) -> Result<ReadDir<'_>, Error> {
        let mut dir = MaybeUninit::<layout::Dir>::zeroed();
        // SAFETY: the core fills `dir`.
        self.with_path(path, |fs, path| {
            check(unsafe { sys::nf2_opendir(fs, dir.as_mut_ptr(), path) })
        })?;
        Ok(ReadDir { volume: self, dir, ended: false })
    }

    // ---- the volume ----

    /// Space of the volume.
    pub fn space(&self) -> Result<Space, Error> {
        let mut out = sys::Statfs::default();
        let entered = self.enter()?;
        // SAFETY: the core fills `out`.
        check(unsafe { sys::nf2_statfs(entered.fs, &mut out) })?;
        Ok(Space {
            block_size: out.block_size,
            blocks: out.blocks,
            free: out.blocks_free,
            erased: out.blocks_erased,
            available: out.blocks_available,
            bad: out.blocks_bad,
        })
    }

    /// Wear of the volume.
    pub fn health(&self) -> Result<Health, Error> {
        let mut out = sys::Health::default();
        let entered = self.enter()?;
        // SAFETY: the core fills `out`.
        check(unsafe { sys::nf2_health(entered.fs, &mut out) })?;
        Ok(Health {
            erases_min: out.erases_min,
            erases_max: out.erases_max,
            erases_mean: out.erases_mean,
            erases_total: out.erases_total,
            mounts_unclean: out.mounts_unclean,
            blocks_bad: out.blocks_bad,
        })
    }

    /// Does idle work for at most `budget`: frees what removed files held, compacts, erases ahead.
    /// Returns whether work is left, which may need a larger budget: do not wait in a loop for
    /// `false`. The power may fail at any point.
    pub fn maintain(&self, budget: Duration) -> Result<bool, Error> {
        let budget = u32::try_from(budget.as_micros()).unwrap_or(u32::MAX);
        let entered = self.enter()?;
        // SAFETY: the volume is mounted.
        check(unsafe { sys::nf2_maintain(entered.fs, budget) }).map(|left| left != 0)
    }

    /// Reads everything, and calls `report` for each thing that is wrong, of which it returns the
    /// number. It changes nothing. Calls of the volume inside of `report` are [`Error::Reentered`]; a
    /// panic in it ends the program.
    pub fn check(&self, mut report: impl FnMut(Finding<'_>)) -> Result<u32, Error> {
        let entered = self.enter()?;
        let context: *mut _ = &mut report;
        // SAFETY: `context` is what `reported` takes it for, as long as the call lasts.
        check(unsafe { sys::nf2_check(entered.fs, Some(reporter(&report)), context.cast()) })
    }
}

/// The function that calls a closure of this type.
fn reporter<R: FnMut(Finding<'_>)>(_: &R) -> sys::Report {
    reported::<R>
}

/// # Safety
/// `context` leads to an `R`, and `finding` to a finding of the core.
unsafe extern "C" fn reported<R: FnMut(Finding<'_>)>(
    context: *mut c_void,
    finding: *const sys::Finding,
) {
    // SAFETY: see above; the text is constant and never NULL.
    let (report, finding, text) = unsafe {
        let finding = &*finding;
        (&mut *context.cast::<R>(), finding, CStr::from_ptr(sys::nf2_finding_text(finding.kind)))
    };
    let name = match finding.name.is_null() {
        true => &[],
        // SAFETY: the core names that many bytes, as long as the call lasts.
        false => unsafe { slice::from_raw_parts(finding.name, usize::from(finding.name_length)) },
    };
    report(Finding {
        text: text.to_str().unwrap_or("unknown"),
        block: (finding.block != u32::MAX).then_some(finding.block),
        id: (finding.id != 0).then_some(finding.id),
        name,
    });
}

impl Drop for Volume<'_> {
    fn drop(&mut self) {
        let _ = self.end();
    }
}
