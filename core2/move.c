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

/* The part of a piece that a step moves: from its first byte in a victim on, as far as that goes. */
static struct nf2_piece part_to_move(const nf2_t *fs, const struct nf2_piece *piece)
{
    uint32_t bytes = nf2_block_bytes(fs), most = STEP_PAGES * nf2_page(fs), skip = 0, end;

    if (piece->kind == NF2_PIECE_FRAMES) {
        return *piece;
    }
    while (!nf2_space_victim(fs, piece->block + (piece->within + skip) / bytes)) {
        skip += bytes - (piece->within + skip) % bytes;
    }
    end = skip;
    while (end < piece->length && end - skip < most &&
           nf2_space_victim(fs, piece->block + (piece->within + end) / bytes)) {
        end += bytes - (piece->within + end) % bytes;
    }
    return nf2_piece_part(fs, piece, skip, nf2_min(nf2_min(end, piece->length) - skip, most));
}

/* Copies a part, at most so much of it as lies together in its new place; `to` is what was written. */
static int copy(nf2_t *fs, const struct nf2_piece *from, struct nf2_piece *to)
{
    uint32_t page = nf2_page(fs), bytes = nf2_block_bytes(fs), done = 0;
    struct nf2_run *run = &fs->walk.moved;

    memset(to, 0, sizeof *to);
    while (done < from->length) {
        if (run->count == 0) {
            NF2_TRY(nf2_alloc_data(fs, 1, nf2_victims_floor(fs), run));
        }
        if (done > 0 && (run->block != to->block + (to->within + done) / bytes || run->within != (to->within + done) % bytes)) {
            break;
        }
        if (done == 0) {
            struct nf2_piece place = {from->offset, 0, run->block, run->within, NF2_PIECE_DATA, false};
            *to = place;
        }
        uint32_t n = nf2_min(from->length - done, page - (run->within & (page - 1)));
        NF2_TRY(nf2_content_read(fs, NULL, from, from->offset + done, fs->io.write_buffer, n));
        int result = nf2_flash_program(fs, run->block, run->within, fs->io.write_buffer, n);
        if (result == NF2_FAILED_BLOCK) {
            nf2_journal_bad(fs, run->block);
            run->count = 0;
            if (done > 0) {
                break;
            }
            continue;
        }
        NF2_TRY(result);
        done += n;
        run->within += nf2_align_unit(fs, n);
        if (run->within >= bytes) {
            run->within = 0;
            run->block++;
            run->count--;
        }
    }
    to->length = done;
    fs->walk.to_move -= nf2_min(fs->walk.to_move, (done + page - 1) / page);
    return NF2_OK;
}

static int move_in_map(nf2_t *fs, const struct nf2_entry *entry)
{
    struct nf2_piece piece, to;

    NF2_TRY(nf2_map_find(fs, entry->key.id, nf2_key_value(&entry->key), &piece));
    if (piece.kind == 0 || !nf2_move_wanted(fs, &piece)) {
        return 0;
    }
    piece = part_to_move(fs, &piece);
    NF2_TRY(copy(fs, &piece, &to));
    NF2_TRY(nf2_change_piece(fs, entry->key.id, &to));
    fs->moves++;
    return 1;
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

static void put_body(struct nf2_op *op, const struct nf2_entry *entry, uint32_t at, const void *body, uint32_t length)
{
    nf2_op_put(op, &entry->key, body, length);
    nf2_op_rest(op, nf2_body_span(entry, 0, at));
}

/* A map that no name leads to yet, and its pieces. */
static NF2_APART int put_orphan(nf2_t *fs, uint32_t id)
{
    struct nf2_op op;

    nf2_op_put_orphan(&op, id);
    return nf2_change(fs, &op, 1);
}

static NF2_APART int put_piece(nf2_t *fs, uint32_t id, const struct nf2_piece *piece)
{
    uint8_t bytes[NF2_PIECE_BYTES];
    struct nf2_op op;

    nf2_op_put_piece(&op, id, piece, bytes);
    return nf2_change(fs, &op, 1);
}

/* Its leaf may have been written anew since its body was looked at. */
static NF2_APART int put_again(nf2_t *fs, struct nf2_op *op, const struct nf2_key *key, uint32_t at, const void *body, uint32_t length)
{
    struct nf2_entry entry;
    int found = nf2_tree_find(fs, key, &entry);

    NF2_TRY(found > 0 ? NF2_OK : found < 0 ? found : NF2_ERR_IO);
    put_body(op, &entry, at, body, length);
    return NF2_OK;
}

/* The name leads to the map from now on. */
static NF2_APART int put_map(nf2_t *fs, const struct nf2_key *key, uint32_t at, uint32_t id)
{
    uint8_t body[5] = {NF2_BODY_MAP};
    struct nf2_op ops[2];

    nf2_put32(body + 1, id);
    NF2_TRY(put_again(fs, &ops[0], key, at, body, sizeof body));
    nf2_op_delete_orphan(&ops[1], id);
    return nf2_change(fs, ops, 2);
}

/* A LIST of long pieces becomes a map, whose entries are moved one by one. */
static NF2_APART int list_to_map(nf2_t *fs, const struct nf2_entry *entry, uint32_t at)
{
    struct nf2_span body = nf2_body_span(entry, 0, entry->body_length);
    struct nf2_refs refs;
    struct nf2_piece piece;
    uint32_t id;
    int found;

    NF2_TRY(nf2_refs_begin(fs, &entry->key, &body, &refs)); /* before a change may write its leaf anew */
    NF2_TRY(nf2_journal_id(fs, &id));
    NF2_TRY(put_orphan(fs, id));
    while ((found = nf2_refs_next(fs, &refs, &piece)) > 0) {
        NF2_TRY(put_piece(fs, id, &piece));
    }
    NF2_TRY(found);
    NF2_TRY(put_map(fs, &entry->key, at, id));
    tell_handles(fs, &entry->key, NF2_BODY_MAP, id);
    return 1;
}

#define TOO_LONG 255            /* the list has to become a map */

/*
 * Copies each short piece that lies in a victim: the bytes of the new list, 0 if nothing was to be moved, TOO_LONG, or an
 * error.
 */
static NF2_APART int build_moved(nf2_t *fs, const struct nf2_entry *entry, uint8_t *list)
{
    struct nf2_span body = nf2_body_span(entry, 0, entry->body_length);
    struct nf2_refs refs;
    struct nf2_piece piece, to;
    uint8_t *p = list;
    unsigned count = 0;
    bool moved = false;
    int found;

    *p++ = NF2_BODY_LIST;
    NF2_TRY(nf2_refs_begin(fs, &entry->key, &body, &refs));
    while ((found = nf2_list_next(fs, &refs, &piece)) > 0) {
        if (++count > NF2_PIECES_MAX) {
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

static NF2_APART int move_in_list(nf2_t *fs, const struct nf2_entry *entry, uint32_t at)
{
    uint8_t list[NF2_LIST_BYTES];
    struct nf2_op op;
    int length = build_moved(fs, entry, list);

    if (length <= 0 || length == TOO_LONG) {
        return length;
    }
    put_body(&op, entry, at, list, (uint32_t)length);
    NF2_TRY(nf2_change(fs, &op, 1));
    tell_handles(fs, &entry->key, NF2_BODY_LIST, 0);
    return 1;
}

int nf2_move_entry(nf2_t *fs, const struct nf2_entry *entry)
{
    struct nf2_content content;
    uint8_t kind;

    if (entry->key.id == NF2_SYSTEM_ID || entry->body_length == 0) {
        return 0;
    }
    NF2_TRY(nf2_body_read(fs, entry, 0, &kind, 1));
    if (entry->key.length == 4 && kind >= NF2_PIECE_DATA && kind <= NF2_PIECE_ZEROS) {
        return move_in_map(fs, entry);
    }
    NF2_TRY(nf2_entry_content(fs, entry, &content));
    int moved = content.kind == NF2_BODY_LIST ? move_in_list(fs, entry, content.at) : 0;
    return moved == TOO_LONG ? list_to_map(fs, entry, content.at) : moved;
}
