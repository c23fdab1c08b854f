/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nf2_zephyr.h - NF2FS as a file system of Zephyr.
 *
 *     static struct nf2_zephyr volume;
 *     static struct fs_mount_t mount = {
 *         .type = NF2_ZEPHYR_TYPE, .mnt_point = "/nf2", .fs_data = &volume,
 *         .storage_dev = (void *)FIXED_PARTITION_ID(storage_partition),
 *     };
 *     fs_mount(&mount);                a partition that has no volume, and is blank where nf2_mount
 *                                      has looked (NF2_ERR_BLANK), is formatted, unless
 *                                      FS_MOUNT_FLAG_NO_FORMAT is set
 *     nf2_maintain(&volume.fs, us);    from a thread of low priority
 *
 * Without another file system Zephyr cuts names in listings to 12 characters: set
 * CONFIG_FILE_SYSTEM_MAX_FILE_NAME.
 *
 * Not compiled against Zephyr's own headers, which are in no package registry: the test compiles
 * it, and runs it, against declarations of our own in tests/ports/stubs that follow Zephyr's
 * documentation (3.7 and 4.x) and were compared with its headers by reading.
 */
#ifndef NF2_ZEPHYR_H
#define NF2_ZEPHYR_H

#include <zephyr/fs/fs.h>
#include <zephyr/kernel.h>
#include <zephyr/storage/flash_map.h>

#include "nf2fs/nf2fs.h"

#define NF2_ZEPHYR_TYPE (FS_TYPE_EXTERNAL_BASE + 1)
#define NF2_ZEPHYR_PAGE_SIZE 256u

struct nf2_zephyr {
    nf2_t fs;                   /* for nf2_maintain and nf2_check */

    /* private */
    const struct flash_area *area;
    struct nf2_flash flash;
    struct nf2_config config;
    struct k_mutex mutex;
    uint8_t buffer[NF2_BUFFER_SIZE(NF2_ZEPHYR_PAGE_SIZE)];
};

#endif
