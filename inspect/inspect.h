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

/*
 * State of one block, for maps: one of enum nf2_block_state, or an error, with the mean of its
 * group's erases in `*erases` (may be NULL). Reads the tree once for each 512 blocks; a walk that
 * was on begins anew.
 */
enum nf2_block_state {
    NF2_BLOCK_DIRTY = 0,        /* free, to be erased before use */
    NF2_BLOCK_ERASED = 1,       /* free and erased */
    NF2_BLOCK_USED = 2,
    NF2_BLOCK_BAD = 3           /* failed for good, and holds nothing;
                                   one that holds something still, in another block, is USED */
};
int nf2_block_state(nf2_t *fs, uint32_t block, uint32_t *erases);

#ifdef __cplusplus
}
#endif

#endif
