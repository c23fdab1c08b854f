/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dir.c - one directory of many entries: what each of its operations costs.
 *
 * `steps` of the row: create (open, close; durable), look-up of a name that is there (a stat, in random order), the
 * same with nothing cached (a mount before each, which is not measured), of one that is not, rename, list (all of it) and
 * remove. A file system for which a step takes too long is stopped by flash time: its count says how far it came.
 */
#include <stdio.h>
#include <stdlib.h>

#include "workload.h"

#define DIRECTORY "/dir"
#define STEP_US_MAX 1000000000u         /* flash time of one kind of step */
#define LOOKUPS 1000u
#define COLD_LOOKUPS 100u
#define CHANGES 1000u
#define LONG_TAIL "-a-name-that-is-longer-than-most-names-in-firmware-are"

struct dir {
    struct bench *bench;
    const struct workload *workload;
    uint32_t *order;            /* names in the order of their creation */
    uint32_t entries;           /* created */
};

static void path_of(const struct dir *dir, char *path, size_t size, char kind, uint32_t index)
{
    const char *tail = dir->workload->variant == VARIANT_LONG_NAMES ? LONG_TAIL : "";
    snprintf(path, size, DIRECTORY "/%c%05u%s.dat", kind, (unsigned)index, tail);
}

/* Runs one kind of step `count` times, or until it took too long. Returns how often. */
static uint32_t repeat(struct dir *dir, const char *name, uint32_t count, void (*step)(struct dir *dir, const char *name, uint32_t i))
{
    struct bench *bench = dir->bench;
    uint64_t start_us = vflash_counts(bench->chip)->time_us;
    uint32_t done = 0;
    while (done < count && bench_ok(bench) && vflash_counts(bench->chip)->time_us - start_us < STEP_US_MAX) {
        step(dir, name, done);
        bench_operation(bench);
        done++;
    }
    return done;
}

static uint32_t random_entry(const struct dir *dir)
{
    return dir->order[payload_below(&dir->bench->picks, dir->entries)];
}

static void stat_step(const struct dir *dir, const char *name, char kind, uint32_t index)
{
    char path[VFS_PATH_MAX];
    path_of(dir, path, sizeof(path), kind, index);
    record_step_begin(&dir->bench->record);
    bench_stat(dir->bench, path);
    record_step_end(&dir->bench->record, name);
}

static void create_step(struct dir *dir, const char *name, uint32_t i)
{
    char path[VFS_PATH_MAX];
    path_of(dir, path, sizeof(path), 'f', dir->order[i]);
    record_step_begin(&dir->bench->record);
    bench_put(dir->bench, path, 0, 1);
    record_step_end(&dir->bench->record, name);
}

static void lookup_step(struct dir *dir, const char *name, uint32_t i)
{
    (void)i;
    stat_step(dir, name, 'f', random_entry(dir));
}

/* The mount is not in the totals. */
static void cold_lookup_step(struct dir *dir, const char *name, uint32_t i)
{
    (void)i;
    record_end(&dir->bench->record);
    bench_remount(dir->bench);
    record_begin(&dir->bench->record);
    stat_step(dir, name, 'f', random_entry(dir));
}

static void absent_step(struct dir *dir, const char *name, uint32_t i)
{
    char path[VFS_PATH_MAX];
    (void)i;
    path_of(dir, path, sizeof(path), 'n', random_entry(dir));
    record_step_begin(&dir->bench->record);
    bench_stat_absent(dir->bench, path);
    record_step_end(&dir->bench->record, name);
}

static void list_step(struct dir *dir, const char *name, uint32_t i)
{
    (void)i;
    record_step_begin(&dir->bench->record);
    bench_list(dir->bench, DIRECTORY, NULL);
    record_step_end(&dir->bench->record, name);
}

/* The entries of a shuffled order are renamed, then removed, one after the other. */
static void rename_step(struct dir *dir, const char *name, uint32_t i)
{
    char from[VFS_PATH_MAX], to[VFS_PATH_MAX];
    path_of(dir, from, sizeof(from), 'f', dir->order[i]);
    path_of(dir, to, sizeof(to), 'g', dir->order[i]);
    record_step_begin(&dir->bench->record);
    bench_rename(dir->bench, from, to);
    record_step_end(&dir->bench->record, name);
}

static void remove_step(struct dir *dir, const char *name, uint32_t i)
{
    char path[VFS_PATH_MAX];
    path_of(dir, path, sizeof(path), 'g', dir->order[i]);
    record_step_begin(&dir->bench->record);
    bench_remove(dir->bench, path);
    record_step_end(&dir->bench->record, name);
}

static void shuffle(struct dir *dir, uint32_t count)
{
    for (uint32_t i = count; i > 1; i--) {
        uint32_t other = payload_below(&dir->bench->picks, i);
        uint32_t kept = dir->order[i - 1];
        dir->order[i - 1] = dir->order[other];
        dir->order[other] = kept;
    }
}

static void steps(struct dir *dir)
{
    uint32_t count = dir->workload->count;
    if (dir->workload->variant == VARIANT_SHUFFLED) {
        shuffle(dir, count);
    }
    dir->entries = repeat(dir, "create", count, create_step);
    record_extra(&dir->bench->record, "entries", dir->entries);
    if (dir->entries == 0) {
        return;
    }
    (void)repeat(dir, "look-up", LOOKUPS, lookup_step);
    (void)repeat(dir, "look-up cold", COLD_LOOKUPS, cold_lookup_step);
    (void)repeat(dir, "look-up absent", LOOKUPS, absent_step);
    (void)repeat(dir, "list", 1, list_step);
    shuffle(dir, dir->entries);
    uint32_t changes = dir->entries < CHANGES ? dir->entries : CHANGES;
    uint32_t renamed = repeat(dir, "rename", changes, rename_step);
    (void)repeat(dir, "remove", renamed, remove_step);
}

void dir_run(struct bench *bench, const struct workload *workload)
{
    struct dir dir = {bench, workload, malloc(workload->count * sizeof(*dir.order)), 0};
    if (dir.order == NULL) {
        bench_fail(bench, "no memory on this computer");
        return;
    }
    for (uint32_t i = 0; i < workload->count; i++) {
        dir.order[i] = i;
    }
    bench_mkdir(bench, DIRECTORY);
    steps(&dir);
    free(dir.order);
}
