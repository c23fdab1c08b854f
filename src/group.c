/* SPDX-License-Identifier: BSD-2-Clause */
#include "group.h"

#include "refs.h"

/* ---- applying -------------------------------------------------------------------------------- */

/* Twice does no harm: each change is by its key. */
static int apply_all(nf2_t *fs)
{
    struct nf2_group_reader reader;
    struct nf2_op op;
    int found;

    NF2_TRY(nf2_journal_open(fs)); /* first: a turn takes the GROUP to another place */
    nf2_group_begin(&reader);
    while ((found = nf2_group_next(fs, &reader, &op)) > 0) {
        NF2_TRY(nf2_tree_apply(fs, &op, &reader.key));
    }
    return found;
}

/* Meanwhile the tree is seen as it is. Readers look through what could not be applied. */
static int apply(nf2_t *fs)
{
    fs->group_busy = NF2_GROUP_NONE;
    int result = apply_all(fs);
    if (result < 0) {
        fs->group_busy = NF2_GROUP_COMMITTED;
        fs->moves++;
    }
    return result;
}

int nf2_group_pin(nf2_t *fs)
{
    struct nf2_group_reader reader;
    struct nf2_op op;
    int found;

    nf2_group_begin(&reader);
    while ((found = nf2_group_next(fs, &reader, &op)) > 0) {
        NF2_TRY(op.type == NF2_OP_PUT ? nf2_walked_body(fs, op.key, &op.body[0]) : NF2_OK);
    }
    return found;
}

int nf2_group_redo_pending(nf2_t *fs)
{
    if (fs->group_busy == NF2_GROUP_NONE) {
        return NF2_OK;
    }
    return fs->broken ? NF2_ERR_IO : apply(fs);
}

/* What was committed is applied; that goes on record before anything else changes. */
static int settle(nf2_t *fs)
{
    uint32_t at = fs->group_at;

    if (at == 0) {
        return NF2_OK;
    }
    /* the next call may have more to say */
    NF2_TRY(fs->group_busy == NF2_GROUP_NONE ? NF2_OK : NF2_NEED_SPACE);
    fs->group_at = 0;
    int result = NF2_BROKEN(NF2_FAULT_DONE) ? NF2_OK : nf2_journal_checkpoint(fs);
    fs->group_at = (uint16_t)(result < 0 ? at : 0);
    return result;
}

/* ---- committing ------------------------------------------------------------------------------ */

/* Writes a change; a writer of NULL does not. The bytes that it takes. */
uint32_t nf2_group_put(nf2_t *fs, struct nf2_writer *writer, const struct nf2_op *op)
{
    uint8_t bytes[NF2_GROUP_OP_HEAD + NF2_KEY_BYTES + 4u], *p = bytes + NF2_GROUP_OP_HEAD;
    uint32_t body = nf2_op_body(op), length = body;

    p = nf2_key_store(p, op->key);
    if (op->type == NF2_OP_RANGE) {
        p = nf2_put32(p, op->to);
        body = 4;
    }
    bytes[0] = (uint8_t)op->type;
    nf2_put16(bytes + 1, body);
    if (writer != NULL) {
        nf2_writer_put(fs, writer, bytes, (uint32_t)(p - bytes));
        for (unsigned i = 0; i < NF2_OP_SPANS; i++) {
            nf2_writer_span(fs, writer, &op->body[i]);
        }
    }
    return length + (uint32_t)(p - bytes);
}

int nf2_group_open(nf2_t *fs, struct nf2_writer *writer, uint32_t length)
{
    NF2_TRY(nf2_journal_room(fs, length));
    NF2_ASSERT(fs->group_at == 0 && fs->group_busy == NF2_GROUP_NONE);
    fs->root.group_bytes = (uint16_t)length;
    nf2_writer_begin(writer, fs->root_head, fs->root_end);
    fs->group_at = (uint16_t)nf2_writer_open(fs, writer, NF2_ROOT_GROUP, length);
    return NF2_OK;
}

int nf2_group_close(nf2_t *fs, struct nf2_writer *writer)
{
    nf2_writer_close(fs, writer);
    int result = nf2_journal_end(fs, writer);
    if (result == NF2_OK) {
        fs->group_busy = NF2_GROUP_COMMITTED;
    } else {
        fs->group_at = 0;
    }
    /* not with a turn: the GROUP would stay behind in the old log */
    if (NF2_BROKEN(NF2_FAULT_DONE_FIRST) && result == NF2_OK &&
        nf2_log_fits(fs, fs->root_end, NF2_STATE_BYTES)) {
        uint16_t at = fs->group_at;
        fs->group_at = 0;
        result = nf2_journal_checkpoint(fs);
        fs->group_at = at;
    }
    return result;
}

static NF2_APART int commit(nf2_t *fs, struct nf2_op *ops, unsigned count)
{
    struct nf2_writer writer;
    uint32_t length = 0;
    int result = NF2_FAILED_BLOCK;

    for (unsigned i = 0; i < count; i++) {
        length += nf2_group_put(fs, NULL, &ops[i]);
    }
    if (length > NF2_GROUP_BYTES_MAX) {
        return NF2_ERR_NOSPC;
    }
    for (unsigned i = 0; i < count && NF2_BROKEN(NF2_FAULT_LEAVES); i++) {
        NF2_TRY(nf2_tree_apply(fs, &ops[i], nf2_op_own(&ops[i])));
    }
    /* the log goes on in other blocks, or ends */
    while (result == NF2_FAILED_BLOCK && !NF2_BROKEN(NF2_FAULT_LEAVES)) {
        NF2_TRY(nf2_group_open(fs, &writer, length));
        for (unsigned i = 0; i < count; i++) {
            (void)nf2_group_put(fs, &writer, &ops[i]);
        }
        result = nf2_group_close(fs, &writer);
    }
    return NF2_BROKEN(NF2_FAULT_LEAVES) ? NF2_OK : result;
}

int nf2_change_begin(nf2_t *fs)
{
    NF2_TRY(settle(fs));
    nf2_space_changed(fs);
    return NF2_OK;
}

int nf2_change_ahead(nf2_t *fs, struct nf2_op *ops, unsigned count)
{
    NF2_TRY(nf2_change_begin(fs));
    int result = nf2_tree_change(fs, ops, count);
    return result == NF2_SPANS_LEAVES ? commit(fs, ops, count) : result;
}

int nf2_change_one(nf2_t *fs, struct nf2_op *op)
{
    return nf2_change_ahead(fs, op, 1);
}

/* It is committed: what a read or room keeps back is made up for. */
int nf2_group_end(nf2_t *fs, int result)
{
    bool later = result < 0 || fs->group_busy == NF2_GROUP_LATER;
    int applied = later ? NF2_OK : nf2_group_redo_pending(fs);
    return fs->broken && applied < 0 ? applied : result;
}

/* ---- maps ------------------------------------------------------------------------------------ */

void nf2_op_piece(struct nf2_op *op, uint32_t id, struct nf2_piece *piece)
{
    struct nf2_piece value = *piece;
    uint8_t *bytes = (uint8_t *)piece;

    if (value.kind == 0) {
        nf2_op_range(op, id, value.offset, value.offset + value.length);
    } else {
        nf2_op_put(op, nf2_op_own(op), bytes, (uint32_t)(nf2_piece_store(bytes, &value) - bytes));
        nf2_key_make(nf2_op_own(op), id, 0, value.offset);
    }
}

int nf2_change_pieces(nf2_t *fs, uint32_t id, struct nf2_piece *pieces, unsigned count)
{
    struct nf2_op ops[NF2_PLAN_PIECES];

    for (unsigned i = 0; i < count; i++) {
        nf2_op_piece(&ops[i], id, &pieces[i]);
    }
    return nf2_change_ahead(fs, ops, count);
}

int nf2_change_end(nf2_t *fs, uint32_t id, uint32_t end)
{
    struct nf2_piece plan[2] = {{.offset = end, .length = NF2_FILE_MAX + 1u - end}};

    NF2_TRY(end > 0 ? nf2_map_find(fs, id, end - 1, &plan[1]) : NF2_OK);
    if (plan[1].kind == 0 || NF2_BROKEN(NF2_FAULT_GROWS)) {
        return nf2_change_pieces(fs, id, plan, 1);
    }
    /* its true length, also where pieces behind it cut it short so far */
    nf2_piece_part(fs, &plan[1], 0, end - plan[1].offset);
    return nf2_change_pieces(fs, id, plan, 2);
}

int nf2_shadow_begin(nf2_t *fs, uint32_t *id)
{
    struct nf2_op op;
    uint32_t number;

    NF2_TRY(nf2_journal_id(fs, &number));
    nf2_op_put_system(&op, NF2_KEY_ORPHAN, number);
    NF2_TRY(NF2_BROKEN(NF2_FAULT_SHADOW) ? NF2_OK : nf2_change_one(fs, &op));
    *id = number;
    return NF2_OK;
}
