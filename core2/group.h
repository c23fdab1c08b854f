/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * group.h - changes of any number of leaves as one: all or nothing. A GROUP in the root log commits them, then they are
 * applied one by one; what a cut interrupts is applied again from the beginning.
 */
#ifndef NF2FS_CORE_GROUP_H
#define NF2FS_CORE_GROUP_H

#include "map.h"

#define NF2_GROUP_BYTES_MAX 1000u

/* A MERGE as one of the changes: the entries of the map `from` are put over those of `to`. `file_end`: see map.h. */
void nf2_op_merge(struct nf2_op *op, uint32_t from, uint32_t to, uint32_t file_end);

/* The changes, durable when it returns, in one leaf or in several. */
int nf2_change(nf2_t *fs, struct nf2_op *ops, unsigned count);

/* Puts a piece over what a map has, and ends a map: see nf2_map_plan, nf2_map_plan_cut. */
int nf2_change_piece(nf2_t *fs, uint32_t id, const struct nf2_piece *piece);
int nf2_change_end(nf2_t *fs, uint32_t id, uint32_t end);

/* Marks the blocks that a GROUP puts into entries as used. */
int nf2_group_pin(nf2_t *fs);

/* Applies a GROUP that a cut, or a failed call, left half applied. Nothing else may be changed before.
 * NF2_NEED_SPACE: it has to be called again when there are blocks. */
int nf2_group_redo_pending(nf2_t *fs);

/* The same for what only reads: where it cannot be applied, or could not be, the GROUP is looked through (pending.h). */
void nf2_group_look(nf2_t *fs);

#endif
