/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * age.c - what a long life costs: many mixed calls, then the same traffic on a fresh copy of the content.
 *
 * `fill` percent of the space offered are used: half of that by large files that are overwritten in places and never
 * written as a whole, a quarter by small files, the rest by logs and files that are streamed. With the load "overwrite" all
 * are files of 16 KiB, and each operation overwrites up to 600 B of one, at any byte. `count` operations age the
 * volume. Then some are measured on it (the row's counts), as many as leave a fresh volume nearly as it was: one for each KiB of
 * content, four times. At last, four times, the chip is formatted, the same files are written anew, the copy is used until
 * once its capacity was programmed, and a quarter of that number is measured there. In between the volume is filled up: how
 * much of what it offered after its format could be used?
 */
#include <stdio.h>
#include <stdlib.h>

#include "workload.h"

#define PATH_SIZE 40u
#define TABLE_SIZE (128u * KIB)
#define TABLE_LEAST (8u * KIB)
#define OVERWRITE_MAX (4u * KIB)
#define SMALL_LEAST 100u
#define SMALL_MOST 4000u
#define SMALL_FILES_IN_DIRECTORY 500u
#define PIECED_SIZE (16u * KIB)         /* files of the load "overwrite" */
#define PIECE_MOST 600u
#define LOGS 8u
#define LOG_LEAST (2u * KIB)
#define STREAM_SIZE (16u * KIB)
#define READ_SIZE KIB
#define COPIES 4u
#define MEASURED_LEAST 100u             /* on a copy */
#define FILLER "/filler"

struct age {
    uint64_t offered;                   /* bytes, by the file system after its format */
    uint64_t content;                   /* bytes that are in use, of these */
    enum workload_load load;
    uint32_t tables, table_size, small_files, streams, log_limit, next_stream;
};

/* What the preparation leaves for the run. */
static struct age age_state;

static uint32_t pick(struct bench *bench, uint32_t bound)
{
    return payload_below(&bench->picks, bound);
}

/* ---- content --------------------------------------------------------------------------------------- */

static void path_of(char path[PATH_SIZE], const char *stem, uint32_t index)
{
    snprintf(path, PATH_SIZE, "%s%04u", stem, (unsigned)index);
}

static void small_path(char path[PATH_SIZE], uint32_t index)
{
    snprintf(path, PATH_SIZE, "/small%03u/s%05u", (unsigned)(index / SMALL_FILES_IN_DIRECTORY), (unsigned)index);
}

static uint32_t small_size(struct bench *bench)
{
    return SMALL_LEAST + payload_below(&bench->sizes, SMALL_MOST - SMALL_LEAST + 1);
}

static uint32_t at_least(uint64_t value, uint32_t least)
{
    return value > least ? (uint32_t)value : least;
}

static void share_out(struct age *age, uint64_t used, enum workload_load load)
{
    if (load == LOAD_OVERWRITE) {
        age->tables = at_least(used / PIECED_SIZE, 1);
        age->table_size = PIECED_SIZE;
        return;
    }
    uint64_t tables = used / 2;
    age->tables = at_least(tables / TABLE_SIZE, 1);
    age->table_size = at_least(tables / age->tables / KIB * KIB, TABLE_LEAST);
    age->small_files = at_least(used / 4 / ((SMALL_LEAST + SMALL_MOST) / 2), 1);
    age->streams = at_least(used / 8 / STREAM_SIZE, 1);
    age->log_limit = at_least(used / 8 / (2 * LOGS), LOG_LEAST);
}

static void make_content(struct bench *bench, const struct age *age)
{
    char path[PATH_SIZE];
    for (uint32_t i = 0; i < age->tables && bench_ok(bench); i++) {
        path_of(path, "/table", i);
        bench_put(bench, path, age->table_size, 4 * KIB);
    }
    for (uint32_t i = 0; i < age->small_files && bench_ok(bench); i++) {
        if (i % SMALL_FILES_IN_DIRECTORY == 0) {
            snprintf(path, sizeof(path), "/small%03u", (unsigned)(i / SMALL_FILES_IN_DIRECTORY));
            bench_mkdir(bench, path);
        }
        uint32_t size = small_size(bench);
        small_path(path, i);
        bench_put(bench, path, size, size);
    }
}

/* ---- operations ------------------------------------------------------------------------------------ */

static void overwrite_table(struct bench *bench, const struct age *age)
{
    char path[PATH_SIZE];
    uint32_t size = age->load == LOAD_OVERWRITE ? 1 + payload_below(&bench->sizes, PIECE_MOST) : 64u << payload_below(&bench->sizes, 7);
    path_of(path, "/table", pick(bench, age->tables));
    struct bench_file file = bench_open(bench, path, VFS_READ | VFS_WRITE);
    bench_seek(bench, &file, payload_below(&bench->offsets, age->table_size - OVERWRITE_MAX + 1));
    bench_write(bench, &file, size);
    bench_close(bench, &file);
}

static void append_log(struct bench *bench, const struct age *age)
{
    char path[PATH_SIZE], old[PATH_SIZE];
    uint32_t index = pick(bench, LOGS), size = 16 + payload_below(&bench->sizes, 49);
    path_of(path, "/log", index);
    path_of(old, "/old", index);
    const struct model_node *node = model_find(&bench->model, path);
    if (node != NULL && node->size + size > age->log_limit) {
        bench_rename(bench, path, old);
    }
    struct bench_file file = bench_open(bench, path, VFS_WRITE | VFS_CREATE | VFS_APPEND);
    bench_write(bench, &file, size);
    bench_close(bench, &file);
}

static void replace_small(struct bench *bench, const struct age *age)
{
    char path[PATH_SIZE];
    uint32_t size = small_size(bench);
    small_path(path, pick(bench, age->small_files));
    bench_put(bench, "/small.new", size, size);
    bench_rename(bench, "/small.new", path);
}

static void stream_file(struct bench *bench, struct age *age)
{
    char path[PATH_SIZE];
    path_of(path, "/stream", age->next_stream++ % age->streams);
    if (model_find(&bench->model, path) != NULL) {
        bench_remove(bench, path);
    }
    bench_put(bench, path, STREAM_SIZE, 4 * KIB);
}

static void read_piece(struct bench *bench, const struct age *age)
{
    char path[PATH_SIZE];
    path_of(path, "/table", pick(bench, age->tables));
    struct bench_file file = bench_open(bench, path, VFS_READ);
    bench_seek(bench, &file, payload_below(&bench->offsets, age->table_size - READ_SIZE + 1));
    bench_read(bench, &file, READ_SIZE);
    bench_close(bench, &file);
}

static void stat_small(struct bench *bench, const struct age *age)
{
    char path[PATH_SIZE];
    small_path(path, pick(bench, age->small_files));
    bench_stat(bench, path);
}

static void operate(struct bench *bench, struct age *age)
{
    uint32_t kind = pick(bench, 100);
    record_step_begin(&bench->record);
    if (kind < 35 || age->load == LOAD_OVERWRITE) {
        overwrite_table(bench, age);
    } else if (kind < 60) {
        append_log(bench, age);
    } else if (kind < 80) {
        replace_small(bench, age);
    } else if (kind < 85) {
        stream_file(bench, age);
    } else if (kind < 95) {
        read_piece(bench, age);
    } else {
        stat_small(bench, age);
    }
    record_step_end(&bench->record, "operation");
    bench_operation(bench);
}

static void operations(struct bench *bench, struct age *age, uint32_t count)
{
    for (uint32_t i = 0; i < count && bench_ok(bench); i++) {
        operate(bench, age);
        if (i % 5000 == 0) {
            bench_progress(bench, i, count);
        }
    }
}

/* Operations whose cost is measured on a fresh copy. */
static uint32_t measured_count(const struct age *age)
{
    return at_least(age->content / KIB, MEASURED_LEAST);
}

/* The time that so many operations take. */
static uint64_t measured_us(struct bench *bench, uint32_t count)
{
    uint64_t start = vflash_counts(bench->chip)->time_us;
    operations(bench, &age_state, count);
    return vflash_counts(bench->chip)->time_us - start;
}

void age_prepare(struct bench *bench, const struct workload *workload)
{
    struct vfs_space space = {0, 0, 0, 0};
    age_state = (struct age){0};
    if (workload->load != LOAD_MIXED && workload->load != LOAD_OVERWRITE) {
        bench_fail(bench, "the loads of age are mixed and overwrite");
    }
    bench->idle_always = true;
    if (bench_ok(bench) && bench->fs.ops->statfs(bench->fs.context, &space) < 0) {
        bench_fail(bench, "statfs failed");
    }
    age_state.offered = space.free_bytes;
    age_state.content = space.free_bytes * workload->fill / 100;
    age_state.load = workload->load;
    share_out(&age_state, age_state.content, workload->load);
    make_content(bench, &age_state);
    operations(bench, &age_state, workload->count);
}

/* ---- what is left of the space, and the copy ----------------------------------------------------------- */

static uint64_t content_bytes(const struct bench *bench)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < MODEL_BUCKETS; i++) {
        for (const struct model_node *node = bench->model.buckets[i]; node != NULL; node = node->next) {
            sum += node->size;
        }
    }
    return sum;
}

/* Fills the volume up with one file, which is then removed. Returns the bytes that it held, as far as they were synced. */
static uint64_t fill_up(struct bench *bench)
{
    uint64_t synced = 0;
    struct bench_file file = bench_open(bench, FILLER, VFS_WRITE | VFS_CREATE | VFS_APPEND);
    bench->may_fill = true;
    while (bench_ok(bench)) {
        bench_write(bench, &file, 4 * KIB);
        bench_sync(bench, &file);
        synced += bench_ok(bench) ? 4 * KIB : 0;
    }
    bench_close(bench, &file);
    if (bench_settle(bench, FILLER)) {
        bench_remove(bench, FILLER);
    }
    bench->may_fill = false;
    return synced;
}

struct entry {
    char path[VFS_PATH_MAX];
    bool directory;
    uint32_t size;
};

/* The names of the model in order, directories before what is in them; the list is the caller's. */
static struct entry *list_content(struct bench *bench, uint32_t *count)
{
    const struct model_node **nodes = model_sorted(&bench->model, count);
    struct entry *entries = nodes != NULL ? calloc(*count + 1, sizeof(*entries)) : NULL;
    for (uint32_t i = 0; entries != NULL && i < *count; i++) {
        snprintf(entries[i].path, sizeof(entries[i].path), "%s", nodes[i]->path);
        entries[i].directory = nodes[i]->directory;
        entries[i].size = nodes[i]->size;
    }
    free(nodes);
    return entries;
}

/* Formats the chip and writes what was there anew, each file in one go. */
static void make_copy(struct bench *bench)
{
    uint32_t count;
    struct entry *entries = list_content(bench, &count);
    if (entries == NULL) {
        bench_fail(bench, "no memory on this computer");
        return;
    }
    bench_unmount(bench);
    bench_format(bench);
    model_close(&bench->model);
    model_open(&bench->model);
    bench_mount(bench);
    for (uint32_t i = 0; i < count && bench_ok(bench); i++) {
        if (entries[i].directory) {
            bench_mkdir(bench, entries[i].path);
        } else {
            bench_put(bench, entries[i].path, entries[i].size, 4 * KIB);
        }
    }
    free(entries);
}

/* Traffic until the erased blocks of the format are used up. */
static void use_up_erased(struct bench *bench, const struct workload *workload)
{
    const struct vflash_chip *chip = vflash_chip_of(bench->chip);
    uint64_t end = vflash_counts(bench->chip)->program_pages + chip->size / chip->page_size;
    for (uint32_t i = 0; i < workload->count && vflash_counts(bench->chip)->program_pages < end && bench_ok(bench); i++) {
        operate(bench, &age_state);
    }
}

/* Microseconds an operation on fresh copies. */
static double copies_us(struct bench *bench, const struct workload *workload)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < COPIES && bench_ok(bench); i++) {
        make_copy(bench);
        use_up_erased(bench, workload);
        sum += measured_us(bench, measured_count(&age_state));
    }
    return (double)sum / COPIES / measured_count(&age_state);
}

void age_run(struct bench *bench, const struct workload *workload)
{
    uint32_t count = COPIES * measured_count(&age_state);
    double aged = (double)measured_us(bench, count) / count;
    record_end(&bench->record);
    uint64_t used = content_bytes(bench);
    double kept = (double)(used + fill_up(bench)) / (double)age_state.offered;
    double copy = copies_us(bench, workload);
    record_extra(&bench->record, "aged_us", aged);
    record_extra(&bench->record, "copy_us", copy);
    record_extra(&bench->record, "age_ratio", copy > 0 ? aged / copy : 0);
    record_extra(&bench->record, "content_bytes", (double)used);
    record_extra(&bench->record, "offered_bytes", (double)age_state.offered);
    record_extra(&bench->record, "offer_kept", kept);
}
