/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * overwrite.c - synced random overwrites of one file (or of many small ones), measured in the steady state.
 *
 * Steady: twice the chip's capacity was overwritten first. What is then measured is once the capacity. A file
 * system that is too slow for that is stopped by flash time or by pages read (the limits below, above what the slowest
 * row needs at its bound); `steady` is then 0.
 */
#include <stdio.h>

#include "bound.h"
#include "workload.h"

#define FILE_NAME "/data.bin"
#define SMALL_FILE (64u * KIB)
#define RANGE (128u * KIB)              /* too small for large erases to be filled with it */
#define PATH_SIZE 32u
#define WARM_CHIPS 2u
#define UNIFORM 50u                     /* percent of the writes in as many percent of the data */
#define SCATTER 2654435761u             /* a prime above any number of pieces: spreads the hot part over the file */

struct limits {
    uint64_t us, read_pages;
};

/* For 16 MiB; a larger chip is overwritten for longer. */
static const struct limits warm_limits = {750000000, 60000000};         /* at the bound: 460 s at most */
static const struct limits measured_limits = {300000000, 30000000};     /* 230 s */

static uint32_t file_size(const struct bench *bench, const struct workload *workload)
{
    uint32_t size = (uint32_t)((uint64_t)vflash_chip_of(bench->chip)->size * workload->fill / 100);
    return size / (64 * KIB) * (64 * KIB);
}

static uint32_t access_size(struct bench *bench, const struct workload *workload)
{
    bool large = workload->variant == VARIANT_MIXED && payload_below(&bench->sizes, 5) == 0;
    return large ? 4 * KIB : workload->size;
}

static uint32_t offset_of(struct bench *bench, const struct workload *workload, uint32_t file, uint32_t access)
{
    if (workload->variant == VARIANT_UNALIGNED) {
        return payload_below(&bench->offsets, file - access + 1);
    }
    if (workload->variant == VARIANT_IN_ORDER) {
        return (uint32_t)(bench->record.overwrites++ % (file / access)) * access;
    }
    uint32_t pieces = (workload->variant == VARIANT_RANGE && file > RANGE ? RANGE : file) / access;
    if (workload->variant != VARIANT_SKEWED) {
        return payload_below(&bench->offsets, pieces) * access;
    }
    uint32_t one_in = 100 / (100 - workload->hot), hot = pieces / one_in;
    bool pick_hot = payload_below(&bench->picks, one_in) != 0;
    uint64_t piece = pick_hot ? payload_below(&bench->offsets, hot) : hot + payload_below(&bench->offsets, pieces - hot);
    return (uint32_t)(piece * SCATTER % pieces) * access;
}

/* Where an access goes: the one file, or a small one and the place in that. */
static uint32_t place_of(const struct workload *workload, uint32_t offset, char path[PATH_SIZE])
{
    if (workload->variant != VARIANT_FILES) {
        snprintf(path, PATH_SIZE, FILE_NAME);
        return offset;
    }
    snprintf(path, PATH_SIZE, "/data%04u.bin", (unsigned)(offset / SMALL_FILE));
    return offset % SMALL_FILE;
}

static bool within(const struct bench *bench, const struct vflash_counts *start, const struct limits *limits)
{
    const struct vflash_counts *now = vflash_counts(bench->chip);
    uint32_t size = vflash_chip_of(bench->chip)->size, scale = size > 16 * MIB ? size / (16 * MIB) : 1;
    return now->time_us - start->time_us < limits->us * scale && now->read_pages - start->read_pages < limits->read_pages * scale;
}

/* Overwrites until `bytes` are written or a limit is reached; returns the bytes written. */
static uint64_t overwrite(struct bench *bench, const struct workload *workload, uint64_t bytes, const struct limits *limits)
{
    uint64_t written = 0;
    struct vflash_counts start = *vflash_counts(bench->chip);
    bool one = workload->variant != VARIANT_FILES;
    struct bench_file file;
    char path[PATH_SIZE];
    if (one) {
        place_of(workload, 0, path);
        file = bench_open(bench, path, VFS_READ | VFS_WRITE);
    }
    while (written < bytes && within(bench, &start, limits) && bench_ok(bench)) {
        uint32_t access = access_size(bench, workload);
        uint32_t place = place_of(workload, offset_of(bench, workload, file_size(bench, workload), access), path);
        if (!one) {
            file = bench_open(bench, path, VFS_READ | VFS_WRITE);
        }
        bench_seek(bench, &file, place);
        bench_write(bench, &file, access);
        bench_sync(bench, &file);
        if (!one) {
            bench_close(bench, &file);
        }
        bench_operation(bench);
        written += access;
        if (written / MIB != (written - access) / MIB) {
            bench_progress(bench, (double)written / MIB, (double)bytes / MIB);
        }
    }
    if (one) {
        bench_close(bench, &file);
    }
    return written;
}

void overwrite_prepare(struct bench *bench, const struct workload *workload)
{
    uint64_t wanted = (uint64_t)WARM_CHIPS * vflash_chip_of(bench->chip)->size / bench->part;
    bench->idle_always = true;
    for (uint32_t at = 0, size = file_size(bench, workload); at < size && bench_ok(bench);) {
        char path[PATH_SIZE];
        uint32_t length = workload->variant == VARIANT_FILES ? SMALL_FILE : size;
        place_of(workload, at, path);
        bench_put(bench, path, length, 4 * KIB);
        at += length;
    }
    uint64_t written = overwrite(bench, workload, wanted, &warm_limits);
    record_extra(&bench->record, "warm_bytes", (double)written);
    bench->stopped = written < wanted;
    bench->record.amplification = bound_amplification(workload->fill / 100.0);
}

void overwrite_run(struct bench *bench, const struct workload *workload)
{
    const struct vflash_chip *chip = vflash_chip_of(bench->chip);
    uint64_t start_us = vflash_counts(bench->chip)->time_us;
    uint64_t wanted = chip->size / bench->part, written = overwrite(bench, workload, wanted, &measured_limits);
    bench->stopped = bench->stopped || written < wanted || bench->part > 1;
    record_extra(&bench->record, "steady", bench->stopped ? 0 : 1);
    double seconds = (double)(vflash_counts(bench->chip)->time_us - start_us) / 1e6;
    if (bench_ok(bench) && seconds > 0) {
        record_extra(&bench->record, "speed_kib_s", (double)written / 1024 / seconds);
        record_extra(&bench->record, "bound_kib_s", bound_overwrite_kib_s(chip, workload->fill / 100.0, workload->size, workload->hot != 0 ? workload->hot : UNIFORM));
    }
}

void overwrite_read_run(struct bench *bench, const struct workload *workload)
{
    uint32_t size = file_size(bench, workload);
    struct bench_file file = bench_open(bench, FILE_NAME, VFS_READ);
    for (uint32_t i = 0; i < workload->count && bench_ok(bench); i++) {
        bench_seek(bench, &file, payload_below(&bench->offsets, size - KIB + 1));
        record_step_begin(&bench->record);
        bench_read(bench, &file, KIB);
        record_step_end(&bench->record, "random read");
        bench_operation(bench);
    }
    bench_seek(bench, &file, 0);
    record_step_begin(&bench->record);
    for (uint32_t done = 0; done < size && bench_ok(bench); done += 4 * KIB) {
        bench_read(bench, &file, 4 * KIB);
        bench_operation(bench);
    }
    record_step_end(&bench->record, "sequential read");
    bench_close(bench, &file);
}
