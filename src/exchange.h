/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * exchange.h - long-term wear levelling: what rests in little worn blocks goes to worn ones, and leaves its blocks to those who
 * write. docs/DESIGN.md, "Wear".
 */
#ifndef NF2FS_SRC_EXCHANGE_H
#define NF2FS_SRC_EXCHANGE_H

#include "core.h"

#define NF2_EXCHANGE_BLOCKS 4u  /* that a step moves at most */

/* Is there something to look for? */
bool nf2_exchange_due(const nf2_t *fs);

/* Looks at a region, or at a leaf, or moves what lies in some blocks, `most` of them: 1, or 0 if there is nothing to be done now; then what it committed is to be applied (nf2_batch_apply). */
int nf2_exchange_step(nf2_t *fs, uint32_t most);

#endif
