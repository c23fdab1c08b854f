/* SPDX-License-Identifier: BSD-2-Clause */
#include "turn.h"

#include "flash.h"
#include "region.h"
#include "space.h"

#define ERASED_SHARE 8u         /* erased blocks are many where they are more than this part of the free ones */

/* Blocks with more erases than `limit` are left out. */
static void take_region(nf2_t *fs, const struct nf2_region *region, uint32_t limit)
{
    for (uint32_t i = 0; i < NF2_REGION_BLOCKS; i++) {
        unsigned state = nf2_region_state(region, i);
        nf2_bit_set(fs->region_used, i, state >= NF2_BLOCK_USED || region->wear_base + region->wear[i] > limit);
        nf2_bit_set(fs->region_erased, i, state == NF2_BLOCK_ERASED);
    }
    fs->region = region->number;
    fs->region_next = 0;
}

static int load_region(nf2_t *fs, uint32_t number, uint32_t limit)
{
    struct nf2_region region;

    fs->region = NF2_NONE;
    NF2_TRY(nf2_region_read(fs, number, &region));
    take_region(fs, &region, limit);
    return NF2_OK;
}

bool nf2_turn_emptied(const nf2_t *fs, uint32_t block)
{
    uint32_t large = nf2_large_blocks(fs);

    for (unsigned i = 0; fs->clean_id != 0 && i < NF2_CLEAN_GROUPS; i++) {
        if (fs->group[i].state >= NF2_GROUP_VICTIM && (block - nf2_group_shift(fs, large)) / large == fs->group[i].number) {
            return true;
        }
    }
    return false;
}

/* What is looked for: free blocks in one of two states, or in either. */
enum kind { DIRTY, ERASED, EITHER };

static enum kind kind_at(const nf2_t *fs, uint32_t index)
{
    return nf2_bit(fs->region_erased, index) ? ERASED : DIRTY;
}

static bool is_free(const nf2_t *fs, uint32_t index, enum kind kind)
{
    uint32_t block = fs->region * NF2_REGION_BLOCKS + index;

    return index < NF2_REGION_BLOCKS && !nf2_bit(fs->region_used, index) && block != fs->kept_node && !nf2_turn_emptied(fs, block) &&
           (kind == EITHER || kind == kind_at(fs, index));
}

/* Is all of the group free that a large erase takes together with this block? */
static bool in_whole_group(const nf2_t *fs, uint32_t index)
{
    uint32_t large = nf2_large_blocks(fs), first;

    if (large == 0) {
        return false;
    }
    first = index - (fs->config->offset / nf2_block_bytes(fs) + fs->region * NF2_REGION_BLOCKS + index) % large; /* wraps where it lies in front of the region */
    for (uint32_t i = 0; i < large; i++) {
        if (!is_free(fs, first + i, EITHER)) {
            return false;
        }
    }
    return true;
}

/*
 * The first run of free blocks of one state behind the cursor that has `enough` of them, else the longest. Its length. With `rest`:
 * not in a group that a large erase takes as a whole.
 */
static uint32_t find_run(const nf2_t *fs, enum kind kind, uint32_t enough, bool rest, uint32_t *start)
{
    uint32_t best = 0;

    for (uint32_t i = fs->region_next; i < NF2_REGION_BLOCKS && best < enough;) {
        uint32_t n = 0;
        while (is_free(fs, i + n, n > 0 ? kind_at(fs, i) : kind) && !(rest && in_whole_group(fs, i + n))) {
            n++;
        }
        if (n > best) {
            best = n;
            *start = i;
        }
        i += nf2_max(n, 1);
    }
    return best;
}

/* The first group of dirty blocks behind the cursor that one large erase takes; its length, 0: none. */
static uint32_t find_large_group(const nf2_t *fs, uint32_t *start)
{
    uint32_t large = nf2_large_blocks(fs), n = 0;
    uint32_t shift = fs->config->offset / nf2_block_bytes(fs) + fs->region * NF2_REGION_BLOCKS;

    for (uint32_t i = fs->region_next; large > 0 && i < NF2_REGION_BLOCKS; i++) {
        n = is_free(fs, i, DIRTY) && (n > 0 || (shift + i) % large == 0) ? n + 1u : 0;
        if (n == large) {
            *start = i + 1u - large;
            return large;
        }
    }
    return 0;
}

/* Chooses the next region, round robin, of those with enough free (or erased) blocks; else the fullest of them. As a rule it is the one whose turn it is. */
static int next_region(nf2_t *fs, enum kind kind, uint32_t want, uint32_t limit)
{
    uint32_t regions = nf2_regions(fs), best = NF2_NONE, best_count = 0, best_distance = 0;
    uint32_t current = fs->region == NF2_NONE ? fs->maintain_cursor / NF2_REGION_BLOCKS : fs->region;
    struct nf2_region following = {.number = (current + 1u) % regions};

    fs->region = NF2_NONE;
    for (uint32_t first = 0; first < regions; first += NF2_TREE_BUFFER_SIZE) {
        uint32_t count = nf2_min(NF2_TREE_BUFFER_SIZE, regions - first);
        uint8_t *counts = fs->tree_buffer;
        memset(fs->tree_buffer, 0, NF2_TREE_BUFFER_SIZE);
        int result = nf2_region_counts(fs, kind == ERASED ? NF2_FREE_ERASED : NF2_FREE, limit, first, count, counts,
                                       following.number - first < count ? &following : NULL);
        if (result < 0) {
            memset(fs->tree_buffer, 0, NF2_TREE_BUFFER_SIZE); /* counts are not to be taken for what else lies there */
            return result;
        }
        for (uint32_t i = 0; i < count; i++) {
            uint32_t distance = (first + i + regions - current - 1) % regions;
            uint32_t n = nf2_min(counts[i], want);
            if (n > best_count || (n == best_count && n > 0 && distance < best_distance)) {
                best = first + i;
                best_count = n;
                best_distance = distance;
            }
        }
    }
    memset(fs->tree_buffer, 0, NF2_TREE_BUFFER_SIZE); /* the fingerprints are gone */
    if (best == NF2_NONE) {
        return NF2_ERR_NOSPC;
    }
    if (best != following.number) {
        return load_region(fs, best, limit);
    }
    take_region(fs, &following, limit);
    return NF2_OK;
}

#define RUN_ENOUGH 16u         /* blocks of a run that is good for a file: what is passed over for a longer one would wear less */
#define DIRTY_CLAIM 4u          /* dirty blocks that are claimed for single erases */

/* The slot can list few runs more in the change at hand: it needs long ones, whosever turn it is. */
static bool in_need(const nf2_t *fs, unsigned slot)
{
    return fs->slot[slot].runs > NF2_SLOT_RUNS / 2u;
}

/* Blocks of a run that are enough. The tree takes what comes first, so that each block gets its turn. */
static uint32_t enough(const nf2_t *fs, unsigned slot, uint32_t want)
{
    return slot == NF2_TREE_SLOT && !in_need(fs, slot) ? 1u : nf2_min(want, RUN_ENOUGH);
}

/* A run behind the cursor. Of dirty blocks those that a large erase takes; for the tree just where its turn has come. */
static uint32_t choose_run(const nf2_t *fs, unsigned slot, enum kind kind, uint32_t want, uint32_t *start, bool *dirty)
{
    uint32_t count = slot == NF2_TREE_SLOT && !in_need(fs, slot) ? find_run(fs, kind, 1, true, start) : 0; /* what is left beside used blocks: whole groups are for files */

    count = count > 0 ? count : find_run(fs, kind, enough(fs, slot, want), false, start);
    uint32_t first = *start;

    *dirty = count > 0 && kind_at(fs, first) == DIRTY;
    if (*dirty && want > 1) {
        uint32_t large = find_large_group(fs, start);
        if (large > 0 && (slot != NF2_TREE_SLOT || *start == first)) {
            return large;
        }
        count = nf2_min(count, nf2_min(DIRTY_CLAIM, large > 0 ? *start - first : count));
        *start = first;
    }
    return nf2_min(count, want);
}

/*
 * In the age stage the most worn blocks wait until the others have as many erases, or until something that rests needs them. So it is
 * until none but those are free: even_at has what fs->worn was then.
 */
static uint32_t wear_limit(const nf2_t *fs)
{
    return nf2_wear_aged(fs) && fs->even_at != (uint8_t)fs->worn ? fs->worn - nf2_min(fs->worn, nf2_wear_spread(fs) / 4u) : UINT32_MAX;
}

/*
 * Loads a region with free blocks behind the cursor, and says of which kind: erased ones while the volume has many. For the last of
 * them the turn is not left: the same blocks would be taken, freed and erased again and again.
 */
static int region_with_space(nf2_t *fs, unsigned slot, uint32_t want, enum kind *kind)
{
    bool many = fs->erased_blocks > fs->free_blocks / ERASED_SHARE;
    uint32_t start;

    *kind = many ? ERASED : EITHER;
    if (fs->region == NF2_NONE) { /* where the session before ended */
        NF2_TRY(load_region(fs, fs->maintain_cursor / NF2_REGION_BLOCKS, wear_limit(fs)));
        fs->region_next = (uint16_t)(fs->maintain_cursor % NF2_REGION_BLOCKS);
    }
    int result = NF2_OK;
    for (unsigned attempt = 0; attempt < 4 && (fs->region == NF2_NONE || find_run(fs, *kind, 1, false, &start) == 0); attempt += many ? 1u : 2u) {
        uint32_t limit = attempt < 2 ? wear_limit(fs) : UINT32_MAX;
        if (attempt == 2) {
            fs->even_at = (uint8_t)fs->worn;
        }
        *kind = many && attempt % 2u == 0 ? ERASED : EITHER;
        result = next_region(fs, *kind, enough(fs, slot, want), limit);
        if (result < 0 && result != NF2_ERR_NOSPC) {
            return result;
        }
    }
    return result;
}

int nf2_turn_find(nf2_t *fs, unsigned slot, uint32_t want, uint32_t *start, uint32_t *count, bool *dirty)
{
    enum kind kind;

    if (fs->free_blocks <= nf2_meta_reserve(fs)) {
        return NF2_ERR_NOSPC;
    }
    NF2_TRY(region_with_space(fs, slot, want, &kind));
    *count = nf2_min(choose_run(fs, slot, kind, want, start, dirty), fs->free_blocks - nf2_meta_reserve(fs));
    return *count > 0 ? NF2_OK : NF2_ERR_NOSPC;
}
