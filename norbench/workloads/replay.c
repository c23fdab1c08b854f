/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * replay.c - the calls of a recorded application, made again (trace.h). Each call is mirrored in the model and compared, like those
 * of every workload.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace.h"
#include "workload.h"

#define HANDLES_MAX 64u         /* open at a time */

struct replay {
    struct bench *bench;
    uint64_t opened;            /* open entries so far */
    struct {
        bool used;
        bool removed;           /* while it was open: see remove_file */
        uint64_t handle;
        struct bench_file file;
    } slots[HANDLES_MAX];
};

/* ---- the file ----------------------------------------------------------------------------------------- */

static FILE *open_trace(struct bench *bench)
{
    if (bench->trace_path == NULL) {
        bench_fail(bench, "the workload trace needs --trace FILE");
        return NULL;
    }
    FILE *file = fopen(bench->trace_path, "rb");
    const char *fault = file == NULL ? "cannot be opened" : trace_check_begin(file);
    if (fault != NULL) {
        bench_fail(bench, "%s: %s", bench->trace_path, fault);
    }
    return file;
}

/* Calls `each` with every entry, until one fails. */
static void for_each(struct bench *bench, void (*each)(void *context, const struct trace_entry *entry), void *context)
{
    struct trace_entry entry;
    uint64_t entries = 0;
    FILE *file = open_trace(bench);
    while (file != NULL && bench_ok(bench)) {
        const char *fault = trace_get(file, &entry);
        if (fault == NULL && entry.kind == TRACE_END) {
            fault = entry.handle == entries ? NULL : "another number of entries than it says";
            if (fault == NULL) {
                break;
            }
        }
        if (fault != NULL) {
            bench_fail(bench, "%s: entry %llu: %s", bench->trace_path, (unsigned long long)entries, fault);
            break;
        }
        entries++;
        each(context, &entry);
    }
    if (file != NULL) {
        fclose(file);
    }
}

/* ---- what was there before ---------------------------------------------------------------------------- */

/* The directories on the way to a path. */
static void make_parents(struct bench *bench, const char *path)
{
    char parent[TRACE_PATH_MAX];
    for (const char *slash = strchr(path + 1, '/'); slash != NULL && bench_ok(bench); slash = strchr(slash + 1, '/')) {
        memcpy(parent, path, (size_t)(slash - path));
        parent[slash - path] = '\0';
        if (model_find(&bench->model, parent) == NULL) {
            bench_mkdir(bench, parent);
        }
    }
}

static void put_before(void *context, const struct trace_entry *entry)
{
    struct bench *bench = context;
    if (entry->kind != TRACE_FILE_BEFORE && entry->kind != TRACE_DIR_BEFORE) {
        return;
    }
    make_parents(bench, entry->path);
    if (model_find(&bench->model, entry->path) != NULL) {
        return;
    }
    if (entry->kind == TRACE_DIR_BEFORE) {
        bench_mkdir(bench, entry->path);
    } else if (entry->value <= UINT32_MAX / 2) {
        bench_put(bench, entry->path, (uint32_t)entry->value, 4 * KIB);
    } else {
        bench_fail(bench, "%s: a file of 2 GiB or more", entry->path);
    }
}

void trace_prepare(struct bench *bench, const struct workload *workload)
{
    (void)workload;
    for_each(bench, put_before, bench);
}

/* ---- the calls ---------------------------------------------------------------------------------------- */

static bool is_removed(const struct replay *replay, const char *path);

static void open_file(struct replay *replay, const struct trace_entry *entry)
{
    if (is_removed(replay, entry->path)) {
        bench_fail(replay->bench, "%s is opened again while it is open, after it was removed: only a host can do that", entry->path);
        return;
    }
    uint64_t handle = replay->opened++;
    for (uint32_t i = 0; i < HANDLES_MAX; i++) {
        if (!replay->slots[i].used) {
            replay->slots[i].used = true;
            replay->slots[i].removed = false;
            replay->slots[i].handle = handle;
            replay->slots[i].file = bench_open(replay->bench, entry->path, (int)entry->handle);
            return;
        }
    }
    bench_fail(replay->bench, "more than %u files are open at a time", HANDLES_MAX);
}

static struct bench_file *file_of(struct replay *replay, uint64_t handle)
{
    for (uint32_t i = 0; i < HANDLES_MAX; i++) {
        if (replay->slots[i].used && replay->slots[i].handle == handle) {
            return &replay->slots[i].file;
        }
    }
    bench_fail(replay->bench, "the trace uses handle %llu, which is not open", (unsigned long long)handle);
    return NULL;
}

/* Another open handle on the file of slot `i`, or on the node; HANDLES_MAX: none. */
static uint32_t other_slot(const struct replay *replay, const struct model_node *node, uint32_t i)
{
    uint32_t other = 0;
    while (other < HANDLES_MAX && (other == i || !replay->slots[other].used || replay->slots[other].file.node != node)) {
        other++;
    }
    return other;
}

static void close_slot(struct replay *replay, uint32_t i)
{
    char path[TRACE_PATH_MAX];
    const struct model_node *node = replay->slots[i].file.node;
    uint32_t other = other_slot(replay, node, i);
    bench_close(replay->bench, &replay->slots[i].file);
    replay->slots[i].used = false;
    if (replay->slots[i].removed && other < HANDLES_MAX) {
        replay->slots[other].removed = true;
    } else if (replay->slots[i].removed && node != NULL) {
        snprintf(path, sizeof(path), "%s", node->path);
        bench_remove(replay->bench, path);
    }
}

static void close_file(struct replay *replay, uint64_t handle)
{
    for (uint32_t i = 0; i < HANDLES_MAX; i++) {
        if (replay->slots[i].used && replay->slots[i].handle == handle) {
            close_slot(replay, i);
            return;
        }
    }
    bench_fail(replay->bench, "the trace closes handle %llu, which is not open", (unsigned long long)handle);
}

/* Reads longer than what one call may ask for are made in pieces; at the end of the file they stop. */
static void read_file(struct bench *bench, struct bench_file *file, uint64_t length)
{
    do {
        uint32_t piece = length < BENCH_PIECE_MAX ? (uint32_t)length : BENCH_PIECE_MAX;
        bench_read(bench, file, piece);
        length -= piece;
    } while (length > 0 && bench_ok(bench) && file->position < file->node->size);
}

static void idle(struct bench *bench, uint64_t us)
{
    if (bench->maintain_us != 0) {      /* the gaps of the application are the idle time, where any is given */
        (void)bench_idle(bench, us < UINT32_MAX ? (uint32_t)us : UINT32_MAX);
    }
}

static void file_call(struct replay *replay, const struct trace_entry *entry)
{
    struct bench *bench = replay->bench;
    struct bench_file *file = file_of(replay, entry->handle);
    if (file == NULL) {
        return;
    }
    if (entry->value > UINT32_MAX / 2) {
        bench_fail(bench, "the trace has an access at or beyond 2 GiB");
    } else if (entry->kind == TRACE_READ) {
        read_file(bench, file, entry->value);
    } else if (entry->kind == TRACE_WRITE) {
        bench_write(bench, file, (uint32_t)entry->value);
    } else if (entry->kind == TRACE_SEEK) {
        bench_seek(bench, file, (uint32_t)entry->value);
    } else if (entry->kind == TRACE_SYNC) {
        bench_sync(bench, file);
    } else {
        bench_truncate(bench, file, (uint32_t)entry->value);
    }
}

/* A file that is open is removed when it is closed: a host takes its name away at once, most of the file systems here refuse that. */
static void remove_file(struct replay *replay, const char *path)
{
    const struct model_node *node = model_find(&replay->bench->model, path);
    uint32_t slot = node != NULL ? other_slot(replay, node, HANDLES_MAX) : HANDLES_MAX;
    if (slot < HANDLES_MAX) {
        replay->slots[slot].removed = true;
    } else {
        bench_remove(replay->bench, path);
    }
}

static bool is_removed(const struct replay *replay, const char *path)
{
    for (uint32_t i = 0; i < HANDLES_MAX; i++) {
        if (replay->slots[i].used && replay->slots[i].removed && strcmp(replay->slots[i].file.node->path, path) == 0) {
            return true;
        }
    }
    return false;
}

static void name_call(struct replay *replay, const struct trace_entry *entry)
{
    struct bench *bench = replay->bench;
    if (is_removed(replay, entry->path) && entry->kind != TRACE_ABSENT) {
        bench_fail(bench, "%s is named again while it is open, after it was removed: only a host can do that", entry->path);
    } else if (entry->kind == TRACE_MKDIR) {
        bench_mkdir(bench, entry->path);
    } else if (entry->kind == TRACE_REMOVE) {
        remove_file(replay, entry->path);
    } else if (entry->kind == TRACE_RENAME) {
        bench_rename(bench, entry->path, entry->other);
    } else if (entry->kind == TRACE_STAT) {
        bench_stat(bench, entry->path);
    } else if (entry->kind == TRACE_ABSENT && !is_removed(replay, entry->path)) {
        bench_stat_absent(bench, entry->path);
    } else if (entry->kind == TRACE_LIST) {
        bench_list(bench, entry->path, NULL);
    }
}

static void call(void *context, const struct trace_entry *entry)
{
    struct replay *replay = context;
    if (entry->kind == TRACE_FILE_BEFORE || entry->kind == TRACE_DIR_BEFORE) {
        return;
    }
    if (entry->kind == TRACE_IDLE) {
        idle(replay->bench, entry->value);
        return;
    }
    if (entry->kind == TRACE_OPEN) {
        open_file(replay, entry);
    } else if (entry->kind == TRACE_CLOSE) {
        close_file(replay, entry->handle);
    } else if (entry->kind >= TRACE_READ && entry->kind <= TRACE_TRUNCATE) {
        file_call(replay, entry);
    } else {
        name_call(replay, entry);
    }
    record_operation(&replay->bench->record);
}

void trace_run(struct bench *bench, const struct workload *workload)
{
    static struct replay replay;
    (void)workload;
    replay = (struct replay){.bench = bench};
    bench->record.keep_calls = true;
    for_each(bench, call, &replay);
    for (uint32_t i = 0; i < HANDLES_MAX; i++) {        /* an application may end with files open */
        if (replay.slots[i].used) {
            close_slot(&replay, i);
        }
    }
}
