/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * move.h - moves data out of groups that are being emptied: copies it, then changes the entry that
 * refers to it.
 */
#ifndef NF2FS_CORE_MOVE_H
#define NF2FS_CORE_MOVE_H

#include "content.h"

/* Does this piece lie in a group that is being emptied, or some of it? */
bool nf2_move_wanted(const nf2_t *fs, const struct nf2_piece *piece);

/*
 * Entries of one map in one leaf that refer to victims; the most that one change moves. More of
 * them save little: they would be stack of the deepest call.
 */
#define NF2_MOVED_PIECES 3u
struct nf2_wanted {
    uint32_t offset[NF2_MOVED_PIECES];
    uint32_t count;
};

/*
 * Moves what these entries refer to, with one change of their leaf as a rule; without any, what
 * the entry of a name with this key refers to. A step at a time: above 0 if something was moved,
 * 0 if there was nothing to move, or an error.
 */
int nf2_move(nf2_t *fs, const struct nf2_key *key, const struct nf2_wanted *wanted);

#endif
