/* SPDX-License-Identifier: BSD-2-Clause */
/* ota.c - firmware updates: a manifest arrives, then chunks of a binary change. */
#include "workload.h"

#define BINARY "/firmware.bin"
#define NEW_BINARY "/firmware.new"
#define MANIFEST "/manifest"
#define MANIFEST_SIZE 512u
#define CHUNK (4u * KIB)

void ota_prepare(struct bench *bench, const struct workload *workload)
{
    bench_put(bench, BINARY, workload->size, CHUNK);
    payload_seed(&bench->offsets, bench->seed, PAYLOAD_OTA_OFFSETS);
}

static void update_in_place(struct bench *bench, const struct workload *workload, bool aligned)
{
    bench_put(bench, MANIFEST, MANIFEST_SIZE, MANIFEST_SIZE);
    struct bench_file file = bench_open(bench, BINARY, VFS_READ | VFS_WRITE);
    for (uint32_t i = 0; i < workload->count && bench_ok(bench); i++) {
        uint32_t offset = payload_below(&bench->offsets, workload->size - CHUNK + 1);
        bench_seek(bench, &file, aligned ? offset - offset % CHUNK : offset);
        bench_write(bench, &file, CHUNK);
        bench_sync(bench, &file);
        bench_operation(bench);
    }
    bench_close(bench, &file);
}

void ota_run(struct bench *bench, const struct workload *workload)
{
    update_in_place(bench, workload, false);
}

void ota_aligned_run(struct bench *bench, const struct workload *workload)
{
    update_in_place(bench, workload, true);
}

/* The old binary is read and a new one written beside it; then it takes the old one's place. */
void ota_rewrite_run(struct bench *bench, const struct workload *workload)
{
    bench_put(bench, MANIFEST, MANIFEST_SIZE, MANIFEST_SIZE);
    struct bench_file old = bench_open(bench, BINARY, VFS_READ);
    struct bench_file new = bench_open(bench, NEW_BINARY, VFS_WRITE | VFS_CREATE);
    for (uint32_t done = 0; done < workload->size && bench_ok(bench); done += CHUNK) {
        bench_read(bench, &old, CHUNK);
        bench_write(bench, &new, CHUNK);
        bench_operation(bench);
    }
    bench_close(bench, &old);
    bench_close(bench, &new);
    bench_remove(bench, BINARY);
    bench_rename(bench, NEW_BINARY, BINARY);
}
