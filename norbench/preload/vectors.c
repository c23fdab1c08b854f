/* SPDX-License-Identifier: BSD-2-Clause */
/* vectors.c - reads and writes of several pieces, and copies that the system makes. */
#include "preload.h"

#include <sys/sendfile.h>
#include <sys/uio.h>
#include <unistd.h>

static size_t length_of(const struct iovec *pieces, int count)
{
    size_t length = 0;
    for (int i = 0; i < count; i++) {
        length += pieces[i].iov_len;
    }
    return length;
}

EXPORTED ssize_t readv(int fd, const struct iovec *pieces, int count)
{
    ssize_t result = REAL(readv)(fd, pieces, count);
    if (result >= 0 && preload_file_of(fd) != NULL) {
        preload_put_file(TRACE_READ, preload_file_of(fd), length_of(pieces, count));
    }
    return result;
}

EXPORTED ssize_t writev(int fd, const struct iovec *pieces, int count)
{
    ssize_t result = REAL(writev)(fd, pieces, count);
    if (result > 0 && preload_file_of(fd) != NULL) {
        preload_put_file(TRACE_WRITE, preload_file_of(fd), (uint64_t)result);
    }
    return result;
}

static ssize_t read_at(ssize_t result, int fd, const struct iovec *pieces, int count, off_t offset)
{
    if (result >= 0 && preload_file_of(fd) != NULL) {
        preload_put_fd_at(TRACE_READ, fd, length_of(pieces, count), offset);
    }
    return result;
}

static ssize_t written_at(ssize_t result, int fd, off_t offset)
{
    if (result > 0 && preload_file_of(fd) != NULL) {
        preload_put_fd_at(TRACE_WRITE, fd, (uint64_t)result, offset);
    }
    return result;
}

#define VECTORS(read_name, write_name, offset_type) \
    EXPORTED ssize_t read_name(int fd, const struct iovec *pieces, int count, offset_type offset) \
    { \
        return read_at(REAL(read_name)(fd, pieces, count, offset), fd, pieces, count, offset); \
    } \
    EXPORTED ssize_t write_name(int fd, const struct iovec *pieces, int count, offset_type offset) \
    { \
        return written_at(REAL(write_name)(fd, pieces, count, offset), fd, offset); \
    }
VECTORS(preadv, pwritev, off_t)
VECTORS(preadv64, pwritev64, off64_t)

/* With flags; an offset of -1 is where the file stands. */
#define VECTORS_2(read_name, write_name, offset_type) \
    EXPORTED ssize_t read_name(int fd, const struct iovec *pieces, int count, offset_type offset, int flags) \
    { \
        ssize_t result = REAL(read_name)(fd, pieces, count, offset, flags); \
        if (offset == -1 && result >= 0 && preload_file_of(fd) != NULL) { \
            preload_put_file(TRACE_READ, preload_file_of(fd), length_of(pieces, count)); \
            return result; \
        } \
        return read_at(result, fd, pieces, count, offset); \
    } \
    EXPORTED ssize_t write_name(int fd, const struct iovec *pieces, int count, offset_type offset, int flags) \
    { \
        ssize_t result = REAL(write_name)(fd, pieces, count, offset, flags); \
        if (offset == -1 && result > 0 && preload_file_of(fd) != NULL) { \
            preload_put_file(TRACE_WRITE, preload_file_of(fd), (uint64_t)result); \
            return result; \
        } \
        return written_at(result, fd, offset); \
    }
VECTORS_2(preadv2, pwritev2, off_t)
VECTORS_2(preadv64v2, pwritev64v2, off64_t)

/* One side of a copy: at a place of its own, or where the file stands. */
static void copied(enum trace_kind kind, int fd, ssize_t length, const off64_t *before)
{
    if (preload_file_of(fd) == NULL) {
        return;
    }
    if (before != NULL) {
        preload_put_fd_at(kind, fd, (uint64_t)length, *before);
    } else {
        preload_put_file(kind, preload_file_of(fd), (uint64_t)length);
    }
}

#define SENDFILE(name, offset_type) \
    EXPORTED ssize_t name(int to, int from, offset_type *offset, size_t count) \
    { \
        off64_t before = offset != NULL ? *offset : 0; \
        ssize_t result = REAL(name)(to, from, offset, count); \
        if (result > 0) { \
            copied(TRACE_READ, from, result, offset != NULL ? &before : NULL); \
            copied(TRACE_WRITE, to, result, NULL); \
        } \
        return result; \
    }
SENDFILE(sendfile, off_t)
SENDFILE(sendfile64, off64_t)

EXPORTED ssize_t copy_file_range(int from, off64_t *from_offset, int to, off64_t *to_offset, size_t length, unsigned flags)
{
    off64_t before = from_offset != NULL ? *from_offset : 0;
    off64_t other = to_offset != NULL ? *to_offset : 0;
    ssize_t result = REAL(copy_file_range)(from, from_offset, to, to_offset, length, flags);
    if (result > 0) {
        copied(TRACE_READ, from, result, from_offset != NULL ? &before : NULL);
        copied(TRACE_WRITE, to, result, to_offset != NULL ? &other : NULL);
    }
    return result;
}
