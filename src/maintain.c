/* SPDX-License-Identifier: BSD-2-Clause */
/* maintain.c - idle work in steps: what removed files held is freed, blocks are erased ahead. */
#include "batch.h"
#include "cache.h"
#include "clean.h"
#include "compact.h"
#include "exchange.h"
#include "flash.h"
#include "merge.h"
#include "names.h"
#include "reclaim.h"
#include "region.h"
#include "space.h"
#include "super.h"

/* An upper bound of a reclaiming step: rewriting a node and its parent, a turn of the meta log, look-ups. */
static uint32_t step_us(const nf2_t *fs)
{
    return 96u * fs->flash->program_page_us + 3000u * fs->flash->read_page_us;
}

#define STEP_NODES 4u           /* blocks that a step may take for nodes and copies */

/* How many of them have to be erased first, at most: of what the tree has claimed, and as many more where so few free ones are erased that claims take others. */
static uint32_t step_erases(const nf2_t *fs)
{
    const struct nf2_slot *slot = &fs->slot[NF2_TREE_SLOT];
    uint32_t ready = slot->ready - nf2_min(slot->ready, slot->used);
    bool few = fs->erased_blocks < fs->free_blocks && fs->erased_blocks <= fs->free_blocks / 8u + 2u * NF2_CLAIM_BLOCKS;

    return few || nf2_space_dirty_claim(fs) ? STEP_NODES - nf2_min(STEP_NODES, ready) : 0;
}

static uint32_t erase_us(const nf2_t *fs)
{
    return nf2_max(fs->flash->erase_block_us, fs->flash->large_erase_us);
}

/* Those erases. One of them may be large: it is enough for all that a step takes. */
static uint32_t step_erases_us(const nf2_t *fs)
{
    uint32_t count = step_erases(fs);

    return count > 0 ? (count - 1u) * fs->flash->erase_block_us + erase_us(fs) : 0;
}

/* The same of one that only reads. */
static uint32_t look_us(const nf2_t *fs)
{
    return 1000u * fs->flash->read_page_us;
}

/* And of a walk over the meta log. */
static uint32_t walk_us(const nf2_t *fs)
{
    return nf2_meta_window(fs) * (nf2_block_bytes(fs) / nf2_page(fs) + 1u) * fs->flash->read_page_us;
}

#define TURN_WALKS (NF2_TURN_REGIONS + 3u)  /* of a turn of the meta log */

/* A change of the record: a turn of the meta log, a claim, STATEs. */
static uint32_t record_us(const nf2_t *fs)
{
    return (NF2_TURN_PAGES + 14u) * fs->flash->program_page_us + TURN_WALKS * walk_us(fs);
}

/* What is left of the budget, by the chip's typical times. */
struct budget {
    uint32_t us, begun_us;
};

static uint32_t left_us(const nf2_t *fs, const struct budget *budget)
{
    return budget->us - nf2_min(budget->us, fs->busy_us - budget->begun_us);
}

#define COMPACT_STEPS 5u        /* a step of compaction moves a whole block: it is worth so many others */

/* Finds free dirty blocks from `from` on: all of one large erase, or (allowed) one. 0 if this region has none. */
static uint32_t find_dirty(const nf2_t *fs, const struct nf2_region *region, uint32_t from, bool single, uint32_t *first)
{
    uint32_t large = nf2_large_blocks(fs), shift = fs->config->offset / nf2_block_bytes(fs) + region->number * NF2_REGION_BLOCKS;

    for (uint32_t i = from; i < NF2_REGION_BLOCKS; i++) {
        if (nf2_region_state(region, i) != NF2_BLOCK_DIRTY) {
            continue;
        }
        if (single) {
            *first = i;
            return 1;
        }
        uint32_t n = 0;
        while (large > 0 && (shift + i) % large == 0 && i + n < NF2_REGION_BLOCKS && n < large &&
               nf2_region_state(region, i + n) == NF2_BLOCK_DIRTY) {
            n++;
        }
        if (n > 0 && n == large) {
            *first = i;
            return n;
        }
    }
    return 0;
}

#define SINGLES_KEPT 256u        /* so many erased blocks are worth an erase for each */

/*
 * Are single blocks to be erased? By sixteen an erase costs a fifth, and one record: a block that falls free alone waits for its
 * neighbours, as long as half of what is free is erased.
 */
static bool singles_due(const nf2_t *fs)
{
    return nf2_large_blocks(fs) == 0 || fs->erased_blocks < nf2_max(fs->free_blocks / 2u, SINGLES_KEPT);
}

/* Free blocks that are not erased, in steps: at each further one it is worth looking whether a large erase takes some. */
static uint8_t dirty_steps(const nf2_t *fs)
{
    return (uint8_t)((fs->free_blocks - fs->erased_blocks) / (nf2_large_blocks(fs) + fs->blocks / 256u + 1u));
}

/* Is there nothing that idle work should erase, so far as is known? */
static bool erased_enough(nf2_t *fs)
{
    if (singles_due(fs)) {
        return fs->erased_blocks >= fs->free_blocks;
    }
    if (dirty_steps(fs) < fs->dirty_looked) {
        fs->dirty_looked = dirty_steps(fs);
    }
    return dirty_steps(fs) == fs->dirty_looked;
}

#define GROUP_LOOKS 4u          /* at regions for blocks that a large erase takes, before a single one will do */
#define FIND_WALKS (GROUP_LOOKS + 3u)

/*
 * Finds what to erase next: what comes first in the turn in which blocks are taken, else those that were erased last would
 * be taken again and again. Large erases first, they are cheaper a byte. Its length, 0: nothing.
 */
static NF2_APART int find_erase(nf2_t *fs, uint32_t *start)
{
    uint32_t cursor = fs->region != NF2_NONE ? fs->region * NF2_REGION_BLOCKS + fs->region_next : fs->maintain_cursor;
    uint32_t regions = nf2_regions(fs), counted = NF2_NONE, first, looks = 0;
    struct nf2_region region;

    for (unsigned pass = 0; pass < (singles_due(fs) ? 2u : 1u); pass++) {
        for (uint32_t i = 0; i <= regions && (pass > 0 || looks < GROUP_LOOKS); i++) { /* the first one's front part comes last */
            uint32_t number = (cursor / NF2_REGION_BLOCKS + i) % regions, window = number / NF2_TREE_BUFFER_SIZE;
            if (window != counted) { /* one walk for all regions: few of them are looked at */
                counted = window;
                window *= NF2_TREE_BUFFER_SIZE;
                NF2_TRY(nf2_region_counts(fs, NF2_FREE_DIRTY, UINT32_MAX, window, nf2_min(NF2_TREE_BUFFER_SIZE, regions - window), fs->tree_buffer, NULL));
            }
            if (fs->tree_buffer[number % NF2_TREE_BUFFER_SIZE] < (pass == 0 ? nf2_max(1, nf2_large_blocks(fs)) : 1u)) {
                continue;
            }
            looks++;
            NF2_TRY(nf2_region_read(fs, number, &region));
            uint32_t count = find_dirty(fs, &region, i == 0 ? cursor % NF2_REGION_BLOCKS : 0, pass == 1, &first);
            if (count > 0) {
                *start = number * NF2_REGION_BLOCKS + first;
                return (int)count;
            }
        }
    }
    return 0;
}

/* Erases ahead. 1: erased, 0: nothing was found, 2: the budget is too small. */
static NF2_APART int erase_step(nf2_t *fs, const struct budget *budget)
{
    uint32_t start = 0;

    NF2_TRY(nf2_meta_prepare(fs)); /* a turn may take a block: before one is chosen here */
    nf2_cache_lend(fs, true);
    int found = find_erase(fs, &start);
    nf2_cache_lend(fs, false);
    if (found <= 0) {
        return found;
    }
    uint32_t count = (uint32_t)found, cost = (count > 1 ? fs->flash->large_erase_us : fs->flash->erase_block_us) + 2 * fs->flash->program_page_us;
    if (cost > left_us(fs, budget)) {
        return 2;
    }
    NF2_TRY(nf2_space_erase_free(fs, start, count));
    return 1;
}

/* A step of the exchange of worn and little worn blocks that moves so many at most: copies, their records, a turn of the meta log. */
static uint32_t exchange_us(const nf2_t *fs, uint32_t blocks)
{
    return (24u + blocks * (nf2_block_bytes(fs) / nf2_page(fs) + 4u)) * fs->flash->program_page_us + 2u * look_us(fs);
}

/* A turn of the meta log that any step may make erases one of its own where the super log is full. */
static uint32_t turn_erase_us(const nf2_t *fs)
{
    return nf2_super_full(fs) ? fs->flash->erase_block_us : 0;
}

/* Is so much left, and for the erases of a step? Where those are too many the next one is made by itself. 1, 0, or an error. */
static int lasts(nf2_t *fs, const struct budget *budget, uint32_t us)
{
    while (us + step_erases_us(fs) + turn_erase_us(fs) > left_us(fs, budget)) {
        bool anchor = nf2_super_full(fs);
        if (!anchor && (!nf2_space_dirty_claim(fs) || step_erases(fs) == 0)) {
            return 0;
        }
        if ((anchor ? turn_erase_us(fs) : nf2_space_ready_us(fs)) + record_us(fs) > left_us(fs, budget)) {
            return 0;
        }
        NF2_TRY(anchor ? nf2_super_write(fs) : nf2_space_ready_more(fs));
    }
    return 1;
}

/* Moves what rests, as long as that is due and the budget lasts. 1: it did not last. */
static NF2_APART int exchange(nf2_t *fs, const struct budget *budget)
{
    int result = 1;

    while (result > 0 && nf2_exchange_due(fs)) {
        uint32_t blocks = NF2_EXCHANGE_BLOCKS;
        int enough = lasts(fs, budget, exchange_us(fs, 1));
        if (enough <= 0) {
            return enough < 0 ? enough : 1;
        }
        while (blocks > 1u && exchange_us(fs, blocks) + step_erases_us(fs) + turn_erase_us(fs) > left_us(fs, budget)) {
            blocks--;
        }
        result = nf2_exchange_step(fs, blocks);
        NF2_TRY(nf2_batch_apply(fs, NULL));
    }
    return result < 0 ? result : 0;
}

#define SMALL_PROGRAMS 40u      /* a small step of compaction is told; it may make some more */

static uint32_t small_us(const nf2_t *fs)
{
    return 72u * fs->flash->program_page_us + 3000u * fs->flash->read_page_us + (nf2_clean_erases(fs) ? fs->flash->large_erase_us : 0);
}

/* A step of compaction; small ones where the whole budget has no room for another. 1, 0 if the budget does not last, or an error. */
static NF2_APART int compact(nf2_t *fs, const struct budget *budget)
{
    bool small = COMPACT_STEPS * step_us(fs) > budget->us;
    int result = lasts(fs, budget, small ? small_us(fs) : COMPACT_STEPS * step_us(fs));

    if (result <= 0) {
        return result;
    }
    result = nf2_compact_idle(fs, small ? SMALL_PROGRAMS : 0);
    return result < 0 ? result : 1;
}

/* Frees what removed files held, merges, compacts. 1: the budget did not last. */
static NF2_APART int reclaim(nf2_t *fs, const struct budget *budget)
{
    for (;;) {
        int result = lasts(fs, budget, step_us(fs));
        if (result <= 0) {
            return result < 0 ? result : 1;
        }
        result = nf2_reclaim_light_step(fs);
        if (result <= 0) {
            return result;
        }
        result = result == 2 ? compact(fs, budget) : 1;
        if (result <= 0) {
            return result < 0 ? result : 1;
        }
    }
}

/* Erases for what follows a cut. 1: the budget did not last. */
static int restock(nf2_t *fs, const struct budget *budget)
{
    uint32_t stock_us = erase_us(fs) + record_us(fs);
    int more = 1;

    while (more > 0 && !nf2_space_stocked(fs)) {
        if (stock_us + turn_erase_us(fs) > left_us(fs, budget)) {
            return 1;
        }
        more = nf2_space_restock(fs);
    }
    return more < 0 ? more : 0;
}

/* Erases what is free. 1: the budget did not last. */
static int erase_ahead(nf2_t *fs, const struct budget *budget)
{
    int result = 1;

    while (result > 0 && !erased_enough(fs)) {
        if (FIND_WALKS * walk_us(fs) + record_us(fs) + turn_erase_us(fs) > left_us(fs, budget)) {
            return 1;
        }
        result = erase_step(fs, budget);
        if (result == 2) {
            return 1;
        }
        fs->dirty_looked = result == 0 ? dirty_steps(fs) : 0;
    }
    return result < 0 ? result : 0;
}

static int do_maintain(nf2_t *fs, uint32_t budget_us)
{
    struct budget budget = {budget_us, fs->busy_us};

    if (!fs->mounted) {
        return NF2_ERR_INVAL;
    }
    if (fs->read_only) {
        return NF2_ERR_ROFS;
    }
    bool idle = fs->orphan_count == 0 && nf2_tree_merge_done(fs) && !nf2_compact_waits(fs) && erased_enough(fs) && fs->freed_count == 0 &&
                nf2_space_stocked(fs) && !nf2_exchange_due(fs);
    if (idle) {
        return 0;
    }
    if (step_us(fs) > budget_us) {
        return 1;
    }
    NF2_TRY(nf2_batch_finish(fs));
    NF2_TRY(nf2_space_open(fs));
    NF2_TRY(fs->freed_count > 0 ? nf2_space_flush(fs) : NF2_OK);
    int exchanged, reclaimed;
    bool again = false;
    do { /* what exchange lacked, reclaiming may have won */
        exchanged = exchange(fs, &budget);
        NF2_TRY(exchanged);
        reclaimed = reclaim(fs, &budget);
        NF2_TRY(reclaimed);
        again = !again && exchanged == 0 && reclaimed == 0 && fs->exchanging;
    } while (again);
    int stocked = restock(fs, &budget);
    NF2_TRY(stocked);
    int erased = erase_ahead(fs, &budget);
    NF2_TRY(erased);
    return exchanged > 0 || reclaimed > 0 || stocked > 0 || erased > 0;
}

int nf2_maintain(nf2_t *fs, uint32_t budget_us)
{
    nf2_lock(fs);
    int result = do_maintain(fs, budget_us);
    nf2_unlock(fs);
    return result;
}
