/* SPDX-License-Identifier: BSD-2-Clause */
/* tap.c - counts consumed pages between a file system and the chip. */
#include "tap.h"

#include <stdlib.h>

static int tap_read(void *context, uint32_t address, void *data, uint32_t length)
{
    struct tap *tap = context;
    return tap->chip->read(tap->chip->context, address, data, length);
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
    return tap->chip->program(tap->chip->context, address, data, length);
}

static int tap_erase(void *context, uint32_t address, uint32_t length)
{
    struct tap *tap = context;
    uint32_t end = (address + length) / tap->driver.page_size;
    for (uint32_t page = address / tap->driver.page_size; page < end; page++) {
        tap->touched[page / 8] &= (uint8_t)~(1u << page % 8);
    }
    return tap->chip->erase(tap->chip->context, address, length);
}

int tap_open(struct tap *tap, const struct nf2_flash *chip)
{
    tap->driver = *chip;
    tap->driver.context = tap;
    tap->driver.read = tap_read;
    tap->driver.program = tap_program;
    tap->driver.erase = tap_erase;
    tap->chip = chip;
    tap->pages_consumed = 0;
    tap->touched = calloc(chip->chip_size / chip->page_size / 8 + 1, 1);
    return tap->touched == NULL ? -1 : 0;
}

void tap_close(struct tap *tap)
{
    free(tap->touched);
    tap->touched = NULL;
}
