/* SPDX-License-Identifier: BSD-2-Clause */
/* descent.h - the way from the root of the tree to a leaf, and from leaf to leaf. */
#ifndef NF2FS_SRC_DESCENT_H
#define NF2FS_SRC_DESCENT_H

#include "following.h"

/* The way from the root to a leaf: in each inner node, the offset of the entry that leads on. */
struct nf2_path {
    uint16_t node[NF2_NODE_LEVELS];    /* blocks */
    uint16_t child[NF2_NODE_LEVELS];
    uint8_t depth;              /* nodes on the way */
};

int nf2_tree_descend(nf2_t *fs, const struct nf2_key *key, struct nf2_path *path);
/* Do two keys, the lower one first, lead to the same leaf? 1, 0, or an error. */
int nf2_tree_together(nf2_t *fs, const struct nf2_key *low, const struct nf2_key *high);
/* The child block that an inner node's entry names. */
int nf2_tree_child(nf2_t *fs, const struct nf2_entry *entry, uint32_t *block);
/* The entry that leads on from node `depth` of the path. */
int nf2_tree_child_entry(nf2_t *fs, const struct nf2_path *path, unsigned depth, struct nf2_entry *entry);
/* Is the block a node of the tree? 1 and the way to it, 0, or an error. */
int nf2_tree_way_to(nf2_t *fs, uint32_t block, struct nf2_path *path);
/* Moves the path to the next (`seek` NF2_ABOVE) or previous (NF2_BELOW) leaf: 1, 0 if there is none, or an error. */
int nf2_tree_neighbour(nf2_t *fs, struct nf2_path *path, enum nf2_seek seek);

/* What a walk from leaf to leaf knows of the next ones, while nothing is written to the tree: their entries in the path's last inner node. */
struct nf2_leaves {
    uint16_t place[NF2_FOLLOWING];
    uint8_t count, at;
};
/* The same as nf2_tree_neighbour with NF2_ABOVE, step by step. */
int nf2_tree_next_leaf(nf2_t *fs, struct nf2_path *path, struct nf2_leaves *leaves);

/* Open handles follow their entry to another place; `changed`: they read it again. */
void nf2_tree_follow(nf2_t *fs, uint32_t node, uint16_t from, uint32_t to_node, uint16_t to, bool changed);
/* Those that followed to places from `from` up to `to` of a new node, which is not to be the tree's after all, go back to `node`. */
void nf2_tree_unfollow(nf2_t *fs, uint32_t to_node, uint32_t from, uint32_t to, uint32_t node);

#endif
