/* SPDX-License-Identifier: BSD-2-Clause */
/* absent.c - what the emulated program goes without: call stacks of the host, and chips over mapped files. */
#include <stddef.h>

#include "stacks.h"
#include "state.h"

struct stacks *stacks_new(void)
{
    return NULL;
}

void stacks_free(struct stacks *stacks)
{
    (void)stacks;
}

void stacks_note(struct stacks *stacks, enum stacks_operation operation, uint64_t time_us)
{
    (void)stacks;
    (void)operation;
    (void)time_us;
}

bool stacks_write(const struct stacks *stacks, const char *path)
{
    (void)stacks;
    (void)path;
    return false;
}

void image_unmap(struct vflash *chip)
{
    (void)chip;
}
