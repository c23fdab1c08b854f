/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * phase.c - an application that changes what it does: the longest call after the change.
 *
 * Each call of the measured stretch is kept, and the steps of the row tell the stages apart. There is no idle time but
 * that of --maintain.
 */
#include <stdio.h>

#include "workload.h"

#define PATH_SIZE 32u
#define DATA "/data.bin"
#define LARGE "/large.bin"
#define FIRST_ACCESS 256u
#define SECOND_ACCESS (4u * KIB)
#define SMALL_FILE 100u
#define SMALL_FILES_IN_DIRECTORY 500u
#define SMALL_FILE_SPACE 256u           /* what a small file is taken to use of the chip, its name included */
#define MEDIUM_FILE (4u * KIB)
#define REFUSALS 10u

static uint32_t filled_bytes(const struct bench *bench, uint32_t percent)
{
    return (uint32_t)((uint64_t)vflash_chip_of(bench->chip)->size * percent / 100);
}

static void begin_measured(struct bench *bench)
{
    bench->record.keep_calls = true;
}

/* ---- 256 B overwrites, then 4 KiB ones ------------------------------------------------------------ */

static void overwrite(struct bench *bench, uint32_t file_size, uint32_t access, uint32_t count, const char *step)
{
    struct bench_file file = bench_open(bench, DATA, VFS_READ | VFS_WRITE);
    for (uint32_t i = 0; i < count && bench_ok(bench); i++) {
        record_step_begin(&bench->record);
        bench_seek(bench, &file, payload_below(&bench->offsets, file_size / access) * access);
        bench_write(bench, &file, access);
        bench_sync(bench, &file);
        record_step_end(&bench->record, step);
        bench_operation(bench);
        if (i % 1024 == 0) {
            bench_progress(bench, i, count);
        }
    }
    bench_close(bench, &file);
}

static uint32_t data_size(const struct bench *bench, const struct workload *workload)
{
    return filled_bytes(bench, workload->fill) / (64 * KIB) * (64 * KIB);
}

void phase_size_prepare(struct bench *bench, const struct workload *workload)
{
    bench->idle_always = true;
    bench_put(bench, DATA, data_size(bench, workload), 4 * KIB);
    overwrite(bench, data_size(bench, workload), FIRST_ACCESS, vflash_chip_of(bench->chip)->size / FIRST_ACCESS / bench->part, "first");
    begin_measured(bench);
}

void phase_size_run(struct bench *bench, const struct workload *workload)
{
    overwrite(bench, data_size(bench, workload), SECOND_ACCESS, vflash_chip_of(bench->chip)->size / SECOND_ACCESS / bench->part, "second");
}

/* ---- many small files, then one large one ------------------------------------------------------------ */

static void small_path(char path[PATH_SIZE], uint32_t index)
{
    snprintf(path, PATH_SIZE, "/d%04u/f%06u", (unsigned)(index / SMALL_FILES_IN_DIRECTORY), (unsigned)index);
}

static uint32_t small_files(const struct bench *bench, const struct workload *workload)
{
    return filled_bytes(bench, workload->fill) / SMALL_FILE_SPACE / bench->part;
}

void phase_many_prepare(struct bench *bench, const struct workload *workload)
{
    char path[PATH_SIZE];
    bench->idle_always = true;
    for (uint32_t i = 0; i < small_files(bench, workload) && bench_ok(bench); i++) {
        if (i % SMALL_FILES_IN_DIRECTORY == 0) {
            snprintf(path, sizeof(path), "/d%04u", (unsigned)(i / SMALL_FILES_IN_DIRECTORY));
            bench_mkdir(bench, path);
        }
        small_path(path, i);
        bench_put(bench, path, SMALL_FILE, SMALL_FILE);
        bench_operation(bench);
    }
    begin_measured(bench);
}

/* The small files go, and one large file takes as much of the chip. */
void phase_many_run(struct bench *bench, const struct workload *workload)
{
    char path[PATH_SIZE];
    for (uint32_t i = 0; i < small_files(bench, workload) && bench_ok(bench); i++) {
        small_path(path, i);
        record_step_begin(&bench->record);
        bench_remove(bench, path);
        record_step_end(&bench->record, "remove");
        bench_operation(bench);
    }
    struct bench_file file = bench_open(bench, LARGE, VFS_WRITE | VFS_CREATE);
    for (uint32_t i = 0; i < filled_bytes(bench, workload->fill) / bench->part / (4 * KIB) && bench_ok(bench); i++) {
        record_step_begin(&bench->record);
        bench_write(bench, &file, 4 * KIB);
        bench_sync(bench, &file);
        record_step_end(&bench->record, "append");
        bench_operation(bench);
    }
    bench_close(bench, &file);
}

/* ---- full, then emptied ------------------------------------------------------------------------------ */

static void medium_path(char path[PATH_SIZE], uint32_t index)
{
    snprintf(path, PATH_SIZE, "/m%06u", (unsigned)index);
}

/* Makes a file of `MEDIUM_FILE` bytes; whether there was room. What a refusal left of it is gone after that. */
static bool put_medium(struct bench *bench, uint32_t index, const char *step)
{
    char path[PATH_SIZE];
    medium_path(path, index);
    record_step_begin(&bench->record);
    bench_put(bench, path, MEDIUM_FILE, MEDIUM_FILE);
    record_step_end(&bench->record, step);
    if (bench->failed || !bench->full) {
        bench_operation(bench);
        return !bench->failed;
    }
    if (bench_settle(bench, path)) {
        bench_remove(bench, path);
    }
    return false;
}

/* Files until one is refused, ten more refusals, all removed, a quarter of them made anew. */
void phase_empty_run(struct bench *bench, const struct workload *workload)
{
    (void)workload;
    uint32_t files = 0;
    char path[PATH_SIZE];
    begin_measured(bench);
    bench->may_fill = true;
    while (put_medium(bench, files, "fill")) {
        files++;
    }
    for (uint32_t i = 0; i < REFUSALS && !bench->failed; i++) {
        (void)put_medium(bench, files + i, "refused");
    }
    bench->may_fill = false;
    for (uint32_t i = 0; i < files && bench_ok(bench); i++) {
        medium_path(path, i);
        record_step_begin(&bench->record);
        bench_remove(bench, path);
        record_step_end(&bench->record, "remove");
        bench_operation(bench);
    }
    for (uint32_t i = 0; i < files / 4 && bench_ok(bench); i++) {
        (void)put_medium(bench, i, "again");
    }
    record_extra(&bench->record, "files", files);
}
