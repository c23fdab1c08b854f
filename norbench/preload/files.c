/* SPDX-License-Identifier: BSD-2-Clause */
/* files.c - calls on open files. */
#include "preload.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vfs.h"

#define FDS_MAX 4096

static struct {
    struct preload_file *file;  /* NULL: not recorded */
    FILE *stream;
} fds[FDS_MAX];
static uint64_t opened;

/* ---- descriptors ------------------------------------------------------------------------------------------ */

struct preload_file *preload_file_of(int fd)
{
    return preload_active() && fd >= 0 && fd < FDS_MAX ? fds[fd].file : NULL;
}

void preload_put_file(enum trace_kind kind, const struct preload_file *file, uint64_t value)
{
    if (preload_begin()) {
        preload_put(kind, file->handle, value, "", "");
        preload_end();
    }
}

void preload_put_at(enum trace_kind kind, const struct preload_file *file, uint64_t length, off_t offset, off_t back)
{
    preload_put_file(TRACE_SEEK, file, (uint64_t)offset);
    preload_put_file(kind, file, length);
    preload_put_file(TRACE_SEEK, file, (uint64_t)back);
}

void preload_put_fd_at(enum trace_kind kind, int fd, uint64_t length, off_t offset)
{
    preload_put_at(kind, preload_file_of(fd), length, offset, REAL(lseek)(fd, 0, SEEK_CUR));
}

void preload_release(struct preload_file *file)
{
    if (--file->users == 0) {
        preload_put_file(TRACE_CLOSE, file, 0);
        free(file);
    }
}

FILE *preload_stream_of(int fd)
{
    return preload_file_of(fd) != NULL ? fds[fd].stream : NULL;
}

void preload_set_stream(int fd, FILE *stream)
{
    fds[fd].stream = stream;
}

int preload_fd_of(const FILE *stream)
{
    for (int fd = 0; preload_active() && fd < FDS_MAX; fd++) {
        if (fds[fd].file != NULL && fds[fd].stream == stream) {
            return fd;
        }
    }
    return -1;
}

/* ---- open, close, dup ----------------------------------------------------------------------------------------- */

static int flags_of(int flags)
{
    int access = flags & O_ACCMODE;
    int out = access == O_RDONLY ? VFS_READ : access == O_WRONLY ? VFS_WRITE : VFS_READ | VFS_WRITE;
    out |= (flags & O_CREAT) != 0 ? VFS_CREATE : 0;
    out |= (flags & O_CREAT) != 0 && (flags & O_EXCL) != 0 ? VFS_EXCL : 0;
    out |= (flags & O_TRUNC) != 0 && access != O_RDONLY ? VFS_TRUNC : 0;
    out |= (flags & O_APPEND) != 0 ? VFS_APPEND : 0;
    return out;
}

int preload_open_at(int directory, const char *path, int flags, mode_t mode)
{
    char name[PATH_MAX];
    bool recorded = (flags & (O_DIRECTORY | O_PATH)) == 0 && preload_inside(directory, path, name) && preload_begin();
    if (recorded) {
        preload_note_before(name, directory, path);
    }
    int fd = REAL(openat)(directory, path, flags, mode);
    struct stat facts;
    if (recorded && fd >= 0 && fd < FDS_MAX && fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode)) {
        struct preload_file *file = malloc(sizeof(*file));
        if (file != NULL) {
            preload_put(TRACE_OPEN, (uint64_t)flags_of(flags), 0, name, "");
            *file = (struct preload_file){opened++, 1};
            fds[fd].file = file;
            fds[fd].stream = NULL;
        }
    }
    if (recorded) {
        preload_end();
    }
    return fd;
}

static mode_t mode_argument(int flags, va_list arguments)
{
    return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
}

#define OPEN(name) \
    EXPORTED int name(const char *path, int flags, ...) \
    { \
        va_list arguments; \
        va_start(arguments, flags); \
        mode_t mode = mode_argument(flags, arguments); \
        va_end(arguments); \
        return preload_open_at(AT_FDCWD, path, flags, mode); \
    }
#define OPENAT(name) \
    EXPORTED int name(int directory, const char *path, int flags, ...) \
    { \
        va_list arguments; \
        va_start(arguments, flags); \
        mode_t mode = mode_argument(flags, arguments); \
        va_end(arguments); \
        return preload_open_at(directory, path, flags, mode); \
    }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

EXPORTED int creat(const char *path, mode_t mode)
{
    return preload_open_at(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, mode);
}

static void forget_fd(int fd)
{
    struct preload_file *file = preload_file_of(fd);
    if (file != NULL) {
        fds[fd].file = NULL;
        preload_release(file);
    }
}

EXPORTED int close(int fd)
{
    forget_fd(fd);
    return REAL(close)(fd);
}

/* After a call that made `fd` another name of what `of` is open on. */
static int shared(int fd, int of)
{
    struct preload_file *file = preload_file_of(of);
    if (fd >= 0 && fd != of) {
        forget_fd(fd);
        if (file != NULL && fd < FDS_MAX) {
            file->users++;
            fds[fd].file = file;
            fds[fd].stream = NULL;
        }
    }
    return fd;
}

EXPORTED int dup(int fd)
{
    return shared(REAL(dup)(fd), fd);
}

EXPORTED int dup2(int fd, int to)
{
    return shared(REAL(dup2)(fd, to), fd);
}

EXPORTED int dup3(int fd, int to, int flags)
{
    return shared(REAL(dup3)(fd, to, flags), fd);
}

#define FCNTL(name) \
    EXPORTED int name(int fd, int command, ...) \
    { \
        va_list arguments; \
        va_start(arguments, command); \
        void *argument = va_arg(arguments, void *); \
        va_end(arguments); \
        int result = REAL(name)(fd, command, argument); \
        return command == F_DUPFD || command == F_DUPFD_CLOEXEC ? shared(result, fd) : result; \
    }
FCNTL(fcntl)
FCNTL(fcntl64)

/* ---- data ------------------------------------------------------------------------------------------------------- */

EXPORTED ssize_t read(int fd, void *data, size_t length)
{
    ssize_t result = REAL(read)(fd, data, length);
    if (result >= 0 && preload_file_of(fd) != NULL) {
        preload_put_file(TRACE_READ, preload_file_of(fd), length);
    }
    return result;
}

EXPORTED ssize_t write(int fd, const void *data, size_t length)
{
    ssize_t result = REAL(write)(fd, data, length);
    if (result > 0 && preload_file_of(fd) != NULL) {
        preload_put_file(TRACE_WRITE, preload_file_of(fd), (uint64_t)result);
    }
    return result;
}

#define PREAD(name, offset_type) \
    EXPORTED ssize_t name(int fd, void *data, size_t length, offset_type offset) \
    { \
        ssize_t result = REAL(name)(fd, data, length, offset); \
        if (result >= 0 && preload_file_of(fd) != NULL) { \
            preload_put_fd_at(TRACE_READ, fd, length, offset); \
        } \
        return result; \
    }
#define PWRITE(name, offset_type) \
    EXPORTED ssize_t name(int fd, const void *data, size_t length, offset_type offset) \
    { \
        ssize_t result = REAL(name)(fd, data, length, offset); \
        if (result > 0 && preload_file_of(fd) != NULL) { \
            preload_put_fd_at(TRACE_WRITE, fd, (uint64_t)result, offset); \
        } \
        return result; \
    }
PREAD(pread, off_t)
PREAD(pread64, off64_t)
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

#define LSEEK(name, offset_type) \
    EXPORTED offset_type name(int fd, offset_type offset, int whence) \
    { \
        offset_type result = REAL(name)(fd, offset, whence); \
        if (result >= 0 && preload_file_of(fd) != NULL) { \
            preload_put_file(TRACE_SEEK, preload_file_of(fd), (uint64_t)result); \
        } \
        return result; \
    }
LSEEK(lseek, off_t)
LSEEK(lseek64, off64_t)

#define SYNC(name) \
    EXPORTED int name(int fd) \
    { \
        int result = REAL(name)(fd); \
        if (result == 0 && preload_file_of(fd) != NULL) { \
            preload_put_file(TRACE_SYNC, preload_file_of(fd), 0); \
        } \
        return result; \
    }
SYNC(fsync)
SYNC(fdatasync)

#define FTRUNCATE(name, offset_type) \
    EXPORTED int name(int fd, offset_type size) \
    { \
        int result = REAL(name)(fd, size); \
        if (result == 0 && preload_file_of(fd) != NULL) { \
            preload_put_file(TRACE_TRUNCATE, preload_file_of(fd), (uint64_t)size); \
        } \
        return result; \
    }
FTRUNCATE(ftruncate, off_t)
FTRUNCATE(ftruncate64, off64_t)

/* A volume truncates open files alone. */
EXPORTED int truncate(const char *path, off_t size)
{
    int fd = preload_open_at(AT_FDCWD, path, O_WRONLY, 0);
    if (fd < 0) {
        return -1;
    }
    int result = ftruncate(fd, size);
    (void)close(fd);
    return result;
}
