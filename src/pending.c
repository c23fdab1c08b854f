/* SPDX-License-Identifier: BSD-2-Clause */
#include "pending.h"

#include "descent.h"
#include "flash.h"

/* Does the change replace, remove or move the entry at this place? */
static bool concerns(const struct nf2_pending *pending, uint16_t offset)
{
    for (unsigned i = 0; i < pending->count; i++) {
        if (pending->ops[i].kill == offset || pending->ops[i].victim == offset) {
            return true;
        }
    }
    return false;
}

/* The `i`-th entry that the change puts, if it lies in [low, high): 1, 0, or an error. */
static int put_at(nf2_t *fs, const struct nf2_pending *pending, unsigned i, uint32_t leaf, const struct nf2_key *low,
                  const struct nf2_key *high, struct nf2_node_op *op)
{
    struct nf2_entry source;
    bool inside;

    *op = pending->ops[i];
    if (!nf2_op_puts(op)) {
        return 0;
    }
    NF2_TRY(nf2_key_within(fs, &op->key, low, high, &inside));
    if (op->type == NF2_NODE_REN) {
        NF2_TRY(nf2_entry_at(fs, leaf, op->kill, &source));
        op->body = nf2_span_at(leaf, source.body_offset, source.body_position, source.body_length);
    }
    op->type = NF2_NODE_PUT;
    op->kill = op->victim = 0; /* it begins a new node */
    return inside;
}

/* The next live entry of [low, high) that the change leaves as it is: 1, 0, or an error. */
static int next_kept(nf2_t *fs, const struct nf2_pending *pending, struct nf2_live *live, const struct nf2_key *low,
                     const struct nf2_key *high, struct nf2_entry *entry)
{
    bool inside = false;
    int found;

    while (!inside && (found = nf2_live_next(fs, live, entry)) != 0) {
        NF2_TRY(found);
        if (pending == NULL || !concerns(pending, entry->offset)) {
            struct nf2_key key = nf2_entry_key(entry);
            NF2_TRY(nf2_key_within(fs, &key, low, high, &inside));
        }
    }
    return inside;
}

int nf2_pending_fits(nf2_t *fs, const struct nf2_pending *pending, uint32_t leaf, const struct nf2_key *low,
                     const struct nf2_key *high, bool *fits)
{
    uint32_t end = NF2_PAGE_HEAD + NF2_NODE_HEAD_PAYLOAD + NF2_RECORD_OVERHEAD, records = 0, length;
    struct nf2_live live;
    struct nf2_entry entry;
    struct nf2_node_op op;
    int found;

    NF2_TRY(nf2_live_begin(fs, leaf, nf2_scratch(fs, NF2_SCRATCH_NODE), &live));
    while ((found = next_kept(fs, pending, &live, low, high, &entry)) > 0) {
        NF2_TRY(nf2_repack_length(fs, &entry, &length));
        nf2_log_place(fs, end, length, NF2_NONE, &end);
        records++;
    }
    NF2_TRY(found);
    for (unsigned i = 0; i < pending->count; i++) {
        found = put_at(fs, pending, i, leaf, low, high, &op);
        NF2_TRY(found);
        if (found) {
            nf2_log_place(fs, end, nf2_node_op_length(&op), NF2_NONE, &end);
            records++;
        }
    }
    *fits = end <= nf2_put_limit(fs, records);
    return NF2_OK;
}

int nf2_pending_put(nf2_t *fs, struct nf2_writer *writer, struct nf2_pending *pending, uint32_t leaf, uint32_t to,
                    const struct nf2_key *low, const struct nf2_key *high)
{
    struct nf2_node_op op;

    for (unsigned i = 0; i < pending->count; i++) {
        int found = put_at(fs, pending, i, leaf, low, high, &op);
        NF2_TRY(found);
        if (!found) {
            continue;
        }
        uint32_t offset = nf2_node_write(fs, writer, &op, fs->flash->program_unit > 1);
        if (pending->ops[i].kill != 0) {
            nf2_tree_follow(fs, leaf, pending->ops[i].kill, to, (uint16_t)offset, pending->source == NULL);
        }
        if (i == 0) {
            pending->node = to;
            pending->offset = (uint16_t)offset;
        }
    }
    return NF2_OK;
}

int nf2_pending_copy(nf2_t *fs, struct nf2_writer *writer, const struct nf2_pending *pending, uint32_t node, uint32_t to,
                     const struct nf2_key *low, const struct nf2_key *high)
{
    uint8_t killed[NF2_KILL_BYTES];
    struct nf2_live live;
    struct nf2_entry entry;
    int found;

    NF2_TRY(nf2_live_begin(fs, node, killed, &live));
    while ((found = next_kept(fs, pending, &live, low, high, &entry)) > 0) {
        NF2_TRY(nf2_repack_entry(fs, writer, to, &entry));
    }
    return found;
}
