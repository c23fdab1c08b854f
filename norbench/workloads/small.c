/* SPDX-License-Identifier: BSD-2-Clause */
/* small.c - many small files: create, read, delete, overwrite. */
#include <stdio.h>

#include "workload.h"

#define FILES 100u
#define NAME_SIZE 64u

#define NAMES_SEED 42u          /* its names are those of the reference: data/reference.csv */
#define STEM_MOST 12u

/* Every other seed has names of another length. */
static void small_name(const struct bench *bench, char *path, uint32_t index)
{
    char stem[STEM_MOST + 1] = "f";
    if (bench->seed != NAMES_SEED) {
        struct pcg32 letters;
        payload_seed(&letters, bench->seed, PAYLOAD_NAMES);
        uint32_t length = 1 + payload_below(&letters, STEM_MOST);
        for (uint32_t i = 0; i < length; i++) {
            stem[i] = (char)('a' + payload_below(&letters, 26));
        }
        stem[length] = '\0';
    }
    snprintf(path, NAME_SIZE, "/%s%03u", stem, (unsigned)index);
}

void create_run(struct bench *bench, const struct workload *workload)
{
    for (uint32_t i = 0; i < FILES && bench_ok(bench); i++) {
        char path[NAME_SIZE];
        small_name(bench, path, i);
        bench_put(bench, path, workload->size, workload->size);
        bench_operation(bench);
    }
}

/* The name is made durable, empty, before the first byte is written. */
void create_synced_run(struct bench *bench, const struct workload *workload)
{
    for (uint32_t i = 0; i < FILES && bench_ok(bench); i++) {
        char path[NAME_SIZE];
        small_name(bench, path, i);
        struct bench_file file = bench_open(bench, path, VFS_WRITE | VFS_CREATE);
        bench_sync(bench, &file);
        bench_write(bench, &file, workload->size);
        bench_close(bench, &file);
        bench_operation(bench);
    }
}

void small_files_prepare(struct bench *bench, const struct workload *workload)
{
    create_run(bench, workload);
}

static void get_small(struct bench *bench, uint32_t index, uint32_t size)
{
    char path[NAME_SIZE];
    small_name(bench, path, index);
    struct bench_file file = bench_open(bench, path, VFS_READ);
    bench_read(bench, &file, size);
    bench_close(bench, &file);
    bench_operation(bench);
}

void small_files_read(struct bench *bench, const struct workload *workload)
{
    for (uint32_t i = 0; i < FILES && bench_ok(bench); i++) {
        get_small(bench, i, workload->size);
    }
}

/* Each file once, in a shuffled order. */
void small_files_read_random(struct bench *bench, const struct workload *workload)
{
    uint32_t order[FILES];
    for (uint32_t i = 0; i < FILES; i++) {
        uint32_t other = payload_below(&bench->picks, i + 1);
        order[i] = order[other];
        order[other] = i;
    }
    for (uint32_t i = 0; i < FILES && bench_ok(bench); i++) {
        get_small(bench, order[i], workload->size);
    }
}

void small_files_delete(struct bench *bench, const struct workload *workload)
{
    (void)workload;
    for (uint32_t i = 0; i < FILES && bench_ok(bench); i++) {
        char path[NAME_SIZE];
        small_name(bench, path, i);
        bench_remove(bench, path);
        bench_operation(bench);
    }
}

static void overwrite_synced(struct bench *bench, struct bench_file *file, uint32_t size, uint32_t times)
{
    for (uint32_t i = 0; i < times && bench_ok(bench); i++) {
        bench_seek(bench, file, 0);
        bench_write(bench, file, size);
        bench_sync(bench, file);
        bench_operation(bench);
    }
}

static void read_again(struct bench *bench, struct bench_file *file, uint32_t size, uint32_t times)
{
    for (uint32_t i = 0; i < times && bench_ok(bench); i++) {
        bench_seek(bench, file, 0);
        bench_read(bench, file, size);
        bench_operation(bench);
    }
}

/* Written and closed; opened, overwritten with a sync each; opened again and read. */
static void exercise_file(struct bench *bench, const char *path, uint32_t size, uint32_t overwrites, uint32_t reads, bool steps)
{
    bench_step_begin(bench);
    bench_put(bench, path, size, size);
    struct bench_file file = bench_open(bench, path, VFS_READ | VFS_WRITE);
    overwrite_synced(bench, &file, size, overwrites);
    bench_close(bench, &file);
    if (steps) {
        bench_step_end(bench, "written: %u B", size);
        bench_step_begin(bench);
    }
    file = bench_open(bench, path, VFS_READ);
    read_again(bench, &file, size, reads);
    bench_close(bench, &file);
    if (steps) {
        bench_step_end(bench, "read: %u B", size);
    }
}

/* Ten files of 2, 4 .. 1024 B; those of at most 256 B are overwritten; each is read. */
void smallio_run(struct bench *bench, const struct workload *workload)
{
    for (uint32_t size = 2; size <= 1024 && bench_ok(bench); size *= 2) {
        char path[NAME_SIZE];
        snprintf(path, sizeof(path), "/small%u", (unsigned)size);
        exercise_file(bench, path, size, size <= 256 ? workload->count : 0, workload->count, true);
        bench_operation(bench);
    }
}

static void fill_directory(struct bench *bench, const char *directory, uint32_t times)
{
    for (uint32_t i = 0; i < 10 && bench_ok(bench); i++) {
        char path[VFS_PATH_MAX];
        snprintf(path, sizeof(path), "%s/f%u", directory, (unsigned)i);
        exercise_file(bench, path, 2u << i, times, times, false);
    }
}

/* Five nested levels; in each ten files of 2 .. 1024 B, each overwritten ten times, opened again and read ten times. */
void dirs_run(struct bench *bench, const struct workload *workload)
{
    char directory[VFS_PATH_MAX - 64] = "";
    size_t length = 0;
    for (uint32_t level = 0; level < 5 && bench_ok(bench); level++) {
        length += (size_t)snprintf(directory + length, sizeof(directory) - length, "/d%u", (unsigned)level);
        bench_mkdir(bench, directory);
        fill_directory(bench, directory, workload->count);
    }
}
