/* SPDX-License-Identifier: BSD-2-Clause */
/* nf2_zephyr_flash.h - private: the driver of a volume whose `area` is open. */
#ifndef NF2_ZEPHYR_FLASH_H
#define NF2_ZEPHYR_FLASH_H

#include "nf2_zephyr.h"

/*
 * Sets `flash` and `config`: the block is the largest page of the partition, or several small ones.
 * Returns 0, or, with the reason in the log, GEOMETRY for flash that NF2FS cannot use, and NOSPC
 * for a partition that is too small.
 */
int nf2_zephyr_configure(struct nf2_zephyr *volume);

#endif
