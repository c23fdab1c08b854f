/* SPDX-License-Identifier: BSD-2-Clause */
/* merge.c - idle work on the tree: two sparse neighbours become one node, a root with one child gives way to it. */
#include "merge.h"

#include "cache.h"
#include "flash.h"
#include "group.h"
#include "repack.h"
#include "space.h"
#include "split.h"

#define MERGE_FILL 55u          /* per cent of a node that two neighbours may fill together: below the mark for splitting */
#define MERGE_FILL_SCARCE 80u   /* the same where blocks are scarce: nodes are compacted to 86% then before they are split */

/* The right one of two neighbours. */
struct sparse {
    uint32_t right;
    uint16_t entry;             /* of it, in the parent */
    uint8_t level;
};

/*
 * The group in the parent: the left child's entry names `block`, the right one's, at `right`, goes. Does it fit (0: not, else
 * its length)? Or (`append`) it is appended.
 */
static NF2_APART int tell_parent(nf2_t *fs, const struct nf2_path *path, uint16_t right, uint32_t block, bool append)
{
    uint32_t parent = path->node[path->depth - 2];
    struct nf2_node_op ops[2];
    struct nf2_entry child;

    NF2_TRY(nf2_tree_child_entry(fs, path, path->depth - 2u, &child));
    struct nf2_key key = nf2_entry_key(&child);
    nf2_put_child(&ops[0], &key, block);
    ops[0].kill = child.offset;
    memset(&ops[1], 0, sizeof ops[1]);
    ops[1].type = NF2_NODE_DEL;
    ops[1].kill = right;
    return append ? nf2_group_append(fs, parent, 0, ops, 2, 0) : nf2_group_lacks(fs, parent, ops, 2);
}

/* Writes the entries of both into a new node: the right one's from `*middle` on. */
static int write_merged(nf2_t *fs, uint32_t left, uint32_t right, uint32_t block, uint8_t level, uint32_t *middle)
{
    struct nf2_writer writer;

    nf2_repack_begin(fs, &writer, block, level);
    NF2_TRY(nf2_pending_copy(fs, &writer, NULL, left, block, NULL, NULL));
    *middle = writer.position;
    NF2_TRY(nf2_pending_copy(fs, &writer, NULL, right, block, NULL, NULL));
    return nf2_repack_end(fs, &writer);
}

static int make_parent_room(nf2_t *fs, struct nf2_path *path, uint32_t need)
{
    struct nf2_entry child;

    NF2_TRY(nf2_tree_child_entry(fs, path, path->depth - 2u, &child));
    struct nf2_key hint = nf2_entry_key(&child);
    path->depth--;
    return nf2_tree_make_room(fs, path, &hint, need, NULL);
}

/* What was done to a node is over: it is replaced. */
static void drop_node(nf2_t *fs, uint32_t node)
{
    nf2_space_forget(fs, node);
    nf2_cache_drop(fs, node);
    nf2_space_free(fs, node, 1);
}

/* One node with the entries of both, and one group in the parent. */
static int merge(nf2_t *fs, struct nf2_path *path, const struct sparse *pair)
{
    uint32_t left = path->node[path->depth - 1], block, middle = NF2_NONE;

    int lacks = tell_parent(fs, path, pair->entry, 0, false);
    NF2_TRY(lacks);
    if (lacks > 0) {
        NF2_TRY(make_parent_room(fs, path, (uint32_t)lacks));
        return 1; /* the next step finds the pair again */
    }
    NF2_TRY(nf2_space_settle_node(fs, left));
    NF2_TRY(nf2_space_settle_node(fs, pair->right));
    nf2_space_settle(fs, NF2_TREE_SLOT);
    NF2_TRY(nf2_space_tree_block(fs, &block));
    int result = write_merged(fs, left, pair->right, block, pair->level, &middle);
    result = result < 0 ? result : nf2_space_prepare(fs, 2);
    result = result < 0 ? result : nf2_group_prepare(fs, path->node[path->depth - 2]);
    result = result < 0 ? result : tell_parent(fs, path, pair->entry, block, true);
    if (result < 0) {
        nf2_tree_unfollow(fs, block, 0, middle, left);
        nf2_tree_unfollow(fs, block, middle, NF2_NONE, pair->right);
        return result;
    }
    drop_node(fs, left);
    drop_node(fs, pair->right);
    nf2_space_settle(fs, NF2_TREE_SLOT);
    NF2_TRY(nf2_space_keep(fs));
    return 1;
}

/* Are the path's last node and its right neighbour of the same parent sparse? 1, 0, or an error. */
static NF2_APART int find_sparse(nf2_t *fs, const struct nf2_path *path, struct sparse *pair)
{
    struct nf2_survey survey;
    struct nf2_entry entry;
    uint32_t packed;

    NF2_TRY(nf2_tree_child_entry(fs, path, path->depth - 2u, &entry));
    struct nf2_key key = nf2_entry_key(&entry);
    int found = nf2_node_seek(fs, path->node[path->depth - 2], &key, NF2_ABOVE, &entry);
    if (found <= 0) {
        return found;
    }
    pair->entry = entry.offset;
    NF2_TRY(nf2_tree_child(fs, &entry, &pair->right));
    int level = nf2_node_level(fs, pair->right);
    NF2_TRY(level);
    pair->level = (uint8_t)level;
    NF2_TRY(nf2_repack_survey(fs, path->node[path->depth - 1], &survey));
    packed = survey.packed;
    NF2_TRY(nf2_repack_survey(fs, pair->right, &survey));
    packed += survey.packed;
    return packed * 100 <= nf2_log_bytes(fs) * (nf2_space_scarce(fs) ? MERGE_FILL_SCARCE : MERGE_FILL);
}

/* Has the root, an inner one, only one child? 1, 0, or an error. */
static int only_child(nf2_t *fs, uint32_t *child)
{
    struct nf2_key key = nf2_lowest_key(0);
    struct nf2_entry entry, second;

    int level = nf2_node_level(fs, fs->root);
    if (level <= 0) {
        return level;
    }
    int found = nf2_node_seek(fs, fs->root, &key, NF2_AT_OR_ABOVE, &entry);
    if (found <= 0) {
        return found < 0 ? found : NF2_ERR_IO;
    }
    key = nf2_entry_key(&entry);
    found = nf2_node_seek(fs, fs->root, &key, NF2_ABOVE, &second);
    if (found != 0) {
        return found < 0 ? found : 0;
    }
    NF2_TRY(nf2_tree_child(fs, &entry, child));
    return 1;
}

/* Such a root gives way to its child. */
static int collapse_root(nf2_t *fs)
{
    uint32_t child, old = fs->root;

    int found = only_child(fs, &child);
    if (found <= 0) {
        return found;
    }
    NF2_TRY(nf2_space_settle_node(fs, old));
    NF2_TRY(nf2_space_prepare(fs, 1));
    drop_node(fs, old);
    fs->root = child;
    NF2_TRY(nf2_space_flush(fs));
    return 1;
}

bool nf2_tree_merge_done(const nf2_t *fs)
{
    return fs->merge_quiet >= NF2_MERGE_DONE && fs->merge_quiet <= NF2_MERGE_DONE_HERE;
}

void nf2_tree_merge_restart(nf2_t *fs)
{
    fs->merge_id = 0;
    fs->merge_length = fs->merge_skip = 0;
    if (fs->merge_quiet >= NF2_MERGE_DONE_HERE) {
        fs->merge_quiet = fs->merge_quiet == NF2_MERGE_DONE_HERE ? NF2_MERGE_DONE : NF2_MERGE_ALL;
    }
}

/* The walk has come to its end. */
static void pass_done(nf2_t *fs)
{
    uint8_t done = nf2_space_scarce(fs) ? NF2_MERGE_DONE_SCARCE : NF2_MERGE_DONE;

    fs->merge_quiet = fs->merge_quiet == NF2_MERGE_ALL ? NF2_MERGE_AGAIN : done;
    nf2_tree_merge_restart(fs);
}

void nf2_tree_merge_all(nf2_t *fs)
{
    bool some = fs->merge_quiet >= NF2_MERGE_DONE_HERE, scarcer = fs->merge_quiet == NF2_MERGE_DONE && nf2_space_scarce(fs);

    if (some || scarcer) {
        nf2_tree_merge_restart(fs);
        fs->merge_quiet = NF2_MERGE_AGAIN;
    }
}

/* Takes the next leaf's lower bound as the place to go on; the start again behind the last leaf. */
static NF2_APART int advance(nf2_t *fs, struct nf2_path *path)
{
    struct nf2_entry entry;
    uint8_t bytes[NF2_MERGE_KEY] = {0};

    int found = nf2_tree_neighbour(fs, path, NF2_ABOVE);
    NF2_TRY(found);
    if (!found) {
        pass_done(fs);
        return 0;
    }
    NF2_TRY(nf2_tree_child_entry(fs, path, path->depth - 2u, &entry));
    /* The lowest key of a leaf that is its parent's first child stands further up. */
    for (unsigned depth = path->depth - 2u; entry.key_length == 0 && entry.id == 0 && depth > 0; depth--) {
        NF2_TRY(nf2_tree_child_entry(fs, path, depth - 1, &entry));
    }
    uint8_t length = (uint8_t)nf2_min(entry.key_length, NF2_MERGE_KEY);
    NF2_TRY(nf2_record_read(fs, entry.node, entry.offset, entry.key_position, bytes, length));
    bool same = entry.id == fs->merge_id && length == fs->merge_length && memcmp(bytes, fs->merge_key, length) == 0;
    fs->merge_skip = (uint8_t)(same ? fs->merge_skip + 1 : 0);
    fs->merge_id = entry.id;
    fs->merge_length = length;
    memcpy(fs->merge_key, bytes, sizeof bytes);
    return 0;
}

int nf2_tree_merge_path(nf2_t *fs, struct nf2_path *path)
{
    struct nf2_key key = nf2_key_of(fs->merge_id, fs->merge_key, fs->merge_length);
    int moved = 1;

    NF2_TRY(nf2_tree_descend(fs, &key, path));
    for (unsigned i = 0; i < fs->merge_skip && moved > 0; i++) {
        moved = nf2_tree_neighbour(fs, path, NF2_ABOVE);
        NF2_TRY(moved);
    }
    return NF2_OK;
}

int nf2_tree_merge_step(nf2_t *fs)
{
    struct nf2_path path;

    NF2_TRY(nf2_tree_merge_path(fs, &path));
    if (fs->merge_quiet == NF2_MERGE_LEFT) {
        NF2_TRY(nf2_tree_neighbour(fs, &path, NF2_BELOW));
    }
    bool urgent = fs->urgent;
    uint8_t depth = path.depth;
    int result = 0;
    fs->urgent = true;
    while (path.depth > 1 && result == 0) {
        struct sparse pair;
        result = find_sparse(fs, &path, &pair);
        result = result > 0 ? merge(fs, &path, &pair) : result;
        path.depth--;
    }
    if (result == 0) {
        result = collapse_root(fs);
    }
    fs->urgent = urgent;
    if (result != 0) {
        fs->merge_quiet = NF2_MERGE_ALL;
        return result;
    }
    if (fs->merge_quiet >= NF2_MERGE_LEFT) {
        fs->merge_quiet = fs->merge_quiet == NF2_MERGE_LEFT ? NF2_MERGE_HERE : NF2_MERGE_DONE_HERE;
        return 0;
    }
    path.depth = depth;
    return advance(fs, &path);
}
