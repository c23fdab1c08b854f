/* SPDX-License-Identifier: BSD-2-Clause */
#include "sweep.h"

#include "bad.h"
#include "victims.h"
#include "walk.h"
#include "wear.h"

#define LEFT_MOST 254u          /* see nf2_space.left: that many or more; 255: nobody knows */
#define LEFT_FEW 24u            /* blocks of a window: idle time goes on to what is ready */
#define IDLE_WALKS 28u          /* that idle time makes behind a call at most */

#define LEAF_WORK 2u            /* of a leaf that is visited, in pages copied */
#define EFFORT 300u             /* of a call, see nf2_io: then a walk is left to the next one */
#define JOINS 6u                /* of leaves in the walks of a call: each erases a block */

/* What is left to do of a walk, in pages copied. */
static NF2_APART uint32_t work_left(const nf2_t *fs)
{
    uint32_t all = nf2_max(fs->walk.leaves_before, fs->walk.leaves) + 1u - fs->walk.leaves;

    return LEAF_WORK * all + (fs->walk_emptying ? fs->to_move : 0);
}

/* Blocks that so many moved pages take: their leaves are written anew, too. */
static uint32_t blocks_of_moves(const nf2_t *fs, uint32_t pages)
{
    return pages * 9 / 8 / nf2_block_pages(fs);
}

/*
 * A phase of a walk begins: how many blocks may be taken until it has to be done. Marking is done
 * soon; while victims are emptied less is taken than they will give, so that the stock does not
 * shrink from walk to walk.
 */
static void begin_phase(nf2_t *fs)
{
    struct nf2_walk *walk = &fs->walk;
    uint32_t stock = nf2_alloc_stock(fs);
    uint32_t moves = fs->walk_emptying ? blocks_of_moves(fs, fs->to_move) : 0;
    uint32_t kept = nf2_space_spare(fs) + moves, left = stock > kept ? stock - kept : 0;

    NF2_NEAR(walk);
    walk->stock = stock;
    walk->moves = fs->to_move;
    walk->work = work_left(fs);
    walk->allowed = nf2_max(fs->walk_emptying ? nf2_min(left, walk->gain / 4 * 3) :
                            nf2_min(left, 64) / 16, 1);
}

/* So many blocks of a window were free when it was last looked at. */
static void note_left(struct nf2_space *space, uint32_t window, uint32_t count)
{
    space->left[window] = (uint8_t)nf2_min((count + 1) / 2, LEFT_MOST);
}

/*
 * The window that is marked is taken from now on: its bits go on record. `fresh`: it was never
 * used, and is erased.
 */
static int take_over(nf2_t *fs, bool fresh)
{
    struct nf2_space *space = &fs->space;

    NF2_TRY(nf2_walk_pin(fs));
    if (fs->now_window != fs->mark_window) { /* else nf2_wear_take() has seen to it */
        note_left(space, fs->now_window, fs->now_free);
        fs->erased_groups = 0;
        fs->ahead = 0;
    }
    memcpy(space->now, space->mark, NF2_WINDOW_BYTES);
    fs->now_window = fs->mark_window;
    fs->now_free = (uint16_t)nf2_space_count(space->now);
    fs->now_fresh = fresh;
    fs->fresh = fresh && fs->now_window + 1u < nf2_windows(fs);
    fs->drained = false;
    fs->now_counted = true;
    fs->walk.stock = nf2_alloc_stock(fs);
    return nf2_journal_checkpoint(fs);
}

static bool dead_orphan(const nf2_t *fs, uint32_t id)
{
    for (const nf2_file_t *file = fs->files; file != NULL; file = file->link) {
        if (file->shadow == id && !NF2_BROKEN(NF2_FAULT_ORPHAN)) {
            return false;
        }
    }
    return true;
}

/* A map that no name leads to, and no handle: 1, 0 if there is none, or an error. */
static NF2_APART int find_orphan(nf2_t *fs, uint32_t *id)
{
    int found;

    *id = 0;
    while ((found = nf2_system_next(fs, NF2_KEY_ORPHAN, *id, id)) > 0 && !dead_orphan(fs, *id)) {
        (*id)++;
    }
    return found;
}

/*
 * Adds a marked window to the lap, once; a lap over all of them gives the exact number of free
 * blocks.
 */
static NF2_APART void count_window(nf2_t *fs)
{
    struct nf2_space *space = &fs->space;
    uint32_t orphan;

    NF2_NEAR(space);
    if (space->lap_windows == 0) {
        space->lap_free = 0;
        fs->now_counted = false;
    }
    uint32_t count = nf2_space_count(space->mark), left = 2u * space->left[fs->mark_window];
    left = left < 2u * LEFT_MOST && count > left ? count - left : 0;
    fs->free = (uint16_t)nf2_min(fs->free + left, fs->blocks - 1u);
    note_left(space, fs->mark_window, count);
    space->lap_free += count;
    space->lap_windows++;
    if (space->lap_windows >= nf2_windows(fs)) {
        /* else the count was kept up to date */
        if (!fs->space.lap_known || nf2_windows(fs) == 1 || fs->pristine) {
            fs->free = (uint16_t)space->lap_free;
        }
        fs->space.lap_known = true;
        space->lap_windows = 0;
        fs->settled = fs->pristine;
        fs->leaky = !fs->pristine || find_orphan(fs, &orphan) != 0;
    }
}

/* All leaves were visited. */
static NF2_APART int end_walk(nf2_t *fs)
{
    struct nf2_walk *walk = &fs->walk;

    NF2_NEAR(walk);
    fs->victims = UINT32_MAX; /* cells with something pinned fall out */
    NF2_TRY(nf2_walk_pin(fs));
    if (!fs->walk_emptying && !fs->group_busy) {
        bool chosen = nf2_victims_choose(fs);
        NF2_TRY(nf2_wear_look(fs));
        chosen = chosen || fs->laggards != 0;
        if (chosen || (fs->walk_hard && nf2_victims_zoom(fs))) {
            NF2_TRY(nf2_walk_begin(fs, chosen));
            begin_phase(fs);
            return NF2_OK;
        }
    }
    /* What a zoom looked at does not count: it looks at other parts until none is left. */
    walk->fruitless = fs->walk_emptying ? 0 : (uint8_t)(walk->fruitless + !walk->zoomed);
    fs->victims = fs->laggards = 0;
    walk->ended = fs->erases;
    bool same = fs->mark_window == fs->now_window;
    /* before it is counted: a record meanwhile must not have new counts and old bits */
    if (same) {
        nf2_wear_take(fs);
    }
    count_window(fs);
    if (same) {
        return take_over(fs, false);
    }
    fs->walk_ready = true;
    return NF2_OK;
}

/*
 * 1 when a walk has ended, 0, or an error. A read that keeps a move from being applied is one: to
 * the change that follows it would look like a lack of blocks.
 */
static int walk_step(nf2_t *fs)
{
    int ended = nf2_walk_step(fs);

    NF2_TRY(ended);
    int applied = nf2_group_redo_pending(fs);
    NF2_TRY(applied != NF2_NEED_SPACE ? applied : NF2_OK);
    NF2_TRY(ended > 0 ? end_walk(fs) : NF2_OK);
    return ended;
}

/* ---- windows --------------------------------------------------------------------------------- */

/* What a walk would find of a window that was never used. */
static int mark_bad_keys(nf2_t *fs)
{
    uint32_t block = fs->mark_window * fs->window_blocks;
    int found;

    for (; (found = nf2_system_next(fs, NF2_KEY_BAD, block, &block)) > 0; block++) {
        (void)nf2_space_mark(fs, block);
    }
    return found;
}

/*
 * Goes on to the next window: to one that was never used without any walk. 1 if so, 0 if a walk is
 * needed.
 */
static int next_window(nf2_t *fs)
{
    if (fs->fresh && fs->now_window + 1u < nf2_windows(fs)) {
        fs->mark_window = fs->now_window + 1;
        nf2_space_clear(fs, fs->space.mark, fs->mark_window);
        NF2_TRY(mark_bad_keys(fs));
        NF2_TRY(take_over(fs, true));
        return 1;
    }
    if (fs->walk_ready || (NF2_BROKEN(NF2_FAULT_VICTIMS) && fs->walk_emptying)) {
        nf2_wear_take(fs);
        fs->walk_ready = false;
        NF2_TRY(take_over(fs, false));
        return 1;
    }
    if (!fs->walk_active) {
        fs->mark_window = (uint16_t)((fs->mark_window + 1u) % nf2_windows(fs));
        if (fs->space.lap_windows == 0) {
            fs->pristine = true;
        }
        nf2_victims_begin(fs);
        NF2_TRY(nf2_walk_begin(fs, false));
        begin_phase(fs);
    }
    return 0;
}

/*
 * Removes the entries of a map that no name leads to, a leaf at a time: 1 if there was one, 0 if
 * not, or an error. In a search bad blocks go on record first: what drops out of their list would
 * be found free again by the walks that follow.
 */
static int orphan_step(nf2_t *fs)
{
    uint32_t id, before = fs->changes;
    struct nf2_key key;
    struct nf2_op op;

    /* a leaf may have to be written anew: first a walk looks for blocks */
    if (nf2_alloc_stock(fs) <= 3 || fs->group_busy) {
        return 0;
    }
    int found = fs->idle == 0 ? nf2_bad_record(fs) : NF2_OK;
    found = found == NF2_OK ? find_orphan(fs, &id) : found;
    if (found > 0) {
        /* NOLINTNEXTLINE(clang-analyzer-*): find_orphan() sets it */
        nf2_op_range(&op, id, 0, NF2_FILE_MAX + 1u);
        found = nf2_tree_first_part(fs, &op, &key);
        NF2_TRY(found);
        if (found == 0) {
            nf2_op_delete_orphan(&op, id);
        }
        found = nf2_change_one(fs, &op);
        /* where nothing is removed a leaf is out of order */
        found = found < 0 ? found : before != fs->changes ? 1 : NF2_ERR_IO;
    }
    return found != NF2_NEED_SPACE ? found : 0;
}

/* One walk, or as much of it as is needed; `taken`: a window is taken without any. */
static int walk_once(nf2_t *fs, bool (*enough)(const nf2_t *fs, uint32_t number), uint32_t number)
{
    int taken = next_window(fs), ended = 0;

    while (taken == 0 && ended == 0 && !enough(fs, number)) {
        ended = walk_step(fs);
    }
    return taken < 0 ? taken : ended;
}

/*
 * Blocks are lacking: handles keep one of what they hold to write to, the next walk finds the
 * others.
 */
static void give_up_runs(nf2_t *fs)
{
    for (nf2_file_t *file = fs->files; file != NULL; file = file->link) {
        file->run.count = (uint16_t)nf2_min(file->run.count, 1);
    }
}

static NF2_APART bool nodes_enough(const nf2_t *fs, uint32_t number)
{
    return nf2_alloc_stock(fs) >= number;
}

static bool data_enough(const nf2_t *fs, uint32_t number)
{
    uint32_t kept = fs->walk_hard ? nf2_space_kept(fs) : number;
    return nf2_alloc_stock(fs) > kept;
}

/* What is free in all is enough, and data finds some of it. */
static bool total_enough(const nf2_t *fs, uint32_t number)
{
    return nf2_space_total(fs) >= number && nf2_alloc_stock(fs) > nf2_space_kept(fs);
}

/*
 * Walks until there is enough, as long as that wins anything: first as at any time, then (hard)
 * emptying whatever wins something; in the end, unless blocks are only to be there, also joining
 * leaves that nearly fill one. While a GROUP is being applied they only mark.
 */
static int walk_until(nf2_t *fs, bool (*enough)(const nf2_t *fs, uint32_t number), uint32_t number)
{
    struct nf2_walk *walk = &fs->walk;
    uint32_t windows = nf2_windows(fs), most = 0, idle = 0;
    uint32_t lap = nf2_max(windows, 2); /* without anything to be won */
    uint32_t all = enough == total_enough;
    int result = NF2_OK;

    NF2_NEAR(walk);
    NF2_ASSERT(fs->opened || fs->root_end == UINT16_MAX);
    fs->walk_hard = 0;          /* an error may have ended the last search */
    walk->joins = JOINS;
    NF2_TRY(nf2_group_end(fs, NF2_OK)); /* else it could only mark */
    /* a search for all blocks may have left enough in another window */
    while (!enough(fs, number)) {
        /* in vain: this search, or the last one, since which nothing has changed */
        if (walk->spent - 2 * (fs->changes + fs->moves) <= all) {
            result = NF2_ERR_NOSPC;
            break;
        }
        int orphans = orphan_step(fs);
        NF2_TRY(orphans);
        if (orphans == 0) {
            if (fs->walk_hard) { /* else space would be refused */
                walk->joins = UINT8_MAX;
            }
            NF2_TRY(walk_once(fs, enough, number));
            uint32_t total = nf2_space_total(fs);
            idle++;
            if (total > most) {
                most = total;
                idle = 0;
                walk->looked_closer = 0;
            }
        }
        if (idle > (fs->walk_hard ? 6 * windows + 6 : windows) ||
            (fs->walk_hard && walk->fruitless >= lap)) {
            fs->walk_hard++;
            walk->fruitless = 0;
            idle = 0;
            give_up_runs(fs);
        }
        if (fs->walk_hard + all > NF2_JOINS) {
            walk->spent = 2 * (fs->changes + fs->moves) + all;
        }
    }
    fs->walk_hard = 0;
    return result;
}

/* Not all that is free may be known: what other windows need counts where a promise is kept. */
static NF2_APART uint32_t held_back(const nf2_t *fs)
{
    return nf2_space_reserve(fs, fs->promised != 0);
}

/* ---- pace ------------------------------------------------------------------------------------ */

/* Work that should be left by now. */
static uint32_t work_due(const nf2_t *fs)
{
    const struct nf2_walk *walk = &fs->walk;
    uint32_t stock = nf2_alloc_stock(fs) +
                     (fs->walk_emptying ? blocks_of_moves(fs, walk->moves - fs->to_move) : 0);
    uint32_t taken = (walk->stock > stock ? walk->stock - stock : 0) + 1u;

    return taken < walk->allowed ? walk->work - walk->work * taken / walk->allowed : 0;
}

/*
 * Of a call, up to which it goes on with a walk: more where less than half a window is free in all,
 * and where `few` blocks are left.
 */
static uint32_t effort_allowed(const nf2_t *fs, bool few)
{
    uint32_t more = EFFORT * fs->window_blocks / 2 / (nf2_space_total(fs) + 1u);

    return few ? 3 * fs->blocks : nf2_max(EFFORT, more);
}

/*
 * So much of the walk is done with each change that it ends before the window does. What one call
 * does has a bound: what is late is left to the calls that follow.
 */
static NF2_APART int pace(nf2_t *fs)
{
    struct nf2_walk *walk = &fs->walk;
    /* Then the walk goes on with each call, and empties whatever wins something. */
    bool few = fs->space.lap_known && walk->spent == 0 &&
               nf2_space_total(fs) < held_back(fs) + fs->window_blocks / 64;
    bool empty = fs->now_free == 0 || fs->drained;
    bool used_up = few || (empty && (fs->fresh || fs->erases - walk->ended > 16));
    /* garbage ripens */
    uint32_t begin = walk->stock > fs->window_blocks / 3 ? walk->stock / 3 * 2 : walk->stock;

    fs->walk_hard = few;
    if (fs->fresh || fs->walk_ready) {
        return used_up ? next_window(fs) : NF2_OK;
    }
    if (!fs->walk_active) {
        if ((nf2_alloc_stock(fs) >= begin && !used_up) ||
            (nf2_windows(fs) == 1 && fs->now_free > fs->window_blocks / 4)) {
            return NF2_OK;
        }
        NF2_TRY(next_window(fs));
    }
    walk->joins = JOINS;
    uint32_t due = used_up ? 0 : work_due(fs);
    bool emptying = fs->walk_emptying;
    while (fs->walk_active && fs->walk_emptying == emptying && work_left(fs) > due &&
           fs->effort < effort_allowed(fs, few)) {
        NF2_TRY(walk_step(fs));
    }
    return NF2_OK;
}

/*
 * Begins the session, and finishes a GROUP; where that lacks blocks, walks look for some. With no
 * more to be found the session has begun by then: the search took windows.
 */
int nf2_sweep_begin(nf2_t *fs)
{
    int result;

    while ((result = nf2_journal_open(fs)) == NF2_NEED_SPACE ||
           (result == NF2_OK && (result = nf2_group_redo_pending(fs)) == NF2_NEED_SPACE)) {
        result = walk_until(fs, nodes_enough, nf2_alloc_stock(fs) + 1);
        NF2_TRY(result == NF2_ERR_NOSPC && fs->group_busy == NF2_GROUP_NONE ? NF2_OK : result);
    }
    return result;
}

int nf2_sweep_ready(nf2_t *fs, bool urgent)
{
    uint32_t kept = nf2_space_kept(fs);

    fs->walk.idle_walks = 0;
    NF2_TRY(nf2_sweep_begin(fs));
    NF2_TRY(nf2_bad_record(fs));
    NF2_TRY(pace(fs));
    /* a removal frees as many nodes as it takes: on a full volume each would walk in vain */
    if (nodes_enough(fs, urgent ? fs->root_level + 3u : kept)) {
        return NF2_OK;
    }
    int result = walk_until(fs, nodes_enough, kept);
    return result == NF2_ERR_NOSPC && urgent && nf2_alloc_stock(fs) > 0 ? NF2_OK : result;
}

int nf2_sweep_more(nf2_t *fs)
{
    return walk_until(fs, data_enough, nf2_space_spare(fs));
}

int nf2_sweep_room(nf2_t *fs, uint32_t blocks)
{
    return walk_until(fs, total_enough, held_back(fs) + blocks);
}

int nf2_sweep_step(nf2_t *fs)
{
    /* orphans are not looked for while a walk is on: each step would read two leaves */
    if (!fs->walk_active) {
        int orphans = orphan_step(fs);
        /* what is ready is taken: with more blocks more can be emptied */
        bool few = fs->now_free < LEFT_FEW;
        if (orphans != 0 || (fs->walk_ready && !few) || fs->fresh || fs->settled ||
            fs->walk.idle_walks == IDLE_WALKS) {
            return orphans;
        }
        fs->walk.idle_walks++;
        NF2_TRY(next_window(fs));
    }
    fs->walk.joins = 1;
    NF2_TRY(fs->walk_active ? walk_step(fs) : NF2_OK);
    return 1;
}
