/* SPDX-License-Identifier: BSD-2-Clause */
/* busybox.c - the tree of a small Linux: one binary, 399 applet links as files of 7 to 17 B. */
#include <stdio.h>

#include "workload.h"

#define BINARY_SIZE 2675216u

struct folder {
    const char *path;       /* "" is the root */
    uint32_t files;
};

/* Depth first. */
static const struct folder folders[] = {{"/bin", 93}, {"/sbin", 72}, {"/usr", 0}, {"/usr/bin", 175}, {"/usr/sbin", 59}, {"", 1}};

/* A name of 1 to 17 letters that is not taken in its folder. */
static void new_name(struct bench *bench, const struct folder *folder, char *path, size_t size)
{
    do {
        char name[18];
        uint32_t length = 1 + payload_below(&bench->names, 17);
        for (uint32_t i = 0; i < length; i++) {
            name[i] = (char)('a' + payload_below(&bench->names, 26));
        }
        name[length] = '\0';
        snprintf(path, size, "%s/%s", folder->path, name);
    } while (model_find(&bench->model, path) != NULL);
}

static void burn_folder(struct bench *bench, const struct folder *folder, bool with_binary)
{
    if (folder->path[0] != '\0') {
        bench_mkdir(bench, folder->path);
    }
    for (uint32_t i = 0; i < folder->files && bench_ok(bench); i++) {
        char path[VFS_PATH_MAX];
        if (i == 0 && with_binary) {
            bench_put(bench, "/bin/busybox", BINARY_SIZE, 4 * KIB);
        } else {
            uint32_t size = 7 + payload_below(&bench->sizes, 11);
            new_name(bench, folder, path, sizeof(path));
            bench_put(bench, path, size, size);
        }
        bench_operation(bench);
    }
}

void busybox_burn(struct bench *bench, const struct workload *workload)
{
    (void)workload;
    for (uint32_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        burn_folder(bench, &folders[i], i == 0);
    }
}

static void traverse_entry(struct bench *bench, const char *path, bool directory)
{
    bench_stat(bench, path);
    if (directory) {
        bench_list(bench, path, traverse_entry);
    } else {
        bench_operation(bench);
    }
}

void busybox_traverse(struct bench *bench, const struct workload *workload)
{
    (void)workload;
    bench_list(bench, "/", traverse_entry);
}

static void read_entry(struct bench *bench, const char *path, bool directory)
{
    if (directory) {
        bench_list(bench, path, read_entry);
    } else {
        bench_get(bench, path, 4 * KIB);
        bench_operation(bench);
    }
}

void busybox_read_all(struct bench *bench, const struct workload *workload)
{
    (void)workload;
    bench_list(bench, "/", read_entry);
}
