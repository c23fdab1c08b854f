/* SPDX-License-Identifier: BSD-2-Clause */
/* view.c - what RAM knows of a node's tail: which records are alive, in order of their keys, and which of the base are not. */
#include "node.h"

/* ---- memory for views --------------------------------------------------------------------------- */

static struct nf2_view *view_number(const nf2_t *fs, unsigned i)
{
    size_t at = i == 0 ? 0 : NF2_VIEW_BYTES(NF2_INNER_SLOTS) + (i - 1) * NF2_VIEW_BYTES(NF2_LEAF_SLOTS);
    return (struct nf2_view *)(void *)(fs->views + at);
}

/* Forgets the hint of a place; 0: those of all places in the block. */
static void forget_hint(nf2_t *fs, uint32_t block, uint32_t place)
{
    uint32_t mask = place != 0 ? ~0u >> (32 - NF2_HINT_BITS) : ~0u >> (32 - NF2_HINT_BITS) & ~0u << 13;

    for (unsigned i = 0; i < NF2_HINTS; i++) {
        fs->hint[i] = ((fs->hint[i] ^ nf2_hint_of(block, place)) & mask) == 0 ? 0 : fs->hint[i];
    }
}

void nf2_views_begin(nf2_t *fs)
{
    memset(fs->hint, 0, sizeof fs->hint);
    for (unsigned i = 0; i < fs->view_count; i++) {
        struct nf2_view *view = view_number(fs, i);
        view->block = NF2_NONE;
        view->slots = i == 0 ? NF2_INNER_SLOTS : NF2_LEAF_SLOTS;
    }
}

void nf2_view_forget(nf2_t *fs, uint32_t block)
{
    for (unsigned i = 0; i < fs->view_count; i++) {
        struct nf2_view *view = view_number(fs, i);
        view->block = view->block == block ? NF2_NONE : view->block;
    }
    forget_hint(fs, block, 0);
}

/* ---- changes of a view -------------------------------------------------------------------------- */

bool nf2_view_dead(const struct nf2_view *view, uint32_t place)
{
    const uint16_t *end = view->slot + view->slots;

    for (unsigned i = 1; i <= view->dead; i++) {
        if (end[-(int)i] == place) {
            return true;
        }
    }
    return false;
}

/* Number of the alive record at `place`: recent ones are looked for most. */
static unsigned slot_of(const struct nf2_view *view, uint32_t place)
{
    unsigned i = view->alive;

    while (i > 0 && view->slot[i - 1] != place) {
        i--;
    }
    return i > 0 ? i - 1 : view->alive;
}

/* Number of the first of the alive records from `low` up to `high` whose key is not below `key`; it may be at `near`. */
static int position(nf2_t *fs, const struct nf2_view *view, const struct nf2_key *key, unsigned low, unsigned high, unsigned near)
{
    unsigned middle = near < high ? near : high - 1;
    int order;

    for (unsigned n = 0; low < high; n++) {
        NF2_TRY(nf2_compare_at(fs, view->block, view->slot[middle], key, &order));
        low = order < 0 ? middle + 1 : low;
        high = order < 0 ? high : middle;
        middle = n > 0 ? (low + high) / 2 : order < 0 ? low : high - 1;
    }
    return (int)low;
}

int nf2_view_position(nf2_t *fs, struct nf2_view *view, const struct nf2_key *key)
{
    int at = position(fs, view, key, 0, view->alive, view->near);

    view->near = (uint8_t)(at < 0 ? 0 : at);
    return at;
}

/* The record at `place` does not count any more. False: there is no room to note it. */
static bool view_kill(struct nf2_view *view, uint32_t place, uint8_t *digest)
{
    if (place < view->base_end) {
        if (view->alive + view->dead >= view->slots) {
            return false;
        }
        view->dead++;
        view->slot[view->slots - view->dead] = (uint16_t)place;
        return true;
    }
    unsigned i = slot_of(view, place);
    if (i < view->alive) {
        view->alive--;
        memmove(view->slot + i, view->slot + i + 1, (view->alive - i) * sizeof view->slot[0]);
        if (digest != NULL) {
            memmove(digest + i, digest + i + 1, view->alive - i);
        }
    }
    return true;
}

/* What a record of this type kills. */
static bool kill_all(struct nf2_view *view, unsigned type, const uint16_t kill[3], uint8_t *digest)
{
    if (type == NF2_NODE_REN) {
        return view_kill(view, kill[1], digest) && (kill[2] == 0 || view_kill(view, kill[2], digest));
    }
    return type == NF2_NODE_PUT || view_kill(view, kill[0], digest);
}

int nf2_view_apply(nf2_t *fs, struct nf2_view *view, uint32_t place, unsigned type, const uint16_t kill[3],
                   const struct nf2_key *key)
{
    for (unsigned i = 0; i < 3 && kill[i] != 0; i++) {
        forget_hint(fs, view->block, kill[i]);
    }
    unsigned old = type == NF2_NODE_PUTK ? slot_of(view, kill[0]) : view->alive;
    if (old < view->alive) {    /* the same key: the same place in the order */
        view->slot[old] = (uint16_t)place;
        return NF2_OK;
    }
    if (!kill_all(view, type, kill, NULL)) {
        return NF2_ERR_IO;
    }
    if (type == NF2_NODE_DEL) {
        return NF2_OK;
    }
    int at = nf2_view_position(fs, view, key);
    NF2_TRY(at);
    if (view->alive + view->dead >= view->slots) {
        return NF2_ERR_IO;
    }
    memmove(view->slot + at + 1, view->slot + at, (size_t)(view->alive - at) * sizeof view->slot[0]);
    view->slot[at] = (uint16_t)place;
    view->alive++;
    return NF2_OK;
}

/* ---- loading ------------------------------------------------------------------------------------ */

/* Is this record the head of the node that it should be? */
static int check_head(nf2_t *fs, uint32_t block, unsigned level, const struct nf2_record *record)
{
    uint8_t head[NF2_NODE_HEAD_BYTES];

    if (record->type != NF2_NODE_HEAD || record->length != sizeof head + NF2_RECORD_OVERHEAD) {
        return NF2_ERR_IO;
    }
    NF2_TRY(nf2_record_read(fs, block, record->offset, 2, head, sizeof head));
    bool own = head[0] == 'N' && head[1] == level && nf2_get24(head + 2) == block &&
               nf2_get32(head + 5) == fs->root.volume_id;
    return own ? NF2_OK : NF2_ERR_IO;
}

/*
 * Orders keys of a tail while it is loaded: a digest grows with the key. It tells keys apart that have the id of the first
 * record that is not in order, best in the range that the base has. It is a help, never the truth.
 */
struct range {
    struct nf2_key low, high;   /* the base's first and last key with that id */
    uint32_t from, to;          /* what `part_of` gives of these */
    uint8_t same;               /* bytes that these have in common */
    uint8_t shift;
    uint8_t *digest;            /* of each slot; NULL: no memory for that */
    struct nf2_key top;         /* of the last record */
    bool ordered;               /* the keys came in order so far */
};

/* The four bytes of a key behind those that all have in common. */
static uint32_t part_of(const struct range *range, const struct nf2_key *key)
{
    uint32_t part = 0;

    for (unsigned i = range->same; i < range->same + 4u; i++) {
        part = part << 8 | (i < key->length ? key->bytes[i] : 0u);
    }
    return part;
}

static uint8_t digest_of(const struct range *range, const struct nf2_key *key)
{
    uint32_t part = part_of(range, key);

    if (key->id != range->low.id) {
        return key->id < range->low.id ? 0 : 255;
    }
    int order = memcmp(key->bytes, range->low.bytes, nf2_min(range->same, key->length));
    if (order < 0 || (order == 0 && (part < range->from || key->length < range->same))) {
        return 0;
    }
    return order > 0 || part > range->to ? 255 : (uint8_t)(1 + ((part - range->from) >> range->shift));
}

/* A key of the base with the id `own`: that at `place`, or else the neighbour of the lowest key with `id`. */
static int bound_of(nf2_t *fs, const struct nf2_view *view, uint32_t place, uint32_t id, uint32_t own, struct nf2_key *key)
{
    struct nf2_key bound = {id, 0, {0}};
    struct nf2_around around;
    struct nf2_front front;

    if (nf2_front_of(fs, view->block, place, &front) < 0 || front.id != own) {
        NF2_TRY(nf2_base_around(fs, view, &bound, NF2_SIDE_BELOW, &around));
        place = id == own ? around.above : around.below;
        if (place == 0 || nf2_front_of(fs, view->block, place, &front) < 0 || front.id != own) {
            return NF2_OK;
        }
    }
    nf2_front_key(&front, key);
    return NF2_OK;
}

static int find_range(nf2_t *fs, const struct nf2_view *view, struct range *range)
{
    uint32_t id = range->top.id;

    range->low.id = id;
    memset(range->high.bytes, 0xFF, sizeof range->high.bytes);
    range->high.length = NF2_KEY_MAX;
    NF2_TRY(bound_of(fs, view, nf2_base_end(fs, view, false), id, id, &range->low));
    NF2_TRY(bound_of(fs, view, nf2_base_end(fs, view, true), id + 1, id, &range->high));
    while (range->same < nf2_min(range->low.length, range->high.length) &&
           range->low.bytes[range->same] == range->high.bytes[range->same]) {
        range->same++;
    }
    range->from = part_of(range, &range->low);
    range->to = nf2_max(part_of(range, &range->high), range->from);
    range->to += nf2_min((range->to - range->from) / 4, NF2_NONE - range->to); /* the last page goes on behind its first key */
    while ((range->to - range->from) >> range->shift > 253) {
        range->shift++;
    }
    return NF2_OK;
}

/* Keys that come in order need no digests, so far. `top` is the first one that does not. */
static NF2_APART int find_digests(nf2_t *fs, const struct nf2_view *view, struct range *range)
{
    struct nf2_front front;
    struct nf2_key key;

    NF2_TRY(find_range(fs, view, range));
    for (unsigned i = 0; i < view->alive; i++) {
        NF2_TRY(nf2_front_of(fs, view->block, view->slot[i], &front));
        nf2_front_key(&front, &key);
        range->digest[i] = digest_of(range, &key);
    }
    return NF2_OK;
}

/* Notes a record of the tail as it is read: those that are alive in order of time. */
static int note_record(nf2_t *fs, struct nf2_view *view, const struct nf2_record *record, struct range *range)
{
    struct nf2_front front;
    uint16_t kill[3];

    NF2_TRY(record->bytes != NULL ? nf2_front_in(record->bytes, record->length, &front) :
            nf2_front_of(fs, view->block, record->offset, &front));
    if (front.type != NF2_NODE_PUT) {
        for (unsigned i = 0; i < (front.type == NF2_NODE_REN ? 3u : 1u); i++) {
            kill[i] = nf2_get16(front.bytes + 2 + 2 * i);
        }
        NF2_TRY(kill_all(view, front.type, kill, range->digest) ? NF2_OK : NF2_ERR_IO);
    }
    if (front.type == NF2_NODE_DEL) {
        return NF2_OK;
    }
    if (view->alive + view->dead >= view->slots) {
        return NF2_ERR_IO;
    }
    bool ordered = (view->alive == 0 && range->ordered) || (range->ordered && nf2_front_order(&front, &range->top) > 0);
    nf2_front_key(&front, &range->top);
    if (!ordered && range->digest != NULL) {
        NF2_TRY(range->ordered ? find_digests(fs, view, range) : NF2_OK);
        range->digest[view->alive] = digest_of(range, &range->top);
    }
    range->ordered = ordered;
    view->slot[view->alive++] = record->offset;
    return NF2_OK;
}

/* In order of their digests. */
static void sort_digests(struct nf2_view *view, uint8_t *digest)
{
    for (unsigned gap = 40; gap > 0; gap /= 3) {
        for (unsigned i = gap; i < view->alive; i++) {
            uint16_t place = view->slot[i];
            uint8_t own = digest[i];
            unsigned at = i;
            for (; at >= gap && digest[at - gap] > own; at -= gap) {
                view->slot[at] = view->slot[at - gap];
                digest[at] = digest[at - gap];
            }
            view->slot[at] = place;
            digest[at] = own;
        }
    }
}

/* Those with equal digests in order of their keys. */
static NF2_APART int sort(nf2_t *fs, struct nf2_view *view, const uint8_t *digest)
{
    struct nf2_front front;
    struct nf2_key key;
    unsigned first = 0, count = view->alive;
    int at = 0;

    for (unsigned i = 1; i < count && at >= 0; i++) {
        uint16_t place = view->slot[i];
        first = digest != NULL && digest[i] != digest[i - 1] ? i : first;
        if (first == i) {
            continue;
        }
        NF2_TRY(nf2_front_of(fs, view->block, place, &front));
        nf2_front_key(&front, &key);
        at = position(fs, view, &key, first, i, i - 1);
        if (at >= 0) {
            memmove(view->slot + at + 1, view->slot + at, (i - (unsigned)at) * sizeof place);
            view->slot[at] = place;
        }
    }
    return at < 0 ? at : NF2_OK;
}

static NF2_APART int load(nf2_t *fs, struct nf2_child node, unsigned level, struct nf2_view *view)
{
    struct nf2_scan scan;
    struct nf2_record record;
    struct range range;

    const uint8_t *epoch = nf2_peek(fs, node.block, 0, 2);
    view->epoch = epoch != NULL ? nf2_get16(epoch) : NF2_LOG_BLANK;
    int found = view->epoch == NF2_LOG_BLANK ? NF2_ERR_IO :
                nf2_record_at(fs, node.block, NF2_PAGE_HEAD, view->epoch, &record);
    if (found != NF2_PLACE_RECORD || node.base_end < NF2_PAGE_HEAD || node.base_end > nf2_log_bytes(fs)) {
        return NF2_ERR_IO;
    }
    NF2_TRY(check_head(fs, node.block, level, &record));
    view->level = (uint8_t)level;
    view->base_end = node.base_end;
    view->alive = view->dead = view->near = 0;
    view->block = node.block;
    memset(&range, 0, sizeof range);
    range.digest = fs->io.writing ? NULL : fs->io.write_buffer;
    range.ordered = true;
    nf2_scan_begin(&scan, node.block);
    nf2_scan_resume(fs, &scan, node.base_end, view->epoch);
    while ((found = nf2_scan_next(fs, &scan, &record)) > 0) {
        NF2_TRY(note_record(fs, view, &record, &range));
    }
    view->end = (uint16_t)nf2_scan_append_at(fs, &scan);
    /* No cut left what was programmed since the mount, if the session before was left cleanly. */
    bool no_cut = fs->io.epoch_known && !fs->io.cut && !fs->io.broken;
    bool damaged = scan.damaged || (scan.own && no_cut);
    NF2_TRY(found < 0 ? found : damaged ? NF2_ERR_IO : NF2_OK);
    if (range.ordered) {
        return NF2_OK;
    }
    if (range.digest != NULL) {
        sort_digests(view, range.digest);
    }
    return sort(fs, view, range.digest);
}

int nf2_node_view(nf2_t *fs, struct nf2_child node, unsigned level, struct nf2_view **view)
{
    unsigned oldest = level > 0 ? 0 : 1;

    fs->view_turn++;
    for (unsigned i = 0; i < fs->view_count; i++) {
        *view = view_number(fs, i);
        if ((*view)->block == node.block && (*view)->level == level) {
            (*view)->used = fs->view_turn;
            fs->leaf_view = (uint8_t)(level == 0 ? i : fs->leaf_view);
            return NF2_OK;
        }
        uint8_t age = (uint8_t)(fs->view_turn - (*view)->used);
        uint8_t most = (uint8_t)(fs->view_turn - view_number(fs, oldest)->used);
        oldest = i > 1 && level == 0 && age > most ? i : oldest;
    }
    *view = view_number(fs, oldest);
    (*view)->used = fs->view_turn;
    fs->leaf_view = (uint8_t)(level == 0 ? oldest : fs->leaf_view);
    int result = load(fs, node, level, *view);
    (*view)->block = result < 0 ? NF2_NONE : node.block;
    return result;
}

struct nf2_view *nf2_view_at_hand(const nf2_t *fs)
{
    struct nf2_view *view = view_number(fs, fs->leaf_view);
    return fs->leaf_view != 0 && view->block != NF2_NONE ? view : NULL;
}
