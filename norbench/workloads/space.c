/* SPDX-License-Identifier: BSD-2-Clause */
/* space.c - how much of the chip files can fill before there is no space. */
#include <stdio.h>

#include "workload.h"

#define IDLE_US 1000000u
#define IDLE_CALLS_MAX 100000u          /* as much idle time as it takes, but not for ever */

static double share_of(const struct bench *bench, uint64_t bytes)
{
    return (double)bytes / vflash_chip_of(bench->chip)->size;
}

/* "No space" was expected and is over: further calls are made again. */
static void go_on(struct bench *bench)
{
    bench->full = false;
}

/* ---- many small files --------------------------------------------------------------------------- */

struct filling {
    uint32_t names, files;      /* tried, and written */
    uint32_t directories, in_directory;
};

static void next_directory(struct bench *bench, struct filling *filling)
{
    char path[64];
    snprintf(path, sizeof(path), "/d%04u", (unsigned)filling->directories);
    bench_mkdir(bench, path);
    if (bench_ok(bench)) {
        filling->directories++;
        filling->in_directory = 0;
    }
}

/* Files of `size` bytes, `count` in a directory, until one finds no space: its name may be there, without its content. */
static void fill_small(struct bench *bench, const struct workload *workload, struct filling *filling)
{
    char path[64];
    while (bench_ok(bench)) {
        if (filling->directories == 0 || filling->in_directory == workload->count) {
            next_directory(bench, filling);
        }
        if (!bench_ok(bench)) {
            return;
        }
        snprintf(path, sizeof(path), "/d%04u/f%07u", (unsigned)filling->directories - 1, (unsigned)filling->names++);
        bench_put(bench, path, workload->size, workload->size);
        bench_operation(bench);
        if (bench_ok(bench)) {
            filling->files++;
            filling->in_directory++;
            if (filling->files % 4096 == 0) {
                bench_progress(bench, share_of(bench, (uint64_t)filling->files * workload->size), 1);
            }
        }
    }
}

/* Returns whether there is idle work at all. */
static bool idle(struct bench *bench)
{
    uint32_t calls = 0;
    while (bench_idle(bench, IDLE_US) && calls < IDLE_CALLS_MAX) {
        calls++;
    }
    return bench->fs.ops->maintain != NULL;
}

void space_small_run(struct bench *bench, const struct workload *workload)
{
    struct filling filling = {0, 0, 0, 0};
    uint32_t before = 0;
    bench->may_fill = true;
    fill_small(bench, workload, &filling);
    record_extra(&bench->record, "share", share_of(bench, (uint64_t)filling.files * workload->size));
    while (filling.files > before + before / 1000) {    /* what idle time makes room for is filled, too */
        before = filling.files;
        go_on(bench);
        if (!idle(bench)) {
            break;
        }
        fill_small(bench, workload, &filling);
    }
    record_extra(&bench->record, "share_maintained", share_of(bench, (uint64_t)filling.files * workload->size));
    record_extra(&bench->record, "files", filling.files);
}

/* ---- one large file ----------------------------------------------------------------------------- */

#define LARGE_FILE "/large.bin"
#define SYNC_BYTES (256u * KIB)

/*
 * Appends pieces until there is no space. What was synced must be there: after the refusal the file is as long as
 * the model says, or the cell fails. A file system may lose what was not synced, so the smallest pieces are synced each.
 */
static void append_until_full(struct bench *bench, uint32_t piece)
{
    struct bench_file file = bench_open(bench, LARGE_FILE, VFS_WRITE | VFS_CREATE | VFS_APPEND);
    uint32_t synced = file.node != NULL ? file.node->size : 0;
    while (bench_ok(bench)) {
        bench_write(bench, &file, piece);
        if (bench_ok(bench) && file.node->size - synced >= (piece < SYNC_BYTES ? piece : SYNC_BYTES)) {
            bench_sync(bench, &file);
            synced = bench_ok(bench) ? file.node->size : synced;
        }
        bench_operation(bench);
    }
    bench_close(bench, &file);
}

/* What the file system holds after a refusal is what the model has from here on. */
static void settle_large(struct bench *bench)
{
    struct vfs_stat stat = {false, 0};
    struct model_node *node = model_find(&bench->model, LARGE_FILE);
    go_on(bench);
    bench_remount(bench);
    if (node == NULL || !bench_ok(bench)) {
        return;
    }
    if (bench->fs.ops->stat(bench->fs.context, LARGE_FILE, &stat) < 0 || stat.size > node->size) {
        bench_fail(bench, "after \"no space\" the file is gone, or longer than what was written");
        return;
    }
    node->size = stat.size;
    node->uncertain = false;
}

void space_large_run(struct bench *bench, const struct workload *workload)
{
    static const uint32_t pieces[] = {64 * KIB, 4 * KIB};
    (void)workload;
    bench->may_fill = true;
    for (unsigned i = 0; i < sizeof(pieces) / sizeof(pieces[0]) && !bench->failed; i++) {
        append_until_full(bench, pieces[i]);
        settle_large(bench);
    }
    const struct model_node *node = model_find(&bench->model, LARGE_FILE);
    record_extra(&bench->record, "share", share_of(bench, node != NULL ? node->size : 0));
}
