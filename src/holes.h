/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * holes.h - single blocks that nothing refers to, in regions that are mostly live: where copying
 * what is live costs more than single erases save, a walk marks the blocks in use of some regions,
 * and the others are handed out one by one. Such a region is in use on record all the time.
 */
#ifndef NF2FS_CORE_HOLES_H
#define NF2FS_CORE_HOLES_H

#include "region.h"

/* The walk that begins looks through this region, too: false, if it has no place for that. */
bool nf2_holes_look(nf2_t *fs, uint32_t region);

/* How many regions a walk looks through at most; 0 where a region is one block. */
uint32_t nf2_holes_room(const nf2_t *fs);

/* No region is looked through. */
void nf2_holes_forget(struct nf2_holes *holes);

/* A block is in use. */
void nf2_holes_use(nf2_t *fs, uint32_t block);

/* A region is no longer in use, or becomes a victim: it has no holes that may be taken. */
void nf2_holes_drop(nf2_t *fs, uint32_t region);

/* The walk has ended: what it did not mark may be taken. */
void nf2_holes_found(nf2_t *fs);

/* Holes that may be taken, those in hand not included. */
uint32_t nf2_holes_left(const nf2_t *fs);

/* Takes a hole: it counts as used. False, if there is none. */
bool nf2_holes_take(nf2_t *fs, uint32_t *block);

#endif
