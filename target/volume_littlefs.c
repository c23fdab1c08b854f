/* SPDX-License-Identifier: BSD-2-Clause */
#include "board.h"
#include "chip.h"
#include "lfs.h"
#include "volume.h"

/*
 * Of a given RAM, three quarters are for the three caches and most of the rest for the lookahead.
 */
#if RAM_BYTES >= 8192
#define CACHE 2048u
#define LOOKAHEAD 1024u
#elif RAM_BYTES >= 4096
#define CACHE 1024u
#define LOOKAHEAD 768u
#elif RAM_BYTES >= 2048
#define CACHE 512u
#define LOOKAHEAD 256u
#else
#define CACHE 256u
#define LOOKAHEAD 64u
#endif

const char *const volume_name = "littlefs";
const bool volume_has_steps = false;

static lfs_t fs;
static lfs_file_t file;
static lfs_dir_t dir;
static uint8_t read_buffer[CACHE], program_buffer[CACHE], file_buffer[CACHE];
static uint8_t lookahead_buffer[LOOKAHEAD] __attribute__((aligned(8)));
static struct lfs_file_config file_config = {.buffer = file_buffer};

/* In board.c, on the driver's stack: each calls its namesake here. */
typedef const struct lfs_config *context;
int drive_read(context c, lfs_block_t block, lfs_off_t offset, void *data, lfs_size_t length);
int drive_program(context c, lfs_block_t block, lfs_off_t offset, const void *data,
                  lfs_size_t length);
int drive_erase(context c, lfs_block_t block);
int drive_sync(context c);
int on_read(context c, lfs_block_t block, lfs_off_t offset, void *data, lfs_size_t length);
int on_program(context c, lfs_block_t block, lfs_off_t offset, const void *data, lfs_size_t length);
int on_erase(context c, lfs_block_t block);
int on_sync(context c);

int on_read(context c, lfs_block_t block, lfs_off_t offset, void *data, lfs_size_t length)
{
    (void)c;
    return chip_read(block * CHIP_BLOCK + offset, data, length) ? LFS_ERR_IO : 0;
}

/* One call programs up to a cache: page by page, as a driver does. */
int on_program(context c, lfs_block_t block, lfs_off_t offset, const void *data, lfs_size_t length)
{
    (void)c;
    const uint8_t *from = data;
    for (uint32_t done = 0; done < length; done += CHIP_PAGE)
        if (chip_program(block * CHIP_BLOCK + offset + done, from + done, CHIP_PAGE))
            return LFS_ERR_IO;
    return 0;
}

int on_erase(context c, lfs_block_t block)
{
    (void)c;
    return chip_erase(block * CHIP_BLOCK, CHIP_BLOCK) ? LFS_ERR_IO : 0;
}

int on_sync(context c)
{
    (void)c;
    return 0;
}

static struct lfs_config config = {
    .read = drive_read,
    .prog = drive_program,
    .erase = drive_erase,
    .sync = drive_sync,
    .read_size = 16,
    .prog_size = CHIP_PAGE,
    .block_size = CHIP_BLOCK,
    .block_cycles = 500,
    .cache_size = CACHE,
    .lookahead_size = LOOKAHEAD,
    .read_buffer = read_buffer,
    .prog_buffer = program_buffer,
    .lookahead_buffer = lookahead_buffer,
};

uint32_t volume_ram(void)
{
    return sizeof fs + sizeof file + sizeof file_config + 3u * CACHE + LOOKAHEAD;
}

int volume_format(bool erase)
{
    (void)erase;
    config.block_count = chip_size() / CHIP_BLOCK;
    return ENTER(lfs_format, &fs, &config, 0, 0, 0);
}

int volume_mount(void)
{
    config.block_count = chip_size() / CHIP_BLOCK;
    return ENTER(lfs_mount, &fs, &config, 0, 0, 0);
}

int volume_unmount(void)
{
    return ENTER(lfs_unmount, &fs, 0, 0, 0, 0);
}

int volume_open(const char *path, int flags)
{
    int own = ((flags & READ) ? LFS_O_RDONLY : 0) | ((flags & WRITE) ? LFS_O_WRONLY : 0)
              | ((flags & CREATE) ? LFS_O_CREAT : 0) | ((flags & TRUNCATE) ? LFS_O_TRUNC : 0)
              | ((flags & APPEND) ? LFS_O_APPEND : 0);
    return ENTER(lfs_file_opencfg, &fs, &file, path, own, &file_config);
}

int volume_close(void)
{
    return ENTER(lfs_file_close, &fs, &file, 0, 0, 0);
}

int volume_sync(void)
{
    return ENTER(lfs_file_sync, &fs, &file, 0, 0, 0);
}

int32_t volume_read(void *data, uint32_t length)
{
    return ENTER(lfs_file_read, &fs, &file, data, length, 0);
}

int32_t volume_write(const void *data, uint32_t length)
{
    return ENTER(lfs_file_write, &fs, &file, data, length, 0);
}

int32_t volume_seek(uint32_t position)
{
    return ENTER(lfs_file_seek, &fs, &file, position, LFS_SEEK_SET, 0);
}

int volume_stat(const char *path, uint32_t *size)
{
    static struct lfs_info found;
    int result = ENTER(lfs_stat, &fs, path, &found, 0, 0);
    *size = found.size;
    return result;
}

int volume_mkdir(const char *path)
{
    return ENTER(lfs_mkdir, &fs, path, 0, 0, 0);
}

int volume_remove(const char *path)
{
    return ENTER(lfs_remove, &fs, path, 0, 0, 0);
}

int volume_rename(const char *from, const char *to)
{
    return ENTER(lfs_rename, &fs, from, to, 0, 0);
}

int volume_list(const char *path)
{
    static struct lfs_info entry;
    int count = 0;
    int result = ENTER(lfs_dir_open, &fs, &dir, path, 0, 0);
    while (result >= 0 && (result = ENTER(lfs_dir_read, &fs, &dir, &entry, 0, 0)) == 1)
        count += entry.name[0] != '.';
    (void)ENTER(lfs_dir_close, &fs, &dir, 0, 0, 0);
    return result < 0 ? result : count;
}

int volume_maintain(uint32_t budget_us)
{
    (void)budget_us;
    return ENTER(lfs_fs_gc, &fs, 0, 0, 0, 0);
}
