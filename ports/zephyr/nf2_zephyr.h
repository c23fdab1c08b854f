/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nf2_zephyr.h - NF2FS as a file system of Zephyr (3.7 and later).
 *
 * In the devicetree:
 *
 *     fstab {
 *         compatible = "zephyr,fstab";
 *         files: files {
 *             compatible = "zephyr,fstab,nf2fs";
 *             mount-point = "/nf2";
 *             partition = <&storage_partition>;
 *             automount;
 *         };
 *     };
 *
 * or in C, and then fs_mount(&mount):
 *
 *     static struct nf2_zephyr volume;
 *     static struct fs_mount_t mount = {
 *         .type = NF2_ZEPHYR_TYPE, .mnt_point = "/nf2", .fs_data = &volume,
 *         .storage_dev = (void *)FIXED_PARTITION_ID(storage_partition),
 *     };
 *
 * A thread of low priority calls nf2_maintain(&nf2_zephyr_volume(&mount)->fs, budget_us).
 *
 * What mounting does when there is no volume:
 *   - A partition that nf2_mount finds BLANK is formatted, unless FS_MOUNT_FLAG_NO_FORMAT or
 *     FS_MOUNT_FLAG_READ_ONLY is set.
 *   - One that holds something else (FOREIGN) is formatted only if `format_foreign` is set, too.
 *   - One that is damaged, or has another geometry or version, is never formatted: fs_mkfs does it.
 * `error` says which it was; errno has no values for that: BLANK and FOREIGN are -ENODEV, CORRUPT
 * is -EFAULT, GEOMETRY is -EINVAL, VERSION is -ENOTSUP. A partition that is too small is -ENOSPC.
 *
 * What differs from LittleFS in Zephyr: an extension by fs_truncate that does not fit returns
 * -ENOSPC and changes nothing. After -ENOSPC of fs_write or fs_truncate, fs_sync and fs_close
 * return it, too, and the file keeps the content of its last sync, until a later fs_write succeeds,
 * also one of 0 bytes (see nf2_write), or nf2_zephyr_discard gives the change up. After an
 * fs_unmount or fs_close that returned an error, the volume is not mounted and the file not open;
 * call it once more, and Zephyr forgets it, too.
 */
#ifndef NF2_ZEPHYR_H
#define NF2_ZEPHYR_H

#include <zephyr/fs/fs.h>
#include <zephyr/kernel.h>
#include <zephyr/storage/flash_map.h>

#include "nf2fs/nf2fs.h"

#define NF2_ZEPHYR_TYPE (FS_TYPE_EXTERNAL_BASE + 1)
#define NF2_ZEPHYR_PAGE_SIZE 256u

/* Zeros, but for what you set. It stays in use while the volume is mounted. */
struct nf2_zephyr {
    nf2_t fs;                   /* for nf2_maintain, nf2_health and nf2_check */
    int error;                  /* result of the last mount or fs_mkfs: 0 or an enum nf2_error */

    /* You may set these before fs_mount or fs_mkfs. */
    bool format_foreign;        /* mounting also formats a partition that holds something else */
    uint32_t large_erase_size;  /* bytes; 0: CONFIG_NF2FS_LARGE_ERASE_SIZE */

    /* private */
    struct nf2_zephyr *next;
    uint8_t area_id;
    const struct flash_area *area;
    struct nf2_flash flash;
    struct nf2_config config;
    struct k_mutex mutex;
    uint8_t buffer[NF2_BUFFER_SIZE(NF2_ZEPHYR_PAGE_SIZE)];
};

/*
 * Gives up what was written to an open file since its last fs_sync: the file stays as it was then
 * (see nf2_discard). Nothing but fs_close can be called on it afterwards, and that returns 0.
 * -EBADF: it is not open, or not a file of NF2FS.
 */
int nf2_zephyr_discard(struct fs_file_t *file);

/*
 * The volume of a mount point, such as one from the devicetree:
 * &FS_FSTAB_ENTRY(DT_NODELABEL(files)).
 */
static inline struct nf2_zephyr *nf2_zephyr_volume(const struct fs_mount_t *mount)
{
    return (struct nf2_zephyr *)mount->fs_data;
}

#endif
