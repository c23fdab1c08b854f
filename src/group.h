/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * group.h - changes of any number of leaves as one: all or nothing. A GROUP in the root log commits
 * them, then they are applied one by one; what a cut interrupts is applied again from the
 * beginning.
 */
#ifndef NF2FS_CORE_GROUP_H
#define NF2FS_CORE_GROUP_H

#include "map.h"

/*
 * The changes, durable when it returns, in one leaf or in several. No GROUP waits (see
 * nf2_collect_ready). Of several, the GROUP is left for nf2_group_end, or the next call, to apply:
 * on less stack. So are all changes below.
 */
int nf2_change_ahead(nf2_t *fs, struct nf2_op *ops, unsigned count);
int nf2_change_one(nf2_t *fs, struct nf2_op *op);

/* Applies what a change left; `result` is what it returned. */
int nf2_group_end(nf2_t *fs, int result);

/*
 * Pieces that are put; those of kind 0 are ranges of offsets, in front of what is put there:
 * entries in them go. The change uses up the pieces.
 */
#define NF2_PLAN_PIECES 4u
struct nf2_plan {
    struct nf2_piece piece[NF2_PLAN_PIECES];
    uint32_t count;
};
int nf2_change_pieces(nf2_t *fs, uint32_t id, struct nf2_piece *pieces, unsigned count);

/*
 * The change of a map that a piece stands for: it is put, or (kind 0) goes. The piece's own bytes
 * are used up.
 */
void nf2_op_piece(struct nf2_op *op, uint32_t id, struct nf2_piece *piece);

/*
 * A GROUP in parts: what was committed goes on record as done; room and begin; changes; end,
 * NF2_FAILED_BLOCK: once more.
 */
int nf2_change_begin(nf2_t *fs);
int nf2_group_open(nf2_t *fs, struct nf2_writer *writer, uint32_t length);
uint32_t nf2_group_put(nf2_t *fs, struct nf2_writer *writer, const struct nf2_op *op);
int nf2_group_close(nf2_t *fs, struct nf2_writer *writer);

/* The map ends there; what reaches over that gets its true length. */
int nf2_change_end(nf2_t *fs, uint32_t id, uint32_t end);

/* A new map that no name leads to, on record as an orphan. */
int nf2_shadow_begin(nf2_t *fs, uint32_t *id);

/* Marks the blocks that a GROUP puts into entries as used. */
int nf2_group_pin(nf2_t *fs);

/*
 * Applies a GROUP that waits, or that a cut or a failed call left half applied. Nothing else may be
 * changed before.
 * NF2_NEED_SPACE: it has to be called again when there are blocks.
 */
int nf2_group_redo_pending(nf2_t *fs);

#endif
