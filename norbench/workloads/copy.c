/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * copy.c - a tree copied to a volume, and read back after a mount: `count` files that hold `size` KiB together.
 *
 * The steps "copy", "unmount", "mount" and "read" are the stages.
 */
#include <stdio.h>

#include "workload.h"

#define PATH_SIZE 32u
#define PIECE (4u * KIB)

/* The sizes go from half of the mean to one and a half of it. */
static uint32_t size_of(const struct workload *workload, uint32_t index)
{
    uint64_t mean = (uint64_t)workload->size * KIB / workload->count;
    return workload->count == 1 ? (uint32_t)mean : (uint32_t)(mean / 2 + mean * index / (workload->count - 1));
}

static void path_of(char path[PATH_SIZE], uint32_t index)
{
    snprintf(path, PATH_SIZE, "/copy/f%03u.bin", (unsigned)index);
}

void copy_run(struct bench *bench, const struct workload *workload)
{
    char path[PATH_SIZE];
    bench_mkdir(bench, "/copy");
    record_step_begin(&bench->record);
    for (uint32_t i = 0; i < workload->count && bench_ok(bench); i++) {
        path_of(path, i);
        bench_put(bench, path, size_of(workload, i), PIECE);
        bench_operation(bench);
    }
    record_step_end(&bench->record, "copy");
    record_step_begin(&bench->record);
    bench_unmount(bench);
    record_step_end(&bench->record, "unmount");
    record_step_begin(&bench->record);
    bench_mount(bench);
    record_step_end(&bench->record, "mount");
    record_step_begin(&bench->record);
    for (uint32_t i = 0; i < workload->count && bench_ok(bench); i++) {
        path_of(path, i);
        bench_get(bench, path, PIECE);
        bench_operation(bench);
    }
    record_step_end(&bench->record, "read");
}
