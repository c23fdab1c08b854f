/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bad.h - bad blocks on record. The newest ones are in a list in RAM, which CHECKPOINT holds; where
 * that fills they become keys of the tree.
 */
#ifndef NF2FS_CORE_BAD_H
#define NF2FS_CORE_BAD_H

#include "group.h"

/*
 * Puts the list into the tree, if it is half full, and there are blocks for nodes. It changes the
 * tree: not between a plan and its change.
 */
int nf2_bad_record(nf2_t *fs);

/*
 * The first number from this one on of which there is a key of that kind: a bad block that is a key
 * of the tree, or an orphan. 1, 0 or an error.
 */
int nf2_system_next(nf2_t *fs, uint8_t kind, uint32_t from, uint32_t *number);

/* How many are known. */
int nf2_bad_count(nf2_t *fs, uint32_t *count);

#endif
