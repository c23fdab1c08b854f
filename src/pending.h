/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pending.h - a change that a full leaf has no room for goes into the nodes that replace it: no program of its own.
 * Only for changes without effects on space: replacing a node commits them with nothing in the meta log.
 */
#ifndef NF2FS_SRC_PENDING_H
#define NF2FS_SRC_PENDING_H

#include "repack.h"

#define NF2_GROUP_MAX 7u        /* changes of one group */

/* Changes of one leaf that are made together, and what came of it. */
struct nf2_pending {
    struct nf2_node_op *ops;        /* what they kill is set once try after try */
    unsigned count;
    uint32_t mark;                  /* sequence of the batch that is done with them (0: none) */
    const struct nf2_key *source;   /* of a REN: the entry with this key; else NULL */
    uint32_t leaf;                  /* that all their keys are known to lie in; 0: not known */
    bool done;                      /* afterwards: made while the leaf was replaced, */
    uint16_t offset;                /* and this is the place of the first one's entry */
    uint32_t node;
};

/* Is there room for a part of a leaf, [low, high), with what the pending change makes of it? */
int nf2_pending_fits(nf2_t *fs, const struct nf2_pending *pending, uint32_t leaf, const struct nf2_key *low,
                     const struct nf2_key *high, bool *fits);

/*
 * Copies the live entries of that part, but for those that the pending change (NULL: none) removes or replaces; open handles
 * follow them. And what it puts there.
 */
int nf2_pending_copy(nf2_t *fs, struct nf2_writer *writer, const struct nf2_pending *pending, uint32_t node, uint32_t to,
                     const struct nf2_key *low, const struct nf2_key *high);
int nf2_pending_put(nf2_t *fs, struct nf2_writer *writer, struct nf2_pending *pending, uint32_t leaf, uint32_t to,
                    const struct nf2_key *low, const struct nf2_key *high);

#endif
