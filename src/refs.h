/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * refs.h - pieces of files as bytes; which blocks the body of an entry refers to, and what a change
 * owes to the walk that is on (walk.h): what it puts behind the walk's cursor is counted at once.
 */
#ifndef NF2FS_CORE_REFS_H
#define NF2FS_CORE_REFS_H

#include "node.h"
#include "space.h"

#define NF2_PIECE_BYTES 13u     /* a stored piece has at most so many */
#define NF2_LIST_BYTES (1u + NF2_LIST_MAX * NF2_PIECE_BYTES)

/* Stores a piece; returns the place behind it. */
uint8_t *nf2_piece_store(uint8_t *p, const struct nf2_piece *piece);

/*
 * Loads one, whose offset is known: the bytes that it takes, or an error: VERSION where this
 * library knows no piece that begins so.
 */
int nf2_piece_load(const nf2_t *fs, const uint8_t *p, uint32_t room, struct nf2_piece *piece);

int nf2_span_read(nf2_t *fs, const struct nf2_span *span, uint32_t at, void *data, uint32_t length);

/* Reads of an entry's body. */
static inline int nf2_body_read(nf2_t *fs, const struct nf2_entry *entry, uint32_t at, void *data,
                                uint32_t length)
{
    return nf2_span_read(fs, &entry->body, at, data, length);
}

/* Bytes in front of the content in the body of a name: the rest of a long one. */
int nf2_content_at(nf2_t *fs, const struct nf2_key *key, const struct nf2_span *body);

/*
 * The pieces that a body has: of a LIST, or of an entry of a map (then one). VERSION: a newer
 * library made it, and which blocks it refers to is not known. From then on nothing is written: a
 * walk would find them free.
 */
struct nf2_refs {
    uint32_t offset;            /* of the next piece in the file */
    uint8_t at, length;
    uint8_t bytes[NF2_LIST_BYTES];
};
int nf2_refs_begin(nf2_t *fs, const struct nf2_key *key, const struct nf2_span *body,
                   struct nf2_refs *refs);
int nf2_refs_next(nf2_t *fs, struct nf2_refs *refs, struct nf2_piece *piece);

/* How many blocks a piece touches, from piece->block on. */
uint32_t nf2_piece_blocks(const nf2_t *fs, const struct nf2_piece *piece);

/* What a piece refers to counts as live, and lies in no victim any more. */
void nf2_walked_piece(nf2_t *fs, const struct nf2_piece *piece);

/* The same of all pieces in the body of an entry. */
int nf2_walked_body(nf2_t *fs, const struct nf2_key *key, const struct nf2_span *body);

/* To be called before the changes are programmed. */
int nf2_walked_barrier(nf2_t *fs, const struct nf2_op *ops, unsigned count);

#endif
