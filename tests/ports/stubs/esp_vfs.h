/* SPDX-License-Identifier: BSD-2-Clause */
/* esp_vfs.h - see esp_partition.h: the members that take a context. */
#ifndef STUB_ESP_VFS_H
#define STUB_ESP_VFS_H

#include <dirent.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <utime.h>

#include "esp_err.h"
#include "sdkconfig.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ESP_VFS_PATH_MAX 15
#define ESP_VFS_FLAG_CONTEXT_PTR 2
#define ESP_VFS_FLAG_READONLY_FS 4

typedef struct {
    int flags;
    ssize_t (*write_p)(void *context, int fd, const void *data, size_t size);
    off_t (*lseek_p)(void *context, int fd, off_t size, int mode);
    ssize_t (*read_p)(void *context, int fd, void *data, size_t size);
    ssize_t (*pread_p)(void *context, int fd, void *data, size_t size, off_t offset);
    ssize_t (*pwrite_p)(void *context, int fd, const void *data, size_t size, off_t offset);
    int (*open_p)(void *context, const char *path, int flags, int mode);
    int (*close_p)(void *context, int fd);
    int (*fstat_p)(void *context, int fd, struct stat *out);
    int (*stat_p)(void *context, const char *path, struct stat *out);
    int (*link_p)(void *context, const char *from, const char *to);
    int (*unlink_p)(void *context, const char *path);
    int (*rename_p)(void *context, const char *from, const char *to);
    DIR *(*opendir_p)(void *context, const char *name);
    struct dirent *(*readdir_p)(void *context, DIR *dir);
    int (*readdir_r_p)(void *context, DIR *dir, struct dirent *entry, struct dirent **out);
    long (*telldir_p)(void *context, DIR *dir);
    void (*seekdir_p)(void *context, DIR *dir, long offset);
    int (*closedir_p)(void *context, DIR *dir);
    int (*mkdir_p)(void *context, const char *name, mode_t mode);
    int (*rmdir_p)(void *context, const char *name);
    int (*fcntl_p)(void *context, int fd, int command, int argument);
    int (*fsync_p)(void *context, int fd);
    int (*access_p)(void *context, const char *path, int mode);
    int (*truncate_p)(void *context, const char *path, off_t length);
    int (*ftruncate_p)(void *context, int fd, off_t length);
    int (*utime_p)(void *context, const char *path, const struct utimbuf *times);
} esp_vfs_t;

esp_err_t esp_vfs_register(const char *base_path, const esp_vfs_t *vfs, void *context);
esp_err_t esp_vfs_unregister(const char *base_path);

#ifdef __cplusplus
}
#endif

#endif
