/* SPDX-License-Identifier: BSD-2-Clause */
#include "walked.h"

void nf2_walked_piece(nf2_t *fs, const struct nf2_piece *piece)
{
    nf2_space_use(fs, piece->block, nf2_piece_blocks(fs, piece));
}

int nf2_walked_body(nf2_t *fs, const struct nf2_key *key, const struct nf2_span *body)
{
    struct nf2_refs refs;
    struct nf2_piece piece;
    int found;

    NF2_TRY(nf2_refs_begin(fs, key, body, &refs));
    while ((found = nf2_refs_next(fs, &refs, &piece)) > 0) {
        nf2_walked_piece(fs, &piece);
    }
    return found;
}

int nf2_walked_barrier(nf2_t *fs, const struct nf2_op *ops, unsigned count)
{
    count = NF2_BROKEN(NF2_FAULT_BARRIER) ? 0 : count;
    for (const struct nf2_op *op = ops; op < ops + count && fs->walk_active; op++) {
        int order = nf2_key_compare(op->key, &fs->walk.cursor);
        if (op->type == NF2_OP_PUT && order < (int)fs->walk_behind) {
            bool apart = op->key->length == NF2_KEY_MAX && op->body[1].length > 0; /* its rest */
            const struct nf2_key *key = apart ? &nf2_key_lowest : op->key;
            NF2_TRY(nf2_walked_body(fs, key, &op->body[apart]));
        }
    }
    return NF2_OK;
}
