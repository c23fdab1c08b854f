/* SPDX-License-Identifier: BSD-2-Clause */
/* vfs_littlefs.c - LittleFS, unmodified, behind the benchmark's interface. */
#include "littlefs/vfs_littlefs.h"

#include <stdlib.h>
#include <string.h>

#include "lfs.h"
#include "settings.h"

#define READ_SIZE 16u
#define CACHE_SIZE 256u          /* or what must be programmed at once, a page of NAND, where that is more */
#define CACHE_MOST 65536u
#define LOOKAHEAD_SIZE 256u
#define BLOCK_CYCLES 500
#define CHECK_SIZE 256u         /* the erase check reads this much at a time and stops at the first programmed byte */

struct adapter {
    lfs_t lfs;
    struct lfs_config config;
    const struct nf2_flash *flash;
    bool erase_check;
    uint8_t buffers[];          /* lookahead, and the caches for reading and for programming */
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
static int block_is_blank(const struct nf2_flash *flash, uint32_t address, uint32_t size)
{
    uint8_t data[CHECK_SIZE];
    for (uint32_t offset = 0; offset < size; offset += CHECK_SIZE) {
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
    int blank = adapter->erase_check ? block_is_blank(flash, address, config->block_size) : 0;
    if (blank != 0) {
        return blank < 0 ? blank : 0;
    }
    /* A block as large as the chip's large erase is one erase, any other one several small ones. */
    uint32_t step = config->block_size == flash->large_erase_size ? config->block_size : flash->block_size;
    int result = 0;
    for (uint32_t at = 0; at < config->block_size && result == 0; at += step) {
        result = device_result(flash->erase(flash->context, address + at, step));
    }
    return result;
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
    return (uint32_t)(sizeof(lfs_t) + sizeof(lfs_file_t)) + 3 * adapter->config.cache_size + adapter->config.lookahead_size;
}

/* Its own idle work, which knows no budget: it compacts metadata, and looks for free blocks ahead. */
static int adapter_maintain(void *context, uint32_t budget_us)
{
    struct adapter *adapter = context;
    (void)budget_us;
    return lfs_fs_gc(&adapter->lfs);
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
    .maintain = adapter_maintain,
    .ram_bytes = adapter_ram_bytes,
    .destroy = adapter_destroy,
};

/* ---- configurations ----------------------------------------------------------------------------- */

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

struct settings {
    uint32_t read, program, cache, lookahead, block, cycles, erase_check, inlined;      /* bytes, but for the cycles; 0: LittleFS's own */
};

/* What the entries say; a chip that reads or programs more at a time gets that. */
static struct settings defaults(const struct nf2_flash *flash, uint32_t program_size, bool erase_check)
{
    return (struct settings){
        .read = larger(READ_SIZE, flash->read_unit),
        .program = larger(program_size, flash->program_unit),
        .cache = larger(CACHE_SIZE, flash->program_unit),
        .lookahead = LOOKAHEAD_SIZE,
        .block = flash->block_size,
        .cycles = BLOCK_CYCLES,
        .erase_check = erase_check,
    };
}

static void configure(struct adapter *adapter, const struct settings *settings)
{
    adapter->config = (struct lfs_config){
        .context = adapter,
        .read = device_read,
        .prog = device_program,
        .erase = device_erase,
        .sync = device_sync,
        .read_size = settings->read,
        .prog_size = settings->program,
        .block_size = settings->block,
        .block_count = adapter->flash->chip_size / settings->block,
        .block_cycles = settings->cycles == 0 ? -1 : (int32_t)settings->cycles,
        .cache_size = settings->cache,
        .lookahead_size = settings->lookahead,
        .inline_max = settings->inlined,
        .lookahead_buffer = adapter->buffers,
        .read_buffer = adapter->buffers + settings->lookahead,
        .prog_buffer = adapter->buffers + settings->lookahead + settings->cache,
    };
}

static int make_as(const struct nf2_flash *flash, const struct settings *settings, struct vfs *out)
{
    struct adapter *adapter = calloc(1, sizeof(*adapter) + settings->lookahead + 2 * settings->cache);
    if (adapter == NULL) {
        return VFS_ERR_NOMEM;
    }
    adapter->flash = flash;
    adapter->erase_check = settings->erase_check != 0;
    configure(adapter, settings);
    out->ops = &littlefs_ops;
    out->context = adapter;
    return 0;
}

static int make(const struct nf2_flash *flash, uint32_t program_size, bool erase_check, struct vfs *out)
{
    const struct settings settings = defaults(flash, program_size, erase_check);
    return make_as(flash, &settings, out);
}

/* What LittleFS asserts of its configuration, as an answer. */
static const char *fault_of(const struct nf2_flash *flash, const struct settings *settings)
{
    if (settings->read % larger(flash->read_unit, 1) != 0 || settings->program % larger(flash->program_unit, 1) != 0) {
        return "read and prog are multiples of what the chip reads and programs at least";
    }
    if (settings->cache % settings->read != 0 || settings->cache % settings->program != 0) {
        return "cache is a multiple of read and prog";
    }
    if (settings->block % settings->cache != 0 || settings->block % flash->block_size != 0 || flash->chip_size % settings->block != 0) {
        return "block is a multiple of cache and of the chip's block, and the chip a multiple of block";
    }
    if (flash->chip_size / settings->block < 2 || settings->lookahead % 8 != 0) {
        return "there are at least two blocks, and lookahead is a multiple of 8";
    }
    return settings->inlined > settings->cache || settings->inlined > settings->block / 8 ? "inline is at most cache, and an eighth of block" : NULL;
}

static int make_with(const struct nf2_flash *flash, const char *text, struct vfs *out, char *message, size_t message_size)
{
    struct settings settings = defaults(flash, 16, false);
    const struct setting_field fields[] = {
        {"read", &settings.read, 1, CACHE_MOST},           {"prog", &settings.program, 1, CACHE_MOST},
        {"cache", &settings.cache, 16, CACHE_MOST},        {"lookahead", &settings.lookahead, 8, CACHE_MOST},
        {"block", &settings.block, 512, 1024 * 1024},      {"cycles", &settings.cycles, 0, 1000000},
        {"erasecheck", &settings.erase_check, 0, 1},       {"inline", &settings.inlined, 0, CACHE_MOST},
    };
    if (!settings_read(text, fields, sizeof(fields) / sizeof(fields[0]), message, message_size)) {
        return VFS_ERR_INVAL;
    }
    const char *fault = fault_of(flash, &settings);
    if (fault != NULL) {
        snprintf(message, message_size, "%s", fault);
        return VFS_ERR_INVAL;
    }
    return make_as(flash, &settings, out);
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
    "littlefs", LITTLEFS_VERSION, "LittleFS: read 16, prog 16, cache 256, lookahead 256 B, block_cycles 500", make_p16, VFS_WAIVES_NO_GHOST,
    "read,prog,cache,lookahead,block,cycles,erasecheck,inline", make_with};
const struct vfs_entry vfs_littlefs_p256_entry = {
    "littlefs-p256", LITTLEFS_VERSION, "LittleFS: read 16, prog 256, cache 256, lookahead 256 B, block_cycles 500", make_p256, VFS_WAIVES_NO_GHOST, NULL, NULL};
const struct vfs_entry vfs_littlefs_erasecheck_entry = {
    "littlefs-erasecheck", LITTLEFS_VERSION, "as littlefs, with a driver that reads a block before its erase and skips the erase of a blank one",
    make_p16_check, VFS_WAIVES_NO_GHOST, NULL, NULL};
const struct vfs_entry vfs_littlefs_p256_erasecheck_entry = {
    "littlefs-p256-erasecheck", LITTLEFS_VERSION, "as littlefs-p256, with a driver that reads a block before its erase and skips the erase of a blank one",
    make_p256_check, VFS_WAIVES_NO_GHOST, NULL, NULL};
