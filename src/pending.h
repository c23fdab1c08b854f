/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pending.h - a change that a full leaf has no room for goes into the nodes that replace it: no program of its own.
 * Only for changes without effects on space: replacing a node commits them with nothing in the meta log.
 */
#ifndef NF2FS_SRC_PENDING_H
#define NF2FS_SRC_PENDING_H

#include "repack.h"

#define NF2_GROUP_MAX 6u        /* changes of one group */

enum nf2_change_type { NF2_CHANGE_PUT, NF2_CHANGE_DEL, NF2_CHANGE_MOVE_OUT };

/* One change of a group. A body's first span begins with the body's kind; it is in memory and holds what the body owns. */
struct nf2_tree_change {
    enum nf2_change_type type;
    struct nf2_key key;
    struct nf2_span body[2];
    uint8_t bodies;
};

struct nf2_pending {
    const struct nf2_tree_change *changes;
    unsigned count;
    const struct nf2_key *source;   /* a rename: the entry with this key, NULL: no rename */
    const struct nf2_key *target;   /* gets this one */
    uint16_t old[NF2_GROUP_MAX];    /* entries of the leaf that it replaces or removes: of each change, or source and target */
    bool done;                      /* afterwards: it was made */
    uint16_t offset;                /* and this is the place of the first change's entry */
    uint32_t node;
};

/* To be called first: looks for the entries that the change concerns. */
int nf2_pending_find(nf2_t *fs, struct nf2_pending *pending, uint32_t leaf);

/* Is there room for a part of a leaf, [low, high), with what the pending change makes of it? */
int nf2_pending_fits(nf2_t *fs, const struct nf2_pending *pending, uint32_t leaf, const struct nf2_key *low,
                     const struct nf2_key *high, bool *fits);

/* Copies that part as nf2_repack_copy does, without what the pending change removes or replaces, and with what it puts. */
int nf2_pending_copy(nf2_t *fs, struct nf2_writer *writer, struct nf2_pending *pending, uint32_t leaf, uint32_t to,
                     const struct nf2_key *low, const struct nf2_key *high);

#endif
