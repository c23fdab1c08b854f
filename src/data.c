/* SPDX-License-Identifier: BSD-2-Clause */
#include "data.h"

#include "rows.h"
#include "collect.h"

#define TAKEN_MAX 16u

uint32_t nf2_data_room(const nf2_t *fs, const nf2_file_t *file)
{
    uint32_t page = nf2_chip_page(fs);
    uint32_t within = file->run.count > 0 ? file->run.within : 0;

    return page - (within & (page - 1));
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/*
 * A run for data, where the handle has none: a little goes behind what was written last, if that
 * left room.
 */
static int acquire(nf2_t *fs, nf2_file_t *file, uint32_t length)
{
    uint32_t bytes = nf2_block_bytes(fs), want = (length + bytes - 1) / bytes;
    uint32_t kept = nf2_collect_kept(fs);
    int result;

    if (length < bytes && fs->fragment.count > 0) {
        file->run = fs->fragment;
        fs->fragment.count = 0;
        return NF2_OK;
    }
    want = nf2_min(want, TAKEN_MAX);
    while ((result = nf2_alloc_data(fs, NF2_FOR_DATA, want, kept, &file->run)) == NF2_NEED_SPACE) {
        NF2_TRY(nf2_collect_more(fs));
        kept = nf2_space_kept(fs); /* what it has found may be no more than that */
    }
    NF2_TRY(result);
    /* that much of a promise is kept */
    uint32_t promised = nf2_min(file->promised, file->run.count);
    file->promised = (uint16_t)(file->promised - promised);
    fs->promised -= promised;
    return NF2_OK;
}

void nf2_data_align(nf2_t *fs, nf2_file_t *file)
{
    struct nf2_run *run = &file->run;

    if (run->count == 0) {
        *run = fs->fragment;
        fs->fragment.count = 0;
    }
    if (run->count > 0 && run->within > 0) {
        nf2_run_advance(fs, run, nf2_block_bytes(fs));
    }
}

void nf2_data_release(nf2_t *fs, nf2_file_t *file)
{
    struct nf2_run *run = &file->run;
    struct nf2_claim *claim = &fs->space.claim[NF2_FOR_DATA];

    uint32_t whole = run->count > 0 ? run->count - (run->within > 0 ? 1u : 0) : 0;

    if (whole > 0 && run->block + run->count == claim->start) {
        claim->start = (uint16_t)(claim->start - whole);
        claim->count = (uint8_t)(claim->count + whole);
        claim->erased = (uint8_t)(claim->erased + whole);
        run->count = (uint16_t)(run->count - whole);
    }
    bool better = fs->fragment.count == 0 || run->within < fs->fragment.within;
    if (run->count > 0 && better) {
        fs->fragment = *run;
        fs->fragment.count = 1;
    }
    /* the walk took it for used */
    if (run->count > 0 || file->pieces > 0 || file->shadow != 0) {
        nf2_space_changed(fs);
    }
    run->count = 0;
}

/* ---- room ------------------------------------------------------------------------------------ */

bool nf2_data_frame(const nf2_file_t *file, uint32_t length)
{
    bool behind = !file->dirty || file->buffer_at == file->synced;

    return !file->changed && behind && file->kind != NF2_BODY_INLINE &&
           length + 16u <= NF2_LOG_PAGE;
}

/* So many blocks, as far as the file has no promise of them. */
static NF2_APART uint32_t beside(const nf2_file_t *file, uint32_t blocks)
{
    return blocks > file->promised ? blocks - file->promised : NF2_NONE;
}

static int room_beside(nf2_t *fs, uint32_t blocks)
{
    return blocks != NF2_NONE ? nf2_collect_room(fs, blocks) : NF2_OK;
}

/*
 * What newer pieces of a handle cover of its older ones is given up when they are in the shadow:
 * does that for one handle. 1, 0 if there is none, or an error.
 */
static int uncover(nf2_t *fs)
{
    for (nf2_file_t *file = fs->files; file != NULL; file = file->link) {
        bool covers = file->pieces > 1 || (file->pieces > 0 && file->shadow != 0);
        if (covers && !file->failed) {
            NF2_TRY(nf2_data_spill(fs, file));
            return 1;
        }
    }
    return 0;
}

/* The blocks that a write needs and has not. */
static uint32_t lacking(const nf2_t *fs, const nf2_file_t *file, uint32_t at, uint32_t length)
{
    uint32_t bytes = nf2_block_bytes(fs), have = 0;
    bool whole = nf2_content_whole(file);

    if (file->run.count > 0) {
        have = file->run.count * bytes - file->run.within;
    } else if (fs->fragment.count > 0) {
        have = bytes - fs->fragment.within;
    }
    length += file->dirty || whole ? file->buffered : 0;
    bool fits = whole ? at <= file->size && length <= nf2_inline_max(file)
                      : at == file->size && nf2_data_frame(file, length);
    if (fits) {                 /* nodes and frames must not take what others were promised */
        return file->promised == 0 && fs->promised != 0 ? 0 : NF2_NONE;
    }
    return length <= have ? NF2_NONE : beside(file, (length - have + bytes - 1) / bytes);
}

/* What a handle has may become less in the work for the change: so that comes first. */
int nf2_data_prepare(nf2_t *fs, const nf2_file_t *file, uint32_t at, uint32_t length)
{
    int result, more;

    do {
        result = nf2_collect_ready(fs, false);
        if (result == NF2_OK) {
            result = room_beside(fs, file != NULL ? lacking(fs, file, at, length) : length);
        }
        more = result == NF2_ERR_NOSPC ? uncover(fs) : 0;
    } while (more > 0);
    return more < 0 ? more : result;
}

int nf2_data_name(nf2_t *fs)
{
    return nf2_data_prepare(fs, NULL, 0, fs->promised != 0 ? 0 : NF2_NONE);
}

/* ---- pieces ---------------------------------------------------------------------------------- */

/* Does a piece that begins here, in the file and on the chip, go on where the last one ends? */
static bool goes_on(const nf2_t *fs, const nf2_file_t *file, uint32_t offset,
                    const struct nf2_run *at)
{
    if (file->pieces == 0) {
        return false;
    }
    const struct nf2_piece *last = &file->piece[file->pieces - 1u];
    NF2_NEAR(last);
    uint32_t bytes = nf2_block_bytes(fs), end = last->within + last->length;
    if (last->offset + last->length != offset ||
        last->kind != (at != NULL ? NF2_PIECE_DATA : NF2_PIECE_ZEROS)) {
        return false;
    }
    return at == NULL || (last->block + end / bytes == at->block && end % bytes == at->within);
}

/*
 * A piece behind all others in time, at a place of the chip, or (NULL) of zeros. There is a place
 * for it: see make_place().
 */
static void add(const nf2_t *fs, nf2_file_t *file, uint32_t offset, uint32_t length,
                const struct nf2_run *at)
{
    file->changed = true;
    if (goes_on(fs, file, offset, at)) {
        file->piece[file->pieces - 1u].length += length;
        return;
    }
    NF2_ASSERT(file->pieces < NF2_PIECES_MAX);
    struct nf2_piece *piece = &file->piece[file->pieces++];
    NF2_NEAR(piece);
    *piece = (struct nf2_piece){offset, length, 0, 0, NF2_PIECE_ZEROS, false};
    if (at != NULL) {
        piece->kind = NF2_PIECE_DATA;
        piece->block = at->block;
        piece->within = at->within;
    }
}

static NF2_APART int make_place(nf2_t *fs, nf2_file_t *file, uint32_t offset,
                                const struct nf2_run *at)
{
    if (file->pieces < NF2_PIECES_MAX || goes_on(fs, file, offset, at)) {
        return NF2_OK;
    }
    /* what the handle takes can be synced */
    uint32_t leaves = file->synced > 0 ? file->spilled / NF2_PIECES_A_LEAF : 0;
    NF2_TRY(room_beside(fs, beside(file, leaves)));
    return nf2_data_spill(fs, file);
}

int nf2_data_spill(nf2_t *fs, nf2_file_t *file)
{
    NF2_TRY(nf2_collect_ready(fs, false));
    if (file->shadow == 0) {
        NF2_TRY(nf2_shadow_begin(fs, &file->shadow)); /* before its first entry */
        NF2_TRY(nf2_collect_ready(fs, false));
    }
    NF2_TRY(nf2_change_file(fs, file, NF2_IN_HANDLE));
    file->spilled = (uint16_t)(file->spilled + file->pieces);
    file->pieces = 0;
    return NF2_OK;
}

/* ---- programs -------------------------------------------------------------------------------- */

int nf2_data_ready(nf2_t *fs, nf2_file_t *file, uint32_t offset, uint32_t length)
{
    NF2_TRY(file->run.count == 0 ? acquire(fs, file, length) : NF2_OK);
    /* before the program: the walk knows only what the handle holds */
    return make_place(fs, file, offset, &file->run);
}

/*
 * Programs at most to the end of a page, behind nf2_data_ready: the bytes that went there, 0 if the
 * block failed, or an error.
 */
static int put(nf2_t *fs, nf2_file_t *file, uint32_t offset, const uint8_t *data, uint32_t length)
{
    struct nf2_run at = file->run;

    length = nf2_min(length, nf2_data_room(fs, file));
    int result = nf2_run_program(fs, &file->run, data, length);
    if (result != NF2_OK && !(result == NF2_FAILED_BLOCK && NF2_BROKEN(NF2_FAULT_FAILED))) {
        return result == NF2_FAILED_BLOCK ? 0 : result;
    }
    add(fs, file, offset, length, &at);
    return (int)length;
}

int nf2_data_flush(nf2_t *fs, nf2_file_t *file)
{
    bool whole = nf2_content_whole(file);
    uint32_t done = 0;

    if (file->buffered > 0 && whole) {
        file->fresh = true;     /* what the entry holds is in the buffer */
    }
    while ((file->dirty || whole) && done < file->buffered) {
        uint32_t at = file->buffer_at + done, left = file->buffered - done;
        NF2_TRY(nf2_data_ready(fs, file, at, left));
        int n = put(fs, file, at, file->buffer + done, left);
        NF2_TRY(n);
        done += (uint32_t)n;
    }
    file->buffered = 0;
    file->dirty = false;
    return NF2_OK;
}

/* ---- writing ------------------------------------------------------------------------------- */

int nf2_data_find(nf2_t *fs, nf2_file_t *file, uint32_t offset, struct nf2_piece *piece)
{
    uint32_t within = offset - file->buffer_at;

    if (within < file->buffered) {
        piece->kind = NF2_PIECE_BUFFER;
        piece->offset = file->buffer_at;
        piece->length = file->buffered;
        return NF2_OK;
    }
    NF2_TRY(nf2_content_find(fs, file, offset, NF2_COMMITTED, piece));
    if (file->buffered > 0 && offset < file->buffer_at) {
        piece->length = nf2_min(piece->length, file->buffer_at - piece->offset);
    }
    return NF2_OK;
}

/* Can the buffer take bytes at this place of the file? */
bool nf2_data_takes(const nf2_t *fs, const nf2_file_t *file, uint32_t at)
{
    uint32_t within = at - file->buffer_at;

    return within <= file->buffered && within < nf2_data_room(fs, file) &&
           (file->dirty || nf2_content_whole(file));
}

/* Zeros up to a new size. */
int nf2_data_extend(nf2_t *fs, nf2_file_t *file, uint32_t size)
{
    if (nf2_content_whole(file) && size <= nf2_data_room(fs, file)) {
        memset(file->buffer + file->buffered, 0, size - file->buffered);
        file->buffered = (uint16_t)size;
        file->dirty = true;
    } else {
        NF2_TRY(nf2_data_flush(fs, file));
        NF2_TRY(make_place(fs, file, file->size, NULL));
        add(fs, file, file->size, size - file->size, NULL);
    }
    file->size = size;
    file->changed = true;
    return NF2_OK;
}

/* Takes bytes from memory, or (NULL) the file, into the buffer: how many, or an error. */
static NF2_APART int buffer_some(nf2_t *fs, nf2_file_t *file, uint32_t at, const uint8_t *data,
                                 uint32_t length)
{
    uint32_t within = at - file->buffer_at;
    struct nf2_piece piece;
    int n = (int)length;

    if (data != NULL) {
        memcpy(file->buffer + within, data, length);
    } else {
        NF2_TRY(nf2_data_find(fs, file, at, &piece));
        n = nf2_content_some(fs, file, &piece, at, file->buffer + within, length);
        NF2_TRY(n);
    }
    file->buffered = (uint16_t)nf2_max(file->buffered, within + (uint32_t)n);
    file->dirty = true;
    return n;
}

int nf2_data_write(nf2_t *fs, nf2_file_t *file, uint32_t at, const uint8_t *data, uint32_t length)
{
    while (length > 0) {
        if (!nf2_data_takes(fs, file, at)) {
            NF2_TRY(nf2_data_flush(fs, file));
            file->buffer_at = at;
        }
        uint32_t room = nf2_data_room(fs, file) - (at - file->buffer_at);
        int n;
        if (data != NULL && file->buffered == 0 && length >= room) {
            NF2_TRY(nf2_data_ready(fs, file, at, length));
            n = put(fs, file, at, data, length);
        } else {
            n = buffer_some(fs, file, at, data, nf2_min(length, room));
        }
        NF2_TRY(n);
        at += (uint32_t)n;
        if (data != NULL) {
            data += n;
        }
        length -= (uint32_t)n;
        file->size = nf2_max(file->size, at);
    }
    return NF2_OK;
}

void nf2_data_cut(const nf2_t *fs, nf2_file_t *file, uint32_t size)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < file->pieces; i++) {
        struct nf2_piece *piece = &file->piece[i];
        if (piece->offset < size) {
            uint32_t length = nf2_min(piece->length, size - piece->offset);
            nf2_piece_part(fs, piece, 0, length);
            file->piece[kept++] = *piece;
        }
    }
    file->pieces = (uint8_t)kept;
}
