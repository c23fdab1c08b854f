/* SPDX-License-Identifier: BSD-2-Clause */
/* evacuate.h - an indexed file's data out of blocks that are to be freed, and these blocks out of the file. */
#ifndef NF2FS_SRC_EVACUATE_H
#define NF2FS_SRC_EVACUATE_H

#include "census.h"

#define NF2_VICTIMS_MAX 4u

/* Runs of `blocks` blocks each that are to be emptied. */
struct nf2_victims {
    uint16_t blocks, count;
    uint16_t first[NF2_VICTIMS_MAX];
};

/* A part of a walk over a file's map. */
struct nf2_evacuation {
    uint32_t id;
    struct nf2_victims victims;
    uint8_t *bins;              /* what the walk passes is counted, in NF2_CLEAN_BINS bins as large as a victim; NULL: it is not */
    uint32_t first;             /* block that they begin with */
    uint32_t *from;             /* its place, which is brought forward: a file offset, then a block and NF2_INDEX_BLOCKS */
    uint32_t leaves, programs;  /* about how many at most */
};

/*
 * All of these return early (1) where they have committed a batch: the caller applies it before anything else (nf2_batch_apply), from
 * where the stack is short.
 */

/*
 * Goes on with the walk, and moves what lies in the victims. 1: there is more; 0: the end of the map is reached. Then they hold
 * nothing live, since what is written meanwhile goes elsewhere, but what handles have not committed.
 */
int nf2_evacuate(nf2_t *fs, const struct nf2_evacuation *job);

/* The same for all of the map. 1: from the start again, once the batch is applied. */
int nf2_evacuate_all(nf2_t *fs, uint32_t id, const struct nf2_victims *victims);

/* The next block that the file owns from `*block` on: 1, 0, or an error. */
int nf2_evacuate_next_owned(nf2_t *fs, uint32_t id, uint32_t *block);

/* Gives back what the file owns of a run of blocks that nothing live lies in, of so many OWN entries: 1 if there are more, 0, or an error. */
int nf2_evacuate_release(nf2_t *fs, uint32_t id, const struct nf2_run *dead, uint32_t entries);

#endif
