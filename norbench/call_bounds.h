/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * call_bounds.h - what each public call of NF2FS may cost at most: pages read, pages programmed, erases.
 *
 * A bound is a sum of a few terms, each a number times a unit: the units stand for the geometry (the window of the meta log, the way
 * to a key) and for what the call was asked (bytes, names in its path). The table is call_table.c. The sums come from the construction,
 * not from what was measured; each call of a cell is held to them (call_judge.h), and docs/BOUNDS.md is made of this table.
 */
#ifndef CALL_BOUNDS_H
#define CALL_BOUNDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vflash.h"

enum call_kind {
    CALL_FORMAT, CALL_MOUNT, CALL_MOUNT_CUT, CALL_UNMOUNT,
    CALL_STATFS, CALL_HEALTH, CALL_MAINTAIN, CALL_CHECK,
    CALL_STAT, CALL_MKDIR, CALL_REMOVE, CALL_RENAME,
    CALL_OPENDIR, CALL_READDIR, CALL_REWINDDIR, CALL_CLOSEDIR,
    CALL_OPEN, CALL_OPEN_NEW, CALL_READ, CALL_WRITE, CALL_SEEK, CALL_TELL, CALL_SIZE, CALL_TRUNCATE, CALL_PREALLOCATE,
    CALL_SYNC, CALL_CLOSE, CALL_CLOSE_UNCHANGED, CALL_DISCARD, CALL_SAVE, CALL_LOAD,
    CALL_KINDS
};

/* How much room the volume has when the call is made. */
enum call_fill {
    FILL_ROOMY,                 /* nothing has to be reclaimed */
    FILL_TIGHT,                 /* calls work ahead, or may wait for blocks */
    FILL_FULL,                  /* what the call may take is not there: it may reclaim first */
    FILL_CLASSES
};

enum call_unit {
    UNIT_ONE,
    UNIT_NODE,                  /* a pass over a node of the tree */
    UNIT_VIEW,                  /* the same, where its records are put in order */
    UNIT_WAY,                   /* the same of all nodes from the root to one key */
    UNIT_NAME,                  /* and of that for each name of the path */
    UNIT_LEVEL,                 /* of the tree */
    UNIT_WEAR,                  /* the ways to all entries of wear */
    UNIT_PAGE,                  /* pages of the call's bytes */
    UNIT_BLOCK,                 /* blocks' lengths of them, begun */
    UNIT_WRITE,                 /* stretches written since the last sync */
    UNIT_WRITE_WAY,             /* the way to the leaf of each */
    UNIT_LEAVES,                /* a walk over all leaves */
    UNIT_VOLUME,                /* erases that take the whole volume; of reads, one for each block */
    UNIT_AHEAD,                 /* erases that a call makes ahead; of reads, the looks for their regions */
    UNIT_PACE,                  /* of a walk's steps in one call: operations of this kind that their time is enough for */
    UNIT_BUDGET,                /* of idle work: operations of this kind that the budget is time for */
    CALL_UNITS
};

enum call_measure {
    MEASURE_READS, MEASURE_PROGRAMS,
    MEASURE_ERASES,             /* operations, where nothing is known to be erased */
    MEASURE_ERASES_AHEAD,       /* while erased blocks last */
    CALL_MEASURES
};

/* Of a volume that takes the whole chip. */
struct call_geometry {
    uint32_t page_size, block_size, blocks;
    uint32_t large;             /* blocks of the largest erase, 1: there is no larger one */
    uint32_t read_us, program_us, erase_us, large_us;   /* large_us: of the largest erase */
};

struct call_facts {
    enum call_kind kind;
    uint32_t names;             /* in the path, in both of a rename */
    uint64_t bytes;             /* read or written, or set aside */
    uint64_t cut;               /* bytes by which the file was shortened since its last sync */
    uint32_t writes;            /* since the last sync, those that go on where the one before ended as one with it */
    uint32_t budget_us;
    bool inside_new;            /* a write elsewhere than at the end of content that was never synced */
    bool space_known;           /* the following are */
    uint32_t blocks_free, blocks_erased, blocks_available;
    uint32_t pending;           /* files that are open for writing */
};

struct call_geometry call_geometry_of(const struct vflash_chip *chip);

/* As the tables say it: "open, new". */
const char *call_name(enum call_kind kind);
const char *call_fill_name(enum call_fill fill);

enum call_fill call_fill_of(const struct call_geometry *geometry, const struct call_facts *facts);

/* Do erased blocks last for this call? Else the bound of MEASURE_ERASES holds. */
bool call_erased_last(const struct call_geometry *geometry, const struct call_facts *facts);

/* Why this call has no bound; NULL: it has. */
const char *call_unbounded(const struct call_geometry *geometry, const struct call_facts *facts);

/* The same for all calls of a kind at a fill; NULL: they have bounds. */
const char *call_never_bounded(enum call_kind kind, enum call_fill fill);

/* Does the fill of the volume change this kind's bound? */
bool call_by_fill(enum call_kind kind);

uint64_t call_unit_value(const struct call_geometry *geometry, const struct call_facts *facts, enum call_unit unit, enum call_measure measure);
uint64_t call_bound(const struct call_geometry *geometry, const struct call_facts *facts, enum call_measure measure);

/* "150 + 3 W + 2 p"; and what a unit stands for. */
void call_bound_text(enum call_kind kind, enum call_fill fill, enum call_measure measure, char *text, size_t size);
const char *call_unit_letter(enum call_unit unit);
const char *call_unit_meaning(enum call_unit unit);
/* Are the bounds at roomy and tight the same? */
bool call_same_tight(enum call_kind kind);
/* Does the chip alone say how much it is? */
bool call_unit_fixed(enum call_unit unit);

/* For the page: what it is about; what has no bound, and why; why some bounds are far above what is seen. NULL after the last. */
extern const char *const call_about[];
extern const char *const call_exceptions[];
extern const char *const call_notes[];

#endif
