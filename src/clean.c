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
 * more than there are nodes, for which so many blocks may be probed.
 */
static NF2_APART int is_group(nf2_t *fs, const struct nf2_span_use *span, uint32_t owned, uint32_t *probes)
{
    uint32_t large = nf2_large_blocks(fs), all = (1u << large) - 1u, used = 0;
    struct nf2_path path;
    int nodes = 0;

    for (uint32_t i = 0; i < large; i++) {
        used += span->used >> i & 1u;
    }
    if ((span->used | span->dirty) != all || used > owned + NODES) {
        return 0;
    }
    for (uint32_t i = 0; i < large && used > owned + (uint32_t)nodes && *probes > 0; i++) {
        *probes -= span->used >> i & 1u;
        int node = (span->used >> i & 1u) != 0 ? nf2_tree_way_to(fs, span->first + i, &path) : 0;
        NF2_TRY(node);
        nodes += node;
    }
    return used == owned + (uint32_t)nodes ? nodes + 1 : 0;
}

/* ---- choosing ----------------------------------------------------------------------------------- */

/* Groups that are worth while, the cheapest first. */
struct offer {
    struct candidate {
        uint16_t number;
        uint8_t live, owned;
    } group[NF2_SPANS_MAX];
    uint32_t count;
};

/* A group gets the place of a dearer one in the list. */
static void list_group(nf2_t *fs, const struct candidate *candidate)
{
    struct nf2_group *place = NULL;

    for (unsigned i = 0; i < NF2_CLEAN_GROUPS; i++) {
        struct nf2_group *group = &fs->group[i];
        bool worse = group->state == NF2_GROUP_NONE || (group->state == NF2_GROUP_CHEAP && group->live > candidate->live);
        if (worse && (place == NULL || group->state == NF2_GROUP_NONE || (place->state != NF2_GROUP_NONE && group->live > place->live))) {
            place = group;
        }
    }
    if (place != NULL) {
        place->number = candidate->number;
        place->live = candidate->live;
        place->state = NF2_GROUP_CHEAP;
    }
}

#define PROBES 32u              /* blocks of groups on offer of which it is asked whether they are nodes */

/* Those on offer go into the list, if they can be emptied. All that is not the file's is looked up at once. */
static NF2_APART int list_all(nf2_t *fs, const struct offer *offer)
{
    uint32_t large = nf2_large_blocks(fs), count = 0, probes = PROBES;
    struct nf2_span_use span[NF2_SPANS_MAX];

    for (uint32_t i = 0; i < offer->count; i++) {
        if (offer->group[i].owned < large) {
            span[count++].first = group_run(fs, offer->group[i].number).start;
        }
    }
    NF2_TRY(count > 0 ? nf2_region_spans(fs, span, count, large) : NF2_OK);
    count = 0;
    for (uint32_t i = 0; i < offer->count; i++) {
        int whole = offer->group[i].owned < large ? is_group(fs, &span[count++], offer->group[i].owned, &probes) : 1;
        NF2_TRY(whole);
        if (whole > 0) {
            list_group(fs, &offer->group[i]);
        }
    }
    return NF2_OK;
}

/* In front of dearer ones, if it lies in one region. */
static void offer_group(const nf2_t *fs, struct offer *offer, const struct candidate *candidate)
{
    uint32_t at = offer->count;

    if (group_run(fs, candidate->number).start % NF2_REGION_BLOCKS + nf2_large_blocks(fs) > NF2_REGION_BLOCKS) {
        return;
    }
    while (at > 0 && offer->group[at - 1u].live > candidate->live) {
        at--;
    }
    if (at < NF2_SPANS_MAX) {
        offer->count = nf2_min(offer->count + 1u, NF2_SPANS_MAX);
        memmove(&offer->group[at + 1u], &offer->group[at], (offer->count - at - 1u) * sizeof *candidate);
        offer->group[at] = *candidate;
    }
}

/* What a block may cost that is won with a group: an erase of its own, as long as others will do; more where the next are full of live data. */
static uint32_t dearest_us(const nf2_t *fs)
{
    uint32_t left = nf2_space_available(fs), pool = nf2_clean_pool(fs);

    return fs->flash->erase_block_us * (left >= pool ? 1u : 4u);
}

/* What was counted is on offer, if it is not too dear. */
static void offer_counted(nf2_t *fs, const struct nf2_census *census, struct offer *offer)
{
    uint32_t first = (census->first - group_run(fs, 0).start) / census->blocks, part = census->blocks * nf2_block_bytes(fs) / 256u;
    uint32_t dearest = dearest_us(fs);

    for (uint32_t i = 0; i < census->bins; i++) {
        uint32_t live = (nf2_census_live(fs, census, i) + part - 1u) / part, owned = nf2_census_owned(census, i);
        bool listed = false;
        for (unsigned j = 0; j < NF2_CLEAN_GROUPS; j++) { /* what was known of it is old */
            struct nf2_group *group = &fs->group[j];
            group->state = group->number == first + i && group->state == NF2_GROUP_CHEAP ? NF2_GROUP_NONE : group->state;
            listed = listed || (group->number == first + i && group->state != NF2_GROUP_NONE);
        }
        if (!listed && owned > 0 && !nf2_census_full(census, i) && group_us(fs, live) <= dearest) {
            struct candidate candidate = {(uint16_t)(first + i), (uint8_t)live, (uint8_t)owned};
            offer_group(fs, offer, &candidate);
        }
    }
}

/* Has somebody claimed a block of the group? What came to lie in it behind the walk's place would not be found. */
static bool is_claimed(const nf2_t *fs, const struct nf2_run *run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        if (nf2_space_claimed(fs, run->start + i)) {
            return true;
        }
    }
    return false;
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
        int needed = is_claimed(fs, &run) ? 1 : nf2_census_needed(fs, fs->clean_id, &run);
        NF2_TRY(needed);
        best->state = needed > 0 ? NF2_GROUP_NONE : NF2_GROUP_VICTIM;
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
    struct nf2_span_use span = {group->start, 0, 0};
    uint32_t probes = group->count;

    NF2_TRY(nf2_space_flush(fs));
    NF2_TRY(nf2_meta_prepare(fs)); /* the log does not turn, and take one of them, before the erase is on record */
    NF2_TRY(nf2_region_spans(fs, &span, 1, group->count));
    int free = is_group(fs, &span, 0, &probes);
    if (free != 1) {
        return free > 1 ? 1 : free; /* 0: something else was quicker */
    }
    return nf2_space_erase_free(fs, group->start, group->count);
}

#if defined(NF2_DEBUG) && NF2_DEBUG > 1
/* What is given back is erased: a walk over the map of the file must find nothing in it. */
static bool holds_nothing(nf2_t *fs, const struct nf2_run *run)
{
    uint8_t bin[2] = {0};
    struct nf2_census census = {fs->clean_id, run->start, run->count, 1, bin, NULL, NULL};

    return nf2_census_walk(fs, &census) < 0 || nf2_census_live(fs, &census, 0) == 0;
}
#endif

/* One of the emptied groups is given back and erased, if no handle has come to need it. */
static NF2_APART int finish_one(nf2_t *fs, uint32_t entries)
{
    unsigned i = 0;

    while (fs->group[i].state != NF2_GROUP_EMPTIED) {
        i++;
    }
    struct nf2_run run = group_run(fs, fs->group[i].number);
    int needed = nf2_census_needed(fs, fs->clean_id, &run);
    NF2_TRY(needed);
    if (needed == 0) {
        NF2_ASSERT_READING(holds_nothing(fs, &run));
        NF2_TRY(nf2_indexed_part(fs, fs->clean_id, &run));
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
        struct nf2_census census = {fs->clean_id, group_run(fs, fs->clean_counted).start, nf2_large_blocks(fs), NF2_CLEAN_BINS, fs->clean_bins, NULL, NULL};
        struct offer offer = {.count = 0};
        NF2_TRY(nf2_census_handles(fs, &census));
        offer_counted(fs, &census, &offer);
        NF2_TRY(list_all(fs, &offer));
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
    struct offer offer = {.count = 0};

    for (uint32_t number = 0; number < group_count(fs); number += NF2_CENSUS_BINS) {
        census.first = group_run(fs, number).start;
        int result = nf2_census_begin(fs, &census);
        if (result >= 0) {
            offer_counted(fs, &census, &offer);
        }
        nf2_census_end(fs);
        NF2_TRY(result);
    }
    NF2_TRY(list_all(fs, &offer));
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

bool nf2_clean_erases(const nf2_t *fs)
{
    return groups_in(fs, NF2_GROUP_EMPTIED) > 0;
}

bool nf2_clean_pays(const nf2_t *fs)
{
    uint32_t large = nf2_large_blocks(fs);

    return large > 1u && large <= 31u;
}
