/* SPDX-License-Identifier: BSD-2-Clause */
#include "group.h"

#include "space.h"

int nf2_group_prepare(nf2_t *fs, uint32_t node)
{
    uint32_t append_at, records;

    NF2_TRY(nf2_node_tail(fs, node, &append_at, &records));
    NF2_TRY(nf2_space_touch(fs, node, append_at));
    return nf2_space_keep(fs);
}

int nf2_group_append(nf2_t *fs, uint32_t node, struct nf2_node_op *ops, unsigned count, uint32_t mark)
{
    uint32_t append_at, records;

    NF2_TRY(nf2_node_tail(fs, node, &append_at, &records));
    int end = nf2_node_append(fs, node, append_at, ops, count, mark);
    NF2_TRY(end);
    nf2_space_node_end(fs, node, (uint32_t)end);
    return NF2_OK;
}
