/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pending.h - a GROUP that is committed and not applied: its changes as they lie in the root log,
 * and the tree as it will be when they are applied: whoever only reads sees that.
 */
#ifndef NF2FS_CORE_PENDING_H
#define NF2FS_CORE_PENDING_H

#include "tree.h"

#define NF2_GROUP_OP_HEAD 3u    /* kind, bytes of the body */

/* What fs->group_busy says. */
enum {
    NF2_GROUP_NONE = 0,
    NF2_GROUP_COMMITTED = 1,    /* applied before the call ends, or, if that fails, as LATER */
    NF2_GROUP_LATER = 2,        /* a call that may change something applies it, or idle time */
};

/* Reads the changes of a GROUP one after the other. */
struct nf2_group_reader {
    struct nf2_key key;         /* of the last one */
    uint16_t at;                /* in the record */
};
static inline void nf2_group_begin(struct nf2_group_reader *reader)
{
    reader->at = 2;
}

/*
 * The next change: 1, 0 at the end, or an error; VERSION: this library knows no such change. Its
 * body stays on the chip.
 */
int nf2_group_next(nf2_t *fs, struct nf2_group_reader *reader, struct nf2_op *op);

/* VERSION: among the changes is one that this library does not know. */
int nf2_group_known(nf2_t *fs);

#endif
