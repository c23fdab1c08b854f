/* SPDX-License-Identifier: BSD-2-Clause */
#include "compact.h"

#include "census.h"
#include "content.h"
#include "evacuate.h"
#include "flash.h"
#include "region.h"
#include "space.h"
#include "split.h"

/* ---- block by block ----------------------------------------------------------------------------- */

#define WINDOW_BLOCKS NF2_CENSUS_BINS
#define DEAD_RUNS 8u            /* that one look notes */

/* What a look at a window of blocks found: runs that nothing live lies in, and the emptiest of the others. */
struct finding {
    struct nf2_run dead[DEAD_RUNS];
    uint32_t dead_runs, victim, least;
};

static void note_dead(struct finding *finding, uint32_t block)
{
    struct nf2_run *last = finding->dead_runs > 0 ? &finding->dead[finding->dead_runs - 1u] : NULL;

    if (last != NULL && last->start + last->count == block) {
        last->count++;
    } else if (finding->dead_runs < DEAD_RUNS) {
        finding->dead[finding->dead_runs].start = block;
        finding->dead[finding->dead_runs++].count = 1;
    }
}

/* Counts what is live in the blocks of a file in the window from `first` on. */
static NF2_APART int look_at_blocks(nf2_t *fs, uint32_t id, uint32_t first, struct finding *finding)
{
    struct nf2_census census = {id, first, 1};

    memset(finding, 0, sizeof *finding);
    finding->victim = NF2_NONE;
    int result = nf2_census_begin(fs, &census);
    for (uint32_t i = 0; i < WINDOW_BLOCKS; i++) {
        uint32_t bytes = nf2_census_live(fs, &census, i);
        if (nf2_census_owned(fs, i) > 0 && bytes == 0) {
            note_dead(finding, first + i);
        } else if (nf2_census_owned(fs, i) > 0 && !nf2_census_full(fs, i) && (finding->victim == NF2_NONE || bytes < finding->least)) {
            finding->least = bytes;
            finding->victim = first + i;
        }
    }
    nf2_census_end(fs);
    return result;
}

/* Handles start a new run of blocks: the present one may lose some. */
static int record_handles(nf2_t *fs, uint32_t id)
{
    for (nf2_file_t *file = fs->files; file != NULL; file = file->next) {
        if (file->kind == NF2_BODY_INDEXED && file->id == id && nf2_file_writes(file)) {
            NF2_TRY(nf2_indexed_record(fs, file));
        }
    }
    return NF2_OK;
}

/* Looks at a window of the file's blocks, gives back those that nothing live lies in (1), or finds one to be emptied: `*victim`. */
static NF2_APART int free_dead(nf2_t *fs, uint32_t id, uint32_t live, uint32_t *victim)
{
    uint32_t part = nf2_block_bytes(fs) / 16u;
    struct finding finding;

    NF2_TRY(look_at_blocks(fs, id, fs->compact_from, &finding));
    for (uint32_t i = 0; i < finding.dead_runs; i++) {
        NF2_TRY(nf2_evacuate_release(fs, id, &finding.dead[i]));
    }
    *victim = finding.victim != NF2_NONE && finding.least <= part * live ? finding.victim : NF2_NONE;
    if (finding.dead_runs == 0 && *victim != NF2_NONE) {
        fs->compact_live = (uint8_t)nf2_min(finding.least / part + 1u, NF2_COMPACT_ALL);
    }
    return finding.dead_runs > 0;
}

/* Goes through windows of the file's blocks until one had something to do: 1, or 0 behind the last. */
static int compact_blocks(nf2_t *fs, uint32_t id, uint32_t live)
{
    struct nf2_run victim = {0, 1};
    uint32_t from = 0;
    int found;

    while ((found = nf2_evacuate_next_owned(fs, id, &fs->compact_from)) > 0) {
        fs->compact_from -= fs->compact_from % WINDOW_BLOCKS;
        int freed = free_dead(fs, id, live, &victim.start);
        if (freed != 0) {
            return freed;
        }
        if (victim.start != NF2_NONE) {
            int more = 1;
            for (uint32_t i = 0; i < nf2_block_bytes(fs) && more > 0; i++) {
                more = nf2_evacuate(fs, id, &victim, &from, NF2_NONE);
            }
            return more > 0 ? NF2_ERR_IO : more < 0 ? more : 1;
        }
        fs->compact_from += WINDOW_BLOCKS;
    }
    fs->compact_from = 0;
    return found;
}

/* ---- groups of blocks that a large erase takes --------------------------------------------------- */

#define CANDIDATES 8u           /* groups of a window that are looked at more closely, the cheapest first */
#define NODES 5u                /* of the tree, that may lie in a group */
#define WAIT 6u                /* steps block by block after groups were looked for in vain */

struct group {
    uint32_t first;             /* block; NF2_NONE: none */
    uint32_t us;                /* what a block costs that it gives, microseconds */
};

/* The first block of the volume that a large erase may begin with, less a whole one. */
static uint32_t group_shift(const nf2_t *fs)
{
    uint32_t large = nf2_large_blocks(fs);

    return (large - fs->config->offset / nf2_block_bytes(fs) % large) % large;
}

/* What each block costs that is won by emptying the group in a bin; NF2_NONE where none is won, or where it may not be emptied. */
static uint32_t group_us(nf2_t *fs, const struct nf2_census *census, uint32_t bin, uint32_t live)
{
    uint32_t bytes = nf2_census_live(fs, census, bin), block = nf2_block_bytes(fs), page = nf2_page(fs);
    uint32_t copied = (bytes + block - 1) / block, pages = (bytes + page - 1) / page;
    bool idle = live <= NF2_COMPACT_IDLE;

    if (nf2_census_owned(fs, bin) == 0 || nf2_census_full(fs, bin) || copied >= census->blocks ||
        copied + 4u > nf2_space_free_blocks(fs) || (idle && bytes * 16u > live * census->blocks * block)) {
        return NF2_NONE;
    }
    uint32_t copy = pages * (fs->flash->read_page_us + fs->flash->program_page_us), walks = fs->flash->erase_block_us / 4u;
    return (fs->flash->large_erase_us + copy + copy / 8u + walks) / (census->blocks - copied);
}

/*
 * Are all blocks of the group free and dirty, but for `owned` ones that are the file's, and nodes of the tree? 0 if not, else one
 * more than there are nodes.
 */
static NF2_APART int is_group(nf2_t *fs, uint32_t first, uint32_t owned)
{
    uint32_t large = nf2_large_blocks(fs), at = first % NF2_REGION_BLOCKS, used = 0;
    struct nf2_region region;
    struct nf2_path path;
    int nodes = 0;

    if (at + large > NF2_REGION_BLOCKS) {
        return 0;
    }
    NF2_TRY(nf2_region_read(fs, first / NF2_REGION_BLOCKS, &region));
    for (uint32_t i = at; i < at + large; i++) {
        unsigned state = nf2_region_state(&region, i);
        if (state != NF2_BLOCK_DIRTY && state != NF2_BLOCK_USED) {
            return 0;
        }
        used += state == NF2_BLOCK_USED;
    }
    if (used > owned + NODES) {
        return 0;
    }
    for (uint32_t i = 0; i < large && used > owned + (uint32_t)nodes; i++) {
        int node = nf2_region_state(&region, at + i) == NF2_BLOCK_USED ? nf2_tree_way_to(fs, first + i, &path) : 0;
        NF2_TRY(node);
        nodes += node;
    }
    return used == owned + (uint32_t)nodes ? nodes + 1 : 0;
}

/* Moves the nodes of a group elsewhere. */
static NF2_APART int move_nodes(nf2_t *fs, uint32_t first)
{
    struct nf2_path path;

    for (uint32_t i = 0, tries = 0; i < nf2_large_blocks(fs) && tries < 4u * NODES; i++) {
        int node = nf2_tree_way_to(fs, first + i, &path);
        NF2_TRY(node);
        if (node > 0) { /* again: it may be that a node above it had to go first */
            NF2_TRY(nf2_tree_rewrite(fs, &path));
            tries++;
            i--;
        }
    }
    return NF2_OK;
}

/*
 * Counts what is live in the groups of a window, and chooses the cheapest. `*emptied` (may be NULL): is nothing live in the
 * group at fs->clean_first?
 */
static NF2_APART int look_at_groups(nf2_t *fs, uint32_t id, uint32_t first, uint32_t live, struct group *group, bool *emptied)
{
    struct nf2_census census = {id, first, nf2_large_blocks(fs)};
    int result = nf2_census_begin(fs, &census);

    if (emptied != NULL) {
        uint32_t bin = (fs->clean_first - first) / census.blocks;
        *emptied = nf2_census_live(fs, &census, bin) == 0;
        nf2_census_fill(fs, bin);
    }
    group->first = NF2_NONE;
    for (unsigned n = 0; n < CANDIDATES && result >= 0 && group->first == NF2_NONE; n++) {
        uint32_t best = NF2_NONE;
        group->us = fs->flash->erase_block_us / 8u * 7u;
        for (uint32_t i = 0; i < NF2_CENSUS_BINS; i++) {
            uint32_t us = group_us(fs, &census, i, live);
            if (us < group->us) {
                group->us = us;
                best = i;
            }
        }
        if (best == NF2_NONE) {
            break;
        }
        result = is_group(fs, first + best * census.blocks, nf2_census_owned(fs, best));
        if (result > 0) {
            group->first = first + best * census.blocks;
        }
        nf2_census_fill(fs, best);
    }
    nf2_census_end(fs);
    return result < 0 ? result : NF2_OK;
}

static void begin_group(nf2_t *fs, uint32_t id, const struct group *group)
{
    fs->cleaning = true;
    fs->clean_id = id;
    fs->clean_first = group->first;
    fs->clean_us = group->us;
    fs->clean_from = 0;
}

/* Chooses a group of the file that is to be emptied: 1, or 0 if there is none that is worth it. */
static NF2_APART int choose_group(nf2_t *fs, uint32_t id, uint32_t live)
{
    uint32_t large = nf2_large_blocks(fs);

    if (fs->clean_wait > 0) {
        fs->clean_wait--;
        return 0;
    }
    if (large == 0 || large > 31u || large > NF2_REGION_BLOCKS || fs->blocks < group_shift(fs) + large) {
        return 0;
    }
    uint32_t shift = group_shift(fs), span = large * NF2_CENSUS_BINS, windows = (fs->blocks - shift + span - 1u) / span;
    uint32_t last = (nf2_max(fs->clean_first, shift) - shift) / span;
    for (uint32_t n = 1; n <= windows; n++) {
        struct group group;
        NF2_TRY(look_at_groups(fs, id, shift + (last + n) % windows * span, live, &group, NULL));
        if (group.first != NF2_NONE && (group.us <= fs->clean_us || n == windows)) {
            begin_group(fs, id, &group);
            return 1;
        }
        if (group.first != NF2_NONE) { /* a better one may come; each one passed makes others good enough */
            fs->clean_us += fs->clean_us / 16u + fs->flash->erase_block_us / 32u;
        }
    }
    fs->clean_wait = WAIT;
    fs->clean_us = fs->clean_us != 0 ? fs->flash->erase_block_us : 0;
    return 0;
}

/* All of the group is free: one large erase, then it is on record as erased. */
static NF2_APART int erase_group(nf2_t *fs)
{
    uint32_t first = fs->clean_first, large = nf2_large_blocks(fs);

    NF2_TRY(nf2_space_flush(fs));
    NF2_TRY(nf2_meta_prepare(fs)); /* the log does not turn, and take one of them, before the erase is on record */
    int free = is_group(fs, first, 0);
    if (free != 1) {
        return free < 0 ? free : NF2_OK; /* something else was quicker */
    }
    NF2_TRY(nf2_flash_erase(fs, first, large));
    return nf2_space_record_erased(fs, first, large);
}

/* Has a handle begun to append frames to a block of the group since it was chosen? */
static bool appends_to(const nf2_t *fs, const struct nf2_run *group)
{
    for (const nf2_file_t *file = fs->files; file != NULL; file = file->next) {
        if (file->kind == NF2_BODY_INDEXED && file->frames_at != 0 && file->frames - group->start < group->count) {
            return true;
        }
    }
    return false;
}

/* Nothing was found any more in the group: it is erased, if that is so, and another one of its window begun. */
static NF2_APART int finish_group(nf2_t *fs, uint32_t live)
{
    uint32_t large = nf2_large_blocks(fs), shift = group_shift(fs), span = large * NF2_CENSUS_BINS;
    struct nf2_run run = {fs->clean_first, large};
    struct group next;
    bool emptied;

    NF2_TRY(look_at_groups(fs, fs->clean_id, shift + (fs->clean_first - shift) / span * span, live, &next, &emptied));
    if (emptied) {
        NF2_TRY(nf2_evacuate_release(fs, fs->clean_id, &run));
        NF2_TRY(move_nodes(fs, run.start));
        NF2_TRY(erase_group(fs));
    }
    fs->cleaning = false;
    if (emptied && next.first != NF2_NONE && next.us <= fs->clean_us + fs->clean_us / 8u) {
        begin_group(fs, fs->clean_id, &next);
    }
    return NF2_OK;
}

/* Goes on with the group that is being emptied: moves `bytes` at most. */
static NF2_APART int clean_step(nf2_t *fs, uint32_t live, uint32_t bytes)
{
    struct nf2_run group = {fs->clean_first, nf2_large_blocks(fs)};

    if (appends_to(fs, &group)) {
        fs->cleaning = false;
        return 1;
    }
    int more = nf2_evacuate(fs, fs->clean_id, &group, &fs->clean_from, bytes);
    NF2_TRY(more);
    NF2_TRY(more == 0 ? finish_group(fs, live) : NF2_OK);
    return 1;
}

/* ---- steps -------------------------------------------------------------------------------------- */

/* Goes to the next indexed file, from fs->compact_id on: 1, or 0 behind the last. */
static NF2_APART int next_file(nf2_t *fs)
{
    static const uint8_t none[1] = {0};
    struct nf2_entry entry;
    uint8_t kind;

    for (;; fs->compact_id++) {
        struct nf2_key key = nf2_key_of(fs->compact_id, none, 0);
        int found = nf2_tree_seek(fs, &key, NF2_AT_OR_ABOVE, &entry);
        if (found <= 0 || entry.id == NF2_NONE) {
            fs->compact_id = fs->compact_from = 0;
            fs->compact_again = (uint8_t)(fs->compact_again - (fs->compact_again > 0));
            return found < 0 ? found : 0;
        }
        fs->compact_from = entry.id == fs->compact_id ? fs->compact_from : 0;
        fs->compact_id = entry.id;
        NF2_TRY(nf2_body_read(fs, &entry, 0, &kind, 1));
        if (kind >= NF2_BODY_PIECE && kind <= NF2_BODY_OWN) {
            return 1;
        }
    }
}

/* The next file that has something to do, if only by groups: 1, or 0 behind the last. */
static int step(nf2_t *fs, uint32_t live, bool groups_only)
{
    int result;

    for (; (result = next_file(fs)) > 0; fs->compact_id++) {
        NF2_TRY(record_handles(fs, fs->compact_id));
        result = fs->compact_from == 0 ? choose_group(fs, fs->compact_id, live) : 0;
        if (result == 0 && !groups_only) {
            result = compact_blocks(fs, fs->compact_id, live);
        }
        if (result != 0) {
            break;
        }
    }
    return result;
}

static int urgent_step(nf2_t *fs, uint32_t live, uint32_t bytes, bool groups_only)
{
    bool urgent = fs->urgent;

    fs->urgent = true;
    int result = fs->cleaning ? clean_step(fs, live, bytes) : step(fs, live, groups_only);
    fs->urgent = urgent;
    return result;
}

int nf2_compact_step(nf2_t *fs, uint32_t live)
{
    return urgent_step(fs, live, NF2_NONE, false);
}

int nf2_compact_ahead(nf2_t *fs, uint32_t need, uint32_t bytes)
{
    bool due = fs->cleaning || (fs->clean_us != 0 && fs->clean_us < fs->flash->erase_block_us);

    if (!due || fs->erased_blocks >= nf2_large_blocks(fs) / 2u + need) {
        return NF2_OK;
    }
    return urgent_step(fs, NF2_COMPACT_ALL, bytes, true);
}
