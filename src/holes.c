/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * holes.c - keeps [10] for single blocks: a hole is handed out only if a whole walk, which began
 * when the region was closed, did not reach it, and nothing has taken it since.
 */
#include "holes.h"

/* The bit of a block: NF2_NONE, if its region is not looked through. */
static uint32_t bit_of(const nf2_t *fs, const struct nf2_holes *holes, uint32_t block)
{
    uint32_t region = nf2_region_of(fs, block), i = 0;

    while (i < holes->count && holes->region[i] != region) {
        i++;
    }
    return i < holes->count ?
           (i << fs->space.region_log) + block - nf2_region_first(fs, region) : NF2_NONE;
}

static void use(const nf2_t *fs, struct nf2_holes *holes, uint32_t block)
{
    uint32_t bit = holes->count > 0 ? bit_of(fs, holes, block) : NF2_NONE;

    if (bit != NF2_NONE) {
        nf2_bit_set(holes->used, bit, true);
    }
}

void nf2_holes_use(nf2_t *fs, uint32_t block)
{
    use(fs, &fs->space.ready, block);
    use(fs, &fs->space.marked, block);
}

void nf2_holes_forget(struct nf2_holes *holes)
{
    holes->count = 0;
    memset(holes->used, 0, sizeof holes->used);
}

uint32_t nf2_holes_room(const nf2_t *fs)
{
    uint32_t most = 8u * NF2_HOLE_BYTES >> fs->space.region_log;
    return nf2_region_blocks(fs) == 1 ? 0 : nf2_min(most, NF2_HOLE_REGIONS);
}

bool nf2_holes_look(nf2_t *fs, uint32_t region)
{
    struct nf2_holes *holes = &fs->space.marked;

    if (holes->count >= nf2_holes_room(fs)) {
        return false;
    }
    holes->region[holes->count++] = (uint8_t)region;
    return true;
}

/* Marks all blocks of a region. */
static void drop(const nf2_t *fs, struct nf2_holes *holes, uint32_t region)
{
    for (unsigned i = 0; i < holes->count; i++) {
        if (holes->region[i] == region) {
            uint32_t bit = i << fs->space.region_log;
            for (uint32_t n = nf2_region_size(fs, region); n > 0; n--) {
                nf2_bit_set(holes->used, bit++, true);
            }
        }
    }
}

void nf2_holes_drop(nf2_t *fs, uint32_t region)
{
    drop(fs, &fs->space.ready, region);
}

void nf2_holes_found(nf2_t *fs)
{
    struct nf2_space *space = &fs->space;

    /* a region that became free as a whole is not handed out twice */
    for (unsigned i = 0; i < space->marked.count; i++) {
        if (nf2_region_state(fs, space->marked.region[i]) != NF2_REGION_USED) {
            drop(fs, &space->marked, space->marked.region[i]);
        }
    }
    bool looked = space->marked.count > 0;
    space->ready = space->marked;
    nf2_holes_forget(&space->marked);
    space->holes_found = looked ? (uint16_t)nf2_holes_left(fs) : space->holes_found;
}

uint32_t nf2_holes_left(const nf2_t *fs)
{
    const struct nf2_holes *holes = &fs->space.ready;
    uint32_t count = 0;

    for (unsigned i = 0; i < holes->count; i++) {
        uint32_t size = nf2_region_size(fs, holes->region[i]), bit = i << fs->space.region_log;
        for (; size > 0; size--, bit++) {
            count += !nf2_bit(holes->used, bit);
        }
    }
    return count;
}

bool nf2_holes_take(nf2_t *fs, uint32_t *block)
{
    struct nf2_holes *holes = &fs->space.ready;

    for (unsigned i = 0; i < holes->count; i++) {
        uint32_t size = nf2_region_size(fs, holes->region[i]), bit = i << fs->space.region_log;
        for (uint32_t n = 0; n < size; n++) {
            if (!nf2_bit(holes->used, bit + n)) {
                *block = nf2_region_first(fs, holes->region[i]) + n;
                nf2_holes_use(fs, *block);
                return true;
            }
        }
    }
    nf2_holes_forget(holes);
    return false;
}
