/* SPDX-License-Identifier: BSD-2-Clause */
/* names.c - calls that name files and directories. */
#include "preload.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int remove_at(int directory, const char *path, int flags)
{
    char name[PATH_MAX];
    bool recorded = preload_inside(directory, path, name) && preload_begin();
    if (recorded) {
        preload_note_before(name, directory, path);
    }
    int result = REAL(unlinkat)(directory, path, flags);
    if (recorded) {
        if (result == 0) {
            preload_put(TRACE_REMOVE, 0, 0, name, "");
        }
        preload_end();
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
    bool recorded = preload_inside(from_directory, from, name) && preload_inside(to_directory, to, other) && preload_begin();
    if (recorded) {
        preload_note_before(name, from_directory, from);
        preload_note_before(other, to_directory, to);
    }
    int result = REAL(renameat)(from_directory, from, to_directory, to);
    if (recorded) {
        if (result == 0) {
            preload_put(TRACE_RENAME, 0, 0, name, other);
        }
        preload_end();
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
    bool recorded = preload_inside(directory, path, name) && preload_begin();
    int result = REAL(mkdirat)(directory, path, mode);
    if (recorded) {
        if (result == 0) {
            preload_make_known(name);
            preload_put(TRACE_MKDIR, 0, 0, name, "");
        }
        preload_end();
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
    if (path != NULL && path[0] != '\0' && (result == 0 || error == ENOENT) && preload_inside(directory, path, name) && preload_begin()) {
        if (result == 0) {
            preload_note_before(name, directory, path);
        }
        if (strcmp(name, "/") != 0) {
            preload_put(result == 0 ? TRACE_STAT : TRACE_ABSENT, 0, 0, name, "");
        }
        preload_end();
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
            preload_note_before(child, AT_FDCWD, host);
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
    if (listing != NULL && preload_inside(AT_FDCWD, path, name) && preload_begin()) {
        preload_note_before(name, AT_FDCWD, path);
        note_entries(name, path);
        preload_put(TRACE_LIST, 0, 0, name, "");
        preload_end();
    }
    return listing;
}
