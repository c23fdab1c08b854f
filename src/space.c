/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * space.c - what is free and what is live of each region, sums of that, and what is kept back. Kept
 * here: a region is FREE only if nothing refers to it [10], and `free` and `erased_regions` are the
 * sums of what `state` says.
 */
#include "space.h"

/* ---- states ---------------------------------------------------------------------------------- */

/* Adds what a region in this state has to the sums, or takes it off. */
static void sum(nf2_t *fs, uint32_t region, enum nf2_region_state state, uint32_t sign)
{
    struct nf2_space *space = &fs->space;

    if (state >= NF2_REGION_FREE) {
        space->free += sign * nf2_region_size(fs, region);
    }
    if (state == NF2_REGION_VICTIM) {
        space->victims += sign * nf2_region_size(fs, region);
    }
    if (state == NF2_REGION_ERASED) {
        space->erased_regions = (uint16_t)(space->erased_regions + sign);
    }
}

void nf2_region_set(nf2_t *fs, uint32_t region, enum nf2_region_state state)
{
    uint8_t *byte = &fs->space.state[region / 4];
    uint32_t at = region % 4 * 2;

    sum(fs, region, nf2_region_state(fs, region), UINT32_MAX);
    *byte = (uint8_t)((*byte & ~(3u << at)) | (uint32_t)state << at);
    sum(fs, region, state, 1);
    if (state != NF2_REGION_USED) {
        nf2_holes_drop(fs, region);
    }
}

void nf2_regions_count(nf2_t *fs)
{
    fs->space.free = fs->space.victims = 0;
    fs->space.erased_regions = 0;
    for (uint32_t region = 0; region < fs->space.regions; region++) {
        sum(fs, region, nf2_region_state(fs, region), 1);
    }
}

/* ---- what is live ---------------------------------------------------------------------------- */

void nf2_live_clear(nf2_t *fs)
{
    memset(fs->space.live, 0, sizeof fs->space.live);
    fs->space.carry = 0;
}

/*
 * Adds bytes to what is live in a region. What is less than a part counts with the bytes that come
 * next, but a region with anything live is never counted as empty.
 */
static void add_live(nf2_t *fs, uint32_t region, uint32_t bytes)
{
    struct nf2_space *space = &fs->space;
    uint8_t *live = &space->live[region];
    uint32_t part = nf2_block_bytes(fs) * nf2_region_blocks(fs) / 256u;
    uint32_t parts = (bytes + space->carry) / part;

    space->carry = (uint16_t)((bytes + space->carry) % part);
    if (*live < NF2_LIVE_FULL) {
        *live = (uint8_t)nf2_min(nf2_max(*live + parts, 1), NF2_LIVE_FULL);
    }
}

static void in_use(nf2_t *fs, uint32_t region)
{
    if (nf2_region_state(fs, region) == NF2_REGION_VICTIM) {
        nf2_region_set(fs, region, NF2_REGION_USED);
    }
}

void nf2_space_refer(nf2_t *fs, uint32_t block, uint32_t within, uint32_t bytes)
{
    uint32_t size = nf2_block_bytes(fs);

    for (uint32_t left = bytes, here; left > 0 && block < fs->blocks; left -= here, within = 0) {
        here = nf2_min(left, size - within);
        uint32_t region = nf2_region_of(fs, block);
        add_live(fs, region, here);
        in_use(fs, region);
        nf2_holes_use(fs, block++);
    }
}

void nf2_space_pin(nf2_t *fs, uint32_t block, uint32_t count)
{
    for (; count > 0 && block < fs->blocks; block++, count--) {
        uint32_t region = nf2_region_of(fs, block);
        fs->space.live[region] = NF2_LIVE_PINNED;
        in_use(fs, region);
        nf2_holes_use(fs, block);
    }
}

void nf2_space_filled(nf2_t *fs, uint32_t block, uint32_t count, bool counts)
{
    for (; count > 0; block++, count--) {
        uint32_t region = nf2_region_of(fs, block);
        if (nf2_region_state(fs, region) != NF2_REGION_USED) { /* a damaged record said so */
            nf2_region_set(fs, region, NF2_REGION_USED);
        }
        add_live(fs, region, counts ? nf2_block_bytes(fs) : 0);
        nf2_holes_use(fs, block);
    }
}

/* ---- claims ---------------------------------------------------------------------------------- */

uint32_t nf2_claim_rest(const nf2_t *fs, const struct nf2_claim *claim)
{
    uint32_t end = (uint32_t)claim->start + claim->count;
    uint32_t region = end < fs->blocks ? nf2_region_of(fs, end) : NF2_NONE;

    if (region != NF2_NONE && nf2_region_first(fs, region) != end) {
        end = nf2_region_end(fs, region);
    }
    return end - claim->start;
}

void nf2_claim_take(struct nf2_claim *claim, uint32_t count)
{
    claim->start = (uint16_t)(claim->start + count);
    claim->count = (uint8_t)(claim->count - nf2_min(claim->count, count));
    claim->erased = (uint8_t)(claim->erased - nf2_min(claim->erased, count));
}

/* The first region in this state, from one on and round the end, but the one for resting data. */
static uint32_t find_region(const nf2_t *fs, enum nf2_region_state state, uint32_t from)
{
    uint32_t count = fs->space.regions;

    for (uint32_t i = 0, region = from % count; i < count; i++, region = (region + 1) % count) {
        if (region != fs->space.resting && nf2_region_state(fs, region) == state) {
            return region;
        }
    }
    return NF2_NO_REGION;
}

uint32_t nf2_claim_choose(const nf2_t *fs, enum nf2_writer_kind who, enum nf2_region_state first)
{
    const struct nf2_space *space = &fs->space;
    uint32_t from = nf2_region_of(fs, space->claim[who].start);
    enum nf2_region_state other =
        first == NF2_REGION_FREE ? NF2_REGION_ERASED : NF2_REGION_FREE;
    bool rests = space->resting < space->regions && nf2_region_free(fs, space->resting);

    if (rests && who == NF2_FOR_MOVES) {
        return space->resting;
    }
    uint32_t region = find_region(fs, first, from);
    if (region == NF2_NO_REGION) {
        region = find_region(fs, other, from);
    }
    return region == NF2_NO_REGION && rests ? space->resting : region;
}

/* A free region is in use from now on: the blocks of it that are erased, from the first one on. */
static uint32_t take_region(nf2_t *fs, uint32_t region)
{
    struct nf2_space *space = &fs->space;
    uint32_t erased = 0;

    NF2_ASSERT(nf2_region_free(fs, region));
    if (nf2_region_state(fs, region) == NF2_REGION_ERASED) {
        erased = nf2_region_size(fs, region);
    } else if (region == space->ahead_region) {
        erased = space->ahead;
    }
    if (region == space->ahead_region) {
        space->ahead_region = NF2_NO_REGION;
    }
    if (region == space->resting) {
        space->resting = NF2_NO_REGION;
    }
    space->live[region] = 0;
    nf2_region_set(fs, region, NF2_REGION_USED);
    return erased;
}

uint32_t nf2_claim_open(nf2_t *fs, struct nf2_claim *claim, uint32_t region, uint32_t most)
{
    uint32_t size = nf2_region_size(fs, region), erased;
    bool all = true, rests = region == fs->space.resting;

    NF2_ASSERT(nf2_claim_rest(fs, claim) == 0);
    claim->start = (uint16_t)nf2_region_first(fs, region);
    erased = take_region(fs, region);
    while (nf2_region_blocks(fs) < 16 && size < most && ++region < fs->space.regions &&
           nf2_region_free(fs, region) && all && !rests) {
        uint32_t more = nf2_region_size(fs, region), also = take_region(fs, region);
        all = erased == size;
        erased += all ? also : 0;
        size += more;
    }
    claim->erased = (uint8_t)nf2_min(erased, 255);
    return nf2_min(size, most);
}

void nf2_claim_undo(nf2_t *fs, struct nf2_claim *claim, uint32_t blocks)
{
    uint32_t region = nf2_region_of(fs, claim->start);
    uint32_t last = nf2_region_of(fs, claim->start + blocks - 1u);

    for (; region <= last; region++) {
        bool erased = nf2_region_end(fs, region) - claim->start <= claim->erased;
        nf2_region_set(fs, region, erased ? NF2_REGION_ERASED : NF2_REGION_FREE);
    }
    claim->start = claim->count = claim->erased = 0;
}

void nf2_space_erased(nf2_t *fs, uint32_t block, uint32_t count)
{
    struct nf2_space *space = &fs->space;
    uint32_t before = fs->erases >> space->region_log;

    fs->erases += count;
    /* single erases: each of a region's size stands for one of the region that it falls on */
    if (fs->erases >> space->region_log != before && space->taken_count < NF2_TAKEN_MAX) {
        space->taken[space->taken_count++] = (uint8_t)nf2_region_of(fs, block);
    }
}

void nf2_claims_drop(nf2_t *fs)
{
    for (unsigned i = 0; i < NF2_WRITERS; i++) {
        struct nf2_claim *claim = &fs->space.claim[i];
        nf2_claim_take(claim, claim->count);
    }
}

void nf2_space_doubt(nf2_t *fs)
{
    for (uint32_t region = 0; region < fs->space.regions; region++) {
        if (nf2_region_state(fs, region) == NF2_REGION_ERASED) {
            nf2_region_set(fs, region, NF2_REGION_FREE);
        }
    }
    for (unsigned i = 0; i < NF2_WRITERS; i++) {
        fs->space.claim[i].erased = 0;
    }
}

/* ---- sums ------------------------------------------------------------------------------------ */

uint32_t nf2_space_stock(const nf2_t *fs)
{
    const struct nf2_space *space = &fs->space;
    uint32_t sum = space->free + fs->freed_count + space->hand_count + nf2_holes_left(fs);

    for (unsigned i = 0; i < NF2_WRITERS; i++) {
        sum += nf2_claim_rest(fs, &space->claim[i]);
    }
    return sum;
}

uint32_t nf2_space_kept(const nf2_t *fs)
{
    /* the tree will get that high: nothing is taken back then */
    return NF2_BROKEN(NF2_FAULT_KEPT) ? 0 : 6u + 2u * nf2_max(fs->root_level, 1);
}

uint32_t nf2_space_spare(const nf2_t *fs)
{
    uint32_t region = nf2_region_blocks(fs), moves = region > 1 ? region * 5 / 2 : 0;
    return nf2_space_kept(fs) + nf2_max(nf2_min(fs->blocks / 64, 16), moves);
}

uint32_t nf2_space_reserve(const nf2_t *fs)
{
    return nf2_space_spare(fs) + 2u + fs->promised;
}

uint32_t nf2_space_available(const nf2_t *fs)
{
    uint32_t kept = nf2_space_reserve(fs), stock = nf2_space_stock(fs);
    return stock > kept ? stock - kept : 0;
}

void nf2_space_changed(nf2_t *fs)
{
    fs->walk.settled = false;
    fs->walk.disturbed = true;
    fs->leaky = true;
    fs->walk.vain = 0;
}

/* ---- bad blocks ------------------------------------------------------------------------------ */

bool nf2_space_bad_listed(const nf2_t *fs, uint32_t block)
{
    unsigned i = 0;

    while (i < fs->bads && fs->root.bad[i] != block) {
        i++;
    }
    return i < fs->bads;
}

void nf2_space_bad(nf2_t *fs, uint32_t block)
{
    uint32_t region = nf2_region_of(fs, block);

    NF2_ASSERT(block < fs->blocks);
    nf2_region_set(fs, region, NF2_REGION_USED);
    nf2_space_pin(fs, block, 1);
    if (nf2_space_bad_listed(fs, block) || NF2_BROKEN(NF2_FAULT_BAD)) {
        return;
    }
    /*
     * Too many in one call: the last one is found anew when it fails again. The first ones stay:
     * the leaf that a GROUP waits for may be among them.
     */
    if (fs->bads == NF2_BAD_MAX) {
        fs->bads--;
        nf2_space_changed(fs);  /* a walk finds it free */
    }
    fs->root.bad[fs->bads++] = (uint16_t)block;
}

void nf2_space_bad_done(nf2_t *fs, uint32_t block)
{
    unsigned kept = 0;

    NF2_ASSERT(fs->bads <= NF2_BAD_MAX);
    /* more that failed meanwhile may have taken its place */
    for (unsigned i = 0; i < fs->bads; i++) {
        if (fs->root.bad[i] != block) {
            fs->root.bad[kept++] = fs->root.bad[i];
        }
    }
    fs->bads = (uint8_t)kept;
}

/* ---- replaced nodes and logs ----------------------------------------------------------------- */

/*
 * One that lies in a victim becomes free with that. A region of one block is free at once: no state
 * that a cut can bring back refers to it.
 */
void nf2_space_freed(nf2_t *fs, uint32_t block)
{
    uint32_t region = nf2_region_of(fs, block);
    bool bad = nf2_space_bad_listed(fs, block);

    if (bad || nf2_space_victim(fs, block)) {
        return;
    }
    if (nf2_region_size(fs, region) == 1) {
        nf2_region_set(fs, region, NF2_REGION_FREE);
    } else if (fs->freed_count < NF2_FREED_MAX) {
        fs->space.freed[fs->freed_count++] = (uint16_t)block;
    }
}

uint32_t nf2_freed_take(nf2_t *fs)
{
    return fs->freed_count > 0 ? fs->space.freed[--fs->freed_count] : NF2_NO_BLOCK;
}

void nf2_freed_forget(nf2_t *fs)
{
    fs->freed_count = 0;
}

void nf2_freed_purge(nf2_t *fs)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < fs->freed_count; i++) {
        if (!nf2_space_victim(fs, fs->space.freed[i])) {
            fs->space.freed[kept++] = fs->space.freed[i];
        }
    }
    fs->freed_count = (uint8_t)kept;
}
