/* SPDX-License-Identifier: BSD-2-Clause */
/* view.c - what RAM knows of a node's tail: which records are alive, in order of their keys, and which of the base are not. */
#include "node.h"

/* ---- memory for views --------------------------------------------------------------------------- */

/* The first one is for inner nodes. */
static struct nf2_view *first_view(const nf2_t *fs)
{
    return (struct nf2_view *)(void *)fs->views;
}

static NF2_APART struct nf2_view *next_view(struct nf2_view *view)
{
    return (struct nf2_view *)(void *)(view->slot + view->slots);
}

/* Forgets the hint of a place; 0: those of all places in the block. */
static void forget_hint(nf2_t *fs, uint32_t block, uint32_t place)
{
    for (uint32_t *hint = fs->hint; hint < fs->hint + NF2_HINTS; hint++) {
        uint32_t other = (*hint ^ nf2_hint_of(block, place)) << 3;
        if (other == 0 || (place == 0 && other < 1u << 16)) {
            *hint = 0;
        }
    }
}

void nf2_views_begin(nf2_t *fs)
{
    struct nf2_view *view = first_view(fs);

    for (uint32_t i = 0; i < fs->view_count; i++, view = next_view(view)) {
        view->block = NF2_NONE;
        view->slots = i == 0 ? NF2_INNER_SLOTS : NF2_LEAF_SLOTS;
    }
}

void nf2_view_forget(nf2_t *fs, uint32_t block)
{
    struct nf2_view *view = first_view(fs);

    for (uint32_t i = 0; i < fs->view_count; i++, view = next_view(view)) {
        view->block = view->block == block ? NF2_NONE : view->block;
    }
    forget_hint(fs, block, 0);
    fs->known_at = 0;
}

/* ---- changes of a view -------------------------------------------------------------------------- */

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

/*
 * While a tail is loaded its records are put in order in RAM: the write buffer has a digest of each
 * key, which grows with the key. Keys are read again only where digests are equal. Keys of one id
 * that lie in the range of the base are told apart best.
 */
struct digests {
    uint8_t *of;                /* of each slot; NULL: there is no memory for them */
    uint32_t id, from, shift;
    uint32_t own;               /* of the record's key */
    uint32_t place;             /* of the record before that: keys often come in order */
    int order;                  /* of its key to the record's */
    struct nf2_key key;         /* the record's */
};

/* Takes the key; its first four bytes grow with it. */
static uint32_t part_of(struct digests *digests, const struct nf2_front *front)
{
    const uint8_t *p = digests->key.bytes;

    memset(digests->key.bytes, 0, 4);
    nf2_front_key(front, &digests->key);
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void set_own(struct digests *digests, const struct nf2_front *front)
{
    uint32_t part = part_of(digests, front);

    if (front->id != digests->id) {
        part = front->id < digests->id ? 0 : NF2_NONE;
    }
    part -= nf2_min(part, digests->from);
    digests->own = nf2_min(255, part >> digests->shift);
}

static int position(nf2_t *fs, struct nf2_view *view, const struct nf2_key *key, int at,
                    const struct digests *digests)
{
    uint32_t low = 0, high = view->alive, middle = view->near;

    middle = middle < high ? middle : high - 1;
    for (bool near = true; low < high; near = false) {
        uint32_t place = view->slot[middle];
        int order = digests == NULL ? 0 : place == digests->place ? digests->order :
                    digests->of != NULL ? digests->of[middle] - (int)digests->own : 0;
        order = order < 0 ? 0 : order > 0 ? 2 : nf2_compare_at(fs, view->block, place, key);
        NF2_TRY(order);
        if (order == 1) {       /* no other record has this key */
            low = middle + (uint32_t)at;
            break;
        }
        if (order == 0) {
            low = ++middle;
        } else {
            high = middle--;
        }
        middle = near ? middle : (low + high) / 2;
    }
    view->near = (uint8_t)low;
    return (int)low;
}

int nf2_view_position(nf2_t *fs, struct nf2_view *view, const struct nf2_key *key, int at)
{
    return position(fs, view, key, at, NULL);
}

static int room_for_one(const struct nf2_view *view)
{
    return view->alive + view->dead < view->slots ? NF2_OK : NF2_ERR_IO;
}

/* Moves the alive records from number `from` on, and their digests, to `to` on. */
static void shift(struct nf2_view *view, const struct digests *digests, uint32_t to, uint32_t from)
{
    uint32_t count = view->alive - from;

    memmove(view->slot + to, view->slot + from, count * sizeof view->slot[0]);
    if (digests->of != NULL) {
        memmove(digests->of + to, digests->of + from, count);
    }
    view->alive = (uint8_t)(to + count);
}

/*
 * The record at `place` does not count any more. The number that it had in the tail, else `alive`;
 * or an error: there is no room to note it.
 */
static int view_kill(nf2_t *fs, struct nf2_view *view, uint32_t place,
                     const struct digests *digests)
{
    uint32_t i = 0, count = view->alive;

    forget_hint(fs, view->block, place);
    if (place < view->base_end) {
        NF2_TRY(room_for_one(view));
        view->dead++;
        view->slot[view->slots - view->dead] = (uint16_t)place;
        return (int)count;
    }
    while (i < count && view->slot[i] != place) {
        i++;
    }
    if (i < count) {
        shift(view, digests, i, i + 1);
    }
    return (int)i;
}

static int apply(nf2_t *fs, struct nf2_view *view, uint32_t place, struct digests *digests)
{
    struct nf2_front front;
    int at = view->alive;

    NF2_TRY(nf2_front_of(fs, view->block, place, &front));
    bool rename = front.type == NF2_NODE_REN;
    if (front.type != NF2_NODE_PUT) {
        at = view_kill(fs, view, nf2_get16(front.bytes + (rename ? 4 : 2)), digests);
        NF2_TRY(at);
        uint32_t victim = rename ? nf2_get16(front.bytes + 6) : 0;
        NF2_TRY(victim != 0 ? view_kill(fs, view, victim, digests) : NF2_OK);
    }
    if (front.type == NF2_NODE_DEL) {
        return NF2_OK;
    }
    digests->order = -nf2_key_order(front.id, front.bytes + front.key, front.key_length, &digests->key);
    set_own(digests, &front);
    if (front.type != NF2_NODE_PUTK || at == view->alive) { /* else its place is known */
        at = position(fs, view, &digests->key, 0, digests);
        NF2_TRY(at);
    }
    NF2_TRY(room_for_one(view));
    shift(view, digests, (uint32_t)at + 1, (uint32_t)at);
    view->slot[at] = (uint16_t)place;
    digests->place = place;
    if (digests->of != NULL) {
        digests->of[at] = (uint8_t)digests->own;
    }
    return NF2_OK;
}

int nf2_view_apply(nf2_t *fs, struct nf2_view *view, uint32_t place)
{
    struct digests none;

    fs->way.last = 0;
    memset(&none, 0, sizeof none);
    return apply(fs, view, place, &none);
}

/* ---- loading ------------------------------------------------------------------------------------ */

/* The node's head: that of the node that it should be. */
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
    bool own = p != NULL && record.type == NF2_NODE_HEAD && record.length == length + 4 &&
               p[2] == 'N' && nf2_get32(p + 3) == (level | block << 8) &&
               nf2_get32(p + 7) == fs->root.volume_id;
    return own ? NF2_OK : NF2_ERR_IO;
}

/* The range of the base, unless it has one page alone. */
static NF2_APART void find_range(nf2_t *fs, const struct nf2_view *view, struct digests *digests)
{
    uint32_t page = nf2_page(fs), last = (view->base_end - 1u) & ~(page - 1);
    struct nf2_front front;

    memset(digests, 0, sizeof *digests);
    digests->of = fs->io.writing ? NULL : fs->io.write_buffer;
    if (nf2_front_of(fs, view->block, last + NF2_PAGE_HEAD, &front) < 0) {
        return;
    }
    uint32_t to = part_of(digests, &front);
    digests->id = front.id;
    if (nf2_front_of(fs, view->block, NF2_BASE_FIRST, &front) == NF2_OK && front.id == digests->id) {
        digests->from = part_of(digests, &front);
    }
    while ((to - digests->from) >> digests->shift > 200) {
        digests->shift++;
    }
}

static int load(nf2_t *fs, struct nf2_child node, uint32_t level, struct nf2_view *view)
{
    struct nf2_scan scan;
    struct nf2_record record;
    struct digests digests;
    int found;

    nf2_scan_begin(&scan, node.block);
    NF2_TRY(check_head(fs, &scan, level));
    if (node.base_end < NF2_PAGE_HEAD || node.base_end > nf2_log_bytes(fs)) {
        return NF2_ERR_IO;
    }
    view->epoch = scan.epoch;
    view->level = (uint8_t)level;
    view->base_end = node.base_end;
    view->alive = view->dead = view->near = 0;
    view->block = node.block;
    find_range(fs, view, &digests);
    nf2_scan_resume(fs, &scan, node.base_end);
    while ((found = nf2_scan_next(fs, &scan, &record)) > 0) {
        NF2_TRY(apply(fs, view, record.offset, &digests));
    }
    view->end = (uint16_t)nf2_scan_append_at(fs, &scan);
    /* No cut left what was programmed since the mount, if the session before was left cleanly. */
    bool no_cut = fs->io.epoch_known && !fs->io.cut && !fs->io.broken;
    bool damaged = scan.damaged || (scan.own && no_cut);
    return found < 0 ? found : damaged ? NF2_ERR_IO : NF2_OK;
}

int nf2_node_view(nf2_t *fs, struct nf2_child node, uint32_t level, struct nf2_view **result)
{
    struct nf2_view *view = first_view(fs), *oldest = view;
    uint32_t left = 1, most = 0;

    if (level == 0) {
        left = fs->view_count - 1u;
        view = next_view(view);
    }
    for (; left > 0; left--, view = next_view(view)) {
        uint32_t age = (uint8_t)(fs->view_turn - view->used);
        if (view->block == node.block && view->level == level) {
            oldest = view;
            break;
        }
        if (age >= most) {
            oldest = view;
            most = age;
        }
    }
    *result = oldest;
    oldest->used = ++fs->view_turn;
    int loaded = left > 0 ? NF2_OK : load(fs, node, level, oldest);
    oldest->block = loaded < 0 ? NF2_NONE : node.block;
    return loaded;
}
