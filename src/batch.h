/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * batch.h - changes in several leaves as one: written into a block of their own, committed by one REDO
 * record, then applied one after the other. At most one batch is committed and not yet applied.
 */
#ifndef NF2FS_SRC_BATCH_H
#define NF2FS_SRC_BATCH_H

#include "index.h"

/* Kinds of records in a batch block: written as node records of these types, without references. */
#define NF2_BATCH_PUT NF2_NODE_PUT
#define NF2_BATCH_DEL NF2_NODE_PUTK
#define NF2_BATCH_MOVE_OUT NF2_NODE_REN

/* A batch that is being written: not committed, and nothing else depends on it. */
struct nf2_batch {
    uint32_t first, block;      /* NF2_NONE: empty */
    uint32_t end;               /* place of the next operation in `block` */
    uint32_t count;             /* of the operations */
};

struct nf2_batch nf2_batch_empty(void);

/* Adds operations as one group, in blocks of the tree's slot. */
int nf2_batch_append(nf2_t *fs, struct nf2_batch *batch, const struct nf2_node_op *changes, unsigned count);

/* Adds an entry of the map. */
int nf2_batch_item(nf2_t *fs, struct nf2_batch *batch, uint32_t id, const struct nf2_item *item);

/* Adds operations as one group. 1 if they need a (further) block: give one with nf2_batch_extend and try again. */
int nf2_batch_add(nf2_t *fs, struct nf2_batch *batch, const struct nf2_node_op *changes, unsigned count);
int nf2_batch_extend(nf2_t *fs, struct nf2_batch *batch, uint32_t block);

/* Blocks by which many operations make a map grow, besides the first one in each leaf: half a leaf takes so many at least. */
static inline uint32_t nf2_batch_growth(uint32_t count)
{
    return count / 16u;
}

/* Is a batch committed and not yet applied? */
static inline bool nf2_batch_waits(const nf2_t *fs)
{
    return fs->redo_block < fs->blocks;
}

/*
 * Commits, durably; NOSPC: there is no room to apply it, and nothing has changed. `owned`: its blocks belong to a file (else to the
 * batch, and are freed). `slot`: the writer whose blocks the batch makes somebody's: they leave the slot with the commit, before any
 * STATE (NF2_TREE_SLOT: none). Nothing else in the tree may be looked at or changed before it is applied.
 */
int nf2_batch_commit(nf2_t *fs, struct nf2_batch *batch, bool owned, unsigned slot);

/*
 * Applies the batch that is committed, if one is. The callers of what commits do that when it has returned, as this is
 * where the stack grows most. `where` (may be NULL): the entry that the first operation made.
 */
int nf2_batch_apply(nf2_t *fs, struct nf2_entry *where);

/*
 * Is one committed that cannot be applied (a read-only mount after a cut, a driver that failed)? It may be applied in part:
 * readers look into it, too, so that they see all of it or nothing.
 */
static inline bool nf2_batch_shows(const nf2_t *fs)
{
    return nf2_batch_waits(fs) && fs->redo_logged && (fs->read_only || fs->broken);
}

/* Was what lies under this key moved by such a batch, and is it at its new place already? */
int nf2_batch_moved(nf2_t *fs, const struct nf2_key *key);

/* Size of an indexed file, such a batch included. */
int nf2_batch_size(nf2_t *fs, uint32_t id, uint32_t *size);

/* The operations of a batch, one after the other, over its blocks: 1, 0 at the end, or an error. */
int nf2_batch_next(nf2_t *fs, struct nf2_scan *scan, struct nf2_entry *op);

/*
 * Makes the changes in one leaf if they lie in one: all or nothing, durable when it returns. Else NF2_SPANS_LEAVES: they are in a
 * batch, for nf2_batch_commit (not called from here: what the caller built the changes from need not lie below it on the stack).
 */
int nf2_batch_change(nf2_t *fs, struct nf2_node_op *changes, unsigned count, struct nf2_batch *batch, struct nf2_entry *where);

/* Was the batch that a cut left committed applied to its end? False if there is none. */
int nf2_batch_is_applied(nf2_t *fs, bool *applied);

/* Applies a batch that a cut left committed: before anything in the tree is looked at or changed. Does nothing if there is none. */
int nf2_batch_finish(nf2_t *fs);

#endif
