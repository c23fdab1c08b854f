/* SPDX-License-Identifier: BSD-2-Clause */
/* nor.h - YAFFS2's driver functions over a NOR chip. */
#ifndef YAFFS2_NOR_H
#define YAFFS2_NOR_H

#include <stdbool.h>

#include "nf2fs/flash.h"

struct vfs_nand;
struct yaffs_dev;

/*
 * A block of YAFFS2 holds its chunks one behind the other, so that they lie on whole pages, and then their spare bytes. Mode 2 programs a chunk and its tags
 * once. Mode 1 marks a chunk before and after it is programmed (as a half programmed chunk's spare bytes may be blank on NOR),
 * and marks a deleted chunk by its status byte.
 */
struct yaffs_nor {
    const struct nf2_flash *flash;
    uint32_t block_size;        /* bytes of a block of YAFFS2: a multiple of the chip's */
    uint32_t chunk_size, spare_size;
    bool small_erases;          /* the chip has no erase of block_size */
    const struct vfs_nand *nand;    /* NULL: NOR */
};

/* Fills in the functions and the geometry of `dev`, whose driver_context becomes `nor`. */
void yaffs_nor_attach(struct yaffs_dev *dev, struct yaffs_nor *nor, bool mode2);

/* Returns 0 or the flash's error. */
int yaffs_nor_erase_all(struct yaffs_nor *nor);

/* The same on NAND, in nand.c: its erase leaves bad blocks alone. */
bool yaffs_nand_fits(const struct nf2_flash *flash, const struct vfs_nand *nand);
void yaffs_nand_attach(struct yaffs_dev *dev, struct yaffs_nor *chip);
int yaffs_nand_erase_all(struct yaffs_nor *chip);

#endif
