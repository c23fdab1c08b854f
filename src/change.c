/* SPDX-License-Identifier: BSD-2-Clause */
/* change.c - changes of the tree: in one leaf, or leaf by leaf. */
#include "tree.h"

#include "walked.h"

/* Leads the way to the leaf in which all changes lie. */
static NF2_APART int lead_all(nf2_t *fs, const struct nf2_op *ops, unsigned count)
{
    struct nf2_key upper;
    int within = nf2_tree_lead(fs, ops->key, false);

    for (const struct nf2_op *op = ops; within > 0 && op < ops + count; op++) {
        if (op > ops) {
            within = nf2_tree_leads(fs, op->key, false);
        }
        if (within > 0 && op->type == NF2_OP_RANGE) {
            int above = nf2_tree_bound(fs, true, &upper);
            within = above > 0 ? !nf2_op_covers(op, &upper) : above < 0 ? above : 1;
        }
    }
    return within == 0 ? NF2_SPANS_LEAVES : within;
}

int nf2_tree_change(nf2_t *fs, struct nf2_op *ops, unsigned count)
{
    NF2_TRY(lead_all(fs, ops, count));
    NF2_TRY(nf2_journal_open(fs));
    NF2_TRY(nf2_walked_barrier(fs, ops, count));
    int done = nf2_tree_write(fs, fs->way.node, ops->key, 0, ops, count);
    return done < 0 ? done : NF2_OK;
}

/* Ends a RANGE where the leaf ends that it begins in. */
static int cut_range(nf2_t *fs, struct nf2_op *range)
{
    struct nf2_key upper;

    NF2_TRY(nf2_tree_lead(fs, range->key, false));
    int above = nf2_tree_bound(fs, true, &upper);
    if (above > 0 && nf2_op_covers(range, &upper)) {
        range->to = nf2_key_value(&upper);
    }
    return above < 0 ? above : 1;
}

int nf2_tree_first_part(nf2_t *fs, struct nf2_op *range)
{
    struct nf2_entry entry;
    int found = nf2_tree_seek_as_is(fs, range->key, NF2_AT_OR_ABOVE, &entry);

    if (found <= 0 || !nf2_op_covers(range, &entry.key)) {
        return found < 0 ? found : 0;
    }
    range->key = nf2_op_own(range);
    nf2_key_copy(nf2_op_own(range), &entry.key);
    return cut_range(fs, range);
}

int nf2_tree_apply(nf2_t *fs, struct nf2_op *op)
{
    uint32_t to = op->to;
    int found;

    if (op->type != NF2_OP_RANGE) {
        return nf2_tree_change(fs, op, 1);
    }
    while ((found = nf2_tree_first_part(fs, op)) > 0) { /* leaf by leaf */
        NF2_TRY(nf2_tree_change(fs, op, 1));
        op->to = to;
    }
    return found;
}
