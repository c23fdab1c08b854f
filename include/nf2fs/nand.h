/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nf2fs/nand.h - the contract of a driver for a NAND chip. No call of the library takes one yet:
 * docs/DESIGN.md ("NOR and NAND as one volume") says what it is for.
 *
 * The driver is a constant structure, as struct nf2_flash is (nf2fs/flash.h). A page is programmed
 * as a whole and once between two erases of its block. The pages of a block are programmed in
 * ascending order; some may be left out, and are not programmed later. Only chips with one bit in a
 * cell (SLC) are fit: of others a power cut during a program may destroy pages that were finished
 * before.
 *
 * The driver, or the chip, mends bits: what `read` gives was mended, and its result says how much
 * there was to mend. The driver does nothing about it.
 *
 * After a power cut the page that was being programmed, and all pages of the block that was being
 * erased, hold undefined data: they may read as blank, as whole, as something else, or be LOST, and
 * a page that read well may be LOST later. Everything else must be untouched.
 */
#ifndef NF2FS_NAND_H
#define NF2FS_NAND_H

#include <stdbool.h>
#include <stdint.h>

#include "nf2fs/flash.h"

/* Results of `read` beside 0, which says that there was nothing to mend. */
#define NF2_NAND_MENDED 1       /* bits were mended: no reason to do anything */
#define NF2_NAND_WEAK 2         /* as many were mended as can be, or nearly: the page is to be
                                   written elsewhere soon */
#define NF2_NAND_LOST (-301)    /* there are more wrong bits than can be mended: what was read is
                                   not what was programmed */

struct nf2_nand {
    /* Passed to each function as it is. */
    void *context;

    /*
     * Reads `length` bytes of a page, from its byte `column` on. Returns 0, NF2_NAND_MENDED, _WEAK
     * or _LOST, of the whole page or of the part, or another negative number: then the chip did not
     * answer. A page that was not programmed since the erase of its block reads as 0xFF, with 0 or
     * MENDED. The driver may keep the page in the chip's buffer, and read the next part from
     * there, but not across a program, a copy or an erase: a page is read back from the cells.
     */
    int (*read)(void *context, uint32_t page, uint32_t column, void *data, uint32_t length);

    /*
     * Puts a part of a page into the chip's buffer. `column` 0 begins a page; each further part
     * begins where the one before ended or behind it. Bytes that no part has are 0xFF. Nothing but
     * `load` comes between the first part and `program`, so that no page need be held in memory.
     */
    int (*load)(void *context, uint32_t column, const void *data, uint32_t length);

    /*
     * Programs what was loaded. Returns 0 when the chip has finished and reports no failure;
     * NF2_FLASH_BAD if it reports one: then the page holds undefined data, the other pages of the
     * block can still be read, and the block is not used any more.
     */
    int (*program)(void *context, uint32_t page);

    /*
     * Optional (NULL: pages are read and loaded): programs the content of page `from` into page
     * `to`, inside the chip. The driver sets it only where the chip mends the content in between.
     * Results as of `read` and `program`; with NF2_NAND_LOST nothing was programmed.
     */
    int (*copy)(void *context, uint32_t from, uint32_t to);

    /* Erases a block. Returns 0 when the chip has finished; NF2_FLASH_BAD as `program`. */
    int (*erase)(void *context, uint32_t block);

    /*
     * The mark of a bad block, where the maker puts it as a rule: in the spare bytes of the block's
     * first page or of its second one. With `set` marks the block, as well as it takes it, and
     * returns 0 or a negative number. Without, returns 1 if the block is marked, 0 if it is not, or
     * a negative number. An erase destroys the maker's marks for ever: no block is erased before
     * its mark was read, and none that is marked.
     */
    int (*mark)(void *context, uint32_t block, bool set);

    uint32_t blocks;            /* of the chip; the first one is good when it leaves the factory */
    uint16_t pages_per_block;   /* 32 to 256, a power of two */
    uint16_t page_size;         /* bytes, without the spare ones: 512 to 4,096, a power of two */
    uint32_t cycles;            /* rated erases of a block */

    /* Typical times, with those of the bus, in microseconds. */
    uint32_t read_page_us;
    uint32_t program_page_us;
    uint32_t erase_block_us;
};

#endif
