/* SPDX-License-Identifier: BSD-2-Clause */
#include "pending.h"

#include "refs.h"

/* ---- the record --------------------------------------------------------------------------------- */

int nf2_group_begin(nf2_t *fs, struct nf2_group_reader *reader)
{
    uint8_t header[2];

    NF2_TRY(nf2_record_read(fs, fs->root.group_block, fs->root.group_at, 0, header, 2));
    reader->at = 2;
    reader->end = (uint16_t)((nf2_get16(header) & 0xFFFu) - 4u);
    return NF2_OK;
}

/* Takes the key from the bytes in front of a body: bytes used, 0 if it is none. */
static uint32_t load_key(const uint8_t *p, uint32_t room, struct nf2_key *key)
{
    uint32_t at = nf2_get_varint(p, room, &key->id);

    if (at == 0 || at >= room || p[at] > NF2_KEY_MAX || at + 1 + p[at] > room) {
        return 0;
    }
    key->length = p[at];
    memcpy(key->bytes, p + at + 1, key->length);
    return at + 1u + key->length;
}

int nf2_group_next(nf2_t *fs, struct nf2_group_reader *reader, struct nf2_op *op)
{
    uint8_t bytes[NF2_GROUP_OP_HEAD + NF2_KEY_BYTES];
    uint32_t left = (uint32_t)reader->end - reader->at, room = nf2_min(left, sizeof bytes);
    uint32_t block = fs->root.group_block, record = fs->root.group_at;

    if (reader->at >= reader->end) {
        return 0;
    }
    memset(op, 0, sizeof *op);
    NF2_TRY(nf2_record_read(fs, block, record, reader->at, bytes, room));
    uint32_t used = room > NF2_GROUP_OP_HEAD ? load_key(bytes + NF2_GROUP_OP_HEAD, room - NF2_GROUP_OP_HEAD, &op->key) : 0;
    uint32_t at = NF2_GROUP_OP_HEAD + used, body = nf2_get16(bytes + 1);
    if (used == 0 || at + body > left || bytes[0] > NF2_GROUP_MERGE) {
        return NF2_ERR_IO;
    }
    op->type = bytes[0] == NF2_GROUP_PUT ? NF2_OP_PUT : bytes[0] == NF2_GROUP_DEL ? NF2_OP_DEL :
               bytes[0] == NF2_GROUP_RANGE ? NF2_OP_RANGE : NF2_OP_MERGE;
    op->body[0] = nf2_span_at(block, record, reader->at + at, body);
    if (op->type == NF2_OP_RANGE || op->type == NF2_OP_MERGE) {
        uint8_t number[4];
        NF2_TRY(nf2_span_read(fs, &op->body[0], 0, number, sizeof number));
        op->to = nf2_get32(number);
        op->body[0].length = 0;
    }
    reader->at = (uint16_t)(reader->at + at + body);
    return 1;
}

/* ---- the tree as it will be --------------------------------------------------------------------- */

/* Is an entry of the tree removed? Then a search goes on behind `from`, in its direction. */
static NF2_APART int removed(nf2_t *fs, const struct nf2_key *key, bool below, struct nf2_key *from)
{
    struct nf2_group_reader reader;
    struct nf2_op op;
    int found;

    NF2_TRY(nf2_group_begin(fs, &reader));
    while ((found = nf2_group_next(fs, &reader, &op)) > 0) {
        bool range = op.type == NF2_OP_RANGE && nf2_op_covers(&op, key);
        if (range || (op.type == NF2_OP_DEL && nf2_key_compare(&op.key, key) == 0)) {
            *from = range && !below ? nf2_key_number(key->id, op.to - 1) : op.key;
            return 1;
        }
    }
    return found;
}

/* Takes the nearest one of the entries that are put, if it is nearer than the one that was found. */
static NF2_APART int nearest_put(nf2_t *fs, const struct nf2_key *key, enum nf2_seek how, int any, struct nf2_entry *entry)
{
    bool below = how == NF2_AT_OR_BELOW || how == NF2_BELOW;
    struct nf2_group_reader reader;
    struct nf2_op op;
    int found;

    NF2_TRY(nf2_group_begin(fs, &reader));
    while ((found = nf2_group_next(fs, &reader, &op)) > 0) {
        int order = nf2_key_compare(&op.key, key);
        bool at = order == 0 && (how == NF2_AT_OR_BELOW || how == NF2_AT_OR_ABOVE);
        bool there = op.type == NF2_OP_PUT && (at || (below ? order < 0 : order > 0));
        order = any ? nf2_key_compare(&op.key, &entry->key) : 0;
        if (there && (order == 0 || (order > 0) == below)) {
            entry->block = op.body[0].at.block;
            entry->record = entry->body_record = op.body[0].offset;
            entry->body_position = op.body[0].position;
            entry->body_length = op.body[0].length;
            entry->key = op.key;
            any = 1;
        }
    }
    return found < 0 ? found : any;
}

static NF2_APART int seek(nf2_t *fs, const struct nf2_key *key, enum nf2_seek how, struct nf2_entry *entry)
{
    bool below = how == NF2_AT_OR_BELOW || how == NF2_BELOW;
    struct nf2_key from = *key;
    enum nf2_seek next = how;
    int found, gone = 1;

    while (gone > 0) {
        found = nf2_tree_seek_as_is(fs, &from, next, entry);
        NF2_TRY(found);
        gone = found > 0 ? removed(fs, &entry->key, below, &from) : 0;
        NF2_TRY(gone);
        next = below ? NF2_BELOW : NF2_ABOVE;
    }
    return nearest_put(fs, key, how, found, entry);
}

int nf2_tree_seek(nf2_t *fs, const struct nf2_key *key, enum nf2_seek how, struct nf2_entry *entry)
{
    return fs->group_busy != NF2_GROUP_NONE ? seek(fs, key, how, entry) : nf2_tree_seek_as_is(fs, key, how, entry);
}

int nf2_tree_find(nf2_t *fs, const struct nf2_key *key, struct nf2_entry *entry)
{
    if (fs->group_busy == NF2_GROUP_NONE) {
        return nf2_tree_find_as_is(fs, key, entry);
    }
    int found = seek(fs, key, NF2_AT_OR_BELOW, entry);
    return found > 0 ? nf2_key_compare(&entry->key, key) == 0 : found;
}

int nf2_tree_next(nf2_t *fs, struct nf2_cursor *cursor, const struct nf2_key *last, struct nf2_entry *entry)
{
    return fs->group_busy != NF2_GROUP_NONE ? seek(fs, last, NF2_ABOVE, entry) : nf2_tree_next_as_is(fs, cursor, last, entry);
}

int nf2_tree_around(nf2_t *fs, const struct nf2_key *key, struct nf2_entry *below, struct nf2_key *above)
{
    int more = nf2_tree_seek(fs, key, NF2_ABOVE, below);
    NF2_TRY(more);
    if (more) {
        *above = below->key;
    }
    int found = nf2_tree_seek(fs, key, NF2_AT_OR_BELOW, below);
    return found < 0 ? found : (found ? NF2_HAS_BELOW : 0) | (more ? NF2_HAS_ABOVE : 0);
}

int nf2_pending_merge(nf2_t *fs, uint32_t id, struct nf2_op *op)
{
    struct nf2_group_reader reader;
    int found;

    NF2_TRY(nf2_group_begin(fs, &reader));
    while ((found = nf2_group_next(fs, &reader, op)) > 0 && !(op->type == NF2_OP_MERGE && op->to == id)) {
    }
    return found;
}
