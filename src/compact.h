/* SPDX-License-Identifier: BSD-2-Clause */
/* compact.h - garbage in the blocks of indexed files: blocks that hold nothing live are freed, sparse ones are emptied first. */
#ifndef NF2FS_SRC_COMPACT_H
#define NF2FS_SRC_COMPACT_H

#include "core.h"

/*
 * One step: frees a run of blocks that no map needs, or moves the live data out of the emptiest block of a file if at
 * most `live` of 16 parts of it are live. 1 if it did something, 0 if all indexed files were looked at, or an error.
 */
int nf2_compact_step(nf2_t *fs, uint32_t live);

#endif
