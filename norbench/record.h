/* SPDX-License-Identifier: BSD-2-Clause */
/* record.h - what one cell measured: counter deltas, the worst call, windows. */
#ifndef RECORD_H
#define RECORD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "series.h"
#include "tap.h"
#include "vflash.h"

#define RECORD_WINDOWS_MAX 64u
#define RECORD_EXTRAS_MAX 24u
#define RECORD_LEAST_MAX 8u
#define RECORD_RETIRED_MAX 64u

/* How much the user had written when so many blocks had failed. */
struct record_retired {
    uint64_t bytes;
    uint32_t blocks;
};

/* A figure that only some workloads have. */
struct record_extra {
    const char *key;
    double value;
};

struct record_point {
    struct vflash_counts counts;
    uint64_t consumed_pages;
};

struct record {
    struct vflash *chip;
    const struct tap *tap;
    bool measuring;
    struct record_point start;          /* of the stretch that is being measured */
    struct record_point total;          /* of all measured stretches */
    struct vflash_counts call_start;
    uint64_t call_start_consumed;

    uint64_t worst_call_us;
    const char *worst_call_name;
    uint64_t worst_call_erases;         /* erase operations, whatever their size */
    uint64_t most_erases_in_call, most_read_pages_in_call;
    uint64_t worst_maintain_us;

    double amplification;               /* WA at the workload's fill, for what a call may erase; 0: not asked for */
    int64_t erases_past_allowance;      /* the most by which a call passed 1 + ceil(bytes it consumed / block x WA) */
    uint64_t owed_pages;                /* pages of the user's bytes that were written and perhaps not programmed yet */
    double extra_pages_per_4k;          /* the most pages that a call programmed beyond those, for each 4 KiB that it began */

    FILE *call_lines;                   /* each call of the stretch: its name and its time; NULL: not asked for */

    bool samples_lost;                  /* no memory for a sample */
    bool keep_calls;                    /* every call's cost, by kind */
    struct series_set calls;
    struct series_set steps;            /* whole operations that the workload names */
    struct vflash_counts step_start;

    struct record_extra extras[RECORD_EXTRAS_MAX];
    uint32_t extra_count;
    uint32_t wear_least[RECORD_LEAST_MAX], wear_least_count;     /* erases of the least worn blocks, ascending, where wear is looked at */
    uint32_t wear_first[RECORD_LEAST_MAX], wear_first_count;     /* erases of the chip's first blocks: file systems that have fixed blocks have them there */

    struct record_retired retired[RECORD_RETIRED_MAX];
    uint32_t retired_count;

    uint64_t overwrites;                /* of a workload that goes from front to back: how many there were */
    uint64_t operations;
    uint64_t bytes_written, bytes_read; /* by the user */
    uint64_t unmount_program_pages, unmount_us;

    bool marked;                        /* the present operation is one that the workload tells apart */
    uint64_t operation_start_pages, operation_start_bytes, operation_start_user;
    uint64_t marked_operations, marked_program_pages, marked_program_bytes, marked_user_bytes;

    uint32_t window;                    /* operations in a window; 0: none */
    uint64_t window_start_pages;
    uint64_t windows_program_pages[RECORD_WINDOWS_MAX];
    uint32_t windows;
};

void record_init(struct record *record, struct vflash *chip, const struct tap *tap);

/* Between these two everything counts; several stretches add up. */
void record_begin(struct record *record);
void record_end(struct record *record);

/* Before a call that writes so many bytes of the user. */
void record_call_writes(struct record *record, uint32_t bytes);
/* Around each call of the file system. */
void record_call_begin(struct record *record);
void record_call_end(struct record *record, const char *name);
/* The same for idle work: not a foreground call. */
void record_maintain_end(struct record *record);

/* Around an operation of several calls (or of one that has a meaning of its own). */
void record_step_begin(struct record *record);
void record_step_end(struct record *record, const char *name);
/* The same, by a name that a number is put in, for its %u. */
void record_step_numbered(struct record *record, const char *format, uint32_t number);

/* A figure of this workload's own; `key` becomes a key of the row. */
void record_extra(struct record *record, const char *key, double value);

/* The present operation also counts among the marked ones. */
void record_mark(struct record *record);

/* One operation of the user is complete. */
void record_operation(struct record *record);

/* Erases in units of the chip's block size. */
uint64_t record_erases(const struct record *record);

void record_close(struct record *record);

#endif
