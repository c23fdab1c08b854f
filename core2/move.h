/* SPDX-License-Identifier: BSD-2-Clause */
/* move.h - moves data out of groups that are being emptied: copies it, then changes the entry that refers to it. */
#ifndef NF2FS_CORE_MOVE_H
#define NF2FS_CORE_MOVE_H

#include "content.h"

/* Does this piece lie in a group that is being emptied, or some of it? */
bool nf2_move_wanted(const nf2_t *fs, const struct nf2_piece *piece);

/* Moves what the entry with this key refers to, a step at a time: 1 if something was moved, 0 if there was nothing to move, or an error. */
int nf2_move(nf2_t *fs, const struct nf2_key *key, bool in_map);

#endif
