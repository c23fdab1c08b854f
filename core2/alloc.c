/* SPDX-License-Identifier: BSD-2-Clause */
#include "alloc.h"

#define CLAIM_MAX 16u           /* blocks that one claim for nodes takes at most */

uint32_t nf2_alloc_stock(const nf2_t *fs)
{
    const struct nf2_space *space = &fs->space;
    return (uint32_t)space->now_free + space->nodes.count + space->data.count + space->freed_count;
}

/* Puts a run of free blocks of `now` on record as used, which they are if a cut loses the claim. */
static int claim_run(nf2_t *fs, struct nf2_claim *claim, uint32_t start, uint32_t count)
{
    bool erased = nf2_space_erased(fs, start, count);

    NF2_ASSERT(count > 0 && start + count <= fs->io.blocks && claim->count == 0 && fs->root.opened);
    nf2_space_use(fs, start, count); /* a turn of the log must not take them */
    nf2_space_taken(fs, count);
    nf2_space_changed(fs);
    NF2_TRY(nf2_journal_checkpoint(fs, false));
    claim->start = (uint16_t)start;
    claim->count = (uint8_t)count;
    claim->erased = (uint8_t)(erased ? count : 0);
    return NF2_OK;
}

/* Erases what stands first in a claim: all at once if that is one large erase. */
static int erase_first(nf2_t *fs, struct nf2_claim *claim)
{
    uint32_t large = nf2_large_blocks(fs);
    uint32_t count = claim->count == large && nf2_large_begins(fs, claim->start) ? large : 1;

    NF2_ASSERT(claim->count >= count && claim->erased == 0);
    int result = nf2_flash_erase(fs, claim->start, count);
    if (result == NF2_FAILED_BLOCK && count > 1) {
        count = 1;
        result = nf2_flash_erase(fs, claim->start, 1);
    }
    fs->space.erases += count;
    if (result == NF2_OK) {
        claim->erased = (uint8_t)count;
    } else if (result == NF2_FAILED_BLOCK) {
        nf2_journal_bad(fs, claim->start);
        claim->start++;
        claim->count--;
        result = NF2_OK;
    }
    return result;
}

static void take(struct nf2_claim *claim, uint32_t count)
{
    NF2_ASSERT(count <= claim->erased);
    claim->start = (uint16_t)(claim->start + count);
    claim->count = (uint8_t)(claim->count - count);
    claim->erased = (uint8_t)(claim->erased - count);
}

/*
 * What becomes a claim: a run of free blocks; or a block that was replaced; or one of the other
 * claim. `whole`: see nf2_space_find.
 */
static int claim_more(nf2_t *fs, struct nf2_claim *claim, uint32_t most, bool whole)
{
    struct nf2_space *space = &fs->space;
    struct nf2_claim *other = claim == &space->data ? &space->nodes : &space->data;
    uint32_t start, n = nf2_space_find(fs, most, whole, &start);
    bool suspect = true;

    if (n > 0) {
        return claim_run(fs, claim, start, n);
    }
    if (space->freed_count > 0) {
        start = space->freed[--space->freed_count];
    } else if (other->count > 0) {
        start = nf2_claim_last(other, &suspect);
    } else {
        return NF2_NEED_SPACE;
    }
    claim->start = (uint16_t)start;
    claim->count = 1;
    claim->erased = !suspect;
    return NF2_OK;
}

/*
 * `kept`: so many blocks are left to nodes. What one claim takes is lost by a cut until a walk finds
 * it again: it has a bound.
 */
static int claim_new(nf2_t *fs, struct nf2_claim *claim, uint32_t kept)
{
    struct nf2_space *space = &fs->space;
    uint32_t most = nf2_max(space->free / 4, nf2_group_blocks(fs));
    uint32_t stock = (uint32_t)space->nodes.count + space->freed_count;

    if (claim == &space->nodes) {
        most = nf2_min(nf2_max(space->claim_size, 1), most);
        space->claim_size = (uint8_t)nf2_min(most * 2, CLAIM_MAX);
        bool plenty = most == nf2_large_blocks(fs) && space->now_free > space->window_blocks / 4;
        return claim_more(fs, claim, most, plenty); /* one large erase for many nodes */
    }
    if (space->now_free + stock <= kept) {
        return NF2_NEED_SPACE;
    }
    most = nf2_min(most, nf2_part_blocks(fs));
    most = nf2_min(most, space->now_free + nf2_min(stock, kept) - kept);
    return claim_more(fs, claim, most, true);
}

/* Erased blocks at the front of a claim, which gets new ones if it has none. */
static int have_erased(nf2_t *fs, struct nf2_claim *claim, uint32_t kept)
{
    NF2_TRY(nf2_journal_open(fs));
    while (claim->erased == 0) {
        NF2_TRY(claim->count > 0 ? erase_first(fs, claim) : claim_new(fs, claim, kept));
    }
    return NF2_OK;
}

int nf2_alloc_node(nf2_t *fs, uint32_t *block)
{
    struct nf2_claim *claim = &fs->space.nodes;

    NF2_TRY(have_erased(fs, claim, 0));
    *block = claim->start;
    take(claim, 1);
    return NF2_OK;
}

int nf2_alloc_data(nf2_t *fs, uint32_t most, uint32_t kept, struct nf2_run *run)
{
    struct nf2_claim *claim = &fs->space.data;

    NF2_ASSERT(most > 0);
    NF2_TRY(have_erased(fs, claim, kept));
    run->block = claim->start;
    run->within = 0;
    run->count = nf2_min(most, claim->erased);
    take(claim, run->count);
    return NF2_OK;
}
