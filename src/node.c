/* SPDX-License-Identifier: BSD-2-Clause */
/* node.c - the entries of a node: finding them by key, and all in order. */
#include "node.h"

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
        if ((place & (NF2_LOG_PAGE - 1)) == 0) {
            place += NF2_PAGE_HEAD;
        }
        int found = nf2_record_at(fs, view->block, place, view->epoch, &record);
        NF2_TRY(found < 0 ? NF2_ERR_IO : NF2_OK);
        if (found == NF2_PLACE_BLANK) {
            /* the front of a page has a record, or one goes on there: else its program was lost */
            const uint8_t *front = nf2_peek(fs, view->block, place, 2);
            bool first = nf2_page_rest(place) == NF2_LOG_PAGE - NF2_PAGE_HEAD;
            bool blank = front == NULL || nf2_get16(front) == NF2_LOG_BLANK;
            NF2_TRY(first && blank ? NF2_ERR_IO : NF2_OK);
            place = nf2_page_end(place);
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
    uint32_t page = NF2_LOG_PAGE, low = 0, high = nf2_page_start(view->base_end - 1u);
    /* keys that are asked for lie close together, often */
    uint32_t place = view->near.base, begin = 0;

    while (low < high || place != 0) {
        if (place == 0) {
            place = nf2_page_start((low + high + page) / 2) + NF2_PAGE_HEAD;
        }
        int order = nf2_compare_at(fs, view->block, place, key);
        if ((unsigned)order <= (unsigned)at) { /* no error, either */
            begin = place;
            low = nf2_page_start(place);
        } else {                /* or a long record goes on here */
            high = nf2_page_start(place - NF2_PAGE_HEAD - 1);
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
        begin = nf2_page_start(begin - NF2_PAGE_HEAD - 1); /* that one is dead */
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
