/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * calls.c - calls that no other workload makes: truncation both ways, blocks set aside, whole files in one call, what is given up,
 * the state of the volume, idle time of any length. Of all that the others cannot do elsewhere, only what a file system has is called
 * (`more` of vfs.h).
 */
#include <stdio.h>

#include "workload.h"

#define PATH_SIZE 48u
#define COLD_SIZE (128u * KIB)
#define FREE_BYTES (768u * KIB)         /* left beside the cold files */
#define FILES 6u
#define FILE_MAX (40u * KIB)
#define SAVE_MAX (12u * KIB)

static uint32_t pick(struct bench *bench, uint32_t bound)
{
    return payload_below(&bench->picks, bound);
}

void calls_prepare(struct bench *bench, const struct workload *workload)
{
    uint64_t bytes = (uint64_t)vflash_chip_of(bench->chip)->size * workload->fill / 100;
    uint32_t files = bytes > FREE_BYTES ? (uint32_t)((bytes - FREE_BYTES) / COLD_SIZE) : 0;
    char path[PATH_SIZE];
    bench_mkdir(bench, "/cold");
    for (uint32_t i = 0; i < files && bench_ok(bench); i++) {
        snprintf(path, sizeof(path), "/cold/c%04u", (unsigned)i);
        bench_put(bench, path, COLD_SIZE, 4 * KIB);
    }
}

/* A file of any kind: small, whole, in pieces after a few rounds. */
static void resize(struct bench *bench, struct bench_file *file)
{
    uint32_t size = file->node->size, other = pick(bench, 4) == 0 ? 0 : pick(bench, 2) == 0 ? pick(bench, size + 1) : pick(bench, FILE_MAX);
    bench_truncate(bench, file, other);
    bench_more(bench, file, VFS_SIZE, 0, (int32_t)other);
    if (pick(bench, 2) == 0) {
        bench_sync(bench, file);
    }
}

static void set_aside(struct bench *bench, struct bench_file *file)
{
    uint32_t size = file->node->size, more = pick(bench, 16 * KIB);
    bench_more(bench, file, VFS_PREALLOCATE, size + more, 0);
    bench_seek(bench, file, size);
    bench_more(bench, file, VFS_TELL, 0, (int32_t)size);
    bench_write(bench, file, more / 2 + 1);
    bench_sync(bench, file);
}

/* Many places under one sync. */
static void scatter(struct bench *bench, struct bench_file *file)
{
    for (uint32_t i = 0, count = 1 + pick(bench, 12); i < count && file->node->size > 0 && bench_ok(bench); i++) {
        bench_seek(bench, file, pick(bench, file->node->size));
        bench_write(bench, file, 1 + pick(bench, 600));
    }
    bench_sync(bench, file);
}

/* A whole file, up to some blocks; and what is given up leaves it as it is. */
static void in_one_call(struct bench *bench, const char *path)
{
    bench_save(bench, path, pick(bench, 2) == 0 ? pick(bench, 200) : pick(bench, SAVE_MAX));
    bench_write_and_discard(bench, path, 1 + pick(bench, SAVE_MAX));
    bench_load(bench, path);
}

static void look_around(struct bench *bench)
{
    bench_statfs(bench);
    bench_more(bench, NULL, VFS_HEALTH, 0, 0);
    bench_rewind(bench, "/");
}

void calls_run(struct bench *bench, const struct workload *workload)
{
    char path[PATH_SIZE];
    for (uint32_t i = 0; i < workload->count / bench->part && bench->fs.ops->more != NULL && bench_ok(bench); i++) {
        snprintf(path, sizeof(path), "/file%u", (unsigned)pick(bench, FILES));
        struct bench_file file = bench_open(bench, path, VFS_READ | VFS_WRITE | VFS_CREATE);
        if (bench_ok(bench)) {
            static void (*const acts[])(struct bench *, struct bench_file *) = {set_aside, resize, resize, scatter};
            acts[pick(bench, 4)](bench, &file);
        }
        bench_close(bench, &file);
        if (pick(bench, 4) == 0) {
            in_one_call(bench, path);
        }
        look_around(bench);
        if (pick(bench, 8) == 0) {
            (void)bench_idle(bench, 1000u << pick(bench, 11));
        }
        bench_operation(bench);
    }
    if (bench->fs.ops->more != NULL) {
        bench_more(bench, NULL, VFS_CHECK, 0, 0);
    }
}
