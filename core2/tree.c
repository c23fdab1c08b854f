/* SPDX-License-Identifier: BSD-2-Clause */
#include "tree.h"

#include "walked.h"

void nf2_op_put(struct nf2_op *op, const struct nf2_key *key, const void *body, uint32_t length)
{
    memset(op, 0, sizeof *op);
    op->type = NF2_OP_PUT;
    op->key = key;
    op->body[0] = nf2_span_of(body, length);
}

void nf2_op_rest(struct nf2_op *op, struct nf2_span rest)
{
    if (rest.length > 0) {
        op->body[1] = op->body[0];
        op->body[0] = rest;
    }
}

void nf2_op_delete(struct nf2_op *op, const struct nf2_key *key)
{
    nf2_op_put(op, key, NULL, 0);
    op->type = NF2_OP_DEL;
}

void nf2_op_put_system(struct nf2_op *op, uint8_t kind, uint32_t number)
{
    nf2_op_put(op, nf2_op_own(op), NULL, 0);
    nf2_key_make(nf2_op_own(op), NF2_SYSTEM_ID, kind, number);
}

void nf2_op_range(struct nf2_op *op, uint32_t id, uint32_t from, uint32_t to)
{
    nf2_op_put_system(op, 0, from);
    nf2_op_own(op)->id = id;
    op->type = NF2_OP_RANGE;
    op->to = to;
}

void nf2_op_delete_orphan(struct nf2_op *op, uint32_t id)
{
    nf2_op_put_system(op, NF2_KEY_ORPHAN, id);
    op->type = NF2_OP_DEL;
}

/* ---- finding ------------------------------------------------------------------------------------ */

int nf2_tree_child(nf2_t *fs, uint32_t place, struct nf2_front *front, struct nf2_child *node)
{
    NF2_TRY(nf2_front_of(fs, node->block, place, front));
    const uint8_t *child = front->bytes + front->key + front->key_length;
    bool valid = child + NF2_CHILD_BYTES + 4 == front->bytes + front->length && child[0] == NF2_BODY_CHILD;
    uint32_t block = nf2_get32(child) >> 8;
    node->block = (uint16_t)block;
    node->base_end = nf2_get16(child + 4);
    return valid && block < fs->io.blocks ? NF2_OK : NF2_ERR_IO;
}

int nf2_tree_descend(nf2_t *fs, const struct nf2_key *key, enum nf2_seek how, struct nf2_path *path)
{
    struct nf2_child node = {fs->root.node, fs->root.node_base};
    struct nf2_iterator gap;
    struct nf2_front front;

    path->bounded = false;
    path->first = true;
    for (uint32_t level = fs->root.level; level > 0; level--) {
        path->node[level] = node;
        NF2_TRY(nf2_node_view(fs, node, level, &gap.view));
        NF2_TRY(nf2_node_gap(fs, key, nf2_seek_at(how), &gap));
        if (gap.below == 0) {
            return how == NF2_BELOW ? 0 : NF2_ERR_IO;
        }
        int above = nf2_iterate_place(fs, &gap);
        NF2_TRY(above);
        if (above > 0) {
            NF2_TRY(nf2_front_of(fs, node.block, (uint32_t)above, &front));
            nf2_front_key(&front, &path->upper);
            path->bounded = true;
        }
        NF2_TRY(nf2_tree_child(fs, gap.below, &front, &node));
        nf2_front_key(&front, &path->lower);
        path->first = front.id == 0 && front.key_length == 0;
    }
    path->node[0] = node;
    return 1;
}

static bool above_of(const struct nf2_iterator *gap)
{
    return gap->base < gap->view->base_end || gap->tail < gap->view->alive;
}

/* A leaf that is asked for more than once answers without a descent, if the key lies between two of its entries. */
int nf2_tree_seek_as_is(nf2_t *fs, const struct nf2_key *key, enum nf2_seek how,
                        struct nf2_entry *entry)
{
    bool above = how >= NF2_ABOVE;
    struct nf2_iterator gap;
    struct nf2_path path;

    gap.view = nf2_view_at_hand(fs);
    for (bool hand = gap.view != NULL;; hand = false) {
        if (!hand) {
            int way = nf2_tree_descend(fs, key, how == NF2_BELOW ? how : NF2_AT_OR_BELOW, &path);
            if (way <= 0) {
                return way;
            }
            NF2_TRY(nf2_node_view(fs, path.node[0], 0, &gap.view));
        }
        NF2_TRY(nf2_node_gap(fs, key, nf2_seek_at(how), &gap));
        if (hand && (gap.below == 0 || !above_of(&gap))) {
            continue;
        }
        int found = nf2_gap_seek(fs, &gap, how, entry);
        if (hand || found != 0 || (above ? !path.bounded : path.first)) {
            return found;
        }
        nf2_key_copy(&entry->key, above ? &path.upper : &path.lower); /* a neighbour has it */
        key = &entry->key;
        how = above ? NF2_AT_OR_ABOVE : NF2_BELOW;
    }
}

/*
 * Names are asked for more than once: directories on the way to what is in them, files by each step
 * of a call. So hints tell where entries are, those found last first: what lies there is compared
 * with the key.
 */
int nf2_tree_find_as_is(nf2_t *fs, const struct nf2_key *key, struct nf2_entry *entry)
{
    uint32_t i = 0, hint = fs->hint[0];
    uint32_t part = (key->bytes[key->length - 1] ^ key->length ^ key->id) << 29;

    while (hint == 0 || (hint ^ part) >> 29 != 0 ||
           nf2_compare_at(fs, (uint16_t)(hint >> 13), hint & 0x1FFFu, key) != 1) {
        if (++i == NF2_HINTS) {
            int found = nf2_tree_seek_as_is(fs, key, NF2_AT_OR_BELOW, entry);
            if (found <= 0 || nf2_key_compare(&entry->key, key) != 0) {
                return found < 0 ? found : 0;
            }
            hint = nf2_hint_of(entry->block, entry->record) | part;
            i--;
            break;
        }
        hint = fs->hint[i];
    }
    memmove(fs->hint + 1, fs->hint, i * sizeof hint);
    fs->hint[0] = hint;
    NF2_TRY(nf2_entry_at(fs, (uint16_t)(hint >> 13), hint & 0x1FFFu, entry));
    return 1;
}

int nf2_tree_next_as_is(nf2_t *fs, const struct nf2_cursor *cursor, const struct nf2_key *last,
                        struct nf2_entry *entry)
{
    struct nf2_iterator gap;

    gap.view = nf2_view_at_hand(fs);
    if (gap.view != NULL && cursor->block == gap.view->block && cursor->changes == fs->io.changes) {
        gap.base = cursor->base;
        gap.tail = cursor->tail;
        gap.known = 0;
        int found = nf2_gap_seek(fs, &gap, NF2_ABOVE, entry);
        if (found != 0) {
            return found;
        }
    }
    return nf2_tree_seek_as_is(fs, last, NF2_ABOVE, entry); /* in another leaf, or nobody knows where */
}

/* ---- changing ----------------------------------------------------------------------------------- */

static bool in_leaf(const struct nf2_path *path, const struct nf2_key *key)
{
    return (path->first || nf2_key_compare(key, &path->lower) >= 0) &&
           (!path->bounded || nf2_key_compare(key, &path->upper) < 0);
}

/* The way to the leaf in which all changes lie. */
static NF2_APART int find_way(nf2_t *fs, const struct nf2_op *ops, unsigned count, struct nf2_child *way)
{
    struct nf2_path path;

    NF2_TRY(nf2_tree_descend(fs, ops->key, NF2_AT_OR_BELOW, &path));
    for (const struct nf2_op *op = ops; op < ops + count; op++) {
        bool beyond = op->type == NF2_OP_RANGE && path.bounded && nf2_op_covers(op, &path.upper);
        if (beyond || !in_leaf(&path, op->key)) {
            return NF2_SPANS_LEAVES;
        }
    }
    memcpy(way, path.node, (fs->root.level + 1u) * sizeof way[0]);
    return NF2_OK;
}

int nf2_tree_change(nf2_t *fs, struct nf2_op *ops, unsigned count)
{
    struct nf2_child way[NF2_LEVELS_MAX];

    NF2_TRY(find_way(fs, ops, count, way));
    NF2_TRY(nf2_journal_open(fs));
    NF2_TRY(nf2_walked_barrier(fs, ops, count));
    int done = nf2_tree_write(fs, way, ops->key, 0, ops, count);
    return done < 0 ? done : NF2_OK;
}

/* Ends a RANGE where the leaf ends that it begins in. */
static NF2_APART int cut_range(nf2_t *fs, struct nf2_op *range)
{
    struct nf2_path path;

    NF2_TRY(nf2_tree_descend(fs, range->key, NF2_AT_OR_BELOW, &path));
    if (path.bounded && nf2_op_covers(range, &path.upper)) {
        range->to = nf2_key_value(&path.upper);
    }
    return 1;
}

int nf2_tree_first_part(nf2_t *fs, struct nf2_op *range)
{
    struct nf2_entry entry;
    int found = nf2_tree_seek_as_is(fs, range->key, NF2_AT_OR_ABOVE, &entry);

    if (found <= 0 || !nf2_op_covers(range, &entry.key)) {
        return found < 0 ? found : 0;
    }
    range->key = nf2_op_own(range);
    nf2_key_copy(nf2_op_own(range), &entry.key);
    return cut_range(fs, range);
}

int nf2_tree_apply(nf2_t *fs, struct nf2_op *op)
{
    uint32_t to = op->to;
    int found;

    if (op->type != NF2_OP_RANGE) {
        return nf2_tree_change(fs, op, 1);
    }
    while ((found = nf2_tree_first_part(fs, op)) > 0) { /* leaf by leaf */
        NF2_TRY(nf2_tree_change(fs, op, 1));
        op->to = to;
    }
    return found;
}
