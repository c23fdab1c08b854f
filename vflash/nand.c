/* SPDX-License-Identifier: BSD-2-Clause */
/* nand.c - what NAND has besides: whole pages in ascending order, spare bytes, blocks that are bad from the factory. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "state.h"

#define BAD_SEED 1u             /* which blocks are bad is a fact of the chip: the same for each one of its kind */

uint32_t nand_pages_per_block(const struct vflash *chip)
{
    return chip->chip.block_size >> chip->page_shift;
}

uint8_t *nand_spare(const struct vflash *chip, uint32_t page)
{
    return chip->spare + (size_t)page * chip->chip.spare_size;
}

uint32_t nand_block_of(const struct vflash *chip, uint32_t page)
{
    return page / nand_pages_per_block(chip);
}

static void mark_factory_bad(struct vflash *chip)
{
    struct pcg32 rng;
    pcg32_seed(&rng, BAD_SEED, chip->blocks);
    for (uint32_t left = chip->chip.factory_bad; left > 0;) {
        uint32_t block = 1 + pcg32_below(&rng, chip->blocks - 1);
        if ((chip->marks[block] & MARK_BROKEN) == 0) {
            fault_mark(chip, block, MARK_BROKEN, 0);
            if (chip->spare != NULL) {
                *nand_spare(chip, block * nand_pages_per_block(chip)) = 0;
            }
            left--;
        }
    }
}

bool nand_make(struct vflash *chip)
{
    size_t pages = chip->chip.size >> chip->page_shift, bytes = pages * chip->chip.spare_size;
    if (chip->chip.nand == 0) {
        return true;
    }
    chip->spare = bytes > 0 ? malloc(bytes) : NULL;
    chip->page_errors = calloc(pages, 1);
    chip->block_reads = calloc(chip->blocks, sizeof(*chip->block_reads));
    chip->page_buffer = calloc(1, chip->chip.page_size);
    if ((bytes > 0 && chip->spare == NULL) || chip->page_errors == NULL || chip->block_reads == NULL || chip->page_buffer == NULL) {
        return false;
    }
    if (bytes > 0) {
        memset(chip->spare, 0xFF, bytes);
    }
    mark_factory_bad(chip);
    return true;
}

void nand_free(struct vflash *chip)
{
    free(chip->spare);
    free(chip->page_errors);
    free(chip->block_reads);
    free(chip->page_buffer);
}

/* A page is programmed only while all that follow it in its block are not. */
const char *nand_program_fault(const struct vflash *chip, uint32_t address, uint32_t length)
{
    uint32_t block_end = (address & ~(chip->chip.block_size - 1)) + chip->chip.block_size;
    if (chip->chip.nand != 0 && length != 0 && units_any(chip, address + length, block_end - address - length)) {
        return "the program goes back behind a page of its block that was programmed";
    }
    return NULL;
}

void nand_blank(struct vflash *chip, uint32_t first_block, uint32_t end_block)
{
    if (chip->spare != NULL) {
        size_t bytes = (size_t)(end_block - first_block) * nand_pages_per_block(chip) * chip->chip.spare_size;
        memset(nand_spare(chip, first_block * nand_pages_per_block(chip)), 0xFF, bytes);
    }
    nand_forget(chip);
    if (chip->chip.nand != 0) {
        memset(chip->page_errors + (size_t)first_block * nand_pages_per_block(chip), 0,
               (size_t)(end_block - first_block) * nand_pages_per_block(chip));
        memset(chip->block_reads + first_block, 0, (end_block - first_block) * sizeof(*chip->block_reads));
    }
}

bool vflash_is_bad(const struct vflash *chip, uint32_t block)
{
    assert(block < chip->blocks);
    return (chip->marks[block] & MARK_BROKEN) != 0;
}

static bool spare_range_is_good(const struct vflash *chip, uint32_t page, uint32_t length)
{
    return page < chip->chip.size >> chip->page_shift && length <= chip->chip.spare_size;
}

int vflash_spare_read(struct vflash *chip, uint32_t page, void *data, uint32_t length)
{
    if (chip->state.off) {
        return VFLASH_OFF;
    }
    if (!spare_range_is_good(chip, page, length)) {
        return VFLASH_VIOLATION;
    }
    count_read(chip, page << chip->page_shift, length);
    memcpy(data, nand_spare(chip, page), length);
    return 0;
}

int vflash_spare_program(struct vflash *chip, uint32_t page, const void *data, uint32_t length)
{
    const uint8_t *bytes = data;
    if (chip->state.off) {
        return VFLASH_OFF;
    }
    if (!spare_range_is_good(chip, page, length)) {
        return VFLASH_VIOLATION;
    }
    if (vflash_is_bad(chip, page / nand_pages_per_block(chip))) {
        return NF2_FLASH_BAD;
    }
    for (uint32_t i = 0; i < length; i++) {
        nand_spare(chip, page)[i] &= bytes[i];
    }
    chip->state.counts.program_bytes += length;
    return 0;
}
