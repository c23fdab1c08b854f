/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * item.h - the entries of an indexed file's map: mapping entries (kind 0, by file offset) and OWN entries (kind 1, by block), which
 * say what blocks the file owns.
 */
#ifndef NF2FS_SRC_ITEM_H
#define NF2FS_SRC_ITEM_H

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

static inline uint32_t nf2_piece_end(const struct nf2_item *piece)
{
    return piece->number + piece->length;
}

/* Decodes an entry (or a batch's operation) of the map. */
int nf2_index_item(nf2_t *fs, const struct nf2_entry *entry, struct nf2_item *item);

/* File offset behind a mapping entry, as far as the entry itself says. */
int nf2_item_end(nf2_t *fs, uint32_t id, const struct nf2_item *item, uint32_t *end);

/* Changes of the map. */
void nf2_index_put(struct nf2_node_op *change, uint32_t id, const struct nf2_item *item);
void nf2_index_delete(struct nf2_node_op *change, uint32_t id, uint32_t number);

#endif
