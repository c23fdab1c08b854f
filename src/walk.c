/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * walk.c - visits what the tree refers to. Kept here: when a walk that began at the lowest key
 * ends, each reference into a region was counted by it, or by the barrier where a change put it
 * behind the cursor [8], or is pinned [9]. So what is still a victim then, or has nothing live, is
 * free [10].
 */
#include "walk.h"

#include "move.h"
#include "refs.h"
#include "victims.h"

/* ---- counting -------------------------------------------------------------------------------- */

/* What is in use and in no entry of the tree. */
int nf2_walk_pin(nf2_t *fs)
{
    const struct nf2_space *space = &fs->space;

    const nf2_file_t *file = NF2_BROKEN(NF2_FAULT_PIN) ? NULL : fs->files;
    for (; file != NULL; file = file->link) {
        nf2_space_pin(fs, file->run.block, file->run.count);
        nf2_space_pin(fs, file->frames_block, 1); /* none: a super block */
        for (unsigned i = 0; i < file->pieces; i++) {
            const struct nf2_piece *piece = &file->piece[i];
            nf2_space_pin(fs, piece->block, nf2_piece_blocks(fs, piece));
        }
    }
    nf2_space_pin(fs, 0, NF2_SUPER_BLOCKS);
    nf2_space_pin(fs, fs->fragment.block, fs->fragment.count);
    nf2_space_pin(fs, fs->walk.moved.block, fs->walk.moved.count);
    for (unsigned i = 0; i < NF2_WRITERS; i++) {
        nf2_space_pin(fs, space->claim[i].start, nf2_claim_rest(fs, &space->claim[i]));
    }
    nf2_space_pin(fs, fs->root_head, 1);
    nf2_space_pin(fs, fs->root_next, 1);
    for (unsigned i = 0; i < fs->freed_count; i++) {
        nf2_space_pin(fs, space->freed[i], 1);
    }
    for (unsigned i = 0; i < space->hand_count; i++) {
        nf2_space_pin(fs, space->hand[i], 1);
    }
    for (unsigned i = 0; i < fs->bads; i++) {
        nf2_space_pin(fs, fs->root.bad[i], 1);
    }
    return fs->group_busy ? nf2_group_pin(fs) : NF2_OK;
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
            nf2_space_pin(fs, nf2_key_value(&entry->key), 1);
        }
        return 0;
    }
    NF2_TRY(nf2_refs_begin(fs, &entry->key, &entry->body, &refs));
    bool list = refs.at != 0, stays = !list && entry->key.length != 4; /* of no map: not moved */
    while ((found = nf2_refs_next(fs, &refs, piece)) > 0) {
        bool moves = !stays && nf2_move_wanted(fs, piece);
        if (moves) {
            *wanted = true;
        }
        if (stays || (list && !moves)) { /* one that moves counts where it goes */
            nf2_walked_piece(fs, piece);
        }
        pieces += !list && !stays;
    }
    return found < 0 ? found : pieces;
}

/* ---- the walk -------------------------------------------------------------------------------- */

void nf2_walk_begin(nf2_t *fs)
{
    struct nf2_walk *walk = &fs->walk;

    NF2_ASSERT(!walk->active);
    walk->active = true;
    walk->behind = false;
    walk->leaves_before = walk->leaves;
    walk->leaves = 0;
    walk->bytes = 0;
    nf2_key_copy(&walk->cursor, &nf2_key_lowest);
}

/* A node that lies in a victim, on the way to the leaf, is written anew. 1 if so. */
static int move_node(nf2_t *fs, const struct nf2_path *path)
{
    for (unsigned level = 0; level <= fs->root_level; level++) {
        if (nf2_space_victim(fs, path->node[level].block)) {
            NF2_TRY(nf2_tree_write(fs, path->node, &path->lower, level, NULL, 0));
            fs->walk.to_move -= nf2_min(fs->walk.to_move, nf2_block_pages(fs));
            return 1;
        }
    }
    return 0;
}

/*
 * The nodes on the way count, inner ones with the first leaf below them; with each other leaf they
 * count a little, so that none is missed where the tree has changed meanwhile.
 */
static void count_nodes(nf2_t *fs, const struct nf2_path *path)
{
    for (unsigned level = 0; level <= fs->root_level; level++) {
        bool first = level < fs->walk.new_levels || fs->walk.leaves == 0;
        nf2_space_refer(fs, path->node[level].block, 0, first ? nf2_block_bytes(fs) : 1);
    }
    fs->walk.new_levels = path->above_level;
}

/* What a step came to. */
enum { MOVED = 1, WANTED = 2, ENDED = 3 };

/*
 * What the entry at the cursor, or these, refer to lies in victims: it is moved; of a map, if there
 * is nothing to move after all, counted. A name that no longer refers to any was read differently.
 */
static int visit_wanted(nf2_t *fs, const struct nf2_wanted *wanted)
{
    if (nf2_space_stock(fs) <= nf2_victims_floor(fs)) {
        return NF2_NEED_SPACE;
    }
    int moved = nf2_move(fs, &fs->walk.cursor, wanted);
    /* NOLINTNEXTLINE(clang-analyzer-*): visit_all() sets it */
    NF2_TRY(moved == 0 && wanted->count == 0 ? NF2_ERR_IO : moved);
    fs->walk.behind |= moved == 0 || NF2_BROKEN(NF2_FAULT_MOVED);
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
        fs->walk.behind = false;    /* whatever becomes of the move */
    }
    if (!in_map || key->id != fs->walk.cursor.id) {
        return true;
    }
    wanted->offset[wanted->count++] = nf2_key_value(key);
    return wanted->count == NF2_MOVED_PIECES;
}

/*
 * The entries of a leaf from the cursor on: 0, WANTED if something of them is to be moved first,
 * or an error. What follows the last piece is not known: it is left to be counted, if `*last_id` is
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
        if (order == 0 && fs->walk.behind) {
            continue;
        }
        if (wanted->count > 0 && entry.key.id != fs->walk.cursor.id) {
            return WANTED;
        }
        int mapped = look_at_entry(fs, &entry, &piece, &moves);
        NF2_TRY(mapped);
        if (wanted->count > 0 && !moves) { /* it is looked at again when these were moved */
            continue;
        }
        if (*last_id != 0) {    /* it counts up to here */
            bool cut = mapped && entry.key.id == *last_id &&
                       last->offset + last->length > piece.offset;
            last->length = cut ? piece.offset - last->offset : last->length;
            nf2_walked_piece(fs, last);
        }
        *last = piece;
        *last_id = mapped && !moves ? entry.key.id : 0;
        if (!moves) {           /* of the record, about */
            fs->walk.bytes = (uint16_t)(fs->walk.bytes + 10u + entry.key.length +
                                        entry.body.length);
        }
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
        nf2_walked_piece(fs, &last);
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
    count_nodes(fs, &path);
    walk->leaves++;
    walk->behind = false;
    nf2_key_copy(&walk->cursor, &path.upper);
    if (!path.bounded) {
        walk->active = false;
        walk->leaves_before = walk->leaves;
    }
    bool joins = walk->joins > 0 && !fs->group_busy;
    int joined = joins ? nf2_tree_join(fs, &path.lower, walk->bytes) : NF2_UNCHANGED;
    walk->bytes = 0;
    if (joined == 1) {          /* there may be more of them */
        nf2_space_changed(fs);
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
        nf2_victims_stay(fs);
    }
    int did = visit_leaf(fs, &wanted);
    did = did == WANTED ? visit_wanted(fs, &wanted) : did;
    /* nothing more can be copied: the walk goes on to count */
    if (did == NF2_NEED_SPACE || did == NF2_ERR_NOSPC) {
        nf2_victims_stay(fs);
        return 0;
    }
    return did < 0 ? did : did == ENDED;
}
