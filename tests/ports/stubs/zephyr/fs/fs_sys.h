/* SPDX-License-Identifier: BSD-2-Clause */
/* fs_sys.h - see fs.h. */
#ifndef STUB_ZEPHYR_FS_SYS_H
#define STUB_ZEPHYR_FS_SYS_H

#include <zephyr/fs/fs.h>

struct fs_file_system_t {
    int (*open)(struct fs_file_t *file, const char *path, fs_mode_t flags);
    ssize_t (*read)(struct fs_file_t *file, void *data, size_t length);
    ssize_t (*write)(struct fs_file_t *file, const void *data, size_t length);
    int (*lseek)(struct fs_file_t *file, off_t offset, int whence);
    off_t (*tell)(struct fs_file_t *file);
    int (*truncate)(struct fs_file_t *file, off_t length);
    int (*sync)(struct fs_file_t *file);
    int (*close)(struct fs_file_t *file);
    int (*opendir)(struct fs_dir_t *dir, const char *path);
    int (*readdir)(struct fs_dir_t *dir, struct fs_dirent *entry);
    int (*closedir)(struct fs_dir_t *dir);
    int (*mount)(struct fs_mount_t *mount);
    int (*unmount)(struct fs_mount_t *mount);
    int (*unlink)(struct fs_mount_t *mount, const char *name);
    int (*rename)(struct fs_mount_t *mount, const char *from, const char *to);
    int (*mkdir)(struct fs_mount_t *mount, const char *name);
    int (*stat)(struct fs_mount_t *mount, const char *path, struct fs_dirent *entry);
    int (*statvfs)(struct fs_mount_t *mount, const char *path, struct fs_statvfs *out);
#if defined(CONFIG_FILE_SYSTEM_MKFS)
    int (*mkfs)(uintptr_t device, void *config, int flags);
#endif
};

#endif
