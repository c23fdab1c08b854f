/* SPDX-License-Identifier: BSD-2-Clause */
#include "index.h"

#include "flash.h"

int nf2_index_seek(nf2_t *fs, uint32_t id, uint8_t key_kind, uint32_t number, enum nf2_seek seek, struct nf2_item *item)
{
    struct nf2_key key = nf2_number_key(id, key_kind, number);
    struct nf2_entry entry;

    int found = nf2_tree_seek(fs, &key, seek, &entry);
    if (found <= 0 || entry.id != id) {
        return found < 0 ? found : 0;
    }
    NF2_TRY(nf2_index_item(fs, &entry, item));
    return (item->kind == NF2_BODY_OWN) == (key_kind == NF2_INDEX_OWN);
}

int nf2_index_each(nf2_t *fs, uint32_t id, uint32_t from, int (*visit)(nf2_t *fs, void *context, const struct nf2_item *item), void *context)
{
    struct nf2_key key = nf2_number_key(id, (uint8_t)((from & NF2_INDEX_BLOCKS) != 0 ? NF2_INDEX_OWN : NF2_INDEX_MAP), from & ~NF2_INDEX_BLOCKS);
    struct nf2_path path;
    struct nf2_leaves leaves = {.count = 0};
    struct nf2_live live;
    struct nf2_entry entry;
    struct nf2_item item;
    bool beyond = false;
    int found, moved;

    NF2_TRY(nf2_tree_descend(fs, &key, &path));
    do {
        uint32_t leaf = path.node[path.depth - 1];
        NF2_TRY(nf2_live_begin(fs, leaf, nf2_scratch(fs, NF2_SCRATCH_NODE), &live));
        while ((found = nf2_live_next(fs, &live, &entry)) > 0) {
            beyond = beyond || entry.id > id;
            if (entry.id == id) {
                NF2_TRY(nf2_index_item(fs, &entry, &item));
                int result = visit(fs, context, &item);
                if (result != 0) {
                    return result;
                }
            }
        }
        NF2_TRY(found);
        int result = visit(fs, context, NULL);
        if (result != 0) {
            return result;
        }
        moved = beyond ? 0 : nf2_tree_next_leaf(fs, &path, &leaves);
    } while (moved > 0);
    return moved;
}

int nf2_index_size(nf2_t *fs, uint32_t id, uint32_t *size)
{
    struct nf2_item item;

    *size = 0;
    int found = nf2_index_seek(fs, id, NF2_INDEX_MAP, NF2_NONE, NF2_AT_OR_BELOW, &item);
    return found <= 0 ? found : nf2_item_end(fs, id, &item, size);
}

/*
 * Where an entry ends that another one follows at `next` (NF2_NONE: none does). Frames reach to that: if they do not, some of them
 * are lost, and reading what should be there says so.
 */
static int reach(nf2_t *fs, uint32_t id, const struct nf2_item *item, uint32_t next, uint32_t *end)
{
    *end = next;
    if (item->kind == NF2_BODY_FRAMES && next != NF2_NONE) {
        return NF2_OK;
    }
    NF2_TRY(nf2_item_end(fs, id, item, end));
    *end = nf2_min(*end, next);
    return NF2_OK;
}

int nf2_index_at(nf2_t *fs, uint32_t id, uint32_t at, struct nf2_stretch *stretch, struct nf2_item *item, uint32_t *length)
{
    const struct nf2_item *noted;
    uint32_t next, end = 0;

    if (!nf2_stretch_at(stretch, at, &noted, &next)) {
        NF2_TRY(nf2_stretch_look(fs, id, at, stretch));
        NF2_ASSERT(nf2_stretch_at(stretch, at, &noted, &next));
        (void)nf2_stretch_at(stretch, at, &noted, &next);
    }
    if (noted != NULL) {
        *item = *noted;
        NF2_TRY(reach(fs, id, item, next, &end));
    }
    if (end > at) {
        *length = end - at;
        return NF2_OK;
    }
    *length = next != NF2_NONE ? next - at : 0; /* between two entries, or behind the last */
    *item = nf2_piece_at(at, NF2_NO_BLOCK, 0, *length);
    return NF2_OK;
}

int nf2_index_map(nf2_t *fs, uint32_t id, uint32_t at, struct nf2_item *item, uint32_t *length)
{
    struct nf2_noted noted[2];
    struct nf2_stretch stretch = nf2_stretch_of(noted, 2);

    return nf2_index_at(fs, id, at, &stretch, item, length);
}

/* ---- changes ------------------------------------------------------------------------------------ */

/* The part of an item from file offset `from` on, as an item of its own. */
static struct nf2_item item_from(const nf2_t *fs, const struct nf2_item *item, uint32_t from, uint32_t end)
{
    struct nf2_item part = *item;

    part.number = from;
    if (item->kind == NF2_BODY_PIECE) {
        part.length = end - from;
        if (item->block != NF2_NO_BLOCK) {
            uint32_t within = item->within + (from - item->number);
            part.block = item->block + within / fs->flash->block_size;
            part.within = (uint16_t)(within % fs->flash->block_size);
        }
    }
    return part;
}

#define CLEARING (NF2_GROUP_MAX - 2u)   /* changes of a group that clear what is in the way of a piece, besides that and an OWN entry */

/* A group in the making. */
struct group {
    struct nf2_node_op change[NF2_GROUP_MAX];
    uint8_t count;
    bool full;                  /* more is in the way than it takes */
    bool behind_frames;         /* what is in the way follows frames that reach to it: something must, at all times */
    uint16_t leaf;              /* mapping entries from `from` to `to` lie there; 0: not known */
    uint32_t from, to;
};

static NF2_ONCE void group_put(struct group *group, uint32_t id, const struct nf2_item *item)
{
    nf2_index_put(&group->change[group->count++], id, item);
}

static void group_delete(struct group *group, uint32_t id, uint32_t number)
{
    nf2_index_delete(&group->change[group->count++], id, number);
}

/* Takes [from, to) out of one item: what is left of it in front and behind, or its removal. */
static NF2_APART int clear_item(nf2_t *fs, uint32_t id, const struct nf2_item *item, uint32_t from, uint32_t to, uint32_t next, struct group *group)
{
    uint32_t end;

    NF2_TRY(reach(fs, id, item, next, &end));
    if (item->kind == NF2_BODY_FRAMES && next == NF2_NONE && end < from) { /* they end here, whatever becomes of them */
        struct nf2_item hole = nf2_piece_at(end, NF2_NO_BLOCK, 0, 0);
        group_put(group, id, &hole);
    }
    if (end <= from && item->number < from) {
        return NF2_OK;
    }
    if (end > to) { /* first: where a cut falls between steps, what is taken apart is still whole */
        struct nf2_item rest = item_from(fs, item, to, end);
        group_put(group, id, &rest);
    }
    if (item->number < from) {
        if (item->kind == NF2_BODY_PIECE) {
            struct nf2_item front = *item;
            front.length = from - item->number;
            group_put(group, id, &front);
        } /* frames end where the next mapping entry begins */
    } else if (item->number != from) {
        group_delete(group, id, item->number);
    }
    return NF2_OK;
}

#define NOTED 5u                /* what lies below, and what most groups meet above */

/* A look goes from `at` on: what is known of the leaf. */
static int look_on(nf2_t *fs, uint32_t id, uint32_t at, struct nf2_stretch *stretch, struct group *group)
{
    NF2_TRY(nf2_stretch_look(fs, id, at, stretch));
    group->from = group->leaf != 0 && stretch->leaf == group->leaf ? group->from : at;
    group->leaf = stretch->leaf;
    group->to = stretch->noted[stretch->count - 1u].item.number;
    return NF2_OK;
}

/* The leaf of all changes, if it is known. An OWN entry lies where the piece does: see nf2_index_insert. */
static uint32_t leaf_of(const struct group *group)
{
    for (unsigned i = 0; i < group->count; i++) {
        const struct nf2_key *key = &group->change[i].key;
        if (key->offset == NF2_INDEX_MAP && (key->at.number < group->from || key->at.number > group->to)) {
            return 0;
        }
    }
    return group->leaf;
}

/* Collects the changes that clear [from, to) of the map; an entry at `from` itself is left to be replaced. */
static NF2_APART int collect(nf2_t *fs, uint32_t id, uint32_t from, uint32_t to, struct group *group)
{
    struct nf2_noted noted[NOTED];
    struct nf2_stretch stretch = nf2_stretch_of(noted, NOTED);
    const struct nf2_item *item;
    uint32_t at = from > 0 ? from - 1u : 0, next;

    do {
        bool known = nf2_stretch_at(&stretch, at, &item, &next);
        bool reaches = known && item != NULL && item->kind == NF2_BODY_PIECE && nf2_piece_end(item) >= to;
        if (!known || (next == NF2_NONE && !stretch.end && !reaches)) {
            NF2_TRY(look_on(fs, id, at, &stretch, group));
            (void)nf2_stretch_at(&stretch, at, &item, &next);
        }
        bool frames = item != NULL && item->kind == NF2_BODY_FRAMES && item->number < from;
        group->behind_frames = group->behind_frames || (frames && next > from && next < to);
        if (item != NULL && group->count + 2u > CLEARING) {
            group->full = true;
            return NF2_OK;
        }
        NF2_TRY(item != NULL ? clear_item(fs, id, item, from, to, next, group) : NF2_OK);
        at = next;
    } while (next < to);
    return NF2_OK;
}

int nf2_index_insert(nf2_t *fs, uint32_t id, const struct nf2_item *piece, uint32_t to, const struct nf2_item *own, uint32_t mark)
{
    struct group group = {.full = true};
    bool stepwise = mark != NF2_ONE_GROUP, ended = false;
    int result = NF2_OK;

    while (group.full && result == NF2_OK) {
        group.count = 0;
        group.leaf = 0;
        group.full = group.behind_frames = false;
        NF2_TRY(collect(fs, id, piece->number, to, &group));
        if (group.full && !stepwise) {
            return NF2_SPANS_LEAVES;
        }
        if (group.behind_frames && stepwise && !ended) {
            struct nf2_item hole = nf2_piece_at(piece->number, NF2_NO_BLOCK, 0, 0);
            group.count = 0;
            group.full = ended = true;
            group_put(&group, id, &hole);
        }
        if (!group.full && own != NULL) {
            group_put(&group, id, own);
        }
        if (!group.full) {
            group_put(&group, id, piece);
        }
        uint32_t last = group.full || !stepwise ? 0 : mark;
        result = nf2_tree_change_in(fs, leaf_of(&group), group.change, group.count, last, NULL);
        for (unsigned i = 0; i < group.count && stepwise && (i > 0 || result == NF2_SPANS_LEAVES); i++) {
            result = nf2_tree_change_in(fs, 0, &group.change[i], 1, i + 1u == group.count ? last : 0, NULL);
            NF2_TRY(result);
        }
    }
    return result;
}

/* Frames that reach over `size` end there, before what follows them goes. */
static int end_frames(nf2_t *fs, uint32_t id, uint32_t size)
{
    struct nf2_node_op change;
    struct nf2_item item, next;
    int found = nf2_index_seek(fs, id, NF2_INDEX_MAP, size, NF2_BELOW, &item);

    if (found <= 0 || item.kind != NF2_BODY_FRAMES) {
        return found;
    }
    found = nf2_index_seek(fs, id, NF2_INDEX_MAP, size, NF2_AT_OR_ABOVE, &next);
    if (found <= 0 || next.number == size) {
        return found;
    }
    item = nf2_piece_at(size, NF2_NO_BLOCK, 0, 0);
    nf2_index_put(&change, id, &item);
    return nf2_tree_change(fs, &change, 1);
}

/* Removes the entries of the map behind `size`, from the end. */
static NF2_APART int remove_behind(nf2_t *fs, uint32_t id, uint32_t size)
{
    struct nf2_node_op change;
    struct nf2_item last;
    int found;

    NF2_TRY(end_frames(fs, id, size));
    while ((found = nf2_index_seek(fs, id, NF2_INDEX_MAP, NF2_NONE, NF2_AT_OR_BELOW, &last)) > 0 && last.number > size) {
        nf2_index_delete(&change, id, last.number);
        NF2_TRY(nf2_tree_change(fs, &change, 1));
    }
    return found;
}

/* The same as a batch's operation: what it puts, over all up to `*to`. An empty piece marks the end: of frames that go on in their block, and of a hole. */
static int cut_at(nf2_t *fs, uint32_t id, uint32_t size, struct nf2_item *end, uint32_t *to)
{
    *end = nf2_piece_at(size, NF2_NO_BLOCK, 0, 0);
    *to = NF2_NONE;
    return remove_behind(fs, id, size);
}

int nf2_index_cut(nf2_t *fs, uint32_t id, uint32_t size)
{
    struct nf2_item end;
    uint32_t to;

    NF2_TRY(cut_at(fs, id, size, &end, &to));
    return nf2_index_insert(fs, id, &end, to, NULL, 0);
}

/* ---- batches ------------------------------------------------------------------------------------ */

int nf2_index_is_mapping(nf2_t *fs, const struct nf2_entry *op)
{
    uint8_t kind;

    NF2_TRY(nf2_record_read(fs, op->node, op->offset, op->key_position, &kind, 1));
    return kind == NF2_INDEX_MAP; /* no name begins with NUL */
}

int nf2_index_apply(nf2_t *fs, const struct nf2_entry *op, uint32_t mark)
{
    struct nf2_item item;
    uint32_t to;
    uint8_t kind;

    if (op->body_length == 0) {
        NF2_TRY(nf2_entry_number(fs, op, &kind, &to));
        NF2_TRY(cut_at(fs, op->id, to, &item, &to));
    } else {
        NF2_TRY(nf2_index_item(fs, op, &item));
        to = nf2_piece_end(&item);
    }
    return nf2_index_insert(fs, op->id, &item, to, NULL, mark);
}
