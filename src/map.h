/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * map.h - where the bytes of a file lie: entries (id, offset) -> piece. A piece counts up to the
 * next one, so that what covers the end of an older piece needs no record for what stays in front.
 * What a piece shows never grows but by a record of its own: entries are removed only where another
 * piece takes their place.
 */
#ifndef NF2FS_CORE_MAP_H
#define NF2FS_CORE_MAP_H

#include "pending.h"
#include "refs.h"

/*
 * What counts at this offset. kind 0: nothing does; the piece is the gap, from the end of what is
 * in front to what follows.
 */
int nf2_map_find(nf2_t *fs, uint32_t id, uint32_t offset, struct nf2_piece *piece);

/* The file offset behind the last piece; 0 without any. */
int nf2_map_end(nf2_t *fs, uint32_t id, uint32_t *end);

/* Leaves of a piece a part, `skip` bytes behind its start. */
void nf2_piece_part(const nf2_t *fs, struct nf2_piece *piece, uint32_t skip, uint32_t length);

#endif
