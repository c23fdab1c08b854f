/* SPDX-License-Identifier: BSD-2-Clause */
/* preload.c - the trace of a preloaded process, and its paths. */
#include "preload.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define IDLE_MIN_US 1000u

void *preload_real(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool active;             /* what is asked for can be done, so far */
static FILE *trace;             /* opened at the first entry: a process that touches nothing leaves no file */
static char root[PATH_MAX];
static size_t root_length;
static uint64_t entries, last_us;

bool preload_active(void)
{
    return active;
}

/* ---- the file ------------------------------------------------------------------------------------------- */

static uint64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000u;
}

void preload_put(enum trace_kind kind, uint64_t handle, uint64_t value, const char *path, const char *other)
{
    struct trace_entry entry = {.kind = kind, .handle = handle, .value = value};
    snprintf(entry.path, sizeof(entry.path), "%s", path);
    snprintf(entry.other, sizeof(entry.other), "%s", other);
    (void)trace_put(trace, &entry);
    entries++;
}

static bool open_trace(void);

/* Under the lock from here to the end of the call's entries. */
bool preload_begin(void)
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
        preload_put(TRACE_IDLE, 0, now - last_us, "", "");
    }
    return true;
}

void preload_end(void)
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

void preload_finish(void)
{
    if (active && trace != NULL) {
        pthread_mutex_lock(&lock);
        uint64_t all = entries;
        preload_put(TRACE_END, all, 0, "", "");
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
bool preload_inside(int directory, const char *path, char out[PATH_MAX])
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

void preload_make_known(const char *path)
{
    char **grown = is_known(path) ? NULL : realloc(known, (known_count + 1) * sizeof(*known));
    if (grown != NULL) {
        known = grown;
        known[known_count] = strdup(path);
        known_count += known[known_count] != NULL;
    }
}

/* Before a call that names `path` in the volume, `host` in the host's tree. */
void preload_note_before(const char *path, int directory, const char *host)
{
    struct stat facts;
    int error = errno;
    if (strcmp(path, "/") != 0 && !is_known(path) && REAL(fstatat)(directory, host, &facts, 0) == 0) {
        preload_put(S_ISDIR(facts.st_mode) ? TRACE_DIR_BEFORE : TRACE_FILE_BEFORE, 0, S_ISDIR(facts.st_mode) ? 0 : (uint64_t)facts.st_size, path, "");
    }
    preload_make_known(path);
    errno = error;
}
