/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * space.h - what is in stock: the claims of writers, free regions, holes, and blocks that were
 * freed in this session; and how much of it is kept back from whom.
 */
#ifndef NF2FS_CORE_SPACE_H
#define NF2FS_CORE_SPACE_H

#include "holes.h"

/* Too little is in stock: a walk must end first (see collect.h). */
#define NF2_NEED_SPACE (-4)

/* A block that is no super block, and that the volume has. */
static inline bool nf2_space_usable(const nf2_t *fs, uint32_t block)
{
    return block >= NF2_SUPER_BLOCKS && block < fs->blocks;
}

/* Who takes blocks; each has a region of its own open. */
enum nf2_writer_kind {
    NF2_FOR_NODES,              /* and logs, and frames */
    NF2_FOR_DATA,
    NF2_FOR_MOVES               /* what a walk moves */
};

/* Blocks that are left in the region that a claim lies in, those of the claim included. */
uint32_t nf2_claim_rest(const nf2_t *fs, const struct nf2_claim *claim);

/*
 * Opens a free region for a writer, whose last one is used up; where regions are small, several
 * that lie side by side. The blocks that may be claimed, at most `most`; 0: no region is free. All
 * of that goes on record with the next CHECKPOINT, before anything of it is programmed [4].
 */
uint32_t nf2_claim_open(nf2_t *fs, struct nf2_claim *claim, uint32_t region, uint32_t most);

/* The regions that were opened last, of so many blocks, are free again: they are not on record. */
void nf2_claim_undo(nf2_t *fs, struct nf2_claim *claim, uint32_t blocks);

/*
 * The region that a writer should take next, in the first one of both states of free ones where
 * there is any: NF2_NO_REGION if none is free.
 */
uint32_t nf2_claim_choose(const nf2_t *fs, enum nf2_writer_kind who, enum nf2_region_state first);

/* Notes an erase: how often all blocks were erased, and which region's count is due. */
void nf2_space_erased(nf2_t *fs, uint32_t block, uint32_t count);

/* Has this session claimed so little that it may be one that is cut after a call or two? */
static inline bool nf2_space_young(const nf2_t *fs)
{
    return fs->space.claims < 3;
}

/* Takes blocks from the front of a claim, or (`count` of it being 0) of what follows it. */
void nf2_claim_take(struct nf2_claim *claim, uint32_t count);

/* After a cut: what was claimed may be in use. What follows it in its region is not. */
void nf2_claims_drop(nf2_t *fs);

/* Nothing that is free counts as erased any more. */
void nf2_space_doubt(nf2_t *fs);

/*
 * Blocks that nobody uses, as far as they are known: of free regions, of open ones, holes, and
 * blocks of replaced nodes.
 */
uint32_t nf2_space_stock(const nf2_t *fs);

/*
 * Blocks that the changes of one call may need for nodes; those that data does not take: these, and
 * room to empty a few regions; those that nf2_statfs does not promise.
 */
uint32_t nf2_space_kept(const nf2_t *fs);
uint32_t nf2_space_spare(const nf2_t *fs);
uint32_t nf2_space_reserve(const nf2_t *fs);
uint32_t nf2_space_available(const nf2_t *fs);

/* Something was taken or given up: another search for blocks may win something. */
void nf2_space_changed(nf2_t *fs);

/* Is it one of the bad blocks that are in no entry yet? */
bool nf2_space_bad_listed(const nf2_t *fs, uint32_t block);

/* Notes a bad block: never used again. It goes on record with the next CHECKPOINT. */
void nf2_space_bad(nf2_t *fs, uint32_t block);

/* It is on record elsewhere, the list need not hold it. */
void nf2_space_bad_done(nf2_t *fs, uint32_t block);

/* The block of a node or log that was replaced durably: free again in this session. */
void nf2_space_freed(nf2_t *fs, uint32_t block);

/* Takes one of these, NF2_NO_BLOCK if there is none; forgets them all, or those in victims. */
uint32_t nf2_freed_take(nf2_t *fs);
void nf2_freed_forget(nf2_t *fs);
void nf2_freed_purge(nf2_t *fs);

#endif
