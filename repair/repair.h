/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * repair.h - what can be saved from a damaged image of a volume, and a new volume made of it. For hosts: it takes the heap, and
 * holds the whole image in memory. The image is only read.
 *
 *     struct repair *repair = repair_open(bytes, &geometry);
 *     for (i = 0; i < repair_count(repair); i++) ... repair_item(repair, i)
 *     repair_write(repair, &fs, page)     into an empty volume that is mounted for writing
 *     repair_close(repair);
 */
#ifndef NF2FS_REPAIR_H
#define NF2FS_REPAIR_H

#include <stdbool.h>
#include <stdint.h>

#include "nf2fs/nf2fs.h"

#ifdef __cplusplus
extern "C" {
#endif

struct repair_geometry {
    uint32_t size, block_size, page_size, program_unit;     /* bytes */
};

struct repair;

/* NULL: nothing of a volume is in the image. */
struct repair *repair_open(const uint8_t *bytes, const struct repair_geometry *geometry);
void repair_close(struct repair *repair);

/* How much a file or directory can be trusted. From REPAIR_OUTDATED on it is written under its name with ".damaged" behind it. */
enum repair_state {
    REPAIR_WHOLE,               /* as it was */
    REPAIR_UNSURE,              /* as it was, as far as can be told: newer content may be lost without a trace (the meta log is damaged, or
                                   what looks like a write that a power cut left unfinished is one that was damaged later) */
    REPAIR_DOUBTFUL,            /* a lost record may have replaced, renamed or removed it: it may be older than it was, or have been removed */
    REPAIR_FOUND,               /* whole, but its name is lost: in /lost+found */
    REPAIR_OUTDATED,            /* it is older than it was: the newest record of it is there and cannot be read */
    REPAIR_COPY,                /* it is older than it was, or was removed: from a part of the tree that was given up */
    REPAIR_DAMAGED,             /* parts of it are lost: zeros stand in for them, or its end is missing */
    REPAIR_LOST,                /* its name is all that is left: nothing is written */
    REPAIR_STATES
};

struct repair_item {
    const char *path;           /* names with '/' in front of each; where it is written */
    enum nf2_type type;
    enum repair_state state;
    uint32_t size;              /* bytes of a file */
    uint32_t lost;              /* of these */
    bool lost_end;              /* there was more, or there may have been */
    bool left_out;              /* repair_write could not write it, for want of room */
};

/* Directories come before what is in them. */
unsigned repair_count(const struct repair *repair);
const struct repair_item *repair_item(const struct repair *repair, unsigned number);

/* Bytes of a file that are lost: the `number`th range; false: there are no more. */
bool repair_lost_range(const struct repair *repair, unsigned item, unsigned number, uint32_t *from, uint32_t *to);

/* Reads a file's bytes, zeros for what is lost; how many. */
uint32_t repair_read(const struct repair *repair, unsigned item, uint32_t at, void *data, uint32_t length);

/* Bytes of a file that no check covers: what was read there is what lies there, right or wrong. */
uint32_t repair_unchecked(const struct repair *repair, unsigned item);

/* What was found on the way. */
enum repair_note_kind {
    REPAIR_NOTE_SUPER,          /* both copies of the super log are lost */
    REPAIR_NOTE_META,           /* the meta log is damaged in `number` places, or a part of it is gone: the state of blocks is not sure */
    REPAIR_NOTE_NODE,           /* a node is lost (`block`, UINT32_MAX: not known which); the names in it lie between `from` and `to` */
    REPAIR_NOTE_RECORDS,        /* `number` records in the node in `block` are lost; what is left there lies between `from` and `to` */
    REPAIR_NOTE_MENDED,         /* `number` bits in the log in `block` were mended */
    REPAIR_NOTE_UNFINISHED,     /* what looks like an unfinished write is in the node in `block`: nothing is lost by that */
    REPAIR_NOTE_BATCH,          /* `number` operations of a committed change are lost */
    REPAIR_NOTE_NAME,           /* a name that no path can have was changed: `from` */
    REPAIR_NOTE_SHARED,         /* two names for the same, or two owners of a block: `from` went without */
    REPAIR_NOTE_BLOCKS,         /* `number` blocks from `block` on hold data of files that no entry leads to */
    REPAIR_NOTE_MAZE,           /* not all nodes were compared with each other */
    REPAIR_NOTE_KINDS
};

struct repair_note {
    enum repair_note_kind kind;
    uint32_t block, number;
    const char *from, *to;      /* NULL: none */
};

unsigned repair_notes(const struct repair *repair);
const struct repair_note *repair_note(const struct repair *repair, unsigned number);
const char *repair_note_text(enum repair_note_kind kind);
const char *repair_state_text(enum repair_state state);

/* Is anything lost, or in doubt? */
bool repair_lossy(const struct repair *repair);

/* Was the volume left cleanly, and is its meta log whole? Then nothing is a guess. */
bool repair_clean(const struct repair *repair);

/* The path of the directory (the root: "") or indexed file with this id, NULL: none. */
const char *repair_path_of(const struct repair *repair, uint32_t id);

/*
 * Writes all into an empty volume, what can be trusted most first. `page`: a page buffer. What there is no room for is left out (see
 * repair_item). On an error `*failed` is the number of the item.
 */
int repair_write(struct repair *repair, nf2_t *fs, void *page, unsigned *failed);

/* Compares a mounted volume with what was written to it: 0, or the error of the first difference (NF2_ERR_CORRUPT: other content). */
int repair_verify(const struct repair *repair, nf2_t *fs, unsigned *failed);

#ifdef __cplusplus
}
#endif
#endif
