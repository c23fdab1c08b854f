/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * collect.h - the only collector. A walk over the tree counts what is live in each region, moves
 * what lies in victims, and so proves these free. It is made a little with each call, in proportion
 * to what calls take.
 */
#ifndef NF2FS_CORE_COLLECT_H
#define NF2FS_CORE_COLLECT_H

#include "map.h"
#include "names.h"

/*
 * To be called before a change: there are blocks for its nodes afterwards. `urgent`: it removes
 * something. NOSPC.
 */
int nf2_collect_ready(nf2_t *fs, bool urgent);

/* Data found no block: walks until there is one, as long as that helps. NOSPC. */
int nf2_collect_more(nf2_t *fs);

/* Blocks that data leaves to others. */
uint32_t nf2_collect_kept(const nf2_t *fs);

/*
 * Are so many blocks free beside what is kept back and what was promised? Walks, if it is not
 * known. NOSPC.
 */
int nf2_collect_room(nf2_t *fs, uint32_t blocks);

/*
 * Begins the session, if that was not done, and finishes a GROUP that is being applied; where that
 * lacks blocks, walks look for some.
 */
int nf2_collect_begin(nf2_t *fs);

/* One step of work: 1 if there may be more, 0 if not, or an error. */
int nf2_collect_step(nf2_t *fs);

/*
 * One erase ahead of need, that takes at most so long: 1 if it was made, 0 if enough is erased, or
 * an error. `all`: also beyond what the next calls need.
 */
int nf2_collect_erase(nf2_t *fs, uint32_t most_us, bool all);

#endif
