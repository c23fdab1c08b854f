/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arena.h - memory of a run that may be stored and gone on with in another process: all of it lies from one fixed address on. Its
 * first part is the run's stack.
 */
#ifndef ARENA_H
#define ARENA_H

#include <stdbool.h>
#include <stddef.h>

#define ARENA_STACK ((size_t)16 << 20)

/* Takes the addresses. False: this computer has none there. */
bool arena_open(void);
bool arena_is_open(void);

void *arena_begin(void);
size_t arena_used(void);                /* bytes from the begin on, stack included */

/* Of sizes that are kept by whoever takes them; `give` with the size that was taken. NULL without memory. */
void *arena_take(size_t size);
void arena_give(void *memory, size_t size);

#endif
