/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nf2_posix.c - descriptors, errno, and nothing else: each call
 * is one of NF2FS's, or two under one lock.
 */
#define _POSIX_C_SOURCE 200809L

#include "nf2_posix.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define LENGTH_MAX 0x7FFFFFFF   /* bytes in a call, and in a file */

struct descriptor {
    bool open, readable, writable;
    nf2_file_t file;
    uint8_t buffer[NF2P_PAGE_SIZE];
};

struct nf2p_dir {
    bool open;
    nf2_dir_t dir;
    struct nf2_dirent entry;
    struct nf2p_dirent out;
};

static struct {
    nf2_t *fs;
    void (*lock)(void *context);
    void (*unlock)(void *context);
    void *context;
    struct descriptor files[NF2P_FILES];
    struct nf2p_dir dirs[NF2P_DIRS];
} volume;

int nf2p_errno(int error)
{
    switch (error) {
    case NF2_ERR_NOENT:
        return ENOENT;
    case NF2_ERR_BADF:
        return EBADF;
    case NF2_ERR_BUSY:
        return EBUSY;
    case NF2_ERR_EXIST:
        return EEXIST;
    case NF2_ERR_NOTDIR:
        return ENOTDIR;
    case NF2_ERR_ISDIR:
        return EISDIR;
    case NF2_ERR_INVAL:
        return EINVAL;
    case NF2_ERR_FBIG:
        return EFBIG;
    case NF2_ERR_NOSPC:
        return ENOSPC;
    case NF2_ERR_ROFS:
        return EROFS;
    case NF2_ERR_NAMETOOLONG:
        return ENAMETOOLONG;
    case NF2_ERR_NOTEMPTY:
        return ENOTEMPTY;
    default:
        return error >= 0 ? 0 : EIO;
    }
}

/* What a call of NF2FS returned, as a POSIX call returns it. */
static int32_t posix(int32_t result)
{
    if (result < 0) {
        errno = nf2p_errno((int)result);
        return -1;
    }
    return result;
}

static int refuse(int error)
{
    errno = error;
    return -1;
}

/* ---- the lock: every call below is between enter and leave ----------------------------------- */

/* Whether there is a volume. Locks either way. */
static bool enter(void)
{
    if (volume.lock != NULL) {
        volume.lock(volume.context);
    }
    if (volume.fs == NULL) {
        errno = ENXIO;
    }
    return volume.fs != NULL;
}

static void leave(void)
{
    if (volume.unlock != NULL) {
        volume.unlock(volume.context);
    }
}

int nf2p_attach(nf2_t *fs, void (*lock)(void *context), void (*unlock)(void *context),
                void *context)
{
    if (fs == NULL || (lock == NULL) != (unlock == NULL)) {
        return refuse(EINVAL);
    }
    if (volume.fs != NULL) {
        return refuse(EBUSY);
    }
    volume.lock = lock;
    volume.unlock = unlock;
    volume.context = context;
    volume.fs = fs;
    return 0;
}

int nf2p_detach(void)
{
    int32_t result = 0;
    if (enter()) {
        for (int i = 0; i < NF2P_FILES; i++) {
            int closed =
                volume.files[i].open ? nf2_close(volume.fs, &volume.files[i].file) : NF2_OK;
            result = result != 0 ? result : closed;
            volume.files[i].open = false;
        }
        for (int i = 0; i < NF2P_DIRS; i++) {
            volume.dirs[i].open = false;
        }
        result = posix(result);
        volume.fs = NULL;
    } else {
        result = -1;
    }
    leave();
    return (int)result;
}

/* ---- files ----------------------------------------------------------------------------------- */

static int flags_of(int flags)
{
    int access = flags & O_ACCMODE;
    int out = access == O_RDONLY ? NF2_O_RDONLY : access == O_WRONLY ? NF2_O_WRONLY : NF2_O_RDWR;
    out |= (flags & O_CREAT) != 0 ? NF2_O_CREAT : 0;
    out |= (flags & O_EXCL) != 0 ? NF2_O_EXCL : 0;
    out |= (flags & O_TRUNC) != 0 ? NF2_O_TRUNC : 0;
    out |= (flags & O_APPEND) != 0 && access != O_RDONLY ? NF2_O_APPEND : 0;
#ifdef O_SYNC
    out |= (flags & O_SYNC) != 0 && access != O_RDONLY ? NF2_O_SYNC : 0;
#endif
    return out;
}

/* With the lock. POSIX lets a reader create a file; NF2FS asks for a writer. */
static int create_empty(const char *path, struct descriptor *at, int flags)
{
    int result = nf2_open(volume.fs, &at->file, path,
                          NF2_O_WRONLY | NF2_O_CREAT | (flags & NF2_O_EXCL), at->buffer);
    return result != NF2_OK ? result : nf2_close(volume.fs, &at->file);
}

static int open_at(const char *path, struct descriptor *at, int flags)
{
    struct nf2_stat stat;
    if ((flags & NF2_O_WRONLY) == 0 && (flags & NF2_O_CREAT) != 0) {
        bool there = nf2_stat(volume.fs, path, &stat) == NF2_OK;
        int result = there && (flags & NF2_O_EXCL) == 0 ? NF2_OK : create_empty(path, at, flags);
        if (result != NF2_OK) {
            return result;
        }
        flags &= ~(NF2_O_CREAT | NF2_O_EXCL);
    }
    if ((flags & NF2_O_WRONLY) == 0) {
        flags &= ~NF2_O_TRUNC;
    }
    return nf2_open(volume.fs, &at->file, path, flags, at->buffer);
}

static int open_file(const char *path, int flags)
{
    int wanted = flags_of(flags);
    for (int i = 0; i < NF2P_FILES; i++) {
        struct descriptor *at = &volume.files[i];
        if (!at->open) {
            int32_t result = posix(open_at(path, at, wanted));
            at->open = result == 0;
            at->readable = (wanted & NF2_O_RDONLY) != 0;
            at->writable = (wanted & NF2_O_WRONLY) != 0;
            return result == 0 ? i : -1;
        }
    }
    return refuse(EMFILE);
}

int nf2p_open(const char *path, int flags, ...)
{
    int result = -1;
    if (path == NULL) {
        return refuse(EFAULT);
    }
    if (enter()) {
        result = open_file(path, flags);
    }
    leave();
    return result;
}

/* With the lock: the open descriptor of that number, or NULL with errno. */
static struct descriptor *find(int file)
{
    if (file < 0 || file >= NF2P_FILES || !volume.files[file].open) {
        errno = EBADF;
        return NULL;
    }
    return &volume.files[file];
}

/* Locks and finds. What returns NULL is to be left all the same. */
static struct descriptor *enter_file(int file)
{
    return enter() ? find(file) : NULL;
}

static int end_with(int (*how)(nf2_t *fs, nf2_file_t *file), int file)
{
    int32_t result = -1;
    struct descriptor *at = enter_file(file);
    if (at != NULL) {
        result = posix(how(volume.fs, &at->file));
        at->open = false;
    }
    leave();
    return (int)result;
}

int nf2p_close(int file)
{
    return end_with(nf2_close, file);
}

int nf2p_discard(int file)
{
    return end_with(nf2_discard, file);
}

static uint32_t capped(size_t length)
{
    return length > LENGTH_MAX ? LENGTH_MAX : (uint32_t)length;
}

ssize_t nf2p_read(int file, void *data, size_t length)
{
    int32_t result = -1;
    struct descriptor *at = enter_file(file);
    if (at != NULL) {
        result = posix(nf2_read(volume.fs, &at->file, data, capped(length)));
    }
    leave();
    return result;
}

ssize_t nf2p_write(int file, const void *data, size_t length)
{
    int32_t result = -1;
    struct descriptor *at = enter_file(file);
    if (at != NULL && length > LENGTH_MAX) {
        result = refuse(EFBIG);
    } else if (at != NULL) {
        result = posix(nf2_write(volume.fs, &at->file, data, (uint32_t)length));
    }
    leave();
    return result;
}

/* With the lock. Moves to `offset`; `*back` is where it was. */
static bool move(struct descriptor *at, off_t offset, int32_t *back)
{
    if (offset < 0 || offset > LENGTH_MAX) {
        errno = EINVAL;
        return false;
    }
    *back = nf2_tell(volume.fs, &at->file);
    return *back >= 0 && posix(nf2_seek(volume.fs, &at->file, (int32_t)offset, NF2_SEEK_SET)) >= 0;
}

ssize_t nf2p_pread(int file, void *data, size_t length, off_t offset)
{
    int32_t result = -1, back = 0;
    struct descriptor *at = enter_file(file);
    if (at != NULL && move(at, offset, &back)) {
        result = posix(nf2_read(volume.fs, &at->file, data, capped(length)));
        (void)nf2_seek(volume.fs, &at->file, back, NF2_SEEK_SET);
    }
    leave();
    return result;
}

ssize_t nf2p_pwrite(int file, const void *data, size_t length, off_t offset)
{
    int32_t result = -1, back = 0;
    struct descriptor *at = enter_file(file);
    if (at != NULL && length > LENGTH_MAX) {
        result = refuse(EFBIG);
    } else if (at != NULL && move(at, offset, &back)) {
        result = posix(nf2_write(volume.fs, &at->file, data, (uint32_t)length));
        (void)nf2_seek(volume.fs, &at->file, back, NF2_SEEK_SET);
    }
    leave();
    return result;
}

off_t nf2p_lseek(int file, off_t offset, int whence)
{
    int32_t result = -1;
    struct descriptor *at = enter_file(file);
    if (at != NULL && (offset < -LENGTH_MAX || offset > LENGTH_MAX)) {
        result = refuse(EINVAL);
    } else if (at != NULL && (whence == SEEK_SET || whence == SEEK_CUR || whence == SEEK_END)) {
        int nf2 = whence == SEEK_SET   ? NF2_SEEK_SET
                  : whence == SEEK_CUR ? NF2_SEEK_CUR
                                       : NF2_SEEK_END;
        result = posix(nf2_seek(volume.fs, &at->file, (int32_t)offset, nf2));
    } else if (at != NULL) {
        result = refuse(EINVAL);
    }
    leave();
    return result;
}

/* A reader has nothing to make durable, and POSIX does not mind. */
int nf2p_fsync(int file)
{
    int32_t result = -1;
    struct descriptor *at = enter_file(file);
    if (at != NULL) {
        result = at->writable ? posix(nf2_sync(volume.fs, &at->file)) : 0;
    }
    leave();
    return (int)result;
}

int nf2p_ftruncate(int file, off_t size)
{
    int32_t result = -1;
    struct descriptor *at = enter_file(file);
    if (at != NULL && (size < 0 || !at->writable)) {
        result = refuse(EINVAL);
    } else if (at != NULL && size > LENGTH_MAX) {
        result = refuse(EFBIG);
    } else if (at != NULL) {
        result = posix(nf2_truncate(volume.fs, &at->file, (uint32_t)size));
    }
    leave();
    return (int)result;
}

static void fill_stat(struct stat *out, enum nf2_type type, uint32_t size)
{
    memset(out, 0, sizeof(*out));
    out->st_mode = type == NF2_TYPE_DIR ? S_IFDIR | 0777 : S_IFREG | 0666;
    out->st_nlink = 1;
    out->st_size = (off_t)size;
    out->st_blksize = NF2P_PAGE_SIZE;
}

int nf2p_fstat(int file, struct stat *out)
{
    int32_t result = -1;
    struct descriptor *at = enter_file(file);
    if (at != NULL) {
        result = posix(nf2_size(volume.fs, &at->file));
        fill_stat(out, NF2_TYPE_FILE, result > 0 ? (uint32_t)result : 0);
        result = result > 0 ? 0 : result;
    }
    leave();
    return (int)result;
}

/* ---- names ----------------------------------------------------------------------------------- */

static int stat_path(const char *path, struct nf2_stat *stat)
{
    return path == NULL ? refuse(EFAULT) : (int)posix(nf2_stat(volume.fs, path, stat));
}

int nf2p_stat(const char *path, struct stat *out)
{
    struct nf2_stat stat;
    int result = -1;
    if (enter()) {
        result = stat_path(path, &stat);
        if (result == 0) {
            fill_stat(out, stat.type, stat.size);
        }
    }
    leave();
    return result;
}

int nf2p_access(const char *path, int mode)
{
    struct nf2_stat stat;
    (void)mode;
    int result = enter() ? stat_path(path, &stat) : -1;
    leave();
    return result;
}

/* With the lock. Removes what is of that type; the errno for the other one. */
static int remove_typed(const char *path, enum nf2_type type, int other)
{
    struct nf2_stat stat;
    int result = stat_path(path, &stat);
    if (result == 0 && stat.type != type) {
        result = refuse(other);
    }
    return result == 0 ? (int)posix(nf2_remove(volume.fs, path)) : result;
}

int nf2p_unlink(const char *path)
{
    int result = enter() ? remove_typed(path, NF2_TYPE_FILE, EISDIR) : -1;
    leave();
    return result;
}

int nf2p_rmdir(const char *path)
{
    int result = enter() ? remove_typed(path, NF2_TYPE_DIR, ENOTDIR) : -1;
    leave();
    return result;
}

int nf2p_mkdir(const char *path, mode_t mode)
{
    (void)mode;
    int32_t result = -1;
    if (enter()) {
        result = path == NULL ? refuse(EFAULT) : posix(nf2_mkdir(volume.fs, path));
    }
    leave();
    return (int)result;
}

int nf2p_rename(const char *from, const char *to)
{
    int32_t result = -1;
    if (enter()) {
        bool given = from != NULL && to != NULL;
        result = given ? posix(nf2_rename(volume.fs, from, to)) : refuse(EFAULT);
    }
    leave();
    return (int)result;
}

/* ---- listings -------------------------------------------------------------------------------- */

static nf2p_dir *open_listing(const char *path)
{
    for (int i = 0; i < NF2P_DIRS; i++) {
        nf2p_dir *dir = &volume.dirs[i];
        if (!dir->open) {
            dir->open = posix(nf2_opendir(volume.fs, &dir->dir, path)) == 0;
            return dir->open ? dir : NULL;
        }
    }
    errno = EMFILE;
    return NULL;
}

nf2p_dir *nf2p_opendir(const char *path)
{
    nf2p_dir *dir = NULL;
    if (enter()) {
        dir = path != NULL ? open_listing(path) : NULL;
        errno = path != NULL ? errno : EFAULT;
    }
    leave();
    return dir;
}

static bool enter_listing(const nf2p_dir *dir)
{
    bool there = enter();
    if (there && (dir == NULL || !dir->open)) {
        errno = EBADF;
        there = false;
    }
    return there;
}

struct nf2p_dirent *nf2p_readdir(nf2p_dir *dir)
{
    struct nf2p_dirent *found = NULL;
    if (enter_listing(dir) && posix(nf2_readdir(volume.fs, &dir->dir, &dir->entry)) > 0) {
        found = &dir->out;
        found->d_type = dir->entry.type == NF2_TYPE_DIR ? NF2P_DT_DIR : NF2P_DT_REG;
        memcpy(found->d_name, dir->entry.name, sizeof(found->d_name));
    }
    leave();
    return found;
}

void nf2p_rewinddir(nf2p_dir *dir)
{
    if (enter_listing(dir)) {
        (void)posix(nf2_rewinddir(volume.fs, &dir->dir));
    }
    leave();
}

int nf2p_closedir(nf2p_dir *dir)
{
    int32_t result = -1;
    if (enter_listing(dir)) {
        result = posix(nf2_closedir(volume.fs, &dir->dir));
        dir->open = false;
    }
    leave();
    return (int)result;
}
