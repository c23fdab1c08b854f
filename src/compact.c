/* SPDX-License-Identifier: BSD-2-Clause */
#include "compact.h"

#include "batch.h"
#include "cache.h"
#include "content.h"
#include "flash.h"
#include "frames.h"
#include "region.h"
#include "space.h"

/* Live bytes are counted for the blocks of a region at a time, two bytes each in the tree buffer. */
#define WINDOW_BLOCKS NF2_REGION_BLOCKS
_Static_assert(2u * WINDOW_BLOCKS <= NF2_TREE_BUFFER_SIZE, "the counts of a window lie in the tree buffer");

#define TRIES 6u                /* replacements of leaves before a block for moved data fits in one */

/* ---- counting ----------------------------------------------------------------------------------- */

#define OWNED 0x8000u           /* of a count: the file owns the block; below it live bytes, in parts that a block of 64 KiB has enough of */
#define PINNED 0x7FFFu          /* a handle needs the block as it is */

struct count {
    uint32_t id, first;
};

/* In whole program units: what a copy takes. A block full of copies is then full, and is not copied again. */
static void add_live(nf2_t *fs, uint32_t first, uint32_t block, uint32_t bytes)
{
    uint32_t part = nf2_block_bytes(fs) > 16384 ? 4 : 1;

    bytes = nf2_align_unit(fs, bytes);
    if (block - first < WINDOW_BLOCKS) {
        uint8_t *p = fs->tree_buffer + 2u * (block - first);
        uint32_t live = (nf2_get16(p) & (OWNED - 1u)) + (bytes + part - 1) / part;
        nf2_put16(p, (nf2_get16(p) & OWNED) | nf2_min(OWNED - 1u, live));
    }
}

static void pin(nf2_t *fs, uint32_t first, uint32_t block)
{
    add_live(fs, first, block, 4u * PINNED);
}

static bool is_owned(const nf2_t *fs, uint32_t index)
{
    return (nf2_get16(fs->tree_buffer + 2u * index) & OWNED) != 0;
}

static bool is_pinned(const nf2_t *fs, uint32_t index)
{
    return (nf2_get16(fs->tree_buffer + 2u * index) & PINNED) == PINNED;
}

static uint32_t live_bytes(const nf2_t *fs, uint32_t index)
{
    return (nf2_get16(fs->tree_buffer + 2u * index) & (OWNED - 1u)) * (nf2_block_bytes(fs) > 16384 ? 4u : 1u);
}

static void count_own(nf2_t *fs, uint32_t first, const struct nf2_item *own)
{
    uint32_t from = nf2_max(own->number, first), to = nf2_min(own->number + own->length, first + WINDOW_BLOCKS);

    for (uint32_t block = from; block < to; block++) {
        fs->tree_buffer[2u * (block - first) + 1u] |= OWNED >> 8;
    }
}

static int count_item(nf2_t *fs, void *context, const struct nf2_item *item)
{
    const struct count *c = context;
    uint32_t bytes = nf2_block_bytes(fs), length = item->length;

    if (item->kind == NF2_BODY_OWN) {
        count_own(fs, c->first, item);
    } else if (item->kind == NF2_BODY_FRAMES && item->block - c->first < WINDOW_BLOCKS) {
        struct nf2_item at;
        NF2_TRY(nf2_index_map(fs, c->id, item->number, &at, &length));
        add_live(fs, c->first, item->block, length == 0 ? 1 : length);
    }
    if (item->kind != NF2_BODY_PIECE || item->block == NF2_NO_BLOCK) {
        return 0;
    }
    uint32_t block = item->block, within = item->within;
    while (length > 0) {
        uint32_t n = nf2_min(length, bytes - within);
        add_live(fs, c->first, block, n);
        length -= n;
        within = 0;
        block++;
    }
    return 0;
}

/* Blocks with the list of uncommitted operations that a handle keeps on flash. */
static int count_spill(nf2_t *fs, const nf2_file_t *file, uint32_t first)
{
    struct nf2_scan scan;
    struct nf2_entry op;
    int found;

    if (file->spill_first == NF2_NONE) {
        return NF2_OK;
    }
    pin(fs, first, file->spill_first);
    pin(fs, first, file->spill);
    nf2_scan_begin(&scan, file->spill_first);
    while ((found = nf2_batch_next(fs, &scan, &op)) > 0) {
        pin(fs, first, op.node);
    }
    return found;
}

/* What a handle has written and not committed stays where it is, unless the handle has overwritten it since. */
static int count_pending(nf2_t *fs, const nf2_file_t *file, uint32_t first)
{
    uint32_t bytes = nf2_block_bytes(fs), length;
    struct nf2_piece piece;

    for (uint32_t at = 0; at < file->size; at += length) {
        int found = nf2_indexed_pending(fs, file, at, &piece, &length);
        NF2_TRY(found);
        length = nf2_min(length, file->size - at);
        if (!found || piece.block == NF2_NO_BLOCK) {
            continue;
        }
        uint32_t within = piece.within + (at - piece.offset);
        for (uint32_t b = within / bytes; b <= (within + length - 1) / bytes; b++) {
            pin(fs, first, piece.block + b);
        }
    }
    return NF2_OK;
}

static int count_handles(nf2_t *fs, uint32_t id, uint32_t first)
{
    for (const nf2_file_t *file = fs->files; file != NULL; file = file->next) {
        if (file->kind != NF2_BODY_INDEXED || file->id != id || !nf2_file_writes(file)) {
            continue;
        }
        NF2_TRY(count_pending(fs, file, first));
        NF2_TRY(count_spill(fs, file, first));
        pin(fs, first, file->fragment_block);
        if (file->frames_at != 0) {
            pin(fs, first, file->frames);
        }
    }
    if (fs->compact_owner == id) {
        pin(fs, first, fs->compact_block);
    }
    return NF2_OK;
}

/* ---- giving blocks back ------------------------------------------------------------------------- */

/* Cuts the OWN entry `own` in two at block `at`, where the parts lie in different leaves: nothing is dropped. */
static NF2_APART int cut_own(nf2_t *fs, uint32_t id, const struct nf2_item *own, uint32_t at)
{
    struct nf2_index_change memory[3];
    struct nf2_node_op changes[3];
    struct nf2_item front = *own, rest = *own;

    front.length = at - own->number;
    rest.number = rest.block = at;
    rest.length = own->length - front.length;
    nf2_index_put(&memory[0], id, &rest, &changes[0]);
    nf2_index_put(&memory[1], id, own, &changes[1]);
    changes[1].type = NF2_NODE_MOV;
    changes[1].body.length = 0;
    nf2_index_put(&memory[2], id, &front, &changes[2]);
    return nf2_batch_change(fs, changes, 3, NF2_TREE_SLOT, NULL);
}

/* Takes [start, start + count) out of the OWN entry `own`: one group, else it would drop what the rest owns. */
static NF2_APART int release(nf2_t *fs, uint32_t id, const struct nf2_item *own, uint32_t start, uint32_t count)
{
    struct nf2_index_change memory[2];
    struct nf2_node_op changes[2];
    struct nf2_item rest = *own;
    unsigned n = 1;

    rest.length = start - own->number;
    nf2_index_put(&memory[0], id, &rest, &changes[0]);
    if (rest.length == 0) {
        changes[0].type = NF2_NODE_DEL;
        changes[0].body.length = 0;
    }
    if (start + count < own->number + own->length) {
        rest.number = rest.block = start + count;
        rest.length = own->number + own->length - rest.number;
        nf2_index_put(&memory[1], id, &rest, &changes[1]);
        n++;
    }
    return nf2_tree_change(fs, changes, n, 0, NULL);
}

/* ---- moving data -------------------------------------------------------------------------------- */

/* A block for moved data, owned by the file before anything refers to it. Its last bytes are used too. */
static int destination(nf2_t *fs, uint32_t id)
{
    struct nf2_index_change memory;
    struct nf2_node_op change;
    uint32_t block;

    if (fs->compact_owner == id && fs->compact_end < nf2_block_bytes(fs)) {
        return NF2_OK;
    }
    for (unsigned attempt = 0; attempt < TRIES; attempt++) {
        nf2_space_settle(fs, NF2_TREE_SLOT);
        int result = nf2_space_block(fs, NF2_TREE_SLOT, nf2_space_tree_claim(fs), &block);
        if (result != NF2_OK) {
            return result < 0 ? result : NF2_ERR_NOSPC;
        }
        struct nf2_item own = {NF2_BODY_OWN, block, block, 0, 1, 0};
        nf2_index_put(&memory, id, &own, &change);
        int fits = nf2_tree_fits(fs, &change);
        if (fits > 0) {
            NF2_TRY(nf2_tree_change(fs, &change, 1, 0, NULL));
            nf2_space_settle(fs, NF2_TREE_SLOT);
            fs->compact_owner = id;
            fs->compact_block = block;
            fs->compact_end = 0;
            return NF2_OK;
        }
        NF2_TRY(nf2_space_abandon(fs, NF2_TREE_SLOT)); /* new nodes would push it out of the slot before somebody owns it */
        NF2_TRY(fits);
        NF2_TRY(nf2_tree_room(fs, &change));
    }
    return NF2_ERR_NOSPC;
}

/* Copies what the map says of `at` to the end of the destination, page by page. */
static NF2_APART int copy_data(nf2_t *fs, uint32_t id, const struct nf2_item *item, uint32_t at, uint32_t length)
{
    for (uint32_t done = 0, n; done < length; done += n) {
        uint32_t end = fs->compact_end + done, within = item->within + (at + done - item->number), bytes = nf2_block_bytes(fs);
        n = nf2_min(length - done, nf2_page(fs) - end % nf2_page(fs));
        if (item->kind == NF2_BODY_FRAMES) {
            NF2_TRY(nf2_frames_read(fs, id, item->block, item->base, at + done, fs->write_buffer, n));
        } else {
            NF2_TRY(nf2_flash_read(fs, item->block + within / bytes, within % bytes, fs->write_buffer, n));
        }
        NF2_TRY(nf2_flash_program(fs, fs->compact_block, end, fs->write_buffer, n));
    }
    return NF2_OK;
}

/* Moves a file's data at `at` that the map has in one place, as far as the destination's block goes, and lets the map refer to the copy. */
static NF2_APART int move_some(nf2_t *fs, uint32_t id, uint32_t at, uint32_t length)
{
    struct nf2_index_change memory;
    struct nf2_node_op change;
    struct nf2_item item, copy;
    uint32_t n, bytes = nf2_block_bytes(fs);

    NF2_TRY(destination(fs, id));
    NF2_TRY(nf2_index_map(fs, id, at, &item, &n));
    length = nf2_min(length, nf2_min(n, bytes - fs->compact_end));
    NF2_TRY(copy_data(fs, id, &item, at, length));
    int result = nf2_index_seek(fs, id, NF2_INDEX_MAP, at, NF2_BELOW, &copy);
    NF2_TRY(result);
    if (result > 0 && copy.kind == NF2_BODY_PIECE && copy.block != NF2_NO_BLOCK && copy.number + copy.length == at &&
        copy.block * bytes + copy.within + copy.length == fs->compact_block * bytes + fs->compact_end) {
        copy.length += length; /* one piece with what lies in front of it */
    } else {
        struct nf2_item piece = {NF2_BODY_PIECE, at, fs->compact_block, fs->compact_end, length, 0};
        copy = piece;
    }
    fs->compact_end = nf2_align_unit(fs, fs->compact_end + length);
    result = nf2_index_insert(fs, id, &copy, NULL, false, 0);
    if (result == NF2_SPANS_LEAVES) { /* as a batch of one operation */
        struct nf2_batch batch = nf2_batch_empty();
        uint32_t block;
        nf2_space_settle(fs, NF2_TREE_SLOT);
        result = nf2_space_block(fs, NF2_TREE_SLOT, nf2_space_tree_claim(fs), &block);
        if (result != NF2_OK) {
            return result < 0 ? result : NF2_ERR_NOSPC;
        }
        NF2_TRY(nf2_batch_extend(fs, &batch, block));
        nf2_index_put(&memory, id, &copy, &change);
        NF2_TRY(nf2_batch_add(fs, &batch, &change, 1));
        NF2_TRY(nf2_batch_commit(fs, &batch, false, NF2_TREE_SLOT, NULL));
    }
    return result < 0 ? result : (int)length;
}

#define VICTIM_ITEMS 16u        /* mapping entries that one walk over the map notes */

struct victim {
    struct nf2_run run;
    uint32_t count;
    uint32_t number[VICTIM_ITEMS];
};

static bool lies_in(const nf2_t *fs, const struct nf2_item *item, const struct nf2_run *run)
{
    uint32_t last = item->block;

    if (item->kind == NF2_BODY_PIECE && item->block != NF2_NO_BLOCK && item->length > 0) {
        last += (item->within + item->length - 1) / nf2_block_bytes(fs);
    } else if (item->kind != NF2_BODY_FRAMES) {
        return false;
    }
    return last >= run->start && item->block < run->start + run->count;
}

/* Notes a mapping entry with data in the victim blocks; 1 when no more can be noted. */
static int find_victim_item(nf2_t *fs, void *context, const struct nf2_item *item)
{
    struct victim *victim = context;

    if (lies_in(fs, item, &victim->run)) {
        victim->number[victim->count++] = item->number;
    }
    return victim->count == VICTIM_ITEMS;
}

/* Moves what the mapping entry `number` holds in a run of blocks, if it still does. */
static NF2_APART int move_item(nf2_t *fs, uint32_t id, uint32_t number, const struct nf2_run *run)
{
    struct nf2_item item;
    uint32_t at = number, end, length;

    int found = nf2_index_seek(fs, id, NF2_INDEX_MAP, number, NF2_AT_OR_BELOW, &item);
    NF2_TRY(found);
    if (!found || item.number != number || !lies_in(fs, &item, run)) {
        return NF2_OK;
    }
    if (item.kind == NF2_BODY_FRAMES) {
        NF2_TRY(nf2_index_map(fs, id, at, &item, &length));
        end = at + length;
    } else {
        uint32_t bytes = nf2_block_bytes(fs), skip = run->start > item.block ? (run->start - item.block) * bytes : 0;
        uint32_t room = (run->start + run->count - item.block) * bytes - item.within;
        at += skip > item.within ? skip - item.within : 0;
        end = item.number + nf2_min(item.length, room);
    }
    while (at < end) {
        int moved = move_some(fs, id, at, end - at);
        if (moved <= 0) {
            return moved < 0 ? moved : NF2_ERR_IO;
        }
        at += (uint32_t)moved;
    }
    return NF2_OK;
}

/* Moves live data out of a run of blocks, of at most `items` mapping entries. How many there were, or an error. */
static NF2_APART int empty_some(nf2_t *fs, uint32_t id, const struct nf2_run *run, uint32_t items)
{
    struct victim victim = {.run = *run};

    NF2_TRY(nf2_index_each(fs, id, find_victim_item, &victim));
    for (uint32_t i = 0; i < nf2_min(victim.count, items); i++) {
        NF2_TRY(move_item(fs, id, victim.number[i], run));
    }
    return (int)victim.count;
}

static int empty_block(nf2_t *fs, uint32_t id, uint32_t block)
{
    struct nf2_run run = {block, 1};
    int moved = 1;

    for (uint32_t i = 0; i < nf2_block_bytes(fs) && moved > 0; i++) {
        moved = empty_some(fs, id, &run, VICTIM_ITEMS);
    }
    return moved > 0 ? NF2_ERR_IO : moved;
}

/* ---- steps -------------------------------------------------------------------------------------- */

#define DEAD_RUNS 8u            /* that one look notes */

/* What a look at a window of blocks found: runs that nothing live lies in, and the emptiest of the others. */
struct finding {
    struct nf2_run dead[DEAD_RUNS];
    uint32_t dead_runs, victim, least;
    uint32_t group, group_us;   /* that a large erase is to win, NF2_NONE: none; and what each block of it costs */
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

/*
 * A group of blocks that one large erase takes: what a block costs that is won by emptying it, in microseconds; NF2_NONE if it
 * cannot be emptied. `*copied`: its blocks with live data.
 */
static uint32_t group_cost(const nf2_t *fs, const struct nf2_region *region, uint32_t start, uint32_t *copied)
{
    uint32_t pages = 0, won = 0;

    *copied = 0;
    for (uint32_t i = start; i < start + nf2_large_blocks(fs); i++) {
        uint32_t live = live_bytes(fs, i);
        if (is_owned(fs, i) ? is_pinned(fs, i) : nf2_region_state(region, i) != NF2_BLOCK_DIRTY) {
            return NF2_NONE;
        }
        *copied += live > 0;
        won += live == 0;
        pages += (live + nf2_page(fs) - 1) / nf2_page(fs);
    }
    uint32_t cost = fs->flash->large_erase_us + pages * (fs->flash->read_page_us + fs->flash->program_page_us);
    return won > 0 ? cost / won : NF2_NONE;
}

/* The group of the window that is won at the least cost, if that is below an erase for each block. */
static uint32_t choose_group(const nf2_t *fs, const struct nf2_region *region, uint32_t live, uint32_t *group_us)
{
    uint32_t large = nf2_large_blocks(fs), group = NF2_NONE, least = fs->flash->erase_block_us, copied;

    if (large == 0 || large > WINDOW_BLOCKS) {
        return NF2_NONE;
    }
    uint32_t shift = (fs->config->offset / nf2_block_bytes(fs) + region->number * NF2_REGION_BLOCKS) % large;
    for (uint32_t i = (large - shift) % large; i + large <= WINDOW_BLOCKS; i += large) {
        uint32_t cost = group_cost(fs, region, i, &copied);
        bool allowed = copied + 8u <= nf2_space_free_blocks(fs) && (live > NF2_COMPACT_IDLE || copied * 16u <= live * large);
        if (cost < least && allowed) {
            least = cost;
            group = region->number * NF2_REGION_BLOCKS + i;
        }
    }
    *group_us = least;
    return group;
}

/* Counts what is live in the blocks of a file in the window from `first` on. `live`: parts of 16 of a group that may be. */
static NF2_APART int look_at_window(nf2_t *fs, uint32_t id, uint32_t first, uint32_t live, struct finding *finding)
{
    struct count c = {id, first};
    struct nf2_region region;

    memset(finding, 0, sizeof *finding);
    finding->victim = NF2_NONE;
    NF2_TRY(nf2_region_read(fs, first / NF2_REGION_BLOCKS, &region));
    nf2_cache_lend(fs, true);
    int result = nf2_index_each(fs, id, count_item, &c);
    result = result < 0 ? result : count_handles(fs, id, first);
    for (uint32_t i = 0; i < WINDOW_BLOCKS; i++) {
        uint32_t bytes = live_bytes(fs, i);
        if (is_owned(fs, i) && bytes == 0) {
            note_dead(finding, first + i);
        } else if (is_owned(fs, i) && !is_pinned(fs, i) && (finding->victim == NF2_NONE || bytes < finding->least)) {
            finding->least = bytes;
            finding->victim = first + i;
        }
    }
    finding->group = choose_group(fs, &region, live, &finding->group_us);
    nf2_cache_lend(fs, false);
    return result;
}

/* Gives back a run of blocks without live data, whatever OWN entries it lies in. */
static NF2_APART int release_run(nf2_t *fs, uint32_t id, const struct nf2_run *dead)
{
    struct nf2_item own;

    for (uint32_t start = dead->start, end = start + dead->count; start < end;) {
        int found = nf2_index_seek(fs, id, NF2_INDEX_OWN, start, NF2_AT_OR_BELOW, &own);
        if (found <= 0 || start - own.number >= own.length) {
            return found < 0 ? found : NF2_ERR_IO;
        }
        uint32_t count = nf2_min(end, own.number + own.length) - start;
        int result = release(fs, id, &own, start, count);
        if (result == NF2_SPANS_LEAVES) { /* in two first: the next turn frees the first one's end */
            result = cut_own(fs, id, &own, start + count);
            count = 0;
        }
        NF2_TRY(result);
        start += count;
    }
    return NF2_OK;
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

/* The next block that the file owns from `block` on: 1, 0, or an error. */
static int next_owned(nf2_t *fs, uint32_t id, uint32_t *block)
{
    struct nf2_item own;
    int found = nf2_index_seek(fs, id, NF2_INDEX_OWN, *block, NF2_AT_OR_BELOW, &own);

    if (found == 0 || (found > 0 && *block - own.number >= own.length)) {
        found = nf2_index_seek(fs, id, NF2_INDEX_OWN, *block, NF2_ABOVE, &own);
        *block = found > 0 ? own.number : *block;
    }
    return found;
}

/* Gives back what the file owns of a run of blocks. */
static int release_owned(nf2_t *fs, uint32_t id, const struct nf2_run *run)
{
    uint32_t block = run->start, end = run->start + run->count;
    struct nf2_item own;
    int found;

    while ((found = next_owned(fs, id, &block)) > 0 && block < end) {
        NF2_TRY(nf2_index_seek(fs, id, NF2_INDEX_OWN, block, NF2_AT_OR_BELOW, &own));
        struct nf2_run part = {block, nf2_min(end, own.number + own.length) - block};
        NF2_TRY(release_run(fs, id, &part));
        block += part.count;
    }
    return found < 0 ? found : NF2_OK;
}

/* All of the group is free: one large erase, then it is on record as erased. */
static NF2_APART int erase_group(nf2_t *fs)
{
    uint32_t first = fs->clean_first, large = nf2_large_blocks(fs);
    struct nf2_region region;

    fs->clean_first = NF2_NONE;
    NF2_TRY(nf2_space_flush(fs));
    NF2_TRY(nf2_meta_prepare(fs)); /* the log does not turn, and take one of them, before the erase is on record */
    NF2_TRY(nf2_region_read(fs, first / NF2_REGION_BLOCKS, &region));
    for (uint32_t i = 0; i < large; i++) {
        if (nf2_region_state(&region, first % NF2_REGION_BLOCKS + i) != NF2_BLOCK_DIRTY) {
            return NF2_OK; /* something else was quicker */
        }
    }
    NF2_TRY(nf2_flash_erase(fs, first, large));
    return nf2_space_record_erased(fs, first, large);
}

#define AHEAD_ITEMS 4u          /* mapping entries that a call which writes moves ahead of need */

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

/* Goes on with the group that is being emptied. */
static int clean_step(nf2_t *fs, uint32_t items)
{
    struct nf2_run group = {fs->clean_first, nf2_large_blocks(fs)};

    if (appends_to(fs, &group)) {
        fs->clean_first = NF2_NONE;
        return 1;
    }
    int moved = empty_some(fs, fs->clean_id, &group, items);
    NF2_TRY(moved);
    if (moved == 0) {
        NF2_TRY(release_owned(fs, fs->clean_id, &group));
        NF2_TRY(erase_group(fs));
    }
    return 1;
}

/* Looks at windows of the file's blocks until one has something to do; `one`: or just at one. */
static int compact_file(nf2_t *fs, uint32_t id, uint32_t live, bool one)
{
    uint32_t part = nf2_block_bytes(fs) / 16u;
    struct finding finding;
    int found;

    NF2_TRY(record_handles(fs, id));
    while ((found = next_owned(fs, id, &fs->compact_from)) > 0) {
        fs->compact_from -= fs->compact_from % WINDOW_BLOCKS;
        NF2_TRY(look_at_window(fs, id, fs->compact_from, live, &finding));
        if (finding.group != NF2_NONE && finding.group_us > fs->clean_us) { /* a better one may come; each one passed makes others good enough */
            fs->clean_us += fs->clean_us / 16u + fs->flash->erase_block_us / 32u;
            fs->compact_from += WINDOW_BLOCKS;
            if (one) {
                return 1;
            }
            continue;
        }
        if (finding.group != NF2_NONE) {
            fs->clean_us = finding.group_us;
            fs->clean_id = id;
            fs->clean_first = finding.group;
            return 1;
        }
        for (uint32_t i = 0; i < finding.dead_runs; i++) {
            NF2_TRY(release_run(fs, id, &finding.dead[i]));
        }
        if (finding.dead_runs > 0) {
            return 1;
        }
        if (finding.victim != NF2_NONE && finding.least <= part * live) {
            fs->compact_live = (uint8_t)nf2_min(finding.least / part + 1u, NF2_COMPACT_ALL);
            NF2_TRY(empty_block(fs, id, finding.victim));
            return 1;
        }
        fs->compact_from += WINDOW_BLOCKS;
    }
    fs->compact_from = 0;
    return found;
}

static int step(nf2_t *fs, uint32_t live, bool one)
{
    static const uint8_t none[1] = {0};
    struct nf2_entry entry;

    if (fs->clean_first != NF2_NONE) {
        return clean_step(fs, one ? AHEAD_ITEMS : VICTIM_ITEMS);
    }
    for (;;) {
        struct nf2_key key = nf2_key_of(fs->compact_id, none, 0);
        int found = nf2_tree_seek(fs, &key, NF2_AT_OR_ABOVE, &entry);
        if (found <= 0 || entry.id == NF2_NONE) {
            fs->compact_id = fs->compact_from = 0;
            fs->compact_again = (uint8_t)(fs->compact_again - (fs->compact_again > 0));
            return found < 0 ? found : 0;
        }
        fs->compact_from = entry.id == fs->compact_id ? fs->compact_from : 0;
        fs->compact_id = entry.id;
        uint8_t kind;
        NF2_TRY(nf2_body_read(fs, &entry, 0, &kind, 1));
        if (kind >= NF2_BODY_PIECE && kind <= NF2_BODY_OWN) {
            int result = compact_file(fs, entry.id, live, one);
            if (result != 0) {
                return result;
            }
        }
        fs->compact_id++;
    }
}

static int urgent_step(nf2_t *fs, uint32_t live, bool one)
{
    bool urgent = fs->urgent;

    fs->urgent = true;
    int result = step(fs, live, one);
    fs->urgent = urgent;
    return result;
}

int nf2_compact_step(nf2_t *fs, uint32_t live)
{
    return urgent_step(fs, live, false);
}

int nf2_compact_ahead(nf2_t *fs)
{
    uint32_t large = nf2_large_blocks(fs), worth = fs->flash->erase_block_us;
    bool due = fs->clean_first != NF2_NONE || (fs->clean_us != 0 && fs->clean_us < worth);

    if (!due || nf2_space_erased_blocks(fs) >= large || nf2_space_available(fs) >= large) {
        return NF2_OK;
    }
    return urgent_step(fs, NF2_COMPACT_ALL, true);
}
