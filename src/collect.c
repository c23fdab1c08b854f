/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * collect.c - which walk is made when, and what becomes of it. Kept here: a region becomes free
 * only at the end of a walk that began when it was closed, and goes on record as free before
 * anything of it is programmed [10].
 */
#include "collect.h"

#include "bad.h"
#include "victims.h"
#include "walk.h"
#include "wear.h"

#define IDLE_WALKS 28u          /* that idle time makes behind a call at most */
#define LEAF_WORK 2u            /* of a leaf that is visited, in pages copied */
#define JOINS 6u                /* of leaves in the walks of a call: each erases a block */
#define ERASED_LOW 3u           /* free regions that are kept erased */
#define WALK_PAGES 150u         /* that a call programs for the walk, as a rule */
#define STEP_US 13000u          /* that a step of a walk takes at most, as a rule, */
#define OWN_US 10000u           /* and what a call programs for itself */
#define BESIDE_US 20000u        /* of a call beside one large erase, or two small ones */

/* ---- a walk's begin and end ------------------------------------------------------------------ */

/* Blocks that so many moved pages take: their leaves are written anew, too. */
static uint32_t blocks_of_moves(const nf2_t *fs, uint32_t pages)
{
    return (pages * 9 / 8 + nf2_block_pages(fs) - 1) / nf2_block_pages(fs);
}

/* What is left to do of a walk, in pages copied. */
static NF2_APART uint32_t work_left(const nf2_t *fs)
{
    const struct nf2_walk *walk = &fs->walk;
    uint32_t all = nf2_max(walk->leaves_before, walk->leaves) + 1u - walk->leaves;

    return LEAF_WORK * all + walk->to_move;
}

/* Pages that may be taken until the walk has to be done: what it moves is not for others. */
static NF2_APART uint32_t slack(const nf2_t *fs)
{
    uint32_t stock = nf2_space_stock(fs);
    uint32_t kept = nf2_space_kept(fs) + blocks_of_moves(fs, fs->walk.to_move);

    return stock > kept ? (stock - kept) * nf2_block_pages(fs) : 0;
}

/* While victims are emptied what is spare may be used up, as far as they bring it back. */
uint32_t nf2_collect_kept(const nf2_t *fs)
{
    uint32_t kept = nf2_space_kept(fs), spare = nf2_space_spare(fs), won = fs->space.victims;

    if (!fs->walk.moves) {
        return spare;
    }
    return nf2_max(kept, spare > won ? spare - won : 0) + blocks_of_moves(fs, fs->walk.to_move);
}

/* Regions that nothing refers to are free: victims, and others in which nothing was counted. */
static void free_regions(nf2_t *fs)
{
    for (uint32_t region = 0; region < fs->space.regions; region++) {
        enum nf2_region_state state = nf2_region_state(fs, region);
        bool empty = state == NF2_REGION_USED && fs->space.live[region] == 0;
        if (empty || state == NF2_REGION_VICTIM) {
            nf2_region_set(fs, region, NF2_REGION_FREE);
            fs->moves++;
        }
    }
}

static int begin_walk(nf2_t *fs)
{
    struct nf2_walk *walk = &fs->walk;
    struct nf2_choice choice = {0, 0, 0, 0};
    uint32_t rests = 0;

    nf2_holes_forget(&fs->space.marked);
    if (walk->need <= NF2_NEED_NONE) { /* their regions may be emptied: the walk finds them */
        nf2_freed_forget(fs);
    }
    NF2_TRY(nf2_walk_pin(fs)); /* what could not be emptied is not chosen */
    if (walk->counted && fs->group_busy == NF2_GROUP_NONE) {
        NF2_TRY(nf2_wear_look(fs, &choice));
        rests = choice.moves;
        nf2_victims_choose(fs, true, &choice);
    }
    nf2_freed_purge(fs);
    if (nf2_space_victim(fs, fs->fragment.block)) { /* else it would be pinned in the end */
        fs->fragment.count = 0;
    }
    if (NF2_BROKEN(NF2_FAULT_VICTIMS)) {
        free_regions(fs);
    }
    walk->moves = choice.victims > 0;
    walk->to_move = choice.moves * nf2_block_pages(fs);
    walk->disturbed = false;
    nf2_live_clear(fs);
    /* what moves beside it would come back from there soon, and wear that the more */
    fs->space.resting = rests * 2 > choice.moves ? NF2_NO_REGION : NF2_ALL_LEVEL;
    nf2_walk_begin(fs);
    walk->work = work_left(fs);
    walk->slack = slack(fs);
    /* calls take less meanwhile than it wins: so the stock does not shrink from walk to walk */
    uint32_t allowed = walk->moves ? nf2_max(choice.gain * 3 / 4, 1) : nf2_victims_leaves(fs);
    walk->allowed = nf2_min(walk->slack, allowed * nf2_block_pages(fs));
    return NF2_OK;
}

/* Would the next walk move anything? */
static NF2_APART bool would_win(nf2_t *fs)
{
    struct nf2_choice choice = {0, 0, 0, 0};

    nf2_victims_choose(fs, false, &choice);
    return choice.victims > 0;
}

/* The stock at which the next walk of calls begins: as small as what it wins allows. */
static NF2_APART void plan_next(nf2_t *fs)
{
    struct nf2_choice next = {0, 0, 0, 0};
    uint8_t need = fs->walk.need;

    fs->walk.need = NF2_NEED_NONE;
    nf2_victims_choose(fs, false, &next);
    fs->walk.need = need;
    uint32_t moves = blocks_of_moves(fs, next.moves * nf2_block_pages(fs));
    uint32_t spare = nf2_space_spare(fs) - nf2_space_kept(fs); /* moves may take that, too */
    uint32_t begin = (moves > spare ? moves - spare : 0) + nf2_max(next.gain, moves / 5) +
                     nf2_victims_leaves(fs);
    uint32_t least = nf2_region_blocks(fs) == 1 ? fs->blocks / 10 : 0;

    fs->walk.begin = nf2_space_reserve(fs) + nf2_min(nf2_max(begin, least), fs->blocks / 10);
    if (next.victims == 0) {    /* half of what may be taken until the reserve is reached */
        uint32_t stock = nf2_space_stock(fs), reserve = nf2_space_reserve(fs);
        fs->walk.begin = stock > reserve ? reserve + (stock - reserve) / 2 : 0;
    }
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

/* All leaves were visited. */
static NF2_APART int end_walk(nf2_t *fs)
{
    struct nf2_walk *walk = &fs->walk;
    uint32_t orphan;

    NF2_TRY(nf2_walk_pin(fs));
    free_regions(fs);
    nf2_holes_found(fs);
    walk->moves = false;
    walk->to_move = 0;
    walk->counted = true;
    plan_next(fs);
    if (!walk->disturbed && !would_win(fs)) {
        walk->settled = true;
        fs->leaky = find_orphan(fs, &orphan) != 0;
    }
    return nf2_journal_checkpoint(fs);
}

/*
 * 1 when a walk has ended, 0, or an error. A read that keeps a move from being applied is one: to
 * the change that follows it would look like a lack of blocks.
 */
static int walk_step(nf2_t *fs)
{
    NF2_TRY(fs->walk.moves ? nf2_wear_rest(fs) : NF2_OK);
    int ended = nf2_walk_step(fs);

    NF2_TRY(ended);
    int applied = nf2_group_redo_pending(fs);
    NF2_TRY(applied != NF2_NEED_SPACE ? applied : NF2_OK);
    NF2_TRY(ended > 0 ? end_walk(fs) : NF2_OK);
    NF2_TRY(nf2_wear_record(fs));
    return ended;
}

/* ---- a search for blocks --------------------------------------------------------------------- */

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
    if (nf2_space_stock(fs) <= 3 || fs->group_busy) {
        return 0;
    }
    int found = fs->patience == NF2_WAITS ? nf2_bad_record(fs) : NF2_OK;
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
    return nf2_space_stock(fs) >= number;
}

static bool data_enough(const nf2_t *fs, uint32_t number)
{
    uint32_t kept = fs->walk.need > NF2_NEED_NONE ? nf2_space_kept(fs) : number;
    return nf2_space_stock(fs) > kept;
}

/* What is free, and what the walk that is on will have won. */
static bool total_enough(const nf2_t *fs, uint32_t number)
{
    uint32_t moves = fs->walk.moves ? blocks_of_moves(fs, fs->walk.to_move) : 0;
    uint32_t won = fs->space.victims > moves ? fs->space.victims - moves : 0;

    return nf2_space_stock(fs) + won >= number && nf2_space_stock(fs) > nf2_space_kept(fs);
}

typedef bool enough_fn(const nf2_t *fs, uint32_t number);

/* One walk, or as much of it as is needed: 1 when it has ended. */
static int walk_once(nf2_t *fs, enough_fn *enough, uint32_t number)
{
    int ended = 0;

    NF2_TRY(fs->walk.active ? NF2_OK : begin_walk(fs));
    while (fs->walk.active && ended == 0 && !enough(fs, number)) {
        ended = walk_step(fs);
    }
    return ended;
}

/*
 * Walks until there is enough, as long as that wins anything: first as at any time, then emptying
 * whatever wins something; in the end also joining leaves that nearly fill one. While a GROUP is
 * being applied they only count.
 */
static int walk_until(nf2_t *fs, enough_fn *enough, uint32_t number)
{
    struct nf2_walk *walk = &fs->walk;
    uint32_t most = 0, fruitless = 0;
    int result = NF2_OK;

    NF2_ASSERT(fs->opened || fs->root_end == UINT16_MAX);
    walk->need = NF2_NEED_NONE; /* an error may have ended the last search */
    walk->joins = JOINS;
    NF2_TRY(nf2_group_end(fs, NF2_OK)); /* else it could only count */
    while (!enough(fs, number)) {
        /* in vain: this search, or the last one, since which nothing has changed */
        if (walk->vain == fs->changes + fs->moves) {
            result = NF2_ERR_NOSPC;
            break;
        }
        int orphans = orphan_step(fs);
        NF2_TRY(orphans);
        if (orphans > 0) {
            continue;
        }
        /* a walk that only counts what was counted wins nothing, but the last one joins leaves */
        bool vain = walk->need != NF2_NEED_LAST && walk->counted && !walk->active &&
                    !walk->disturbed && !would_win(fs);
        NF2_TRY(vain ? 0 : walk_once(fs, enough, number));
        uint32_t stock = nf2_space_stock(fs);
        fruitless = stock > most ? 0 : vain ? 3 : fruitless + !walk->active;
        most = nf2_max(stock, most);
        /* the first walk may only have counted, and the next one moved what it chose */
        if (fruitless > 2) {
            if (walk->need == NF2_NEED_LAST) {
                walk->vain = fs->changes + fs->moves;
                continue;
            }
            walk->need++;
            walk->joins = UINT8_MAX;
            fruitless = 0;
            give_up_runs(fs);
        }
    }
    walk->need = NF2_NEED_NONE;
    return result;
}

/* ---- pace ------------------------------------------------------------------------------------ */

/* How long a call may take, as long as blocks are not lacking. */
static uint32_t call_us(const nf2_t *fs)
{
    const struct nf2_flash *flash = fs->flash;
    return nf2_max(flash->large_erase_us, 2 * flash->erase_block_us) + BESIDE_US;
}

/* Work that should be left by now. */
static uint32_t work_due(const nf2_t *fs)
{
    const struct nf2_walk *walk = &fs->walk;
    uint32_t now = slack(fs), taken = walk->slack > now ? walk->slack - now : 0;
    uint32_t left = walk->allowed > taken ? walk->allowed - taken : 0, allowed = walk->allowed;

    for (; allowed > 1024; allowed /= 2) { /* the product has 32 bits: work is less than 1 << 22 */
        left /= 2;
    }
    return left > 0 ? walk->work * left / allowed : 0;
}

/*
 * Is there enough erased for a step, beside what this call may take for itself? Moves can wait for
 * the next call's erase, data cannot.
 */
static bool step_is_erased(const nf2_t *fs)
{
    const struct nf2_space *space = &fs->space;
    uint32_t regions = space->erased_regions;

    if (space->claim[NF2_FOR_NODES].erased < 3) {
        regions -= nf2_min(regions, 1);
    }
    const struct nf2_claim *moves = &space->claim[NF2_FOR_MOVES];
    return fs->walk.to_move == 0 || moves->erased >= 2 ||
           (nf2_claim_rest(fs, moves) == moves->erased && regions >= 2);
}

/*
 * So much of the walk is done with each change that it ends before the stock does. What one call
 * does has a bound: what is late is left to the calls that follow; where little is in stock that is
 * more.
 */
static NF2_APART int pace(nf2_t *fs)
{
    struct nf2_walk *walk = &fs->walk;
    uint32_t region = nf2_region_blocks(fs) * nf2_block_pages(fs);
    uint32_t most = WALK_PAGES * fs->flash->program_page_us;

    if (!walk->active) {
        /* before the first choice of victims a walk has to count */
        uint32_t first = nf2_space_reserve(fs) + fs->blocks / 8;
        if (nf2_space_stock(fs) > (walk->counted ? walk->begin : first)) {
            return NF2_OK;
        }
        NF2_TRY(begin_walk(fs));
    }
    walk->joins = JOINS;
    uint32_t due = work_due(fs);
    bool late = slack(fs) < region;
    if (late) {                 /* a walk that ends too late costs more than a long call */
        most = call_us(fs) - OWN_US - STEP_US;
        most = slack(fs) < region / 2 ? 2 * most : most;
    }
    while (walk->active && work_left(fs) > due && nf2_call_us(fs) < most &&
           (late || step_is_erased(fs))) {
        NF2_TRY(walk_step(fs));
    }
    return NF2_OK;
}

/*
 * A session that has not counted yet, and finds little in stock, makes a walk that counts and one
 * that moves at once: sessions that are cut after a few calls would never end one.
 */
static int catch_up(nf2_t *fs)
{
    for (unsigned walks = 0; walks < 2; walks++) {
        bool little = nf2_space_stock(fs) < nf2_space_spare(fs) + fs->blocks / 32;
        if (!little || (walks == 0 && fs->walk.counted)) {
            break;
        }
        NF2_TRY(walk_once(fs, nodes_enough, NF2_NONE));
    }
    return NF2_OK;
}

/* ---- erases ahead ---------------------------------------------------------------------------- */

int nf2_collect_erase(nf2_t *fs, uint32_t most_us, bool all)
{
    struct nf2_space *space = &fs->space;
    bool few = space->erased_regions < ERASED_LOW || all;

    NF2_TRY(nf2_wear_record(fs));
    if (space->ahead_region == NF2_NO_REGION && few) {
        NF2_TRY(nf2_wear_choose(fs));
    }
    return nf2_alloc_ahead(fs, most_us);
}

/*
 * Erases are made when a call begins, before they are needed, one large or two small ones: so none
 * waits for more. A call whose predecessor did so takes what is erased. So does a young session: it
 * may be cut soon, and what was erased ahead is not on record then.
 */
static int erase_ahead(nf2_t *fs)
{
    struct nf2_space *space = &fs->space;
    uint32_t us = nf2_max(fs->flash->large_erase_us, fs->flash->erase_block_us);
    uint32_t begin = nf2_call_us(fs);
    bool rests = space->erased_ahead && space->erased_regions > 0;
    int more = !nf2_space_young(fs) && !rests && begin < OWN_US;

    space->erased_ahead = false;
    while (more > 0 && nf2_call_us(fs) - begin < us) {
        more = nf2_collect_erase(fs, us, false);
        NF2_TRY(more);
        space->erased_ahead |= more > 0;
    }
    return NF2_OK;
}

/* ---- what calls ask for ---------------------------------------------------------------------- */

int nf2_collect_begin(nf2_t *fs)
{
    int result;

    if (fs->read_only) {        /* a walk may have met what it does not know */
        return NF2_ERR_ROFS;
    }
    while ((result = nf2_journal_open(fs)) == NF2_NEED_SPACE ||
           (result == NF2_OK && (result = nf2_group_redo_pending(fs)) == NF2_NEED_SPACE)) {
        result = walk_until(fs, nodes_enough, nf2_space_stock(fs) + 1);
        NF2_TRY(result == NF2_ERR_NOSPC && fs->group_busy == NF2_GROUP_NONE ? NF2_OK : result);
    }
    return result;
}

int nf2_collect_ready(nf2_t *fs, bool urgent)
{
    uint32_t kept = nf2_space_kept(fs);

    fs->walk.idle_walks = 0;
    NF2_TRY(nf2_collect_begin(fs));
    NF2_TRY(nf2_bad_record(fs));
    NF2_TRY(nf2_wear_record(fs));
    NF2_TRY(erase_ahead(fs));
    NF2_TRY(urgent ? NF2_OK : catch_up(fs));
    NF2_TRY(pace(fs));
    /* a removal frees as many nodes as it takes: on a full volume each would walk in vain */
    if (nodes_enough(fs, urgent ? fs->root_level + 3u : kept)) {
        return NF2_OK;
    }
    int result = walk_until(fs, nodes_enough, kept);
    return result == NF2_ERR_NOSPC && urgent && nf2_space_stock(fs) > 0 ? NF2_OK : result;
}

int nf2_collect_more(nf2_t *fs)
{
    return walk_until(fs, data_enough, nf2_collect_kept(fs));
}

int nf2_collect_room(nf2_t *fs, uint32_t blocks)
{
    return walk_until(fs, total_enough, nf2_space_reserve(fs) + blocks);
}

static int idle_step(nf2_t *fs)
{
    /* orphans are not looked for while a walk is on: each step would read two leaves */
    if (!fs->walk.active) {
        int orphans = orphan_step(fs);
        if (orphans != 0 || fs->walk.settled || fs->walk.idle_walks == IDLE_WALKS) {
            return orphans;
        }
        fs->walk.idle_walks++;
        NF2_TRY(begin_walk(fs));
    }
    fs->walk.joins = 1;
    NF2_TRY(walk_step(fs));
    return 1;
}

int nf2_collect_step(nf2_t *fs)
{
    bool much = nf2_space_stock(fs) > nf2_space_reserve(fs) + fs->blocks / 8;

    fs->walk.need = much ? NF2_NEED_LITTLE : NF2_NEED_NONE;
    int more = idle_step(fs);
    fs->walk.need = NF2_NEED_NONE;
    return more;
}
