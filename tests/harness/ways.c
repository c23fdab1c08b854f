/* SPDX-License-Identifier: BSD-2-Clause */
/* ways.c - see ways.h. */
#include "ways.h"

#include <execinfo.h>
#include <stdint.h>

#define OWN_LINKS 2             /* this function and the driver's */

static uint64_t known[WAYS_MAX];    /* a sum over each chain of calls; 0: none */

__attribute__((noinline)) bool way_is_new(int links, int between)
{
    void *link[WAYS_LINKS_MAX + OWN_LINKS + 2];
    int own = OWN_LINKS + between, count = backtrace(link, links + own);
    uint64_t sum = 14695981039346656037u;

    for (int i = own; i < count; i++) {
        sum = (sum ^ (uintptr_t)link[i]) * 1099511628211u;
    }
    sum |= 1;
    for (unsigned at = (unsigned)(sum >> 32) % WAYS_MAX, tried = 0; tried < WAYS_MAX; at = (at + 1) % WAYS_MAX, tried++) {
        if (known[at] == sum) {
            return false;
        }
        if (known[at] == 0) {
            known[at] = sum;
            return true;
        }
    }
    return false;
}
