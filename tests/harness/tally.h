/* SPDX-License-Identifier: BSD-2-Clause */
/* tally.h - what was done to volumes whose power is cut, in numbers. Plain memory: processes share it, sums add up. */
#ifndef TALLY_H
#define TALLY_H

#include <stdint.h>

#include "vflash/vflash.h"

#define TALLY_DEPTHS 8u
#define TALLY_CHIPS 12u

enum tear {                     /* what a cut left */
    TEAR_PROGRAM_NONE, TEAR_PROGRAM_PART, TEAR_PROGRAM_SHUFFLED, TEAR_PROGRAM_WHOLE,
    TEAR_ERASE_UNTOUCHED, TEAR_ERASE_PARTLY, TEAR_ERASE_PREFIX, TEAR_ERASE_WEAK, TEAR_ERASE_UNSTABLE, TEAR_ERASE_DONE,
    TEAR_COUNT
};

enum found { FOUND_SAME, FOUND_BEFORE, FOUND_AFTER, FOUND_COUNT };  /* same: the call changes nothing durable */

struct tally_chip {
    char name[24];
    uint64_t cuts, mounts;      /* mounts: after a cut, for writing, that came through */
    uint64_t mount_us, mount_programs, mount_pages, mount_erases;   /* the longest one, fast reads */
    uint64_t slow, erasing;     /* mounts of more than 10 ms; mounts that erased */
    uint64_t writes, write_us, slow_writes;     /* mounts with a first small write behind them: how many, the longest, those of more than 10 ms */
};

struct tally {
    uint64_t histories, calls, cuts, looks, emptied, failures;
    uint64_t emptying;                  /* cuts that came while groups of blocks were being emptied, over many calls */
    uint64_t breaks, refused, closed;   /* blocks told to fail; calls that gave up for one; volumes that mount for reading only since */
    uint64_t errors, broken;            /* calls and mounts that said that the driver failed; those of them that broke the volume */
    uint64_t tears[TEAR_COUNT];
    uint64_t found[FOUND_COUNT];
    uint64_t depth[TALLY_DEPTHS];       /* cuts by how many came in a row without a mount between that came through; the last: or more */
    struct tally_chip chip[TALLY_CHIPS];
};

/* What the cut leaves of the operation that it hits. */
enum tear tear_of(const struct vflash_operation *operation, const struct vflash_cut *cut);

/* The chip's part; the last one stands for all that there is no room for. */
struct tally_chip *tally_chip(struct tally *tally, const char *name);
#define TALLY_MOUNT_US 10000u           /* that a mount after a cut may take: docs/RELIABILITY.md, promise 4 */
/* A mount after a cut came through; the chip's counters before and after it. How long it took, in microseconds. */
uint64_t tally_mount(struct tally *tally, const char *name, const struct vflash_counts *before, const struct vflash_counts *after);
/* The same with a first small write behind the mount. */
void tally_first_write(struct tally *tally, const char *name, const struct vflash_counts *before, const struct vflash_counts *after);
void tally_add(struct tally *to, const struct tally *from);

extern const char *const tear_names[TEAR_COUNT];
extern const char *const found_names[FOUND_COUNT];

#endif
