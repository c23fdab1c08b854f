/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nf2_fuse.c - mounts a volume of NF2FS that lies on an MTD, through FUSE: for the comparison in
 * the virtual machine.
 *
 *   nf2-fuse format|/MOUNT/POINT DEVICE PAGE_SIZE LARGE_ERASE
 *
 * It stays in the foreground until the mount point is unmounted. Requests are served one at a
 * time, and none is kept back: what the kernel writes reaches the volume at once, and is durable
 * at the sync or the close, as NF2FS promises.
 */
#define FUSE_USE_VERSION 31
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <mtd/mtd-user.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "vfs.h"

static struct vfs volume;

/* ---- the MTD as a driver --------------------------------------------------------------------- */

static int device = -1;

static int mtd_read(void *context, uint32_t address, void *data, uint32_t length)
{
    (void)context;
    return pread(device, data, length, address) == (ssize_t)length ? 0 : -EIO;
}

static int mtd_program(void *context, uint32_t address, const void *data, uint32_t length)
{
    (void)context;
    return pwrite(device, data, length, address) == (ssize_t)length ? 0 : -EIO;
}

static int mtd_erase(void *context, uint32_t address, uint32_t length)
{
    struct erase_info_user range = {.start = address, .length = length};
    (void)context;
    return ioctl(device, MEMERASE, &range) == 0 ? 0 : -EIO;
}

static int open_device(const char *path, uint32_t page_size, uint32_t large_erase,
                       struct nf2_flash *flash)
{
    struct mtd_info_user facts;
    device = open(path, O_RDWR | O_CLOEXEC);
    if (device < 0 || ioctl(device, MEMGETINFO, &facts) != 0) {
        return -errno;
    }
    /* The times serve nf2_maintain alone, which is not called here. */
    *flash = (struct nf2_flash){
        .read = mtd_read,
        .program = mtd_program,
        .erase = mtd_erase,
        .chip_size = facts.size,
        .block_size = facts.erasesize,
        .large_erase_size = large_erase,
        .page_size = page_size,
        .program_unit = 1,
        .read_unit = 1,
        .read_page_us = 4,
        .program_page_us = 400,
        .erase_block_us = 50000,
        .large_erase_us = large_erase != 0 ? 150000 : 0,
    };
    return 0;
}

/* ---- names ----------------------------------------------------------------------------------- */

static int get_attributes(const char *path, struct stat *out, struct fuse_file_info *info)
{
    struct vfs_stat facts;
    (void)info;
    *out = (struct stat){.st_mode = S_IFDIR | 0755, .st_nlink = 2};
    int result = strcmp(path, "/") == 0 ? 0 : volume.ops->stat(volume.context, path, &facts);
    if (result == 0 && strcmp(path, "/") != 0 && !facts.directory) {
        *out = (struct stat){.st_mode = S_IFREG | 0644,
                             .st_nlink = 1,
                             .st_size = facts.size,
                             .st_blocks = (facts.size + 511) / 512};
    }
    return result;
}

static int make_directory(const char *path, mode_t mode)
{
    (void)mode;
    return volume.ops->mkdir(volume.context, path);
}

static int remove_name(const char *path)
{
    return volume.ops->remove(volume.context, path);
}

static int rename_name(const char *from, const char *to, unsigned flags)
{
    return flags != 0 ? -EINVAL : volume.ops->rename(volume.context, from, to);
}

static int list(const char *path, void *buffer, fuse_fill_dir_t fill, off_t offset,
                struct fuse_file_info *info, enum fuse_readdir_flags flags)
{
    struct vfs_dirent entry;
    void *directory;
    (void)offset;
    (void)info;
    (void)flags;
    int result = volume.ops->opendir(volume.context, path, &directory);
    if (result < 0) {
        return result;
    }
    fill(buffer, ".", NULL, 0, 0);
    fill(buffer, "..", NULL, 0, 0);
    while ((result = volume.ops->readdir(volume.context, directory, &entry)) > 0) {
        struct stat facts = {.st_mode = entry.directory ? S_IFDIR | 0755 : S_IFREG | 0644};
        fill(buffer, entry.name, &facts, 0, 0);
    }
    int closed = volume.ops->closedir(volume.context, directory);
    return result < 0 ? result : closed;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* The kernel says how a file was opened at its opening alone. */
struct open_file {
    void *file;
    bool writes;
};

static int open_as(const char *path, int flags, struct fuse_file_info *info)
{
    struct open_file *opened = calloc(1, sizeof(*opened));
    int result = opened != NULL ? volume.ops->open(volume.context, path, flags, &opened->file) :
                                  -ENOMEM;
    if (result < 0) {
        free(opened);
        return result;
    }
    opened->writes = (flags & VFS_WRITE) != 0;
    info->fh = (uintptr_t)opened;
    return 0;
}

static struct open_file *opened_of(const struct fuse_file_info *info)
{
    return (struct open_file *)(uintptr_t)info->fh;
}

static int flags_of(int flags)
{
    int kind = flags & O_ACCMODE;
    return (kind != O_WRONLY ? VFS_READ : 0) | (kind != O_RDONLY ? VFS_WRITE : 0) |
           (flags & O_TRUNC ? VFS_TRUNC : 0);
}

static int open_file(const char *path, struct fuse_file_info *info)
{
    return open_as(path, flags_of(info->flags), info);
}

static int create_file(const char *path, mode_t mode, struct fuse_file_info *info)
{
    (void)mode;
    return open_as(path, flags_of(info->flags) | VFS_CREATE, info);
}

static void *file_of(const struct fuse_file_info *info)
{
    return opened_of(info)->file;
}

static int read_file(const char *path, char *data, size_t size, off_t offset,
                     struct fuse_file_info *info)
{
    (void)path;
    int result = volume.ops->seek(volume.context, file_of(info), (uint32_t)offset);
    return result < 0 ? result :
                        volume.ops->read(volume.context, file_of(info), data, (uint32_t)size);
}

static int write_file(const char *path, const char *data, size_t size, off_t offset,
                      struct fuse_file_info *info)
{
    (void)path;
    int result = volume.ops->seek(volume.context, file_of(info), (uint32_t)offset);
    return result < 0 ? result :
                        volume.ops->write(volume.context, file_of(info), data, (uint32_t)size);
}

static int sync_file(const char *path, int data_only, struct fuse_file_info *info)
{
    (void)path;
    (void)data_only;
    return volume.ops->sync(volume.context, file_of(info));
}

/* The close of a file: the kernel waits for this, and not for the release that follows. */
static int flush_file(const char *path, struct fuse_file_info *info)
{
    (void)path;
    return opened_of(info)->writes ? volume.ops->sync(volume.context, file_of(info)) : 0;
}

static int release_file(const char *path, struct fuse_file_info *info)
{
    (void)path;
    int result = volume.ops->close(volume.context, file_of(info));
    free(opened_of(info));
    return result;
}

static int truncate_file(const char *path, off_t size, struct fuse_file_info *info)
{
    void *file = info != NULL ? file_of(info) : NULL;
    int result = file == NULL ? volume.ops->open(volume.context, path, VFS_WRITE, &file) : 0;
    if (result < 0) {
        return result;
    }
    result = volume.ops->truncate(volume.context, file, (uint32_t)size);
    int closed = info == NULL ? volume.ops->close(volume.context, file) : 0;
    return result < 0 ? result : closed;
}

static int get_space(const char *path, struct statvfs *out)
{
    struct vfs_space space = {0};
    (void)path;
    int result = volume.ops->statfs(volume.context, &space);
    *out = (struct statvfs){.f_bsize = 4096,
                            .f_frsize = 4096,
                            .f_blocks = space.total_bytes / 4096,
                            .f_bfree = space.free_bytes / 4096,
                            .f_bavail = space.free_bytes / 4096,
                            .f_namemax = VFS_NAME_MAX};
    return result;
}

static const struct fuse_operations operations = {
    .getattr = get_attributes,
    .mkdir = make_directory,
    .unlink = remove_name,
    .rmdir = remove_name,
    .rename = rename_name,
    .readdir = list,
    .open = open_file,
    .create = create_file,
    .read = read_file,
    .write = write_file,
    .fsync = sync_file,
    .flush = flush_file,
    .release = release_file,
    .truncate = truncate_file,
    .statfs = get_space,
};

int main(int count, char **values)
{
    struct nf2_flash flash;
    if (count != 5) {
        fprintf(stderr, "usage: nf2-fuse format|/MOUNT/POINT DEVICE PAGE_SIZE LARGE_ERASE\n");
        return 2;
    }
    bool formats = strcmp(values[1], "format") == 0;
    int result = open_device(values[2], (uint32_t)strtoul(values[3], NULL, 10),
                             (uint32_t)strtoul(values[4], NULL, 10), &flash);
    result = result < 0 ? result : vfs_nf2fs_entry.make(&flash, &volume);
    result = result < 0 ? result :
             formats    ? volume.ops->format(volume.context) :
                          volume.ops->mount(volume.context);
    if (result == 0 && !formats) {
        char *arguments[] = {values[0], "-f", "-s", "-o", "fsname=nf2fs", values[1], NULL};
        result = fuse_main(6, arguments, &operations, NULL) == 0 ? 0 : -EIO;
        int unmounted = volume.ops->unmount(volume.context);
        result = result < 0 ? result : unmounted;
    }
    if (result < 0) {
        fprintf(stderr, "nf2-fuse: %s\n", strerror(result > -256 ? -result : EIO));
    }
    return result < 0 ? 1 : 0;
}
