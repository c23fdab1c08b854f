/* SPDX-License-Identifier: BSD-2-Clause */
/* nf2_zephyr.c - struct fs_file_system_t over NF2FS, and a driver over a flash area. */
#include "nf2_zephyr.h"

#include <errno.h>
#include <string.h>

#include <zephyr/fs/fs_sys.h>
#include <zephyr/init.h>

struct open_file {
    bool taken;
    nf2_file_t file;
    uint8_t buffer[NF2_ZEPHYR_PAGE_SIZE];
};

struct open_dir {
    bool taken;
    nf2_dir_t dir;
    struct nf2_dirent entry;
};

static struct open_file files[CONFIG_NF2FS_FILES];
static struct open_dir dirs[CONFIG_NF2FS_DIRS];
static K_MUTEX_DEFINE(tables);

/* errno's numbers are the C library's, not NF2FS's. */
static int zephyr(int32_t result)
{
    static const int16_t known[][2] = {
        {NF2_ERR_NOENT, ENOENT},       {NF2_ERR_BADF, EBADF},
        {NF2_ERR_BUSY, EBUSY},         {NF2_ERR_EXIST, EEXIST},
        {NF2_ERR_NOTDIR, ENOTDIR},     {NF2_ERR_ISDIR, EISDIR},
        {NF2_ERR_INVAL, EINVAL},
        {NF2_ERR_FBIG, EFBIG},         {NF2_ERR_NOSPC, ENOSPC},
        {NF2_ERR_ROFS, EROFS},         {NF2_ERR_NAMETOOLONG, ENAMETOOLONG},
        {NF2_ERR_NOTEMPTY, ENOTEMPTY},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (result == known[i][0]) {
            return -known[i][1];
        }
    }
    return result < 0 ? -EIO : (int)result;
}

static nf2_t *volume_of(const struct fs_mount_t *mount)
{
    return &((struct nf2_zephyr *)mount->fs_data)->fs;
}

/* Zephyr hands on paths with the mount point in front. */
static const char *inside(const struct fs_mount_t *mount, const char *path)
{
    return strlen(path) > mount->mountp_len ? path + mount->mountp_len : "/";
}

/* ---- the driver ------------------------------------------------------------------------------ */

static int area_read(void *context, uint32_t address, void *data, uint32_t length)
{
    const struct nf2_zephyr *volume = context;
    return flash_area_read(volume->area, (off_t)address, data, length);
}

static int area_program(void *context, uint32_t address, const void *data, uint32_t length)
{
    const struct nf2_zephyr *volume = context;
    return flash_area_write(volume->area, (off_t)address, data, length);
}

static int area_erase(void *context, uint32_t address, uint32_t length)
{
    const struct nf2_zephyr *volume = context;
    return flash_area_erase(volume->area, (off_t)address, length);
}

static void lock(void *context)
{
    struct nf2_zephyr *volume = context;
    (void)k_mutex_lock(&volume->mutex, K_FOREVER);
}

static void unlock(void *context)
{
    struct nf2_zephyr *volume = context;
    (void)k_mutex_unlock(&volume->mutex);
}

static void configure(struct nf2_zephyr *volume)
{
    uint32_t blocks = (uint32_t)volume->area->fa_size / CONFIG_NF2FS_BLOCK_SIZE;
    volume->flash = (struct nf2_flash){
        .context = volume, .read = area_read, .program = area_program, .erase = area_erase,
        .chip_size = blocks * CONFIG_NF2FS_BLOCK_SIZE, .block_size = CONFIG_NF2FS_BLOCK_SIZE,
        .large_erase_size = CONFIG_NF2FS_LARGE_ERASE_SIZE, .page_size = NF2_ZEPHYR_PAGE_SIZE,
        .program_unit = flash_area_align(volume->area), .read_unit = 1, .read_page_us = 40,
        .program_page_us = 400, .erase_block_us = 50000,
        .large_erase_us = CONFIG_NF2FS_LARGE_ERASE_SIZE != 0 ? 150000 : 0,
    };
    volume->config = (struct nf2_config){
        .flash = &volume->flash, .buffer = volume->buffer, .buffer_size = sizeof(volume->buffer),
        .lock = lock, .unlock = unlock, .lock_context = volume,
    };
}

/* ---- the volume ------------------------------------------------------------------------------ */

static int volume_mount(struct fs_mount_t *mount)
{
    struct nf2_zephyr *volume = mount->fs_data;
    int flags = (mount->flags & FS_MOUNT_FLAG_READ_ONLY) != 0 ? NF2_MOUNT_RDONLY : NF2_MOUNT_RDWR;
    bool format = (mount->flags & (FS_MOUNT_FLAG_READ_ONLY | FS_MOUNT_FLAG_NO_FORMAT)) == 0;
    int result = flash_area_open((uint8_t)(uintptr_t)mount->storage_dev, &volume->area);
    if (result < 0) {
        return result;
    }
    (void)k_mutex_init(&volume->mutex);
    configure(volume);
    result = nf2_mount(&volume->fs, &volume->config, flags);
    if (result == NF2_ERR_BLANK && format) {
        result = nf2_format(&volume->fs, &volume->config, NF2_FORMAT_QUICK);
        result = result == NF2_OK ? nf2_mount(&volume->fs, &volume->config, flags) : result;
    }
    if (result != NF2_OK) {
        flash_area_close(volume->area);
    }
    return zephyr(result);
}

static int volume_unmount(struct fs_mount_t *mount)
{
    struct nf2_zephyr *volume = mount->fs_data;
    int result = nf2_unmount(&volume->fs);
    flash_area_close(volume->area);
    return zephyr(result);
}

static int volume_space(struct fs_mount_t *mount, const char *path, struct fs_statvfs *out)
{
    struct nf2_statfs space;
    int result = nf2_statfs(volume_of(mount), &space);
    (void)path;
    if (result == NF2_OK) {
        out->f_bsize = space.block_size;
        out->f_frsize = space.block_size;
        out->f_blocks = space.blocks;
        out->f_bfree = space.blocks_available;
    }
    return zephyr(result);
}

/* ---- files ----------------------------------------------------------------------------------- */

static struct open_file *take_file(void)
{
    struct open_file *found = NULL;
    (void)k_mutex_lock(&tables, K_FOREVER);
    for (size_t i = 0; i < CONFIG_NF2FS_FILES && found == NULL; i++) {
        found = files[i].taken ? NULL : &files[i];
    }
    if (found != NULL) {
        found->taken = true;
    }
    (void)k_mutex_unlock(&tables);
    return found;
}

static int flags_of(fs_mode_t mode)
{
    int flags = (mode & FS_O_READ) != 0 ? NF2_O_RDONLY : 0;
    bool writes = (mode & FS_O_WRITE) != 0;
    flags |= writes ? NF2_O_WRONLY : 0;
    flags |= writes && (mode & FS_O_CREATE) != 0 ? NF2_O_CREAT : 0;
    flags |= writes && (mode & FS_O_APPEND) != 0 ? NF2_O_APPEND : 0;
#ifdef FS_O_TRUNC
    flags |= writes && (mode & FS_O_TRUNC) != 0 ? NF2_O_TRUNC : 0;
#endif
    return flags;
}

static int file_open(struct fs_file_t *filp, const char *path, fs_mode_t mode)
{
    struct open_file *at = take_file();
    if (at == NULL) {
        return -ENFILE;
    }
    int result = nf2_open(volume_of(filp->mp), &at->file, inside(filp->mp, path), flags_of(mode),
                          at->buffer);
    if (result != NF2_OK) {
        at->taken = false;
        return zephyr(result);
    }
    filp->filep = at;
    return 0;
}

static nf2_file_t *handle(const struct fs_file_t *filp)
{
    return &((struct open_file *)filp->filep)->file;
}

static int file_close(struct fs_file_t *filp)
{
    struct open_file *at = filp->filep;
    int result = nf2_close(volume_of(filp->mp), &at->file);
    at->taken = false;
    filp->filep = NULL;
    return zephyr(result);
}

static ssize_t file_read(struct fs_file_t *filp, void *data, size_t length)
{
    return zephyr(nf2_read(volume_of(filp->mp), handle(filp), data,
                           length > INT32_MAX ? INT32_MAX : (uint32_t)length));
}

static ssize_t file_write(struct fs_file_t *filp, const void *data, size_t length)
{
    if (length > INT32_MAX) {
        return -EFBIG;
    }
    return zephyr(nf2_write(volume_of(filp->mp), handle(filp), data, (uint32_t)length));
}

static int file_seek(struct fs_file_t *filp, off_t offset, int whence)
{
    int nf2 = whence == FS_SEEK_SET   ? NF2_SEEK_SET
              : whence == FS_SEEK_CUR ? NF2_SEEK_CUR
                                      : NF2_SEEK_END;
    if (offset > INT32_MAX || offset < -INT32_MAX) {
        return -EINVAL;
    }
    int result = zephyr(nf2_seek(volume_of(filp->mp), handle(filp), (int32_t)offset, nf2));
    return result < 0 ? result : 0;
}

static off_t file_tell(struct fs_file_t *filp)
{
    return zephyr(nf2_tell(volume_of(filp->mp), handle(filp)));
}

static int file_truncate(struct fs_file_t *filp, off_t length)
{
    if (length < 0 || length > INT32_MAX) {
        return length < 0 ? -EINVAL : -EFBIG;
    }
    return zephyr(nf2_truncate(volume_of(filp->mp), handle(filp), (uint32_t)length));
}

/* A reader has nothing to make durable. */
static int file_sync(struct fs_file_t *filp)
{
    int result = nf2_sync(volume_of(filp->mp), handle(filp));
    return result == NF2_ERR_BADF ? 0 : zephyr(result);
}

/* ---- directories and names ------------------------------------------------------------------- */

static int dir_open(struct fs_dir_t *dirp, const char *path)
{
    struct open_dir *at = NULL;
    (void)k_mutex_lock(&tables, K_FOREVER);
    for (size_t i = 0; i < CONFIG_NF2FS_DIRS && at == NULL; i++) {
        at = dirs[i].taken ? NULL : &dirs[i];
    }
    if (at != NULL) {
        at->taken = true;
    }
    (void)k_mutex_unlock(&tables);
    if (at == NULL) {
        return -ENFILE;
    }
    int result = nf2_opendir(volume_of(dirp->mp), &at->dir, inside(dirp->mp, path));
    at->taken = result == NF2_OK;
    dirp->dirp = result == NF2_OK ? at : NULL;
    return zephyr(result);
}

static void fill(struct fs_dirent *out, const char *name, enum nf2_type type, uint32_t size)
{
    size_t length = strlen(name);
    length = length < sizeof(out->name) ? length : sizeof(out->name) - 1u;
    memcpy(out->name, name, length);
    out->name[length] = '\0';
    out->type = type == NF2_TYPE_DIR ? FS_DIR_ENTRY_DIR : FS_DIR_ENTRY_FILE;
    out->size = size;
}

/* At the end an empty name, as Zephyr asks. */
static int dir_read(struct fs_dir_t *dirp, struct fs_dirent *entry)
{
    struct open_dir *at = dirp->dirp;
    int result = nf2_readdir(volume_of(dirp->mp), &at->dir, &at->entry);
    if (result < 0) {
        return zephyr(result);
    }
    if (result == 0) {
        entry->name[0] = '\0';
    } else {
        fill(entry, at->entry.name, at->entry.type, at->entry.size);
    }
    return 0;
}

static int dir_close(struct fs_dir_t *dirp)
{
    struct open_dir *at = dirp->dirp;
    int result = nf2_closedir(volume_of(dirp->mp), &at->dir);
    at->taken = false;
    dirp->dirp = NULL;
    return zephyr(result);
}

static int name_remove(struct fs_mount_t *mount, const char *path)
{
    return zephyr(nf2_remove(volume_of(mount), inside(mount, path)));
}

static int name_rename(struct fs_mount_t *mount, const char *from, const char *to)
{
    return zephyr(nf2_rename(volume_of(mount), inside(mount, from), inside(mount, to)));
}

static int name_mkdir(struct fs_mount_t *mount, const char *path)
{
    return zephyr(nf2_mkdir(volume_of(mount), inside(mount, path)));
}

static int name_stat(struct fs_mount_t *mount, const char *path, struct fs_dirent *entry)
{
    struct nf2_stat stat;
    int result = nf2_stat(volume_of(mount), inside(mount, path), &stat);
    if (result == NF2_OK) {
        const char *name = strrchr(path, '/');
        fill(entry, name != NULL ? name + 1 : path, stat.type, stat.size);
    }
    return zephyr(result);
}

static const struct fs_file_system_t operations = {
    .open = file_open,
    .read = file_read,
    .write = file_write,
    .lseek = file_seek,
    .tell = file_tell,
    .truncate = file_truncate,
    .sync = file_sync,
    .close = file_close,
    .opendir = dir_open,
    .readdir = dir_read,
    .closedir = dir_close,
    .mount = volume_mount,
    .unmount = volume_unmount,
    .unlink = name_remove,
    .rename = name_rename,
    .mkdir = name_mkdir,
    .stat = name_stat,
    .statvfs = volume_space,
};

static int nf2_zephyr_init(void)
{
    return fs_register(NF2_ZEPHYR_TYPE, &operations);
}

SYS_INIT(nf2_zephyr_init, POST_KERNEL, CONFIG_KERNEL_INIT_PRIORITY_DEFAULT);
