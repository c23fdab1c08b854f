/* SPDX-License-Identifier: BSD-2-Clause */
/* count.c - counters, time and wear. */
#include "state.h"

/*
 * Byte convention: the command of a read, in times of a byte of data. Code and four address bytes on one line and
 * 8 dummies are 48 clocks; a byte of data on four lines is two.
 */
#define READ_COMMAND_BYTES 24u

static uint64_t pages_touched(const struct vflash *chip, uint32_t address, uint32_t length)
{
    uint32_t inside = address & (chip->chip.page_size - 1);
    return length == 0 ? 0 : ((uint64_t)inside + length + chip->chip.page_size - 1) >> chip->page_shift;
}

static void charge(struct vflash_counts *counts, uint64_t time_us, uint64_t time_slow_us, uint64_t time_byte_ns)
{
    counts->time_us += time_us;
    counts->time_slow_us += time_slow_us;
    counts->time_byte_ns += time_byte_ns;
}

void count_read(struct vflash *chip, uint32_t address, uint32_t length)
{
    struct vflash_counts *counts = &chip->state.counts;
    uint64_t pages = pages_touched(chip, address, length);
    uint64_t byte_ns = (((uint64_t)length + READ_COMMAND_BYTES) * chip->chip.read_page_us * 1000) >> chip->page_shift;
    counts->read_calls++;
    counts->read_bytes += length;
    counts->read_pages += pages;
    charge(counts, pages * chip->chip.read_page_us, pages * chip->chip.read_page_slow_us, byte_ns);
}

void count_program(struct vflash *chip, const struct program *program)
{
    struct vflash_counts *counts = &chip->state.counts;
    uint32_t first_pct = chip->chip.first_byte_pct;
    uint64_t pages = program->length == 0 ? 0 : 1;
    uint64_t page_us = chip->chip.program_page_us;
    uint64_t first_ns = pages * page_us * 10 * first_pct;
    uint64_t rest_ns = ((uint64_t)program->length * page_us * 10 * (100 - first_pct)) >> chip->page_shift;
    counts->program_calls++;
    counts->program_bytes += program->length;
    counts->program_pages += pages;
    charge(counts, pages * page_us, pages * page_us, first_ns + rest_ns);
}

void count_erase(struct vflash *chip, int index, uint32_t first_block, uint32_t end_block)
{
    struct vflash_counts *counts = &chip->state.counts;
    uint64_t us = chip->chip.erase_us[index];
    counts->erases[index]++;
    charge(counts, us, us, us * 1000);
    for (uint32_t block = first_block; block < end_block; block++) {
        chip->wear[block]++;
    }
}

const struct vflash_counts *vflash_counts(const struct vflash *chip)
{
    return &chip->state.counts;
}

void vflash_counts_reset(struct vflash *chip)
{
    chip->state.counts = (struct vflash_counts){0};
}
