/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * space.h - blocks: claimed for a slot before use, handed out erased, freed when the record that dropped
 * them is durable; and the list of nodes whose records may say more about blocks than the meta log.
 * The rules are in docs/DESIGN.md ("Space, and what a cut may leave").
 */
#ifndef NF2FS_SRC_SPACE_H
#define NF2FS_SRC_SPACE_H

#include "meta.h"

#define NF2_SLOT_FULL 1         /* positive: the slot lists too many uncommitted runs */
#define NF2_CLAIM_BLOCKS 16u
#define NF2_ORPHANS_USED (NF2_ORPHANS_MAX - 2u)
#define NF2_FREED_KEPT 2u       /* places of the list of freed runs that the meta log needs for itself */

/* The first thing in idle time: refuses on a read-only volume, ends the clean state. */
int nf2_space_open(nf2_t *fs);

/* To be called first by each change: the same, and what calls to come may need at once is kept ready. */
int nf2_space_begin(nf2_t *fs);

/* Blocks kept back from file data, so that the tree and the logs can always be rewritten. */
static inline uint32_t nf2_space_reserve(const nf2_t *fs)
{
    return 6u + fs->blocks / 256u;
}

/* Blocks of the stock, where there is space: none on a small volume. */
static inline uint32_t nf2_space_stock_size(const nf2_t *fs)
{
    return nf2_min(NF2_STOCK_MAX, fs->blocks / NF2_REGION_BLOCKS);
}

/* What becomes of a group of blocks that a large erase takes: it is worth while to empty it, it is being emptied, it is. */
enum nf2_group_state { NF2_GROUP_NONE, NF2_GROUP_CHEAP, NF2_GROUP_VICTIM, NF2_GROUP_EMPTIED };

/* Blocks that file data may still take. */
uint32_t nf2_space_available(const nf2_t *fs);

/* Blocks that hold nothing. */
uint32_t nf2_space_free_blocks(const nf2_t *fs);

/* Have nodes to be packed closer than else? */
static inline bool nf2_space_scarce(const nf2_t *fs)
{
    return nf2_space_free_blocks(fs) <= nf2_space_reserve(fs);
}

/* Those of them that are erased. */
uint32_t nf2_space_erased_blocks(const nf2_t *fs);

/* Is there what the next cut, or change, may ask for: a stock of erased blocks, erased ones for nodes, a next block of the meta log that is erased? */
bool nf2_space_stocked(const nf2_t *fs);

/* Are blocks that the tree has claimed still to be erased? Then: how long takes the next erase, and that erase. */
bool nf2_space_dirty_claim(const nf2_t *fs);
uint32_t nf2_space_ready_us(const nf2_t *fs);
int nf2_space_ready_more(nf2_t *fs);

/* A step towards that, of one erase at most: 1, 0 if there is nothing to be done, or an error. */
int nf2_space_restock(nf2_t *fs);

/* Has a slot claimed the block without handing it out so far, or does it lie in the stock? */
bool nf2_space_claimed(const nf2_t *fs, uint32_t block);

/* The true state of a block that memory knows to be free while the meta log has it as used: DIRTY, ERASED, or -1 for all others. */
int nf2_space_held(const nf2_t *fs, uint32_t block);

/*
 * Hands out an erased block; claims about `want` more where the slot has none left. NF2_SLOT_FULL if the slot cannot
 * list a further run; NOSPC.
 */
int nf2_space_block(nf2_t *fs, unsigned slot, uint32_t want, uint32_t *block);

/* Erases the slot's next block, if it has one that is not: where it is bad, the slot has none afterwards. */
int nf2_space_ready(nf2_t *fs, unsigned slot);

/* A block for the tree and the logs: 0 or an error. */
int nf2_space_tree_block(nf2_t *fs, uint32_t *block);

/* The block that nf2_space_block would hand out next (for sure only behind nf2_space_ready), NF2_NONE if it would claim more first. */
uint32_t nf2_space_next(const nf2_t *fs, unsigned slot);

/* All blocks handed out on this slot are referenced by durable records, or are in the list of freed runs. */
void nf2_space_settle(nf2_t *fs, unsigned slot);

/* No groups of blocks are emptied any more. Were some? */
bool nf2_clean_stop(nf2_t *fs);

/* How many blocks of a slot were handed out and are not known to be committed. */
uint32_t nf2_space_handed_out(const nf2_t *fs, unsigned slot);

/* Frees the handed-out, uncommitted blocks of a slot (an aborted write), but for the first `kept` of them. */
int nf2_space_abandon(nf2_t *fs, unsigned slot, uint32_t kept);

/* Makes room for `runs` calls of nf2_space_free; may write a STATE. Is there room already? */
int nf2_space_prepare(nf2_t *fs, unsigned runs);
static inline bool nf2_space_prepared(const nf2_t *fs, unsigned runs)
{
    return fs->freed_count == 0 || fs->freed_count + runs <= NF2_FREED_MAX - NF2_FREED_KEPT;
}
/* The same behind a record that commits: see nf2_space_flush_early. */
int nf2_space_prepare_early(nf2_t *fs, unsigned runs);
void nf2_space_free(nf2_t *fs, uint32_t start, uint32_t count);

/* Erases free blocks, one or as many as a large erase takes (then maybe the first one only): durable, so that it is known after a cut too. Behind nf2_meta_prepare. */
int nf2_space_erase_free(nf2_t *fs, uint32_t start, uint32_t count);

/* Writes a STATE. */
int nf2_space_flush(nf2_t *fs);

/*
 * The same behind a record that commits, while memory does not know all that it means: blocks that it names are a slot's still, the batch
 * that it ends is pending. So is this STATE. Its node, which was touched last, is not replaced before the next one: recovery would not find the record.
 */
int nf2_space_flush_early(nf2_t *fs);

/* What was programmed to blocks that took the place of bad ones is durable now. To be called in front of each record that commits such, and behind it. */
static inline int nf2_space_keep(nf2_t *fs)
{
    return fs->bad_news && !NF2_BROKEN(NF2_FAULT_PLACE) ? nf2_space_flush_early(fs) : NF2_OK;
}

/* Gives back what slots claimed and did not hand out, but for one slot (NF2_SLOTS: for all). */
int nf2_space_return_unused(nf2_t *fs, unsigned except);

/*
 * Makes a run of erased blocks that the caller has chosen the slot's, instead of what that one claimed and did not use. All that it
 * handed out is referenced. 1, or 0: not now.
 */
int nf2_space_place(nf2_t *fs, unsigned slot, uint32_t start, uint32_t count);

/* Lists `node`, which ends at `end`, as touched, durably. Before a record with effects on space is appended to it. */
int nf2_space_touch(nf2_t *fs, uint32_t node, uint32_t end);
/* Is it listed already? Then it goes to the list's end, where the nodes in use are. */
bool nf2_space_touched(nf2_t *fs, uint32_t node);
/* The node ends at `end` now. */
void nf2_space_node_end(nf2_t *fs, uint32_t node, uint32_t end);
/* Before a node is replaced: writes a STATE if its records say more than the meta log. */
int nf2_space_settle_node(nf2_t *fs, uint32_t node);
void nf2_space_forget(nf2_t *fs, uint32_t node);

#endif
