/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * search.c - leaves that nothing leads to, in the parts of the tree that are lost. Of those that
 * have keys in common the newer one holds; what only an older one has is kept as a copy. Inner
 * nodes are of no use: leaves tell all.
 */
#include "node.h"

#define NEIGHBOURS 64u          /* with which a leaf is compared at most, on each side */

struct leaf {
    struct rep_node node;
    /* a newer one has its place, or the log says that its block is free */
    bool old;
};

struct span {
    struct rep_key first, last;
};

struct search {
    struct repair *repair;
    struct leaf *leaf;
    size_t leaves, leaves_room;
    struct span *span;          /* keys of the leaves that hold, in order */
    size_t spans, spans_room;
    bool maze;
};

static const struct rep_key *first_key(const struct leaf *leaf)
{
    return &leaf->node.alive[0]->key;
}
static const struct rep_key *last_key(const struct leaf *leaf)
{
    return &leaf->node.alive[leaf->node.count - 1]->key;
}

/* ---- what is lost ---------------------------------------------------------------------------- */

static int by_lower(const void *a, const void *b)
{
    const struct rep_range *x = a, *y = b;
    return x->leaf != y->leaf ? (int)x->leaf - (int)y->leaf : rep_key_compare(&x->lower, &y->lower);
}

/* Ranges in order, those of single leaves behind the others, and none that overlap. */
static void tidy(struct repair *repair)
{
    size_t kept = 0;

    rep_sort(repair->lost, repair->losts, sizeof *repair->lost, by_lower);
    for (size_t i = 0; i < repair->losts; i++) {
        struct rep_range *range = &repair->lost[i],
                         *last = kept > 0 ? &repair->lost[kept - 1] : range;
        bool touches = kept > 0 && last->leaf == range->leaf &&
                       (!last->bounded || rep_key_compare(&range->lower, &last->upper) <= 0);
        if (!touches) {
            repair->lost[kept++] = *range;
        } else if (last->bounded &&
                   (!range->bounded || rep_key_compare(&range->upper, &last->upper) > 0)) {
            last->bounded = range->bounded;
            last->upper = range->upper;
        }
    }
    repair->losts = kept;
}

bool rep_may_be_lost(const struct repair *repair, const struct rep_key *from,
                     const struct rep_key *to, bool leaf)
{
    struct rep_range one = {.lower = *to, .leaf = leaf};
    size_t low = 0, high = repair->losts;

    while (low < high) {
        size_t middle = (low + high) / 2;
        if (by_lower(&repair->lost[middle], &one) <= 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    const struct rep_range *range = low > 0 ? &repair->lost[low - 1] : NULL;
    return range != NULL && range->leaf == leaf &&
           (!range->bounded || rep_key_compare(from, &range->upper) < 0);
}

static bool is_lost(const struct repair *repair, const struct rep_key *key)
{
    return rep_may_be_lost(repair, key, key, false) || rep_may_be_lost(repair, key, key, true);
}

/* ---- which is newer -------------------------------------------------------------------------- */

/* How many of the entries alive in one node are the same in the base of the other. */
static unsigned inherited(const struct rep_node *older, const struct rep_node *newer)
{
    unsigned count = 0;
    size_t at = 0;

    for (size_t i = 0; i < older->count; i++) {
        const struct rep_entry *entry = older->alive[i];
        int order = -1;
        while (at < newer->slots && newer->slot[at].base &&
               (order = rep_key_compare(&newer->slot[at].entry.key, &entry->key)) < 0) {
            at++;
        }
        if (at >= newer->slots || !newer->slot[at].base) {
            break;
        }
        const struct rep_entry *other = &newer->slot[at].entry;
        count += order == 0 && other->body_length == entry->body_length &&
                 memcmp(other->body, entry->body, entry->body_length) == 0;
    }
    return count;
}

/*
 * The highest id that any record of the leaf knows of: ids are given out in order of time. `other`:
 * in the range of that leaf, or NULL.
 */
static uint32_t highest_id(const struct rep_node *node, const struct rep_node *other)
{
    uint32_t highest = 0;

    for (size_t i = 0; i < node->slots; i++) {
        const struct rep_entry *entry = &node->slot[i].entry;
        const struct rep_key *key = &entry->key;
        uint32_t length;
        const uint8_t *body = rep_is_piece(entry) ? NULL : rep_body(entry, &length);
        if (other != NULL && (rep_key_compare(key, &other->alive[0]->key) < 0 ||
                              rep_key_compare(key, &other->alive[other->count - 1]->key) > 0)) {
            continue;
        }
        highest = rep_max(highest, key->id == NF2_SYSTEM_ID ? rep_key_value(key) : key->id);
        if (body != NULL && length >= 5 && (body[0] == NF2_BODY_DIR || body[0] == NF2_BODY_MAP)) {
            highest = rep_max(highest, rep_get32(body + 1));
        }
    }
    return highest;
}

/*
 * A node is not written to once another one has its place, and the base of that has what was alive
 * in it. Which of two is older: -1 `a`, 1 `b`. Where they have nothing in common that tells it is a
 * guess.
 */
static int which_is_older(const struct rep_image *image, const struct rep_node *a,
                          const struct rep_node *b)
{
    uint32_t a_end = rep_age(image, a->last_epoch), b_begin = rep_age(image, b->epoch);
    uint32_t b_end = rep_age(image, b->last_epoch), a_begin = rep_age(image, a->epoch);

    if (image->epoch_known && a_end != b_begin && (a_end > b_begin) != (b_end > a_begin)) {
        return a_end > b_begin ? -1 : 1;
    }
    unsigned forth = inherited(a, b), back = inherited(b, a);
    uint32_t a_id = highest_id(a, forth > 0 ? b : NULL), b_id = highest_id(b, forth > 0 ? a : NULL);
    if (forth != back) {
        return forth > back ? -1 : 1;
    }
    if (a_id != b_id) {
        return a_id < b_id ? -1 : 1;
    }
    if (forth > 0 && a->count != b->count) {
        /* one is a part of the other: nodes are split more often than joined */
        return a->count > b->count ? -1 : 1;
    }
    return a->block > b->block ? -1 : 1;
}

static int by_first_key(const void *a, const void *b)
{
    const struct leaf *x = a, *y = b;
    int order = rep_key_compare(first_key(x), first_key(y));
    return order != 0 ? order : x->node.block < y->node.block ? -1 : 1;
}

static void compare_all(struct search *search)
{
    uint64_t *budget = &search->repair->image.budget;

    for (size_t i = 0; i < search->leaves; i++) {
        struct leaf *a = &search->leaf[i];
        for (size_t j = i + 1; j < search->leaves && !a->old; j++) {
            struct leaf *b = &search->leaf[j];
            if (rep_key_compare(first_key(b), last_key(a)) > 0) {
                break;
            }
            uint64_t cost = 32u * (a->node.count + b->node.count);
            if (j - i > NEIGHBOURS || *budget < cost) {
                search->maze = true;
                break;
            }
            *budget -= cost;
            int older = b->old ? 0 : which_is_older(&search->repair->image, &a->node, &b->node);
            a->old = older < 0;
            b->old = b->old || older > 0;
        }
    }
}

/* ---- taking them ----------------------------------------------------------------------------- */

static bool overlaps_lost(const struct repair *repair, const struct leaf *leaf)
{
    for (size_t i = 0; i < leaf->node.count; i++) {
        if (is_lost(repair, &leaf->node.alive[i]->key)) {
            return true;
        }
    }
    return false;
}

static void find_leaves(struct search *search)
{
    struct repair *repair = search->repair;

    for (uint32_t block = repair->image.supers; block < repair->image.blocks; block++) {
        struct leaf leaf = {.old = repair->state.found && repair->summary.log_read &&
                                   !rep_state_used(repair, block)};
        if (repair->use[block] != REPAIR_USE_NONE) {
            continue;
        }
        if (rep_node_read(repair, block, 0, 0, &leaf.node) && leaf.node.count > 0 &&
            overlaps_lost(repair, &leaf)) {
            search->leaf = rep_grow(search->leaf, search->leaves, &search->leaves_room,
                                    sizeof leaf);
            search->leaf[search->leaves++] = leaf;
        } else {
            rep_node_free(&leaf.node);
        }
    }
}

static int by_span(const void *a, const void *b)
{
    return rep_key_compare(&((const struct span *)a)->first, &((const struct span *)b)->first);
}

static void add_span(struct search *search, const struct rep_key *first, const struct rep_key *last)
{
    struct span span = {*first, *last};
    search->span = rep_grow(search->span, search->spans, &search->spans_room, sizeof span);
    search->span[search->spans++] = span;
}

/* The leaves that were read: runs of entries of one block. */
static void spans_of_tree(struct search *search)
{
    const struct repair *repair = search->repair;

    for (size_t i = 0, from = 0; i < repair->entries; i++) {
        bool last = i + 1 == repair->entries ||
                    repair->entry[i + 1].block != repair->entry[i].block;
        if (last) {
            add_span(search, &repair->entry[from].key, &repair->entry[i].key);
            from = i + 1;
        }
    }
}

/* Spans do not overlap: the last one that begins at or below the key has it, or none. */
static bool covered(const struct search *search, const struct rep_key *key)
{
    size_t low = 0, high = search->spans;

    while (low < high) {
        size_t middle = (low + high) / 2;
        if (rep_key_compare(&search->span[middle].first, key) <= 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low > 0 && rep_key_compare(key, &search->span[low - 1].last) <= 0;
}

static void take(struct search *search, const struct leaf *leaf)
{
    struct repair *repair = search->repair;

    for (size_t i = 0; i < leaf->node.count; i++) {
        struct rep_entry entry = *leaf->node.alive[i];
        if (is_lost(repair, &entry.key) && !covered(search, &entry.key)) {
            bool old = leaf->old || rep_may_be_lost(repair, &entry.key, &entry.key, true);
            entry.trust = old ? REPAIR_COPY : leaf->node.lost > 0 ? REPAIR_DOUBTFUL : REPAIR_UNSURE;
            rep_entries_add(repair, &entry);
        }
    }
    if (!leaf->old) {
        repair->use[leaf->node.block] = REPAIR_USE_LEAF;
    }
}

/* Those that hold, then the old ones, for what nothing else covers. */
static void take_all(struct search *search)
{
    spans_of_tree(search);
    rep_sort(search->span, search->spans, sizeof *search->span, by_span);
    for (size_t i = 0; i < search->leaves; i++) {
        if (!search->leaf[i].old) {
            take(search, &search->leaf[i]);
        }
    }
    for (size_t i = 0; i < search->leaves; i++) {
        if (!search->leaf[i].old) {
            add_span(search, first_key(&search->leaf[i]), last_key(&search->leaf[i]));
        }
    }
    rep_sort(search->span, search->spans, sizeof *search->span, by_span);
    for (size_t i = 0; i < search->leaves; i++) {
        if (search->leaf[i].old) {
            take(search, &search->leaf[i]);
        }
    }
}

void rep_search(struct repair *repair)
{
    struct search search = {.repair = repair};

    if (repair->losts == 0) {
        return;
    }
    tidy(repair);
    repair->quiet = true;
    find_leaves(&search);
    repair->quiet = false;
    if (search.leaves > 0) {
        rep_sort(search.leaf, search.leaves, sizeof *search.leaf, by_first_key);
        compare_all(&search);
        take_all(&search);
    }
    if (search.maze) {
        rep_note(repair, REPAIR_NOTE_MAZE, REP_NONE, 0, NULL, NULL);
    }
    for (size_t i = 0; i < search.leaves; i++) {
        rep_node_free(&search.leaf[i].node);
    }
    free(search.leaf);
    free(search.span);
}
