// SPDX-License-Identifier: BSD-2-Clause
//! NF2FS is a file system for raw serial NOR flash that survives a power cut at any instant. This
//! crate puts it on any driver that implements [`embedded_storage::nor_flash::NorFlash`].
//!
//! ```
//! use embedded_io::Write;
//! use nf2fs::{ram::RamFlash, Error, OpenOptions, Storage};
//!
//! # fn main() -> Result<(), Error> {
//! // The driver of your chip; here a chip in memory.
//! let flash = RamFlash::new(1 << 20);
//!
//! // All memory of the volume: no heap is used.
//! let mut storage: Storage<_> = Storage::new_multiwrite(flash);
//! storage.format(false)?;
//! let volume = storage.mount()?;
//!
//! // A setting: durable when it returns, the old or the new one after a power cut.
//! volume.write("interval", b"60")?;
//!
//! // A log: each line is durable when `sync` returns.
//! let mut log = volume.open_with("log", OpenOptions::new().append(true).create(true))?;
//! log.write_all(b"started\n")?;
//! log.sync()?;
//! log.close()?;
//!
//! for entry in volume.read_dir("/")? {
//!     let entry = entry?;
//!     println!("{} {}", entry.name_str().unwrap(), entry.metadata().len);
//! }
//! let mut buffer = [0; 16];
//! assert_eq!(volume.read("interval", &mut buffer)?, b"60");
//! volume.unmount()
//! # }
//! ```
//!
//! # What is guaranteed
//!
//! Once [`File::sync`] or [`File::close`] has returned `Ok`, what was written is on the chip. A power
//! cut before that leaves the file as it was at its last sync; one during the sync leaves all of the
//! writes since then, or none. [`Volume::create_dir`], [`Volume::remove`], [`Volume::rename`] and
//! [`Volume::write`] are durable when they return, and all or nothing. The promises and their
//! conditions are in the comments of `nf2fs.h`, which is a part of this package.
//!
//! # Formatting the first time
//!
//! [`Error::Blank`] says that there is no volume, and that the first 256 bytes are `0xFF` in the
//! first block of its range and in each block from the ninth on. A chip that is not ready yet may
//! also read as `0xFF`. So format because of `Blank` only where that may not destroy anything: in
//! production, or after a second look.
//!
//! ```
//! # use nf2fs::{ram::RamFlash, Error, Storage, Volume};
//! # let mut storage: Storage<_> = Storage::new(RamFlash::new(1 << 20));
//! fn start(storage: &mut Storage<RamFlash>) -> Result<Volume<'_>, Error> {
//!     if let Err(Error::Blank) = storage.mount().map(drop) {
//!         storage.format(false)?;
//!     }
//!     storage.mount()
//! }
//! # start(&mut storage).unwrap();
//! ```
//!
//! # Panics, threads, interrupts
//!
//! The calls are blocking, and a [`Volume`] belongs to one thread. A panic in the driver ends the
//! program, since it cannot unwind through C.
//!
//! # Features
//!
//! | feature | what it adds |
//! |---|---|
//! | `std` | [`ram::RamFlash`], and the traits of `std::io` for [`File`]; in builds with debug assertions the core's own assertions |
//! | `defmt` | `defmt::Format` for errors and small structures |
#![no_std]
#![warn(missing_docs, unsafe_op_in_unsafe_fn)]
#![cfg_attr(not(feature = "std"), allow(rustdoc::broken_intra_doc_links))]

#[cfg(feature = "std")]
extern crate std;

mod attribute;
mod dir;
mod error;
mod file;
mod flash;
mod options;
mod path;
#[cfg(feature = "std")]
pub mod ram;
mod storage;
mod sys;
mod volume;

pub use attribute::Attribute;
pub use dir::{DirEntry, ReadDir};
pub use embedded_io;
pub use embedded_storage;
pub use error::Error;
pub use file::File;
pub use options::{OpenOptions, Options};
pub use path::{Path, PATH_MAX};
pub use storage::{buffer_size, Storage};
pub use volume::{FileType, Finding, Health, Metadata, Space, Volume};

/// The fewest blocks of a volume.
pub const BLOCKS_MIN: usize = sys::layout::BLOCKS_MIN;

/// The example of the README compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
