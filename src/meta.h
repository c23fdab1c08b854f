/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * meta.h - the super log (two anchors) and the meta log: a window of blocks that holds the state of all
 * blocks (REGION pages and changes since) and the volatile state (STATE). docs/FORMAT.md, sections 2, 3, 6.
 */
#ifndef NF2FS_SRC_META_H
#define NF2FS_SRC_META_H

#include "bad.h"
#include "log.h"

#define NF2_REGIONS_MAX 512u
#define NF2_TURN_REGIONS 8u     /* REGION pages written anew at one turn of the log */
#define NF2_OPENING_PAGES 3u    /* at most, of the group that opens a block of the log: HEAD, CLAIM and STATE */
#define NF2_TURN_PAGES (NF2_OPENING_PAGES + NF2_TURN_REGIONS)   /* that a turn programs at most */

enum nf2_meta_type {
    NF2_META_HEAD = 1,
    NF2_META_STATE = 2,
    NF2_META_CLAIM = 3,
    NF2_META_TOUCH = 4,
    NF2_META_REGION = 5,
    NF2_META_REDO = 6,
    NF2_META_ORPHAN = 7
};

/* What happened to a run of blocks. The first three are the kinds of STATE's list of changes. */
enum nf2_change {
    NF2_FREED = 0,              /* free, to be erased before use */
    NF2_RETURNED = 1,           /* claimed, never programmed, still erased */
    NF2_ERASED = 2,             /* free, erased now */
    NF2_CLAIMED = 3,
    NF2_CLAIMED_DIRTY = 4,      /* to be erased before its first use: counts as an erase */
    NF2_LOST = 5                /* freed a moment ago, and bad */
};

#define NF2_BAD_OVER 0x800000u  /* flag in the number of a bad block in a STATE: its owner has freed it */
#define NF2_CLAIM_DIRTY 0x8000u /* flag in the count of a CLAIM record */

#define NF2_CHANGE_COUNT_MAX 0x3FFFu    /* blocks of a run in a STATE: what may be freed as one, an extent, an OWN entry, a slot's run, has no more */
#define NF2_STATE_CHANGES_MAX 9u

static inline uint32_t nf2_regions(const nf2_t *fs)
{
    return (fs->blocks + NF2_REGION_BLOCKS - 1) / NF2_REGION_BLOCKS;
}

/* Blocks of the window, head and tail included; how many there are to be. */
static inline uint32_t nf2_meta_window(const nf2_t *fs)
{
    return fs->meta_sequence - fs->meta_tail_sequence + 1u;
}

static inline uint32_t nf2_meta_limit(const nf2_t *fs)
{
    return nf2_regions(fs) / 4u + 2u;
}

/*
 * Free blocks that are the log's alone. Where the oldest block of the window holds more regions than one turn writes anew, the
 * window grows for some turns: until all regions are written, at most. And the first turn of all has nothing to give up.
 */
uint32_t nf2_meta_reserve(const nf2_t *fs);

/* By so much the window may be longer: a mount has no time to shorten it, later turns do. Where space is scarce it is reserved. */
static inline uint32_t nf2_meta_slack(const nf2_t *fs)
{
    return nf2_regions(fs) / (fs->free_blocks > nf2_regions(fs) ? 4u : 16u);
}

/* Fixed part of a STATE record, offsets in its payload; lists follow. */
#define NF2_STATE_FIXED 35u

/* Flags in its first byte. */
#define NF2_STATE_CLEAN 1u
#define NF2_STATE_NEXT_SUSPECT 2u
#define NF2_STATE_REDO_OWNED 4u

/*
 * So long may a STATE's payload be: 256 bytes (which must fit in the read buffer of the smallest page) and the list of touched nodes.
 * The same in all builds: it tells where turns may have been begun.
 */
#define NF2_STATE_TOUCHED (1u + 5u * NF2_TOUCHED_MAX)
#define NF2_STATE_MAX (256u + NF2_STATE_TOUCHED)

#define NF2_META_HEAD_PAYLOAD 15u

struct nf2_meta_head {
    uint32_t sequence, previous, next;
    uint16_t offset;            /* of its record */
};

/* The head of meta block `block`: 1, 0 if it is none of this volume, or an error. */
int nf2_meta_head(nf2_t *fs, uint32_t block, struct nf2_meta_head *head);

/* Calls back for each change to blocks in the window, oldest first. REGION pages come as `region` with their place. */
struct nf2_walk {
    int (*run)(nf2_t *fs, void *context, enum nf2_change change, uint32_t start, uint32_t count);
    int (*region)(nf2_t *fs, void *context, uint32_t region, uint32_t block, uint32_t offset);
    void *context;
    uint32_t block, index;      /* the meta block that is being walked; 0 for the oldest */
};
int nf2_meta_walk(nf2_t *fs, struct nf2_walk *walk);

/* One small record for nf2_meta_append. */
struct nf2_small {
    uint8_t type, length;
    uint8_t payload[11];
};

/* Appends a small record: one program, unless the block turns. */
int nf2_meta_append(nf2_t *fs, const struct nf2_small *record);

/* The same in two: the block turns if it has to for such a record, and what is appended then has room. */
int nf2_meta_prepare_small(nf2_t *fs, uint32_t length);
int nf2_meta_put(nf2_t *fs, const struct nf2_small *record);

/* Writes a STATE: all of the volatile state, and the freed runs (the list is empty afterwards). With `clean` the volume is marked as cleanly left. */
int nf2_meta_state(nf2_t *fs, bool clean);

/* The same where nf2_meta_prepare has made room, with `extra` changes. */
int nf2_meta_put_state(nf2_t *fs, bool clean, const struct nf2_run *extra, const enum nf2_change *kinds, unsigned count);

/* Is there room in the log's head for a STATE at this place? */
bool nf2_meta_room(const nf2_t *fs, uint32_t at);

/*
 * A program of the log failed. Was it that the head is a bad block? Then it takes nothing more: the log turns before the program is tried again.
 * The next block is erased by that turn: a mount after a cut in it finds the head with room, and cannot tell that the turn was begun. Or it finds
 * none, and does not try a program: the anchor tells.
 */
bool nf2_meta_head_bad(nf2_t *fs, int result);

/* The log's next block is bad: another one takes its place. NF2_ERR_IO: there is none. */
int nf2_meta_replace_next(nf2_t *fs);
/* For each page of the head that is begun: writes one of the REGION pages anew that the next turn would have to. */
int nf2_meta_renew(nf2_t *fs);

/* Turns the log where few pages are left, so that mounts after cuts find room. */
int nf2_meta_turn_early(nf2_t *fs);

/* Turns the log if the next STATE would: what is changed in memory before that STATE then gets to the chip with it, not with the turn's. */
int nf2_meta_prepare(nf2_t *fs);

/*
 * The first program of a mount: a STATE that is a pure function of what is on flash, its place included,
 * so that it may be cut and written again. Nothing else may be programmed before it.
 */
int nf2_meta_open(nf2_t *fs);

/* Writes a first meta block and the anchors of an empty volume (blocks are given in `fs`). */
int nf2_meta_format(nf2_t *fs, uint32_t claimed_blocks);

/* Reads the anchors, finds the head of the meta log and takes over its last STATE and what follows it. */
int nf2_meta_load(nf2_t *fs);

#endif
