/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * space.h - which blocks may be taken. Nobody records that a block is free: free is what the tree
 * does not reach. Of two windows of blocks the used ones are known: `now` is taken from, `mark` is
 * being marked and emptied.
 */
#ifndef NF2FS_CORE_SPACE_H
#define NF2FS_CORE_SPACE_H

#include "flash.h"
#include "format.h"

/* The window has too little left: a walk must end first (see sweep.h). */
#define NF2_NEED_SPACE (-4)

/* A block that is no super block, and that the volume has. */
static inline bool nf2_space_usable(const nf2_t *fs, uint32_t block)
{
    return block >= NF2_SUPER_BLOCKS && block < fs->blocks;
}

static inline uint32_t nf2_windows(const nf2_t *fs)
{
    return fs->windows;
}

/* Blocks of a group, which is erased as a whole ahead of need. A window has NF2_GROUPS of them. */
static inline uint32_t nf2_group_blocks(const nf2_t *fs)
{
    return fs->group_blocks;
}

/* Blocks of one large erase; those of a group where the chip has none. */
uint32_t nf2_part_blocks(const nf2_t *fs);

/* The block is used from now on, in whichever window it lies; its cell is no victim any more. */
void nf2_space_use(nf2_t *fs, uint32_t block, uint32_t count);

/* So many free blocks are used from now on: the counts of free ones. */
void nf2_space_taken(nf2_t *fs, uint32_t count);

/* Blocks are used, and those of them that `now` had as free count as taken. */
void nf2_space_take(nf2_t *fs, uint32_t block, uint32_t count);

/* The walk reaches this block: is it the first time? */
bool nf2_space_mark(nf2_t *fs, uint32_t block);

/* In how many parts of a block live data is counted; so many bytes of a block are live. */
uint32_t nf2_space_parts(const nf2_t *fs);
void nf2_space_live(nf2_t *fs, uint32_t block, uint32_t bytes);

/* Something was taken or given up that only a lap of walks finds again. */
void nf2_space_changed(nf2_t *fs);

/* Does this block lie in a cell that is being emptied? */
bool nf2_space_victim(const nf2_t *fs, uint32_t block);

/*
 * Clears the bits of a window, but those of blocks that the volume does not have, and of the super
 * blocks.
 */
void nf2_space_clear(const nf2_t *fs, uint8_t *bits, uint32_t window);

/* Free blocks of `now` from number `at` on, up to `limit`: those side by side. */
uint32_t nf2_space_run(const nf2_t *fs, uint32_t at, uint32_t limit);

/* Free blocks that `bits` of a window have. */
uint32_t nf2_space_count(const uint8_t *bits);

/*
 * A run of free blocks of `now`, at most `most`: their number, 0 if there is none. One behind
 * `*start` if there is any, so that all free blocks are taken in turn. Of parts that one large
 * erase takes as a whole, of worn groups or of others; or of what is left of parts in use. Where
 * there are none, of the others; where they are the last ones, also of worn groups, and of victims.
 */
enum nf2_space_of { NF2_SPACE_WHOLE, NF2_SPACE_WORN, NF2_SPACE_RESTS };
uint32_t nf2_space_find(nf2_t *fs, uint32_t most, enum nf2_space_of of, uint32_t *start);

/* So many of these blocks, from the first one on, are on record as erased. */
uint32_t nf2_space_erased(const nf2_t *fs, uint32_t start, uint32_t count);

/* Takes the last block of a claim; `*suspect`: it is not erased. */
uint32_t nf2_claim_last(struct nf2_claim *claim, bool *suspect);

/*
 * Do these blocks begin a group of `now` of which all others are free, and not on record as erased?
 * A cut in an erase of those would leave them so.
 */
bool nf2_space_rest_free(const nf2_t *fs, uint32_t start, uint32_t count);

/* Bit of the group of `now` that a block lies in; 0 if it lies elsewhere. */
uint32_t nf2_space_group(const nf2_t *fs, uint32_t block);

/*
 * Blocks that data does not take: those that the changes of one call may need for nodes, and room
 * to empty a cell.
 */
uint32_t nf2_space_spare(const nf2_t *fs);

/* Blocks that data may have to leave in other windows: in each what nodes need. */
static inline uint32_t nf2_space_elsewhere(const nf2_t *fs)
{
    return (fs->blocks - 1) / NF2_WINDOW_BLOCKS * 16u;
}

/* Blocks that the changes of one call may need for nodes. */
uint32_t nf2_space_kept(const nf2_t *fs);

/*
 * Blocks that no one uses, claimed ones included; those that are kept back for the tree, for
 * deletions and for promises, and (`all`) what data cannot get in other windows; the rest.
 */
uint32_t nf2_space_total(const nf2_t *fs);
uint32_t nf2_space_reserve(const nf2_t *fs, bool all);
uint32_t nf2_space_available(const nf2_t *fs);

/* Those of them that are claimed, or freed. */
uint32_t nf2_space_claimed(const nf2_t *fs);

/* Is it one of the bad blocks that are in no entry yet? */
bool nf2_space_bad_listed(const nf2_t *fs, uint32_t block);

/* The block of a node or log that was replaced durably: free again in this session. */
void nf2_space_freed(nf2_t *fs, uint32_t block);

/* A session ends: such blocks are free for the next one, too. */
void nf2_space_return(nf2_t *fs);

#endif
