/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * esp_nf2fs.h - NF2FS in the virtual file system of ESP-IDF: fopen("/files/log.txt", "a").
 *
 *     esp_vfs_nf2fs_conf_t conf = {
 *         .base_path = "/files", .partition_label = "files", .format_if_mount_failed = true,
 *     };
 *     ESP_ERROR_CHECK(esp_vfs_nf2fs_register(&conf));
 *
 * What works: open, fopen and their like, read, write, pread, pwrite, lseek, fsync, fstat, stat,
 * rename, unlink, mkdir, rmdir, opendir with telldir and seekdir, access, truncate, ftruncate,
 * utime, and fcntl with F_GETFL and F_SETFL (O_APPEND). What a file holds is durable once fsync, close or
 * fclose has returned 0; with stdio check what fclose returns.
 *
 * What differs from POSIX: one descriptor at a time may write a file (EBUSY); an open file cannot
 * be removed or replaced (EBUSY); a write is taken whole or not at all; after ENOSPC fsync and
 * close fail with ENOSPC, too, and the file keeps the content of its last sync, until a later write
 * succeeds, also one of 0 bytes (see nf2_write); there are no links and owners. There is one time,
 * that of modification, and stat tells it, not fstat; it is 0 where it is not known. utime sets it
 * (EBUSY while the file is open for writing), and so does each change with `keep_times`.
 *
 * A program that gives up a change, after ENOSPC or for a reason of its own, says so before it
 * closes: fcntl(fd, NF2FS_F_DISCARD, 0), with fileno where it has a FILE.
 */
#ifndef ESP_NF2FS_H
#define ESP_NF2FS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "esp_err.h"
#include "esp_partition.h"

#include "nf2fs/nf2fs.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    const char *base_path;              /* such as "/files": see esp_vfs_register */
    const char *partition_label;        /* of a data partition */
    const esp_partition_t *partition;   /* where there is no label */
    bool format_if_mount_failed;        /* formats a partition that is blank, and no other: what is
                                           damaged, or of another kind, is left as it is */
    bool format_foreign;                /* also formats one that holds something else */
    bool read_only;                     /* as is a partition that its table marks so */
    bool keep_times;                    /* changes set the time of modification, once the clock is
                                           set; content outside of a file's entry then costs one
                                           program more at the close: see nf2_keep_times */
} esp_vfs_nf2fs_conf_t;

/*
 * A command for fcntl: the close or fclose that follows gives up what was written since the last
 * fsync (see nf2_discard), and so does esp_vfs_nf2fs_unregister. An fsync still makes durable what
 * was written before it.
 */
#define NF2FS_F_DISCARD 0x4E46

/* What a mount found (as NF2_ERR_BLANK and its like). */
#define ESP_ERR_NF2FS_BASE 0x1f200
#define ESP_ERR_NF2FS_BLANK (ESP_ERR_NF2FS_BASE + 0)
#define ESP_ERR_NF2FS_FOREIGN (ESP_ERR_NF2FS_BASE + 1)
#define ESP_ERR_NF2FS_CORRUPT (ESP_ERR_NF2FS_BASE + 2)
#define ESP_ERR_NF2FS_GEOMETRY (ESP_ERR_NF2FS_BASE + 3)
#define ESP_ERR_NF2FS_VERSION (ESP_ERR_NF2FS_BASE + 4)

/*
 * Mounts and registers. Up to CONFIG_NF2FS_MAX_PARTITIONS volumes. Returns ESP_OK, or
 *   ESP_ERR_INVALID_ARG      no base_path, or neither a label nor a partition
 *   ESP_ERR_NOT_FOUND        there is no such partition
 *   ESP_ERR_INVALID_STATE    the partition is registered
 *   ESP_ERR_NOT_SUPPORTED    it is encrypted
 *   ESP_ERR_INVALID_SIZE     it is too small
 *   ESP_ERR_NO_MEM           out of memory or of places for volumes
 *   ESP_ERR_NF2FS_...        what the partition holds; ESP_FAIL: the flash failed
 * or what esp_vfs_register returned.
 */
esp_err_t esp_vfs_nf2fs_register(const esp_vfs_nf2fs_conf_t *conf);

/*
 * Closes what is open, unmounts, and unregisters. No other call may be running on the volume. The
 * volume is gone also after an error (ESP_FAIL: a close or the unmount failed), except for
 * ESP_ERR_INVALID_STATE: it is not registered.
 */
esp_err_t esp_vfs_nf2fs_unregister(const char *partition_label);
esp_err_t esp_vfs_nf2fs_unregister_partition(const esp_partition_t *partition);

bool esp_nf2fs_mounted(const char *partition_label);

/* Makes an empty volume. ESP_ERR_INVALID_STATE: unregister it first. */
esp_err_t esp_nf2fs_format(const char *partition_label);

/* Bytes of the volume, and those that are not available. There may be more free than this says. */
esp_err_t esp_nf2fs_info(const char *partition_label, size_t *total_bytes, size_t *used_bytes);

/*
 * The volume for the calls of nf2fs.h, such as nf2_maintain from an idle task; NULL: not
 * registered. It ends with esp_vfs_nf2fs_unregister.
 */
nf2_t *esp_nf2fs_volume(const char *partition_label);

#ifdef __cplusplus
}
#endif
#endif
