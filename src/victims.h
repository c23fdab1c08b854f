/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * victims.h - which parts of the marked window are worth emptying. The window is counted in cells:
 * the blocks of one large erase as a rule; single blocks of a part of the window (a zoom) where
 * blocks are lacking.
 */
#ifndef NF2FS_CORE_VICTIMS_H
#define NF2FS_CORE_VICTIMS_H

#include "alloc.h"

#define NF2_GRAIN_MOST 12u      /* walk.grain: 4 KiB, a block as a rule */

/* Blocks in stock below which nothing is moved: what the change behind a move may need. */
uint32_t nf2_victims_floor(const nf2_t *fs);

/* The window that is going to be marked is counted in cells as a rule. */
void nf2_victims_begin(nf2_t *fs);

/*
 * Chooses victims in the window that was marked, among those that `victims` has: is there any?
 */
bool nf2_victims_choose(nf2_t *fs);

/*
 * Looks closer at the part of the window that has the most to win: has it any? It is to be marked
 * anew.
 */
bool nf2_victims_zoom(nf2_t *fs);

#endif
