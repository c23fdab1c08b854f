/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * following.h - what comes next in a node, several entries ahead: a walk over the leaves below it looks through it once
 * for some of them.
 */
#ifndef NF2FS_SRC_FOLLOWING_H
#define NF2FS_SRC_FOLLOWING_H

#include "node.h"

/*
 * The places of the live entries with the smallest keys above `key`, in order: how many, or an error. They are fewer than
 * NF2_FOLLOWING where the node has no more, or where the next one's key is longer than a number.
 */
#define NF2_FOLLOWING 6u
int nf2_node_following(nf2_t *fs, uint32_t node, const struct nf2_key *key, uint16_t *place);

#endif
