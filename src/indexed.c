/* SPDX-License-Identifier: BSD-2-Clause */
/* indexed.c - writing an indexed file: pieces in blocks of its own, a framed tail for small synced appends, the commit. */
#include "batch.h"
#include "content.h"
#include "flash.h"
#include "frames.h"
#include "ids.h"
#include "names.h"
#include "space.h"
#include "turn.h"

/* ---- blocks of the file ------------------------------------------------------------------------- */

static struct nf2_item own_item(const nf2_file_t *file)
{
    return nf2_owned_run(file->own.start, file->own.count);
}

static bool own_pending(const nf2_file_t *file)
{
    return file->own.count > file->own_recorded;
}

/* Everything that was handed out to this file is recorded as owned. */
static void own_recorded(nf2_t *fs, nf2_file_t *file)
{
    file->own_recorded = file->own.count;
    nf2_space_settle(fs, file->slot);
}

/* Records the present run of blocks as owned. The content does not change by that. */
static int record_own(nf2_t *fs, nf2_file_t *file)
{
    struct nf2_node_op change;
    struct nf2_item item = own_item(file);

    if (!own_pending(file)) {
        return NF2_OK;
    }
    nf2_index_put(&change, file->id, &item);
    NF2_TRY(nf2_tree_change(fs, &change, 1));
    own_recorded(fs, file);
    return NF2_OK;
}

/* A further block for the file. */
static int take_block(nf2_t *fs, nf2_file_t *file, uint32_t *block)
{
    NF2_TRY(nf2_space_ready(fs, file->slot));
    bool extends = file->own.count > 0 && file->own.count < NF2_CHANGE_COUNT_MAX &&
                   nf2_space_next(fs, file->slot) == file->own.start + file->own.count;

    if (!extends) { /* before a block is taken: then all that the slot lists is recorded */
        NF2_TRY(record_own(fs, file));
    }
    int result = nf2_space_block(fs, file->slot, NF2_CLAIM_BLOCKS, block);
    if (result != NF2_OK) {
        return result < 0 ? result : NF2_ERR_NOSPC;
    }
    if (file->own.count > 0 && file->own.start + file->own.count == *block && file->own.count < NF2_CHANGE_COUNT_MAX) {
        file->own.count++;
        return NF2_OK;
    }
    file->own.start = *block;
    file->own.count = 1;
    file->own_recorded = 0;
    return NF2_OK;
}

/* ---- becoming an indexed file ------------------------------------------------------------------- */

/* The piece of extent `i` that lies in [from, to) of the file; its length is 0 if there is none. */
static NF2_ONCE struct nf2_item flat_piece(const nf2_t *fs, const struct nf2_flat *flat, unsigned i, uint32_t from, uint32_t to)
{
    uint32_t start = 0, bytes = nf2_block_bytes(fs);

    for (unsigned j = 0; j < i; j++) {
        start += flat->extent[j].count * bytes;
    }
    uint32_t begin = nf2_max(start, from), end = nf2_min(start + flat->extent[i].count * bytes, to);
    return nf2_piece_at(begin, flat->extent[i].start + (begin - start) / bytes, (begin - start) % bytes, end > begin ? end - begin : 0);
}

/* All extents at once, and off the slot's list then: a node that is written anew does not tell any more of what the slot still lists. */
static int own_extents(nf2_t *fs, const nf2_file_t *file, const struct nf2_flat *flat, struct nf2_batch *batch)
{
    struct nf2_node_op changes[NF2_EXTENTS_MAX];

    for (unsigned i = 0; i < flat->extents; i++) {
        struct nf2_item own = nf2_owned_run(flat->extent[i].start, flat->extent[i].count);
        nf2_index_put(&changes[i], file->id, &own);
    }
    return flat->extents > 0 ? nf2_batch_change(fs, changes, flat->extents, batch, NULL) : NF2_OK;
}

/* An extent of the committed content as changes of the index: it is owned, and (unless all of it is beyond the end) it is mapped. */
static unsigned extent_changes(const nf2_t *fs, uint32_t id, const struct nf2_flat *flat, unsigned i, struct nf2_node_op *changes)
{
    struct nf2_item own = nf2_owned_run(flat->extent[i].start, flat->extent[i].count);
    struct nf2_item piece = flat_piece(fs, flat, i, 0, flat->size);

    nf2_index_put(&changes[0], id, &own);
    if (piece.length == 0) {
        return 1;
    }
    nf2_index_put(&changes[1], id, &piece);
    return 2;
}

/* The committed content gets an index, in one group or (NF2_SPANS_LEAVES) in one batch, so that its blocks never have two owners. */
static int convert(nf2_t *fs, const struct nf2_entry *entry, uint32_t id, const struct nf2_flat *flat, struct nf2_batch *batch)
{
    struct nf2_node_op changes[3];
    struct nf2_key key = nf2_entry_key(entry);
    unsigned count = 1;

    nf2_op_put(&changes[0], &key, NF2_BODY_INDEXED, NF2_TOOK_OVER + 1u);
    nf2_put32(changes[0].bytes + 1, id);
    changes[0].bytes[NF2_TOOK_OVER] = 1;
    if (flat->extents > 0) {
        count += extent_changes(fs, id, flat, 0, &changes[1]);
    }
    if (flat->extents <= 1) {
        return nf2_batch_change(fs, changes, count, batch, NULL); /* the handle follows its entry */
    }
    *batch = nf2_batch_empty();
    NF2_TRY(nf2_batch_append(fs, batch, changes, count));
    for (unsigned i = 1; i < flat->extents; i++) {
        count = extent_changes(fs, id, flat, i, changes);
        NF2_TRY(nf2_batch_append(fs, batch, changes, count));
    }
    return NF2_SPANS_LEAVES;
}

int nf2_flat_convert(nf2_t *fs, uint32_t leaf, uint16_t place, const struct nf2_flat *flat, unsigned slot, uint32_t id)
{
    struct nf2_batch batch;
    struct nf2_entry entry;

    nf2_space_settle(fs, NF2_TREE_SLOT);
    NF2_TRY(nf2_entry_at(fs, leaf, place, &entry));
    int result = convert(fs, &entry, id, flat, &batch);
    return result == NF2_SPANS_LEAVES ? nf2_batch_commit(fs, &batch, false, slot) : result;
}

/* New content: under an id that is an orphan until the commit. Nothing else refers to these blocks, which come first. */
static int own_shadow(nf2_t *fs, const nf2_file_t *file, const struct nf2_flat *flat)
{
    struct nf2_batch batch;

    NF2_TRY(nf2_orphans_room(fs));
    if (nf2_space_free_blocks(fs) < 4) { /* it must not fail half way */
        return NF2_ERR_NOSPC;
    }
    NF2_TRY(nf2_id_orphan(fs, file->id));
    int result = own_extents(fs, file, flat, &batch);
    return result == NF2_SPANS_LEAVES ? nf2_batch_commit(fs, &batch, false, file->slot) : result;
}

int nf2_content_to_indexed(nf2_t *fs, nf2_file_t *file)
{
    struct nf2_flat flat = {.size = file->committed_size, .extents = file->extents};
    bool urgent = fs->urgent, shadow = file->fresh;

    memcpy(flat.extent, file->u.extent, sizeof flat.extent);
    NF2_TRY(nf2_id_new(fs, &file->id));
    fs->urgent = true;
    int result = shadow ? own_shadow(fs, file, &flat) : nf2_flat_convert(fs, file->leaf, file->entry, &flat, file->slot, file->id);
    if (result >= 0) {
        nf2_space_settle(fs, file->slot);
        result = nf2_batch_apply(fs, NULL);
    }
    fs->urgent = urgent;
    NF2_TRY(result);
    nf2_content_begin(file, NF2_BODY_INDEXED);
    file->shadow = shadow;
    file->cut_to = file->size < file->committed_size ? file->size : NF2_NONE;
    for (unsigned i = 0; i < flat.extents; i++) { /* new content: all of it. Were it mapped here, that might fail when the blocks are not the slot's any more */
        struct nf2_item item = flat_piece(fs, &flat, i, file->committed_size, file->buffer_at);
        if (item.length > 0) {
            struct nf2_piece piece = {item.number, item.length, item.block, item.within};
            file->u.piece[file->pieces++] = piece;
        }
    }
    return NF2_OK;
}

/* ---- pieces ------------------------------------------------------------------------------------- */

static NF2_ONCE struct nf2_item piece_item(const struct nf2_piece *piece)
{
    return nf2_piece_at(piece->offset, piece->block, piece->within, piece->length);
}

/* Adds an operation to the file's own list of uncommitted ones on flash. */
static int spill(nf2_t *fs, nf2_file_t *file, const struct nf2_node_op *change)
{
    struct nf2_batch batch = {file->spill_first, file->spill, file->spill_end, file->spilled};
    int result = nf2_batch_add(fs, &batch, change, 1);
    uint32_t block;

    if (result == 1) {
        NF2_TRY(take_block(fs, file, &block));
        NF2_TRY(record_own(fs, file));
        NF2_TRY(nf2_batch_extend(fs, &batch, block));
        file->fragment_block = NF2_NONE; /* the block after the last fragment is taken */
        result = nf2_batch_add(fs, &batch, change, 1);
    }
    file->spill_first = batch.first;
    file->spill = batch.block;
    file->spill_end = (uint16_t)batch.end;
    file->spilled = batch.count;
    return result > 0 ? NF2_ERR_NOSPC : result;
}

/* The same with an unsynced cut: it comes behind what is listed, and before all pieces in memory. */
static int spill_cut(nf2_t *fs, nf2_file_t *file)
{
    struct nf2_node_op change;

    if (file->cut_to != NF2_NONE) {
        nf2_index_delete(&change, file->id, file->cut_to);
        NF2_TRY(spill(fs, file, &change));
        file->cut_to = NF2_NONE;
    }
    return NF2_OK;
}

/* Moves the oldest piece out of memory. */
static int push_out(nf2_t *fs, nf2_file_t *file)
{
    struct nf2_node_op change;
    struct nf2_item item = piece_item(&file->u.piece[0]);

    if (file->shadow) {
        NF2_TRY(record_own(fs, file));
        NF2_TRY(nf2_index_insert(fs, file->id, &item, nf2_piece_end(&item), NULL, 0));
    } else {
        NF2_TRY(spill_cut(fs, file));
        nf2_index_put(&change, file->id, &item);
        NF2_TRY(spill(fs, file, &change));
    }
    file->pieces--;
    memmove(&file->u.piece[0], &file->u.piece[1], file->pieces * sizeof file->u.piece[0]);
    return NF2_OK;
}

int nf2_indexed_record(nf2_t *fs, nf2_file_t *file)
{
    while (file->shadow && file->pieces > 0) { /* what they overwrite is garbage then */
        NF2_TRY(push_out(fs, file));
    }
    NF2_TRY(record_own(fs, file));
    file->own.count = file->own_recorded = 0;
    return NF2_OK;
}

int nf2_indexed_part(nf2_t *fs, uint32_t id, const struct nf2_run *run)
{
    for (nf2_file_t *file = fs->files; file != NULL; file = file->next) {
        if (file->kind == NF2_BODY_INDEXED && file->id == id && nf2_file_writes(file) && file->own.count > 0 &&
            file->own.start < run->start + run->count && file->own.start + file->own.count > run->start) {
            NF2_TRY(nf2_indexed_record(fs, file));
        }
    }
    return NF2_OK;
}

static int add_piece(nf2_t *fs, nf2_file_t *file, uint32_t at, uint32_t length, uint32_t block, uint32_t within)
{
    if (file->pieces > 0) {
        struct nf2_piece *last = &file->u.piece[file->pieces - 1];
        uint32_t end = last->block * nf2_block_bytes(fs) + last->within + last->length;
        if (last->offset + last->length == at && end == block * nf2_block_bytes(fs) + within) {
            last->length += length;
            return NF2_OK;
        }
    }
    if (file->pieces == NF2_PIECES_MAX) {
        NF2_TRY(push_out(fs, file));
    }
    struct nf2_piece piece = {at, length, block, within};
    file->u.piece[file->pieces++] = piece;
    return NF2_OK;
}

/* Where the next piece of `length` bytes goes: in page steps for what fills pages, else without crossing a page where it can be. */
static int fragment_place(nf2_t *fs, nf2_file_t *file, uint32_t length)
{
    uint32_t page = nf2_page(fs), block;

    if (file->fragment_block != NF2_NONE) {
        uint32_t in_page = file->fragment_end % page;
        if (in_page != 0 && (length >= page || in_page + length > page)) {
            file->fragment_end += page - in_page;
        }
        if (file->fragment_end < nf2_block_bytes(fs)) {
            return NF2_OK;
        }
    }
    NF2_TRY(take_block(fs, file, &block));
    file->fragment_block = block;
    file->fragment_end = 0;
    return NF2_OK;
}

/* Bytes of a piece that a write cuts which are short enough to be written anew with it; `*place`: where they are. */
static int remnant(nf2_t *fs, const nf2_file_t *file, uint32_t at, bool behind, uint32_t *length, uint32_t *place)
{
    uint32_t most = nf2_page(fs) / 2u, rest;
    struct nf2_item item;

    NF2_TRY(nf2_index_map(fs, file->id, behind ? at - 1u : at, &item, &rest));
    rest = behind ? rest - 1u : at - item.number;
    bool short_one = item.kind == NF2_BODY_PIECE && item.block != NF2_NO_BLOCK && item.length > 0 && rest < most;
    *length = short_one ? rest : 0;
    *place = item.block * nf2_block_bytes(fs) + item.within + (behind ? at - item.number : 0);
    return NF2_OK;
}

/* A write of some bytes, with what it leaves of the pieces at its ends. */
struct patch {
    const uint8_t *data;
    uint32_t at, length;        /* of the data, in the file */
    uint32_t front, behind;     /* bytes of the committed content in front of them and behind, */
    uint32_t front_place, behind_place; /* and where they are */
};

/*
 * Small writes at any byte would leave more and more, ever shorter pieces. What they leave of a piece, if it is short, is written
 * anew with them. Only one handle writes a file, so that nobody else changes it before the commit.
 */
static int find_remnants(nf2_t *fs, const nf2_file_t *file, struct patch *patch)
{
    uint32_t page = nf2_page(fs), end = patch->at + patch->length;

    if (patch->length >= 2u * page || patch->at % page + patch->length % page == 0 || file->shadow || file->pieces > 0 ||
        file->spill_first != NF2_NONE || file->cut_to != NF2_NONE || fs->flash->program_unit > 1) {
        return NF2_OK;
    }
    NF2_TRY(remnant(fs, file, patch->at, false, &patch->front, &patch->front_place));
    return end < file->size ? remnant(fs, file, end, true, &patch->behind, &patch->behind_place) : NF2_OK;
}

/* The patch's bytes from `from` on, counted from its first one. */
static int patch_bytes(nf2_t *fs, const struct patch *patch, uint32_t from, uint8_t *to, uint32_t length)
{
    uint32_t bytes = nf2_block_bytes(fs), place, n;

    for (uint32_t done = 0; done < length; done += n, from += n) {
        if (from - patch->front < patch->length) {
            n = nf2_min(length - done, patch->length - (from - patch->front));
            memcpy(to + done, patch->data + (from - patch->front), n);
            continue;
        }
        bool behind = from >= patch->front;
        place = behind ? patch->behind_place + (from - patch->front - patch->length) : patch->front_place + from;
        n = nf2_min(length - done, behind ? length - done : patch->front - from);
        NF2_TRY(nf2_flash_read(fs, place / bytes, place % bytes, to + done, n));
    }
    return NF2_OK;
}

static int write_patch(nf2_t *fs, nf2_file_t *file, const struct patch *patch)
{
    uint32_t page = nf2_page(fs), length = patch->front + patch->length + patch->behind, n;

    if (file->fragment_block != NF2_NONE && file->fragment_end + length > nf2_block_bytes(fs)) {
        file->fragment_end = nf2_block_bytes(fs); /* it stays in one piece */
    }
    NF2_TRY(fragment_place(fs, file, 1));
    uint32_t block = file->fragment_block, within = file->fragment_end;
    for (uint32_t done = 0; done < length; done += n) {
        n = nf2_min(length - done, page - (within + done) % page);
        NF2_TRY(patch_bytes(fs, patch, done, fs->write_buffer, n));
        NF2_TRY(nf2_flash_program(fs, block, within + done, fs->write_buffer, n));
    }
    file->fragment_end = within + length;
    return add_piece(fs, file, patch->at - patch->front, length, block, within);
}

static int write_pieces(nf2_t *fs, nf2_file_t *file, uint32_t at, const uint8_t *data, uint32_t length)
{
    struct patch patch = {data, at, length, 0, 0, 0, 0};

    NF2_TRY(find_remnants(fs, file, &patch));
    if (patch.front + patch.behind > 0) {
        return write_patch(fs, file, &patch);
    }
    while (length > 0) {
        /* A continued stream of whole pages stays contiguous; the rest of a page is used by what follows it. */
        NF2_TRY(fragment_place(fs, file, length));
        uint32_t n = nf2_min(length, nf2_block_bytes(fs) - file->fragment_end);
        uint32_t block = file->fragment_block, within = file->fragment_end;
        NF2_TRY(nf2_flash_program(fs, block, within, data, n));
        file->fragment_end = nf2_align_unit(fs, within + n);
        NF2_TRY(add_piece(fs, file, at, n, block, within));
        at += n;
        data += n;
        length -= n;
    }
    return NF2_OK;
}

int nf2_indexed_flush(nf2_t *fs, nf2_file_t *file)
{
    if (file->buffered == 0) {
        return NF2_OK;
    }
    NF2_TRY(write_pieces(fs, file, file->buffer_at, file->buffer, file->buffered));
    file->buffered = 0;
    return NF2_OK;
}

int nf2_indexed_write(nf2_t *fs, nf2_file_t *file, uint32_t at, const uint8_t *data, uint32_t length)
{
    uint32_t page = nf2_page(fs), capacity = nf2_buffer_room(fs, file);

    file->size = nf2_max(file->size, at + length);
    while (length > 0) {
        bool joins = file->buffered > 0 && at >= file->buffer_at && at <= file->buffer_at + file->buffered &&
                     at - file->buffer_at < capacity;
        if (file->buffered > 0 && !joins) {
            NF2_TRY(nf2_indexed_flush(fs, file));
        }
        if (file->buffered == 0 && length >= page) {
            uint32_t whole = length - length % page;
            NF2_TRY(write_pieces(fs, file, at, data, whole));
            at += whole;
            data += whole;
            length -= whole;
            continue;
        }
        if (file->buffered == 0) {
            file->buffer_at = at;
        }
        uint32_t skip = at - file->buffer_at, n = nf2_min(length, capacity - skip);
        memcpy(file->buffer + skip, data, n);
        file->buffered = (uint16_t)nf2_max(file->buffered, skip + n);
        at += n;
        data += n;
        length -= n;
    }
    return NF2_OK;
}

/* What an uncommitted operation says of `at`: the newest one that covers it counts, newer ones behind it bound its reach. */
static void overlay(uint32_t at, const struct nf2_piece *over, bool *have, struct nf2_piece *piece, uint32_t *end)
{
    if (over->offset <= at && at - over->offset < over->length) {
        *piece = *over;
        *have = true;
        *end = over->offset + over->length;
    } else if (over->offset > at && over->offset < *end) {
        *end = over->offset;
    }
}

static int overlay_batch(nf2_t *fs, uint32_t first, uint32_t id, uint32_t at, bool *have, struct nf2_piece *piece, uint32_t *end)
{
    struct nf2_scan scan;
    struct nf2_entry op;
    struct nf2_item item;
    uint8_t kind;
    int found;

    nf2_scan_begin(&scan, first);
    while ((found = nf2_batch_next(fs, &scan, &op)) > 0) {
        if (op.id != id || (op.type == NF2_BATCH_PUT && op.body_length != NF2_PIECE_BODY)) {
            continue; /* of no map, or of a framed tail: one operation, which is applied or not */
        }
        struct nf2_piece over = {0, 0, NF2_NO_BLOCK, 0};
        if (op.body_length == NF2_PIECE_BODY) {
            NF2_TRY(nf2_index_item(fs, &op, &item));
            over.offset = item.number;
            over.block = item.block;
            over.within = item.within;
            over.length = item.length;
        } else { /* a cut: zeros from here on */
            NF2_TRY(nf2_entry_number(fs, &op, &kind, &over.offset));
            over.length = kind == NF2_INDEX_MAP ? NF2_NONE - over.offset : 0;
            over.offset = kind == NF2_INDEX_MAP ? over.offset : 0;
        }
        overlay(at, &over, have, piece, end);
    }
    return found;
}

int nf2_indexed_pending(nf2_t *fs, const nf2_file_t *file, uint32_t at, struct nf2_piece *piece, uint32_t *length)
{
    bool have = false;
    uint32_t end = NF2_NONE;

    if (nf2_batch_shows(fs)) {
        NF2_TRY(overlay_batch(fs, fs->redo_block, file->id, at, &have, piece, &end));
    }
    if (file->spill_first != NF2_NONE) {
        NF2_TRY(overlay_batch(fs, file->spill_first, file->id, at, &have, piece, &end));
    }
    if (file->cut_to != NF2_NONE) {
        struct nf2_piece cut = {file->cut_to, NF2_NONE - file->cut_to, NF2_NO_BLOCK, 0};
        overlay(at, &cut, &have, piece, &end);
    }
    for (unsigned i = 0; i < file->pieces; i++) {
        overlay(at, &file->u.piece[i], &have, piece, &end);
    }
    *length = end - at;
    return have;
}

/* Drops and shortens pieces in memory that reach beyond `size`. */
static void cut_pieces(nf2_file_t *file, uint32_t size)
{
    uint8_t kept = 0;

    for (unsigned i = 0; i < file->pieces; i++) {
        struct nf2_piece piece = file->u.piece[i];
        if (piece.offset < size) {
            piece.length = nf2_min(piece.length, size - piece.offset);
            file->u.piece[kept++] = piece;
        }
    }
    file->pieces = kept;
    file->buffered = (uint16_t)(file->buffer_at >= size ? 0 : nf2_min(file->buffered, size - file->buffer_at));
}

int nf2_indexed_cut(nf2_t *fs, nf2_file_t *file, uint32_t size)
{
    bool urgent = fs->urgent;
    int result = NF2_OK;

    if (file->shadow && nf2_space_free_blocks(fs) < nf2_meta_reserve(fs) + 4u) { /* it must not fail half way */
        return NF2_ERR_NOSPC;
    }
    fs->urgent = true; /* what fails for space changes nothing that is seen, and can be tried again */
    while (result == NF2_OK && (file->shadow ? file->pieces > 0 : size > file->cut_to && file->pieces == NF2_PIECES_MAX)) {
        result = push_out(fs, file);
    }
    result = result == NF2_OK && file->shadow ? nf2_index_cut(fs, file->id, size) : result;
    fs->urgent = urgent;
    NF2_TRY(result);
    cut_pieces(file, size);
    file->size = size;
    file->frames_at = 0;
    if (size > file->cut_to) { /* cut shorter before: between the two ends there are zeros */
        return add_piece(fs, file, size, 0, NF2_NO_BLOCK, 0);
    }
    file->cut_to = file->shadow ? NF2_NONE : size;
    return NF2_OK;
}

/* ---- framed tail -------------------------------------------------------------------------------- */

/* Is all that is unsynced a small append at the committed end? */
static bool is_small_append(const nf2_file_t *file)
{
    return !file->shadow && file->pieces == 0 && file->spill_first == NF2_NONE && file->cut_to == NF2_NONE &&
           file->buffered > 0 && file->buffer_at + file->buffered == file->size;
}

/* Finds the framed tail that ends at `at`, if the map ends with one. */
static int open_frames(nf2_t *fs, nf2_file_t *file, uint32_t at)
{
    struct nf2_item last;
    struct nf2_frames frames;

    if (file->frames_at != 0) {
        return NF2_OK;
    }
    int found = nf2_index_seek(fs, file->id, NF2_INDEX_MAP, NF2_NONE, NF2_AT_OR_BELOW, &last);
    if (found <= 0 || last.kind != NF2_BODY_FRAMES) {
        return found < 0 ? found : NF2_OK;
    }
    if (nf2_turn_emptied(fs, last.block)) {
        return NF2_OK; /* its frames are about to go elsewhere: nothing would refer to one more */
    }
    NF2_TRY(nf2_frames_open(fs, file->id, last.block, last.base, &frames));
    if (frames.end == at && frames.append_at < nf2_log_bytes(fs)) {
        file->frames = last.block;
        file->frames_base = last.base;
        file->frames_end = frames.end;
        file->frames_at = (uint16_t)frames.append_at;
    }
    return NF2_OK;
}

/* The first frame of a new block, then the entry that makes it a part of the file, in its leaf or (NF2_SPANS_LEAVES) in a batch. */
static int new_frames(nf2_t *fs, nf2_file_t *file, struct nf2_batch *batch)
{
    struct nf2_node_op changes[2];
    struct nf2_frames frames;
    uint32_t block;

    NF2_TRY(take_block(fs, file, &block));
    file->fragment_block = NF2_NONE;
    frames.id = file->id;
    frames.block = block;
    frames.base = frames.end = file->buffer_at;
    frames.append_at = 0;
    int result = nf2_frames_append(fs, &frames, file->buffer, file->buffered);
    if (result != NF2_OK) {
        return result < 0 ? result : NF2_ERR_IO;
    }
    struct nf2_item item = {NF2_BODY_FRAMES, 0, file->buffer_at, block, {file->buffer_at}};
    struct nf2_item own = own_item(file);
    nf2_index_put(&changes[0], file->id, &item);
    nf2_index_put(&changes[1], file->id, &own);
    file->frames = block;
    file->frames_base = frames.base;
    file->frames_end = frames.end;
    result = nf2_batch_change(fs, changes, own_pending(file) ? 2 : 1, batch, NULL);
    file->frames_at = (uint16_t)frames.append_at;
    return result;
}

/* Appends the buffer as a frame: one program. */
static int commit_frame(nf2_t *fs, nf2_file_t *file)
{
    NF2_TRY(open_frames(fs, file, file->buffer_at));
    if (file->frames_at != 0 && file->frames_end == file->buffer_at) {
        struct nf2_frames frames = {file->id, file->frames, file->frames_base, file->frames_end, file->frames_at};
        int result = nf2_frames_append(fs, &frames, file->buffer, file->buffered);
        NF2_TRY(result);
        if (result == NF2_OK) {
            NF2_TRY(nf2_space_keep(fs));
            file->frames_end = frames.end;
            file->frames_at = (uint16_t)frames.append_at;
            file->buffered = 0;
            return NF2_OK;
        }
    }
    struct nf2_batch batch;
    int result = new_frames(fs, file, &batch);
    result = result == NF2_SPANS_LEAVES ? nf2_batch_commit(fs, &batch, false, file->slot) : result;
    if (result < 0) {
        file->frames_at = 0;
        return result;
    }
    own_recorded(fs, file);
    file->buffered = 0;
    return NF2_OK;
}

/* ---- commit ------------------------------------------------------------------------------------- */

static int commit_shadow(nf2_t *fs, nf2_file_t *file)
{
    uint8_t body[6] = {NF2_BODY_INDEXED};
    struct nf2_span span = nf2_span_of(body, sizeof body);

    while (file->pieces > 0) {
        NF2_TRY(push_out(fs, file));
    }
    NF2_TRY(record_own(fs, file));
    nf2_put32(body + 1, file->id);
    NF2_TRY(nf2_entry_write(fs, file, &span));
    file->shadow = file->fresh = false;
    return NF2_OK;
}

static int write_batch(nf2_t *fs, nf2_file_t *file, struct nf2_batch *batch)
{
    struct nf2_node_op change;
    struct nf2_item item = own_item(file);

    NF2_TRY(own_pending(file) ? nf2_batch_item(fs, batch, file->id, &item) : NF2_OK);
    if (file->cut_to != NF2_NONE) {
        nf2_index_delete(&change, file->id, file->cut_to);
        NF2_TRY(nf2_batch_append(fs, batch, &change, 1));
    }
    for (unsigned i = 0; i < file->pieces; i++) {
        item = piece_item(&file->u.piece[i]);
        NF2_TRY(nf2_batch_item(fs, batch, file->id, &item));
    }
    return NF2_OK;
}

/* Several pieces, a cut, or pieces that lie in several leaves: as a batch. */
static int commit_batch(nf2_t *fs, nf2_file_t *file)
{
    struct nf2_batch batch = nf2_batch_empty();
    bool owned = file->spill_first != NF2_NONE;

    if (owned) { /* in the file's own list, behind what is there */
        while (file->pieces > 0) {
            NF2_TRY(push_out(fs, file));
        }
        NF2_TRY(spill_cut(fs, file));
        NF2_TRY(record_own(fs, file));
        batch.first = file->spill_first;
        batch.block = file->spill;
        batch.end = file->spill_end;
        batch.count = file->spilled;
    } else {
        nf2_space_settle(fs, NF2_TREE_SLOT);
        NF2_TRY(write_batch(fs, file, &batch));
    }
    return nf2_batch_commit(fs, &batch, owned, file->slot);
}

/* Does the entry of the present run of blocks lie in another leaf than that of the piece? */
static int lies_apart(nf2_t *fs, const nf2_file_t *file)
{
    struct nf2_key piece = nf2_number_key(file->id, NF2_INDEX_MAP, file->u.piece[0].offset);
    struct nf2_key own = nf2_number_key(file->id, NF2_INDEX_OWN, file->own.start);
    int together = nf2_tree_together(fs, &piece, &own);

    return together < 0 ? together : !together;
}

/* The file's map was changed: it may have garbage, about so many blocks, which idle time is to look for. */
static void note_garbage(nf2_t *fs, uint32_t id, uint32_t blocks)
{
    bool one = fs->compact_due == NF2_COMPACT_NOTHING || (fs->compact_due == NF2_COMPACT_ONE && fs->compact_id == id);

    fs->compact_due = one ? NF2_COMPACT_ONE : NF2_COMPACT_TWICE;
    fs->garbage = (uint8_t)nf2_min(fs->garbage + blocks, NF2_GARBAGE_MUCH);
    if (one) {
        fs->compact_id = id;
        fs->compact_from = fs->compact_dead = 0;
        fs->compact_victim = 0; /* it may be another file's */
    }
}

static int commit_pieces(nf2_t *fs, nf2_file_t *file)
{
    int result = NF2_SPANS_LEAVES;

    if (file->pieces == 0 && file->spill_first == NF2_NONE && file->cut_to == NF2_NONE) {
        return NF2_OK;
    }
    if (file->pieces == 1 && file->spill_first == NF2_NONE && file->cut_to == NF2_NONE) {
        struct nf2_item item = piece_item(&file->u.piece[0]), own = own_item(file);
        int apart = own_pending(file) ? lies_apart(fs, file) : 0;
        NF2_TRY(apart);
        if (apart) { /* the blocks first, in a group of their own: cheaper than a batch */
            NF2_TRY(record_own(fs, file));
        }
        result = nf2_index_insert(fs, file->id, &item, nf2_piece_end(&item), own_pending(file) ? &own : NULL, NF2_ONE_GROUP);
    }
    if (result == NF2_SPANS_LEAVES) {
        result = commit_batch(fs, file);
    }
    NF2_TRY(result);
    own_recorded(fs, file);
    note_garbage(fs, file->id, file->cut_to != NF2_NONE || file->spill_first != NF2_NONE ? NF2_GARBAGE_MUCH : file->pieces);
    fs->short_pieces = file->pieces > 0 && file->u.piece[0].length < nf2_block_bytes(fs);
    file->pieces = 0;
    file->spill = file->spill_first = file->cut_to = NF2_NONE;
    file->spilled = 0;
    file->frames_at = 0;
    return NF2_OK;
}

/* Other handles of the file see the new map. */
static void others_stale(nf2_t *fs, const nf2_file_t *file)
{
    for (nf2_file_t *other = fs->files; other != NULL; other = other->next) {
        if (other != file && other->leaf == file->leaf && other->entry == file->entry) {
            other->stale = true;
        }
    }
}

int nf2_indexed_commit(nf2_t *fs, nf2_file_t *file)
{
    bool urgent = fs->urgent;
    int result;

    fs->urgent = true;
    if (is_small_append(file) && file->frames_at != 0 && file->frames_end == file->buffer_at) {
        result = commit_frame(fs, file);
    } else if (is_small_append(file)) {
        uint32_t size;
        result = nf2_index_size(fs, file->id, &size);
        if (result >= 0) {
            result = size == file->buffer_at ? commit_frame(fs, file) : nf2_indexed_flush(fs, file);
        }
    } else {
        result = nf2_indexed_flush(fs, file);
    }
    if (result >= 0) {
        result = file->shadow ? commit_shadow(fs, file) : commit_pieces(fs, file);
    }
    fs->urgent = urgent;
    others_stale(fs, file);
    return result < 0 ? result : NF2_OK;
}
