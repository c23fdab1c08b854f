/* SPDX-License-Identifier: BSD-2-Clause */
/* tree.h - the B+-tree of all names and of the maps of indexed files: look-up, neighbours, changes. */
#ifndef NF2FS_SRC_TREE_H
#define NF2FS_SRC_TREE_H

#include "descent.h"
#include "effects.h"
#include "pending.h"

#define NF2_SPANS_LEAVES 2      /* positive: the changes do not lie in one leaf */

/* The live entry with this key (body resolved): 1, 0 if there is none, or an error. */
int nf2_tree_find(nf2_t *fs, const struct nf2_key *key, struct nf2_entry *entry);

/* The nearest live entry in the order of keys, over all leaves (body resolved): 1, 0, or an error. */
int nf2_tree_seek(nf2_t *fs, const struct nf2_key *key, enum nf2_seek seek, struct nf2_entry *entry);

/*
 * Makes the changes in one group: all or nothing, durable when it returns. DEL of an absent key does nothing.
 * `mark`: sequence of the batch that is done with this group (0: none). `where` (may be NULL): the entry that the
 * first change made. NF2_SPANS_LEAVES (nothing changed) if the keys lie in several leaves. `leaf`: the caller has found
 * that all of them lie there, with no change in between; 0: it has not.
 */
int nf2_tree_change_in(nf2_t *fs, uint32_t leaf, struct nf2_node_op *changes, unsigned count, uint32_t mark, struct nf2_entry *where);

/* Without what only some callers ask for. */
int nf2_tree_change(nf2_t *fs, struct nf2_node_op *changes, unsigned count);

/* Makes a change if its leaf has room for it as it is: 1, 0, or an error. Nothing that a slot has handed out meanwhile gets lost. */
int nf2_tree_try(nf2_t *fs, struct nf2_node_op *change);

/*
 * Would changes of one leaf that put entries (`kill`: in place of another one) be made without replacing nodes? 1 or 0. And: replaces nodes for them.
 * For changes that must not be held up between a block's being handed out and its being owned, and for steps that are to be short.
 */
int nf2_tree_fits(nf2_t *fs, const struct nf2_node_op *changes, unsigned count);
int nf2_tree_room(nf2_t *fs, const struct nf2_node_op *changes, unsigned count);

/* Gives `source` the key `to` (replacing an entry there) if both lie in one leaf; else NF2_SPANS_LEAVES. */
int nf2_tree_rename(nf2_t *fs, const struct nf2_key *source, const struct nf2_key *to);

/* Applies what a group did to the lists of freed runs and orphans. */
void nf2_tree_apply_effects(nf2_t *fs, const struct nf2_effects *effects);

#endif
