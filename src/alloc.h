/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * alloc.h - takes blocks: on record as claimed, and erased, before they are handed out. It changes
 * no key and walks no tree.
 */
#ifndef NF2FS_CORE_ALLOC_H
#define NF2FS_CORE_ALLOC_H

#include "journal.h"

/* What a step of idle work may wait for; calls wait for any erase. */
enum nf2_patience {
    NF2_WAITS = 0,
    NF2_NO_LARGE_ERASE,
    NF2_NO_ERASE
};

/* An erased block for a node, a log or frames. NF2_NEED_SPACE. */
int nf2_alloc_node(nf2_t *fs, uint32_t *block);

/*
 * 1 to `most` erased blocks, one behind the other, for data, or for what a walk moves: `kept`
 * blocks stay in stock. NF2_NEED_SPACE.
 */
int nf2_alloc_data(nf2_t *fs, enum nf2_writer_kind who, uint32_t most, uint32_t kept,
                   struct nf2_run *run);

/* Does the next block for what a walk moves take no erase? */
bool nf2_alloc_moves_erased(const nf2_t *fs);

/* A run goes on at `within` of its first block, or behind that. */
void nf2_run_advance(const nf2_t *fs, struct nf2_run *run, uint32_t within);

/*
 * Programs the next bytes of a run, at most to the end of a page. A block that fails is given up,
 * and known as bad.
 */
int nf2_run_program(nf2_t *fs, struct nf2_run *run, const void *data, uint32_t length);

/*
 * Erases a block, or as many as a large erase takes: how many were, NF2_FAILED_BLOCK for one that
 * is known as bad from now on, or an error.
 */
int nf2_alloc_erase(nf2_t *fs, uint32_t block, uint32_t count);

/*
 * One erase ahead of need, which takes at most `most_us`: of the region `space.ahead_region`, which
 * is on record as erased with the next CHECKPOINT behind the last one; without such a region, of a
 * hole, if that is what writers take next. 1 if it was made, 0 if there is nothing to erase or no
 * time for it, or an error.
 */
int nf2_alloc_ahead(nf2_t *fs, uint32_t most_us);

/* Do writers take holes before free regions? Where few regions are free. */
bool nf2_alloc_holes_first(const nf2_t *fs);

#endif
