/* SPDX-License-Identifier: BSD-2-Clause */
/* turn.h - which free blocks are taken next: each in its turn, files in long runs, erased ones first while there are many. docs/DESIGN.md, "Wear". */
#ifndef NF2FS_SRC_TURN_H
#define NF2FS_SRC_TURN_H

#include "meta.h"

/*
 * Finds a run to claim for a slot, `want` blocks at most, in a region that it loads for that: `*start` is its place in fs->region. NOSPC too where
 * the block that is to be kept is the only free one.
 */
int nf2_turn_find(nf2_t *fs, unsigned slot, uint32_t want, uint32_t *start, uint32_t *count, bool *dirty);

/* Is the block in a group that is being emptied? */
bool nf2_turn_emptied(const nf2_t *fs, uint32_t block);

#endif
