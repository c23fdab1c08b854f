/* SPDX-License-Identifier: BSD-2-Clause */
#include "flat_chip.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the core must never do, whatever the chip holds, ends the process. */
static void inside(const struct flat_chip *chip, uint32_t address, uint32_t length, const char *what)
{
    if (address > chip->driver.chip_size || length > chip->driver.chip_size - address) {
        fprintf(stderr, "%s out of the chip: %lu bytes at %lu\n", what, (unsigned long)length, (unsigned long)address);
        abort();
    }
}

static void count(struct flat_chip *chip)
{
    if (++chip->calls > chip->calls_most) {
        fprintf(stderr, "more than %llu calls of the driver: a loop\n", (unsigned long long)chip->calls_most);
        abort();
    }
}

static int flat_read(void *context, uint32_t address, void *data, uint32_t length)
{
    struct flat_chip *chip = context;

    inside(chip, address, length, "a read");
    count(chip);
    if (chip->fails_every != 0 && chip->calls % chip->fails_every == 0) {
        return -1;
    }
    memcpy(data, chip->bytes + address, length);
    return 0;
}

static int flat_program(void *context, uint32_t address, const void *data, uint32_t length)
{
    struct flat_chip *chip = context;
    const uint8_t *from = data;

    inside(chip, address, length, "a program");
    count(chip);
    if (length == 0 || address % chip->driver.page_size + length > chip->driver.page_size) {
        fprintf(stderr, "a program across a page's end\n");
        abort();
    }
    for (uint32_t i = 0; i < length; i++) {
        chip->bytes[address + i] &= from[i];
    }
    return 0;
}

static int flat_erase(void *context, uint32_t address, uint32_t length)
{
    struct flat_chip *chip = context;

    inside(chip, address, length, "an erase");
    count(chip);
    memset(chip->bytes + address, 0xFF, length);
    return 0;
}

void flat_chip_init(struct flat_chip *chip, uint32_t size, uint32_t program_unit)
{
    memset(chip, 0, sizeof *chip);
    chip->bytes = malloc(size);
    if (chip->bytes == NULL) {
        abort();
    }
    memset(chip->bytes, 0xFF, size);
    chip->calls_most = UINT64_MAX;
    chip->driver.chip_size = size;
    chip->driver.block_size = 4096;
    chip->driver.page_size = 256;
    chip->driver.program_unit = program_unit;
    chip->driver.read_unit = 1;
    chip->driver.read_page_us = 4;
    chip->driver.program_page_us = 400;
    chip->driver.erase_block_us = 50000;
    chip->driver.context = chip;
    chip->driver.read = flat_read;
    chip->driver.program = flat_program;
    chip->driver.erase = flat_erase;
}
