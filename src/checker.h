/* SPDX-License-Identifier: BSD-2-Clause */
/* checker.h - shared by the parts of the checker: blocks and logs (check.c), nodes and files (check_tree.c), ids (check_ids.c). */
#ifndef NF2FS_SRC_CHECKER_H
#define NF2FS_SRC_CHECKER_H

#include "descent.h"

struct check {
    void (*report)(void *context, const struct nf2_finding *finding);
    void *context;
    int wrong;
    bool unsettled;             /* read-only after a cut, or a batch waits: blocks, ids and maps cannot be judged yet */
    bool partial;               /* a node could not be read: what it holds is not known */
    uint8_t *work;              /* scratch: the tree buffer and what the caller gave beyond it */
    uint32_t room;              /* its bytes */
    uint32_t first;             /* of the window of blocks or ids that is in it */
    uint32_t count;             /* ids in it */
    bool moved;
};

void nf2_complain(struct check *check, enum nf2_finding_kind kind, uint32_t block, uint32_t id, uint32_t number);

/*
 * Visits each node that the root leads to, in order (`direction` NF2_ABOVE) or in reverse (NF2_BELOW), inner nodes first: the
 * path leads to it. With `report` it complains of what is no node, else passes over that.
 */
typedef int nf2_visit(nf2_t *fs, struct check *check, const struct nf2_path *path, int level);
int nf2_check_walk(nf2_t *fs, struct check *check, enum nf2_seek direction, bool report, nf2_visit *visit);

/* Calls back for each live entry of a node, body resolved, in no order; entries that cannot be read are left out. */
typedef int nf2_visit_entry(nf2_t *fs, struct check *check, const struct nf2_entry *entry);
int nf2_check_each(nf2_t *fs, struct check *check, uint32_t node, nf2_visit_entry *visit);

/* Nodes: order and form of their entries, names, content of files. */
int nf2_check_tree(nf2_t *fs, struct check *check);

/* Ids: each that has entries has one name, and the root leads to it. */
int nf2_check_ids(nf2_t *fs, struct check *check);

/* Is the id listed as one that no name leads to? */
static inline bool nf2_is_orphan(const nf2_t *fs, uint32_t id)
{
    for (unsigned i = 0; i < fs->orphan_count; i++) {
        if (fs->orphan[i] == id) {
            return true;
        }
    }
    return false;
}

#endif
