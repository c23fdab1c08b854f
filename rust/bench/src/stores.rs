// SPDX-License-Identifier: BSD-2-Clause
//! The stores that are compared, each behind the calls that the work is made of.

use std::mem::size_of;

use ekv::Database;
use embassy_futures::block_on;
use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embedded_io::{Read, Write};
use nf2fs::{File, OpenOptions, Options, Storage, Volume};
use nf2fs_chip::Chip;
use sequential_storage::cache::key_pointers::ArrayKeyPointers;
use sequential_storage::cache::page_pointers::ArrayPagePointers;
use sequential_storage::cache::page_states::ArrayPageStates;
use sequential_storage::cache::{Cache, CacheImpl};
use sequential_storage::map::{MapConfig, MapStorage};
use sequential_storage::queue::{QueueConfig, QueueStorage};

use crate::chip::{Async, BLOCK};

pub const BLOCKS: usize = 256;
pub const VALUE_MAX: usize = 512;
const KEYS_CACHED: usize = 64;

/// All that is done to a store. Each change is durable when its call returns.
pub trait Session {
    fn put(&mut self, key: &str, value: &[u8]);
    fn get<'b>(&mut self, key: &str, buffer: &'b mut [u8]) -> &'b [u8];
    /// Appends records, all of them durable at the end.
    fn push(&mut self, records: &[Vec<u8>]);
    /// All records from the oldest on.
    fn read_log(&mut self, each: &mut dyn FnMut(&[u8]));
}

/// A store on a chip. A session is what happens between a start of the firmware and the next.
pub trait Store {
    fn name(&self) -> String;
    /// Bytes of its structures and buffers, on this computer.
    fn ram(&self) -> usize;
    fn format(&mut self);
    fn session(&mut self, work: &mut dyn FnMut(&mut dyn Session));
}

// ---- NF2FS ----

type Nf2Storage<'c> = Storage<&'c Chip<1>, 2>;

pub struct Nf2<'c>(Box<Nf2Storage<'c>>);

impl<'c> Nf2<'c> {
    pub fn new(chip: &'c Chip<1>) -> Self {
        let mut storage = Box::new(Storage::new_multiwrite(chip));
        storage.set_options(Options {
            large_erase_size: 65536,
            large_erase_us: 150_000,
            ..Options::new()
        });
        Nf2(storage)
    }
}

impl Store for Nf2<'_> {
    fn name(&self) -> String {
        "NF2FS".into()
    }

    fn ram(&self) -> usize {
        size_of::<Nf2Storage>()
    }

    fn format(&mut self) {
        self.0.format(true).unwrap();
    }

    fn session(&mut self, work: &mut dyn FnMut(&mut dyn Session)) {
        let volume = self.0.mount().unwrap();
        let mut session = Nf2Session { volume: &volume, log: None };
        work(&mut session);
        drop(session);
        volume.unmount().unwrap();
    }
}

struct Nf2Session<'v> {
    volume: &'v Volume<'v>,
    log: Option<File<'v>>,
}

impl Session for Nf2Session<'_> {
    fn put(&mut self, key: &str, value: &[u8]) {
        self.volume.write(key, value).unwrap();
    }

    fn get<'b>(&mut self, key: &str, buffer: &'b mut [u8]) -> &'b [u8] {
        self.volume.read(key, buffer).unwrap()
    }

    fn push(&mut self, records: &[Vec<u8>]) {
        let log = self.log.get_or_insert_with(|| {
            self.volume.open_with("log", OpenOptions::new().append(true).create(true)).unwrap()
        });
        for record in records {
            log.write_all(record).unwrap();
        }
        log.sync().unwrap();
    }

    fn read_log(&mut self, each: &mut dyn FnMut(&[u8])) {
        let mut log = self.volume.open("log").unwrap();
        let mut record = [0; crate::RECORD];
        while log.read_exact(&mut record).is_ok() {
            each(&record);
        }
    }
}

// ---- sequential-storage ----

/// A key of a length that is known.
type Key = [u8; 12];

fn fixed(key: &str) -> Key {
    let mut fixed = [0; 12];
    fixed[..key.len()].copy_from_slice(key.as_bytes());
    fixed
}

pub struct Sequential<'c> {
    chip: &'c Chip<1>,
    cached: bool,
}

impl<'c> Sequential<'c> {
    pub fn new(chip: &'c Chip<1>, cached: bool) -> Self {
        Sequential { chip, cached }
    }
}

fn map_cache() -> impl CacheImpl<Key> {
    Cache::new(
        ArrayPageStates::<BLOCKS>::new(),
        ArrayPagePointers::<BLOCKS>::new(),
        ArrayKeyPointers::<Key, KEYS_CACHED>::new(),
    )
}

fn queue_cache() -> impl CacheImpl<()> {
    Cache::new(
        ArrayPageStates::<BLOCKS>::new(),
        ArrayPagePointers::<BLOCKS>::new(),
        sequential_storage::cache::Uncached,
    )
}

impl Store for Sequential<'_> {
    fn name(&self) -> String {
        format!("sequential-storage, {}", if self.cached { "cached" } else { "no cache" })
    }

    fn ram(&self) -> usize {
        let buffer = VALUE_MAX + size_of::<Key>();
        match self.cached {
            true => std::mem::size_of_val(&map_cache()) + buffer,
            false => std::mem::size_of_val(&Cache::<_, _, _, Key>::new_uncached()) + buffer,
        }
    }

    /// A blank chip is an empty store.
    fn format(&mut self) {}

    fn session(&mut self, work: &mut dyn FnMut(&mut dyn Session)) {
        let flash = Async(self.chip);
        let range = 0..(BLOCKS * BLOCK) as u32;
        let map = MapConfig::new(range.clone());
        let queue = QueueConfig::new(range);
        if self.cached {
            work(&mut SequentialSession {
                map: MapStorage::new(flash, map, map_cache()),
                queue: QueueStorage::new(flash, queue, queue_cache()),
            });
        } else {
            work(&mut SequentialSession {
                map: MapStorage::new(flash, map, Cache::new_uncached()),
                queue: QueueStorage::new(flash, queue, Cache::new_uncached()),
            });
        }
    }
}

struct SequentialSession<'c, M: CacheImpl<Key>, Q: CacheImpl<()>> {
    map: MapStorage<Key, Async<'c>, M>,
    queue: QueueStorage<Async<'c>, Q>,
}

impl<M: CacheImpl<Key>, Q: CacheImpl<()>> Session for SequentialSession<'_, M, Q> {
    fn put(&mut self, key: &str, value: &[u8]) {
        let mut buffer = [0; VALUE_MAX + size_of::<Key>()];
        block_on(self.map.store_item(&mut buffer, &fixed(key), &value)).unwrap();
    }

    fn get<'b>(&mut self, key: &str, buffer: &'b mut [u8]) -> &'b [u8] {
        block_on(self.map.fetch_item::<&[u8]>(buffer, &fixed(key))).unwrap().unwrap()
    }

    fn push(&mut self, records: &[Vec<u8>]) {
        for record in records {
            block_on(self.queue.push(record, false)).unwrap();
        }
    }

    fn read_log(&mut self, each: &mut dyn FnMut(&[u8])) {
        block_on(async {
            let mut iterator = self.queue.iter().await.unwrap();
            let mut buffer = [0; crate::RECORD];
            while let Some(entry) = iterator.next(&mut buffer).await.unwrap() {
                each(&entry);
            }
        });
    }
}

// ---- ekv ----

pub struct Ekv<'c>(&'c Chip<1>);

impl<'c> Ekv<'c> {
    pub fn new(chip: &'c Chip<1>) -> Self {
        Ekv(chip)
    }

    fn database(&self) -> Database<Async<'c>, NoopRawMutex> {
        Database::new(Async(self.0), ekv::Config::default())
    }
}

impl Store for Ekv<'_> {
    fn name(&self) -> String {
        "ekv".into()
    }

    fn ram(&self) -> usize {
        size_of::<Database<Async, NoopRawMutex>>()
    }

    fn format(&mut self) {
        block_on(self.database().format()).unwrap();
    }

    fn session(&mut self, work: &mut dyn FnMut(&mut dyn Session)) {
        let database = self.database();
        block_on(database.mount()).unwrap();
        work(&mut EkvSession { database, next: 0 });
    }
}

struct EkvSession<'c> {
    database: Database<Async<'c>, NoopRawMutex>,
    /// Of the next record. A log has one session that writes.
    next: u32,
}

impl Session for EkvSession<'_> {
    fn put(&mut self, key: &str, value: &[u8]) {
        block_on(async {
            let mut transaction = self.database.write_transaction().await;
            transaction.write(key.as_bytes(), value).await.unwrap();
            transaction.commit().await.unwrap();
        });
    }

    fn get<'b>(&mut self, key: &str, buffer: &'b mut [u8]) -> &'b [u8] {
        let length = block_on(async {
            let transaction = self.database.read_transaction().await;
            transaction.read(key.as_bytes(), buffer).await.unwrap()
        });
        &buffer[..length]
    }

    fn push(&mut self, records: &[Vec<u8>]) {
        block_on(async {
            let mut transaction = self.database.write_transaction().await;
            for record in records {
                transaction.write(&self.next.to_be_bytes(), record).await.unwrap();
                self.next += 1;
            }
            transaction.commit().await.unwrap();
        });
    }

    fn read_log(&mut self, each: &mut dyn FnMut(&[u8])) {
        block_on(async {
            let transaction = self.database.read_transaction().await;
            let mut cursor = transaction.read_all().await.unwrap();
            let (mut key, mut value) = ([0; 8], [0; crate::RECORD]);
            while let Some((_, length)) = cursor.next(&mut key, &mut value).await.unwrap() {
                each(&value[..length]);
            }
        });
    }
}
