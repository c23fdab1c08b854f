/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sensing.c - bursts of sensor data: streamed in, condensed into a second file, streamed out; and mounts at a given fill.
 * As in "vFLASHSIM" (sections 4 and 5): a chunk is a page of 256 B; condensing reads a page and writes half of one.
 */
#include <stdio.h>

#include "workload.h"

#define DATA "/data.bin"
#define CONDENSED "/condensed.bin"
#define CHUNK 256u
#define GROUP 4u                /* pseudo-sequential: forward over three chunks to the fourth, then back for the three */
#define FILL_FILE (64u * KIB)

void stream_in_run(struct bench *bench, const struct workload *workload)
{
    struct bench_file file = bench_open(bench, DATA, VFS_WRITE | VFS_CREATE | VFS_TRUNC);
    for (uint32_t at = 0; at < workload->size && bench_ok(bench); at += CHUNK) {
        bench_write(bench, &file, CHUNK);
        bench_operation(bench);
    }
    bench_close(bench, &file);
}

void stream_prepare(struct bench *bench, const struct workload *workload)
{
    bench_put(bench, DATA, workload->size, 4 * KIB);
}

/* The place of the n-th chunk that is read. */
static uint32_t chunk_at(const struct workload *workload, uint32_t n)
{
    if (workload->variant != VARIANT_BACKWARD) {
        return n;
    }
    uint32_t inside = n % GROUP;
    return n - inside + (inside == 0 ? GROUP - 1 : inside - 1);
}

static void read_chunk(struct bench *bench, const struct workload *workload, struct bench_file *file, uint32_t n)
{
    if (workload->variant == VARIANT_BACKWARD) {
        bench_seek(bench, file, chunk_at(workload, n) * CHUNK);
    }
    bench_read(bench, file, CHUNK);
}

void stream_out_run(struct bench *bench, const struct workload *workload)
{
    struct bench_file file = bench_open(bench, DATA, VFS_READ);
    for (uint32_t n = 0; n < workload->size / CHUNK && bench_ok(bench); n++) {
        read_chunk(bench, workload, &file, n);
        bench_operation(bench);
    }
    bench_close(bench, &file);
}

void stream_condense_run(struct bench *bench, const struct workload *workload)
{
    struct bench_file in = bench_open(bench, DATA, VFS_READ);
    struct bench_file out = bench_open(bench, CONDENSED, VFS_WRITE | VFS_CREATE | VFS_TRUNC);
    for (uint32_t n = 0; n < workload->size / CHUNK && bench_ok(bench); n++) {
        read_chunk(bench, workload, &in, n);
        bench_write(bench, &out, CHUNK / 2);
        bench_operation(bench);
    }
    bench_close(bench, &out);
    bench_close(bench, &in);
}

/* ---- mounts at a fill ----------------------------------------------------------------------------- */

void mount_fill_prepare(struct bench *bench, const struct workload *workload)
{
    uint32_t files = (uint32_t)((uint64_t)vflash_chip_of(bench->chip)->size * workload->fill / 100 / FILL_FILE);
    for (uint32_t i = 0; i < files && bench_ok(bench); i++) {
        char path[32];
        snprintf(path, sizeof(path), "/f%05u", (unsigned)i);
        bench_put(bench, path, FILL_FILE, 4 * KIB);
    }
}

/* ---- reads of a large file ------------------------------------------------------------------------ */

void read_prepare(struct bench *bench, const struct workload *workload)
{
    bench_put(bench, DATA, (uint32_t)((uint64_t)vflash_chip_of(bench->chip)->size * workload->fill / 100), 4 * KIB);
}

/* `count` accesses of `size` bytes in an open file, one after the other or at random multiples of the size. */
void read_run(struct bench *bench, const struct workload *workload)
{
    struct bench_file file = bench_open(bench, DATA, VFS_READ);
    uint32_t pieces = file.node != NULL ? file.node->size / workload->size : 0;
    uint64_t start_us = vflash_counts(bench->chip)->time_us, start_ns = vflash_counts(bench->chip)->time_byte_ns;
    for (uint32_t i = 0; i < workload->count && bench_ok(bench) && pieces > 0; i++) {
        bool random = workload->variant == VARIANT_SHUFFLED;
        if (random || i % pieces == 0) {
            bench_seek(bench, &file, (random ? payload_below(&bench->offsets, pieces) : 0) * workload->size);
        }
        bench_read(bench, &file, workload->size);
        bench_operation(bench);
    }
    double bytes = (double)workload->count * workload->size;
    double us = (double)(vflash_counts(bench->chip)->time_us - start_us);
    double ns = (double)(vflash_counts(bench->chip)->time_byte_ns - start_ns);
    if (bench_ok(bench) && us > 0 && ns > 0) {
        record_extra(&bench->record, "speed_kib_s", bytes / 1024 / (us / 1e6));
        record_extra(&bench->record, "speed_byte_kib_s", bytes / 1024 / (ns / 1e9));
    }
    bench_close(bench, &file);
}
