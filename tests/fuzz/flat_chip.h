/* SPDX-License-Identifier: BSD-2-Clause */
/* flat_chip.h - a chip that is an array: fast, it ends the process on any access outside it. */
#ifndef FLAT_CHIP_H
#define FLAT_CHIP_H

#include "nf2fs/flash.h"

struct flat_chip {
    struct nf2_flash driver;
    uint8_t *bytes;
    uint64_t calls, calls_most;     /* a process that passes the bound ends */
    uint32_t fails_every;           /* a read fails where it is the call of such a number; 0: none */
};

void flat_chip_init(struct flat_chip *chip, uint32_t size, uint32_t program_unit);

#endif
