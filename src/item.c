/* SPDX-License-Identifier: BSD-2-Clause */
#include "item.h"

#include "flash.h"
#include "frames.h"

struct nf2_item nf2_owned_run(uint32_t start, uint32_t count)
{
    struct nf2_item item = {NF2_BODY_OWN, 0, start, start, {count}};
    return item;
}

int nf2_index_item(nf2_t *fs, const struct nf2_entry *entry, struct nf2_item *item)
{
    uint8_t body[NF2_PIECE_BODY] = {0}, kind;

    if (entry->body_length == 0 || entry->body_length > sizeof body) {
        return NF2_ERR_IO;
    }
    memset(item, 0, sizeof *item);
    NF2_TRY(nf2_entry_number(fs, entry, &kind, &item->number));
    NF2_TRY(nf2_body_read(fs, entry, 0, body, entry->body_length));
    item->kind = body[0];
    if (kind != (body[0] == NF2_BODY_OWN ? NF2_INDEX_OWN : NF2_INDEX_MAP)) {
        return NF2_ERR_IO;
    }
    if (body[0] == NF2_BODY_PIECE && entry->body_length == NF2_PIECE_BODY) {
        item->block = nf2_get24(body + 1);
        item->within = nf2_get16(body + 4);
        item->length = nf2_get32(body + 6);
        return item->length <= NF2_FILE_MAX - item->number ? NF2_OK : NF2_ERR_IO;
    }
    if (body[0] == NF2_BODY_FRAMES && entry->body_length == NF2_FRAMES_BODY) {
        item->block = nf2_get24(body + 1);
        item->base = nf2_get32(body + 4);
        return item->base <= item->number ? NF2_OK : NF2_ERR_IO;
    }
    if (body[0] == NF2_BODY_OWN && entry->body_length == NF2_OWN_BODY) {
        item->block = item->number;
        item->length = nf2_get16(body + 1);
        return NF2_OK;
    }
    return NF2_ERR_IO;
}

int nf2_item_end(nf2_t *fs, uint32_t id, const struct nf2_item *item, uint32_t *end)
{
    if (item->kind == NF2_BODY_PIECE) {
        *end = item->number + item->length;
        return NF2_OK;
    }
    struct nf2_frames frames;
    NF2_TRY(nf2_frames_open(fs, id, item->block, item->base, &frames));
    *end = nf2_max(frames.end, item->number);
    return NF2_OK;
}

void nf2_index_put(struct nf2_node_op *change, uint32_t id, const struct nf2_item *item)
{
    struct nf2_key key = nf2_number_key(id, item->kind == NF2_BODY_OWN ? NF2_INDEX_OWN : NF2_INDEX_MAP, item->number);
    bool piece = item->kind == NF2_BODY_PIECE;

    if (item->kind == NF2_BODY_OWN) {
        nf2_op_put(change, &key, item->kind, NF2_OWN_BODY);
        nf2_put16(change->bytes + 1, item->length);
        return;
    }
    nf2_op_put(change, &key, item->kind, piece ? NF2_PIECE_BODY : NF2_FRAMES_BODY);
    nf2_put24(change->bytes + 1, item->block);
    nf2_put16(change->bytes + 4, item->within);
    nf2_put32(change->bytes + (piece ? 6 : 4), piece ? item->length : item->base);
}

void nf2_index_delete(struct nf2_node_op *change, uint32_t id, uint32_t number)
{
    memset(change, 0, sizeof *change);
    change->type = NF2_NODE_DEL;
    change->key = nf2_number_key(id, NF2_INDEX_MAP, number);
}
