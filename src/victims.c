/* SPDX-License-Identifier: BSD-2-Clause */
#include "victims.h"

/* Of 16 parts: with less live data a large erase costs less than small ones of what is free. */
#define WORTH 11u
#define FEW 32u                 /* bytes: pieces may be that short */
#define MUCH 1024u              /* pieces should be longer than that: victims are mostly live */
#define GRAIN_LEAST 8u          /* powers of two: 256 bytes, */
#define GRAINS_ABOVE 0xFu       /* a bit for each above that, up to NF2_GRAIN_MOST */

NF2_APART uint32_t nf2_victims_floor(const nf2_t *fs)
{
    return 3u + 2u * fs->root_level;
}

/* As many blocks as a large erase takes, on volumes that have enough of such cells. */
static uint32_t cell_as_rule(const nf2_t *fs)
{
    uint32_t group = nf2_group_blocks(fs), large = nf2_min(nf2_large_blocks(fs), 16);

    return fs->window_blocks >= 8 * large ? nf2_max(group, large) : group;
}

void nf2_victims_begin(nf2_t *fs)
{
    fs->victims = fs->laggards = 0;
    fs->walk.zoomed = false;
    fs->cell_first = 0;
    fs->cell_blocks = (uint16_t)cell_as_rule(fs);
}

struct cell {
    uint32_t blocks, used;      /* all, and those in use */
    uint32_t live;              /* parts of these that hold something live */
    uint32_t garbage;           /* and those that do not */
};

static void look_at(const nf2_t *fs, uint32_t number, struct cell *cell)
{
    uint32_t first = fs->cell_first + number * fs->cell_blocks;
    uint32_t behind = fs->blocks - fs->mark_window * fs->window_blocks;
    uint32_t end = nf2_min(first + fs->cell_blocks, nf2_min(fs->window_blocks, behind));

    cell->blocks = cell->used = 0;
    for (; first < end; first++) {
        cell->blocks++;
        cell->used += nf2_bit(fs->space.mark, first);
    }
    uint32_t parts = cell->used * nf2_space_parts(fs);
    cell->live = fs->space.live[number];
    cell->garbage = parts > cell->live ? parts - cell->live : 0;
}

/*
 * Is a cell worth emptying? `scarce`: for whatever it wins. Else for a large erase, or where much
 * is won.
 */
static bool worth_emptying(const nf2_t *fs, const struct cell *cell, bool scarce)
{
    uint32_t parts = nf2_space_parts(fs);
    bool single = fs->cell_blocks == 1, large = nf2_large_blocks(fs) > 1 && !single;
    bool cheap = 16 * cell->live <= WORTH * parts * (large ? cell->blocks : cell->used);
    bool wins = cell->garbage >= (single ? parts / 16 : parts) && (scarce || cheap);

    return wins || (large && cheap && cell->used > 0);
}

/*
 * The emptiest cell that is worth it and can be copied with so many parts; NF2_CELLS: there is
 * none.
 */
static NF2_APART uint32_t pick(const nf2_t *fs, uint32_t candidates, uint32_t parts, bool scarce,
                               struct cell *best)
{
    uint32_t found = NF2_CELLS;
    struct cell cell;

    for (uint32_t number = 0; number < NF2_CELLS; number++) {
        bool candidate = (candidates >> number & 1u) != 0 && fs->space.live[number] <= parts;
        if (candidate && (found == NF2_CELLS || fs->space.live[number] < best->live)) {
            look_at(fs, number, &cell);
            if (worth_emptying(fs, &cell, scarce)) {
                found = number;
                *best = cell;
            }
        }
    }
    return found;
}

/*
 * Moving a piece takes some 50 bytes of leaves, twice that where they are written anew: what is
 * written gets pieces so long that emptying victims as live as these wins. Where blocks are lacking
 * and victims are mostly live, it gets whole blocks, which leave no garbage in others, until more
 * blocks are free.
 */
static void choose_grain(nf2_t *fs, uint32_t moved, uint32_t room)
{
    uint32_t least = 150u * moved / nf2_max(room, 1), grain = GRAIN_LEAST;
    bool scant = nf2_space_available(fs) < fs->window_blocks / 16;

    if (fs->walk.grain == NF2_GRAIN_MOST ? scant : fs->walk_hard && least > MUCH) {
        least = NF2_NONE;
    }
    bool many = fs->walk.leaves_before >= fs->blocks / 64; /* leaves: pieces are short */

    for (uint32_t above = nf2_min((least - 1) >> GRAIN_LEAST, GRAINS_ABOVE); above != 0;
         above >>= 1) {
        grain++;
    }
    fs->walk.grain = (uint8_t)(many && least > FEW ? grain : 0);
}

bool nf2_victims_choose(nf2_t *fs)
{
    uint32_t stock = nf2_alloc_stock(fs), floor = nf2_victims_floor(fs);
    uint32_t per_block = nf2_space_parts(fs);
    uint32_t parts = stock > floor ? per_block * (stock - floor) : 0, enough = NF2_NONE, number;
    uint32_t won = nf2_space_count(fs->space.mark), candidates = fs->victims;
    /* parts that nobody needs, that are live, that are not */
    uint32_t garbage = 0, moved = 0, room = 0;
    struct cell cell;

    if (!fs->walk_hard) {
        enough = fs->window_blocks / 2;
        parts -= parts / 8;     /* the rest is for what is written meanwhile */
    }
    fs->victims = 0;
    while ((number = pick(fs, candidates, parts, won < enough, &cell)) < NF2_CELLS) {
        candidates &= ~(1u << number);
        fs->victims |= 1u << number;
        won += cell.blocks;
        moved += cell.live;
        room += cell.blocks * per_block - cell.live;
        parts -= nf2_min(parts, cell.live + cell.live / 8 + 1); /* leaves are written anew, too */
        garbage += cell.garbage;
    }
    fs->to_move = moved * nf2_block_pages(fs) / per_block;
    fs->walk.gain = room / per_block;
    /* not without victims */
    bool worth = garbage >= per_block / 16 || room > fs->cell_blocks * per_block;
    if (worth) {
        choose_grain(fs, moved, room);
    } else {
        fs->victims = 0;     /* holes would be moved about, for ever */
    }
    return worth;
}

/*
 * Parts that can be won in a range of cells; those at which a zoom was aimed already count as
 * none.
 */
static uint32_t garbage_in(const nf2_t *fs, uint32_t first, uint32_t behind)
{
    uint32_t sum = 0;
    struct cell cell;

    for (; first < behind; first++) {
        look_at(fs, first, &cell);
        sum += (fs->walk.looked_closer >> first & 1u) != 0 ? 0 : cell.garbage;
    }
    return sum;
}

bool nf2_victims_zoom(nf2_t *fs)
{
    uint32_t size = fs->cell_blocks, most = 0, best = 0;

    if (size == 1) {            /* as in a zoom */
        return false;
    }
    uint32_t cells = NF2_CELLS / size;  /* of as many blocks as there will be cells */
    NF2_ASSERT(cells < NF2_CELLS);
    for (uint32_t first = 0; first + cells <= NF2_CELLS; first++) {
        uint32_t sum = garbage_in(fs, first, first + cells);
        best = sum > most ? first : best;
        most = nf2_max(sum, most);
    }
    if (most < nf2_space_parts(fs)) { /* a block */
        return false;
    }
    fs->walk.looked_closer |= ((1u << cells) - 1) << best;
    fs->cell_first = (uint16_t)(best * size);
    fs->cell_blocks = 1;
    fs->walk.zoomed = true;
    return true;
}
