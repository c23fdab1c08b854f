/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rows.c - what a handle has not synced, put over a map: by a change of one leaf, or by a GROUP
 * that is made piece by piece.
 */
#include "rows.h"

static uint32_t map_of(const nf2_file_t *file, int lowest)
{
    return lowest == NF2_SHADOW ? file->id : file->shadow;
}

/*
 * The next piece that a handle has not synced, from an offset on, which moves behind it; in front
 * of it a range whose entries go (kind 0), and the rest of an older piece that reaches over it. How
 * many these are, 0 at the end, or an error.
 */
#define NEXT_MOST 3u
static NF2_APART int next_pieces(nf2_t *fs, nf2_file_t *file, int lowest, uint32_t *at,
                                 struct nf2_piece *pieces)
{
    struct nf2_piece old, *to = pieces, *put = pieces + NEXT_MOST - 1u;
    uint32_t limit = nf2_content_limit(file, lowest);

    do {
        if (*at >= limit) {
            return 0;
        }
        NF2_TRY(nf2_content_find(fs, file, *at, lowest, put));
        *at += put->length;
    } while (put->kind == 0);
    NF2_TRY(nf2_map_find(fs, map_of(file, lowest), *at - 1, &old));
    /* not one older piece has all of it, nor a gap */
    if (old.offset > put->offset && !NF2_BROKEN(NF2_FAULT_RANGE)) {
        memset(to, 0, sizeof *to);
        to->offset = put->offset + 1;
        to->length = *at - to->offset;
        to++;
    }
    uint32_t old_end = old.offset + old.length;
    if (old.kind != 0 && old_end > *at) {
        to->kind = 0;
        NF2_TRY(*at < limit ? nf2_content_find(fs, file, *at, lowest, to) : NF2_OK);
        if (to->kind == 0) {    /* else a piece lies there, too */
            nf2_piece_part(fs, &old, *at - old.offset, old_end - *at);
            *to++ = old;
        }
    }
    *to++ = *put;
    return (int)(to - pieces);
}

/* The bytes that it takes. */
static uint32_t put_piece(nf2_t *fs, struct nf2_writer *writer, uint32_t id,
                          struct nf2_piece *piece)
{
    struct nf2_op op;

    nf2_op_piece(&op, id, piece);
    return nf2_group_put(fs, writer, &op);
}

/* The shadow goes with the changes. The bytes that this takes. */
static uint32_t put_shadow(nf2_t *fs, struct nf2_writer *writer, uint32_t shadow)
{
    struct nf2_op op;

    nf2_op_range(&op, shadow, 0, NF2_FILE_MAX + 1u);
    uint32_t length = nf2_group_put(fs, writer, &op);
    nf2_op_delete_orphan(&op, shadow);
    return length + nf2_group_put(fs, writer, &op);
}

/*
 * Writes all changes into a GROUP; a writer of NULL does not. The bytes that they take, or an
 * error.
 */
static NF2_APART int write_all(nf2_t *fs, nf2_file_t *file, int lowest, struct nf2_writer *writer)
{
    uint32_t at = 0, length = 0;
    struct nf2_piece pieces[NEXT_MOST];
    int n;

    while ((n = next_pieces(fs, file, lowest, &at, pieces)) > 0 && length <= NF2_GROUP_BYTES_MAX) {
        for (int i = 0; i < n; i++) {
            length += put_piece(fs, writer, map_of(file, lowest), &pieces[i]);
        }
    }
    if (lowest == NF2_SHADOW && file->shadow != 0) {
        length += put_shadow(fs, writer, file->shadow);
    }
    return n < 0 ? n : (int)length;
}

static NF2_APART int commit_rows(nf2_t *fs, nf2_file_t *file, int lowest)
{
    struct nf2_writer writer;
    int result = NF2_FAILED_BLOCK, length = write_all(fs, file, lowest, NULL);

    NF2_TRY(length);
    if ((uint32_t)length > NF2_GROUP_BYTES_MAX) {
        return NF2_TOO_MANY;
    }
    while (result == NF2_FAILED_BLOCK) { /* the log goes on in other blocks, or ends */
        NF2_TRY(nf2_group_open(fs, &writer, (uint32_t)length));
        result = write_all(fs, file, lowest, &writer);
        writer.result = result < 0 ? result : writer.result;
        result = nf2_group_close(fs, &writer);
    }
    return result;
}

/* All of it with one change, if it is no more than that takes: 1, 0 if it is more, or an error. */
static int change_few(nf2_t *fs, nf2_file_t *file, int lowest)
{
    struct nf2_piece plan[NF2_PLAN_PIECES + NEXT_MOST];
    uint32_t at = 0, count = 0;
    int n = 1;

    while (count <= NF2_PLAN_PIECES && (n = next_pieces(fs, file, lowest, &at, &plan[count])) > 0) {
        count += (uint32_t)n;
    }
    NF2_TRY(n);
    if (count > NF2_PLAN_PIECES || (lowest == NF2_SHADOW && file->shadow != 0)) {
        return 0;
    }
    NF2_TRY(count > 0 ? nf2_change_pieces(fs, map_of(file, lowest), plan, count) : NF2_OK);
    return 1;
}

int nf2_change_file(nf2_t *fs, nf2_file_t *file, int lowest)
{
    int done = change_few(fs, file, lowest);

    NF2_TRY(done);
    NF2_TRY(done ? NF2_OK : nf2_change_begin(fs));
    return done ? NF2_OK : commit_rows(fs, file, lowest);
}
