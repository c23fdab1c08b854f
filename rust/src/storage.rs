// SPDX-License-Identifier: BSD-2-Clause
use core::cell::Cell;
use core::ffi::c_void;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ptr::{addr_of, addr_of_mut, NonNull};

use embedded_storage::nor_flash::{MultiwriteNorFlash, NorFlash, NorFlashErrorKind};

use crate::error::{check, Error};
use crate::flash::Driver;
use crate::options::Options;
use crate::sys::{self, layout};
use crate::volume::Volume;

/// Bytes of the buffer that a volume needs at least, for pages of `page` bytes.
pub const fn buffer_size(page: usize) -> usize {
    layout::BUFFER_BASE + page
}

/// What the core keeps of a mounted volume: in one place while it is mounted.
pub(crate) struct Core {
    pub fs: MaybeUninit<layout::Fs>,
    pub flash: sys::Flash,
    pub config: sys::Config,
    pub clock: Option<fn() -> u32>,
    pub time: Option<fn() -> u64>,
    pub busy: Cell<bool>,
}

// SAFETY: the pointers in it are those of a mounted volume. While one is mounted the `Storage` is
// borrowed, and can go nowhere; afterwards nothing follows them.
unsafe impl Send for Core {}

/// The memory of an open file.
pub(crate) struct Handle {
    pub file: MaybeUninit<layout::File>,
    pub used: Cell<bool>,
}

/// The flash driver of a volume, and all memory that the volume needs.
///
/// The crate allocates nothing: a `Storage` has one handle and one page for each of `FILES` files
/// that may be open at a time, and a buffer of `BUFFER` bytes. `PAGE` is the chip's page, 256 or
/// 512 bytes. A larger buffer holds more of the tree, so that the chip is read less often.
///
/// [`mount`](Storage::mount) borrows it until the [`Volume`] is gone. Hence it cannot move while the
/// core holds pointers into it, and needs no pinning. Firmware mostly keeps it in a static cell.
///
/// ```
/// use nf2fs::{ram::RamFlash, Storage};
///
/// // Four open files, and a larger buffer.
/// let storage: Storage<RamFlash, 4, 256, 4096> = Storage::new(RamFlash::new(1 << 20));
/// # drop(storage);
/// ```
///
/// It does not move while it is mounted:
///
/// ```compile_fail,E0505
/// use nf2fs::{ram::RamFlash, Storage};
///
/// let mut storage: Storage<_> = Storage::new(RamFlash::new(1 << 20));
/// storage.format(true).unwrap();
/// let volume = storage.mount().unwrap();
/// let moved = storage; // error: it is borrowed
/// volume.unmount().unwrap();
/// ```
///
/// Nor does a chip of 2 KiB pages fit, or a buffer that is too small:
///
/// ```compile_fail,E0080
/// use nf2fs::{ram::RamFlash, Storage};
///
/// let storage: Storage<RamFlash, 1, 256, 512> = Storage::new(RamFlash::new(1 << 20));
/// ```
pub struct Storage<
    F: NorFlash,
    const FILES: usize = 2,
    const PAGE: usize = 256,
    const BUFFER: usize = { buffer_size(256) },
> {
    core: Core,
    driver: Driver<F>,
    options: Options,
    repeats: bool,
    handles: [Handle; FILES],
    pages: [[u8; PAGE]; FILES],
    buffer: [u8; BUFFER],
}

impl<F: NorFlash, const FILES: usize, const PAGE: usize, const BUFFER: usize>
    Storage<F, FILES, PAGE, BUFFER>
{
    /// For any driver: each unit is programmed once between two erases.
    ///
    /// A unit is `WRITE_SIZE` bytes, or 2 if that is 1. (With units of one byte the core may repeat
    /// a program that a power cut tore: see [`new_multiwrite`](Storage::new_multiwrite).)
    pub const fn new(flash: F) -> Self {
        Self::with(flash, false)
    }

    /// For a driver that may program a unit twice, as plain serial NOR chips can. A unit is
    /// `WRITE_SIZE` bytes. With `WRITE_SIZE` 1 the volumes are those of the C drivers and of the
    /// host tools.
    pub const fn new_multiwrite(flash: F) -> Self
    where
        F: MultiwriteNorFlash,
    {
        Self::with(flash, true)
    }

    const fn with(flash: F, repeats: bool) -> Self {
        const {
            assert!(FILES > 0, "a volume needs a handle");
            assert!(PAGE == 256 || PAGE == 512, "pages have 256 or 512 bytes");
            assert!(BUFFER >= buffer_size(PAGE), "BUFFER has at least buffer_size(PAGE) bytes");
        }
        Storage {
            core: Core {
                fs: MaybeUninit::zeroed(),
                flash: no_flash(),
                config: no_config(),
                clock: None,
                time: None,
                busy: Cell::new(false),
            },
            driver: Driver { flash, is_bad_block: no_bad_block::<F>, error: None },
            options: Options::new(),
            repeats,
            handles: [const { Handle { file: MaybeUninit::uninit(), used: Cell::new(false) } };
                FILES],
            pages: [[0; PAGE]; FILES],
            buffer: [0; BUFFER],
        }
    }

    /// Where the volume lies, and what the chip takes for it.
    pub fn set_options(&mut self, options: Options) {
        self.options = options;
    }

    /// Which errors of the driver say that a block fails to program or to erase for good, by the
    /// chip's own status. The core moves its content elsewhere and uses the block no more. Any other
    /// error ends all writing until the next mount.
    pub fn set_bad_block(&mut self, is_bad_block: fn(&F::Error) -> bool) {
        self.driver.is_bad_block = is_bad_block;
    }

    /// The driver, while no volume is mounted.
    pub fn flash(&mut self) -> &mut F {
        &mut self.driver.flash
    }

    /// Gives the driver back.
    pub fn into_flash(self) -> F {
        self.driver.flash
    }

    /// What the driver last failed with, in a format or a mount.
    pub fn driver_error(&self) -> Option<NorFlashErrorKind> {
        self.driver.error
    }

    /// Makes an empty volume; whatever the range held is lost. With `erase` the whole volume is
    /// erased now, which takes minutes on a large chip; otherwise each block before its first use.
    ///
    /// A power cut leaves the volume that was there before, the new one, or none.
    pub fn format(&mut self, erase: bool) -> Result<(), Error> {
        let this: *mut Self = self;
        let flags = if erase { sys::FORMAT_ERASE } else { sys::FORMAT_QUICK };
        // SAFETY: `prepare` sets everything up, and `self` is borrowed until the call returns.
        unsafe {
            let core = Self::prepare(this)?;
            check(sys::nf2_format(addr_of_mut!((*core).fs).cast(), addr_of!((*core).config), flags))
                .map(drop)
        }
    }

    /// Mounts the volume. Nothing is programmed or erased, also after a power cut.
    ///
    /// A [`Volume`] that is dropped is unmounted. One that is forgotten ([`core::mem::forget`]) is
    /// left as by a power cut.
    pub fn mount(&mut self) -> Result<Volume<'_>, Error> {
        self.mount_with(sys::MOUNT_RDWR)
    }

    /// Mounts the volume for reading: nothing is programmed or erased until it is gone.
    pub fn mount_read_only(&mut self) -> Result<Volume<'_>, Error> {
        self.mount_with(sys::MOUNT_RDONLY)
    }

    fn mount_with(&mut self, flags: i32) -> Result<Volume<'_>, Error> {
        let this: *mut Self = self;
        // SAFETY: `prepare` sets everything up. The volume borrows `self` as long as it lives, so that
        // nothing moves. All pointers are taken from `this`, and lead into `self`.
        unsafe {
            let core = Self::prepare(this)?;
            let fs = addr_of_mut!((*core).fs).cast::<layout::Fs>();
            check(match flags {
                sys::MOUNT_RDONLY => sys::nf2_mount_rdonly(fs, addr_of!((*core).config)),
                _ => sys::nf2_mount(fs, addr_of!((*core).config), flags),
            })?;
            Ok(Volume {
                core: NonNull::new_unchecked(core),
                error: NonNull::new_unchecked(addr_of_mut!((*this).driver.error)),
                handles: NonNull::new_unchecked(addr_of_mut!((*this).handles).cast()),
                pages: NonNull::new_unchecked(addr_of_mut!((*this).pages).cast()),
                files: FILES,
                page: PAGE,
                storage: PhantomData,
            })
        }
    }

    /// Sets up what the core gets, for the storage where it is now, and forgets what a volume
    /// before it left there.
    ///
    /// # Safety
    /// `this` leads to a storage that nothing else uses.
    unsafe fn prepare(this: *mut Self) -> Result<*mut Core, Error> {
        // SAFETY: see above; all pointers are taken from `this`.
        unsafe {
            let geometry =
                Self::geometry(&(*this).driver.flash, &(*this).options, (*this).repeats)?;
            let options = (*this).options;
            (*this).driver.error = None;
            for index in 0..FILES {
                (*this).handles[index].used = Cell::new(false);
            }
            let core = addr_of_mut!((*this).core);
            (*core).fs = MaybeUninit::zeroed();
            (*core).busy = Cell::new(false);
            (*core).clock = options.clock;
            (*core).time = options.time;
            (*core).flash = sys::Flash { context: addr_of_mut!((*this).driver).cast(), ..geometry };
            (*core).config = sys::Config {
                flash: addr_of!((*core).flash),
                offset: options.offset,
                size: options.size,
                buffer: addr_of_mut!((*this).buffer).cast(),
                buffer_size: BUFFER as u32,
                wear_age: options.wear_age,
                wear_spread: options.wear_spread,
                now_us: options.clock.map(|_| now_us as unsafe extern "C" fn(*mut c_void) -> u32),
                clock_context: core.cast(),
                time_s: options.time.map(|_| time_s as unsafe extern "C" fn(*mut c_void) -> u64),
                ..no_config()
            };
            Ok(core)
        }
    }

    /// The chip as the core sees it. Blocks of less than 4 KiB are taken together.
    fn geometry(flash: &F, options: &Options, repeats: bool) -> Result<sys::Flash, Error> {
        const BLOCK_MIN: usize = 4096;
        let block = if F::ERASE_SIZE < BLOCK_MIN { BLOCK_MIN } else { F::ERASE_SIZE };
        let unit = match options.program_unit {
            0 if repeats => F::WRITE_SIZE,
            0 => F::WRITE_SIZE.max(2),
            unit => unit as usize,
        };
        if F::ERASE_SIZE == 0 || F::WRITE_SIZE == 0 || F::READ_SIZE == 0 {
            return Err(Error::Geometry);
        }
        if block % F::ERASE_SIZE != 0 || unit % F::WRITE_SIZE != 0 {
            return Err(Error::Geometry);
        }
        let number = |value: usize| u32::try_from(value).map_err(|_| Error::Geometry);
        let capacity = flash.capacity();
        Ok(sys::Flash {
            read: Some(crate::flash::read::<F>),
            program: Some(crate::flash::program::<F>),
            erase: Some(crate::flash::erase::<F>),
            chip_size: number(capacity - capacity % block)?,
            block_size: number(block)?,
            large_erase_size: options.large_erase_size,
            page_size: PAGE as u32,
            program_unit: number(unit)?,
            read_unit: number(F::READ_SIZE)?,
            read_page_us: options.read_page_us,
            program_page_us: options.program_page_us,
            erase_block_us: options.erase_block_us,
            large_erase_us: options.large_erase_us,
            ..no_flash()
        })
    }
}

fn no_bad_block<F: NorFlash>(_: &F::Error) -> bool {
    false
}

/// # Safety
/// `context` is the `Core` of a mounted volume.
unsafe extern "C" fn now_us(context: *mut c_void) -> u32 {
    unsafe { (*context.cast::<Core>()).clock }.map_or(0, |clock| clock())
}

/// # Safety
/// `context` is the `Core` of a mounted volume.
unsafe extern "C" fn time_s(context: *mut c_void) -> u64 {
    unsafe { (*context.cast::<Core>()).time }.map_or(0, |time| time())
}

const fn no_flash() -> sys::Flash {
    sys::Flash {
        context: core::ptr::null_mut(),
        read: None,
        program: None,
        erase: None,
        chip_size: 0,
        block_size: 0,
        large_erase_size: 0,
        page_size: 0,
        program_unit: 0,
        read_unit: 0,
        read_page_us: 0,
        program_page_us: 0,
        erase_block_us: 0,
        large_erase_us: 0,
        erase_begin: None,
        erase_done: None,
    }
}

const fn no_config() -> sys::Config {
    sys::Config {
        flash: core::ptr::null(),
        offset: 0,
        size: 0,
        buffer: core::ptr::null_mut(),
        buffer_size: 0,
        lock: None,
        unlock: None,
        lock_context: core::ptr::null_mut(),
        wear_age: 0,
        wear_spread: 0,
        now_us: None,
        clock_context: core::ptr::null_mut(),
        time_s: None,
    }
}
