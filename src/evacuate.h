/* SPDX-License-Identifier: BSD-2-Clause */
/* evacuate.h - an indexed file's data out of blocks that are to be freed, and these blocks out of the file. */
#ifndef NF2FS_SRC_EVACUATE_H
#define NF2FS_SRC_EVACUATE_H

#include "core.h"

/*
 * Moves data that lies in a run of blocks, `bytes` at most: of the mapping entries from file offset `*from` on, which is brought
 * forward. 1: there may be more; 0: the end of the map is reached. What is written meanwhile goes elsewhere.
 */
int nf2_evacuate(nf2_t *fs, uint32_t id, const struct nf2_run *run, uint32_t *from, uint32_t bytes);

/* The next block that the file owns from `*block` on: 1, 0, or an error. */
int nf2_evacuate_next_owned(nf2_t *fs, uint32_t id, uint32_t *block);

/* Gives back what the file owns of a run of blocks that nothing live lies in, whatever OWN entries it is part of. */
int nf2_evacuate_release(nf2_t *fs, uint32_t id, const struct nf2_run *run);

#endif
