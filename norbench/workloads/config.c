/* SPDX-License-Identifier: BSD-2-Clause */
/* config.c - settings files that are replaced atomically. */
#include <stdio.h>

#include "workload.h"

#define FILES 40u
#define SMALL 180u                      /* replacements of at most so many bytes are also counted by themselves */

/* Settings spread over nested directories, eight files in each. */
static const char *const directories[] = {"/cfg", "/cfg/a", "/cfg/a/b", "/cfg/c", "/cfg/c/d"};
#define DIRECTORIES (sizeof(directories) / sizeof(directories[0]))

static void config_name(char *path, size_t size, uint32_t index)
{
    snprintf(path, size, "%s/s%02u", directories[index % DIRECTORIES], (unsigned)index);
}

static uint32_t config_size(struct bench *bench)
{
    return 20 + payload_below(&bench->sizes, 381);
}

void config_prepare(struct bench *bench, const struct workload *workload)
{
    (void)workload;
    for (uint32_t i = 0; i < DIRECTORIES; i++) {
        bench_mkdir(bench, directories[i]);
    }
    for (uint32_t i = 0; i < FILES && bench_ok(bench); i++) {
        char path[VFS_PATH_MAX];
        config_name(path, sizeof(path), i);
        uint32_t size = config_size(bench);
        bench_put(bench, path, size, size);
    }
}

/* Write the new content beside the file, then rename over it. */
void config_run(struct bench *bench, const struct workload *workload)
{
    for (uint32_t i = 0; i < workload->count && bench_ok(bench); i++) {
        char path[VFS_PATH_MAX - 8], temporary[VFS_PATH_MAX];
        config_name(path, sizeof(path), payload_zipf(&bench->picks, FILES));
        snprintf(temporary, sizeof(temporary), "%s.tmp", path);
        uint32_t size = config_size(bench);
        if (size <= SMALL) {
            record_mark(&bench->record);
        }
        bench_put(bench, temporary, size, size);
        bench_rename(bench, temporary, path);
        bench_operation(bench);
    }
}
