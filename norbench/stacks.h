/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stacks.h - from which calls the operations of the flash come: for each call stack the count and the flash time of reads, programs
 * and erases. Written as addresses inside the program; `norbench` gives them names and draws flame graphs.
 */
#ifndef STACKS_H
#define STACKS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum stacks_operation { STACKS_READ, STACKS_PROGRAM, STACKS_ERASE, STACKS_OPERATIONS };

struct stacks;

struct stacks *stacks_new(void);        /* NULL without memory */
void stacks_free(struct stacks *stacks);

/* Counts the operation to the present call stack. */
void stacks_note(struct stacks *stacks, enum stacks_operation operation, uint64_t time_us);

/*
 * One line a stack: outermost address first, with `;` between (hexadecimal, relative to where the program is loaded), then count and microseconds of
 * each kind of operation. False: it could not be written, or stacks were lost for want of memory.
 */
bool stacks_write(const struct stacks *stacks, const char *path);

#endif
