/* SPDX-License-Identifier: BSD-2-Clause */
/* tree.c - all entries of the tree, from its root on. */
#include "inside.h"

struct walk {
    struct repair *r;
    uint32_t block, base_end, level;
    struct rep_range range;
    uint32_t from, at;          /* the place of the reference that leads here */
    bool bounded;               /* all references are there that there were: nothing else has a
                                   part of the range, unless it is newer */
    bool doubt;                 /* a newer reference may be lost */
};

/* ---- entries --------------------------------------------------------------------------------- */

size_t rep_entry_at(const struct repair *r, const struct rep_key *key)
{
    return REP_LOWER(&r->entries, key, rep_key_compare);
}

bool rep_entry_there(const struct repair *r, const struct rep_key *key)
{
    size_t at = rep_entry_at(r, key);
    return at < r->entries.count && rep_key_compare(&r->entries.list[at].key, key) == 0;
}

/* Of two with one key the one that can be trusted more comes first, or the later one of a node. */
static int by_trust(const void *a, const void *b)
{
    const struct rep_entry *x = a, *y = b;
    int order = rep_key_compare(&x->key, &y->key);

    order = order != 0 ? order : rep_order(x->trust, y->trust);
    order = order != 0 ? order : rep_order(x->block, y->block);
    return order != 0 ? order : rep_order(y->at, x->at);
}

void rep_entries_sort(rep_entries *entries)
{
    struct rep_entry *list = entries->list;
    size_t kept = 0;

    REP_SORT(entries, by_trust);
    for (size_t i = 0; i < entries->count; i++) {
        if (kept == 0 || rep_key_compare(&list[kept - 1].key, &list[i].key) != 0) {
            list[kept++] = list[i];
        }
    }
    entries->count = kept;
}

/* ---- the walk -------------------------------------------------------------------------------- */

/* The keys of a range are lost. `finding`: the one that is about that, or NULL. */
static void lose(struct repair *r, struct finding *finding, const struct rep_range *range,
                 bool leaf)
{
    REP_ADD(r, leaf ? &r->lost_leaves : &r->lost, *range);
    r->summary.names_lost = true;
    r->summary.complete = false;
    if (finding != NULL) {
        finding->keys = *range;
        finding->named = true;
    }
}

static bool inside(const struct rep_range *range, const struct rep_key *key)
{
    return rep_key_compare(key, &range->from) >= 0 && rep_key_compare(key, &range->below) < 0;
}

struct rep_range rep_span(const struct rep_node *node)
{
    struct rep_range span = {node->alive.list[0].key,
                             node->alive.list[node->alive.count - 1].key};

    span.below.length++; /* behind a key's bytes are zeros */
    return span;
}

/* Free on record, it was replaced, and what leads here is of an older state. */
static bool is_old(const struct walk *walk)
{
    return !rep_on_record(walk->r, walk->block, REP_USED);
}

static void take_leaf(const struct walk *walk, const struct rep_node *node)
{
    struct repair *r = walk->r;
    struct rep_leaf leaf = {*node, .span = walk->range, .holds = true, .reached = true,
                            .sure = !walk->doubt && !is_old(walk)};

    if (!walk->bounded && node->alive.count > 0) {
        leaf.span = rep_span(node);
    }
    for (size_t i = 0; i < node->alive.count; i++) {
        struct rep_entry *entry = &node->alive.list[i];
        /* a piece ends where a lost one began */
        bool doubt = node->lost_tail || (node->lost > 0 && rep_is_piece(entry)) || is_old(walk) ||
                     (walk->doubt && r->doubted);
        entry->trust = doubt ? REPAIR_DOUBTFUL : walk->doubt ? REPAIR_UNSURE : REPAIR_WHOLE;
        if (!inside(&walk->range, &entry->key)) {
            REP_FIND_AT(r, REPAIR_BOUNDS, entry, 0, "An entry lies outside of the bounds of "
                        "its leaf: no search comes here for it.");
            r->lossy = true;
            entry->trust = REPAIR_COPY;
        }
    }
    REP_ADD(r, &r->leaves, leaf);
    if (leaf.sure) {
        REP_ADD(r, &r->spans, leaf.span);
    }
}

static void walk_node(const struct walk *walk);

static void take_child(const struct walk *walk, const struct rep_node *node, size_t i)
{
    const struct rep_entry *entry = &node->alive.list[i],
                           *next = i + 1 < node->alive.count ? entry + 1 : NULL;
    struct walk child = {.r = walk->r, .range = walk->range, .level = walk->level - 1,
                         .from = entry->block, .at = entry->at,
                         .bounded = walk->bounded && node->base_whole,
                         .doubt = walk->doubt || node->lost > 0 || is_old(walk)};
    bool form = entry->body_length >= NF2_CHILD_BYTES && entry->body[0] == NF2_BODY_CHILD;

    if (rep_key_compare(&entry->key, &child.range.from) > 0) {
        child.range.from = entry->key;
    }
    if (next != NULL && rep_key_compare(&next->key, &child.range.below) < 0) {
        child.range.below = next->key;
    }
    child.block = form ? rep_get24(entry->body + 1) : entry->block;
    if (!form || !inside(&walk->range, &entry->key)) {
        lose(walk->r,
             rep_find(walk->r, form ? REPAIR_BOUNDS : REPAIR_ENTRY, entry->block, entry->at, 0, 0,
                      form ? "A child lies outside of the bounds of its parent." :
                             "An entry of an inner node is no reference to a child."),
             &child.range, false);
        return;
    }
    child.base_end = rep_get16(entry->body + 4);
    walk_node(&child);
}

static void take_inner(const struct walk *walk, const struct rep_node *node)
{
    const struct rep_entry *alive = node->alive.list;
    size_t count = node->alive.count;

    if (count == 0 || rep_key_compare(&alive[0].key, &walk->range.from) > 0) {
        rep_find(walk->r, REPAIR_BOUNDS, node->block, 0, 0, 0,
                 "The first keys of this inner node's range have no way to a leaf.");
    }
    for (size_t i = 0; i < count; i++) {
        take_child(walk, node, i);
    }
    if (node->lost > 0 || count == 0) { /* children may be lost, anywhere in its range */
        lose(walk->r, NULL, &walk->range, false);
    }
}

static void walk_node(const struct walk *walk)
{
    struct repair *r = walk->r;
    struct rep_node node = {0};
    bool outside = walk->block >= r->blocks, leaf = walk->level == 0;

    if (outside || r->use[walk->block] != REPAIR_USE_NONE) {
        lose(r,
             rep_find(r, REPAIR_CHILD, walk->from, walk->at, walk->block, 0,
                      outside ? "This reference to a node leads out of the volume, to block %u." :
                                "This reference to a node leads to block %u, in use already.",
                      walk->block),
             &walk->range, false);
        return;
    }
    r->use[walk->block] = leaf ? REPAIR_USE_LEAF : REPAIR_USE_INNER;
    if (!rep_node_read(r, walk->block, walk->level, walk->base_end, &node)) {
        lose(r,
             rep_find(r, REPAIR_NODE, walk->block, 0, walk->level, 0,
                      "There is no node of level %u of this volume in this block.", walk->level),
             &walk->range, leaf);
        return;
    }
    r->summary.nodes++;
    r->summary.complete = r->summary.complete && node.whole;
    if (is_old(walk)) {
        lose(r, NULL, &walk->range, false);
    }
    if (leaf) {
        take_leaf(walk, &node);
    } else {
        take_inner(walk, &node);
    }
}

void rep_tree_read(struct repair *r)
{
    const struct rep_state *state = &r->state;

    r->summary.complete = true;
    if (state->record != NULL && r->summary.log_read) {
        const struct walk walk = {r, rep_state16(state, NF2_STATE_ROOT),
                                  rep_state16(state, NF2_STATE_BASE),
                                  rep_state_level(state), rep_all_keys, state->head, 0,
                                  true, false};
        walk_node(&walk);
    } else { /* an older root may be the root of older leaves */
        lose(r, NULL, &rep_all_keys, false);
    }
    rep_search(r);
    rep_entries_sort(&r->entries);
}
