/* SPDX-License-Identifier: BSD-2-Clause */
/* stream.c - sequential and random accesses to one large file. */
#include <stdio.h>

#include "workload.h"

#define BIG_FILE "/big.bin"
#define BIG_SIZE (2u * MIB)
#define ACCESS KIB

/* Ten files of 2, 4 .. 20 KB in units of 1 KB. */
void seqio_run(struct bench *bench, const struct workload *workload)
{
    (void)workload;
    for (uint32_t i = 1; i <= 10 && bench_ok(bench); i++) {
        char path[32];
        snprintf(path, sizeof(path), "/seq%u", (unsigned)i);
        bench_step_begin(bench);
        struct bench_file file = bench_open(bench, path, VFS_WRITE | VFS_CREATE);
        for (uint32_t unit = 0; unit < 2 * i && bench_ok(bench); unit++) {
            bench_write(bench, &file, KIB);
            bench_operation(bench);
        }
        bench_close(bench, &file);
        bench_step_end(bench, "file: %u KB", 2 * i);
    }
}

void seqread_run(struct bench *bench, const struct workload *workload)
{
    (void)workload;
    for (uint32_t i = 1; i <= 10 && bench_ok(bench); i++) {
        char path[32];
        snprintf(path, sizeof(path), "/seq%u", (unsigned)i);
        bench_step_begin(bench);
        struct bench_file file = bench_open(bench, path, VFS_READ);
        for (uint32_t unit = 0; unit < 2 * i && bench_ok(bench); unit++) {
            bench_read(bench, &file, KIB);
            bench_operation(bench);
        }
        bench_close(bench, &file);
        bench_step_end(bench, "file: %u KB", 2 * i);
    }
}

static void write_big(struct bench *bench, bool durable, bool counted)
{
    struct bench_file file = bench_open(bench, BIG_FILE, VFS_WRITE | VFS_CREATE);
    for (uint32_t done = 0; done < BIG_SIZE && bench_ok(bench); done += 4 * KIB) {
        bench_write(bench, &file, 4 * KIB);
        if (durable) {
            bench_sync(bench, &file);
        }
        if (counted) {
            bench_operation(bench);
        }
    }
    bench_close(bench, &file);
}

void swrite_run(struct bench *bench, const struct workload *workload)
{
    (void)workload;
    write_big(bench, false, true);
}

void swrite_durable_run(struct bench *bench, const struct workload *workload)
{
    (void)workload;
    write_big(bench, true, true);
}

void big_file_prepare(struct bench *bench, const struct workload *workload)
{
    (void)workload;
    write_big(bench, false, false);
}

/* The steps of a short row: its accesses two by two, as papers draw them. */
#define SHORT_ROW 20u

static void step_of(struct bench *bench, const struct workload *workload, uint32_t i)
{
    if (workload->count == SHORT_ROW && i % 2 == 1) {
        bench_step_end(bench, "up to: %u KB", i + 1);
        bench_step_begin(bench);
    }
}

static uint32_t random_offset(struct bench *bench)
{
    return payload_below(&bench->offsets, BIG_SIZE - ACCESS + 1);
}

void random_read_run(struct bench *bench, const struct workload *workload)
{
    bench_step_begin(bench);
    struct bench_file file = bench_open(bench, BIG_FILE, VFS_READ);
    for (uint32_t i = 0; i < workload->count && bench_ok(bench); i++) {
        bench_seek(bench, &file, random_offset(bench));
        bench_read(bench, &file, ACCESS);
        bench_operation(bench);
        step_of(bench, workload, i);
    }
    bench_close(bench, &file);
}

void random_write_run(struct bench *bench, const struct workload *workload)
{
    bench_step_begin(bench);
    struct bench_file file = bench_open(bench, BIG_FILE, VFS_READ | VFS_WRITE);
    for (uint32_t i = 0; i < workload->count && bench_ok(bench); i++) {
        bench_seek(bench, &file, random_offset(bench));
        bench_write(bench, &file, ACCESS);
        bench_sync(bench, &file);
        bench_operation(bench);
        step_of(bench, workload, i);
    }
    bench_close(bench, &file);
}

void model_file_prepare(struct bench *bench, const struct workload *workload)
{
    bench_put(bench, "/model.tflite", workload->size, 4 * KIB);
}

/* A neural network's weights, read from front to back for each inference. */
void model_file_read(struct bench *bench, const struct workload *workload)
{
    struct bench_file file = bench_open(bench, "/model.tflite", VFS_READ);
    for (uint32_t i = 0; i < workload->count && bench_ok(bench); i++) {
        bench_seek(bench, &file, 0);
        for (uint32_t done = 0; done < workload->size && bench_ok(bench); done += KIB) {
            bench_read(bench, &file, KIB);
            bench_operation(bench);
        }
    }
    bench_close(bench, &file);
}
