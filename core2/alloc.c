/* SPDX-License-Identifier: BSD-2-Clause */
#include "alloc.h"

#define CLAIM_MAX 16u           /* blocks that one claim for nodes takes at most */

uint32_t nf2_alloc_stock(const nf2_t *fs)
{
    const struct nf2_space *space = &fs->space;
    return (uint32_t)space->now_free + space->nodes.count + space->data.count + space->moved.count +
           space->freed_count;
}

/* Puts a run of free blocks of `now` on record as claimed. */
static int claim_run(nf2_t *fs, struct nf2_claim *claim, uint32_t start, uint32_t count)
{
    uint8_t bytes[5];
    bool erased;

    NF2_ASSERT(count > 0 && start + count <= fs->io.blocks && claim->count == 0);
    NF2_TRY(nf2_journal_open(fs));
    erased = nf2_space_erased(fs, start, count);
    nf2_put16(nf2_put24(bytes, start), count);
    fs->space.pristine = fs->space.settled = false;
    nf2_space_use(fs, start, count); /* a turn of the log must not take them */
    nf2_space_taken(fs, count);
    nf2_space_changed(fs);
    NF2_TRY(nf2_journal_put(fs, NF2_ROOT_CLAIM, bytes, sizeof bytes));
    claim->start = start;
    claim->count = (uint16_t)count;
    claim->erased = (uint16_t)(erased ? count : 0);
    return NF2_OK;
}

/* Erases what stands first in a claim: all of it at once if that is one large erase. */
static int erase_first(nf2_t *fs, struct nf2_claim *claim)
{
    uint32_t large = nf2_large_blocks(fs);
    bool all = large > 1 && claim->count == large && nf2_large_begins(fs, claim->start);
    uint32_t count = all ? large : 1;

    NF2_ASSERT(claim->count >= count && claim->erased == 0);
    int result = nf2_flash_erase(fs, claim->start, count);
    if (result == NF2_FAILED_BLOCK && all) { /* one of them is bad: singly */
        count = 1;
        result = nf2_flash_erase(fs, claim->start, 1);
    }
    fs->space.erases += count;
    claim->erased = (uint16_t)(result == NF2_OK ? count : 0);
    if (result == NF2_FAILED_BLOCK) {
        nf2_journal_bad(fs, claim->start);
        claim->start++;
        claim->count--;
        return NF2_OK;
    }
    return result;
}

static void take(struct nf2_claim *claim, uint32_t count)
{
    NF2_ASSERT(count <= claim->erased);
    claim->start += count;
    claim->count = (uint16_t)(claim->count - count);
    claim->erased = (uint16_t)(claim->erased - count);
}

/* What one claim may take: a cut loses it until a walk finds it again. */
static NF2_APART uint32_t claim_limit(const nf2_t *fs)
{
    return nf2_max(fs->space.free / 4, nf2_group_blocks(fs));
}

static bool many_free(const nf2_t *fs)
{
    return fs->space.now_free > fs->space.window_blocks / 4;
}

/* A run of free blocks becomes the claim, of these or else of others: blocks of it, 0 if there is none, or an error. */
static NF2_APART int claim_free(nf2_t *fs, struct nf2_claim *claim, uint32_t most, enum nf2_space_of of)
{
    uint32_t start, n = 0;

    if (of == NF2_SPACE_WORN) {
        n = nf2_space_find(fs, most, of, false, &start);
        of = NF2_SPACE_WHOLE;
    }
    enum nf2_space_of other = of == NF2_SPACE_RESTS ? NF2_SPACE_WHOLE : NF2_SPACE_RESTS;
    for (int any = false; n == 0 && any <= true; any++) { /* what is left in the end was held back */
        fs->space.drained = fs->space.drained || any;
        n = nf2_space_find(fs, most, of, any, &start);
        n = n > 0 ? n : nf2_space_find(fs, most, other, any, &start);
    }
    NF2_TRY(n > 0 ? claim_run(fs, claim, start, n) : NF2_OK);
    return (int)n;
}

/* A block that was in use becomes the claim. */
static NF2_APART void claim_one(struct nf2_claim *claim, uint32_t block, bool erased)
{
    claim->start = block;
    claim->count = 1;
    claim->erased = erased;
}

/* The first block of another claim becomes the claim; false: that has none. */
static NF2_APART bool claim_other(struct nf2_claim *claim, struct nf2_claim *other)
{
    if (other->count == 0) {
        return false;
    }
    claim_one(claim, other->start++, other->erased > 0);
    other->count--;
    other->erased = (uint16_t)(other->erased - claim->erased);
    return true;
}

/* Something for nodes to be claimed: new blocks, replaced ones, or what data had. */
static int claim_nodes(nf2_t *fs)
{
    struct nf2_space *space = &fs->space;
    bool plenty = many_free(fs);
    uint32_t most = nf2_min(plenty ? nf2_part_blocks(fs) : nf2_max(space->claim_size, 1), claim_limit(fs));

    int n = claim_free(fs, &space->nodes, most, plenty ? NF2_SPACE_WHOLE : NF2_SPACE_RESTS); /* one large erase for many nodes */
    if (n != 0) {
        space->claim_size = (uint8_t)nf2_min(most * 2, CLAIM_MAX);
        return n;
    }
    if (space->freed_count > 0) {
        claim_one(&space->nodes, space->freed[--space->freed_count], false);
    } else if (!claim_other(&space->nodes, &space->moved) && !claim_other(&space->nodes, &space->data)) {
        return NF2_NEED_SPACE;
    }
    return NF2_OK;
}

/* One of the blocks that nodes have in stock, where that is more than is kept for them. */
static int claim_spare(nf2_t *fs, struct nf2_claim *data)
{
    struct nf2_space *space = &fs->space;
    struct nf2_claim *nodes = &space->nodes;

    NF2_ASSERT(data->count == 0 && (space->freed_count > 0 || nodes->count > 0));
    if (space->freed_count > 0) {
        claim_one(data, space->freed[--space->freed_count], false);
    } else {
        claim_one(data, nodes->start + nodes->count - 1u, nodes->erased == nodes->count);
        nodes->count--;
        nodes->erased = (uint16_t)nf2_min(nodes->erased, nodes->count);
    }
    return NF2_OK;
}

static int claim_data(nf2_t *fs, struct nf2_claim *claim, uint32_t kept)
{
    struct nf2_space *space = &fs->space;
    bool moved = claim == &space->moved;
    uint32_t part = nf2_part_blocks(fs), stock = (uint32_t)space->nodes.count + space->freed_count;
    uint32_t keep = kept > stock ? kept - stock : 0;

    if (space->now_free <= keep) {
        return claim_other(claim, moved ? &space->data : &space->moved) ? NF2_OK :
               stock > kept ? claim_spare(fs, claim) : NF2_NEED_SPACE;
    }
    uint32_t most = nf2_min(nf2_min(part, space->now_free - keep), claim_limit(fs));
    int n = claim_free(fs, claim, most, moved ? NF2_SPACE_WORN : NF2_SPACE_WHOLE);
    return n != 0 ? n : NF2_NEED_SPACE;
}

/* Erased blocks at the front of a claim, which gets new ones if it has none. */
static int have_erased(nf2_t *fs, struct nf2_claim *claim, uint32_t kept)
{
    NF2_TRY(nf2_journal_open(fs));
    while (claim->erased == 0) {
        bool nodes = claim == &fs->space.nodes;
        NF2_TRY(claim->count > 0 ? NF2_OK : nodes ? claim_nodes(fs) : claim_data(fs, claim, kept));
        NF2_TRY(claim->count > 0 && claim->erased == 0 ? erase_first(fs, claim) : NF2_OK);
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
    bool apart = run == &fs->walk.moved && (fs->space.moved.count > 0 || many_free(fs));
    struct nf2_claim *claim = apart ? &fs->space.moved : &fs->space.data;

    NF2_ASSERT(most > 0);
    NF2_TRY(have_erased(fs, claim, kept));
    run->block = claim->start;
    run->within = 0;
    run->count = nf2_min(most, claim->erased);
    take(claim, run->count);
    return NF2_OK;
}

int nf2_run_program(nf2_t *fs, struct nf2_run *run, const void *data, uint32_t length)
{
    uint32_t bytes = nf2_block_bytes(fs), block = run->block;
    int result = nf2_flash_program(fs, block, run->within, data, length);

    run->within = result == NF2_OK ? run->within + nf2_align_unit(fs, length) : bytes;
    if (run->within >= bytes) {
        run->within = 0;
        run->block++;
        run->count--;
    }
    if (result == NF2_FAILED_BLOCK) {
        nf2_journal_bad(fs, block);
    }
    return result;
}
