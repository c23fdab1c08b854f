/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tap.h - sits between a file system and the chip: counts consumed pages, counts everything a second time (dumb.h), and notes
 * call stacks where they are asked for (stacks.h).
 *
 * A page is consumed when something in it is programmed for the first time since its erase. Consumed
 * bytes (pages x page size, gaps included) are what must be erased again one day, whatever the file
 * system: the fair companion of a count of programs on a fresh chip.
 */
#ifndef TAP_H
#define TAP_H

#include <stdbool.h>
#include <stdint.h>

#include "dumb.h"
#include "nf2fs/flash.h"
#include "stacks.h"
#include "vfs.h"

#define TAP_SIZES 32u

struct tap {
    struct nf2_flash driver;        /* what the file system gets */
    const struct nf2_flash *chip;
    uint8_t *touched;               /* one bit a page: programmed since its erase */
    uint64_t pages_consumed;
    struct vflash *flash;
    struct vfs_nand nand;           /* for NAND chips: see vfs.h */
    struct dumb dumb;
    struct stacks *stacks;          /* NULL: not asked for */
    uint64_t read_sizes[TAP_SIZES], program_sizes[TAP_SIZES];       /* calls of at most 1, 2, 4 .. bytes: see tap_size */
    bool off;                       /* the power was cut; who switches it on again clears this */
};

/* The place of an access of so many bytes: 1 << place is the least power of two that it does not pass. */
uint32_t tap_size(uint32_t length);

/* Returns 0, or -1 without memory. The chip is taken to be blank, its counters at zero. */
int tap_open(struct tap *tap, struct vflash *flash);
void tap_close(struct tap *tap);

#endif
