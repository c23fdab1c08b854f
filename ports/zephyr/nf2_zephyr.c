/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nf2_zephyr.c - struct fs_file_system_t over NF2FS, and the mounts that the devicetree asks for.
 */
#include "nf2_zephyr.h"
#include "nf2_zephyr_flash.h"

#include <errno.h>
#include <string.h>

#include <zephyr/devicetree.h>
#include <zephyr/fs/fs_sys.h>
#include <zephyr/init.h>
#include <zephyr/logging/log.h>

LOG_MODULE_REGISTER(nf2fs, CONFIG_FS_LOG_LEVEL);

struct open_file {
    bool taken;
    fs_mode_t mode;
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
static struct nf2_zephyr *mounted;      /* also those that are just being mounted or formatted */
static K_MUTEX_DEFINE(tables);          /* guards the three above */

/* errno's numbers are the C library's, not NF2FS's. */
static int zephyr(int32_t result)
{
    static const int16_t known[][2] = {
        {NF2_ERR_NOENT, ENOENT},       {NF2_ERR_BADF, EBADF},
        {NF2_ERR_BUSY, EBUSY},         {NF2_ERR_EXIST, EEXIST},
        {NF2_ERR_NOTDIR, ENOTDIR},     {NF2_ERR_ISDIR, EISDIR},
        {NF2_ERR_INVAL, EINVAL},       {NF2_ERR_FBIG, EFBIG},
        {NF2_ERR_NOSPC, ENOSPC},       {NF2_ERR_ROFS, EROFS},
        {NF2_ERR_NAMETOOLONG, ENAMETOOLONG},
        {NF2_ERR_NOTEMPTY, ENOTEMPTY}, {NF2_ERR_BLANK, ENODEV},
        {NF2_ERR_FOREIGN, ENODEV},     {NF2_ERR_CORRUPT, EFAULT},
        {NF2_ERR_GEOMETRY, EINVAL},    {NF2_ERR_VERSION, ENOTSUP},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (result == known[i][0]) {
            return -known[i][1];
        }
    }
    return result < 0 ? -EIO : (int)result;
}

static nf2_t *fs_of(const struct fs_mount_t *mount)
{
    return &nf2_zephyr_volume(mount)->fs;
}

/* Zephyr hands on paths with the mount point in front. */
static const char *inside(const struct fs_mount_t *mount, const char *path)
{
    return strlen(path) > mount->mountp_len ? path + mount->mountp_len : "/";
}

/* ---- the volume ------------------------------------------------------------------------------ */

/* Two mounts of one partition would damage it, and so would a format under a mount. */
static int claim(struct nf2_zephyr *volume, uint8_t area_id)
{
    int result = 0;
    (void)k_mutex_lock(&tables, K_FOREVER);
    for (const struct nf2_zephyr *at = mounted; at != NULL; at = at->next) {
        result = at == volume || at->area_id == area_id ? -EBUSY : result;
    }
    if (result == 0) {
        volume->area_id = area_id;
        volume->next = mounted;
        mounted = volume;
    }
    (void)k_mutex_unlock(&tables);
    return result;
}

static void give_up(struct nf2_zephyr *volume)
{
    (void)k_mutex_lock(&tables, K_FOREVER);
    struct nf2_zephyr **at = &mounted;
    while (*at != NULL && *at != volume) {
        at = &(*at)->next;
    }
    if (*at != NULL) {
        *at = volume->next;
    }
    (void)k_mutex_unlock(&tables);
}

/* Opens the partition and sets up the driver. An error leaves nothing open. */
static int begin(struct nf2_zephyr *volume, uintptr_t storage, int flags)
{
    if ((flags & FS_MOUNT_FLAG_USE_DISK_ACCESS) != 0) {
        LOG_ERR("NF2FS works on flash, not through disk access");
        return -ENOTSUP;
    }
    int result = claim(volume, (uint8_t)storage);
    if (result != 0) {
        return result;
    }
    result = flash_area_open((uint8_t)storage, &volume->area);
    if (result < 0) {
        LOG_ERR("can't open flash area %u: %d", (unsigned)storage, result);
        give_up(volume);
        return result;
    }
    (void)k_mutex_init(&volume->mutex);
    volume->error = nf2_zephyr_configure(volume);
    if (volume->error != NF2_OK) {
        flash_area_close(volume->area);
        give_up(volume);
    }
    return zephyr(volume->error);
}

static void end(struct nf2_zephyr *volume)
{
    flash_area_close(volume->area);
    volume->area = NULL;
    give_up(volume);
}

static bool may_format(const struct nf2_zephyr *volume, int error, int flags)
{
    bool allowed = (flags & (FS_MOUNT_FLAG_READ_ONLY | FS_MOUNT_FLAG_NO_FORMAT)) == 0;
    return allowed
           && (error == NF2_ERR_BLANK || (error == NF2_ERR_FOREIGN && volume->format_foreign));
}

static int volume_mount(struct fs_mount_t *mount)
{
    struct nf2_zephyr *volume = nf2_zephyr_volume(mount);
    int flags = (mount->flags & FS_MOUNT_FLAG_READ_ONLY) != 0 ? NF2_MOUNT_RDONLY : NF2_MOUNT_RDWR;
    int result = begin(volume, (uintptr_t)mount->storage_dev, mount->flags);
    if (result != 0) {
        return result;
    }
    result = nf2_mount(&volume->fs, &volume->config, flags);
    if (may_format(volume, result, mount->flags)) {
        LOG_WRN("%s: %s: formatting", mount->mnt_point, nf2_error_text(result));
        result = nf2_format(&volume->fs, &volume->config, NF2_FORMAT_QUICK);
        result = result == NF2_OK ? nf2_mount(&volume->fs, &volume->config, flags) : result;
    }
    volume->error = result;
    if (result != NF2_OK) {
        LOG_ERR("%s: %s", mount->mnt_point, nf2_error_text(result));
        end(volume);
    }
    return zephyr(result);
}

/* Zephyr keeps a mount point whose unmount failed; the next call finds nothing to do. */
static int volume_unmount(struct fs_mount_t *mount)
{
    struct nf2_zephyr *volume = nf2_zephyr_volume(mount);
    if (volume->area == NULL) {
        return 0;
    }
    int result = nf2_unmount(&volume->fs);
    end(volume);
    return zephyr(result);
}

static int volume_space(struct fs_mount_t *mount, const char *path, struct fs_statvfs *out)
{
    struct nf2_statfs space;
    int result = nf2_statfs(fs_of(mount), &space);
    (void)path;
    if (result == NF2_OK) {
        out->f_bsize = NF2_ZEPHYR_PAGE_SIZE;
        out->f_frsize = space.block_size;
        out->f_blocks = space.blocks;
        out->f_bfree = space.blocks_available;
    }
    return zephyr(result);
}

#if defined(CONFIG_FILE_SYSTEM_MKFS)
/* `config`: a struct nf2_zephyr that is not mounted; NULL: one of our own, with the defaults. */
static int volume_format(uintptr_t storage, void *config, int flags)
{
    static struct nf2_zephyr own;
    struct nf2_zephyr *volume = config != NULL ? config : &own;
    int result = begin(volume, storage, flags);
    if (result == 0) {
        volume->error = nf2_format(&volume->fs, &volume->config, NF2_FORMAT_QUICK);
        result = zephyr(volume->error);
        end(volume);
    }
    return result;
}
#endif

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
    int flags = NF2_O_WRONLY | ((mode & FS_O_READ) != 0 ? NF2_O_RDONLY : 0);
    flags |= (mode & FS_O_CREATE) != 0 ? NF2_O_CREAT : 0;
    flags |= (mode & FS_O_APPEND) != 0 ? NF2_O_APPEND : 0;
#ifdef FS_O_TRUNC
    flags |= (mode & FS_O_TRUNC) != 0 ? NF2_O_TRUNC : 0;
#endif
    return flags;
}

/*
 * Without FS_O_WRITE, FS_O_CREATE still creates; without FS_O_READ as well, the file may only be
 * opened and closed.
 */
static int open_to_read(nf2_t *fs, struct open_file *at, const char *path, bool create)
{
    int result = nf2_open(fs, &at->file, path, NF2_O_RDONLY, NULL);
    if (result != NF2_ERR_NOENT || !create) {
        return result;
    }
    result = nf2_open(fs, &at->file, path, NF2_O_WRONLY | NF2_O_CREAT, at->buffer);
    if (result == NF2_OK) {
        result = nf2_close(fs, &at->file);
    }
    if (result == NF2_OK || result == NF2_ERR_BUSY) { /* another thread may have created it */
        result = nf2_open(fs, &at->file, path, NF2_O_RDONLY, NULL);
    }
    return result;
}

static int file_open(struct fs_file_t *filp, const char *path, fs_mode_t mode)
{
    nf2_t *fs = fs_of(filp->mp);
    struct open_file *at = take_file();
    int result;
    if (at == NULL) {
        return -ENFILE;
    }
    path = inside(filp->mp, path);
    if ((mode & FS_O_WRITE) != 0) {
        result = nf2_open(fs, &at->file, path, flags_of(mode), at->buffer);
    } else {
        result = open_to_read(fs, at, path, (mode & FS_O_CREATE) != 0);
    }
    if (result != NF2_OK) {
        at->taken = false;
        return zephyr(result);
    }
    at->mode = mode;
    filp->filep = at;
    return 0;
}

/* Zephyr keeps a file whose close failed; from then on there is nothing behind it. */
static int end_with(int (*how)(nf2_t *fs, nf2_file_t *file), struct fs_file_t *filp)
{
    struct open_file *at = filp->filep;
    if (at == NULL) {
        return 0;
    }
    int result = how(fs_of(filp->mp), &at->file);
    at->taken = false;
    filp->filep = NULL;
    return zephyr(result);
}

static int file_close(struct fs_file_t *filp)
{
    return end_with(nf2_close, filp);
}

int nf2_zephyr_discard(struct fs_file_t *file)
{
    if (file->mp == NULL || file->mp->type != NF2_ZEPHYR_TYPE) {
        return -EBADF;
    }
    return end_with(nf2_discard, file);
}

/* 0, or why a call that needs `access` cannot be made. */
static int refused(const struct fs_file_t *filp, fs_mode_t access)
{
    const struct open_file *at = filp->filep;
    if (at == NULL) {
        return -EBADF;
    }
    return (at->mode & access) == access ? 0 : -EACCES;
}

static nf2_file_t *handle(const struct fs_file_t *filp)
{
    return &((struct open_file *)filp->filep)->file;
}

static ssize_t file_read(struct fs_file_t *filp, void *data, size_t length)
{
    int result = refused(filp, FS_O_READ);
    if (result != 0) {
        return result;
    }
    return zephyr(nf2_read(fs_of(filp->mp), handle(filp), data,
                           length > NF2_FILE_MAX ? NF2_FILE_MAX : (uint32_t)length));
}

static ssize_t file_write(struct fs_file_t *filp, const void *data, size_t length)
{
    int result = refused(filp, FS_O_WRITE);
    if (result != 0 || length > NF2_FILE_MAX) {
        return result != 0 ? result : -EFBIG;
    }
    return zephyr(nf2_write(fs_of(filp->mp), handle(filp), data, (uint32_t)length));
}

static int file_seek(struct fs_file_t *filp, off_t offset, int whence)
{
    int nf2 = whence == FS_SEEK_SET   ? NF2_SEEK_SET
              : whence == FS_SEEK_CUR ? NF2_SEEK_CUR
              : whence == FS_SEEK_END ? NF2_SEEK_END
                                      : -1;
    int result = refused(filp, 0);
    if (result != 0) {
        return result;
    }
    if (nf2 < 0 || offset > INT32_MAX || offset < -INT32_MAX) {
        return -EINVAL;
    }
    result = zephyr(nf2_seek(fs_of(filp->mp), handle(filp), (int32_t)offset, nf2));
    return result < 0 ? result : 0;
}

static off_t file_tell(struct fs_file_t *filp)
{
    int result = refused(filp, 0);
    return result != 0 ? result : zephyr(nf2_tell(fs_of(filp->mp), handle(filp)));
}

static int file_truncate(struct fs_file_t *filp, off_t length)
{
    int result = refused(filp, FS_O_WRITE);
    if (result != 0) {
        return result;
    }
    if (length < 0 || (uint64_t)length > NF2_FILE_MAX) {
        return length < 0 ? -EINVAL : -EFBIG;
    }
    return zephyr(nf2_truncate(fs_of(filp->mp), handle(filp), (uint32_t)length));
}

/* A reader has nothing to make durable. */
static int file_sync(struct fs_file_t *filp)
{
    int result = refused(filp, 0);
    return result != 0 ? result : zephyr(nf2_sync(fs_of(filp->mp), handle(filp)));
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
    int result = nf2_opendir(fs_of(dirp->mp), &at->dir, inside(dirp->mp, path));
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
    if (at == NULL) {
        return -EBADF;
    }
    int result = nf2_readdir(fs_of(dirp->mp), &at->dir, &at->entry);
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
    if (at == NULL) {
        return 0;
    }
    int result = nf2_closedir(fs_of(dirp->mp), &at->dir);
    at->taken = false;
    dirp->dirp = NULL;
    return zephyr(result);
}

static int name_remove(struct fs_mount_t *mount, const char *path)
{
    return zephyr(nf2_remove(fs_of(mount), inside(mount, path)));
}

static int name_rename(struct fs_mount_t *mount, const char *from, const char *to)
{
    return zephyr(nf2_rename(fs_of(mount), inside(mount, from), inside(mount, to)));
}

static int name_mkdir(struct fs_mount_t *mount, const char *path)
{
    return zephyr(nf2_mkdir(fs_of(mount), inside(mount, path)));
}

static int name_stat(struct fs_mount_t *mount, const char *path, struct fs_dirent *entry)
{
    struct nf2_stat stat;
    int result = nf2_stat(fs_of(mount), inside(mount, path), &stat);
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
#if defined(CONFIG_FILE_SYSTEM_MKFS)
    .mkfs = volume_format,
#endif
};

/* ---- mounts of the devicetree ---------------------------------------------------------------- */

#define DT_DRV_COMPAT zephyr_fstab_nf2fs

#if DT_HAS_COMPAT_STATUS_OKAY(DT_DRV_COMPAT)

#define DEFINE_MOUNT(inst)                                                                         \
    static struct nf2_zephyr volume_##inst = {                                                     \
        .format_foreign = DT_INST_PROP(inst, format_foreign),                                      \
        .large_erase_size = DT_INST_PROP_OR(inst, large_erase_size, 0),                            \
    };                                                                                             \
    struct fs_mount_t FS_FSTAB_ENTRY(DT_DRV_INST(inst)) = {                                        \
        .type = NF2_ZEPHYR_TYPE,                                                                   \
        .mnt_point = DT_INST_PROP(inst, mount_point),                                              \
        .fs_data = &volume_##inst,                                                                 \
        .storage_dev = (void *)DT_FIXED_PARTITION_ID(DT_INST_PHANDLE(inst, partition)),            \
        .flags = FSTAB_ENTRY_DT_MOUNT_FLAGS(DT_DRV_INST(inst)),                                    \
    };

#define NAME_MOUNT(inst) &FS_FSTAB_ENTRY(DT_DRV_INST(inst)),

DT_INST_FOREACH_STATUS_OKAY(DEFINE_MOUNT)

/* An error is on record in the log and in the volume; the other mounts, and the start, go on. */
static void automount(void)
{
    static struct fs_mount_t *const mounts[] = {DT_INST_FOREACH_STATUS_OKAY(NAME_MOUNT)};
    for (size_t i = 0; i < sizeof(mounts) / sizeof(mounts[0]); i++) {
        if ((mounts[i]->flags & FS_MOUNT_FLAG_AUTOMOUNT) != 0) {
            int result = fs_mount(mounts[i]);
            if (result < 0) {
                LOG_ERR("automount of %s failed: %d", mounts[i]->mnt_point, result);
            }
        }
    }
}

#else

static void automount(void)
{
}

#endif

static int nf2_zephyr_init(void)
{
    int result = fs_register(NF2_ZEPHYR_TYPE, &operations);
    if (result == 0) {
        automount();
    }
    return result;
}

SYS_INIT(nf2_zephyr_init, POST_KERNEL, CONFIG_FILE_SYSTEM_INIT_PRIORITY);
