/* SPDX-License-Identifier: BSD-2-Clause */
#include "sweep.h"

#include "bad.h"
#include "move.h"
#include "walked.h"

#define LEFT_UNKNOWN 255u       /* see nf2_space.left */

/* ---- marking ------------------------------------------------------------------------------------ */

static void mark_node(nf2_t *fs, uint32_t block)
{
    if (nf2_space_mark(fs, block)) {
        nf2_space_live(fs, block, 16);
    }
}

static void pin_run(nf2_t *fs, uint32_t block, uint32_t count)
{
    if (count > 0) {
        nf2_space_use(fs, block, count);
    }
}

/* What is in use and in no entry of the tree. */
static void pin(nf2_t *fs)
{
    const struct nf2_space *space = &fs->space;

    for (const nf2_file_t *file = fs->files; file != NULL; file = file->link) {
        pin_run(fs, file->run.block, file->run.count);
        pin_run(fs, file->frames_block, file->frames_block != 0);
        for (unsigned i = 0; i < file->pieces; i++) {
            nf2_walked_piece(fs, &file->piece[i]);
        }
    }
    pin_run(fs, fs->fragment.block, fs->fragment.count);
    pin_run(fs, fs->walk.moved.block, fs->walk.moved.count);
    pin_run(fs, space->nodes.start, space->nodes.count);
    pin_run(fs, space->data.start, space->data.count);
    pin_run(fs, fs->root.head, 1);
    pin_run(fs, fs->root.next, fs->root.next < fs->io.blocks);
    pin_run(fs, fs->root.group_block, fs->root.group_block != NF2_NO_BLOCK);
    for (unsigned i = 0; i < space->freed_count; i++) {
        pin_run(fs, space->freed[i], 1);
    }
    for (unsigned i = 0; i < fs->root.bads; i++) {
        mark_node(fs, fs->root.bad[i]); /* what else lies in its group may be moved */
    }
}

static void mark_piece(nf2_t *fs, const struct nf2_piece *piece)
{
    uint32_t bytes = nf2_block_bytes(fs), part = bytes / 16, left = piece->length;
    uint32_t blocks = nf2_piece_blocks(fs, piece);

    for (uint32_t i = 0, at = piece->within; i < blocks; i++, at = 0) {
        uint32_t here = piece->kind == NF2_PIECE_FRAMES ? bytes : nf2_min(left, bytes - at);
        (void)nf2_space_mark(fs, piece->block + i);
        nf2_space_live(fs, piece->block + i, (here + part - 1) / part);
        left -= nf2_min(here, left);
    }
}

/* Marks what an entry of a directory refers to; the piece of an entry of a map is returned: 1. */
static int look_at_entry(nf2_t *fs, const struct nf2_entry *entry, struct nf2_piece *piece, bool *wanted)
{
    struct nf2_span body = nf2_body_span(entry, 0, entry->body_length);
    struct nf2_refs refs;
    int found, pieces = 0;

    *wanted = false;
    if (entry->key.id == NF2_SYSTEM_ID) {
        if (entry->key.length == 5 && entry->key.bytes[0] == NF2_KEY_BAD) {
            mark_node(fs, nf2_key_value(&entry->key));
        }
        return 0;
    }
    NF2_TRY(nf2_refs_begin(fs, &entry->key, &body, &refs));
    bool list = refs.at != 0;
    while ((found = nf2_refs_next(fs, &refs, piece)) > 0) {
        *wanted = *wanted || (fs->walk.emptying && nf2_move_wanted(fs, piece));
        if (list) {
            mark_piece(fs, piece);
        } else {
            pieces++;
        }
    }
    return found < 0 ? found : pieces;
}

/* ---- victims ------------------------------------------------------------------------------------ */

static uint32_t group_bits(const nf2_t *fs, uint32_t group, uint32_t *used)
{
    uint32_t size = nf2_group_blocks(fs), blocks = 0;

    *used = 0;
    for (uint32_t i = group * size; i < (group + 1) * size && i < fs->space.window_blocks; i++) {
        blocks++;
        *used += nf2_bit(fs->space.mark, i);
    }
    return blocks;
}

/*
 * Is a group worth emptying? For the garbage that it holds; or, where room is plenty, for a whole group that one large
 * erase takes instead of many small ones.
 */
static bool worth_emptying(const nf2_t *fs, uint32_t group, bool scarce)
{
    uint32_t used, blocks = group_bits(fs, group, &used), live = fs->space.live[group];
    bool garbage = used > 0 && live + 16 <= 16 * used && live < 16 * blocks - 8;
    bool whole = used > 0 && used < blocks && nf2_large_blocks(fs) > 1 && live <= 11 * blocks;

    return garbage ? scarce || live <= 11 * blocks : whole && !scarce;
}

/* The emptiest groups of the marked window first, as many as can be copied, until a share of what is free is won. */
static bool choose_victims(nf2_t *fs)
{
    uint32_t size = nf2_group_blocks(fs), room = nf2_alloc_stock(fs), kept = nf2_space_kept(fs);
    uint32_t parts = room > kept ? 16 * (room - kept) : 0;     /* that may be copied, in 16th of blocks */
    uint32_t here = nf2_space_count(fs, fs->space.mark), share = here / 2, won = 0;
    bool scarce = here < fs->space.window_blocks / 16;

    fs->space.victims = 0;
    for (uint32_t live = 0; live < 255 && (scarce || won < share); live++) {
        for (uint32_t group = 0; group < NF2_GROUPS; group++) {
            bool chosen = fs->space.live[group] == live && live + size <= parts && worth_emptying(fs, group, scarce);
            if (chosen) {
                fs->space.victims |= 1u << group;
                parts -= live + size / 2;
                won += size - live / 16;
            }
        }
    }
    return fs->space.victims != 0;
}

/* ---- the walk ----------------------------------------------------------------------------------- */

static void begin_walk(nf2_t *fs, bool emptying)
{
    static const struct nf2_key lowest = {0, 0, {0}};

    fs->walk.active = true;
    fs->walk.emptying = emptying;
    fs->walk.ready = fs->walk.looked = false;
    fs->walk.leaves_before = fs->walk.leaves;
    fs->walk.leaves = 0;
    fs->walk.cursor = lowest;
    fs->walk.behind = false;
    nf2_space_clear(fs, fs->space.mark, fs->space.mark_window);
    memset(fs->space.live, 0, sizeof fs->space.live);
    pin(fs);
}

/* The window that is marked is taken from now on: its bits go on record. */
static int take_over(nf2_t *fs)
{
    struct nf2_space *space = &fs->space;
    uint32_t victims = space->victims;

    pin(fs);
    space->victims = victims;
    bool same = space->now_window == space->mark_window;
    space->left[space->now_window] = (uint8_t)nf2_min((space->now_free + 1u) / 2, LEFT_UNKNOWN - 1);
    memcpy(space->now, space->mark, NF2_WINDOW_BYTES);
    space->now_window = space->mark_window;
    space->now_free = (uint16_t)nf2_space_count(fs, space->now);
    space->erased_groups = same ? space->erased_groups : 0; /* of blocks taken since their erase it has none */
    space->fresh = space->now_fresh = false;
    space->now_counted = true;
    fs->walk.paced = space->now_free;
    return nf2_journal_checkpoint(fs, false);
}

/* Adds a marked window to the lap; a lap over all of them gives the exact number of free blocks. */
static void count_window(nf2_t *fs)
{
    struct nf2_space *space = &fs->space;

    if (space->lap_windows == 0) {
        space->lap_free = 0;
        space->now_counted = false;
    }
    uint32_t count = nf2_space_count(fs, space->mark), left = 2u * space->left[space->mark_window];
    space->free += space->left[space->mark_window] != LEFT_UNKNOWN && count > left ? count - left : 0;
    space->left[space->mark_window] = (uint8_t)nf2_min((count + 1) / 2, LEFT_UNKNOWN - 1);
    space->lap_free += count;
    space->lap_windows++;
    if (space->lap_windows >= nf2_windows(fs)) {
        bool known = space->lap_known && nf2_windows(fs) > 1;
        space->free = known ? space->free : space->lap_free;
        space->lap_known = true;
        space->lap_windows = 0;
        space->settled = space->pristine;
        fs->root.leaky = !space->pristine;
    }
}

/* All leaves were visited. */
static int end_walk(nf2_t *fs)
{
    fs->walk.active = false;
    fs->walk.leaves_before = fs->walk.leaves;
    pin(fs);
    if (!fs->walk.emptying && choose_victims(fs)) {
        begin_walk(fs, true);
        return NF2_OK;
    }
    fs->space.victims = 0;
    fs->walk.ready = true;
    if (!fs->walk.counted) {
        count_window(fs);
        fs->walk.counted = true;
    }
    if (fs->space.mark_window == fs->space.now_window) {
        fs->walk.ready = false;
        return take_over(fs);
    }
    return NF2_OK;
}

/* A node that lies in a victim, on the way to the leaf, is written anew. 1 if so. */
static int move_node(nf2_t *fs, const struct nf2_path *path)
{
    for (unsigned level = 0; level <= fs->root.level; level++) {
        if (nf2_space_victim(fs, path->node[level].block)) {
            NF2_TRY(nf2_tree_rewrite(fs, path, level, NULL, 0));
            return 1;
        }
        mark_node(fs, path->node[level].block);
    }
    return 0;
}

/* An entry that lies in a victim is moved; if there is nothing to move after all, it is marked. */
static int visit_wanted(nf2_t *fs, const struct nf2_entry *entry, bool in_map)
{
    struct nf2_piece piece;

    if (nf2_alloc_stock(fs) <= nf2_space_kept(fs)) {
        return NF2_NEED_SPACE;
    }
    fs->walk.cursor = entry->key;
    int moved = nf2_move_entry(fs, entry);
    if (moved == 0 && in_map) {
        NF2_TRY(nf2_map_find(fs, entry->key.id, nf2_key_value(&entry->key), &piece));
        mark_piece(fs, &piece);
    }
    fs->walk.behind = moved == 0;
    return moved < 0 ? moved : 1;
}

/* The entries of a leaf from the cursor on: 1 if the step ends in front of the leaf's end, 0 if not, or an error. */
static int visit_entries(nf2_t *fs, const struct nf2_path *path)
{
    struct nf2_iterator iterator;
    struct nf2_entry entry;
    struct nf2_view *view;
    struct nf2_piece piece, last;
    uint32_t last_id = 0;
    bool wanted;
    int found;

    NF2_TRY(nf2_node_view(fs, path->node[0], 0, &view));
    NF2_TRY(nf2_iterate(fs, view, &fs->walk.cursor, &iterator));
    while ((found = nf2_iterate_next(fs, &iterator, &entry)) > 0) {
        if (fs->walk.behind && nf2_key_compare(&entry.key, &fs->walk.cursor) == 0) {
            continue;
        }
        int mapped = look_at_entry(fs, &entry, &piece, &wanted);
        NF2_TRY(mapped);
        if (last_id != 0) { /* it counts up to here */
            bool cut = mapped && entry.key.id == last_id && last.offset + last.length > piece.offset;
            last.length = cut ? piece.offset - last.offset : last.length;
            mark_piece(fs, &last);
        }
        last = piece;
        last_id = mapped ? entry.key.id : 0;
        if (wanted) {
            return visit_wanted(fs, &entry, mapped > 0);
        }
    }
    if (last_id != 0) {
        mark_piece(fs, &last);
    }
    return found;
}

static int walk_step(nf2_t *fs)
{
    struct nf2_path path;

    NF2_TRY(nf2_tree_descend(fs, &fs->walk.cursor, NF2_AT_OR_BELOW, &path));
    int moved = move_node(fs, &path);
    moved = moved == 0 ? visit_entries(fs, &path) : moved;
    if (moved == NF2_NEED_SPACE || moved == NF2_ERR_NOSPC) { /* nothing more can be copied: only marked */
        fs->space.victims = 0;
        fs->walk.moved.count = 0;
        return NF2_OK;
    }
    if (moved != 0) {
        return moved < 0 ? moved : NF2_OK;
    }
    fs->walk.leaves++;
    fs->walk.behind = false;
    if (path.bounded) {
        fs->walk.cursor = path.upper;
        int joined = nf2_tree_join(fs, &path);
        return joined < 0 && joined != NF2_NEED_SPACE ? joined : NF2_OK;
    }
    int lowered = nf2_tree_lower(fs);
    return lowered < 0 ? lowered : end_walk(fs);
}

/* Marks the blocks in use of a window, and does nothing else. */
int nf2_sweep_look(nf2_t *fs, uint32_t window)
{
    struct nf2_path path;

    if (fs->walk.looked && fs->walk.looked_changes == fs->io.changes && fs->space.mark_window == window) {
        return NF2_OK;
    }
    fs->walk.again = fs->walk.again || fs->walk.active || fs->walk.ready; /* what was marked is lost */
    fs->space.mark_window = window;
    fs->space.victims = 0;
    begin_walk(fs, false);
    fs->walk.active = false;
    do {
        NF2_TRY(nf2_tree_descend(fs, &fs->walk.cursor, NF2_AT_OR_BELOW, &path));
        for (unsigned level = 0; level <= fs->root.level; level++) {
            mark_node(fs, path.node[level].block);
        }
        NF2_TRY(visit_entries(fs, &path));
        fs->walk.cursor = path.upper;
    } while (path.bounded);
    fs->walk.looked = true;
    fs->walk.looked_changes = fs->io.changes;
    return NF2_OK;
}

/* ---- windows ------------------------------------------------------------------------------------ */

/* What a walk would find of a window that was never used. */
static int mark_bad_keys(nf2_t *fs)
{
    uint32_t block = fs->space.mark_window * fs->space.window_blocks;
    int found;

    for (; (found = nf2_bad_next(fs, block, &block)) > 0; block++) {
        (void)nf2_space_mark(fs, block);
    }
    return found;
}

/* Goes on to the next window: to one that was never used without any walk. 1 if so, 0 if a walk is needed. */
static int next_window(nf2_t *fs)
{
    struct nf2_space *space = &fs->space;

    if (space->fresh && space->now_window + 1 < nf2_windows(fs)) {
        space->mark_window = fs->walk.turn = space->now_window + 1;
        nf2_space_clear(fs, space->mark, space->mark_window);
        bool more = space->mark_window + 1 < nf2_windows(fs);
        space->left[space->now_window] = (uint8_t)nf2_min((space->now_free + 1u) / 2, LEFT_UNKNOWN - 1);
        pin(fs);
        NF2_TRY(mark_bad_keys(fs));
        memcpy(space->now, space->mark, NF2_WINDOW_BYTES);
        space->now_window = space->mark_window;
        space->now_free = (uint16_t)nf2_space_count(fs, space->now);
        space->fresh = more;
        space->now_fresh = true;
        space->erased_groups = 0;
        NF2_TRY(nf2_journal_checkpoint(fs, false));
        return 1;
    }
    if (fs->walk.ready) {
        fs->walk.ready = false;
        NF2_TRY(take_over(fs));
        return 1;
    }
    if (!fs->walk.active) {
        if (!fs->walk.again) {
            fs->walk.turn = (fs->walk.turn + 1) % nf2_windows(fs);
            fs->walk.counted = false;
        }
        fs->walk.again = false;
        space->mark_window = fs->walk.turn;
        space->victims = 0;
        space->pristine = space->pristine || space->lap_windows == 0;
        begin_walk(fs, false);
    }
    return 0;
}

static bool dead_orphan(const nf2_t *fs, uint32_t id)
{
    for (const nf2_file_t *file = fs->files; file != NULL; file = file->link) {
        if (file->shadow == id) {
            return false;
        }
    }
    return true;
}

/* Removes the entries of a map that no name leads to, a leaf at a time: 1 if there was one, 0 if not, or an error. */
static int orphan_step(nf2_t *fs)
{
    struct nf2_key key = nf2_key_system(NF2_KEY_ORPHAN, 0);
    struct nf2_entry entry;
    struct nf2_path path;
    int found;

    for (;; key = entry.key) {
        found = nf2_tree_seek(fs, &key, NF2_ABOVE, &entry);
        bool orphan = found > 0 && entry.key.id == NF2_SYSTEM_ID && entry.key.bytes[0] == NF2_KEY_ORPHAN;
        if (!orphan) {
            return found < 0 ? found : 0;
        }
        if (dead_orphan(fs, nf2_key_value(&entry.key))) {
            break;
        }
    }
    key = entry.key;
    struct nf2_op op = nf2_op_range(nf2_key_value(&key), 0, NF2_FILE_MAX + 1u);
    found = nf2_tree_seek(fs, &op.key, NF2_AT_OR_ABOVE, &entry);
    NF2_TRY(found);
    if (!found || !nf2_op_covers(&op, &entry.key)) {
        op = nf2_op_delete(&key);
    } else {
        op.key = entry.key;
        NF2_TRY(nf2_tree_descend(fs, &op.key, NF2_AT_OR_BELOW, &path));
        op.to = path.bounded && nf2_op_covers(&op, &path.upper) ? nf2_key_value(&path.upper) : op.to;
    }
    NF2_TRY(nf2_change(fs, &op, 1));
    return 1;
}

/* Goes on until `enough` or until two laps have won nothing. */
static int walk_until(nf2_t *fs, bool (*enough)(const nf2_t *fs, uint32_t number), uint32_t number)
{
    uint32_t walks = 4 * nf2_windows(fs) + 4;

    NF2_TRY(nf2_journal_open(fs));
    while (!enough(fs, number)) {
        int orphans = nf2_alloc_stock(fs) > 3 ? orphan_step(fs) : 0;
        NF2_TRY(orphans);
        if (orphans) {
            continue;
        }
        int taken = next_window(fs);
        NF2_TRY(taken);
        bool ended = false;
        while (!taken && !ended && !enough(fs, number)) {
            bool emptying = fs->walk.emptying;
            NF2_TRY(walk_step(fs));
            ended = !fs->walk.active || emptying != fs->walk.emptying;
        }
        if (walks-- == 0) {
            return enough(fs, number) ? NF2_OK : NF2_ERR_NOSPC;
        }
    }
    return NF2_OK;
}

static bool nodes_enough(const nf2_t *fs, uint32_t number)
{
    return nf2_alloc_stock(fs) >= number;
}

static bool data_enough(const nf2_t *fs, uint32_t number)
{
    uint32_t stock = (uint32_t)fs->space.nodes.count + fs->space.freed_count, kept = nf2_space_kept(fs);

    return fs->space.data.count > 0 || fs->space.now_free + nf2_min(stock, kept) > kept + number;
}

static bool room_enough(const nf2_t *fs, uint32_t number)
{
    return nf2_space_available(fs) >= number;
}

/* ---- pace --------------------------------------------------------------------------------------- */

/* For each block taken so much of the walk is done that it ends before the window does. */
static int pace(nf2_t *fs)
{
    struct nf2_space *space = &fs->space;
    uint32_t taken = fs->walk.paced > space->now_free ? fs->walk.paced - space->now_free : 0;
    uint32_t kept = nf2_space_kept(fs);

    fs->walk.paced = space->now_free;
    if (taken == 0 || space->fresh || fs->walk.ready || fs->io.read_only) {
        return NF2_OK;
    }
    if (!fs->walk.active) {
        if (nf2_windows(fs) == 1 && space->now_free > space->window_blocks / 4) {
            return NF2_OK;
        }
        NF2_TRY(next_window(fs));
    }
    uint32_t all = nf2_max(fs->walk.leaves_before, fs->walk.leaves) + 1;
    uint32_t left = all - fs->walk.leaves + (fs->walk.emptying ? 0 : all);
    uint32_t blocks = space->now_free > kept ? space->now_free - kept : 1;
    uint32_t steps = nf2_min((left * taken + blocks - 1) / blocks, 8);
    for (uint32_t i = 0; i < steps && fs->walk.active; i++) {
        NF2_TRY(walk_step(fs));
    }
    return NF2_OK;
}

int nf2_sweep_ready(nf2_t *fs, bool urgent)
{
    uint32_t kept = nf2_space_kept(fs);

    NF2_TRY(nf2_journal_open(fs));
    NF2_TRY(nf2_group_redo_pending(fs));
    NF2_TRY(nodes_enough(fs, kept) ? nf2_bad_record(fs) : NF2_OK);
    NF2_TRY(pace(fs));
    if (nodes_enough(fs, kept)) {
        return NF2_OK;
    }
    int result = walk_until(fs, nodes_enough, kept);
    return result == NF2_ERR_NOSPC && urgent && nf2_alloc_stock(fs) > 0 ? NF2_OK : result;
}

int nf2_sweep_more(nf2_t *fs)
{
    return walk_until(fs, data_enough, 0);
}

int nf2_sweep_room(nf2_t *fs, uint32_t blocks)
{
    return room_enough(fs, blocks) ? NF2_OK : walk_until(fs, room_enough, blocks);
}

int nf2_sweep_step(nf2_t *fs)
{
    NF2_TRY(nf2_journal_open(fs));
    int orphans = orphan_step(fs);
    if (orphans != 0) {
        return orphans;
    }
    if (!fs->walk.active && (fs->walk.ready || fs->space.fresh || fs->space.settled)) {
        return 0;
    }
    NF2_TRY(fs->walk.active ? NF2_OK : next_window(fs));
    NF2_TRY(fs->walk.active ? walk_step(fs) : NF2_OK);
    return 1;
}
