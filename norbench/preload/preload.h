/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * preload.h - libnorbench-trace.so: preloaded into a host program (LD_PRELOAD), it writes down the program's file calls below one
 * directory as a trace (trace.h). For Linux with glibc.
 *
 *   NORBENCH_TRACE_ROOT   the directory; becomes the root of the volume
 *   NORBENCH_TRACE_FILE   where the trace goes; a process that finds the file there already (a child) appends its number to the name
 *
 * Recorded (files.c): open, openat, creat, close, dup and its kin, read, write, pread, pwrite, lseek, fsync, fdatasync, truncate,
 * ftruncate. (vectors.c): readv, writev, preadv, pwritev, sendfile, copy_file_range. (names.c): unlink, unlinkat, remove,
 * rename, mkdir, rmdir, stat and its kin, opendir. (streams.c): fopen, fdopen, which go through the same calls.
 * (maps.c): mmap, which is a read of all that is mapped; what was changed in it is written, in pages that changed, at msync,
 * munmap and the end of the process.
 *
 * Not seen: splice, io_uring, links, and calls made by the kernel or other languages' runtimes without the C library; `norbench record
 * --fuse` sees those. What fails is left out, but a stat of an absent name. Gaps between calls of a millisecond or more become idle time.
 */
#ifndef PRELOAD_H
#define PRELOAD_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "trace.h"

#define EXPORTED __attribute__((visibility("default")))

/* The C library's own, found at the first call. */
#define REAL(name) ((__typeof__(&(name)))preload_real(#name))
void *preload_real(const char *name);

/* ---- entries: preload.c ---------------------------------------------------------------------------------- */

bool preload_active(void);

/* Under the lock from here to preload_end; false: nothing is to be recorded. */
bool preload_begin(void);
void preload_put(enum trace_kind kind, uint64_t handle, uint64_t value, const char *path, const char *other);
void preload_end(void);
/* Ends the trace: nothing is recorded after it. */
void preload_finish(void);

/* The path inside the volume, or false where it lies elsewhere. */
bool preload_inside(int directory, const char *path, char out[PATH_MAX]);
/* Before a call that names `path` in the volume, `host` in the host's tree: what was there before is written down once. */
void preload_note_before(const char *path, int directory, const char *host);
void preload_make_known(const char *path);

/* ---- open files: files.c ---------------------------------------------------------------------------- */

/* What descriptors and mappings share: closed in the trace with the last of them. */
struct preload_file {
    uint64_t handle;
    uint32_t users;
};

/* Of a descriptor that is recorded; NULL of another one. */
struct preload_file *preload_file_of(int fd);
void preload_release(struct preload_file *file);

int preload_open_at(int directory, const char *path, int flags, mode_t mode);
void preload_put_file(enum trace_kind kind, const struct preload_file *file, uint64_t value);
/* At a place and back again: a volume has no such call of its own. */
void preload_put_at(enum trace_kind kind, const struct preload_file *file, uint64_t length, off_t offset, off_t back);
/* The same for a descriptor that is recorded, from where it stands. */
void preload_put_fd_at(enum trace_kind kind, int fd, uint64_t length, off_t offset);

/* The stream over a descriptor; NULL where there is none. */
FILE *preload_stream_of(int fd);
void preload_set_stream(int fd, FILE *stream);
int preload_fd_of(const FILE *stream);          /* or -1 */

/* ---- mappings: maps.c ---------------------------------------------------------------------------------- */

/* Writes down what was changed in mappings that are still there. */
void preload_flush_maps(void);

#endif
