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
/* Has a whole pass found nothing to merge since the last removal? */
bool nf2_tree_merge_done(const nf2_t *fs);

#endif
