/* SPDX-License-Identifier: BSD-2-Clause */
/* vfs_nf2fs.c - NF2FS behind the benchmark's interface. */
#include <stdlib.h>
#include <string.h>

#include "nf2fs/nf2fs.h"
#include "settings.h"
#include "vfs.h"

#ifdef VFS_CORE_DIGEST          /* a header that the build makes */
#include VFS_CORE_DIGEST
#else
#define NF2_CORE_DIGEST NULL
#endif

struct adapter {
    nf2_t fs;
    struct nf2_config config;
    uint8_t buffer[];
};

struct adapter_file {
    nf2_file_t file;
    uint8_t buffer[NF2_PAGE_MAX];
};

static int adapter_format(void *context)
{
    struct adapter *adapter = context;
    return nf2_format(&adapter->fs, &adapter->config, NF2_FORMAT_ERASE);
}

static int adapter_mount(void *context)
{
    struct adapter *adapter = context;
    return nf2_mount(&adapter->fs, &adapter->config, NF2_MOUNT_RDWR);
}

static int adapter_unmount(void *context)
{
    struct adapter *adapter = context;
    return nf2_unmount(&adapter->fs);
}

static void adapter_drop(void *context)
{
    struct adapter *adapter = context;
    memset(&adapter->fs, 0, sizeof(adapter->fs));
}

static int open_flags(int flags)
{
    int out = 0;
    out |= (flags & VFS_READ) != 0 ? NF2_O_RDONLY : 0;
    out |= (flags & VFS_WRITE) != 0 ? NF2_O_WRONLY : 0;
    out |= (flags & VFS_CREATE) != 0 ? NF2_O_CREAT : 0;
    out |= (flags & VFS_EXCL) != 0 ? NF2_O_EXCL : 0;
    out |= (flags & VFS_TRUNC) != 0 ? NF2_O_TRUNC : 0;
    out |= (flags & VFS_APPEND) != 0 ? NF2_O_APPEND : 0;
    return out;
}

static int adapter_open(void *context, const char *path, int flags, void **file)
{
    struct adapter *adapter = context;
    struct adapter_file *opened = calloc(1, sizeof(*opened));
    if (opened == NULL) {
        return VFS_ERR_NOMEM;
    }
    int result = nf2_open(&adapter->fs, &opened->file, path, open_flags(flags), opened->buffer);
    if (result < 0) {
        free(opened);
        return result;
    }
    *file = opened;
    return 0;
}

static int32_t adapter_read(void *context, void *file, void *data, uint32_t length)
{
    struct adapter *adapter = context;
    struct adapter_file *opened = file;
    return nf2_read(&adapter->fs, &opened->file, data, length);
}

static int32_t adapter_write(void *context, void *file, const void *data, uint32_t length)
{
    struct adapter *adapter = context;
    struct adapter_file *opened = file;
    return nf2_write(&adapter->fs, &opened->file, data, length);
}

static int adapter_seek(void *context, void *file, uint32_t position)
{
    struct adapter *adapter = context;
    struct adapter_file *opened = file;
    int32_t result = nf2_seek(&adapter->fs, &opened->file, (int32_t)position, NF2_SEEK_SET);
    return result < 0 ? (int)result : 0;
}

static int adapter_sync(void *context, void *file)
{
    struct adapter *adapter = context;
    struct adapter_file *opened = file;
    return nf2_sync(&adapter->fs, &opened->file);
}

static int adapter_truncate(void *context, void *file, uint32_t size)
{
    struct adapter *adapter = context;
    struct adapter_file *opened = file;
    return nf2_truncate(&adapter->fs, &opened->file, size);
}

static int adapter_close(void *context, void *file)
{
    struct adapter *adapter = context;
    struct adapter_file *opened = file;
    int result = nf2_close(&adapter->fs, &opened->file);
    free(opened);
    return result;
}

static int adapter_stat(void *context, const char *path, struct vfs_stat *out)
{
    struct adapter *adapter = context;
    struct nf2_stat stat;
    int result = nf2_stat(&adapter->fs, path, &stat);
    if (result == 0) {
        out->directory = stat.type == NF2_TYPE_DIR;
        out->size = stat.size;
    }
    return result;
}

static int adapter_mkdir(void *context, const char *path)
{
    struct adapter *adapter = context;
    return nf2_mkdir(&adapter->fs, path);
}

static int adapter_remove(void *context, const char *path)
{
    struct adapter *adapter = context;
    return nf2_remove(&adapter->fs, path);
}

static int adapter_rename(void *context, const char *from, const char *to)
{
    struct adapter *adapter = context;
    return nf2_rename(&adapter->fs, from, to);
}

static int adapter_opendir(void *context, const char *path, void **dir)
{
    struct adapter *adapter = context;
    nf2_dir_t *opened = calloc(1, sizeof(*opened));
    if (opened == NULL) {
        return VFS_ERR_NOMEM;
    }
    int result = nf2_opendir(&adapter->fs, opened, path);
    if (result < 0) {
        free(opened);
        return result;
    }
    *dir = opened;
    return 0;
}

static int adapter_readdir(void *context, void *dir, struct vfs_dirent *out)
{
    struct adapter *adapter = context;
    struct nf2_dirent entry;
    int result = nf2_readdir(&adapter->fs, dir, &entry);
    if (result == 1) {
        out->directory = entry.type == NF2_TYPE_DIR;
        out->size = entry.size;
        memcpy(out->name, entry.name, sizeof(out->name));
    }
    return result;
}

static int adapter_closedir(void *context, void *dir)
{
    struct adapter *adapter = context;
    int result = nf2_closedir(&adapter->fs, dir);
    free(dir);
    return result;
}

static int adapter_statfs(void *context, struct vfs_space *out)
{
    struct adapter *adapter = context;
    struct nf2_statfs stat;
    int result = nf2_statfs(&adapter->fs, &stat);
    if (result == 0) {
        out->total_bytes = (uint64_t)stat.blocks * stat.block_size;
        out->free_bytes = (uint64_t)stat.blocks_available * stat.block_size;
        out->unused_bytes = (uint64_t)stat.blocks_free * stat.block_size;
        out->erased_bytes = (uint64_t)stat.blocks_erased * stat.block_size;
    }
    return result;
}

static int adapter_discard(struct adapter *adapter, struct adapter_file *opened)
{
    int result = nf2_discard(&adapter->fs, &opened->file);
    free(opened);
    return result;
}

static int32_t adapter_more(void *context, enum vfs_more what, void *handle, uint32_t argument)
{
    struct adapter *adapter = context;
    struct adapter_file *opened = handle;
    const struct vfs_whole *whole = handle;
    struct nf2_health health;
    switch (what) {
    case VFS_TELL:
        return nf2_tell(&adapter->fs, &opened->file);
    case VFS_SIZE:
        return nf2_size(&adapter->fs, &opened->file);
    case VFS_PREALLOCATE:
        return nf2_preallocate(&adapter->fs, &opened->file, argument);
    case VFS_REWIND:
        return nf2_rewinddir(&adapter->fs, handle);
    case VFS_HEALTH:
        return nf2_health(&adapter->fs, &health);
    case VFS_CHECK:
        return nf2_check(&adapter->fs, NULL, NULL);
    case VFS_DISCARD:
        return adapter_discard(adapter, opened);
    case VFS_SAVE:
        return nf2_save(&adapter->fs, whole->path, whole->data, argument);
    case VFS_LOAD:
        return nf2_load(&adapter->fs, whole->path, whole->data, argument);
    }
    return VFS_ERR_INVAL;
}

static int adapter_maintain(void *context, uint32_t budget_us)
{
    struct adapter *adapter = context;
    return nf2_maintain(&adapter->fs, budget_us);
}

static uint32_t adapter_ram_bytes(void *context)
{
    struct adapter *adapter = context;
    uint32_t page_size = adapter->config.flash->page_size;
    return (uint32_t)(sizeof(nf2_t) + sizeof(nf2_file_t)) + adapter->config.buffer_size + page_size;
}

static void adapter_destroy(void *context)
{
    free(context);
}

static const struct vfs_ops nf2fs_ops = {
    .format = adapter_format,
    .mount = adapter_mount,
    .unmount = adapter_unmount,
    .drop = adapter_drop,
    .open = adapter_open,
    .read = adapter_read,
    .write = adapter_write,
    .seek = adapter_seek,
    .sync = adapter_sync,
    .truncate = adapter_truncate,
    .close = adapter_close,
    .stat = adapter_stat,
    .mkdir = adapter_mkdir,
    .remove = adapter_remove,
    .rename = adapter_rename,
    .opendir = adapter_opendir,
    .readdir = adapter_readdir,
    .closedir = adapter_closedir,
    .statfs = adapter_statfs,
    .maintain = adapter_maintain,
    .more = adapter_more,
    .ram_bytes = adapter_ram_bytes,
    .destroy = adapter_destroy,
};

#define BUFFER_MOST (16u * 1024u * 1024u)

static int make(const struct nf2_flash *flash, const struct nf2_config *settings, struct vfs *out)
{
    if (flash->page_size > NF2_PAGE_MAX) {
        return VFS_ERR_INVAL;
    }
    struct adapter *adapter = calloc(1, sizeof(*adapter) + settings->buffer_size);
    if (adapter == NULL) {
        return VFS_ERR_NOMEM;
    }
    adapter->config = *settings;
    adapter->config.flash = flash;
    adapter->config.buffer = adapter->buffer;
    out->ops = &nf2fs_ops;
    out->context = adapter;
    return 0;
}

static int adapter_make(const struct nf2_flash *flash, struct vfs *out)
{
    const struct nf2_config settings = {.buffer_size = NF2_BUFFER_SIZE(flash->page_size)};
    return make(flash, &settings, out);
}

static int adapter_make_with(const struct nf2_flash *flash, const char *text, struct vfs *out, char *message, size_t message_size)
{
    struct nf2_config settings = {.buffer_size = NF2_BUFFER_SIZE(flash->page_size)};
    const struct setting_field fields[] = {
        {"buffer", &settings.buffer_size, settings.buffer_size, BUFFER_MOST},
        {"wear_age", &settings.wear_age, 1, UINT32_MAX},
        {"wear_spread", &settings.wear_spread, 1, UINT32_MAX},
    };
    if (!settings_read(text, fields, sizeof(fields) / sizeof(fields[0]), message, message_size)) {
        return VFS_ERR_INVAL;
    }
    return make(flash, &settings, out);
}

const struct vfs_entry vfs_nf2fs_entry = {
    .name = "nf2fs",
    .version = NF2_VERSION,
    .description = "NF2FS, format with the erase of the whole chip",
    .make = adapter_make,
    .settings = "buffer,wear_age,wear_spread",
    .make_with = adapter_make_with,
    .core = NF2_CORE_DIGEST,
};
