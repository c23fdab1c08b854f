/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * broken.h - faults for the proof that the power-cut tests find them: with -DNF2_BREAK=N the core breaks one rule of its own.
 * Otherwise NF2_BROKEN is a constant 0, and nothing of it is in the code.
 */
#ifndef NF2FS_BROKEN_H
#define NF2FS_BROKEN_H

#ifndef NF2_BREAK
#define NF2_BREAK 0
#endif

#define NF2_BROKEN(fault) (NF2_BREAK == (fault))

enum nf2_fault {
    NF2_FAULT_NONE = 0,
    NF2_FAULT_CLAIM = 1,            /* blocks are used without a CLAIM */
    NF2_FAULT_TOUCH = 2,            /* a node is changed without a TOUCH */
    NF2_FAULT_FREE_FIRST = 3,       /* a STATE lists blocks as freed before the record that drops them is written */
    NF2_FAULT_REUSE = 4,            /* freed blocks are taken again before a STATE lists them */
    NF2_FAULT_REDO_FIRST = 5,       /* REDO is written before the last operation of its batch */
    NF2_FAULT_ORPHAN = 6,           /* a file is filled under an id without an ORPHAN record */
    NF2_FAULT_PARENT_FIRST = 7,     /* a parent names new nodes before they are written */
    NF2_FAULT_OPENING = 8,          /* a session begins without a STATE */
    NF2_FAULT_EPOCH = 9,            /* an unclean mount goes on in the old epoch */
    NF2_FAULT_EARLY_SYNC = 10,      /* a sync returns before the program; the close makes up for it */
    NF2_FAULT_SLOTS = 11,           /* recovery forgets claimed blocks instead of freeing them */
    NF2_FAULT_REPLAY = 12,          /* recovery does not look at the touched nodes' records */
    NF2_FAULT_BATCH = 13,           /* a batch that a cut left committed is not applied */
    NF2_FAULT_SETTLE = 14,          /* a node is replaced while its records are unsettled */
    NF2_FAULT_GROUP = 15,           /* records of a group count one by one */
    NF2_FAULT_SUSPECT = 16,         /* the meta log's next block is taken as if no cut could have torn anything into it */
    NF2_FAULT_PAGES = 17,           /* an append does not give up pages that a cut may have torn */
    NF2_FAULT_ERASED = 18,          /* a block is recorded as erased before its erase */
    NF2_FAULT_ANCHOR = 19,          /* the block that the anchor names is given up before a new anchor is written */
    NF2_FAULT_CLEAN = 20,           /* the STATE of a session's end is written before what it lost is freed */
    NF2_FAULT_DATA_LAST = 21,       /* the entry of a flat file is written before its last page */
    NF2_FAULT_MARK = 22,            /* an applied batch is not marked as such */
    NF2_FAULT_HALF = 23,            /* the first half of a frame counts alone */
    NF2_FAULT_PLACE = 24            /* what lies in place of a bad block is committed before that is on record */
};

#endif
