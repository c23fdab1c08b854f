/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * effects.h - what a group of records in a node does to space: blocks and ids that its entries own, and
 * those that the entries which it replaces owned. The same rule serves each change and recovery.
 */
#ifndef NF2FS_SRC_EFFECTS_H
#define NF2FS_SRC_EFFECTS_H

#include "node.h"

#define NF2_EFFECT_RUNS 8u       /* a flat file's extents, each cut in two by what is kept of it */
#define NF2_EFFECT_IDS 4u

struct nf2_estate {             /* blocks and ids */
    struct nf2_run run[NF2_EFFECT_RUNS];
    uint32_t id[NF2_EFFECT_IDS];
    uint8_t runs, ids;
};

struct nf2_effects {
    struct nf2_estate dropped, owned;
    bool any;                   /* something that recovery must know */
};

#define NF2_TOOK_OVER 5u        /* byte of an INDEXED body: it took over the blocks of the flat file that it replaced */

/* What an entry owns: at most NF2_EXTENTS_MAX runs and an id (0: none). Returns the number of runs, or an error. */
int nf2_entry_owns(nf2_t *fs, const struct nf2_entry *entry, struct nf2_run *runs, uint32_t *id);

/* Adds what an entry owns to one of the two: that the group makes, or that it replaces or removes (not moves). */
int nf2_effects_add(nf2_t *fs, struct nf2_effects *effects, struct nf2_estate *to, const struct nf2_entry *entry);

/* The same of a made one whose body is still in memory (first bytes of a record's body). */
int nf2_effects_owned_body(struct nf2_effects *effects, uint32_t key_number, const uint8_t *body, uint32_t length);

/* Reduces `dropped` to what the group does not own again. */
void nf2_effects_settle(struct nf2_effects *effects);

#endif
