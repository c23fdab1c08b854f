/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * guest_flash.h - the MTD of the virtual machine, with the geometry of the virtual chip.
 *
 * What the kernel does with the MTD is recorded by probe/nf2_mtd_probe.c. guest_flash_replay()
 * does the same on the virtual chip, with the same bytes: that chip counts and charges the
 * operations, and refuses what a real one would refuse.
 */
#ifndef GUEST_FLASH_H
#define GUEST_FLASH_H

#include <stdbool.h>
#include <stdint.h>

#include "nf2fs/flash.h"

struct guest_flash {
    const struct nf2_flash *chip;
    uint32_t erase_size;            /* of the MTD */
    bool nand;
    int log;                        /* /dev/nf2-mtd-log, or -1 */
    /* the first one of a replay: nothing after it is to be believed */
    int error;
    uint64_t records;
    /* of the chip, page convention: what threads of the kernel did, and all else */
    uint64_t background_us;
    uint64_t foreground_us;
    uint8_t *buffer;
    uint32_t held;                  /* bytes of a record that is not whole yet */
};

/* Makes /dev/mtd0. Returns 0 or a negative errno. */
int guest_flash_open(struct guest_flash *flash, const struct nf2_flash *chip, uint32_t erase_size);
void guest_flash_close(struct guest_flash *flash);

int guest_flash_replay(struct guest_flash *flash);

/* The same until the threads of the kernel have left the flash alone for a while. */
int guest_flash_settle(struct guest_flash *flash);

/*
 * Whether the MTD holds the same bytes as the virtual chip. Its reads count there: it is the last
 * thing that is done.
 */
bool guest_flash_same(struct guest_flash *flash);

/*
 * Erases each block that is good. With `markers` each gets the marker by which JFFS2 knows that
 * it was erased completely.
 */
int guest_flash_blank(struct guest_flash *flash, bool markers);

/* Writes a file to the start of the MTD, which is blank. */
int guest_flash_burn(struct guest_flash *flash, const char *path);

#endif
