/* SPDX-License-Identifier: BSD-2-Clause */
/* merged.c - a map into which a MERGE is pending: the pieces of the map that goes lie over its own. */
#include "map.h"

/* Where the last piece in front of an offset ends that the map that goes has; 0: there is none. */
static int end_in_front(nf2_t *fs, uint32_t id, uint32_t offset, uint32_t *end)
{
    struct nf2_key key = nf2_key_number(id, offset);
    struct nf2_entry entry;
    struct nf2_piece piece;
    int found = nf2_tree_seek(fs, &key, NF2_BELOW, &entry);

    *end = 0;
    NF2_TRY(found);
    if (found && entry.key.id == id && entry.key.length == 4) {
        NF2_TRY(nf2_map_find_as_is(fs, id, nf2_key_value(&entry.key), &piece));
        *end = piece.offset + piece.length;
    }
    return NF2_OK;
}

/* What of it was put over the other map already, and removed, does no harm: it is found there. */
static NF2_APART int find(nf2_t *fs, const struct nf2_op *merge, uint32_t offset, struct nf2_piece *piece)
{
    uint32_t from = merge->key.id, file_end = nf2_key_value(&merge->key), low, high;
    struct nf2_piece own;

    NF2_TRY(nf2_map_find_as_is(fs, from, offset, piece));
    if (piece->kind != 0) {
        return NF2_OK;
    }
    high = piece->offset + piece->length;
    high = offset < file_end ? nf2_min(high, file_end) : high;
    NF2_TRY(end_in_front(fs, from, offset, &low));
    NF2_TRY(nf2_map_find_as_is(fs, merge->to, offset, &own));
    low = nf2_max(low, own.offset);
    high = nf2_min(high, own.offset + own.length);
    if (own.kind != 0 && offset < file_end) {
        *piece = nf2_piece_part(fs, &own, low - own.offset, high - low);
    } else {
        piece->length = high - offset;
    }
    return NF2_OK;
}

/* The MERGE that is pending into a map: 1, 0 or an error. */
static int pending(nf2_t *fs, uint32_t id, struct nf2_op *merge)
{
    return fs->group_busy != NF2_GROUP_NONE ? nf2_pending_merge(fs, id, merge) : 0;
}

int nf2_map_find(nf2_t *fs, uint32_t id, uint32_t offset, struct nf2_piece *piece)
{
    struct nf2_op merge;
    int found = pending(fs, id, &merge);

    NF2_TRY(found);
    return found ? find(fs, &merge, offset, piece) : nf2_map_find_as_is(fs, id, offset, piece);
}

int nf2_map_end(nf2_t *fs, uint32_t id, uint32_t *end)
{
    struct nf2_op merge;
    uint32_t of_shadow;
    int found = pending(fs, id, &merge);

    NF2_TRY(found);
    NF2_TRY(nf2_map_end_as_is(fs, id, end));
    if (found) {
        NF2_TRY(nf2_map_end_as_is(fs, merge.key.id, &of_shadow));
        *end = nf2_min(nf2_max(*end, of_shadow), nf2_key_value(&merge.key));
    }
    return NF2_OK;
}
