/* SPDX-License-Identifier: BSD-2-Clause */
/* judge.h - what was found after a cut, against the promises. */
#ifndef PEER_JUDGE_H
#define PEER_JUDGE_H

#include "model.h"

enum promise {
    PROMISE_RUNS,               /* no crash, no failed assertion, no endless loop */
    PROMISE_MOUNTS,
    PROMISE_READABLE,           /* all that is listed can be read */
    PROMISE_DURABLE,            /* what was synced before, and is not the subject of the call, is there, and nothing else */
    PROMISE_WHOLE,              /* the subject of the call is as before it or as after it */
    PROMISE_RENAME,             /* the same of a rename: one name or the other */
    PROMISE_NO_GHOST,           /* a new file is not there, empty, before its first sync */
    PROMISE_GOES_ON,            /* more calls do what they should */
    PROMISE_SPACE,              /* all space comes back when all is removed */
    PROMISE_COUNT
};

extern const char *const promise_names[PROMISE_COUNT];

/*
 * Compares path by path. `now` is the tree as handles see it after the call: files that are there, but neither in `before` nor in
 * `after`, were made and not synced. Returns a bit for each promise that is broken, and says in `text` how.
 */
unsigned judge(const struct image *found, const struct image *before, const struct image *after, const struct image *now, bool rename,
               char *text, uint32_t size);

#endif
