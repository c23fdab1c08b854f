/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dumb.h - a second count of what the driver is asked for, made at the file system's side of the driver and without the virtual
 * chip's code: byte by byte, so that it is too simple to be wrong. A cell whose two counts differ fails.
 */
#ifndef DUMB_H
#define DUMB_H

#include "vflash.h"

struct dumb {
    uint64_t read_calls, read_bytes, read_pages;
    uint64_t program_calls, program_bytes, program_pages;
    uint64_t erased_bytes, time_us;
};

/* After a call that the chip took. */
void dumb_read(struct dumb *dumb, const struct vflash_chip *chip, uint32_t address, uint32_t length);
void dumb_program(struct dumb *dumb, const struct vflash_chip *chip, uint32_t address, uint32_t length);
void dumb_erase(struct dumb *dumb, const struct vflash_chip *chip, uint32_t length);

/* Which figure differs from the chip's own, or NULL. */
const char *dumb_difference(const struct dumb *dumb, const struct vflash_chip *chip, const struct vflash_counts *counts);

#endif
