/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * repair.h - the image of a volume looked at from outside: what is wrong with it, what can be saved
 * of it, and a new volume made of that. For hosts: it takes the heap, and the whole image is in
 * memory. The image is only read: see docs/CHECK.md.
 *
 *     struct repair *repair = repair_open(bytes, &geometry);
 *     for (i = 0; i < repair_findings(repair); i++) ... repair_finding(repair, i)
 *     for (i = 0; i < repair_count(repair); i++) ... repair_item(repair, i)
 *     repair_write(repair, &fs, page, ...)    into an empty volume that is mounted for writing
 *     repair_close(repair);
 */
#ifndef NF2FS_REPAIR_H
#define NF2FS_REPAIR_H

#include <stdbool.h>
#include <stdint.h>

#include "nf2fs/nf2fs.h"

struct repair_geometry {
    uint32_t size, block_size, program_unit;    /* bytes */
};

struct repair;

/* NULL: nothing of a volume is in the image. Where memory runs out the process ends (abort). */
struct repair *repair_open(const uint8_t *bytes, const struct repair_geometry *geometry);
void repair_close(struct repair *repair);

/* ---- checking -------------------------------------------------------------------------------- */

enum repair_kind {
    REPAIR_ANCHOR,              /* a super block is damaged, or names a block that is no root log */
    REPAIR_LOG,                 /* the root log is damaged, or says what cannot be */
    REPAIR_GROUP,               /* a committed change of several leaves cannot be read */
    REPAIR_NODE,                /* a node of the tree cannot be read */
    REPAIR_RECORD,              /* records of a node are damaged, or mended */
    REPAIR_BASE,                /* a node's sorted part has another end, or is out of order */
    REPAIR_REFERENCE,           /* a record names another one that is not there */
    REPAIR_CHILD,               /* a reference leads to no node, or to one that has a place */
    REPAIR_BOUNDS,              /* a key lies outside of its node's bounds, or has no way to it */
    REPAIR_TWICE,               /* two entries with one key, or one name twice in a directory */
    REPAIR_ENTRY,               /* an entry of no known form */
    REPAIR_NAME,                /* a name that no call can reach */
    REPAIR_PIECE,               /* a part of a file lies outside, or has no known form */
    REPAIR_HOLE,                /* a file has a hole, or is too long */
    REPAIR_FRAMES,              /* frames of a file are damaged or missing */
    REPAIR_ID,                  /* an id that was never given out is in use */
    REPAIR_SHARED,              /* two names for one file or directory */
    REPAIR_UNNAMED,             /* content that no name leads to, and that nothing will free */
    REPAIR_REMOVED,             /* a file that is on record as removed has a name */
    REPAIR_CYCLE,               /* directories inside of each other */
    REPAIR_OVERLAP,             /* a block, or a part of one, is in use twice */
    REPAIR_FREE,                /* a block in use is free on record */
    REPAIR_ERASED,              /* a block that is on record as erased is not */
    /* remarks: nothing is wrong with these */
    REPAIR_UNFINISHED,          /* what a power cut leaves */
    REPAIR_MENDED,              /* one bit is wrong in a place where it does no harm */
    REPAIR_PENDING,             /* a committed change is not applied yet; it is shown applied */
    /* remarks that tell of damage: what is wrong are findings of their own */
    REPAIR_RECORDS,             /* records of a node were mended, or are lost, among these names */
    REPAIR_OLDER,               /* newer parts of the tree are lost, as what is on record says */
    REPAIR_KINDS
};
bool repair_kind_wrong(enum repair_kind kind);  /* else it is a remark */

struct repair_finding {
    enum repair_kind kind;
    uint32_t block, offset;     /* where; block UINT32_MAX: in no block */
    uint32_t number;            /* of what the sentence counts or names; 0: of nothing */
    uint32_t id;                /* of the directory or map that it is about; 0: of none */
    const char *text;           /* a sentence */
    /* the name that it is about; or those that may be lost lie from one to the other; NULL: none */
    const char *from, *to;
};
/* In the order in which they were found, at most 10,000; repair_wrong counts all that are wrong. */
unsigned repair_findings(const struct repair *repair);
const struct repair_finding *repair_finding(const struct repair *repair, unsigned number);
unsigned repair_wrong(const struct repair *repair);

struct repair_summary {
    uint32_t unclean_mounts, erases;    /* on record */
    uint32_t nodes, bad_blocks;
    bool log_read;              /* false: the state is that of an older log, or there is none */
    bool complete;              /* all nodes were found, so that blocks could be compared */
    bool names_lost;            /* there may have been files that nothing tells of any more */
};
const struct repair_summary *repair_summary(const struct repair *repair);

/* What a block is for, as far as it can be told; for maps. */
enum repair_use {
    REPAIR_USE_NONE, REPAIR_USE_SUPER, REPAIR_USE_LOG, REPAIR_USE_NEXT, REPAIR_USE_INNER,
    REPAIR_USE_LEAF, REPAIR_USE_DATA, REPAIR_USE_FRAMES, REPAIR_USE_CLAIMED, REPAIR_USE_BAD,
    REPAIR_USES
};
enum repair_use repair_block_use(const struct repair *repair, uint32_t block);
const char *repair_use_text(enum repair_use use);

/*
 * The records of a block as far as they can be read, also behind damage, and of a block that is no
 * longer in use; how many: 0 where the block has no log. They stay until the next call.
 */
struct repair_record {
    uint32_t at, end;           /* bytes in the block */
    uint16_t session;           /* that wrote it: the number comes round */
    bool more;                  /* the group goes on behind it */
    bool mended;                /* a bit of it is wrong in the image */
    const char *name, *text;    /* "PUT", as FORMAT.md calls it; what it says */
};
unsigned repair_records(struct repair *repair, uint32_t block);
const struct repair_record *repair_record(const struct repair *repair, unsigned number);

/* ---- salvage --------------------------------------------------------------------------------- */

/* How far a file or directory can be trusted. From COPY on its name ends with ".damaged". */
enum repair_state {
    REPAIR_WHOLE,               /* as it was */
    REPAIR_UNSURE,              /* the same, but newer content may be lost without a trace */
    REPAIR_DOUBTFUL,            /* a lost record may have replaced, renamed or removed it */
    REPAIR_FOUND,               /* whole, but its name is lost: in /lost+found */
    REPAIR_COPY,                /* older than it was, or removed: from a node that was given up */
    REPAIR_DAMAGED,             /* zeros stand in for parts of it, or its end is missing */
    REPAIR_LOST,                /* its name is all that is left: nothing is written */
    REPAIR_STATES
};
const char *repair_state_text(enum repair_state state);

struct repair_item {
    const char *path;           /* names with '/' in front of each; where it is written */
    enum nf2_type type;
    enum repair_state state;
    uint32_t size, lost;        /* bytes of a file, and of these lost */
    uint32_t unchecked;         /* that no check covers: they are what lies there, right or wrong */
    bool lost_end;              /* there was more, or there may have been */
    bool left_out;              /* repair_write could not write it, for want of room */
};
/* Directories come before what is in them. */
unsigned repair_count(const struct repair *repair);
const struct repair_item *repair_item(const struct repair *repair, unsigned number);

/* Bytes of a file that are lost: the `number`th range; false: there are no more. */
bool repair_lost_range(const struct repair *repair, unsigned item, unsigned number, uint32_t *from,
                       uint32_t *to);
/* Reads a file's bytes, zeros for what is lost; how many. */
uint32_t repair_read(const struct repair *repair, unsigned item, uint32_t at, void *data,
                     uint32_t length);
/* The path of the directory (the root: "") or mapped file with this id, NULL: none. */
const char *repair_path_of(const struct repair *repair, uint32_t id);

bool repair_lossy(const struct repair *repair);     /* anything is lost, or in doubt */
/* Was the volume left cleanly, and is its root log whole? Then nothing is a guess. */
bool repair_clean(const struct repair *repair);

/* ---- a new volume ---------------------------------------------------------------------------- */

/*
 * Writes all into an empty volume, what can be trusted most first. `page`: a page buffer. What
 * there is no room for is left out (see repair_item). On an error `*failed` is the item's number.
 */
int repair_write(struct repair *repair, nf2_t *fs, void *page, unsigned *failed);
/* Compares a mounted volume with what was written: 0, or the first error (CORRUPT: it differs). */
int repair_verify(const struct repair *repair, nf2_t *fs, unsigned *failed);

#endif
