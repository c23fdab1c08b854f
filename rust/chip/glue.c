/* SPDX-License-Identifier: BSD-2-Clause */
/* glue.c - the virtual chip by plain numbers, so that no structure of it is written down in Rust. */
#include <string.h>

#include "vflash.h"

struct vflash *glue_new(const char *name, uint32_t size, uint32_t program_unit)
{
    const struct vflash_chip *found = vflash_chip_find(name);
    if (found == NULL) {
        return NULL;
    }
    struct vflash_chip chip = *found;
    chip.size = size != 0 ? size : chip.size;
    chip.program_unit = program_unit != 0 ? program_unit : chip.program_unit;
    return vflash_new(&chip);
}

uint32_t glue_size(const struct vflash *chip)
{
    return vflash_chip_of(chip)->size;
}

/* The largest erase that fits at `address` and is no longer than `length`. */
static uint32_t erase_size(const struct vflash_chip *chip, uint32_t address, uint32_t length)
{
    uint32_t best = chip->block_size;
    for (unsigned i = 0; i < 3; i++) {
        uint32_t size = chip->erase_sizes[i];
        if (size > best && address % size == 0 && size <= length) {
            best = size;
        }
    }
    return best;
}

int glue_erase(struct vflash *chip, uint32_t from, uint32_t to)
{
    const struct nf2_flash *driver = vflash_driver(chip);
    int result = 0;
    while (from < to && result == 0) {
        uint32_t size = erase_size(vflash_chip_of(chip), from, to - from);
        result = driver->erase(driver->context, from, size);
        from += size;
    }
    return result;
}

int glue_read(struct vflash *chip, uint32_t address, void *data, uint32_t length)
{
    const struct nf2_flash *driver = vflash_driver(chip);
    return driver->read(driver->context, address, data, length);
}

/* Page by page, as a driver does it. */
int glue_program(struct vflash *chip, uint32_t address, const uint8_t *data, uint32_t length)
{
    const struct nf2_flash *driver = vflash_driver(chip);
    uint32_t page = vflash_chip_of(chip)->page_size;
    int result = 0;
    while (length > 0 && result == 0) {
        uint32_t room = page - address % page, piece = length < room ? length : room;
        result = driver->program(driver->context, address, data, piece);
        address += piece;
        data += piece;
        length -= piece;
    }
    return result;
}

void glue_cut(struct vflash *chip, uint64_t operation, uint32_t byte, uint32_t mask, int shuffle, int erase, uint64_t seed)
{
    struct vflash_cut cut = {
        .operation = operation, .byte = byte, .last_byte_mask = (uint8_t)mask, .shuffle = shuffle != 0,
        .erase = (enum vflash_erase_cut)erase, .seed = seed,
    };
    vflash_cut_at(chip, &cut);
}

/* read calls, read bytes, read pages, program calls, program bytes, program pages, erases (three), microseconds, nanoseconds by bytes */
void glue_counts(const struct vflash *chip, uint64_t out[11])
{
    const struct vflash_counts *counts = vflash_counts(chip);
    uint64_t all[11] = {
        counts->read_calls, counts->read_bytes, counts->read_pages, counts->program_calls, counts->program_bytes, counts->program_pages,
        counts->erases[0], counts->erases[1], counts->erases[2], counts->time_us, counts->time_byte_ns,
    };
    memcpy(out, all, sizeof(all));
}
