/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls ESP-IDF's esp_vfs_*, since fopen is the host's on this target. Exit code 0: all is well. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "esp_nf2fs.h"
#include "esp_vfs.h"

static int failed;

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            printf("failed: %s\n", #condition);                                                    \
            failed = 1;                                                                            \
        }                                                                                          \
    } while (0)

void app_main(void)
{
    struct _reent *r = NULL;
    struct stat stat;
    char text[8] = "";
    esp_vfs_nf2fs_conf_t conf = {.base_path = "/files", .partition_label = "files"};
    CHECK(esp_vfs_nf2fs_register(&conf) == ESP_ERR_NF2FS_BLANK);
    conf.format_if_mount_failed = true;
    CHECK(esp_vfs_nf2fs_register(&conf) == ESP_OK);
    CHECK(esp_vfs_nf2fs_register(&conf) == ESP_ERR_INVALID_STATE);

    int fd = esp_vfs_open(r, "/files/a", O_RDWR | O_CREAT, 0);
    CHECK(fd >= 0 && esp_vfs_write(r, fd, "hello", 5) == 5 && esp_vfs_fsync(fd) == 0);
    CHECK(esp_vfs_lseek(r, fd, 1, SEEK_SET) == 1 && esp_vfs_read(r, fd, text, 8) == 4);
    CHECK(strcmp(text, "ello") == 0 && esp_vfs_fstat(r, fd, &stat) == 0 && stat.st_size == 5);
    CHECK(esp_vfs_fcntl_r(r, fd, F_GETFL, 0) == O_RDWR);
    CHECK(esp_vfs_ftruncate(fd, 3) == 0 && esp_vfs_close(r, fd) == 0);
    CHECK(esp_vfs_truncate("/files/a", 2) == 0 && esp_vfs_stat(r, "/files/a", &stat) == 0);
    CHECK(stat.st_size == 2);
    errno = 0;
    CHECK(esp_vfs_utime("/files/a", NULL) == -1 && errno == ENOTSUP);
    CHECK(esp_vfs_mkdir("/files/d", 0777) == 0 && esp_vfs_rename(r, "/files/a", "/files/d/b") == 0);
    CHECK(esp_vfs_access("/files/d/b", 0) == 0 && esp_vfs_access("/files/a", 0) == -1);
    CHECK(esp_vfs_rmdir("/files/d") == -1 && errno == ENOTEMPTY);

    DIR *dir = esp_vfs_opendir("/files/d");
    struct dirent *entry = dir != NULL ? esp_vfs_readdir(dir) : NULL;
    CHECK(entry != NULL && strcmp(entry->d_name, "b") == 0 && entry->d_type == DT_REG);
    CHECK(esp_vfs_telldir(dir) == 1 && esp_vfs_readdir(dir) == NULL);
    esp_vfs_rewinddir(dir);
    CHECK(esp_vfs_readdir(dir) != NULL && esp_vfs_closedir(dir) == 0);

    CHECK(esp_vfs_unlink(r, "/files/d/b") == 0 && esp_vfs_rmdir("/files/d") == 0);
    CHECK(esp_vfs_nf2fs_unregister("files") == ESP_OK);
    CHECK(esp_vfs_open(r, "/files/a", O_RDONLY, 0) == -1);
    conf.read_only = true;
    CHECK(esp_vfs_nf2fs_register(&conf) == ESP_OK);
    CHECK(esp_vfs_open(r, "/files/a", O_WRONLY | O_CREAT, 0) == -1 && errno == EROFS);
    CHECK(esp_vfs_nf2fs_unregister("files") == ESP_OK);
    printf(failed ? "bad\n" : "all is well\n");
    exit(failed);
}
