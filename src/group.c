/* SPDX-License-Identifier: BSD-2-Clause */
#include "group.h"

#include "space.h"

int nf2_group_prepare(nf2_t *fs, uint32_t node)
{
    int append_at = nf2_node_tail(fs, node, NULL);

    NF2_TRY(append_at);
    NF2_TRY(nf2_space_touch(fs, node, (uint32_t)append_at));
    return nf2_space_keep(fs);
}

int nf2_group_lacks(nf2_t *fs, uint32_t node, const struct nf2_node_op *ops, unsigned count)
{
    uint32_t length = 0;
    int append_at = nf2_node_tail(fs, node, NULL);

    NF2_TRY(append_at);
    if (nf2_node_fit(fs, (uint32_t)append_at, ops, count, 0, nf2_log_bytes(fs)) != NF2_NONE) {
        return 0;
    }
    for (unsigned i = 0; i < count; i++) {
        length += nf2_node_op_length(&ops[i]);
    }
    return (int)length;
}

int nf2_group_append(nf2_t *fs, uint32_t node, uint32_t at, struct nf2_node_op *ops, unsigned count, uint32_t mark)
{
    int end = at != 0 ? (int)at : nf2_node_tail(fs, node, NULL);

    NF2_TRY(end);
    end = nf2_node_append(fs, node, (uint32_t)end, ops, count, mark);
    NF2_TRY(end);
    nf2_space_node_end(fs, node, (uint32_t)end);
    return NF2_OK;
}
