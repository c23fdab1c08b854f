/* SPDX-License-Identifier: BSD-2-Clause */
/* bench.c - calls of the file system that are measured, mirrored and compared. */
#include "bench.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint.h"
#include "heap_watch.h"

void bench_fail(struct bench *bench, const char *format, ...)
{
    if (bench->failed) {
        return;
    }
    bench->failed = true;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(bench->failure, sizeof(bench->failure), format, arguments);
    va_end(arguments);
}

static void wrong_data(struct bench *bench, const char *path, const char *what)
{
    if (!bench->failed) {
        bench->wrong_data = true;
        bench_fail(bench, "%s: %s", path, what);
    }
}

/* ---- each call ---------------------------------------------------------------------------------- */

static uint32_t names_in(const char *path)
{
    uint32_t count = 0;
    for (; *path != '\0'; path++) {
        count += path[0] == '/' && path[1] != '\0' && path[1] != '/';
    }
    return count;
}

/* What the bound of a call depends on is asked for in front of it; neither costs an operation of the flash. */
static void judge_begin(struct bench *bench, struct call_facts facts)
{
    if (!bench->judge.active) {
        return;
    }
    struct vfs_space space;
    uint32_t block = vflash_chip_of(bench->chip)->block_size;
    memset(&space, 0, sizeof(space));
    if (bench->mounted && bench->fs.ops->statfs(bench->fs.context, &space) == 0) {
        facts.space_known = true;
        facts.blocks_available = (uint32_t)(space.free_bytes / block);
        facts.blocks_free = (uint32_t)(space.unused_bytes / block);
        facts.blocks_erased = (uint32_t)(space.erased_bytes / block);
        facts.pending = bench->writers;
    }
    call_judge_begin(&bench->judge, &facts, vflash_counts(bench->chip));
}

static void begin(struct bench *bench, struct call_facts facts)
{
    judge_begin(bench, facts);
    record_call_begin(&bench->record);
    heap_watch_call(true);
}

static void begin_path(struct bench *bench, enum call_kind kind, const char *path)
{
    begin(bench, (struct call_facts){.kind = kind, .names = names_in(path)});
}

static void end(struct bench *bench, const char *name)
{
    heap_watch_call(false);
    record_call_end(&bench->record, name);
    call_judge_end(&bench->judge, vflash_counts(bench->chip));
    checkpoint_tick();
}

/* Ends a measured call; returns whether it succeeded. */
static bool finish(struct bench *bench, const char *name, const char *path, int result)
{
    end(bench, name);
    if (result >= 0) {
        return true;
    }
    /* LittleFS says of a name for which there is no space that it is too long; none here is. */
    if (bench->may_fill && (result == VFS_ERR_NOSPC || result == VFS_ERR_NAMETOOLONG)) {
        bench->full = true;
        bench->uncertain++;
    } else {
        bench_fail(bench, "%s %s failed with %d%s at operation %llu", name, path, result, result == VFS_ERR_NOSPC ? ": no space" : "",
                   (unsigned long long)bench->record.operations);
    }
    return false;
}

/* ---- volume ------------------------------------------------------------------------------------- */

void bench_mount(struct bench *bench)
{
    if (!bench->failed) {
        begin(bench, (struct call_facts){.kind = bench->cut ? CALL_MOUNT_CUT : CALL_MOUNT});
        bench->mounted = finish(bench, "mount", "", bench->fs.ops->mount(bench->fs.context));
        bench->cut = false;
    }
}

void bench_format(struct bench *bench)
{
    begin(bench, (struct call_facts){.kind = CALL_FORMAT});
    (void)finish(bench, "format", "", bench->fs.ops->format(bench->fs.context));
}

void bench_statfs(struct bench *bench)
{
    struct vfs_space space;
    if (bench_ok(bench)) {
        begin(bench, (struct call_facts){.kind = CALL_STATFS});
        (void)finish(bench, "statfs", "", bench->fs.ops->statfs(bench->fs.context, &space));
    }
}

void bench_unmount(struct bench *bench)
{
    if (!bench->failed && bench->mounted) {
        begin(bench, (struct call_facts){.kind = CALL_UNMOUNT});
        bench->mounted = false;
        (void)finish(bench, "unmount", "", bench->fs.ops->unmount(bench->fs.context));
    }
}

void bench_drop(struct bench *bench)
{
    if (bench->mounted) {
        bench->mounted = false;
        bench->cut = true;
        bench->writers = 0;
        bench->fs.ops->drop(bench->fs.context);
    }
}

void bench_remount(struct bench *bench)
{
    bench_unmount(bench);
    bench_mount(bench);
}

/* ---- files -------------------------------------------------------------------------------------- */

/* Whether the handle holds changes that no sync has made durable; the file knows how many such handles there are. */
static void set_changed(struct bench_file *file, bool changed)
{
    if (file->node != NULL && file->changed != changed) {
        file->node->unsynced += changed ? 1 : -1;
    }
    file->changed = changed;
    if (file->node != NULL && !changed) {
        file->node->fresh = false;
    }
}

struct bench_file bench_open(struct bench *bench, const char *path, int flags)
{
    struct bench_file file = {.append = (flags & VFS_APPEND) != 0, .writes = (flags & VFS_WRITE) != 0};
    if (!bench_ok(bench)) {
        return file;
    }
    bool made = (flags & VFS_CREATE) != 0 && model_find(&bench->model, path) == NULL;
    begin_path(bench, made ? CALL_OPEN_NEW : CALL_OPEN, path);
    int result = bench->fs.ops->open(bench->fs.context, path, flags, &file.handle);
    if (!finish(bench, "open", path, result)) {
        file.handle = NULL;
        return file;
    }
    file.fresh = made || (flags & VFS_TRUNC) != 0;
    bench->writers += file.writes;
    file.node = (flags & VFS_CREATE) != 0 ? model_add(&bench->model, path, false) : model_find(&bench->model, path);
    if (file.node == NULL) {
        bench_fail(bench, "%s is not in the model", path);
    } else if ((flags & VFS_TRUNC) != 0) {
        file.node->size = 0;
    }
    if (file.node != NULL && file.fresh) {
        set_changed(&file, true);
        file.node->fresh = made;
    }
    return file;
}

void bench_close(struct bench *bench, struct bench_file *file)
{
    if (file->handle == NULL) {
        return;
    }
    begin(bench, (struct call_facts){.kind = file->changed ? CALL_CLOSE : CALL_CLOSE_UNCHANGED, .writes = file->stretches, .cut = file->cut});
    bench->writers -= file->writes;
    set_changed(file, false);
    int result = bench->fs.ops->close(bench->fs.context, file->handle);
    file->handle = NULL;
    if (!bench->failed && !finish(bench, "close", file->node->path, result)) {
        file->node->uncertain = true;
    }
}

static void write_data(struct bench *bench, struct bench_file *file, const uint8_t *data, uint32_t length)
{
    uint32_t at = file->append ? file->node->size : file->position;
    record_call_writes(&bench->record, length);
    begin(bench, (struct call_facts){.kind = CALL_WRITE, .bytes = length, .writes = file->stretches,
                                     .inside_new = file->fresh && at != file->node->size});
    if (file->stretches == 0) {
        file->programs = vflash_counts(bench->chip)->program_calls;
    }
    set_changed(file, true);
    file->stretches += file->stretches == 0 || at != file->stretch_end;
    file->stretch_end = at + length;
    int32_t result = bench->fs.ops->write(bench->fs.context, file->handle, data, length);
    if (!finish(bench, "write", file->node->path, result)) {
        file->node->uncertain = true;
        return;
    }
    if (result != (int32_t)length) {
        bench_fail(bench, "write %s: %d of %u bytes", file->node->path, (int)result, (unsigned)length);
        return;
    }
    if (file->append) {
        file->position = file->node->size;
    }
    if (model_write(file->node, file->position, data, length) != 0) {
        bench_fail(bench, "no memory on this computer");
    }
    file->position += length;
    if (bench->record.measuring) {
        bench->record.bytes_written += length;
    }
}

void bench_write(struct bench *bench, struct bench_file *file, uint32_t length)
{
    while (length > 0 && bench_ok(bench)) {
        uint32_t piece = length < BENCH_PIECE_MAX ? length : BENCH_PIECE_MAX;
        payload_fill(&bench->bytes, bench->out, piece);
        write_data(bench, file, bench->out, piece);
        length -= piece;
    }
}

void bench_read(struct bench *bench, struct bench_file *file, uint32_t length)
{
    if (!bench_ok(bench)) {
        return;
    }
    const struct model_node *node = file->node;
    uint32_t left = file->position < node->size ? node->size - file->position : 0;
    uint32_t expected = length < left ? length : left;
    begin(bench, (struct call_facts){.kind = CALL_READ, .bytes = expected});
    int32_t result = bench->fs.ops->read(bench->fs.context, file->handle, bench->in, length);
    if (!finish(bench, "read", node->path, result)) {
        return;
    }
    bool elsewhere = node->unsynced > (file->changed ? 1u : 0u);        /* what another handle has not synced may be seen or not */
    if (elsewhere) {
        expected = result < (int32_t)expected ? (uint32_t)result : expected;
    } else if (result != (int32_t)expected) {
        wrong_data(bench, node->path, "read another length than was written");
    } else if (expected > 0 && memcmp(bench->in, node->data + file->position, expected) != 0) {
        wrong_data(bench, node->path, "read other bytes than were written");
    }
    file->position += expected;
    if (bench->record.measuring) {
        bench->record.bytes_read += expected;
    }
}

void bench_seek(struct bench *bench, struct bench_file *file, uint32_t position)
{
    if (bench_ok(bench)) {
        begin(bench, (struct call_facts){.kind = CALL_SEEK});
        (void)finish(bench, "seek", file->node->path, bench->fs.ops->seek(bench->fs.context, file->handle, position));
        file->position = position;
    }
}

void bench_sync(struct bench *bench, struct bench_file *file)
{
    if (bench_ok(bench)) {
        begin(bench, (struct call_facts){.kind = CALL_SYNC, .writes = file->stretches, .cut = file->cut});
        if (finish(bench, "sync", file->node->path, bench->fs.ops->sync(bench->fs.context, file->handle))) {
            if (file->stretches > 0 && vflash_counts(bench->chip)->program_calls == file->programs) {
                bench_fail(bench, "sync %s: nothing was programmed since the write before it, so that is not durable", file->node->path);
            }
            set_changed(file, false);
            file->fresh = false;
            file->stretches = 0;
            file->cut = 0;
        } else {
            file->node->uncertain = true;
        }
    }
}

void bench_truncate(struct bench *bench, struct bench_file *file, uint32_t size)
{
    if (bench_ok(bench)) {
        begin(bench, (struct call_facts){.kind = CALL_TRUNCATE, .writes = file->stretches});
        set_changed(file, true);
        file->stretches++;
        file->stretch_end = UINT32_MAX;
        file->cut += size < file->node->size ? file->node->size - size : 0;
        if (!finish(bench, "truncate", file->node->path, bench->fs.ops->truncate(bench->fs.context, file->handle, size))) {
            file->node->uncertain = true;
        } else if (model_resize(file->node, size) != 0) {
            bench_fail(bench, "no memory on this computer");
        }
    }
}

static enum call_kind kind_of(enum vfs_more what)
{
    static const enum call_kind kinds[] = {CALL_TELL, CALL_SIZE, CALL_PREALLOCATE, CALL_REWINDDIR, CALL_HEALTH, CALL_CHECK,
                                          CALL_DISCARD, CALL_SAVE, CALL_LOAD};
    return kinds[what];
}

void bench_more(struct bench *bench, struct bench_file *file, enum vfs_more what, uint32_t argument, int32_t expected)
{
    if (bench_ok(bench)) {
        enum call_kind kind = kind_of(what);
        begin(bench, (struct call_facts){.kind = kind, .bytes = kind == CALL_PREALLOCATE && argument > file->node->size ? argument - file->node->size : 0});
        int32_t result = bench->fs.ops->more(bench->fs.context, what, file != NULL ? file->handle : NULL, argument);
        if (finish(bench, call_name(kind), "", result) && expected >= 0 && result != expected) {
            bench_fail(bench, "%s says %d where it is %d", call_name(kind), (int)result, (int)expected);
        }
    }
}

/* What is written does not reach the model. */
void bench_write_and_discard(struct bench *bench, const char *path, uint32_t length)
{
    struct bench_file file = bench_open(bench, path, VFS_READ | VFS_WRITE);
    if (!bench_ok(bench)) {
        return;
    }
    payload_fill(&bench->bytes, bench->out, length);
    begin(bench, (struct call_facts){.kind = CALL_WRITE, .bytes = length});
    bool written = finish(bench, "write", path, bench->fs.ops->write(bench->fs.context, file.handle, bench->out, length));
    bench->writers--;
    if (written) {
        begin(bench, (struct call_facts){.kind = CALL_DISCARD});
        (void)finish(bench, "discard", path, bench->fs.ops->more(bench->fs.context, VFS_DISCARD, file.handle, 0));
    }
}

void bench_save(struct bench *bench, const char *path, uint32_t length)
{
    struct vfs_whole whole = {path, bench->out};
    if (!bench_ok(bench)) {
        return;
    }
    payload_fill(&bench->bytes, bench->out, length);
    begin(bench, (struct call_facts){.kind = CALL_SAVE, .names = names_in(path), .bytes = length});
    if (finish(bench, "save", path, bench->fs.ops->more(bench->fs.context, VFS_SAVE, &whole, length))) {
        struct model_node *node = model_add(&bench->model, path, false);
        if (node == NULL || model_resize(node, 0) != 0 || model_write(node, 0, bench->out, length) != 0) {
            bench_fail(bench, "no memory on this computer");
        }
    }
}

void bench_load(struct bench *bench, const char *path)
{
    const struct model_node *node = model_find(&bench->model, path);
    struct vfs_whole whole = {path, bench->in};
    if (!bench_ok(bench) || node == NULL || node->size > sizeof(bench->in)) {
        return;
    }
    begin(bench, (struct call_facts){.kind = CALL_LOAD, .names = names_in(path), .bytes = node->size});
    int32_t result = bench->fs.ops->more(bench->fs.context, VFS_LOAD, &whole, sizeof(bench->in));
    if (finish(bench, "load", path, result) &&
        ((uint32_t)result != node->size || (result > 0 && memcmp(bench->in, node->data, node->size) != 0))) {
        wrong_data(bench, path, "loaded other bytes than were saved");
    }
}

/* ---- names -------------------------------------------------------------------------------------- */

void bench_mkdir(struct bench *bench, const char *path)
{
    if (!bench_ok(bench)) {
        return;
    }
    begin_path(bench, CALL_MKDIR, path);
    if (finish(bench, "mkdir", path, bench->fs.ops->mkdir(bench->fs.context, path)) && model_add(&bench->model, path, true) == NULL) {
        bench_fail(bench, "%s does not fit into the model", path);
    }
}

void bench_remove(struct bench *bench, const char *path)
{
    if (!bench_ok(bench)) {
        return;
    }
    begin_path(bench, CALL_REMOVE, path);
    if (finish(bench, "remove", path, bench->fs.ops->remove(bench->fs.context, path))) {
        model_remove(&bench->model, path);
    }
}

void bench_rename(struct bench *bench, const char *from, const char *to)
{
    if (!bench_ok(bench)) {
        return;
    }
    begin(bench, (struct call_facts){.kind = CALL_RENAME, .names = names_in(from) + names_in(to)});
    if (finish(bench, "rename", from, bench->fs.ops->rename(bench->fs.context, from, to)) && model_rename(&bench->model, from, to) != 0) {
        bench_fail(bench, "%s does not fit into the model", to);
    }
}

void bench_stat(struct bench *bench, const char *path)
{
    if (!bench_ok(bench)) {
        return;
    }
    struct vfs_stat stat;
    const struct model_node *node = model_find(&bench->model, path);
    begin_path(bench, CALL_STAT, path);
    int result = bench->fs.ops->stat(bench->fs.context, path, &stat);
    if (node != NULL && node->fresh && result == VFS_ERR_NOENT) {       /* it was never synced */
        end(bench, "stat");
        return;
    }
    if (!finish(bench, "stat", path, result)) {
        return;
    }
    bool settled = node != NULL && !node->uncertain && !node->directory && node->unsynced == 0;
    if (node == NULL || node->directory != stat.directory || (settled && node->size != stat.size)) {
        wrong_data(bench, path, "stat says another type or size than was written");
    }
}

void bench_stat_absent(struct bench *bench, const char *path)
{
    if (!bench_ok(bench)) {
        return;
    }
    struct vfs_stat stat;
    begin_path(bench, CALL_STAT, path);
    int result = bench->fs.ops->stat(bench->fs.context, path, &stat);
    end(bench, "stat");
    if (result >= 0) {
        wrong_data(bench, path, "is there but was never created");
    } else if (result != VFS_ERR_NOENT) {
        bench_fail(bench, "stat %s failed with %d", path, result);
    }
}

bool bench_settle(struct bench *bench, const char *path)
{
    struct vfs_stat stat;
    bench->full = false;
    bench->uncertain = 0;
    if (!bench_ok(bench)) {
        return false;
    }
    begin_path(bench, CALL_STAT, path);
    int result = bench->fs.ops->stat(bench->fs.context, path, &stat);
    end(bench, "stat");
    if (result < 0) {
        model_remove(&bench->model, path);
    } else if (model_find(&bench->model, path) == NULL) {
        wrong_data(bench, path, "is there, though its creation was refused");
    }
    return result >= 0;
}

/* Files of a directory that a listing need not show: they were never synced. */
static uint32_t fresh_in(const struct bench *bench, const char *path)
{
    uint32_t count = 0;
    size_t length = strcmp(path, "/") == 0 ? 0 : strlen(path);
    for (uint32_t i = 0; i < MODEL_BUCKETS; i++) {
        for (const struct model_node *node = bench->model.buckets[i]; node != NULL; node = node->next) {
            bool inside = strncmp(node->path, path, length) == 0 && node->path[length] == '/' && strchr(node->path + length + 1, '/') == NULL;
            count += node->fresh && inside;
        }
    }
    return count;
}

struct listing {
    struct vfs_dirent *entries;
    uint32_t count, room;
};

static bool add_entry(struct listing *listing, const struct vfs_dirent *entry)
{
    if (listing->count == listing->room) {
        uint32_t room = listing->room == 0 ? 64 : 2 * listing->room;
        struct vfs_dirent *grown = realloc(listing->entries, room * sizeof(*grown));
        if (grown == NULL) {
            return false;
        }
        listing->entries = grown;
        listing->room = room;
    }
    listing->entries[listing->count++] = *entry;
    return true;
}

static void read_listing(struct bench *bench, const char *path, struct listing *listing)
{
    void *dir;
    begin_path(bench, CALL_OPENDIR, path);
    if (!finish(bench, "opendir", path, bench->fs.ops->opendir(bench->fs.context, path, &dir))) {
        return;
    }
    int more = 1;
    while (more == 1 && bench_ok(bench)) {
        struct vfs_dirent entry;
        begin(bench, (struct call_facts){.kind = CALL_READDIR});
        more = bench->fs.ops->readdir(bench->fs.context, dir, &entry);
        if (finish(bench, "readdir", path, more) && more == 1 && !add_entry(listing, &entry)) {
            bench_fail(bench, "no memory on this computer");
        }
    }
    begin(bench, (struct call_facts){.kind = CALL_CLOSEDIR});
    int result = bench->fs.ops->closedir(bench->fs.context, dir);
    (void)finish(bench, "closedir", path, result);
}

void bench_rewind(struct bench *bench, const char *path)
{
    struct bench_file listing = {.node = &bench->model.root};
    struct vfs_dirent entry;
    if (!bench_ok(bench) || bench->fs.ops->more == NULL) {
        return;
    }
    begin_path(bench, CALL_OPENDIR, path);
    if (finish(bench, "opendir", path, bench->fs.ops->opendir(bench->fs.context, path, &listing.handle))) {
        begin(bench, (struct call_facts){.kind = CALL_READDIR});
        (void)finish(bench, "readdir", path, bench->fs.ops->readdir(bench->fs.context, listing.handle, &entry));
        bench_more(bench, &listing, VFS_REWIND, 0, 0);
        begin(bench, (struct call_facts){.kind = CALL_CLOSEDIR});
        (void)finish(bench, "closedir", path, bench->fs.ops->closedir(bench->fs.context, listing.handle));
    }
}

void bench_list(struct bench *bench, const char *path, void (*each)(struct bench *bench, const char *path, bool directory))
{
    if (!bench_ok(bench)) {
        return;
    }
    struct listing listing = {NULL, 0, 0};
    const struct model_node *node = model_find(&bench->model, path);
    read_listing(bench, path, &listing);
    if (bench_ok(bench) && (node == NULL || listing.count > node->children ||
                           (listing.count + bench->uncertain < node->children && listing.count + bench->uncertain + fresh_in(bench, path) < node->children))) {
        wrong_data(bench, path, "the listing is longer or shorter than what was created");
    }
    for (uint32_t i = 0; i < listing.count && bench_ok(bench); i++) {
        char child[VFS_PATH_MAX + VFS_NAME_MAX + 2];
        snprintf(child, sizeof(child), "%s/%s", strcmp(path, "/") == 0 ? "" : path, listing.entries[i].name);
        const struct model_node *entry = model_find(&bench->model, child);
        if (entry == NULL || entry->directory != listing.entries[i].directory) {
            wrong_data(bench, child, "is listed but was not created");
        } else if (each != NULL) {
            each(bench, child, entry->directory);
        }
    }
    free(listing.entries);
}

/* ---- whole operations --------------------------------------------------------------------------- */

void bench_operation(struct bench *bench)
{
    if (!bench_ok(bench)) {
        return;
    }
    record_operation(&bench->record);
    if (bench->maintain_us != 0 && (bench->record.measuring || bench->idle_always)) {
        (void)bench_idle(bench, bench->maintain_us);
    }
}

bool bench_idle(struct bench *bench, uint32_t budget_us)
{
    if (!bench_ok(bench) || bench->fs.ops->maintain == NULL) {
        return false;
    }
    begin(bench, (struct call_facts){.kind = CALL_MAINTAIN, .budget_us = budget_us});
    int result = bench->fs.ops->maintain(bench->fs.context, budget_us);
    heap_watch_call(false);
    record_maintain_end(&bench->record);
    call_judge_end(&bench->judge, vflash_counts(bench->chip));
    if (result < 0) {
        bench_fail(bench, "maintain failed with %d", result);
    }
    return result > 0;
}

void bench_progress(struct bench *bench, double done, double all)
{
    if (bench->progress && bench_ok(bench)) {
        fprintf(stderr, "progress %.2f of %.2f, flash time %.1f s\n", done, all, (double)vflash_counts(bench->chip)->time_us / 1e6);
        fflush(stderr);
    }
}

void bench_step_begin(struct bench *bench)
{
    record_step_begin(&bench->record);
}

void bench_step_end(struct bench *bench, const char *format, uint32_t number)
{
    record_step_numbered(&bench->record, format, number);
}

void bench_put(struct bench *bench, const char *path, uint32_t size, uint32_t piece)
{
    struct bench_file file = bench_open(bench, path, VFS_WRITE | VFS_CREATE | VFS_TRUNC);
    while (size > 0 && bench_ok(bench)) {
        uint32_t length = size < piece ? size : piece;
        bench_write(bench, &file, length);
        size -= length;
    }
    bench_close(bench, &file);
}

void bench_get(struct bench *bench, const char *path, uint32_t piece)
{
    struct bench_file file = bench_open(bench, path, VFS_READ);
    uint32_t size = file.node != NULL ? file.node->size : 0;
    while (file.position < size && bench_ok(bench)) {
        bench_read(bench, &file, piece);
    }
    bench_close(bench, &file);
}
