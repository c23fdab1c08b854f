/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * session.h - a volume whose power is cut: calls, cuts and mounts in one list, each judged.
 *
 *     open 0 18 0 =a           calls as everywhere
 *     cut 1 3 77 =128,0F,0,0   the power goes at the third program or erase from here on
 *     write 0 300 5
 *     sync 0 0 0               ... say here: the call is cut
 *     look 0 0 0               a read-only mount of what the cut left
 *     cut 0 1 78 =0,00,0,2     the next one comes in the mount
 *     mount 0 0 0
 *     mount 0 0 0              comes through: the tree must be that before or that after the call that was cut
 *
 *     fail 0 7 2               the seventh call of the driver in the next call fails, and the two behind it
 *     write 0 300 5            it says so: the tree is as before or as after it, and all goes on, or the next call mounts
 *
 * Any other call while the volume is down mounts it first; where that mount is cut the call is left out. So each part of
 * a list is a list that makes sense, and a failing one can be made shorter.
 */
#ifndef SESSION_H
#define SESSION_H

#include "rig.h"
#include "tally.h"

struct session {
    struct rig rig;
    struct tally *tally;            /* of this process; never NULL */
    bool quick;                     /* after a cut only the tree is compared; nf2_check is left to the end of the list */
    bool down;                      /* the power went: the next call mounts */
    bool closed;                    /* a bad block is where nothing takes its place: the volume is for reading only, and left alone */
    bool unmounts;                  /* what a failed call of the driver breaks is unmounted first */
    unsigned depth;                 /* cuts since a mount came through */
    unsigned cuts;                  /* in this session */
    struct image before, after;     /* while down: what may be found */
    struct vflash_cut cut;          /* the one that is armed, or was the last */
    struct vflash_operation operation;  /* the last one that the chip saw */
    void (*watch)(void *context, const struct vflash_operation *operation);     /* optional: sees each operation */
    void *watch_context;
};

/* Makes a chip, formats, mounts. False: failure (see rig.failure); session_free is needed all the same. */
bool session_init(struct session *session, struct tally *tally, const struct vflash_chip *chip, int format_flags);
void session_free(struct session *session);

/* A test goes back to an earlier state of chip and model: no cut is armed, the volume is up. */
void session_forget(struct session *session);

/* RIG_OK: right, also where the power went. RIG_WRONG: see rig.failure. */
enum rig_result session_call(struct session *session, const struct call *call);

/* A cut as a call; and back: false where the call is none. Its path: byte, mask (hexadecimal), shuffle, what becomes of an erase. */
void cut_add(struct call_list *list, const struct vflash_cut *cut, bool jump);
bool cut_of(const struct call *call, struct vflash_cut *cut);

#endif
