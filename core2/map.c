/* SPDX-License-Identifier: BSD-2-Clause */
#include "map.h"

#include "frames.h"

struct nf2_piece nf2_piece_part(const nf2_t *fs, const struct nf2_piece *piece, uint32_t skip, uint32_t length)
{
    struct nf2_piece part = *piece;

    part.offset += skip;
    part.length = length;
    part.open = part.open && skip + length == piece->length;
    if (part.kind == NF2_PIECE_DATA) {
        part.within += skip;
        part.block += part.within / nf2_block_bytes(fs);
        part.within %= nf2_block_bytes(fs);
    }
    return part;
}

/* Loads the piece that an entry holds. */
static int load(nf2_t *fs, const struct nf2_entry *entry, struct nf2_piece *piece)
{
    struct nf2_span body = nf2_body_span(entry, 0, entry->body_length);
    struct nf2_refs refs;

    NF2_TRY(nf2_refs_begin(fs, &entry->key, &body, &refs));
    int found = nf2_refs_next(fs, &refs, piece);
    return found > 0 ? NF2_OK : NF2_ERR_IO;
}

static bool of_map(const struct nf2_entry *entry, uint32_t id)
{
    return entry->key.id == id && entry->key.length == 4;
}

/* End of a piece that nothing follows: frames go as far as they go. */
static int open_end(nf2_t *fs, struct nf2_piece *piece, uint32_t *end)
{
    NF2_TRY(piece->open ? nf2_frames_open(fs, piece, end) : NF2_OK);
    *end = piece->offset + piece->length;
    return NF2_OK;
}

/* The offset of the first piece of a map above `key`, NF2_NONE if there is none. `above` and `found` say what nf2_tree_around did. */
static NF2_APART int next_offset(nf2_t *fs, const struct nf2_key *key, const struct nf2_key *above, int found, uint32_t *next)
{
    struct nf2_entry entry;

    *next = NF2_NONE;
    if ((found & NF2_NEXT_LEAF) != 0 && above->id == key->id) {
        found = nf2_tree_seek_as_is(fs, key, NF2_ABOVE, &entry);
        NF2_TRY(found);
        found = found != 0 ? NF2_HAS_ABOVE : 0;
        above = &entry.key;
    }
    if ((found & NF2_HAS_ABOVE) != 0 && above->id == key->id && above->length == 4) {
        *next = nf2_key_value(above);
    }
    return NF2_OK;
}

int nf2_map_find_as_is(nf2_t *fs, uint32_t id, uint32_t offset, struct nf2_piece *piece)
{
    struct nf2_key key = nf2_key_number(id, offset), above;
    struct nf2_entry entry;
    uint32_t end = 0, next;
    int found = nf2_tree_around(fs, &key, &entry, &above);

    NF2_TRY(found);
    bool any = (found & NF2_HAS_BELOW) != 0 && of_map(&entry, id);
    if (any) {
        NF2_TRY(load(fs, &entry, piece));
        end = piece->offset + piece->length;
        if (!piece->open && (found & NF2_NEXT_LEAF) != 0 && above.id == id && offset < end && end <= nf2_key_value(&above)) {
            return NF2_OK;      /* whatever the next leaf has */
        }
    }
    NF2_TRY(next_offset(fs, &key, &above, found, &next));
    bool more = next != NF2_NONE;
    if (any) {
        if (!more) {
            NF2_TRY(open_end(fs, piece, &end));
        }
        end = more && (piece->open || end > next) ? next : end;
        piece->open = piece->open && !more;
    }
    if (any && offset < end) {
        piece->length = end - piece->offset;
        return NF2_OK;
    }
    memset(piece, 0, sizeof *piece);
    piece->offset = offset;
    piece->length = next - offset;
    return NF2_OK;
}

int nf2_map_end_as_is(nf2_t *fs, uint32_t id, uint32_t *end)
{
    struct nf2_key key = nf2_key_number(id, NF2_NONE);
    struct nf2_entry entry;
    struct nf2_piece piece;
    int found = nf2_tree_seek(fs, &key, NF2_AT_OR_BELOW, &entry);

    *end = 0;
    if (found <= 0 || !of_map(&entry, id)) {
        return found < 0 ? found : NF2_OK;
    }
    NF2_TRY(load(fs, &entry, &piece));
    return open_end(fs, &piece, end);
}

/* ---- changes ------------------------------------------------------------------------------------ */

void nf2_op_put_piece(struct nf2_op *op, uint32_t id, const struct nf2_piece *piece, uint8_t bytes[NF2_PIECE_BYTES])
{
    struct nf2_key key = nf2_key_number(id, piece->offset);

    nf2_op_put(op, &key, bytes, (uint32_t)(nf2_piece_store(bytes, piece) - bytes));
}

/* What putting a piece over a map means. */
struct over {
    struct nf2_piece rest;      /* of an older piece behind it; kind 0: nothing of one */
    uint32_t first;             /* the first entry that it covers; NF2_NONE: there is none */
    bool one;                   /* that is the only one */
};

/* The first entry that a piece covers. `old` is what its last byte had so far. */
static NF2_APART int find_covered(nf2_t *fs, uint32_t id, const struct nf2_piece *piece, const struct nf2_piece *old, struct over *over)
{
    struct nf2_key key = nf2_key_number(id, piece->offset);
    struct nf2_entry entry;

    over->first = NF2_NONE;
    if (old->kind != 0 && old->offset <= piece->offset) {
        return NF2_OK;          /* one older piece has all of it */
    }
    int found = nf2_tree_seek(fs, &key, NF2_ABOVE, &entry);
    NF2_TRY(found);
    if (found && of_map(&entry, id) && nf2_key_value(&entry.key) < piece->offset + piece->length) {
        over->first = nf2_key_value(&entry.key);
        over->one = old->kind != 0 && over->first == old->offset;
    }
    return NF2_OK;
}

static NF2_APART int look_below(nf2_t *fs, uint32_t id, const struct nf2_piece *piece, uint32_t file_end, struct over *over)
{
    uint32_t end = piece->offset + piece->length;
    struct nf2_piece old;

    NF2_TRY(nf2_map_find_as_is(fs, id, end - 1, &old));
    uint32_t old_end = old.offset + old.length;
    over->rest.kind = 0;
    if (end < file_end && old.kind != 0 && old_end > end) {
        over->rest = nf2_piece_part(fs, &old, end - old.offset, old_end - end);
    }
    return find_covered(fs, id, piece, &old, over);
}

/* The change that removes what the piece covers. */
static void remove_covered(struct nf2_op *op, uint32_t id, const struct nf2_piece *piece, const struct over *over)
{
    struct nf2_key key = nf2_key_number(id, over->first);

    if (over->one) {
        nf2_op_delete(op, &key);
    } else {
        nf2_op_range(op, id, piece->offset + 1, piece->offset + piece->length);
    }
}

int nf2_map_plan(nf2_t *fs, uint32_t id, const struct nf2_piece *piece, uint32_t file_end, struct nf2_op *ops,
                 uint8_t bytes[2][NF2_PIECE_BYTES])
{
    struct over over;
    int n = 0;

    NF2_TRY(look_below(fs, id, piece, file_end, &over));
    if (over.rest.kind != 0) {
        nf2_op_put_piece(&ops[n++], id, &over.rest, bytes[0]);
    }
    nf2_op_put_piece(&ops[n++], id, piece, bytes[1]);
    if (over.first != NF2_NONE) {
        remove_covered(&ops[n++], id, piece, &over);
    }
    return n;
}

int nf2_map_plan_cut(nf2_t *fs, uint32_t id, uint32_t end, struct nf2_op *ops, uint8_t bytes[NF2_PIECE_BYTES])
{
    struct nf2_piece last;
    int n = 0;

    NF2_TRY(end > 0 ? nf2_map_find_as_is(fs, id, end - 1, &last) : NF2_OK);
    if (end > 0 && last.kind != 0) { /* its true length, also where pieces behind it cut it short so far */
        last = nf2_piece_part(fs, &last, 0, end - last.offset);
        nf2_op_put_piece(&ops[n++], id, &last, bytes);
    }
    nf2_op_range(&ops[n++], id, end, NF2_FILE_MAX + 1u);
    return n;
}

/* The first entry of a map: 1, its offset and what it shows; 0 if the map is empty, or an error. */
static NF2_APART int first_piece(nf2_t *fs, uint32_t id, uint32_t *offset, struct nf2_piece *piece)
{
    struct nf2_key key = nf2_key_number(id, 0);
    struct nf2_entry entry;
    int found = nf2_tree_seek(fs, &key, NF2_AT_OR_ABOVE, &entry);

    if (found <= 0 || !of_map(&entry, id)) {
        return found < 0 ? found : 0;
    }
    *offset = nf2_key_value(&entry.key);
    NF2_TRY(nf2_map_find_as_is(fs, id, *offset, piece));
    return 1;
}

/* A part of a GROUP: one change after the other. */
static NF2_APART int merge_piece(nf2_t *fs, uint32_t to, const struct nf2_piece *piece, uint32_t file_end)
{
    uint8_t bytes[NF2_PIECE_BYTES];
    struct nf2_op op;
    struct over over;

    NF2_TRY(look_below(fs, to, piece, file_end, &over));
    if (over.rest.kind != 0) {
        nf2_op_put_piece(&op, to, &over.rest, bytes);
        NF2_TRY(nf2_tree_change(fs, &op, 1));
    }
    nf2_op_put_piece(&op, to, piece, bytes);
    NF2_TRY(nf2_tree_change(fs, &op, 1));
    if (over.first != NF2_NONE) {
        remove_covered(&op, to, piece, &over);
        NF2_TRY(nf2_tree_apply(fs, &op));
    }
    return NF2_OK;
}

static NF2_APART int remove_piece(nf2_t *fs, uint32_t id, uint32_t offset)
{
    struct nf2_key key = nf2_key_number(id, offset);
    struct nf2_op op;

    nf2_op_delete(&op, &key);
    return nf2_tree_change(fs, &op, 1);
}

/* One entry after the other is put over the other map, then removed. */
int nf2_map_merge(nf2_t *fs, uint32_t from, uint32_t to, uint32_t file_end)
{
    struct nf2_piece piece;
    uint32_t offset;
    int found;

    while ((found = first_piece(fs, from, &offset, &piece)) > 0) {
        if (nf2_alloc_stock(fs) < 4u + 2u * fs->root.level) {
            return NF2_NEED_SPACE;  /* between two entries it may wait */
        }
        NF2_TRY(piece.kind != 0 ? merge_piece(fs, to, &piece, file_end) : NF2_OK);
        NF2_TRY(remove_piece(fs, from, offset));
    }
    return found;
}
