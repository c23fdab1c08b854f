/* SPDX-License-Identifier: BSD-2-Clause */
/* torture.h - what the processes of the torture program share, and its reports. */
#ifndef TORTURE_H
#define TORTURE_H

#include <stdatomic.h>
#include <time.h>

#include "campaign.h"

#define JOBS_MAX 64u
#define CAMPAIGNS_MAX 8u
#define FAILURES_MAX 64u

struct failure {
    char campaign[16], chip[32], text[400], file[300];
    uint64_t cell, cuts;            /* cuts: made by all processes when it was found */
    unsigned calls;                 /* in the file, after shrinking */
    unsigned times;
    bool crashed;
};

struct worker_state {               /* written by one process, read by all */
    struct tally tally[CAMPAIGNS_MAX];
    double seconds[CAMPAIGNS_MAX];
    uint64_t cells[CAMPAIGNS_MAX];
    unsigned campaign;              /* at work on */
    uint64_t cell;
};

struct shared {
    _Atomic uint64_t next_cell[CAMPAIGNS_MAX];
    _Atomic unsigned failures, stop;
    struct failure failure[FAILURES_MAX];
    struct worker_state worker[JOBS_MAX];
    double seconds;                 /* since the start, at the last look */
    uint64_t seed;
    unsigned jobs;
};

/* Sums of all processes: one campaign's, or (campaign_count) all. */
void shared_sum(const struct shared *shared, unsigned campaign, struct tally *tally);

void report_progress(const struct shared *shared);
void report_text(const struct shared *shared, FILE *out);
void report_json(const struct shared *shared, FILE *out);

#endif
