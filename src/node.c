/* SPDX-License-Identifier: BSD-2-Clause */
/* node.c - the entries of a node: finding them by key, and all in order. */
#include "node.h"

/* Of a record, up to the end of its key; and what an inner node's entry has behind that. */
#define FRONT_BYTES (NF2_NODE_FRONT + NF2_KEY_BYTES + NF2_CHILD_BYTES)

/* Where the key begins in a record that has none: behind all that a front has. */
#define NO_KEY 64
_Static_assert(NO_KEY > FRONT_BYTES, "no front reaches there");

/* ---- entries --------------------------------------------------------------------------------- */

/*
 * Of a record that is known to be valid, or whose key is only a help to find one. A front does not
 * cross a page's end.
 */
int nf2_front_of(nf2_t *fs, uint32_t block, uint32_t place, struct nf2_front *front)
{
    /* behind a page in the buffer lies another one: a look there finds something that is no key */
    static const uint8_t key_at[8] = {NO_KEY, NO_KEY, 2, 5, NO_KEY, 9, 3, NO_KEY};
    uint32_t peeked = nf2_min(nf2_page_rest(fs, place), FRONT_BYTES);
    const uint8_t *p = nf2_peek(fs, block, place, peeked);

    if (p == NULL) {
        return NF2_ERR_IO;
    }
    uint32_t header = nf2_get16(p), length = header & 0xFFFu, id;
    int at = key_at[header >> 13], end = (int)nf2_min(length, peeked + 4u) - 4;
    front->bytes = p;
    front->length = length;
    front->type = header >> 13;
    id = p[at];                 /* of one byte, mostly */
    front->id = id;
    at++;
    if (id >= 0x80) {
        at += (int)nf2_get_varint(p + at - 1, 5, &front->id) - 1;
    }
    if (p[at] > NF2_KEY_MAX || at + 1 + p[at] > end) {
        return NF2_ERR_IO;
    }
    front->key_length = p[at];
    front->key = (uint32_t)at + 1;
    return NF2_OK;
}

void nf2_front_key(const struct nf2_front *front, struct nf2_key *key)
{
    key->id = front->id;
    key->length = (uint8_t)front->key_length;
    memcpy(key->bytes, front->bytes + front->key, front->key_length);
}

int nf2_key_at(nf2_t *fs, uint32_t block, uint32_t place, struct nf2_key *key)
{
    struct nf2_front front;

    NF2_TRY(nf2_front_of(fs, block, place, &front));
    nf2_front_key(&front, key);
    return NF2_OK;
}

int nf2_compare_at(nf2_t *fs, uint32_t block, uint32_t place, const struct nf2_key *key)
{
    struct nf2_front front;

    NF2_TRY(nf2_front_of(fs, block, place, &front));
    int order = nf2_key_order(front.id, front.bytes + front.key, front.key_length, key);
    return 1 + (order > 0) - (order < 0);
}

int nf2_entry_at(nf2_t *fs, uint32_t block, int place, struct nf2_entry *entry)
{
    struct nf2_front front;
    uint32_t record = (uint32_t)place;

    if (place <= 0) {
        return place;
    }
    NF2_TRY(nf2_front_of(fs, block, record, &front));
    entry->record = (uint16_t)place;
    nf2_front_key(&front, &entry->key);
    if (front.type == NF2_NODE_REN) {   /* the body is another record's */
        record = nf2_get16(front.bytes + 2);
        NF2_TRY(nf2_front_of(fs, block, record, &front));
        NF2_TRY(front.type != NF2_NODE_REN ? NF2_OK : NF2_ERR_IO);
    }
    uint32_t position = front.key + front.key_length;
    entry->body = nf2_span_at(block, record, position, front.length - 4u - position);
    return 1;
}

struct nf2_span nf2_body_span(const struct nf2_entry *entry, uint32_t at, uint32_t length)
{
    struct nf2_span part = entry->body;

    part.position = (uint16_t)(part.position + at);
    part.length = (uint16_t)length;
    return part;
}

/* ---- the base -------------------------------------------------------------------------------- */

/*
 * The first record of the base at `place` or behind it that is alive: its place, or the base's end.
 * `*behind` is the place behind it.
 */
static int next_alive(nf2_t *fs, const struct nf2_view *view, uint32_t place, uint32_t *behind)
{
    struct nf2_record record;

    /* behind the last one only padding is left */
    while (place + NF2_RECORD_OVERHEAD <= view->base_end) {
        if ((place & (nf2_page(fs) - 1)) == 0) {
            place += NF2_PAGE_HEAD;
        }
        int found = nf2_record_at(fs, view->block, place, view->epoch, &record);
        NF2_TRY(found < 0 ? NF2_ERR_IO : NF2_OK);
        if (found == NF2_PLACE_BLANK) {
            place = nf2_page_end(fs, place);
            continue;
        }
        *behind = nf2_next_place(fs, &record);
        bool entry = place > NF2_PAGE_HEAD; /* or the head */
        if (entry && (view->dead == 0 || !nf2_view_dead(view, place))) {
            return (int)place;
        }
        place = *behind;
    }
    return view->base_end;
}

/*
 * Where a search of the base begins: at the record that the last one ended with, or else at the
 * first record of a page; its key is below `key`, or (`at` 1) not above it; 0: at the front.
 * Nothing is checked: what is damaged leads to a place too far in front, or to itself.
 */
static uint32_t search_begin(nf2_t *fs, const struct nf2_view *view, const struct nf2_key *key,
                             int at)
{
    uint32_t page = nf2_page(fs), low = 0, high = nf2_page_start(fs, view->base_end - 1u);
    /* keys that are asked for lie close together, often */
    uint32_t place = view->near.base, begin = 0;

    while (low < high || place != 0) {
        if (place == 0) {
            place = nf2_page_start(fs, (low + high + page) / 2) + NF2_PAGE_HEAD;
        }
        int order = nf2_compare_at(fs, view->block, place, key);
        if ((unsigned)order <= (unsigned)at) { /* no error, either */
            begin = place;
            low = nf2_page_start(fs, place);
        } else {                /* or a long record goes on here */
            high = nf2_page_start(fs, place - NF2_PAGE_HEAD - 1);
        }
        place = 0;
    }
    return begin;
}

/* The neighbours in the base, each of them checked. */
static int base_gap(nf2_t *fs, const struct nf2_key *key, int at, struct nf2_iterator *gap)
{
    struct nf2_view *view = gap->view;
    uint32_t begin = search_begin(fs, view, key, at), behind;

    for (;;) {
        behind = begin;
        gap->below = 0;
        for (;;) {
            int place = next_alive(fs, view, behind, &behind);
            NF2_TRY(place);
            gap->spot.base = (uint16_t)place;
            int order = place == view->base_end ? 2 :
                        nf2_compare_at(fs, view->block, (uint32_t)place, key);
            NF2_TRY(order);
            if (order > at) {
                break;
            }
            gap->below = (uint16_t)place;
            if (order == 1) {   /* the key itself: what follows is above it */
                gap->spot.base = (uint16_t)behind;
                break;
            }
        }
        if (gap->below != 0 || begin == 0) {
            view->near.base = gap->below;
            return NF2_OK;
        }
        begin = nf2_page_start(fs, begin - NF2_PAGE_HEAD - 1); /* that one is dead */
    }
}

/* ---- searching ------------------------------------------------------------------------------- */

/* The key of the record at `place` stays known. */
static NF2_APART int know(nf2_t *fs, const struct nf2_view *view, uint32_t place)
{
    uint32_t at = nf2_hint_of(view->block, place);

    if (fs->known_at != at) {
        NF2_TRY(nf2_key_at(fs, view->block, place, &fs->known));
        fs->known_at = at;
    }
    return NF2_OK;
}

int nf2_node_gap(nf2_t *fs, const struct nf2_key *key, int at, struct nf2_iterator *gap)
{
    struct nf2_view *view = gap->view;

    NF2_TRY(base_gap(fs, key, at, gap));
    if (view->alive > 0 && gap->below != 0) { /* while the window is there */
        NF2_TRY(know(fs, view, gap->below));
    }
    int i = nf2_view_position(fs, view, key, at);
    NF2_TRY(i);
    gap->spot.tail = view->near.tail = (uint16_t)i;
    if (i > 0) {
        uint32_t place = view->slot[i - 1];
        int order = gap->below == 0 ? 2 : nf2_compare_at(fs, view->block, place, &fs->known);
        NF2_TRY(order);
        gap->below = order == 2 ? (uint16_t)place : gap->below;
    }
    return NF2_OK;
}

int nf2_gap_seek(nf2_t *fs, struct nf2_iterator *gap, enum nf2_seek how, struct nf2_entry *entry)
{
    int place = how >= NF2_ABOVE ? nf2_iterate_place(fs, gap) : gap->below;

    entry->spot = gap->spot;
    return nf2_entry_at(fs, gap->view->block, place, entry);
}

/* ---- all entries in order -------------------------------------------------------------------- */

int nf2_iterate(nf2_t *fs, struct nf2_view *view, const struct nf2_key *from,
                struct nf2_iterator *iterator)
{
    iterator->view = view;
    iterator->spot = (struct nf2_spot){0, 0};
    return from != NULL ? nf2_node_gap(fs, from, 0, iterator) : NF2_OK;
}

/*
 * The chip has one window. So of the next keys of base and tail that which is not taken stays
 * known: a run of records of one of them is read without a look at the other.
 */
int nf2_iterate_place(nf2_t *fs, struct nf2_iterator *iterator)
{
    const struct nf2_view *view = iterator->view;
    uint32_t tail = iterator->spot.tail, place = tail < view->alive ? view->slot[tail] : 0, behind;
    int order = iterator->spot.base < view->base_end ? 2 : 0;

    if (place != 0 && order != 0) {
        if (fs->known_at == nf2_hint_of(view->block, iterator->spot.base)) {
            order = nf2_compare_at(fs, view->block, place, &fs->known);
        }
        NF2_TRY(order > 0 ? know(fs, view, place) : order);
    }
    if (order > 0) {            /* the base's key is not known, or the tail's is above it */
        int next = next_alive(fs, view, iterator->spot.base, &behind);
        NF2_TRY(next);
        if (next < view->base_end) {
            order = place != 0 ? nf2_compare_at(fs, view->block, (uint32_t)next, &fs->known) : 0;
            NF2_TRY(order);
            if (order == 0) {
                iterator->spot.base = (uint16_t)behind;
                return next;
            }
            NF2_TRY(know(fs, view, (uint32_t)next));
        }
        iterator->spot.base = (uint16_t)next;
    }
    iterator->spot.tail++;
    return (int)place;
}

int nf2_iterate_next(nf2_t *fs, struct nf2_iterator *iterator, struct nf2_entry *entry)
{
    int place = nf2_iterate_place(fs, iterator);

    return nf2_entry_at(fs, iterator->view->block, place, entry);
}
