/* SPDX-License-Identifier: BSD-2-Clause */
#include "wear.h"

#define COUNT_BYTES 3u          /* of each group: erases of its blocks, in all */
#define AGE 16u                 /* if the configuration does not say: see nf2fs/nf2fs.h, and tests/models/wear.py */
#define SPREAD 6u
#define MOST 4u                 /* groups that one walk moves for that */
#define LEAST_CHANGE 8u         /* blocks: for fewer of them a window's entry is not written again */

struct counts {
    uint8_t bytes[NF2_GROUPS * COUNT_BYTES];
};

/* What is on record of a window; nothing: it was never taken from. */
static int load(nf2_t *fs, uint32_t window, struct counts *counts)
{
    struct nf2_key key;
    struct nf2_entry entry;

    nf2_key_make(&key, NF2_SYSTEM_ID, NF2_KEY_WEAR, window);
    int found = nf2_tree_find(fs, &key, &entry);
    memset(counts, 0, sizeof *counts);
    NF2_TRY(found);
    return found ? nf2_body_read(fs, &entry, 0, counts->bytes, sizeof counts->bytes) : NF2_OK;
}

static uint32_t mean(const nf2_t *fs)
{
    return fs->space.erases / fs->io.blocks;
}

/* Erases of each block of a group, in the mean. */
static uint32_t wear(const nf2_t *fs, const struct counts *counts, uint32_t group)
{
    return nf2_get24(counts->bytes + group * COUNT_BYTES) / nf2_group_blocks(fs);
}

/* Were blocks erased so often in the mean that those which rest are worth a move? */
static bool aged(const nf2_t *fs)
{
    uint32_t age = fs->config->wear_age;

    return mean(fs) >= (age != 0 ? age : AGE);
}

/* Is `less` farther below `more` than groups may lie apart? */
static bool lags(const nf2_t *fs, uint32_t less, uint32_t more)
{
    uint32_t spread = fs->config->wear_spread;

    return more > less && more - less > (spread != 0 ? spread : SPREAD);
}

/* Counts the free blocks of a window, as `bits` have it, as erased (`sign` 1), or as not erased after all (-1). */
static int count_free(nf2_t *fs, uint32_t window, const uint8_t *bits, const uint8_t *free_before, int sign, struct counts *counts)
{
    struct nf2_key key;
    uint32_t sum = 0;
    struct nf2_op op;

    nf2_key_make(&key, NF2_SYSTEM_ID, NF2_KEY_WEAR, window);
    NF2_TRY(load(fs, window, counts));
    for (uint32_t at = 0; at < fs->space.window_blocks; at++) {
        uint8_t *count = counts->bytes + at / nf2_group_blocks(fs) * COUNT_BYTES;
        bool free = !nf2_bit(bits, at) && (free_before == NULL || nf2_bit(free_before, at));
        nf2_put24(count, free ? nf2_get24(count) + (uint32_t)sign : nf2_get24(count));
        sum += free;
    }
    nf2_op_put(&op, &key, counts->bytes, sizeof counts->bytes);
    return sum >= LEAST_CHANGE ? nf2_change(fs, &op, 1) : NF2_OK;
}

int nf2_wear_take(nf2_t *fs)
{
    struct nf2_space *space = &fs->space;
    bool other = space->now_window != space->mark_window;
    struct counts counts;

    space->worn = 0;
    if (fs->group_busy != NF2_GROUP_NONE || nf2_alloc_stock(fs) < nf2_space_kept(fs)) {
        return NF2_OK;          /* it is not worth a block that is lacking */
    }
    NF2_TRY(other ? count_free(fs, space->now_window, space->now, NULL, -1, &counts) : NF2_OK);
    NF2_TRY(count_free(fs, space->mark_window, space->mark, other ? NULL : space->now, 1, &counts));
    for (uint32_t group = 0; group < NF2_GROUPS; group++) {
        bool worn = aged(fs) && lags(fs, mean(fs), wear(fs, &counts, group));
        space->worn |= (uint32_t)worn << group;
    }
    return NF2_OK;
}

/* The group that lags most and is not among the laggards yet; NF2_GROUPS: there is none. */
static uint32_t least_worn(const nf2_t *fs, const struct counts *counts)
{
    uint32_t best = NF2_GROUPS, least = mean(fs);

    for (uint32_t group = 0; group < NF2_GROUPS; group++) {
        bool chosen = (fs->space.laggards >> group & 1u) != 0;
        if (!chosen && wear(fs, counts, group) < least) {
            best = group;
            least = wear(fs, counts, group);
        }
    }
    return lags(fs, least, mean(fs)) ? best : NF2_GROUPS;
}

int nf2_wear_look(nf2_t *fs)
{
    struct nf2_space *space = &fs->space;
    uint32_t windows = nf2_windows(fs), window = space->mark_window, worst;
    struct counts counts;

    window = windows < 3 ? window : (window + windows / 2) % windows;
    space->laggards = 0;
    space->lag_window = (uint8_t)window;
    bool far = windows < 3 || (window != space->now_window && window != space->mark_window);
    if (!far || !aged(fs) || fs->walk.hard || nf2_alloc_stock(fs) < fs->space.window_blocks / 8) {
        return NF2_OK;
    }
    NF2_TRY(load(fs, window, &counts));
    for (uint32_t found = 0; found < MOST && (worst = least_worn(fs, &counts)) < NF2_GROUPS; found++) {
        space->laggards |= 1u << worst;
        fs->walk.to_move += nf2_group_blocks(fs) * nf2_block_pages(fs);
    }
    return NF2_OK;
}

uint32_t nf2_wear_of(nf2_t *fs, uint32_t block)
{
    uint32_t size = fs->space.window_blocks;
    struct counts counts;

    return load(fs, block / size, &counts) < 0 ? mean(fs) : wear(fs, &counts, block % size / nf2_group_blocks(fs));
}

void nf2_wear_range(nf2_t *fs, uint32_t *least, uint32_t *most)
{
    struct counts counts;

    *least = *most = mean(fs);
    for (uint32_t window = 0; window < nf2_windows(fs); window++) {
        bool known = load(fs, window, &counts) >= 0;
        for (uint32_t group = 0; known && group < NF2_GROUPS; group++) {
            *least = nf2_min(*least, wear(fs, &counts, group));
            *most = nf2_max(*most, wear(fs, &counts, group));
        }
    }
}
