/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * latency.h - how long calls took, as counts of a hundred million times in little memory.
 *
 * Times up to 1,023 us are kept as they are, longer ones to within one part of 128. A percentile is
 * the upper end of the step that it falls into, and never above the longest time, which is exact.
 */
#ifndef LATENCY_H
#define LATENCY_H

#include <stdint.h>

#define LATENCY_EXACT 1024u             /* us: below that each time has a step of its own */
#define LATENCY_PARTS 128u              /* steps of each doubling above */
#define LATENCY_DOUBLINGS 30u           /* up to 2^40 us, which is two weeks */
#define LATENCY_STEPS (LATENCY_EXACT + LATENCY_DOUBLINGS * LATENCY_PARTS)

struct latency {
    uint64_t count, sum_us, max_us;
    uint64_t above_100ms, above_1s;
    uint64_t steps[LATENCY_STEPS];
};

void latency_add(struct latency *latency, uint64_t us);

/* What a share of `per_million` of the times does not pass; 0 where there are none. */
uint64_t latency_rank(const struct latency *latency, uint64_t per_million);

#endif
