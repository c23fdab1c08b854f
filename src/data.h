/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * data.h - the way of a file's data to the chip: buffer, runs of blocks, pieces; many pieces go to
 * a shadow map.
 */
#ifndef NF2FS_CORE_DATA_H
#define NF2FS_CORE_DATA_H

#include "content.h"

/* Of a shadow: for so many a leaf more may be needed until it is a whole map. */
#define NF2_PIECES_A_LEAF 32u

/* Room that the buffer has in all, so that it ends where a page of the chip does. */
uint32_t nf2_data_room(const nf2_t *fs, const nf2_file_t *file);

/*
 * To be called before a change: there are blocks for its nodes afterwards, and room for so many
 * bytes more at `at` of a file and for what its buffer holds; or (NULL) for `length` blocks beside
 * what was promised, if it is not NF2_NONE. NOSPC.
 */
int nf2_data_prepare(nf2_t *fs, const nf2_file_t *file, uint32_t at, uint32_t length);

/* The same for a new name, which takes nothing of what nf2_preallocate set aside. */
int nf2_data_name(nf2_t *fs);

/* Are so many bytes behind what was synced, in the buffer or to come, an append for frames? */
bool nf2_data_frame(const nf2_file_t *file, uint32_t length);

/* Programs what the buffer holds; it becomes a piece. */
int nf2_data_flush(nf2_t *fs, nf2_file_t *file);

/*
 * The next program for so many bytes at this offset needs no more room: there is a block, and a
 * place for a piece.
 */
int nf2_data_ready(nf2_t *fs, nf2_file_t *file, uint32_t offset, uint32_t length);

/* Can the buffer take bytes at this place of the file? */
bool nf2_data_takes(const nf2_t *fs, const nf2_file_t *file, uint32_t at);

/*
 * Writes data from memory, or (NULL) what the file has there already, from its end on or in front
 * of it. Whole pages go to the chip, the rest waits in the buffer.
 */
int nf2_data_write(nf2_t *fs, nf2_file_t *file, uint32_t at, const uint8_t *data, uint32_t length);

/* What the file has at an offset, also what was not synced. */
int nf2_data_find(nf2_t *fs, nf2_file_t *file, uint32_t offset, struct nf2_piece *piece);

/* Zeros up to a new size. */
int nf2_data_extend(nf2_t *fs, nf2_file_t *file, uint32_t size);

/* All pieces of the handle go to the map under the shadow id, which no name leads to. */
int nf2_data_spill(nf2_t *fs, nf2_file_t *file);

/* The handle's pieces end at a new size; the shadow does at the next sync. */
void nf2_data_cut(const nf2_t *fs, nf2_file_t *file, uint32_t size);

/* What is written next begins with a block. */
void nf2_data_align(nf2_t *fs, nf2_file_t *file);

/* Gives back the blocks that the handle took and did not use. */
void nf2_data_release(nf2_t *fs, nf2_file_t *file);

#endif
