/* SPDX-License-Identifier: BSD-2-Clause */
#include "batch.h"

#include "flash.h"
#include "space.h"

struct nf2_batch nf2_batch_empty(void)
{
    struct nf2_batch batch = {NF2_NONE, NF2_NONE, 0, 0};
    return batch;
}

#define BODY_IN_MEMORY 32u      /* bodies that own something are shorter */

static NF2_ONCE void op_of(const struct nf2_node_op *change, struct nf2_node_op *op)
{
    *op = *change;
    op->kill = 0;
    op->type = change->type == NF2_NODE_PUT ? NF2_BATCH_PUT : change->type == NF2_NODE_DEL ? NF2_BATCH_DEL : NF2_BATCH_MOVE_OUT;
}

int nf2_batch_add(nf2_t *fs, struct nf2_batch *batch, const struct nf2_node_op *changes, unsigned count)
{
    struct nf2_writer writer;
    struct nf2_node_op op;
    uint32_t at = batch->end, limit = nf2_log_bytes(fs) - nf2_page(fs); /* the last page is for the link to the next block */

    for (unsigned i = 0; i < count && at != NF2_NONE; i++) {
        op_of(&changes[i], &op);
        at = batch->block == NF2_NONE ? NF2_NONE : nf2_node_fit(fs, at, &op, 1, 0, limit);
    }
    if (at == NF2_NONE) {
        return 1;
    }
    nf2_writer_begin(&writer, batch->block, batch->end);
    for (unsigned i = 0; i < count; i++) {
        op_of(&changes[i], &op);
        (void)nf2_node_write(fs, &writer, &op, i + 1 < count);
    }
    NF2_TRY(nf2_writer_end(fs, &writer));
    batch->end = writer.position;
    batch->count += count;
    return NF2_OK;
}

int nf2_batch_extend(nf2_t *fs, struct nf2_batch *batch, uint32_t block)
{
    if (batch->block == NF2_NONE) {
        batch->first = block;
    } else {
        NF2_TRY(nf2_node_append(fs, batch->block, nf2_log_bytes(fs) - nf2_page(fs), NULL, 0, block));
    }
    batch->block = block;
    batch->end = 0;
    return NF2_OK;
}

int nf2_batch_next(nf2_t *fs, struct nf2_scan *scan, struct nf2_entry *op)
{
    for (uint32_t blocks = 0; blocks < fs->blocks; blocks++) {
        scan->gaps = true; /* in front of the link to the next block */
        int found = nf2_node_next(fs, scan, op);
        if (found <= 0 || op->type != NF2_NODE_MOV) {
            return found;
        }
        if (op->id >= fs->blocks) {
            return NF2_ERR_IO;
        }
        nf2_scan_begin(scan, op->id);
    }
    return NF2_ERR_IO;
}

/* Does the tree hold this value already? Then a first application got as far as this. */
static NF2_APART int is_applied(nf2_t *fs, const struct nf2_entry *op, struct nf2_entry *where, bool *yes)
{
    struct nf2_entry now;
    struct nf2_key key = nf2_entry_key(op);
    uint8_t a[16], b[16];

    *yes = false;
    int found = nf2_tree_find(fs, &key, &now);
    if (found <= 0 || now.body_length != op->body_length) {
        return found;
    }
    for (uint32_t at = 0; at < now.body_length; at += sizeof a) {
        uint32_t n = nf2_min(sizeof a, now.body_length - at);
        NF2_TRY(nf2_body_read(fs, &now, at, a, n));
        NF2_TRY(nf2_body_read(fs, op, at, b, n));
        if (memcmp(a, b, n) != 0) {
            return NF2_OK;
        }
    }
    if (where != NULL) {
        *where = now;
    }
    *yes = true;
    return NF2_OK;
}

/* An operation that is none of a map. */
static NF2_APART int apply_entry(nf2_t *fs, const struct nf2_entry *op, uint32_t mark, struct nf2_entry *where)
{
    struct nf2_node_op change;
    uint8_t body[BODY_IN_MEMORY];
    uint32_t number;
    uint8_t kind;
    bool applied = false;

    memset(&change, 0, sizeof change);
    change.key = nf2_entry_key(op);
    if (op->key_length == NF2_NUMBER_LENGTH) { /* as one: of an OWN entry the number matters */
        NF2_TRY(nf2_entry_number(fs, op, &kind, &number));
        change.key = nf2_number_key(op->id, kind, number);
    }
    change.type = op->type == NF2_BATCH_PUT ? NF2_NODE_PUT : op->type == NF2_BATCH_DEL ? NF2_NODE_DEL : NF2_NODE_MOV;
    if (op->type == NF2_BATCH_PUT) {
        NF2_TRY(is_applied(fs, op, where, &applied));
        if (applied && mark == 0) {
            return NF2_OK;
        }
        change.body = nf2_span_at(op->node, op->body_offset, op->body_position, op->body_length);
        if (op->body_length <= sizeof body) {
            NF2_TRY(nf2_body_read(fs, op, 0, body, op->body_length));
            change.body = nf2_span_of(body, op->body_length);
        }
    }
    return nf2_tree_change_in(fs, 0, &change, 1, mark, where);
}

static int apply_one(nf2_t *fs, const struct nf2_entry *op, uint32_t mark, struct nf2_entry *where)
{
    int mapping = op->key_length == NF2_INDEX_KEY ? nf2_index_is_mapping(fs, op) : 0;

    NF2_TRY(mapping);
    return mapping > 0 ? nf2_index_apply(fs, op, mark) : apply_entry(fs, op, mark, where);
}

static int finish(nf2_t *fs)
{
    uint32_t block = fs->redo_block;
    bool owned = fs->redo_owned;

    NF2_TRY(nf2_space_prepare_early(fs, 1));
    fs->redo_block = NF2_NO_BLOCK;
    fs->redo_owned = false;
    if (!owned) { /* a file's blocks stay the file's, until it is compacted */
        nf2_space_free(fs, block, 1);
    }
    return NF2_OK;
}

/* Is the operation that the scan has come to the batch's last one? */
static int is_last(nf2_t *fs, const struct nf2_scan *scan)
{
    struct nf2_scan further = *scan;
    struct nf2_entry op;
    int found = nf2_batch_next(fs, &further, &op);

    return found < 0 ? found : found == 0;
}

int nf2_batch_apply(nf2_t *fs, struct nf2_entry *where)
{
    struct nf2_scan scan;
    struct nf2_entry op;
    bool urgent = fs->urgent;
    int result = NF2_OK, found;

    if (!nf2_batch_waits(fs)) {
        return NF2_OK;
    }
    nf2_scan_begin(&scan, fs->redo_block);
    fs->urgent = true;
    while (result == NF2_OK && (found = nf2_batch_next(fs, &scan, &op)) != 0) {
        result = found < 0 ? found : is_last(fs, &scan);
        if (result >= 0) {
            result = apply_one(fs, &op, result > 0 && !NF2_BROKEN(NF2_FAULT_MARK) ? fs->redo_sequence : 0, where);
        }
        where = NULL;
    }
    fs->urgent = urgent;
    if (result < 0) { /* it is committed: nothing else may be written before it is applied */
        fs->broken = true;
        return result;
    }
    return finish(fs);
}

static int write_redo(nf2_t *fs, const struct nf2_batch *batch, bool owned)
{
    struct nf2_small redo = {NF2_META_REDO, 8, {0}};

    nf2_put32(redo.payload, fs->redo_sequence + 1);
    nf2_put24(redo.payload + 4, batch->first);
    redo.payload[7] = owned;
    return nf2_meta_append(fs, &redo);
}

/* Blocks that are needed for operations in one leaf each, but for the leaves themselves; `count` of them in all. */
static uint32_t blocks_besides(const nf2_t *fs, uint32_t count)
{
    return nf2_meta_reserve(fs) + 1u + nf2_batch_growth(count);
}

/* Leaves with keys of this id, at most `most` are counted; each may be full, and be split by the first operation in it. The way to the last one. */
static int count_leaves(nf2_t *fs, uint32_t id, uint32_t most, struct nf2_path *path, uint32_t *leaves)
{
    struct nf2_key first = nf2_lowest_key(id), behind = nf2_lowest_key(id + 1u);
    struct nf2_path end;
    int more = 1;

    NF2_TRY(nf2_tree_descend(fs, &first, path));
    NF2_TRY(nf2_tree_descend(fs, &behind, &end));
    for (*leaves = 1; *leaves < most && more > 0 && path->node[path->depth - 1] != end.node[end.depth - 1]; ++*leaves) {
        more = nf2_tree_neighbour(fs, path, NF2_ABOVE);
    }
    return more < 0 ? more : NF2_OK;
}

/* Are there free blocks to apply a batch? What is committed must be applied, if need be by the next mount. */
static NF2_APART int check_room(nf2_t *fs, const struct nf2_batch *batch)
{
    uint32_t blocks = nf2_space_free_blocks(fs), kept = blocks_besides(fs, batch->count), run = 1, leaves;
    struct nf2_scan scan;
    struct nf2_entry op, next;
    struct nf2_path path;

    if (blocks >= kept + NF2_NODE_LEVELS + batch->count) {
        return NF2_OK;
    }
    path.depth = 0;
    nf2_scan_begin(&scan, batch->first);
    int found = nf2_batch_next(fs, &scan, &op);
    for (; found > 0; op = next) {
        found = nf2_batch_next(fs, &scan, &next);
        if (found > 0 && next.id == op.id) {
            run++;
            continue;
        }
        NF2_TRY(count_leaves(fs, op.id, run, &path, &leaves));
        kept += leaves;
        run = 1;
    }
    NF2_TRY(found);
    return blocks >= kept + path.depth ? NF2_OK : NF2_ERR_NOSPC;
}

int nf2_batch_commit(nf2_t *fs, struct nf2_batch *batch, bool owned, unsigned slot)
{
    NF2_ASSERT(!nf2_batch_waits(fs));
    int room = check_room(fs, batch);
    if (room < 0) {
        if (!owned) {
            NF2_TRY(nf2_space_abandon(fs, NF2_TREE_SLOT, 0));
        }
        return room;
    }
    if (fs->redo_logged || fs->bad_news) { /* the block of the batch before is free from the next STATE on */
        NF2_TRY(nf2_space_flush(fs));
    }
    NF2_TRY(write_redo(fs, batch, owned));
    fs->redo_logged = true;
    fs->redo_sequence++;
    fs->redo_block = batch->first;
    fs->redo_owned = owned;
    nf2_space_settle(fs, NF2_TREE_SLOT);
    nf2_space_settle(fs, slot);
    return NF2_OK;
}

int nf2_batch_append(nf2_t *fs, struct nf2_batch *batch, const struct nf2_node_op *changes, unsigned count)
{
    int result = nf2_batch_add(fs, batch, changes, count);
    uint32_t block;

    if (result == 1) {
        NF2_TRY(nf2_space_tree_block(fs, &block));
        NF2_TRY(nf2_batch_extend(fs, batch, block));
        NF2_TRY(NF2_BROKEN(NF2_FAULT_REDO_FIRST) ? write_redo(fs, batch, false) : NF2_OK);
        result = nf2_batch_add(fs, batch, changes, count);
    }
    return result > 0 ? NF2_ERR_NOSPC : result;
}

int nf2_batch_item(nf2_t *fs, struct nf2_batch *batch, uint32_t id, const struct nf2_item *item)
{
    struct nf2_node_op change;

    nf2_index_put(&change, id, item);
    return nf2_batch_append(fs, batch, &change, 1);
}

int nf2_batch_change(nf2_t *fs, struct nf2_node_op *changes, unsigned count, struct nf2_batch *batch, struct nf2_entry *where)
{
    int result = nf2_tree_change_in(fs, 0, changes, count, 0, where);

    if (result != NF2_SPANS_LEAVES) {
        return result;
    }
    nf2_space_settle(fs, NF2_TREE_SLOT);
    *batch = nf2_batch_empty();
    result = nf2_batch_append(fs, batch, changes, count);
    if (result < 0) {
        NF2_TRY(nf2_space_abandon(fs, NF2_TREE_SLOT, 0));
        return result;
    }
    return NF2_SPANS_LEAVES;
}

/* Does the leaf of the batch's last key carry the mark of its sequence? */
int nf2_batch_is_applied(nf2_t *fs, bool *marked)
{
    struct nf2_scan scan;
    struct nf2_entry entry, last;
    struct nf2_path path;
    bool any = false;
    int found;

    *marked = false;
    if (!nf2_batch_waits(fs)) {
        return NF2_OK;
    }
    nf2_scan_begin(&scan, fs->redo_block);
    while ((found = nf2_batch_next(fs, &scan, &entry)) > 0) {
        last = entry;
        any = true;
    }
    NF2_TRY(found);
    if (!any) {
        return NF2_ERR_IO;
    }
    struct nf2_key key = nf2_entry_key(&last);
    NF2_TRY(nf2_tree_descend(fs, &key, &path));
    nf2_scan_begin(&scan, path.node[path.depth - 1]);
    while ((found = nf2_node_next(fs, &scan, &entry)) > 0) {
        *marked = *marked || (entry.type == NF2_NODE_MOV && entry.id == fs->redo_sequence);
    }
    return found;
}

int nf2_batch_finish(nf2_t *fs)
{
    if (!nf2_batch_waits(fs) || fs->read_only || fs->broken) {
        return NF2_OK;
    }
    NF2_TRY(nf2_space_begin(fs));
    return NF2_BROKEN(NF2_FAULT_BATCH) ? finish(fs) : nf2_batch_apply(fs, NULL);
}

/* ---- readers where it cannot be applied ---------------------------------------------------------- */

int nf2_batch_moved(nf2_t *fs, const struct nf2_key *key)
{
    struct nf2_scan scan;
    struct nf2_entry op;
    bool applied = false;
    int order, found = 0;

    if (!nf2_batch_shows(fs)) {
        return 0;
    }
    nf2_scan_begin(&scan, fs->redo_block);
    while ((found = nf2_batch_next(fs, &scan, &op)) > 0) { /* the new entry comes first */
        struct nf2_key own = nf2_entry_key(&op);
        if (op.type == NF2_BATCH_MOVE_OUT) {
            NF2_TRY(nf2_key_compare(fs, &own, key, &order));
            return order == 0 && applied;
        }
        NF2_TRY(op.type == NF2_BATCH_PUT ? is_applied(fs, &op, NULL, &applied) : NF2_OK);
    }
    return found;
}

int nf2_batch_size(nf2_t *fs, uint32_t id, uint32_t *size)
{
    struct nf2_scan scan;
    struct nf2_entry op;
    struct nf2_item item;
    uint32_t number;
    uint8_t kind;
    int found;

    NF2_TRY(nf2_index_size(fs, id, size));
    if (!nf2_batch_shows(fs)) {
        return NF2_OK;
    }
    nf2_scan_begin(&scan, fs->redo_block);
    while ((found = nf2_batch_next(fs, &scan, &op)) > 0) {
        if (op.id != id || (op.type == NF2_BATCH_PUT && op.body_length != NF2_PIECE_BODY)) {
            continue;
        }
        NF2_TRY(nf2_entry_number(fs, &op, &kind, &number));
        if (kind == NF2_INDEX_MAP && op.type == NF2_BATCH_DEL) {
            *size = number; /* of something longer, which may be gone in part */
        } else if (kind == NF2_INDEX_MAP) {
            NF2_TRY(nf2_index_item(fs, &op, &item));
            *size = nf2_max(*size, item.number + item.length);
        }
    }
    return found;
}
