/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * content.h - what a handle's file consists of: the buffer, pieces that are not committed, and what
 * the tree has.
 */
#ifndef NF2FS_CORE_CONTENT_H
#define NF2FS_CORE_CONTENT_H

#include "frames.h"
#include "map.h"
#include "names.h"

/* Pieces that are never on flash: one that lies in the entry, one in the handle's buffer. */
#define NF2_PIECE_INLINE 16u
#define NF2_PIECE_BUFFER 17u

/* Type and size by an entry: NF2_TYPE_*, or an error. */
int nf2_content_size(nf2_t *fs, const struct nf2_entry *entry, const struct nf2_content *content,
                     uint32_t *size);

/*
 * The next piece of a LIST in the order of the file, frames at the end with their true length: 1, 0
 * or an error.
 */
int nf2_list_next(nf2_t *fs, struct nf2_refs *refs, struct nf2_piece *piece);

/* The entry of a key, which is there. */
int nf2_content_entry(nf2_t *fs, const struct nf2_key *key, struct nf2_entry *entry,
                      struct nf2_content *content);

/* A change that puts another content into an entry: behind what lies in front of the old one. */
int nf2_op_content(nf2_t *fs, struct nf2_op *op);

/* Reads that of a handle: kind, id, size. */
int nf2_content_load(nf2_t *fs, nf2_file_t *file);

/* What the committed content has at an offset below its end; kind 0: nothing. */
int nf2_content_base(nf2_t *fs, nf2_file_t *file, uint32_t offset, struct nf2_piece *piece);

/*
 * Layers of a file's content, from below: what is committed, its shadow, the pieces in the handle.
 */
enum { NF2_COMMITTED, NF2_SHADOW, NF2_IN_HANDLE };

/* Pieces in the handle may lie behind the size, which a write moves on at its end. */
static inline uint32_t nf2_content_limit(const nf2_file_t *file, int lowest)
{
    return lowest < NF2_IN_HANDLE ? file->size : NF2_FILE_MAX + 1u;
}

/*
 * What the layers from the lowest one on have from an offset below that on, behind the buffer; kind
 * 0: nothing.
 */
int nf2_content_find(nf2_t *fs, nf2_file_t *file, uint32_t offset, int lowest,
                     struct nf2_piece *piece);

/* Reads bytes of one piece. */
int nf2_content_read(nf2_t *fs, const nf2_file_t *file, const struct nf2_piece *piece,
                     uint32_t offset, void *data, uint32_t length);

/* Reads as many of them as the piece has: how many, or an error. */
int nf2_content_some(nf2_t *fs, const nf2_file_t *file, const struct nf2_piece *piece,
                     uint32_t offset, uint8_t *to, uint32_t length);

/* Is all of the file in the buffer, and nowhere else? */
bool nf2_content_whole(const nf2_file_t *file);

/* Does anything lie in front of its content: the rest of a long name, or fields? */
bool nf2_has_front(const nf2_file_t *file);

/* The most that a file may hold to lie in its entry. */
uint32_t nf2_inline_max(const nf2_file_t *file);

#endif
