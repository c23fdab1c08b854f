/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wear.c - the same traffic beside cold files until blocks were erased so often in the mean: how level is wear?
 *
 * `fill` percent of the space that the file system offers after its format are used, `cold` percent of that by files
 * that never change. The rest is the traffic's: small files that are replaced, logs, or 4 KiB overwrites (`load`), or
 * all three with a third each. With `end`, each write is a session of its own: mount, one write, then an unmount or a
 * loss of power. Idle time (--maintain) follows each write.
 */
#include <stdio.h>

#include "block_wear.h"
#include "workload.h"

#define PATH_SIZE 40u
#define COLD_FILE (64u * KIB)
#define SMALL_FILE 1500u
#define SMALL_FILES_IN_DIRECTORY 500u
#define APPEND 32u
#define LOGS 4u
#define LOG_LEAST 256u
#define OVERWRITE (4u * KIB)
#define MEAN_DEFAULT 100u
#define PAYLOAD_LIMIT 16u               /* chips' worth of payload for each erase of the mean: a file system that hardly erases ends, too */

struct traffic {
    uint32_t small_files, log_limit, hot_size;      /* 0: none of this kind */
};

/* ---- preparation -------------------------------------------------------------------------------- */

static uint64_t space_offered(struct bench *bench)
{
    struct vfs_space space = {0, 0, 0, 0};
    if (bench_ok(bench) && bench->fs.ops->statfs(bench->fs.context, &space) < 0) {
        bench_fail(bench, "statfs failed");
    }
    return space.free_bytes;
}

static void make_cold(struct bench *bench, uint64_t bytes)
{
    bench_mkdir(bench, "/cold");
    for (uint32_t i = 0; bytes > 0 && bench_ok(bench); i++) {
        char path[PATH_SIZE];
        uint32_t size = bytes < COLD_FILE ? (uint32_t)bytes : COLD_FILE;
        snprintf(path, sizeof(path), "/cold/c%05u", (unsigned)i);
        bench_put(bench, path, size, 4 * KIB);
        bytes -= size;
    }
}

static void small_path(char path[PATH_SIZE], uint32_t index)
{
    snprintf(path, PATH_SIZE, "/set%03u/s%05u", (unsigned)(index / SMALL_FILES_IN_DIRECTORY), (unsigned)index);
}

static void make_small(struct bench *bench, uint32_t count)
{
    char path[PATH_SIZE];
    for (uint32_t i = 0; i < count && bench_ok(bench); i++) {
        if (i % SMALL_FILES_IN_DIRECTORY == 0) {
            snprintf(path, sizeof(path), "/set%03u", (unsigned)(i / SMALL_FILES_IN_DIRECTORY));
            bench_mkdir(bench, path);
        }
        small_path(path, i);
        bench_put(bench, path, SMALL_FILE, SMALL_FILE);
    }
}

static bool has(const struct workload *workload, enum workload_load load)
{
    return workload->load == LOAD_MIXED || workload->load == load;
}

/* Shares the hot bytes out among the kinds of traffic. */
static struct traffic share_out(const struct workload *workload, uint64_t hot)
{
    struct traffic traffic = {0, 0, 0};
    uint64_t share = workload->load == LOAD_MIXED ? hot / 3 : hot;
    if (has(workload, LOAD_FILES)) {
        traffic.small_files = share > SMALL_FILE ? (uint32_t)(share / SMALL_FILE) : 1;
    }
    if (has(workload, LOAD_LOG)) {
        uint64_t limit = share / (2 * LOGS);
        traffic.log_limit = limit > LOG_LEAST ? (uint32_t)limit : LOG_LEAST;
    }
    if (has(workload, LOAD_OVERWRITE)) {
        traffic.hot_size = share > OVERWRITE ? (uint32_t)(share / OVERWRITE * OVERWRITE) : OVERWRITE;
    }
    return traffic;
}

/* What the preparation leaves for the run. */
static struct traffic wear_traffic;

void wear_prepare(struct bench *bench, const struct workload *workload)
{
    uint64_t used = space_offered(bench) * workload->fill / 100, cold = used * workload->cold / 100;
    wear_traffic = share_out(workload, used - cold);
    make_cold(bench, cold);
    make_small(bench, wear_traffic.small_files);
    if (wear_traffic.hot_size > 0) {
        bench_put(bench, "/hot", wear_traffic.hot_size, 4 * KIB);
    }
    record_extra(&bench->record, "prepared_bytes", (double)used);
    if (workload->end != END_NONE) {
        bench_unmount(bench);
    }
}

/* ---- traffic ------------------------------------------------------------------------------------- */

static void replace_small(struct bench *bench, const struct traffic *traffic)
{
    char path[PATH_SIZE];
    small_path(path, payload_below(&bench->picks, traffic->small_files));
    bench_put(bench, path, SMALL_FILE, SMALL_FILE);
}

static void append_log(struct bench *bench, const struct traffic *traffic)
{
    char path[PATH_SIZE], old[PATH_SIZE];
    uint32_t index = payload_below(&bench->picks, LOGS);
    snprintf(path, sizeof(path), "/log%u", (unsigned)index);
    snprintf(old, sizeof(old), "/log%u.1", (unsigned)index);
    const struct model_node *node = model_find(&bench->model, path);
    if (node != NULL && node->size + APPEND > traffic->log_limit) {
        bench_rename(bench, path, old);
    }
    struct bench_file file = bench_open(bench, path, VFS_WRITE | VFS_CREATE | VFS_APPEND);
    bench_write(bench, &file, APPEND);
    bench_close(bench, &file);
}

static void overwrite_hot(struct bench *bench, const struct traffic *traffic)
{
    struct bench_file file = bench_open(bench, "/hot", VFS_READ | VFS_WRITE);
    bench_seek(bench, &file, payload_below(&bench->offsets, traffic->hot_size / OVERWRITE) * OVERWRITE);
    bench_write(bench, &file, OVERWRITE);
    bench_close(bench, &file);
}

static void write_once(struct bench *bench, const struct workload *workload, const struct traffic *traffic)
{
    enum workload_load load = workload->load;
    if (load == LOAD_MIXED) {
        load = LOAD_FILES + payload_below(&bench->picks, 3);
    }
    if (load == LOAD_FILES) {
        replace_small(bench, traffic);
    } else if (load == LOAD_LOG) {
        append_log(bench, traffic);
    } else {
        overwrite_hot(bench, traffic);
    }
    bench_operation(bench);
}

static void session(struct bench *bench, const struct workload *workload, const struct traffic *traffic)
{
    if (workload->end != END_NONE) {
        bench_mount(bench);
    }
    write_once(bench, workload, traffic);
    if (workload->end == END_CUT) {
        bench_drop(bench);
    } else if (workload->end == END_UNMOUNT) {
        bench_unmount(bench);
    }
}

void wear_run(struct bench *bench, const struct workload *workload)
{
    uint32_t mean = bench->erases_mean != 0 ? bench->erases_mean : MEAN_DEFAULT;
    uint64_t wanted = (uint64_t)mean * wear_blocks(bench);
    uint64_t limit = (uint64_t)PAYLOAD_LIMIT * mean * vflash_chip_of(bench->chip)->size;
    for (uint32_t i = 1; wear_erased(bench) < wanted && bench->record.bytes_written < limit && bench_ok(bench); i++) {
        session(bench, workload, &wear_traffic);
        if (i % 1024 == 0) {
            bench_progress(bench, (double)wear_erased(bench) / wear_blocks(bench), mean);
        }
    }
    wear_record(bench);
    wear_write(bench);
}
