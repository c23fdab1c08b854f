/* SPDX-License-Identifier: BSD-2-Clause */
/* tree.h - the B+-tree of all names and of the maps of indexed files: look-up, neighbours, changes. */
#ifndef NF2FS_SRC_TREE_H
#define NF2FS_SRC_TREE_H

#include "effects.h"

#define NF2_SPANS_LEAVES 2      /* positive: the changes do not lie in one leaf */
#define NF2_GROUP_MAX 6u

/* The way from the root to a leaf: in each inner node, the offset of the entry that leads on. */
struct nf2_path {
    uint32_t node[NF2_NODE_LEVELS];
    uint16_t child[NF2_NODE_LEVELS];
    uint8_t depth;              /* nodes on the way */
};

/* The live entry with this key (body resolved): 1, 0 if there is none, or an error. */
int nf2_tree_find(nf2_t *fs, const struct nf2_key *key, struct nf2_entry *entry);

/* The nearest live entry in the order of keys, over all leaves (body resolved): 1, 0, or an error. */
int nf2_tree_seek(nf2_t *fs, const struct nf2_key *key, enum nf2_seek seek, struct nf2_entry *entry);

int nf2_tree_descend(nf2_t *fs, const struct nf2_key *key, struct nf2_path *path);
/* The child block that an inner node's entry names. */
int nf2_tree_child(nf2_t *fs, const struct nf2_entry *entry, uint32_t *block);
/* The entry that leads on from node `depth` of the path. */
int nf2_tree_child_entry(nf2_t *fs, const struct nf2_path *path, unsigned depth, struct nf2_entry *entry);
/* Moves the path to the next (`seek` NF2_ABOVE) or previous (NF2_BELOW) leaf: 1, 0 if there is none, or an error. */
int nf2_tree_neighbour(nf2_t *fs, struct nf2_path *path, enum nf2_seek seek);

enum nf2_change_type { NF2_CHANGE_PUT, NF2_CHANGE_DEL, NF2_CHANGE_MOVE_OUT };

/* One change of a group. A body's first span begins with the body's kind; it is in memory and holds what the body owns. */
struct nf2_tree_change {
    enum nf2_change_type type;
    struct nf2_key key;
    struct nf2_span body[2];
    uint8_t bodies;
};

/*
 * Makes the changes in one group: all or nothing, durable when it returns. DEL of an absent key does nothing.
 * `mark`: sequence of the batch that is done with this group (0: none). `where` (may be NULL): the entry that the
 * first change made. NF2_SPANS_LEAVES (nothing changed) if the keys lie in several leaves.
 */
int nf2_tree_change(nf2_t *fs, const struct nf2_tree_change *changes, unsigned count, uint32_t mark, struct nf2_entry *where);

/* Gives `source` the key `to` (replacing an entry there) if both lie in one leaf; else NF2_SPANS_LEAVES. */
int nf2_tree_rename(nf2_t *fs, const struct nf2_key *source, const struct nf2_key *to);

/* Applies what a group did to the lists of freed runs and orphans. */
void nf2_tree_apply_effects(nf2_t *fs, const struct nf2_effects *effects);

/* Open handles follow their entry to another place; `changed`: they read it again. */
void nf2_tree_follow(nf2_t *fs, uint32_t node, uint16_t from, uint32_t to_node, uint16_t to, bool changed);

/* Idle work: looks at one leaf (and the nodes above it) and merges it with its right neighbour if both are sparse. 1: merged, 0: not, or an error. */
int nf2_tree_merge_step(nf2_t *fs);
/* Has a whole pass found nothing to merge since the last removal? */
bool nf2_tree_merge_done(const nf2_t *fs);

/* Replaces the path's last node (and, where they lack room, nodes above it first), so that a change of `need`
 * bytes with the key `hint` fits. Once it returned, look for the way anew. */
int nf2_tree_make_room(nf2_t *fs, struct nf2_path *path, const struct nf2_key *hint, uint32_t need);

/* End of the part of a leaf with so many records that new entries may take: the rest is kept for records that only remove. */
uint32_t nf2_put_limit(const nf2_t *fs, uint32_t records);

#endif
