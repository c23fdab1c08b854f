/* SPDX-License-Identifier: BSD-2-Clause */
/* tree.c - all entries of the tree, from its root on. */
#include "node.h"

struct walk {
    struct repair *repair;
    uint32_t block, base_end, level;
    struct rep_range range;
    const struct rep_entry *from;   /* the entry that leads here, NULL: the CHECKPOINT */
};

/* ---- the array of entries -------------------------------------------------------------------- */

void rep_entries_add(struct repair *repair, const struct rep_entry *entry)
{
    repair->entry = rep_grow(repair->entry, repair->entries, &repair->entries_room,
                             sizeof *repair->entry);
    repair->entry[repair->entries++] = *entry;
}

/* Of two with one key the one that can be trusted more comes first. */
static int by_key(const void *a, const void *b)
{
    const struct rep_entry *x = a, *y = b;
    int order = rep_key_compare(&x->key, &y->key);

    if (order != 0 || x->trust != y->trust) {
        return order != 0 ? order : (int)x->trust - (int)y->trust;
    }
    return x->block != y->block ? (x->block < y->block ? -1 : 1) : (int)y->at - (int)x->at;
}

void rep_entries_sort(struct repair *repair)
{
    size_t kept = 0;

    for (size_t i = 1; i < repair->entries; i++) {
        if (by_key(&repair->entry[i - 1], &repair->entry[i]) > 0) {
            rep_sort(repair->entry, repair->entries, sizeof *repair->entry, by_key);
            break;
        }
    }
    for (size_t i = 0; i < repair->entries; i++) {
        if (kept == 0 ||
            rep_key_compare(&repair->entry[kept - 1].key, &repair->entry[i].key) != 0) {
            repair->entry[kept++] = repair->entry[i];
        }
    }
    repair->entries = kept;
}

size_t rep_entry_at(const struct repair *repair, const struct rep_key *key)
{
    size_t low = 0, high = repair->entries;

    while (low < high) {
        size_t middle = (low + high) / 2;
        if (rep_key_compare(&repair->entry[middle].key, key) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

struct rep_entry *rep_entry_find(const struct repair *repair, const struct rep_key *key)
{
    size_t at = rep_entry_at(repair, key);
    return at < repair->entries && rep_key_compare(&repair->entry[at].key, key) == 0 ?
               &repair->entry[at] :
               NULL;
}

void rep_lose(struct repair *repair, uint32_t block, const struct rep_range *range)
{
    repair->lost = rep_grow(repair->lost, repair->losts, &repair->losts_room, sizeof *repair->lost);
    repair->lost[repair->losts++] = *range;
    repair->lossy = true;
    repair->summary.complete = false;
    if (block != REP_NONE) {
        rep_note(repair, REPAIR_NOTE_NODE, block, 0, &range->lower,
                 range->bounded ? &range->upper : NULL);
    }
}

/* ---- the walk -------------------------------------------------------------------------------- */

static void walk_node(const struct walk *walk);

static bool inside(const struct rep_range *range, const struct rep_key *key)
{
    return rep_key_compare(key, &range->lower) >= 0 &&
           (!range->bounded || rep_key_compare(key, &range->upper) < 0);
}

static void take_leaf(const struct walk *walk, const struct rep_node *node)
{
    struct repair *repair = walk->repair;

    for (size_t i = 0; i < node->count; i++) {
        struct rep_entry entry = *node->alive[i];
        /* a piece ends where a lost one began */
        bool doubt = node->lost_tail > 0 || (node->lost > 0 && rep_is_piece(&entry));
        entry.trust = doubt ? REPAIR_DOUBTFUL : REPAIR_WHOLE;
        if (!inside(&walk->range, &entry.key)) {
            rep_find(
                repair, REPAIR_BOUNDS, node->block, entry.at, 0, entry.key.id,
                "An entry lies outside of the bounds of its leaf: no search comes here for it.");
            repair->lossy = true;
            entry.trust = REPAIR_COPY;
        }
        rep_entries_add(repair, &entry);
    }
}

static void take_child(const struct walk *walk, const struct rep_node *node, size_t i)
{
    const struct rep_entry *entry = node->alive[i];
    struct walk child = *walk;

    if (rep_key_compare(&entry->key, &child.range.lower) > 0) {
        child.range.lower = entry->key;
    }
    if (i + 1 < node->count && (!child.range.bounded || rep_key_compare(&node->alive[i + 1]->key,
                                                                        &child.range.upper) < 0)) {
        child.range.bounded = true;
        child.range.upper = node->alive[i + 1]->key;
    }
    bool form = entry->body_length >= NF2_CHILD_BYTES && entry->body[0] == NF2_BODY_CHILD;
    if (!form || !inside(&walk->range, &entry->key)) {
        rep_find(walk->repair, form ? REPAIR_BOUNDS : REPAIR_ENTRY, node->block, entry->at, 0, 0,
                 form ? "A child lies outside of the bounds of its parent." :
                        "An entry of an inner node is no reference to a child.");
        rep_lose(walk->repair, form ? rep_get24(entry->body + 1) : node->block, &child.range);
        return;
    }
    child.block = rep_get24(entry->body + 1);
    child.base_end = rep_get16(entry->body + 4);
    child.level = walk->level - 1;
    child.from = entry;
    walk_node(&child);
}

static void take_inner(const struct walk *walk, const struct rep_node *node)
{
    if (node->count == 0 || rep_key_compare(&node->alive[0]->key, &walk->range.lower) > 0) {
        rep_find(walk->repair, REPAIR_BOUNDS, node->block, 0, 0, 0,
                 "The first keys of this inner node's range have no way to a leaf.");
    }
    for (size_t i = 0; i < node->count; i++) {
        take_child(walk, node, i);
    }
    if (node->lost > 0 || node->count == 0) { /* children may be lost, anywhere in its range */
        rep_lose(walk->repair, REP_NONE, &walk->range);
    }
}

static bool free_for_node(const struct walk *walk)
{
    struct repair *repair = walk->repair;
    uint32_t from = walk->from != NULL ? walk->from->block : repair->state.head,
             at = walk->from != NULL ? walk->from->at : 0;

    if (walk->block >= repair->image.blocks) {
        rep_find(repair, REPAIR_CHILD, from, at, walk->block, 0,
                 "This reference to a node leads out of the volume, to block %u.", walk->block);
        return false;
    }
    if (repair->use[walk->block] != REPAIR_USE_NONE) {
        rep_find(repair, REPAIR_CHILD, from, at, walk->block, 0,
                 "This reference to a node leads to block %u, which is in use already.",
                 walk->block);
        return false;
    }
    return true;
}

static void walk_node(const struct walk *walk)
{
    struct repair *repair = walk->repair;
    struct rep_node node = {0};

    if (!free_for_node(walk)) {
        rep_lose(repair, walk->block, &walk->range);
        return;
    }
    repair->use[walk->block] = walk->level > 0 ? REPAIR_USE_INNER : REPAIR_USE_LEAF;
    if (!rep_node_read(repair, walk->block, walk->level, walk->base_end, &node)) {
        rep_find(repair, REPAIR_NODE, walk->block, 0, walk->level, 0,
                 "There is no node of level %u of this volume in this block.", walk->level);
        struct rep_range range = walk->range;
        range.leaf = walk->level == 0;
        rep_lose(repair, walk->block, &range);
        rep_node_free(&node);
        return;
    }
    repair->summary.nodes++;
    repair->summary.complete = repair->summary.complete && node.whole;
    if (walk->level > 0) {
        take_inner(walk, &node);
    } else {
        take_leaf(walk, &node);
    }
    rep_node_free(&node);
}

void rep_tree_read(struct repair *repair)
{
    struct rep_state *state = &repair->state;
    struct walk walk = {repair,
                        state->root,
                        state->base_end,
                        state->level,
                        {{0, 0, {0}}, {0, 0, {0}}, false, false},
                        NULL};

    repair->summary.complete = true;
    /* an older root may be the root of older leaves */
    if (state->found && repair->summary.log_read) {
        walk_node(&walk);
    } else {
        rep_lose(repair, REP_NONE, &walk.range);
    }
    rep_search(repair);
    for (size_t i = 0; i < repair->entries && !repair->summary.log_read; i++) {
        uint8_t *trust = &repair->entry[i].trust;
        *trust = *trust == REPAIR_WHOLE ? REPAIR_UNSURE : *trust;
    }
    rep_entries_sort(repair);
}
