/* SPDX-License-Identifier: BSD-2-Clause */
#include "victims.h"

#define WORTH 11u               /* of 16 parts: with less live data a large erase costs less than small ones of what is free */

uint32_t nf2_victims_floor(const nf2_t *fs)
{
    return 3u + 2u * fs->root.level;
}

/* As many blocks as a large erase takes, on volumes that have enough of such cells. */
static uint32_t cell_as_rule(const nf2_t *fs)
{
    uint32_t group = nf2_group_blocks(fs), large = nf2_min(nf2_large_blocks(fs), 16);

    return fs->space.window_blocks >= 8 * large ? nf2_max(group, large) : group;
}

void nf2_victims_begin(nf2_t *fs)
{
    fs->space.victims = fs->space.laggards = 0;
    fs->space.cell_first = 0;
    fs->space.cell_blocks = (uint16_t)cell_as_rule(fs);
}

bool nf2_victims_zoomed(const nf2_t *fs)
{
    return fs->space.cell_blocks != cell_as_rule(fs);
}

/* Blocks of a cell, and how many of them are in use. */
static uint32_t cell_size(const nf2_t *fs, uint32_t cell, uint32_t *used)
{
    uint32_t first = fs->space.cell_first + cell * fs->space.cell_blocks;
    uint32_t behind = fs->io.blocks - fs->space.mark_window * fs->space.window_blocks;
    uint32_t end = nf2_min(first + fs->space.cell_blocks, nf2_min(fs->space.window_blocks, behind));

    *used = 0;
    for (uint32_t at = first; at < end; at++) {
        *used += nf2_bit(fs->space.mark, at);
    }
    return first < end ? end - first : 0;
}

/* Parts of the blocks in use that hold nothing live. */
static uint32_t garbage_of(const nf2_t *fs, uint32_t cell)
{
    uint32_t used, live = fs->space.live[cell];

    (void)cell_size(fs, cell, &used);
    used *= nf2_space_parts(fs);
    return used > live ? used - live : 0;
}

/* Is a cell worth emptying? `scarce`: for whatever it wins. Else for a large erase, or where much is won. */
static bool worth_emptying(const nf2_t *fs, uint32_t cell, bool scarce)
{
    uint32_t used, blocks = cell_size(fs, cell, &used), live = 16 * fs->space.live[cell];
    uint32_t parts = nf2_space_parts(fs);
    bool single = fs->space.cell_blocks == 1, large = nf2_large_blocks(fs) > 1 && !single;

    if (used == 0) {
        return false;
    }
    if (large && live <= WORTH * blocks * parts) {
        return true;
    }
    return garbage_of(fs, cell) >= (single ? parts / 16 : parts) && (scarce || (!large && live <= WORTH * used * parts));
}

/* The emptiest cell that is worth it and can be copied with so many parts; NF2_CELLS: there is none. */
static uint32_t pick(const nf2_t *fs, uint32_t candidates, uint32_t parts, bool scarce)
{
    uint32_t best = NF2_CELLS;

    for (uint32_t cell = 0; cell < NF2_CELLS; cell++) {
        bool better = best == NF2_CELLS || fs->space.live[cell] < fs->space.live[best];
        bool candidate = (candidates >> cell & 1u) != 0;
        if (better && candidate && fs->space.live[cell] <= parts && worth_emptying(fs, cell, scarce)) {
            best = cell;
        }
    }
    return best;
}

bool nf2_victims_choose(nf2_t *fs)
{
    uint32_t stock = nf2_alloc_stock(fs), floor = nf2_victims_floor(fs), used;
    uint32_t per_block = nf2_space_parts(fs), parts = stock > floor ? per_block * (stock - floor) : 0, cell;
    uint32_t enough = fs->walk.hard ? NF2_NONE : fs->space.window_blocks / 2, won = nf2_space_count(fs, fs->space.mark);

    parts -= fs->walk.hard ? 0 : parts / 8; /* the rest is for what is written meanwhile */
    uint32_t candidates = fs->space.victims;
    uint32_t garbage = 0, room = 0; /* what victims hold that nobody needs; what they have beside live data */

    fs->space.victims = 0;
    fs->walk.to_move = fs->walk.gain = 0;
    while ((cell = pick(fs, candidates, parts, won < enough)) < NF2_CELLS) {
        uint32_t size = cell_size(fs, cell, &used), live = fs->space.live[cell];
        candidates &= ~(1u << cell);
        won += size;
        fs->space.victims |= 1u << cell;
        fs->walk.to_move += live * nf2_block_pages(fs) / per_block;
        fs->walk.gain += size - live / per_block;
        parts -= nf2_min(parts, live + live / 8 + 1); /* leaves are written anew, too */
        garbage += garbage_of(fs, cell);
        room += size * per_block - live;
    }
    bool wins = garbage >= per_block / 16 || room > fs->space.cell_blocks * per_block;
    fs->space.victims = wins ? fs->space.victims : 0; /* else holes would be moved about, for ever */
    return fs->space.victims != 0;
}

/* What can be won in a range of cells; 0 where a zoom was aimed at it already. */
static uint32_t garbage_in(const nf2_t *fs, uint32_t first, uint32_t cells)
{
    uint32_t sum = 0;

    for (uint32_t cell = first; cell < first + cells; cell++) {
        bool done = (fs->walk.looked_closer >> cell & 1u) != 0;
        sum += done ? 0 : garbage_of(fs, cell);
    }
    return sum;
}

bool nf2_victims_zoom(nf2_t *fs)
{
    uint32_t size = fs->space.cell_blocks, cells = nf2_min(NF2_CELLS / size, NF2_CELLS), most = 0, best = 0;
    uint32_t least = nf2_space_parts(fs); /* a block */

    if (nf2_victims_zoomed(fs) || size == 1) {
        return false;
    }
    for (uint32_t first = 0; first + cells <= NF2_CELLS; first++) {
        uint32_t sum = garbage_in(fs, first, cells);
        best = sum > most ? first : best;
        most = nf2_max(sum, most);
    }
    for (uint32_t cell = best; cell < best + cells; cell++) {
        fs->walk.looked_closer |= 1u << cell;
    }
    fs->space.cell_first = (uint16_t)(best * size);
    fs->space.cell_blocks = 1;
    return most >= least;
}
