/* SPDX-License-Identifier: BSD-2-Clause */
/* life.c - the end of a preloaded process, and what it becomes. */
#include "preload.h"

#include <unistd.h>

static void finish(void)
{
    preload_flush_maps();
    preload_finish();
}

/* The program gives its process to another one. */
EXPORTED int execve(const char *path, char *const arguments[], char *const environment[])
{
    finish();
    return REAL(execve)(path, arguments, environment);
}

__attribute__((destructor)) static void stop(void)
{
    finish();
}
