/* SPDX-License-Identifier: BSD-2-Clause */
/* region.c - where regions lie, and which state each of them has; space.c sets it. */
#include "region.h"

/* ---- geometry -------------------------------------------------------------------------------- */

/*
 * One large erase, where that leaves 64 regions or more: greedy cleaning loses little by coarser
 * victims then. Else as few blocks as 256 regions allow.
 */
uint32_t nf2_region_log_for(const nf2_t *fs)
{
    uint32_t large = nf2_large_blocks(fs), log = 0;

    while ((1u << log) < large) {
        log++;
    }
    if (fs->blocks >> log < 64) {
        log = 0;
    }
    while (((fs->blocks + nf2_region_shift(fs, log) - 1) >> log) >= NF2_REGIONS_MAX) {
        log++;
    }
    return log;
}

uint32_t nf2_region_shift(const nf2_t *fs, uint32_t region_log)
{
    uint32_t mask = (1u << region_log) - 1;
    return fs->drive.offset / nf2_block_bytes(fs) & mask & (nf2_large_blocks(fs) - 1);
}

bool nf2_regions_begin(nf2_t *fs, uint32_t region_log, uint32_t shift)
{
    struct nf2_space *space = &fs->space;
    uint32_t regions = ((fs->blocks + shift - 1) >> region_log) + 1u;

    space->resting = space->ahead_region = NF2_NO_REGION;
    if (regions > NF2_REGIONS_MAX || shift >= 1u << region_log) {
        return false;
    }
    space->region_log = (uint8_t)region_log;
    space->shift = (uint16_t)shift;
    space->regions = (uint16_t)regions;
    return true;
}

uint32_t nf2_region_of(const nf2_t *fs, uint32_t block)
{
    return (block + fs->space.shift) >> fs->space.region_log;
}

uint32_t nf2_region_first(const nf2_t *fs, uint32_t region)
{
    uint32_t at = region << fs->space.region_log;
    return at > fs->space.shift ? at - fs->space.shift : 0;
}

uint32_t nf2_region_end(const nf2_t *fs, uint32_t region)
{
    return nf2_min(((region + 1u) << fs->space.region_log) - fs->space.shift, fs->blocks);
}

/* ---- states ---------------------------------------------------------------------------------- */

enum nf2_region_state nf2_region_state(const nf2_t *fs, uint32_t region)
{
    NF2_ASSERT(region < fs->space.regions);
    return (enum nf2_region_state)((uint32_t)fs->space.state[region / 4] >> region % 4 * 2 & 3u);
}
