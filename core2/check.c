/* SPDX-License-Identifier: BSD-2-Clause */
/* check.c - looks at every structure of a mounted volume. */
#include "content.h"
#include "lock.h"

struct check {
    void (*report)(void *context, const struct nf2_finding *finding);
    void *context;
    int findings;
};

static void found(struct check *check, enum nf2_finding_kind kind, uint32_t block, const struct nf2_key *key)
{
    struct nf2_finding finding = {kind, block, key != NULL ? key->id : 0, 0, NULL, 0};

    check->findings++;
    if (check->report != NULL) {
        check->report(check->context, &finding);
    }
}

/* Reads what a piece refers to: plain data in small parts, frames as a whole. */
static int check_piece(nf2_t *fs, const struct nf2_piece *piece)
{
    uint8_t bytes[32];
    struct nf2_piece frames = *piece;
    uint32_t unused;

    if (piece->kind == NF2_PIECE_FRAMES) {
        NF2_TRY(nf2_frames_open(fs, &frames, &unused));
        return piece->open || frames.length >= piece->length ? NF2_OK : NF2_ERR_IO;
    }
    for (uint32_t at = 0; piece->kind == NF2_PIECE_DATA && at < piece->length; at += sizeof bytes) {
        uint32_t n = nf2_min(sizeof bytes, piece->length - at);
        NF2_TRY(nf2_content_read(fs, NULL, piece, piece->offset + at, bytes, n));
    }
    return NF2_OK;
}

/* Reads all entries of a leaf, and what they refer to. */
static int check_leaf(nf2_t *fs, struct check *check, const struct nf2_path *path)
{
    struct nf2_iterator iterator;
    struct nf2_entry entry;
    struct nf2_view *view;
    int result = nf2_node_view(fs, path->node[0], 0, &view);

    if (result < 0) {
        found(check, NF2_FOUND_NODE, path->node[0].block, NULL);
        return NF2_OK;
    }
    NF2_TRY(nf2_iterate(fs, view, NULL, &iterator));
    while ((result = nf2_iterate_next(fs, &iterator, &entry)) > 0) {
        struct nf2_span body = nf2_body_span(&entry, 0, entry.body_length);
        struct nf2_refs refs;
        struct nf2_piece piece;
        int pieces = nf2_refs_begin(fs, &entry.key, &body, &refs);
        bool readable = true;
        while (pieces >= 0 && (pieces = nf2_list_next(fs, &refs, &piece)) > 0) {
            readable = check_piece(fs, &piece) == NF2_OK && readable;
        }
        if (pieces < 0 || !readable) {
            found(check, pieces < 0 ? NF2_FOUND_ENTRY : NF2_FOUND_DATA, entry.block, &entry.key);
        }
    }
    if (result < 0) {
        found(check, NF2_FOUND_NODE, path->node[0].block, NULL);
    }
    return NF2_OK;
}

static int do_check(nf2_t *fs, struct check *check)
{
    struct nf2_key key = {0, 0, {0}};
    struct nf2_path path;

    if (!fs->mounted) {
        return NF2_ERR_INVAL;
    }
    do {
        int way = nf2_tree_descend(fs, &key, NF2_AT_OR_BELOW, &path);
        if (way <= 0) {
            found(check, NF2_FOUND_TREE, NF2_NONE, &key);
            break;
        }
        NF2_TRY(check_leaf(fs, check, &path));
        key = path.upper;
    } while (path.bounded);
    return check->findings;
}

int nf2_check(nf2_t *fs, void (*report)(void *context, const struct nf2_finding *finding), void *context)
{
    struct check check = {report, context, 0};

    NF2_LOCKED(fs, do_check(fs, &check));
}
