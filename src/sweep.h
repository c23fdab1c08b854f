/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sweep.h - the only collector. A walk over the tree, leaf by leaf, marks the blocks in use of one
 * window; a second one moves what lies in the groups of it that are worth emptying, and marks it
 * anew. Then blocks are taken from it.
 */
#ifndef NF2FS_CORE_SWEEP_H
#define NF2FS_CORE_SWEEP_H

#include "map.h"
#include "names.h"

/*
 * To be called before a change: there are blocks for its nodes afterwards. `urgent`: it removes
 * something. NOSPC.
 */
int nf2_sweep_ready(nf2_t *fs, bool urgent);

/* Data found no block: walks until there is one, as long as that helps. NOSPC. */
int nf2_sweep_more(nf2_t *fs);

/*
 * Are so many blocks free beside what is kept back and what was promised? Walks, if it is not
 * known. NOSPC.
 */
int nf2_sweep_room(nf2_t *fs, uint32_t blocks);

/*
 * Begins the session, if that was not done, and finishes a GROUP that is being applied; where that
 * lacks blocks, walks look for some.
 */
int nf2_sweep_begin(nf2_t *fs);

/* One step of work: 1 if there may be more, 0 if not, or an error. */
int nf2_sweep_step(nf2_t *fs);

#endif
