/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wear.h - how often the blocks of each region were erased: entries of the tree. Writers get the
 * regions that were erased least, what rests moves to those that were erased most, and regions that
 * lag are emptied (paper 000, section 5.3: early stage, age stage, exchange).
 */
#ifndef NF2FS_CORE_WEAR_H
#define NF2FS_CORE_WEAR_H

#include "victims.h"
#include "group.h"

/* The regions that were erased since go into their entries, where they are some. */
int nf2_wear_record(nf2_t *fs);

/* Chooses the region that is erased ahead next. */
int nf2_wear_choose(nf2_t *fs);

/* Chooses the region that what rests moves to next, where one is worn and none is chosen. */
int nf2_wear_rest(nf2_t *fs);

/* Adds regions that lag behind the mean to the victims of a walk. */
int nf2_wear_look(nf2_t *fs, struct nf2_choice *choice);

/* Erases of each block of a region, in the mean, or an error. */
int nf2_wear_of(nf2_t *fs, uint32_t region, uint32_t *erases);

/* The least and the most of all regions. */
void nf2_wear_range(nf2_t *fs, uint32_t *least, uint32_t *most);

#endif
