/* SPDX-License-Identifier: BSD-2-Clause */
/* join.c - two sparse leaves become one, and a root with a single child gives way to it. */
#include "tree.h"

struct pair {
    struct nf2_child left, right;
    struct nf2_key low, middle; /* keys that lead to them in their parent */
    uint32_t bytes, entries;    /* of both */
};

static int child_of(nf2_t *fs, const struct nf2_entry *entry, struct nf2_child *child)
{
    uint8_t body[NF2_CHILD_BYTES];

    NF2_TRY(nf2_body_read(fs, entry, 0, body, sizeof body));
    child->block = nf2_get24(body + 1);
    child->base_end = nf2_get16(body + 4);
    return NF2_OK;
}

/* The leaf of the path and its right neighbour, if both have one parent: 1, 0 or an error. */
static int find_pair(nf2_t *fs, const struct nf2_path *path, struct pair *pair)
{
    struct nf2_entry entry;
    struct nf2_view *view;

    pair->left = path->node[0];
    pair->low = path->lower;
    NF2_TRY(nf2_node_view(fs, path->node[1], 1, &view));
    int found = nf2_node_seek(fs, view, &pair->low, NF2_ABOVE, &entry);
    NF2_TRY(found);
    pair->middle = entry.key;
    return found ? (child_of(fs, &entry, &pair->right) < 0 ? NF2_ERR_IO : 1) : 0;
}

static int measure(nf2_t *fs, struct nf2_child leaf, struct pair *pair)
{
    struct nf2_iterator iterator;
    struct nf2_entry entry;
    struct nf2_view *view;
    int found;

    NF2_TRY(nf2_node_view(fs, leaf, 0, &view));
    NF2_TRY(nf2_iterate(fs, view, NULL, &iterator));
    while ((found = nf2_iterate_next(fs, &iterator, &entry)) > 0) {
        pair->bytes += nf2_entry_bytes(&entry);
        pair->entries++;
    }
    return found;
}

static int copy_leaf(nf2_t *fs, struct nf2_child leaf, struct nf2_writer *writer, uint32_t *left)
{
    struct nf2_iterator iterator;
    struct nf2_entry entry;
    struct nf2_view *view;
    int found;

    NF2_TRY(nf2_node_view(fs, leaf, 0, &view));
    NF2_TRY(nf2_iterate(fs, view, NULL, &iterator));
    while ((found = nf2_iterate_next(fs, &iterator, &entry)) > 0) {
        nf2_node_copy(fs, writer, &entry, --*left > 0);
    }
    return found;
}

static int write_joined(nf2_t *fs, const struct pair *pair, struct nf2_child *joined)
{
    struct nf2_writer writer;
    int result = NF2_FAILED_BLOCK;

    while (result == NF2_FAILED_BLOCK) {
        uint32_t left = pair->entries;
        NF2_TRY(nf2_alloc_node(fs, &joined->block));
        nf2_view_forget(fs, joined->block);
        nf2_node_begin(fs, &writer, joined->block, 0, left == 0);
        NF2_TRY(copy_leaf(fs, pair->left, &writer, &left));
        NF2_TRY(copy_leaf(fs, pair->right, &writer, &left));
        result = nf2_writer_end(fs, &writer);
        joined->base_end = (uint16_t)writer.position;
        if (result == NF2_FAILED_BLOCK) {
            nf2_journal_bad(fs, joined->block);
        }
    }
    return result;
}

int nf2_tree_join(nf2_t *fs, const struct nf2_path *path)
{
    struct pair pair = {0};
    struct nf2_child joined;
    struct nf2_view *view;
    uint8_t body[NF2_CHILD_BYTES] = {NF2_BODY_CHILD};
    struct nf2_op ops[2];

    int found = fs->root.level > 0 ? find_pair(fs, path, &pair) : 0;
    if (found <= 0) {
        return found;
    }
    NF2_TRY(measure(fs, pair.left, &pair));
    NF2_TRY(2 * pair.bytes <= nf2_log_bytes(fs) ? measure(fs, pair.right, &pair) : NF2_OK);
    bool sparse = pair.bytes <= nf2_log_bytes(fs) / 2 && nf2_alloc_stock(fs) > 2;
    if (!sparse) {
        return 0;
    }
    NF2_TRY(write_joined(fs, &pair, &joined));
    nf2_put16(nf2_put24(body + 1, joined.block), joined.base_end);
    nf2_op_put(&ops[0], &pair.low, body, sizeof body);
    nf2_op_delete(&ops[1], &pair.middle);
    NF2_TRY(nf2_node_view(fs, path->node[1], 1, &view));
    int result = nf2_node_append(fs, view, ops, 2);
    if (result == NF2_NODE_FULL && nf2_alloc_stock(fs) <= 4u + 2u * fs->root.level) { /* no room to write the parent anew */
        nf2_space_freed(fs, joined.block);
        return 0;
    }
    if (result == NF2_FAILED_BLOCK) {
        nf2_journal_bad(fs, path->node[1].block);
    }
    bool torn = nf2_view_torn(fs, view);
    if (result == NF2_NODE_FULL || torn) {
        result = nf2_tree_rewrite(fs, path->node, 1, &pair.low, ops, 2);
        fs->io.broken = fs->io.broken || (torn && result < 0); /* the record may count after a remount */
    }
    nf2_view_forget(fs, pair.left.block);
    nf2_view_forget(fs, pair.right.block);
    NF2_TRY(result);
    nf2_space_freed(fs, pair.left.block);
    nf2_space_freed(fs, pair.right.block);
    return 1;
}

int nf2_tree_lower(nf2_t *fs)
{
    struct nf2_child root = {fs->root.node, fs->root.node_base}, child;
    struct nf2_iterator iterator;
    struct nf2_entry entry, second;
    struct nf2_view *view;

    if (fs->root.level == 0) {
        return 0;
    }
    NF2_TRY(nf2_node_view(fs, root, fs->root.level, &view));
    NF2_TRY(nf2_iterate(fs, view, NULL, &iterator));
    int found = nf2_iterate_next(fs, &iterator, &entry);
    NF2_TRY(found > 0 ? child_of(fs, &entry, &child) : NF2_ERR_IO);
    found = nf2_iterate_next(fs, &iterator, &second);
    if (found != 0) {
        return found < 0 ? found : 0;
    }
    fs->root.node = child.block;
    fs->root.node_base = child.base_end;
    fs->root.level--;
    int result = nf2_journal_checkpoint(fs, false);
    fs->io.broken = fs->io.broken || result < 0;
    NF2_TRY(result);
    nf2_view_forget(fs, root.block);
    nf2_space_freed(fs, root.block);
    return 1;
}
