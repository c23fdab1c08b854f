/* SPDX-License-Identifier: BSD-2-Clause */
#include "node.h"

#define PLACE 0x1FFFu           /* the part of a slot that is a place; above it is a tag of the key */
#define ENTRY_BYTES 48u         /* of a record, that hold its key */

static uint16_t tag_of(const struct nf2_key *key)
{
    uint32_t sum = key->id + key->length;

    for (unsigned i = 0; i < key->length; i++) {
        sum = sum * 5u + key->bytes[i];
    }
    return (uint16_t)((sum ^ sum >> 3 ^ sum >> 9) << 13);
}

/* ---- entries ------------------------------------------------------------------------------------ */

/* Where the key begins in a record of this type. */
static uint32_t key_position(unsigned type)
{
    return type == NF2_NODE_PUTK ? 4 : type == NF2_NODE_REN ? 8 : 2;
}

/* Reads what a record, known to be valid, says of its key; `body` leads to the record's own body. */
static int read_record(nf2_t *fs, uint32_t block, uint32_t place, struct nf2_entry *entry, unsigned *type)
{
    uint8_t bytes[ENTRY_BYTES];
    uint32_t used, room;

    NF2_TRY(nf2_record_read(fs, block, place, 0, bytes, 2));
    entry->block = block;
    entry->record = entry->body_record = (uint16_t)place;
    entry->length = nf2_get16(bytes) & 0xFFFu;
    *type = (unsigned)nf2_get16(bytes) >> 13;
    uint32_t at = key_position(*type);
    if (*type < NF2_NODE_PUT || *type > NF2_NODE_REN || entry->length < at + 4) {
        return NF2_ERR_IO;
    }
    room = nf2_min(entry->length - 4u, ENTRY_BYTES);
    NF2_TRY(nf2_record_read(fs, block, place, 2, bytes + 2, room - 2));
    if (*type == NF2_NODE_REN) {
        entry->body_record = nf2_get16(bytes + 2);
    }
    entry->key.length = 0;
    if (*type == NF2_NODE_DEL) {
        return NF2_OK;
    }
    used = nf2_get_varint(bytes + at, room - at, &entry->key.id);
    at += used;
    if (used == 0 || at >= room || bytes[at] > NF2_KEY_MAX || bytes[at] > room - at - 1) {
        return NF2_ERR_IO;
    }
    entry->key.length = bytes[at];
    memcpy(entry->key.bytes, bytes + at + 1, entry->key.length);
    entry->body_position = (uint16_t)(at + 1 + entry->key.length);
    entry->body_length = (uint16_t)(entry->length - 4u - entry->body_position);
    return NF2_OK;
}

/* Reads an entry; the body of a REN is that of another record. */
static int read_entry(nf2_t *fs, uint32_t block, uint32_t place, struct nf2_entry *entry)
{
    unsigned type;

    NF2_TRY(read_record(fs, block, place, entry, &type));
    if (type == NF2_NODE_REN) {
        struct nf2_entry holder;
        NF2_TRY(read_record(fs, block, entry->body_record, &holder, &type));
        if (type != NF2_NODE_PUT && type != NF2_NODE_PUTK) {
            return NF2_ERR_IO;
        }
        entry->body_position = holder.body_position;
        entry->body_length = holder.body_length;
    }
    return NF2_OK;
}

int nf2_body_read(nf2_t *fs, const struct nf2_entry *entry, uint32_t at, void *data, uint32_t length)
{
    if (at > entry->body_length || length > entry->body_length - at) {
        return NF2_ERR_IO;
    }
    return nf2_record_read(fs, entry->block, entry->body_record, entry->body_position + at, data, length);
}

struct nf2_span nf2_body_span(const struct nf2_entry *entry, uint32_t at, uint32_t length)
{
    return nf2_span_at(entry->block, entry->body_record, entry->body_position + at, length);
}

/* ---- views -------------------------------------------------------------------------------------- */

static struct nf2_view *view_number(const nf2_t *fs, unsigned i)
{
    size_t at = i == 0 ? 0 : NF2_VIEW_BYTES(NF2_INNER_SLOTS) + (i - 1) * NF2_VIEW_BYTES(NF2_LEAF_SLOTS);
    return (struct nf2_view *)(void *)(fs->views + at);
}

void nf2_views_begin(nf2_t *fs)
{
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
}

static bool is_dead(const struct nf2_view *view, uint32_t place)
{
    const uint16_t *end = view->slot + view->slots;

    for (unsigned i = 1; i <= view->dead; i++) {
        if (end[-(int)i] == place) {
            return true;
        }
    }
    return false;
}

/* The record at `place` does not count any more. False: there is no room to note it. */
static bool view_kill(struct nf2_view *view, uint32_t place)
{
    if (place < view->base_end) {
        if (view->alive + view->dead >= view->slots) {
            return false;
        }
        view->dead++;
        view->slot[view->slots - view->dead] = (uint16_t)place;
        return true;
    }
    for (unsigned i = 0; i < view->alive; i++) {
        if ((view->slot[i] & PLACE) == place) {
            view->alive--;
            memmove(view->slot + i, view->slot + i + 1, (size_t)(view->alive - i) * sizeof view->slot[0]);
            return true;
        }
    }
    return true;
}

/* Number of the first alive record of a sorted view whose key is not below `key`. */
static int tail_bisect(nf2_t *fs, const struct nf2_view *view, unsigned count, const struct nf2_key *key,
                       struct nf2_entry *entry)
{
    unsigned low = 0, high = count;
    unsigned type;

    while (low < high) {
        unsigned middle = (low + high) / 2;
        NF2_TRY(read_record(fs, view->block, view->slot[middle] & PLACE, entry, &type));
        if (nf2_key_compare(&entry->key, key) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return (int)low;
}

static int view_add(nf2_t *fs, struct nf2_view *view, uint32_t place, const struct nf2_key *key)
{
    struct nf2_entry other;
    int at = view->alive;

    if (view->alive + view->dead >= view->slots) {
        return NF2_NODE_FULL;
    }
    if (view->sorted) {
        at = tail_bisect(fs, view, view->alive, key, &other);
        NF2_TRY(at);
    }
    memmove(view->slot + at + 1, view->slot + at, (size_t)(view->alive - at) * sizeof view->slot[0]);
    view->slot[at] = (uint16_t)(place | tag_of(key));
    view->alive++;
    return NF2_OK;
}

static NF2_APART int view_sort(nf2_t *fs, struct nf2_view *view)
{
    struct nf2_entry entry, other;
    unsigned type;

    for (unsigned i = 1; i < view->alive && !view->sorted; i++) {
        uint16_t slot = view->slot[i];
        NF2_TRY(read_record(fs, view->block, slot & PLACE, &entry, &type));
        int at = tail_bisect(fs, view, i, &entry.key, &other);
        NF2_TRY(at);
        memmove(view->slot + at + 1, view->slot + at, (i - (unsigned)at) * sizeof slot);
        view->slot[at] = slot;
    }
    view->sorted = true;
    return NF2_OK;
}

int nf2_view_apply(nf2_t *fs, struct nf2_view *view, uint32_t place, unsigned type, const uint16_t kill[3],
                   const struct nf2_key *key)
{
    bool room = true;

    if (type == NF2_NODE_PUTK || type == NF2_NODE_DEL) {
        room = view_kill(view, kill[0]);
    } else if (type == NF2_NODE_REN) {
        room = view_kill(view, kill[1]) && (kill[2] == 0 || view_kill(view, kill[2]));
    }
    int added = room && type != NF2_NODE_DEL ? view_add(fs, view, place, key) : NF2_OK;
    return room && added != NF2_NODE_FULL ? added : NF2_ERR_IO;
}

/* Notes a record of the tail as it is read. */
static int note_record(nf2_t *fs, struct nf2_view *view, uint32_t place)
{
    struct nf2_entry entry;
    uint8_t bytes[6];
    uint16_t kill[3] = {0};
    unsigned type;

    NF2_TRY(read_record(fs, view->block, place, &entry, &type));
    uint32_t kills = type == NF2_NODE_PUT ? 0 : type == NF2_NODE_REN ? 3 : 1;
    NF2_TRY(nf2_record_read(fs, view->block, place, 2, bytes, 2 * kills));
    for (unsigned i = 0; i < kills; i++) {
        kill[i] = nf2_get16(bytes + 2 * i);
    }
    return nf2_view_apply(fs, view, place, type, kill, &entry.key);
}

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

static NF2_APART int load(nf2_t *fs, struct nf2_child node, unsigned level, struct nf2_view *view)
{
    struct nf2_scan scan;
    struct nf2_record record;

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
    view->sorted = false;
    view->block = node.block;
    nf2_scan_begin(&scan, node.block);
    nf2_scan_resume(fs, &scan, node.base_end, view->epoch);
    while ((found = nf2_scan_next(fs, &scan, &record)) > 0) {
        NF2_TRY(note_record(fs, view, record.offset));
    }
    view->end = (uint16_t)nf2_scan_append_at(fs, &scan);
    return found < 0 ? found : scan.damaged ? NF2_ERR_IO : NF2_OK;
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

/* ---- searching ---------------------------------------------------------------------------------- */

/* The record of the base at `place`, or the next one where the page ends: 1, or 0 behind the last one. */
static int base_entry(nf2_t *fs, const struct nf2_view *view, uint32_t place, struct nf2_entry *entry)
{
    struct nf2_record record;

    while (place + NF2_RECORD_OVERHEAD <= view->base_end) { /* behind the last one only padding is left */
        place += nf2_page_start(fs, place) == place ? NF2_PAGE_HEAD : 0;
        int found = nf2_record_at(fs, view->block, place, view->epoch, &record);
        if (found == NF2_PLACE_RECORD) {
            NF2_TRY(read_entry(fs, view->block, record.offset, entry));
            return 1;
        }
        if (found != NF2_PLACE_BLANK) {
            return NF2_ERR_IO;
        }
        place = nf2_page_end(fs, place);
    }
    return 0;
}

static uint32_t base_next(const nf2_t *fs, const struct nf2_entry *entry)
{
    return nf2_record_end(fs, entry->record, entry->length);
}

static uint32_t base_first(void)
{
    return NF2_PAGE_HEAD + NF2_NODE_HEAD_BYTES + NF2_RECORD_OVERHEAD;
}

/* The page of the base in which a search begins: the last one whose first record has a key not above `key`. */
static int base_page(nf2_t *fs, const struct nf2_view *view, const struct nf2_key *key, struct nf2_entry *entry)
{
    uint32_t page = nf2_page(fs), low = 0, high = (view->base_end - 1u) / page;

    while (low < high) {
        uint32_t middle = (low + high + 1) / 2;
        int found = base_entry(fs, view, middle * page, entry);
        NF2_TRY(found);
        bool above = found == 0 || nf2_key_compare(&entry->key, key) > 0;
        high = above ? middle - 1 : high;
        low = above ? low : middle;
    }
    return (int)(low == 0 ? base_first() : low * page);
}

/* Place of the first record of the base, dead or alive, with a key at or above `key`, or the base's end. */
static int base_bisect(nf2_t *fs, const struct nf2_view *view, const struct nf2_key *key, struct nf2_entry *entry)
{
    int place = base_page(fs, view, key, entry), found;

    NF2_TRY(place);
    while ((found = base_entry(fs, view, (uint32_t)place, entry)) > 0) {
        if (nf2_key_compare(&entry->key, key) >= 0) {
            return entry->record;
        }
        place = (int)base_next(fs, entry);
    }
    return found < 0 ? found : view->base_end;
}

int nf2_node_find(nf2_t *fs, struct nf2_view *view, const struct nf2_key *key, struct nf2_entry *entry)
{
    uint16_t tag = tag_of(key);

    for (unsigned i = 0; i < view->alive; i++) {
        if ((view->slot[i] & ~PLACE) == tag) {
            NF2_TRY(read_entry(fs, view->block, view->slot[i] & PLACE, entry));
            if (nf2_key_compare(&entry->key, key) == 0) {
                return 1;
            }
        }
    }
    int place = base_bisect(fs, view, key, entry);
    NF2_TRY(place);
    return place < view->base_end && nf2_key_compare(&entry->key, key) == 0 && !is_dead(view, (uint32_t)place);
}

/* Does an entry with this order to the key lie in the direction asked for? */
static bool in_direction(int order, enum nf2_seek how)
{
    return how == NF2_AT_OR_BELOW ? order <= 0 : how == NF2_BELOW ? order < 0 :
           how == NF2_AT_OR_ABOVE ? order >= 0 : order > 0;
}

/* The nearest alive record of the base at or above: 1, 0 or an error. */
static int base_above(nf2_t *fs, const struct nf2_view *view, const struct nf2_key *key, enum nf2_seek how,
                      struct nf2_entry *entry)
{
    int place = base_bisect(fs, view, key, entry), found;

    NF2_TRY(place);
    while ((found = base_entry(fs, view, (uint32_t)place, entry)) > 0) {
        if (in_direction(nf2_key_compare(&entry->key, key), how) && !is_dead(view, entry->record)) {
            return 1;
        }
        place = (int)base_next(fs, entry);
    }
    return found;
}

/* The last alive record of the base from the page of `place` on, at or below: 1, 0 or an error. */
static int last_below(nf2_t *fs, const struct nf2_view *view, uint32_t place, const struct nf2_key *key,
                      enum nf2_seek how, struct nf2_entry *entry)
{
    uint32_t best = 0;
    int found;

    while ((found = base_entry(fs, view, place, entry)) > 0 &&
           in_direction(nf2_key_compare(&entry->key, key), how)) {
        best = is_dead(view, entry->record) ? best : entry->record;
        place = base_next(fs, entry);
    }
    NF2_TRY(found);
    return best == 0 ? 0 : base_entry(fs, view, best, entry);
}

/* The nearest alive record of the base at or below, page by page backwards. */
static int base_below(nf2_t *fs, const struct nf2_view *view, const struct nf2_key *key, enum nf2_seek how,
                      struct nf2_entry *entry)
{
    int place = base_page(fs, view, key, entry);

    NF2_TRY(place);
    for (;;) {
        int found = last_below(fs, view, (uint32_t)place, key, how, entry);
        if (found != 0 || (uint32_t)place == base_first()) {
            return found;
        }
        place = (int)(nf2_page_start(fs, (uint32_t)place) - nf2_page(fs));
        place = place == 0 ? (int)base_first() : place;
    }
}

/* The nearest alive record of the tail: its place, 0 if there is none, or an error. */
static int tail_nearest(nf2_t *fs, const struct nf2_view *view, const struct nf2_key *key, enum nf2_seek how,
                        struct nf2_key *nearest)
{
    bool below = how == NF2_AT_OR_BELOW || how == NF2_BELOW;
    struct nf2_entry entry;
    unsigned type;
    int best = 0;

    for (unsigned i = 0; i < view->alive; i++) {
        uint32_t place = view->slot[i] & PLACE; /* they are in order of their places as a rule: a page at a time */
        (void)nf2_peek(fs, view->block, nf2_page_start(fs, place), nf2_page(fs));
        NF2_TRY(read_record(fs, view->block, place, &entry, &type));
        if (!in_direction(nf2_key_compare(&entry.key, key), how)) {
            continue;
        }
        int order = best == 0 ? 0 : nf2_key_compare(&entry.key, nearest);
        if (best == 0 || (below ? order > 0 : order < 0)) {
            best = view->slot[i] & PLACE;
            *nearest = entry.key;
        }
    }
    return best;
}

int nf2_node_seek(nf2_t *fs, struct nf2_view *view, const struct nf2_key *key, enum nf2_seek how,
                  struct nf2_entry *entry)
{
    bool below = how == NF2_AT_OR_BELOW || how == NF2_BELOW;
    struct nf2_key nearest;
    int tail = tail_nearest(fs, view, key, how, &nearest);

    NF2_TRY(tail);
    int base = below ? base_below(fs, view, key, how, entry) : base_above(fs, view, key, how, entry);
    NF2_TRY(base);
    if (tail == 0) {
        return base;
    }
    int order = base ? nf2_key_compare(&entry->key, &nearest) : 0;
    if (base && (below ? order > 0 : order < 0)) {
        return 1;
    }
    NF2_TRY(read_entry(fs, view->block, (uint32_t)tail, entry));
    return 1;
}

/* ---- all entries in order ----------------------------------------------------------------------- */

int nf2_iterate(nf2_t *fs, struct nf2_view *view, const struct nf2_key *from, struct nf2_iterator *iterator)
{
    struct nf2_entry entry;

    NF2_TRY(view_sort(fs, view));
    iterator->view = view;
    iterator->base = (uint16_t)base_first();
    iterator->tail = 0;
    if (from != NULL) {
        int place = base_bisect(fs, view, from, &entry);
        NF2_TRY(place);
        iterator->base = (uint16_t)place;
        place = tail_bisect(fs, view, view->alive, from, &entry);
        NF2_TRY(place);
        iterator->tail = (uint8_t)place;
    }
    return NF2_OK;
}

int nf2_iterate_next(nf2_t *fs, struct nf2_iterator *iterator, struct nf2_entry *entry)
{
    const struct nf2_view *view = iterator->view;
    struct nf2_entry tail;
    unsigned type;
    int found;

    while ((found = base_entry(fs, view, iterator->base, entry)) > 0 && is_dead(view, entry->record)) {
        iterator->base = (uint16_t)base_next(fs, entry);
    }
    NF2_TRY(found);
    iterator->base = found ? entry->record : view->base_end;
    if (iterator->tail < view->alive) {
        uint32_t place = view->slot[iterator->tail] & PLACE;
        NF2_TRY(read_record(fs, view->block, place, &tail, &type));
        if (!found || nf2_key_compare(&tail.key, &entry->key) < 0) {
            iterator->tail++;
            NF2_TRY(read_entry(fs, view->block, place, entry));
            return 1;
        }
    }
    iterator->base = found ? (uint16_t)base_next(fs, entry) : iterator->base;
    return found;
}
