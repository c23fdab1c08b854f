/* SPDX-License-Identifier: BSD-2-Clause */
/* call_table.h - the bounds of the core's calls, of which call_bounds.c makes sums. */
#ifndef CALL_TABLE_H
#define CALL_TABLE_H

#include "call_bounds.h"

struct sum {
    uint16_t term[CALL_UNITS];
};

struct bound {
    struct sum measure[CALL_MEASURES];
    const char *why_none;       /* there is no bound */
};

/* One measure of a bound: the terms of its sum, by their units. */
#define READS(...) [MEASURE_READS] = {{__VA_ARGS__}}
#define PROGRAMS(...) [MEASURE_PROGRAMS] = {{__VA_ARGS__}}
#define ERASES(...) [MEASURE_ERASES] = {{__VA_ARGS__}}
#define ERASES_AHEAD(...) [MEASURE_ERASES_AHEAD] = {{__VA_ARGS__}}
#define ALL_FILLS(...) {[FILL_ROOMY] = {{__VA_ARGS__}}, [FILL_TIGHT] = {{__VA_ARGS__}}, [FILL_FULL] = {{__VA_ARGS__}}}

struct unit {
    const char *letter, *meaning; /* NULL: the core's bounds have no such term */
};

extern const struct bound call_table[CALL_KINDS][FILL_CLASSES];
extern const struct unit call_units[CALL_UNITS];
extern const uint32_t call_kinds_by_fill; /* a bit for each kind of call */

#endif
