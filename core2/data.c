/* SPDX-License-Identifier: BSD-2-Clause */
#include "data.h"

#include "sweep.h"

#define SHARED_BLOCKS 8u        /* taken at once where several files are being written, so that they stay in long pieces */
#define TAKEN_MAX 16u

uint32_t nf2_data_room(const nf2_t *fs, const nf2_file_t *file)
{
    uint32_t page = nf2_page(fs);
    uint32_t within = file->run.count > 0 ? file->run.within : 0;

    return page - (within & (page - 1));
}

/* ---- blocks ------------------------------------------------------------------------------------- */

static bool others_write(const nf2_t *fs, const nf2_file_t *file)
{
    for (const nf2_file_t *other = fs->files; other != NULL; other = other->link) {
        if (other != file && other->run.count > 0) {
            return true;
        }
    }
    return false;
}

/* A run for data: a little goes behind what was written last, if that left room. */
static int acquire(nf2_t *fs, nf2_file_t *file, uint32_t length)
{
    uint32_t bytes = nf2_block_bytes(fs), want = (length + bytes - 1) / bytes;
    int result = NF2_NEED_SPACE;

    if (length < bytes && fs->fragment.count > 0) {
        file->run = fs->fragment;
        fs->fragment.count = 0;
        return NF2_OK;
    }
    want = others_write(fs, file) ? nf2_max(want, SHARED_BLOCKS) : want;
    while (result == NF2_NEED_SPACE) {
        result = nf2_alloc_data(fs, nf2_min(want, TAKEN_MAX), nf2_space_kept(fs), &file->run);
        if (result == NF2_NEED_SPACE) {
            file->run.count = 0;
            NF2_TRY(nf2_sweep_more(fs));
        }
    }
    NF2_TRY(result);
    uint32_t promised = nf2_min(file->promised, file->run.count); /* that much of a promise is kept */
    file->promised -= promised;
    fs->space.promised -= promised;
    return NF2_OK;
}

void nf2_data_release(nf2_t *fs, nf2_file_t *file)
{
    struct nf2_run *run = &file->run;
    struct nf2_claim *claim = &fs->space.data;
    uint32_t whole = run->count > 0 ? run->count - (run->within > 0) : 0;

    if (whole > 0 && run->block + run->count == claim->start) {
        claim->start -= whole;
        claim->count = (uint16_t)(claim->count + whole);
        claim->erased = (uint16_t)(claim->erased + whole);
        run->count -= whole;
    }
    bool better = fs->fragment.count == 0 || run->within < fs->fragment.within;
    if (run->count > 0 && better) {
        fs->fragment = *run;
        fs->fragment.count = 1;
    }
    if (run->count > 0 || file->pieces > 0) { /* the walk took it for used */
        nf2_space_changed(fs);
    }
    run->count = 0;
}

/* ---- room --------------------------------------------------------------------------------------- */

bool nf2_data_frame(const nf2_t *fs, const nf2_file_t *file, uint32_t length)
{
    bool behind = !file->dirty || file->buffer_at == file->synced;

    return !file->changed && behind && file->kind != NF2_BODY_INLINE && length + 16u <= nf2_page(fs);
}

int nf2_data_room_for(nf2_t *fs, nf2_file_t *file, uint32_t at, uint32_t length)
{
    uint32_t bytes = nf2_block_bytes(fs), have = 0;
    bool whole = nf2_content_whole(file);

    if (file->run.count > 0) {
        have = file->run.count * bytes - file->run.within;
    } else if (fs->fragment.count > 0) {
        have = bytes - fs->fragment.within;
    }
    length += file->dirty || whole ? file->buffered : 0;
    bool beside = whole ? at <= file->size && length <= nf2_inline_max(fs, &file->key)
                        : at == file->size && nf2_data_frame(fs, file, length);
    if (length <= have || beside) {
        return NF2_OK;
    }
    uint32_t blocks = (length - have + bytes - 1) / bytes;
    return nf2_sweep_room(fs, blocks > file->promised ? blocks - file->promised : 0);
}

/* ---- pieces ------------------------------------------------------------------------------------- */

/* Does the piece go on where this one ends, in the file and on the chip? */
static bool goes_on(const nf2_t *fs, const struct nf2_piece *last, const struct nf2_piece *piece)
{
    uint32_t bytes = nf2_block_bytes(fs);
    bool behind = last->kind == piece->kind && last->offset + last->length == piece->offset;

    if (behind && last->kind == NF2_PIECE_DATA) {
        uint32_t end = last->within + last->length;
        return last->block + end / bytes == piece->block && end % bytes == piece->within;
    }
    return behind && last->kind == NF2_PIECE_ZEROS;
}

int nf2_data_add(nf2_t *fs, nf2_file_t *file, const struct nf2_piece *piece)
{
    struct nf2_piece *last = file->pieces > 0 ? &file->piece[file->pieces - 1] : NULL;

    file->changed = true;
    if (last != NULL && goes_on(fs, last, piece)) {
        last->length += piece->length;
        return NF2_OK;
    }
    if (file->pieces == NF2_PIECES_MAX) {
        NF2_TRY(nf2_data_spill(fs, file));
    }
    file->piece[file->pieces++] = *piece;
    return NF2_OK;
}

/* The shadow is an orphan on record before its first entry. */
static NF2_APART int begin_shadow(nf2_t *fs, nf2_file_t *file)
{
    struct nf2_op op;
    uint32_t id;

    NF2_TRY(nf2_journal_id(fs, &id));
    nf2_op_put_orphan(&op, id);
    NF2_TRY(nf2_change(fs, &op, 1));
    file->shadow = id;
    return NF2_OK;
}

int nf2_data_spill(nf2_t *fs, nf2_file_t *file)
{
    if (file->shadow == 0) {
        NF2_TRY(nf2_sweep_ready(fs, false));
        NF2_TRY(begin_shadow(fs, file));
    }
    for (unsigned i = 0; i < file->pieces; i++) {
        NF2_TRY(nf2_sweep_ready(fs, false));
        NF2_TRY(nf2_change_piece(fs, file->shadow, &file->piece[i]));
    }
    file->spills = (uint8_t)(file->spills + (file->pieces > 0));
    file->pieces = 0;
    return NF2_OK;
}

/* ---- programs ----------------------------------------------------------------------------------- */

/* The next piece of the data, as it will lie on the chip; the handle has a place for it afterwards. */
static int next_piece(nf2_t *fs, nf2_file_t *file, uint32_t offset, uint32_t length, struct nf2_piece *piece)
{
    uint32_t page = nf2_page(fs);
    struct nf2_run *run = &file->run;

    NF2_TRY(run->count == 0 ? acquire(fs, file, length) : NF2_OK);
    uint32_t n = nf2_min(length, page - (run->within & (page - 1)));
    struct nf2_piece next = {offset, n, run->block, run->within, NF2_PIECE_DATA, false};
    bool full = file->pieces == NF2_PIECES_MAX && !goes_on(fs, &file->piece[file->pieces - 1], &next);
    *piece = next;
    return full ? nf2_data_spill(fs, file) : NF2_OK; /* before the program: the walk knows only what the handle holds */
}

int nf2_data_ready(nf2_t *fs, nf2_file_t *file, uint32_t offset, uint32_t length)
{
    struct nf2_piece unused;
    return next_piece(fs, file, offset, length, &unused);
}

/* Programs at most to the end of a page; the bytes that went there. A bad block is given up where it is. */
static int put_page(nf2_t *fs, nf2_file_t *file, uint32_t offset, const uint8_t *data, uint32_t length)
{
    uint32_t bytes = nf2_block_bytes(fs);
    struct nf2_run *run = &file->run;
    struct nf2_piece piece;

    NF2_TRY(next_piece(fs, file, offset, length, &piece));
    int result = nf2_flash_program(fs, run->block, run->within, data, piece.length);
    run->within = result == NF2_OK ? run->within + nf2_align_unit(fs, piece.length) : bytes;
    if (run->within >= bytes) {
        run->within = 0;
        run->block++;
        run->count--;
    }
    if (result == NF2_FAILED_BLOCK) {
        nf2_journal_bad(fs, piece.block);
        return 0;
    }
    NF2_TRY(result);
    NF2_TRY(nf2_data_add(fs, file, &piece));
    return (int)piece.length;
}

int nf2_data_put(nf2_t *fs, nf2_file_t *file, uint32_t offset, const uint8_t *data, uint32_t length)
{
    while (length > 0) {
        int n = put_page(fs, file, offset, data, length);
        NF2_TRY(n);
        offset += (uint32_t)n;
        data += n;
        length -= (uint32_t)n;
    }
    return NF2_OK;
}

int nf2_data_flush(nf2_t *fs, nf2_file_t *file)
{
    bool whole = nf2_content_whole(file);

    if (file->buffered > 0 && (file->dirty || whole)) {
        file->fresh = file->fresh || whole; /* what the entry holds is in the buffer */
        NF2_TRY(nf2_data_put(fs, file, file->buffer_at, file->buffer, file->buffered));
    }
    file->buffered = 0;
    file->dirty = false;
    return NF2_OK;
}

/* ---- size --------------------------------------------------------------------------------------- */

int nf2_data_extend(nf2_t *fs, nf2_file_t *file, uint32_t size)
{
    if (nf2_content_whole(file) && size <= nf2_data_room(fs, file)) {
        memset(file->buffer + file->buffered, 0, size - file->buffered);
        file->buffered = (uint16_t)size;
        file->dirty = true;
    } else {
        NF2_TRY(nf2_data_flush(fs, file));
        struct nf2_piece zeros = {file->size, size - file->size, 0, 0, NF2_PIECE_ZEROS, false};
        NF2_TRY(nf2_data_add(fs, file, &zeros));
    }
    file->size = size;
    file->changed = true;
    return NF2_OK;
}

int nf2_data_cut(nf2_t *fs, nf2_file_t *file, uint32_t size)
{
    unsigned kept = 0;

    if (file->shadow != 0) {
        NF2_TRY(nf2_sweep_ready(fs, false));
        NF2_TRY(nf2_change_end(fs, file->shadow, size));
    }
    for (unsigned i = 0; i < file->pieces; i++) {
        struct nf2_piece *piece = &file->piece[i];
        if (piece->offset < size) {
            uint32_t length = nf2_min(piece->length, size - piece->offset);
            file->piece[kept++] = nf2_piece_part(fs, piece, 0, length);
        }
    }
    file->pieces = (uint8_t)kept;
    return NF2_OK;
}
