/* SPDX-License-Identifier: BSD-2-Clause */
/* lock.h - around every public function; codes that only the core knows become public ones. */
#ifndef NF2FS_CORE_LOCK_H
#define NF2FS_CORE_LOCK_H

#include "core.h"

static inline void nf2_lock(const struct nf2_config *config)
{
    if (config != NULL && config->lock != NULL) {
        config->lock(config->lock_context);
    }
}

static inline void nf2_unlock(const struct nf2_config *config)
{
    if (config != NULL && config->unlock != NULL) {
        config->unlock(config->lock_context);
    }
}

/* Results of the core's own, below -1000, say that space or a block was lacking where that should not happen. */
static inline int32_t nf2_public(int32_t result)
{
    return result > -1000 ? result : result == -1003 ? NF2_ERR_NOSPC : NF2_ERR_IO;
}

#define NF2_LOCKED(fs, call)                            \
    do {                                                \
        const struct nf2_config *config_ = (fs)->config; \
        nf2_lock(config_);                              \
        int32_t result_ = (call);                       \
        nf2_unlock(config_);                            \
        return nf2_public(result_);                     \
    } while (0)

#endif
