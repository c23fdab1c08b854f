/* SPDX-License-Identifier: BSD-2-Clause */
#include "inspect.h"

#include "bad.h"
#include "journal.h"
#include "lock.h"
#include "victims.h"
#include "walk.h"
#include "wear.h"

/*
 * Visits all that the tree refers to, and marks the blocks in use of some regions side by side in
 * `*seen`. What a walk that is on has counted so far is put back.
 */
static int look(nf2_t *fs, uint32_t region, uint32_t regions, struct nf2_holes *seen)
{
    struct nf2_walk walk = fs->walk;
    struct nf2_space space = fs->space;
    struct nf2_path path;
    struct nf2_wanted none;
    bool more = true;
    int result = NF2_OK;

    nf2_victims_stay(fs);
    fs->walk.active = false;
    nf2_holes_forget(&fs->space.ready);
    nf2_holes_forget(&fs->space.marked);
    while (regions-- > 0) {     /* also those of one block, in which a walk looks for no holes */
        fs->space.marked.region[fs->space.marked.count++] = (uint8_t)region++;
    }
    nf2_key_copy(&fs->walk.cursor, &nf2_key_lowest);
    while (result >= 0 && more) {
        fs->walk.behind = false;
        result = nf2_walk_visit(fs, &path, &none); /* there are no victims */
        for (unsigned level = 0; result >= 0 && level <= fs->root_level; level++) {
            nf2_holes_use(fs, path.node[level].block);
        }
        if (result >= 0) {
            more = path.bounded;
            nf2_key_copy(&fs->walk.cursor, &path.upper);
        }
    }
    *seen = fs->space.marked;
    fs->space = space;
    fs->walk = walk;
    return result;
}

/* Of a writer: claimed blocks, and the others of its region, are free. */
static int state_of_claims(const nf2_t *fs, uint32_t block)
{
    for (unsigned i = 0; i < NF2_WRITERS; i++) {
        const struct nf2_claim *claim = &fs->space.claim[i];
        if (block - claim->start < nf2_claim_rest(fs, claim)) {
            return block - claim->start < claim->erased ? NF2_BLOCK_ERASED : NF2_BLOCK_DIRTY;
        }
    }
    for (unsigned i = 0; i < fs->space.hand_count; i++) {
        if (fs->space.hand[i] == block) {
            return NF2_BLOCK_ERASED;
        }
    }
    return NF2_BLOCK_USED;
}

/* What handles hold and no entry has. */
static bool held(const nf2_t *fs, uint32_t block)
{
    for (const nf2_file_t *file = fs->files; file != NULL; file = file->link) {
        bool holds = block - file->run.block < file->run.count || block == file->frames_block;
        for (unsigned i = 0; i < file->pieces; i++) {
            holds = holds || block - file->piece[i].block < nf2_piece_blocks(fs, &file->piece[i]);
        }
        if (holds) {
            return true;
        }
    }
    return block < NF2_SUPER_BLOCKS || block == fs->root_head || block == fs->root_next ||
           (fs->fragment.count > 0 && block == fs->fragment.block);
}

/* One that is not known to be bad; `seen`: what the tree refers to. */
static int state_of(const nf2_t *fs, uint32_t block, const struct nf2_holes *seen, uint32_t bit)
{
    uint32_t region = nf2_region_of(fs, block);
    int state = state_of_claims(fs, block);

    if (nf2_region_free(fs, region)) {
        bool ahead = region == fs->space.ahead_region &&
                     block - nf2_region_first(fs, region) < fs->space.ahead;
        bool erased = nf2_region_state(fs, region) == NF2_REGION_ERASED || ahead;
        return erased ? NF2_BLOCK_ERASED : NF2_BLOCK_DIRTY;
    }
    bool used = held(fs, block) || bit >= 8u * NF2_HOLE_BYTES || nf2_bit(seen->used, bit);
    return state != NF2_BLOCK_USED || used ? state : NF2_BLOCK_DIRTY;
}

/* Is this block known to be bad? 1, 0 or an error. */
static int bad_is(nf2_t *fs, uint32_t block)
{
    uint32_t next = block;

    if (nf2_space_bad_listed(fs, block)) {
        return 1;
    }
    bool keys = (fs->bad_flags & NF2_BAD_KEYS) != 0;
    int found = keys ? nf2_system_next(fs, NF2_KEY_BAD, block, &next) : 0;
    return found > 0 ? next == block : found;
}

/* The regions from that of `first` on which one look takes: the block behind them. */
static uint32_t look_end(const nf2_t *fs, uint32_t region, uint32_t end)
{
    uint32_t regions = nf2_max(8u * NF2_HOLE_BYTES >> fs->space.region_log, 1);

    regions = nf2_min(regions, NF2_HOLE_REGIONS);
    regions = nf2_min(regions, fs->space.regions - region);
    return nf2_min(nf2_region_end(fs, region + regions - 1), end);
}

static int do_block_states(nf2_t *fs, uint32_t first, uint32_t count, uint8_t *states)
{
    uint32_t end = first + count;
    struct nf2_holes seen;

    if (end < first || end > fs->blocks || states == NULL) {
        return NF2_ERR_INVAL;
    }
    while (first < end) {
        uint32_t region = nf2_region_of(fs, first), stop = look_end(fs, region, end);
        uint32_t begin = region << fs->space.region_log;
        NF2_TRY(look(fs, region, nf2_region_of(fs, stop - 1) - region + 1u, &seen));
        for (; first < stop; first++) {
            int bad = bad_is(fs, first);
            NF2_TRY(bad);
            uint32_t bit = first + fs->space.shift - begin;
            if (nf2_region_of(fs, first) == 0) { /* it may begin before the volume */
                bit = first;
            }
            *states++ = (uint8_t)(bad ? NF2_BLOCK_BAD : state_of(fs, first, &seen, bit));
        }
    }
    return NF2_OK;
}

int nf2_block_states(nf2_t *fs, uint32_t first, uint32_t count, uint8_t *states)
{
    NF2_LOCKED(fs, do_block_states(fs, first, count, states));
}

static int do_block_state(nf2_t *fs, uint32_t block, uint32_t *erases)
{
    uint8_t state;

    NF2_TRY(do_block_states(fs, block, 1, &state));
    if (erases != NULL && nf2_wear_of(fs, nf2_region_of(fs, block), erases) < 0) {
        *erases = fs->erases / fs->blocks;
    }
    return state;
}

int nf2_block_state(nf2_t *fs, uint32_t block, uint32_t *erases)
{
    NF2_LOCKED(fs, do_block_state(fs, block, erases));
}

static int do_block_erases(nf2_t *fs, uint32_t block, uint32_t *erases)
{
    return block >= fs->blocks || erases == NULL ? NF2_ERR_INVAL :
           nf2_wear_of(fs, nf2_region_of(fs, block), erases);
}

int nf2_block_erases(nf2_t *fs, uint32_t block, uint32_t *erases)
{
    NF2_LOCKED(fs, do_block_erases(fs, block, erases));
}
