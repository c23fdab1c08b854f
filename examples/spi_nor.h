/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * spi_nor.h - a driver for SPI NOR chips with the usual commands (Winbond W25Q, ISSI IS25LP, Macronix MX25L, Micron MT25Q and
 * the like), 4 KiB and 64 KiB erases, pages of 256 bytes. The board gives two functions; NF2FS gets `driver`.
 */
#ifndef SPI_NOR_H
#define SPI_NOR_H

#include <stdbool.h>
#include <stdint.h>

#include "nf2fs/flash.h"

struct spi_nor {
    struct nf2_flash driver;    /* for nf2_config.flash, filled in by spi_nor_start */

    /*
     * One transaction: chip select low, `command_length` bytes of command out, then `length` bytes out (`out` not NULL) or in
     * (`in` not NULL), chip select high. Returns 0, or a negative number.
     */
    int (*transfer)(void *bus, const uint8_t *command, uint32_t command_length, const void *out, void *in, uint32_t length);

    /* Called while the chip is busy: waits about so many microseconds. With an RTOS other tasks run meanwhile. */
    void (*pause)(void *bus, uint32_t us);
    void *bus;

    bool four;                  /* addresses of four bytes: chips beyond 16 MiB */
};

/*
 * Finds the chip, waits until it is idle (it may be in the middle of an erase when only the processor was reset), and fills
 * in `driver`. `transfer`, `pause` and `bus` are set before. Returns 0, or a negative number: no answer, or another capacity.
 */
int spi_nor_start(struct spi_nor *chip, uint32_t size);

#endif
