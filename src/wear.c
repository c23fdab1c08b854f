/* SPDX-License-Identifier: BSD-2-Clause */
#include "wear.h"

/* Of each group: erases of its blocks, in all (NF2_WEAR_COUNT each), above SPLIT and two bits: */
#define SPLIT 4u                /* it is partly in use, since that moment */
#define AGE 16u                 /* if the configuration does not say: see tests/models/wear.py */
#define SPREAD 8u
#define MOST 4u                 /* groups that one walk moves for that */
#define LEAST_CHANGE 8u         /* blocks: for fewer a window's entry is not written again */

int nf2_wear_load(nf2_t *fs, uint32_t window, struct nf2_counts *counts)
{
    struct nf2_entry entry;

    nf2_key_make(&counts->key, NF2_SYSTEM_ID, NF2_KEY_WEAR, window);
    int found = nf2_tree_find(fs, &counts->key, &entry);
    memset(counts->bytes, 0, sizeof counts->bytes);
    NF2_TRY(found);
    return found ? nf2_body_read(fs, &entry, 0, counts->bytes, sizeof counts->bytes) : NF2_OK;
}

static uint32_t mean(const nf2_t *fs)
{
    return fs->erases / fs->blocks;
}

static uint32_t spread(const nf2_t *fs)
{
    return fs->config->wear_spread != 0 ? fs->config->wear_spread : SPREAD;
}

/* Were blocks erased so often in the mean that those which rest are worth a move? */
static bool aged(const nf2_t *fs)
{
    uint32_t age = fs->config->wear_age;

    return mean(fs) >= (age != 0 ? age : AGE);
}

/* When a group was split, in halves of the spread: the last two bits count. */
static NF2_APART uint32_t moment(const nf2_t *fs)
{
    return mean(fs) * 2u / spread(fs);
}

/*
 * For how many halves of the spread a part of a group was free and the rest never: the part wears,
 * what rests there does not, and the mean of both does not tell.
 */
static uint32_t split_for(const nf2_t *fs, const struct nf2_counts *counts, uint32_t group)
{
    uint32_t since = counts->bytes[group * NF2_WEAR_BYTES];

    return (since & SPLIT) != 0 ? (moment(fs) - since) & (SPLIT - 1) : 0;
}

/* Bit of the group that has super blocks: it is never whole, and rests. */
static uint32_t with_super(uint32_t window)
{
    return window == 0;
}

/* Was a group, or may a part of it have been, erased more often than most? */
static bool is_worn(const nf2_t *fs, const struct nf2_counts *counts, uint32_t group)
{
    return aged(fs) && (nf2_wear_of(fs, counts, group) > mean(fs) + spread(fs) ||
                        split_for(fs, counts, group) > 0);
}

/*
 * Counts the free blocks of the marked window as erased, but those that were free already; or, if a
 * window is being left, its free ones as not erased after all. Notes which groups are worn, and
 * where blocks fell free that are not erased.
 */
static int count_free(nf2_t *fs, bool leaving)
{
    struct nf2_space *space = &fs->space;
    uint32_t now = fs->now_window, window = leaving ? now : fs->mark_window;
    const uint8_t *bits = leaving ? space->now : space->mark;
    bool all = leaving || window != now;
    uint32_t size = nf2_group_blocks(fs), sum = 0, at = 0;
    struct nf2_counts counts;
    struct nf2_op op;

    NF2_TRY(nf2_wear_load(fs, window, &counts));
    fs->worn = with_super(window);
    for (uint32_t group = 0; group < NF2_GROUPS; group++) {
        uint8_t *count = counts.bytes + group * NF2_WEAR_BYTES;
        uint32_t free = 0, fresh = 0, value = nf2_get24(count);
        for (uint32_t n = size; n > 0; n--, at++) {
            uint32_t is_free = !nf2_bit(bits, at);
            free += is_free;
            fresh += is_free & (all | nf2_bit(space->now, at));
        }
        sum += fresh;
        if (!all && fresh != 0) {
            fs->erased_groups &= ~(1u << group);
            fs->ahead = at - fs->ahead < size ? 0 : fs->ahead;
        }
        if (leaving) {          /* those that idle time erased will be erased anew */
            fresh = (fs->erased_groups >> group & 1u) != 0 ? 0 : 0 - fresh;
        }
        value += fresh * NF2_WEAR_COUNT;
        if (free == size) {
            value &= ~(NF2_WEAR_COUNT - 1);
        } else if (free > 0 && (value & SPLIT) == 0) {
            value |= SPLIT + (moment(fs) & (SPLIT - 1));
        }
        nf2_put24(count, value);
        fs->worn |= (uint32_t)is_worn(fs, &counts, group) << group;
    }
    nf2_op_put_system(&op, NF2_KEY_WEAR, window);
    op.body[0] = nf2_span_of(counts.bytes, sizeof counts.bytes);
    /* of one leaf: no GROUP is left */
    return sum >= LEAST_CHANGE ? nf2_change_one(fs, &op) : NF2_OK;
}

void nf2_wear_take(nf2_t *fs)
{
    fs->worn = 0;
    /* where a block is lacking it is not worth that; a count that is lost is not worth an error */
    if (fs->group_busy != NF2_GROUP_NONE || nf2_alloc_stock(fs) < nf2_space_kept(fs) ||
        (fs->now_window != fs->mark_window && count_free(fs, true) < 0) ||
        count_free(fs, false) < 0) {
        fs->erased_groups = 0;       /* some of them may have blocks that fell free */
        fs->ahead = 0;
    }
}

/* How many groups a window has: the last window may be shorter than others. */
static NF2_APART uint32_t groups_of(const nf2_t *fs, uint32_t window)
{
    uint32_t size = fs->window_blocks, left = fs->blocks - window * size;
    return (nf2_min(size, left) - 1) / nf2_group_blocks(fs) + 1;
}

/* The group that lags most and is not among the laggards yet; NF2_GROUPS: there is none. */
static uint32_t least_worn(const nf2_t *fs, const struct nf2_counts *counts)
{
    uint32_t best = NF2_GROUPS, least = aged(fs) ? mean(fs) : 0;

    for (uint32_t group = groups_of(fs, fs->lag_window); group-- > 0;) {
        bool chosen = (fs->laggards >> group & 1u) != 0;
        uint32_t erases = split_for(fs, counts, group) > 1 ? 0 : nf2_wear_of(fs, counts, group);
        erases += spread(fs);
        if (!chosen && erases < least) {
            best = group;
            least = erases;
        }
    }
    return best;
}

/*
 * Freed blocks, the claim for data and the rest of a block would keep groups that lag in use. The
 * walk finds them free.
 */
static void leave(nf2_t *fs)
{
    struct nf2_space *space = &fs->space;

    nf2_space_changed(fs);
    fs->freed_count = 0;
    fs->fragment.count = 0;
    if (nf2_space_victim(fs, space->data.start)) {
        space->data.count = space->data.erased = 0;
    }
}

int nf2_wear_look(nf2_t *fs)
{
    uint32_t windows = nf2_windows(fs), far = windows < 3 ? 0 : windows / 2, found = 0;
    uint32_t window = (fs->mark_window + far) % windows, group = 0;
    struct nf2_counts counts;

    fs->laggards = with_super(window);
    fs->lag_window = (uint8_t)window;
    NF2_TRY(nf2_wear_load(fs, window, &counts));
    bool may = (far == 0 || window != fs->now_window) && !fs->walk_hard &&
               nf2_alloc_stock(fs) >= fs->window_blocks / 8;
    for (; may && found < MOST && (group = least_worn(fs, &counts)) < NF2_GROUPS; found++) {
        fs->laggards |= 1u << group;
    }
    fs->to_move += found * nf2_group_blocks(fs) * nf2_block_pages(fs);
    fs->laggards -= with_super(window);
    if (fs->freed_count > 0 && found > 0) {
        leave(fs);
    }
    return NF2_OK;
}

void nf2_wear_range(nf2_t *fs, uint32_t *least, uint32_t *most)
{
    struct nf2_counts counts;

    *least = *most = mean(fs);
    for (uint32_t window = 0; window < nf2_windows(fs); window++) {
        bool known = nf2_wear_load(fs, window, &counts) >= 0;
        for (uint32_t group = known ? groups_of(fs, window) : 0; group-- > 0;) {
            uint32_t erases = nf2_wear_of(fs, &counts, group);
            *least = nf2_min(*least, erases);
            *most = nf2_max(*most, erases);
        }
    }
}
