/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bad.h - blocks that do not program or erase any more. What lies in one is in another block from then on, until its owner
 * frees it: then it is on record as bad, and the other one is free. docs/DESIGN.md, "Bad blocks".
 */
#ifndef NF2FS_SRC_BAD_H
#define NF2FS_SRC_BAD_H

#include "core.h"

#define NF2_SUPER_BLOCKS 2u

/* So many blocks of a volume may be bad: a driver that says so of all of them is wrong. */
static inline uint32_t nf2_bad_limit(const nf2_t *fs)
{
    return fs->blocks / 16u;
}

/* Where what was written to a block lies. Also if it is on record as bad since a moment ago: a change in the making may refer to it. */
uint32_t nf2_bad_place(const nf2_t *fs, uint32_t block);

/* Is it a block of the super log, or where the meta log is written? Their places must be known to a mount before it knows of others. */
static inline bool nf2_bad_fixed(const nf2_t *fs, uint32_t block)
{
    return block < NF2_SUPER_BLOCKS || block == fs->meta_head || block == fs->meta_next;
}

/* May one more be noted? */
bool nf2_bad_room(const nf2_t *fs);

/*
 * Notes that a block fails. `by`: what it should hold lies there now; the block itself: it held nothing. Durable with the next
 * STATE; until then what was programmed to `by` is not. There is room.
 */
void nf2_bad_note(nf2_t *fs, uint32_t block, uint32_t by);

/* The last block of a slot that is claimed and not handed out; with `erased`, if it is known to be erased. NF2_NONE: there is none. */
uint32_t nf2_slot_take(struct nf2_slot *slot, bool erased);

/* A slot whose last run is empty goes back to the run before, all of which was handed out. */
void nf2_slot_trim(struct nf2_slot *slot);

/* Such a block of any slot. */
uint32_t nf2_bad_spare(nf2_t *fs, bool *erased);

#endif
