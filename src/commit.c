/* SPDX-License-Identifier: BSD-2-Clause */
#include "commit.h"

#include "refs.h"
#include "rows.h"
#include "collect.h"

int nf2_commit_orphan(const struct nf2_content *content, struct nf2_op *op)
{
    if (content->kind != NF2_BODY_MAP || NF2_BROKEN(NF2_FAULT_REPLACED)) {
        return 0;
    }
    nf2_op_put_system(op, NF2_KEY_ORPHAN, content->id);
    return 1;
}

NF2_APART int nf2_committed(nf2_t *fs, nf2_file_t *file)
{
    file->synced = file->size;
    file->pieces = 0;
    file->shadow = 0;
    file->spilled = 0;
    file->cut = file->fresh = file->created = file->changed = file->dirty = false;
    file->here.length = 0;
    fs->moves++;
    return 1;
}

/*
 * All that the handle has written, by these changes. They name a shadow: it is an orphan no more.
 */
static int change(nf2_t *fs, nf2_file_t *file, struct nf2_op *ops, unsigned n)
{
    if (file->shadow != 0) {
        nf2_op_delete_orphan(&ops[n++], file->shadow);
    }
    NF2_TRY(nf2_change_ahead(fs, ops, n));
    return nf2_committed(fs, file);
}

/*
 * In front of the head of new content are two bytes of fields without any, for where there are
 * fields in front of them: those are of an older content.
 */
#define OLDER_BYTES 2u
static uint8_t *head_begin(uint8_t *bytes)
{
    return nf2_put16(bytes, NF2_BODY_FIELDS);
}

/*
 * New content in the entry: its head, and the buffer if it is to lie there. The map whose place it
 * takes goes: also one that the walk has made of a list meanwhile.
 */
static NF2_APART int replace_content(nf2_t *fs, nf2_file_t *file, const uint8_t *head,
                                     uint32_t head_bytes)
{
    struct nf2_content old = {.kind = file->kind, .id = file->id};
    uint32_t older = file->fields == NF2_FIELDS_VALID ? OLDER_BYTES : 0;
    struct nf2_op ops[3];

    nf2_op_put(&ops[0], &file->key, head - older, head_bytes + older);
    if (nf2_has_front(file)) {
        NF2_TRY(nf2_op_content(fs, &ops[0]));
    }
    if (*head == NF2_BODY_INLINE && file->buffered > 0) { /* with no front: see nf2_inline_max */
        ops[0].body[1] = nf2_span_of(file->buffer, file->buffered);
    }
    uint32_t id = file->shadow;
    NF2_TRY(change(fs, file, ops, 1u + (unsigned)nf2_commit_orphan(&old, &ops[1])));
    file->kind = *head;
    file->fields = file->fields != NF2_FIELDS_NONE ? NF2_FIELDS_OLDER : NF2_FIELDS_NONE;
    file->id = id;
    return 1;
}

/* ---- frames ---------------------------------------------------------------------------------- */

/* Finds the frames that the file ends with, if more can be appended there. */
static int look_for_frames(nf2_t *fs, nf2_file_t *file)
{
    struct nf2_piece piece;
    uint32_t at;

    NF2_TRY(nf2_content_base(fs, file, file->synced - 1, &piece));
    if (piece.open) {
        NF2_TRY(nf2_frames_open(fs, &piece, &at));
        if (piece.offset + piece.length == file->synced) { /* else what follows was cut off */
            file->frames_block = piece.block;
            file->frames_data = (uint16_t)(piece.within + piece.length);
            file->frames_at = (uint16_t)at;
            nf2_space_refer(fs, piece.block, 0, 1); /* it does not move */
        }
    }
    return NF2_OK;
}

/* 1 if the buffer went to the frames, 0 if they take no more. */
static NF2_APART int append_frame(nf2_t *fs, nf2_file_t *file)
{
    int result = nf2_frames_append(fs, file);

    if (result > 0) {
        file->buffered = 0;
        file->dirty = false;
        return 1;
    }
    uint32_t block = file->frames_block;
    file->frames_block = 0;
    if (result == NF2_FAILED_BLOCK) {
        nf2_space_bad(fs, block);
        return 0;
    }
    return result;
}

/* ---- pieces ---------------------------------------------------------------------------------- */

/* A LIST of all pieces, if they are few: the bytes of it, 0 if they are too many, or an error. */
static int build_list(nf2_t *fs, nf2_file_t *file, uint8_t *list)
{
    uint8_t *p = list;
    struct nf2_piece piece;
    unsigned count = 0;

    *p++ = NF2_BODY_LIST;
    for (uint32_t at = 0; at < file->size; at = piece.offset + piece.length) {
        NF2_TRY(nf2_content_find(fs, file, at, NF2_COMMITTED, &piece));
        if (count++ == NF2_LIST_MAX) {
            return 0;
        }
        if (piece.offset + piece.length != file->size) {
            piece.open = false;
        }
        p = nf2_piece_store(p, &piece);
    }
    return (int)(p - list);
}

static NF2_APART int commit_list(nf2_t *fs, nf2_file_t *file)
{
    uint8_t bytes[OLDER_BYTES + NF2_LIST_BYTES], *list = head_begin(bytes);
    int length = build_list(fs, file, list);

    if (length <= 0) {
        return length;
    }
    return replace_content(fs, file, list, (uint32_t)length);
}

/*
 * A change of the committed map by what was written, or by its end: 1 if it was made, 0 if that
 * takes a new map.
 */
static int commit_in_map(nf2_t *fs, nf2_file_t *file)
{
    bool written = file->pieces > 0 || file->shadow != 0;
    int result = NF2_OK;

    if (written) {
        result = file->cut ? NF2_TOO_MANY : nf2_change_file(fs, file, NF2_SHADOW);
    } else if (file->cut) {
        result = nf2_change_end(fs, file->id, file->synced);
    }
    if (result == NF2_TOO_MANY) {
        return 0;
    }
    NF2_TRY(result);
    return nf2_committed(fs, file);
}

/*
 * The shadow gets some of what the committed content has where it has nothing itself, from an
 * offset on, which moves on: 1, 0 if that was all, or an error.
 */
static NF2_APART int complete_shadow(nf2_t *fs, nf2_file_t *file, uint32_t *at)
{
    struct nf2_plan plan;

    plan.count = 0;
    while (*at < file->size && plan.count < NF2_PLAN_PIECES) {
        struct nf2_piece *piece = &plan.piece[plan.count];
        NF2_NEAR(piece);
        NF2_TRY(nf2_map_find(fs, file->shadow, *at, piece));
        if (piece->kind == 0) {
            NF2_TRY(nf2_content_find(fs, file, *at, NF2_COMMITTED, piece));
            plan.count++;
        }
        *at = piece->offset + piece->length;
    }
    if (plan.count == 0) {
        return 0;
    }
    NF2_TRY(nf2_change_pieces(fs, file->shadow, plan.piece, plan.count));
    return 1;
}

int nf2_commit_end(nf2_t *fs, nf2_file_t *file, uint32_t size)
{
    uint32_t end = 0;

    NF2_TRY(file->shadow != 0 ? nf2_map_end(fs, file->shadow, &end) : NF2_OK);
    if (end <= size) {
        return NF2_OK;
    }
    NF2_TRY(nf2_collect_ready(fs, false));
    return nf2_change_end(fs, file->shadow, size);
}

/* The shadow, made complete, becomes the file's map. */
static NF2_APART int commit_shadow(nf2_t *fs, nf2_file_t *file)
{
    uint8_t bytes[OLDER_BYTES + 5u], *head = head_begin(bytes);
    int more = !file->fresh;
    uint32_t at = 0;

    NF2_TRY(nf2_data_spill(fs, file));
    NF2_TRY(nf2_commit_end(fs, file, file->size)); /* of a write that was refused */
    do {
        /* no step of the walk between a plan and its change */
        NF2_TRY(nf2_collect_ready(fs, false));
        more = more > 0 ? complete_shadow(fs, file, &at) : more;
    } while (more > 0);
    NF2_TRY(more);
    *head = NF2_BODY_MAP;
    nf2_put32(head + 1, file->shadow);
    return replace_content(fs, file, head, 5);
}

static int commit_pieces(nf2_t *fs, nf2_file_t *file)
{
    NF2_TRY(nf2_collect_ready(fs, false)); /* the walk may make a map of a list */
    bool map = file->kind == NF2_BODY_MAP && !file->fresh;
    int done = map ? commit_in_map(fs, file) : file->shadow != 0 ? 0 : commit_list(fs, file);
    return done != 0 ? done : commit_shadow(fs, file);
}

/*
 * A small append, in frames at the file's end: 1. Or in those of a new block, which is a piece then
 * that the file has to get: 0. Or an error.
 */
static NF2_APART int commit_frames(nf2_t *fs, nf2_file_t *file)
{
    struct nf2_piece piece = {file->synced, file->buffered, 0, 0, NF2_PIECE_FRAMES, true};
    uint32_t block;

    NF2_TRY(file->frames_block != 0 ? NF2_OK : look_for_frames(fs, file));
    int appended = file->frames_block != 0 ? append_frame(fs, file) : 0;
    if (appended != 0) {
        return appended < 0 ? appended : nf2_committed(fs, file);
    }
    while (appended == 0) {
        NF2_TRY(nf2_alloc_node(fs, &block));
        file->frames_block = piece.block = (uint16_t)block;
        file->frames_at = file->frames_data = 0;
        appended = append_frame(fs, file);
    }
    NF2_TRY(appended);
    file->piece[0] = piece;
    file->pieces = 1;
    file->changed = true;       /* also where that is refused */
    return 0;
}

int nf2_commit(nf2_t *fs, nf2_file_t *file)
{
    static const uint8_t empty[] = {NF2_BODY_FIELDS, 0, NF2_BODY_INLINE};

    if (!file->changed && !file->dirty) {
        return NF2_OK;
    }
    /* each write of a file that has a shadow has left others what they were promised */
    bool names = file->created && file->promised == 0 && file->shadow == 0;
    NF2_TRY(names ? nf2_data_name(fs) : nf2_collect_ready(fs, false));
    bool frame = file->dirty && nf2_data_frame(file, file->buffered);
    int done = frame ? commit_frames(fs, file) : 0;
    if (done != 0) {
        return done;
    }
    if (!frame) {
        file->frames_block = 0;
        if (nf2_content_whole(file) && file->size <= nf2_inline_max(file)) {
            return replace_content(fs, file, empty + OLDER_BYTES, 1);
        }
        NF2_TRY(nf2_data_flush(fs, file));
    }
    /* new frames stay where they are meanwhile: what a handle appends to is pinned */
    done = commit_pieces(fs, file);
    file->frames_block = done < 0 ? 0 : file->frames_block;
    return done;
}

int nf2_put_name(nf2_t *fs, const char *path, const void *body, uint32_t length)
{
    struct nf2_found found;
    struct nf2_op op;

    NF2_TRY(nf2_find(fs, path, 0, &found));
    if (found.content.kind != 0) {
        return NF2_ERR_EXIST;
    }
    if (!nf2_ends_with_name(&found)) {
        return NF2_ERR_NOENT;
    }
    nf2_op_name(&op, &found, body, length);
    return body != NULL ? nf2_change_ahead(fs, &op, 1) : NF2_OK;
}
