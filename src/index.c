/* SPDX-License-Identifier: BSD-2-Clause */
#include "index.h"

#include "flash.h"
#include "frames.h"

struct nf2_item nf2_owned_run(uint32_t start, uint32_t count)
{
    struct nf2_item item = {NF2_BODY_OWN, 0, start, start, {count}};
    return item;
}

int nf2_index_item(nf2_t *fs, const struct nf2_entry *entry, struct nf2_item *item)
{
    uint8_t body[NF2_PIECE_BODY] = {0}, kind;

    if (entry->body_length == 0 || entry->body_length > sizeof body) {
        return NF2_ERR_IO;
    }
    memset(item, 0, sizeof *item);
    NF2_TRY(nf2_entry_number(fs, entry, &kind, &item->number));
    NF2_TRY(nf2_body_read(fs, entry, 0, body, entry->body_length));
    item->kind = body[0];
    if (body[0] == NF2_BODY_PIECE && entry->body_length == NF2_PIECE_BODY) {
        item->block = nf2_get24(body + 1);
        item->within = nf2_get16(body + 4);
        item->length = nf2_get32(body + 6);
        return item->length <= NF2_FILE_MAX - item->number ? NF2_OK : NF2_ERR_IO;
    }
    if (body[0] == NF2_BODY_FRAMES && entry->body_length == NF2_FRAMES_BODY) {
        item->block = nf2_get24(body + 1);
        item->base = nf2_get32(body + 4);
        return item->base <= item->number ? NF2_OK : NF2_ERR_IO;
    }
    if (body[0] == NF2_BODY_OWN && entry->body_length == NF2_OWN_BODY) {
        item->block = item->number;
        item->length = nf2_get16(body + 1);
        return NF2_OK;
    }
    return NF2_ERR_IO;
}

/* The entry as an item, if it is one of this kind of key: 1, 0, or an error. */
static int item_of(nf2_t *fs, uint32_t id, uint8_t key_kind, const struct nf2_entry *entry, struct nf2_item *item)
{
    uint8_t kind;

    if (entry->id != id) {
        return 0;
    }
    NF2_TRY(nf2_record_read(fs, entry->node, entry->offset, entry->key_position, &kind, 1));
    if (kind != key_kind) {
        return 0;
    }
    NF2_TRY(nf2_index_item(fs, entry, item));
    return 1;
}

int nf2_index_seek(nf2_t *fs, uint32_t id, uint8_t key_kind, uint32_t number, enum nf2_seek seek, struct nf2_item *item)
{
    struct nf2_key key = nf2_number_key(id, key_kind, number);
    struct nf2_entry entry;

    int found = nf2_tree_seek(fs, &key, seek, &entry);
    return found <= 0 ? found : item_of(fs, id, key_kind, &entry, item);
}

/* Several mapping entries near a file offset: a bit for each that there is, or an error. */
static NF2_APART int seek_all(nf2_t *fs, uint32_t id, uint32_t number, unsigned count, const enum nf2_seek *seek, struct nf2_item *item)
{
    struct nf2_key key = nf2_number_key(id, NF2_INDEX_MAP, number);
    struct nf2_entry entry[NF2_SEEKS_MAX];
    int items = 0;

    int found = nf2_tree_seek_all(fs, &key, count, seek, entry);
    NF2_TRY(found);
    for (unsigned i = 0; i < count; i++) {
        int one = (found & 1 << i) != 0 ? item_of(fs, id, NF2_INDEX_MAP, &entry[i], &item[i]) : 0;
        NF2_TRY(one);
        items |= one << i;
    }
    return items;
}

int nf2_index_each(nf2_t *fs, uint32_t id, uint32_t from, int (*visit)(nf2_t *fs, void *context, const struct nf2_item *item), void *context)
{
    struct nf2_key key = nf2_number_key(id, (uint8_t)((from & NF2_INDEX_BLOCKS) != 0 ? NF2_INDEX_OWN : NF2_INDEX_MAP), from & ~NF2_INDEX_BLOCKS);
    struct nf2_path path;
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
        moved = beyond ? 0 : nf2_tree_neighbour(fs, &path, NF2_ABOVE);
    } while (moved > 0);
    return moved;
}

/* File offset behind an item, as far as the item itself says. */
static int item_end(nf2_t *fs, uint32_t id, const struct nf2_item *item, uint32_t *end)
{
    if (item->kind == NF2_BODY_PIECE) {
        *end = item->number + item->length;
        return NF2_OK;
    }
    struct nf2_frames frames;
    NF2_TRY(nf2_frames_open(fs, id, item->block, item->base, &frames));
    *end = nf2_max(frames.end, item->number);
    return NF2_OK;
}

int nf2_index_size(nf2_t *fs, uint32_t id, uint32_t *size)
{
    struct nf2_item item;

    *size = 0;
    int found = nf2_index_seek(fs, id, NF2_INDEX_MAP, NF2_NONE, NF2_AT_OR_BELOW, &item);
    return found <= 0 ? found : item_end(fs, id, &item, size);
}

int nf2_index_map(nf2_t *fs, uint32_t id, uint32_t at, struct nf2_item *item, uint32_t *length)
{
    static const enum nf2_seek seek[2] = {NF2_AT_OR_BELOW, NF2_ABOVE};
    struct nf2_item near[2];
    uint32_t end = 0;

    int items = seek_all(fs, id, at, 2, seek, near);
    NF2_TRY(items);
    bool found = (items & 1) != 0, further = (items & 2) != 0;
    if (found) {
        *item = near[0];
        NF2_TRY(item_end(fs, id, item, &end));
    }
    if (found && further) {
        end = nf2_min(end, near[1].number);
    }
    if (end > at) {
        *length = end - at;
        return NF2_OK;
    }
    memset(item, 0, sizeof *item); /* between two entries, or behind the last */
    item->kind = NF2_BODY_PIECE;
    item->number = at;
    item->block = NF2_NO_BLOCK;
    item->length = *length = further ? near[1].number - at : 0;
    return NF2_OK;
}

/* ---- changes ------------------------------------------------------------------------------------ */

void nf2_index_put(struct nf2_node_op *change, uint32_t id, const struct nf2_item *item)
{
    struct nf2_key key = nf2_number_key(id, item->kind == NF2_BODY_OWN ? NF2_INDEX_OWN : NF2_INDEX_MAP, item->number);
    bool piece = item->kind == NF2_BODY_PIECE;

    if (item->kind == NF2_BODY_OWN) {
        nf2_op_put(change, &key, item->kind, NF2_OWN_BODY);
        nf2_put16(change->bytes + 1, item->length);
        return;
    }
    nf2_op_put(change, &key, item->kind, piece ? NF2_PIECE_BODY : NF2_FRAMES_BODY);
    nf2_put24(change->bytes + 1, item->block);
    nf2_put16(change->bytes + 4, item->within);
    nf2_put32(change->bytes + (piece ? 6 : 4), piece ? item->length : item->base);
}

void nf2_index_delete(struct nf2_node_op *change, uint32_t id, uint32_t number)
{
    memset(change, 0, sizeof *change);
    change->type = NF2_NODE_DEL;
    change->key = nf2_number_key(id, NF2_INDEX_MAP, number);
}

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

#define CLEARING 5u             /* changes of a group that clear what is in the way of a piece, besides that and an OWN entry */

/* A group in the making. */
struct group {
    struct nf2_node_op change[CLEARING + 2];
    uint8_t count;
    bool full;                  /* more is in the way than it takes */
};

static void group_put(struct group *group, uint32_t id, const struct nf2_item *item)
{
    nf2_index_put(&group->change[group->count++], id, item);
}

static void group_delete(struct group *group, uint32_t id, uint32_t number)
{
    nf2_index_delete(&group->change[group->count++], id, number);
}

/* Takes [from, to) out of one item: what is left of it in front and behind, or its removal. */
static int clear_item(nf2_t *fs, uint32_t id, const struct nf2_item *item, uint32_t from, uint32_t to, uint32_t next, struct group *group)
{
    uint32_t end;

    NF2_TRY(item_end(fs, id, item, &end));
    end = nf2_min(end, next);
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

#define QUEUE 4u

/* Mapping entries in the order of the file, as many as one look at a leaf notes. */
struct queue {
    struct nf2_item item[QUEUE];
    unsigned at, count;
    bool end;                   /* behind them there are no more */
    uint32_t after;
};

static void queue_note(struct queue *queue, const struct nf2_item *item)
{
    unsigned at = queue->count;

    if (item->kind == NF2_BODY_OWN) {
        queue->end = true; /* they come behind the map */
        return;
    }
    while (at > 0 && queue->item[at - 1u].number > item->number) {
        at--;
    }
    if (item->number > queue->after && at < QUEUE) {
        queue->count = nf2_min(queue->count + 1u, QUEUE);
        memmove(&queue->item[at + 1u], &queue->item[at], (queue->count - at - 1u) * sizeof *item);
        queue->item[at] = *item;
    }
}

/* The first ones behind `after`, from the first leaf that has any. */
static NF2_APART int queue_fill(nf2_t *fs, uint32_t id, struct queue *queue)
{
    struct nf2_key key = nf2_number_key(id, NF2_INDEX_MAP, queue->after);
    struct nf2_path path;
    struct nf2_live live;
    struct nf2_entry entry;
    struct nf2_item item;
    int found, moved;

    queue->at = queue->count = 0;
    NF2_TRY(nf2_tree_descend(fs, &key, &path));
    do {
        NF2_TRY(nf2_live_begin(fs, path.node[path.depth - 1], nf2_scratch(fs, NF2_SCRATCH_NODE), &live));
        while ((found = nf2_live_next(fs, &live, &entry)) > 0) {
            queue->end = queue->end || entry.id > id;
            if (entry.id == id) {
                NF2_TRY(nf2_index_item(fs, &entry, &item));
                queue_note(queue, &item);
            }
        }
        NF2_TRY(found);
        moved = queue->end || queue->count > 0 ? 0 : nf2_tree_neighbour(fs, &path, NF2_ABOVE);
    } while (moved > 0);
    queue->end = queue->count < QUEUE && queue->end;
    return moved;
}

/* Those next to `from`: the one below, and the next ones at it and above. */
static int queue_begin(nf2_t *fs, uint32_t id, uint32_t from, struct queue *queue)
{
    static const enum nf2_seek seek[3] = {NF2_BELOW, NF2_AT_OR_ABOVE, NF2_ABOVE};
    struct nf2_item *near = queue->item;
    int skip = from > 0 ? 0 : 1; /* nothing lies below */
    int known = seek_all(fs, id, from, 3u - (unsigned)skip, seek + skip, near + skip);

    NF2_TRY(known);
    known <<= skip;
    bool both = (known & 4) != 0 && near[1].number == from; /* else the third is the second once more */
    queue->at = (known & 1) != 0 ? 0 : 1u;
    queue->count = 1u + ((known & 2) != 0 ? 1u : 0u) + (both ? 1u : 0u);
    queue->end = (known & 4) == 0;
    return NF2_OK;
}

/* The next one, and in `*next` the number of the one behind it, if that may matter to what lies in front of `to`. */
static int queue_take(nf2_t *fs, uint32_t id, struct queue *queue, uint32_t to, struct nf2_item *item, uint32_t *next)
{
    *item = queue->item[queue->at++];
    bool reaches = item->kind == NF2_BODY_PIECE && nf2_piece_end(item) >= to;
    if (queue->at == queue->count && !queue->end && !reaches) {
        queue->after = item->number;
        NF2_TRY(queue_fill(fs, id, queue));
    }
    *next = queue->at < queue->count ? queue->item[queue->at].number : NF2_NONE;
    return NF2_OK;
}

/* Collects the changes that clear [from, to) of the map; an entry at `from` itself is left to be replaced. */
static NF2_APART int collect(nf2_t *fs, uint32_t id, uint32_t from, uint32_t to, struct group *group)
{
    struct queue queue;
    struct nf2_item item;
    uint32_t next;

    NF2_TRY(queue_begin(fs, id, from, &queue));
    while (queue.at < queue.count && queue.item[queue.at].number < to) {
        if (group->count + 2u > CLEARING) {
            group->full = true;
            return NF2_OK;
        }
        NF2_TRY(queue_take(fs, id, &queue, to, &item, &next));
        NF2_TRY(clear_item(fs, id, &item, from, to, next, group));
    }
    return NF2_OK;
}

int nf2_index_insert(nf2_t *fs, uint32_t id, const struct nf2_item *piece, uint32_t to, const struct nf2_item *own, uint32_t mark)
{
    struct group group = {.full = true};
    bool stepwise = mark != NF2_ONE_GROUP;
    int result = NF2_OK;

    while (group.full && result == NF2_OK) {
        group.count = 0;
        group.full = false;
        NF2_TRY(collect(fs, id, piece->number, to, &group));
        if (group.full && !stepwise) {
            return NF2_SPANS_LEAVES;
        }
        if (!group.full && own != NULL) {
            group_put(&group, id, own);
        }
        if (!group.full) {
            group_put(&group, id, piece);
        }
        uint32_t last = group.full || !stepwise ? 0 : mark;
        result = nf2_tree_change(fs, group.change, group.count, last, NULL);
        for (unsigned i = 0; i < group.count && stepwise && (i > 0 || result == NF2_SPANS_LEAVES); i++) {
            result = nf2_tree_change(fs, &group.change[i], 1, i + 1u == group.count ? last : 0, NULL);
            NF2_TRY(result);
        }
    }
    return result;
}

/* Removes the entries of the map from `size` on, from the end. */
static NF2_APART int remove_from(nf2_t *fs, uint32_t id, uint32_t size)
{
    struct nf2_node_op change;
    struct nf2_item last;
    int found;

    while ((found = nf2_index_seek(fs, id, NF2_INDEX_MAP, NF2_NONE, NF2_AT_OR_BELOW, &last)) > 0 && last.number >= size) {
        nf2_index_delete(&change, id, last.number);
        NF2_TRY(nf2_tree_change(fs, &change, 1, 0, NULL));
    }
    return found;
}

/* The same as a batch's operation: what it puts, over all up to `*to`. An empty piece marks the end: of frames that go on in their block, and of a hole. */
static int cut_at(nf2_t *fs, uint32_t id, uint32_t size, struct nf2_item *end, uint32_t *to)
{
    *end = nf2_piece_at(size, NF2_NO_BLOCK, 0, 0);
    *to = NF2_NONE;
    return remove_from(fs, id, size);
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
