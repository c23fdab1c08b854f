/* SPDX-License-Identifier: BSD-2-Clause */
/* call_judge.c - counted cost against bound. */
#include "call_judge.h"

#include <string.h>

void call_judge_init(struct call_judge *judge, const struct vflash_chip *chip)
{
    memset(judge, 0, sizeof(*judge));
    judge->active = true;
    judge->geometry = call_geometry_of(chip);
}

void call_judge_begin(struct call_judge *judge, const struct call_facts *facts, const struct vflash_counts *now)
{
    if (judge->active) {
        judge->facts = *facts;
        judge->start = *now;
    }
}

static uint64_t permille(uint64_t counted, uint64_t bound)
{
    return bound == 0 ? (counted == 0 ? 0 : UINT64_MAX) : (counted * 1000 + bound - 1) / bound;
}

static void compare(struct call_judge *judge, struct call_tally *tally, enum call_measure measure, uint64_t counted, bool *past)
{
    uint64_t bound = call_bound(&judge->geometry, &judge->facts, measure), share = permille(counted, bound);
    tally->most[measure] = counted > tally->most[measure] ? counted : tally->most[measure];
    if (share > tally->most_permille[measure]) {
        tally->most_permille[measure] = share;
        tally->worst[measure] = judge->facts;
    }
    if (counted > bound && !*past) {
        *past = true;
        if (judge->past == 0) {
            judge->first = (struct call_breach){judge->facts, measure, counted, bound};
        }
    }
}

void call_judge_end(struct call_judge *judge, const struct vflash_counts *now)
{
    if (!judge->active) {
        return;
    }
    struct series_sample cost = series_between(&judge->start, now);
    struct call_tally *tally = &judge->tally[judge->facts.kind][call_fill_of(&judge->geometry, &judge->facts)];
    bool past = false;
    judge->calls++;
    tally->count++;
    if (call_unbounded(&judge->geometry, &judge->facts) != NULL) {
        judge->unbounded++;
        tally->unbounded++;
        return;
    }
    compare(judge, tally, MEASURE_READS, cost.read_pages, &past);
    compare(judge, tally, MEASURE_PROGRAMS, cost.program_pages, &past);
    compare(judge, tally, call_erased_last(&judge->geometry, &judge->facts) ? MEASURE_ERASES_AHEAD : MEASURE_ERASES, cost.erases, &past);
    judge->past += past;
}
