/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rotate.c - a log that is rotated through many files: appends of `size` bytes, synced each; a full file becomes number 1, each
 * older one the next number, and the oldest is removed. `logs` files are kept.
 */
#include <stdio.h>

#include "workload.h"

#define PATH_SIZE 32u
#define FULL (8u * KIB)
#define LOG "/log"

static void numbered(char path[PATH_SIZE], uint32_t number)
{
    snprintf(path, PATH_SIZE, LOG ".%u", (unsigned)number);
}

static void rotate(struct bench *bench, uint32_t kept)
{
    char from[PATH_SIZE], to[PATH_SIZE];
    record_step_begin(&bench->record);
    numbered(to, kept);
    if (model_find(&bench->model, to) != NULL) {
        bench_remove(bench, to);
    }
    for (uint32_t i = kept - 1; i >= 1 && bench_ok(bench); i--) {
        numbered(from, i);
        numbered(to, i + 1);
        if (model_find(&bench->model, from) != NULL) {
            bench_rename(bench, from, to);
        }
    }
    numbered(to, 1);
    bench_rename(bench, LOG, to);
    record_step_end(&bench->record, "rotation");
}

void rotate_run(struct bench *bench, const struct workload *workload)
{
    struct bench_file file = bench_open(bench, LOG, VFS_WRITE | VFS_CREATE | VFS_APPEND);
    for (uint32_t i = 0; i < workload->count && bench_ok(bench); i++) {
        if (file.node->size + workload->size > FULL) {
            bench_close(bench, &file);
            rotate(bench, workload->logs);
            file = bench_open(bench, LOG, VFS_WRITE | VFS_CREATE | VFS_APPEND);
        }
        bench_write(bench, &file, workload->size);
        bench_sync(bench, &file);
        bench_operation(bench);
    }
    bench_close(bench, &file);
}
