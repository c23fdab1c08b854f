/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mixed.c - a long run of calls of all kinds on a chip that is filled to a share, for the cost of each
 * kind of call.
 *
 * Cold files fill the chip but for a MiB, in which everything happens: synced appends to logs, synced overwrites at
 * any byte, small files made, replaced and removed, files of 16 KiB streamed and removed, directories made and
 * removed, reads, stats, listings. As many operations again run before the measured ones.
 */
#include <stdio.h>
#include <string.h>

#include "bound.h"
#include "workload.h"

#define PATH_SIZE 48u
#define HOT_BYTES MIB
#define LOGS 8u
#define LOG_MAX (32u * KIB)
#define TABLES 4u
#define TABLE_SIZE (96u * KIB)
#define SMALL_FILES 200u
#define STREAMS 12u
#define READ_PAGES_MAX 60000000u        /* 12,000 for each operation */
#define STREAM_SIZE (16u * KIB)

struct mixed {
    uint32_t cold_files;
    uint32_t log_size[LOGS];
    bool small[SMALL_FILES], stream[STREAMS];
    uint32_t next_stream, next_dir;
};

static uint32_t pick(struct bench *bench, uint32_t bound)
{
    return payload_below(&bench->picks, bound);
}

static void name(char *path, const char *stem, uint32_t index)
{
    snprintf(path, PATH_SIZE, "%s%04u", stem, (unsigned)index);
}

/* ---- preparation -------------------------------------------------------------------------------- */

/* Cold files are whole blocks, so that what is lost to rounding does not count as fill. */
static void fill(struct bench *bench, struct mixed *mixed, uint32_t percent)
{
    uint64_t bytes = (uint64_t)vflash_chip_of(bench->chip)->size * percent / 100;
    bytes = bytes > HOT_BYTES ? bytes - HOT_BYTES : 0;
    bench_mkdir(bench, "/cold");
    while (bytes >= 4 * KIB && bench_ok(bench)) {
        char path[PATH_SIZE];
        uint32_t size = (4 + payload_below(&bench->sizes, 61)) * 4 * KIB;
        size = size < bytes ? size : (uint32_t)(bytes / (4 * KIB) * (4 * KIB));
        name(path, "/cold/c", mixed->cold_files++);
        bench_put(bench, path, size, 4 * KIB);
        bytes -= size;
    }
}

static void make_hot(struct bench *bench)
{
    char path[PATH_SIZE];
    bench_mkdir(bench, "/log");
    bench_mkdir(bench, "/set");
    bench_mkdir(bench, "/run");
    for (uint32_t i = 0; i < TABLES; i++) {
        name(path, "/table", i);
        bench_put(bench, path, TABLE_SIZE, 4 * KIB);
    }
}

/* ---- operations --------------------------------------------------------------------------------- */

static void append_log(struct bench *bench, struct mixed *mixed)
{
    char path[PATH_SIZE];
    uint32_t index = pick(bench, LOGS), size = 16 + payload_below(&bench->sizes, 49);
    bool restart = mixed->log_size[index] + size > LOG_MAX;
    name(path, "/log/l", index);
    struct bench_file file = bench_open(bench, path, VFS_WRITE | VFS_CREATE | VFS_APPEND | (restart ? VFS_TRUNC : 0));
    bench_write(bench, &file, size);
    bench_sync(bench, &file);
    bench_close(bench, &file);
    mixed->log_size[index] = (restart ? 0 : mixed->log_size[index]) + size;
}

static void overwrite_table(struct bench *bench)
{
    char path[PATH_SIZE];
    uint32_t size = 64u << payload_below(&bench->sizes, 7);     /* up to 4 KiB */
    name(path, "/table", pick(bench, TABLES));
    struct bench_file file = bench_open(bench, path, VFS_READ | VFS_WRITE);
    bench_seek(bench, &file, payload_below(&bench->offsets, TABLE_SIZE - size + 1));
    bench_write(bench, &file, size);
    bench_sync(bench, &file);
    bench_close(bench, &file);
}

static void put_small(struct bench *bench, struct mixed *mixed)
{
    char path[PATH_SIZE], other[PATH_SIZE];
    uint32_t index = pick(bench, SMALL_FILES), size = 20 + payload_below(&bench->sizes, 381);
    name(path, "/set/s", index);
    snprintf(other, sizeof(other), "%s.new", path);
    bench_put(bench, mixed->small[index] ? other : path, size, size);
    if (mixed->small[index]) {
        bench_rename(bench, other, path);
    }
    mixed->small[index] = true;
}

static void remove_small(struct bench *bench, struct mixed *mixed)
{
    char path[PATH_SIZE];
    uint32_t start = pick(bench, SMALL_FILES);
    for (uint32_t i = 0; i < SMALL_FILES; i++) {
        uint32_t index = (start + i) % SMALL_FILES;
        if (mixed->small[index]) {
            mixed->small[index] = false;
            name(path, "/set/s", index);
            bench_remove(bench, path);
            return;
        }
    }
}

static void stream_file(struct bench *bench, struct mixed *mixed)
{
    char path[PATH_SIZE];
    uint32_t index = mixed->next_stream++ % STREAMS;
    name(path, "/run/r", index);
    if (mixed->stream[index]) {
        bench_remove(bench, path);
    }
    bench_put(bench, path, STREAM_SIZE, 4 * KIB);
    mixed->stream[index] = true;
}

static void make_and_remove_directory(struct bench *bench, struct mixed *mixed)
{
    char path[PATH_SIZE];
    name(path, "/run/d", mixed->next_dir++ % 10000);
    bench_mkdir(bench, path);
    bench_remove(bench, path);
}

static void cold_or_hot(struct bench *bench, const struct mixed *mixed, char *path)
{
    bool cold = mixed->cold_files > 0 && pick(bench, 2) == 0;
    name(path, cold ? "/cold/c" : "/table", pick(bench, cold ? mixed->cold_files : TABLES));
}

static void read_piece(struct bench *bench, const struct mixed *mixed)
{
    char path[PATH_SIZE];
    cold_or_hot(bench, mixed, path);
    struct bench_file file = bench_open(bench, path, VFS_READ);
    uint32_t size = file.node != NULL ? file.node->size : 0;
    bench_seek(bench, &file, size > KIB ? payload_below(&bench->offsets, size - KIB + 1) : 0);
    bench_read(bench, &file, KIB);
    bench_close(bench, &file);
}

static void stat_one(struct bench *bench, const struct mixed *mixed)
{
    char path[PATH_SIZE];
    cold_or_hot(bench, mixed, path);
    bench_stat(bench, path);
}

static void operate(struct bench *bench, struct mixed *mixed)
{
    uint32_t kind = pick(bench, 100);
    if (kind < 25) {
        append_log(bench, mixed);
    } else if (kind < 45) {
        overwrite_table(bench);
    } else if (kind < 60) {
        put_small(bench, mixed);
    } else if (kind < 65) {
        remove_small(bench, mixed);
    } else if (kind < 80) {
        read_piece(bench, mixed);
    } else if (kind < 90) {
        stat_one(bench, mixed);
    } else if (kind < 95) {
        stream_file(bench, mixed);
    } else if (kind < 99) {
        make_and_remove_directory(bench, mixed);
    } else {
        bench_list(bench, "/set", NULL);
    }
    bench_operation(bench);
}

/* A file system that reads without end is stopped; `steady` of the row is then 0. */
static void operations(struct bench *bench, struct mixed *mixed, uint32_t count)
{
    uint64_t last = vflash_counts(bench->chip)->read_pages + READ_PAGES_MAX;
    uint32_t i = 0;
    for (; i < count && vflash_counts(bench->chip)->read_pages < last && bench_ok(bench); i++) {
        operate(bench, mixed);
        if (i % 500 == 0) {
            bench_progress(bench, i, count);
        }
    }
    bench->stopped = bench->stopped || i < count;
}

/* What the preparation leaves for the run. */
static struct mixed mixed_state;

void mixed_prepare(struct bench *bench, const struct workload *workload)
{
    memset(&mixed_state, 0, sizeof(mixed_state));
    bench->idle_always = true;
    fill(bench, &mixed_state, workload->fill);
    make_hot(bench);
    operations(bench, &mixed_state, workload->count / bench->part);
    bench->record.keep_calls = true;
    bench->record.amplification = bound_amplification(workload->fill / 100.0);
}

void mixed_run(struct bench *bench, const struct workload *workload)
{
    operations(bench, &mixed_state, workload->count / bench->part);
    record_extra(&bench->record, "steady", bench->stopped ? 0 : 1);
}
