/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * walked.h - what a change owes to the walk that is on (sweep.h): what it puts behind the walk's
 * cursor is marked at once.
 */
#ifndef NF2FS_CORE_WALKED_H
#define NF2FS_CORE_WALKED_H

#include "refs.h"
#include "space.h"

/*
 * Marks the blocks of a piece as used in every window, and takes their groups out of the victims.
 */
void nf2_walked_piece(nf2_t *fs, const struct nf2_piece *piece);

/* The same of all pieces in the body of an entry. */
int nf2_walked_body(nf2_t *fs, const struct nf2_key *key, const struct nf2_span *body);

/* To be called before the changes are programmed. */
int nf2_walked_barrier(nf2_t *fs, const struct nf2_op *ops, unsigned count);

#endif
