/* SPDX-License-Identifier: BSD-2-Clause */
/* volume.c - see volume.h. */
#include "peers/volume.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define PIECE 4096u
#define DEPTH_MOST 16u
#define ENTRIES_MOST 4096u      /* of a listing: one that does not end is wrong */

static enum volume_result wrong(struct volume *volume, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(volume->failure, sizeof volume->failure, format, arguments);
    va_end(arguments);
    return VOLUME_WRONG;
}

static void on_cut(void *context)
{
    struct volume *volume = context;

    volume->off = true;
    if (volume->jump) {
        longjmp(volume->at_cut, 1);
    }
}

/* Paths of calls have no slash in front, those of vfs have one. */
static const char *absolute(char *to, const char *path)
{
    snprintf(to, VFS_PATH_MAX, "/%s", path[0] == '/' ? path + 1 : path);
    return to;
}

/* ---- set-up ---------------------------------------------------------------------------------------- */

static uint64_t free_bytes_of(struct volume *volume)
{
    struct vfs_space space = { 0 };

    return volume->fs.ops->statfs(volume->fs.context, &space) == 0 ? space.free_bytes : 0;
}

bool volume_init(struct volume *volume, const struct vfs_entry *entry, const struct vflash_chip *chip)
{
    memset(volume, 0, sizeof *volume);
    volume->entry = entry;
    volume->chip = chip;
    volume->flash = vflash_new(chip);
    model_init(&volume->model, chip->page_size, chip->block_size);
    if (!volume->flash || entry->make(vflash_driver(volume->flash), &volume->fs) != 0) {
        return false;
    }
    vflash_set_strict(volume->flash, false);
    vflash_on_cut(volume->flash, on_cut, volume);
    if (volume->fs.ops->format(volume->fs.context) != 0 || volume->fs.ops->mount(volume->fs.context) != 0) {
        return false;
    }
    volume->fresh_free = free_bytes_of(volume);
    return true;
}

void volume_free(struct volume *volume)
{
    if (volume->fs.ops) {
        volume->fs.ops->drop(volume->fs.context);
        vfs_destroy(&volume->fs);
    }
    model_free(&volume->model);
    vflash_free(volume->flash);
}

/* ---- the tree -------------------------------------------------------------------------------------- */

static bool read_file(struct volume *volume, const char *path, struct bytes *bytes)
{
    const struct vfs_ops *ops = volume->fs.ops;
    void *file, *context = volume->fs.context;
    int32_t got;

    if (ops->open(context, path, VFS_READ, &file) != 0) {
        return false;
    }
    do {
        if (bytes->room < bytes->size + PIECE) {
            bytes->room = 2 * bytes->room + PIECE;
            bytes->data = realloc(bytes->data, bytes->room);
            if (!bytes->data) {
                abort();
            }
        }
        got = ops->read(context, file, bytes->data + bytes->size, PIECE);
        bytes->size += got > 0 ? (uint32_t)got : 0;
    } while (got > 0 && bytes->size <= volume->chip->size);
    return ops->close(context, file) == 0 && got == 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct vfs_dirent *)a)->name, ((const struct vfs_dirent *)b)->name);
}

/* All entries of a directory, in the order of their names; NULL: it cannot be read. */
static struct vfs_dirent *list(struct volume *volume, const char *path, uint32_t *count)
{
    const struct vfs_ops *ops = volume->fs.ops;
    struct vfs_dirent *entries = NULL;
    void *dir, *context = volume->fs.context;
    int got;

    *count = 0;
    if (ops->opendir(context, path, &dir) != 0) {
        return NULL;
    }
    do {
        if (*count % 64 == 0) {
            entries = realloc(entries, (*count + 64) * sizeof *entries);
            if (!entries) {
                abort();
            }
        }
        memset(&entries[*count], 0, sizeof *entries);
        got = ops->readdir(context, dir, &entries[*count]);
        *count += got > 0;
    } while (got > 0 && *count < ENTRIES_MOST);
    if (ops->closedir(context, dir) != 0 || got != 0) {
        free(entries);
        return NULL;
    }
    qsort(entries, *count, sizeof *entries, by_name);
    return entries;
}

static bool add_directory(struct volume *volume, const char *path, unsigned depth, struct image *image)
{
    uint32_t count;
    struct vfs_dirent *entries = depth < DEPTH_MOST ? list(volume, path[0] ? path : "/", &count) : NULL;
    bool right = entries != NULL;

    for (uint32_t i = 0; right && i < count; i++) {
        size_t room = strlen(path) + strlen(entries[i].name) + 2;
        char *inside = malloc(room);
        struct bytes bytes = { 0 };

        if (!inside || snprintf(inside, room, "%s/%s", path, entries[i].name) >= (int)VFS_PATH_MAX) {
            abort();
        }
        if (entries[i].directory) {
            image_add(image, inside + 1, NF2_TYPE_DIR, NULL, 0);
            right = add_directory(volume, inside, depth + 1, image);
        } else {
            right = read_file(volume, inside, &bytes) && bytes.size == entries[i].size;
            image_add(image, inside + 1, NF2_TYPE_FILE, bytes.data, bytes.size);
        }
        if (!right && !volume->failure[0]) {
            (void)wrong(volume, "cannot be read: %.100s", inside);
        }
        free(bytes.data);
        free(inside);
    }
    free(entries);
    return right;
}

bool volume_image(struct volume *volume, struct image *image)
{
    memset(image, 0, sizeof *image);
    volume->failure[0] = 0;
    return add_directory(volume, "", 0, image);
}

void volume_adopt(struct volume *volume, const struct image *image)
{
    model_free(&volume->model);
    model_init(&volume->model, volume->chip->page_size, volume->chip->block_size);
    model_from_image(&volume->model, image);
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct image_entry *)a)->path, ((const struct image_entry *)b)->path);
}

static void sort(struct image *image)
{
    if (image->count > 0) {
        qsort(image->entry, image->count, sizeof *image->entry, by_path);
    }
}

/* Listings of different file systems have different orders, and long names are in another order in the model: only what is there counts. */
bool volume_matches_model(struct volume *volume)
{
    struct image found, wanted;
    bool right;

    if (!volume_image(volume, &found)) {
        image_free(&found);
        return false;
    }
    model_image(&volume->model, true, &wanted);
    sort(&found);
    sort(&wanted);
    right = image_matches(&found, &wanted, volume->failure, sizeof volume->failure);
    image_free(&found);
    image_free(&wanted);
    return right;
}

/* ---- calls ----------------------------------------------------------------------------------------- */

static int open_flags(int64_t flags)
{
    return (flags & NF2_O_RDONLY ? VFS_READ : 0) | (flags & NF2_O_WRONLY ? VFS_WRITE : 0) | (flags & NF2_O_CREAT ? VFS_CREATE : 0)
           | (flags & NF2_O_EXCL ? VFS_EXCL : 0) | (flags & NF2_O_TRUNC ? VFS_TRUNC : 0) | (flags & NF2_O_APPEND ? VFS_APPEND : 0);
}

static int do_write(struct volume *volume, const struct call *call)
{
    uint32_t length = (uint32_t)call->number;
    uint8_t *data = malloc(length ? length : 1);
    void *file = volume->file[call->handle], *context = volume->fs.context;
    int status;

    if (!data) {
        abort();
    }
    call_data(data, length, call->extra);       /* where a cut is left by a jump the process soon ends */
    status = volume->fs.ops->write(context, file, data, length);
    if (status >= 0 && volume->model.handle[call->handle].flags & NF2_O_SYNC) {
        status = volume->fs.ops->sync(context, file);
    }
    free(data);
    return status;
}

static int do_read(struct volume *volume, const struct call *call)
{
    uint8_t *data = malloc((size_t)call->number + 1);
    int status;

    if (!data) {
        abort();
    }
    status = volume->fs.ops->read(volume->fs.context, volume->file[call->handle], data, (uint32_t)call->number);
    free(data);
    return status;
}

static int do_seek(struct volume *volume, const struct call *call)
{
    const struct handle *handle = &volume->model.handle[call->handle];
    int64_t base = call->extra == NF2_SEEK_SET ? 0 : call->extra == NF2_SEEK_CUR ? handle->position : model_view(handle)->size;

    return volume->fs.ops->seek(volume->fs.context, volume->file[call->handle], (uint32_t)(base + call->number));
}

static int mount_anew(struct volume *volume, bool clean)
{
    const struct vfs_ops *ops = volume->fs.ops;
    int status = 0;

    if (clean) {
        for (unsigned i = 0; i < MODEL_HANDLES; i++) {
            if (volume->model.handle[i].open) {
                clean = false;          /* what an unmount does to open files is not the same everywhere: the power goes */
            }
        }
    }
    if (clean) {
        status = ops->unmount(volume->fs.context);
    } else {
        ops->drop(volume->fs.context);
    }
    return status ? status : ops->mount(volume->fs.context);
}

static bool is_in_vfs(enum op op)
{
    switch (op) {
    case OP_OPEN: case OP_CLOSE: case OP_READ: case OP_WRITE: case OP_SEEK: case OP_TRUNCATE: case OP_SYNC: case OP_MKDIR:
    case OP_REMOVE: case OP_RENAME: case OP_MAINTAIN: case OP_UNMOUNT: case OP_ABANDON:
        return true;
    default:
        return false;
    }
}

static int do_call(struct volume *volume, const struct call *call)
{
    const struct vfs_ops *ops = volume->fs.ops;
    void *context = volume->fs.context, *file = volume->file[call->handle % MODEL_HANDLES];
    char path[VFS_PATH_MAX], path2[VFS_PATH_MAX];

    switch (call->op) {
    case OP_OPEN: return ops->open(context, absolute(path, call->path), open_flags(call->number), &volume->file[call->handle]);
    case OP_CLOSE: return ops->close(context, file);
    case OP_READ: return do_read(volume, call);
    case OP_WRITE: return do_write(volume, call);
    case OP_SEEK: return do_seek(volume, call);
    case OP_TRUNCATE: return ops->truncate(context, file, (uint32_t)call->number);
    case OP_SYNC: return ops->sync(context, file);
    case OP_MKDIR: return ops->mkdir(context, absolute(path, call->path));
    case OP_REMOVE: return ops->remove(context, absolute(path, call->path));
    case OP_RENAME: return ops->rename(context, absolute(path, call->path), absolute(path2, call->path2));
    case OP_MAINTAIN: return ops->maintain ? ops->maintain(context, (uint32_t)call->number) : 0;
    default: return mount_anew(volume, call->op == OP_UNMOUNT);
    }
}

/* No space: what a file system makes of the open handle is its own affair; from here on what is there counts. */
static enum volume_result full(struct volume *volume)
{
    struct image found;

    for (unsigned i = 0; i < MODEL_HANDLES; i++) {
        if (volume->model.handle[i].open) {
            (void)volume->fs.ops->close(volume->fs.context, volume->file[i]);
        }
    }
    if (volume->off) {
        return VOLUME_CUT;
    }
    if (!volume_image(volume, &found)) {
        image_free(&found);
        return VOLUME_WRONG;
    }
    volume_adopt(volume, &found);
    image_free(&found);
    return VOLUME_FULL;
}

/* Whether a file is there that the model has not, empty, and was made in the session before (`view`). */
static bool is_ghost(const struct volume *volume, const struct image_entry *entry, const struct image *view)
{
    if (entry->type != NF2_TYPE_FILE || entry->content.size > 0 || model_find((struct model *)(uintptr_t)&volume->model, entry->path)) {
        return false;
    }
    for (uint32_t i = 0; i < view->count; i++) {
        if (strcmp(view->entry[i].path, entry->path) == 0) {
            return true;
        }
    }
    return false;
}

/* A session ended with unsynced files: where they are there, empty, they are counted, and from now on they belong to the tree. */
static bool settle_ghosts(struct volume *volume, const struct image *view)
{
    struct image found;
    bool right = volume_image(volume, &found);

    for (uint32_t i = 0; i < found.count && right; i++) {
        if (is_ghost(volume, &found.entry[i], view)) {
            struct call open = { .op = OP_OPEN, .number = NF2_O_WRONLY | NF2_O_CREAT, .path = found.entry[i].path }, close = { .op = OP_CLOSE };

            model_apply(&volume->model, &open);
            model_apply(&volume->model, &close);
            volume->ghosts++;
        }
    }
    image_free(&found);
    return right;
}

enum volume_result volume_call(struct volume *volume, const struct call *call)
{
    bool anew = call->op == OP_UNMOUNT || call->op == OP_ABANDON;
    struct image view = { 0 };
    struct expect expect;
    int status;

    model_expect(&volume->model, call, &expect);
    if (!is_in_vfs(call->op) || expect.skip || expect.anything || !expect.success) {
        return VOLUME_OK;
    }
    if (volume->jump && setjmp(volume->at_cut)) {
        return VOLUME_CUT;
    }
    status = do_call(volume, call);
    if (volume->off) {
        return VOLUME_CUT;
    }
    if (status == VFS_ERR_NOSPC) {
        if (call->op == OP_OPEN) {
            volume->file[call->handle] = NULL;
        }
        if (call->op == OP_CLOSE) {
            volume->model.handle[call->handle].open = false;    /* closed in any case */
        }
        return full(volume);
    }
    if (status < 0) {
        return wrong(volume, "call %d answered %d", (int)call->op, status);
    }
    if (anew) {
        model_image(&volume->model, false, &view);
    }
    model_apply(&volume->model, call);
    bool right = !anew || settle_ghosts(volume, &view);
    image_free(&view);
    return right ? VOLUME_OK : VOLUME_WRONG;
}

/* ---- after a cut ----------------------------------------------------------------------------------- */

enum volume_result volume_come_back(struct volume *volume)
{
    int status;

    vflash_power_on(volume->flash);
    volume->off = false;
    volume->fs.ops->drop(volume->fs.context);
    if (volume->jump && setjmp(volume->at_cut)) {
        return VOLUME_CUT;
    }
    status = volume->fs.ops->mount(volume->fs.context);
    if (volume->off) {
        return VOLUME_CUT;
    }
    return status == 0 ? VOLUME_OK : wrong(volume, "mount: %d", status);
}

bool volume_empty(struct volume *volume, uint64_t *free_bytes)
{
    const struct vfs_ops *ops = volume->fs.ops;
    void *context = volume->fs.context;
    struct image found;
    bool right = volume_image(volume, &found);

    for (uint32_t i = found.count; right && i-- > 0;) {
        char path[VFS_PATH_MAX];
        int status = ops->remove(context, absolute(path, found.entry[i].path));

        if (status != 0) {
            (void)wrong(volume, "remove: %d: %.100s", status, path);
            right = false;
        }
    }
    image_free(&found);
    for (unsigned i = 0; right && ops->maintain && i < 100000 && ops->maintain(context, 1000000000u) > 0; i++) {
    }
    right = right && ops->unmount(context) == 0 && ops->mount(context) == 0;
    *free_bytes = right ? free_bytes_of(volume) : 0;
    return right;
}

bool volume_hold(struct volume *volume, uint64_t size)
{
    const struct vfs_ops *ops = volume->fs.ops;
    void *file, *context = volume->fs.context;
    struct bytes bytes = { 0 };
    uint8_t data[1024];
    bool right = ops->open(context, "/all", VFS_WRITE | VFS_CREATE | VFS_TRUNC, &file) == 0;

    if (right) {
        for (uint64_t at = 0; at < size && right; at += sizeof data) {
            call_data(data, sizeof data, (uint32_t)at + 7);
            right = ops->write(context, file, data, sizeof data) == (int32_t)sizeof data;
        }
        right = ops->close(context, file) == 0 && right;
    }
    right = right && read_file(volume, "/all", &bytes) && bytes.size >= size;
    for (uint32_t at = 0; at < size && right; at += (uint32_t)sizeof data) {
        call_data(data, sizeof data, at + 7);
        right = memcmp(bytes.data + at, data, sizeof data) == 0;
    }
    free(bytes.data);
    return ops->remove(context, "/all") == 0 && right;
}
