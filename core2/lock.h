/* SPDX-License-Identifier: BSD-2-Clause */
/* lock.h - around every public function; codes that only the core knows become public ones. */
#ifndef NF2FS_CORE_LOCK_H
#define NF2FS_CORE_LOCK_H

#include "core.h"

/* Takes the lock of the configuration; gives it back, and makes the call's result a public one. */
void nf2_enter(const nf2_t *fs);
int32_t nf2_leave(const nf2_t *fs, int32_t result);

#define NF2_LOCKED(fs, call)             \
    do {                                 \
        nf2_enter(fs);                   \
        return nf2_leave(fs, (call));    \
    } while (0)

#endif
