/* SPDX-License-Identifier: BSD-2-Clause */
/* dumb.c - the second count. */
#include "dumb.h"

#include <stddef.h>

/* Pages that hold one of the bytes. */
static uint64_t pages(const struct vflash_chip *chip, uint32_t address, uint32_t length)
{
    uint64_t count = 0;
    uint64_t end = (uint64_t)address + length;
    for (uint64_t byte = address; byte < end; byte = (byte / chip->page_size + 1) * chip->page_size) {
        count++;
    }
    return count;
}

void dumb_read(struct dumb *dumb, const struct vflash_chip *chip, uint32_t address, uint32_t length)
{
    dumb->read_calls++;
    dumb->read_bytes += length;
    dumb->read_pages += pages(chip, address, length);
    dumb->time_us += pages(chip, address, length) * chip->read_page_us;
}

void dumb_program(struct dumb *dumb, const struct vflash_chip *chip, uint32_t address, uint32_t length)
{
    dumb->program_calls++;
    dumb->program_bytes += length;
    dumb->program_pages += pages(chip, address, length);
    dumb->time_us += pages(chip, address, length) * chip->program_page_us;
}

void dumb_erase(struct dumb *dumb, const struct vflash_chip *chip, uint32_t length)
{
    dumb->erased_bytes += length;
    for (int i = 0; i < 3; i++) {
        dumb->time_us += chip->erase_sizes[i] == length ? chip->erase_us[i] : 0;
    }
}

const char *dumb_difference(const struct dumb *dumb, const struct vflash_chip *chip, const struct vflash_counts *counts)
{
    uint64_t erased = 0;
    for (int i = 0; i < 3; i++) {
        erased += counts->erases[i] * chip->erase_sizes[i];
    }
    const struct {
        const char *name;
        uint64_t mine, theirs;
    } figures[] = {
        {"read calls", dumb->read_calls, counts->read_calls}, {"bytes read", dumb->read_bytes, counts->read_bytes},
        {"pages read", dumb->read_pages, counts->read_pages}, {"program calls", dumb->program_calls, counts->program_calls},
        {"bytes programmed", dumb->program_bytes, counts->program_bytes}, {"pages programmed", dumb->program_pages, counts->program_pages},
        {"bytes erased", dumb->erased_bytes, erased}, {"time", dumb->time_us, counts->time_us},
    };
    for (unsigned i = 0; i < sizeof(figures) / sizeof(figures[0]); i++) {
        if (figures[i].mine != figures[i].theirs) {
            return figures[i].name;
        }
    }
    return NULL;
}
