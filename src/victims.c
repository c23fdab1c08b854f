/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * victims.c - the choice of victims. Constants: docs/DESIGN.md, "Which regions are emptied"; each
 * is held by a test of tests/unit/test_regions.c.
 */
#include "victims.h"

#define WORTH 184u              /* of 256: where more is live, copying costs more than the single
                                   erases of holes */
#define WORTH_SINGLE 240u       /* the same where a region is one block, or blocks are lacking */
#define WORTH_IDLE 32u          /* the same in idle time, while much is in stock */
#define HOLES_FEW 4u            /* blocks: with fewer holes copying is the only way */
#define SHARE 12u               /* a walk wins that part of what is dead, */
#define VICTIMS_MOST 32u        /* by as many regions at most */
#define FEW_WON 3u              /* regions: with less gain a walk looks for holes, too */
#define FEW 32u                 /* bytes: pieces may be that short */
#define MUCH 1024u              /* pieces should be longer than that: victims are mostly live */
#define GRAIN_LEAST 8u          /* powers of two: 256 bytes, */
#define GRAINS_ABOVE 0xFu       /* a bit for each above that, up to NF2_GRAIN_MOST */

NF2_APART uint32_t nf2_victims_floor(const nf2_t *fs)
{
    return 3u + 2u * fs->root_level;
}

/* May a region be emptied? It is in use, nothing in it is pinned, and it has something to win. */
static bool candidate(const nf2_t *fs, uint32_t region)
{
    return nf2_region_state(fs, region) == NF2_REGION_USED &&
           fs->space.live[region] < NF2_LIVE_FULL;
}

/*
 * The region with the least that is live, of those with more than `*live`, or as much and a higher
 * number than `region`: so all of them are met in turn. NF2_NO_REGION: that was the last one.
 */
static uint32_t next_emptiest(const nf2_t *fs, uint32_t region, uint32_t most)
{
    uint32_t last = region == NF2_NO_REGION ? 0 : (uint32_t)fs->space.live[region] << 8 | region;
    uint32_t best = (most + 1) << 8, found = NF2_NO_REGION;

    for (uint32_t i = 0; i < fs->space.regions; i++) {
        uint32_t rank = (uint32_t)fs->space.live[i] << 8 | i;
        if ((rank > last || region == NF2_NO_REGION) && rank < best && candidate(fs, i)) {
            best = rank;
            found = i;
        }
    }
    return found;
}

/* Blocks of a region that are live, in 256ths. */
static uint32_t live_of(const nf2_t *fs, uint32_t region)
{
    return fs->space.live[region] * nf2_region_size(fs, region);
}

static uint32_t dead_in_all(const nf2_t *fs)
{
    uint32_t dead = 0;

    for (uint32_t region = 0; region < fs->space.regions; region++) {
        if (candidate(fs, region)) {
            dead += 256u * nf2_region_size(fs, region) - live_of(fs, region);
        }
    }
    return dead / 256u;
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
    bool scant = nf2_space_available(fs) < fs->blocks / 64;

    if (fs->walk.grain == NF2_GRAIN_MOST ? scant : fs->walk.need > NF2_NEED_NONE && least > MUCH) {
        least = NF2_NONE;
    }
    bool many = fs->walk.leaves_before >= fs->blocks / 64; /* leaves: pieces are short */

    for (uint32_t above = nf2_min((least - 1) >> GRAIN_LEAST, GRAINS_ABOVE); above != 0;
         above >>= 1) {
        grain++;
    }
    fs->walk.grain = (uint8_t)(many && least > FEW ? grain : 0);
}

/*
 * Up to how much live a victim may be: where regions are mostly live holes are cheaper, unless
 * pieces are so short that there are none.
 */
static uint32_t worth(const nf2_t *fs)
{
    bool holes = nf2_region_blocks(fs) > 1 && fs->walk.need <= NF2_NEED_NONE &&
                 fs->space.holes_found >= HOLES_FEW;

    switch (fs->walk.need) {
    case NF2_NEED_LITTLE:
        return WORTH_IDLE;
    case NF2_NEED_LAST:
        return NF2_LIVE_FULL - 1;
    default:
        return holes ? WORTH : WORTH_SINGLE;
    }
}

/*
 * The regions that are looked through: some of those with something pinned, which cannot be
 * emptied, others each time, and the emptiest of those that are too live for it.
 */
static void choose_holes(nf2_t *fs, uint32_t region)
{
    uint32_t regions = fs->space.regions, pinned = nf2_holes_room(fs) / 4 + 1;

    for (uint32_t i = 0, at = fs->erases % regions; i < regions && pinned > 0; i++) {
        bool used = nf2_region_state(fs, at) == NF2_REGION_USED;
        if (used && fs->space.live[at] == NF2_LIVE_PINNED) {
            pinned -= nf2_holes_look(fs, at) ? 1 : pinned;
        }
        at = (at + 1) % regions;
    }
    do {
        region = next_emptiest(fs, region, NF2_LIVE_FULL - 1);
    } while (region != NF2_NO_REGION && nf2_holes_look(fs, region));
}

/* Victims are regions in use again. */
static void stay(nf2_t *fs)
{
    for (uint32_t region = 0; region < fs->space.regions; region++) {
        if (nf2_region_state(fs, region) == NF2_REGION_VICTIM) {
            nf2_region_set(fs, region, NF2_REGION_USED);
        }
    }
}

void nf2_victims_choose(nf2_t *fs, bool marks, struct nf2_choice *choice)
{
    uint32_t stock = nf2_space_stock(fs) - nf2_holes_left(fs); /* the next holes take their place */
    uint32_t floor = nf2_victims_floor(fs) + nf2_victims_leaves(fs);
    uint32_t region = NF2_NO_REGION, next, moved = 256u * choice->moves, won = 0;
    uint32_t before = choice->victims;
    /* leaves are written anew, too, and a part is for what is written meanwhile */
    uint32_t room = stock > floor ? (stock - floor) * 256u / 4 * 3 : 0;
    uint32_t size = nf2_region_blocks(fs);

    choice->dead = dead_in_all(fs);
    uint32_t target = nf2_max(choice->dead / SHARE, size) * 256u, limit = worth(fs);
    if (fs->walk.need > NF2_NEED_NONE) { /* nothing is written meanwhile */
        floor = nf2_victims_floor(fs);
        room = stock > floor ? (stock - floor) * 256u / 9 * 8 : 0;
    }

    while (choice->victims < before + VICTIMS_MOST && won < target &&
           (next = next_emptiest(fs, region, limit)) != NF2_NO_REGION) {
        uint32_t live = live_of(fs, next);
        if (moved + live > room) {
            break;
        }
        region = next;
        moved += live;
        won += 256u * nf2_region_size(fs, region) - live;
        choice->victims++;
        if (marks) {
            nf2_region_set(fs, region, NF2_REGION_VICTIM);
        }
    }
    if (won < 256u && before == 0) { /* less than a block: it would be moved about for ever */
        if (marks) {
            stay(fs);
        }
        choice->victims = moved = won = 0;
    }
    choice->moves = (moved + 255u) / 256u;
    choice->gain = won / 256u;
    if (marks) {
        choose_grain(fs, moved, won);
        if ((won < FEW_WON * size * 256u && moved >= won) || fs->walk.need > NF2_NEED_NONE) {
            choose_holes(fs, region);
        }
    }
}

/* ---- where nothing moves any more ------------------------------------------------------------ */

void nf2_victims_stay(nf2_t *fs)
{
    if (fs->walk.moves) {
        stay(fs);
    }
    fs->walk.moves = false;
    fs->walk.to_move = 0;
}

void nf2_walk_abandon(nf2_t *fs)
{
    nf2_victims_stay(fs);
    fs->walk.active = false;
    nf2_holes_forget(&fs->space.marked);
}
