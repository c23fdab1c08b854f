/* SPDX-License-Identifier: BSD-2-Clause */
#include "walk.h"

#include "move.h"
#include "refs.h"
#include "victims.h"

/*
 * ---- marking
 * ------------------------------------------------------------------------------------
 */

/* When a walk begins it counts as live. */
static NF2_APART void pin_run(nf2_t *fs, uint32_t block, uint32_t count)
{
    nf2_space_use(fs, block, count);
    for (uint32_t i = 0; fs->walk_active && i < count; i++) {
        nf2_space_live(fs, block + i, nf2_block_bytes(fs));
    }
}

/* What is in use and in no entry of the tree. */
int nf2_walk_pin(nf2_t *fs)
{
    const struct nf2_space *space = &fs->space;

    const nf2_file_t *file = NF2_BROKEN(NF2_FAULT_PIN) ? NULL : fs->files;
    for (; file != NULL; file = file->link) {
        pin_run(fs, file->run.block, file->run.count);
        pin_run(fs, file->frames_block, 1); /* none: a super block */
        for (unsigned i = 0; i < file->pieces; i++) {
            nf2_walked_piece(fs, &file->piece[i]);
        }
    }
    pin_run(fs, 0, NF2_SUPER_BLOCKS);
    pin_run(fs, fs->fragment.block, fs->fragment.count);
    pin_run(fs, fs->walk.moved.block, fs->walk.moved.count);
    for (unsigned i = 0; i < sizeof space->claim / sizeof space->claim[0]; i++) {
        pin_run(fs, space->claim[i].start, space->claim[i].count);
    }
    pin_run(fs, fs->root_head, 1);
    pin_run(fs, fs->root_next, fs->root_next < fs->blocks);
    for (unsigned i = 0; i < fs->freed_count; i++) {
        pin_run(fs, space->freed[i], 1);
    }
    for (unsigned i = 0; i < fs->bads; i++) {
        pin_run(fs, fs->root.bad[i], 1);
    }
    return fs->group_busy ? nf2_group_pin(fs) : NF2_OK;
}

static void mark_piece(nf2_t *fs, const struct nf2_piece *piece)
{
    uint32_t bytes = nf2_block_bytes(fs), left = piece->length;
    uint32_t blocks = nf2_piece_blocks(fs, piece);

    for (uint32_t i = 0, at = piece->within; i < blocks; i++, at = 0) {
        uint32_t here = nf2_min(left, bytes - at);
        /* it may take more */
        here = piece->kind == NF2_PIECE_FRAMES && !fs->walk_hard ? bytes : here;
        (void)nf2_space_mark(fs, piece->block + i);
        nf2_space_live(fs, piece->block + i, here);
        left -= nf2_min(here, left);
    }
}

/* Marks what an entry of a directory refers to; the piece of an entry of a map is returned: 1. */
static int look_at_entry(nf2_t *fs, const struct nf2_entry *entry, struct nf2_piece *piece,
                         bool *wanted)
{
    struct nf2_refs refs;
    int found, pieces = 0;

    *wanted = false;
    if (entry->key.id == NF2_SYSTEM_ID) {
        if (entry->key.length == 5 && entry->key.bytes[0] == NF2_KEY_BAD) {
            uint32_t bad = nf2_key_value(&entry->key);
            (void)nf2_space_mark(fs, bad);
            nf2_space_live(fs, bad, 255); /* its cell cannot be won as a whole */
        }
        return 0;
    }
    NF2_TRY(nf2_refs_begin(fs, &entry->key, &entry->body, &refs));
    bool list = refs.at != 0;
    while ((found = nf2_refs_next(fs, &refs, piece)) > 0) {
        bool moves = fs->walk_emptying && nf2_move_wanted(fs, piece);
        if (moves) {
            *wanted = true;
        }
        if (list && !moves) { /* one that moves is marked where it goes */
            mark_piece(fs, piece);
        }
        pieces += !list;
    }
    return found < 0 ? found : pieces;
}

static void mark_node(nf2_t *fs, uint32_t block)
{
    if (nf2_space_mark(fs, block)) {
        nf2_space_live(fs, block, nf2_block_bytes(fs));
    }
}

/*
 * ---- the walk
 * -----------------------------------------------------------------------------------
 */

int nf2_walk_begin(nf2_t *fs, bool emptying)
{
    struct nf2_walk *walk = &fs->walk;

    fs->walk_active = true;
    fs->walk_emptying = emptying;
    fs->walk_ready = false;
    walk->leaves_before = walk->leaves;
    walk->leaves = 0;
    nf2_key_copy(&walk->cursor, &nf2_key_lowest);
    fs->walk_behind = false;
    nf2_space_clear(fs, fs->space.mark, fs->mark_window);
    memset(fs->space.live, 0, sizeof fs->space.live);
    return NF2_BROKEN(NF2_FAULT_PIN_BEGIN) ? NF2_OK : nf2_walk_pin(fs);
}

/* A node that lies in a victim, on the way to the leaf, is written anew. 1 if so. */
static int move_node(nf2_t *fs, const struct nf2_path *path)
{
    for (unsigned level = 0; level <= fs->root_level; level++) {
        if (nf2_space_victim(fs, path->node[level].block)) {
            NF2_TRY(nf2_tree_write(fs, path->node, &path->lower, level, NULL, 0));
            fs->to_move -= nf2_min(fs->to_move, nf2_block_pages(fs));
            return 1;
        }
        mark_node(fs, path->node[level].block);
    }
    return 0;
}

/* What a step came to. */
enum { MOVED = 1, WANTED = 2, ENDED = 3 };

/*
 * What the entry at the cursor, or these, refer to lies in victims: it is moved; of a map, if there
 * is nothing to move after all, marked. A name that no longer refers to any was read differently.
 */
static int visit_wanted(nf2_t *fs, const struct nf2_wanted *wanted)
{
    if (nf2_alloc_stock(fs) <= nf2_victims_floor(fs)) {
        return NF2_NEED_SPACE;
    }
    int moved = nf2_move(fs, &fs->walk.cursor, wanted);
    /* NOLINTNEXTLINE(clang-analyzer-*): visit_all() sets it */
    NF2_TRY(moved == 0 && wanted->count == 0 ? NF2_ERR_IO : moved);
    fs->walk_behind |= moved == 0 || NF2_BROKEN(NF2_FAULT_MOVED);
    return MOVED;
}

/*
 * Notes an entry that refers to victims; the cursor is at the first one. Are that all that one
 * change takes?
 */
static bool note_wanted(nf2_t *fs, const struct nf2_key *key, bool in_map,
                        struct nf2_wanted *wanted)
{
    if (wanted->count == 0) {
        nf2_key_copy(&fs->walk.cursor, key);
        fs->walk_behind = false;    /* whatever becomes of the move */
    }
    if (!in_map || key->id != fs->walk.cursor.id) {
        return true;
    }
    wanted->offset[wanted->count++] = nf2_key_value(key);
    return wanted->count == NF2_MOVED_PIECES;
}

/*
 * The entries of a leaf from the cursor on: 0, WANTED if something of them is to be moved first,
 * or an error. What follows the last piece is not known: it is left to be marked, if `*last_id` is
 * not 0.
 */
static NF2_APART int visit_all(nf2_t *fs, const struct nf2_path *path,
                               struct nf2_wanted *wanted, struct nf2_piece *last,
                               uint32_t *last_id)
{
    struct nf2_iterator iterator;
    struct nf2_entry entry;
    struct nf2_piece piece;
    bool moves;
    int found;

    wanted->count = 0;
    NF2_TRY(nf2_node_view(fs, path->node[0], 0, &iterator.view));
    bool whole = nf2_key_compare(&fs->walk.cursor, &path->lower) <= 0;
    NF2_TRY(nf2_iterate(fs, iterator.view, whole ? NULL : &fs->walk.cursor, &iterator));
    while ((found = nf2_iterate_next(fs, &iterator, &entry)) > 0) {
        int order = nf2_key_compare(&entry.key, &fs->walk.cursor);
        if (order < 0) {        /* else a leaf out of order had no end */
            return NF2_ERR_IO;
        }
        if (order == 0 && fs->walk_behind) {
            continue;
        }
        int mapped = look_at_entry(fs, &entry, &piece, &moves);
        /* of the record, about */
        fs->walk.bytes = (uint16_t)(fs->walk.bytes + 10u + entry.key.length + entry.body.length);
        NF2_TRY(mapped);
        if (*last_id != 0) {    /* it counts up to here */
            bool cut = mapped && entry.key.id == *last_id &&
                       last->offset + last->length > piece.offset;
            last->length = cut ? piece.offset - last->offset : last->length;
            mark_piece(fs, last);
        }
        *last = piece;
        *last_id = mapped && !moves ? entry.key.id : 0;
        if (moves && note_wanted(fs, &entry.key, mapped > 0, wanted)) {
            return WANTED;
        }
    }
    return found < 0 ? found : wanted->count > 0 ? WANTED : NF2_OK;
}

static int visit_entries(nf2_t *fs, const struct nf2_path *path, struct nf2_wanted *wanted)
{
    struct nf2_piece last;
    uint32_t last_id = 0;
    int did = visit_all(fs, path, wanted, &last, &last_id);

    NF2_TRY(did);
    if (last_id != 0) {
        /* it may end in the next leaf */
        if (path->bounded && last.offset + last.length > nf2_key_value(&path->upper)) {
            NF2_TRY(nf2_map_find(fs, last_id, last.offset, &last));
        }
        mark_piece(fs, &last);
    }
    return did;
}

int nf2_walk_visit(nf2_t *fs, struct nf2_path *path, struct nf2_wanted *wanted)
{
    /* without a bound they are not set */
    path->lower.id = path->lower.length = path->upper.length = 0;
    NF2_TRY(nf2_tree_descend(fs, &fs->walk.cursor, path));
    int did = move_node(fs, path);
    return did == 0 ? visit_entries(fs, path, wanted) : did;
}

static NF2_APART int visit_leaf(nf2_t *fs, struct nf2_wanted *wanted)
{
    struct nf2_walk *walk = &fs->walk;
    struct nf2_path path;
    int did = nf2_walk_visit(fs, &path, wanted);

    NF2_NEAR(walk);
    if (did != 0) {
        return did;
    }
    walk->leaves++;
    fs->walk_behind = false;
    nf2_key_copy(&walk->cursor, &path.upper);
    if (!path.bounded) {
        fs->walk_active = false;
        walk->leaves_before = walk->leaves;
    }
    bool joins = walk->joins > 0 && !fs->group_busy;
    int joined = joins ? nf2_tree_join(fs, &path.lower, walk->bytes) : NF2_UNCHANGED;
    walk->bytes = 0;
    if (joined == 1) {          /* there may be more of them */
        fs->pristine = false;
        walk->joins--;
    }
    NF2_TRY(joined != NF2_NEED_SPACE ? joined : 0);
    return path.bounded ? 0 : ENDED;
}

/* One leaf, or a move: 1 when all leaves were visited, 0, or an error. */
int nf2_walk_step(nf2_t *fs)
{
    struct nf2_wanted wanted;

    if (fs->group_busy) {       /* nothing is moved while a GROUP is being applied */
        fs->victims = fs->laggards = 0;
    }
    int did = visit_leaf(fs, &wanted);
    did = did == WANTED ? visit_wanted(fs, &wanted) : did;
    /* nothing more can be copied: only marked */
    if (did == NF2_NEED_SPACE || did == NF2_ERR_NOSPC) {
        fs->victims = fs->laggards = 0;
        return 0;
    }
    return did < 0 ? did : did == ENDED;
}
