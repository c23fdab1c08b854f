/* SPDX-License-Identifier: BSD-2-Clause */
/* node_write.c - records of a node: their lengths, and how they come to the flash. */
#include "node.h"

#include "cache.h"
#include "flash.h"

static uint32_t put_varint(uint8_t *to, uint32_t value)
{
    uint32_t n = 0;
    while (value >= 0x80) {
        to[n++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    to[n++] = (uint8_t)value;
    return n;
}

static uint32_t varint_length(uint32_t value)
{
    uint8_t bytes[5];
    return put_varint(bytes, value);
}

static NF2_ONCE uint8_t type_of(const struct nf2_node_op *op)
{
    return op->type == NF2_NODE_PUT && op->kill != 0 ? NF2_NODE_PUTK : op->type;
}

static bool is_void(const struct nf2_node_op *op)
{
    return op->kill == 0 && (op->type == NF2_NODE_DEL || op->type == NF2_NODE_MOV);
}

void nf2_op_put(struct nf2_node_op *op, const struct nf2_key *key, uint8_t kind, uint8_t length)
{
    memset(op, 0, sizeof *op);
    op->type = NF2_NODE_PUT;
    op->key = *key;
    op->held = length;
    op->bytes[0] = kind;
}

uint32_t nf2_put_length(uint32_t id, uint32_t key_length, uint32_t body_length)
{
    return NF2_RECORD_OVERHEAD + varint_length(id) + 1u + key_length + body_length;
}

uint32_t nf2_node_op_length(const struct nf2_node_op *op)
{
    uint32_t body = op->held == NF2_CONTENT ? op->body.length + 1u : op->held != 0 ? op->held : op->body.length;

    if (is_void(op)) {
        return 0;
    }
    return nf2_node_references(type_of(op)) + (nf2_node_has_key(op->type) ? nf2_put_length(op->key.id, op->key.length, body) : NF2_RECORD_OVERHEAD + body);
}

#define MARK_LENGTH (NF2_RECORD_OVERHEAD + 6u)

/* Where a group begins: it gives up the rest of a page where that saves a program. An eighth: erasing it later takes about as long as the program. */
static uint32_t group_start(const nf2_t *fs, uint32_t at, const struct nf2_node_op *ops, unsigned count, uint32_t mark)
{
    uint32_t page = nf2_page(fs), rest = page - at % page, length = mark != 0 ? MARK_LENGTH : 0;

    for (unsigned i = 0; i < count; i++) {
        length += nf2_node_op_length(&ops[i]);
    }
    return rest <= page / 8 && length > rest && length <= page - NF2_PAGE_HEAD ? at + rest : at;
}

uint32_t nf2_node_fit(const nf2_t *fs, uint32_t at, const struct nf2_node_op *ops, unsigned count, uint32_t mark, uint32_t limit)
{
    at = group_start(fs, at, ops, count, mark);
    for (unsigned i = 0; i < count + (mark != 0); i++) {
        uint32_t length = i < count ? nf2_node_op_length(&ops[i]) : MARK_LENGTH;
        if (at >= nf2_log_bytes(fs) ||
            (length > 0 && nf2_log_place(fs, at, length, limit, &at) >= nf2_log_bytes(fs))) {
            return NF2_NONE;
        }
    }
    return nf2_align_unit(fs, at);
}

/* The references and the key, with its length: all of a payload but the body. How many bytes of it are in `head`; a key of other kinds than a number follows. */
static uint32_t put_head(const struct nf2_node_op *op, uint8_t *head)
{
    uint32_t n = nf2_node_references(type_of(op));

    nf2_put16(head, op->kill);
    nf2_put32(head + 2, op->type == NF2_NODE_REN ? op->victim : 0);
    if (nf2_node_has_key(op->type)) {
        n += put_varint(head + n, op->key.id);
        head[n++] = op->key.length;
        if (op->key.position == NF2_KEY_NUMBER) {
            (void)nf2_key_put_number(head + n, &op->key);
            n += NF2_NUMBER_LENGTH;
        }
    }
    return n;
}

static void put_span(nf2_t *fs, struct nf2_writer *writer, const struct nf2_span *span)
{
    if (span->position != 0) {
        nf2_writer_copy(fs, writer, span);
    } else {
        nf2_writer_put(fs, writer, span->at.data, span->length);
    }
}

/* The content of an inline file. */
static void put_content(nf2_t *fs, struct nf2_writer *writer, const nf2_file_t *file, uint32_t length)
{
    static const uint8_t kind = NF2_BODY_INLINE;
    uint32_t page = nf2_page(fs);

    nf2_writer_put(fs, writer, &kind, 1);
    nf2_writer_put(fs, writer, file->buffer, nf2_min(length, page));
    nf2_writer_put(fs, writer, file->more, length > page ? length - page : 0);
}

uint32_t nf2_node_write(nf2_t *fs, struct nf2_writer *writer, const struct nf2_node_op *op, bool more)
{
    uint8_t head[12 + NF2_NUMBER_LENGTH];
    uint32_t offset = nf2_writer_open(fs, writer, type_of(op), more, nf2_node_op_length(op) - NF2_RECORD_OVERHEAD);

    nf2_writer_put(fs, writer, head, put_head(op, head));
    if (nf2_node_has_key(op->type) && op->key.position != NF2_KEY_NUMBER) {
        struct nf2_span key = {{op->key.at.bytes}, op->key.offset, op->key.position, op->key.length};
        key.at.block = nf2_key_on_flash(&op->key) ? op->key.at.block : key.at.block;
        put_span(fs, writer, &key);
    }
    if (op->held == NF2_CONTENT) {
        put_content(fs, writer, op->body.at.data, op->body.length);
    } else if (op->held == 0) {
        put_span(fs, writer, &op->body);
    } else {
        nf2_writer_put(fs, writer, op->bytes, op->held);
    }
    nf2_writer_close(fs, writer);
    return offset;
}

void nf2_node_write_mark(nf2_t *fs, struct nf2_writer *writer, uint32_t sequence)
{
    uint8_t payload[MARK_LENGTH - NF2_RECORD_OVERHEAD] = {0};

    nf2_put32(payload + 2, sequence);
    nf2_writer_record(fs, writer, NF2_NODE_MOV, false, payload, sizeof payload);
}

void nf2_node_write_head(nf2_t *fs, struct nf2_writer *writer, uint32_t node, uint8_t level, bool more)
{
    uint8_t payload[NF2_NODE_HEAD_PAYLOAD] = {'N', level};

    nf2_put24(payload + 2, node);
    nf2_put32(payload + 5, fs->volume_id);
    nf2_writer_record(fs, writer, NF2_NODE_HEAD, more, payload, sizeof payload);
}

int nf2_node_append(nf2_t *fs, uint32_t node, uint32_t at, struct nf2_node_op *ops, unsigned count, uint32_t mark)
{
    struct nf2_writer writer;
    unsigned end = count;
    uint32_t programs = fs->programs;

    while (mark == 0 && end > 0 && is_void(&ops[end - 1])) {
        end--;
    }
    nf2_writer_begin(&writer, node, group_start(fs, at, ops, count, mark));
    for (unsigned i = 0; i < end; i++) {
        if (!is_void(&ops[i])) {
            bool more = (mark != 0 || i + 1 < end) && !NF2_BROKEN(NF2_FAULT_GROUP);
            ops[i].offset = (uint16_t)nf2_node_write(fs, &writer, &ops[i], more);
        }
    }
    if (mark != 0) {
        nf2_node_write_mark(fs, &writer, mark);
    }
    int result = nf2_writer_end(fs, &writer);
    fs->broken = fs->broken || (result < 0 && fs->programs != programs); /* a part of the group is there: the next one would end it */
    NF2_TRY(result);
    nf2_cache_appended(fs, node, ops, end, mark, writer.position);
    return (int)writer.position;
}

uint32_t nf2_put_limit(const nf2_t *fs, uint32_t entries)
{
    uint32_t kept = entries * nf2_max(8u, fs->flash->program_unit), page = nf2_page(fs);

    return nf2_log_bytes(fs) - (kept > page - 8u ? 2u * page : kept);
}
