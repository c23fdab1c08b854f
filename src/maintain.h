/* SPDX-License-Identifier: BSD-2-Clause */
/* maintain.h - idle work: steps of the walk, and erases ahead. */
#ifndef NF2FS_CORE_MAINTAIN_H
#define NF2FS_CORE_MAINTAIN_H

#include "collect.h"

/* Works for at most so many microseconds: 1 if work is left, 0 if none is, or an error. */
int nf2_idle(nf2_t *fs, uint32_t budget_us);

#endif
