/* SPDX-License-Identifier: BSD-2-Clause */
/* ways.h - ways that lead to a driver: chains of calls, as far as their last links tell them apart. */
#ifndef WAYS_H
#define WAYS_H

#include <stdbool.h>

#define WAYS_MAX 16384u         /* a power of two */
#define WAYS_LINKS_MAX 12

/*
 * Is this the first time on this way? Called by a function of the driver's that is not inlined, or (`between`) by one that it calls.
 * `links` are looked at.
 */
bool way_is_new(int links, int between);

#endif
