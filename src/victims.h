/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * victims.h - which regions the next walk empties, and which it looks through for holes: greedy,
 * the emptiest first, over the whole volume.
 */
#ifndef NF2FS_CORE_VICTIMS_H
#define NF2FS_CORE_VICTIMS_H

#include "alloc.h"

#define NF2_GRAIN_MOST 12u      /* walk.grain: 4 KiB, a block as a rule */

/* Blocks in stock below which nothing is moved: what the change behind a move may need. */
uint32_t nf2_victims_floor(const nf2_t *fs);

/* Blocks that calls take while a walk only visits its leaves, as slowly as it may. */
static inline uint32_t nf2_victims_leaves(const nf2_t *fs)
{
    return fs->walk.leaves_before / 40 + 4;
}

struct nf2_choice {             /* what a walk would do */
    uint32_t victims;           /* regions that it empties */
    uint32_t moves, gain;       /* blocks that it copies, and that it wins */
    uint32_t dead;              /* blocks' worth of what nobody needs, on the whole volume */
};

/*
 * Chooses by what the last walk has counted, beside what `choice` has already. `marks`: makes them
 * victims and regions to look through; else it only says what the choice would be.
 */
void nf2_victims_choose(nf2_t *fs, bool marks, struct nf2_choice *choice);

/* Nothing more is moved: the walk only counts. Victims are regions in use again. */
void nf2_victims_stay(nf2_t *fs);

/* The walk ends without a result. */
void nf2_walk_abandon(nf2_t *fs);

#endif
