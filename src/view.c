/* SPDX-License-Identifier: BSD-2-Clause */
/* view.c - what RAM knows of a node's tail: which records are alive, in order of their keys, and which of the base are not. */
#include "node.h"

/* ---- memory for views --------------------------------------------------------------------------- */

/* The first one is for inner nodes. */
static struct nf2_view *first_view(const nf2_t *fs)
{
    return (struct nf2_view *)(void *)fs->views;
}

static struct nf2_view *next_view(struct nf2_view *view)
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

int nf2_view_position(nf2_t *fs, struct nf2_view *view, const struct nf2_key *key, int at)
{
    uint32_t low = 0, high = view->alive, middle = view->near;

    middle = middle < high ? middle : high - 1;
    for (bool near = true; low < high; near = false) {
        int order = nf2_compare_at(fs, view->block, view->slot[middle], key);
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

static int room_for_one(const struct nf2_view *view)
{
    return view->alive + view->dead < view->slots ? NF2_OK : NF2_ERR_IO;
}

/* Moves the alive records from number `from` on to `to` on. */
static void shift(struct nf2_view *view, uint32_t to, uint32_t from)
{
    uint32_t count = view->alive - from;

    memmove(view->slot + to, view->slot + from, count * sizeof view->slot[0]);
    view->alive = (uint8_t)(to + count);
}

/* The record at `place` does not count any more. An error: there is no room to note it. */
static int view_kill(nf2_t *fs, struct nf2_view *view, uint32_t place)
{
    uint32_t i = 0;

    forget_hint(fs, view->block, place);
    if (place < view->base_end) {
        NF2_TRY(room_for_one(view));
        view->dead++;
        view->slot[view->slots - view->dead] = (uint16_t)place;
        return NF2_OK;
    }
    while (i < view->alive && view->slot[i] != place) {
        i++;
    }
    if (i < view->alive) {
        shift(view, i, i + 1);
    }
    return NF2_OK;
}

int nf2_view_apply(nf2_t *fs, struct nf2_view *view, uint32_t place)
{
    struct nf2_front front;

    NF2_TRY(nf2_front_of(fs, view->block, place, &front));
    bool rename = front.type == NF2_NODE_REN;
    if (front.type == NF2_NODE_PUT) { /* in order behind the base */
        view->base_end = view->end;
        return NF2_OK;
    }
    if (front.type != NF2_NODE_ADD) {
        uint32_t victim = rename ? nf2_get16(front.bytes + 6) : 0;
        NF2_TRY(view_kill(fs, view, nf2_get16(front.bytes + (rename ? 4 : 2))));
        NF2_TRY(victim != 0 ? view_kill(fs, view, victim) : NF2_OK);
    }
    if (front.type == NF2_NODE_DEL) {
        return NF2_OK;
    }
    NF2_TRY(front.rank <= view->alive ? room_for_one(view) : NF2_ERR_IO);
    shift(view, front.rank + 1, front.rank);
    view->slot[front.rank] = (uint16_t)place;
    return NF2_OK;
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

/*
 * The base as it has grown, up to the start of the last page that begins with a record of it; what
 * follows is scanned. Only the last of these records may be torn: it counts if it is valid.
 */
static NF2_APART int grow(nf2_t *fs, struct nf2_view *view)
{
    uint32_t page = nf2_page(fs), first = (view->base_end - 1u) / page;
    uint32_t last = nf2_log_bytes(fs) / page - 1, low = first, high = last;
    struct nf2_record record;

    for (uint32_t middle = first + 1; low < high; middle = high == last ? last : (low + high + 1) / 2) {
        const uint8_t *p = nf2_peek(fs, view->block, middle * page, NF2_CONTINUED_HEAD);
        if (p == NULL) {
            return NF2_ERR_IO;
        }
        if (p[3] >> 4 == NF2_NODE_PUT << 1) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    int found = low > first ? nf2_record_at(fs, view->block, low * page + NF2_PAGE_HEAD, view->epoch, &record) : 0;
    view->base_end = (uint16_t)(found == NF2_PLACE_RECORD ? low * page : view->base_end);
    return found < NF2_PLACE_INVALID ? found : NF2_OK;
}

static int load(nf2_t *fs, struct nf2_child node, uint32_t level, struct nf2_view *view)
{
    struct nf2_scan scan;
    struct nf2_record record;
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
    NF2_TRY(grow(fs, view));
    nf2_scan_resume(fs, &scan, view->base_end);
    while ((found = nf2_scan_next(fs, &scan, &record)) > 0) {
        view->end = scan.position;
        NF2_TRY(nf2_view_apply(fs, view, record.offset));
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
