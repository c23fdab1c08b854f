/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * split.c - a node that is full is replaced by one, two or three nodes with its live entries; the record
 * in its parent (or a STATE with a new root) is the commit. The content of the tree does not change.
 */
#include "split.h"

#include "cache.h"
#include "flash.h"
#include "repack.h"
#include "space.h"

#define PARTS_MAX 3u
#define KEY_COPY 32u            /* separators up to this length are kept in memory */
#define MEDIAN_STEPS 7u

struct plan {
    struct nf2_key separator[PARTS_MAX - 1];
    uint8_t copy[PARTS_MAX - 1][KEY_COPY];
    uint8_t parts;
    bool edge;                  /* nothing moves: a new empty leaf on the right of this one */
    uint8_t level;
};

/* Makes `key` the plan's next separator, shortened to `length` bytes, in memory if it is short. */
static int add_separator(nf2_t *fs, struct plan *plan, const struct nf2_key *key, uint32_t length)
{
    unsigned i = plan->parts++ - 1u;

    plan->separator[i] = *key;
    plan->separator[i].length = (uint8_t)length;
    if (length <= KEY_COPY) {
        if (key->bytes != NULL) {
            memcpy(plan->copy[i], key->bytes, length);
        } else {
            NF2_TRY(nf2_record_read(fs, key->block, key->offset, key->position, plan->copy[i], length));
        }
        plan->separator[i].bytes = plan->copy[i];
    }
    return NF2_OK;
}

/* Bytes that two keys of one id have in common at the start. */
static int common_bytes(nf2_t *fs, const struct nf2_key *a, const struct nf2_key *b, uint32_t *common)
{
    uint32_t limit = nf2_min(a->length, b->length);
    struct nf2_key left = *a, right = *b;
    uint32_t low = 0;

    while (low < limit) { /* grows while the prefixes are equal: by halves of what is left */
        uint32_t step = (limit - low + 1) / 2;
        int order;
        left.length = right.length = (uint8_t)(low + step);
        NF2_TRY(nf2_key_compare(fs, &left, &right, &order));
        if (order == 0) {
            low += step;
        } else if (step == 1) {
            break;
        } else {
            limit = low + step - 1;
        }
    }
    *common = low;
    return NF2_OK;
}

/* Is one key the beginning of the other (a name and the same with an extension)? */
static int related(nf2_t *fs, const struct nf2_key *a, const struct nf2_key *b, bool *yes)
{
    uint32_t common = 0;

    *yes = false;
    if (a->id == b->id) {
        NF2_TRY(common_bytes(fs, a, b, &common));
        *yes = common == nf2_min(a->length, b->length);
    }
    return NF2_OK;
}

/* The shortest key above `left` that is at most `right`. */
static int separate(nf2_t *fs, struct plan *plan, const struct nf2_key *left, const struct nf2_key *right)
{
    uint32_t common = 0;

    if (plan->level > 0) { /* of children: a shorter key would take a range from the left node's last child */
        return add_separator(fs, plan, right, right->length);
    }
    if (left->id != right->id) {
        return add_separator(fs, plan, right, 0);
    }
    NF2_TRY(common_bytes(fs, left, right, &common));
    return add_separator(fs, plan, right, nf2_min(common + 1, right->length));
}

/* ---- where to cut ------------------------------------------------------------------------------- */

/* Bytes of the live entries below `key`, and how many they are. */
static int bytes_below(nf2_t *fs, uint32_t node, const struct nf2_survey *survey, const struct nf2_key *key, uint32_t *bytes)
{
    struct nf2_scan scan;
    struct nf2_entry entry;
    int found, order;

    *bytes = 0;
    nf2_scan_begin(&scan, node);
    while ((found = nf2_repack_next(fs, &scan, &survey->info, &entry)) > 0) {
        struct nf2_key own = nf2_entry_key(&entry);
        NF2_TRY(nf2_key_compare(fs, &own, key, &order));
        if (order < 0) {
            uint32_t length;
            NF2_TRY(nf2_repack_length(fs, &entry, &length));
            *bytes += length;
        }
    }
    return found;
}

/* The `n`-th live entry in the order of the log whose key lies strictly between the bounds (NULL: none). */
static int pick_between(nf2_t *fs, uint32_t node, const struct nf2_survey *survey, const struct nf2_key *low,
                        const struct nf2_key *high, uint32_t n, struct nf2_entry *entry, uint32_t *count)
{
    struct nf2_scan scan;
    struct nf2_entry at;
    int found, order;

    *count = 0;
    nf2_scan_begin(&scan, node);
    while ((found = nf2_repack_next(fs, &scan, &survey->info, &at)) > 0) {
        struct nf2_key own = nf2_entry_key(&at);
        if (low != NULL) {
            NF2_TRY(nf2_key_compare(fs, &own, low, &order));
            if (order <= 0) {
                continue;
            }
        }
        if (high != NULL) {
            NF2_TRY(nf2_key_compare(fs, &own, high, &order));
            if (order >= 0) {
                continue;
            }
        }
        if ((*count)++ == n) {
            *entry = at;
        }
    }
    return found;
}

/* Looks for the entry that halves the node: bounds close in on it, one pass over the node a step. */
static int find_median(nf2_t *fs, uint32_t node, const struct nf2_survey *survey, struct nf2_entry *median)
{
    struct nf2_key low, high, own;
    struct nf2_entry at;
    bool have_low = false, have_high = false;
    uint32_t count = survey->count, bytes;

    for (unsigned step = 0; step < MEDIAN_STEPS && count > 0; step++) {
        uint32_t n = count / 2;
        NF2_TRY(pick_between(fs, node, survey, have_low ? &low : NULL, have_high ? &high : NULL, n, &at, &count));
        if (count == 0) {
            break;
        }
        own = nf2_entry_key(&at);
        NF2_TRY(bytes_below(fs, node, survey, &own, &bytes));
        *median = at;
        if (bytes * 16 >= survey->live * 7 && bytes * 16 <= survey->live * 9) {
            break;
        }
        if (bytes * 2 < survey->live) {
            low = own;
            have_low = true;
        } else {
            high = own;
            have_high = true;
        }
        NF2_TRY(pick_between(fs, node, survey, have_low ? &low : NULL, have_high ? &high : NULL, NF2_NONE, &at, &count));
    }
    return NF2_OK;
}

/* Two halves; the cut never falls between a name and its extension. */
static int plan_halves(nf2_t *fs, uint32_t node, const struct nf2_survey *survey, struct plan *plan)
{
    struct nf2_entry right, left;
    struct nf2_key key;
    bool together = true;

    NF2_TRY(find_median(fs, node, survey, &right));
    key = nf2_entry_key(&right);
    int found = nf2_node_seek(fs, node, &key, NF2_BELOW, &left);
    if (found == 0) { /* the median is the smallest: cut behind it */
        left = right;
        found = nf2_node_seek(fs, node, &key, NF2_ABOVE, &right);
    }
    for (unsigned i = 0; i < 8 && found > 0 && together; i++) {
        struct nf2_key a = nf2_entry_key(&left), b = nf2_entry_key(&right);
        NF2_TRY(related(fs, &a, &b, &together));
        if (together) {
            struct nf2_entry next;
            int more = nf2_node_seek(fs, node, &b, NF2_ABOVE, &next);
            NF2_TRY(more);
            if (!more) {
                break;
            }
            left = right;
            right = next;
        }
    }
    if (found <= 0) {
        return found; /* one entry: nothing to cut */
    }
    struct nf2_key a = nf2_entry_key(&left), b = nf2_entry_key(&right);
    return separate(fs, plan, &a, &b);
}

/* A leaf that is rewritten for a few hot names: they get a leaf of their own, so that the others are copied no more. */
static int plan_heat(nf2_t *fs, uint32_t node, const struct nf2_survey *survey, const struct nf2_key *hint, struct plan *plan)
{
    struct nf2_scan scan;
    struct nf2_entry at, first, above, below;
    bool have_first = false, have_above = false, yes;
    int found, order;

    nf2_scan_begin(&scan, node);
    while ((found = nf2_repack_next(fs, &scan, &survey->info, &at)) > 0) {
        struct nf2_key own = nf2_entry_key(&at);
        NF2_TRY(related(fs, &own, hint, &yes));
        NF2_TRY(nf2_key_compare(fs, &own, hint, &order));
        struct nf2_entry *to = yes ? &first : &above;
        bool *have = yes ? &have_first : &have_above;
        if (!yes && order < 0) {
            continue;
        }
        if (*have) {
            struct nf2_key best = nf2_entry_key(to);
            NF2_TRY(nf2_key_compare(fs, &own, &best, &order));
        }
        if (!*have || order < 0) {
            *to = at;
            *have = true;
        }
    }
    NF2_TRY(found);
    if (!have_first) {
        return NF2_OK;
    }
    struct nf2_key key = nf2_entry_key(&first);
    found = nf2_node_seek(fs, node, &key, NF2_BELOW, &below);
    NF2_TRY(found);
    if (found > 0) {
        struct nf2_key left = nf2_entry_key(&below);
        NF2_TRY(separate(fs, plan, &left, &key));
    }
    if (have_above) {
        key = nf2_entry_key(&above);
        NF2_TRY(add_separator(fs, plan, &key, key.length));
    }
    return NF2_OK;
}

/* Is the pending key above all others of a well filled leaf? Then a new leaf beside it takes it: ascending names copy nothing. */
static int plan_edge(nf2_t *fs, uint32_t node, const struct nf2_key *hint, struct plan *plan)
{
    struct nf2_entry last;
    bool yes;
    int order;

    int found = nf2_node_seek(fs, node, hint, NF2_AT_OR_ABOVE, &last);
    if (found != 0) {
        return found < 0 ? found : NF2_OK;
    }
    found = nf2_node_seek(fs, node, hint, NF2_BELOW, &last);
    if (found <= 0) {
        return found;
    }
    struct nf2_key key = nf2_entry_key(&last);
    NF2_TRY(related(fs, &key, hint, &yes));
    NF2_TRY(nf2_key_compare(fs, &key, hint, &order));
    if (!yes) {
        NF2_TRY(separate(fs, plan, &key, hint));
        plan->edge = true;
    }
    return NF2_OK;
}

/* How to replace a node so that `need` bytes more fit. `thrifty`: with as few new blocks as can be. */
static int make_plan(nf2_t *fs, uint32_t node, const struct nf2_key *hint, uint32_t need, bool thrifty, struct plan *plan)
{
    struct nf2_survey survey;
    uint32_t capacity = nf2_log_bytes(fs), free_blocks = nf2_space_free_blocks(fs);
    bool scarce = thrifty || free_blocks <= nf2_space_reserve(fs);

    memset(plan, 0, sizeof *plan);
    plan->parts = 1;
    int level = nf2_node_level(fs, node);
    NF2_TRY(level);
    plan->level = (uint8_t)level;
    NF2_TRY(nf2_repack_survey(fs, node, &survey));
    if (level == 0 && !scarce && survey.packed * 2 >= capacity) {
        NF2_TRY(plan_edge(fs, node, hint, plan));
    }
    if (plan->edge) {
        return NF2_OK;
    }
    uint32_t limit = level == 0 ? nf2_put_limit(fs, survey.count) : capacity, end;
    nf2_log_place(fs, survey.packed, need, NF2_NONE, &end);
    if (survey.count >= 2 && (end > limit || survey.packed * 100 > capacity * (scarce ? 86u : 62u))) {
        return plan_halves(fs, node, &survey, plan);
    }
    uint32_t dead = survey.info.append_at - nf2_min(survey.live, survey.info.append_at);
    if (level == 0 && !thrifty && survey.count >= 2 && dead * 2 > survey.info.append_at && survey.live > nf2_page(fs) &&
        free_blocks > fs->blocks / 4) {
        return plan_heat(fs, node, &survey, hint, plan);
    }
    return NF2_OK;
}

/* ---- carrying it out ---------------------------------------------------------------------------- */

static int write_part(nf2_t *fs, uint32_t node, const struct plan *plan, unsigned part, uint32_t to)
{
    struct nf2_writer writer;
    const struct nf2_key *low = part > 0 ? &plan->separator[part - 1] : NULL;
    const struct nf2_key *high = part + 1u < plan->parts ? &plan->separator[part] : NULL;

    NF2_TRY(nf2_repack_begin(fs, &writer, to, plan->level));
    if (!plan->edge) {
        NF2_TRY(nf2_repack_copy(fs, &writer, node, to, low, high));
    }
    return nf2_repack_end(fs, &writer);
}

/* The records for the parent: the old child's entry gets the first part, each further part an entry of its own. */
static unsigned parent_ops(const struct plan *plan, uint16_t child, const struct nf2_key *child_key, const uint32_t *blocks,
                           uint8_t bodies[PARTS_MAX][NF2_CHILD_BODY], struct nf2_node_op *ops)
{
    unsigned n = 0;

    for (unsigned part = plan->edge ? 1 : 0; part < plan->parts; part++) {
        struct nf2_node_op *op = &ops[n];
        memset(op, 0, sizeof *op);
        op->type = part == 0 ? NF2_NODE_PUTK : NF2_NODE_PUT;
        op->kill = part == 0 ? child : 0;
        op->key = part == 0 ? *child_key : plan->separator[part - 1];
        nf2_put_child(bodies[n], blocks[part]);
        op->body[0] = nf2_span_of(bodies[n], NF2_CHILD_BODY);
        op->bodies = 1;
        n++;
    }
    return n;
}

static int fill_parts(nf2_t *fs, uint32_t node, const struct plan *plan, const uint32_t *blocks)
{
    for (unsigned part = plan->edge ? 1 : 0; part < plan->parts; part++) {
        NF2_TRY(write_part(fs, node, plan, part, blocks[part]));
    }
    return NF2_OK;
}

static int write_parts(nf2_t *fs, uint32_t node, const struct plan *plan, uint32_t *blocks)
{
    for (unsigned part = 0; part < plan->parts; part++) {
        if (plan->edge && part == 0) {
            blocks[0] = node;
            continue;
        }
        int result = nf2_space_block(fs, NF2_TREE_SLOT, 4, &blocks[part]);
        if (result != NF2_OK) {
            return result < 0 ? result : NF2_ERR_NOSPC;
        }
    }
    return NF2_BROKEN(NF2_FAULT_PARENT_FIRST) ? NF2_OK : fill_parts(fs, node, plan, blocks);
}

/* The new nodes become reachable by one group in the parent. */
static int commit_in_parent(nf2_t *fs, const struct nf2_path *path, const struct nf2_node_op *ops, unsigned count, uint32_t old,
                            bool edge)
{
    uint32_t parent = path->node[path->depth - 2];
    uint32_t append_at, records;
    uint16_t offsets[PARTS_MAX];

    NF2_TRY(nf2_space_prepare(fs, 1));
    NF2_TRY(nf2_node_tail(fs, parent, &append_at, &records));
    NF2_TRY(nf2_space_touch(fs, parent, append_at));
    int end = nf2_node_append(fs, parent, append_at, ops, count, offsets);
    NF2_TRY(end);
    nf2_space_node_end(fs, parent, (uint32_t)end);
    if (!edge) {
        nf2_space_free(fs, old, 1);
    }
    return NF2_OK;
}

/* The new nodes get a root above them, or the only one becomes the root: a STATE commits it. */
static int commit_as_root(nf2_t *fs, const struct plan *plan, const uint32_t *blocks, uint32_t old)
{
    static const uint8_t none[1] = {0};
    struct nf2_writer writer;
    uint32_t root = blocks[0];
    uint8_t body[NF2_CHILD_BODY];

    NF2_TRY(nf2_space_prepare(fs, 1));
    if (plan->parts > 1) {
        int result = nf2_space_block(fs, NF2_TREE_SLOT, 4, &root);
        if (result != NF2_OK) {
            return result < 0 ? result : NF2_ERR_NOSPC;
        }
        nf2_writer_begin(fs, &writer, root, 0);
        NF2_TRY(nf2_node_write_head(fs, &writer, root, (uint8_t)(plan->level + 1u), true));
        for (unsigned part = 0; part < plan->parts; part++) {
            struct nf2_node_op op = {.type = NF2_NODE_PUT, .bodies = 1};
            op.key = part == 0 ? nf2_key_of(0, none, 0) : plan->separator[part - 1];
            nf2_put_child(body, blocks[part]);
            op.body[0] = nf2_span_of(body, sizeof body);
            NF2_TRY(nf2_node_write(fs, &writer, &op, part + 1u < plan->parts));
        }
        NF2_TRY(nf2_writer_end(fs, &writer));
    }
    if (!plan->edge) {
        nf2_space_forget(fs, old);
        nf2_cache_drop(fs, old);
        nf2_space_free(fs, old, 1);
    }
    fs->root = root;
    nf2_space_settle(fs, NF2_TREE_SLOT);
    return nf2_space_flush(fs);
}

static int carry_out(nf2_t *fs, const struct nf2_path *path, const struct plan *plan)
{
    uint32_t node = path->node[path->depth - 1], blocks[PARTS_MAX] = {0};
    struct nf2_node_op ops[PARTS_MAX];
    uint8_t bodies[PARTS_MAX][NF2_CHILD_BODY];
    struct nf2_entry child;

    if (!plan->edge) {
        NF2_TRY(nf2_space_settle_node(fs, node));
    }
    nf2_space_settle(fs, NF2_TREE_SLOT);
    int result = write_parts(fs, node, plan, blocks);
    if (result < 0) {
        NF2_TRY(nf2_space_abandon(fs, NF2_TREE_SLOT));
        return result;
    }
    if (path->depth == 1) {
        NF2_TRY(NF2_BROKEN(NF2_FAULT_PARENT_FIRST) ? fill_parts(fs, node, plan, blocks) : NF2_OK);
        return commit_as_root(fs, plan, blocks, node);
    }
    memset(&child, 0, sizeof child);
    NF2_TRY(nf2_tree_child_entry(fs, path, path->depth - 2u, &child));
    struct nf2_key key = nf2_entry_key(&child);
    unsigned count = parent_ops(plan, child.offset, &key, blocks, bodies, ops);
    NF2_TRY(commit_in_parent(fs, path, ops, count, node, plan->edge));
    NF2_TRY(NF2_BROKEN(NF2_FAULT_PARENT_FIRST) ? fill_parts(fs, node, plan, blocks) : NF2_OK);
    if (!plan->edge) {
        nf2_space_forget(fs, node);
        nf2_cache_drop(fs, node);
    }
    nf2_space_settle(fs, NF2_TREE_SLOT);
    return NF2_OK;
}

/* Would the parent take the records of this plan? */
static int parent_fits(nf2_t *fs, const struct nf2_path *path, const struct plan *plan, bool *fits, uint32_t *need)
{
    struct nf2_node_op ops[PARTS_MAX];
    uint8_t bodies[PARTS_MAX][NF2_CHILD_BODY];
    uint32_t blocks[PARTS_MAX] = {0};
    struct nf2_node_info info;
    struct nf2_entry child;

    NF2_TRY(nf2_tree_child_entry(fs, path, path->depth - 2u, &child));
    struct nf2_key key = nf2_entry_key(&child);
    unsigned count = parent_ops(plan, child.offset, &key, blocks, bodies, ops);
    NF2_TRY(nf2_node_info(fs, path->node[path->depth - 2], &info));
    *fits = nf2_node_fit(fs, info.append_at, ops, count, nf2_log_bytes(fs)) != NF2_NONE;
    *need = 0;
    for (unsigned i = 0; i < count; i++) {
        *need += nf2_node_op_length(&ops[i]);
    }
    return NF2_OK;
}

/* Plans for the path's last node, or for the lowest node above it whose parent takes the plan's records. */
static int plan_path(nf2_t *fs, struct nf2_path *path, const struct nf2_key *hint, uint32_t need, bool thrifty, struct plan *plan)
{
    for (;;) {
        bool fits = true;
        NF2_TRY(make_plan(fs, path->node[path->depth - 1], hint, need, thrifty, plan));
        if (path->depth > 1) {
            NF2_TRY(parent_fits(fs, path, plan, &fits, &need));
        }
        if (fits) {
            return NF2_OK;
        }
        path->depth--; /* the parent first; the caller looks for its way anew */
    }
}

int nf2_tree_make_room(nf2_t *fs, struct nf2_path *path, const struct nf2_key *hint, uint32_t need)
{
    struct plan plan;
    uint8_t depth = path->depth;

    NF2_TRY(plan_path(fs, path, hint, need, false, &plan));
    bool allowed = plan.parts == 1 || fs->urgent || nf2_space_free_blocks(fs) > nf2_space_reserve(fs) / 2;
    int result = allowed ? carry_out(fs, path, &plan) : NF2_ERR_NOSPC;
    if (result == NF2_ERR_NOSPC && allowed && plan.parts > 1) { /* with as few blocks as can be */
        path->depth = depth;
        NF2_TRY(plan_path(fs, path, hint, need, true, &plan));
        result = carry_out(fs, path, &plan);
    }
    return result;
}
