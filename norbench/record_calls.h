/* SPDX-License-Identifier: BSD-2-Clause */
/* record_calls.h - a file system that writes down each call that goes through it, as a trace (trace.h). */
#ifndef RECORD_CALLS_H
#define RECORD_CALLS_H

#include <stdbool.h>

#include "vfs.h"

/*
 * Puts itself in front of `fs`: until record_calls_end its calls go on to the file system and, those that succeed, into the file. Mounts,
 * idle time and what only some file systems have are passed on unrecorded. One at a time. Returns 0, or -1: the file cannot be written.
 */
int record_calls_begin(struct vfs *fs, const char *path);
/* What is there already: a directory, or a file of that size. Before the first call. */
void record_calls_before(const char *path, bool directory, uint32_t size);
bool record_calls_end(struct vfs *fs);          /* false: the file is not whole */

#endif
