/* SPDX-License-Identifier: BSD-2-Clause */
#include "board.h"
#include "chip.h"
#include "nf2fs/nf2fs.h"
#include "volume.h"

#define PLAIN (sizeof(nf2_t) + sizeof(nf2_file_t) + CHIP_PAGE)
#define LEAST NF2_BUFFER_SIZE(CHIP_PAGE)
#define BUFFER_SIZE (RAM_BYTES > PLAIN + LEAST ? RAM_BYTES - PLAIN : LEAST)

const char *const volume_name = "nf2fs";
const bool volume_has_steps = true;

static nf2_t fs;
static nf2_file_t file;
static nf2_dir_t dir;
static uint8_t file_buffer[CHIP_PAGE], volume_buffer[BUFFER_SIZE];

/* In board.c, on the driver's stack: each calls its namesake here. */
int drive_read(void *context, uint32_t address, void *data, uint32_t length);
int drive_program(void *context, uint32_t address, const void *data, uint32_t length);
int drive_erase(void *context, uint32_t address, uint32_t length);
int on_read(void *context, uint32_t address, void *data, uint32_t length);
int on_program(void *context, uint32_t address, const void *data, uint32_t length);
int on_erase(void *context, uint32_t address, uint32_t length);
int on_sync(void);

int on_read(void *context, uint32_t address, void *data, uint32_t length)
{
    (void)context;
    return chip_read(address, data, length);
}

int on_program(void *context, uint32_t address, const void *data, uint32_t length)
{
    (void)context;
    return chip_program(address, data, length);
}

int on_erase(void *context, uint32_t address, uint32_t length)
{
    (void)context;
    return chip_erase(address, length);
}

int on_sync(void)
{
    return 0;
}

static struct nf2_flash flash = {
    .read = drive_read,
    .program = drive_program,
    .erase = drive_erase,
    .block_size = CHIP_BLOCK,
    .large_erase_size = CHIP_LARGE,
    .page_size = CHIP_PAGE,
    .program_unit = 1,
    .read_unit = 1,
    .read_page_us = CHIP_READ_US + CHIP_READ_PAGE_US,
    .program_page_us = CHIP_PROGRAM_US,
    .erase_block_us = CHIP_ERASE_BLOCK_US,
    .large_erase_us = CHIP_ERASE_LARGE_US,
};

static const struct nf2_config config = {
    .flash = &flash, .buffer = volume_buffer, .buffer_size = sizeof volume_buffer};

uint32_t volume_ram(void)
{
    return sizeof fs + sizeof file + sizeof file_buffer + sizeof volume_buffer;
}

int volume_format(bool erase)
{
    flash.chip_size = chip_size();
    return ENTER(nf2_format, &fs, &config, erase ? NF2_FORMAT_ERASE : NF2_FORMAT_QUICK, 0, 0);
}

int volume_mount(void)
{
    flash.chip_size = chip_size();
    return ENTER(nf2_mount, &fs, &config, NF2_MOUNT_RDWR, 0, 0);
}

int volume_unmount(void)
{
    return ENTER(nf2_unmount, &fs, 0, 0, 0, 0);
}

int volume_open(const char *path, int flags)
{
    int own = ((flags & READ) ? NF2_O_RDONLY : 0) | ((flags & WRITE) ? NF2_O_WRONLY : 0)
              | ((flags & CREATE) ? NF2_O_CREAT : 0) | ((flags & TRUNCATE) ? NF2_O_TRUNC : 0)
              | ((flags & APPEND) ? NF2_O_APPEND : 0);
    return ENTER(nf2_open, &fs, &file, path, own, file_buffer);
}

int volume_close(void)
{
    return ENTER(nf2_close, &fs, &file, 0, 0, 0);
}

int volume_sync(void)
{
    return ENTER(nf2_sync, &fs, &file, 0, 0, 0);
}

int32_t volume_read(void *data, uint32_t length)
{
    return ENTER(nf2_read, &fs, &file, data, length, 0);
}

int32_t volume_write(const void *data, uint32_t length)
{
    return ENTER(nf2_write, &fs, &file, data, length, 0);
}

int32_t volume_seek(uint32_t position)
{
    return ENTER(nf2_seek, &fs, &file, position, NF2_SEEK_SET, 0);
}

int volume_stat(const char *path, uint32_t *size)
{
    struct nf2_stat found = {0};
    int result = ENTER(nf2_stat, &fs, path, &found, 0, 0);
    *size = found.size;
    return result;
}

int volume_mkdir(const char *path)
{
    return ENTER(nf2_mkdir, &fs, path, 0, 0, 0);
}

int volume_remove(const char *path)
{
    return ENTER(nf2_remove, &fs, path, 0, 0, 0);
}

int volume_rename(const char *from, const char *to)
{
    return ENTER(nf2_rename, &fs, from, to, 0, 0);
}

int volume_list(const char *path)
{
    static struct nf2_dirent entry;
    int count = 0;
    int result = ENTER(nf2_opendir, &fs, &dir, path, 0, 0);
    while (result >= 0 && (result = ENTER(nf2_readdir, &fs, &dir, &entry, 0, 0)) == 1)
        count++;
    (void)ENTER(nf2_closedir, &fs, &dir, 0, 0, 0);
    return result < 0 ? result : count;
}

int volume_maintain(uint32_t budget_us)
{
    return ENTER(nf2_maintain, &fs, budget_us, 0, 0, 0);
}
