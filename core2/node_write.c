/* SPDX-License-Identifier: BSD-2-Clause */
/* node_write.c - changes appended to a node, and nodes written anew. */
#include "node.h"

#define APPEND_MAX 4u           /* changes in one group */

uint32_t nf2_key_bytes(const struct nf2_key *key)
{
    uint8_t bytes[NF2_KEY_BYTES];
    return (uint32_t)(nf2_key_store(bytes, key) - bytes);
}

uint32_t nf2_op_body(const struct nf2_op *op)
{
    uint32_t bytes = 0;

    for (unsigned i = 0; i < NF2_OP_SPANS; i++) {
        bytes += op->body[i].length;
    }
    return bytes;
}

uint32_t nf2_op_bytes(const struct nf2_op *op)
{
    return NF2_RECORD_OVERHEAD + nf2_key_bytes(&op->key) + nf2_op_body(op);
}

uint32_t nf2_entry_bytes(const struct nf2_entry *entry)
{
    return NF2_RECORD_OVERHEAD + nf2_key_bytes(&entry->key) + entry->body_length;
}

bool nf2_op_covers(const struct nf2_op *op, const struct nf2_key *key)
{
    return key->id == op->key.id && key->length == 4 && nf2_key_compare(key, &op->key) >= 0 &&
           nf2_key_value(key) < op->to;
}

/* ---- appending ---------------------------------------------------------------------------------- */

struct plan {                   /* what a change is in this node */
    uint8_t type;               /* of the record; 0: nothing is to be done */
    uint8_t extra;              /* bytes in front of the key */
    uint16_t kill[3];           /* those bytes: see the record types */
    uint16_t length;            /* of the payload */
    uint16_t records;
};

/* How many entries a RANGE removes. */
static int count_range(nf2_t *fs, struct nf2_view *view, const struct nf2_op *op)
{
    struct nf2_iterator iterator;
    struct nf2_entry entry;
    int found, count = 0;

    NF2_TRY(nf2_iterate(fs, view, &op->key, &iterator));
    while ((found = nf2_iterate_next(fs, &iterator, &entry)) > 0 && nf2_op_covers(op, &entry.key)) {
        count++;
    }
    return found < 0 ? found : count;
}

static int plan_delete(nf2_t *fs, struct nf2_view *view, const struct nf2_op *op, struct plan *plan, uint16_t old)
{
    int count = op->type == NF2_OP_RANGE ? count_range(fs, view, op) : old != 0;

    NF2_TRY(count);
    plan->type = count > 0 ? NF2_NODE_DEL : 0;
    plan->kill[0] = old;
    plan->extra = 2;
    plan->length = 2;
    plan->records = (uint16_t)count;
    return NF2_OK;
}

/* What a change means here, and which records it kills. */
static NF2_APART int plan_op(nf2_t *fs, struct nf2_view *view, const struct nf2_op *op, struct plan *plan)
{
    struct nf2_entry entry;
    int found = op->type == NF2_OP_RANGE ? 0 : nf2_node_find(fs, view, &op->key, &entry);

    NF2_TRY(found);
    memset(plan, 0, sizeof *plan);
    uint16_t old = found ? entry.record : 0;
    if (op->type == NF2_OP_DEL || op->type == NF2_OP_RANGE) {
        return plan_delete(fs, view, op, plan, old);
    }
    plan->records = 1;
    plan->type = found ? NF2_NODE_PUTK : NF2_NODE_PUT;
    plan->kill[0] = old;
    plan->extra = found ? 2 : 0;
    plan->length = (uint16_t)(plan->extra + nf2_op_bytes(op) - NF2_RECORD_OVERHEAD);
    if (op->type == NF2_OP_REN) {
        found = nf2_node_find(fs, view, op->from, &entry);
        NF2_TRY(found > 0 ? NF2_OK : found < 0 ? found : NF2_ERR_IO);
        plan->type = NF2_NODE_REN;
        plan->kill[0] = entry.body_record;
        plan->kill[1] = entry.record;
        plan->kill[2] = old;
        plan->extra = 6;
        plan->length = (uint16_t)(6 + nf2_key_bytes(&op->key));
    }
    return NF2_OK;
}

/* Is there room for the records, and for what the view has to know of them? */
static bool fits(const nf2_t *fs, const struct nf2_view *view, const struct plan *plan, unsigned count)
{
    uint32_t at = view->end, limit = nf2_log_bytes(fs), slots = 0;

    for (unsigned i = 0; i < count; i++) {
        for (unsigned n = 0; n < plan[i].records; n++) {
            slots += plan[i].type == NF2_NODE_DEL || plan[i].type == NF2_NODE_PUT ? 1 : 2;
            uint32_t bytes = plan[i].length + NF2_RECORD_OVERHEAD;
            if (at >= limit || nf2_log_place(fs, at, bytes, limit, &at) >= limit) {
                return false;
            }
        }
    }
    return view->alive + view->dead + slots <= view->slots;
}

static uint32_t write_planned(nf2_t *fs, struct nf2_writer *writer, const struct nf2_op *op,
                              const struct plan *plan, bool more)
{
    uint8_t bytes[6 + NF2_KEY_BYTES];
    uint8_t *p = bytes;
    uint32_t place = nf2_writer_open(fs, writer, plan->type, more, plan->length);

    for (unsigned i = 0; i < plan->extra / 2u; i++) {
        p = nf2_put16(p, plan->kill[i]);
    }
    p = plan->type == NF2_NODE_DEL ? p : nf2_key_store(p, &op->key);
    nf2_writer_put(fs, writer, bytes, (uint32_t)(p - bytes));
    for (unsigned i = 0; i < NF2_OP_SPANS && op->type == NF2_OP_PUT; i++) {
        nf2_writer_span(fs, writer, &op->body[i]);
    }
    nf2_writer_close(fs, writer);
    return place;
}

/* All the DEL records of a RANGE; the view is read anew afterwards. */
static int write_range(nf2_t *fs, struct nf2_view *view, struct nf2_writer *writer, const struct nf2_op *op,
                       struct plan *plan, unsigned *left)
{
    struct nf2_iterator iterator;
    struct nf2_entry entry;
    int found;

    NF2_TRY(nf2_iterate(fs, view, &op->key, &iterator));
    while ((found = nf2_iterate_next(fs, &iterator, &entry)) > 0 && nf2_op_covers(op, &entry.key)) {
        plan->kill[0] = entry.record;
        (void)write_planned(fs, writer, op, plan, --*left > 0);
    }
    return found < 0 ? found : NF2_OK;
}

static NF2_APART int write_all(nf2_t *fs, struct nf2_view *view, const struct nf2_op *ops, struct plan *plan,
                     unsigned count, unsigned left)
{
    struct nf2_writer writer;
    uint16_t place[APPEND_MAX] = {0};
    bool range = false;
    int result = NF2_OK;

    nf2_writer_begin(&writer, view->block, view->end);
    for (unsigned i = 0; i < count && result == NF2_OK; i++) {
        if (ops[i].type == NF2_OP_RANGE) {
            range = true;
            result = write_range(fs, view, &writer, &ops[i], &plan[i], &left);
        } else if (plan[i].records > 0) {
            place[i] = (uint16_t)write_planned(fs, &writer, &ops[i], &plan[i], --left > 0);
        }
    }
    writer.result = result < 0 ? result : writer.result;
    result = nf2_writer_end(fs, &writer);
    if (result < 0 && writer.begun) { /* what is known of the node is all that there will be */
        view->end = (uint16_t)(nf2_log_bytes(fs) + 1u);
        return nf2_writer_torn(&writer) ? NF2_NODE_HALF : result;
    }
    view->end = (uint16_t)writer.position;
    bool known = result == NF2_OK && !range;
    for (unsigned i = 0; i < count && known; i++) {
        known = plan[i].records == 0 ||
                nf2_view_apply(fs, view, place[i]) == NF2_OK;
    }
    if (!known) {
        nf2_view_forget(fs, view->block); /* if the change is made, it is not worth an error */
    }
    return result;
}

int nf2_node_append(nf2_t *fs, struct nf2_view *view, const struct nf2_op *ops, unsigned count)
{
    struct plan plan[APPEND_MAX];
    unsigned records = 0;

    NF2_ASSERT(count <= APPEND_MAX);
    for (unsigned i = 0; i < count; i++) {
        NF2_TRY(plan_op(fs, view, &ops[i], &plan[i]));
        records += plan[i].records;
    }
    if (records == 0) {
        return NF2_OK;
    }
    return fits(fs, view, plan, count) ? write_all(fs, view, ops, plan, count, records) : NF2_NODE_FULL;
}

/* ---- nodes written anew ------------------------------------------------------------------------- */

void nf2_node_begin(nf2_t *fs, struct nf2_writer *writer, uint32_t block, unsigned level, bool empty)
{
    uint8_t head[NF2_NODE_HEAD_BYTES] = {'N', (uint8_t)level};

    nf2_put32(nf2_put24(head + 2, block), fs->root.volume_id);
    nf2_writer_begin(writer, block, 0);
    nf2_writer_record(fs, writer, NF2_NODE_HEAD, !empty, head, sizeof head);
}

static void put_record(nf2_t *fs, struct nf2_writer *writer, const struct nf2_key *key,
                       const struct nf2_span *body, unsigned spans, uint32_t length, bool more)
{
    uint8_t bytes[NF2_KEY_BYTES];
    uint32_t used = (uint32_t)(nf2_key_store(bytes, key) - bytes);

    (void)nf2_writer_open(fs, writer, NF2_NODE_PUT, more, used + length);
    nf2_writer_put(fs, writer, bytes, used);
    for (unsigned i = 0; i < spans; i++) {
        nf2_writer_span(fs, writer, &body[i]);
    }
    nf2_writer_close(fs, writer);
}

void nf2_node_copy(nf2_t *fs, struct nf2_writer *writer, const struct nf2_entry *entry, bool more)
{
    struct nf2_span body = nf2_body_span(entry, 0, entry->body_length);
    put_record(fs, writer, &entry->key, &body, 1, entry->body_length, more);
}

void nf2_node_put(nf2_t *fs, struct nf2_writer *writer, const struct nf2_op *op, bool more)
{
    put_record(fs, writer, &op->key, op->body, NF2_OP_SPANS, nf2_op_body(op), more);
}
