/* SPDX-License-Identifier: BSD-2-Clause */
/* repack.h - a node's live entries written anew into another one. */
#ifndef NF2FS_SRC_REPACK_H
#define NF2FS_SRC_REPACK_H

#include "node.h"

#define NF2_CHILD_BODY 4u

struct nf2_survey {
    uint32_t bytes;             /* bytes of the live entries when written anew */
    uint32_t packed;            /* where they end then: long ones begin at a page */
    uint32_t count;
    uint16_t append_at;         /* where the node ends */
    uint32_t first;             /* of the live bytes: entries of the root directory */
    uint16_t newest;            /* place of the last live PUT record; 0: none */
    uint16_t last;              /* of the last live record; 0: none */
};

/* Bytes of an entry when it is written anew as a PUT. */
int nf2_repack_length(nf2_t *fs, struct nf2_entry *entry, uint32_t *length);

/* A walk over the node, and what it shows; nf2_repack_again begins it again (what is dead is known in NF2_SCRATCH_NODE). */
int nf2_repack_survey(nf2_t *fs, uint32_t node, struct nf2_survey *survey);
void nf2_repack_again(const nf2_t *fs, uint32_t node, const struct nf2_survey *survey, struct nf2_live *live);

/* A new node: its head, then one entry after the other; with large program units all as one packed group. */
void nf2_repack_begin(nf2_t *fs, struct nf2_writer *writer, uint32_t block, uint8_t level);
int nf2_repack_end(nf2_t *fs, struct nf2_writer *writer);

/* Copies one live entry. */
int nf2_repack_entry(nf2_t *fs, struct nf2_writer *writer, uint32_t to, struct nf2_entry *entry);

/* Is the key in [low, high)? NULL: no bound. */
int nf2_key_within(nf2_t *fs, const struct nf2_key *key, const struct nf2_key *low, const struct nf2_key *high, bool *yes);

/* Puts an inner node's entry. */
static inline void nf2_put_child(struct nf2_node_op *op, const struct nf2_key *key, uint32_t block)
{
    nf2_op_put(op, key, NF2_BODY_CHILD, NF2_CHILD_BODY);
    nf2_put24(op->bytes + 1, block);
}

#endif
