/* SPDX-License-Identifier: BSD-2-Clause */
/* nand.c - what NAND has besides: whole pages in ascending order, spare bytes, blocks that are bad from the factory. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "state.h"

#define BAD_SEED 1u             /* which blocks are bad is a fact of the chip: the same for each one of its kind */

static uint32_t pages_per_block(const struct vflash *chip)
{
    return chip->chip.block_size >> chip->page_shift;
}

static uint8_t *spare_of(const struct vflash *chip, uint32_t page)
{
    return chip->spare + (size_t)page * chip->chip.spare_size;
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
                *spare_of(chip, block * pages_per_block(chip)) = 0;
            }
            left--;
        }
    }
}

bool nand_make(struct vflash *chip)
{
    size_t bytes = (size_t)(chip->chip.size >> chip->page_shift) * chip->chip.spare_size;
    if (bytes > 0) {
        chip->spare = malloc(bytes);
        if (chip->spare == NULL) {
            return false;
        }
        memset(chip->spare, 0xFF, bytes);
    }
    mark_factory_bad(chip);
    return true;
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
        size_t bytes = (size_t)(end_block - first_block) * pages_per_block(chip) * chip->chip.spare_size;
        memset(spare_of(chip, first_block * pages_per_block(chip)), 0xFF, bytes);
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
    memcpy(data, spare_of(chip, page), length);
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
    if (vflash_is_bad(chip, page / pages_per_block(chip))) {
        return NF2_FLASH_BAD;
    }
    for (uint32_t i = 0; i < length; i++) {
        spare_of(chip, page)[i] &= bytes[i];
    }
    chip->state.counts.program_bytes += length;
    return 0;
}
