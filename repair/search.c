/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * search.c - leaves that nothing leads to, in the parts of the tree that are lost. Of those that
 * have keys in common the newer one holds; what only an older one has is kept as a copy. Inner
 * nodes are of no use: leaves tell all.
 */
#include "inside.h"

static bool is_lost(const struct repair *r, const struct rep_key *key)
{
    return rep_ranges_touch(&r->lost, key, key) || rep_ranges_touch(&r->lost_leaves, key, key);
}

/* ---- which is newer -------------------------------------------------------------------------- */

/* How many of the entries alive in one node are the same in the base of the other. */
static unsigned inherited(const struct rep_node *older, const struct rep_node *newer)
{
    const struct rep_slot *slot = newer->slots.list, *end = slot + newer->slots.count;
    unsigned count = 0;

    for (size_t i = 0; i < older->alive.count; i++) {
        const struct rep_entry *entry = &older->alive.list[i];
        while (slot < end && slot->base && rep_key_compare(&slot->entry.key, &entry->key) < 0) {
            slot++;
        }
        if (slot == end || !slot->base) {
            break;
        }
        count += rep_key_compare(&slot->entry.key, &entry->key) == 0 &&
                 slot->entry.body_length == entry->body_length &&
                 memcmp(slot->entry.body, entry->body, entry->body_length) == 0;
    }
    return count;
}

/* The highest id that any record of the leaf knows of: ids are given out in order of time. */
static uint32_t highest_id(const struct rep_node *node)
{
    uint32_t highest = 0;

    for (size_t i = 0; i < node->slots.count; i++) {
        const struct rep_entry *entry = &node->slots.list[i].entry;
        const struct rep_key *key = &entry->key;
        uint32_t own = key->id != NF2_SYSTEM_ID           ? key->id :
                       key->bytes[0] == NF2_KEY_ORPHAN ? rep_key_value(key) :
                                                         0;
        uint8_t kind;
        highest = rep_max(highest, rep_max(own, rep_name_id(entry, &kind)));
    }
    return highest;
}

/*
 * A node is not written to once another one has its place: what counts is how many sessions ago the
 * last record was written, then that the tree leads to it, then the highest id. One to which the
 * tree leads, and which is free on record, is older than all that are in use.
 */
static void judge(const struct repair *r, struct rep_leaf *leaf)
{
    const struct rep_node *node = &leaf->node;
    bool used = !r->summary.log_read || rep_on_record(r, node->block, REP_USED);
    uint32_t ago = r->epoch_known ? rep_sessions(node->last_epoch, r->epoch) : 0;

    leaf->holds = used || leaf->reached;
    leaf->rank = (uint64_t)(used ? ago : 0x1000u) << 32 |
                 (leaf->reached ? 0 : UINT32_MAX - highest_id(node));
    leaf->rank = leaf->sure ? 0 : leaf->rank;
}

static int by_rank(const void *a, const void *b)
{
    const struct rep_leaf *x = a, *y = b;
    return x->rank != y->rank ? rep_order(x->rank, y->rank) :
                                rep_order(x->node.block, y->node.block);
}

/* ---- taking them ----------------------------------------------------------------------------- */

static void find_leaves(struct repair *r)
{
    for (uint32_t block = NF2_SUPER_BLOCKS; block < r->blocks; block++) {
        struct rep_leaf leaf = {0};
        if (r->use[block] != REPAIR_USE_NONE || !rep_node_read(r, block, 0, 0, &leaf.node)) {
            continue;
        }
        bool lost = false;
        for (size_t i = 0; i < leaf.node.alive.count && !lost; i++) {
            lost = is_lost(r, &leaf.node.alive.list[i].key);
        }
        if (lost) {
            leaf.span = rep_span(&leaf.node);
            REP_ADD(r, &r->leaves, leaf);
        }
    }
}

static bool overlap(const struct rep_range *a, const struct rep_range *b)
{
    return rep_key_compare(&a->from, &b->below) < 0 && rep_key_compare(&b->from, &a->below) < 0;
}

/* Of leaves that have keys in common the newest holds. */
static void choose(struct repair *r)
{
    for (size_t i = 0; i < r->leaves.count; i++) {
        judge(r, &r->leaves.list[i]);
    }
    REP_SORT(&r->leaves, by_rank);
    for (size_t i = 0; i < r->leaves.count; i++) {
        struct rep_leaf *a = &r->leaves.list[i];
        for (struct rep_leaf *b = r->leaves.list; b < a && a->holds; b++) {
            if (b->holds && !b->sure && overlap(&a->span, &b->span)) {
                a->holds = a->rank == b->rank &&
                           inherited(&b->node, &a->node) > inherited(&a->node, &b->node);
                b->holds = !a->holds;
            }
        }
    }
}

/* Of the leaves that hold, or of all others, what no leaf in the spans has the place of. */
static void take(struct repair *r, bool holding)
{
    rep_ranges_tidy(&r->spans);
    for (size_t k = 0; k < r->leaves.count; k++) {
        const struct rep_leaf *leaf = &r->leaves.list[k];
        for (size_t i = 0; i < leaf->node.alive.count && leaf->holds == holding; i++) {
            struct rep_entry entry = leaf->node.alive.list[i];
            const struct rep_key *key = &entry.key;
            bool own = leaf->reached && holding;
            if (own || (is_lost(r, key) && !rep_ranges_touch(&r->spans, key, key))) {
                bool copy = !holding || rep_ranges_touch(&r->lost_leaves, key, key);
                entry.trust = own                    ? entry.trust :
                              copy                   ? REPAIR_COPY :
                              leaf->node.lost > 0 ? REPAIR_DOUBTFUL :
                                                    REPAIR_UNSURE;
                REP_ADD(r, &r->entries, entry);
            }
        }
    }
}

void rep_search(struct repair *r)
{
    rep_ranges_tidy(&r->lost);
    rep_ranges_tidy(&r->lost_leaves);
    if (r->lost.count + r->lost_leaves.count > 0) {
        r->quiet = true;
        find_leaves(r);
        r->quiet = false;
        choose(r);
    }
    take(r, true);
    for (size_t i = 0; i < r->leaves.count; i++) {
        const struct rep_leaf *leaf = &r->leaves.list[i];
        if (leaf->holds) {
            r->use[leaf->node.block] = REPAIR_USE_LEAF;
            REP_ADD(r, &r->spans, leaf->span);
        }
    }
    take(r, false);
}
