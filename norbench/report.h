/* SPDX-License-Identifier: BSD-2-Clause */
/* report.h - JSON out. The keys are described in README.md. */
#ifndef REPORT_H
#define REPORT_H

#include "bench.h"
#include "workload.h"

/* One line with all that a cell measured; sorts its samples. */
void report_cell(struct bench *bench, const struct vfs_entry *entry, const struct workload *workload, const char *chip, const char *state,
                 uint64_t seed, bool bounds);

/* report_bounds.c: keys of the row about calls and their bounds; with `all` of each kind of call. */
void report_judge(const struct call_judge *judge, bool all);
/* The table of bounds, with its units for a chip, as one JSON object. */
void report_bounds(const struct vflash_chip *chip);

/* Workloads, groups, file systems and chips, as one JSON object. */
void report_list(const struct vfs_entry *(*entry_at)(unsigned index));

#endif
