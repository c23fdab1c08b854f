/* SPDX-License-Identifier: BSD-2-Clause */
/* log.c - files that only grow. */
#include "workload.h"

#define APPENDS 16384u
#define SAMPLES 100000u

static void append(struct bench *bench, const char *path, uint32_t appends, const struct workload *workload)
{
    struct bench_file file = bench_open(bench, path, VFS_WRITE | VFS_CREATE | VFS_APPEND);
    for (uint32_t i = 1; i <= appends && bench_ok(bench); i++) {
        uint32_t size = workload->size != 0 ? workload->size : 16 + payload_below(&bench->sizes, 49);
        bench_write(bench, &file, size);
        if (workload->count != 0 && i % workload->count == 0) {
            bench_sync(bench, &file);
        }
        bench_operation(bench);
    }
    bench_close(bench, &file);
}

void log_run(struct bench *bench, const struct workload *workload)
{
    append(bench, "/log.txt", APPENDS, workload);
}

void health_run(struct bench *bench, const struct workload *workload)
{
    append(bench, "/health.dat", SAMPLES, workload);
}
