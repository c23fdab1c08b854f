/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wear.h - how often the groups of blocks were erased: an entry of the tree for each window. A free
 * block counts as erased when its window is taken from: that is when it will be. Static data lets
 * blocks rest: it is moved to worn groups.
 */
#ifndef NF2FS_CORE_WEAR_H
#define NF2FS_CORE_WEAR_H

#include "group.h"

/*
 * The marked window is going to be taken from: counts, and notes which of its groups are worn, and
 * (where it is the one that is taken from already) which are not erased any more.
 */
void nf2_wear_take(nf2_t *fs);

/*
 * Looks for groups that lag behind the mean: `laggards`. A lap of walks looks at each window once.
 */
int nf2_wear_look(nf2_t *fs);

/* What is on record of a window: of each group so many bytes. */
#define NF2_WEAR_BYTES 3u
#define NF2_WEAR_COUNT 8u       /* an erase of one block, in them */
#define NF2_WEAR_BELOW 0xFF0000u /* from here on: less than none. A window that is left gives back
                                   what is free in it, also where that was never counted */
struct nf2_counts {
    union {
        struct nf2_key key;     /* only until they are found: stack */
        uint8_t bytes[NF2_GROUPS * NF2_WEAR_BYTES];
    };
};

/* Nothing is on record: it was never taken from. */
int nf2_wear_load(nf2_t *fs, uint32_t window, struct nf2_counts *counts);

/* Erases of each block of a group, in the mean. */
static inline uint32_t nf2_wear_of(const nf2_t *fs, const struct nf2_counts *counts, uint32_t group)
{
    uint32_t value = nf2_get24(counts->bytes + group * NF2_WEAR_BYTES);
    return value < NF2_WEAR_BELOW ? value / NF2_WEAR_COUNT / nf2_group_blocks(fs) : 0;
}

/* The least and the most of all groups. */
void nf2_wear_range(nf2_t *fs, uint32_t *least, uint32_t *most);

#endif
