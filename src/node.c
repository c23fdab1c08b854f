/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * node.c - what RAM knows of a node, and its entries: finding them by key, and all in order. A view
 * knows of the tail which records are alive, in order of their keys, and which of the base are not.
 */
#include "node.h"

/* ---- memory for views ------------------------------------------------------------------------ */

/* The first one is for inner nodes. */
static struct nf2_view *first_view(const nf2_t *fs)
{
    return (struct nf2_view *)(void *)fs->views;
}

/* The one behind it: slots of a leaf, or those of the inner nodes. */
static struct nf2_view *behind(struct nf2_view *view, uint32_t slots)
{
    return (struct nf2_view *)(void *)(view->slot + slots);
}

void nf2_hints_forget(nf2_t *fs, uint32_t block, uint32_t place, uint32_t places)
{
    for (uint32_t *hint = fs->hint; hint < fs->hint + NF2_HINTS; hint++) {
        if ((*hint - nf2_hint_of(block, place)) << 3 < places << 3) {
            *hint = 0;
        }
    }
}

void nf2_views_begin(nf2_t *fs)
{
    struct nf2_view *view = first_view(fs);

    for (uint32_t i = 0; i < fs->view_count; i++, view = behind(view, view->slots)) {
        view->block = NF2_NO_BLOCK;
        view->slots = i == 0 ? NF2_INNER_SLOTS : NF2_LEAF_SLOTS;
    }
}

void nf2_view_forget(nf2_t *fs, uint32_t block)
{
    struct nf2_view *view = first_view(fs);

    for (uint32_t i = 0; i < fs->view_count; i++, view = behind(view, view->slots)) {
        view->block = view->block == block ? NF2_NO_BLOCK : view->block;
    }
    nf2_hints_forget(fs, block, 0, 1u << 13);
    fs->known_at = 0;
}

/* ---- changes of a view ----------------------------------------------------------------------- */

bool nf2_view_dead(const struct nf2_view *view, uint32_t place)
{
    const uint16_t *slot = view->slot + view->slots;

    for (uint32_t i = view->dead; i > 0; i--) {
        if (*--slot == place) {
            return true;
        }
    }
    return false;
}

int nf2_view_position(nf2_t *fs, const struct nf2_view *view, const struct nf2_key *key, int at)
{
    uint32_t low = 0, high = view->alive, near = nf2_min(view->near.tail, high), middle = near;

    middle -= near == high;
    while (low < high) {
        int order = nf2_compare_at(fs, view->block, view->slot[middle], key);
        NF2_TRY(order);
        if (order == 1) {       /* no other record has this key */
            return (int)middle + at;
        }
        if (order > 1) {
            high = middle;
        } else {
            low = middle + 1;
        }
        middle = high == near ? near - 1 : (low + high) / 2;
    }
    return (int)low;
}

/* The record at `place` does not count any more. */
static void view_kill(struct nf2_view *view, uint32_t place)
{
    uint16_t *slot = view->slot, *end = slot + view->alive;

    if (place < view->base_end) {
        view->dead++;
        view->slot[view->slots - view->dead] = (uint16_t)place;
        return;
    }
    while (slot < end && *slot != place) {
        slot++;
    }
    if (slot < end) {
        view->alive--;
        memmove(slot, slot + 1, (size_t)((uint8_t *)(end - 1) - (uint8_t *)slot));
    }
}

int nf2_view_apply(nf2_t *fs, struct nf2_view *view, uint32_t place)
{
    uint32_t room = nf2_min(nf2_page_rest(place), NF2_NODE_FRONT);
    const uint8_t *p = nf2_peek(fs, view->block, place, room);
    uint32_t type = p != NULL ? p[1] >> 5 : 0;

    if (type == NF2_NODE_PUT) { /* in order behind the base */
        view->base_end = view->end;
        return NF2_OK;
    }
    if (type > NF2_NODE_ADD) {
        return NF2_ERR_VERSION;
    }
    if (type < NF2_NODE_PUT || view->alive + view->dead + 3u > view->slots) {
        return NF2_ERR_IO;
    }
    uint32_t kills = type == NF2_NODE_REN ? 2 : type != NF2_NODE_ADD;
    for (p += type == NF2_NODE_REN ? 4 : 2; kills > 0; kills--, p += 2) {
        uint32_t kill = nf2_get16(p);
        if (kill != 0) {        /* a REN may have no victim */
            view_kill(view, kill);
        }
    }
    if (type == NF2_NODE_DEL) {
        return NF2_OK;
    }
    uint16_t *slot = view->slot + *p, *end = view->slot + view->alive;
    if (slot > end) {
        return NF2_ERR_IO;
    }
    for (view->alive++; slot <= end; slot++) { /* those above it go up by one */
        uint16_t next = *slot;
        *slot = (uint16_t)place;
        place = next;
    }
    return NF2_OK;
}

/* ---- loading --------------------------------------------------------------------------------- */

uint32_t nf2_serial_next(nf2_t *fs)
{
    return ++fs->root.serial;
}

/* The node's head: that of the node that it should be. 1: the base has entries, too. */
static int check_head(nf2_t *fs, struct nf2_scan *scan, uint32_t level)
{
    struct nf2_record record;
    int found = nf2_scan_page(fs, scan);

    uint32_t block = scan->block, length = NF2_NODE_HEAD_BYTES + 2u;
    if (found <= 0 ||
        nf2_record_at(fs, block, scan->position, scan->epoch, &record) != NF2_PLACE_RECORD) {
        return NF2_ERR_IO;
    }
    const uint8_t *p = nf2_peek(fs, block, scan->position, length);
    uint32_t other = p != NULL ? (nf2_get32(p + 3) ^ (level | block << 8)) & ~NF2_NODE_KEEP : 1;
    bool own = other % 8 == 0 && other < NF2_NODE_KEEP && record.type == NF2_NODE_HEAD &&
               record.length == length + 4 && p[2] == 'N' &&
               nf2_get32(p + 7) == fs->root.volume_id;
    return !own ? NF2_ERR_IO : other != 0 ? NF2_ERR_VERSION : record.more;
}

/* Is what lies at a place a record by which the base has grown? */
static NF2_APART bool grown_by(nf2_t *fs, const struct nf2_view *view, uint32_t place)
{
    const uint8_t *p = nf2_peek(fs, view->block, place, 2);
    return p != NULL && p[1] >> 4 == NF2_NODE_PUT << 1;
}

/*
 * Where the tail begins: behind the base as it was written; or, where that has grown, at the last
 * page that begins with a record of it. That one may be torn; those in front of it are not.
 */
static uint32_t tail_begin(nf2_t *fs, const struct nf2_view *view)
{
    uint32_t page = NF2_LOG_PAGE, last = 0, place = view->base_end;
    struct nf2_record record;

    /* a scan goes on there, mostly */
    (void)nf2_peek(fs, view->block, place, nf2_page_end(place) - place);
    if (grown_by(fs, view, place)) {
        uint32_t high = nf2_log_bytes(fs) - page;
        last = nf2_page_start(place - 1);
        while (last < high) {
            uint32_t middle = nf2_page_start((last + high + page) / 2);
            if (grown_by(fs, view, middle + NF2_PAGE_HEAD)) {
                last = middle;
            } else {
                high = middle - page;
            }
        }
    }
    bool valid = last >= view->base_end &&
                 nf2_record_at(fs, view->block, last + NF2_PAGE_HEAD, view->epoch, &record) ==
                 NF2_PLACE_RECORD;
    return valid ? last : view->base_end; /* a scan from there meets what cannot be read */
}

static int load(nf2_t *fs, struct nf2_child node, uint32_t level, struct nf2_view *view)
{
    struct nf2_scan scan;
    struct nf2_record record;
    int found;

    nf2_scan_begin(&scan, node.block);
    int more = check_head(fs, &scan, level);
    NF2_TRY(more);
    if (node.base_end < NF2_PAGE_HEAD || node.base_end > nf2_log_bytes(fs)) {
        return NF2_ERR_IO;
    }
    view->epoch = scan.epoch;
    view->base_end = node.base_end;
    view->near = (struct nf2_spot){0, 0};
    view->alive = view->dead = 0;
    view->block = node.block;
    uint32_t begin = tail_begin(fs, view);
    nf2_scan_resume(&scan, begin);
    /* or it is empty */
    view->base_end = more || begin > node.base_end ? (uint16_t)begin : NF2_PAGE_HEAD;
    while ((found = nf2_scan_next(fs, &scan, &record)) > 0) {
        view->end = scan.position;
        NF2_TRY(nf2_view_apply(fs, view, record.offset));
    }
    view->end = (uint16_t)nf2_scan_append_at(fs, &scan, NF2_LOG_PAGE);
    /* No cut left what was programmed since the mount, if the session before was left cleanly. */
    bool no_cut = !fs->cut && !fs->broken;
    bool damaged = scan.damaged || (scan.own && no_cut);
    return found < 0 ? found : damaged ? NF2_ERR_IO : NF2_OK;
}

int nf2_node_view(nf2_t *fs, struct nf2_child node, uint32_t level, struct nf2_view **result)
{
    struct nf2_view *view = first_view(fs), *oldest = view;
    uint32_t left = 1, most = 0;

    if (level == 0) {
        left = fs->view_count - 1u;
        view = behind(view, NF2_INNER_SLOTS);
    }
    for (; left > 0; left--, view = behind(view, NF2_LEAF_SLOTS)) {
        if (view->block == node.block) {
            oldest = view;
            break;
        }
        uint32_t age = (uint8_t)(fs->view_turn - view->used);
        if (age >= most) {
            oldest = view;
            most = age;
        }
    }
    *result = oldest;
    oldest->used = ++fs->view_turn;
    if (left > 0) {
        return NF2_OK;
    }
    int loaded = load(fs, node, level, oldest);
    oldest->block = loaded < 0 ? NF2_NO_BLOCK : node.block;
    return loaded;
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
