/* SPDX-License-Identifier: BSD-2-Clause */
/* flash.h - the only room that calls the driver: bounds, read alignment, page ends, a one-page read window. */
#ifndef NF2FS_SRC_FLASH_H
#define NF2FS_SRC_FLASH_H

#include "core.h"

/* Is the geometry one that the file system can use? */
int nf2_flash_validate(const struct nf2_config *config);

static inline uint32_t nf2_page(const nf2_t *fs)
{
    return fs->flash->page_size;
}

static inline uint32_t nf2_block_bytes(const nf2_t *fs)
{
    return fs->flash->block_size;
}

static inline uint32_t nf2_align_unit(const nf2_t *fs, uint32_t value)
{
    uint32_t unit = fs->flash->program_unit;
    return (value + unit - 1) & ~(unit - 1); /* a power of two */
}

/*
 * A pointer to `length` bytes inside one page, valid until the next peek. NULL: the driver failed, or out of range.
 * From the start of a page the whole page is read (a scan goes on in it), elsewhere a record's worth at first.
 */
const uint8_t *nf2_peek(nf2_t *fs, uint32_t block, uint32_t offset, uint32_t length);

/* The same, but no more is read than `length` bytes. */
const uint8_t *nf2_peek_just(nf2_t *fs, uint32_t block, uint32_t offset, uint32_t length);

/* Reads any range of the volume, `offset` bytes behind the start of `block`: also in the following blocks. The window stays where it is. */
int nf2_flash_read(nf2_t *fs, uint32_t block, uint32_t offset, void *data, uint32_t length);

/*
 * Programs a range that begins in `block` (it may run on over pages and blocks); offset a multiple of the program
 * unit; a length that is not is filled up with 0xFF (through the write buffer). A block that turns out to be bad is replaced, but
 * for those of the super log and the meta log: NF2_ERR_IO. After any other failure the volume is `broken`: nothing more is written
 * until the next mount.
 */
int nf2_flash_program(nf2_t *fs, uint32_t block, uint32_t offset, const void *data, uint32_t length);

/*
 * A part of the write buffer, as scratch memory for what reads: a quarter of a page, a bit for each 8 bytes of a log. Between
 * nf2_writer_begin and nf2_writer_end the buffer holds what is to be programmed.
 */
static inline uint8_t *nf2_scratch(const nf2_t *fs, unsigned quarter)
{
    return fs->write_buffer + quarter * (nf2_page(fs) / 4u);
}
#define NF2_SCRATCH_SEARCH 0u   /* of a search in a node */
#define NF2_SCRATCH_NODE 1u     /* of a walk over a node's entries that searches may interrupt */

/* Erases `count` blocks: 1, or as many as a large erase takes. NF2_ERR_IO, and the volume not broken: one of them is bad. */
int nf2_flash_erase(nf2_t *fs, uint32_t block, uint32_t count);

/* Blocks of one large erase, 0 where the chip has none. */
uint32_t nf2_large_blocks(const nf2_t *fs);

/* Groups of so many are numbered from the first block of the volume that a large erase may begin with: this one. */
uint32_t nf2_group_shift(const nf2_t *fs, uint32_t large);

#endif
