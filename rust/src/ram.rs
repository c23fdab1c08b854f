// SPDX-License-Identifier: BSD-2-Clause
//! A chip in memory, for tests on a host.

use std::vec;
use std::vec::Vec;

use embedded_storage::nor_flash::{
    check_erase, check_read, check_write, ErrorType, MultiwriteNorFlash, NorFlash,
    NorFlashErrorKind, ReadNorFlash,
};

/// A serial NOR chip in memory: programs clear bits, blocks of 4 KiB are erased to `0xFF`.
pub struct RamFlash {
    content: Vec<u8>,
}

impl RamFlash {
    /// A blank chip of `size` bytes, a multiple of 4 KiB.
    pub fn new(size: usize) -> RamFlash {
        assert!(
            size.is_multiple_of(<RamFlash as NorFlash>::ERASE_SIZE),
            "the size is a multiple of the block size"
        );
        RamFlash { content: vec![0xFF; size] }
    }

    /// A chip with this content, such as an image that `nf2 pack` has made.
    pub fn with_content(content: Vec<u8>) -> RamFlash {
        assert!(
            content.len().is_multiple_of(<RamFlash as NorFlash>::ERASE_SIZE),
            "the size is a multiple of the block size"
        );
        RamFlash { content }
    }

    /// All bytes of the chip.
    pub fn content(&self) -> &[u8] {
        &self.content
    }

    /// All bytes of the chip, to damage them.
    pub fn content_mut(&mut self) -> &mut [u8] {
        &mut self.content
    }
}

impl ErrorType for RamFlash {
    type Error = NorFlashErrorKind;
}

impl ReadNorFlash for RamFlash {
    const READ_SIZE: usize = 1;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), NorFlashErrorKind> {
        check_read(self, offset, bytes.len())?;
        let start = offset as usize;
        bytes.copy_from_slice(&self.content[start..start + bytes.len()]);
        Ok(())
    }

    fn capacity(&self) -> usize {
        self.content.len()
    }
}

impl NorFlash for RamFlash {
    const WRITE_SIZE: usize = 1;
    const ERASE_SIZE: usize = 4096;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), NorFlashErrorKind> {
        check_erase(self, from, to)?;
        self.content[from as usize..to as usize].fill(0xFF);
        Ok(())
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), NorFlashErrorKind> {
        check_write(self, offset, bytes.len())?;
        let start = offset as usize;
        for (cell, byte) in self.content[start..].iter_mut().zip(bytes) {
            *cell &= byte;
        }
        Ok(())
    }
}

impl MultiwriteNorFlash for RamFlash {}
