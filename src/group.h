/* SPDX-License-Identifier: BSD-2-Clause */
/* group.h - a group of records goes to the end of a node that is in use. */
#ifndef NF2FS_SRC_GROUP_H
#define NF2FS_SRC_GROUP_H

#include "node.h"

/* A group that recovery must look at is to be appended: the node is listed as touched first. */
int nf2_group_prepare(nf2_t *fs, uint32_t node);

/* Has the node room for the group (0)? Else the bytes that it takes, or an error. */
int nf2_group_lacks(nf2_t *fs, uint32_t node, const struct nf2_node_op *ops, unsigned count);

/* Appends the group; the caller has seen that it fits. `at`: where the node ends, 0: the caller does not know. */
int nf2_group_append(nf2_t *fs, uint32_t node, uint32_t at, struct nf2_node_op *ops, unsigned count, uint32_t mark);

#endif
