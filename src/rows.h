/* SPDX-License-Identifier: BSD-2-Clause */
/* rows.h - what a handle has not synced becomes a change of a map, of one leaf or of several. */
#ifndef NF2FS_CORE_ROWS_H
#define NF2FS_CORE_ROWS_H

#include "content.h"

/*
 * Puts what a handle has not synced over a map, at once: of layer NF2_IN_HANDLE over the shadow; of
 * NF2_SHADOW and above over the committed map, and the shadow goes. What they cover of the map
 * goes, and the rest of an older piece behind them stays. NF2_TOO_MANY: that is more than a GROUP
 * takes, and nothing was done.
 */
#define NF2_TOO_MANY (-8)
int nf2_change_file(nf2_t *fs, nf2_file_t *file, int lowest);

#endif
