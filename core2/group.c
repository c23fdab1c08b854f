/* SPDX-License-Identifier: BSD-2-Clause */
#include "group.h"

#include "map.h"
#include "walked.h"

/*
 * GROUP: for each change: kind 1, bytes of the body 2, the key, the body. Body of RANGE: the offset behind it, 4; of MERGE,
 * whose key has the id of the map that goes and where the file ends: the id of the one that gets its entries, 4.
 */
#define OP_HEAD 3u
#define CHANGES_MAX 16u

/* ---- applying ----------------------------------------------------------------------------------- */

struct reader {
    uint32_t block;
    uint16_t record, at, end;   /* place of the record, and in the record */
};

static int reader_begin(nf2_t *fs, struct reader *reader)
{
    uint8_t header[2];

    reader->block = fs->root.group_block;
    reader->record = fs->root.group_at;
    NF2_TRY(nf2_record_read(fs, reader->block, reader->record, 0, header, 2));
    reader->at = 2;
    reader->end = (uint16_t)((nf2_get16(header) & 0xFFFu) - 4u);
    return NF2_OK;
}

/* The next change: 1, 0 at the end, or an error. Its body stays on the chip. */
static int reader_next(nf2_t *fs, struct reader *reader, struct nf2_op *op)
{
    uint8_t bytes[OP_HEAD + NF2_KEY_BYTES];
    uint32_t room = (uint32_t)reader->end - reader->at, used;

    if (reader->at >= reader->end) {
        return 0;
    }
    memset(op, 0, sizeof *op);
    room = nf2_min(room, sizeof bytes);
    NF2_TRY(nf2_record_read(fs, reader->block, reader->record, reader->at, bytes, room));
    used = room > OP_HEAD ? nf2_get_varint(bytes + OP_HEAD, room - OP_HEAD, &op->key.id) : 0;
    uint32_t at = OP_HEAD + used;
    if (used == 0 || at >= room || bytes[at] > NF2_KEY_MAX || at + 1 + bytes[at] > room) {
        return NF2_ERR_IO;
    }
    op->key.length = bytes[at];
    memcpy(op->key.bytes, bytes + at + 1, op->key.length);
    at += 1u + op->key.length;
    uint32_t body = nf2_get16(bytes + 1);
    if (reader->at + at + body > reader->end) {
        return NF2_ERR_IO;
    }
    op->type = bytes[0] == NF2_GROUP_PUT ? NF2_OP_PUT : bytes[0] == NF2_GROUP_DEL ? NF2_OP_DEL :
               bytes[0] == NF2_GROUP_RANGE ? NF2_OP_RANGE : NF2_OP_MERGE;
    op->body[0] = nf2_span_at(reader->block, reader->record, reader->at + at, body);
    if (op->type == NF2_OP_RANGE || op->type == NF2_OP_MERGE) {
        uint8_t number[4];
        NF2_TRY(nf2_span_read(fs, &op->body[0], 0, number, sizeof number));
        op->to = nf2_get32(number);
        op->body[0].length = 0;
    }
    reader->at = (uint16_t)(reader->at + at + body);
    return 1;
}

/* Twice does no harm: each change is by its key. */
static int apply(nf2_t *fs)
{
    struct reader reader;
    struct nf2_op op;
    int found;

    NF2_TRY(reader_begin(fs, &reader));
    while ((found = reader_next(fs, &reader, &op)) > 0) {
        NF2_TRY(op.type == NF2_OP_MERGE ? nf2_map_merge(fs, op.key.id, op.to, nf2_key_value(&op.key)) : nf2_tree_apply(fs, &op));
    }
    NF2_TRY(found);
    fs->group_busy = false;
    return NF2_OK;
}

int nf2_group_pin(nf2_t *fs)
{
    struct reader reader;
    struct nf2_op op;
    int found;

    NF2_TRY(reader_begin(fs, &reader));
    while ((found = reader_next(fs, &reader, &op)) > 0) {
        NF2_TRY(op.type == NF2_OP_PUT ? nf2_walked_body(fs, &op.key, &op.body[0]) : NF2_OK);
    }
    return found;
}

int nf2_group_redo_pending(nf2_t *fs)
{
    if (!fs->group_busy) {
        return NF2_OK;
    }
    return fs->io.broken ? NF2_ERR_IO : apply(fs); /* half of a change is not to be seen */
}

/* What was committed is applied, and on record as applied, before anything else changes. */
static int settle(nf2_t *fs)
{
    if (fs->root.group_block == NF2_NO_BLOCK) {
        return NF2_OK;
    }
    NF2_TRY(fs->group_busy ? apply(fs) : NF2_OK);
    uint32_t block = fs->root.group_block;
    fs->root.group_block = NF2_NO_BLOCK;
    int result = nf2_journal_put(fs, NF2_ROOT_DONE, NULL, 0);
    fs->root.group_block = result < 0 ? block : NF2_NO_BLOCK;
    return result;
}

/* ---- committing --------------------------------------------------------------------------------- */

/* Renames become PUT and DEL: the body is copied from where it lies. */
static int expand(nf2_t *fs, struct nf2_op *to, const struct nf2_op *ops, unsigned count, unsigned *expanded)
{
    struct nf2_entry entry;
    unsigned n = 0;

    for (unsigned i = 0; i < count; i++) {
        NF2_ASSERT(n + 2 <= CHANGES_MAX);
        to[n] = ops[i];
        if (ops[i].type == NF2_OP_REN) {
            int found = nf2_tree_find(fs, ops[i].from, &entry);
            NF2_TRY(found > 0 ? NF2_OK : found < 0 ? found : NF2_ERR_IO);
            to[n].type = NF2_OP_PUT;
            to[n].body[0] = nf2_body_span(&entry, 0, entry.body_length);
            to[++n] = nf2_op_delete(ops[i].from);
        }
        n++;
    }
    *expanded = n;
    return NF2_OK;
}

static uint32_t op_length(const struct nf2_op *op)
{
    bool number = op->type == NF2_OP_RANGE || op->type == NF2_OP_MERGE;
    return OP_HEAD + nf2_op_bytes(op) - NF2_RECORD_OVERHEAD + (number ? 4u : 0);
}

static void write_op(nf2_t *fs, struct nf2_writer *writer, const struct nf2_op *op)
{
    uint8_t bytes[OP_HEAD + NF2_KEY_BYTES];
    bool number = op->type == NF2_OP_RANGE || op->type == NF2_OP_MERGE;

    bytes[0] = op->type == NF2_OP_DEL ? NF2_GROUP_DEL : op->type == NF2_OP_RANGE ? NF2_GROUP_RANGE :
               op->type == NF2_OP_MERGE ? NF2_GROUP_MERGE : NF2_GROUP_PUT;
    nf2_put16(bytes + 1, number ? 4u : nf2_op_body(op));
    nf2_writer_put(fs, writer, bytes, (uint32_t)(nf2_key_store(bytes + OP_HEAD, &op->key) - bytes));
    if (number) {
        nf2_put32(bytes, op->to);
        nf2_writer_put(fs, writer, bytes, 4);
        return;
    }
    for (unsigned i = 0; i < NF2_OP_SPANS; i++) {
        nf2_writer_span(fs, writer, &op->body[i]);
    }
}

static NF2_APART int commit(nf2_t *fs, const struct nf2_op *ops, unsigned count)
{
    struct nf2_writer writer;
    uint32_t length = 0;
    int result = NF2_FAILED_BLOCK;

    for (unsigned i = 0; i < count; i++) {
        length += op_length(&ops[i]);
    }
    if (length > NF2_GROUP_BYTES_MAX) {
        return NF2_ERR_NOSPC;
    }
    for (uint32_t tries = nf2_journal_tries(fs); tries > 0 && result == NF2_FAILED_BLOCK; tries--) {
        NF2_TRY(nf2_journal_room(fs, length));
        nf2_writer_begin(&writer, fs->root.head, fs->root.end);
        fs->root.group_at = (uint16_t)nf2_writer_open(fs, &writer, NF2_ROOT_GROUP, false, length);
        for (unsigned i = 0; i < count; i++) {
            write_op(fs, &writer, &ops[i]);
        }
        nf2_writer_close(fs, &writer);
        result = nf2_journal_end(fs, &writer);
    }
    fs->root.group_block = result == NF2_OK ? fs->root.head : NF2_NO_BLOCK;
    return result == NF2_FAILED_BLOCK ? NF2_ERR_IO : result;
}

static NF2_APART int change_leaves(nf2_t *fs, const struct nf2_op *ops, unsigned count)
{
    struct nf2_op plain[CHANGES_MAX];
    unsigned n;

    NF2_TRY(expand(fs, plain, ops, count, &n));
    NF2_TRY(commit(fs, plain, n));
    fs->group_busy = true;
    return NF2_OK;
}

struct nf2_op nf2_op_merge(uint32_t from, uint32_t to, uint32_t file_end)
{
    struct nf2_op op = nf2_op_range(from, file_end, to);

    op.type = NF2_OP_MERGE;
    return op;
}

int nf2_change(nf2_t *fs, struct nf2_op *ops, unsigned count)
{
    NF2_TRY(settle(fs));
    int result = nf2_tree_change(fs, ops, count);
    if (result == NF2_SPANS_LEAVES) {
        NF2_TRY(change_leaves(fs, ops, count));
        result = apply(fs);
        result = fs->io.broken ? result : NF2_OK; /* it is committed: what a read or room kept back is made up for */
    }
    nf2_space_changed(fs);
    return result;
}
