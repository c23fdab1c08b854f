/* SPDX-License-Identifier: BSD-2-Clause */
/* node.h - one node of the tree: its entries, as many as can be read. */
#ifndef REPAIR_NODE_H
#define REPAIR_NODE_H

#include "inside.h"

struct rep_slot {
    struct rep_entry entry;
    uint8_t type;
    bool base, alive;
};

struct rep_node {
    struct rep_slot *slot;      /* records in order of their places */
    size_t slots, slots_room;
    struct rep_entry **alive;   /* in order of their keys */
    size_t count;
    uint32_t block, level;
    uint16_t epoch, last_epoch; /* of the base, and of the last record */
    bool whole;                 /* as the core reads it, all is in order */
    unsigned lost;              /* places where records are lost */
    bool lost_tail;             /* some are lost among the changes, or in doubt */
};

#define REP_ANY_LEVEL 255u

/*
 * Reads a node. `base_end`: where the parent says that its base ends, 0: not known. False: there
 * is no node of this volume and level. To be freed in any case.
 */
bool rep_node_read(struct repair *repair, uint32_t block, uint32_t level, uint32_t base_end,
                   struct rep_node *node);
void rep_node_free(struct rep_node *node);

#endif
