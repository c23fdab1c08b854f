/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * explore.h - goes through the cuts of a call one by one, and through what may come after them. All that is done is kept as a list
 * of calls, so that a failure can be repeated without the explorer.
 */
#ifndef EXPLORE_H
#define EXPLORE_H

#include "random_ops.h"
#include "session.h"

#define EXPLORE_DEEPEST 5u

struct explorer {
    struct session session;
    const struct vflash_chip *chip;
    int format_flags;
    struct call_list list;          /* since format */
    uint64_t random;
    unsigned deepest;               /* cuts in a row without a mount that comes through, at most; 1: mounts are not cut */
    double cuts_an_operation;       /* how many of the cuts of an operation are made, on average; 0: all */
    uint32_t *length;               /* of the operations of the call at hand: bytes, 0: an erase */
    unsigned operations, room;
    uint32_t hit;                   /* the block that was to break in the call at hand; 0: none was reached */
    uint64_t calls_before;          /* of the driver, before the call at hand */
    bool (*failed)(void *context, struct explorer *explorer);   /* told of each failure; whether to go on with the next cut */
    void *context;
    bool stopped;
    unsigned fails_in;              /* random calls, and mounts after a cut: in one of so many a call of the driver fails; 0: none does */
    unsigned breaks_in;             /* random calls: before one of so many a block breaks in one of the next operations; 0: none does */
};

/* Formats a chip. False: failure, reported. `explorer` may be initialized anew after explorer_free. */
bool explorer_begin(struct explorer *explorer, struct tally *tally, const struct vflash_chip *chip, int format_flags, uint64_t seed);
void explorer_free(struct explorer *explorer);

/* Makes a call and keeps it. False: failure, reported. */
bool explorer_do(struct explorer *explorer, const struct call *call);

/* Makes a call, and before that, each from the same state, its cuts. False: the call itself failed, or `failed` wants no more. */
bool explorer_cut_call(struct explorer *explorer, const struct call *call);

/* The same with a block that breaks at each operation in its turn. */
bool explorer_break_call(struct explorer *explorer, const struct call *call);

/* The same with a call of the driver that fails: each one in its turn, or `most` seeded ones, half of them programs and erases. */
bool explorer_fail_call(struct explorer *explorer, const struct call *call, unsigned most);

/* The whole state, to go back to. */
struct snapshot *explorer_take(const struct explorer *explorer);
void explorer_back(struct explorer *explorer, const struct snapshot *snapshot);
void explorer_release(struct snapshot *snapshot);

/* Arms a seeded cut at one of the next `within` operations. */
bool explorer_arm(struct explorer *explorer, uint32_t within);
/* Mounts, with further cuts in the mounts. */
bool explorer_come_back(struct explorer *explorer);
/* Random calls; `cuts` of them armed. */
bool explorer_go_on(struct explorer *explorer, unsigned calls, unsigned cuts);
/* What must hold at an end: a clean session, the tree, the check; now and then all space back. */
bool explorer_end(struct explorer *explorer, unsigned empty_in);

#endif
