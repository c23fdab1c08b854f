// SPDX-License-Identifier: BSD-2-Clause
//! The power fails at each program and erase in turn, on the project's virtual chip. Each time what
//! was synced must be there, and a call that was cut is done as a whole or not at all.

use std::collections::BTreeMap;
use std::time::Duration;

use embedded_io::Write;
use nf2fs::embedded_storage::nor_flash::NorFlash;
use nf2fs::{Error, OpenOptions, Storage, Volume};
use nf2fs_chip::{Chip, ChipError, Cut};

const BLOCKS: u32 = 48;

/// What the volume must hold: the content of each file.
type Model = BTreeMap<String, Vec<u8>>;

/// A step of the script: what it does to the volume, and to the model.
enum Step {
    Write(String, Vec<u8>),
    Append(String, Vec<u8>),
    Rename(String, String),
    Remove(String),
    Maintain,
}

impl Step {
    fn on_volume(&self, volume: &Volume) -> Result<(), Error> {
        match self {
            Step::Write(path, data) => volume.write(path.as_str(), data),
            Step::Append(path, data) => {
                let options = OpenOptions::new().append(true).create(true);
                let mut file = volume.open_with(path.as_str(), options)?;
                file.write_all(data)?;
                file.close()
            }
            Step::Rename(from, to) => volume.rename(from.as_str(), to.as_str()),
            Step::Remove(path) => volume.remove(path.as_str()),
            Step::Maintain => volume.maintain(Duration::from_millis(200)).map(drop),
        }
    }

    fn on_model(&self, model: &mut Model) {
        match self {
            Step::Write(path, data) => drop(model.insert(path.clone(), data.clone())),
            Step::Append(path, data) => model.entry(path.clone()).or_default().extend(data),
            Step::Rename(from, to) => {
                let content = model.remove(from).unwrap();
                model.insert(to.clone(), content);
            }
            Step::Remove(path) => drop(model.remove(path)),
            Step::Maintain => {}
        }
    }
}

/// Settings, logs, a larger file that is replaced, names that come and go.
fn script() -> Vec<Step> {
    let mut steps = vec![];
    for round in 0..24u32 {
        let byte = round as u8;
        steps.push(Step::Append("log".into(), vec![byte; 30]));
        steps.push(Step::Write(
            format!("setting{}", round % 3),
            vec![byte; 20 + round as usize * 7],
        ));
        match round % 6 {
            0 => steps.push(Step::Write("image.new".into(), vec![byte; 9000])),
            1 => steps.push(Step::Rename("image.new".into(), "image".into())),
            3 => steps.push(Step::Maintain),
            4 => steps.push(Step::Remove(format!("setting{}", round % 3))),
            _ => {}
        }
    }
    steps
}

fn content(volume: &Volume) -> Model {
    let mut model = Model::new();
    let mut buffer = vec![0; 20_000];
    for entry in volume.read_dir("/").unwrap() {
        let name = entry.unwrap().name_str().unwrap().to_owned();
        let data = volume.read(name.as_str(), &mut buffer).unwrap().to_vec();
        model.insert(name, data);
    }
    model
}

/// Runs the script with a cut at `operation`. Whether the power failed.
fn run<F: NorFlash, const UNIT: usize>(
    chip: &Chip<UNIT>,
    mut storage: Storage<F>,
    script: &[Step],
    operation: u64,
) -> bool {
    storage.format(false).unwrap();
    chip.cut_at(Cut {
        operation,
        bytes: (operation * 37 % 256) as u32,
        mask: (operation * 11) as u8,
        shuffle: operation % 3 == 0,
        erase: (operation % 6) as u8,
        seed: operation,
    });
    let volume = storage.mount().unwrap();
    let mut before = Model::new();
    let mut after = Model::new();
    let mut cut = false;
    for step in script {
        step.on_model(&mut after);
        match step.on_volume(&volume) {
            Ok(()) => step.on_model(&mut before),
            Err(error) => {
                assert_eq!(error, Error::Io, "at operation {operation}");
                cut = true;
                break;
            }
        }
    }
    assert_eq!(cut, chip.operations() >= operation, "a cut is seen by the call that meets it");
    std::mem::forget(volume);
    chip.cut_at(Cut { operation: 0, bytes: 0, mask: 0, shuffle: false, erase: 0, seed: 0 });
    chip.power_on();

    let volume = storage.mount().unwrap();
    let found = content(&volume);
    assert!(found == before || found == after, "after a cut at operation {operation}");
    // It goes on: the next change finishes what was cut, and all of it is sound.
    volume.write("after", b"the power is back").unwrap();
    volume.unmount().unwrap();
    let volume = storage.mount().unwrap();
    let mut expected = found;
    expected.insert("after".into(), b"the power is back".to_vec());
    assert_eq!(content(&volume), expected, "after a cut at operation {operation}");
    assert_eq!(volume.check(|finding| println!("{finding:?}")).unwrap(), 0);
    cut
}

/// The number of cuts.
fn cut_everywhere<F: NorFlash, const UNIT: usize>(
    chip: &Chip<UNIT>,
    new_storage: impl Fn() -> Storage<F>,
) -> u64 {
    let script = script();
    (1..).find(|&operation| !run(chip, new_storage(), &script, operation)).unwrap() - 1
}

#[test]
fn a_cut_at_each_operation() {
    let chip = Chip::<1>::new("w25q80", BLOCKS * 4096);
    let cuts = cut_everywhere(&chip, || Storage::new_multiwrite(&chip));
    assert!(cuts > 100, "only {cuts} cuts");
}

/// Each unit is programmed once between two erases; the chip refuses it otherwise.
#[test]
fn a_cut_at_each_operation_with_units_of_16_bytes() {
    let chip = Chip::<16>::new("w25q80", BLOCKS * 4096);
    let cuts = cut_everywhere(&chip, || Storage::new(&chip));
    assert!(cuts > 100, "only {cuts} cuts");
}

/// A driver without `MultiwriteNorFlash` on a chip that is written by bytes: units of two bytes,
/// which the virtual chip holds to.
#[test]
fn a_driver_that_writes_once_gets_units_of_two_bytes() {
    let chip = Chip::<2>::new("w25q80", BLOCKS * 4096);
    let cuts = cut_everywhere(&chip, || Storage::new(Bytewise(&chip)));
    assert!(cuts > 100, "only {cuts} cuts");
}

struct Bytewise<'c>(&'c Chip<2>);

impl nf2fs::embedded_storage::nor_flash::ErrorType for Bytewise<'_> {
    type Error = ChipError;
}

impl nf2fs::embedded_storage::nor_flash::ReadNorFlash for Bytewise<'_> {
    const READ_SIZE: usize = 1;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), ChipError> {
        self.0.read(offset, bytes)
    }

    fn capacity(&self) -> usize {
        self.0.capacity()
    }
}

impl NorFlash for Bytewise<'_> {
    const WRITE_SIZE: usize = 1;
    const ERASE_SIZE: usize = 4096;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), ChipError> {
        self.0.erase(from, to)
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), ChipError> {
        self.0.write(offset, bytes)
    }
}

#[test]
fn a_block_that_fails_is_replaced() {
    let chip = Chip::<1>::new("w25q80", 1 << 20);
    let mut storage: Storage<_> = Storage::new_multiwrite(&chip);
    storage.set_bad_block(|error| *error == ChipError::BAD);
    storage.format(false).unwrap();
    for block in 40..48 {
        chip.break_block(block);
    }
    let volume = storage.mount().unwrap();
    for index in 0..200u32 {
        volume.write(format!("f{}", index % 20).as_str(), &vec![index as u8; 5000]).unwrap();
    }
    volume.unmount().unwrap();
    let volume = storage.mount().unwrap();
    assert!(volume.health().unwrap().blocks_bad > 0);
    let mut buffer = [0; 5000];
    for index in 180..200u32 {
        let path = format!("f{}", index % 20);
        assert_eq!(volume.read(path.as_str(), &mut buffer).unwrap(), [index as u8; 5000]);
    }
}

#[test]
fn each_failing_call_of_the_driver_is_an_error_or_goes_by() {
    let chip = Chip::<1>::new("w25q80", BLOCKS * 4096);
    let script = script();
    for call in (1..400).step_by(3) {
        let mut storage: Storage<_> = Storage::new_multiwrite(&chip);
        storage.format(false).unwrap();
        let volume = storage.mount().unwrap();
        chip.fail_at(call);
        let mut model = Model::new();
        for step in &script {
            match step.on_volume(&volume) {
                Ok(()) => step.on_model(&mut model),
                Err(Error::Io) => break,
                Err(error) => panic!("{error:?} at call {call}"),
            }
        }
        drop(volume);
        chip.fail_at(0);
        let volume = storage.mount().unwrap();
        let found = content(&volume);
        for (path, data) in &model {
            let now = found.get(path).map(|now| now.len()).unwrap_or(0);
            assert!(path != "log" || now >= data.len(), "call {call}: {path} has {now} bytes");
        }
    }
}
