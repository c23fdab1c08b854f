/* SPDX-License-Identifier: BSD-2-Clause */
/* tap.c - between a file system and the chip. */
#include "tap.h"

#include <stdlib.h>

/* A broken block takes the call, and counts it; so does the call that a power cut tears, the first one that finds the power off. */
static bool taken(struct tap *tap, int result)
{
    bool torn = result == VFLASH_OFF && !tap->off;
    tap->off = tap->off || result == VFLASH_OFF;
    return result >= 0 || result == NF2_FLASH_BAD || torn;
}

static void note(struct tap *tap, enum stacks_operation operation, uint64_t before_us)
{
    if (tap->stacks != NULL) {
        stacks_note(tap->stacks, operation, vflash_counts(tap->flash)->time_us - before_us);
    }
}

uint32_t tap_size(uint32_t length)
{
    uint32_t place = 0;
    while (place + 1 < TAP_SIZES && 1u << place < length) {
        place++;
    }
    return place;
}

static int tap_read(void *context, uint32_t address, void *data, uint32_t length)
{
    struct tap *tap = context;
    uint64_t before_us = vflash_counts(tap->flash)->time_us;
    int result = tap->chip->read(tap->chip->context, address, data, length);
    if (taken(tap, result)) {
        dumb_read(&tap->dumb, vflash_chip_of(tap->flash), address, length);
        tap->read_sizes[tap_size(length)]++;
        note(tap, STACKS_READ, before_us);
    }
    return result;
}

static int tap_program(void *context, uint32_t address, const void *data, uint32_t length)
{
    struct tap *tap = context;
    uint32_t page = address / tap->driver.page_size;
    uint8_t bit = (uint8_t)(1u << page % 8);
    if ((tap->touched[page / 8] & bit) == 0) {
        tap->touched[page / 8] |= bit;
        tap->pages_consumed++;
    }
    uint64_t before_us = vflash_counts(tap->flash)->time_us;
    int result = tap->chip->program(tap->chip->context, address, data, length);
    if (taken(tap, result)) {
        dumb_program(&tap->dumb, vflash_chip_of(tap->flash), address, length);
        tap->program_sizes[tap_size(length)]++;
        note(tap, STACKS_PROGRAM, before_us);
    }
    return result;
}

static int tap_erase(void *context, uint32_t address, uint32_t length)
{
    struct tap *tap = context;
    uint64_t before_us = vflash_counts(tap->flash)->time_us;
    int result = tap->chip->erase(tap->chip->context, address, length);
    if (taken(tap, result)) {
        uint32_t end = (address + length) / tap->driver.page_size;
        for (uint32_t page = address / tap->driver.page_size; page < end; page++) {
            tap->touched[page / 8] &= (uint8_t)~(1u << page % 8);
        }
        dumb_erase(&tap->dumb, vflash_chip_of(tap->flash), length);
        note(tap, STACKS_ERASE, before_us);
    }
    return result;
}

static int tap_spare_read(void *context, uint32_t page, void *data, uint32_t length)
{
    struct tap *tap = context;
    uint64_t before_us = vflash_counts(tap->flash)->time_us;
    int result = vflash_spare_read(tap->flash, page, data, length);
    if (taken(tap, result)) {
        dumb_read(&tap->dumb, vflash_chip_of(tap->flash), page * tap->driver.page_size, length);
        note(tap, STACKS_READ, before_us);
    }
    return result;
}

static int tap_spare_program(void *context, uint32_t page, const void *data, uint32_t length)
{
    struct tap *tap = context;
    int result = vflash_spare_program(tap->flash, page, data, length);
    tap->dumb.program_bytes += result == 0 ? length : 0;
    return result;
}

int tap_open(struct tap *tap, struct vflash *flash)
{
    const struct nf2_flash *chip = vflash_driver(flash);
    *tap = (struct tap){.driver = *chip, .chip = chip, .flash = flash};
    tap->driver.context = tap;
    tap->driver.read = tap_read;
    tap->driver.program = tap_program;
    tap->driver.erase = tap_erase;
    tap->nand = (struct vfs_nand){tap, vflash_chip_of(flash)->spare_size, tap_spare_read, tap_spare_program};
    tap->touched = calloc(chip->chip_size / chip->page_size / 8 + 1, 1);
    return tap->touched == NULL ? -1 : 0;
}

void tap_close(struct tap *tap)
{
    free(tap->touched);
    tap->touched = NULL;
}
