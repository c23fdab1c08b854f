/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wake.c - a device that sleeps without power: it wakes, mounts, appends to a log, closes it, and loses
 * power (or unmounts first).
 *
 * Wakes take the `logs` files in turn. A log that has grown to its share replaces the one before it, so that logs and
 * predecessors together never hold more than `fill` percent of the chip. `cold` percent hold a file that stays as it is.
 * The step "wake" of the row is everything from the mount to the end of a wake.
 */
#include <stdio.h>
#include <string.h>

#include "block_wear.h"
#include "workload.h"

#define PATH_SIZE 32u
#define LOGS_MAX 64u
#define PROGRESS 5000u

static void cold_file(struct bench *bench, const struct workload *workload)
{
    uint32_t size = (uint32_t)((uint64_t)vflash_chip_of(bench->chip)->size * workload->cold / 100);
    if (size > 0) {
        bench_put(bench, "/cold", size, 4 * KIB);
    }
}

void wake_prepare(struct bench *bench, const struct workload *workload)
{
    cold_file(bench, workload);
}

static void finish_session(struct bench *bench, enum workload_end end)
{
    if (end == END_CUT) {
        bench_drop(bench);
    } else {
        bench_unmount(bench);
    }
}

static void append(struct bench *bench, const struct workload *workload, uint32_t index, uint32_t limit)
{
    char path[PATH_SIZE], old[PATH_SIZE];
    snprintf(path, sizeof(path), "/log%02u", (unsigned)index);
    snprintf(old, sizeof(old), "/log%02u.1", (unsigned)index);
    const struct model_node *node = model_find(&bench->model, path);
    if (node != NULL && node->size + workload->size > limit) {
        bench_rename(bench, path, old);
    }
    struct bench_file file = bench_open(bench, path, VFS_WRITE | VFS_CREATE | VFS_APPEND);
    bench_write(bench, &file, workload->size);
    bench_close(bench, &file);
}

void wake_run(struct bench *bench, const struct workload *workload)
{
    uint32_t limit = (uint32_t)((uint64_t)vflash_chip_of(bench->chip)->size * workload->fill / 100 / (2 * workload->logs));
    for (uint32_t i = 0; i < workload->count && bench_ok(bench); i++) {
        record_step_begin(&bench->record);
        bench_mount(bench);
        append(bench, workload, i % workload->logs, limit);
        bench_operation(bench);
        finish_session(bench, workload->end);
        record_step_end(&bench->record, "wake");
        if (i % PROGRESS == 0) {
            bench_progress(bench, i, workload->count);
        }
    }
    wear_record(bench);
    wear_write(bench);
}
