/* SPDX-License-Identifier: BSD-2-Clause */
/* maintain.c - idle work in steps: what removed files held is freed, blocks are erased ahead. */
#include "batch.h"
#include "flash.h"
#include "merge.h"
#include "names.h"
#include "reclaim.h"
#include "region.h"
#include "space.h"

/* An upper bound of a reclaiming step: rewriting a node and its parent, a turn of the meta log, look-ups. */
static uint32_t step_us(const nf2_t *fs)
{
    return 96u * fs->flash->program_page_us + 3000u * fs->flash->read_page_us;
}

#define COMPACT_STEPS 5u        /* a step of compaction moves a whole block: it is worth so many others */

/* Finds free dirty blocks: all of one large erase, or (allowed) one. 0 if this region has none. */
static uint32_t find_dirty(const nf2_t *fs, const struct nf2_region *region, bool single, uint32_t *first)
{
    uint32_t large = nf2_large_blocks(fs), shift = fs->config->offset / nf2_block_bytes(fs) + region->number * NF2_REGION_BLOCKS;

    for (uint32_t i = 0; i < NF2_REGION_BLOCKS; i++) {
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

/* Erases ahead, in the region after the cursor that has dirty blocks. 1: erased, 0: nothing dirty is left, 2: the budget is too small. */
static NF2_APART int erase_step(nf2_t *fs, uint32_t left_us, uint32_t *spent_us)
{
    uint32_t regions = nf2_regions(fs), first;
    struct nf2_region region;

    NF2_TRY(nf2_meta_prepare(fs)); /* a turn may take a block: before one is chosen here */
    for (unsigned pass = 0; pass < 2; pass++) { /* large erases first: they are cheaper a byte */
        for (uint32_t i = 0; i < regions; i++) {
            uint32_t number = (fs->maintain_cursor / NF2_REGION_BLOCKS + i) % regions;
            NF2_TRY(nf2_region_read(fs, number, &region));
            uint32_t count = find_dirty(fs, &region, pass == 1, &first);
            if (count == 0) {
                continue;
            }
            uint32_t cost = (count > 1 ? fs->flash->large_erase_us : fs->flash->erase_block_us) + 2 * fs->flash->program_page_us;
            if (cost > left_us) {
                return 2;
            }
            uint32_t start = number * NF2_REGION_BLOCKS + first;
            NF2_TRY(NF2_BROKEN(NF2_FAULT_ERASED) ? nf2_space_record_erased(fs, start, count) : NF2_OK);
            NF2_TRY(nf2_flash_erase(fs, start, count));
            NF2_TRY(NF2_BROKEN(NF2_FAULT_ERASED) ? NF2_OK : nf2_space_record_erased(fs, start, count));
            fs->maintain_cursor = start;
            *spent_us += cost;
            return 1;
        }
    }
    return 0;
}

static int do_maintain(nf2_t *fs, uint32_t budget_us)
{
    uint32_t spent_us = 0;

    if (!fs->mounted) {
        return NF2_ERR_INVAL;
    }
    if (fs->read_only) {
        return NF2_ERR_ROFS;
    }
    bool idle = fs->orphan_count == 0 && nf2_tree_merge_done(fs) && !fs->compact_again && fs->erased_blocks >= fs->free_blocks && fs->freed_count == 0 &&
                nf2_space_stocked(fs);
    if (idle) {
        return 0;
    }
    if (step_us(fs) > budget_us) {
        return 1;
    }
    NF2_TRY(nf2_batch_finish(fs));
    NF2_TRY(nf2_space_begin(fs));
    if (fs->freed_count > 0) {
        NF2_TRY(nf2_space_flush(fs));
        spent_us += 4 * fs->flash->program_page_us;
    }
    bool owed = false;
    while (spent_us + step_us(fs) <= budget_us && !owed) {
        int result = nf2_reclaim_light_step(fs);
        NF2_TRY(result);
        uint32_t cost_us = result == 2 ? COMPACT_STEPS * step_us(fs) : step_us(fs);
        if (result == 0) {
            break;
        }
        owed = spent_us + cost_us > budget_us;
        if (result == 2 && !owed) {
            NF2_TRY(nf2_compact_step(fs, NF2_COMPACT_IDLE));
        }
        spent_us += owed ? 0 : cost_us;
    }
    uint32_t stock_us = nf2_max(fs->flash->erase_block_us, fs->flash->large_erase_us) + step_us(fs);
    int more = 1;
    while (more > 0 && !nf2_space_stocked(fs)) { /* for what follows a cut */
        if (spent_us + stock_us > budget_us) {
            owed = true;
            break;
        }
        more = nf2_space_restock(fs);
        NF2_TRY(more);
        spent_us += stock_us;
    }
    for (;;) {
        uint32_t walk_us = 800u * fs->flash->read_page_us;
        if (spent_us + walk_us > budget_us) {
            return 1;
        }
        spent_us += walk_us;
        int result = erase_step(fs, budget_us - spent_us, &spent_us);
        if (result != 1) {
            return result == 2 || owed ? 1 : result;
        }
    }
}

int nf2_maintain(nf2_t *fs, uint32_t budget_us)
{
    nf2_lock(fs);
    int result = do_maintain(fs, budget_us);
    nf2_unlock(fs);
    return result;
}
