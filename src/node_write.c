/* SPDX-License-Identifier: BSD-2-Clause */
/* node_write.c - changes appended to a node, and the records of new ones. */
#include "node.h"

#define APPEND_MAX 8u           /* records in one group; a change of more goes into a new node */

uint32_t nf2_op_body(const struct nf2_op *op)
{
    return (uint32_t)op->body[0].length + op->body[1].length;
}

bool nf2_op_covers(const struct nf2_op *op, const struct nf2_key *key)
{
    int order = nf2_key_compare(key, op->key);

    return op->type != NF2_OP_RANGE ? order == 0 :
           order >= 0 && key->id == op->key->id &&
           (op->to > NF2_FILE_MAX || (key->length == 4 && nf2_key_value(key) < op->to));
}

int nf2_ops_cover(nf2_t *fs, uint32_t block, uint32_t place, const struct nf2_op *ops,
                  unsigned count)
{
    struct nf2_key key;
    int covered = 0;

    NF2_TRY(nf2_key_at(fs, block, place, &key));
    while (count-- > 0) {
        covered = covered << 1 | nf2_op_covers(&ops[count], &key);
    }
    return covered;
}

/* ---- records ----------------------------------------------------------------------------- */

struct record {
    const struct nf2_op *op;    /* the change that it is of */
    uint8_t rank;               /* so many of the tail's entries are below it */
    uint16_t body, source;      /* of REN */
    uint16_t kill;              /* REN: the victim */
    uint8_t type;
    uint16_t place;
};

/* Writes a record of a change. */
static uint32_t put_record(nf2_t *fs, struct nf2_writer *writer, const struct record *record)
{
    const struct nf2_op *op = record->op;
    uint8_t bytes[7 + NF2_KEY_BYTES], *p = bytes;
    unsigned type = record->type;

    if (type == NF2_NODE_REN) {
        p = nf2_put16(nf2_put16(p, record->body), record->source);
    }
    if (type >= NF2_NODE_PUTK && type <= NF2_NODE_REN) {
        p = nf2_put16(p, record->kill);
    }
    if (type != NF2_NODE_DEL) {
        *p = record->rank;
        p = nf2_key_store(p + (type != NF2_NODE_PUT), op->key);
    }
    uint32_t length = (uint32_t)(p - bytes), body = type == NF2_NODE_REN ? 0 : nf2_op_body(op);
    uint32_t place = nf2_writer_open(fs, writer, type, length + body);
    if (writer->result < 0) {   /* only where it would end is asked for */
        return place;
    }
    nf2_writer_put(fs, writer, bytes, length);
    for (const struct nf2_span *span = op->body; body > 0; body -= span++->length) {
        nf2_writer_span(fs, writer, span);
    }
    nf2_writer_close(fs, writer);
    return place;
}

void nf2_node_head(nf2_t *fs, struct nf2_writer *writer, unsigned level)
{
    uint8_t head[NF2_NODE_HEAD_BYTES] = {'N', (uint8_t)level};

    uint8_t *serial = nf2_put32(nf2_put24(head + 2, writer->block), fs->root.volume_id);
    nf2_put32(serial, writer->result < 0 ? 0 : nf2_serial_next(fs)); /* or it is only measured */
    nf2_writer_record(fs, writer, NF2_NODE_HEAD, head, sizeof head);
}

/* Rank -1: none, in the base. */
void nf2_node_put(nf2_t *fs, struct nf2_writer *writer, const struct nf2_op *op, int rank)
{
    struct record put = {.op = op, .type = rank < 0 ? NF2_NODE_PUT : NF2_NODE_ADD,
                         .rank = (uint8_t)rank};
    (void)put_record(fs, writer, &put);
}

/* ---- appending --------------------------------------------------------------------------- */

/*
 * Does a change put the body of the entry at a place, where it lies, and nothing else? The place of
 * the record with it, 0 or an error.
 */
static int takes_body(nf2_t *fs, const struct nf2_op *op, uint32_t block, int place)
{
    struct nf2_entry source;

    NF2_TRY(nf2_entry_at(fs, block, place, &source));
    const struct nf2_span *body = op->body, *whole = &source.body;
    uint32_t record = whole->at.record.offset;
    bool same = body->length == whole->length && body->position == whole->position &&
                body->at.record.offset == record && body->at.record.block == block;
    return op->body[1].length == 0 && same ? (int)record : 0;
}

/* The records that the changes are in this node: how many, or an error. */
static int plan(nf2_t *fs, struct nf2_view *view, const struct nf2_op *ops,
                unsigned count, struct record *record)
{
    struct record *next = record;
    struct nf2_iterator gap;

    gap.view = view;
    for (unsigned i = 0; i < count; i++) {
        const struct nf2_op *op = &ops[i];
        bool range = op->type == NF2_OP_RANGE;
        NF2_TRY(nf2_node_gap(fs, op->key, !range, &gap));
        int found;
        do {
            int place = range ? nf2_iterate_place(fs, &gap) : gap.below, body = 0;
            NF2_TRY(place);
            found = place == 0 ? 0 :
                    nf2_ops_cover(fs, view->block, (uint32_t)place, op, range ? count - i : 1);
            NF2_TRY(found);
            if (found == 1 && op->type == NF2_OP_DEL && i > 0) {
                body = takes_body(fs, op - 1, view->block, place);
                NF2_TRY(body);
            }
            if (body > 0) {     /* the PUT in front becomes a rename */
                next[-1].type = NF2_NODE_REN;
                next[-1].source = (uint16_t)place;
                next[-1].body = (uint16_t)body;
            } else if (found == 1 || op->type == NF2_OP_PUT) {
                /* a RANGE leaves out what the changes behind it put */
                if (next == record + APPEND_MAX) {
                    return NF2_NODE_FULL;
                }
                next->type = op->type != NF2_OP_PUT ? NF2_NODE_DEL :
                             found ? NF2_NODE_PUTK :
                             /* the base grows: all lies in it, and below the key */
                             count == 1 && gap.spot.base == view->end ? NF2_NODE_PUT : NF2_NODE_ADD;
                next->op = op;
                next->kill = (uint16_t)(found ? place : 0);
                next->source = 0;
                next++->rank = (uint8_t)gap.spot.tail;
            }
        } while ((found & 1) != 0 && range);
    }
    return (int)(next - record);
}

/*
 * Their ranks: so many alive records were below their keys; this and what is in front of it in the
 * group change that.
 */
static NF2_APART void set_ranks(const struct nf2_view *view, struct record *record, int count)
{
    for (struct record *last = record; last < record + count; last++) {
        unsigned below = last->rank, rank = below;
        for (const struct record *r = record; r <= last; r++) {
            rank += r->type != NF2_NODE_DEL && nf2_key_compare(r->op->key, last->op->key) < 0;
            for (const uint16_t *slot = view->slot; slot < view->slot + below; slot++) {
                rank -= *slot == r->source || *slot == r->kill;
            }
        }
        last->rank = (uint8_t)rank;
    }
}

int nf2_node_append(nf2_t *fs, struct nf2_view *view, const struct nf2_op *ops, unsigned count)
{
    struct record record[APPEND_MAX];
    struct nf2_writer writer;
    int n = plan(fs, view, ops, count, record), result = NF2_OK;

    if (n <= 0) {
        return n;
    }
    /* what the view has to know of them: two of the base may go for one */
    if (view->alive + view->dead + 3 * n > view->slots) {
        return NF2_NODE_FULL;
    }
    bool fills = record->type == NF2_NODE_PUT ||
                 (record->type == NF2_NODE_ADD && view->base_end == NF2_PAGE_HEAD);
    uint32_t end = nf2_log_bytes(fs);
    end -= n == 1 && fills && nf2_node_ample(fs) ? end / 8 : 0;
    set_ranks(view, record, n);
    for (unsigned dry = 2; dry-- > 0;) { /* first it is seen whether there is room */
        nf2_writer_begin(&writer, view->block, view->end);
        writer.result = dry ? NF2_NODE_FULL : NF2_OK;
        for (int i = 0; i < n; i++) {
            writer.more = i + 1 < n && !NF2_BROKEN(NF2_FAULT_GROUP);
            record[i].place = (uint16_t)put_record(fs, &writer, &record[i]);
        }
        result = nf2_writer_end(fs, &writer);
        if (writer.position > end) {
            return NF2_NODE_FULL;
        }
    }
    if (result < 0 && writer.begun) { /* what is known of the node is all that there will be */
        view->end = (uint16_t)nf2_log_bytes(fs);
        return result == NF2_FAILED_BLOCK ? result : NF2_NODE_HALF;
    }
    view->end = (uint16_t)writer.position;
    fs->way.last = 0;
    for (int i = 0; i < n; i++) {
        nf2_hints_forget(fs, view->block, record[i].kill, 1);
        nf2_hints_forget(fs, view->block, record[i].source, 1);
        if (result != NF2_OK || nf2_view_apply(fs, view, record[i].place) != NF2_OK) {
            /* with the hints; if the change is made, it is not worth an error */
            nf2_view_forget(fs, view->block);
            break;
        }
    }
    return result;
}
