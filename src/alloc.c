/* SPDX-License-Identifier: BSD-2-Clause */
#include "alloc.h"

#define CLAIM_FEW 4u            /* blocks that one claim for nodes takes where they are not many */

uint32_t nf2_alloc_stock(const nf2_t *fs)
{
    return fs->now_free + nf2_space_claimed(fs);
}

/* Puts a run of free blocks of `now` on record as used, which they are if a cut loses the claim. */
static int claim_run(nf2_t *fs, struct nf2_claim *claim, uint32_t start, uint32_t count)
{
    uint32_t erased = nf2_space_erased(fs, start, count);

    NF2_ASSERT(count > 0 && start + count <= fs->blocks && claim->count == 0 && fs->opened);
    nf2_space_take(fs, start, count); /* a turn of the log must not take them */
    nf2_space_changed(fs);
    NF2_TRY(NF2_BROKEN(NF2_FAULT_CLAIM) ? NF2_OK : nf2_journal_checkpoint(fs));
    claim->start = (uint16_t)start;
    claim->count = (uint8_t)count;
    claim->erased = (uint8_t)erased;
    (void)nf2_space_find(fs, 1, NF2_SPACE_WHOLE, &start); /* is all that is left held back? */
    return NF2_OK;
}

int nf2_alloc_erase(nf2_t *fs, uint32_t block, uint32_t count)
{
    int result = nf2_flash_erase(fs, block, count);

    if (result == NF2_FAILED_BLOCK && count > 1) {
        count = 1;
        result = nf2_flash_erase(fs, block, 1);
    }
    fs->erases += count;
    if (result == NF2_FAILED_BLOCK) {
        nf2_journal_bad(fs, block);
    }
    return result == NF2_OK ? (int)count : result;
}

/*
 * Erases blocks of a claim that follow those that are erased, or (`erases_whole`) all of it and the
 * rest of its group. One that fails ends it, or begins it no more.
 */
static int erase_next(nf2_t *fs, struct nf2_claim *claim, uint32_t count)
{
    NF2_ASSERT(claim->erased + count <= claim->count ||
               (claim->erased == 0 && count == nf2_large_blocks(fs)));
    int result = NF2_BROKEN(NF2_FAULT_ERASE) ? (int)count :
                 nf2_alloc_erase(fs, (uint32_t)claim->start + claim->erased, count);
    if (result == NF2_FAILED_BLOCK) {
        claim->start = (uint16_t)(claim->start + (claim->erased == 0));
        claim->count = (uint8_t)(claim->erased == 0 ? claim->count - 1u : claim->erased);
        return NF2_OK;
    }
    NF2_TRY(result);
    if (claim->erased + (uint32_t)result > claim->count) {
        fs->erased_groups |= nf2_space_group(fs, claim->start);
        result = claim->count;
    }
    claim->erased = (uint8_t)(claim->erased + result);
    return NF2_OK;
}

/*
 * Does one large erase take all of a claim, and is none of it erased? What is free beside it in its
 * group may be erased with it: one by one the blocks that data does not leave to nodes would take
 * three times as long.
 */
static bool erases_whole(const nf2_t *fs, const struct nf2_claim *claim)
{
    uint32_t large = nf2_large_blocks(fs);

    return claim->erased == 0 && claim->count > 1 && nf2_large_begins(fs, claim->start) &&
           (claim->count == large ||
            (nf2_group_blocks(fs) == large && nf2_space_rest_free(fs, claim->start, claim->count)));
}

/*
 * Erases what stands first in a claim: all at once if that is one large erase, which no step of
 * idle work has time for.
 */
static int erase_first(nf2_t *fs, struct nf2_claim *claim)
{
    bool whole = fs->idle == 0 && erases_whole(fs, claim);
    return erase_next(fs, claim, whole ? nf2_large_blocks(fs) : 1);
}

static void take(struct nf2_claim *claim, uint32_t count)
{
    NF2_ASSERT(count <= claim->erased);
    claim->start = (uint16_t)(claim->start + count);
    claim->count = (uint8_t)(claim->count - count);
    claim->erased = (uint8_t)(claim->erased - count);
}

static bool many_free(const nf2_t *fs)
{
    return fs->now_free > fs->window_blocks / 4;
}

/*
 * A run of free blocks becomes the claim, of these or else of others: blocks of it, 0 if there is
 * none.
 */
static NF2_APART int claim_free(nf2_t *fs, struct nf2_claim *claim, uint32_t most,
                                enum nf2_space_of of)
{
    uint32_t start = claim->start, n = nf2_space_find(fs, most, of, &start);

    NF2_TRY(n > 0 ? claim_run(fs, claim, start, n) : NF2_OK);
    return (int)n;
}

/* A block that was in use becomes the claim. */
static bool claim_one(struct nf2_claim *claim, uint32_t block, bool erased)
{
    claim->start = (uint16_t)block;
    claim->count = 1;
    claim->erased = erased;
    return true;
}

/* The last block of another claim becomes the claim; false: that has none. */
static NF2_APART bool claim_other(struct nf2_claim *claim, struct nf2_claim *other)
{
    bool suspect;

    if (other->count == 0) {
        return false;
    }
    uint32_t block = nf2_claim_last(other, &suspect);
    return claim_one(claim, block, !suspect);
}

/*
 * `kept`: so many blocks are left to nodes. What one claim takes is lost by a cut until a walk
 * finds it again: it has a bound.
 */
static int claim_new(nf2_t *fs, struct nf2_claim *claim, uint32_t kept)
{
    struct nf2_space *space = &fs->space;
    bool nodes = claim == &space->nodes, moved = claim == &space->moved, plenty = many_free(fs);
    uint32_t most = nf2_max(fs->free / 4, nf2_group_blocks(fs));
    uint32_t stock = (uint32_t)space->nodes.count + fs->freed_count;
    uint32_t keep = kept > stock ? kept - stock : 0;
    int n = 0;

    if (nodes) {
        most = nf2_min(!fs->mounted ? 1 : plenty ? nf2_part_blocks(fs) : CLAIM_FEW, most);
        /* one large erase for many nodes */
        n = claim_free(fs, claim, most, plenty ? NF2_SPACE_WHOLE : NF2_SPACE_RESTS);
    } else if (fs->now_free > keep) {
        most = nf2_min(nf2_min(nf2_part_blocks(fs), fs->now_free - keep), most);
        n = claim_free(fs, claim, most, moved ? NF2_SPACE_WORN : NF2_SPACE_WHOLE);
    } else if (claim_other(claim, moved ? &space->data : &space->moved)) {
        return NF2_OK;
    } else if (stock <= kept) {
        return NF2_NEED_SPACE;
    }
    if (n != 0) {
        return n;
    }
    bool found = fs->freed_count > 0 &&
                 claim_one(claim, space->freed[--fs->freed_count], false);
    /* those for what moves, for data, for nodes */
    for (unsigned i = 3; i-- > 0 && !found;) {
        found = claim_other(claim, &space->claim[i]);
    }
    return found ? NF2_OK : NF2_NEED_SPACE;
}

/* Erased blocks at the front of a claim, which gets new ones if it has none. */
static int have_erased(nf2_t *fs, struct nf2_claim *claim, uint32_t kept)
{
    NF2_TRY(nf2_journal_open(fs));
    while (claim->erased == 0) {
        NF2_TRY(claim->count == 0 ? claim_new(fs, claim, kept) :
                fs->idle > 1 ? NF2_NEED_SPACE : erase_first(fs, claim));
    }
    return NF2_OK;
}

int nf2_alloc_node(nf2_t *fs, uint32_t *block)
{
    struct nf2_claim *claim = &fs->space.nodes;

    NF2_NEAR(claim);
    if (claim->count == 0 && fs->space.moved.count == 1) {
        (void)claim_other(claim, &fs->space.moved); /* see keep_two() */
    }
    NF2_TRY(have_erased(fs, claim, 0));
    *block = claim->start;
    take(claim, 1);
    return NF2_OK;
}

/* The claim that walk.moved is taken from. */
static NF2_APART struct nf2_claim *claim_of_moves(nf2_t *fs)
{
    struct nf2_space *space = &fs->space;

    return space->moved.count > 0 || many_free(fs) ? &space->moved : &space->data;
}

bool nf2_alloc_goes_on(nf2_t *fs)
{
    uint32_t erased = fs->walk.moved.count + claim_of_moves(fs)->erased;

    return fs->idle <= (erased > 0);
}

int nf2_alloc_data(nf2_t *fs, uint32_t most, uint32_t kept, struct nf2_run *run)
{
    struct nf2_claim *claim = most == 0 ? claim_of_moves(fs) : &fs->space.data;

    NF2_TRY(have_erased(fs, claim, kept));
    run->block = claim->start;
    run->within = 0;
    run->count = (uint16_t)nf2_min(nf2_max(most, 1), claim->erased);
    take(claim, run->count);
    return NF2_OK;
}

/* Is more of it to be erased, or is it empty? */
static bool is_short(const struct nf2_claim *claim)
{
    return claim->count == 0 || claim->erased < claim->count;
}

/*
 * The claim that is, of those for calls, or the one for what moves; NULL: none. That is made only
 * where many blocks are free: else the claims would take blocks from each other, for ever.
 */
static struct nf2_claim *short_claim(nf2_t *fs, bool moves)
{
    struct nf2_space *space = &fs->space;
    struct nf2_claim *claim = moves ? claim_of_moves(fs) :
                              is_short(&space->nodes) ? &space->nodes : &space->data;

    return (fs->walk_active || !moves) && is_short(claim) ? claim : NULL;
}

/*
 * A call may take two nodes, where a leaf becomes two. If one is left it becomes the claim for what
 * moves, where the second one is taken from, and that becomes the one for nodes.
 */
static void keep_two(nf2_t *fs)
{
    struct nf2_claim *nodes = &fs->space.nodes, *moved = &fs->space.moved, last = *nodes;

    if (last.count == 1 && moved->count != 1 && fs->now_free > 0) {
        memcpy(nodes, moved, sizeof last);
        memcpy(moved, &last, sizeof last);
    }
}

int nf2_alloc_ahead(nf2_t *fs, bool moves, uint32_t left, uint32_t budget)
{
    const struct nf2_flash *flash = fs->flash;

    keep_two(fs);
    struct nf2_claim *claim = short_claim(fs, moves);
    if (claim == NULL) {
        return 0;
    }
    if (claim->count == 0) {
        int claimed = claim_new(fs, claim, nf2_space_spare(fs));
        return claimed == NF2_NEED_SPACE ? 0 : claimed < 0 ? claimed : NF2_AHEAD_DONE;
    }
    uint32_t count = 1, us = flash->erase_block_us;
    if (erases_whole(fs, claim) && budget >= flash->large_erase_us) {
        count = nf2_large_blocks(fs);
        us = flash->large_erase_us;
    }
    if (left < us) {
        return NF2_AHEAD_OWED;
    }
    NF2_TRY(erase_next(fs, claim, count));
    return NF2_AHEAD_DONE;
}

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
        nf2_journal_bad(fs, block);
    }
    return result;
}
