/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * volume.h - the calls of a file system that the rows use. Each returns 0 or a positive result, or
 * a negative error.
 */
#ifndef VOLUME_H
#define VOLUME_H

#include <stdbool.h>
#include <stdint.h>

/* Memory of the file system in all, with one open file; 0: its usual settings. */
#ifndef RAM_BYTES
#define RAM_BYTES 0
#endif

enum { READ = 1, WRITE = 2, CREATE = 0x10, TRUNCATE = 0x40, APPEND = 0x80 };

extern const char *const volume_name;
extern const bool volume_has_steps; /* volume_maintain works in steps with a budget */

/* Bytes of RAM that a mounted volume with one open file takes. */
uint32_t volume_ram(void);

int volume_format(bool erase);
int volume_mount(void);
int volume_unmount(void);
int volume_open(const char *path, int flags); /* the one file */
int volume_close(void);
int volume_sync(void);
int32_t volume_read(void *data, uint32_t length);
int32_t volume_write(const void *data, uint32_t length);
int32_t volume_seek(uint32_t position);
int volume_stat(const char *path, uint32_t *size);
int volume_mkdir(const char *path);
int volume_remove(const char *path);
int volume_rename(const char *from, const char *to);
int volume_list(const char *path);       /* how many entries it has */
int volume_maintain(uint32_t budget_us); /* 1: work is left */

#endif
