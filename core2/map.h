/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * map.h - where the bytes of a file lie: entries (id, offset) -> piece. A piece counts up to the next one, so that what
 * covers the end of an older piece needs no record for what stays in front. What a piece shows never grows but by a
 * record of its own: entries are removed only where another piece takes their place.
 */
#ifndef NF2FS_CORE_MAP_H
#define NF2FS_CORE_MAP_H

#include "pending.h"
#include "refs.h"

/* What counts at this offset. kind 0: the map has nothing there, from piece->offset on for piece->length bytes. */
int nf2_map_find_as_is(nf2_t *fs, uint32_t id, uint32_t offset, struct nf2_piece *piece);

/* The file offset behind the last piece; 0 without any. */
int nf2_map_end_as_is(nf2_t *fs, uint32_t id, uint32_t *end);

/* merged.c: the same, with a MERGE that is not applied. */
int nf2_map_find(nf2_t *fs, uint32_t id, uint32_t offset, struct nf2_piece *piece);
int nf2_map_end(nf2_t *fs, uint32_t id, uint32_t *end);

/*
 * The changes that put a piece over what the map has: the rest of an older piece behind it first, then the piece, then
 * what it covers goes. At most NF2_MAP_OPS, whose bodies lie in `bytes`. The file ends at `file_end` (NF2_NONE: where it
 * did): nothing of an older piece stays behind that.
 */
#define NF2_MAP_OPS 3u
int nf2_map_plan(nf2_t *fs, uint32_t id, const struct nf2_piece *piece, uint32_t file_end, struct nf2_op *ops,
                 uint8_t bytes[2][NF2_PIECE_BYTES]);

/* The changes that end a map at `end`: at most two. */
int nf2_map_plan_cut(nf2_t *fs, uint32_t id, uint32_t end, struct nf2_op *ops, uint8_t bytes[NF2_PIECE_BYTES]);

/* Moves the entries of one map over those of another; may be begun again after a cut. */
int nf2_map_merge(nf2_t *fs, uint32_t from, uint32_t to, uint32_t file_end);

/* The change that puts one piece, which `bytes` hold afterwards, into a map. */
void nf2_op_put_piece(struct nf2_op *op, uint32_t id, const struct nf2_piece *piece, uint8_t bytes[NF2_PIECE_BYTES]);

/* A part of a piece, `skip` bytes behind its start. */
struct nf2_piece nf2_piece_part(const nf2_t *fs, const struct nf2_piece *piece, uint32_t skip, uint32_t length);

#endif
