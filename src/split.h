/* SPDX-License-Identifier: BSD-2-Clause */
/* split.h - room for a change: a full node is replaced by new ones. */
#ifndef NF2FS_SRC_SPLIT_H
#define NF2FS_SRC_SPLIT_H

#include "descent.h"
#include "pending.h"

/* Replaces the path's last node (and, where they lack room, nodes above it first), so that a change of `need`
 * bytes with the key `hint` fits. Once it returned, look for the way anew. `pending` (NULL: none) is that change, to be
 * made on the way if it can be. */
int nf2_tree_make_room(nf2_t *fs, struct nf2_path *path, const struct nf2_key *hint, uint32_t need, struct nf2_pending *pending);

/* Replaces the path's last node, or first one above it that lacks room for that, with no other purpose than that its block is freed. */
int nf2_tree_rewrite(nf2_t *fs, struct nf2_path *path);

#endif
