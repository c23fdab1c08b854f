/* SPDX-License-Identifier: BSD-2-Clause */
/* metalog.h - what the super log and the meta log of a damaged image still say: the volume, the root, the state of each block. */
#ifndef REPAIR_METALOG_H
#define REPAIR_METALOG_H

#include "tolerant.h"

#define REP_ROOTS_MAX 16u

enum rep_state { REP_DIRTY, REP_ERASED, REP_USED, REP_BAD, REP_UNKNOWN };

struct rep_meta {
    uint32_t volume;            /* id */
    bool anchored;              /* an anchor says so */
    bool whole;                 /* the meta log has no damage: what it says is so; else states are what it said last */
    bool outdated;              /* there was more of it: blocks hold what it does not know of (states are unknown), or none of it is left */
    bool clean;                 /* whole, and the volume was left cleanly: what it says is exact */
    bool rooted;                /* the last thing that it says is a state that was left cleanly: the root is the last one */
    bool open;                  /* it may have gone on: the block for that is not blank, or the last one is full */
    uint32_t head;              /* block; NF2_NONE: none is left */
    uint32_t unfinished;        /* block of it with what looks like an unfinished write at its end; NF2_NONE: none */
    uint8_t *state;             /* of each block, enum rep_state */
    bool *is_meta;              /* blocks of the log's window, its next block, the super log */
    bool *is_idle;              /* blocks that were claimed and are not used: the stock, and where the volume was left cleanly, the tree's */
    uint32_t root[REP_ROOTS_MAX];   /* as states say, the newest first */
    unsigned roots;
    uint32_t *orphan;
    unsigned orphans;
    uint32_t next_id;           /* 0: not known */
    uint32_t redo_block, redo_sequence;     /* NF2_NO_BLOCK: none */
    uint32_t erases, unclean_mounts;
    unsigned lost;              /* places where records are lost */
    unsigned mended;
};

/* The ids of volumes of which something is in the image, the likeliest first; how many. */
unsigned rep_volumes(struct rep_image *image, uint32_t *ids, unsigned most, bool *anchored);

void rep_meta_read(struct rep_image *image, uint32_t volume, bool anchored, struct rep_meta *meta);
/* There was more of the meta log than is left: what it says of blocks is not to be believed. */
void rep_meta_distrust(struct rep_image *image, struct rep_meta *meta);
void rep_meta_free(struct rep_meta *meta);

#endif
