/* SPDX-License-Identifier: BSD-2-Clause */
/* vfs_littlefs.c - LittleFS, unmodified, behind the benchmark's interface. */
#include "littlefs/vfs_littlefs.h"

#include <stdlib.h>
#include <string.h>

#include "lfs.h"

#define READ_SIZE 16u
#define CACHE_SIZE 256u          /* or what must be programmed at once, a page of NAND, where that is more */
#define LOOKAHEAD_SIZE 256u
#define BLOCK_CYCLES 500
#define CHECK_SIZE 256u         /* the erase check reads this much at a time and stops at the first programmed byte */

struct adapter {
    lfs_t lfs;
    struct lfs_config config;
    const struct nf2_flash *flash;
    bool erase_check;
    uint8_t lookahead_buffer[LOOKAHEAD_SIZE];
    uint8_t caches[];           /* for reading and for programming */
};

struct adapter_file {
    lfs_file_t file;
    struct lfs_file_config config;
    uint8_t buffer[];
};

/* ---- block device ------------------------------------------------------------------------------- */

static int device_read(const struct lfs_config *config, lfs_block_t block, lfs_off_t offset, void *data, lfs_size_t size)
{
    const struct adapter *adapter = config->context;
    uint32_t address = block * config->block_size + offset;
    return adapter->flash->read(adapter->flash->context, address, data, size) < 0 ? LFS_ERR_IO : 0;
}

/* LittleFS gives up a block that is said to be corrupt, and takes another one. */
static int device_result(int result)
{
    return result >= 0 ? 0 : result == NF2_FLASH_BAD ? LFS_ERR_CORRUPT : LFS_ERR_IO;
}

/* LittleFS's program may cross a page's end; a chip's may not. */
static int device_program(const struct lfs_config *config, lfs_block_t block, lfs_off_t offset, const void *data, lfs_size_t size)
{
    const struct adapter *adapter = config->context;
    const struct nf2_flash *flash = adapter->flash;
    const uint8_t *bytes = data;
    uint32_t address = block * config->block_size + offset;
    while (size > 0) {
        uint32_t piece = flash->page_size - address % flash->page_size;
        piece = piece < size ? piece : size;
        int result = device_result(flash->program(flash->context, address, bytes, piece));
        if (result < 0) {
            return result;
        }
        address += piece;
        bytes += piece;
        size -= piece;
    }
    return 0;
}

/* 1: all of the block reads 0xFF; 0: it does not; or an error. */
static int block_is_blank(const struct nf2_flash *flash, uint32_t address)
{
    uint8_t data[CHECK_SIZE];
    for (uint32_t offset = 0; offset < flash->block_size; offset += CHECK_SIZE) {
        if (flash->read(flash->context, address + offset, data, CHECK_SIZE) < 0) {
            return LFS_ERR_IO;
        }
        for (uint32_t i = 0; i < CHECK_SIZE; i++) {
            if (data[i] != 0xFF) {
                return 0;
            }
        }
    }
    return 1;
}

static int device_erase(const struct lfs_config *config, lfs_block_t block)
{
    const struct adapter *adapter = config->context;
    const struct nf2_flash *flash = adapter->flash;
    uint32_t address = block * config->block_size;
    int blank = adapter->erase_check ? block_is_blank(flash, address) : 0;
    if (blank != 0) {
        return blank < 0 ? blank : 0;
    }
    return device_result(flash->erase(flash->context, address, flash->block_size));
}

static int device_sync(const struct lfs_config *config)
{
    (void)config;       /* programs have landed when they return */
    return 0;
}

/* ---- volume ------------------------------------------------------------------------------------- */

static int adapter_format(void *context)
{
    struct adapter *adapter = context;
    return lfs_format(&adapter->lfs, &adapter->config);
}

static int adapter_mount(void *context)
{
    struct adapter *adapter = context;
    return lfs_mount(&adapter->lfs, &adapter->config);
}

static int adapter_unmount(void *context)
{
    struct adapter *adapter = context;
    return lfs_unmount(&adapter->lfs);
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
    lfs_ssize_t used = lfs_fs_size(&adapter->lfs);
    if (used < 0) {
        return used;
    }
    uint64_t blocks_used = (uint64_t)used < adapter->config.block_count ? (uint64_t)used : adapter->config.block_count;
    out->total_bytes = (uint64_t)adapter->config.block_count * adapter->config.block_size;
    out->free_bytes = (adapter->config.block_count - blocks_used) * adapter->config.block_size;
    return 0;
}

static uint32_t adapter_ram_bytes(void *context)
{
    const struct adapter *adapter = context;
    return (uint32_t)(sizeof(lfs_t) + sizeof(lfs_file_t)) + 3 * adapter->config.cache_size + LOOKAHEAD_SIZE;
}

static void adapter_destroy(void *context)
{
    free(context);
}

/* ---- files -------------------------------------------------------------------------------------- */

static int open_flags(int flags)
{
    int out = 0;
    out |= (flags & VFS_READ) != 0 ? LFS_O_RDONLY : 0;
    out |= (flags & VFS_WRITE) != 0 ? LFS_O_WRONLY : 0;
    out |= (flags & VFS_CREATE) != 0 ? LFS_O_CREAT : 0;
    out |= (flags & VFS_EXCL) != 0 ? LFS_O_EXCL : 0;
    out |= (flags & VFS_TRUNC) != 0 ? LFS_O_TRUNC : 0;
    out |= (flags & VFS_APPEND) != 0 ? LFS_O_APPEND : 0;
    return out;
}

static int adapter_open(void *context, const char *path, int flags, void **file)
{
    struct adapter *adapter = context;
    struct adapter_file *opened = calloc(1, sizeof(*opened) + adapter->config.cache_size);
    if (opened == NULL) {
        return VFS_ERR_NOMEM;
    }
    opened->config.buffer = opened->buffer;
    int result = lfs_file_opencfg(&adapter->lfs, &opened->file, path, open_flags(flags), &opened->config);
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
    return lfs_file_read(&adapter->lfs, &opened->file, data, length);
}

static int32_t adapter_write(void *context, void *file, const void *data, uint32_t length)
{
    struct adapter *adapter = context;
    struct adapter_file *opened = file;
    return lfs_file_write(&adapter->lfs, &opened->file, data, length);
}

static int adapter_seek(void *context, void *file, uint32_t position)
{
    struct adapter *adapter = context;
    struct adapter_file *opened = file;
    lfs_soff_t result = lfs_file_seek(&adapter->lfs, &opened->file, (lfs_soff_t)position, LFS_SEEK_SET);
    return result < 0 ? result : 0;
}

static int adapter_sync(void *context, void *file)
{
    struct adapter *adapter = context;
    struct adapter_file *opened = file;
    return lfs_file_sync(&adapter->lfs, &opened->file);
}

static int adapter_truncate(void *context, void *file, uint32_t size)
{
    struct adapter *adapter = context;
    struct adapter_file *opened = file;
    return lfs_file_truncate(&adapter->lfs, &opened->file, size);
}

static int adapter_close(void *context, void *file)
{
    struct adapter *adapter = context;
    struct adapter_file *opened = file;
    int result = lfs_file_close(&adapter->lfs, &opened->file);
    free(opened);
    return result;
}

/* ---- names -------------------------------------------------------------------------------------- */

static int adapter_stat(void *context, const char *path, struct vfs_stat *out)
{
    struct adapter *adapter = context;
    struct lfs_info info;
    int result = lfs_stat(&adapter->lfs, path, &info);
    if (result == 0) {
        out->directory = info.type == LFS_TYPE_DIR;
        out->size = out->directory ? 0 : info.size;
    }
    return result;
}

static int adapter_mkdir(void *context, const char *path)
{
    struct adapter *adapter = context;
    return lfs_mkdir(&adapter->lfs, path);
}

static int adapter_remove(void *context, const char *path)
{
    struct adapter *adapter = context;
    return lfs_remove(&adapter->lfs, path);
}

static int adapter_rename(void *context, const char *from, const char *to)
{
    struct adapter *adapter = context;
    return lfs_rename(&adapter->lfs, from, to);
}

static int adapter_opendir(void *context, const char *path, void **dir)
{
    struct adapter *adapter = context;
    lfs_dir_t *opened = calloc(1, sizeof(*opened));
    if (opened == NULL) {
        return VFS_ERR_NOMEM;
    }
    int result = lfs_dir_open(&adapter->lfs, opened, path);
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
    struct lfs_info info;
    int result;
    do {
        result = lfs_dir_read(&adapter->lfs, dir, &info);
    } while (result > 0 && (strcmp(info.name, ".") == 0 || strcmp(info.name, "..") == 0));
    if (result > 0) {
        out->directory = info.type == LFS_TYPE_DIR;
        out->size = out->directory ? 0 : info.size;
        memcpy(out->name, info.name, sizeof(out->name));
    }
    return result;
}

static int adapter_closedir(void *context, void *dir)
{
    struct adapter *adapter = context;
    int result = lfs_dir_close(&adapter->lfs, dir);
    free(dir);
    return result;
}

static const struct vfs_ops littlefs_ops = {
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
    .maintain = NULL,
    .ram_bytes = adapter_ram_bytes,
    .destroy = adapter_destroy,
};

/* ---- configurations ----------------------------------------------------------------------------- */

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static uint32_t cache_size(const struct nf2_flash *flash)
{
    return larger(CACHE_SIZE, flash->program_unit);
}

static void configure(struct adapter *adapter, uint32_t program_size)
{
    const struct nf2_flash *flash = adapter->flash;
    adapter->config = (struct lfs_config){
        .context = adapter,
        .read = device_read,
        .prog = device_program,
        .erase = device_erase,
        .sync = device_sync,
        .read_size = larger(READ_SIZE, flash->read_unit),
        .prog_size = larger(program_size, flash->program_unit),
        .block_size = flash->block_size,
        .block_count = flash->chip_size / flash->block_size,
        .block_cycles = BLOCK_CYCLES,
        .cache_size = cache_size(flash),
        .lookahead_size = LOOKAHEAD_SIZE,
        .read_buffer = adapter->caches,
        .prog_buffer = adapter->caches + cache_size(flash),
        .lookahead_buffer = adapter->lookahead_buffer,
    };
}

static int make(const struct nf2_flash *flash, uint32_t program_size, bool erase_check, struct vfs *out)
{
    struct adapter *adapter = calloc(1, sizeof(*adapter) + 2 * cache_size(flash));
    if (adapter == NULL) {
        return VFS_ERR_NOMEM;
    }
    adapter->flash = flash;
    adapter->erase_check = erase_check;
    configure(adapter, program_size);
    out->ops = &littlefs_ops;
    out->context = adapter;
    return 0;
}

static int make_p16(const struct nf2_flash *flash, struct vfs *out)
{
    return make(flash, 16, false, out);
}

static int make_p256(const struct nf2_flash *flash, struct vfs *out)
{
    return make(flash, 256, false, out);
}

static int make_p16_check(const struct nf2_flash *flash, struct vfs *out)
{
    return make(flash, 16, true, out);
}

static int make_p256_check(const struct nf2_flash *flash, struct vfs *out)
{
    return make(flash, 256, true, out);
}

#define LITTLEFS_VERSION "2.11"

_Static_assert(LFS_VERSION == 0x0002000bu, "these entries say 2.11");

const struct vfs_entry vfs_littlefs_entry = {
    "littlefs", LITTLEFS_VERSION, "LittleFS: read 16, prog 16, cache 256, lookahead 256 B, block_cycles 500", make_p16, VFS_WAIVES_NO_GHOST};
const struct vfs_entry vfs_littlefs_p256_entry = {
    "littlefs-p256", LITTLEFS_VERSION, "LittleFS: read 16, prog 256, cache 256, lookahead 256 B, block_cycles 500", make_p256, VFS_WAIVES_NO_GHOST};
const struct vfs_entry vfs_littlefs_erasecheck_entry = {
    "littlefs-erasecheck", LITTLEFS_VERSION, "as littlefs, with a driver that reads a block before its erase and skips the erase of a blank one",
    make_p16_check, VFS_WAIVES_NO_GHOST};
const struct vfs_entry vfs_littlefs_p256_erasecheck_entry = {
    "littlefs-p256-erasecheck", LITTLEFS_VERSION, "as littlefs-p256, with a driver that reads a block before its erase and skips the erase of a blank one",
    make_p256_check, VFS_WAIVES_NO_GHOST};
