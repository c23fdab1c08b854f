/* SPDX-License-Identifier: BSD-2-Clause */
/* vfs_littlefs.h - LittleFS 2.11 in four configurations; read 16, cache 256, lookahead 256 B, block_cycles 500. */
#ifndef VFS_LITTLEFS_H
#define VFS_LITTLEFS_H

#include "vfs.h"

extern const struct vfs_entry vfs_littlefs_entry;                   /* programs of 16 B */
extern const struct vfs_entry vfs_littlefs_p256_entry;              /* programs of 256 B */
extern const struct vfs_entry vfs_littlefs_erasecheck_entry;        /* 16 B; the driver leaves blank blocks alone */
extern const struct vfs_entry vfs_littlefs_p256_erasecheck_entry;

#endif
