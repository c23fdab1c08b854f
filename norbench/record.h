/* SPDX-License-Identifier: BSD-2-Clause */
/* record.h - what one cell measured: counter deltas, the worst call, windows. */
#ifndef RECORD_H
#define RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "tap.h"
#include "vflash.h"

#define RECORD_WINDOWS_MAX 64u

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

    uint64_t worst_call_us;
    const char *worst_call_name;
    uint64_t worst_call_erases;         /* erase operations, whatever their size */
    uint64_t most_erases_in_call, most_read_pages_in_call;
    uint64_t worst_maintain_us;

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

/* Around each call of the file system. */
void record_call_begin(struct record *record);
void record_call_end(struct record *record, const char *name);
/* The same for idle work: not a foreground call. */
void record_maintain_end(struct record *record);

/* The present operation also counts among the marked ones. */
void record_mark(struct record *record);

/* One operation of the user is complete. */
void record_operation(struct record *record);

/* Erases in units of the chip's block size. */
uint64_t record_erases(const struct record *record);

#endif
