/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * maps.c - files in memory. Which of its bytes a program looks at is not seen: a mapping counts as a read of all of it. A copy is
 * kept of what a program may change, and compared page by page where the system would write it.
 */
#include "preload.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE 4096u
#define KEPT_FD 1024            /* descriptors of our own are above those of most programs */

struct map {
    struct map *next;
    uint8_t *begin, *copy;      /* no copy: it cannot be changed, or memory is short */
    size_t length;
    off_t offset;
    int fd;                     /* our own, for its size */
    struct preload_file *file;
};

static struct map *maps;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Bytes of the mapping that the file has. */
static size_t size_in_file(const struct map *map)
{
    struct stat facts;
    if (fstat(map->fd, &facts) != 0 || facts.st_size <= map->offset) {
        return 0;
    }
    off_t size = facts.st_size - map->offset;
    return size < (off_t)map->length ? (size_t)size : map->length;
}

static void put_run(const struct map *map, size_t begin, size_t end)
{
    if (begin < end) {
        preload_put_at(TRACE_WRITE, map->file, end - begin, map->offset + (off_t)begin, REAL(lseek)(map->fd, 0, SEEK_CUR));
    }
}

/* Runs of pages that changed become writes. */
static void flush(struct map *map, size_t begin, size_t end)
{
    size_t size = map->copy != NULL ? size_in_file(map) : 0;
    size_t last = end < size ? end : size;
    size_t run = begin / PAGE * PAGE;
    for (size_t at = run; at < last; at += PAGE) {
        size_t length = last - at < PAGE ? last - at : PAGE;
        if (memcmp(map->begin + at, map->copy + at, length) == 0) {
            put_run(map, run, at);
            run = at + PAGE;
        } else {
            memcpy(map->copy + at, map->begin + at, length);
        }
    }
    put_run(map, run, last);
}

static void drop(struct map *map)
{
    (void)REAL(close)(map->fd);
    preload_release(map->file);
    free(map->copy);
    free(map);
}

static void note(void *begin, size_t length, int protection, int flags, int fd, off_t offset)
{
    struct preload_file *file = preload_file_of(fd);
    struct map *map = file != NULL && begin != MAP_FAILED ? calloc(1, sizeof(*map)) : NULL;
    if (map == NULL) {
        return;
    }
    *map = (struct map){.begin = begin, .length = length, .offset = offset, .fd = REAL(fcntl)(fd, F_DUPFD_CLOEXEC, KEPT_FD), .file = file};
    file->users++;
    size_t size = size_in_file(map);
    if (size > 0 && (protection & (PROT_READ | PROT_EXEC)) != 0) {
        preload_put_fd_at(TRACE_READ, fd, size, offset);
    }
    bool changes = (flags & MAP_TYPE) != MAP_PRIVATE && (protection & PROT_WRITE) != 0;
    map->copy = changes ? calloc(1, length) : NULL;
    if (map->copy != NULL && (protection & PROT_READ) != 0) {
        memcpy(map->copy, map->begin, size);
    }
    pthread_mutex_lock(&lock);
    map->next = maps;
    maps = map;
    pthread_mutex_unlock(&lock);
}

#define MMAP(name, offset_type) \
    EXPORTED void *name(void *begin, size_t length, int protection, int flags, int fd, offset_type offset) \
    { \
        void *result = REAL(name)(begin, length, protection, flags, fd, offset); \
        if (preload_active() && (flags & MAP_ANONYMOUS) == 0) { \
            note(result, length, protection, flags, fd, offset); \
        } \
        return result; \
    }
MMAP(mmap, off_t)
MMAP(mmap64, off64_t)

/* Does `each` with every mapping that the range touches; takes those out that `take` says. */
static void with_maps(const uint8_t *begin, size_t length, bool sync, bool take)
{
    pthread_mutex_lock(&lock);
    for (struct map **at = &maps; *at != NULL;) {
        struct map *map = *at;
        bool touched = begin == NULL || (begin < map->begin + map->length && map->begin < begin + length);
        if (touched) {
            size_t first = begin != NULL && begin > map->begin ? (size_t)(begin - map->begin) : 0;
            size_t end = begin != NULL && begin + length < map->begin + map->length ? (size_t)(begin + length - map->begin) : map->length;
            flush(map, first, end);
            if (sync) {
                preload_put_file(TRACE_SYNC, map->file, 0);
            }
        }
        if (touched && take) {
            *at = map->next;
            drop(map);
        } else {
            at = &map->next;
        }
    }
    pthread_mutex_unlock(&lock);
}

EXPORTED int msync(void *begin, size_t length, int flags)
{
    int result = REAL(msync)(begin, length, flags);
    if (result == 0 && preload_active()) {
        with_maps(begin, length, (flags & MS_SYNC) != 0, false);
    }
    return result;
}

/* Of a mapping that is taken away in part the rest is seen no more. */
EXPORTED int munmap(void *begin, size_t length)
{
    if (preload_active() && maps != NULL) {
        with_maps(begin, length, false, true);
    }
    return REAL(munmap)(begin, length);
}

void preload_flush_maps(void)
{
    if (preload_active()) {
        with_maps(NULL, 0, false, true);
    }
}
