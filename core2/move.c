/* SPDX-License-Identifier: BSD-2-Clause */
#include "move.h"

#include "victims.h"

#define STEP_PAGES 24u          /* copied in one step */

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

/* Leaves of a piece the part that a step moves: from its first byte in a victim on, as far as that goes. */
static void part_to_move(const nf2_t *fs, struct nf2_piece *piece)
{
    uint32_t bytes = nf2_block_bytes(fs), most = STEP_PAGES * nf2_page(fs), skip = 0, end;

    if (piece->kind == NF2_PIECE_FRAMES) {
        return;
    }
    while (!nf2_space_victim(fs, piece->block + (piece->within + skip) / bytes)) {
        skip += bytes - (piece->within + skip) % bytes;
    }
    end = skip;
    while (end < piece->length && end - skip < most &&
           nf2_space_victim(fs, piece->block + (piece->within + end) / bytes)) {
        end += bytes - (piece->within + end) % bytes;
    }
    nf2_piece_part(fs, piece, skip, nf2_min(nf2_min(end, piece->length) - skip, most));
}

/* Copies a part, at most so much of it as lies together in its new place; `to` is what was written. */
static NF2_APART int copy(nf2_t *fs, const struct nf2_piece *from, struct nf2_piece *to)
{
    uint32_t page = nf2_page(fs), done = 0;
    struct nf2_run *run = &fs->walk.moved;

    while (done < from->length) {
        uint32_t behind = run->block;
        if (run->count == 0) {
            NF2_TRY(nf2_alloc_data(fs, 1, nf2_victims_floor(fs), run));
        }
        if (done == 0) {
            struct nf2_piece place = {from->offset, 0, run->block, run->within, NF2_PIECE_DATA, false};
            *to = place;
        } else if (run->within == 0 && run->block != behind) {
            break;
        }
        uint32_t n = nf2_min(from->length - done, page - (run->within & (page - 1)));
        NF2_TRY(nf2_content_read(fs, NULL, from, from->offset + done, fs->io.write_buffer, n));
        int result = nf2_run_program(fs, run, fs->io.write_buffer, n);
        if (result == NF2_FAILED_BLOCK && done > 0) {
            break;
        }
        NF2_TRY(result == NF2_FAILED_BLOCK ? NF2_OK : result);
        done += result == NF2_OK ? n : 0;
    }
    to->length = done;
    fs->walk.to_move -= nf2_min(fs->walk.to_move, (done + page - 1) / page);
    return NF2_OK;
}

/*
 * Copies the part that a step moves of what a map has at an offset: `to` is where it is. WHOLE: that was all of it; PART; 0:
 * there is nothing to move, or an error.
 */
enum { WHOLE = 1, PART = 2 };
static NF2_APART int copy_of_map(nf2_t *fs, uint32_t id, uint32_t offset, struct nf2_piece *to)
{
    struct nf2_piece piece;

    NF2_TRY(nf2_map_find(fs, id, offset, &piece));
    if (piece.kind == 0 || !nf2_move_wanted(fs, &piece)) {
        return 0;
    }
    uint32_t length = piece.length;
    part_to_move(fs, &piece);
    NF2_TRY(copy(fs, &piece, to));
    return to->offset == offset && to->length == length ? WHOLE : PART;
}

/* Pieces that are copied as a whole are put with one change. */
static NF2_APART int move_in_map(nf2_t *fs, uint32_t id, const struct nf2_wanted *wanted)
{
    struct nf2_plan plan = {.count = 0, .from = 0, .to = 0};
    int copied = WHOLE;

    while (copied == WHOLE && plan.count < wanted->count) {
        copied = copy_of_map(fs, id, wanted->offset[plan.count], &plan.piece[plan.count]);
        NF2_TRY(copied);
        plan.count += copied == WHOLE;
    }
    struct nf2_piece part = plan.piece[copied == PART ? plan.count : 0];
    bool any = plan.count > 0;
    NF2_TRY(any ? nf2_change_pieces(fs, id, &plan) : NF2_OK);
    NF2_TRY(copied == PART ? nf2_change_map(fs, id, &part, 1) : NF2_OK);
    fs->moves++;
    return any || copied == PART;
}

/* ---- lists -------------------------------------------------------------------------------------- */

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
    int found = nf2_tree_find(fs, key, &entry);

    NF2_TRY(found > 0 ? NF2_OK : found < 0 ? found : NF2_ERR_IO);
    struct nf2_span body = nf2_body_span(&entry, 0, entry.body_length);
    return nf2_refs_begin(fs, key, &body, refs);
}

/* One of them, counted from 0: 1, 0 if there is none, or an error. */
static NF2_APART int list_piece(nf2_t *fs, const struct nf2_key *key, unsigned number, struct nf2_piece *piece)
{
    struct nf2_refs refs;
    int found = list_begin(fs, key, &refs);

    for (number++; found >= 0 && number > 0; number--) {
        found = nf2_refs_next(fs, &refs, piece);
        if (found <= 0) {
            break;
        }
    }
    return found;
}

/* The name leads to the map from now on. */
static NF2_APART int name_map(nf2_t *fs, const struct nf2_key *key, uint32_t id)
{
    uint8_t body[5] = {NF2_BODY_MAP};
    struct nf2_op ops[2];

    nf2_put32(body + 1, id);
    NF2_TRY(nf2_op_content(fs, key, body, sizeof body, &ops[0]));
    nf2_op_delete_orphan(&ops[1], id);
    return nf2_change_ahead(fs, ops, 2);
}

/* A LIST of long pieces becomes a map, whose entries are moved one by one. */
static NF2_APART int list_to_map(nf2_t *fs, const struct nf2_key *key)
{
    struct nf2_plan plan = {.count = 1, .from = 0, .to = 0};
    uint32_t id;
    int found;

    NF2_TRY(nf2_shadow_begin(fs, &id));
    for (unsigned i = 0; (found = list_piece(fs, key, i, &plan.piece[0])) > 0; i++) { /* a change may write its leaf anew */
        NF2_TRY(nf2_change_pieces(fs, id, &plan));
    }
    NF2_TRY(found);
    NF2_TRY(name_map(fs, key, id));
    tell_handles(fs, key, NF2_BODY_MAP, id);
    return 1;
}

#define TOO_LONG 255            /* the list has to become a map */

/*
 * Copies each short piece that lies in a victim: the bytes of the new list, 0 if nothing was to be moved, TOO_LONG, or an
 * error.
 */
static NF2_APART int build_moved(nf2_t *fs, const struct nf2_key *key, uint8_t *list)
{
    struct nf2_refs refs;
    struct nf2_piece piece, to;
    uint8_t *p = list;
    bool moved = false;
    int found;

    *p++ = NF2_BODY_LIST;
    NF2_TRY(list_begin(fs, key, &refs));
    if (refs.at == 0) {         /* no LIST */
        return 0;
    }
    while ((found = nf2_list_next(fs, &refs, &piece)) > 0) {
        if (p + NF2_PIECE_BYTES > list + NF2_LIST_BYTES) {
            return TOO_LONG;
        }
        if (nf2_move_wanted(fs, &piece)) {
            if (piece.length > STEP_PAGES * nf2_page(fs)) {
                return TOO_LONG;
            }
            NF2_TRY(copy(fs, &piece, &to));
            if (to.length < piece.length) {
                return TOO_LONG;
            }
            piece = to;
            moved = true;
        }
        p = nf2_piece_store(p, &piece);
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
    NF2_TRY(nf2_op_content(fs, key, list, (uint32_t)length, &op));
    NF2_TRY(nf2_change_ahead(fs, &op, 1));
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
