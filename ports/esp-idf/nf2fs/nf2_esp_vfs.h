/* SPDX-License-Identifier: BSD-2-Clause */
/* nf2_esp_vfs.h - private: a volume behind the virtual file system. */
#ifndef NF2_ESP_VFS_H
#define NF2_ESP_VFS_H

#include <stdbool.h>

#include "esp_vfs.h"
#include "nf2_esp.h"
#include "sdkconfig.h"

#ifndef CONFIG_NF2FS_MAX_FILES  /* Arduino comes with a configuration that does not know NF2FS */
#define CONFIG_NF2FS_MAX_FILES 8
#endif
#ifndef CONFIG_NF2FS_MAX_PARTITIONS
#define CONFIG_NF2FS_MAX_PARTITIONS 3
#endif

struct nf2_esp_file {
    bool readable, writable, append;
    bool discard;               /* a close gives up what was not synced */
    nf2_file_t file;
    uint8_t page[NF2_ESP_PAGE_SIZE];
};

struct nf2_esp_vfs {
    struct nf2_esp esp;
    bool read_only;
    char base_path[ESP_VFS_PATH_MAX + 1];
    struct nf2_esp_file *files[CONFIG_NF2FS_MAX_FILES];     /* by descriptor; NULL: free */
};

esp_err_t nf2_esp_vfs_register(struct nf2_esp_vfs *volume, const char *base_path);

/* Closes what is open. Returns the first error of a close. */
int nf2_esp_vfs_unregister(struct nf2_esp_vfs *volume);

#endif
