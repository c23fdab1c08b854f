/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * region.h - a volume is cut into regions (seeds: paper 000, sections 5.2 and 5.3), at most 256 of
 * them. Of each one the state is known, two bits that a CHECKPOINT holds, and how much of it is
 * live, which the last walk counted.
 */
#ifndef NF2FS_CORE_REGION_H
#define NF2FS_CORE_REGION_H

#include "flash.h"
#include "format.h"

#define NF2_NO_REGION 0xFFFFu
#define NF2_ALL_LEVEL 0xFFFEu   /* in the place of a region to rest in: none is worn */

enum nf2_region_state {
    NF2_REGION_USED = 0,
    NF2_REGION_VICTIM = 1,      /* in use; it is being emptied, and takes no block meanwhile */
    NF2_REGION_FREE = 2,        /* nothing refers to it, in no state that a cut can bring back */
    NF2_REGION_ERASED = 3       /* free, and erased as a whole */
};

#define NF2_LIVE_FULL 254u      /* live: no more is counted */
#define NF2_LIVE_PINNED 255u    /* something in it cannot be moved */

/* The blocks of a new volume's regions, as a power of two: see docs/DESIGN.md, "Regions". */
uint32_t nf2_region_log_for(const nf2_t *fs);

/* By how many blocks its regions begin before the volume, so that large erases begin with them. */
uint32_t nf2_region_shift(const nf2_t *fs, uint32_t region_log);

/* Sets what follows from the size of a region: false, if that makes too many of them. */
bool nf2_regions_begin(nf2_t *fs, uint32_t region_log, uint32_t shift);

/* The region that a block lies in; the first block of a region, and the one behind its last. */
uint32_t nf2_region_of(const nf2_t *fs, uint32_t block);
uint32_t nf2_region_first(const nf2_t *fs, uint32_t region);
uint32_t nf2_region_end(const nf2_t *fs, uint32_t region);

static inline uint32_t nf2_region_blocks(const nf2_t *fs)
{
    return 1u << fs->space.region_log;
}

static inline uint32_t nf2_region_size(const nf2_t *fs, uint32_t region)
{
    return nf2_region_end(fs, region) - nf2_region_first(fs, region);
}

enum nf2_region_state nf2_region_state(const nf2_t *fs, uint32_t region);
void nf2_region_set(nf2_t *fs, uint32_t region, enum nf2_region_state state);

static inline bool nf2_region_free(const nf2_t *fs, uint32_t region)
{
    return nf2_region_state(fs, region) >= NF2_REGION_FREE;
}

/* Counts what `state` has: after a mount. */
void nf2_regions_count(nf2_t *fs);

/* Does a block lie in a victim? */
static inline bool nf2_space_victim(const nf2_t *fs, uint32_t block)
{
    return nf2_region_state(fs, nf2_region_of(fs, block)) == NF2_REGION_VICTIM;
}

/*
 * Something refers to `bytes` of these blocks from `within` of the first one on, and stays there:
 * they count as live, and their regions are no victims any more.
 */
void nf2_space_refer(nf2_t *fs, uint32_t block, uint32_t within, uint32_t bytes);

/* The same of whole blocks that no entry refers to, and that therefore cannot be moved. */
void nf2_space_pin(nf2_t *fs, uint32_t block, uint32_t count);

/* A writer has taken blocks: `counts`, if no walk will find what it writes there. */
void nf2_space_filled(nf2_t *fs, uint32_t block, uint32_t count, bool counts);

/* A walk begins to count. */
void nf2_live_clear(nf2_t *fs);

#endif
