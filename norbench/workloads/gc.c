/* SPDX-License-Identifier: BSD-2-Clause */
/* gc.c - traffic that forces a file system to reclaim space. */
#include <stdio.h>

#include "workload.h"

#define FILE_SIZE (16u * KIB)
#define STRETCH 100u                    /* files in a step */
#define STRETCH_PERCENT 5u              /* of the chip */

void gcfill_run(struct bench *bench, const struct workload *workload)
{
    for (uint32_t i = 0; i < workload->count && bench_ok(bench); i++) {
        bench_step_begin(bench);
        bench_put(bench, "/fill.bin", FILE_SIZE, 4 * KIB);
        bench_remove(bench, "/fill.bin");
        bench_step_end(bench, "up to: file %u", (i / STRETCH + 1) * STRETCH);
        bench_operation(bench);
    }
}

static void gc_name(char *path, size_t size, uint32_t index)
{
    snprintf(path, size, "/f%05u", (unsigned)index);
}

/* Fill 55% of the chip and delete all. */
void gc55_prepare(struct bench *bench, const struct workload *workload)
{
    (void)workload;
    uint32_t files = (uint32_t)((uint64_t)vflash_chip_of(bench->chip)->size * 55 / 100 / FILE_SIZE);
    char path[32];
    for (uint32_t i = 0; i < files && bench_ok(bench); i++) {
        gc_name(path, sizeof(path), i);
        bench_put(bench, path, FILE_SIZE, 4 * KIB);
    }
    for (uint32_t i = 0; i < files && bench_ok(bench); i++) {
        gc_name(path, sizeof(path), i);
        bench_remove(bench, path);
    }
}

/* Write until there is no space: that is the expected end. */
void gc55_run(struct bench *bench, const struct workload *workload)
{
    (void)workload;
    bench->may_fill = true;
    for (uint32_t i = 0; bench_ok(bench); i++) {
        char path[32];
        gc_name(path, sizeof(path), i);
        bench_step_begin(bench);
        bench_put(bench, path, FILE_SIZE, 4 * KIB);
        uint32_t percent = (uint32_t)(100ull * i * FILE_SIZE / vflash_chip_of(bench->chip)->size);
        bench_step_end(bench, "filled up to: %u%%", (percent / STRETCH_PERCENT + 1) * STRETCH_PERCENT);
        bench_operation(bench);
    }
}

void gc32_run(struct bench *bench, const struct workload *workload)
{
    static const struct workload updates = {.count = 40};
    for (uint32_t i = 0; i < workload->count && bench_ok(bench); i++) {
        bench_put(bench, "/note.txt", 32, 32);
        bench_remove(bench, "/note.txt");
        bench_operation(bench);
    }
    payload_seed(&bench->offsets, bench->seed, PAYLOAD_GC_OFFSETS);
    big_file_prepare(bench, workload);
    random_write_run(bench, &updates);
}
