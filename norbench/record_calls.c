/* SPDX-License-Identifier: BSD-2-Clause */
/* record_calls.c - calls through vfs as a trace. */
#include "record_calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace.h"

struct handle {
    void *file;                 /* of the file system */
    uint64_t number;
};

static struct {
    struct vfs inner;
    struct vfs_ops ops;
    FILE *file;
    uint64_t entries, opened;
    bool good;
} recorder;

static void put(enum trace_kind kind, uint64_t handle, uint64_t value, const char *path, const char *other)
{
    struct trace_entry entry = {.kind = kind, .handle = handle, .value = value};
    snprintf(entry.path, sizeof(entry.path), "%s", path);
    snprintf(entry.other, sizeof(entry.other), "%s", other);
    recorder.good = trace_put(recorder.file, &entry) && recorder.good;
    recorder.entries++;
}

static void put_handle(enum trace_kind kind, const struct handle *handle, uint64_t value)
{
    put(kind, handle->number, value, "", "");
}

static void *inner(void)
{
    return recorder.inner.context;
}

/* ---- files -------------------------------------------------------------------------------------------- */

static int recorded_open(void *context, const char *path, int flags, void **file)
{
    (void)context;
    struct handle *handle = calloc(1, sizeof(*handle));
    if (handle == NULL) {
        return VFS_ERR_NOMEM;
    }
    int result = recorder.inner.ops->open(inner(), path, flags, &handle->file);
    if (result < 0) {
        free(handle);
        return result;
    }
    handle->number = recorder.opened++;
    put(TRACE_OPEN, (uint64_t)flags, 0, path, "");
    *file = handle;
    return result;
}

static int32_t recorded_read(void *context, void *file, void *data, uint32_t length)
{
    const struct handle *handle = file;
    (void)context;
    int32_t result = recorder.inner.ops->read(inner(), handle->file, data, length);
    if (result >= 0) {
        put_handle(TRACE_READ, handle, length);
    }
    return result;
}

static int32_t recorded_write(void *context, void *file, const void *data, uint32_t length)
{
    const struct handle *handle = file;
    (void)context;
    int32_t result = recorder.inner.ops->write(inner(), handle->file, data, length);
    if (result >= 0) {
        put_handle(TRACE_WRITE, handle, length);
    }
    return result;
}

static int recorded_seek(void *context, void *file, uint32_t position)
{
    const struct handle *handle = file;
    (void)context;
    int result = recorder.inner.ops->seek(inner(), handle->file, position);
    if (result >= 0) {
        put_handle(TRACE_SEEK, handle, position);
    }
    return result;
}

static int recorded_sync(void *context, void *file)
{
    const struct handle *handle = file;
    (void)context;
    int result = recorder.inner.ops->sync(inner(), handle->file);
    if (result >= 0) {
        put_handle(TRACE_SYNC, handle, 0);
    }
    return result;
}

static int recorded_truncate(void *context, void *file, uint32_t size)
{
    const struct handle *handle = file;
    (void)context;
    int result = recorder.inner.ops->truncate(inner(), handle->file, size);
    if (result >= 0) {
        put_handle(TRACE_TRUNCATE, handle, size);
    }
    return result;
}

static int recorded_close(void *context, void *file)
{
    struct handle *handle = file;
    (void)context;
    int result = recorder.inner.ops->close(inner(), handle->file);
    put_handle(TRACE_CLOSE, handle, 0);
    free(handle);
    return result;
}

/* ---- names -------------------------------------------------------------------------------------------- */

static int named(enum trace_kind kind, int result, const char *path, const char *other)
{
    if (result >= 0) {
        put(kind, 0, 0, path, other);
    }
    return result;
}

static int recorded_stat(void *context, const char *path, struct vfs_stat *out)
{
    (void)context;
    int result = recorder.inner.ops->stat(inner(), path, out);
    if (result == VFS_ERR_NOENT) {
        put(TRACE_ABSENT, 0, 0, path, "");
    }
    return named(TRACE_STAT, result, path, "");
}

static int recorded_mkdir(void *context, const char *path)
{
    (void)context;
    return named(TRACE_MKDIR, recorder.inner.ops->mkdir(inner(), path), path, "");
}

static int recorded_remove(void *context, const char *path)
{
    (void)context;
    return named(TRACE_REMOVE, recorder.inner.ops->remove(inner(), path), path, "");
}

static int recorded_rename(void *context, const char *from, const char *to)
{
    (void)context;
    return named(TRACE_RENAME, recorder.inner.ops->rename(inner(), from, to), from, to);
}

static int recorded_opendir(void *context, const char *path, void **dir)
{
    (void)context;
    return named(TRACE_LIST, recorder.inner.ops->opendir(inner(), path, dir), path, "");
}

static int recorded_readdir(void *context, void *dir, struct vfs_dirent *out)
{
    (void)context;
    return recorder.inner.ops->readdir(inner(), dir, out);
}

static int recorded_closedir(void *context, void *dir)
{
    (void)context;
    return recorder.inner.ops->closedir(inner(), dir);
}

/* ---- volume: passed on -------------------------------------------------------------------------------- */

static int pass_format(void *context)
{
    (void)context;
    return recorder.inner.ops->format(inner());
}

static int pass_mount(void *context)
{
    (void)context;
    return recorder.inner.ops->mount(inner());
}

static int pass_unmount(void *context)
{
    (void)context;
    return recorder.inner.ops->unmount(inner());
}

static void pass_drop(void *context)
{
    (void)context;
    recorder.inner.ops->drop(inner());
}

static int pass_statfs(void *context, struct vfs_space *out)
{
    (void)context;
    return recorder.inner.ops->statfs(inner(), out);
}

static int pass_maintain(void *context, uint32_t budget_us)
{
    (void)context;
    return recorder.inner.ops->maintain(inner(), budget_us);
}

static uint32_t pass_ram_bytes(void *context)
{
    (void)context;
    return recorder.inner.ops->ram_bytes(inner());
}

int record_calls_begin(struct vfs *fs, const char *path)
{
    memset(&recorder, 0, sizeof(recorder));
    recorder.inner = *fs;
    recorder.ops = (struct vfs_ops){
        .format = pass_format, .mount = pass_mount, .unmount = pass_unmount, .drop = pass_drop, .open = recorded_open, .read = recorded_read,
        .write = recorded_write, .seek = recorded_seek, .sync = recorded_sync, .truncate = recorded_truncate, .close = recorded_close,
        .stat = recorded_stat, .mkdir = recorded_mkdir, .remove = recorded_remove, .rename = recorded_rename, .opendir = recorded_opendir,
        .readdir = recorded_readdir, .closedir = recorded_closedir, .statfs = pass_statfs,
        .maintain = fs->ops->maintain != NULL ? pass_maintain : NULL, .ram_bytes = pass_ram_bytes,
    };
    recorder.file = fopen(path, "wb");
    recorder.good = recorder.file != NULL && trace_begin(recorder.file);
    if (recorder.file == NULL) {
        return -1;
    }
    fs->ops = &recorder.ops;
    return 0;
}

void record_calls_before(const char *path, bool directory, uint32_t size)
{
    put(directory ? TRACE_DIR_BEFORE : TRACE_FILE_BEFORE, 0, size, path, "");
}

bool record_calls_end(struct vfs *fs)
{
    uint64_t entries = recorder.entries;
    *fs = recorder.inner;
    put(TRACE_END, entries, 0, "", "");
    return fclose(recorder.file) == 0 && recorder.good;
}
