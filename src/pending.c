/* SPDX-License-Identifier: BSD-2-Clause */
#include "pending.h"

#include "refs.h"

_Static_assert((int)NF2_GROUP_PUT == NF2_OP_PUT && (int)NF2_GROUP_DEL == NF2_OP_DEL &&
               (int)NF2_GROUP_RANGE == NF2_OP_RANGE,
               "a GROUP has the numbers of the changes");

/* ---- the record ------------------------------------------------------------------------------ */

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
    uint8_t bytes[NF2_GROUP_OP_HEAD + NF2_KEY_BYTES + 4u];
    uint32_t left = fs->root.group_bytes + 2u - reader->at, room = nf2_min(left, sizeof bytes);

    if (left == 0) {
        return 0;
    }
    NF2_TRY(nf2_record_read(fs, fs->root_head, fs->group_at, reader->at, bytes, room));
    uint32_t used = room > NF2_GROUP_OP_HEAD ?
                    load_key(bytes + NF2_GROUP_OP_HEAD, room - NF2_GROUP_OP_HEAD, &reader->key) : 0;
    uint32_t at = NF2_GROUP_OP_HEAD + used, body = nf2_get16(bytes + 1);
    if (bytes[0] > NF2_GROUP_RANGE) {
        return NF2_ERR_VERSION;
    }
    if (used == 0 || at + body > left ||
        (bytes[0] == NF2_GROUP_RANGE && (body != 4 || reader->key.length != 4))) {
        return NF2_ERR_IO;
    }
    memset(op->body, 0, sizeof op->body);
    op->type = bytes[0];        /* the same numbers */
    op->key = &reader->key;
    op->body[0] = nf2_span_at(fs->root_head, fs->group_at, reader->at + at, body);
    if (op->type == NF2_OP_RANGE) {
        op->to = nf2_get32(bytes + at);
        op->body[0].length = 0;
    }
    reader->at = (uint16_t)(reader->at + at + body);
    return 1;
}

int nf2_group_known(nf2_t *fs)
{
    struct nf2_group_reader reader;
    struct nf2_op op;
    int found;

    nf2_group_begin(&reader);
    do {
        found = nf2_group_next(fs, &reader, &op);
    } while (found > 0);
    return found == NF2_ERR_VERSION ? found : NF2_OK;
}

/* ---- the tree as it will be ------------------------------------------------------------------ */

#define GONE 2                  /* the entry is removed: a search goes on behind its key */

/*
 * What the changes make of the entry that the tree has on one side of a key (its block is
 * NF2_NO_BLOCK: there is none): the nearest of those that they put, if it is nearer. No change
 * removes what another one puts.
 */
static NF2_APART int look_through(nf2_t *fs, const struct nf2_key *key, enum nf2_seek how,
                                  struct nf2_entry *entry)
{
    int sign = how < NF2_ABOVE ? 1 : -1, at = (int)(how & 1u);
    struct nf2_group_reader reader;
    struct nf2_op op;
    int found;

    nf2_group_begin(&reader);
    while ((found = nf2_group_next(fs, &reader, &op)) > 0) {
        bool any = entry->body.at.record.block != NF2_NO_BLOCK;
        if (op.type != NF2_OP_PUT) {
            if (!any || !nf2_op_covers(&op, &entry->key)) {
                continue;
            }
            if (op.type == NF2_OP_RANGE && entry->key.length == 4) { /* behind all of these */
                nf2_key_make(&entry->key, op.key->id, 0,
                             sign > 0 ? nf2_key_value(op.key) :
                             op.to > NF2_FILE_MAX ? NF2_NONE : op.to - 1);
            }
            return GONE;
        }
        int order = any ? nf2_key_compare(op.key, &entry->key) : 0;
        if (nf2_key_compare(op.key, key) * sign < at && order * sign >= 0) {
            entry->body = op.body[0];
            entry->record = op.body[0].at.record.offset;
            nf2_key_copy(&entry->key, op.key);
        }
    }
    return found < 0 ? found : entry->body.at.record.block != NF2_NO_BLOCK;
}

static NF2_APART int seek(nf2_t *fs, const struct nf2_key *key, enum nf2_seek how,
                          struct nf2_entry *entry)
{
    const struct nf2_key *from = key;
    enum nf2_seek next = how;

    /* each change is passed once, if the tree is in order */
    for (unsigned steps = NF2_GROUP_BYTES_MAX / 4u; steps > 0; steps--) {
        int found = nf2_tree_seek_as_is(fs, from, next, entry);
        NF2_TRY(found);
        if (found == 0) {
            entry->body.at.record.block = NF2_NO_BLOCK;
        }
        found = look_through(fs, key, how, entry);
        if (found != GONE) {
            return found;
        }
        from = &entry->key;
        next = how < NF2_ABOVE ? NF2_BELOW : NF2_ABOVE;
    }
    return NF2_ERR_IO;
}

int nf2_tree_seek(nf2_t *fs, const struct nf2_key *key, enum nf2_seek how, struct nf2_entry *entry)
{
    NF2_ASSERT(key != &entry->key);
    int found = fs->group_busy != NF2_GROUP_NONE ? seek(fs, key, how, entry) :
                nf2_tree_seek_as_is(fs, key, how, entry);
    if (found > 0) {
        int order = nf2_key_compare(&entry->key, key);
        order = how < NF2_ABOVE ? order : -order;
        found = order < (int)(how & 1u) ? found : NF2_ERR_IO;
    }
    return found;
}

/* The entry with a key, by the tree and the changes: it lies in the key's leaf, if anywhere. */
static NF2_APART int find(nf2_t *fs, const struct nf2_key *key, struct nf2_entry *entry)
{
    int found = nf2_tree_seek_in_leaf(fs, key, NF2_AT_OR_BELOW, entry);

    NF2_TRY(found);
    if (found == 0 || nf2_key_compare(&entry->key, key) != 0) {
        entry->body.at.record.block = NF2_NO_BLOCK;
    }
    found = look_through(fs, key, NF2_AT_OR_BELOW, entry);
    NF2_TRY(found);
    return found != 0 && found != GONE && nf2_key_compare(&entry->key, key) == 0;
}

int nf2_tree_find(nf2_t *fs, const struct nf2_key *key, struct nf2_entry *entry)
{
    return fs->group_busy != NF2_GROUP_NONE ? find(fs, key, entry) :
           nf2_tree_find_as_is(fs, key, entry);
}

int nf2_tree_get(nf2_t *fs, const struct nf2_key *key, struct nf2_entry *entry)
{
    int found = nf2_tree_find(fs, key, entry);
    return found == 0 ? NF2_ERR_IO : found;
}
