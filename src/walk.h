/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * walk.h - a walk over the tree, leaf by leaf in order of keys: it counts what is live in each
 * region, and moves what lies in victims. collect.c says which walk is made when, and what becomes
 * of its counts.
 */
#ifndef NF2FS_CORE_WALK_H
#define NF2FS_CORE_WALK_H

#include "move.h"
#include "names.h"

/* A walk begins at the lowest key. The caller has cleared the counts and chosen its victims. */
void nf2_walk_begin(nf2_t *fs);

/* One leaf, or a move: 1 when all leaves were visited, 0, or an error. */
int nf2_walk_step(nf2_t *fs);

/* Counts as pinned what is in use and in no entry of the tree, and therefore cannot be moved. */
int nf2_walk_pin(nf2_t *fs);

/*
 * The nodes on the way to the leaf at the cursor, and its entries: 0, something above 0 where some
 * of them is to be moved first (`wanted` says which), or an error.
 */
int nf2_walk_visit(nf2_t *fs, struct nf2_path *path, struct nf2_wanted *wanted);

#endif
