/* SPDX-License-Identifier: BSD-2-Clause */
#include "move.h"

#include "refs.h"
#include "victims.h"

#define STEP_PAGES 24u          /* copied in one step, */
#define NEXT_PAGES 16u          /* and no other piece behind so many; */
#define SCANT_PAGES 6u          /* where there is little time, and then no other piece */

struct plan {                   /* of one change */
    struct nf2_piece piece[NF2_MOVED_PIECES];
    uint32_t count;
};

bool nf2_move_wanted(const nf2_t *fs, const struct nf2_piece *piece)
{
    uint32_t blocks = nf2_piece_blocks(fs, piece);

    for (uint32_t i = 0; i < blocks; i++) {
        if (nf2_space_victim(fs, piece->block + i)) {
            return true;
        }
    }
    return false;
}

/*
 * Leaves of a piece the part that a step moves: from its first byte in a victim on, as far as that
 * goes.
 */
static void part_to_move(const nf2_t *fs, struct nf2_piece *piece)
{
    uint32_t bytes = nf2_block_bytes(fs),
             most = (fs->patience == NF2_NO_ERASE ? SCANT_PAGES : STEP_PAGES) * NF2_LOG_PAGE;

    if (piece->kind == NF2_PIECE_FRAMES) {
        return;
    }
    while (!nf2_space_victim(fs, piece->block)) {
        uint32_t skip = bytes - piece->within;
        nf2_piece_part(fs, piece, skip, piece->length - skip);
    }
    most = nf2_min(most, piece->length);
    uint32_t end = bytes - piece->within;
    for (uint32_t block = piece->block + 1u; end < most && nf2_space_victim(fs, block); block++) {
        end += bytes;
    }
    nf2_piece_part(fs, piece, 0, nf2_min(end, most));
}

/*
 * Copies a part, at most so much of it as lies together in its new place; `to` is what was
 * written.
 */
static NF2_APART int copy(nf2_t *fs, const struct nf2_piece *from, struct nf2_piece *to)
{
    uint32_t page = nf2_chip_page(fs), done = 0;
    /* where grains are whole blocks, such a block is not packed together with other pieces */
    bool block = from->length == nf2_block_bytes(fs) && from->within == 0;
    bool whole = block && fs->walk.grain == NF2_GRAIN_MOST;
    struct nf2_run alone = {0, 0, 0}, *run = whole ? &alone : &fs->walk.moved;

    while (done < from->length) {
        uint32_t behind = run->block;
        if (run->count == 0) {
            if (done > 0 && !nf2_alloc_moves_erased(fs)) {
                break;
            }
            NF2_TRY(nf2_alloc_data(fs, NF2_FOR_MOVES, 1, nf2_victims_floor(fs), run));
        }
        if (done == 0) {
            struct nf2_piece place = {from->offset, 0, run->block, run->within,
                                      NF2_PIECE_DATA, false};
            *to = place;
        } else if (run->within == 0 && run->block != behind) {
            break;
        }
        uint32_t n = nf2_min(from->length - done, page - (run->within & (page - 1)));
        NF2_TRY(nf2_content_read(fs, NULL, from, from->offset + done, fs->write_buffer, n));
        int result = nf2_run_program(fs, run, fs->write_buffer, n);
        if (result == NF2_FAILED_BLOCK && done > 0) {
            break;
        }
        NF2_TRY(result == NF2_FAILED_BLOCK ? NF2_OK : result);
        done += result == NF2_OK ? n : 0;
    }
    to->length = done;
    fs->walk.to_move -= nf2_min(fs->walk.to_move, (done + NF2_LOG_PAGE - 1) / NF2_LOG_PAGE);
    return NF2_OK;
}

/*
 * Plans to put what a step moves of what a map has at an offset, which is copied: all of it, or, as
 * the first piece of the plan, a part, behind what is left behind that. 1: there may be more; 0, or
 * an error. What stays is marked.
 */
static NF2_APART int move_piece(nf2_t *fs, uint32_t id, uint32_t offset, struct plan *plan)
{
    struct nf2_run *run = &fs->walk.moved;
    struct nf2_piece piece, part, *to = &plan->piece[plan->count];

    NF2_TRY(nf2_map_find(fs, id, offset, &piece));
    if (piece.kind == 0 || !nf2_move_wanted(fs, &piece)) {
        nf2_walked_piece(fs, &piece);
        return 0;
    }
    part = piece;
    part_to_move(fs, &part);
    uint32_t room = nf2_block_bytes(fs) - (run->count > 0 ? run->within : 0);
    if (plan->count > 0 &&
        (part.length < piece.length || part.length > room || !nf2_alloc_moves_erased(fs))) {
        return 0;
    }
    NF2_TRY(copy(fs, &part, to));
    uint32_t end = to->offset - piece.offset + to->length;
    if (end < piece.length) {   /* what is left is put first */
        if (plan->count > 0) {
            return 0;           /* a block failed: the next step copies it again */
        }
        to[1] = to[0];
        to[0] = piece;
        nf2_piece_part(fs, to, end, piece.length - end);
        plan->count = 1;
    }
    plan->count++;
    return to->length == piece.length;
}

/*
 * Pieces that are copied as a whole are put with one change, behind which the walk goes on: the
 * barrier marks them.
 */
static NF2_APART int move_in_map(nf2_t *fs, uint32_t id, const struct nf2_wanted *wanted)
{
    struct plan plan = {.count = 0};
    uint32_t before = fs->walk.to_move;
    int more = 1;

    while (more > 0 && plan.count < wanted->count && before - fs->walk.to_move <= NEXT_PAGES) {
        more = move_piece(fs, id, wanted->offset[plan.count], &plan);
        NF2_TRY(more);
    }
    fs->moves++;
    struct nf2_op ops[NF2_MOVED_PIECES];
    for (unsigned i = 0; i < plan.count; i++) {
        nf2_op_piece(&ops[i], id, &plan.piece[i]);
    }
    int result = plan.count > 0 ? nf2_change_ahead(fs, ops, plan.count) : 0;
    if (result < 0) {           /* what is still in its place may not be counted */
        nf2_walk_abandon(fs);
        return result;
    }
    return (int)plan.count;
}

/* ---- lists ----------------------------------------------------------------------------------- */

/* Handles of the file learn what its content is now. */
static void tell_handles(nf2_t *fs, const struct nf2_key *key, uint8_t kind, uint32_t id)
{
    fs->moves++;
    for (nf2_file_t *file = fs->files; file != NULL; file = file->link) {
        if (nf2_key_compare(&file->key, key) == 0 && !file->created) {
            file->kind = kind;
            file->id = id;
        }
    }
}

/* The pieces of a LIST: 1, or an error. */
static int list_begin(nf2_t *fs, const struct nf2_key *key, struct nf2_refs *refs)
{
    struct nf2_entry entry;

    NF2_TRY(nf2_tree_get(fs, key, &entry));
    return nf2_refs_begin(fs, key, &entry.body, refs);
}

/* The name leads to the map from now on. */
static NF2_APART int name_map(nf2_t *fs, const struct nf2_key *key, uint32_t id)
{
    uint8_t body[5] = {NF2_BODY_MAP};
    struct nf2_op ops[2];

    nf2_put32(body + 1, id);
    nf2_op_put(&ops[0], key, body, sizeof body);
    NF2_TRY(nf2_op_content(fs, &ops[0]));
    nf2_op_delete_orphan(&ops[1], id);
    return nf2_change_ahead(fs, ops, 2);
}

/* A map gets the pieces of a LIST. */
static NF2_APART int copy_list(nf2_t *fs, const struct nf2_key *key, uint32_t id)
{
    struct nf2_refs refs;
    struct nf2_piece piece;
    struct nf2_op op;
    int found = list_begin(fs, key, &refs);

    NF2_TRY(found);
    while ((found = nf2_refs_next(fs, &refs, &piece)) > 0) {
        nf2_op_piece(&op, id, &piece);
        NF2_TRY(nf2_change_one(fs, &op));
    }
    return found;
}

/* A LIST of long pieces becomes a map, whose entries are moved one by one. */
static int list_to_map(nf2_t *fs, const struct nf2_key *key)
{
    uint32_t id;

    NF2_TRY(nf2_shadow_begin(fs, &id));
    NF2_TRY(copy_list(fs, key, id));
    NF2_TRY(name_map(fs, key, id));
    tell_handles(fs, key, NF2_BODY_MAP, id);
    return 1;
}

#define TOO_LONG 255            /* the list has to become a map */

/*
 * Copies each short piece that lies in a victim: the bytes of the new list, 0 if nothing was to be
 * moved, TOO_LONG, or an error.
 */
static NF2_APART int build_moved(nf2_t *fs, const struct nf2_key *key, uint8_t *list)
{
    struct nf2_refs refs;
    struct nf2_piece piece, to;
    uint32_t before = fs->walk.to_move;
    uint8_t *p = list;
    bool moved = false;
    int found;

    *p++ = NF2_BODY_LIST;
    NF2_TRY(list_begin(fs, key, &refs)); /* of no LIST it has nothing */
    while ((found = nf2_list_next(fs, &refs, &piece)) > 0) {
        bool later = moved && (before - fs->walk.to_move > NEXT_PAGES ||
                               !nf2_alloc_moves_erased(fs));
        bool moves = !later && nf2_move_wanted(fs, &piece);
        bool full = p + NF2_PIECE_BYTES > list + NF2_LIST_BYTES;
        if (full || (moves && piece.length > STEP_PAGES * NF2_LOG_PAGE)) {
            return TOO_LONG;
        }
        while (moves) {         /* one that goes on in another block becomes several */
            NF2_TRY(copy(fs, &piece, &to));
            moves = to.length < piece.length;
            p = nf2_piece_store(p, &to);
            nf2_piece_part(fs, &piece, to.length, piece.length - to.length);
            moved = true;
            if (moves && p + NF2_PIECE_BYTES > list + NF2_LIST_BYTES) {
                return TOO_LONG;
            }
        }
        if (piece.length > 0) {
            p = nf2_piece_store(p, &piece);
        }
    }
    return found < 0 ? found : moved ? (int)(p - list) : 0;
}

static NF2_APART int move_in_list(nf2_t *fs, const struct nf2_key *key)
{
    uint8_t list[NF2_LIST_BYTES];
    struct nf2_op op;
    int length = build_moved(fs, key, list);

    if (length <= 0 || length == TOO_LONG) {
        return length;
    }
    nf2_op_put(&op, key, list, (uint32_t)length);
    NF2_TRY(nf2_op_content(fs, &op));
    NF2_TRY(nf2_change_one(fs, &op));
    tell_handles(fs, key, NF2_BODY_LIST, 0);
    return 1;
}

int nf2_move(nf2_t *fs, const struct nf2_key *key, const struct nf2_wanted *wanted)
{
    if (wanted->count > 0) {
        return move_in_map(fs, key->id, wanted);
    }
    int moved = move_in_list(fs, key);
    return moved == TOO_LONG ? list_to_map(fs, key) : moved;
}
