/* SPDX-License-Identifier: BSD-2-Clause */
#include "group.h"

#include "walked.h"

/* ---- applying ----------------------------------------------------------------------------------- */

/* Twice does no harm: each change is by its key. */
static int apply_all(nf2_t *fs)
{
    struct nf2_group_reader reader;
    struct nf2_op op;
    int found;

    NF2_TRY(nf2_group_begin(fs, &reader));
    while ((found = nf2_group_next(fs, &reader, &op)) > 0) {
        bool merge = op.type == NF2_OP_MERGE;
        NF2_TRY(merge ? nf2_map_merge(fs, op.key.id, op.to, nf2_key_value(&op.key)) : nf2_tree_apply(fs, &op));
    }
    return found;
}

/* Meanwhile the tree is seen as it is. Readers look through what could not be applied. */
static int apply(nf2_t *fs)
{
    fs->group_busy = NF2_GROUP_NONE;
    int result = apply_all(fs);
    if (result < 0) {
        fs->group_busy = NF2_GROUP_FAILED;
        fs->moves++;
    }
    return result;
}

int nf2_group_pin(nf2_t *fs)
{
    struct nf2_group_reader reader;
    struct nf2_op op;
    int found;

    NF2_TRY(nf2_group_begin(fs, &reader));
    while ((found = nf2_group_next(fs, &reader, &op)) > 0) {
        NF2_TRY(op.type == NF2_OP_PUT ? nf2_walked_body(fs, &op.key, &op.body[0]) : NF2_OK);
    }
    return found;
}

int nf2_group_redo_pending(nf2_t *fs)
{
    if (fs->group_busy == NF2_GROUP_NONE) {
        return NF2_OK;
    }
    return fs->io.broken ? NF2_ERR_IO : apply(fs);
}

void nf2_group_look(nf2_t *fs)
{
    if (fs->group_busy == NF2_GROUP_WAITS && !fs->io.read_only && !fs->io.broken) {
        (void)apply(fs);
    }
}

/* What was committed is applied, and on record as applied, before anything else changes. */
static int settle(nf2_t *fs)
{
    if (fs->root.group_block == NF2_NO_BLOCK) {
        return NF2_OK;
    }
    NF2_TRY(fs->group_busy != NF2_GROUP_NONE ? apply(fs) : NF2_OK);
    uint32_t block = fs->root.group_block;
    fs->root.group_block = NF2_NO_BLOCK;
    int result = nf2_journal_checkpoint(fs, false);
    fs->root.group_block = (uint16_t)(result < 0 ? block : NF2_NO_BLOCK);
    return result;
}

/* ---- committing --------------------------------------------------------------------------------- */

/* A rename stands as PUT and DEL: its body is copied from where it lies. */
static NF2_APART int body_of_source(nf2_t *fs, const struct nf2_op *op, struct nf2_span *body)
{
    struct nf2_entry entry;
    int found = nf2_tree_find(fs, op->from, &entry);

    NF2_TRY(found > 0 ? NF2_OK : found < 0 ? found : NF2_ERR_IO);
    *body = nf2_body_span(&entry, 0, entry.body_length);
    return NF2_OK;
}

static void write_op(nf2_t *fs, struct nf2_writer *writer, unsigned kind, const struct nf2_key *key, uint32_t body)
{
    uint8_t bytes[NF2_GROUP_OP_HEAD + NF2_KEY_BYTES] = {(uint8_t)kind};

    nf2_put16(bytes + 1, body);
    nf2_writer_put(fs, writer, bytes, (uint32_t)(nf2_key_store(bytes + NF2_GROUP_OP_HEAD, key) - bytes));
}

static void write_change(nf2_t *fs, struct nf2_writer *writer, const struct nf2_op *op)
{
    uint8_t number[4];

    if (op->type == NF2_OP_DEL) {
        write_op(fs, writer, NF2_GROUP_DEL, &op->key, 0);
    } else if (op->type == NF2_OP_RANGE || op->type == NF2_OP_MERGE) {
        write_op(fs, writer, op->type == NF2_OP_RANGE ? NF2_GROUP_RANGE : NF2_GROUP_MERGE, &op->key, sizeof number);
        nf2_put32(number, op->to);
        nf2_writer_put(fs, writer, number, sizeof number);
    } else {
        write_op(fs, writer, NF2_GROUP_PUT, &op->key, nf2_op_body(op));
        for (unsigned i = 0; i < NF2_OP_SPANS; i++) {
            nf2_writer_span(fs, writer, &op->body[i]);
        }
        if (op->type == NF2_OP_REN) {
            write_op(fs, writer, NF2_GROUP_DEL, op->from, 0);
        }
    }
}

/* Bytes that a change takes. */
static uint32_t change_length(const struct nf2_op *op)
{
    bool number = op->type == NF2_OP_RANGE || op->type == NF2_OP_MERGE;
    uint32_t source = op->type == NF2_OP_REN ? NF2_GROUP_OP_HEAD + nf2_key_bytes(op->from) : 0;

    return NF2_GROUP_OP_HEAD + nf2_op_bytes(op) - NF2_RECORD_OVERHEAD + (number ? 4u : 0) + source;
}

/* In the root log, which has room for it. */
static NF2_APART int write_group(nf2_t *fs, const struct nf2_op *ops, unsigned count, uint32_t length)
{
    struct nf2_writer writer;

    nf2_writer_begin(&writer, fs->root.head, fs->root.end);
    fs->root.group_at = (uint16_t)nf2_writer_open(fs, &writer, NF2_ROOT_GROUP, false, length);
    for (unsigned i = 0; i < count; i++) {
        write_change(fs, &writer, &ops[i]);
    }
    nf2_writer_close(fs, &writer);
    return nf2_journal_end(fs, &writer);
}

static NF2_APART int commit(nf2_t *fs, struct nf2_op *ops, unsigned count)
{
    uint32_t length = 0;
    int result = NF2_FAILED_BLOCK;

    for (unsigned i = 0; i < count; i++) {
        NF2_TRY(ops[i].type == NF2_OP_REN ? body_of_source(fs, &ops[i], &ops[i].body[0]) : NF2_OK);
        length += change_length(&ops[i]);
    }
    if (length > NF2_GROUP_BYTES_MAX) {
        return NF2_ERR_NOSPC;
    }
    for (uint32_t tries = nf2_journal_tries(fs); tries > 0 && result == NF2_FAILED_BLOCK; tries--) {
        NF2_TRY(nf2_journal_room(fs, length));
        result = write_group(fs, ops, count, length);
    }
    fs->root.group_block = (uint16_t)(result == NF2_OK ? fs->root.head : NF2_NO_BLOCK);
    fs->group_busy = result == NF2_OK ? NF2_GROUP_WAITS : NF2_GROUP_NONE;
    return result == NF2_FAILED_BLOCK ? NF2_ERR_IO : result;
}

void nf2_op_merge(struct nf2_op *op, uint32_t from, uint32_t to, uint32_t file_end)
{
    nf2_op_range(op, from, file_end, to);
    op->type = NF2_OP_MERGE;
}

int nf2_change(nf2_t *fs, struct nf2_op *ops, unsigned count)
{
    NF2_TRY(settle(fs));
    int result = nf2_tree_change(fs, ops, count);
    if (result == NF2_SPANS_LEAVES) {
        NF2_TRY(commit(fs, ops, count));
        result = apply(fs);
        result = fs->io.broken ? result : NF2_OK; /* it is committed: what a read or room kept back is made up for */
    }
    nf2_space_changed(fs);
    return result;
}

int nf2_change_piece(nf2_t *fs, uint32_t id, const struct nf2_piece *piece)
{
    struct nf2_op ops[NF2_MAP_OPS];
    uint8_t bytes[2][NF2_PIECE_BYTES];
    int n = nf2_map_plan(fs, id, piece, NF2_NONE, ops, bytes);

    return n < 0 ? n : nf2_change(fs, ops, (unsigned)n);
}

int nf2_change_end(nf2_t *fs, uint32_t id, uint32_t end)
{
    struct nf2_op ops[2];
    uint8_t bytes[NF2_PIECE_BYTES];
    int n = nf2_map_plan_cut(fs, id, end, ops, bytes);

    return n < 0 ? n : nf2_change(fs, ops, (unsigned)n);
}
