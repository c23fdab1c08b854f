/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * core_traits.h - what the tests need to know of the core beside its promises, and the few things
 * that no public call tells. Nothing else in harness/, unit/, torture/ and fuzz/ looks inside.
 */
#ifndef CORE_TRAITS_H
#define CORE_TRAITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nf2fs/nf2fs.h"

/* A new file with a name of more bytes than this is durable, empty, at once. */
#define CORE_NAME_WAITS 23u
/* Level of the root above 1,800 names of 242 bytes. */
#define CORE_DEEP_LEVEL 2
/* The room of removed files that is there again, though less than half of each block was theirs. */
#define CORE_REGAINED(size, stride) ((size) / 10u * ((stride) > 3 ? 8u : 9u))
/* Pages read for each name of a path, at most. */
#define CORE_PAGES_A_NAME 5u
/*
 * Bytes read where a small file in a leaf that is known is opened, read and closed. A look bisects
 * the base by its pages' first keys, and checks the page that it finds; a sixth more than was seen.
 */
#define CORE_BYTES_SMALL_FILE 870u
/*
 * Pages read by a rename among 600 names, in the mean. The views of both leaves are made again after
 * each change: two nodes a level, thrice, in which keys are compared.
 */
#define CORE_PAGES_RENAME 500u
/*
 * Pages read by idle work after a name was removed, or came and went, with so many blocks in use. It
 * is a walk over all leaves, twice where something moves: each is passed, and what moves is looked
 * for again.
 */
#define CORE_IDLE_READS(blocks) (300u * (blocks))
/*
 * Pages programmed where a small file comes and goes 1,000 times: two programs each time, and the
 * leaf written anew, its blocks claimed, each time its half is full.
 */
#define CORE_PAGES_COME_AND_GO 3300u
/* Blocks that idle time erases ahead of so many free ones: all regions that are free. */
#define CORE_ERASED_AHEAD(free) ((free) / 2u)
/* The first block that counts as bad in nf2_statfs whenever it fails: super blocks do not. */
#define CORE_BAD_COUNTED_FROM 3u
/*
 * They lie in leaves, some twenty in each, and the first split for which the blocks are lacking ends it: with 900 files
 * seven fillings in a row differ by 3.5% both ways, and none loses for good.
 */
#define CORE_SMALL_FILES_LESS(count) ((count) / 16u)

/*
 * The order in which a directory is listed: as strcmp. Names that the core does not tell apart by
 * their order are equal only if they are the same.
 */
int core_name_order(const char *a, const char *b);

/* Blocks that are known to be free, those of open regions included. */
uint32_t core_stock(const nf2_t *fs);

/* Does a block lie in a region that is free and erased? */
bool core_erased_on_record(const nf2_t *fs, uint32_t block);

/* Blocks of a region, but for the last one's; by how many the first one begins before the volume; how many regions there are. */
uint32_t core_region_blocks(const nf2_t *fs);
uint32_t core_region_shift(const nf2_t *fs);
uint32_t core_regions(const nf2_t *fs);
/* The region of a block, its first block, and the one behind its last. */
uint32_t core_region_of(const nf2_t *fs, uint32_t block);
uint32_t core_region_first(const nf2_t *fs, uint32_t region);
uint32_t core_region_end(const nf2_t *fs, uint32_t region);
bool core_region_free(const nf2_t *fs, uint32_t region);

/*
 * Blocks of free regions that something refers to, be it the tree, a handle, a log or a claim: none. It looks at all blocks as if
 * their regions were in use. Or an error.
 */
int core_free_but_used(nf2_t *fs);

/* Blocks on record as claimed, and those that only this session knows to be free: holes, and blocks of replaced nodes. */
uint32_t core_claimed(const nf2_t *fs);
uint32_t core_free_in_session(const nf2_t *fs);

/* What a walk would do where so much of each region is live, in 256ths, 0: it is free. */
enum core_need { CORE_LITTLE, CORE_NONE, CORE_SCARCE, CORE_LAST };
struct core_choice {
    uint32_t victims;           /* regions that it empties; all others that are in use stay */
    uint32_t looked;            /* regions that it looks through for holes */
    unsigned grain;             /* powers of two: pieces that are overwritten grow to that; 0: they do not */
};
void core_choose(nf2_t *fs, const uint8_t *live, enum core_need need, unsigned holes_found, struct core_choice *choice);

/* A program or an erase failed: the volume writes nothing until the next mount. */
bool core_broken(const nf2_t *fs);

/* A change that is committed is applied in part; the next mount finishes it. */
bool core_change_waits(const nf2_t *fs);

/* Are groups of blocks being emptied, over many calls? */
bool core_emptying(const nf2_t *fs);

/* The level of the tree's root; a leaf has level 0. */
int core_root_level(nf2_t *fs);

/*
 * Does each handle that appends to frames know where the file's last ones are? It reads the chip.
 * True, too, where that cannot be read.
 */
bool core_appends_in_place(nf2_t *fs);

#endif
