// SPDX-License-Identifier: BSD-2-Clause
//! How long the tasks of a thread-mode executor wait while a volume is used: `measure [--write PAGE]`.
//!
//! A task that wants to run each millisecond runs beside those of the library, in virtual time: the
//! clock goes on by what the chip's data sheet says for each operation, and nobody is polled
//! meanwhile. So the figures are the same on each computer. The processor's time is not in them.

use std::process::{exit, Command};
use std::sync::{Mutex, PoisonError};

use embassy_executor::raw::Executor;
use embassy_time::{Duration, Instant, MockDriver, Timer};
use nf2fs::embedded_storage::nor_flash::{ErrorType, MultiwriteNorFlash, NorFlash, ReadNorFlash};
use nf2fs::{Options, Storage, Volume};
use nf2fs_chip::{Chip, ChipError};

const MINUTES: u64 = 30;
const CHIP: &str = "w25q80";
/// Idle time each second, in milliseconds; 0: none.
const BUDGETS_MS: [u64; 5] = [0, 5, 20, 60, 250];
const BEGIN: &str = "<!-- embassy:begin -->\n";
const END: &str = "<!-- embassy:end -->\n";

/// The chip, whose operations take their time on the virtual clock.
struct Paced(&'static Chip<1>);

impl Paced {
    fn take_time<R>(&mut self, work: impl FnOnce(&mut &'static Chip<1>) -> R) -> R {
        let before = self.0.counts().time_us;
        let result = work(&mut self.0);
        MockDriver::get().advance(Duration::from_micros(self.0.counts().time_us - before));
        result
    }
}

impl ErrorType for Paced {
    type Error = ChipError;
}

impl ReadNorFlash for Paced {
    const READ_SIZE: usize = 1;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), ChipError> {
        self.take_time(|chip| chip.read(offset, bytes))
    }

    fn capacity(&self) -> usize {
        self.0.capacity()
    }
}

impl NorFlash for Paced {
    const WRITE_SIZE: usize = 1;
    const ERASE_SIZE: usize = 4096;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), ChipError> {
        self.take_time(|chip| chip.erase(from, to))
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), ChipError> {
        self.take_time(|chip| chip.write(offset, bytes))
    }
}

impl MultiwriteNorFlash for Paced {}

/// What a wake-up of the executor would do on a microcontroller; here it is polled all the time.
#[export_name = "__pender"]
fn pender(_context: *mut ()) {}

/// By how much each wake-up of the task came too late, in microseconds.
static LATE_US: Mutex<Vec<u64>> = Mutex::new(Vec::new());

#[embassy_executor::task]
async fn each_millisecond() {
    let mut due = Instant::now();
    loop {
        due += Duration::from_millis(1);
        Timer::at(due).await;
        let late = (Instant::now() - due).as_micros();
        LATE_US.lock().unwrap_or_else(PoisonError::into_inner).push(late);
        due = due.max(Instant::now()); // what was missed is not made up for
    }
}

fn mounted() -> &'static Volume<'static> {
    let chip: &'static Chip<1> = Box::leak(Box::new(Chip::new(CHIP, 0)));
    let storage: &'static mut Storage<Paced> =
        Box::leak(Box::new(Storage::new_multiwrite(Paced(chip))));
    storage.set_options(Options {
        large_erase_size: 65536,
        large_erase_us: 150_000,
        ..Options::new()
    });
    // A volume that is in use: half of it holds what stays, and nothing is known to be erased.
    storage.format(false).unwrap();
    let volume = storage.mount().unwrap();
    for index in 0..32 {
        volume.write(format!("image{index}").as_str(), &[index; 16 * 1024]).unwrap();
    }
    Box::leak(Box::new(volume))
}

/// One row: the waits with this idle time each second.
fn measure(budget_ms: u64) -> String {
    let volume = mounted();
    let executor: &'static Executor = Box::leak(Box::new(Executor::new(std::ptr::null_mut())));
    let spawner = executor.spawner();
    spawner.spawn(each_millisecond().unwrap());
    spawner.spawn(nf2fs_embassy::log(volume).unwrap());
    spawner.spawn(nf2fs_embassy::settings(volume).unwrap());
    if budget_ms > 0 {
        spawner.spawn(nf2fs_embassy::idle(volume, budget_ms).unwrap());
    }
    let end = Instant::now() + Duration::from_secs(60 * MINUTES);
    while Instant::now() < end {
        // SAFETY: the executor is polled here alone, and not from inside of a task.
        unsafe { executor.poll() };
        MockDriver::get().advance(Duration::from_micros(100));
    }
    if let Some(error) = nf2fs_embassy::FAILED.try_take() {
        panic!("a task has ended: {error}");
    }
    let late = LATE_US.lock().unwrap();
    let more = |ms: u64| late.iter().filter(|&&us| us > ms * 1000).count();
    let longest = *late.iter().max().expect("the task ran");
    let idle = if budget_ms == 0 { "none".into() } else { format!("{budget_ms} ms") };
    let minutes = MINUTES as f64;
    format!(
        "| {idle} | {:.1} ms | {:.1} | {:.1} | {:.1} |",
        longest as f64 / 1e3,
        more(2) as f64 / minutes,
        more(20) as f64 / minutes,
        more(100) as f64 / minutes,
    )
}

/// The table; each row is measured by a process of its own, since clock and tasks are global.
fn table() -> String {
    let mut text = String::from(
        "| idle time each second | longest wait | above 2 ms, a minute | above 20 ms | above 100 ms |\n\
         |---|---:|---:|---:|---:|\n",
    );
    let program = std::env::current_exe().expect("the path of this program");
    for budget_ms in BUDGETS_MS {
        let row = Command::new(&program).arg(budget_ms.to_string()).output().expect("it runs");
        assert!(row.status.success(), "{}", String::from_utf8_lossy(&row.stderr));
        text += &String::from_utf8_lossy(&row.stdout);
    }
    text
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments[..] {
        [] => print!("{}", table()),
        [option, page] if option == "--write" => {
            let old = std::fs::read_to_string(page).expect("the page is read");
            let (front, rest) = old.split_once(BEGIN).expect("the page has the mark embassy:begin");
            let (_, back) = rest.split_once(END).expect("the page has the mark embassy:end");
            std::fs::write(page, format!("{front}{BEGIN}{}{END}{back}", table()))
                .expect("the page is written");
        }
        [budget_ms] => match budget_ms.parse() {
            Ok(budget_ms) => println!("{}", measure(budget_ms)),
            Err(_) => usage(),
        },
        _ => usage(),
    }
}

fn usage() {
    eprintln!("usage: measure [--write PAGE | IDLE_MS]");
    exit(2);
}
