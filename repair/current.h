/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * current.h - which nodes of a damaged image make the tree: those that the root leads to, and where nodes on the way are lost,
 * those that nothing leads to any more and whose blocks are in use.
 */
#ifndef REPAIR_CURRENT_H
#define REPAIR_CURRENT_H

#include "metalog.h"
#include "nodes.h"

enum rep_role {
    REP_NONE,
    REP_COPY_NODE,              /* given up: what it holds is older than what followed */
    REP_FOUND_NODE,             /* nothing leads to it, but it belongs where the tree has a hole */
    REP_TREE_NODE
};

/* Keys of which the tree leads nowhere, or not surely to all: [low, high). */
struct rep_hole {
    struct rep_key low, high;
    bool bounded;               /* `high` counts */
    bool sure;                  /* a node is lost; else a record in a node above */
    bool closed;                /* all that belongs here was found */
    bool records;               /* the leaf is there, and only records of it are lost */
    bool guess;                 /* nothing may be lost here, but the tree may be an older one: what else there is, is looked at */
    uint8_t level;              /* of what is lost, at most */
    uint32_t block;             /* of it, NF2_NONE: not known */
};

struct rep_tree {
    struct rep_image *image;
    struct rep_meta *meta;
    struct rep_node **node;     /* of each block; NULL: not looked at */
    uint8_t *role;              /* of each block, enum rep_role */
    uint8_t *doubt;             /* of each block, enum rep_trust: how sure it is that this node belongs where it is */
    bool *replaced;             /* blocks that a node above names as replaced */
    struct rep_hole *hole;
    unsigned holes;
    struct rep_hole *torn;      /* keys of leaves with what looks like an unfinished write: no holes, but something may be lost there */
    unsigned torns;
    uint32_t root;              /* NF2_NONE: none */
};

void rep_tree_find(struct rep_image *image, struct rep_meta *meta, struct rep_tree *tree);

/*
 * Where all that the meta log says is exact: nodes in use that nothing leads to and that no file owns (blocks that `owned` marks) are of
 * the tree, and what led to them is lost without a trace. That is a hole, too.
 */
void rep_tree_strays(struct rep_tree *tree, const bool *owned);

/* Looks for nodes that belong into the holes, among blocks that `owned` does not mark; `headless`: those without a head too. */
void rep_tree_fill(struct rep_tree *tree, const bool *owned, bool headless);

/* Reads the nodes that were given up and may hold copies of what is lost in holes. */
void rep_tree_copies(struct rep_tree *tree, const bool *owned);

/* A hole that the key lies in, NULL: none. `open`: of lost nodes only, that are not closed. */
const struct rep_hole *rep_in_hole(const struct rep_tree *tree, const struct rep_key *key, bool open);
/* A hole that is not closed and that any key of [low, high] lies in. */
const struct rep_hole *rep_hole_between(const struct rep_tree *tree, const struct rep_key *low, const struct rep_key *high);

/* Is there such a leaf between two keys? */
bool rep_torn_between(const struct rep_tree *tree, const struct rep_key *low, const struct rep_key *high);

void rep_tree_free(struct rep_tree *tree);

#endif
