/* SPDX-License-Identifier: BSD-2-Clause */
/* call_judge.h - holds each call of a cell to its bound (call_bounds.h), and keeps the most that was seen of each kind. */
#ifndef CALL_JUDGE_H
#define CALL_JUDGE_H

#include "call_bounds.h"
#include "series.h"

/* Of one kind of call at one fill. */
struct call_tally {
    uint64_t count, unbounded;
    uint64_t most[CALL_MEASURES];       /* of calls that have a bound */
    uint64_t most_permille[CALL_MEASURES];  /* of the call's own bound; a bound of 0 that is passed: UINT64_MAX */
    struct call_facts worst[CALL_MEASURES]; /* of which call that was */
};

struct call_breach {
    struct call_facts facts;
    enum call_measure measure;
    uint64_t counted, bound;
};

struct call_judge {
    bool active;                        /* only NF2FS has bounds */
    struct call_geometry geometry;
    struct call_facts facts;            /* of the call that is being made */
    struct vflash_counts start;
    struct call_tally tally[CALL_KINDS][FILL_CLASSES];
    uint64_t calls, unbounded, past;
    struct call_breach first;           /* the first one past its bound */
};

void call_judge_init(struct call_judge *judge, const struct vflash_chip *chip);

/* Around each call; both read counters and change none. */
void call_judge_begin(struct call_judge *judge, const struct call_facts *facts, const struct vflash_counts *now);
void call_judge_end(struct call_judge *judge, const struct vflash_counts *now);

#endif
