/* SPDX-License-Identifier: BSD-2-Clause */
#include "space.h"

/* The block's number in a window, NF2_NONE if it lies elsewhere. */
static uint32_t in_window(const nf2_t *fs, uint32_t window, uint32_t block)
{
    uint32_t at = block - window * fs->window_blocks;
    return at < fs->window_blocks ? at : NF2_NONE;
}

static bool set_in(const nf2_t *fs, uint8_t *bits, uint32_t window, uint32_t block)
{
    uint32_t at = in_window(fs, window, block);
    bool changes = at != NF2_NONE && !nf2_bit(bits, at);

    if (changes) {
        nf2_bit_set(bits, at, true);
    }
    return changes;
}

/* Bit of the group of a window that a block lies in; 0 if it lies elsewhere. */
static NF2_APART uint32_t group_bit_in(const nf2_t *fs, uint32_t window, uint32_t block)
{
    uint32_t at = in_window(fs, window, block);
    return at != NF2_NONE ? 1u << at / nf2_group_blocks(fs) : 0;
}

uint32_t nf2_space_group(const nf2_t *fs, uint32_t block)
{
    return group_bit_in(fs, fs->now_window, block);
}

/* Number of the cell of the marked window that a block lies in; NF2_CELLS or more: none. */
static NF2_APART uint32_t cell_of(const nf2_t *fs, uint32_t block)
{
    uint32_t at = in_window(fs, fs->mark_window, block);
    bool inside = at != NF2_NONE && at >= fs->cell_first;

    return inside ? (at - fs->cell_first) / fs->cell_blocks : NF2_CELLS;
}

static NF2_APART uint32_t cell_bit(const nf2_t *fs, uint32_t block)
{
    uint32_t cell = cell_of(fs, block);
    return cell < NF2_CELLS ? 1u << cell : 0;
}

/* Bit of the group that a block lies in, if that may be one of those that lag. */
static uint32_t lag_bit(const nf2_t *fs, uint32_t block)
{
    return group_bit_in(fs, fs->lag_window, block);
}

void nf2_space_use(nf2_t *fs, uint32_t block, uint32_t count)
{
    for (; count > 0; block++, count--) {
        fs->now_free = (uint16_t)(fs->now_free -
                                  set_in(fs, fs->space.now, fs->now_window, block));
        (void)set_in(fs, fs->space.mark, fs->mark_window, block);
        fs->victims &= ~cell_bit(fs, block);
        fs->laggards &= ~lag_bit(fs, block);
    }
}

void nf2_space_taken(nf2_t *fs, uint32_t count)
{
    fs->free = (uint16_t)(fs->free - nf2_min(count, fs->free));
    if (fs->now_counted) {
        fs->space.lap_free -= nf2_min(count, fs->space.lap_free);
    }
}

void nf2_space_take(nf2_t *fs, uint32_t block, uint32_t count)
{
    uint32_t before = fs->now_free;

    nf2_space_use(fs, block, count);
    nf2_space_taken(fs, before - fs->now_free);
}

void nf2_space_changed(nf2_t *fs)
{
    fs->pristine = fs->settled = false;
    fs->leaky = true;
    fs->walk.spent = 0;
}

bool nf2_space_mark(nf2_t *fs, uint32_t block)
{
    return set_in(fs, fs->space.mark, fs->mark_window, block);
}

NF2_APART uint32_t nf2_space_parts(const nf2_t *fs)
{
    /* a cell's sum fits in a byte, but for full ones of 16 blocks */
    return nf2_max(128u / fs->cell_blocks, 16);
}

void nf2_space_live(nf2_t *fs, uint32_t block, uint32_t bytes)
{
    uint32_t cell = cell_of(fs, block), part = nf2_block_bytes(fs) / nf2_space_parts(fs);
    uint32_t parts = nf2_max((bytes + part / 2) / part, 1);

    if (cell < NF2_CELLS) {
        fs->space.live[cell] = (uint8_t)nf2_min(fs->space.live[cell] + parts, 255);
    }
}

bool nf2_space_victim(const nf2_t *fs, uint32_t block)
{
    return ((fs->victims & cell_bit(fs, block)) | (fs->laggards & lag_bit(fs, block))) != 0;
}

void nf2_space_clear(const nf2_t *fs, uint8_t *bits, uint32_t window)
{
    uint32_t size = fs->window_blocks, first = window * size;

    memset(bits, 0, NF2_WINDOW_BYTES);
    for (uint32_t i = 0; i < NF2_WINDOW_BLOCKS; i++) {
        if (i >= size || first + i >= fs->blocks || first + i < NF2_SUPER_BLOCKS) {
            nf2_bit_set(bits, i, true);
        }
    }
}

uint32_t nf2_space_count(const uint8_t *bits)
{
    uint32_t count = NF2_WINDOW_BLOCKS;

    for (unsigned i = 0; i < NF2_WINDOW_BYTES; i++) {
        for (unsigned byte = bits[i]; byte != 0; byte &= byte - 1) {
            count--;
        }
    }
    return count;
}

uint32_t nf2_space_run(const nf2_t *fs, uint32_t at, uint32_t limit)
{
    uint32_t n = 0;

    while (at + n < limit && !nf2_bit(fs->space.now, at + n)) {
        n++;
    }
    return n;
}

/*
 * Runs are looked for in parts of the window that one large erase takes, or in groups where the
 * chip has none.
 */
static uint32_t part_end(const nf2_t *fs, uint32_t part, uint32_t first, uint32_t at)
{
    uint32_t shift = fs->drive.offset / nf2_block_bytes(fs) + first;

    NF2_ASSERT(part > 0);
    return nf2_min(at + part - (shift + at) % part, fs->window_blocks);
}

/* Not where data would be moved away again; in a group that is worn, or in one that is not. */
static bool suits(const nf2_t *fs, uint32_t block, bool worn)
{
    bool is_worn = (fs->worn & nf2_space_group(fs, block)) != 0;

    return !nf2_space_victim(fs, block) && is_worn == worn;
}

/* A run of free blocks of such parts. `any`: also of worn groups, and of victims. */
static uint32_t find(const nf2_t *fs, uint32_t most, enum nf2_space_of of, bool any, uint32_t at,
                     uint32_t *start)
{
    bool worn = of == NF2_SPACE_WORN, whole = of != NF2_SPACE_RESTS;
    uint32_t size = fs->window_blocks, first = fs->now_window * size, best = 0;
    uint32_t part = nf2_part_blocks(fs);

    for (uint32_t limit; at < size; at = limit) {
        limit = part_end(fs, part, first, at);
        bool entire = nf2_space_run(fs, at, limit) == part;
        for (uint32_t n; entire == whole && at < limit; at += nf2_max(n, 1)) {
            n = nf2_min(nf2_space_run(fs, at, limit), most);
            if (n > best && (any || suits(fs, first + at, worn))) {
                best = n;
                *start = first + at;
            }
            if (best == most) {
                return best;
            }
        }
    }
    return best;
}

uint32_t nf2_space_find(nf2_t *fs, uint32_t most, enum nf2_space_of of, uint32_t *start)
{
    bool rests = of == NF2_SPACE_RESTS;
    uint32_t n = 0, behind = rests ? NF2_NONE : in_window(fs, fs->now_window, *start);

    for (unsigned i = of == NF2_SPACE_WORN ? 1 : 2; n == 0 && i < 6; i++) {
        bool any = i >= 4;      /* what is left in the end was held back */
        if (any) {
            fs->drained = true;
            fs->worn = 0;
        }
        of = i < 2 ? NF2_SPACE_WORN : (i & 1) != rests ? NF2_SPACE_RESTS : NF2_SPACE_WHOLE;
        n = find(fs, most, of, any, behind, start);
        n = n > 0 ? n : find(fs, most, of, any, 0, start);
    }
    if (n == 0) {               /* a damaged CHECKPOINT may say otherwise */
        fs->now_free = 0;
    }
    return n;
}

uint32_t nf2_part_blocks(const nf2_t *fs)
{
    uint32_t large = nf2_large_blocks(fs);
    return large > 1 ? large : nf2_group_blocks(fs);
}

uint32_t nf2_space_erased(const nf2_t *fs, uint32_t start, uint32_t count)
{
    uint32_t n = 0;

    while (n < count &&
           (fs->now_fresh || (fs->erased_groups & nf2_space_group(fs, start + n)) != 0)) {
        n++;
    }
    return n;
}

/* Groups in which what is free is on record as erased, or a part of it: up to `ahead`. */
static NF2_APART uint32_t groups_erased(const nf2_t *fs)
{
    uint32_t first = fs->now_window * fs->window_blocks;
    return fs->erased_groups | nf2_space_group(fs, first + fs->ahead - 1u);
}

bool nf2_space_rest_free(const nf2_t *fs, uint32_t start, uint32_t count)
{
    uint32_t at = in_window(fs, fs->now_window, start), size = nf2_group_blocks(fs);

    return at % size == 0 && nf2_space_run(fs, at + count, at + size) == size - count &&
           (groups_erased(fs) & nf2_space_group(fs, start)) == 0;
}

uint32_t nf2_space_reserve(const nf2_t *fs, bool all)
{
    return nf2_space_spare(fs) + 2u + fs->promised + (all ? nf2_space_elsewhere(fs) : 0);
}

uint32_t nf2_space_spare(const nf2_t *fs)
{
    return nf2_space_kept(fs) + nf2_min(fs->blocks / 64, 16);
}

uint32_t nf2_space_kept(const nf2_t *fs)
{
    /* the tree will get that high: nothing is taken back then */
    return NF2_BROKEN(NF2_FAULT_KEPT) ? 0 : 6u + 2u * nf2_max(fs->root_level, 1);
}

uint32_t nf2_space_claimed(const nf2_t *fs)
{
    const struct nf2_space *space = &fs->space;
    NF2_NEAR(space);
    return (uint32_t)space->nodes.count + space->data.count + space->moved.count +
           fs->freed_count;
}

uint32_t nf2_space_total(const nf2_t *fs)
{
    return nf2_max(fs->free, fs->now_free) + nf2_space_claimed(fs);
}

uint32_t nf2_space_available(const nf2_t *fs)
{
    uint32_t kept = nf2_space_reserve(fs, true), total = nf2_space_total(fs);
    return total > kept ? total - kept : 0;
}

bool nf2_space_bad_listed(const nf2_t *fs, uint32_t block)
{
    unsigned i = 0;

    while (i < fs->bads && fs->root.bad[i] != block) {
        i++;
    }
    return i < fs->bads;
}

void nf2_space_freed(nf2_t *fs, uint32_t block)
{
    if (fs->freed_count < NF2_FREED_MAX && !nf2_space_bad_listed(fs, block)) {
        nf2_space_use(fs, block, 1); /* the walk does not find it free */
        fs->space.freed[fs->freed_count++] = (uint16_t)block;
    }
}

uint32_t nf2_claim_last(struct nf2_claim *claim, bool *suspect)
{
    NF2_ASSERT(claim->count > 0);
    claim->count--;
    *suspect = claim->count >= claim->erased;
    claim->erased = (uint8_t)nf2_min(claim->erased, claim->count);
    return (uint32_t)claim->start + claim->count;
}

/*
 * It is free again. One that is not erased stays in use, until a walk, where what is free is on
 * record as erased.
 */
static void return_one(nf2_t *fs, uint32_t block, bool suspect)
{
    uint32_t first = fs->now_window * fs->window_blocks, group = nf2_space_group(fs, block);

    if (suspect && (fs->now_fresh || (groups_erased(fs) & group) != 0)) {
        fs->leaky = true;
    } else if (group != 0 && nf2_bit(fs->space.now, block - first)) {
        nf2_bit_set(fs->space.now, block - first, false);
        fs->now_free++;
        fs->free++;
    }
}

void nf2_space_return(nf2_t *fs)
{
    struct nf2_space *space = &fs->space;

    NF2_NEAR(space);
    while (fs->freed_count > 0) {
        return_one(fs, space->freed[--fs->freed_count], true);
    }
    while (space->moved.count > 0) {
        bool suspect;
        uint32_t block = nf2_claim_last(&space->moved, &suspect);
        return_one(fs, block, suspect);
    }
}
