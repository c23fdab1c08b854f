/* SPDX-License-Identifier: BSD-2-Clause */
/* mount.c - mounts of blank, used and cut volumes, and the first write after. */
#include <stdio.h>

#include "workload.h"

static const struct workload small_files = {.size = 32};
static const struct workload updates = {.count = 20};

static void write_log(struct bench *bench)
{
    struct bench_file file = bench_open(bench, "/log.txt", VFS_WRITE | VFS_CREATE | VFS_APPEND);
    for (uint32_t i = 0; i < 128 * KIB / 32 && bench_ok(bench); i++) {
        bench_write(bench, &file, 32);
    }
    bench_close(bench, &file);
}

/* 100 files of 32 B, one of 2 MiB, a log of 128 KiB. */
void mount_prepare_small(struct bench *bench, const struct workload *workload)
{
    small_files_prepare(bench, &small_files);
    big_file_prepare(bench, workload);
    write_log(bench);
}

/* The Busybox tree, the same, and 20 random updates of 1 KiB. */
void mount_prepare_full(struct bench *bench, const struct workload *workload)
{
    busybox_burn(bench, workload);
    small_files_prepare(bench, &small_files);
    big_file_prepare(bench, workload);
    random_write_run(bench, &updates);
    write_log(bench);
}

void mount_run(struct bench *bench, const struct workload *workload)
{
    for (uint32_t i = 0; i < workload->count && bench_ok(bench); i++) {
        if (i > 0) {
            bench_unmount(bench);
        }
        bench_mount(bench);
        bench_operation(bench);
    }
}

/* What the volume held is gone. */
void format_run(struct bench *bench, const struct workload *workload)
{
    (void)workload;
    bench_format(bench);
    model_close(&bench->model);
    model_open(&bench->model);
    bench_operation(bench);
}

void mount_write_run(struct bench *bench, const struct workload *workload)
{
    (void)workload;
    bench_mount(bench);
    bench_put(bench, "/first.txt", 32, 32);
    bench_operation(bench);
}
