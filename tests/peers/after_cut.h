/* SPDX-License-Identifier: BSD-2-Clause */
/* after_cut.h - one cut of one call, in a process of its own, and what is found afterwards. */
#ifndef PEER_AFTER_CUT_H
#define PEER_AFTER_CUT_H

#include "peers/judge.h"
#include "peers/volume.h"
#include "tally.h"

struct outcome {                    /* in memory that the parent sees, too */
    bool done;                      /* the process came to its end */
    bool reached;                   /* the call was cut */
    bool second;                    /* a second cut hit the mount, or the first write behind it */
    unsigned broken, checked;       /* a bit for each promise */
    unsigned until_write;           /* broken after the mount, and mended by the first write: in `broken` only where it was not */
    uint64_t mount_us, write_us;    /* the mount after the cut; with a first small write (0: not taken) */
    uint64_t mount_erases;
    uint64_t violations;            /* accesses that the chip does not allow */
    char text[240];                 /* how the first promise was broken */
};

/* The cut of an operation that leaves `tear`. */
struct vflash_cut cut_for(enum tear tear, uint64_t operation, uint32_t length, uint32_t block_size, uint64_t *random);

/* Cuts the call and judges what is left; what a volume must hold when it is empty: `capacity` bytes in a file. */
void cut_and_judge(struct volume *volume, const struct call *call, const struct vflash_cut *cut, uint64_t capacity, uint64_t random,
                   struct outcome *outcome);

#endif
