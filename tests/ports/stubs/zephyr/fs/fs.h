/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fs.h - what nf2_zephyr.c uses of Zephyr's, declared anew after its
 * documentation; Zephyr's own header is in no registry.
 */
#ifndef STUB_ZEPHYR_FS_H
#define STUB_ZEPHYR_FS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CONFIG_NF2FS_FILES 2
#define CONFIG_NF2FS_DIRS 1
#define CONFIG_NF2FS_BLOCK_SIZE 4096
#define CONFIG_NF2FS_LARGE_ERASE_SIZE 65536
#define CONFIG_KERNEL_INIT_PRIORITY_DEFAULT 40

typedef uint8_t fs_mode_t;
enum { FS_O_READ = 1, FS_O_WRITE = 2, FS_O_CREATE = 0x10, FS_O_APPEND = 0x20, FS_O_TRUNC = 0x40 };
#define FS_O_TRUNC FS_O_TRUNC
enum { FS_SEEK_SET, FS_SEEK_CUR, FS_SEEK_END };
enum { FS_TYPE_EXTERNAL_BASE = 2 };
enum { FS_MOUNT_FLAG_NO_FORMAT = 1, FS_MOUNT_FLAG_READ_ONLY = 2 };
enum fs_dir_entry_type { FS_DIR_ENTRY_FILE, FS_DIR_ENTRY_DIR };

struct fs_file_system_t;
struct fs_mount_t {
    int type;
    const char *mnt_point;
    void *fs_data;
    void *storage_dev;
    size_t mountp_len;
    const struct fs_file_system_t *fs;
    uint8_t flags;
};
struct fs_file_t { void *filep; const struct fs_mount_t *mp; fs_mode_t flags; };
struct fs_dir_t { void *dirp; const struct fs_mount_t *mp; };
struct fs_dirent { enum fs_dir_entry_type type; size_t size; char name[64]; };
struct fs_statvfs { unsigned long f_bsize, f_frsize, f_blocks, f_bfree; };

int fs_register(int type, const struct fs_file_system_t *fs);

#endif
