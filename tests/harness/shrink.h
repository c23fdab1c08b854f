/* SPDX-License-Identifier: BSD-2-Clause */
/* shrink.h - makes a failing list of calls short. */
#ifndef SHRINK_H
#define SHRINK_H

#include "calls.h"

/* Makes the calls from a fresh start. Returns the index of the call that failed (list->count: at the end), or -1. */
typedef int (*shrink_run)(void *context, struct call_list *list);

struct shrink {
    shrink_run run;
    void *context;
    unsigned replay_seconds;    /* a run that takes longer has failed */
    unsigned seconds;           /* for the whole; 0: no limit */
};

/* In a process of its own, so that a crash or a hang counts as a failure too. The index of the failing call, or -1. */
int shrink_fails_at(const struct shrink *shrink, struct call_list *list);

/* Leaves out what is not needed. False: the list does not fail. */
bool shrink_list(const struct shrink *shrink, struct call_list *list);

#endif
