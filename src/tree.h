/* SPDX-License-Identifier: BSD-2-Clause */
/* tree.h - the one tree of all names and maps: finding entries, and changes inside one leaf. */
#ifndef NF2FS_CORE_TREE_H
#define NF2FS_CORE_TREE_H

#include "alloc.h"
#include "node.h"

/* The changes lie in more than one leaf: see group.h. */
#define NF2_SPANS_LEAVES (-7)

struct nf2_path {               /* from the root to a leaf */
    struct nf2_child node[NF2_LEVELS];  /* by level: 0 is the leaf */
    uint8_t above_level;        /* where it is bounded: the level of the node that has the entry of
                                   what follows */
    bool bounded;               /* `upper` is the lowest key of what follows the leaf;
                                   else it is the last one */
    struct nf2_key upper, lower;/* the leaf's lowest possible key, if it has a node above it */
};

/* The way to a leaf, and what was found there, is not known any more. */
static inline void nf2_way_forget(nf2_t *fs)
{
    fs->way.known = false;
    fs->way.last = 0;
}

/* The path to the leaf in which a key lies: 1, 0 if that has no node above it, or an error. */
int nf2_tree_descend(nf2_t *fs, const struct nf2_key *key, struct nf2_path *path);

/*
 * Leads fs->way to the leaf in which a key lies, or (`below`) the keys next below it: 1, 0 if there
 * is none, or an error.
 */
int nf2_tree_lead(nf2_t *fs, const struct nf2_key *key, bool below);

/* Does it lead there already? 1, 0 or an error. */
int nf2_tree_leads(nf2_t *fs, const struct nf2_key *key, bool below);

/*
 * The lowest possible key of the leaf that `from` leads to, or (`above`) of what follows that: 1, 0
 * if there is none, or an error. A bound on the wrong side of `from` is an error: whoever goes on
 * from there would never end. `key` may be `from`.
 */
int nf2_tree_bound(nf2_t *fs, bool above, const struct nf2_key *from, struct nf2_key *key);

/*
 * `node`: the inner node with an entry at `place`, and then the child that this names. `front` is
 * the entry's.
 */
int nf2_tree_child(nf2_t *fs, uint32_t place, struct nf2_front *front, struct nf2_child *node);

/* The entry with this key, or the next one of its id in a direction: 1, 0 if none, or an error. */
int nf2_tree_find_as_is(nf2_t *fs, const struct nf2_key *key, struct nf2_entry *entry);
int nf2_tree_seek_as_is(nf2_t *fs, const struct nf2_key *key, enum nf2_seek how,
                        struct nf2_entry *entry);
/* The same in the leaf where the key belongs alone. */
int nf2_tree_seek_in_leaf(nf2_t *fs, const struct nf2_key *key, enum nf2_seek how,
                          struct nf2_entry *entry);

/*
 * pending.c: the same, with the changes of a GROUP that is not applied. What nf2_tree_seek finds
 * lies in that direction, or that is an error: so who goes on from it comes to an end. The key is
 * not that of `entry`.
 */
int nf2_tree_find(nf2_t *fs, const struct nf2_key *key, struct nf2_entry *entry);
/* It is there, or NF2_ERR_IO. */
int nf2_tree_get(nf2_t *fs, const struct nf2_key *key, struct nf2_entry *entry);
int nf2_tree_seek(nf2_t *fs, const struct nf2_key *key, enum nf2_seek how, struct nf2_entry *entry);

/*
 * Changes of one leaf: all or nothing, durable when it returns. NF2_SPANS_LEAVES: nothing
 * was done. The caller has seen to it that there are blocks for it.
 */
int nf2_tree_change(nf2_t *fs, struct nf2_op *ops, unsigned count);

/*
 * The same of one change that may reach over several leaves: not all or nothing, but it may be
 * repeated. `key`: memory for a key of a RANGE, see below.
 */
int nf2_tree_apply(nf2_t *fs, struct nf2_op *op, struct nf2_key *key);

/*
 * Makes a RANGE that part of it which lies in the first leaf with entries of it; it begins with
 * `key` then: 1, 0 if there is none, or an error.
 */
int nf2_tree_first_part(nf2_t *fs, struct nf2_op *range, struct nf2_key *key);

/*
 * Changes of the node of this level at the end of a way (by level, as in a path) that
 * `lead` leads to; without any it is written anew. 1, or an error.
 */
int nf2_tree_write(nf2_t *fs, const struct nf2_child *way, const struct nf2_key *lead,
                   unsigned level, struct nf2_op *ops,
                   unsigned count);

/*
 * One node of the leaf that begins at `lower` and its right neighbour, if both are sparse; where
 * the leaf is the last one of its parent, the same of that. Behind the last leaf a root with one
 * child gives way to it. `bytes`: at least so many of the leaf are alive. 1 if so, NF2_UNCHANGED,
 * or an error.
 */
#define NF2_UNCHANGED 2
int nf2_tree_join(nf2_t *fs, const struct nf2_key *lower, uint32_t bytes);

/* What it takes to change something: the operations. What has no body lies under id 0. */
void nf2_op_put(struct nf2_op *op, const struct nf2_key *key, const void *body, uint32_t length);
void nf2_op_delete(struct nf2_op *op, const struct nf2_key *key);
void nf2_op_range(struct nf2_op *op, uint32_t id, uint32_t from, uint32_t to);
void nf2_op_put_system(struct nf2_op *op, uint8_t kind, uint32_t number);
void nf2_op_delete_orphan(struct nf2_op *op, uint32_t id);

#endif
