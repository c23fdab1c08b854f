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
        NF2_TRY(nf2_tree_apply(fs, &op));
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
        NF2_TRY(op.type == NF2_OP_PUT ? nf2_walked_body(fs, op.key, &op.body[0]) : NF2_OK);
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

/* What was committed is applied; that goes on record before anything else changes. */
static int settle(nf2_t *fs)
{
    uint32_t block = fs->root.group_block;

    if (block == NF2_NO_BLOCK) {
        return NF2_OK;
    }
    NF2_TRY(fs->group_busy == NF2_GROUP_NONE ? NF2_OK : NF2_NEED_SPACE); /* the next call may have more to say */
    fs->root.group_block = NF2_NO_BLOCK;
    int result = NF2_BROKEN(NF2_FAULT_DONE) ? NF2_OK : nf2_journal_checkpoint(fs, false);
    fs->root.group_block = (uint16_t)(result < 0 ? block : NF2_NO_BLOCK);
    return result;
}

/* ---- committing --------------------------------------------------------------------------------- */

/* Writes a change; a writer of NULL does not. The bytes that it takes. */
static uint32_t write_change(nf2_t *fs, struct nf2_writer *writer, const struct nf2_op *op)
{
    uint8_t bytes[NF2_GROUP_OP_HEAD + NF2_KEY_BYTES + 4u], *p = bytes + NF2_GROUP_OP_HEAD;
    uint32_t body = nf2_op_body(op), length = body;

    p = nf2_key_store(p, op->key);
    if (op->type == NF2_OP_RANGE) {
        p = nf2_put32(p, op->to);
        body = 4;
    }
    bytes[0] = op->type;
    nf2_put16(bytes + 1, body);
    if (writer != NULL) {
        nf2_writer_put(fs, writer, bytes, (uint32_t)(p - bytes));
        for (unsigned i = 0; i < NF2_OP_SPANS; i++) {
            nf2_writer_span(fs, writer, &op->body[i]);
        }
    }
    return length + (uint32_t)(p - bytes);
}

/* What is committed: these changes; or (`ops` is NULL) these of a map, which are made from its pieces one by one. */
struct changes {
    struct nf2_op *ops;
    const struct nf2_piece *pieces;
    uint32_t id;
    unsigned count;
};

/* The change of a map that a piece stands for: it is put, or (kind 0) goes. Its own bytes are used up. */
static NF2_APART void map_op(struct nf2_op *op, uint32_t id, struct nf2_piece *piece)
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

/* In the root log, which has room for it; a writer of NULL: the bytes that it takes. */
static NF2_APART uint32_t write_changes(nf2_t *fs, const struct changes *changes, struct nf2_writer *writer)
{
    struct nf2_piece piece;
    uint32_t length = 0;
    struct nf2_op made;

    for (unsigned i = 0; i < changes->count; i++) {
        const struct nf2_op *op = &made;
        if (changes->ops != NULL) {
            op = &changes->ops[i];
        } else {
            piece = changes->pieces[i];
            map_op(&made, changes->id, &piece);
        }
        length += write_change(fs, writer, op);
    }
    return length;
}

static NF2_APART int write_group(nf2_t *fs, const struct changes *changes, uint32_t length)
{
    struct nf2_writer writer;

    nf2_writer_begin(&writer, fs->root.head, fs->root.end);
    fs->root.group_at = (uint16_t)nf2_writer_open(fs, &writer, NF2_ROOT_GROUP, length);
    (void)write_changes(fs, changes, &writer);
    nf2_writer_close(fs, &writer);
    return nf2_journal_end(fs, &writer);
}

static NF2_APART int commit(nf2_t *fs, const struct changes *changes)
{
    uint32_t length = write_changes(fs, changes, NULL);
    int result = NF2_FAILED_BLOCK;

    if (length > NF2_GROUP_BYTES_MAX) {
        return NF2_ERR_NOSPC;
    }
    for (unsigned i = 0; changes->ops != NULL && i < changes->count && NF2_BROKEN(NF2_FAULT_LEAVES); i++) {
        NF2_TRY(nf2_tree_apply(fs, &changes->ops[i]));
    }
    if (changes->ops != NULL && NF2_BROKEN(NF2_FAULT_LEAVES)) {
        return NF2_OK;
    }
    for (uint32_t tries = nf2_journal_tries(fs); tries > 0 && result == NF2_FAILED_BLOCK; tries--) {
        NF2_TRY(nf2_journal_room(fs, length));
        result = write_group(fs, changes, length);
    }
    fs->root.group_block = (uint16_t)(result == NF2_OK ? fs->root.head : NF2_NO_BLOCK);
    fs->group_busy = result == NF2_OK ? NF2_GROUP_WAITS : NF2_GROUP_NONE;
    if (NF2_BROKEN(NF2_FAULT_DONE_FIRST) && result == NF2_OK) {
        uint32_t block = fs->root.group_block;
        fs->root.group_block = NF2_NO_BLOCK;
        result = nf2_journal_checkpoint(fs, false);
        fs->root.group_block = (uint16_t)block;
    }
    return result == NF2_FAILED_BLOCK ? NF2_ERR_IO : result;
}

int nf2_change_ahead(nf2_t *fs, struct nf2_op *ops, unsigned count)
{
    struct changes changes = {.ops = ops, .count = count};

    NF2_TRY(settle(fs));
    nf2_space_changed(fs);
    int result = nf2_tree_change(fs, ops, count);
    return result == NF2_SPANS_LEAVES ? commit(fs, &changes) : result;
}

/* It is committed: what a read or room keeps back is made up for. */
int nf2_group_end(nf2_t *fs, int result)
{
    int applied = result < 0 ? NF2_OK : nf2_group_redo_pending(fs);
    return fs->io.broken && applied < 0 ? applied : result;
}

int nf2_change(nf2_t *fs, struct nf2_op *ops, unsigned count)
{
    return nf2_group_end(fs, nf2_change_ahead(fs, ops, count));
}

/* ---- maps --------------------------------------------------------------------------------------- */

int nf2_change_pieces(nf2_t *fs, uint32_t id, struct nf2_piece *pieces, unsigned count)
{
    struct nf2_op ops[NF2_PLAN_PIECES];

    for (unsigned i = 0; i < count; i++) {
        map_op(&ops[i], id, &pieces[i]);
    }
    return nf2_change_ahead(fs, ops, count);
}

/* Plans pieces in a row, put over what a map has: what goes, the rest of an older piece, they; how many they are, or an error. */
static int plan_row(nf2_t *fs, uint32_t id, const struct nf2_piece *pieces, uint32_t count, struct nf2_piece *plan, unsigned *planned)
{
    struct nf2_piece *to = &plan[*planned], old;
    uint32_t n = 1, end = pieces->offset + pieces->length;

    for (; n < count && pieces[n].offset == end; n++) {
        end += pieces[n].length;
    }
    NF2_TRY(nf2_map_find(fs, id, end - 1, &old));
    uint32_t old_end = old.offset + old.length;
    if (old.offset > pieces->offset && !NF2_BROKEN(NF2_FAULT_RANGE)) { /* not one older piece has all of it, nor a gap */
        memset(to, 0, sizeof *to);
        to->offset = pieces->offset + 1;
        to->length = end - to->offset;
        to++;
    }
    if (old.kind != 0 && old_end > end) {
        nf2_piece_part(fs, &old, end - old.offset, old_end - end);
        *to++ = old;
    }
    memcpy(to, pieces, n * sizeof *pieces);
    *planned = (unsigned)(to - plan) + n;
    return (int)n;
}

int nf2_change_map(nf2_t *fs, uint32_t id, const struct nf2_piece *pieces, uint32_t count)
{
    struct nf2_piece plan[3 * NF2_PIECES_MAX];
    struct changes changes = {.pieces = plan, .id = id};

    for (int n; count > 0; pieces += n, count -= (uint32_t)n) {
        n = plan_row(fs, id, pieces, count, plan, &changes.count);
        NF2_TRY(n);
    }
    if (changes.count <= NF2_PLAN_PIECES) {
        return nf2_change_pieces(fs, id, plan, changes.count);
    }
    NF2_TRY(settle(fs));
    nf2_space_changed(fs);
    return commit(fs, &changes);
}

int nf2_change_end(nf2_t *fs, uint32_t id, uint32_t end)
{
    struct nf2_piece plan[2] = {{.offset = end, .length = NF2_FILE_MAX + 1u - end}};

    NF2_TRY(end > 0 ? nf2_map_find(fs, id, end - 1, &plan[1]) : NF2_OK);
    if (plan[1].kind == 0 || NF2_BROKEN(NF2_FAULT_GROWS)) {
        return nf2_change_pieces(fs, id, plan, 1);
    }
    nf2_piece_part(fs, &plan[1], 0, end - plan[1].offset); /* its true length, also where pieces behind it cut it short so far */
    return nf2_change_pieces(fs, id, plan, 2);
}

int nf2_shadow_begin(nf2_t *fs, uint32_t *id)
{
    struct nf2_op op;
    uint32_t number;

    NF2_TRY(nf2_journal_id(fs, &number));
    nf2_op_put_system(&op, NF2_KEY_ORPHAN, number);
    NF2_TRY(NF2_BROKEN(NF2_FAULT_SHADOW) ? NF2_OK : nf2_change_ahead(fs, &op, 1));
    *id = number;
    return NF2_OK;
}

/* ---- names -------------------------------------------------------------------------------------- */

int nf2_op_content(nf2_t *fs, const struct nf2_key *key, const void *head, uint32_t length, struct nf2_op *op)
{
    struct nf2_entry entry;
    struct nf2_span rest;

    nf2_op_put(op, key, head, length);
    if (key->length == NF2_KEY_MAX) {
        uint32_t at;
        NF2_TRY(nf2_tree_get(fs, key, &entry));
        rest = nf2_body_whole(&entry);
        NF2_TRY(nf2_content_at(fs, key, &rest, &at));
        nf2_op_rest(op, nf2_body_span(&entry, 0, at));
    }
    return NF2_OK;
}
