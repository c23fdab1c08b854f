/* SPDX-License-Identifier: BSD-2-Clause */
/* merge.h - idle work on the tree. */
#ifndef NF2FS_SRC_MERGE_H
#define NF2FS_SRC_MERGE_H

#include "descent.h"

/* Idle work: looks at one leaf (and the nodes above it) and merges it with its right neighbour if both are sparse. 1: merged, 0: not, or an error. */
int nf2_tree_merge_step(nf2_t *fs);
/* The leaf that is looked at next: the way to it, and back to the first one. */
int nf2_tree_merge_path(nf2_t *fs, struct nf2_path *path);
void nf2_tree_merge_restart(nf2_t *fs);
/* Has idle work looked at what removals may have left sparse? */
bool nf2_tree_merge_done(const nf2_t *fs);
/* For a write that lacks space: all leaves are to be looked at, if that was not done with nothing removed since, and with the present mark. */
void nf2_tree_merge_all(nf2_t *fs);

#endif
