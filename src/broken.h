/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * broken.h - faults for the proof that the power-cut tests find them. In a build with NF2_BREAKABLE
 * the core breaks one rule of its own: the one that the program names in nf2_break. In all others
 * NF2_BROKEN is a constant 0, and nothing of it is in the code. The number in brackets is the
 * invariant in docs/DESIGN.md that a fault breaks.
 */
#ifndef NF2FS_CORE_BROKEN_H
#define NF2FS_CORE_BROKEN_H

#ifdef NF2_BREAKABLE
extern unsigned nf2_break;
#define NF2_BROKEN(fault) (nf2_break == (unsigned)(fault))
#else
#define NF2_BROKEN(fault) 0
#endif

enum nf2_fault {
    NF2_FAULT_NONE = 0,
    NF2_FAULT_WHOLE = 1,            /* [1] the first records of a group that
                                       a cut broke off count */
    NF2_FAULT_EPOCH = 2,            /* [2] an unclean mount goes on in the old epoch */
    NF2_FAULT_SKIP = 3,             /* [2] an append does not give up pages that
                                       a cut may have torn */
    NF2_FAULT_ONCE = 4,             /* [2] units that are programmed once:
                                       a session goes on behind a cut one in the root log */
    NF2_FAULT_OPENING = 5,          /* [3] a session begins without a CHECKPOINT */
    NF2_FAULT_CLAIM = 6,            /* [4] blocks are programmed that are not on
                                       record as claimed */
    NF2_FAULT_ERASE = 7,            /* [4] a claim is used before its erase */
    NF2_FAULT_NEXT = 8,             /* [4] the root log goes on in a block that was not erased */
    NF2_FAULT_SUSPECT = 9,          /* [4] a mount forgets that a cut may have torn something
                                       into the log's next block */
    NF2_FAULT_AHEAD = 10,           /* [4] a region is on record as erased before it is */
    NF2_FAULT_ANCHOR = 11,          /* [5] an anchor goes to the block of the last one,
                                       which is erased when it is full */
    NF2_FAULT_TURN = 12,            /* [5] the root log turns without an anchor,
                                       and nothing makes up for it */
    NF2_FAULT_GROUP = 13,           /* [6] the records of one change count one by one */
    NF2_FAULT_LEAVES = 14,          /* [6] a change of several leaves is made without
                                       a GROUP on record */
    NF2_FAULT_REDO = 15,            /* [7] a GROUP that a cut left committed is not applied */
    NF2_FAULT_DONE = 16,            /* [7] a GROUP that is applied is not put on record as done */
    NF2_FAULT_DONE_FIRST = 17,      /* [7] a GROUP is on record as done before it is applied */
    NF2_FAULT_BARRIER = 18,         /* [8] a reference behind the walk's cursor is not marked */
    NF2_FAULT_PIN = 19,             /* [9] what open handles hold and no entry has is not pinned */
    NF2_FAULT_VICTIMS = 21,         /* [10] a region is taken before the walk that
                                       empties it has ended */
    NF2_FAULT_MOVED = 22,           /* [10] what a step moved is not looked at again:
                                       the rest of it counts as free */
    NF2_FAULT_FREED = 23,           /* [11] a node's block is used again before the record
                                       that replaces it */
    NF2_FAULT_GROWS = 24,           /* [12] a cut does not write the true length
                                       of the last piece */
    NF2_FAULT_RANGE = 25,           /* [12] a change leaves older pieces in
                                       the range that it covers */
    NF2_FAULT_SHADOW = 26,          /* [13] a shadow is filled that is no orphan on record */
    NF2_FAULT_ORPHAN = 27,          /* [13] the shadow of an open handle is removed as an orphan */
    NF2_FAULT_REPLACED = 28,        /* [13] the map that a new one replaces does
                                       not become an orphan */
    NF2_FAULT_KEPT = 29,            /* [14] no blocks are kept for nodes */
    NF2_FAULT_ID = 30,              /* [15] a mount gives ids again that the session
                                       before may have given */
    NF2_FAULT_BAD = 31,             /* [16] a failed block is not put on record */
    NF2_FAULT_FAILED = 32,          /* [16] a page of data that failed is not written elsewhere */
    NF2_FAULT_TAIL = 33,            /* [16] a node whose tail failed stays where it is */
    NF2_FAULT_EARLY_SYNC = 34       /* a sync returns before its program;
                                       the close makes up for it */
};

#endif
