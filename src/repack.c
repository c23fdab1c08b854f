/* SPDX-License-Identifier: BSD-2-Clause */
#include "repack.h"

#include "descent.h"
#include "flash.h"

int nf2_repack_length(nf2_t *fs, struct nf2_entry *entry, uint32_t *length)
{
    NF2_TRY(nf2_entry_body(fs, entry));
    *length = nf2_put_length(entry->id, entry->key_length, entry->body_length);
    return NF2_OK;
}

int nf2_repack_survey(nf2_t *fs, uint32_t node, struct nf2_survey *survey)
{
    struct nf2_live live;
    struct nf2_entry entry;
    uint32_t length;
    int found;

    NF2_TRY(nf2_live_begin(fs, node, nf2_scratch(fs, NF2_SCRATCH_NODE), &live));
    survey->append_at = live.append_at;
    survey->bytes = survey->count = survey->first = survey->newest = survey->last = 0;
    survey->packed = NF2_PAGE_HEAD + NF2_NODE_HEAD_PAYLOAD + NF2_RECORD_OVERHEAD;
    while ((found = nf2_live_next(fs, &live, &entry)) > 0) {
        NF2_TRY(nf2_repack_length(fs, &entry, &length));
        nf2_log_place(fs, survey->packed, length, NF2_NONE, &survey->packed);
        survey->bytes += length;
        survey->first += entry.id == NF2_ROOT_ID ? length : 0;
        survey->count++;
        survey->last = entry.offset;
        survey->newest = entry.type == NF2_NODE_PUT ? entry.offset : survey->newest;
    }
    return found;
}

void nf2_repack_again(const nf2_t *fs, uint32_t node, const struct nf2_survey *survey, struct nf2_live *live)
{
    live->scan.block = node;
    live->killed = nf2_scratch(fs, NF2_SCRATCH_NODE);
    live->append_at = survey->append_at;
    live->glance = false;
    nf2_live_again(live);
}

void nf2_repack_begin(nf2_t *fs, struct nf2_writer *writer, uint32_t block, uint8_t level)
{
    nf2_writer_begin(writer, block, 0);
    nf2_node_write_head(fs, writer, block, level, fs->flash->program_unit > 1);
}

int nf2_repack_end(nf2_t *fs, struct nf2_writer *writer)
{
    if (fs->flash->program_unit > 1) {
        nf2_node_write_mark(fs, writer, 0);
    }
    return nf2_writer_end(fs, writer);
}

int nf2_key_within(nf2_t *fs, const struct nf2_key *key, const struct nf2_key *low, const struct nf2_key *high, bool *yes)
{
    int order;

    *yes = true;
    if (low != NULL) {
        NF2_TRY(nf2_key_compare(fs, key, low, &order));
        *yes = order >= 0;
    }
    if (*yes && high != NULL) {
        NF2_TRY(nf2_key_compare(fs, key, high, &order));
        *yes = order < 0;
    }
    return NF2_OK;
}

int nf2_repack_entry(nf2_t *fs, struct nf2_writer *writer, uint32_t to, struct nf2_entry *entry)
{
    NF2_TRY(nf2_entry_body(fs, entry));
    struct nf2_node_op op = {.type = NF2_NODE_PUT, .key = nf2_entry_key(entry),
                             .body = nf2_span_at(entry->node, entry->body_offset, entry->body_position, entry->body_length)};
    uint32_t offset = nf2_node_write(fs, writer, &op, fs->flash->program_unit > 1);
    nf2_tree_follow(fs, entry->node, entry->offset, to, (uint16_t)offset, false);
    return NF2_OK;
}
