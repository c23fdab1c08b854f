/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * core_traits.h - what the tests need to know of the core that they run over (NF2FS_CORE): what it
 * promises, and the few things that no public call tells. All else in harness/, unit/, torture/ and
 * fuzz/ is the same for both cores.
 *
 * The functions are in core1/core_traits.c for the first core, in harness/core_traits.c for the
 * second one.
 */
#ifndef CORE_TRAITS_H
#define CORE_TRAITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nf2fs/nf2fs.h"

#ifndef NF2FS_CORE
#error "NF2FS_CORE is to be set by the build: the core that is tested"
#endif

#if NF2FS_CORE == 1

/* nf2_statfs gives the number of free blocks exactly, whatever happened. */
#define CORE_FREE_EXACT true
/* nf2_block_state and nf2_health count the erases of each block. */
#define CORE_WEAR_EXACT true
/* Removed files whose blocks are not free yet, at most. */
#define CORE_PENDING_MAX NF2_ORPHANS_MAX
/* Bytes of a file beyond a page for which it takes no block of its own. */
#define CORE_INLINE_MORE NF2_INLINE_MORE
/* Files open for writing at a time. */
#define CORE_WRITERS NF2_WRITERS
/* A new file with a name of more bytes than this is durable, empty, at once; with `maybe` fewer bytes that depends on its content. */
#define CORE_NAME_WAITS(page_size) ((page_size) - 64u)
#define CORE_NAME_MAYBE 64u
/* What nf2_sync of a file that is open for reading answers. */
#define CORE_SYNC_OF_READER NF2_ERR_BADF
/* Blocks that a format erases, and does not put on record as erased. */
#define CORE_ERASED_KEPT(program_unit) 0u
/* Level of the root above 1,800 names of 242 bytes. */
#define CORE_DEEP_LEVEL 3
/* Blocks that are available at most where an append of a few bytes is refused. */
#define CORE_BLOCKS_LEFT 1u
/* Up to this size of a chip the room of removed files is there again though less than half of each block was theirs. */
#define CORE_THIRDS_REGAINED UINT32_MAX
/* ... where one file of so many was removed. */
#define CORE_STRIDE_REGAINED UINT32_MAX
/* Pages read for each name of a path, at most. */
#define CORE_PAGES_A_NAME 16u
/* In the table of bounds: a remove keeps its bound on a full volume; what a stat reads. */
#define CORE_REMOVE_BOUNDED true
#define CORE_BOUND_OF_STAT "3 N + T + P"
/* Bytes read where a small file in a leaf that is known is opened, read and closed. */
#define CORE_BYTES_SMALL_FILE 120u
/* Pages read by a rename among 600 names, in the mean. */
#define CORE_PAGES_RENAME 125u
/* Pages read by idle work after a name was removed, and after one came and went, with so many blocks in use. */
#define CORE_IDLE_READS(blocks) 250u
#define CORE_IDLE_READS_AGAIN(blocks) 60u
/* Pages programmed where a small file comes and goes 1,000 times. */
#define CORE_PAGES_COME_AND_GO 2150u
/* So many large erases come to a small one where blocks fall free singly; blocks that are erased ahead of so many free ones. */
#define CORE_LARGE_FOR_SMALL 8u
#define CORE_ERASED_AHEAD(free) ((free) / 2u)
/* The first block that counts as bad in nf2_statfs whenever it fails. */
#define CORE_BAD_COUNTED_FROM UINT32_MAX
/* So many small files less may fit when a volume that was full of them is filled again. */
#define CORE_SMALL_FILES_LESS(count) 2u

#else

/*
 * From a mount that settles a cut until nf2_maintain has returned 0 there may be more free blocks than
 * nf2_statfs says, never fewer.
 */
#define CORE_FREE_EXACT false
/* Erases are counted for groups of blocks: no block's count is exact. */
#define CORE_WEAR_EXACT false
#define CORE_PENDING_MAX UINT32_MAX
#define CORE_INLINE_MORE 0
#define CORE_WRITERS UINT32_MAX
#define CORE_NAME_WAITS(page_size) 23u
#define CORE_NAME_MAYBE 0u
#define CORE_SYNC_OF_READER NF2_OK
#define CORE_ERASED_KEPT(program_unit) ((program_unit) > 1 ? 1u : 0u)
#define CORE_DEEP_LEVEL 2
#define CORE_BLOCKS_LEFT 0u
/* Blocks of which two thirds are live are not emptied on a larger chip (DESIGN.md, "Open"). */
#define CORE_THIRDS_REGAINED (256u << 10)
#define CORE_STRIDE_REGAINED 7u
#define CORE_PAGES_A_NAME 5u
/* Each change may wait for a walk. */
#define CORE_REMOVE_BOUNDED false
#define CORE_BOUND_OF_STAT "T + P"
/* A look bisects the base by its pages' first keys, and checks the page that it finds; a sixth more than was seen. */
#define CORE_BYTES_SMALL_FILE 870u
/* The views of both leaves are made again after each change: two nodes a level, thrice, in which keys are compared. */
#define CORE_PAGES_RENAME 500u
/* Idle work is a walk over all leaves, twice where something moves: each is passed, and what moves is looked for again. */
#define CORE_IDLE_READS(blocks) (300u * (blocks))
#define CORE_IDLE_READS_AGAIN(blocks) CORE_IDLE_READS(blocks)
/* Two programs each time, and the leaf written anew, its blocks claimed, each time its half is full. */
#define CORE_PAGES_COME_AND_GO 3300u
/* Nodes and the root log take blocks one by one; of the window that is taken from groups are erased ahead, of others none. */
#define CORE_LARGE_FOR_SMALL 3u
#define CORE_ERASED_AHEAD(free) (((free) < 512u ? (free) : 512u) / 2u)
/* The first block that counts as bad in nf2_statfs whenever it fails: super blocks do not. */
#define CORE_BAD_COUNTED_FROM 3u
/*
 * They lie in leaves, some twenty in each, and the first split for which the blocks are lacking ends it: with 900 files
 * seven fillings in a row differ by 3.5% both ways, and none loses for good.
 */
#define CORE_SMALL_FILES_LESS(count) ((count) / 16u)

#endif

/* The order in which a directory is listed: as strcmp. Names that the core does not tell apart by their order are equal only if they are the same. */
int core_name_order(const char *a, const char *b);

/* A program or an erase failed: the volume writes nothing until the next mount. */
bool core_broken(const nf2_t *fs);

/* A change that is committed is applied in part; the next mount finishes it. */
bool core_change_waits(const nf2_t *fs);

/* Are groups of blocks being emptied, over many calls? */
bool core_emptying(const nf2_t *fs);

/* Looks at the volume's own state in memory. Whether all is right; else `text` says what is not. */
bool core_inside_right(const nf2_t *fs, char *text, size_t size);

/* The level of the tree's root; a leaf has level 0. */
int core_root_level(nf2_t *fs);

/* Erases that are counted already, though they are still to come. */
uint32_t core_erases_owed(const nf2_t *fs);

#endif
