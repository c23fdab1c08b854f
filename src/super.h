/* SPDX-License-Identifier: BSD-2-Clause */
/* super.h - the super log: anchors in two blocks, the newest one leads to the meta log. docs/FORMAT.md, section 2. */
#ifndef NF2FS_SRC_SUPER_H
#define NF2FS_SRC_SUPER_H

#include "meta.h"

/* Writes an anchor that names the head of the meta log; when its block is full, into the other one. */
int nf2_super_write(nf2_t *fs);

/* Does the next anchor begin with an erase? */
bool nf2_super_full(const nf2_t *fs);

/* Takes over the newest anchor. NF2_ERR_BLANK, NF2_ERR_FOREIGN, NF2_ERR_VERSION, NF2_ERR_GEOMETRY, NF2_ERR_CORRUPT. */
int nf2_super_load(nf2_t *fs);

/* Finds where the next anchor goes. The mount's epoch must be known: it decides what of a torn end may be used. */
int nf2_super_resume(nf2_t *fs);

/*
 * For the check: are all anchors of the newest one's block there? 1, 0, or an error. Where the other block is bad, mounts that are cut leave one torn
 * anchor after the other, with a whole one of the same epoch behind them; their numbers tell that from damage: what was torn is tried again under the
 * same one.
 */
int nf2_super_whole(nf2_t *fs);

#endif
