/* SPDX-License-Identifier: BSD-2-Clause */
/* lock.h - around every public function; codes that only the core knows become public ones. */
#ifndef NF2FS_CORE_LOCK_H
#define NF2FS_CORE_LOCK_H

#include "core.h"

/*
 * Takes the lock of the configuration. INVAL if the volume is not mounted: the lock is taken all
 * the same.
 */
int nf2_enter(nf2_t *fs);

/* Gives it back, and makes the call's result a public one. */
int32_t nf2_leave(const nf2_t *fs, int32_t result);

/* A call on a mounted volume. */
#define NF2_LOCKED(fs, call)                                     \
    do {                                                         \
        int nf2_entered_ = nf2_enter(fs);                        \
        return nf2_leave(fs, nf2_entered_ < 0 ? nf2_entered_ : (call)); \
    } while (0)

#endif
