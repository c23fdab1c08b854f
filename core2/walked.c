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

int nf2_walked_barrier(nf2_t *fs, struct nf2_view *leaf, const struct nf2_op *ops, unsigned count)
{
    struct nf2_entry entry;

    for (unsigned i = 0; i < count; i++) {
        int order = nf2_key_compare(&ops[i].key, &fs->walk.cursor);
        bool behind = fs->walk.active && (order < 0 || (order == 0 && fs->walk.behind));
        if (behind && ops[i].type == NF2_OP_PUT) {
            bool apart = ops[i].key.length == NF2_KEY_MAX && ops[i].body[1].length > 0;
            struct nf2_key plain = ops[i].key; /* the rest of a long name is a span of its own */
            plain.length = apart ? 0 : plain.length;
            NF2_TRY(nf2_walked_body(fs, &plain, &ops[i].body[apart]));
        } else if (behind && ops[i].type == NF2_OP_REN) {
            int found = nf2_node_find(fs, leaf, ops[i].from, &entry);
            NF2_TRY(found);
            struct nf2_span body = nf2_body_span(&entry, 0, entry.body_length);
            NF2_TRY(found ? nf2_walked_body(fs, ops[i].from, &body) : NF2_OK);
        }
    }
    return NF2_OK;
}
