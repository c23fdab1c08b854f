/* SPDX-License-Identifier: BSD-2-Clause */
#include "clean.h"

#include "batch.h"
#include "content.h"
#include "evacuate.h"
#include "flash.h"
#include "region.h"
#include "space.h"
#include "split.h"

#define NODES 5u                /* of the tree, that may lie in a group */
#define LEAVES 16u              /* of a map, and programs, in a step of a call that waits for it */
#define PROGRAMS 64u
#define COPIES 8u               /* blocks of copies in one walk, on a small volume */

/* ---- groups ------------------------------------------------------------------------------------- */

static struct nf2_run group_run(const nf2_t *fs, uint32_t number)
{
    uint32_t large = nf2_large_blocks(fs);
    struct nf2_run run = {nf2_group_shift(fs, large) + number * large, large};

    return run;
}

static uint32_t group_count(const nf2_t *fs)
{
    uint32_t large = nf2_large_blocks(fs), shift = nf2_group_shift(fs, large);

    return fs->blocks > shift ? (fs->blocks - shift) / large : 0;
}

static uint32_t groups_in(const nf2_t *fs, enum nf2_group_state state)
{
    uint32_t count = 0;

    for (unsigned i = 0; i < NF2_CLEAN_GROUPS; i++) {
        count += fs->group[i].state == state;
    }
    return count;
}

/* Blocks of copies that a group makes of which so many parts are live. */
static uint32_t copies_of(const nf2_t *fs, uint32_t live)
{
    return (live * nf2_large_blocks(fs) + 255u) / 256u;
}

/* What each block costs that is won by emptying it; NF2_NONE where none is won. */
static uint32_t group_us(const nf2_t *fs, uint32_t live)
{
    uint32_t large = nf2_large_blocks(fs), copied = copies_of(fs, live), pages = live * large * (nf2_block_bytes(fs) / nf2_page(fs)) / 256u;
    uint32_t copy = pages * (fs->flash->read_page_us + fs->flash->program_page_us), walks = fs->flash->erase_block_us / 4u;

    return copied >= large ? NF2_NONE : (fs->flash->large_erase_us + copy + copy / 8u + walks) / (large - copied);
}

/*
 * Are all blocks of the group free and dirty, but for `owned` ones that are the file's, and nodes of the tree? 0 if not, else one
 * more than there are nodes. `region`: the one that was looked at last, if any.
 */
static NF2_APART int is_group(nf2_t *fs, struct nf2_region *region, uint32_t first, uint32_t owned)
{
    uint32_t large = nf2_large_blocks(fs), at = first % NF2_REGION_BLOCKS, used = 0;
    struct nf2_path path;
    int nodes = 0;

    if (at + large > NF2_REGION_BLOCKS) {
        return 0;
    }
    if (region->number != first / NF2_REGION_BLOCKS) {
        NF2_TRY(nf2_region_read(fs, first / NF2_REGION_BLOCKS, region));
    }
    for (uint32_t i = at; i < at + large; i++) {
        unsigned state = nf2_region_state(region, i);
        if (state != NF2_BLOCK_DIRTY && state != NF2_BLOCK_USED) {
            return 0;
        }
        used += state == NF2_BLOCK_USED;
    }
    if (used > owned + NODES) {
        return 0;
    }
    for (uint32_t i = 0; i < large && used > owned + (uint32_t)nodes; i++) {
        int node = nf2_region_state(region, at + i) == NF2_BLOCK_USED ? nf2_tree_way_to(fs, first + i, &path) : 0;
        NF2_TRY(node);
        nodes += node;
    }
    return used == owned + (uint32_t)nodes ? nodes + 1 : 0;
}

/* Does a handle need blocks of the group as they are? */
static NF2_APART int handles_need(nf2_t *fs, const struct nf2_run *run, bool *needed)
{
    uint8_t bin[2] = {0};
    struct nf2_census census = {fs->clean_id, run->start, run->count, 1, bin};

    NF2_TRY(nf2_census_handles(fs, &census));
    *needed = nf2_census_full(&census, 0);
    return NF2_OK;
}

/* ---- choosing ----------------------------------------------------------------------------------- */

/* A group that is worth while gets the place of a dearer one in the list, if it can be emptied. */
static int propose(nf2_t *fs, struct nf2_region *region, uint32_t number, uint32_t live, uint32_t owned)
{
    struct nf2_group *place = NULL;

    for (unsigned i = 0; i < NF2_CLEAN_GROUPS; i++) {
        struct nf2_group *group = &fs->group[i];
        bool worse = group->state == NF2_GROUP_NONE || (group->state == NF2_GROUP_CHEAP && group->live > live);
        if (worse && (place == NULL || group->state == NF2_GROUP_NONE || (place->state != NF2_GROUP_NONE && group->live > place->live))) {
            place = group;
        }
    }
    if (place != NULL) {
        int whole = is_group(fs, region, group_run(fs, number).start, owned);
        NF2_TRY(whole);
        if (whole > 0) {
            place->number = (uint16_t)number;
            place->live = (uint8_t)live;
            place->state = NF2_GROUP_CHEAP;
        }
    }
    return NF2_OK;
}

/* What was counted goes into the list, if a block of it is won for less than an erase of its own takes. */
static NF2_APART int propose_all(nf2_t *fs, const struct nf2_census *census)
{
    uint32_t first = (census->first - group_run(fs, 0).start) / census->blocks, part = census->blocks * nf2_block_bytes(fs) / 256u;
    struct nf2_region region = {.number = NF2_NONE};

    for (uint32_t i = 0; i < census->bins; i++) {
        uint32_t live = (nf2_census_live(fs, census, i) + part - 1u) / part;
        bool listed = false;
        for (unsigned j = 0; j < NF2_CLEAN_GROUPS; j++) { /* what was known of it is old */
            struct nf2_group *group = &fs->group[j];
            group->state = group->number == first + i && group->state == NF2_GROUP_CHEAP ? NF2_GROUP_NONE : group->state;
            listed = listed || (group->number == first + i && group->state != NF2_GROUP_NONE);
        }
        if (!listed && nf2_census_owned(census, i) > 0 && !nf2_census_full(census, i) && group_us(fs, live) <= fs->flash->erase_block_us) {
            NF2_TRY(propose(fs, &region, first + i, live, nf2_census_owned(census, i)));
        }
    }
    return NF2_OK;
}

/* The next walk empties the cheapest groups of the list, but none that is much dearer than the last ones: a better one may come. */
static int choose(nf2_t *fs, uint32_t live, bool hurry)
{
    uint32_t dearest = hurry || fs->erased_blocks < nf2_large_blocks(fs) / 2u ? 255u : fs->clean_price;
    uint32_t free = nf2_space_free_blocks(fs), room = free - nf2_min(free, nf2_space_reserve(fs)), most = COPIES + fs->blocks / 256u, copied = 0;

    fs->clean_found = fs->clean_found || groups_in(fs, NF2_GROUP_CHEAP) > 0;
    for (unsigned n = 0; n < NF2_VICTIMS_MAX; n++) {
        struct nf2_group *best = NULL;
        for (unsigned i = 0; i < NF2_CLEAN_GROUPS; i++) {
            struct nf2_group *group = &fs->group[i];
            if (group->state == NF2_GROUP_CHEAP && group->live <= nf2_min(live * 16u, dearest) && (best == NULL || group->live < best->live)) {
                best = group;
            }
        }
        copied += best != NULL ? copies_of(fs, best->live) : 0;
        if (best == NULL || copied > (n == 0 ? room : nf2_min(room, most))) {
            break;
        }
        struct nf2_run run = group_run(fs, best->number);
        bool needed = false;
        NF2_TRY(handles_need(fs, &run, &needed));
        best->state = needed ? NF2_GROUP_NONE : NF2_GROUP_VICTIM;
        fs->clean_price = n == 0 ? best->live : fs->clean_price;
        dearest = nf2_min(dearest, fs->clean_price + fs->clean_price / 8u + 4u);
    }
    fs->clean_price = (uint8_t)nf2_min(255u, fs->clean_price + fs->clean_price / 16u + 2u);
    return NF2_OK;
}

/* ---- emptied groups ------------------------------------------------------------------------------ */

/* Moves a node of the group elsewhere, or one above it that has to go first. */
static NF2_APART int move_node(nf2_t *fs, const struct nf2_run *group)
{
    struct nf2_path path;
    int node = 0;

    for (uint32_t i = 0; i < group->count && node == 0; i++) {
        node = nf2_tree_way_to(fs, group->start + i, &path);
    }
    return node > 0 ? nf2_tree_rewrite(fs, &path) : node;
}

/* Once all of the group is free: one large erase, then it is on record as erased. 1: there are nodes to be moved before. */
static NF2_APART int erase_group(nf2_t *fs, const struct nf2_run *group)
{
    struct nf2_region region = {.number = NF2_NONE};

    NF2_TRY(nf2_space_flush(fs));
    NF2_TRY(nf2_meta_prepare(fs)); /* the log does not turn, and take one of them, before the erase is on record */
    int free = is_group(fs, &region, group->start, 0);
    if (free != 1) {
        return free > 1 ? 1 : free; /* 0: something else was quicker */
    }
    return nf2_space_erase_free(fs, group->start, group->count);
}

/* A handle whose run of blocks lies in the group in part begins a new one. */
static int part_handles(nf2_t *fs, const struct nf2_run *group)
{
    for (nf2_file_t *file = fs->files; file != NULL; file = file->next) {
        if (file->kind == NF2_BODY_INDEXED && file->id == fs->clean_id && nf2_file_writes(file) && file->own.count > 0 &&
            file->own.start < group->start + group->count && file->own.start + file->own.count > group->start) {
            NF2_TRY(nf2_indexed_record(fs, file));
        }
    }
    return NF2_OK;
}

#if defined(NF2_DEBUG) && !defined(NDEBUG)
static bool holds_nothing(nf2_t *fs, const struct nf2_run *run)
{
    uint8_t bin[2] = {0};
    struct nf2_census census = {fs->clean_id, run->start, run->count, 1, bin};

    return nf2_census_walk(fs, &census) < 0 || nf2_census_live(fs, &census, 0) == 0;
}
#endif

/* One of the emptied groups is given back and erased, if no handle has come to need it. */
static NF2_APART int finish_one(nf2_t *fs, uint32_t entries)
{
    bool needed = false;
    unsigned i = 0;

    while (fs->group[i].state != NF2_GROUP_EMPTIED) {
        i++;
    }
    struct nf2_run run = group_run(fs, fs->group[i].number);
    NF2_TRY(handles_need(fs, &run, &needed));
    if (!needed) {
        NF2_ASSERT(holds_nothing(fs, &run));
        NF2_TRY(part_handles(fs, &run));
        int more = nf2_evacuate_release(fs, fs->clean_id, &run, entries);
        if (more != 0) {
            return more < 0 ? more : NF2_OK;
        }
        int nodes = erase_group(fs, &run);
        if (nodes != 0) {
            return nodes < 0 ? nodes : move_node(fs, &run);
        }
    }
    fs->group[i].state = NF2_GROUP_NONE;
    return NF2_OK;
}

/* ---- rounds over the files ----------------------------------------------------------------------- */

#define NO_GROUP 0xFFFFu
#define ROUNDS 16u              /* over the groups of one file, while they find some, before the next file's turn */

/* The next groups from `number` on of which the file has blocks are to be counted. */
static int count_from(nf2_t *fs, uint32_t number)
{
    uint32_t groups = group_count(fs), block = group_run(fs, number).start;

    memset(fs->clean_bins, 0, sizeof fs->clean_bins);
    fs->clean_counted = NO_GROUP;
    if (number < groups) {
        int found = nf2_evacuate_next_owned(fs, fs->clean_id, &block);
        NF2_TRY(found);
        number = (block - group_run(fs, 0).start) / nf2_large_blocks(fs);
        fs->clean_counted = (uint16_t)(found && number < groups ? number : NO_GROUP);
    }
    return NF2_OK;
}

/* The next id behind the present one, maybe an indexed file's: 1, or 0 if there is none. */
static NF2_APART int next_file(nf2_t *fs)
{
    struct nf2_key key = nf2_lowest_key(fs->clean_id + 1u);
    struct nf2_entry entry;
    uint8_t kind;

    (void)nf2_clean_stop(fs);
    int found = nf2_tree_seek(fs, &key, NF2_AT_OR_ABOVE, &entry);
    if (found <= 0 || entry.id == NF2_NONE) {
        return found < 0 ? found : 0;
    }
    NF2_TRY(nf2_body_read(fs, &entry, 0, &kind, 1));
    fs->clean_id = entry.id;
    fs->clean_from = 0;
    fs->clean_rounds = 0;
    fs->clean_found = false;
    fs->clean_counted = NO_GROUP;
    NF2_TRY(kind >= NF2_BODY_PIECE && kind <= NF2_BODY_OWN ? count_from(fs, 0) : NF2_OK);
    return 1;
}

/* The end of a walk: what it emptied can be given back, and what it counted is chosen from. */
static NF2_APART int end_walk(nf2_t *fs, uint32_t live)
{
    for (unsigned i = 0; i < NF2_CLEAN_GROUPS; i++) {
        fs->group[i].state = fs->group[i].state == NF2_GROUP_VICTIM ? NF2_GROUP_EMPTIED : fs->group[i].state;
    }
    fs->clean_from = 0;
    if (fs->clean_counted != NO_GROUP) {
        struct nf2_census census = {fs->clean_id, group_run(fs, fs->clean_counted).start, nf2_large_blocks(fs), NF2_CLEAN_BINS, fs->clean_bins};
        NF2_TRY(nf2_census_handles(fs, &census));
        NF2_TRY(propose_all(fs, &census));
        NF2_TRY(count_from(fs, fs->clean_counted + NF2_CLEAN_BINS));
    }
    NF2_TRY(choose(fs, live, false));
    if (fs->clean_counted == NO_GROUP && fs->clean_found && fs->clean_rounds < ROUNDS) {
        fs->clean_found = false;
        fs->clean_rounds++;
        return count_from(fs, 0);
    }
    return NF2_OK;
}

/* All groups of the present file at once, for a call that has to go on: 1 if some are chosen. */
static NF2_APART int survey(nf2_t *fs, uint32_t live)
{
    struct nf2_census census = {.id = fs->clean_id, .blocks = nf2_large_blocks(fs)};

    for (uint32_t number = 0; number < group_count(fs); number += NF2_CENSUS_BINS) {
        census.first = group_run(fs, number).start;
        int result = nf2_census_begin(fs, &census);
        result = result < 0 ? result : propose_all(fs, &census);
        nf2_census_end(fs);
        NF2_TRY(result);
    }
    fs->clean_from = 0;
    NF2_TRY(count_from(fs, 0));
    NF2_TRY(choose(fs, live, true));
    return groups_in(fs, NF2_GROUP_VICTIM) > 0;
}

/* A part of the walk over the present file's map. */
static int walk(nf2_t *fs, uint32_t live, uint32_t leaves, uint32_t programs)
{
    struct nf2_evacuation job = {fs->clean_id, {(uint16_t)nf2_large_blocks(fs), 0, {0}}, fs->clean_counted != NO_GROUP ? fs->clean_bins : NULL,
                                 group_run(fs, fs->clean_counted).start, &fs->clean_from, leaves, programs};

    for (unsigned i = 0; i < NF2_CLEAN_GROUPS; i++) {
        if (fs->group[i].state == NF2_GROUP_VICTIM) {
            job.victims.first[job.victims.count++] = (uint16_t)group_run(fs, fs->group[i].number).start;
        }
    }
    int more = nf2_evacuate(fs, &job);
    return more != 0 || groups_in(fs, NF2_GROUP_EMPTIED) > 0 ? more : end_walk(fs, live);
}

static int step(nf2_t *fs, uint32_t live, uint32_t leaves, uint32_t programs)
{
    uint32_t start = fs->programs;

    if (groups_in(fs, NF2_GROUP_EMPTIED) > 0) {
        NF2_TRY(finish_one(fs, leaves / 2u));
        programs -= nf2_min(programs, fs->programs - start);
        if (programs < nf2_block_bytes(fs) / nf2_page(fs) || nf2_batch_waits(fs)) {
            return 1;
        }
    }
    if (fs->clean_id != 0 && (fs->clean_counted != NO_GROUP || groups_in(fs, NF2_GROUP_VICTIM) > 0)) {
        int result = walk(fs, live, leaves, programs);
        return result < 0 ? result : 1;
    }
    if (groups_in(fs, NF2_GROUP_EMPTIED) > 0) {
        return 1;
    }
    bool found = fs->clean_rounds > 0;
    int more = next_file(fs);
    fs->clean_again = fs->clean_again || found;
    if (more == 0 && fs->clean_again) { /* from the first one on */
        fs->clean_again = false;
        return 1;
    }
    return more;
}

/* The same where a call waits for it: not in search of the best group by many walks. */
static int urgent_step(nf2_t *fs, uint32_t live)
{
    if (groups_in(fs, NF2_GROUP_VICTIM) + groups_in(fs, NF2_GROUP_EMPTIED) > 0) {
        return step(fs, live, LEAVES, PROGRAMS);
    }
    int result = fs->clean_id != 0 && fs->clean_counted != NO_GROUP ? survey(fs, live) : 0;
    return result == 0 ? next_file(fs) : result;
}

int nf2_clean_step(nf2_t *fs, uint32_t live, uint32_t leaves, uint32_t programs)
{
    bool urgent = fs->urgent;

    fs->urgent = true;
    int result = leaves > 0 ? step(fs, live, leaves, programs) : urgent_step(fs, live);
    fs->urgent = urgent;
    if (result < 0) { /* where it stood is not known */
        (void)nf2_clean_stop(fs);
    }
    return result;
}

uint32_t nf2_clean_pool(const nf2_t *fs)
{
    return nf2_large_blocks(fs) / 2u + fs->blocks / 100u;
}

bool nf2_clean_pays(const nf2_t *fs)
{
    uint32_t large = nf2_large_blocks(fs);

    return large > 1u && large <= 31u;
}
