/* SPDX-License-Identifier: BSD-2-Clause */
/* vfs_littlefs3.c - LittleFS 3 (its branch v3-alpha of July 2025), unmodified, behind the benchmark's interface. */
#include <stdlib.h>
#include <string.h>

#include "lfs3.h"
#include "peers.h"
#include "settings.h"

#define CACHE_SIZE 256u
#define CACHE_MOST 65536u
#define RECYCLES 500u
#define INLINE_SIZE 1024u
#define FRAGMENT_SIZE 512u
#define CHECK_SIZE 256u         /* the erase check reads this much at a time and stops at the first programmed byte */

struct settings {
    uint32_t read, program, cache, lookahead, block, erase_check;
};

struct adapter {
    lfs3_t lfs;
    struct lfs3_cfg config;
    const struct nf2_flash *flash;
    bool erase_check;
    uint8_t buffers[];          /* lookahead, and the caches for reading and for programming */
};

struct adapter_file {
    lfs3_file_t file;
    struct lfs3_file_cfg config;
    uint8_t buffer[];
};

/* ---- block device ------------------------------------------------------------------------------- */

static int device_result(int result)
{
    return result >= 0 ? 0 : result == NF2_FLASH_BAD ? LFS3_ERR_CORRUPT : LFS3_ERR_IO;
}

static int device_read(const struct lfs3_cfg *config, lfs3_block_t block, lfs3_off_t offset, void *data, lfs3_size_t size)
{
    const struct adapter *adapter = config->context;
    return adapter->flash->read(adapter->flash->context, block * config->block_size + offset, data, size) < 0 ? LFS3_ERR_IO : 0;
}

/* Its program may cross a page's end; a chip's may not. */
static int device_program(const struct lfs3_cfg *config, lfs3_block_t block, lfs3_off_t offset, const void *data, lfs3_size_t size)
{
    const struct adapter *adapter = config->context;
    const struct nf2_flash *flash = adapter->flash;
    const uint8_t *bytes = data;
    uint32_t address = block * config->block_size + offset;
    for (uint32_t piece; size > 0; address += piece, bytes += piece, size -= piece) {
        piece = flash->page_size - address % flash->page_size;
        piece = piece < size ? piece : size;
        int result = device_result(flash->program(flash->context, address, bytes, piece));
        if (result < 0) {
            return result;
        }
    }
    return 0;
}

/* 1: all of the block reads 0xFF; 0: it does not; or an error. */
static int block_is_blank(const struct nf2_flash *flash, uint32_t address, uint32_t size)
{
    uint8_t data[CHECK_SIZE];
    for (uint32_t offset = 0; offset < size; offset += CHECK_SIZE) {
        if (flash->read(flash->context, address + offset, data, CHECK_SIZE) < 0) {
            return LFS3_ERR_IO;
        }
        for (uint32_t i = 0; i < CHECK_SIZE; i++) {
            if (data[i] != 0xFF) {
                return 0;
            }
        }
    }
    return 1;
}

static int device_erase(const struct lfs3_cfg *config, lfs3_block_t block)
{
    const struct adapter *adapter = config->context;
    const struct nf2_flash *flash = adapter->flash;
    uint32_t address = block * config->block_size;
    int blank = adapter->erase_check ? block_is_blank(flash, address, config->block_size) : 0;
    if (blank != 0) {
        return blank < 0 ? blank : 0;
    }
    uint32_t step = config->block_size == flash->large_erase_size ? config->block_size : flash->block_size;
    int result = 0;
    for (uint32_t at = 0; at < config->block_size && result == 0; at += step) {
        result = device_result(flash->erase(flash->context, address + at, step));
    }
    return result;
}

static int device_sync(const struct lfs3_cfg *config)
{
    (void)config;       /* programs have landed when they return */
    return 0;
}

/* ---- volume ------------------------------------------------------------------------------------- */

static int adapter_format(void *context)
{
    struct adapter *adapter = context;
    return lfs3_format(&adapter->lfs, LFS3_F_RDWR, &adapter->config);
}

static int adapter_mount(void *context)
{
    struct adapter *adapter = context;
    return lfs3_mount(&adapter->lfs, LFS3_M_RDWR, &adapter->config);
}

static int adapter_unmount(void *context)
{
    struct adapter *adapter = context;
    return lfs3_unmount(&adapter->lfs);
}

/* All buffers are ours, so that forgetting the structure is all. */
static void adapter_drop(void *context)
{
    struct adapter *adapter = context;
    memset(&adapter->lfs, 0, sizeof(adapter->lfs));
}

static int adapter_statfs(void *context, struct vfs_space *out)
{
    struct adapter *adapter = context;
    lfs3_ssize_t used = lfs3_fs_usage(&adapter->lfs);
    if (used < 0) {
        return used;
    }
    uint64_t blocks_used = (uint64_t)used < adapter->config.block_count ? (uint64_t)used : adapter->config.block_count;
    out->total_bytes = (uint64_t)adapter->config.block_count * adapter->config.block_size;
    out->free_bytes = (adapter->config.block_count - blocks_used) * adapter->config.block_size;
    return 0;
}

/* Its own idle work, as a traversal does it; it knows no budget. */
static int adapter_maintain(void *context, uint32_t budget_us)
{
    struct adapter *adapter = context;
    struct lfs3_tinfo info;
    lfs3_trv_t traversal;
    (void)budget_us;
    int result = lfs3_trv_open(&adapter->lfs, &traversal, LFS3_T_MKCONSISTENT | LFS3_T_LOOKAHEAD | LFS3_T_COMPACT);
    if (result < 0) {
        return result;
    }
    while ((result = lfs3_trv_read(&adapter->lfs, &traversal, &info)) == 0) {
    }
    int closed = lfs3_trv_close(&adapter->lfs, &traversal);
    return result != LFS3_ERR_NOENT ? result : closed;
}

static uint32_t adapter_ram_bytes(void *context)
{
    const struct adapter *adapter = context;
    const struct lfs3_cfg *config = &adapter->config;
    return (uint32_t)(sizeof(lfs3_t) + sizeof(lfs3_file_t)) + config->rcache_size + config->pcache_size + config->file_cache_size + config->lookahead_size;
}

static void adapter_destroy(void *context)
{
    free(context);
}

/* ---- files -------------------------------------------------------------------------------------- */

static uint32_t open_flags(int flags)
{
    uint32_t out = (flags & VFS_WRITE) == 0 ? LFS3_O_RDONLY : (flags & VFS_READ) != 0 ? LFS3_O_RDWR : LFS3_O_WRONLY;
    out |= (flags & VFS_CREATE) != 0 ? LFS3_O_CREAT : 0;
    out |= (flags & VFS_EXCL) != 0 ? LFS3_O_EXCL : 0;
    out |= (flags & VFS_TRUNC) != 0 ? LFS3_O_TRUNC : 0;
    out |= (flags & VFS_APPEND) != 0 ? LFS3_O_APPEND : 0;
    return out;
}

static int adapter_open(void *context, const char *path, int flags, void **file)
{
    struct adapter *adapter = context;
    struct adapter_file *opened = calloc(1, sizeof(*opened) + adapter->config.file_cache_size);
    if (opened == NULL) {
        return VFS_ERR_NOMEM;
    }
    opened->config.cache_buffer = opened->buffer;
    opened->config.cache_size = adapter->config.file_cache_size;
    int result = lfs3_file_opencfg(&adapter->lfs, &opened->file, path, open_flags(flags), &opened->config);
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
    return lfs3_file_read(&adapter->lfs, &((struct adapter_file *)file)->file, data, length);
}

static int32_t adapter_write(void *context, void *file, const void *data, uint32_t length)
{
    struct adapter *adapter = context;
    return lfs3_file_write(&adapter->lfs, &((struct adapter_file *)file)->file, data, length);
}

static int adapter_seek(void *context, void *file, uint32_t position)
{
    struct adapter *adapter = context;
    lfs3_soff_t result = lfs3_file_seek(&adapter->lfs, &((struct adapter_file *)file)->file, (lfs3_soff_t)position, LFS3_SEEK_SET);
    return result < 0 ? result : 0;
}

static int adapter_sync(void *context, void *file)
{
    struct adapter *adapter = context;
    return lfs3_file_sync(&adapter->lfs, &((struct adapter_file *)file)->file);
}

static int adapter_truncate(void *context, void *file, uint32_t size)
{
    struct adapter *adapter = context;
    return lfs3_file_truncate(&adapter->lfs, &((struct adapter_file *)file)->file, size);
}

static int adapter_close(void *context, void *file)
{
    struct adapter *adapter = context;
    int result = lfs3_file_close(&adapter->lfs, &((struct adapter_file *)file)->file);
    free(file);
    return result;
}

/* ---- names -------------------------------------------------------------------------------------- */

static int adapter_stat(void *context, const char *path, struct vfs_stat *out)
{
    struct adapter *adapter = context;
    struct lfs3_info info;
    int result = lfs3_stat(&adapter->lfs, path, &info);
    if (result == 0) {
        out->directory = info.type == LFS3_TYPE_DIR;
        out->size = out->directory ? 0 : info.size;
    }
    return result;
}

static int adapter_mkdir(void *context, const char *path)
{
    struct adapter *adapter = context;
    return lfs3_mkdir(&adapter->lfs, path);
}

static int adapter_remove(void *context, const char *path)
{
    struct adapter *adapter = context;
    return lfs3_remove(&adapter->lfs, path);
}

static int adapter_rename(void *context, const char *from, const char *to)
{
    struct adapter *adapter = context;
    return lfs3_rename(&adapter->lfs, from, to);
}

static int adapter_opendir(void *context, const char *path, void **dir)
{
    struct adapter *adapter = context;
    lfs3_dir_t *opened = calloc(1, sizeof(*opened));
    if (opened == NULL) {
        return VFS_ERR_NOMEM;
    }
    int result = lfs3_dir_open(&adapter->lfs, opened, path);
    if (result < 0) {
        free(opened);
        return result;
    }
    *dir = opened;
    return 0;
}

/* It says with an error that there are no more entries. */
static int adapter_readdir(void *context, void *dir, struct vfs_dirent *out)
{
    struct adapter *adapter = context;
    struct lfs3_info info;
    int result;
    do {
        result = lfs3_dir_read(&adapter->lfs, dir, &info);
    } while (result == 0 && (strcmp(info.name, ".") == 0 || strcmp(info.name, "..") == 0));
    if (result < 0) {
        return result == LFS3_ERR_NOENT ? 0 : result;
    }
    out->directory = info.type == LFS3_TYPE_DIR;
    out->size = out->directory ? 0 : info.size;
    memcpy(out->name, info.name, sizeof(out->name));
    return 1;
}

static int adapter_closedir(void *context, void *dir)
{
    struct adapter *adapter = context;
    int result = lfs3_dir_close(&adapter->lfs, dir);
    free(dir);
    return result;
}

static const struct vfs_ops littlefs3_ops = {
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
    .ram_bytes = adapter_ram_bytes,
    .destroy = adapter_destroy,
};

/* ---- configurations ----------------------------------------------------------------------------- */

static int make_as(const struct nf2_flash *flash, const struct settings *settings, struct vfs *out)
{
    struct adapter *adapter = calloc(1, sizeof(*adapter) + settings->lookahead + 2 * settings->cache);
    if (adapter == NULL) {
        return VFS_ERR_NOMEM;
    }
    adapter->flash = flash;
    adapter->erase_check = settings->erase_check != 0;
    adapter->config = (struct lfs3_cfg){
        .context = adapter,
        .read = device_read,
        .prog = device_program,
        .erase = device_erase,
        .sync = device_sync,
        .read_size = settings->read,
        .prog_size = settings->program,
        .block_size = settings->block,
        .block_count = flash->chip_size / settings->block,
        .block_recycles = RECYCLES,
        .rcache_size = settings->cache,
        .pcache_size = settings->cache,
        .file_cache_size = settings->cache,
        .lookahead_size = settings->lookahead,
        .lookahead_buffer = adapter->buffers,
        .rcache_buffer = adapter->buffers + settings->lookahead,
        .pcache_buffer = adapter->buffers + settings->lookahead + settings->cache,
        .inline_size = INLINE_SIZE,
        .fragment_size = FRAGMENT_SIZE,
        .crystal_thresh = FRAGMENT_SIZE,
    };
    out->ops = &littlefs3_ops;
    out->context = adapter;
    return 0;
}

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static struct settings defaults(const struct nf2_flash *flash)
{
    return (struct settings){larger(1, flash->read_unit), larger(1, flash->program_unit), larger(CACHE_SIZE, flash->program_unit), CACHE_SIZE, flash->block_size, 0};
}

static int make(const struct nf2_flash *flash, struct vfs *out)
{
    const struct settings settings = defaults(flash);
    return make_as(flash, &settings, out);
}

static int make_with(const struct nf2_flash *flash, const char *text, struct vfs *out, char *message, size_t message_size)
{
    struct settings settings = defaults(flash);
    const struct setting_field fields[] = {
        {"read", &settings.read, 1, CACHE_MOST},           {"prog", &settings.program, 1, CACHE_MOST}, {"cache", &settings.cache, 16, CACHE_MOST},
        {"lookahead", &settings.lookahead, 8, CACHE_MOST}, {"block", &settings.block, 512, 1024 * 1024}, {"erasecheck", &settings.erase_check, 0, 1},
    };
    if (!settings_read(text, fields, sizeof(fields) / sizeof(fields[0]), message, message_size)) {
        return VFS_ERR_INVAL;
    }
    bool fits = settings.cache % settings.read == 0 && settings.cache % settings.program == 0 && settings.block % settings.cache == 0 && settings.block % flash->block_size == 0 &&
                flash->chip_size % settings.block == 0 && settings.read % larger(1, flash->read_unit) == 0 && settings.program % larger(1, flash->program_unit) == 0;
    if (!fits) {
        snprintf(message, message_size, "cache is a multiple of read and prog, block one of cache and of the chip's block, and the chip one of block");
        return VFS_ERR_INVAL;
    }
    return make_as(flash, &settings, out);
}

static const struct vfs_entry vfs_littlefs3_entry = {
    .name = "littlefs3",
    .version = "alpha",
    .description = "LittleFS 3, alpha: read 1, prog 1, caches 256, lookahead 256 B, recycles 500, inline 1,024, fragment and crystal 512 B",
    .make = make,
    .waives = VFS_WAIVES_NO_GHOST,
    .settings = "read,prog,cache,lookahead,block,erasecheck",
    .make_with = make_with,
};

const struct vfs_entry *peers_at(unsigned index)
{
    return index == 0 ? &vfs_littlefs3_entry : NULL;
}
