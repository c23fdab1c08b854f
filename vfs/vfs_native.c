/* SPDX-License-Identifier: BSD-2-Clause */
/* vfs_native.c - raw flash with a RAM map behind the benchmark's interface: the yardstick. */
#include <stdlib.h>
#include <string.h>

#include "native_map.h"
#include "vfs.h"

#define BUFFER_SIZE 256u

struct native_file {
    struct native_node *node;
    int flags;
    uint32_t position;
    uint32_t buffered_at, buffered;     /* the buffer holds `buffered` bytes from position `buffered_at` on */
    uint8_t buffer[BUFFER_SIZE];
};

struct native_list {
    struct vfs_dirent *entries;
    uint32_t count, next;
};

/* ---- volume ------------------------------------------------------------------------------------- */

static int native_format(void *context)
{
    return native_map_clear(context);
}

static int native_mount(void *context)
{
    (void)context;      /* the map stays in RAM: the yardstick has nothing to find again */
    return 0;
}

static int native_unmount(void *context)
{
    (void)context;
    return 0;
}

static void native_drop(void *context)
{
    (void)context;
}

static int native_statfs(void *context, struct vfs_space *out)
{
    const struct native_map *map = context;
    out->total_bytes = (uint64_t)map->blocks * map->flash->block_size;
    out->free_bytes = (uint64_t)(map->blocks - map->blocks_used) * map->flash->block_size;
    return 0;
}

static uint32_t native_ram_bytes(void *context)
{
    (void)context;
    return BUFFER_SIZE;
}

static void native_destroy(void *context)
{
    native_map_close(context);
    free(context);
}

/* ---- files -------------------------------------------------------------------------------------- */

static int flush(struct native_map *map, struct native_file *file)
{
    if (file->buffered == 0) {
        return 0;
    }
    uint32_t length = file->buffered;
    file->buffered = 0;
    return native_store(map, file->node, file->buffered_at, file->buffer, length);
}

static bool parent_exists(const struct native_map *map, const char *path)
{
    char parent[VFS_PATH_MAX];
    const char *slash = strrchr(path, '/');
    if (slash == NULL || slash == path) {
        return true;
    }
    size_t length = (size_t)(slash - path);
    if (length >= sizeof(parent)) {
        return false;
    }
    memcpy(parent, path, length);
    parent[length] = '\0';
    const struct native_node *node = native_find(map, parent);
    return node != NULL && node->directory;
}

static int find_or_create(struct native_map *map, const char *path, int flags, struct native_node **node)
{
    *node = native_find(map, path);
    if (*node != NULL) {
        if ((*node)->directory) {
            return VFS_ERR_ISDIR;
        }
        return (flags & VFS_CREATE) != 0 && (flags & VFS_EXCL) != 0 ? VFS_ERR_EXIST : 0;
    }
    if ((flags & VFS_CREATE) == 0 || !parent_exists(map, path)) {
        return VFS_ERR_NOENT;
    }
    *node = native_add(map, path, false);
    return *node == NULL ? VFS_ERR_NOMEM : 0;
}

static int native_open(void *context, const char *path, int flags, void **file)
{
    struct native_map *map = context;
    struct native_node *node;
    int result = find_or_create(map, path, flags, &node);
    if (result != 0) {
        return result;
    }
    struct native_file *opened = calloc(1, sizeof(*opened));
    if (opened == NULL) {
        return VFS_ERR_NOMEM;
    }
    if ((flags & VFS_TRUNC) != 0) {
        native_empty(map, node);
    }
    opened->node = node;
    opened->flags = flags;
    *file = opened;
    return 0;
}

static int32_t native_read(void *context, void *file, void *data, uint32_t length)
{
    struct native_map *map = context;
    struct native_file *opened = file;
    int result = flush(map, opened);
    if (result != 0) {
        return result;
    }
    uint32_t size = opened->node->stored;
    uint32_t left = opened->position < size ? size - opened->position : 0;
    length = length < left ? length : left;
    result = native_load(map, opened->node, opened->position, data, length);
    if (result != 0) {
        return result;
    }
    opened->position += length;
    return (int32_t)length;
}

/* Whole pages go straight to the flash, up to the block's end; returns how many bytes that are. */
static uint32_t direct_length(const struct nf2_flash *flash, const struct native_file *file, uint32_t length)
{
    if (file->buffered > 0 || file->position % BUFFER_SIZE != 0) {
        return 0;
    }
    uint32_t to_block_end = flash->block_size - file->position % flash->block_size;
    length -= length % BUFFER_SIZE;
    return length < to_block_end ? length : to_block_end;
}

static int write_piece(struct native_map *map, struct native_file *file, const uint8_t *data, uint32_t length, uint32_t *taken)
{
    uint32_t direct = direct_length(map->flash, file, length);
    if (direct > 0) {
        *taken = direct;
        return native_store(map, file->node, file->position, data, direct);
    }
    uint32_t room = BUFFER_SIZE - file->position % BUFFER_SIZE;
    *taken = length < room ? length : room;
    if (file->buffered == 0) {
        file->buffered_at = file->position;
    }
    memcpy(file->buffer + file->buffered, data, *taken);
    file->buffered += *taken;
    return *taken == room ? flush(map, file) : 0;
}

static int32_t native_write(void *context, void *file, const void *data, uint32_t length)
{
    struct native_map *map = context;
    struct native_file *opened = file;
    if ((opened->flags & VFS_APPEND) != 0) {
        opened->position = opened->node->size;
    }
    if (opened->position > opened->node->size) {
        return VFS_ERR_INVAL;   /* no holes: no workload makes any */
    }
    for (uint32_t done = 0, taken = 0; done < length; done += taken) {
        int result = write_piece(map, opened, (const uint8_t *)data + done, length - done, &taken);
        if (result != 0) {
            return result;
        }
        opened->position += taken;
        if (opened->position > opened->node->size) {
            opened->node->size = opened->position;
        }
    }
    return (int32_t)length;
}

static int native_seek(void *context, void *file, uint32_t position)
{
    struct native_file *opened = file;
    int result = opened->position == position ? 0 : flush(context, opened);
    opened->position = position;
    return result;
}

static int native_sync(void *context, void *file)
{
    return flush(context, file);
}

static int native_truncate(void *context, void *file, uint32_t size)
{
    struct native_file *opened = file;
    int result = flush(context, opened);
    if (result != 0 || size == opened->node->size) {
        return result;
    }
    if (size != 0) {
        return VFS_ERR_INVAL;   /* only to nothing: no workload does more */
    }
    native_empty(context, opened->node);
    return 0;
}

static int native_close(void *context, void *file)
{
    int result = flush(context, file);
    free(file);
    return result;
}

/* ---- names -------------------------------------------------------------------------------------- */

static int native_stat(void *context, const char *path, struct vfs_stat *out)
{
    const struct native_node *node = native_find(context, path);
    if (node == NULL && strcmp(path, "/") != 0) {
        return VFS_ERR_NOENT;
    }
    out->directory = node == NULL || node->directory;
    out->size = node == NULL ? 0 : node->size;
    return 0;
}

static int native_mkdir(void *context, const char *path)
{
    struct native_map *map = context;
    if (native_find(map, path) != NULL) {
        return VFS_ERR_EXIST;
    }
    if (!parent_exists(map, path)) {
        return VFS_ERR_NOENT;
    }
    return native_add(map, path, true) == NULL ? VFS_ERR_NOMEM : 0;
}

static int native_remove(void *context, const char *path)
{
    struct native_map *map = context;
    struct native_node *node = native_find(map, path);
    if (node == NULL) {
        return VFS_ERR_NOENT;
    }
    if (node->directory && native_has_children(map, path)) {
        return VFS_ERR_NOTEMPTY;
    }
    native_delete(map, node);
    return 0;
}

static int native_rename(void *context, const char *from, const char *to)
{
    struct native_map *map = context;
    struct native_node *node = native_find(map, from);
    struct native_node *target = native_find(map, to);
    if (node == NULL || !parent_exists(map, to)) {
        return VFS_ERR_NOENT;
    }
    if (node->directory || (target != NULL && target->directory)) {
        return VFS_ERR_ISDIR;   /* directories stay where they are: no workload moves one */
    }
    if (target == node) {
        return 0;
    }
    if (target != NULL) {
        native_delete(map, target);
    }
    return native_move(map, node, to);
}

/* ---- listing ------------------------------------------------------------------------------------ */

/* The name of `path` below the directory, or NULL where it does not lie directly in it. */
static const char *child_name(const char *directory, const char *path)
{
    size_t length = strcmp(directory, "/") == 0 ? 0 : strlen(directory);
    if (strncmp(path, directory, length) != 0 || path[length] != '/') {
        return NULL;
    }
    const char *name = path + length + 1;
    return strchr(name, '/') == NULL ? name : NULL;
}

static int add_entry(struct native_list *list, const struct native_node *node, const char *name)
{
    struct vfs_dirent *grown = realloc(list->entries, (list->count + 1) * sizeof(*grown));
    if (grown == NULL) {
        return VFS_ERR_NOMEM;
    }
    list->entries = grown;
    struct vfs_dirent *entry = &grown[list->count++];
    memset(entry, 0, sizeof(*entry));
    entry->directory = node->directory;
    entry->size = node->size;
    strncpy(entry->name, name, VFS_NAME_MAX);
    return 0;
}

static int native_opendir(void *context, const char *path, void **dir)
{
    const struct native_map *map = context;
    struct native_list *list = calloc(1, sizeof(*list));
    if (list == NULL) {
        return VFS_ERR_NOMEM;
    }
    *dir = list;
    for (uint32_t i = 0; i < NATIVE_BUCKETS; i++) {
        for (const struct native_node *node = map->buckets[i]; node != NULL; node = node->next) {
            const char *name = child_name(path, node->path);
            if (name != NULL && add_entry(list, node, name) != 0) {
                free(list->entries);
                free(list);
                return VFS_ERR_NOMEM;
            }
        }
    }
    return 0;
}

static int native_readdir(void *context, void *dir, struct vfs_dirent *out)
{
    (void)context;
    struct native_list *list = dir;
    if (list->next == list->count) {
        return 0;
    }
    *out = list->entries[list->next++];
    return 1;
}

static int native_closedir(void *context, void *dir)
{
    (void)context;
    struct native_list *list = dir;
    free(list->entries);
    free(list);
    return 0;
}

static const struct vfs_ops native_ops = {
    .format = native_format,
    .mount = native_mount,
    .unmount = native_unmount,
    .drop = native_drop,
    .open = native_open,
    .read = native_read,
    .write = native_write,
    .seek = native_seek,
    .sync = native_sync,
    .truncate = native_truncate,
    .close = native_close,
    .stat = native_stat,
    .mkdir = native_mkdir,
    .remove = native_remove,
    .rename = native_rename,
    .opendir = native_opendir,
    .readdir = native_readdir,
    .closedir = native_closedir,
    .statfs = native_statfs,
    .maintain = NULL,
    .ram_bytes = native_ram_bytes,
    .destroy = native_destroy,
};

static int native_make(const struct nf2_flash *flash, struct vfs *out)
{
    if (flash->page_size > 4096 || flash->page_size % BUFFER_SIZE != 0 || BUFFER_SIZE % flash->program_unit != 0) {
        return VFS_ERR_INVAL;
    }
    struct native_map *map = malloc(sizeof(*map));
    if (map == NULL) {
        return VFS_ERR_NOMEM;
    }
    int result = native_map_open(map, flash);
    if (result != 0) {
        free(map);
        return result;
    }
    out->ops = &native_ops;
    out->context = map;
    return 0;
}

const struct vfs_entry vfs_native_entry = {
    .name = "native",
    .version = "1",
    .description = "raw flash, map in RAM, no metadata on flash, a 256 B append buffer; an update in place reads, erases and programs the block",
    .make = native_make,
};
