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
static int open_end(nf2_t *fs, const struct nf2_piece *piece, uint32_t *end)
{
    struct nf2_frames frames;

    *end = piece->offset + piece->length;
    if (piece->open) {
        NF2_TRY(nf2_frames_open(fs, piece->block, piece->within, &frames));
        *end = nf2_max(frames.end, piece->offset);
    }
    return NF2_OK;
}

/* The offset of the first piece of a map above `key`, NF2_NONE if there is none. `above` and `found` say what nf2_tree_around did. */
static int next_offset(nf2_t *fs, const struct nf2_key *key, const struct nf2_key *above, int found, uint32_t *next)
{
    struct nf2_entry entry;

    *next = NF2_NONE;
    if ((found & NF2_NEXT_LEAF) != 0 && above->id == key->id) {
        found = nf2_tree_seek(fs, key, NF2_ABOVE, &entry);
        NF2_TRY(found);
        found = found != 0 ? NF2_HAS_ABOVE : 0;
        above = &entry.key;
    }
    if ((found & NF2_HAS_ABOVE) != 0 && above->id == key->id && above->length == 4) {
        *next = nf2_key_value(above);
    }
    return NF2_OK;
}

int nf2_map_find(nf2_t *fs, uint32_t id, uint32_t offset, struct nf2_piece *piece)
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

int nf2_map_end(nf2_t *fs, uint32_t id, uint32_t *end)
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

static struct nf2_op put_piece(uint32_t id, const struct nf2_piece *piece, uint8_t *bytes)
{
    struct nf2_key key = nf2_key_number(id, piece->offset);
    return nf2_op_put(&key, bytes, (uint32_t)(nf2_piece_store(bytes, piece) - bytes));
}

/* The change that removes what a piece covers: 1, or 0 where there is nothing. `old` is what its last byte had so far. */
static int first_covered(nf2_t *fs, uint32_t id, const struct nf2_piece *piece, const struct nf2_piece *old,
                         struct nf2_op *op)
{
    struct nf2_key key = nf2_key_number(id, piece->offset);
    uint32_t end = piece->offset + piece->length;
    struct nf2_entry entry;

    if (old->kind != 0 && old->offset <= piece->offset) {
        return 0;               /* one older piece has all of it */
    }
    int found = nf2_tree_seek(fs, &key, NF2_ABOVE, &entry);
    NF2_TRY(found);
    if (!found || !of_map(&entry, id) || nf2_key_value(&entry.key) >= end) {
        return 0;
    }
    bool one = old->kind != 0 && nf2_key_value(&entry.key) == old->offset;
    *op = one ? nf2_op_delete(&entry.key) : nf2_op_range(id, piece->offset + 1, end);
    return 1;
}

int nf2_map_plan(nf2_t *fs, uint32_t id, const struct nf2_piece *piece, uint32_t file_end, struct nf2_op *ops,
                 uint8_t bytes[2][NF2_PIECE_BYTES])
{
    uint32_t end = piece->offset + piece->length;
    struct nf2_piece old;
    int n = 0;

    NF2_TRY(nf2_map_find(fs, id, end - 1, &old));
    if (end < file_end && old.kind != 0 && old.offset + old.length > end) {
        struct nf2_piece rest = nf2_piece_part(fs, &old, end - old.offset, old.offset + old.length - end);
        ops[n++] = put_piece(id, &rest, bytes[0]);
    }
    ops[n++] = put_piece(id, piece, bytes[1]);
    int covered = first_covered(fs, id, piece, &old, &ops[n]);
    NF2_TRY(covered);
    return n + covered;
}

int nf2_map_plan_cut(nf2_t *fs, uint32_t id, uint32_t end, struct nf2_op *ops, uint8_t bytes[NF2_PIECE_BYTES])
{
    struct nf2_piece last;
    int n = 0;

    NF2_TRY(end > 0 ? nf2_map_find(fs, id, end - 1, &last) : NF2_OK);
    if (end > 0 && last.kind != 0) { /* its true length, also where pieces behind it cut it short so far */
        last = nf2_piece_part(fs, &last, 0, end - last.offset);
        ops[n++] = put_piece(id, &last, bytes);
    }
    ops[n++] = nf2_op_range(id, end, NF2_FILE_MAX + 1u);
    return n;
}

/* One entry after the other is put over the other map, then removed. */
int nf2_map_merge(nf2_t *fs, uint32_t from, uint32_t to, uint32_t file_end)
{
    struct nf2_key key = nf2_key_number(from, 0);
    struct nf2_entry entry;
    struct nf2_piece piece;
    struct nf2_op ops[NF2_MAP_OPS];
    uint8_t bytes[2][NF2_PIECE_BYTES];
    int found;

    while ((found = nf2_tree_seek(fs, &key, NF2_AT_OR_ABOVE, &entry)) > 0 && of_map(&entry, from)) {
        if (nf2_alloc_stock(fs) < 4u + 2u * fs->root.level) {
            return NF2_NEED_SPACE;  /* between two entries it may wait */
        }
        NF2_TRY(nf2_map_find(fs, from, nf2_key_value(&entry.key), &piece));
        int n = nf2_map_plan(fs, to, &piece, file_end, ops, bytes);
        NF2_TRY(n);
        for (int i = 0; i < n; i++) { /* a part of a GROUP: one by one */
            NF2_TRY(nf2_tree_apply(fs, &ops[i]));
        }
        struct nf2_op gone = nf2_op_delete(&entry.key);
        NF2_TRY(nf2_tree_change(fs, &gone, 1));
    }
    return found < 0 ? found : NF2_OK;
}
