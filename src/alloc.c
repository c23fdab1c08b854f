/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * alloc.c - hands out blocks. Kept here: what is programmed is on record as claimed, or lies in a
 * region that is in use on record [4]; and it was erased since it was in use [4].
 */
#include "alloc.h"

#define CLAIM_MOST 16u          /* blocks that one claim takes */

/* ---- erasing --------------------------------------------------------------------------------- */

int nf2_alloc_erase(nf2_t *fs, uint32_t block, uint32_t count)
{
    int result = NF2_BROKEN(NF2_FAULT_ERASE) ? NF2_OK : nf2_flash_erase(fs, block, count);

    if (result == NF2_FAILED_BLOCK && count > 1) {
        count = 1;
        result = nf2_flash_erase(fs, block, 1);
    }
    nf2_space_erased(fs, block, count);
    if (result == NF2_FAILED_BLOCK) {
        nf2_space_bad(fs, block);
    }
    return result == NF2_OK ? (int)count : result;
}

/* Blocks that one erase takes at a place, before this end, within a time. */
static uint32_t erase_at(const nf2_t *fs, uint32_t block, uint32_t end, bool large)
{
    uint32_t blocks = nf2_large_blocks(fs);
    bool fits = nf2_large_begins(fs, block) && block + blocks <= end;

    return large && fits ? blocks : 1;
}

/* Erases the front of a claim: with one large erase, if that fits. A bad block is left out. */
static int erase_front(nf2_t *fs, struct nf2_claim *claim)
{
    uint32_t end = claim->start + nf2_claim_rest(fs, claim);

    if (fs->patience == NF2_NO_ERASE) {
        return NF2_NEED_SPACE;
    }
    int erased = nf2_alloc_erase(fs, claim->start,
                                 erase_at(fs, claim->start, end, fs->patience == NF2_WAITS));
    if (erased == NF2_FAILED_BLOCK) {
        nf2_claim_take(claim, 1);
        return NF2_OK;
    }
    NF2_TRY(erased);
    claim->erased = (uint8_t)nf2_min((uint32_t)erased, 255);
    return NF2_OK;
}

/* ---- claims ---------------------------------------------------------------------------------- */

/*
 * What a claim takes is lost by a cut until a walk finds it: so the claims of a session grow with
 * it.
 */
static uint32_t claim_size(const nf2_t *fs)
{
    return nf2_min(1u << nf2_min(fs->space.claims, 4), CLAIM_MOST);
}

/* Two writers take each other's blocks from now on. */
static void swap(struct nf2_claim *a, struct nf2_claim *b)
{
    struct nf2_claim kept = *a;

    *a = *b;
    *b = kept;
}

/* The claim of another writer becomes this one's, which has none: false, if all are used up. */
static bool claim_other(nf2_t *fs, enum nf2_writer_kind who)
{
    for (unsigned i = NF2_WRITERS; i-- > 0;) {
        if (i != (unsigned)who && nf2_claim_rest(fs, &fs->space.claim[i]) > 0) {
            swap(&fs->space.claim[who], &fs->space.claim[i]);
            return true;
        }
    }
    return false;
}

/*
 * What is left of a writer's region is not erased, but something else is: it is left to another
 * writer, so that a session's first call need not wait for an erase.
 */
static void leave_unerased(nf2_t *fs, struct nf2_claim *claim)
{
    bool waits = nf2_claim_rest(fs, claim) > 0 && claim->erased == 0;

    for (unsigned i = 0; i < NF2_WRITERS && waits; i++) {
        struct nf2_claim *other = &fs->space.claim[i];
        bool empty = nf2_claim_rest(fs, other) == 0 && fs->space.erased_regions > 0;
        if (other->count == 0 && (other->erased > 0 || empty)) {
            swap(claim, other);
            waits = false;
        }
    }
}

/*
 * The regions that were opened last, of so many blocks, are free again; not if a bad block was left
 * out at their front: then they are in use, and what is left of them is found by a walk.
 */
static void close_again(nf2_t *fs, struct nf2_claim *claim, uint32_t first, uint32_t opened)
{
    if (opened > 0 && claim->start == first) {
        nf2_claim_undo(fs, claim, opened);
    }
    claim->count = 0;
}

/*
 * Puts more blocks on record as claimed, of the open region or a new one: 0 if there is none. The
 * front is erased before, so that it is on record how much of it is: else a session that is cut
 * would leave that to be erased once more. No turn of the log meets a claim that is not on record:
 * it would take its next block from there, and a session that is cut then would leave something in
 * a region that is free on record.
 */
static int claim_more(nf2_t *fs, enum nf2_writer_kind who, uint32_t most)
{
    struct nf2_claim *claim = &fs->space.claim[who];
    uint32_t opened = 0, region;
    int result = NF2_OK;

    NF2_ASSERT(claim->count == 0 && fs->opened);
    NF2_TRY(nf2_journal_room(fs, NF2_STATE_BYTES));
    most = nf2_min(most, CLAIM_MOST);
    if (nf2_space_young(fs)) {
        leave_unerased(fs, claim);
    }
    if (nf2_claim_rest(fs, claim) == 0) {
        region = nf2_claim_choose(fs, who, NF2_REGION_ERASED);
        if (region == NF2_NO_REGION) {
            return 0;
        }
        opened = nf2_claim_open(fs, claim, region, most);
    }
    claim->count = (uint8_t)nf2_min(opened > 0 ? opened : nf2_claim_rest(fs, claim), most);
    uint32_t first = claim->start;
    while (result == NF2_OK && claim->count > 0 && claim->erased == 0) {
        result = erase_front(fs, claim);
    }
    if (result < 0) {
        close_again(fs, claim, first, opened);
        return result;
    }
    fs->space.claims = (uint8_t)nf2_min(fs->space.claims + 1u, 255);
    nf2_space_changed(fs);
    result = NF2_BROKEN(NF2_FAULT_CLAIM) ? NF2_OK : nf2_journal_here(fs);
    if (result == NF2_FAILED_BLOCK) {
        close_again(fs, claim, first, opened);
        result = nf2_journal_checkpoint(fs);
    }
    return result < 0 ? result : 1;
}

/* ---- holes ----------------------------------------------------------------------------------- */

bool nf2_alloc_holes_first(const nf2_t *fs)
{
    bool few = fs->space.free <= nf2_space_spare(fs);

    return few && (fs->space.hand_count > 0 || nf2_holes_left(fs) > 0);
}

/*
 * A single block that is not of a claim: a hole, or (`all`) one that was freed in this session.
 * These come last: a node and its successor would take turns in two of them, and wear them out.
 */
static uint32_t next_single(nf2_t *fs, bool all)
{
    uint32_t block;

    if (nf2_holes_take(fs, &block)) {
        return block;
    }
    return all ? nf2_freed_take(fs) : NF2_NO_BLOCK;
}

/* An erased one: 1, 0 if there is none, or an error. */
static int single(nf2_t *fs, uint32_t *block)
{
    struct nf2_space *space = &fs->space;
    int erased = NF2_FAILED_BLOCK;

    if (space->hand_count > 0) {
        *block = space->hand[--space->hand_count];
        return 1;
    }
    if (fs->patience == NF2_NO_ERASE) {
        return 0;
    }
    while (erased == NF2_FAILED_BLOCK) {
        *block = next_single(fs, true);
        if (*block == NF2_NO_BLOCK) {
            return 0;
        }
        erased = nf2_alloc_erase(fs, *block, 1);
    }
    return erased;
}

/* ---- taking ---------------------------------------------------------------------------------- */

/*
 * Erased blocks at the front of a claim, which gets new ones if it has none: 1; or a single block
 * in `*block`: 2; or an error.
 */
static int have_erased(nf2_t *fs, enum nf2_writer_kind who, uint32_t want, uint32_t kept,
                       uint32_t *block)
{
    struct nf2_claim *claim = &fs->space.claim[who];

    NF2_TRY(nf2_journal_open(fs));
    while (claim->count == 0 || claim->erased == 0) {
        if (claim->count > 0) {
            NF2_TRY(erase_front(fs, claim));
            continue;
        }
        uint32_t stock = nf2_space_stock(fs);
        if (stock <= kept) {
            return NF2_NEED_SPACE;
        }
        int found = nf2_alloc_holes_first(fs) ? single(fs, block) : 0;
        if (found == 0) {
            found = claim_more(fs, who, nf2_min(nf2_max(claim_size(fs), want), stock - kept));
            if (found > 0) {
                continue;
            }
        }
        found = found == 0 ? single(fs, block) : found;
        if (found != 0) {
            return found < 0 ? found : 2;
        }
        if (!claim_other(fs, who)) {
            return NF2_NEED_SPACE;
        }
    }
    return 1;
}

/* What is written after a cut must not have a serial that was given before it. */
static int record_serial(nf2_t *fs)
{
    bool due = fs->root.serial - fs->root.serial_recorded >= NF2_SERIALS_AHEAD - 1u;
    return due && fs->opened ? nf2_journal_checkpoint(fs) : NF2_OK;
}

int nf2_alloc_node(nf2_t *fs, uint32_t *block)
{
    struct nf2_claim *claim = &fs->space.claim[NF2_FOR_NODES];

    NF2_TRY(record_serial(fs));
    int found = have_erased(fs, NF2_FOR_NODES, 1, 0, block);

    NF2_TRY(found);
    if (found == 1) {
        *block = claim->start;
        nf2_claim_take(claim, 1);
    }
    nf2_space_filled(fs, *block, 1, true);
    return NF2_OK;
}

int nf2_alloc_data(nf2_t *fs, enum nf2_writer_kind who, uint32_t most, uint32_t kept,
                   struct nf2_run *run)
{
    struct nf2_claim *claim = &fs->space.claim[who];
    uint32_t block;
    int found = have_erased(fs, who, most, kept, &block);

    NF2_TRY(found);
    run->within = 0;
    run->count = 1;
    if (found == 1) {
        block = claim->start;
        run->count = (uint16_t)nf2_min(nf2_min(most, claim->count), claim->erased);
        nf2_claim_take(claim, run->count);
    }
    /* NOLINTNEXTLINE(clang-analyzer-*): have_erased() sets it where it returns 2 */
    run->block = (uint16_t)block;
    nf2_space_filled(fs, block, run->count, !fs->walk.active);
    return NF2_OK;
}

bool nf2_alloc_moves_erased(const nf2_t *fs)
{
    const struct nf2_space *space = &fs->space;
    const struct nf2_claim *claim = &space->claim[NF2_FOR_MOVES];

    if (nf2_claim_rest(fs, claim) > 0 && claim->erased == 0) {
        return false;
    }
    return claim->erased > 0 || space->hand_count > 0 || space->erased_regions > 0;
}

/* ---- ahead of need --------------------------------------------------------------------------- */

/*
 * Where regions are smaller than a large erase: does one begin here that takes free ones alone?
 * Only in a format: later on the count of each region has to be kept.
 */
static bool free_together(const nf2_t *fs, uint32_t block)
{
    uint32_t large = nf2_large_blocks(fs), end = block + large;
    bool fits = !fs->mounted && large > nf2_region_blocks(fs) && end <= fs->blocks &&
                nf2_large_begins(fs, block);

    for (; fits && block < end; block += nf2_region_blocks(fs)) {
        fits = nf2_region_state(fs, nf2_region_of(fs, block)) == NF2_REGION_FREE;
    }
    return fits;
}

/* So many blocks from the first one of a region on are erased. */
static void erased_ahead(nf2_t *fs, uint32_t region, uint32_t count)
{
    struct nf2_space *space = &fs->space;

    for (uint32_t size; count >= (size = nf2_region_size(fs, region)); count -= size) {
        nf2_region_set(fs, region++, NF2_REGION_ERASED);
        space->unrecorded = true;
        space->ahead_region = NF2_NO_REGION;
        if (region == space->regions) {
            break;
        }
    }
    space->ahead = (uint16_t)count;
}

/* Erases a part of a free region, or several of them. */
static int region_ahead(nf2_t *fs, uint32_t most_us)
{
    struct nf2_space *space = &fs->space;
    uint32_t region = space->ahead_region, first = nf2_region_first(fs, region);
    uint32_t block = first + space->ahead, end = nf2_region_end(fs, region);

    if (most_us < fs->flash->erase_block_us) {
        return 0;
    }
    bool large = most_us >= fs->flash->large_erase_us;
    uint32_t begin = block - block % nf2_large_blocks(fs); /* the first of several regions */
    if (large && space->ahead == 0 && free_together(fs, begin)) {
        region = nf2_region_of(fs, begin);
        block = first = begin;
        end = begin + nf2_large_blocks(fs);
        space->ahead_region = (uint16_t)region;
    }
    uint32_t count = erase_at(fs, block, end, large);
    int erased = NF2_BROKEN(NF2_FAULT_AHEAD) ? (int)count : nf2_alloc_erase(fs, block, count);
    if (erased == NF2_FAILED_BLOCK) { /* the region is in use by now: holes are found in it */
        space->ahead_region = NF2_NO_REGION;
        return 1;
    }
    NF2_TRY(erased);
    erased_ahead(fs, region, space->ahead + (uint32_t)erased);
    return 1;
}

int nf2_alloc_ahead(nf2_t *fs, uint32_t most_us)
{
    struct nf2_space *space = &fs->space;

    if (space->ahead_region != NF2_NO_REGION && !nf2_region_free(fs, space->ahead_region)) {
        space->ahead_region = NF2_NO_REGION;
    }
    if (space->ahead_region != NF2_NO_REGION) {
        return region_ahead(fs, most_us);
    }
    if (!nf2_alloc_holes_first(fs) || space->hand_count == NF2_HAND_MAX ||
        most_us < fs->flash->erase_block_us) {
        return 0;
    }
    uint32_t block = next_single(fs, false);
    if (block == NF2_NO_BLOCK) {
        return 0;
    }
    int erased = nf2_alloc_erase(fs, block, 1);
    if (erased > 0) {
        space->hand[space->hand_count++] = (uint16_t)block;
    }
    return erased == NF2_FAILED_BLOCK || erased > 0 ? 1 : erased;
}

/* ---- runs ------------------------------------------------------------------------------------ */

void nf2_run_advance(const nf2_t *fs, struct nf2_run *run, uint32_t within)
{
    run->within = (uint16_t)within;
    if (within >= nf2_block_bytes(fs)) {
        run->within = 0;
        run->block++;
        run->count--;
    }
}

int nf2_run_program(nf2_t *fs, struct nf2_run *run, const void *data, uint32_t length)
{
    uint32_t bytes = nf2_block_bytes(fs), block = run->block;
    int result = nf2_flash_program(fs, block, run->within, data, length);

    nf2_run_advance(fs, run, result == NF2_OK ? run->within + nf2_align_unit(fs, length) : bytes);
    if (result == NF2_FAILED_BLOCK) {
        nf2_space_bad(fs, block);
    }
    return result;
}
