/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nf2_esp_vfs.c - the calls that ESP-IDF's virtual file system makes. It hands on paths without the
 * prefix, and descriptors that begin at 0 for each volume. Every call takes the volume's lock,
 * which nests.
 */
#ifdef ESP_PLATFORM             /* Arduino and PlatformIO compile every file for every board */

#include "nf2_esp_vfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "esp_idf_version.h"
#include "esp_nf2fs.h"

/* errno's numbers are the C library's, not NF2FS's. */
static int errno_of(int32_t error)
{
    static const int known[][2] = {
        {NF2_ERR_NOENT, ENOENT},     {NF2_ERR_BADF, EBADF},
        {NF2_ERR_BUSY, EBUSY},       {NF2_ERR_EXIST, EEXIST},
        {NF2_ERR_NOTDIR, ENOTDIR},   {NF2_ERR_ISDIR, EISDIR},
        {NF2_ERR_INVAL, EINVAL},     {NF2_ERR_FBIG, EFBIG},
        {NF2_ERR_NOSPC, ENOSPC},     {NF2_ERR_ROFS, EROFS},
        {NF2_ERR_NOTEMPTY, ENOTEMPTY},
        {NF2_ERR_NAMETOOLONG, ENAMETOOLONG},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (error == known[i][0]) {
            return known[i][1];
        }
    }
    return EIO;
}

/* Sets errno, or passes a result on. */
static int32_t posix(int32_t result)
{
    if (result < 0) {
        errno = errno_of(result);
        return -1;
    }
    return result;
}

static int refuse(int error)
{
    errno = error;
    return -1;
}

static nf2_t *enter(void *context)
{
    struct nf2_esp_vfs *volume = context;
    nf2_esp_lock(&volume->esp);
    return &volume->esp.fs;
}

static void leave(void *context)
{
    struct nf2_esp_vfs *volume = context;
    nf2_esp_unlock(&volume->esp);
}

/* ---- files ----------------------------------------------------------------------------------- */

/* With the lock: the open file, or NULL with errno. */
static struct nf2_esp_file *find(void *context, int fd)
{
    struct nf2_esp_vfs *volume = context;
    if (fd < 0 || fd >= CONFIG_NF2FS_MAX_FILES || volume->files[fd] == NULL) {
        errno = EBADF;
        return NULL;
    }
    return volume->files[fd];
}

static int flags_of(int flags)
{
    int access = flags & O_ACCMODE;
    int out = access == O_RDONLY ? NF2_O_RDONLY : access == O_WRONLY ? NF2_O_WRONLY : NF2_O_RDWR;
    bool writes = access != O_RDONLY;
    out |= (flags & O_CREAT) != 0 ? NF2_O_CREAT : 0;
    out |= (flags & O_CREAT) != 0 && (flags & O_EXCL) != 0 ? NF2_O_EXCL : 0;
    out |= writes && (flags & O_TRUNC) != 0 ? NF2_O_TRUNC : 0;
#ifdef O_SYNC
    out |= writes && (flags & O_SYNC) != 0 ? NF2_O_SYNC : 0;
#endif
    return out;
}

/* POSIX lets a reader create a file; NF2FS asks for a writer. */
static int open_at(nf2_t *fs, struct nf2_esp_file *at, const char *path, int flags)
{
    if ((flags & NF2_O_WRONLY) != 0 || (flags & NF2_O_CREAT) == 0) {
        return nf2_open(fs, &at->file, path, flags, at->page);
    }
    struct nf2_stat stat;
    if (nf2_stat(fs, path, &stat) != NF2_OK || (flags & NF2_O_EXCL) != 0) {
        int result = nf2_open(fs, &at->file, path,
                              NF2_O_WRONLY | NF2_O_CREAT | (flags & NF2_O_EXCL), at->page);
        result = result == NF2_OK ? nf2_close(fs, &at->file) : result;
        if (result != NF2_OK) {
            return result;
        }
    }
    return nf2_open(fs, &at->file, path, NF2_O_RDONLY, at->page);
}

static int open_in(struct nf2_esp_vfs *volume, int fd, const char *path, int flags)
{
    int access = flags & O_ACCMODE;
    struct nf2_esp_file *at = calloc(1, sizeof(*at));
    if (at == NULL) {
        return refuse(ENOMEM);
    }
    if (posix(open_at(&volume->esp.fs, at, path, flags_of(flags))) < 0) {
        free(at);
        return -1;
    }
    at->readable = access != O_WRONLY;
    at->writable = access != O_RDONLY;
    at->append = (flags & O_APPEND) != 0;
    volume->files[fd] = at;
    return fd;
}

static int vfs_open(void *context, const char *path, int flags, int mode)
{
    struct nf2_esp_vfs *volume = context;
    int fd = 0;
    (void)mode;
    (void)enter(context);
    while (fd < CONFIG_NF2FS_MAX_FILES && volume->files[fd] != NULL) {
        fd++;
    }
    fd = fd < CONFIG_NF2FS_MAX_FILES ? open_in(volume, fd, path, flags) : refuse(ENFILE);
    leave(context);
    return fd;
}

static int close_in(struct nf2_esp_vfs *volume, int fd)
{
    struct nf2_esp_file *at = volume->files[fd];
    nf2_t *fs = &volume->esp.fs;
    int result = at->discard ? nf2_discard(fs, &at->file) : nf2_close(fs, &at->file);
    free(at);
    volume->files[fd] = NULL;
    return result;
}

/* The descriptor is closed even after an error. */
static int vfs_close(void *context, int fd)
{
    int result = -1;
    (void)enter(context);
    if (find(context, fd) != NULL) {
        result = (int)posix(close_in(context, fd));
    }
    leave(context);
    return result;
}

static uint32_t capped(size_t length)
{
    return length > NF2_FILE_MAX ? NF2_FILE_MAX : (uint32_t)length;
}

static ssize_t read_at(nf2_t *fs, struct nf2_esp_file *at, void *data, size_t size)
{
    return posix(nf2_read(fs, &at->file, data, capped(size)));
}

static ssize_t write_at(nf2_t *fs, struct nf2_esp_file *at, const void *data, size_t size)
{
    if (!at->writable) {
        return refuse(EBADF);
    }
    if (size > NF2_FILE_MAX) {
        return refuse(EFBIG);
    }
    return posix(nf2_write(fs, &at->file, data, (uint32_t)size));
}

static ssize_t vfs_read(void *context, int fd, void *data, size_t size)
{
    nf2_t *fs = enter(context);
    struct nf2_esp_file *at = find(context, fd);
    ssize_t result = at != NULL ? read_at(fs, at, data, size) : -1;
    leave(context);
    return result;
}

/* O_APPEND is ours, not the handle's, so that fcntl can change it. */
static ssize_t vfs_write(void *context, int fd, const void *data, size_t size)
{
    nf2_t *fs = enter(context);
    struct nf2_esp_file *at = find(context, fd);
    ssize_t result = -1;
    if (at != NULL && at->append && at->writable) {
        int32_t back = nf2_tell(fs, &at->file);
        if (posix(nf2_seek(fs, &at->file, 0, NF2_SEEK_END)) >= 0) {
            result = write_at(fs, at, data, size);
        }
        if (result < 0) {
            (void)nf2_seek(fs, &at->file, back, NF2_SEEK_SET);
        }
    } else if (at != NULL) {
        result = write_at(fs, at, data, size);
    }
    leave(context);
    return result;
}

/* Moves to `offset`; `*back` is where it was. */
static bool move(nf2_t *fs, struct nf2_esp_file *at, off_t offset, int32_t *back)
{
    if (offset < 0 || offset > (off_t)NF2_FILE_MAX) {
        errno = EINVAL;
        return false;
    }
    *back = nf2_tell(fs, &at->file);
    return posix(nf2_seek(fs, &at->file, (int32_t)offset, NF2_SEEK_SET)) >= 0;
}

static ssize_t vfs_pread(void *context, int fd, void *data, size_t size, off_t offset)
{
    nf2_t *fs = enter(context);
    struct nf2_esp_file *at = find(context, fd);
    int32_t back;
    ssize_t result = -1;
    if (at != NULL && move(fs, at, offset, &back)) {
        result = read_at(fs, at, data, size);
        (void)nf2_seek(fs, &at->file, back, NF2_SEEK_SET);
    }
    leave(context);
    return result;
}

static ssize_t vfs_pwrite(void *context, int fd, const void *data, size_t size, off_t offset)
{
    nf2_t *fs = enter(context);
    struct nf2_esp_file *at = find(context, fd);
    int32_t back;
    ssize_t result = -1;
    if (at != NULL && move(fs, at, offset, &back)) {
        result = write_at(fs, at, data, size);
        (void)nf2_seek(fs, &at->file, back, NF2_SEEK_SET);
    }
    leave(context);
    return result;
}

static off_t vfs_lseek(void *context, int fd, off_t offset, int whence)
{
    int nf2 = whence == SEEK_SET   ? NF2_SEEK_SET
              : whence == SEEK_CUR ? NF2_SEEK_CUR
              : whence == SEEK_END ? NF2_SEEK_END
                                   : -1;
    nf2_t *fs = enter(context);
    struct nf2_esp_file *at = find(context, fd);
    off_t result = -1;
    if (at != NULL
        && (nf2 < 0 || offset > (off_t)NF2_FILE_MAX || offset < -(off_t)NF2_FILE_MAX)) {
        result = refuse(EINVAL);
    } else if (at != NULL) {
        result = posix(nf2_seek(fs, &at->file, (int32_t)offset, nf2));
    }
    leave(context);
    return result;
}

static int vfs_fsync(void *context, int fd)
{
    nf2_t *fs = enter(context);
    struct nf2_esp_file *at = find(context, fd);
    int result = at != NULL ? (int)posix(nf2_sync(fs, &at->file)) : -1;
    leave(context);
    return result;
}

static void fill_stat(const struct nf2_esp_vfs *volume, struct stat *out, enum nf2_type type,
                      uint32_t size)
{
    mode_t access = volume->read_only ? 0444 : 0666;
    memset(out, 0, sizeof(*out));
    out->st_mode = type == NF2_TYPE_DIR ? S_IFDIR | access | 0111 : S_IFREG | access;
    out->st_nlink = 1;
    out->st_size = (off_t)size;
    out->st_blksize = NF2_ESP_PAGE_SIZE;
}

static int vfs_fstat(void *context, int fd, struct stat *out)
{
    nf2_t *fs = enter(context);
    struct nf2_esp_file *at = find(context, fd);
    int32_t size = at != NULL ? posix(nf2_size(fs, &at->file)) : -1;
    if (size >= 0) {
        fill_stat(context, out, NF2_TYPE_FILE, (uint32_t)size);
    }
    leave(context);
    return size < 0 ? -1 : 0;
}

/*
 * F_GETFL, F_SETFL of O_APPEND (the other flags that F_SETFL may name mean nothing to files), and
 * NF2FS_F_DISCARD.
 */
static int vfs_fcntl(void *context, int fd, int command, int argument)
{
    (void)enter(context);
    struct nf2_esp_file *at = find(context, fd);
    int result = -1;
    if (at != NULL && command == F_GETFL) {
        result = !at->writable ? O_RDONLY : at->readable ? O_RDWR : O_WRONLY;
        result |= at->append ? O_APPEND : 0;
    } else if (at != NULL && command == F_SETFL) {
        at->append = (argument & O_APPEND) != 0;
        result = 0;
    } else if (at != NULL && command == NF2FS_F_DISCARD) {
        at->discard = true;
        result = 0;
    } else if (at != NULL) {
        result = refuse(ENOSYS);
    }
    leave(context);
    return result;
}

/* ---- names ----------------------------------------------------------------------------------- */

#ifdef CONFIG_VFS_SUPPORT_DIR

#define TIME_BYTES 5u           /* of NF2_ATTR_TIME */
#define TIME_BITS (8u * TIME_BYTES)

/* Of modification; 0: it is not known. */
static time_t time_of(nf2_t *fs, const char *path)
{
    uint8_t bytes[TIME_BYTES];
    uint64_t seconds = 0;
    if (nf2_getattr(fs, path, NF2_ATTR_TIME, bytes, TIME_BYTES) != (int32_t)TIME_BYTES) {
        return 0;
    }
    for (uint32_t i = TIME_BYTES; i > 0; i--) {
        seconds = seconds << 8 | bytes[i - 1u];
    }
    return (time_t)seconds;
}

static int vfs_stat(void *context, const char *path, struct stat *out)
{
    struct nf2_stat stat;
    nf2_t *fs = enter(context);
    int result = (int)posix(nf2_stat(fs, path, &stat));
    if (result == 0) {
        fill_stat(context, out, stat.type, stat.size);
        out->st_mtime = time_of(fs, path);
    }
    leave(context);
    return result;
}

static int vfs_access(void *context, const char *path, int mode)
{
    const struct nf2_esp_vfs *volume = context;
    struct nf2_stat stat;
    int result = (int)posix(nf2_stat(enter(context), path, &stat));
    if (result == 0 && (mode & W_OK) != 0 && volume->read_only) {
        result = refuse(EROFS);
    }
    leave(context);
    return result;
}

/* Removes what is of that type; else errno is `other`. */
static int remove_typed(void *context, const char *path, enum nf2_type type, int other)
{
    struct nf2_stat stat;
    nf2_t *fs = enter(context);
    int result = (int)posix(nf2_stat(fs, path, &stat));
    if (result == 0) {
        result = stat.type == type ? (int)posix(nf2_remove(fs, path)) : refuse(other);
    }
    leave(context);
    return result;
}

static int vfs_unlink(void *context, const char *path)
{
    return remove_typed(context, path, NF2_TYPE_FILE, EISDIR);
}

static int vfs_rmdir(void *context, const char *path)
{
    return remove_typed(context, path, NF2_TYPE_DIR, ENOTDIR);
}

static int vfs_rename(void *context, const char *from, const char *to)
{
    int result = (int)posix(nf2_rename(enter(context), from, to));
    leave(context);
    return result;
}

static int vfs_mkdir(void *context, const char *path, mode_t mode)
{
    (void)mode;
    int result = (int)posix(nf2_mkdir(enter(context), path));
    leave(context);
    return result;
}

static int truncate_handle(nf2_t *fs, struct nf2_esp_file *at, off_t size)
{
    if (size < 0 || !at->writable) {
        return refuse(EINVAL);
    }
    if (size > (off_t)NF2_FILE_MAX) {
        return refuse(EFBIG);
    }
    return (int)posix(nf2_truncate(fs, &at->file, (uint32_t)size));
}

static int vfs_ftruncate(void *context, int fd, off_t size)
{
    nf2_t *fs = enter(context);
    struct nf2_esp_file *at = find(context, fd);
    int result = at != NULL ? truncate_handle(fs, at, size) : -1;
    leave(context);
    return result;
}

/*
 * It needs no place among the open files. An error of the truncation is told before one of the
 * close.
 */
static int vfs_truncate(void *context, const char *path, off_t size)
{
    nf2_t *fs = enter(context);
    struct nf2_esp_file *at = calloc(1, sizeof(*at));
    int result = at != NULL ? 0 : refuse(ENOMEM);
    if (result == 0) {
        result = (int)posix(nf2_open(fs, &at->file, path, NF2_O_WRONLY, at->page));
    }
    if (result == 0) {
        at->writable = true;
        result = truncate_handle(fs, at, size);
        int error = errno;
        int closed = (int)posix(nf2_close(fs, &at->file));
        errno = result != 0 ? error : errno;
        result = result != 0 ? result : closed;
    }
    free(at);
    leave(context);
    return result;
}

/* There is no place for a time of access. */
static int vfs_utime(void *context, const char *path, const struct utimbuf *times)
{
    int64_t seconds = times != NULL ? (int64_t)times->modtime : (int64_t)time(NULL);
    uint8_t bytes[TIME_BYTES];
    struct nf2_attr attribute = {.id = NF2_ATTR_TIME, .length = TIME_BYTES, .data = bytes};
    if (seconds < 0 || seconds >> TIME_BITS != 0) {
        return refuse(EINVAL);
    }
    for (uint32_t i = 0; i < TIME_BYTES; i++) {
        bytes[i] = (uint8_t)(seconds >> (8u * i));
    }
    int result = (int)posix(nf2_setattr(enter(context), path, &attribute, 1));
    leave(context);
    return result;
}

/* ---- listings -------------------------------------------------------------------------------- */

struct listing {
    DIR vfs;                    /* first: the VFS keeps its number there */
    nf2_dir_t dir;
    struct nf2_dirent entry;
    struct dirent out;
    long position;              /* entries that were read */
};

static DIR *vfs_opendir(void *context, const char *path)
{
    struct listing *at = calloc(1, sizeof(*at));
    if (at == NULL) {
        errno = ENOMEM;
        return NULL;
    }
    int result = (int)posix(nf2_opendir(enter(context), &at->dir, path));
    leave(context);
    if (result != 0) {
        free(at);
        return NULL;
    }
    return &at->vfs;
}

/* 1 with an entry, 0 at the end, or an error of nf2_readdir. */
static int next(void *context, struct listing *at)
{
    int result = nf2_readdir(enter(context), &at->dir, &at->entry);
    leave(context);
    at->position += result == 1;
    return result;
}

static void fill_entry(const struct listing *at, struct dirent *out)
{
    out->d_ino = 0;
    out->d_type = at->entry.type == NF2_TYPE_DIR ? DT_DIR : DT_REG;
    _Static_assert(sizeof(out->d_name) >= sizeof(at->entry.name), "names would be cut");
    memcpy(out->d_name, at->entry.name, sizeof(at->entry.name));
}

/* At the end NULL, errno as it was. */
static struct dirent *vfs_readdir(void *context, DIR *dir)
{
    struct listing *at = (struct listing *)dir;
    if (posix(next(context, at)) != 1) {
        return NULL;
    }
    fill_entry(at, &at->out);
    return &at->out;
}

static int vfs_readdir_r(void *context, DIR *dir, struct dirent *entry, struct dirent **out)
{
    struct listing *at = (struct listing *)dir;
    int result = next(context, at);
    *out = result == 1 ? entry : NULL;
    if (result == 1) {
        fill_entry(at, entry);
    }
    return result < 0 ? errno_of(result) : 0;
}

static long vfs_telldir(void *context, DIR *dir)
{
    (void)context;
    return ((struct listing *)dir)->position;
}

/* Also rewinddir. What was added or removed since in front of the position moves it. */
static void vfs_seekdir(void *context, DIR *dir, long position)
{
    struct listing *at = (struct listing *)dir;
    if (position < at->position) {
        int result = nf2_rewinddir(enter(context), &at->dir);
        leave(context);
        if (result != NF2_OK) {
            return;
        }
        at->position = 0;
    }
    while (at->position < position && next(context, at) == 1) {
    }
}

static int vfs_closedir(void *context, DIR *dir)
{
    struct listing *at = (struct listing *)dir;
    int result = (int)posix(nf2_closedir(enter(context), &at->dir));
    leave(context);
    free(at);
    return result;
}

#endif

/* ---- the table ------------------------------------------------------------------------------- */

esp_err_t nf2_esp_vfs_register(struct nf2_esp_vfs *volume, const char *base_path)
{
    esp_vfs_t table = {
        .flags = ESP_VFS_FLAG_CONTEXT_PTR,
        .open_p = vfs_open,
        .close_p = vfs_close,
        .read_p = vfs_read,
        .write_p = vfs_write,
        .pread_p = vfs_pread,
        .pwrite_p = vfs_pwrite,
        .lseek_p = vfs_lseek,
        .fsync_p = vfs_fsync,
        .fstat_p = vfs_fstat,
        .fcntl_p = vfs_fcntl,
#ifdef CONFIG_VFS_SUPPORT_DIR
        .stat_p = vfs_stat,
        .access_p = vfs_access,
        .unlink_p = vfs_unlink,
        .rmdir_p = vfs_rmdir,
        .rename_p = vfs_rename,
        .mkdir_p = vfs_mkdir,
        .truncate_p = vfs_truncate,
        .ftruncate_p = vfs_ftruncate,
        .utime_p = vfs_utime,
        .opendir_p = vfs_opendir,
        .readdir_p = vfs_readdir,
        .readdir_r_p = vfs_readdir_r,
        .telldir_p = vfs_telldir,
        .seekdir_p = vfs_seekdir,
        .closedir_p = vfs_closedir,
#endif
    };
#if ESP_IDF_VERSION >= ESP_IDF_VERSION_VAL(5, 2, 0)
    table.flags |= volume->read_only ? ESP_VFS_FLAG_READONLY_FS : 0;
#endif
    strcpy(volume->base_path, base_path);
    return esp_vfs_register(base_path, &table, volume);
}

int nf2_esp_vfs_unregister(struct nf2_esp_vfs *volume)
{
    int first = NF2_OK;
    (void)esp_vfs_unregister(volume->base_path);
    (void)enter(volume);
    for (int fd = 0; fd < CONFIG_NF2FS_MAX_FILES; fd++) {
        int result = volume->files[fd] != NULL ? close_in(volume, fd) : NF2_OK;
        first = first != NF2_OK ? first : result;
    }
    leave(volume);
    return first;
}

#endif
