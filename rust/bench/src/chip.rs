// SPDX-License-Identifier: BSD-2-Clause
//! The counting chip as the asynchronous drivers that the others want. It never waits.

use ekv::flash::PageID;
use embedded_storage_async::nor_flash::{ErrorType, MultiwriteNorFlash, NorFlash, ReadNorFlash};
use nf2fs::embedded_storage::nor_flash::{NorFlash as Blocking, ReadNorFlash as BlockingRead};
use nf2fs_chip::{Chip, ChipError};

pub const BLOCK: usize = 4096;

#[derive(Clone, Copy)]
pub struct Async<'c>(pub &'c Chip<1>);

impl ErrorType for Async<'_> {
    type Error = ChipError;
}

impl ReadNorFlash for Async<'_> {
    const READ_SIZE: usize = 1;

    async fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), ChipError> {
        self.0.read(offset, bytes)
    }

    fn capacity(&self) -> usize {
        self.0.capacity()
    }
}

impl NorFlash for Async<'_> {
    const WRITE_SIZE: usize = 1;
    const ERASE_SIZE: usize = BLOCK;

    async fn erase(&mut self, from: u32, to: u32) -> Result<(), ChipError> {
        self.0.erase(from, to)
    }

    async fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), ChipError> {
        self.0.write(offset, bytes)
    }
}

impl MultiwriteNorFlash for Async<'_> {}

impl ekv::flash::Flash for Async<'_> {
    type Error = ChipError;

    fn page_count(&self) -> usize {
        self.0.capacity() / BLOCK
    }

    async fn erase(&mut self, page: PageID) -> Result<(), ChipError> {
        let from = (page.index() * BLOCK) as u32;
        self.0.erase(from, from + BLOCK as u32)
    }

    async fn read(
        &mut self,
        page: PageID,
        offset: usize,
        data: &mut [u8],
    ) -> Result<(), ChipError> {
        self.0.read((page.index() * BLOCK + offset) as u32, data)
    }

    async fn write(&mut self, page: PageID, offset: usize, data: &[u8]) -> Result<(), ChipError> {
        self.0.write((page.index() * BLOCK + offset) as u32, data)
    }
}
