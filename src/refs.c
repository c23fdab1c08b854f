/* SPDX-License-Identifier: BSD-2-Clause */
#include "refs.h"

uint8_t *nf2_piece_store(uint8_t *p, const struct nf2_piece *piece)
{
    NF2_ASSERT(piece->kind >= NF2_PIECE_DATA && piece->kind <= NF2_PIECE_ZEROS);
    NF2_ASSERT(!piece->open || piece->kind == NF2_PIECE_FRAMES);
    *p++ = piece->kind;
    if (piece->kind != NF2_PIECE_ZEROS) {
        p = nf2_put24(p, piece->block);
        bool frames = piece->kind == NF2_PIECE_FRAMES;
        p = frames ? nf2_put32(p, piece->offset - piece->within) : nf2_put16(p, piece->within);
    }
    return nf2_put_varint(p, piece->open ? 0 : piece->length);
}

static bool piece_valid(const nf2_t *fs, const struct nf2_piece *piece, uint32_t block,
                        uint32_t within)
{
    uint32_t bytes = nf2_block_bytes(fs);

    if (piece->length > NF2_FILE_MAX || block >= fs->blocks || within >= bytes) {
        return false;
    }
    uint32_t room = (fs->blocks - block) * bytes - within;
    return piece->kind != NF2_PIECE_DATA || (piece->length > 0 && piece->length <= room);
}

int nf2_piece_load(const nf2_t *fs, const uint8_t *p, uint32_t room, struct nf2_piece *piece)
{
    uint32_t at = 1, block = 0, within = 0;

    if (room < 2) {
        return NF2_ERR_IO;
    }
    if (p[0] < NF2_PIECE_DATA || p[0] > NF2_PIECE_ZEROS) {
        return NF2_ERR_VERSION;
    }
    piece->kind = p[0];
    if (p[0] != NF2_PIECE_ZEROS) {
        at = p[0] == NF2_PIECE_FRAMES ? 8 : 6;
        if (room <= at) {
            return NF2_ERR_IO;
        }
        block = nf2_get24(p + 1);
        within = p[0] == NF2_PIECE_FRAMES ? piece->offset - nf2_get32(p + 4) : nf2_get16(p + 4);
    }
    uint32_t used = nf2_get_varint(p + at, room - at, &piece->length);
    piece->block = (uint16_t)block;
    piece->within = (uint16_t)within;
    piece->open = piece->kind == NF2_PIECE_FRAMES && piece->length == 0;
    return used != 0 && piece_valid(fs, piece, block, within) ? (int)(at + used) : NF2_ERR_IO;
}

uint32_t nf2_piece_blocks(const nf2_t *fs, const struct nf2_piece *piece)
{
    if (piece->kind != NF2_PIECE_DATA) {
        return piece->kind == NF2_PIECE_FRAMES;
    }
    return (piece->within + piece->length + nf2_block_bytes(fs) - 1) / nf2_block_bytes(fs);
}

int nf2_span_read(nf2_t *fs, const struct nf2_span *span, uint32_t at, void *data, uint32_t length)
{
    if (at > span->length || length > span->length - at) {
        return NF2_ERR_IO;
    }
    if (span->position == NF2_IN_RAM) {
        memcpy(data, (const uint8_t *)span->at.data + at, length);
        return NF2_OK;
    }
    return nf2_record_read(fs, span->at.record.block, span->at.record.offset, span->position + at,
                           data, length);
}

int nf2_content_at(nf2_t *fs, const struct nf2_key *key, const struct nf2_span *body)
{
    uint8_t rest;

    NF2_ASSERT(key->length <= NF2_KEY_MAX);
    if (!nf2_key_has_rest(key)) {
        return 0;
    }
    NF2_TRY(nf2_span_read(fs, body, 0, &rest, 1));
    return 1 + rest;
}

/* Passes an error on. With one of VERSION the volume takes no more writes. */
static int closed(nf2_t *fs, int error)
{
    fs->read_only |= error == NF2_ERR_VERSION;
    return error;
}

int nf2_refs_begin(nf2_t *fs, const struct nf2_key *key, const struct nf2_span *body,
                   struct nf2_refs *refs)
{
    refs->at = refs->length = 0;
    refs->offset = nf2_key_value(key);
    if (body->length == 0 || (key->id == NF2_SYSTEM_ID && key->length > 0)) {
        /* without: content whose key is not asked for */
        return NF2_OK;
    }
    int at = nf2_content_at(fs, key, body);
    NF2_TRY(at);
    uint32_t kind, length;
    do {
        /* all at once: most bodies that are looked at are pieces */
        length = nf2_max(nf2_min(body->length - (uint32_t)at, sizeof refs->bytes), 1);
        refs->bytes[1] = 0;
        NF2_TRY(nf2_span_read(fs, body, (uint32_t)at, refs->bytes, length));
        kind = refs->bytes[0];
        at += 2 + refs->bytes[1];
    } while (kind == NF2_BODY_FIELDS);
    if (kind == NF2_BODY_LIST) {
        refs->at = 1;
        refs->offset = 0;
    } else if (kind - NF2_PIECE_DATA > NF2_PIECE_ZEROS - NF2_PIECE_DATA) {
        bool none = kind < 32 ? (NF2_BODIES_WITHOUT >> kind & 1u) != 0 : kind < 0x40;
        return none ? NF2_OK : closed(fs, NF2_ERR_VERSION);
    }
    refs->length = (uint8_t)length;
    return NF2_OK;
}

int nf2_refs_next(nf2_t *fs, struct nf2_refs *refs, struct nf2_piece *piece)
{
    NF2_ASSERT(refs->length <= sizeof refs->bytes);
    if (refs->at >= refs->length) {
        return 0;
    }
    piece->offset = refs->offset;
    int used = nf2_piece_load(fs, refs->bytes + refs->at, (uint32_t)refs->length - refs->at, piece);
    if (used < 0) {
        return closed(fs, used);
    }
    refs->offset += piece->length;
    refs->at = (uint8_t)(refs->at + used);
    return 1;
}

/* ---- what a change owes to the walk ---------------------------------------------------------- */

/*
 * The last frames of a file may get more: their block counts as full, but where blocks are lacking.
 * Of others what they hold counts: many short sessions leave little in a block.
 */
void nf2_walked_piece(nf2_t *fs, const struct nf2_piece *piece)
{
    uint32_t bytes = nf2_block_bytes(fs);

    if (piece->kind == NF2_PIECE_FRAMES) {
        bool full = piece->open && fs->walk.need <= NF2_NEED_NONE;
        nf2_space_refer(fs, piece->block, 0, full ? bytes : nf2_max(piece->length, bytes / 4));
    } else if (piece->kind == NF2_PIECE_DATA) {
        nf2_space_refer(fs, piece->block, piece->within, piece->length);
    }
}

int nf2_walked_body(nf2_t *fs, const struct nf2_key *key, const struct nf2_span *body)
{
    struct nf2_refs refs;
    struct nf2_piece piece;
    int found;

    NF2_TRY(nf2_refs_begin(fs, key, body, &refs));
    while ((found = nf2_refs_next(fs, &refs, &piece)) > 0) {
        nf2_walked_piece(fs, &piece);
    }
    return found;
}

int nf2_walked_barrier(nf2_t *fs, const struct nf2_op *ops, unsigned count)
{
    count = NF2_BROKEN(NF2_FAULT_BARRIER) ? 0 : count;
    for (const struct nf2_op *op = ops; op < ops + count && fs->walk.active; op++) {
        int order = nf2_key_compare(op->key, &fs->walk.cursor);
        if (op->type == NF2_OP_PUT && order < (int)fs->walk.behind) {
            /* behind the rest of the name, or fields where they lie: else the second is data */
            bool front = nf2_key_has_rest(op->key) || op->body[0].position > NF2_COUNTED;
            bool apart = front && op->body[1].length > 0;
            const struct nf2_key *key = apart ? &nf2_key_lowest : op->key;
            NF2_TRY(nf2_walked_body(fs, key, &op->body[apart]));
        }
    }
    return NF2_OK;
}
