// SPDX-License-Identifier: BSD-2-Clause
//! The crate on a Cortex-M4 without an operating system: a volume on a chip in RAM is written,
//! left as by a power cut, mounted again and compared. Runs in an emulator (`cargo run --release`);
//! the exit code says whether all was well.
#![no_std]
#![no_main]

use core::panic::PanicInfo;

use cortex_m::singleton;
use cortex_m_rt::entry;
use cortex_m_semihosting::{debug, hprintln};
use embedded_io::{Read, Seek, SeekFrom, Write};
use nf2fs::embedded_storage::nor_flash::{
    ErrorType, MultiwriteNorFlash, NorFlash, NorFlashErrorKind, ReadNorFlash,
};
use nf2fs::{Error, FileType, OpenOptions, Storage};

const SIZE: usize = 256 * 1024;

/// A chip in RAM that holds to the rules: a program clears bits, an erase sets them.
struct Chip(&'static mut [u8; SIZE]);

impl ErrorType for Chip {
    type Error = NorFlashErrorKind;
}

impl ReadNorFlash for Chip {
    const READ_SIZE: usize = 1;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), NorFlashErrorKind> {
        bytes.copy_from_slice(&self.0[offset as usize..][..bytes.len()]);
        Ok(())
    }

    fn capacity(&self) -> usize {
        SIZE
    }
}

impl NorFlash for Chip {
    const WRITE_SIZE: usize = 1;
    const ERASE_SIZE: usize = 4096;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), NorFlashErrorKind> {
        self.0[from as usize..to as usize].fill(0xFF);
        Ok(())
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), NorFlashErrorKind> {
        for (cell, byte) in self.0[offset as usize..].iter_mut().zip(bytes) {
            *cell &= byte;
        }
        Ok(())
    }
}

impl MultiwriteNorFlash for Chip {}

const STARTS: u32 = 50;

/// Counts its starts in a file, and keeps a log of them.
fn one_start(storage: &mut Storage<Chip>, start: u32) -> Result<(), Error> {
    let volume = storage.mount()?;
    let mut number = [0; 4];
    if start > 0 {
        volume.read("starts", &mut number)?;
    }
    assert_eq!(u32::from_le_bytes(number), start);
    volume.write("starts", &(start + 1).to_le_bytes())?;
    let mut log =
        volume.open_with("log", OpenOptions::new().read(true).append(true).create(true))?;
    for line in 0..20 {
        log.write_all(&[start as u8, line, 0x55, 0xAA])?;
        log.sync()?;
    }
    log.seek(SeekFrom::Start(u64::from(start) * 80))?;
    let mut back = [0; 4];
    log.read_exact(&mut back).map_err(|_| Error::Io)?;
    assert_eq!(back, [start as u8, 0, 0x55, 0xAA]);
    log.close()?;
    // Types have one byte in the C of this target: they must be read as such.
    for entry in volume.read_dir("/")? {
        let metadata = entry?.metadata();
        assert_eq!(metadata.kind, FileType::File);
        assert!(metadata.len == 4 || metadata.len == (start + 1) * 80);
    }
    if start % 2 == 0 {
        core::mem::forget(volume);
        return Ok(());
    }
    volume.unmount()
}

fn all_starts() -> Result<(), Error> {
    let memory = singleton!(: [u8; SIZE] = [0xFF; SIZE]).expect("it is taken once");
    let mut storage: Storage<Chip> = Storage::new_multiwrite(Chip(memory));
    storage.format(false)?;
    for start in 0..STARTS {
        one_start(&mut storage, start)?;
    }
    let volume = storage.mount()?;
    assert_eq!(volume.check(|_| ())?, 0);
    assert_eq!(volume.open("missing").map(drop), Err(Error::NotFound));
    hprintln!("{} starts; {} blocks, {:?}", STARTS, volume.space()?.blocks, Error::NotFound);
    volume.unmount()
}

#[entry]
fn main() -> ! {
    hprintln!(
        "RAM of a volume, in bytes: {} with two open files, {} with one",
        size_of::<Storage<Chip>>() - size_of::<Chip>(),
        size_of::<Storage<Chip, 1>>() - size_of::<Chip>()
    );
    match all_starts() {
        Ok(()) => debug::exit(debug::EXIT_SUCCESS),
        Err(error) => {
            hprintln!("failed: {}", error);
            debug::exit(debug::EXIT_FAILURE);
        }
    }
    loop {
        cortex_m::asm::wfi();
    }
}

#[panic_handler]
fn panic(info: &PanicInfo) -> ! {
    hprintln!("{}", info);
    debug::exit(debug::EXIT_FAILURE);
    loop {
        cortex_m::asm::wfi();
    }
}
