/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * census.h - how much of an indexed file is live in its blocks, and which it owns: one walk over its map counts it in bins of several
 * blocks, in a byte for each block, or in two bits, for more blocks at once.
 */
#ifndef NF2FS_SRC_CENSUS_H
#define NF2FS_SRC_CENSUS_H

#include "index.h"

#define NF2_CENSUS_BINS NF2_REGION_BLOCKS
#define NF2_CENSUS_BLOCKS NF2_TREE_BUFFER_SIZE

struct nf2_census {
    uint32_t id;
    uint32_t first;             /* block that the first bin begins with */
    uint32_t blocks;            /* of a bin, 31 at most */
    uint32_t bins;
    uint8_t *bin;               /* two bytes each */
    uint8_t *block;             /* a byte for each block instead; NULL: bins */
    uint8_t *use;               /* two bits for each block instead: enum nf2_use; NULL: the others */
};

/* What a block of a file is used for. */
enum nf2_use {
    NF2_USE_NONE,               /* the file does not own it */
    NF2_USE_PART,               /* something live lies in it, but no piece fills it */
    NF2_USE_FULL,               /* or a handle needs it as it is */
    NF2_USE_DEAD                /* the file owns it, and nothing live lies in it */
};
#define NF2_CENSUS_USES (NF2_TREE_BUFFER_SIZE * 4u)

/* Counts an entry of the map, and what handles that write the file need as it is. */
int nf2_census_item(nf2_t *fs, const struct nf2_census *census, const struct nf2_item *item);
int nf2_census_handles(nf2_t *fs, const struct nf2_census *census);

/* Does a handle need blocks of this run as they are? 1, 0, or an error. */
int nf2_census_needed(nf2_t *fs, uint32_t id, const struct nf2_run *run);

/* Counts all of the map. */
int nf2_census_walk(nf2_t *fs, struct nf2_census *census);

/* All of that, with NF2_CENSUS_BINS bins in the tree buffer, which is lent until nf2_census_end; that follows errors too. */
int nf2_census_begin(nf2_t *fs, struct nf2_census *census);

/* The same with a byte for each of NF2_CENSUS_BLOCKS blocks from `first` on. 0: its map has more than `*leaves` leaves, which become less by those; else 1. */
int nf2_census_blocks(nf2_t *fs, struct nf2_census *census, uint32_t *leaves);
bool nf2_census_owns(const struct nf2_census *census, uint32_t block);

/* About how many bytes of a block that was counted so are live; more than the block has if it is full or a handle needs it as it is. */
uint32_t nf2_census_block_live(const nf2_t *fs, const struct nf2_census *census, uint32_t block);

/* The use of NF2_CENSUS_USES blocks from census->first on, by one walk. */
int nf2_census_uses(nf2_t *fs, struct nf2_census *census);
enum nf2_use nf2_census_use(const struct nf2_census *census, uint32_t block);

void nf2_census_end(nf2_t *fs);

uint32_t nf2_census_owned(const struct nf2_census *census, uint32_t bin);  /* blocks */
uint32_t nf2_census_live(const nf2_t *fs, const struct nf2_census *census, uint32_t bin);  /* bytes, about */
bool nf2_census_full(const struct nf2_census *census, uint32_t bin);       /* or a handle needs it as it is */

#endif
