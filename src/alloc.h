/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * alloc.h - takes blocks: claimed in the root log, and erased, before they are handed out. It
 * changes no key and walks no tree.
 */
#ifndef NF2FS_CORE_ALLOC_H
#define NF2FS_CORE_ALLOC_H

#include "journal.h"

/* An erased block for a node, a log or frames. */
int nf2_alloc_node(nf2_t *fs, uint32_t *block);

/*
 * 1 to `most` erased blocks, one behind the other, for data: so many are left in stock. 0: one for
 * what a walk moves, which lies apart.
 */
int nf2_alloc_data(nf2_t *fs, uint32_t most, uint32_t kept, struct nf2_run *run);

/*
 * Does a step go on to copy into walk.moved? One of idle work: where that takes no erase, and there
 * is not little time.
 */
bool nf2_alloc_goes_on(nf2_t *fs);

/* A run goes on at `within` of its first block, or behind that. */
void nf2_run_advance(const nf2_t *fs, struct nf2_run *run, uint32_t within);

/*
 * Programs the next bytes of a run, at most to the end of a page. A block that fails is given up,
 * and known as bad.
 */
int nf2_run_program(nf2_t *fs, struct nf2_run *run, const void *data, uint32_t length);

/* Blocks that nodes can have without a walk. */
uint32_t nf2_alloc_stock(const nf2_t *fs);

/*
 * Erases a block, or as many as a large erase takes: how many were, NF2_FAILED_BLOCK for one that
 * is known as bad from now on, or an error.
 */
int nf2_alloc_erase(nf2_t *fs, uint32_t block, uint32_t count);

/*
 * Claims blocks that calls will take, or `moves`: steps of idle work, and erases a part of them
 * that takes at most `left` microseconds; a large erase is waited for, if it takes at most
 * `budget`. Was something done (DONE), or is something not erased (OWED)? 0 if all is or cannot be
 * had; or an error.
 */
enum { NF2_AHEAD_OWED = 1, NF2_AHEAD_DONE = 2 };
int nf2_alloc_ahead(nf2_t *fs, bool moves, uint32_t left, uint32_t budget);

#endif
