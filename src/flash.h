/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flash.h - the only module that calls the driver: bounds, read alignment, page ends, a read window
 * of one page of a log.
 */
#ifndef NF2FS_CORE_FLASH_H
#define NF2FS_CORE_FLASH_H

#include "core.h"
#include "format.h"

/* The block failed for good; the volume is not broken: the caller goes on in another block. */
#define NF2_FAILED_BLOCK (-3)

#define NF2_PROCESSOR_US 16u    /* of the processor, about, for each page that is read:
                                   at 100 MHz */

/* Is the configuration one that the file system can use? */
int nf2_flash_validate(const struct nf2_config *config);

/* The most that one program takes: a page of the chip. A log has pages of its own. */
static inline uint32_t nf2_chip_page(const nf2_t *fs)
{
    return fs->flash->page_size;
}

static inline uint32_t nf2_block_bytes(const nf2_t *fs)
{
    return fs->block_bytes;
}

/* Pages of a log. */
static inline uint32_t nf2_block_pages(const nf2_t *fs)
{
    return nf2_block_bytes(fs) / NF2_LOG_PAGE;
}

/* Typical time of all operations of this call so far. */
static inline uint32_t nf2_call_us(const nf2_t *fs)
{
    return fs->drive.busy_us - fs->call_began_us;
}

static inline uint32_t nf2_align_unit(const nf2_t *fs, uint32_t value)
{
    uint32_t unit = fs->flash->program_unit;
    return (value + unit - 1) & ~(unit - 1); /* a power of two */
}

/* Blocks of one large erase; 1 where the chip has none. */
uint32_t nf2_large_blocks(const nf2_t *fs);

/* May a large erase begin with this block of the volume? */
bool nf2_large_begins(const nf2_t *fs, uint32_t block);

/*
 * A pointer to `length` bytes inside one page of a log, valid until the next read. NULL: the driver
 * failed, or out of range. A look into a page reads a record's worth at least.
 */
const uint8_t *nf2_peek(nf2_t *fs, uint32_t block, uint32_t offset, uint32_t length);

/* So many bytes can be read at the place that was looked at last. */
static inline uint32_t nf2_peeked(const nf2_t *fs, uint32_t offset)
{
    return (fs->drive.window_end - offset) & (NF2_LOG_PAGE - 1);
}

/*
 * Reads any range of the volume, `offset` bytes behind the start of `block`: also in the following
 * blocks.
 */
int nf2_flash_read(nf2_t *fs, uint32_t block, uint32_t offset, void *data, uint32_t length);

/*
 * Programs a range inside one page of the chip; `offset` a multiple of the program unit; a length
 * that is not is filled up with 0xFF through the write buffer. NF2_FAILED_BLOCK, or NF2_ERR_IO:
 * then the volume is broken until the next mount.
 */
int nf2_flash_program(nf2_t *fs, uint32_t block, uint32_t offset, const void *data,
                      uint32_t length);

/* Erases `count` blocks: 1, or as many as a large erase takes. Errors as above. */
int nf2_flash_erase(nf2_t *fs, uint32_t block, uint32_t count);

#endif
