/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vfs.h - one POSIX-like face over every file system that is measured.
 *
 * A `struct vfs` is a table of functions with a context. Each adapter fills the table in; the benchmark
 * and the tests call nothing else, so that all file systems see the same calls in the same order.
 *
 * Functions return 0 (or a count) on success and a negative errno-like number on failure. Paths begin with '/'.
 * Handles come from the heap: this is host code. `ram_bytes` says what a microcontroller would need.
 */
#ifndef VFS_H
#define VFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nf2fs/flash.h"

#define VFS_NAME_MAX 255u
#define VFS_PATH_MAX 512u

enum vfs_error {
    VFS_ERR_NOENT = -2,
    VFS_ERR_IO = -5,
    VFS_ERR_NOMEM = -12,
    VFS_ERR_EXIST = -17,
    VFS_ERR_NOTDIR = -20,
    VFS_ERR_ISDIR = -21,
    VFS_ERR_INVAL = -22,
    VFS_ERR_NOSPC = -28,
    VFS_ERR_NAMETOOLONG = -36,
    VFS_ERR_NOTEMPTY = -39
};

enum vfs_flags {
    VFS_READ = 1,
    VFS_WRITE = 2,
    VFS_CREATE = 4,     /* create if it is not there */
    VFS_EXCL = 8,       /* with VFS_CREATE: fail if it is there */
    VFS_TRUNC = 16,     /* empty it */
    VFS_APPEND = 32     /* each write goes to the end */
};

struct vfs_stat {
    bool directory;
    uint32_t size;      /* bytes; 0 for a directory */
};

struct vfs_dirent {
    bool directory;
    uint32_t size;
    char name[VFS_NAME_MAX + 1];
};

struct vfs_space {
    uint64_t total_bytes, free_bytes;
    uint64_t unused_bytes;      /* the free ones and what is kept back; this and the rest: left as they are where it is not known */
    uint64_t erased_bytes;      /* known to be erased, of the unused ones */
};

/* Calls that only some file systems have. */
enum vfs_more {
    VFS_TELL, VFS_SIZE, VFS_PREALLOCATE, VFS_REWIND, VFS_HEALTH, VFS_CHECK,
    VFS_DISCARD,                        /* frees the handle, and what it has not synced is given up */
    VFS_SAVE, VFS_LOAD                  /* a whole file, in `argument` bytes; the handle is a vfs_whole */
};

struct vfs_whole {
    const char *path;
    void *data;
};

struct vfs_ops {
    int (*format)(void *context);
    int (*mount)(void *context);
    int (*unmount)(void *context);
    void (*drop)(void *context);        /* forget the mounted volume without a write, as a power cut does */

    int (*open)(void *context, const char *path, int flags, void **file);
    int32_t (*read)(void *context, void *file, void *data, uint32_t length);        /* bytes read */
    int32_t (*write)(void *context, void *file, const void *data, uint32_t length); /* `length`, or an error */
    int (*seek)(void *context, void *file, uint32_t position);
    int (*sync)(void *context, void *file);
    int (*truncate)(void *context, void *file, uint32_t size);
    int (*close)(void *context, void *file);                                        /* frees the handle in any case */

    int (*stat)(void *context, const char *path, struct vfs_stat *out);
    int (*mkdir)(void *context, const char *path);
    int (*remove)(void *context, const char *path);
    int (*rename)(void *context, const char *from, const char *to);                 /* replaces a file */
    int (*opendir)(void *context, const char *path, void **dir);
    int (*readdir)(void *context, void *dir, struct vfs_dirent *out);               /* 1: an entry, 0: the end */
    int (*closedir)(void *context, void *dir);

    int (*statfs)(void *context, struct vfs_space *out);
    int (*maintain)(void *context, uint32_t budget_us); /* idle work; NULL: there is none. 1: work is left */
    /* One of those, `handle` (of a file or a listing) and `argument` where it has such; NULL: none. The result, or an error. */
    int32_t (*more)(void *context, enum vfs_more what, void *handle, uint32_t argument);
    uint32_t (*ram_bytes)(void *context);               /* volume, its buffers and one open file with its buffer */
    void (*destroy)(void *context);
};

struct vfs {
    const struct vfs_ops *ops;
    void *context;
};

/* What a file system does not promise about power cuts: `norbench cuts` reports it apart, and not as broken. */
enum vfs_waiver {
    VFS_WAIVES_NO_GHOST = 1,    /* a file that was made, and never synced, may be there, empty */
    VFS_WAIVES_CUTS = 2         /* anything: it is not made for cuts */
};

/* A file system that can be measured. */
struct vfs_entry {
    const char *name;           /* "littlefs-p256" */
    const char *version;        /* "2.11" */
    const char *description;    /* configuration in one sentence */
    /* Makes an unmounted instance over `flash`, which must outlive it. Returns 0 or VFS_ERR_NOMEM. */
    int (*make)(const struct nf2_flash *flash, struct vfs *out);
    unsigned waives;            /* of vfs_waiver; 0: it is held to all promises */
    const char *settings;       /* "cache,block": what may stand behind its name (settings.h); NULL: nothing */
    /* The same with such settings. Returns VFS_ERR_INVAL, with a message, where one of them cannot be. */
    int (*make_with)(const struct nf2_flash *flash, const char *settings, struct vfs *out, char *message, size_t message_size);
    const char *core;           /* a digest of the sources that are measured; NULL: not known */
    bool own_flash;             /* it works on a flash of its own, and the chip repeats what is done there: it cannot be set back */
};

/* What a NAND chip has beside its pages. The functions return 0 or the flash's error; a program counts as a part of that of its page. */
struct vfs_nand {
    void *context;
    uint32_t spare_size;        /* bytes beside each page; the first one of a bad block's first page is not 0xFF */
    int (*spare_read)(void *context, uint32_t page, void *data, uint32_t length);
    int (*spare_program)(void *context, uint32_t page, const void *data, uint32_t length);
};

/* Of the chip under the file system that is made next; NULL: it is no NAND. */
void vfs_set_nand(const struct vfs_nand *nand);
const struct vfs_nand *vfs_nand(void);

extern const struct vfs_entry vfs_native_entry;
extern const struct vfs_entry vfs_nf2fs_entry;

/* Releases an instance; it must not be mounted. */
static inline void vfs_destroy(struct vfs *fs)
{
    fs->ops->destroy(fs->context);
}

#endif
