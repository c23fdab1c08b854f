/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inspect.h - what tools and tests ask of a mounted volume beyond the public calls. It knows the
 * core's private headers; firmware does not need it, so that its bytes are no part of the library.
 */
#ifndef NF2FS_INSPECT_H
#define NF2FS_INSPECT_H

#include "nf2fs/nf2fs.h"

#ifdef __cplusplus
extern "C" {
#endif

/* State of a block, for maps. */
enum nf2_block_state {
    NF2_BLOCK_DIRTY = 0,        /* free, to be erased before use */
    NF2_BLOCK_ERASED = 1,       /* free and erased */
    NF2_BLOCK_USED = 2,
    NF2_BLOCK_BAD = 3           /* failed for good, and holds nothing;
                                   one that holds something still, in another block, is USED */
};

/*
 * The states of `count` blocks from `first` on. It reads the tree once for each 256 blocks, or fewer
 * where regions are small, and changes nothing. 0, or an error.
 */
int nf2_block_states(nf2_t *fs, uint32_t first, uint32_t count, uint8_t *states);

/* The state of one block, or an error; `*erases` (may be NULL): the mean of its region's blocks. */
int nf2_block_state(nf2_t *fs, uint32_t block, uint32_t *erases);

/* The erases of the blocks of the region that this one lies in, in the mean. 0, or an error. */
int nf2_block_erases(nf2_t *fs, uint32_t block, uint32_t *erases);

#ifdef __cplusplus
}
#endif

#endif
