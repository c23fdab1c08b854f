/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * checkpoint.h - a whole run in a file, in the middle: the chip, the file system, the model, the counts, and where the workload is.
 * A process of the same executable goes on from it as if nothing had happened. For Linux.
 *
 * What is stored is memory: the program's variables, and the arena that holds the run's stack and all that it allocates. So the run
 * has no open files.
 */
#ifndef CHECKPOINT_H
#define CHECKPOINT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Calls `run` on a stack of its own in the arena, which is open, and ends the process with what it returns. From then on the state goes
 * into `path` at a checkpoint_tick() every `seconds` seconds; where `at_call` is not 0, at that tick, and the process ends there with
 * CHECKPOINT_STOPPED. Where the file is there already, that run goes on in place of `run`. At its end the file is removed. Returns only
 * on failure, with a message on the standard error.
 */
#define CHECKPOINT_STOPPED 4
struct checkpoint_plan {
    const char *path;
    uint32_t seconds;
    uint64_t at_call;
    const char *key;            /* what runs: a file of another key is refused */
};
int checkpoint_run(const struct checkpoint_plan *plan, int (*run)(void *context), void *context);

/* After each call of the file system. */
void checkpoint_tick(void);

#endif
