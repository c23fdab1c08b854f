/* SPDX-License-Identifier: BSD-2-Clause */
/* reclaim.h - making room: orphans, sparse leaves, garbage in indexed files. */
#ifndef NF2FS_SRC_RECLAIM_H
#define NF2FS_SRC_RECLAIM_H

#include "compact.h"

/* Reclaims until `blocks` are available for file data: NOSPC if all garbage together does not make that room, or what failed. */
int nf2_reclaim(nf2_t *fs, uint32_t blocks);

/* One step of idle reclaiming: 1 if it did something, 0 if nothing is left, 2 if compaction is, whose steps are much longer, or an error. */
int nf2_reclaim_light_step(nf2_t *fs);

#endif
