/* SPDX-License-Identifier: BSD-2-Clause */
/* content.c - what inline and flat files have in common with the entry; flat files. */
#include "content.h"

#include "batch.h"
#include "flash.h"
#include "names.h"
#include "space.h"

uint32_t nf2_buffer_room(const nf2_t *fs, const nf2_file_t *file)
{
    bool name_inside = file->leaf == 0 && file->name_length > NF2_NAME_KEPT;
    uint32_t room = nf2_page(fs) - (name_inside ? file->name_length : 0u);

    return room - room % fs->flash->program_unit;
}

uint32_t nf2_promised(const nf2_t *fs, const nf2_file_t *except)
{
    uint32_t blocks = 0;

    for (const nf2_file_t *file = fs->files; file != NULL; file = file->next) {
        if (file != except && file->promised > file->size) {
            blocks += nf2_promised_blocks(fs, file->promised - file->size);
        }
        blocks += file->kind == NF2_BODY_INDEXED ? nf2_batch_growth(file->spilled) : 0;
    }
    return blocks;
}

/* ---- inline content ----------------------------------------------------------------------------- */

uint32_t nf2_inline_room(const nf2_t *fs, const nf2_file_t *file)
{
    uint32_t room = nf2_buffer_room(fs, file);

    return file->fresh && room == nf2_page(fs) ? room + NF2_INLINE_MORE : nf2_max(room, file->size);
}

uint8_t *nf2_inline_at(const nf2_t *fs, nf2_file_t *file, uint32_t at, uint32_t *length)
{
    uint32_t page = nf2_page(fs);

    if (at >= page) {
        return file->more + (at - page);
    }
    *length = nf2_min(*length, page - at);
    return file->buffer + at;
}

void nf2_inline_put(const nf2_t *fs, nf2_file_t *file, uint32_t at, const uint8_t *data, uint32_t length)
{
    while (length > 0) {
        uint32_t n = length;
        uint8_t *to = nf2_inline_at(fs, file, at, &n);
        if (data != NULL) {
            memcpy(to, data, n);
            data += n;
        } else {
            memset(to, 0, n);
        }
        at += n;
        length -= n;
    }
}

/* ---- entry -------------------------------------------------------------------------------------- */

int nf2_flat_load(nf2_t *fs, const struct nf2_entry *entry, struct nf2_flat *flat)
{
    uint8_t body[NF2_FLAT_BODY_MAX];
    uint32_t blocks = 0;

    if (entry->body_length < 5 || entry->body_length > sizeof body || (entry->body_length - 5u) % 5u != 0) {
        return NF2_ERR_IO;
    }
    NF2_TRY(nf2_body_read(fs, entry, 0, body, entry->body_length));
    flat->size = nf2_get32(body + 1);
    flat->extents = (uint8_t)((entry->body_length - 5u) / 5u);
    for (unsigned i = 0; i < flat->extents; i++) {
        flat->extent[i].start = nf2_get24(body + 5 + 5 * i);
        flat->extent[i].count = nf2_get16(body + 8 + 5 * i);
        blocks += flat->extent[i].count;
    }
    return flat->size > NF2_FILE_MAX || (uint64_t)blocks * nf2_block_bytes(fs) < flat->size ? NF2_ERR_IO : NF2_OK;
}

/* Takes over what the entry says. */
static int load_flat(nf2_t *fs, nf2_file_t *file, const struct nf2_entry *entry)
{
    struct nf2_flat flat;

    NF2_TRY(nf2_flat_load(fs, entry, &flat));
    file->size = file->committed_size = flat.size;
    file->extents = flat.extents;
    for (unsigned i = 0; i < flat.extents; i++) {
        file->u.extent[i] = flat.extent[i];
        file->committed_blocks += flat.extent[i].count;
    }
    return NF2_OK;
}

void nf2_content_begin(nf2_file_t *file, uint8_t kind)
{
    file->kind = kind;
    file->stale = file->open_end = file->shadow = false;
    file->extents = file->pieces = 0;
    file->cut_to = file->spill = file->spill_first = file->fragment_block = NF2_NONE;
    file->spilled = 0;
    file->own.count = file->own_recorded = 0;
    file->frames_at = 0;
}

static int load(nf2_t *fs, nf2_file_t *file)
{
    struct nf2_entry entry;

    nf2_content_begin(file, NF2_BODY_INLINE);
    file->fresh = file->loaded = file->changed = file->failed = false;
    file->buffered = 0;
    file->committed_size = file->committed_blocks = 0;
    NF2_TRY(nf2_entry_at(fs, file->leaf, file->entry, &entry));
    int kind = nf2_entry_kind(fs, &entry);
    NF2_TRY(kind);
    file->kind = (uint8_t)kind;
    if (kind == NF2_BODY_INLINE) {
        file->size = entry.body_length - 1u;
        return NF2_OK;
    }
    if (kind == NF2_BODY_FLAT) {
        return load_flat(fs, file, &entry);
    }
    if (kind != NF2_BODY_INDEXED) {
        return kind == NF2_BODY_DIR ? NF2_ERR_ISDIR : NF2_ERR_IO;
    }
    NF2_TRY(nf2_entry_id(fs, &entry, &file->id));
    return nf2_batch_size(fs, file->id, &file->size);
}

int nf2_content_load(nf2_t *fs, nf2_file_t *file)
{
    int result = load(fs, file);

    file->stale = result != NF2_OK; /* the next call tries again */
    return result;
}

int nf2_content_load_inline(nf2_t *fs, nf2_file_t *file)
{
    struct nf2_entry entry;

    if (file->loaded) {
        return NF2_OK;
    }
    if (file->size > nf2_page(fs) + NF2_INLINE_MORE) {
        return NF2_ERR_IO;
    }
    NF2_TRY(nf2_entry_at(fs, file->leaf, file->entry, &entry));
    for (uint32_t at = 0, n; at < file->size; at += n) {
        n = file->size - at;
        uint8_t *to = nf2_inline_at(fs, file, at, &n);
        NF2_TRY(nf2_body_read(fs, &entry, 1 + at, to, n));
    }
    file->buffer_at = 0;
    file->buffered = (uint16_t)file->size;
    file->loaded = true;
    return NF2_OK;
}

int nf2_entry_write(nf2_t *fs, nf2_file_t *file, const struct nf2_span *body)
{
    struct nf2_node_op change;
    struct nf2_entry where, entry;
    bool urgent = fs->urgent;

    memset(&change, 0, sizeof change);
    change.type = NF2_NODE_PUT;
    change.held = body == NULL ? NF2_CONTENT : 0;
    change.body = body == NULL ? nf2_span_of(file, file->size) : *body;
    NF2_TRY(nf2_orphans_room(fs));
    fs->urgent = true;
    int result = NF2_ERR_NOSPC;
    for (unsigned attempt = 0; attempt < 2 && result == NF2_ERR_NOSPC; attempt++) {
        if (file->leaf == 0) {
            change.key = nf2_key_of(file->directory, nf2_new_name(fs, file), file->name_length);
        } else { /* the entry may move while room is made: its key is read where it is now */
            result = nf2_entry_at(fs, file->leaf, file->entry, &entry);
            if (result < 0) {
                break;
            }
            change.key = nf2_entry_key(&entry);
        }
        result = nf2_tree_change_in(fs, 0, &change, 1, 0, &where);
    }
    fs->urgent = urgent;
    NF2_TRY(result);
    if (file->leaf == 0) {
        memset(&file->ahead, 0, sizeof file->ahead); /* its name was there */
    }
    file->leaf = where.node;
    file->entry = where.offset;
    file->stale = false;
    for (nf2_file_t *reader = fs->files; reader != NULL; reader = reader->next) {
        if (reader->creator == file) { /* it opened the file before the first sync */
            reader->creator = NULL;
            reader->leaf = where.node;
            reader->entry = where.offset;
            reader->stale = true;
        }
    }
    return NF2_OK;
}

/* ---- flat files --------------------------------------------------------------------------------- */

int nf2_flat_place(const nf2_t *fs, const nf2_file_t *file, uint32_t at, uint32_t *block, uint32_t *within, uint32_t *length)
{
    uint32_t bytes = nf2_block_bytes(fs);

    for (unsigned i = 0; i < file->extents; i++) {
        const struct nf2_run *extent = &file->u.extent[i];
        uint32_t extent_bytes = extent->count * bytes;
        if (at < extent_bytes) {
            *block = extent->start + at / bytes;
            *within = at % bytes;
            *length = extent_bytes - at;
            return NF2_OK;
        }
        at -= extent_bytes;
    }
    return NF2_ERR_IO;
}

static uint32_t flat_capacity(const nf2_t *fs, const nf2_file_t *file)
{
    uint32_t blocks = 0;

    for (unsigned i = 0; i < file->extents; i++) {
        blocks += file->u.extent[i].count;
    }
    return blocks * nf2_block_bytes(fs);
}

/* How many blocks to claim at a time: more as the file grows, so that it stays contiguous and claims stay rare. */
static uint32_t claim_size(const nf2_t *fs, const nf2_file_t *file)
{
    uint32_t blocks = file->size / nf2_block_bytes(fs);
    return blocks < NF2_CLAIM_BLOCKS * 2 ? NF2_CLAIM_BLOCKS : nf2_min(blocks, NF2_REGION_BLOCKS);
}

/* One more block at the end: 1 if the list of extents (or the slot's list of runs) is full. */
static int flat_grow(nf2_t *fs, nf2_file_t *file)
{
    struct nf2_run *last = file->extents > 0 ? &file->u.extent[file->extents - 1] : NULL;
    const struct nf2_slot *slot = &fs->slot[file->slot];
    uint32_t block;

    if (file->extents == NF2_EXTENTS_MAX) { /* only a block that continues the last extent will do */
        NF2_TRY(nf2_space_ready(fs, file->slot));
        bool next = slot->runs > 0 && slot->used < slot->run[slot->runs - 1].count &&
                    slot->run[slot->runs - 1].start + slot->used == last->start + last->count;
        if (!next || last->count == NF2_CHANGE_COUNT_MAX) {
            return 1;
        }
    }
    int result = nf2_space_block(fs, file->slot, claim_size(fs, file), &block);
    if (result != NF2_OK) {
        return result;
    }
    if (last != NULL && last->start + last->count == block && last->count < NF2_CHANGE_COUNT_MAX) {
        last->count++;
    } else {
        last = &file->u.extent[file->extents++];
        last->start = block;
        last->count = 1;
    }
    return NF2_OK;
}

/* Programs bytes at the flat end, `buffer_at`; at most to the end of the blocks: 1 if a block more is needed and cannot be listed. */
static int flat_program(nf2_t *fs, nf2_file_t *file, const uint8_t *data, uint32_t length)
{
    uint32_t block, within, room;

    while (length > 0) {
        if (file->buffer_at >= flat_capacity(fs, file)) {
            int result = flat_grow(fs, file);
            if (result != NF2_OK) {
                return result;
            }
        }
        NF2_TRY(nf2_flat_place(fs, file, file->buffer_at, &block, &within, &room));
        uint32_t n = nf2_min(length, room);
        NF2_TRY(nf2_flash_program(fs, block, within, data, n));
        file->buffer_at += n;
        data += n;
        length -= n;
    }
    return NF2_OK;
}

void nf2_flat_keep(nf2_file_t *file, uint32_t blocks)
{
    uint8_t n = 0;

    for (; n < file->extents && blocks > 0; n++) {
        file->u.extent[n].count = nf2_min(file->u.extent[n].count, blocks);
        blocks -= file->u.extent[n].count;
    }
    file->extents = n;
}

int nf2_flat_cut(nf2_t *fs, nf2_file_t *file, uint32_t size)
{
    uint32_t bytes = nf2_block_bytes(fs), left = nf2_max((size + bytes - 1u) / bytes, file->committed_blocks);

    NF2_ASSERT(nf2_space_handed_out(fs, file->slot) + file->committed_blocks == flat_capacity(fs, file) / bytes);
    NF2_TRY(nf2_space_abandon(fs, file->slot, left - file->committed_blocks));
    nf2_flat_keep(file, left);
    return NF2_OK;
}

int nf2_flat_flush(nf2_t *fs, nf2_file_t *file)
{
    uint32_t length = file->buffered;

    if (length == 0) {
        return NF2_OK;
    }
    int result = flat_program(fs, file, file->buffer, length);
    if (result == NF2_OK) {
        file->buffered = 0;
    }
    return result;
}

int nf2_flat_append(nf2_t *fs, nf2_file_t *file, const uint8_t *data, uint32_t length)
{
    uint32_t page = nf2_page(fs), capacity = nf2_buffer_room(fs, file);

    while (length > 0) {
        uint32_t to_page_end = page - (file->buffer_at + file->buffered) % page;
        if (file->buffered == 0 && file->buffer_at % page == 0 && length >= page) {
            uint32_t whole = length - length % page;
            uint32_t before = file->buffer_at;
            int result = flat_program(fs, file, data, whole);
            uint32_t done = file->buffer_at - before;
            data += done;
            length -= done;
            file->size = file->buffer_at;
            if (result != NF2_OK) {
                return result;
            }
            continue;
        }
        if (file->buffered == capacity || (to_page_end == page && file->buffered > 0)) {
            int result = nf2_flat_flush(fs, file);
            if (result != NF2_OK) {
                return result;
            }
            continue;
        }
        uint32_t n = nf2_min(nf2_min(length, to_page_end), capacity - file->buffered);
        memcpy(file->buffer + file->buffered, data, n);
        file->buffered = (uint16_t)(file->buffered + n);
        file->size = file->buffer_at + file->buffered;
        data += n;
        length -= n;
    }
    return NF2_OK;
}

int nf2_content_to_flat(nf2_t *fs, nf2_file_t *file)
{
    uint32_t page = nf2_page(fs), more = file->size > page ? file->size - page : 0;
    struct nf2_run first = {0, 1};

    if (more > 0) { /* to its place, so that the rest fits in the buffer */
        int result = nf2_space_block(fs, file->slot, claim_size(fs, file), &first.start);
        if (result != NF2_OK) {
            return result < 0 ? result : NF2_ERR_NOSPC;
        }
        NF2_TRY(nf2_flash_program(fs, first.start, 0, file->buffer, page));
        memcpy(file->buffer, file->more, more);
    }
    nf2_content_begin(file, NF2_BODY_FLAT);
    file->committed_size = file->committed_blocks = 0;
    file->fresh = true;
    file->open_end = true;
    file->loaded = false;
    file->extents = more > 0;
    file->u.extent[0] = first;
    file->buffer_at = more > 0 ? page : 0;
    file->buffered = (uint16_t)(file->size - file->buffer_at);
    return NF2_OK;
}

int nf2_content_drop(nf2_t *fs, nf2_file_t *file)
{
    if (nf2_file_writes(file) && !fs->broken) {
        NF2_TRY(nf2_space_abandon(fs, file->slot, 0));
    }
    file->buffered = 0;
    file->pieces = file->extents = 0;
    file->changed = false;
    return NF2_OK;
}
