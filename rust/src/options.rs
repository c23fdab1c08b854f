// SPDX-License-Identifier: BSD-2-Clause
use crate::sys;

/// How a volume lies on its chip, and what the chip can do beyond what the traits of
/// `embedded-storage` say. The default takes the whole chip and the times of a usual serial NOR
/// chip.
///
/// ```
/// let options = nf2fs::Options { offset: 0x10_0000, size: 0x20_0000, ..nf2fs::Options::new() };
/// # assert_eq!(options.wear_age, 0);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Bytes: where the volume begins on the chip; a multiple of the block size.
    pub offset: u32,
    /// Bytes: length of the volume, a multiple of the block size; 0: to the chip's end.
    pub size: u32,
    /// Bytes: the smallest piece that is programmed; a power of two, 1 to 32, and a multiple of the
    /// driver's `WRITE_SIZE`. 0: what the driver's traits promise, see [`Storage::new`]. The volume
    /// keeps it: another unit cannot mount it ([`Error::Geometry`]).
    ///
    /// [`Storage::new`]: crate::Storage::new
    /// [`Error::Geometry`]: crate::Error::Geometry
    pub program_unit: u32,
    /// Bytes: an erase that the driver does faster for its size than single blocks; a power of two.
    /// 0: none. Give it only if the driver's `erase` uses the chip's large erase for such a range.
    /// A volume mounts with it and without.
    pub large_erase_size: u32,
    /// Microseconds to read a page, typical. By these times [`Volume::maintain`] keeps its budget.
    /// Nothing else depends on them.
    ///
    /// [`Volume::maintain`]: crate::Volume::maintain
    pub read_page_us: u32,
    /// Microseconds to program a page, typical.
    pub program_page_us: u32,
    /// Microseconds to erase a block, typical.
    pub erase_block_us: u32,
    /// Microseconds of a large erase, typical; 0 where there is none.
    pub large_erase_us: u32,
    /// See `struct nf2_config` in `nf2fs.h`; 0: the default.
    pub wear_age: u32,
    /// See `struct nf2_config` in `nf2fs.h`; 0: the default.
    pub wear_spread: u32,
    /// A clock in microseconds that wraps at 32 bits. With it, [`Volume::maintain`] keeps its budget
    /// in real time.
    ///
    /// [`Volume::maintain`]: crate::Volume::maintain
    pub clock: Option<fn() -> u32>,
    /// Seconds since 1970-01-01 UTC, 0 while they are not known: for [`Volume::keep_times`].
    ///
    /// [`Volume::keep_times`]: crate::Volume::keep_times
    pub time: Option<fn() -> u64>,
}

impl Options {
    /// The default.
    pub const fn new() -> Options {
        Options {
            offset: 0,
            size: 0,
            program_unit: 0,
            large_erase_size: 0,
            read_page_us: 10,
            program_page_us: 400,
            erase_block_us: 45_000,
            large_erase_us: 0,
            wear_age: 0,
            wear_spread: 0,
            clock: None,
            time: None,
        }
    }
}

impl Default for Options {
    fn default() -> Options {
        Options::new()
    }
}

/// How a file is opened. Without one of `read`, `write` and `append` it is [`Error::InvalidInput`].
///
/// [`Error::InvalidInput`]: crate::Error::InvalidInput
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenOptions {
    pub(crate) flags: i32,
}

impl OpenOptions {
    /// Nothing is chosen yet.
    pub const fn new() -> OpenOptions {
        OpenOptions { flags: 0 }
    }

    const fn with(self, flags: i32, wanted: bool) -> OpenOptions {
        OpenOptions { flags: if wanted { self.flags | flags } else { self.flags & !flags } }
    }

    /// Open for reading.
    pub const fn read(self, wanted: bool) -> OpenOptions {
        self.with(sys::O_RDONLY, wanted)
    }

    /// Open for writing. One handle at a time may write a file.
    pub const fn write(self, wanted: bool) -> OpenOptions {
        self.with(sys::O_WRONLY, wanted)
    }

    /// Each write goes to the end of the file. Implies `write`.
    pub const fn append(self, wanted: bool) -> OpenOptions {
        if wanted {
            self.with(sys::O_APPEND | sys::O_WRONLY, true)
        } else {
            self.with(sys::O_APPEND, false)
        }
    }

    /// Empty the file, which is a part of its next sync.
    pub const fn truncate(self, wanted: bool) -> OpenOptions {
        self.with(sys::O_TRUNC, wanted)
    }

    /// Create the file if it is not there.
    pub const fn create(self, wanted: bool) -> OpenOptions {
        self.with(sys::O_CREAT, wanted)
    }

    /// Create the file; it is an error if it is there.
    pub const fn create_new(self, wanted: bool) -> OpenOptions {
        self.with(sys::O_CREAT | sys::O_EXCL, wanted)
    }

    /// Each write is durable when it returns.
    pub const fn sync(self, wanted: bool) -> OpenOptions {
        self.with(sys::O_SYNC, wanted)
    }
}
