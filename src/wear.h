/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wear.h - how often the groups of blocks were erased: an entry of the tree for each window. A free
 * block counts as erased when its window is taken from: that is when it will be. Static data lets
 * blocks rest: it is moved to worn groups.
 */
#ifndef NF2FS_CORE_WEAR_H
#define NF2FS_CORE_WEAR_H

#include "group.h"

/* The marked window is going to be taken from: counts, and notes which of its groups are worn. */
int nf2_wear_take(nf2_t *fs);

/*
 * Looks for groups that lag behind the mean: space.laggards. A lap of walks looks at each window
 * once.
 */
int nf2_wear_look(nf2_t *fs);

/*
 * Erases of a block as far as they were counted: those of its group; the mean of all where that
 * cannot be read.
 */
uint32_t nf2_wear_of(nf2_t *fs, uint32_t block);

/* The least and the most of all groups. */
void nf2_wear_range(nf2_t *fs, uint32_t *least, uint32_t *most);

#endif
