/* SPDX-License-Identifier: BSD-2-Clause */
/* count.c - counters, time and wear. */
#include <stdlib.h>

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

static uint64_t known(uint64_t max_us, uint64_t typical_us)
{
    return max_us != 0 ? max_us : typical_us;
}

void count_read(struct vflash *chip, uint32_t address, uint32_t length)
{
    struct vflash_counts *counts = &chip->state.counts;
    uint64_t pages = pages_touched(chip, address, length);
    if (chip->page_reads != NULL) {
        for (uint64_t page = 0; page < pages; page++) {
            chip->page_reads[((address >> chip->page_shift) + page) % (chip->chip.size >> chip->page_shift)]++;
        }
    }
    uint64_t byte_ns = (((uint64_t)length + READ_COMMAND_BYTES) * chip->chip.read_page_us * 1000) >> chip->page_shift;
    counts->read_calls++;
    counts->read_bytes += length;
    counts->read_pages += pages;
    counts->time_us += pages * chip->chip.read_page_us;
    counts->time_slow_us += pages * chip->chip.read_page_slow_us;
    counts->time_byte_ns += byte_ns;
    counts->time_max_us += pages * chip->chip.read_page_us;
    counts->time_model_us += pages * chip->chip.read_page_us;
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
    counts->time_us += pages * page_us;
    counts->time_slow_us += pages * page_us;
    counts->time_byte_ns += first_ns + rest_ns;
    counts->time_max_us += pages * known(chip->chip.program_page_max_us, page_us);
    counts->time_model_us += chip->state.conditioned ? conditions_program_us(chip, program) : pages * page_us;
    if (chip->page_programs != NULL) {
        chip->page_programs[program->address >> chip->page_shift] += (uint32_t)pages;
    }
}

static void count_wear(struct vflash *chip, uint32_t first_block, uint32_t end_block)
{
    for (uint32_t block = first_block; block < end_block; block++) {
        chip->wear[block]++;
    }
}

void count_erase(struct vflash *chip, int index, uint32_t first_block, uint32_t end_block)
{
    struct vflash_counts *counts = &chip->state.counts;
    uint64_t us = chip->chip.erase_us[index];
    counts->erases[index]++;
    counts->time_us += us;
    counts->time_slow_us += us;
    counts->time_byte_ns += us * 1000;
    counts->time_max_us += known(chip->chip.erase_max_us[index], us);
    counts->time_model_us += chip->state.conditioned ? conditions_erase_us(chip, index, first_block, end_block) : us;
    count_wear(chip, first_block, end_block);
}

void count_erase_begun(struct vflash *chip, int index, uint32_t first_block, uint32_t end_block)
{
    chip->state.counts.erases[index]++;
    count_wear(chip, first_block, end_block);
}

void count_time(struct vflash *chip, uint64_t us)
{
    struct vflash_counts *counts = &chip->state.counts;
    counts->time_us += us;
    counts->time_slow_us += us;
    counts->time_byte_ns += us * 1000;
    counts->time_max_us += us;
    counts->time_model_us += us;
}

/* Each call is rounded to a microsecond by itself, where microseconds are counted. */
void count_bus(struct vflash *chip, uint32_t length)
{
    struct vflash_counts *counts = &chip->state.counts;
    uint64_t ns = (uint64_t)length * chip->chip.bus_byte_ns, us = (ns + 500) / 1000;
    counts->time_us += us;
    counts->time_slow_us += us;
    counts->time_byte_ns += ns;
    counts->time_max_us += us;
    counts->time_model_us += us;
}

void count_transfer(struct vflash *chip, uint32_t length)
{
    chip->state.counts.read_calls++;
    chip->state.counts.read_bytes += length;
    count_bus(chip, length);
}

void count_array_read(struct vflash *chip, uint32_t page)
{
    struct vflash_counts *counts = &chip->state.counts;
    if (chip->page_reads != NULL) {
        chip->page_reads[page]++;
    }
    counts->read_pages++;
    counts->time_us += chip->chip.read_page_us;
    counts->time_slow_us += chip->chip.read_page_slow_us;
    counts->time_byte_ns += chip->chip.read_page_us * 1000ull;
    counts->time_max_us += chip->chip.read_page_us;
    counts->time_model_us += chip->chip.read_page_us;
}

const struct vflash_counts *vflash_counts(const struct vflash *chip)
{
    return &chip->state.counts;
}

void vflash_counts_reset(struct vflash *chip)
{
    chip->state.counts = (struct vflash_counts){0};
}

int vflash_count_each_page(struct vflash *chip)
{
    size_t pages = chip->chip.size >> chip->page_shift;
    free(chip->page_reads);
    free(chip->page_programs);
    chip->page_reads = calloc(pages, sizeof(*chip->page_reads));
    chip->page_programs = calloc(pages, sizeof(*chip->page_programs));
    if (chip->page_reads != NULL && chip->page_programs != NULL) {
        return 0;
    }
    free(chip->page_reads);
    free(chip->page_programs);
    chip->page_reads = chip->page_programs = NULL;
    return -1;
}

uint32_t vflash_page_reads(const struct vflash *chip, uint32_t page)
{
    return chip->page_reads != NULL ? chip->page_reads[page] : 0;
}

uint32_t vflash_page_programs(const struct vflash *chip, uint32_t page)
{
    return chip->page_programs != NULL ? chip->page_programs[page] : 0;
}
