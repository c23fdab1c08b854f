/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * random_ops.h - a seeded generator of calls. It looks at the model only, so a seed gives the same calls
 * on every run; the calls name their paths and data in full, so they can be repeated without the generator.
 */
#ifndef RANDOM_OPS_H
#define RANDOM_OPS_H

#include "calls.h"
#include "model.h"

enum profile { PROFILE_MIX, PROFILE_SMALL, PROFILE_LOGS, PROFILE_RANDOM, PROFILE_FULL, PROFILE_DIRS, PROFILE_COUNT };

extern const char *const profile_names[PROFILE_COUNT];

struct generator {
    uint64_t state;
    enum profile profile;
    uint64_t capacity;      /* bytes of the volume for data */
    uint32_t page_size, block_size;
    bool emptying;          /* the volume was full: remove until there is room again */
    unsigned full_seen;
    uint64_t space;         /* of the model, now and then */
    unsigned calls;
};

void generator_init(struct generator *generator, uint64_t seed, enum profile profile, uint64_t capacity, uint32_t page_size,
                    uint32_t block_size);
/* Adds the next call, or a few that belong together. */
void generator_next(struct generator *generator, struct model *model, struct call_list *list);
/* Tells it that a call failed for want of space. */
void generator_full(struct generator *generator);

#endif
