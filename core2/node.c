/* SPDX-License-Identifier: BSD-2-Clause */
/* node.c - the entries of a node: finding them by key, and all in order. */
#include "node.h"

#define FRONT_BYTES (2u + 6u + NF2_KEY_BYTES)   /* of a record, up to the end of its key */

/* ---- entries ------------------------------------------------------------------------------------ */

int nf2_front_in(const uint8_t *p, uint32_t room, struct nf2_front *front)
{
    if (p == NULL || room < NF2_RECORD_OVERHEAD) {
        return NF2_ERR_IO;
    }
    front->bytes = p;
    front->length = nf2_get16(p) & 0xFFFu;
    front->type = (uint8_t)(p[1] >> 5);
    uint32_t at = front->type == NF2_NODE_PUTK ? 4 : front->type == NF2_NODE_REN ? 8 : 2;
    if (front->type < NF2_NODE_PUT || front->type > NF2_NODE_REN || front->length < at + 4) {
        return NF2_ERR_IO;
    }
    front->key_length = 0;
    if (front->type == NF2_NODE_DEL) {
        return NF2_OK;
    }
    room = nf2_min(front->length - 4u, room);
    front->id = p[at];          /* of one byte, mostly */
    at += front->id < 0x80 ? 1 : nf2_get_varint(p + at, room - at, &front->id);
    if (at >= room || p[at] > NF2_KEY_MAX || at + 1 + p[at] > room) {
        return NF2_ERR_IO;
    }
    front->key_length = p[at];
    front->key = (uint8_t)(at + 1);
    return NF2_OK;
}

/* Of a record that is known to be valid, or whose key is only a help to find one. A front does not cross a page's end. */
int nf2_front_of(nf2_t *fs, uint32_t block, uint32_t place, struct nf2_front *front)
{
    uint32_t room = nf2_min(nf2_page_end(fs, place) - place, FRONT_BYTES);
    return nf2_front_in(nf2_peek(fs, block, place, room), room, front);
}

int nf2_front_order(const struct nf2_front *front, const struct nf2_key *key)
{
    if (front->id != key->id) {
        return front->id < key->id ? -1 : 1;
    }
    int order = memcmp(front->bytes + front->key, key->bytes, nf2_min(front->key_length, key->length));
    return order != 0 ? order : (int)front->key_length - (int)key->length;
}

int nf2_compare_at(nf2_t *fs, uint32_t block, uint32_t place, const struct nf2_key *key, int *order)
{
    struct nf2_front front;

    NF2_TRY(nf2_front_of(fs, block, place, &front));
    *order = nf2_front_order(&front, key);
    return NF2_OK;
}

void nf2_front_key(const struct nf2_front *front, struct nf2_key *key)
{
    key->id = front->id;
    key->length = front->key_length;
    memcpy(key->bytes, front->bytes + front->key, front->key_length);
}

/* What a record says: its body is its own, but that of a REN is another one's. */
static int read_record(nf2_t *fs, uint32_t block, uint32_t place, struct nf2_entry *entry, unsigned *type)
{
    struct nf2_front front;

    NF2_TRY(nf2_front_of(fs, block, place, &front));
    NF2_TRY(front.type != NF2_NODE_DEL ? NF2_OK : NF2_ERR_IO);
    *type = front.type;
    entry->block = block;
    entry->record = (uint16_t)place;
    entry->body_record = front.type == NF2_NODE_REN ? nf2_get16(front.bytes + 2) : (uint16_t)place;
    entry->length = front.length;
    nf2_front_key(&front, &entry->key);
    entry->body_position = (uint16_t)(front.key + front.key_length);
    entry->body_length = (uint16_t)(entry->length - 4u - entry->body_position);
    return NF2_OK;
}

int nf2_entry_at(nf2_t *fs, uint32_t block, uint32_t place, struct nf2_entry *entry)
{
    struct nf2_front holder;
    unsigned type;

    NF2_TRY(read_record(fs, block, place, entry, &type));
    if (type == NF2_NODE_REN) {
        NF2_TRY(nf2_front_of(fs, block, entry->body_record, &holder));
        if (holder.type != NF2_NODE_PUT && holder.type != NF2_NODE_PUTK) {
            return NF2_ERR_IO;
        }
        entry->body_position = (uint16_t)(holder.key + holder.key_length);
        entry->body_length = (uint16_t)(holder.length - 4u - entry->body_position);
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

/* ---- the base ----------------------------------------------------------------------------------- */

/* The record of the base at `place`, or the next one where the page ends: 1, or 0 behind the last one. */
static int base_record(nf2_t *fs, const struct nf2_view *view, uint32_t place, struct nf2_record *record)
{
    while (place + NF2_RECORD_OVERHEAD <= view->base_end) { /* behind the last one only padding is left */
        place += nf2_page_start(fs, place) == place ? NF2_PAGE_HEAD : 0;
        int found = nf2_record_at(fs, view->block, place, view->epoch, record);
        if (found != NF2_PLACE_BLANK) {
            return found == NF2_PLACE_RECORD ? 1 : NF2_ERR_IO;
        }
        place = nf2_page_end(fs, place);
    }
    return 0;
}

static uint32_t behind(const nf2_t *fs, const struct nf2_record *record)
{
    return nf2_record_end(fs, record->offset, record->length);
}

static uint32_t base_first(void)
{
    return NF2_PAGE_HEAD + NF2_NODE_HEAD_BYTES + NF2_RECORD_OVERHEAD;
}

/*
 * The place in the base where a search begins: in the last page whose first record has a key not above `key`. These keys are
 * not checked: one that is damaged leads to a page too far in front, or to one that begins with a key above.
 */
static int base_page(nf2_t *fs, const struct nf2_view *view, const struct nf2_key *key)
{
    uint32_t page = nf2_page(fs), low = 0, high = (view->base_end - 1u) / page;

    while (low < high) {
        uint32_t middle = (low + high + 1) / 2;
        const uint8_t *header = nf2_peek(fs, view->block, middle * page + NF2_PAGE_HEAD, 2);
        if (header == NULL) {
            return NF2_ERR_IO;
        }
        int order = 1;
        if (nf2_get16(header) != NF2_CONTINUED) {
            NF2_TRY(nf2_compare_at(fs, view->block, middle * page + NF2_PAGE_HEAD, key, &order));
        }
        high = order > 0 ? middle - 1 : high;
        low = order > 0 ? low : middle;
    }
    return (int)(low == 0 ? base_first() : low * page);
}

/* Goes to the record of the base at `*place`, or in the next page: 1, or 0 behind the last one. Its check is not looked at. */
static int base_front(nf2_t *fs, const struct nf2_view *view, uint32_t *place, struct nf2_front *front)
{
    while (*place + NF2_RECORD_OVERHEAD <= view->base_end) {
        uint32_t end = nf2_page_end(fs, *place);
        *place += end - *place == nf2_page(fs) ? NF2_PAGE_HEAD : 0;
        uint16_t stored = NF2_LOG_BLANK;
        if (*place + NF2_RECORD_OVERHEAD <= end) {
            const uint8_t *header = nf2_peek(fs, view->block, *place, 2);
            NF2_TRY(header != NULL ? NF2_OK : NF2_ERR_IO);
            stored = nf2_get16(header);
        }
        if (stored != NF2_LOG_BLANK && stored != NF2_CONTINUED) {
            NF2_TRY(nf2_front_of(fs, view->block, *place, front));
            return 1;
        }
        *place = end;
    }
    return 0;
}

/* The last alive record of the base from `place` up to `limit`, or of the pages in front of it. */
static int alive_below(nf2_t *fs, const struct nf2_view *view, uint32_t place, uint32_t limit, uint16_t *below)
{
    struct nf2_record record;
    int found = 0;

    *below = 0;
    for (;;) {
        for (uint32_t at = place; at < limit && (found = base_record(fs, view, at, &record)) > 0; at = behind(fs, &record)) {
            *below = nf2_view_dead(view, record.offset) || record.offset >= limit ? *below : record.offset;
        }
        NF2_TRY(found);
        if (*below != 0 || place == base_first()) {
            return NF2_OK;
        }
        limit = nf2_page_start(fs, place);
        place = limit == nf2_page(fs) ? base_first() : limit - nf2_page(fs);
    }
}

/*
 * The neighbours of a key in the base. The way there is not checked, but its end is: two valid records, one behind the
 * other, between which the key lies.
 */
int nf2_base_around(nf2_t *fs, const struct nf2_view *view, const struct nf2_key *key, enum nf2_side side, struct nf2_around *around)
{
    int begin = base_page(fs, view, key), found;
    struct nf2_record record = {0};
    struct nf2_front front;

    NF2_TRY(begin);
    uint32_t at = (uint32_t)begin, alive = at; /* the last one that is alive, or the page's start */
    bool any = at == base_first();
    int order = -1;
    while ((found = base_front(fs, view, &at, &front)) > 0) {
        order = nf2_front_order(&front, key);
        if (order > 0 || (order == 0 && side != NF2_SIDE_AT)) {
            break;
        }
        alive = nf2_view_dead(view, at) ? alive : at;
        at = nf2_record_end(fs, at, front.length);
        any = true;
    }
    NF2_TRY(found);
    if (found > 0 && order == 0 && side == NF2_SIDE_EXACT && !nf2_view_dead(view, at)) {
        around->below = around->above = (uint16_t)at;
        return base_record(fs, view, at, &record) > 0 ? NF2_OK : NF2_ERR_IO;
    }
    NF2_TRY(any || order <= 0 ? NF2_OK : NF2_ERR_IO); /* a page that begins above the key is not what led here */
    NF2_TRY(alive_below(fs, view, alive, at, &around->below));
    around->above = 0;
    while (found > 0 && (found = base_record(fs, view, at, &record)) > 0 && around->above == 0) {
        around->above = nf2_view_dead(view, record.offset) ? 0 : record.offset;
        at = behind(fs, &record);
    }
    return found < 0 ? found : NF2_OK;
}

uint32_t nf2_base_end(const nf2_t *fs, const struct nf2_view *view, bool last)
{
    return last ? nf2_page_start(fs, view->base_end - 1u) + NF2_PAGE_HEAD : base_first();
}

/* ---- searching ---------------------------------------------------------------------------------- */

/* Of two places (0: none) the one with the lower key, or the higher one. */
static int choose(nf2_t *fs, const struct nf2_view *view, uint32_t base, uint32_t tail, bool higher, uint16_t *place)
{
    struct nf2_front front;
    struct nf2_key key;
    int order = 0;

    if (base != 0 && tail != 0) {
        NF2_TRY(nf2_front_of(fs, view->block, tail, &front));
        nf2_front_key(&front, &key);
        NF2_TRY(nf2_compare_at(fs, view->block, base, &key, &order));
    }
    bool of_base = tail == 0 || (base != 0 && (order > 0) == higher);
    *place = (uint16_t)(of_base ? base : tail);
    return NF2_OK;
}

int nf2_node_spans(nf2_t *fs, const struct nf2_view *view, const struct nf2_key *key)
{
    bool base = view->base_end > base_first() + NF2_RECORD_OVERHEAD;
    uint32_t first = base ? nf2_base_end(fs, view, false) : view->alive > 0 ? view->slot[0] : 0u;
    uint32_t last = view->alive > 0 ? view->slot[view->alive - 1] : first;
    int order;

    NF2_TRY(first != 0 ? nf2_compare_at(fs, view->block, first, key, &order) : NF2_ERR_IO);
    if (order > 0) {
        return 0;
    }
    NF2_TRY(nf2_compare_at(fs, view->block, last, key, &order));
    last = nf2_base_end(fs, view, true);
    if (order <= 0 && base && last > first) {
        NF2_TRY(nf2_compare_at(fs, view->block, last, key, &order));
    }
    return order > 0;
}

int nf2_node_around(nf2_t *fs, struct nf2_view *view, const struct nf2_key *key, enum nf2_side side, struct nf2_around *around)
{
    int at = nf2_view_position(fs, view, key), order = 1;

    NF2_TRY(at);
    unsigned i = (unsigned)at;  /* alive records of the tail that are below */
    if (side != NF2_SIDE_BELOW && i < view->alive) {
        NF2_TRY(nf2_compare_at(fs, view->block, view->slot[i], key, &order));
        if (order == 0 && side == NF2_SIDE_EXACT) {
            around->below = around->above = view->slot[i];
            return NF2_OK;
        }
        i += order == 0;
    }
    uint32_t below = i > 0 ? view->slot[i - 1] : 0, above = i < view->alive ? view->slot[i] : 0;
    NF2_TRY(nf2_base_around(fs, view, key, side, around));
    if (side == NF2_SIDE_EXACT && around->below == around->above && around->below != 0) {
        return NF2_OK;
    }
    NF2_TRY(choose(fs, view, around->below, below, true, &around->below));
    return choose(fs, view, around->above, above, false, &around->above);
}

int nf2_node_seek(nf2_t *fs, struct nf2_view *view, const struct nf2_key *key, enum nf2_seek how,
                  struct nf2_entry *entry)
{
    struct nf2_around around;

    bool strict = how == NF2_BELOW || how == NF2_AT_OR_ABOVE;
    NF2_TRY(nf2_node_around(fs, view, key, strict ? NF2_SIDE_BELOW : NF2_SIDE_AT, &around));
    uint32_t place = how == NF2_AT_OR_BELOW || how == NF2_BELOW ? around.below : around.above;
    NF2_TRY(place != 0 ? nf2_entry_at(fs, view->block, place, entry) : NF2_OK);
    return place != 0;
}

int nf2_node_find(nf2_t *fs, struct nf2_view *view, const struct nf2_key *key, struct nf2_entry *entry)
{
    struct nf2_around around;

    NF2_TRY(nf2_node_around(fs, view, key, NF2_SIDE_EXACT, &around));
    if (around.below == 0 || around.below != around.above) {
        return 0;
    }
    NF2_TRY(nf2_entry_at(fs, view->block, around.below, entry));
    return 1;
}

/* ---- all entries in order ----------------------------------------------------------------------- */

int nf2_iterate(nf2_t *fs, struct nf2_view *view, const struct nf2_key *from, struct nf2_iterator *iterator)
{
    struct nf2_around around;

    iterator->view = view;
    iterator->base = (uint16_t)base_first();
    iterator->tail = 0;
    if (from != NULL) {
        NF2_TRY(nf2_base_around(fs, view, from, NF2_SIDE_BELOW, &around));
        iterator->base = around.above != 0 ? around.above : view->base_end;
        int place = nf2_view_position(fs, view, from);
        NF2_TRY(place);
        iterator->tail = (uint8_t)place;
    }
    return NF2_OK;
}

int nf2_iterate_next(nf2_t *fs, struct nf2_iterator *iterator, struct nf2_entry *entry)
{
    const struct nf2_view *view = iterator->view;
    struct nf2_record record;
    uint16_t place, tail = iterator->tail < view->alive ? view->slot[iterator->tail] : 0;
    int found;

    while ((found = base_record(fs, view, iterator->base, &record)) > 0 && nf2_view_dead(view, record.offset)) {
        iterator->base = (uint16_t)behind(fs, &record);
    }
    NF2_TRY(found);
    iterator->base = found ? record.offset : view->base_end;
    NF2_TRY(choose(fs, view, found ? record.offset : 0, tail, false, &place));
    if (place == 0) {
        return 0;
    }
    if (place == tail) {
        iterator->tail++;
    } else {
        iterator->base = (uint16_t)behind(fs, &record);
    }
    NF2_TRY(nf2_entry_at(fs, view->block, place, entry));
    return 1;
}
