/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nf2_posix.h - the calls of POSIX with errno over one volume: descriptors from a static table.
 *
 *     nf2p_attach(&volume.fs, nf2_freertos_lock, nf2_freertos_unlock, &volume);
 *     int file = nf2p_open("/log/boot.txt", O_WRONLY | O_CREAT | O_APPEND);
 *
 * What differs from POSIX, because the volume underneath does: one descriptor at a time may write a
 * file (EBUSY); an open file cannot be removed or replaced (EBUSY); a write is taken whole or not
 * at all; what was written is durable after nf2p_fsync or nf2p_close, or at once with O_SYNC; after
 * ENOSPC both fail with ENOSPC, too, and the file keeps its old content, until a later write
 * succeeds, also one of 0 bytes (see nf2_write); nf2p_discard gives up what was not synced. There
 * are no links, owners and times (nf2_getattr and nf2_setattr have those). Needs errno.h, fcntl.h
 * and sys/stat.h (newlib, picolibc, a host's library). errno is the C library's: with newlib under
 * FreeRTOS set configUSE_NEWLIB_REENTRANT to 1 and each task has its own.
 */
#ifndef NF2_POSIX_H
#define NF2_POSIX_H

#include <fcntl.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "nf2fs/nf2fs.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifndef NF2P_FILES
/* descriptors open at a time; each takes an nf2_file_t and a page */
#define NF2P_FILES 8
#endif
#ifndef NF2P_DIRS
#define NF2P_DIRS 2             /* listings open at a time */
#endif
#ifndef NF2P_PAGE_SIZE
#define NF2P_PAGE_SIZE 256      /* bytes: of the largest page of a chip that is used */
#endif

/*
 * Names the volume, which is mounted. `lock` and `unlock` (may be NULL) go round each call here;
 * they must bear nesting, for the volume calls them too. 0, or -1 with errno: EBUSY (another one is
 * attached).
 */
int nf2p_attach(nf2_t *fs, void (*lock)(void *context), void (*unlock)(void *context),
                void *context);

/*
 * Closes everything and forgets the volume, which stays mounted. 0, or -1
 * with the errno of the first close that failed.
 */
int nf2p_detach(void);

/* All return -1 (or NULL) with errno set, as in POSIX. A third argument of nf2p_open is ignored. */
int nf2p_open(const char *path, int flags, ...);
int nf2p_close(int file);
/* Not in POSIX: closes, and the file stays as it was at its last fsync (see nf2_discard). */
int nf2p_discard(int file);
ssize_t nf2p_read(int file, void *data, size_t length);
ssize_t nf2p_write(int file, const void *data, size_t length);
ssize_t nf2p_pread(int file, void *data, size_t length, off_t offset);
ssize_t nf2p_pwrite(int file, const void *data, size_t length, off_t offset);
off_t nf2p_lseek(int file, off_t offset, int whence);
int nf2p_fsync(int file);
int nf2p_ftruncate(int file, off_t size);
int nf2p_fstat(int file, struct stat *out);

int nf2p_stat(const char *path, struct stat *out);
int nf2p_access(const char *path, int mode);        /* all modes are allowed on what exists */
int nf2p_unlink(const char *path);                  /* a file */
int nf2p_rmdir(const char *path);                   /* an empty directory */
int nf2p_mkdir(const char *path, mode_t mode);      /* the mode is ignored */
int nf2p_rename(const char *from, const char *to);

typedef struct nf2p_dir nf2p_dir;
struct nf2p_dirent {
    unsigned char d_type;       /* NF2P_DT_REG or NF2P_DT_DIR */
    char d_name[NF2_NAME_MAX + 1];
};
#define NF2P_DT_DIR 4
#define NF2P_DT_REG 8

/*
 * The entry is valid until the next call with the same listing. At the
 * end NULL, errno as it was. No '.' and '..'.
 */
nf2p_dir *nf2p_opendir(const char *path);
struct nf2p_dirent *nf2p_readdir(nf2p_dir *dir);
void nf2p_rewinddir(nf2p_dir *dir);
int nf2p_closedir(nf2p_dir *dir);

/* The errno of an nf2_error; 0 for NF2_OK and above. */
int nf2p_errno(int error);

#ifdef __cplusplus
}
#endif
#endif
