/* SPDX-License-Identifier: BSD-2-Clause */
/* region.h - the state of the blocks of one region: its newest REGION page and the changes behind it. */
#ifndef NF2FS_SRC_REGION_H
#define NF2FS_SRC_REGION_H

#include "meta.h"

#define NF2_REGION_PAYLOAD (2u + 3u + NF2_REGION_BLOCKS / 4u + NF2_REGION_BLOCKS)

/* State and wear of a region's blocks: at the write buffer's end, until something is programmed or NF2_SCRATCH_NODE is used. A search leaves it alone. */
struct nf2_region {
    uint32_t number;
    uint32_t wear_base;
    uint32_t block;             /* of the meta log, that has its newest REGION page; NF2_NONE: there is none */
    uint8_t *state;             /* enum nf2_block_state, two bits a block */
    uint8_t *wear;              /* erases beyond the base, 255 or more: 255 */
};
#define NF2_REGION_STATES (NF2_REGION_BLOCKS / 4u)

unsigned nf2_region_state(const struct nf2_region *region, uint32_t index);

/* Puts the region's state together by a walk over the meta log. */
int nf2_region_read(nf2_t *fs, uint32_t number, struct nf2_region *region);

/* Writes a region's page into a block of the meta log at `*end`, which moves on. */
int nf2_meta_write_region(nf2_t *fs, const struct nf2_region *region, uint32_t block, uint32_t *end);

#define NF2_WEAR_AGE 64u        /* defaults, see struct nf2_config */
#define NF2_WEAR_SPREAD 32u

/* Has some block been erased so often that evenness comes first? */
static inline bool nf2_wear_aged(const nf2_t *fs)
{
    return fs->worn >= (fs->config->wear_age != 0 ? fs->config->wear_age : NF2_WEAR_AGE);
}

/* A block so far behind the most worn one is little worn. */
static inline uint32_t nf2_wear_spread(const nf2_t *fs)
{
    return fs->config->wear_spread != 0 ? fs->config->wear_spread : NF2_WEAR_SPREAD;
}

/*
 * A free block, by one walk whatever the size of the volume; an erased one if it meets any, and of some the first one behind the block
 * `near`. NF2_ERR_NOSPC: it met none, which does not say that there is none.
 */
int nf2_region_find(nf2_t *fs, uint32_t near, uint32_t *block, bool *dirty);

/* A change to blocks, as a STATE or a CLAIM tells it; others than the region's do not count. */
void nf2_region_change(struct nf2_region *region, enum nf2_change change, uint32_t start, uint32_t count);

/* Blocks that lie side by side in one region: bit by bit which are used, and which are free and dirty. */
#define NF2_SPANS_MAX 8u
struct nf2_span_use {
    uint32_t first;
    uint32_t used, dirty;
};

/* Finds that out for up to NF2_SPANS_MAX of them, each of `blocks` blocks (31 at most), by one walk over the meta log. */
int nf2_region_spans(nf2_t *fs, struct nf2_span_use *spans, uint32_t count, uint32_t blocks);

/* Payload of a REGION page. */
void nf2_region_encode(const struct nf2_region *region, uint8_t *payload);

/*
 * Free blocks of a kind of each of `count` regions from `first` on, one byte each; with a limit on erases (UINT32_MAX: none) about.
 * `also` (NULL: none): by the same walk, the state of the region with this number.
 */
enum nf2_free { NF2_FREE_DIRTY, NF2_FREE_ERASED, NF2_FREE };
int nf2_region_counts(nf2_t *fs, enum nf2_free kind, uint32_t limit, uint32_t first, uint32_t count, uint8_t *counts, struct nf2_region *also);

#endif
