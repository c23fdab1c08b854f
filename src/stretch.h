/* SPDX-License-Identifier: BSD-2-Clause */
/* stretch.h - mapping entries that follow each other in the order of the file, as many as one look at a leaf notes. */
#ifndef NF2FS_SRC_STRETCH_H
#define NF2FS_SRC_STRETCH_H

#include "item.h"

struct nf2_noted {
    struct nf2_item item;
    uint16_t place;             /* of its record, during the look */
};

/* noted[0]: the entry at or below `from`; then those above it. */
struct nf2_stretch {
    struct nf2_noted *noted;
    uint8_t room, count;        /* of `noted`; at least 2 */
    uint8_t first;              /* 1: there is none at or below `from` */
    bool end;                   /* there are no more behind the last one */
    uint16_t leaf;              /* that `from` and the last one lie in; 0: not known. With a count of 0: that `from` lies in */
    uint32_t from;
};

/* Nothing is known yet. */
static inline struct nf2_stretch nf2_stretch_of(struct nf2_noted *noted, unsigned room)
{
    struct nf2_stretch stretch = {noted, (uint8_t)room, 0, 0, false, 0, NF2_NONE};
    return stretch;
}

/* Notes what lies from `from` on: the entry at or below it, and at least one above it unless that is the map's end. */
int nf2_stretch_look(nf2_t *fs, uint32_t id, uint32_t from, struct nf2_stretch *stretch);

/* The leaf of the last look, if `at` lies in it, too; 0: not known. */
uint16_t nf2_stretch_leaf(const struct nf2_stretch *stretch, uint32_t at);

/*
 * What lies at file offset `at`, as far as the stretch tells: whether it does. `*item` (NULL: nothing lies there or below) and where the next entry
 * begins (NF2_NONE: nowhere in front of the item's own end).
 */
bool nf2_stretch_at(const struct nf2_stretch *stretch, uint32_t at, const struct nf2_item **item, uint32_t *next);

#endif
