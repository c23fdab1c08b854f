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

int nf2_view_position(nf2_t *fs, const struct nf2_view *view, const struct nf2_key *key, bool *same)
{
    unsigned low = 0, high = view->alive;
    int order;

    *same = false;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        NF2_TRY(nf2_compare_at(fs, view->block, view->slot[middle], key, &order));
        *same = *same || order == 0;
        low = order < 0 ? middle + 1 : low;
        high = order < 0 ? high : middle;
    }
    return (int)low;
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
    bool same;

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
    int at = nf2_view_position(fs, view, key, &same);
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

/* Orders keys of a tail while it is loaded: a number that grows with the key, from the range that the base has. */
struct range {
    struct nf2_key low;         /* the base's first key */
    uint32_t from, to;          /* what `part_of` gives of its first and last one */
    uint8_t same;               /* bytes that these have in common */
    uint8_t shift;
    bool by_id;                 /* they have different ids: no more than that counts */
    bool flat;                  /* there is no base */
    uint8_t *digest;            /* of each slot; NULL: no memory for that */
    struct nf2_key top;         /* of the last record */
    bool ordered;               /* the keys came in order so far */
};

/* Four bytes of a key, with those behind `same` ones first. */
static uint32_t part_of(const struct range *range, const struct nf2_key *key)
{
    uint32_t part = 0;

    for (unsigned i = range->same; i < range->same + 4u && !range->by_id; i++) {
        part = part << 8 | (i < key->length ? key->bytes[i] : 0u);
    }
    return range->by_id ? key->id : part;
}

static uint8_t digest_of(const struct range *range, const struct nf2_key *key)
{
    if (range->flat) {
        return 0;
    }
    int order = range->by_id ? 0 : key->id != range->low.id ? (key->id < range->low.id ? -1 : 1) :
                memcmp(key->bytes, range->low.bytes, nf2_min(range->same, key->length));
    uint32_t part = part_of(range, key);

    if (order < 0 || (order == 0 && (part < range->from || key->length < range->same))) {
        return 0;
    }
    return order > 0 || part > range->to ? 255 : (uint8_t)(1 + ((part - range->from) >> range->shift));
}

/* The part of the base's range that has the id of the tail's first record. */
static int narrow_range(nf2_t *fs, const struct nf2_view *view, struct nf2_key *low, struct nf2_key *high)
{
    struct nf2_front front;
    struct nf2_around around;
    struct nf2_key bound = {0, 0, {0}};

    if (low->id == high->id || nf2_front_of(fs, view->block, view->base_end, &front) < 0) {
        return NF2_OK;
    }
    bound.id = front.id;
    NF2_TRY(nf2_base_around(fs, view, &bound, true, &around));
    if (around.above != 0 && nf2_front_of(fs, view->block, around.above, &front) == NF2_OK && front.id == bound.id) {
        nf2_front_key(&front, low);
        bound.id++;
        NF2_TRY(nf2_base_around(fs, view, &bound, true, &around));
        if (around.below != 0 && nf2_front_of(fs, view->block, around.below, &front) == NF2_OK) {
            nf2_front_key(&front, high);
        }
    }
    return NF2_OK;
}

/* The range of the keys of the base; without one all digests are equal. What it says is a help, never the truth: nothing is checked. */
static NF2_APART int find_range(nf2_t *fs, const struct nf2_view *view, struct range *range)
{
    struct nf2_key low, high;
    int found = nf2_base_ends(fs, view, &low, &high);

    NF2_TRY(found);
    memset(range, 0, sizeof *range);
    range->digest = fs->io.writing ? NULL : fs->io.write_buffer;
    range->ordered = true;
    range->flat = !found;
    if (!found) {
        return NF2_OK;
    }
    NF2_TRY(narrow_range(fs, view, &low, &high));
    range->low = low;
    range->by_id = low.id != high.id;
    while (!range->by_id && range->same < nf2_min(low.length, high.length) &&
           low.bytes[range->same] == high.bytes[range->same]) {
        range->same++;
    }
    range->from = part_of(range, &low);
    range->to = nf2_max(part_of(range, &high), range->from);
    while ((range->to - range->from) >> range->shift > 253) {
        range->shift++;
    }
    return NF2_OK;
}

/* Notes a record of the tail as it is read: those that are alive in order of time. */
static int note_record(nf2_t *fs, struct nf2_view *view, const struct nf2_record *record, struct range *range)
{
    struct nf2_front front;
    uint16_t kill[3] = {0};

    NF2_TRY(record->bytes != NULL ? nf2_front_in(record->bytes, record->length, &front) :
            nf2_front_of(fs, view->block, record->offset, &front));
    uint32_t kills = front.type == NF2_NODE_PUT ? 0 : front.type == NF2_NODE_REN ? 3 : 1;
    for (unsigned i = 0; i < kills; i++) {
        kill[i] = nf2_get16(front.bytes + 2 + 2 * i);
    }
    if (!kill_all(view, front.type, kill, range->digest)) {
        return NF2_ERR_IO;
    }
    if (front.type == NF2_NODE_DEL) {
        return NF2_OK;
    }
    if (view->alive + view->dead >= view->slots) {
        return NF2_ERR_IO;
    }
    range->ordered = range->ordered && (view->alive == 0 || nf2_front_order(&front, &range->top) > 0);
    nf2_front_key(&front, &range->top);
    if (range->digest != NULL) {
        range->digest[view->alive] = digest_of(range, &range->top);
    }
    view->slot[view->alive++] = record->offset;
    return NF2_OK;
}

/* Is the record of slot `i` above `key`, which has the digest `own`? Keys are read where digests do not tell. */
static int is_above(nf2_t *fs, const struct nf2_view *view, const uint8_t *digest, unsigned i, uint8_t own, uint16_t place,
                    struct range *range)
{
    struct nf2_front front;
    int order;

    if (digest != NULL && digest[i] != own) {
        return digest[i] > own;
    }
    if (range->ordered) {       /* its key is not known yet */
        NF2_TRY(nf2_front_of(fs, view->block, place, &front));
        nf2_front_key(&front, &range->top);
        range->ordered = false;
    }
    NF2_TRY(nf2_compare_at(fs, view->block, view->slot[i], &range->top, &order));
    return order > 0;
}

/* The alive records in order of their keys. */
static NF2_APART int sort(nf2_t *fs, struct nf2_view *view, struct range *range)
{
    uint8_t *digest = range->digest, own = 0;

    for (unsigned gap = 40; gap > 0; gap /= 3) { /* 40, 13, 4, 1 */
        for (unsigned i = gap; i < view->alive; i++) {
            uint16_t place = view->slot[i];
            unsigned at = i;
            int above;
            own = digest != NULL ? digest[i] : own;
            range->ordered = true;
            while (at >= gap && (above = is_above(fs, view, digest, at - gap, own, place, range)) != 0) {
                NF2_TRY(above);
                view->slot[at] = view->slot[at - gap];
                if (digest != NULL) {
                    digest[at] = digest[at - gap];
                }
                at -= gap;
            }
            view->slot[at] = place;
            if (digest != NULL) {
                digest[at] = own;
            }
        }
    }
    return NF2_OK;
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
    view->alive = view->dead = 0;
    view->block = node.block;
    NF2_TRY(find_range(fs, view, &range));
    nf2_scan_begin(&scan, node.block);
    nf2_scan_resume(fs, &scan, node.base_end, view->epoch);
    while ((found = nf2_scan_next(fs, &scan, &record)) > 0) {
        NF2_TRY(note_record(fs, view, &record, &range));
    }
    view->end = (uint16_t)nf2_scan_append_at(fs, &scan);
    return found < 0 ? found : scan.damaged ? NF2_ERR_IO : range.ordered ? NF2_OK : sort(fs, view, &range);
}

int nf2_node_view(nf2_t *fs, struct nf2_child node, unsigned level, struct nf2_view **view)
{
    unsigned oldest = level > 0 ? 0 : 1;

    fs->view_turn++;
    for (unsigned i = 0; i < fs->view_count; i++) {
        *view = view_number(fs, i);
        if ((*view)->block == node.block && (*view)->level == level) {
            (*view)->used = fs->view_turn;
            return NF2_OK;
        }
        uint8_t age = (uint8_t)(fs->view_turn - (*view)->used);
        uint8_t most = (uint8_t)(fs->view_turn - view_number(fs, oldest)->used);
        oldest = i > 1 && level == 0 && age > most ? i : oldest;
    }
    *view = view_number(fs, oldest);
    (*view)->used = fs->view_turn;
    int result = load(fs, node, level, *view);
    (*view)->block = result < 0 ? NF2_NONE : node.block;
    return result;
}

struct nf2_view *nf2_view_at_hand(const nf2_t *fs)
{
    struct nf2_view *best = view_number(fs, 1);

    for (unsigned i = 2; i < fs->view_count; i++) {
        struct nf2_view *view = view_number(fs, i);
        bool newer = (uint8_t)(fs->view_turn - view->used) < (uint8_t)(fs->view_turn - best->used);
        best = newer ? view : best;
    }
    return best->block != NF2_NONE ? best : NULL;
}
