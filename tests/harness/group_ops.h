/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * group_ops.h - a seeded generator of calls for which groups of blocks are emptied over many calls: large files with an index on a
 * volume that is rather full, overwritten in small pieces, with appends, truncations, readers, other files and idle time between.
 * Like random_ops.h it looks at the model only, and the calls say all that is needed to repeat them.
 */
#ifndef GROUP_OPS_H
#define GROUP_OPS_H

#include "calls.h"
#include "model.h"

#define GROUP_FILES 2u              /* large files, at most */

struct group_ops {
    uint64_t state;
    uint64_t capacity;              /* bytes of the volume for data */
    uint32_t files;                 /* large ones */
    uint32_t target[GROUP_FILES];   /* what each of them is to hold, without its tail */
    uint32_t fill;                  /* bytes of a write that fills it */
    uint32_t window[GROUP_FILES];   /* where overwrites come more often */
    uint32_t last[GROUP_FILES];     /* where the last one was */
    unsigned unsynced[GROUP_FILES]; /* writes since the last sync */
    unsigned skew;                  /* percent of overwrites that go to the window */
    unsigned small;                 /* percent of overwrites that have 256 bytes, aligned */
    unsigned append_in;             /* one step of so many begins to append, */
    unsigned appends;               /* so many more to come, */
    unsigned append_to;             /* to this file */
    bool emptying;                  /* groups are being emptied, the caller says: more appends then */
    unsigned full_seen;
    unsigned steps;
};

void group_ops_init(struct group_ops *ops, uint64_t seed, uint64_t capacity);
/* Adds the next call, or a few that belong together. */
void group_ops_next(struct group_ops *ops, const struct model *model, struct call_list *list);
/* Tells it that a call failed for want of space. */
void group_ops_full(struct group_ops *ops);

#endif
