/* SPDX-License-Identifier: BSD-2-Clause */
/* dirent.h - see esp_partition.h: a file system's own listing begins with a DIR. */
#ifndef STUB_DIRENT_H
#define STUB_DIRENT_H

#include <stdint.h>
#include <sys/types.h>

#define DT_UNKNOWN 0
#define DT_REG 1
#define DT_DIR 2
typedef struct { uint16_t dd_vfs_idx, dd_rsv; } DIR;
struct dirent {
    ino_t d_ino;
    uint8_t d_type;
    char d_name[256];
};

#endif
