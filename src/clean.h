/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * clean.h - groups of blocks of indexed files, each what one large erase takes, are emptied and erased, in small steps. A walk over
 * a file's map empties the groups that were chosen, and counts what is live in those of the next region, of which it chooses then.
 */
#ifndef NF2FS_SRC_CLEAN_H
#define NF2FS_SRC_CLEAN_H

#include "core.h"

/*
 * One step: `leaves` of a map, `programs` or a few more, an erase; without bounds where `leaves` is 0. At most `live` of 16 parts of
 * a group may be live. 1, 0 where a round over all files has found nothing, or an error.
 */
int nf2_clean_step(nf2_t *fs, uint32_t live, uint32_t leaves, uint32_t programs);

/* Erased blocks that there should be, so that they last while groups are looked for and emptied. */
uint32_t nf2_clean_pool(const nf2_t *fs);

/* Does the next step begin with a large erase? */
bool nf2_clean_erases(const nf2_t *fs);

/* Is there a chance that groups can be won? */
bool nf2_clean_pays(const nf2_t *fs);

#endif
