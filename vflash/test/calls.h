/* SPDX-License-Identifier: BSD-2-Clause */
/* calls.h - short hands of the virtual chip's tests. */
#ifndef VFLASH_TEST_CALLS_H
#define VFLASH_TEST_CALLS_H

#include <stdlib.h>

#include "check.h"
#include "pcg32.h"
#include "vflash.h"

#define BLOCK 4096u
#define LARGE (64u * 1024u)
#define PAGE 256u

static inline struct vflash *make(const char *name)
{
    struct vflash *chip = vflash_new(vflash_chip_find(name));
    if (chip == NULL) {
        printf("no chip %s\n", name);
        exit(2);
    }
    return chip;
}

static inline int do_read(struct vflash *chip, uint32_t address, void *data, uint32_t length)
{
    const struct nf2_flash *driver = vflash_driver(chip);
    return driver->read(driver->context, address, data, length);
}

static inline int do_program(struct vflash *chip, uint32_t address, const void *data, uint32_t length)
{
    const struct nf2_flash *driver = vflash_driver(chip);
    return driver->program(driver->context, address, data, length);
}

static inline int do_erase(struct vflash *chip, uint32_t address, uint32_t length)
{
    const struct nf2_flash *driver = vflash_driver(chip);
    return driver->erase(driver->context, address, length);
}

/* Programs `length` bytes of `value`. */
static inline int do_fill(struct vflash *chip, uint32_t address, uint8_t value, uint32_t length)
{
    uint8_t data[1024];
    memset(data, value, sizeof(data));
    return do_program(chip, address, data, length);
}

static inline void fill_block(struct vflash *chip, uint32_t block, uint8_t value)
{
    for (uint32_t page = 0; page < BLOCK; page += PAGE) {
        CHECK_EQ(do_fill(chip, block * BLOCK + page, value, PAGE), 0);
    }
}

static inline uint32_t count_bytes(const uint8_t *data, uint8_t value, uint32_t length)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < length; i++) {
        count += data[i] == value;
    }
    return count;
}

static inline bool all_bytes(const uint8_t *data, uint8_t value, uint32_t length)
{
    return count_bytes(data, value, length) == length;
}

static inline uint64_t violations(struct vflash *chip)
{
    return vflash_counts(chip)->violations;
}

#endif
