/* SPDX-License-Identifier: BSD-2-Clause */
/* streams.c - streams over the recorded calls, since the C library's own do not pass by there. */
#include "preload.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static ssize_t cookie_read(void *cookie, char *data, size_t length)
{
    return read((int)(intptr_t)cookie, data, length);
}

static ssize_t cookie_write(void *cookie, const char *data, size_t length)
{
    ssize_t result = write((int)(intptr_t)cookie, data, length);
    return result < 0 ? 0 : result;
}

static int cookie_seek(void *cookie, off64_t *offset, int whence)
{
    off_t result = lseek((int)(intptr_t)cookie, *offset, whence);
    *offset = result;
    return result < 0 ? -1 : 0;
}

static int cookie_close(void *cookie)
{
    return close((int)(intptr_t)cookie);
}

static int stream_flags(const char *mode)
{
    bool both = strchr(mode, '+') != NULL;
    int access = both ? O_RDWR : mode[0] == 'r' ? O_RDONLY : O_WRONLY;
    int make = mode[0] == 'w' ? O_CREAT | O_TRUNC : mode[0] == 'a' ? O_CREAT | O_APPEND : 0;
    return access | make | (strchr(mode, 'x') != NULL ? O_EXCL : 0) | (strchr(mode, 'e') != NULL ? O_CLOEXEC : 0);
}

static FILE *stream_over(int fd, const char *mode)
{
    static const cookie_io_functions_t functions = {cookie_read, cookie_write, cookie_seek, cookie_close};
    FILE *stream = fopencookie((void *)(intptr_t)fd, mode, functions);
    if (stream != NULL) {
        preload_set_stream(fd, stream);
    }
    return stream;
}

static FILE *open_stream(const char *path, const char *mode, FILE *(*otherwise)(const char *path, const char *mode))
{
    char name[PATH_MAX];
    if (!preload_inside(AT_FDCWD, path, name)) {
        return otherwise(path, mode);
    }
    int fd = preload_open_at(AT_FDCWD, path, stream_flags(mode), 0666);
    if (fd < 0) {
        return NULL;
    }
    return preload_file_of(fd) != NULL ? stream_over(fd, mode) : REAL(fdopen)(fd, mode);
}

EXPORTED FILE *fopen(const char *restrict path, const char *restrict mode)
{
    return open_stream(path, mode, REAL(fopen));
}

EXPORTED FILE *fopen64(const char *restrict path, const char *restrict mode)
{
    return open_stream(path, mode, REAL(fopen64));
}

EXPORTED FILE *fdopen(int fd, const char *mode)
{
    return preload_file_of(fd) != NULL ? stream_over(fd, mode) : REAL(fdopen)(fd, mode);
}

EXPORTED int fileno(FILE *stream)
{
    int fd = preload_fd_of(stream);
    return fd >= 0 ? fd : REAL(fileno)(stream);
}
