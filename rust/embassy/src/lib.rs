// SPDX-License-Identifier: BSD-2-Clause
//! Tasks of an embassy program that uses a volume.
//!
//! The calls of a volume block: while one runs, a thread-mode executor polls no other task. So what
//! must not wait belongs into interrupts or into an executor of a higher priority, and the volume
//! gets its idle time in small slices. `measure` prints how long the others wait.
//!
//! A firmware mounts the volume once, and gives each task a reference:
//!
//! ```ignore
//! static STORAGE: StaticCell<Storage<Flash>> = StaticCell::new();
//! static VOLUME: StaticCell<Volume<'static>> = StaticCell::new();
//!
//! #[embassy_executor::main]
//! async fn main(spawner: Spawner) {
//!     let storage = STORAGE.init(Storage::new_multiwrite(flash));
//!     let volume = VOLUME.init(storage.mount().unwrap());
//!     spawner.spawn(nf2fs_embassy::log(volume).unwrap());
//!     spawner.spawn(nf2fs_embassy::settings(volume).unwrap());
//!     spawner.spawn(nf2fs_embassy::idle(volume, 20).unwrap());
//! }
//! ```
#![no_std]

use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::signal::Signal;
use embassy_time::{Duration, Ticker};
use embedded_io::Write;
use nf2fs::{Error, OpenOptions, Volume};

/// The error with which a task has ended.
pub static FAILED: Signal<CriticalSectionRawMutex, Error> = Signal::new();

const LOG_MAX: u32 = 64 * 1024;

/// Appends a record of 32 bytes each 100 ms. Each is durable before the next one is taken.
#[embassy_executor::task]
pub async fn log(volume: &'static Volume<'static>) {
    if let Err(error) = keep_log(volume).await {
        FAILED.signal(error);
    }
}

/// Two files in turn, so that the log keeps at least its last 64 KiB.
async fn keep_log(volume: &Volume<'_>) -> Result<(), Error> {
    let mut ticker = Ticker::every(Duration::from_millis(100));
    let mut count = 0u32;
    loop {
        let mut file = volume.open_with("log", OpenOptions::new().append(true).create(true))?;
        while file.len()? < LOG_MAX {
            let mut record = [0; 32];
            record[..4].copy_from_slice(&count.to_le_bytes());
            file.write_all(&record)?;
            file.sync()?;
            count += 1;
            ticker.next().await;
        }
        file.close()?;
        volume.rename("log", "log.old")?;
    }
}

/// Replaces a file of settings each two seconds.
#[embassy_executor::task]
pub async fn settings(volume: &'static Volume<'static>) {
    let mut ticker = Ticker::every(Duration::from_secs(2));
    for count in 0u32.. {
        let mut data = [0; 200];
        data[..4].copy_from_slice(&count.to_le_bytes());
        if let Err(error) = volume.write("settings", &data) {
            FAILED.signal(error);
            return;
        }
        ticker.next().await;
    }
}

/// Gives the volume `budget_ms` of idle time each second, in which others wait.
#[embassy_executor::task]
pub async fn idle(volume: &'static Volume<'static>, budget_ms: u64) {
    let mut ticker = Ticker::every(Duration::from_secs(1));
    loop {
        ticker.next().await;
        if let Err(error) = volume.maintain(core::time::Duration::from_millis(budget_ms)) {
            FAILED.signal(error);
            return;
        }
    }
}
