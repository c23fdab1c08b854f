/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * heap_watch.h - what a file system takes from the heap: all that is allocated while one of its calls runs counts, until it is freed.
 * The linker leads malloc and its kin through it (`--wrap`), so that peers need no change.
 */
#ifndef HEAP_WATCH_H
#define HEAP_WATCH_H

#include <stdbool.h>
#include <stddef.h>

void heap_watch_call(bool runs);        /* a call of the file system begins, or ended */
size_t heap_watch_most(void);           /* bytes that were in use at a time, at most */

#endif
