/* SPDX-License-Identifier: BSD-2-Clause */
/* trace.c - entries of traces as bytes. */
#include "trace.h"

#include <stddef.h>
#include <string.h>

#define MARK "NBTR"
#define VERSION 1

/* What follows the byte of each kind. */
static const struct {
    bool handle, value, path, other;
} parts[TRACE_KINDS] = {
    [TRACE_END] = {.handle = true},
    [TRACE_OPEN] = {.handle = true, .path = true},
    [TRACE_CLOSE] = {.handle = true},
    [TRACE_READ] = {.handle = true, .value = true},
    [TRACE_WRITE] = {.handle = true, .value = true},
    [TRACE_SEEK] = {.handle = true, .value = true},
    [TRACE_SYNC] = {.handle = true},
    [TRACE_TRUNCATE] = {.handle = true, .value = true},
    [TRACE_MKDIR] = {.path = true},
    [TRACE_REMOVE] = {.path = true},
    [TRACE_RENAME] = {.path = true, .other = true},
    [TRACE_STAT] = {.path = true},
    [TRACE_LIST] = {.path = true},
    [TRACE_IDLE] = {.value = true},
    [TRACE_FILE_BEFORE] = {.value = true, .path = true},
    [TRACE_DIR_BEFORE] = {.path = true},
    [TRACE_ABSENT] = {.path = true},
};

/* ---- writing ---------------------------------------------------------------------------------------- */

static void put_number(FILE *file, uint64_t number)
{
    while (number > 0x7F) {
        putc((int)(number & 0x7F) | 0x80, file);
        number >>= 7;
    }
    putc((int)number, file);
}

static void put_path(FILE *file, const char *path)
{
    size_t length = strlen(path);
    put_number(file, length);
    (void)fwrite(path, 1, length, file);
}

bool trace_begin(FILE *file)
{
    fputs(MARK, file);
    putc(VERSION, file);
    return ferror(file) == 0;
}

bool trace_put(FILE *file, const struct trace_entry *entry)
{
    putc((int)entry->kind, file);
    if (parts[entry->kind].handle) {
        put_number(file, entry->handle);
    }
    if (parts[entry->kind].value) {
        put_number(file, entry->value);
    }
    if (parts[entry->kind].path) {
        put_path(file, entry->path);
    }
    if (parts[entry->kind].other) {
        put_path(file, entry->other);
    }
    return ferror(file) == 0;
}

/* ---- reading ---------------------------------------------------------------------------------------- */

static bool get_number(FILE *file, uint64_t *number)
{
    *number = 0;
    for (unsigned shift = 0; shift < 63; shift += 7) {
        int byte = getc(file);
        if (byte == EOF) {
            return false;
        }
        *number |= (uint64_t)(byte & 0x7F) << shift;
        if ((byte & 0x80) == 0) {
            return true;
        }
    }
    return false;
}

/* Absolute, without empty or dot parts, so that it can be put under any root. */
static bool path_is_sound(const char *path, size_t length)
{
    if (length == 0 || path[0] != '/' || memchr(path, '\0', length) != NULL) {
        return false;
    }
    for (const char *part = path; part != NULL && part[1] != '\0'; part = strchr(part + 1, '/')) {
        size_t size = strcspn(part + 1, "/");
        if (size == 0 || (size == 1 && part[1] == '.') || (size == 2 && part[1] == '.' && part[2] == '.')) {
            return false;
        }
    }
    return true;
}

static bool get_path(FILE *file, char path[TRACE_PATH_MAX])
{
    uint64_t length;
    if (!get_number(file, &length) || length >= TRACE_PATH_MAX || fread(path, 1, length, file) != length) {
        return false;
    }
    path[length] = '\0';
    return path_is_sound(path, length);
}

const char *trace_check_begin(FILE *file)
{
    char mark[sizeof(MARK)] = "";
    if (fread(mark, 1, sizeof(MARK) - 1, file) != sizeof(MARK) - 1 || strcmp(mark, MARK) != 0) {
        return "not a trace";
    }
    return getc(file) == VERSION ? NULL : "a trace of another version";
}

const char *trace_get(FILE *file, struct trace_entry *entry)
{
    int kind = getc(file);
    if (kind == EOF) {
        return "the trace was cut short";
    }
    if (kind >= TRACE_KINDS) {
        return "an entry of an unknown kind";
    }
    memset(entry, 0, offsetof(struct trace_entry, path));
    entry->kind = (enum trace_kind)kind;
    entry->path[0] = entry->other[0] = '\0';
    bool good = (!parts[kind].handle || get_number(file, &entry->handle)) && (!parts[kind].value || get_number(file, &entry->value)) &&
                (!parts[kind].path || get_path(file, entry->path)) && (!parts[kind].other || get_path(file, entry->other));
    return good ? NULL : feof(file) ? "the trace was cut short" : "a number or a path that cannot be";
}
