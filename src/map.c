/* SPDX-License-Identifier: BSD-2-Clause */
#include "map.h"

#include "frames.h"

void nf2_piece_part(const nf2_t *fs, struct nf2_piece *piece, uint32_t skip, uint32_t length)
{
    if (skip + length != piece->length) {
        piece->open = false;
    }
    piece->offset += skip;
    piece->length = length;
    uint32_t within = piece->within + skip, bytes = nf2_block_bytes(fs);
    piece->block = (uint16_t)(piece->block + within / bytes); /* frames do not fill theirs */
    piece->within = (uint16_t)(within % bytes);
}

/* Loads the piece that an entry holds. */
static int load(nf2_t *fs, const struct nf2_entry *entry, struct nf2_piece *piece)
{
    uint8_t bytes[NF2_PIECE_BYTES];
    uint32_t room = nf2_min(entry->body.length, sizeof bytes);

    NF2_TRY(nf2_body_read(fs, entry, 0, bytes, room));
    piece->offset = nf2_key_value(&entry->key);
    return nf2_piece_load(fs, bytes, room, piece);
}

/* End of a piece that nothing follows: frames go as far as they go. */
static int open_end(nf2_t *fs, struct nf2_piece *piece, uint32_t *end)
{
    NF2_TRY(piece->open ? nf2_frames_open(fs, piece, end) : NF2_OK);
    *end = piece->offset + piece->length;
    return NF2_OK;
}

/* What was found is an entry of the map: 1, 0 or an error. */
static NF2_APART int of_map(int found, const struct nf2_entry *entry, const struct nf2_key *key)
{
    return found > 0 ? entry->key.id == key->id && entry->key.length == key->length : found;
}

/*
 * The map's entry at a key or in front of it, whose key takes its place, and its piece; all of the
 * piece is 0 if there is none.
 */
static NF2_APART int find_below(nf2_t *fs, struct nf2_key *key, struct nf2_entry *entry,
                                struct nf2_piece *piece)
{
    int found = of_map(nf2_tree_seek(fs, key, NF2_AT_OR_BELOW, entry), entry, key);
    memset(piece, 0, sizeof *piece);
    if (found > 0) {
        nf2_key_copy(key, &entry->key);
        return load(fs, entry, piece);
    }
    return found;
}

int nf2_map_find(nf2_t *fs, uint32_t id, uint32_t offset, struct nf2_piece *piece)
{
    struct nf2_key key;
    struct nf2_entry entry;
    uint32_t end, next = NF2_NONE;

    nf2_key_make(&key, id, 0, offset);
    NF2_TRY(find_below(fs, &key, &entry, piece));
    int found = of_map(nf2_tree_seek(fs, &key, NF2_ABOVE, &entry), &entry, &key);
    NF2_TRY(found);
    if (found) {
        next = nf2_key_value(&entry.key);
        if (piece->open) {
            piece->length = NF2_FILE_MAX;
            piece->open = false;
        }
    }
    NF2_TRY(open_end(fs, piece, &end));
    end = nf2_min(end, next);
    if (offset < end) {
        piece->length = end - piece->offset;
    } else {
        piece->kind = 0;
        piece->open = false;
        piece->offset = end;
        piece->length = next - end;
    }
    return NF2_OK;
}

int nf2_map_end(nf2_t *fs, uint32_t id, uint32_t *end)
{
    struct nf2_entry entry;
    struct nf2_piece piece;
    struct nf2_key key;

    nf2_key_make(&key, id, 0, NF2_NONE);
    NF2_TRY(find_below(fs, &key, &entry, &piece));
    return open_end(fs, &piece, end);
}
