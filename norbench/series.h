/* SPDX-License-Identifier: BSD-2-Clause */
/* series.h - what each kind of call (or operation) cost, every single one kept, so that percentiles are exact. */
#ifndef SERIES_H
#define SERIES_H

#include <stdint.h>

#include "vflash.h"

#define SERIES_MAX 48u

struct series_sample {
    uint64_t us;                /* page convention, fast reads */
    uint32_t read_pages, read_bytes, program_pages, program_bytes;
    uint32_t erases;            /* operations, whatever their size */
};

struct series {
    const char *name;
    struct series_sample *samples;
    uint32_t count, room;
};

struct series_set {
    struct series list[SERIES_MAX];
    uint32_t count;
};

/* What happened between two readings of the counters. */
struct series_sample series_between(const struct vflash_counts *start, const struct vflash_counts *end);

/* `name` must live as long as the set. Returns 0, or -1 without memory or with too many names. */
int series_add(struct series_set *set, const char *name, const struct series_sample *sample);
void series_close(struct series_set *set);

enum series_metric { SERIES_US, SERIES_READ_PAGES, SERIES_PROGRAM_PAGES, SERIES_ERASES };

uint64_t series_value(const struct series_sample *sample, enum series_metric metric);

/* Sorts by what the ranks are asked of. */
void series_sort(struct series *series, enum series_metric metric);

/* Of samples sorted by `metric`: what a share of `permille` of them does not pass (nearest rank; 0: the least). */
uint64_t series_rank(const struct series *series, enum series_metric metric, uint32_t permille);

#endif
