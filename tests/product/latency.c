/* SPDX-License-Identifier: BSD-2-Clause */
/* latency.c - see latency.h. */
#include "latency.h"

static uint32_t step_of(uint64_t us)
{
    if (us < LATENCY_EXACT) {
        return (uint32_t)us;
    }
    uint32_t doubling = 0;
    while (us >> doubling >= 2 * LATENCY_EXACT) {
        doubling++;
    }
    uint32_t part = (uint32_t)((us >> doubling) - LATENCY_EXACT) * LATENCY_PARTS / LATENCY_EXACT;
    uint32_t step = LATENCY_EXACT + doubling * LATENCY_PARTS + part;
    return step < LATENCY_STEPS ? step : LATENCY_STEPS - 1;
}

/* The longest time of a step. */
static uint64_t end_of(uint32_t step)
{
    if (step < LATENCY_EXACT) {
        return step;
    }
    uint32_t doubling = (step - LATENCY_EXACT) / LATENCY_PARTS;
    uint64_t next = (step - LATENCY_EXACT) % LATENCY_PARTS + 1;
    return ((LATENCY_EXACT + next * (LATENCY_EXACT / LATENCY_PARTS)) << doubling) - 1;
}

void latency_add(struct latency *latency, uint64_t us)
{
    latency->count++;
    latency->sum_us += us;
    latency->max_us = us > latency->max_us ? us : latency->max_us;
    latency->above_100ms += us > 100000;
    latency->above_1s += us > 1000000;
    latency->steps[step_of(us)]++;
}

uint64_t latency_rank(const struct latency *latency, uint64_t per_million)
{
    uint64_t wanted = (latency->count * per_million + 999999) / 1000000, seen = 0;
    for (uint32_t step = 0; step < LATENCY_STEPS && wanted > 0; step++) {
        seen += latency->steps[step];
        if (seen >= wanted) {
            return end_of(step) < latency->max_us ? end_of(step) : latency->max_us;
        }
    }
    return 0;
}
