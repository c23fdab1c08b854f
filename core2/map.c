/* SPDX-License-Identifier: BSD-2-Clause */
#include "map.h"

#include "frames.h"

void nf2_piece_part(const nf2_t *fs, struct nf2_piece *piece, uint32_t skip, uint32_t length)
{
    piece->open = piece->open && skip + length == piece->length;
    piece->offset += skip;
    piece->length = length;
    if (piece->kind == NF2_PIECE_DATA) {
        uint32_t within = piece->within + skip, bytes = nf2_block_bytes(fs);
        piece->block += within / bytes;
        piece->within = within % bytes;
    }
}

/* Loads the piece that an entry holds. */
static NF2_APART int load(nf2_t *fs, const struct nf2_entry *entry, struct nf2_piece *piece)
{
    uint8_t bytes[NF2_PIECE_BYTES];
    uint32_t room = nf2_min(entry->body_length, sizeof bytes);

    NF2_TRY(nf2_body_read(fs, entry, 0, bytes, room));
    piece->offset = nf2_key_value(&entry->key);
    return nf2_piece_load(fs, bytes, room, piece) != 0 ? NF2_OK : NF2_ERR_IO;
}

static bool of_map(const struct nf2_key *key, uint32_t id)
{
    return key->id == id && key->length == 4;
}

/* End of a piece that nothing follows: frames go as far as they go. */
static NF2_APART int open_end(nf2_t *fs, const struct nf2_piece *piece, uint32_t *end)
{
    struct nf2_frames frames;

    *end = piece->offset + piece->length;
    if (piece->open) {
        NF2_TRY(nf2_frames_open(fs, piece->block, piece->within, &frames));
        *end = nf2_max(frames.end, piece->offset);
    }
    return NF2_OK;
}

int nf2_map_find(nf2_t *fs, uint32_t id, uint32_t offset, struct nf2_piece *piece)
{
    struct nf2_key key = nf2_key_number(id, offset), above;
    struct nf2_entry entry;
    uint32_t end = 0, next = NF2_NONE;
    int found = nf2_tree_around(fs, &key, &entry, &above);

    NF2_TRY(found);
    bool any = (found & NF2_HAS_BELOW) != 0 && of_map(&entry.key, id);
    if (any) {
        NF2_TRY(load(fs, &entry, piece));
        end = piece->offset + piece->length;
    }
    bool more = (found & (NF2_NEXT_LEAF | NF2_HAS_ABOVE)) != 0 && above.id == id, next_leaf = (found & NF2_NEXT_LEAF) != 0;
    if (more && next_leaf && (end <= offset || nf2_key_value(&above) < end)) { /* else it is enough to know where that begins */
        found = nf2_tree_seek(fs, &key, NF2_ABOVE, &entry);
        NF2_TRY(found);
        more = found != 0;
        above = entry.key;
    }
    more = more && of_map(&above, id);
    next = more ? nf2_key_value(&above) : NF2_NONE;
    if (any && piece->open) {
        end = next;
        piece->open = !more;
        NF2_TRY(more ? NF2_OK : open_end(fs, piece, &end));
    }
    end = nf2_min(end, next);
    if (offset < end) {
        piece->length = end - piece->offset;
    } else {
        memset(piece, 0, sizeof *piece);
        piece->offset = end;
        piece->length = next - end;
    }
    return NF2_OK;
}

int nf2_map_end(nf2_t *fs, uint32_t id, uint32_t *end)
{
    struct nf2_key key = nf2_key_number(id, NF2_NONE);
    struct nf2_entry entry;
    struct nf2_piece piece;
    int found = nf2_tree_seek(fs, &key, NF2_AT_OR_BELOW, &entry);

    *end = 0;
    if (found <= 0 || !of_map(&entry.key, id)) {
        return found < 0 ? found : NF2_OK;
    }
    NF2_TRY(load(fs, &entry, &piece));
    return open_end(fs, &piece, end);
}

void nf2_op_put_piece(struct nf2_op *op, uint32_t id, const struct nf2_piece *piece, uint8_t bytes[NF2_PIECE_BYTES])
{
    struct nf2_key key = nf2_key_number(id, piece->offset);

    nf2_op_put(op, &key, bytes, (uint32_t)(nf2_piece_store(bytes, piece) - bytes));
}
