/* SPDX-License-Identifier: BSD-2-Clause */
/* block_wear.h - how often each block was erased, for workloads that wear a chip. */
#ifndef BLOCK_WEAR_H
#define BLOCK_WEAR_H

#include "bench.h"

uint32_t wear_blocks(const struct bench *bench);

/* Erases since the chip was new, a larger erase once for each of its blocks. */
uint64_t wear_erased(const struct bench *bench);

/* Of the most worn block. */
uint32_t wear_most(const struct bench *bench);

/* The figures of wear become keys of the row; a format that erases the whole chip counts. */
void wear_record(struct bench *bench);

/* The erases of each block into the file that was asked for, if one was. */
void wear_write(struct bench *bench);

#endif
