/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * exchange.c - see exchange.h. One region after the other is looked at. Where it has blocks in use that lie a spread of erases
 * behind the most worn one, or are bad, a walk over all leaves finds what lies in them. That is copied to worn blocks, and the record that
 * names the copy frees the old ones: a change like each other, which a cut leaves undone or done.
 */
#include "exchange.h"

#include "compact.h"
#include "content.h"
#include "evacuate.h"
#include "flash.h"
#include "ids.h"
#include "merge.h"
#include "names.h"
#include "region.h"
#include "repack.h"
#include "space.h"
#include "split.h"
#include "turn.h"

#define GROUP 16u               /* blocks that what moves takes in one piece, where it can be */
#define PLACE_REGIONS 8u        /* regions that a step looks at for worn blocks */
#define INDEX_BLOCKS 8u         /* available blocks without which no file gets an index */

static uint32_t lag(const nf2_t *fs, const struct nf2_region *region, uint32_t index)
{
    return fs->worn - nf2_min(fs->worn, region->wear_base + region->wear[index]);
}

/* Is what lies in this block to give way? */
static bool is_young(const nf2_t *fs, const struct nf2_region *region, uint32_t index)
{
    uint32_t block = region->number * NF2_REGION_BLOCKS + index;
    bool moves = lag(fs, region, index) >= nf2_wear_spread(fs) || nf2_bad_place(fs, block) != block;

    return moves && nf2_region_state(region, index) == NF2_BLOCK_USED && block >= NF2_SUPER_BLOCKS; /* of those erases are not counted */
}

/* The region whose turn it is: the next one's comes after as many erases as a region has blocks. */
static uint32_t region_due(const nf2_t *fs)
{
    return fs->erases / NF2_REGION_BLOCKS % nf2_regions(fs);
}

bool nf2_exchange_due(const nf2_t *fs)
{
    return fs->exchanging || fs->bad_move > 0 || (nf2_wear_aged(fs) && fs->exchange_region != region_due(fs));
}

static int begin(nf2_t *fs)
{
    struct nf2_region region;

    fs->exchange_region = (uint16_t)((fs->exchange_region + 1u) % nf2_regions(fs));
    if (fs->bad_move > 0) { /* first what lies in place of bad blocks: few can be at a time */
        fs->exchange_region = (uint16_t)(fs->bad[--fs->bad_move].block / NF2_REGION_BLOCKS);
    }
    if (fs->exchange_region == 0) { /* what a slot holds for a writer that does not come does not wear either */
        NF2_TRY(nf2_space_return_unused(fs, NF2_SLOTS));
    }
    NF2_TRY(nf2_region_read(fs, fs->exchange_region, &region));
    for (uint32_t i = 0; i < NF2_REGION_BLOCKS && !fs->exchanging; i++) {
        fs->exchanging = is_young(fs, &region, i);
    }
    nf2_tree_merge_restart(fs);
    return 1;
}

/* ---- what --------------------------------------------------------------------------------------- */

struct young {
    struct nf2_run run;
    uint32_t behind;            /* erases behind the most worn block */
    uint8_t depth;              /* a node of the path so deep; 0: what an entry owns */
    uint8_t kind;               /* of the entry, */
    uint16_t entry;             /* its place */
    uint32_t id;                /* of its key */
};

/* Does a handle need the block as it is, or is it about to change this entry? */
static bool is_held(const nf2_t *fs, uint32_t leaf, const struct young *young, uint32_t block)
{
    for (const nf2_file_t *file = fs->files; file != NULL; file = file->next) {
        bool indexed = file->kind == NF2_BODY_INDEXED && young->kind == NF2_BODY_OWN && file->id == young->id;
        bool flat = file->leaf == leaf && file->entry == young->entry;
        bool appends = indexed && (file->fragment_block == block || (file->frames_at != 0 && file->frames == block));
        if (nf2_file_writes(file) && (appends || ((indexed || flat) && (file->changed || file->open_end)))) {
            return true;
        }
    }
    return fs->compact_owner == young->id && fs->compact_block == block;
}

/* Looks for the first young blocks of a run in the region, `most` at most. */
static bool first_young(const nf2_t *fs, const struct nf2_region *region, uint32_t leaf, const struct nf2_run *run, uint32_t most, struct young *young)
{
    uint32_t first = region->number * NF2_REGION_BLOCKS, n = 0;
    uint32_t from = nf2_max(run->start, first), to = nf2_min(run->start + run->count, first + NF2_REGION_BLOCKS);

    for (uint32_t block = from; block < to && n < most; block++) {
        bool take = is_young(fs, region, block - first) && !is_held(fs, leaf, young, block);
        if (!take && n > 0) {
            break;
        }
        if (take && n == 0) {
            young->run.start = block;
            young->behind = nf2_bad_place(fs, block) != block ? NF2_NONE : lag(fs, region, block - first);
        }
        n += take;
    }
    young->run.count = n;
    return n > 0;
}

/* Looks for young blocks of the path's nodes, and of what its leaf names: 1, 0, or an error. */
static NF2_APART int find_young(nf2_t *fs, const struct nf2_path *path, uint32_t most, struct young *young)
{
    uint32_t leaf = path->node[path->depth - 1u], id;
    struct nf2_run runs[NF2_EXTENTS_MAX];
    struct nf2_region region;
    struct nf2_entry entry;
    struct nf2_live live;
    int found;

    memset(young, 0, sizeof *young);
    NF2_TRY(nf2_region_read(fs, fs->exchange_region, &region));
    for (young->depth = path->depth; young->depth > 0; young->depth--) {
        struct nf2_run node = {path->node[young->depth - 1u], 1};
        if (first_young(fs, &region, leaf, &node, 1, young)) {
            return 1;
        }
    }
    NF2_TRY(nf2_live_begin(fs, leaf, nf2_scratch(fs, NF2_SCRATCH_SEARCH), &live)); /* the region lies in the other one */
    while ((found = nf2_live_next(fs, &live, &entry)) > 0) {
        int n = nf2_entry_owns(fs, &entry, runs, &id);
        NF2_TRY(n);
        if (n == 0) {
            continue;
        }
        struct nf2_entry at = entry;
        NF2_TRY(nf2_entry_body(fs, &at));
        int kind = nf2_entry_kind(fs, &at);
        NF2_TRY(kind);
        young->kind = (uint8_t)kind;
        young->entry = entry.offset;
        young->id = entry.id;
        for (int i = 0; i < n; i++) {
            if (first_young(fs, &region, leaf, &runs[i], most, young)) {
                return 1;
            }
        }
    }
    return found;
}

/* ---- where to ----------------------------------------------------------------------------------- */

/* May what moves go to this block? One that is erased, and at most so far behind. */
static bool is_place(const nf2_t *fs, const struct nf2_region *region, uint32_t index, uint32_t behind)
{
    uint32_t block = region->number * NF2_REGION_BLOCKS + index;

    return index < NF2_REGION_BLOCKS && nf2_region_state(region, index) == NF2_BLOCK_ERASED && lag(fs, region, index) <= behind && !nf2_turn_emptied(fs, block);
}

/* How many blocks of a group are places, from its first one on. */
static uint32_t places(const nf2_t *fs, const struct nf2_region *region, uint32_t index, uint32_t behind)
{
    uint32_t n = 0;

    while (n < GROUP && is_place(fs, region, index - index % GROUP + n, behind)) {
        n++;
    }
    return n;
}

/*
 * A run of places in the region: `want` where the last one ended, else in a whole group; what is a single block (or, with `any`,
 * all) goes beside what is used already. Its length.
 */
static int find_run(nf2_t *fs, uint32_t want, uint32_t behind, bool any, uint32_t *start)
{
    uint32_t first = fs->exchange_place - fs->exchange_place % NF2_REGION_BLOCKS, best = 0;
    struct nf2_region region;

    NF2_TRY(nf2_region_read(fs, first / NF2_REGION_BLOCKS, &region));
    *start = fs->exchange_place;
    while (want > 1 && best < want && is_place(fs, &region, *start - first + best, behind)) {
        best++;
    }
    for (uint32_t i = 0; i < NF2_REGION_BLOCKS && best == 0; i++) {
        bool whole = places(fs, &region, i, behind) == GROUP;
        if (is_place(fs, &region, i, behind) && (any || whole == (want > 1))) {
            best = whole ? want : 1;
            *start = first + i;
        }
    }
    return (int)best;
}

/*
 * Sees to it that the tree's next blocks are worn ones, at most half as far behind: else what comes to rest there would move again
 * soon. In whole groups where there are some: so that what stays free is not in bits. 1, or 0: not now.
 */
static int find_place(nf2_t *fs, const struct young *young)
{
    uint32_t start = 0;

    for (unsigned look = 0; look <= PLACE_REGIONS; look++) {
        int n = find_run(fs, young->run.count, young->behind / 2u, look == PLACE_REGIONS, &start);
        NF2_TRY(n);
        if (n > 0) {
            fs->exchange_place = (uint16_t)(young->run.count > 1 ? start + (uint32_t)n : fs->exchange_place);
            return nf2_space_place(fs, NF2_TREE_SLOT, start, (uint32_t)n);
        }
        uint32_t next = fs->exchange_place / NF2_REGION_BLOCKS + 1u;
        fs->exchange_place = (uint16_t)(next % nf2_regions(fs) * NF2_REGION_BLOCKS);
    }
    return 0;
}

/* ---- moves -------------------------------------------------------------------------------------- */

/* Copies the blocks of a file that has few in one piece, and makes the copy the file's. The leaf has room for that. */
static int copy_flat(nf2_t *fs, const struct nf2_flat *flat, struct nf2_node_op *change)
{
    uint32_t first = flat->extent[0].start, to = 0, block, bytes = nf2_block_bytes(fs), n;

    for (uint32_t i = 0; i < flat->extent[0].count; i++) {
        int result = nf2_space_block(fs, NF2_TREE_SLOT, 1, &block);
        to = i == 0 ? block : to;
        if (result != NF2_OK || block != to + i) {
            result = nf2_space_abandon(fs, NF2_TREE_SLOT, 0);
            return result < 0 ? result : NF2_ERR_NOSPC;
        }
        for (uint32_t at = i * bytes; at < nf2_min(flat->size, (i + 1u) * bytes); at += n) {
            n = nf2_min(nf2_page(fs), flat->size - at);
            NF2_TRY(nf2_flash_read(fs, first + i, at % bytes, fs->write_buffer, n));
            NF2_TRY(nf2_flash_program(fs, block, at % bytes, fs->write_buffer, n));
        }
    }
    nf2_put24(change->bytes + 5, to);
    NF2_TRY(nf2_tree_change(fs, change, 1));
    nf2_space_settle(fs, NF2_TREE_SLOT);
    return NF2_OK;
}

/* A small flat file moves as a whole: as a change that is to be made with the copy. */
static int move_whole(nf2_t *fs, const struct nf2_entry *entry, const struct nf2_flat *flat)
{
    struct nf2_key key = nf2_entry_key(entry);
    struct nf2_node_op change;

    nf2_op_put(&change, &key, NF2_BODY_FLAT, 10);
    nf2_put32(change.bytes + 1, flat->size);
    nf2_put16(change.bytes + 8, flat->extent[0].count);
    change.kill = entry->offset; /* so much longer */
    int fits = nf2_tree_fits(fs, &change, 1); /* first: a leaf that is replaced would let the copy's blocks go */
    return fits > 0 ? copy_flat(fs, flat, &change) : fits < 0 ? fits : nf2_tree_room(fs, &change, 1);
}

/* A larger one becomes an indexed file, which moves block by block. */
static NF2_APART int move_flat(nf2_t *fs, uint32_t leaf, const struct young *young)
{
    struct nf2_entry entry;
    struct nf2_flat flat;
    uint32_t id;

    NF2_TRY(nf2_entry_at(fs, leaf, young->entry, &entry));
    NF2_TRY(nf2_flat_load(fs, &entry, &flat));
    if (flat.extents == 1 && flat.extent[0].count <= young->run.count) {
        return move_whole(fs, &entry, &flat);
    }
    NF2_TRY(nf2_id_new(fs, &id));
    NF2_TRY(nf2_flat_convert(fs, leaf, young->entry, &flat, NF2_TREE_SLOT, id));
    nf2_space_settle(fs, NF2_TREE_SLOT);
    return NF2_OK;
}

static int move_owned(nf2_t *fs, const struct young *young)
{
    struct nf2_victims victims = {(uint16_t)young->run.count, 1, {(uint16_t)young->run.start}};

    NF2_TRY(nf2_compact_handles(fs, young->id));
    int more = nf2_evacuate_all(fs, young->id, &victims);
    return more != 0 ? more : nf2_evacuate_release(fs, young->id, &young->run, NF2_NONE);
}

static int move(nf2_t *fs, struct nf2_path *path, const struct young *young)
{
    if (young->depth > 0) {
        path->depth = young->depth;
        return nf2_tree_rewrite(fs, path);
    }
    return young->kind == NF2_BODY_FLAT ? move_flat(fs, path->node[path->depth - 1u], young) : move_owned(fs, young);
}

/* ---- steps -------------------------------------------------------------------------------------- */

static int step(nf2_t *fs, uint32_t most)
{
    struct young young;
    struct nf2_path path;

    NF2_TRY(nf2_tree_merge_path(fs, &path));
    int found = find_young(fs, &path, most, &young);
    NF2_TRY(found);
    if (found > 0) {
        nf2_space_settle(fs, NF2_TREE_SLOT);
        int place = find_place(fs, &young);
        NF2_TRY(place);
        if (place > 0) {
            young.run.count = nf2_min(young.run.count, fs->slot[NF2_TREE_SLOT].ready);
            int result = move(fs, &path, &young);
            return result < 0 ? result : 1;
        }
        fs->exchanging = false; /* without a place this region waits for its next turn */
        return 0;
    }
    int merged = nf2_tree_merge_step(fs); /* the walk is the one of merging */
    fs->exchanging = merged != 0 || fs->merge_id != 0 || fs->merge_skip != 0;
    return merged < 0 ? merged : 1;
}

int nf2_exchange_step(nf2_t *fs, uint32_t most)
{
    bool urgent = fs->urgent;

    if (!nf2_exchange_due(fs)) {
        return 0;
    }
    if (!fs->exchanging) {
        return begin(fs);
    }
    bool room = nf2_space_available(fs) >= INDEX_BLOCKS;
    if (!room && nf2_tree_merge_done(fs)) {
        return 0;
    }
    fs->urgent = true; /* the data is there already */
    int result = room ? step(fs, most) : nf2_tree_merge_step(fs); /* which wins blocks, and begins the walk anew */
    fs->urgent = urgent;
    result = result == 0 && !room ? 1 : result;
    return result == NF2_ERR_NOSPC ? 0 : result;
}
