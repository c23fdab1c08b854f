/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bad.h - bad blocks on record. The newest ones are in a list in RAM, which CHECKPOINT holds; where
 * that fills they become keys of the tree.
 */
#ifndef NF2FS_CORE_BAD_H
#define NF2FS_CORE_BAD_H

#include "group.h"

/*
 * Puts the list into the tree, if it is half full. It changes the tree: not between a plan and its
 * change.
 */
int nf2_bad_record(nf2_t *fs);

/* The first one that is a key of the tree, from this block on: 1, 0 or an error. */
int nf2_bad_next(nf2_t *fs, uint32_t from, uint32_t *block);

/* How many are known. */
int nf2_bad_count(nf2_t *fs, uint32_t *count);

#endif
