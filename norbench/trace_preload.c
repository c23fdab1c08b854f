/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * trace_preload.c - libnorbench-trace.so: preloaded into a host program (LD_PRELOAD), it writes down the program's file calls below one
 * directory as a trace (trace.h). For Linux with glibc.
 *
 *   NORBENCH_TRACE_ROOT   the directory; becomes the root of the volume
 *   NORBENCH_TRACE_FILE   where the trace goes; a process that finds the file there already (a child) appends its number to the name
 *
 * Recorded: open, openat, creat, close, read, write, pread, pwrite, lseek, fsync, fdatasync, truncate, ftruncate, unlink, unlinkat, remove,
 * rename, mkdir, rmdir, stat and its kin, opendir; streams (fopen, fdopen) go through the same calls. Not seen: mmap, sendfile, readv and
 * writev, dup, links, and calls made by the kernel or other languages' runtimes without the C library. What fails is left out, but a stat of
 * an absent name. Gaps between calls of a millisecond or more become idle time.
 */
#define _GNU_SOURCE

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "trace.h"
#include "vfs.h"

#define FDS_MAX 4096
#define IDLE_MIN_US 1000u
#define EXPORTED __attribute__((visibility("default")))

/* The C library's own, found at the first call. */
#define REAL(name) ((__typeof__(&(name)))real(#name))

static void *real(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool active;             /* what is asked for can be done, so far */
static FILE *trace;             /* opened at the first entry: a process that touches nothing leaves no file */
static char root[PATH_MAX];
static size_t root_length;
static uint64_t entries, opened, last_us;
static struct {
    bool used, append;
    uint64_t handle;
    FILE *stream;
} fds[FDS_MAX];

/* ---- the file ------------------------------------------------------------------------------------------- */

static uint64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000u;
}

static void put(enum trace_kind kind, uint64_t handle, uint64_t value, const char *path, const char *other)
{
    struct trace_entry entry = {.kind = kind, .handle = handle, .value = value};
    snprintf(entry.path, sizeof(entry.path), "%s", path);
    snprintf(entry.other, sizeof(entry.other), "%s", other);
    (void)trace_put(trace, &entry);
    entries++;
}

static bool open_trace(void);

/* Under the lock from here to the end of the call's entries. */
static bool begin(void)
{
    if (!active) {
        return false;
    }
    pthread_mutex_lock(&lock);
    if (trace == NULL && !open_trace()) {
        active = false;
        dprintf(2, "norbench-trace: %s cannot be written: nothing is recorded\n", getenv("NORBENCH_TRACE_FILE"));
        pthread_mutex_unlock(&lock);
        return false;
    }
    uint64_t now = now_us();
    if (last_us != 0 && now - last_us >= IDLE_MIN_US) {
        put(TRACE_IDLE, 0, now - last_us, "", "");
    }
    return true;
}

static void end(void)
{
    last_us = now_us();
    pthread_mutex_unlock(&lock);
}

static bool open_trace(void)
{
    char own[PATH_MAX];
    const char *path = getenv("NORBENCH_TRACE_FILE");
    int error = errno;
    int file = REAL(open)(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0 && errno == EEXIST) {
        snprintf(own, sizeof(own), "%s.%ld", path, (long)getpid());
        file = REAL(open)(own, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    }
    trace = file >= 0 ? REAL(fdopen)(file, "wb") : NULL;
    errno = error;
    return trace != NULL && trace_begin(trace);
}

static void put_end(void)
{
    if (active && trace != NULL) {
        pthread_mutex_lock(&lock);
        uint64_t all = entries;
        put(TRACE_END, all, 0, "", "");
        (void)fclose(trace);
        trace = NULL;
        pthread_mutex_unlock(&lock);
    }
    active = false;
}

/* A forked child does not go on in its parent's file: it begins its own when it runs a program. */
static void forget(void)
{
    active = false;
}

__attribute__((constructor)) static void start(void)
{
    const char *directory = getenv("NORBENCH_TRACE_ROOT");
    if (directory == NULL || getenv("NORBENCH_TRACE_FILE") == NULL || realpath(directory, root) == NULL) {
        return;
    }
    root_length = strlen(root);
    (void)pthread_atfork(NULL, NULL, forget);
    active = true;
}

/* The program gives its process to another one. */
EXPORTED int execve(const char *path, char *const arguments[], char *const environment[])
{
    put_end();
    return REAL(execve)(path, arguments, environment);
}

__attribute__((destructor)) static void stop(void)
{
    put_end();
}

/* ---- paths ------------------------------------------------------------------------------------------------ */

/* Takes dot parts out of an absolute path. */
static bool tidy(const char *path, char out[PATH_MAX])
{
    size_t length = 0;
    while (*path != '\0') {
        size_t part = strcspn(path + 1, "/");
        if (part == 2 && path[1] == '.' && path[2] == '.') {
            while (length > 0 && out[--length] != '/') {
            }
        } else if (part != 0 && !(part == 1 && path[1] == '.')) {
            if (length + part + 2 > PATH_MAX) {
                return false;
            }
            memcpy(out + length, path, part + 1);
            length += part + 1;
        }
        path += part + 1;
    }
    out[length] = '\0';
    return true;
}

/* The path inside the volume, or false where it lies elsewhere. */
static bool inside(int directory, const char *path, char out[PATH_MAX])
{
    char whole[2 * PATH_MAX], tidied[PATH_MAX], place[64];
    if (!active || path == NULL) {
        return false;
    }
    if (path[0] == '/') {
        snprintf(whole, sizeof(whole), "%s", path);
    } else {
        ssize_t length;
        snprintf(place, sizeof(place), directory == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", directory);
        length = readlink(place, whole, PATH_MAX);
        if (length < 0) {
            return false;
        }
        snprintf(whole + length, sizeof(whole) - (size_t)length, "/%s", path);
    }
    if (!tidy(whole, tidied) || strncmp(tidied, root, root_length) != 0 || (tidied[root_length] != '/' && tidied[root_length] != '\0')) {
        return false;
    }
    snprintf(out, PATH_MAX, "%s", tidied[root_length] == '\0' ? "/" : tidied + root_length);
    return strlen(out) < TRACE_PATH_MAX;
}

/* What was there before it was first named: written down once. */
static char **known;
static size_t known_count;

static bool is_known(const char *path)
{
    for (size_t i = 0; i < known_count; i++) {
        if (strcmp(known[i], path) == 0) {
            return true;
        }
    }
    return false;
}

static void make_known(const char *path)
{
    char **grown = is_known(path) ? NULL : realloc(known, (known_count + 1) * sizeof(*known));
    if (grown != NULL) {
        known = grown;
        known[known_count] = strdup(path);
        known_count += known[known_count] != NULL;
    }
}

/* Before a call that names `path` in the volume, `host` in the host's tree. */
static void note_before(const char *path, int directory, const char *host)
{
    struct stat facts;
    int error = errno;
    if (strcmp(path, "/") != 0 && !is_known(path) && REAL(fstatat)(directory, host, &facts, 0) == 0) {
        put(S_ISDIR(facts.st_mode) ? TRACE_DIR_BEFORE : TRACE_FILE_BEFORE, 0, S_ISDIR(facts.st_mode) ? 0 : (uint64_t)facts.st_size, path, "");
    }
    make_known(path);
    errno = error;
}

/* ---- files ------------------------------------------------------------------------------------------------ */

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

static int open_at(int directory, const char *path, int flags, mode_t mode)
{
    char name[PATH_MAX];
    bool recorded = (flags & (O_DIRECTORY | O_PATH)) == 0 && inside(directory, path, name) && begin();
    if (recorded) {
        note_before(name, directory, path);
    }
    int fd = REAL(openat)(directory, path, flags, mode);
    struct stat facts;
    if (recorded && fd >= 0 && fd < FDS_MAX && fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode)) {
        put(TRACE_OPEN, (uint64_t)flags_of(flags), 0, name, "");
        fds[fd].used = true;
        fds[fd].append = (flags & O_APPEND) != 0;
        fds[fd].handle = opened++;
        fds[fd].stream = NULL;
    }
    if (recorded) {
        end();
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
        return open_at(AT_FDCWD, path, flags, mode); \
    }
#define OPENAT(name) \
    EXPORTED int name(int directory, const char *path, int flags, ...) \
    { \
        va_list arguments; \
        va_start(arguments, flags); \
        mode_t mode = mode_argument(flags, arguments); \
        va_end(arguments); \
        return open_at(directory, path, flags, mode); \
    }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

EXPORTED int creat(const char *path, mode_t mode)
{
    return open_at(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, mode);
}

static bool is_ours(int fd)
{
    return active && fd >= 0 && fd < FDS_MAX && fds[fd].used;
}

static void put_fd(enum trace_kind kind, int fd, uint64_t value)
{
    if (begin()) {
        put(kind, fds[fd].handle, value, "", "");
        end();
    }
}

EXPORTED int close(int fd)
{
    if (is_ours(fd)) {
        put_fd(TRACE_CLOSE, fd, 0);
        fds[fd].used = false;
    }
    return REAL(close)(fd);
}

EXPORTED ssize_t read(int fd, void *data, size_t length)
{
    ssize_t result = REAL(read)(fd, data, length);
    if (result >= 0 && is_ours(fd)) {
        put_fd(TRACE_READ, fd, length);
    }
    return result;
}

EXPORTED ssize_t write(int fd, const void *data, size_t length)
{
    ssize_t result = REAL(write)(fd, data, length);
    if (result > 0 && is_ours(fd)) {
        put_fd(TRACE_WRITE, fd, (uint64_t)result);
    }
    return result;
}

/* At a place and back again: a volume has no such call of its own. */
static void put_at(enum trace_kind kind, int fd, uint64_t length, off_t offset)
{
    off_t place = REAL(lseek)(fd, 0, SEEK_CUR);
    put_fd(TRACE_SEEK, fd, (uint64_t)offset);
    put_fd(kind, fd, length);
    put_fd(TRACE_SEEK, fd, (uint64_t)place);
}

#define PREAD(name, offset_type) \
    EXPORTED ssize_t name(int fd, void *data, size_t length, offset_type offset) \
    { \
        ssize_t result = REAL(name)(fd, data, length, offset); \
        if (result >= 0 && is_ours(fd)) { \
            put_at(TRACE_READ, fd, length, offset); \
        } \
        return result; \
    }
#define PWRITE(name, offset_type) \
    EXPORTED ssize_t name(int fd, const void *data, size_t length, offset_type offset) \
    { \
        ssize_t result = REAL(name)(fd, data, length, offset); \
        if (result > 0 && is_ours(fd)) { \
            put_at(TRACE_WRITE, fd, (uint64_t)result, offset); \
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
        if (result >= 0 && is_ours(fd)) { \
            put_fd(TRACE_SEEK, fd, (uint64_t)result); \
        } \
        return result; \
    }
LSEEK(lseek, off_t)
LSEEK(lseek64, off64_t)

#define SYNC(name) \
    EXPORTED int name(int fd) \
    { \
        int result = REAL(name)(fd); \
        if (result == 0 && is_ours(fd)) { \
            put_fd(TRACE_SYNC, fd, 0); \
        } \
        return result; \
    }
SYNC(fsync)
SYNC(fdatasync)

#define FTRUNCATE(name, offset_type) \
    EXPORTED int name(int fd, offset_type size) \
    { \
        int result = REAL(name)(fd, size); \
        if (result == 0 && is_ours(fd)) { \
            put_fd(TRACE_TRUNCATE, fd, (uint64_t)size); \
        } \
        return result; \
    }
FTRUNCATE(ftruncate, off_t)
FTRUNCATE(ftruncate64, off64_t)

/* A volume truncates open files alone. */
EXPORTED int truncate(const char *path, off_t size)
{
    int fd = open_at(AT_FDCWD, path, O_WRONLY, 0);
    if (fd < 0) {
        return -1;
    }
    int result = ftruncate(fd, size);
    (void)close(fd);
    return result;
}

/* ---- names ------------------------------------------------------------------------------------------------ */

static int remove_at(int directory, const char *path, int flags)
{
    char name[PATH_MAX];
    bool recorded = inside(directory, path, name) && begin();
    if (recorded) {
        note_before(name, directory, path);
    }
    int result = REAL(unlinkat)(directory, path, flags);
    if (recorded) {
        if (result == 0) {
            put(TRACE_REMOVE, 0, 0, name, "");
        }
        end();
    }
    return result;
}

EXPORTED int unlink(const char *path)
{
    return remove_at(AT_FDCWD, path, 0);
}

EXPORTED int rmdir(const char *path)
{
    return remove_at(AT_FDCWD, path, AT_REMOVEDIR);
}

EXPORTED int unlinkat(int directory, const char *path, int flags)
{
    return remove_at(directory, path, flags);
}

EXPORTED int remove(const char *path)
{
    int result = remove_at(AT_FDCWD, path, 0);
    return result != 0 && (errno == EISDIR || errno == EPERM) ? remove_at(AT_FDCWD, path, AT_REMOVEDIR) : result;
}

static int rename_at(int from_directory, const char *from, int to_directory, const char *to)
{
    char name[PATH_MAX], other[PATH_MAX];
    bool recorded = inside(from_directory, from, name) && inside(to_directory, to, other) && begin();
    if (recorded) {
        note_before(name, from_directory, from);
        note_before(other, to_directory, to);
    }
    int result = REAL(renameat)(from_directory, from, to_directory, to);
    if (recorded) {
        if (result == 0) {
            put(TRACE_RENAME, 0, 0, name, other);
        }
        end();
    }
    return result;
}

EXPORTED int rename(const char *from, const char *to)
{
    return rename_at(AT_FDCWD, from, AT_FDCWD, to);
}

EXPORTED int renameat(int from_directory, const char *from, int to_directory, const char *to)
{
    return rename_at(from_directory, from, to_directory, to);
}

EXPORTED int mkdirat(int directory, const char *path, mode_t mode)
{
    char name[PATH_MAX];
    bool recorded = inside(directory, path, name) && begin();
    int result = REAL(mkdirat)(directory, path, mode);
    if (recorded) {
        if (result == 0) {
            make_known(name);
            put(TRACE_MKDIR, 0, 0, name, "");
        }
        end();
    }
    return result;
}

EXPORTED int mkdir(const char *path, mode_t mode)
{
    return mkdirat(AT_FDCWD, path, mode);
}

static void put_stat(int directory, const char *path, int result)
{
    char name[PATH_MAX];
    int error = errno;
    if (path != NULL && path[0] != '\0' && (result == 0 || error == ENOENT) && inside(directory, path, name) && begin()) {
        if (result == 0) {
            note_before(name, directory, path);
        }
        if (strcmp(name, "/") != 0) {
            put(result == 0 ? TRACE_STAT : TRACE_ABSENT, 0, 0, name, "");
        }
        end();
    }
    errno = error;
}

#define STAT(name, type) \
    EXPORTED int name(const char *restrict path, struct type *restrict out) \
    { \
        int result = REAL(name)(path, out); \
        put_stat(AT_FDCWD, path, result); \
        return result; \
    }
#define FSTATAT(name, type) \
    EXPORTED int name(int directory, const char *restrict path, struct type *restrict out, int flags) \
    { \
        int result = REAL(name)(directory, path, out, flags); \
        put_stat(directory, path, result); \
        return result; \
    }
STAT(stat, stat)
STAT(lstat, stat)
STAT(stat64, stat64)
STAT(lstat64, stat64)
FSTATAT(fstatat, stat)
FSTATAT(fstatat64, stat64)

/* All that the listing will show must be there in the replay, too. */
static void note_entries(const char *name, const char *path)
{
    DIR *listing = REAL(opendir)(path);
    const struct dirent *entry;
    while (listing != NULL && (entry = readdir(listing)) != NULL) {
        char child[2 * PATH_MAX], host[2 * PATH_MAX];
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) {
            continue;
        }
        snprintf(child, sizeof(child), "%s/%s", strcmp(name, "/") == 0 ? "" : name, entry->d_name);
        snprintf(host, sizeof(host), "%s/%s", path, entry->d_name);
        if (strlen(child) < TRACE_PATH_MAX) {
            note_before(child, AT_FDCWD, host);
        }
    }
    if (listing != NULL) {
        (void)closedir(listing);
    }
}

EXPORTED DIR *opendir(const char *path)
{
    char name[PATH_MAX];
    DIR *listing = REAL(opendir)(path);
    if (listing != NULL && inside(AT_FDCWD, path, name) && begin()) {
        note_before(name, AT_FDCWD, path);
        note_entries(name, path);
        put(TRACE_LIST, 0, 0, name, "");
        end();
    }
    return listing;
}

/* ---- streams: over the calls above, since the C library's own do not pass by here --------------------------- */

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
        fds[fd].stream = stream;
    }
    return stream;
}

static FILE *open_stream(const char *path, const char *mode, FILE *(*otherwise)(const char *path, const char *mode))
{
    char name[PATH_MAX];
    if (!inside(AT_FDCWD, path, name)) {
        return otherwise(path, mode);
    }
    int fd = open_at(AT_FDCWD, path, stream_flags(mode), 0666);
    if (fd < 0) {
        return NULL;
    }
    return is_ours(fd) ? stream_over(fd, mode) : REAL(fdopen)(fd, mode);
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
    return is_ours(fd) ? stream_over(fd, mode) : REAL(fdopen)(fd, mode);
}

EXPORTED int fileno(FILE *stream)
{
    for (int fd = 0; active && fd < FDS_MAX; fd++) {
        if (fds[fd].used && fds[fd].stream == stream) {
            return fd;
        }
    }
    return REAL(fileno)(stream);
}
