/* SPDX-License-Identifier: BSD-2-Clause */
/* index.h - the map of an indexed file, as a part of the tree under the file's id. Mapping entries never overlap. */
#ifndef NF2FS_SRC_INDEX_H
#define NF2FS_SRC_INDEX_H

#include "stretch.h"

/* The nearest entry of this key kind: 1, 0, or an error. */
int nf2_index_seek(nf2_t *fs, uint32_t id, uint8_t key_kind, uint32_t number, enum nf2_seek seek, struct nf2_item *item);

int nf2_index_size(nf2_t *fs, uint32_t id, uint32_t *size);

/*
 * What lies at file offset `at`: `*item` and in `*length` how far it goes on. A hole is a PIECE of
 * zeros; at the end of the map its length is 0. `stretch` is looked at first, and again where it does not tell.
 */
int nf2_index_at(nf2_t *fs, uint32_t id, uint32_t at, struct nf2_stretch *stretch, struct nf2_item *item, uint32_t *length);
int nf2_index_map(nf2_t *fs, uint32_t id, uint32_t at, struct nf2_item *item, uint32_t *length);   /* where nothing more is asked for */

#define NF2_INDEX_BLOCKS 0x80000000u    /* no file offset is so large */

/*
 * Calls back for each entry of the map and each OWN entry, leaf by leaf from that of file offset `from` on (or, with NF2_INDEX_BLOCKS,
 * from that of a block's OWN entry on), in no order within a leaf, with NULL behind each leaf, until the callback returns something else than 0.
 */
int nf2_index_each(nf2_t *fs, uint32_t id, uint32_t from, int (*visit)(nf2_t *fs, void *context, const struct nf2_item *item), void *context);

/*
 * Puts a piece over whatever the map holds from its begin up to `to` (as a rule nf2_piece_end), with the OWN entry `own` (NULL: none), which
 * lies in the same leaf. `mark` NF2_ONE_GROUP: all or nothing; NF2_SPANS_LEAVES: nothing was done. Else in one group where it can be, with the mark
 * of a batch (0: none), in several steps otherwise.
 */
int nf2_index_insert(nf2_t *fs, uint32_t id, const struct nf2_item *piece, uint32_t to, const struct nf2_item *own, uint32_t mark);
#define NF2_ONE_GROUP NF2_NONE

/* Removes the map from `size` on, in steps. */
int nf2_index_cut(nf2_t *fs, uint32_t id, uint32_t size);

/* For batches: is the operation one of the map (a piece to insert, or a cut)? And its application. */
int nf2_index_is_mapping(nf2_t *fs, const struct nf2_entry *op);
int nf2_index_apply(nf2_t *fs, const struct nf2_entry *op, uint32_t mark);

#endif
