/* SPDX-License-Identifier: BSD-2-Clause */
/* recover.h - what a cut left is settled: docs/DESIGN.md, "Space, and what a cut may leave". */
#ifndef NF2FS_SRC_RECOVER_H
#define NF2FS_SRC_RECOVER_H

#include "core.h"

/* After nf2_meta_load of a volume that was not left cleanly, mounted for writing. */
int nf2_recover(nf2_t *fs);

#endif
