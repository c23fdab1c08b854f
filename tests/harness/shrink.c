/* SPDX-License-Identifier: BSD-2-Clause */
/* shrink.c - see shrink.h. */
#define _POSIX_C_SOURCE 200809L

#include "shrink.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static _Noreturn void child_run(const struct shrink *shrink, struct call_list *list, int out)
{
    static const int caught[] = { SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGALRM };

    for (unsigned i = 0; i < sizeof caught / sizeof caught[0]; i++) {
        signal(caught[i], SIG_DFL);
    }
    alarm(shrink->replay_seconds);
    close(STDERR_FILENO);
    int index = shrink->run(shrink->context, list);
    if (index < 0) {
        _exit(0);
    }
    _exit(write(out, &index, sizeof index) == (ssize_t)sizeof index ? 1 : 2);
}

int shrink_fails_at(const struct shrink *shrink, struct call_list *list)
{
    int ends[2];
    int at = -1, status = 0;

    if (list->count == 0 || pipe(ends) != 0) {
        return -1;
    }
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        child_run(shrink, list, ends[1]);
    }
    close(ends[1]);
    if (child < 0 || read(ends[0], &at, sizeof at) != (ssize_t)sizeof at) {
        at = -1;
    }
    close(ends[0]);
    if (child > 0) {
        waitpid(child, &status, 0);
        if (at < 0 && status != 0) {
            at = (int)list->count - 1;      /* it crashed, anywhere */
        }
    }
    return at;
}

/* The list without `count` calls from `first` on; the calls are shared with the old one. */
static struct call_list without(const struct call_list *list, unsigned first, unsigned count)
{
    struct call_list shorter = { .call = malloc((list->count + 1) * sizeof *list->call), .count = 0 };

    if (!shorter.call) {
        abort();
    }
    for (unsigned i = 0; i < list->count; i++) {
        if (i < first || i >= first + count) {
            shorter.call[shorter.count++] = list->call[i];
        }
    }
    return shorter;
}

bool shrink_list(const struct shrink *shrink, struct call_list *list)
{
    time_t end = time(NULL) + (time_t)shrink->seconds;
    int at = shrink_fails_at(shrink, list);

    if (at < 0) {
        return false;
    }
    list->count = (unsigned)at + 1 < list->count ? (unsigned)at + 1 : list->count;
    for (unsigned piece = list->count / 2; piece >= 1; piece /= 2) {
        for (unsigned first = 0; first < list->count && (shrink->seconds == 0 || time(NULL) < end);) {
            struct call_list shorter = without(list, first, piece);

            at = shrink_fails_at(shrink, &shorter);
            if (at >= 0) {
                memcpy(list->call, shorter.call, shorter.count * sizeof *list->call);
                list->count = (unsigned)at + 1 < shorter.count ? (unsigned)at + 1 : shorter.count;
            } else {
                first += piece;
            }
            free(shorter.call);
        }
    }
    return true;
}
