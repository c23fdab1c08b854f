/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fs.h - what the glue for Zephyr uses of Zephyr's fs/fs.h and fs/fs_interface.h, declared anew.
 * What was compared with Zephyr is listed in ../README.md.
 */
#ifndef STUB_ZEPHYR_FS_H
#define STUB_ZEPHYR_FS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CONFIG_NF2FS_FILES 2
#define CONFIG_NF2FS_DIRS 1
#define CONFIG_NF2FS_LARGE_ERASE_SIZE 65536
#define CONFIG_FILE_SYSTEM_INIT_PRIORITY 99
#define CONFIG_FILE_SYSTEM_MKFS 1
#define CONFIG_FS_LOG_LEVEL 3

typedef uint8_t fs_mode_t;
#define FS_O_READ 0x01
#define FS_O_WRITE 0x02
#define FS_O_RDWR (FS_O_READ | FS_O_WRITE)
#define FS_O_CREATE 0x10
#define FS_O_APPEND 0x20
#define FS_O_TRUNC 0x40
#define FS_SEEK_SET 0
#define FS_SEEK_CUR 1
#define FS_SEEK_END 2
enum { FS_FATFS, FS_LITTLEFS, FS_EXT2, FS_TYPE_EXTERNAL_BASE };
#define FS_MOUNT_FLAG_NO_FORMAT 1
#define FS_MOUNT_FLAG_READ_ONLY 2
#define FS_MOUNT_FLAG_AUTOMOUNT 4
#define FS_MOUNT_FLAG_USE_DISK_ACCESS 8
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
struct fs_dirent { enum fs_dir_entry_type type; char name[255 + 1]; size_t size; };
struct fs_statvfs { unsigned long f_bsize, f_frsize, f_blocks, f_bfree; };

int fs_register(int type, const struct fs_file_system_t *fs);
int fs_mount(struct fs_mount_t *mount);

/* The names under which the entries of the fstab are known, and their flags: see devicetree.h. */
#define FS_FSTAB_ENTRY(node) STUB_PASTE(z_fsmp_, node)
#define FS_FSTAB_DECLARE_ENTRY(node) extern struct fs_mount_t FS_FSTAB_ENTRY(node)
#define FSTAB_ENTRY_DT_MOUNT_FLAGS(node) STUB_PASTE(STUB_FLAGS_, node)
#define STUB_PASTE(a, b) STUB_PASTE2(a, b)
#define STUB_PASTE2(a, b) a##b

#endif
