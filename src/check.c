/* SPDX-License-Identifier: BSD-2-Clause */
/* check.c - looks at every structure of a mounted volume. */
#include "content.h"
#include "lock.h"

struct check {
    void (*report)(void *context, const struct nf2_finding *finding);
    void *context;
    int findings;
};

static NF2_APART void found(struct check *check, enum nf2_finding_kind kind, uint32_t block,
                            uint32_t id)
{
    struct nf2_finding finding = {kind, block, id, 0, NULL, 0};

    check->findings++;
    if (check->report != NULL) {
        check->report(check->context, &finding);
    }
}

/* Reads what a piece refers to, in small parts. */
static int check_piece(nf2_t *fs, const struct nf2_piece *piece)
{
    uint8_t bytes[64];
    uint32_t length = piece->kind != NF2_PIECE_ZEROS ? piece->length : 0;

    for (uint32_t at = 0; at < length; at += sizeof bytes) {
        uint32_t n = nf2_min(sizeof bytes, length - at);
        NF2_TRY(nf2_content_read(fs, NULL, piece, piece->offset + at, bytes, n));
    }
    return NF2_OK;
}

/* Reads what an entry refers to. */
static void check_entry(nf2_t *fs, struct check *check, const struct nf2_entry *entry)
{
    struct nf2_refs refs;
    struct nf2_piece piece;
    int pieces = nf2_refs_begin(fs, &entry->key, &entry->body, &refs);
    bool readable = true;

    while (pieces >= 0 && (pieces = nf2_list_next(fs, &refs, &piece)) > 0) {
        readable = check_piece(fs, &piece) == NF2_OK && readable;
    }
    if (pieces < 0 || !readable) {
        found(check, pieces < 0 ? NF2_FOUND_ENTRY : NF2_FOUND_DATA, entry->body.at.record.block,
              entry->key.id);
    }
}

/* Reads all entries of a leaf. */
static void check_leaf(nf2_t *fs, struct check *check, const struct nf2_child *leaf)
{
    struct nf2_iterator iterator;
    struct nf2_entry entry;
    struct nf2_view *view;
    int result = nf2_node_view(fs, *leaf, 0, &view);

    result = result < 0 ? result : nf2_iterate(fs, view, NULL, &iterator);
    while (result >= 0 && (result = nf2_iterate_next(fs, &iterator, &entry)) > 0) {
        check_entry(fs, check, &entry);
    }
    if (result < 0) {
        found(check, NF2_FOUND_NODE, leaf->block, 0);
    }
}

static int do_check(nf2_t *fs, struct check *check)
{
    struct nf2_key key = {0, 0, {0}};
    struct nf2_path path;

    do {
        if (nf2_tree_descend(fs, &key, &path) < 0) {
            found(check, NF2_FOUND_TREE, NF2_NONE, key.id);
            break;
        }
        check_leaf(fs, check, &path.node[0]);
        key = path.upper;
    } while (path.bounded);
    return check->findings;
}

int nf2_check(nf2_t *fs, void (*report)(void *context, const struct nf2_finding *finding),
              void *context)
{
    struct check check = {report, context, 0};

    NF2_LOCKED(fs, do_check(fs, &check));
}
