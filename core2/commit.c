/* SPDX-License-Identifier: BSD-2-Clause */
#include "commit.h"

#include "sweep.h"
#include "walked.h"

int nf2_commit_orphan(const struct nf2_content *content, struct nf2_op *op)
{
    if (content->kind != NF2_BODY_MAP) {
        return 0;
    }
    nf2_op_put_orphan(op, content->id);
    return 1;
}

/* The map whose place new content takes: also one that the walk has made of a list meanwhile; 0: there is none. */
static uint32_t map_replaced(const nf2_file_t *file)
{
    return file->kind == NF2_BODY_MAP ? file->id : 0;
}

/* The change to new content: its head, and bytes of the buffer. */
static NF2_APART int replace_content(nf2_t *fs, const nf2_file_t *file, const void *head, uint32_t head_bytes, uint32_t buffered)
{
    struct nf2_op ops[2];

    NF2_TRY(nf2_op_content(fs, &file->key, head, head_bytes, &ops[0]));
    if (buffered > 0) {         /* of a file with a long name there is nothing: see nf2_inline_max */
        ops[0].body[1] = nf2_span_of(file->buffer, buffered);
    }
    uint32_t replaced = map_replaced(file);
    nf2_op_put_orphan(&ops[1], replaced);
    return nf2_change_ahead(fs, ops, replaced != 0 ? 2 : 1);
}

static NF2_APART void committed(nf2_t *fs, nf2_file_t *file, uint8_t kind, uint32_t id)
{
    file->kind = kind;
    file->id = id;
    file->synced = file->size;
    file->cut_to = NF2_NONE;
    file->pieces = 0;
    file->shadow = 0;
    file->fresh = file->created = file->changed = file->dirty = false;
    file->here.length = 0;
    file->frames_known = false;
    file->frames_block = 0;
    fs->moves++;
}

/* ---- small content in the entry ----------------------------------------------------------------- */

static NF2_APART int commit_inline(nf2_t *fs, nf2_file_t *file)
{
    static const uint8_t kind = NF2_BODY_INLINE;

    NF2_TRY(replace_content(fs, file, &kind, 1, file->buffered));
    committed(fs, file, NF2_BODY_INLINE, 0);
    return NF2_OK;
}

/* ---- frames ------------------------------------------------------------------------------------- */

/* Finds the frames that the file ends with, if more can be appended there. */
static NF2_APART int look_for_frames(nf2_t *fs, nf2_file_t *file)
{
    struct nf2_frames frames;
    struct nf2_piece piece;

    file->frames_known = true;
    file->frames_block = 0;
    if (file->synced == 0 || (file->kind != NF2_BODY_LIST && file->kind != NF2_BODY_MAP)) {
        return NF2_OK;
    }
    NF2_TRY(nf2_content_base(fs, file, file->synced - 1, &piece));
    if (piece.open) {
        NF2_TRY(nf2_frames_open(fs, piece.block, piece.within, &frames));
        if (frames.end == file->synced) { /* else what follows was cut off */
            file->frames_block = piece.block;
            file->frames_base = piece.within;
            file->frames_at = frames.append_at;
            nf2_walked_piece(fs, &piece);
        }
    }
    return NF2_OK;
}

/* 1 if the buffer went to the frames at the file's end: that is the commit. 0 if they have no room. */
static NF2_APART int append_frame(nf2_t *fs, nf2_file_t *file)
{
    struct nf2_frames frames = {file->frames_block, file->frames_base, file->synced, file->frames_at};
    int result = nf2_frames_append(fs, &frames, file->buffer, file->buffered);

    if (result == NF2_FAILED_BLOCK) {
        nf2_journal_bad(fs, file->frames_block);
    }
    if (result != NF2_OK) {
        file->frames_block = 0;
        return result == NF2_FAILED_BLOCK || result == 1 ? 0 : result;
    }
    file->frames_at = frames.append_at;
    file->synced = file->size;
    file->buffered = 0;
    file->dirty = file->changed = false;
    file->here.length = 0;
    fs->moves++;
    return 1;
}

/* The buffer's content as the first frame of a new block, which becomes a piece. */
static NF2_APART int begin_frames(nf2_t *fs, nf2_file_t *file)
{
    int result = NF2_FAILED_BLOCK;
    uint32_t block;

    while (result == NF2_FAILED_BLOCK) {
        NF2_TRY(nf2_alloc_node(fs, &block));
        struct nf2_frames frames = {block, file->synced, file->synced, 0};
        result = nf2_frames_append(fs, &frames, file->buffer, file->buffered);
        file->frames_at = frames.append_at;
        if (result == NF2_FAILED_BLOCK) {
            nf2_journal_bad(fs, block);
        }
    }
    NF2_TRY(result);
    struct nf2_piece piece = {file->synced, file->buffered, block, file->synced, NF2_PIECE_FRAMES, true};
    file->piece[0] = piece;
    file->pieces = 1;
    file->buffered = 0;
    file->dirty = false;
    return NF2_OK;
}

static bool small_append(const nf2_t *fs, const nf2_file_t *file)
{
    return file->dirty && !file->fresh && !file->created && file->pieces == 0 && file->shadow == 0 &&
           file->cut_to == NF2_NONE && file->buffer_at == file->synced && file->synced > 0 &&
           file->buffered + 16u <= nf2_page(fs) && file->kind != NF2_BODY_INLINE;
}

/* ---- pieces ------------------------------------------------------------------------------------- */

/* A LIST of all pieces, if they are few: the bytes of it, 0 if they are too many, or an error. */
static int build_list(nf2_t *fs, nf2_file_t *file, uint8_t *list)
{
    uint8_t *p = list;
    struct nf2_piece piece;
    unsigned count = 0;

    *p++ = NF2_BODY_LIST;
    for (uint32_t at = 0; at < file->size; at = piece.offset + piece.length) {
        NF2_TRY(nf2_content_find(fs, file, at, &piece));
        if (count++ == NF2_PIECES_MAX) {
            return 0;
        }
        piece.open = piece.open && piece.offset + piece.length == file->size;
        p = nf2_piece_store(p, &piece);
    }
    return (int)(p - list);
}

static NF2_APART int commit_list(nf2_t *fs, nf2_file_t *file)
{
    uint8_t list[NF2_LIST_BYTES];
    int length = build_list(fs, file, list);

    if (length <= 0) {
        return length;
    }
    NF2_TRY(replace_content(fs, file, list, (uint32_t)length, 0));
    committed(fs, file, NF2_BODY_LIST, 0);
    return 1;
}

/* Changes of the committed map by one piece, or by its end: 1 if they were made. Else each would have to know the others. */
static int commit_in_map(nf2_t *fs, nf2_file_t *file)
{
    bool cut = file->cut_to != NF2_NONE;

    if (file->pieces + cut > 1) {
        return 0;
    }
    if (file->pieces + cut > 0) {
        const struct nf2_piece *piece = cut ? NULL : &file->piece[0];
        NF2_TRY(nf2_change_map(fs, file->id, piece, cut ? file->cut_to : piece->offset + piece->length));
    }
    committed(fs, file, NF2_BODY_MAP, file->id);
    return 1;
}

/* Moves on to where the shadow has nothing: for so many bytes, 0 at the file's end. */
static NF2_APART int next_gap(nf2_t *fs, const nf2_file_t *file, uint32_t *at, uint32_t *gap)
{
    struct nf2_piece part;

    for (*gap = 0; *at < file->size && *gap == 0;) {
        NF2_TRY(nf2_map_find(fs, file->shadow, *at, &part));
        if (part.kind != 0) {
            *at = part.offset + part.length;
        } else {
            *gap = part.offset + part.length - *at;
        }
    }
    return NF2_OK;
}

/* The next pieces that the committed content has where the shadow has nothing, from an offset on, which moves on. */
static NF2_APART int missing_pieces(nf2_t *fs, nf2_file_t *file, uint32_t *at, struct nf2_plan *plan)
{
    uint32_t gap;

    for (plan->count = 0; plan->count < NF2_PLAN_PIECES; plan->count++) {
        struct nf2_piece *piece = &plan->piece[plan->count];
        NF2_TRY(next_gap(fs, file, at, &gap));
        if (gap == 0) {
            break;
        }
        NF2_TRY(nf2_content_base(fs, file, *at, piece));
        NF2_TRY(piece->kind != 0 ? NF2_OK : NF2_ERR_IO);
        uint32_t length = nf2_min(nf2_min(gap, piece->offset + piece->length - *at), file->size - *at);
        nf2_piece_part(fs, piece, *at - piece->offset, length);
        *at += length;
    }
    return (int)plan->count;
}

/* The shadow gets some of what the committed content has where it has nothing itself: 1, 0 if there was nothing, or an error. */
static NF2_APART int complete_some(nf2_t *fs, nf2_file_t *file, uint32_t *at)
{
    struct nf2_plan plan = {.from = 0, .to = 0};
    int found = missing_pieces(fs, file, at, &plan);

    NF2_TRY(found > 0 ? nf2_change_pieces(fs, file->shadow, &plan) : found);
    return found > 0;
}

/* The shadow, made complete, becomes the file's map. */
static NF2_APART int commit_shadow(nf2_t *fs, nf2_file_t *file)
{
    uint32_t at = 0;
    int more = !file->fresh;

    NF2_TRY(nf2_data_spill(fs, file));
    do {
        NF2_TRY(nf2_sweep_ready(fs, false)); /* no step of the walk between a plan and its change */
        more = more > 0 ? complete_some(fs, file, &at) : more;
    } while (more > 0);
    NF2_TRY(more);
    NF2_TRY(nf2_shadow_name(fs, &file->key, file->shadow, map_replaced(file)));
    committed(fs, file, NF2_BODY_MAP, file->shadow);
    return NF2_OK;
}

static int commit_pieces(nf2_t *fs, nf2_file_t *file)
{
    int done = 0;

    NF2_TRY(nf2_sweep_ready(fs, false));
    if (file->shadow == 0) {
        bool map = file->kind == NF2_BODY_MAP && !file->fresh;
        done = map ? commit_in_map(fs, file) : commit_list(fs, file);
    }
    return done != 0 ? done : commit_shadow(fs, file);
}

/* A small append, in frames at the file's end, or in new ones. */
static NF2_APART int commit_frames(nf2_t *fs, nf2_file_t *file)
{
    NF2_TRY(file->frames_known ? NF2_OK : look_for_frames(fs, file));
    int appended = file->frames_block != 0 ? append_frame(fs, file) : 0;
    if (appended != 0) {
        return appended < 0 ? appended : NF2_OK;
    }
    NF2_TRY(begin_frames(fs, file));
    uint32_t block = file->piece[0].block, base = file->piece[0].within, at = file->frames_at;
    NF2_TRY(commit_pieces(fs, file));
    file->frames_known = true;
    file->frames_block = block;
    file->frames_base = base;
    file->frames_at = at;
    return NF2_OK;
}

static int commit(nf2_t *fs, nf2_file_t *file)
{
    if (!file->changed && !file->dirty) {
        return NF2_OK;
    }
    NF2_TRY(file->created && file->promised == 0 ? nf2_sweep_name(fs) : nf2_sweep_ready(fs, false));
    if (nf2_content_whole(file) && file->size <= nf2_inline_max(fs, &file->key)) {
        return commit_inline(fs, file);
    }
    if (small_append(fs, file)) {
        return commit_frames(fs, file);
    }
    NF2_TRY(nf2_data_flush(fs, file));
    int result = commit_pieces(fs, file);
    return result < 0 ? result : NF2_OK;
}

int nf2_commit(nf2_t *fs, nf2_file_t *file)
{
    return nf2_group_end(fs, commit(fs, file));
}
