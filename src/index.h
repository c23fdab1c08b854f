/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * index.h - the map of an indexed file: entries in the tree under the file's id. Mapping entries (kind 0, by
 * file offset) never overlap; OWN entries (kind 1, by block) say which blocks the file owns.
 */
#ifndef NF2FS_SRC_INDEX_H
#define NF2FS_SRC_INDEX_H

#include "tree.h"

#define NF2_INDEX_KEY NF2_NUMBER_LENGTH
#define NF2_INDEX_MAP 0u        /* key kinds */
#define NF2_INDEX_OWN 1u
#define NF2_PIECE_BODY 10u
#define NF2_FRAMES_BODY 8u
#define NF2_OWN_BODY 3u

/* An entry of the map, decoded. */
struct nf2_item {
    uint8_t kind;               /* NF2_BODY_PIECE, FRAMES or OWN */
    uint16_t within;            /* PIECE: byte in the block where the data is */
    uint32_t number;            /* file offset, or block */
    uint32_t block;             /* PIECE (NF2_NO_BLOCK: zeros), FRAMES */
    union {
        uint32_t length;        /* PIECE: bytes; OWN: blocks */
        uint32_t base;          /* FRAMES: file offset of the block's first byte */
    };
};

static inline struct nf2_item nf2_piece_at(uint32_t offset, uint32_t block, uint32_t within, uint32_t length)
{
    struct nf2_item item = {NF2_BODY_PIECE, (uint16_t)within, offset, block, {length}};
    return item;
}

struct nf2_item nf2_owned_run(uint32_t start, uint32_t count);

/* Decodes an entry (or a batch's operation) of the map. */
int nf2_index_item(nf2_t *fs, const struct nf2_entry *entry, struct nf2_item *item);

/* The nearest entry of this key kind: 1, 0, or an error. */
int nf2_index_seek(nf2_t *fs, uint32_t id, uint8_t key_kind, uint32_t number, enum nf2_seek seek, struct nf2_item *item);

int nf2_index_size(nf2_t *fs, uint32_t id, uint32_t *size);

/*
 * What lies at file offset `at`: `*item` and in `*length` how far it goes on. A hole is a PIECE of
 * zeros; at the end of the map its length is 0.
 */
int nf2_index_map(nf2_t *fs, uint32_t id, uint32_t at, struct nf2_item *item, uint32_t *length);

#define NF2_INDEX_BLOCKS 0x80000000u    /* no file offset is so large */

/*
 * Calls back for each entry of the map and each OWN entry, leaf by leaf from that of file offset `from` on (or, with NF2_INDEX_BLOCKS,
 * from that of a block's OWN entry on), in no order within a leaf, with NULL behind each leaf, until the callback returns something else than 0.
 */
int nf2_index_each(nf2_t *fs, uint32_t id, uint32_t from, int (*visit)(nf2_t *fs, void *context, const struct nf2_item *item), void *context);

/* Changes of the map. */
void nf2_index_put(struct nf2_node_op *change, uint32_t id, const struct nf2_item *item);
void nf2_index_delete(struct nf2_node_op *change, uint32_t id, uint32_t number);

/*
 * Puts a piece over whatever the map holds from its begin up to `to` (as a rule nf2_piece_end), with the OWN entry `own` (NULL: none). `mark`
 * NF2_ONE_GROUP: all or nothing; NF2_SPANS_LEAVES: nothing was done. Else in one group where it can be, with the mark of a batch (0: none), in
 * several steps otherwise.
 */
int nf2_index_insert(nf2_t *fs, uint32_t id, const struct nf2_item *piece, uint32_t to, const struct nf2_item *own, uint32_t mark);
#define NF2_ONE_GROUP NF2_NONE

static inline uint32_t nf2_piece_end(const struct nf2_item *piece)
{
    return piece->number + piece->length;
}

/* Removes the map from `size` on, in steps. */
int nf2_index_cut(nf2_t *fs, uint32_t id, uint32_t size);

/* For batches: is the operation one of the map (a piece to insert, or a cut)? And its application. */
int nf2_index_is_mapping(nf2_t *fs, const struct nf2_entry *op);
int nf2_index_apply(nf2_t *fs, const struct nf2_entry *op, uint32_t mark);

#endif
