/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * trace.h - calls of an application in a compact file, to be made again on any file system and chip.
 *
 * The file: the 4 bytes "NBTR", the version (1), then entries, each a byte that says what it is, followed by numbers and paths. A number is
 * 7 bits a byte, the lowest first, the top bit set where more follow. A path is its length and its bytes; it begins with '/'. The last entry is
 * TRACE_END with the number of entries before it: a file without it was cut short. What is written is not kept, only how
 * much: a replay writes bytes of its own.
 *
 * A handle is the number of the open entry, counted from 0.
 */
#ifndef TRACE_H
#define TRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum trace_kind {
    TRACE_END = 0,              /* entries */
    TRACE_OPEN = 1,             /* flags as in vfs.h, path */
    TRACE_CLOSE = 2,            /* handle */
    TRACE_READ = 3,             /* handle, bytes asked for */
    TRACE_WRITE = 4,            /* handle, bytes */
    TRACE_SEEK = 5,             /* handle, position from the start */
    TRACE_SYNC = 6,             /* handle */
    TRACE_TRUNCATE = 7,         /* handle, size */
    TRACE_MKDIR = 8,            /* path */
    TRACE_REMOVE = 9,           /* path */
    TRACE_RENAME = 10,          /* path, path */
    TRACE_STAT = 11,            /* path */
    TRACE_LIST = 12,            /* path */
    TRACE_IDLE = 13,            /* microseconds in which the application called nothing */
    TRACE_FILE_BEFORE = 14,     /* size, path: was there before the first call */
    TRACE_DIR_BEFORE = 15,      /* path: likewise */
    TRACE_ABSENT = 16,          /* path: was looked for and not found */
    TRACE_KINDS
};

#define TRACE_PATH_MAX 512u

struct trace_entry {
    enum trace_kind kind;
    uint64_t handle;            /* also flags of TRACE_OPEN, entries of TRACE_END */
    uint64_t value;
    char path[TRACE_PATH_MAX], other[TRACE_PATH_MAX];
};

/* ---- writing: each returns whether it could be written ---------------------------------------------- */

bool trace_begin(FILE *file);
bool trace_put(FILE *file, const struct trace_entry *entry);

/* ---- reading ---------------------------------------------------------------------------------------- */

/* Returns NULL, or what is wrong. */
const char *trace_check_begin(FILE *file);
/* Reads the next entry. Returns NULL, or what is wrong with it. */
const char *trace_get(FILE *file, struct trace_entry *entry);

#endif
