/* SPDX-License-Identifier: BSD-2-Clause */
#include "pending.h"

#include "descent.h"
#include "flash.h"

/* Does the change put, replace, remove or move the entry with this key? */
static int concerns(nf2_t *fs, const struct nf2_pending *pending, const struct nf2_key *key, bool *yes)
{
    const struct nf2_key *ends[2] = {pending->source, pending->target};
    int order = 1;

    for (unsigned i = 0; i < 2 && pending->source != NULL && order != 0; i++) {
        NF2_TRY(nf2_key_compare(fs, key, ends[i], &order));
    }
    for (unsigned i = 0; i < pending->count && order != 0; i++) {
        NF2_TRY(nf2_key_compare(fs, key, &pending->changes[i].key, &order));
    }
    *yes = order == 0;
    return NF2_OK;
}

/* The `i`-th entry that the change puts, if it lies in [low, high): 1, 0, or an error. `old` is the entry that it stands for; its node is 0 if there is none. */
static int put_at(nf2_t *fs, const struct nf2_pending *pending, unsigned i, uint32_t leaf, const struct nf2_key *low,
                  const struct nf2_key *high, struct nf2_node_op *op, struct nf2_entry *old)
{
    const struct nf2_tree_change *change = pending->source == NULL ? &pending->changes[i] : NULL;
    bool inside;

    if (change != NULL && change->type != NF2_CHANGE_PUT) {
        return 0;
    }
    memset(op, 0, sizeof *op);
    memset(old, 0, sizeof *old);
    op->type = NF2_NODE_PUT;
    op->key = change != NULL ? change->key : *pending->target;
    NF2_TRY(nf2_key_within(fs, &op->key, low, high, &inside));
    if (!inside) {
        return 0;
    }
    int found = nf2_node_find(fs, leaf, change != NULL ? &change->key : pending->source, old);
    NF2_TRY(found);
    if (change != NULL) {
        old->node = found ? old->node : 0;
        op->bodies = change->bodies;
        op->body[0] = change->body[0];
        op->body[1] = change->body[1];
        return 1;
    }
    if (!found) {
        return NF2_ERR_NOENT;
    }
    NF2_TRY(nf2_entry_body(fs, old));
    struct nf2_span body = {NULL, old->node, old->body_offset, old->body_position, old->body_length};
    op->body[0] = body;
    op->bodies = 1;
    return 1;
}

static unsigned put_count(const struct nf2_pending *pending)
{
    return pending->source != NULL ? 1 : pending->count;
}

/* The next live entry of [low, high) that the change leaves as it is: 1, 0, or an error. */
static int next_kept(nf2_t *fs, const struct nf2_pending *pending, struct nf2_scan *scan, const struct nf2_node_info *info,
                     const struct nf2_key *low, const struct nf2_key *high, struct nf2_entry *entry)
{
    bool inside, gone;
    int found;

    do {
        found = nf2_repack_next(fs, scan, info, entry);
        if (found <= 0) {
            return found;
        }
        struct nf2_key key = nf2_entry_key(entry);
        NF2_TRY(nf2_key_within(fs, &key, low, high, &inside));
        NF2_TRY(concerns(fs, pending, &key, &gone));
    } while (!inside || gone);
    return 1;
}

int nf2_pending_fits(nf2_t *fs, const struct nf2_pending *pending, uint32_t leaf, const struct nf2_key *low,
                     const struct nf2_key *high, bool *fits)
{
    uint32_t end = NF2_PAGE_HEAD + NF2_NODE_HEAD_PAYLOAD + NF2_RECORD_OVERHEAD, records = 0, length;
    struct nf2_node_info info;
    struct nf2_scan scan;
    struct nf2_entry entry;
    struct nf2_node_op op;
    int found;

    NF2_TRY(nf2_node_info(fs, leaf, &info));
    nf2_scan_begin(&scan, leaf);
    while ((found = next_kept(fs, pending, &scan, &info, low, high, &entry)) > 0) {
        NF2_TRY(nf2_repack_length(fs, &entry, &length));
        nf2_log_place(fs, end, length, NF2_NONE, &end);
        records++;
    }
    NF2_TRY(found);
    for (unsigned i = 0; i < put_count(pending); i++) {
        found = put_at(fs, pending, i, leaf, low, high, &op, &entry);
        NF2_TRY(found);
        if (found) {
            nf2_log_place(fs, end, nf2_node_op_length(&op), NF2_NONE, &end);
            records++;
        }
    }
    *fits = end <= nf2_put_limit(fs, records);
    return NF2_OK;
}

static int write_puts(nf2_t *fs, struct nf2_writer *writer, struct nf2_pending *pending, uint32_t leaf, uint32_t to,
                      const struct nf2_key *low, const struct nf2_key *high)
{
    struct nf2_node_op op;
    struct nf2_entry old;

    for (unsigned i = 0; i < put_count(pending); i++) {
        int found = put_at(fs, pending, i, leaf, low, high, &op, &old);
        NF2_TRY(found);
        if (!found) {
            continue;
        }
        int offset = nf2_node_write(fs, writer, &op, fs->flash->program_unit > 1);
        NF2_TRY(offset);
        if (old.node != 0) {
            nf2_tree_follow(fs, leaf, old.offset, to, (uint16_t)offset, pending->source == NULL);
        }
        if (i == 0) {
            pending->node = to;
            pending->offset = (uint16_t)offset;
        }
    }
    return NF2_OK;
}

int nf2_pending_copy(nf2_t *fs, struct nf2_writer *writer, struct nf2_pending *pending, uint32_t leaf, uint32_t to,
                     const struct nf2_key *low, const struct nf2_key *high)
{
    struct nf2_node_info info;
    struct nf2_scan scan;
    struct nf2_entry entry;
    int found;

    NF2_TRY(nf2_node_info(fs, leaf, &info));
    nf2_scan_begin(&scan, leaf);
    while ((found = next_kept(fs, pending, &scan, &info, low, high, &entry)) > 0) {
        NF2_TRY(nf2_repack_entry(fs, writer, to, &entry));
    }
    NF2_TRY(found);
    return write_puts(fs, writer, pending, leaf, to, low, high);
}
