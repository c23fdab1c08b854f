/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * alloc.h - takes blocks: claimed in the root log, and erased, before they are handed out. It
 * changes no key and walks no tree.
 */
#ifndef NF2FS_CORE_ALLOC_H
#define NF2FS_CORE_ALLOC_H

#include "journal.h"

/* The window has too little left: a walk must end first (see sweep.h). */
#define NF2_NEED_SPACE (-1012)

/* An erased block for a node, a log or frames. */
int nf2_alloc_node(nf2_t *fs, uint32_t *block);

/*
 * 1 to `most` erased blocks, one behind the other, for data: so many are left in stock. Those of
 * walk.moved lie apart.
 */
int nf2_alloc_data(nf2_t *fs, uint32_t most, uint32_t kept, struct nf2_run *run);

/*
 * Programs the next bytes of a run, at most to the end of a page. A block that fails is given up,
 * and known as bad.
 */
int nf2_run_program(nf2_t *fs, struct nf2_run *run, const void *data, uint32_t length);

/* Blocks that nodes can have without a walk. */
uint32_t nf2_alloc_stock(const nf2_t *fs);

/*
 * Erases a block that a step of idle work may take, if there is time: 1 if one is lacking, 0 if
 * those that it takes are erased or cannot be had, or an error.
 */
int nf2_alloc_ahead(nf2_t *fs, bool fits);

#endif
