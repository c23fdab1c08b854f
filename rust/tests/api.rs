// SPDX-License-Identifier: BSD-2-Clause
//! Each call of the crate, on a chip in memory.
#![cfg(feature = "std")]

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use embedded_io::{Read, Seek, SeekFrom, Write};
use nf2fs::embedded_storage::nor_flash::{ErrorType, NorFlash, NorFlashErrorKind, ReadNorFlash};
use nf2fs::ram::RamFlash;
use nf2fs::{Attribute, Error, FileType, OpenOptions, Options, Storage, Volume};

const CHIP: usize = 512 * 1024;

fn storage() -> Storage<RamFlash, 3> {
    let mut storage = Storage::new_multiwrite(RamFlash::new(CHIP));
    storage.format(true).unwrap();
    storage
}

fn read_write() -> OpenOptions {
    OpenOptions::new().read(true).write(true)
}

fn names(volume: &Volume, path: &str) -> Vec<String> {
    volume.read_dir(path).unwrap().map(|e| e.unwrap().name_str().unwrap().to_owned()).collect()
}

#[test]
fn what_is_written_is_read_after_a_remount() {
    let mut storage = storage();
    let volume = storage.mount().unwrap();
    volume.create_dir("logs").unwrap();
    let mut file = volume.create("logs/today").unwrap();
    file.write_all(b"first line\n").unwrap();
    file.flush().unwrap();
    file.write_all(b"second line\n").unwrap();
    file.close().unwrap();
    volume.unmount().unwrap();

    let volume = storage.mount_read_only().unwrap();
    let mut buffer = [0; 64];
    assert_eq!(volume.read("/logs/today", &mut buffer).unwrap(), b"first line\nsecond line\n");
    assert_eq!(volume.metadata("logs/today").unwrap().len, 23);
    assert_eq!(volume.metadata(c"logs").unwrap().kind, FileType::Directory);
    assert_eq!(volume.write("new", b"x"), Err(Error::ReadOnly));
}

#[test]
fn a_volume_that_is_forgotten_keeps_what_was_synced() {
    let mut storage = storage();
    let volume = storage.mount().unwrap();
    let mut file = volume.create("log").unwrap();
    file.write_all(b"synced").unwrap();
    file.sync().unwrap();
    file.write_all(b" and not").unwrap();
    std::mem::forget(file);
    std::mem::forget(volume);

    let volume = storage.mount().unwrap();
    let mut buffer = [0; 64];
    assert_eq!(volume.read("log", &mut buffer).unwrap(), b"synced");
    // All handles are free again.
    let files: Vec<_> = (0..3).map(|_| volume.open("log").unwrap()).collect();
    drop(files);
}

#[test]
fn a_storage_moves_between_two_mounts() {
    fn moved(storage: Storage<RamFlash, 3>) -> Box<Storage<RamFlash, 3>> {
        Box::new(storage)
    }
    let mut storage = storage();
    storage.mount().unwrap().write("a", b"1").unwrap();
    let mut storage = moved(storage);
    assert_eq!(storage.mount().unwrap().read("a", &mut [0; 4]).unwrap(), b"1");
    let mut storage: Storage<RamFlash> = Storage::new_multiwrite(storage.into_flash());
    assert_eq!(storage.mount().unwrap().read("a", &mut [0; 4]).unwrap(), b"1");
}

#[test]
fn seeks_and_lengths() {
    let mut storage = storage();
    let volume = storage.mount().unwrap();
    let mut file = volume.open_with("f", read_write().create(true)).unwrap();
    assert!(file.is_empty().unwrap());
    file.write_all(b"0123456789").unwrap();
    assert_eq!(file.seek(SeekFrom::Start(3)).unwrap(), 3);
    let mut two = [0; 2];
    file.read_exact(&mut two).unwrap();
    assert_eq!(&two, b"34");
    assert_eq!(file.seek(SeekFrom::Current(-1)).unwrap(), 4);
    assert_eq!(file.seek(SeekFrom::End(-2)).unwrap(), 8);
    assert_eq!(file.read(&mut [0; 8]).unwrap(), 2);
    assert_eq!(file.read(&mut [0; 8]).unwrap(), 0, "the end of the file");
    assert_eq!(file.seek(SeekFrom::Current(-11)), Err(Error::InvalidInput));
    assert_eq!(file.seek(SeekFrom::Start(u64::MAX)), Err(Error::InvalidInput));
    assert_eq!(file.seek(SeekFrom::End(i64::MAX)), Err(Error::InvalidInput));
    assert_eq!(file.position().unwrap(), 10, "a refused seek moves nothing");
    file.set_len(4).unwrap();
    assert_eq!(file.len().unwrap(), 4);
    file.seek(SeekFrom::Start(6)).unwrap();
    file.write_all(b"x").unwrap();
    file.close().unwrap();
    assert_eq!(volume.read("f", &mut [0; 16]).unwrap(), b"0123\0\0x");
    assert_eq!(volume.read("f", &mut [0; 6]).unwrap_err(), Error::BufferTooSmall);
}

#[test]
fn the_traits_of_std() {
    use std::io;
    let mut storage = storage();
    let volume = storage.mount().unwrap();
    let mut file = volume.create("f").unwrap();
    io::Write::write_all(&mut file, b"one\ntwo\n").unwrap();
    io::Write::flush(&mut file).unwrap();
    drop(file);
    let lines = io::BufRead::lines(io::BufReader::new(volume.open("f").unwrap()));
    assert_eq!(lines.map(Result::unwrap).collect::<Vec<_>>(), ["one", "two"]);
    let error = io::Error::from(volume.open("g").map(drop).unwrap_err());
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
    let mut file = volume.open("f").unwrap();
    assert_eq!(io::Seek::seek(&mut file, io::SeekFrom::End(-3)).unwrap(), 5);
    let refused = io::Write::write(&mut file, b"x").unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
}

#[test]
fn names_and_directories() {
    let mut storage = storage();
    let volume = storage.mount().unwrap();
    volume.create_dir("a").unwrap();
    assert_eq!(volume.create_dir("a"), Err(Error::AlreadyExists));
    volume.write("a/two", b"22").unwrap();
    volume.write(b"a/\xFFname".as_slice(), b"bytes").unwrap();
    volume.write("a/one", b"1").unwrap();
    let entries: Vec<_> = volume.read_dir("a").unwrap().map(Result::unwrap).collect();
    assert_eq!(
        entries.iter().map(|e| e.name()).collect::<Vec<_>>(),
        [b"one".as_slice(), b"two", b"\xFFname"]
    );
    assert!(entries[2].name_str().is_err());
    assert_eq!(entries[1].metadata().len, 2);
    assert_eq!(volume.remove("a"), Err(Error::DirectoryNotEmpty));
    volume.rename("a/one", "a/two").unwrap();
    assert_eq!(volume.read("a/two", &mut [0; 4]).unwrap(), b"1");
    assert!(!volume.exists("a/one").unwrap());
    volume.remove("a/two").unwrap();
    volume.remove(b"a/\xFFname".as_slice()).unwrap();
    volume.remove("a").unwrap();
    assert_eq!(names(&volume, "/"), [""; 0]);
    assert_eq!(volume.read_dir("a").map(drop), Err(Error::NotFound));
    volume.write("f", b"").unwrap();
    assert_eq!(volume.read_dir("f").map(drop), Err(Error::NotADirectory));
    assert_eq!(volume.open("/").map(drop), Err(Error::IsADirectory));
    assert_eq!(volume.rename("/", "b"), Err(Error::InvalidInput));
}

#[test]
fn a_listing_moves_and_goes_on_while_names_change() {
    let mut storage = storage();
    let volume = storage.mount().unwrap();
    for index in 0..40 {
        volume.write(format!("f{index:02}").as_str(), b"x").unwrap();
    }
    let mut listing = Box::new(volume.read_dir("/").unwrap());
    let mut seen = vec![];
    for round in 0.. {
        let Some(entry) = listing.next() else { break };
        seen.push(entry.unwrap().name_str().unwrap().to_owned());
        #[allow(clippy::replace_box)] // it is to lie elsewhere
        {
            let moved = *listing;
            listing = Box::new(moved);
        }
        if round % 2 == 0 {
            volume.remove(seen.last().unwrap().as_str()).unwrap();
        }
    }
    assert_eq!(seen, (0..40).map(|index| format!("f{index:02}")).collect::<Vec<_>>());
    assert!(listing.next().is_none());
    assert_eq!(names(&volume, "/").len(), 20);
}

#[test]
fn paths_that_are_refused() {
    let mut storage = storage();
    let volume = storage.mount().unwrap();
    assert_eq!(volume.create_dir("a\0b"), Err(Error::InvalidInput));
    assert_eq!(volume.create_dir("n".repeat(256).as_str()), Err(Error::NameTooLong));
    volume.create_dir("n".repeat(255).as_str()).unwrap();
    let deep = std::ffi::CString::new(format!("{}/deep", "n".repeat(255))).unwrap();
    volume.create_dir(deep.as_c_str()).unwrap();
    assert_eq!(volume.metadata(deep.to_str().unwrap()), Err(Error::NameTooLong), "past PATH_MAX");
    assert_eq!(volume.metadata(deep.as_c_str()).unwrap().kind, FileType::Directory);
    assert_eq!(volume.open(c"").map(drop), Err(Error::IsADirectory));
}

#[test]
fn ways_to_open() {
    let mut storage = storage();
    let volume = storage.mount().unwrap();
    let options = OpenOptions::new();
    assert_eq!(volume.open_with("f", options.create(true)).map(drop), Err(Error::InvalidInput));
    assert_eq!(volume.open_with("f", options.write(true)).map(drop), Err(Error::NotFound));
    volume.open_with("f", options.write(true).create_new(true)).unwrap().close().unwrap();
    let again = volume.open_with("f", options.write(true).create_new(true));
    assert_eq!(again.map(drop), Err(Error::AlreadyExists));
    for piece in [b"one ", b"two "] {
        volume.open_with("f", options.append(true)).unwrap().write_all(piece).unwrap();
    }
    assert_eq!(volume.read("f", &mut [0; 16]).unwrap(), b"one two ");
    let mut writer = volume.open_with("f", options.append(true)).unwrap();
    assert_eq!(writer.read(&mut [0; 4]), Err(Error::NotOpenForThis));
    assert_eq!(volume.open_with("f", options.write(true)).map(drop), Err(Error::Busy));
    assert_eq!(volume.remove("f"), Err(Error::Busy));
    let reader = volume.open("f").unwrap();
    let third = volume.open("f").unwrap();
    assert_eq!(volume.open("f").map(drop), Err(Error::TooManyFiles));
    drop((writer, reader));
    third.close().unwrap();
    volume.remove("f").unwrap();
}

#[test]
fn a_refused_write_keeps_the_old_content() {
    let mut storage = storage();
    let volume = storage.mount().unwrap();
    volume.write("settings", b"old").unwrap();
    let too_much = vec![7; CHIP];
    assert_eq!(volume.write("settings", &too_much), Err(Error::NoSpace));
    assert_eq!(volume.read("settings", &mut [0; 8]).unwrap(), b"old");
    assert_eq!(volume.write("new", &too_much), Err(Error::NoSpace));
    assert!(!volume.exists("new").unwrap());
    let file = volume.open_with("settings", OpenOptions::new().append(true)).unwrap();
    assert_eq!(volume.write("settings", b"new"), Err(Error::Busy));
    file.close().unwrap();
    volume.unmount().unwrap();
    let volume = storage.mount().unwrap();
    assert_eq!(volume.read("settings", &mut [0; 8]).unwrap(), b"old");
    volume.write("settings", b"").unwrap();
    assert_eq!(volume.metadata("settings").unwrap().len, 0);
}

#[test]
fn what_is_discarded_was_never_written() {
    let mut storage = storage();
    let volume = storage.mount().unwrap();
    volume.write("f", b"old").unwrap();
    let mut file = volume.open_with("f", OpenOptions::new().write(true).truncate(true)).unwrap();
    file.write_all(b"longer").unwrap();
    file.sync().unwrap();
    file.write_all(b" and more").unwrap();
    file.discard().unwrap();
    assert_eq!(volume.read("f", &mut [0; 16]).unwrap(), b"longer");
    // The handle is free again, and the file may be written again.
    for _ in 0..4 {
        let file = volume.create("new").unwrap();
        file.discard().unwrap();
    }
    assert_eq!(volume.metadata("new").map(|m| m.len), Err(Error::NotFound));
}

#[test]
fn attributes_and_times() {
    const USER: u8 = Attribute::USER;
    let mut storage = storage();
    storage.set_options(Options { time: Some(|| 0x12_3456_789A), ..Options::new() });
    let volume = storage.mount().unwrap();
    volume.write("f", b"content").unwrap();
    assert_eq!(volume.attribute("f", USER, &mut [0; 8]).unwrap_err(), Error::NotFound);
    let two = [Attribute::new(USER, b"v1.2").unwrap(), Attribute::new(USER + 1, b"").unwrap()];
    volume.set_attributes("f", &two).unwrap();
    volume.rename("f", "g").unwrap();
    assert_eq!(volume.attribute("g", USER, &mut [0; 8]).unwrap(), b"v1.2");
    assert_eq!(volume.attribute("g", USER + 1, &mut []).unwrap(), b"");
    assert_eq!(volume.attribute("g", USER, &mut [0; 3]).unwrap_err(), Error::BufferTooSmall);
    volume.set_attributes("g", &[Attribute::remove(USER + 1)]).unwrap();
    assert_eq!(volume.attribute("g", USER + 1, &mut []).unwrap_err(), Error::NotFound);
    assert_eq!(volume.attribute("/", USER, &mut []).unwrap_err(), Error::InvalidInput);
    let long = [7; 250];
    let one = [Attribute::new(USER + 1, &long).unwrap()];
    assert_eq!(volume.set_attributes("g", &one), Err(Error::FileTooLarge));
    assert_eq!(Attribute::new(USER, &[0; 256]).map(drop).unwrap_err(), Error::FileTooLarge);
    assert_eq!(volume.set_attributes("g", &[Attribute::remove(0xFF)]), Err(Error::InvalidInput));
    assert_eq!(volume.read("g", &mut [0; 8]).unwrap(), b"content");

    assert_eq!(volume.modified("g").unwrap(), None);
    assert_eq!(volume.modified("none"), Err(Error::NotFound));
    volume.keep_times().unwrap();
    volume.write("g", b"newer").unwrap();
    volume.unmount().unwrap();
    storage.set_options(Options::new());
    let volume = storage.mount().unwrap();
    assert_eq!(volume.modified("g").unwrap(), Some(0x12_3456_789A));
    assert_eq!(volume.attribute("g", USER, &mut [0; 8]).unwrap(), b"v1.2");
    assert_eq!(volume.keep_times(), Err(Error::InvalidInput), "there is no clock");
    volume.write("g", b"by a program that keeps no times").unwrap();
    assert_eq!(volume.modified("g").unwrap(), None);
}

#[test]
fn space_health_and_check() {
    let mut storage = storage();
    let volume = storage.mount().unwrap();
    let before = volume.space().unwrap();
    assert_eq!((before.block_size, before.blocks, before.bad), (4096, 128, 0));
    let mut file = volume.create("f").unwrap();
    file.preallocate(100_000).unwrap();
    let set_aside = volume.space().unwrap();
    assert!(set_aside.available <= before.available - 24, "{set_aside:?} after {before:?}");
    assert_eq!(file.preallocate(100_000_000), Err(Error::NoSpace));
    file.close().unwrap();
    while volume.maintain(Duration::from_millis(500)).unwrap() {}
    assert_eq!(volume.health().unwrap().blocks_bad, 0);
    assert_eq!(volume.check(|finding| panic!("{finding:?}")).unwrap(), 0);
}

#[test]
fn damage_is_reported() {
    let mut storage = storage();
    let volume = storage.mount().unwrap();
    for index in 0..100 {
        volume.write(format!("a file with a long name {index}").as_str(), &[index; 200]).unwrap();
    }
    volume.unmount().unwrap();
    let content = storage.flash().content_mut();
    for place in (0..content.len() - 9).rev() {
        if &content[place..place + 9] == b"file with" {
            content[place] ^= 0x10; // in each copy of the names, old and new
        }
    }
    let volume = storage.mount().unwrap();
    let mut findings = vec![];
    let inside = RefCell::new(vec![]);
    let count = volume
        .check(|finding| {
            findings.push((finding.text.to_owned(), finding.block));
            inside.borrow_mut().push(volume.exists("/"));
        })
        .unwrap();
    assert_eq!(count as usize, findings.len());
    assert!(count > 0 && findings.iter().all(|(text, _)| !text.is_empty()), "{findings:?}");
    assert!(inside.borrow().iter().all(|result| *result == Err(Error::Reentered)));
    assert!(volume.exists("/").unwrap());
}

#[test]
fn what_is_no_volume() {
    let mut storage: Storage<_> = Storage::new_multiwrite(RamFlash::new(CHIP));
    assert_eq!(storage.mount().map(drop), Err(Error::Blank));
    storage.flash().content_mut().fill(0x55);
    assert_eq!(storage.mount().map(drop), Err(Error::Foreign));
    storage.format(false).unwrap();
    storage.mount().unwrap().unmount().unwrap();
    storage.set_options(Options { program_unit: 16, ..Options::new() });
    assert_eq!(storage.mount().map(drop), Err(Error::Geometry));
    storage.set_options(Options { offset: 100, ..Options::new() });
    assert_eq!(storage.mount().map(drop), Err(Error::InvalidInput));
    let mut small: Storage<_> = Storage::new_multiwrite(RamFlash::new(31 * 4096));
    assert_eq!(small.format(false), Err(Error::NoSpace));
    // A large erase is no part of a volume, and units that may be programmed twice are.
    let large = Options { large_erase_size: 65536, large_erase_us: 150_000, ..Options::new() };
    let mut storage: Storage<_> = Storage::new_multiwrite(RamFlash::new(CHIP));
    for (first, then) in [(large, Options::new()), (Options::new(), large)] {
        storage.set_options(first);
        storage.format(false).unwrap();
        storage.mount().unwrap().write("f", b"x").unwrap();
        storage.set_options(then);
        assert_eq!(storage.mount().unwrap().read("f", &mut [0; 4]).unwrap(), b"x");
    }
    let mut once: Storage<_> = Storage::new(storage.into_flash());
    assert_eq!(once.mount().map(drop), Err(Error::Geometry));
}

#[test]
fn two_volumes_on_a_chip() {
    let half = CHIP as u32 / 2;
    let first = Options { size: half, ..Options::new() };
    let second = Options { offset: half, ..Options::new() };
    let mut storage: Storage<_> = Storage::new_multiwrite(RamFlash::new(CHIP));
    for (options, text) in [(first, b"first "), (second, b"second")] {
        storage.set_options(options);
        storage.format(false).unwrap();
        storage.mount().unwrap().write("name", text).unwrap();
    }
    for (options, text) in [(first, b"first "), (second, b"second")] {
        storage.set_options(options);
        assert_eq!(storage.mount().unwrap().read("name", &mut [0; 8]).unwrap(), text);
    }
}

#[test]
fn errors_have_texts_and_codes() {
    assert_eq!(Error::NoSpace.code(), Some(-28));
    assert_eq!(Error::TooManyFiles.code(), None);
    for error in [Error::NotFound, Error::Version, Error::Reentered, Error::TooManyFiles] {
        assert!(
            error.to_string().len() > 5 && !error.to_string().contains("unknown error"),
            "{error}"
        );
    }
    assert_eq!(Error::Other(-999).to_string(), "unknown error -999");
    assert_eq!(embedded_io::Error::kind(&Error::NotFound), embedded_io::ErrorKind::NotFound);
}

/// Pages of 2 KiB, units of 8 bytes that are written once: as internal flash has them. And a driver
/// that counts its calls, and fails on demand.
struct Internal {
    content: Vec<u8>,
    calls: Rc<RefCell<Calls>>,
}

#[derive(Default)]
struct Calls {
    programs: u32,
    fail: bool,
}

#[derive(Debug)]
struct InternalError;

impl nf2fs::embedded_storage::nor_flash::NorFlashError for InternalError {
    fn kind(&self) -> NorFlashErrorKind {
        NorFlashErrorKind::Other
    }
}

impl ErrorType for Internal {
    type Error = InternalError;
}

impl ReadNorFlash for Internal {
    const READ_SIZE: usize = 4;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), InternalError> {
        assert!(offset % 4 == 0 && bytes.len() % 4 == 0);
        bytes.copy_from_slice(&self.content[offset as usize..][..bytes.len()]);
        Ok(())
    }

    fn capacity(&self) -> usize {
        self.content.len()
    }
}

impl NorFlash for Internal {
    const WRITE_SIZE: usize = 8;
    const ERASE_SIZE: usize = 2048;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), InternalError> {
        assert!(from % 2048 == 0 && to % 2048 == 0 && from < to);
        self.content[from as usize..to as usize].fill(0xFF);
        Ok(())
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), InternalError> {
        assert!(offset % 8 == 0 && bytes.len() % 8 == 0);
        let mut calls = self.calls.borrow_mut();
        calls.programs += 1;
        if calls.fail {
            return Err(InternalError);
        }
        let cells = &mut self.content[offset as usize..][..bytes.len()];
        assert!(cells.iter().all(|&cell| cell == 0xFF), "a unit is programmed once");
        cells.copy_from_slice(bytes);
        Ok(())
    }
}

#[test]
fn internal_flash_with_small_pages() {
    let calls = Rc::new(RefCell::new(Calls::default()));
    let flash = Internal { content: vec![0xFF; 33 * 4096 + 2048], calls: calls.clone() };
    let mut storage: Storage<_> = Storage::new(flash);
    storage.format(false).unwrap();
    let volume = storage.mount().unwrap();
    assert_eq!(volume.space().unwrap().blocks, 33, "two pages a block, the odd one is left over");
    for index in 0..2000u32 {
        volume.write("counter", &index.to_le_bytes()).unwrap();
    }
    volume.unmount().unwrap();
    assert!(calls.borrow().programs > 2000);
    let volume = storage.mount().unwrap();
    assert_eq!(volume.read("counter", &mut [0; 8]).unwrap(), 1999u32.to_le_bytes());
}

#[test]
fn a_driver_that_fails() {
    let calls = Rc::new(RefCell::new(Calls::default()));
    let flash = Internal { content: vec![0xFF; 64 * 4096], calls: calls.clone() };
    let mut storage: Storage<_> = Storage::new(flash);
    storage.format(false).unwrap();
    let volume = storage.mount().unwrap();
    volume.write("f", b"before").unwrap();
    assert_eq!(volume.driver_error(), None);
    calls.borrow_mut().fail = true;
    assert_eq!(volume.write("f", b"lost"), Err(Error::Io));
    assert_eq!(volume.driver_error(), Some(NorFlashErrorKind::Other));
    calls.borrow_mut().fail = false;
    assert_eq!(volume.write("f", b"lost"), Err(Error::Io), "nothing is written until a mount");
    assert_eq!(volume.read("f", &mut [0; 8]).unwrap(), b"before");
    drop(volume);
    let volume = storage.mount().unwrap();
    volume.write("f", b"after").unwrap();
    assert_eq!(volume.read("f", &mut [0; 8]).unwrap(), b"after");
}

#[test]
fn a_clock_bounds_idle_work() {
    use std::sync::atomic::{AtomicU32, Ordering};
    static READINGS: AtomicU32 = AtomicU32::new(0);
    fn now_us() -> u32 {
        READINGS.fetch_add(1, Ordering::Relaxed) * 1000
    }
    let mut storage = storage();
    storage.set_options(Options { clock: Some(now_us), ..Options::new() });
    let volume = storage.mount().unwrap();
    volume.write("f", &[1; 9000]).unwrap();
    volume.remove("f").unwrap();
    volume.maintain(Duration::from_millis(50)).unwrap();
    assert!(READINGS.load(Ordering::Relaxed) > 0);
}
