/* SPDX-License-Identifier: BSD-2-Clause */
/* reclaim.h - making room: orphans, sparse leaves, garbage in indexed files. */
#ifndef NF2FS_SRC_RECLAIM_H
#define NF2FS_SRC_RECLAIM_H

#include "compact.h"

/* Reclaims until `blocks` are available for file data; false if all garbage together does not make that room. */
bool nf2_reclaim(nf2_t *fs, uint32_t blocks);

/*
 * One step of reclaiming: 1 if it did something, 0 if there is nothing left to do, or an error. Blocks of files are
 * emptied if at most `live` of 16 parts of them are live; in idle time only those where the gain is far above the cost.
 */
int nf2_reclaim_step(nf2_t *fs, uint32_t live);

/* The same without compacting files, whose steps are much longer: 2 if that is what is left. */
int nf2_reclaim_light_step(nf2_t *fs);

#endif
