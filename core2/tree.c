/* SPDX-License-Identifier: BSD-2-Clause */
#include "tree.h"

#include "walked.h"

void nf2_op_put(struct nf2_op *op, const struct nf2_key *key, const void *body, uint32_t length)
{
    memset(op, 0, sizeof *op);
    op->type = NF2_OP_PUT;
    op->key = *key;
    op->body[0] = nf2_span_of(body, length);
}

void nf2_op_rest(struct nf2_op *op, struct nf2_span rest)
{
    if (rest.length > 0) {
        op->body[1] = op->body[0];
        op->body[0] = rest;
    }
}

void nf2_op_range(struct nf2_op *op, uint32_t id, uint32_t from, uint32_t to)
{
    struct nf2_key key = nf2_key_number(id, from);

    nf2_op_delete(op, &key);
    op->type = NF2_OP_RANGE;
    op->to = to;
}

void nf2_op_delete(struct nf2_op *op, const struct nf2_key *key)
{
    nf2_op_put(op, key, NULL, 0);
    op->type = NF2_OP_DEL;
}

void nf2_op_put_orphan(struct nf2_op *op, uint32_t id)
{
    struct nf2_key key = nf2_key_system(NF2_KEY_ORPHAN, id);

    nf2_op_put(op, &key, NULL, 0);
}

void nf2_op_delete_orphan(struct nf2_op *op, uint32_t id)
{
    nf2_op_put_orphan(op, id);
    op->type = NF2_OP_DEL;
}

/* ---- finding ------------------------------------------------------------------------------------ */

/* The child that an entry of an inner node names. */
static int read_child(nf2_t *fs, const struct nf2_entry *entry, struct nf2_child *child)
{
    uint8_t body[NF2_CHILD_BYTES];

    NF2_TRY(nf2_body_read(fs, entry, 0, body, sizeof body));
    child->block = nf2_get24(body + 1);
    child->base_end = nf2_get16(body + 4);
    return body[0] == NF2_BODY_CHILD && child->block < fs->io.blocks ? NF2_OK : NF2_ERR_IO;
}

int nf2_tree_descend(nf2_t *fs, const struct nf2_key *key, enum nf2_seek how, struct nf2_path *path)
{
    struct nf2_child node = {fs->root.node, fs->root.node_base};
    struct nf2_around around;
    struct nf2_entry entry;
    struct nf2_view *view;

    path->bounded = false;
    path->first = true;
    for (unsigned level = fs->root.level; level > 0; level--) {
        path->node[level] = node;
        NF2_TRY(nf2_node_view(fs, node, level, &view));
        NF2_TRY(nf2_node_around(fs, view, key, how == NF2_BELOW ? NF2_SIDE_BELOW : NF2_SIDE_AT, &around));
        if (around.below == 0) {
            return how == NF2_BELOW ? 0 : NF2_ERR_IO;
        }
        if (around.above != 0) {
            NF2_TRY(nf2_entry_at(fs, view->block, around.above, &entry));
            path->upper = entry.key;
            path->bounded = true;
        }
        NF2_TRY(nf2_entry_at(fs, view->block, around.below, &entry));
        NF2_TRY(read_child(fs, &entry, &node));
        path->lower = entry.key;
        path->first = entry.key.id == 0 && entry.key.length == 0;
    }
    path->node[0] = node;
    return 1;
}

/* The neighbours of a key in its leaf. One that is asked for more than once is found without a descent: the key lies between two of its entries. */
static int leaf_around(nf2_t *fs, const struct nf2_key *key, enum nf2_side side, struct nf2_path *path, struct nf2_view **view,
                       struct nf2_around *around)
{
    *view = fs->root.level > 0 ? nf2_view_at_hand(fs) : NULL;
    if (*view != NULL && nf2_node_spans(fs, *view, key) > 0) {
        NF2_TRY(nf2_node_around(fs, *view, key, side, around));
        if (around->below != 0 && around->above != 0) {
            path->bounded = path->first = false;
            return NF2_OK;
        }
    }
    NF2_TRY(nf2_tree_descend(fs, key, NF2_AT_OR_BELOW, path));
    NF2_TRY(nf2_node_view(fs, path->node[0], 0, view));
    return nf2_node_around(fs, *view, key, side, around);
}

/*
 * Names are asked for more than once: directories on the way to what is in them, files by each step of a call. So hints tell where some entries
 * are, directories first: what lies there is compared with the key. The top bits of a hint are a part of the key, which saves most of the reads.
 */
static uint32_t key_part(const struct nf2_key *key)
{
    return ((uint32_t)key->bytes[key->length - 1u] ^ key->length ^ key->id) << NF2_HINT_BITS;
}

static int find_hinted(nf2_t *fs, const struct nf2_key *key, struct nf2_entry *entry)
{
    NF2_ASSERT(key->length > 0);
    for (unsigned i = 0; i < NF2_HINTS; i++) {
        uint32_t hint = fs->hint[i] ^ key_part(key);
        if (fs->hint[i] != 0 && hint >> NF2_HINT_BITS == 0) {
            NF2_TRY(nf2_entry_at(fs, hint >> 13, hint & 0x1FFFu, entry));
            if (nf2_key_compare(&entry->key, key) == 0) {
                return 1;
            }
        }
    }
    return 0;
}

static int note_hint(nf2_t *fs, const struct nf2_entry *entry)
{
    uint8_t kind = 0;

    NF2_TRY(entry->body_length > 0 ? nf2_body_read(fs, entry, 0, &kind, 1) : NF2_OK);
    uint32_t *hint = fs->hint + (kind == NF2_BODY_DIR ? 0 : NF2_HINTS / 2);
    hint[1] = hint[0];
    hint[0] = nf2_hint_of(entry->block, entry->record) | key_part(&entry->key);
    return 1;
}

int nf2_tree_find_as_is(nf2_t *fs, const struct nf2_key *key, struct nf2_entry *entry)
{
    struct nf2_path path;
    struct nf2_around around;
    struct nf2_view *view;
    int found = find_hinted(fs, key, entry);

    if (found != 0) {
        return found;
    }
    NF2_TRY(leaf_around(fs, key, NF2_SIDE_EXACT, &path, &view, &around));
    if (around.below == 0 || around.below != around.above) {
        return 0;
    }
    NF2_TRY(nf2_entry_at(fs, view->block, around.below, entry));
    return note_hint(fs, entry);
}

int nf2_tree_seek_as_is(nf2_t *fs, const struct nf2_key *key, enum nf2_seek how, struct nf2_entry *entry)
{
    bool below = how == NF2_AT_OR_BELOW || how == NF2_BELOW, strict = how == NF2_BELOW || how == NF2_AT_OR_ABOVE;
    struct nf2_path path;
    struct nf2_around around;
    struct nf2_view *view;

    NF2_TRY(leaf_around(fs, key, strict ? NF2_SIDE_BELOW : NF2_SIDE_AT, &path, &view, &around));
    uint32_t place = below ? around.below : around.above;
    while (place == 0 && (below ? !path.first : path.bounded)) { /* a neighbour has it */
        struct nf2_key edge = below ? path.lower : path.upper;
        int way = nf2_tree_descend(fs, &edge, below ? NF2_BELOW : NF2_AT_OR_BELOW, &path);
        if (way <= 0) {
            return way;
        }
        NF2_TRY(nf2_node_view(fs, path.node[0], 0, &view));
        NF2_TRY(nf2_node_around(fs, view, &edge, NF2_SIDE_BELOW, &around));
        place = below ? around.below : around.above;
    }
    NF2_TRY(place != 0 ? nf2_entry_at(fs, view->block, place, entry) : NF2_OK);
    return place != 0;
}

int nf2_tree_next_as_is(nf2_t *fs, struct nf2_cursor *cursor, const struct nf2_key *last, struct nf2_entry *entry)
{
    struct nf2_iterator iterator = {nf2_view_at_hand(fs), cursor->base, cursor->tail};
    bool known = iterator.view != NULL && cursor->block == iterator.view->block && cursor->changes == fs->io.changes;
    int found = known ? nf2_iterate_next(fs, &iterator, entry) : 0;

    if (found == 0) {           /* in another leaf, or nobody knows where */
        found = nf2_tree_seek_as_is(fs, last, NF2_ABOVE, entry);
        iterator.view = nf2_view_at_hand(fs);
        if (found > 0) {
            NF2_TRY(nf2_iterate(fs, iterator.view, &entry->key, &iterator));
            found = nf2_iterate_next(fs, &iterator, entry);
        }
    }
    cursor->block = found > 0 ? iterator.view->block : 0;
    cursor->changes = fs->io.changes;
    cursor->base = iterator.base;
    cursor->tail = iterator.tail;
    return found;
}

/* ---- changing ----------------------------------------------------------------------------------- */

static bool in_leaf(const struct nf2_path *path, const nf2_t *fs, const struct nf2_key *key)
{
    bool above = fs->root.level == 0 || path->first || nf2_key_compare(key, &path->lower) >= 0;
    return above && (!path->bounded || nf2_key_compare(key, &path->upper) < 0);
}

/* The key that a change reaches to beside its own. */
static struct nf2_key other_key(const struct nf2_op *op)
{
    return op->type == NF2_OP_REN ? *op->from :
           op->type == NF2_OP_RANGE ? nf2_key_number(op->key.id, op->to - 1) : op->key;
}

/* The way to the leaf in which all changes lie. */
static NF2_APART int find_way(nf2_t *fs, const struct nf2_op *ops, unsigned count, struct nf2_child *way)
{
    struct nf2_path path;
    bool alone = count == 1 && (ops[0].type == NF2_OP_PUT || ops[0].type == NF2_OP_DEL);

    NF2_TRY(nf2_tree_descend(fs, &ops[0].key, NF2_AT_OR_BELOW, &path));
    for (unsigned i = 0; i < count && !alone; i++) {
        struct nf2_key other = other_key(&ops[i]);
        if (!in_leaf(&path, fs, &ops[i].key) || !in_leaf(&path, fs, &other)) {
            return NF2_SPANS_LEAVES;
        }
    }
    memcpy(way, path.node, (fs->root.level + 1u) * sizeof way[0]);
    return NF2_OK;
}

int nf2_tree_change(nf2_t *fs, struct nf2_op *ops, unsigned count)
{
    struct nf2_child way[NF2_LEVELS_MAX];
    struct nf2_view *view;

    NF2_TRY(find_way(fs, ops, count, way));
    NF2_TRY(nf2_journal_open(fs));
    NF2_TRY(nf2_node_view(fs, way[0], 0, &view));
    NF2_TRY(nf2_walked_barrier(fs, view, ops, count));
    int result = nf2_node_append(fs, view, ops, count);
    bool torn = nf2_view_torn(fs, view);
    if (result == NF2_FAILED_BLOCK) {
        nf2_journal_bad(fs, way[0].block);
    }
    if (result == NF2_NODE_FULL || torn) {
        result = nf2_tree_rewrite(fs, way, 0, &ops[0].key, ops, count);
        fs->io.broken = fs->io.broken || (torn && result < 0); /* what failed may count after a remount */
    }
    return result;
}

int nf2_tree_first_part(nf2_t *fs, struct nf2_op *range)
{
    struct nf2_path path;
    struct nf2_entry entry;
    int found = nf2_tree_seek_as_is(fs, &range->key, NF2_AT_OR_ABOVE, &entry);

    if (found <= 0 || !nf2_op_covers(range, &entry.key)) {
        return found < 0 ? found : 0;
    }
    range->key = entry.key;
    NF2_TRY(nf2_tree_descend(fs, &range->key, NF2_AT_OR_BELOW, &path));
    if (path.bounded && nf2_op_covers(range, &path.upper)) {
        range->to = nf2_key_value(&path.upper);
    }
    return 1;
}

int nf2_tree_apply(nf2_t *fs, struct nf2_op *op)
{
    uint32_t to = op->to;
    int found;

    if (op->type != NF2_OP_RANGE) {
        return nf2_tree_change(fs, op, 1);
    }
    while ((found = nf2_tree_first_part(fs, op)) > 0) { /* leaf by leaf: the change of a leaf looks as if all of it were in there */
        NF2_TRY(nf2_tree_change(fs, op, 1));
        op->to = to;
    }
    return found;
}
