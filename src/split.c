/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * split.c - a node that is full is replaced by one, two or three nodes with its live entries; the record
 * in its parent (or a STATE with a new root) is the commit. The content of the tree does not change.
 */
#include "split.h"

#include "cache.h"
#include "flash.h"
#include "group.h"
#include "repack.h"
#include "space.h"

#define PARTS_MAX 3u
#define KEY_COPY 24u            /* separators up to this length are kept in memory */
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
        NF2_TRY(nf2_key_bytes(fs, key, 0, plan->copy[i], length));
        plan->separator[i] = nf2_key_of(key->id, plan->copy[i], length);
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

/* A key that many others are compared with: in memory if it is short. */
struct bound {
    bool set;
    struct nf2_key key;
    uint8_t copy[KEY_COPY];
};

static int set_bound(nf2_t *fs, struct bound *bound, const struct nf2_key *key)
{
    bound->set = true;
    bound->key = *key;
    if (key->length <= KEY_COPY) {
        NF2_TRY(nf2_key_bytes(fs, key, 0, bound->copy, key->length));
        bound->key = nf2_key_of(key->id, bound->copy, key->length);
    }
    return NF2_OK;
}

/* The search for the entry that halves a node: where it may be cut, and what lies on both sides of that between the bounds. */
struct middle {
    struct bound low, high, cut;
    uint32_t bytes;             /* of all entries below the cut */
    uint32_t count[2];          /* entries below and above it, between the bounds */
    struct nf2_key next[2];     /* one of each of them */
};

/* One pass over the node. `next` is set to the entry of each side with the number `choice` in the order of the log. */
static int weigh(nf2_t *fs, uint32_t node, const struct nf2_survey *survey, uint32_t choice, struct middle *middle)
{
    struct nf2_live live;
    struct nf2_entry at;
    uint32_t length;
    int found, order = 1;

    middle->bytes = middle->count[0] = middle->count[1] = 0;
    nf2_repack_again(fs, node, survey, &live);
    while ((found = nf2_live_next(fs, &live, &at)) > 0) {
        struct nf2_key own = nf2_entry_key(&at);
        if (middle->cut.set) {
            NF2_TRY(nf2_key_compare(fs, &own, &middle->cut.key, &order));
        }
        unsigned side = order > 0;
        const struct bound *bound = side ? &middle->high : &middle->low;
        if (order < 0) {
            NF2_TRY(nf2_repack_length(fs, &at, &length));
            middle->bytes += length;
        }
        if (order != 0 && bound->set) {
            NF2_TRY(nf2_key_compare(fs, &own, &bound->key, &order));
            order = side ? -order : order;
        } else if (order != 0) {
            order = 1;
        }
        if (order > 0 && middle->count[side]++ <= choice) {
            middle->next[side] = own;
        }
    }
    return found;
}

/* Looks for the entry that halves the node: bounds close in on it, one pass over the node a step. */
static NF2_APART int find_median(nf2_t *fs, uint32_t node, const struct nf2_survey *survey, struct nf2_key *median)
{
    struct middle middle = {.bytes = 0};
    uint32_t count = survey->count;
    unsigned side = 1;

    NF2_TRY(weigh(fs, node, survey, count / 2, &middle));
    for (unsigned step = 0; step < MEDIAN_STEPS && middle.count[side] > 0; step++) {
        *median = middle.next[side];
        count = middle.count[side];
        NF2_TRY(set_bound(fs, &middle.cut, median));
        NF2_TRY(weigh(fs, node, survey, count / 4, &middle));
        if (middle.bytes * 16 >= survey->bytes * 7 && middle.bytes * 16 <= survey->bytes * 9) {
            break;
        }
        side = middle.bytes * 2 < survey->bytes;
        NF2_TRY(set_bound(fs, side ? &middle.low : &middle.high, &middle.cut.key));
    }
    return NF2_OK;
}

/* Two halves, cut at the median; never between a name and its extension. */
static NF2_APART int plan_halves(nf2_t *fs, uint32_t node, const struct nf2_key *median, struct plan *plan)
{
    struct nf2_key right = *median, left, next;
    bool together = true;

    int found = nf2_node_seek_key(fs, node, &right, NF2_BELOW, &left);
    if (found == 0) { /* the median is the smallest: cut behind it */
        left = right;
        found = nf2_node_seek_key(fs, node, &left, NF2_ABOVE, &right);
    }
    for (unsigned i = 0; i < 8 && found > 0 && together; i++) {
        NF2_TRY(related(fs, &left, &right, &together));
        if (together) {
            int more = nf2_node_seek_key(fs, node, &right, NF2_ABOVE, &next);
            NF2_TRY(more);
            if (!more) {
                break;
            }
            left = right;
            right = next;
        }
    }
    return found <= 0 ? found : separate(fs, plan, &left, &right); /* 0: one entry, nothing to cut */
}

/* The lowest keys of the node that are related to the hint (0), and that are above all of those (1); their lengths are 0 if there is none. */
static NF2_APART int find_hot(nf2_t *fs, uint32_t node, const struct nf2_survey *survey, const struct nf2_key *hint, struct nf2_key *lowest)
{
    struct nf2_live live;
    struct nf2_entry at;
    bool yes;
    int found, order;

    lowest[0].length = lowest[1].length = 0;
    nf2_repack_again(fs, node, survey, &live);
    while ((found = nf2_live_next(fs, &live, &at)) > 0) {
        struct nf2_key own = nf2_entry_key(&at), *best = &lowest[1];
        NF2_TRY(related(fs, &own, hint, &yes));
        NF2_TRY(nf2_key_compare(fs, &own, hint, &order));
        if (!yes && order < 0) {
            continue;
        }
        best -= yes;
        order = -1;
        if (best->length != 0) {
            NF2_TRY(nf2_key_compare(fs, &own, best, &order));
        }
        if (order < 0) {
            *best = own;
        }
    }
    return found;
}

/* Is a leaf mostly dead, or has nothing stayed of what came to it for long? */
static bool is_hot(const struct nf2_survey *survey)
{
    uint32_t dead = survey->append_at - nf2_min(survey->bytes, survey->append_at);

    return dead * 2 > survey->append_at || (uint32_t)(survey->append_at - survey->last) * 3 > survey->append_at;
}

/* A leaf that is rewritten for a few hot names: they get a leaf of their own, so that the others are copied no more. */
static NF2_APART int plan_heat(nf2_t *fs, uint32_t node, const struct nf2_survey *survey, const struct nf2_key *hint, struct plan *plan)
{
    struct nf2_key lowest[2], below;
    uint8_t byte = 0;

    NF2_TRY(find_hot(fs, node, survey, hint, lowest));
    if (lowest[0].length == 0) { /* it is new, or a name that comes and goes */
        NF2_TRY(nf2_key_bytes(fs, hint, 0, &byte, nf2_min(hint->length, 1)));
        if (byte <= 1) { /* of a file's map: new ones follow each other, and stay */
            return NF2_OK;
        }
        lowest[0] = *hint;
    }
    int found = nf2_node_seek_key(fs, node, &lowest[0], NF2_BELOW, &below);
    NF2_TRY(found > 0 ? separate(fs, plan, &below, &lowest[0]) : found);
    return lowest[1].length != 0 ? add_separator(fs, plan, &lowest[1], lowest[1].length) : NF2_OK;
}

/* Is the pending key above all others of a well filled leaf? Then a new leaf beside it takes it: ascending names copy nothing. */
static int plan_edge(nf2_t *fs, uint32_t node, const struct nf2_key *hint, struct plan *plan)
{
    struct nf2_key key;
    bool yes;

    int found = nf2_node_seek_key(fs, node, hint, NF2_AT_OR_ABOVE, &key);
    if (found != 0) {
        return found < 0 ? found : NF2_OK;
    }
    found = nf2_node_seek_key(fs, node, hint, NF2_BELOW, &key);
    if (found <= 0) {
        return found;
    }
    NF2_TRY(related(fs, &key, hint, &yes));
    if (!yes) {
        NF2_TRY(separate(fs, plan, &key, hint));
        plan->edge = true;
    }
    return NF2_OK;
}

/* Does the pending key follow the newest entry of the node, which is not related to it? Then that one's key: 1, 0, or an error. */
static NF2_APART int find_newest(nf2_t *fs, uint32_t node, const struct nf2_survey *survey, const struct nf2_key *hint, struct nf2_key *key)
{
    struct nf2_entry last;
    bool yes;
    int order = 1;

    if (survey->newest != 0) { /* one page, before all of them */
        NF2_TRY(nf2_entry_at(fs, node, survey->newest, &last));
        *key = nf2_entry_key(&last);
        NF2_TRY(nf2_key_compare(fs, key, hint, &order));
    }
    int found = order < 0 ? nf2_node_seek(fs, node, hint, NF2_BELOW, &last) : 0;
    if (found <= 0 || last.offset != survey->newest) {
        return found < 0 ? found : 0;
    }
    *key = nf2_entry_key(&last);
    NF2_TRY(related(fs, key, hint, &yes));
    return !yes;
}

/* With most of the leaf in front of that the cut is between them: keys that come in order leave full leaves. */
static NF2_APART int plan_run(nf2_t *fs, uint32_t node, const struct nf2_survey *survey, const struct nf2_key *key, const struct nf2_key *hint, struct plan *plan)
{
    struct middle middle = {.bytes = 0};

    NF2_TRY(set_bound(fs, &middle.cut, hint));
    NF2_TRY(weigh(fs, node, survey, 0, &middle));
    return middle.bytes * 2 < survey->bytes ? NF2_OK : separate(fs, plan, key, hint);
}

/*
 * A directory that fills most of a leaf which has the root directory's entries too: they get a leaf of their own. Nearly all paths
 * lead through them, and a search with nothing cached reads all of a leaf.
 */
static int plan_root(nf2_t *fs, const struct nf2_survey *survey, const struct nf2_key *hint, struct plan *plan)
{
    struct nf2_key behind = nf2_lowest_key(NF2_ROOT_ID + 1u);
    uint8_t byte = 0;

    NF2_TRY(nf2_key_bytes(fs, hint, 0, &byte, nf2_min(hint->length, 1)));
    bool large = hint->id != NF2_ROOT_ID && byte > 1 && survey->first * 2 < survey->bytes; /* 0 and 1: of a file's map */
    return large && survey->first > 0 ? add_separator(fs, plan, &behind, 0) : NF2_OK;
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
        NF2_TRY(plan_root(fs, &survey, hint, plan));
        if (plan->parts == 1) {
            NF2_TRY(plan_edge(fs, node, hint, plan));
        }
        struct nf2_key *key = &plan->separator[PARTS_MAX - 2u]; /* not set by plan_run itself */
        int found = plan->parts > 1 ? 0 : find_newest(fs, node, &survey, hint, key);
        NF2_TRY(found > 0 ? plan_run(fs, node, &survey, key, hint, plan) : found);
    }
    if (plan->parts > 1) {
        return NF2_OK;
    }
    uint32_t limit = level == 0 ? nf2_put_limit(fs, survey.count) : capacity, end;
    nf2_log_place(fs, survey.packed, need, NF2_NONE, &end);
    if (survey.count >= 2 && (end > limit || survey.packed * 100 > capacity * (scarce ? 86u : level == 0 && (fs->clean_price >= 150u || fs->compact_live >= 11u) ? 80u : 62u))) {
        struct nf2_key median;
        NF2_TRY(find_median(fs, node, &survey, &median));
        return plan_halves(fs, node, &median, plan);
    }
    if (level == 0 && !thrifty && survey.count >= 2 && is_hot(&survey) && survey.bytes > nf2_page(fs) &&
        free_blocks > fs->blocks / 4) {
        return plan_heat(fs, node, &survey, hint, plan);
    }
    return NF2_OK;
}

/* ---- carrying it out ---------------------------------------------------------------------------- */

static NF2_ONCE const struct nf2_key *low_of(const struct plan *plan, unsigned part)
{
    return part > 0 ? &plan->separator[part - 1] : NULL;
}

static const struct nf2_key *high_of(const struct plan *plan, unsigned part)
{
    return part + 1u < plan->parts ? &plan->separator[part] : NULL;
}

/* Can the pending change be made while the node is replaced? Not if a part would be too full, or it concerns one that stays. */
static int pending_fits(nf2_t *fs, uint32_t node, const struct plan *plan, struct nf2_pending *pending, bool *fits)
{
    *fits = plan->level == 0;
    if (plan->edge && *fits) { /* all that it concerns must be above the separator */
        *fits = pending->source == NULL && pending->count == 1;
    }
    for (unsigned part = plan->edge ? 1 : 0; part < plan->parts && *fits; part++) {
        NF2_TRY(nf2_pending_fits(fs, pending, node, low_of(plan, part), high_of(plan, part), fits));
    }
    return NF2_OK;
}

static int write_part(nf2_t *fs, uint32_t node, const struct plan *plan, unsigned part, uint32_t to, struct nf2_pending *pending)
{
    struct nf2_writer writer;

    nf2_repack_begin(fs, &writer, to, plan->level);
    if (!plan->edge) {
        NF2_TRY(nf2_pending_copy(fs, &writer, pending, node, to, low_of(plan, part), high_of(plan, part)));
    }
    if (pending != NULL) {
        NF2_TRY(nf2_pending_put(fs, &writer, pending, node, to, low_of(plan, part), high_of(plan, part)));
    }
    return nf2_repack_end(fs, &writer);
}

static NF2_APART int fill_parts(nf2_t *fs, uint32_t node, const struct plan *plan, const uint32_t *blocks, struct nf2_pending *pending)
{
    for (unsigned part = plan->edge ? 1 : 0; part < plan->parts; part++) {
        NF2_TRY(write_part(fs, node, plan, part, blocks[part], pending));
    }
    return NF2_OK;
}

static int take_parts(nf2_t *fs, uint32_t node, const struct plan *plan, uint32_t *blocks)
{
    for (unsigned part = 0; part < plan->parts; part++) {
        if (plan->edge && part == 0) {
            blocks[0] = node;
        } else {
            NF2_TRY(nf2_space_tree_block(fs, &blocks[part]));
        }
    }
    return NF2_OK;
}

/* The records of this plan in the parent; `blocks` may be NULL where only their lengths matter. How many there are. */
static NF2_APART int parent_records(nf2_t *fs, const struct nf2_path *path, const struct plan *plan, const uint32_t *blocks, struct nf2_node_op *ops)
{
    struct nf2_entry child;
    unsigned count = 0;

    NF2_TRY(nf2_tree_child_entry(fs, path, path->depth - 2u, &child));
    struct nf2_key key = nf2_entry_key(&child);
    for (unsigned part = plan->edge ? 1 : 0; part < plan->parts; part++, count++) { /* the old child's entry gets the first part */
        nf2_put_child(&ops[count], part == 0 ? &key : &plan->separator[part - 1], blocks != NULL ? blocks[part] : 0);
        ops[count].kill = part == 0 ? child.offset : 0;
    }
    return (int)count;
}

/* Has the parent room for the records of this plan (0)? Else the bytes that they take. Or (`blocks` not NULL) they are appended to it. */
static NF2_APART int tell_parent(nf2_t *fs, const struct nf2_path *path, const struct plan *plan, const uint32_t *blocks)
{
    uint32_t parent = path->node[path->depth - 2];
    struct nf2_node_op ops[PARTS_MAX];
    int count = parent_records(fs, path, plan, blocks, ops);

    NF2_TRY(count);
    return blocks != NULL ? nf2_group_append(fs, parent, 0, ops, (unsigned)count, 0) : nf2_group_lacks(fs, parent, ops, (unsigned)count);
}

/* A new root above the new nodes. */
static NF2_APART int write_root(nf2_t *fs, const struct plan *plan, const uint32_t *blocks, uint32_t root)
{
    struct nf2_key lowest = nf2_lowest_key(0);
    struct nf2_node_op op;
    struct nf2_writer writer;

    nf2_writer_begin(&writer, root, 0);
    nf2_node_write_head(fs, &writer, root, (uint8_t)(plan->level + 1u), true);
    for (unsigned part = 0; part < plan->parts; part++) {
        nf2_put_child(&op, part == 0 ? &lowest : &plan->separator[part - 1], blocks[part]);
        (void)nf2_node_write(fs, &writer, &op, part + 1u < plan->parts);
    }
    return nf2_writer_end(fs, &writer);
}

/* The group in the parent, or a new root where there are several parts. */
static int make_reachable(nf2_t *fs, const struct nf2_path *path, const struct plan *plan, uint32_t *blocks)
{
    NF2_TRY(nf2_space_prepare(fs, 1));
    if (path->depth > 1) {
        NF2_TRY(nf2_group_prepare(fs, path->node[path->depth - 2]));
        return tell_parent(fs, path, plan, blocks);
    }
    if (plan->parts > 1) {
        NF2_TRY(nf2_space_tree_block(fs, &blocks[plan->parts]));
        return write_root(fs, plan, blocks, blocks[plan->parts]);
    }
    return NF2_OK;
}

/* The new nodes become reachable: by one group in the parent, or by a STATE with the new root. */
static int replace(nf2_t *fs, const struct nf2_path *path, const struct plan *plan, struct nf2_pending *pending)
{
    uint32_t node = path->node[path->depth - 1], blocks[PARTS_MAX + 1u] = {0};
    bool root = path->depth == 1;
    unsigned parts = plan->parts;

    if (!plan->edge || (fs->redo_logged && fs->redo_block >= fs->blocks)) { /* a leaf that stays may have the mark of a batch: its key may come to lie in the new one */
        NF2_TRY(nf2_space_settle_node(fs, node));
    }
    nf2_space_settle(fs, NF2_TREE_SLOT);
    int result = take_parts(fs, node, plan, blocks);
    if (result >= 0 && !NF2_BROKEN(NF2_FAULT_PARENT_FIRST)) {
        result = fill_parts(fs, node, plan, blocks, pending);
    }
    result = result < 0 ? result : make_reachable(fs, path, plan, blocks);
    if (result < 0) {
        for (unsigned part = plan->edge ? 1 : 0; part < parts; part++) {
            nf2_tree_unfollow(fs, blocks[part], 0, NF2_NONE, node);
        }
        NF2_TRY(nf2_space_abandon(fs, NF2_TREE_SLOT, 0));
        return result;
    }
    NF2_TRY(NF2_BROKEN(NF2_FAULT_PARENT_FIRST) ? fill_parts(fs, node, plan, blocks, pending) : NF2_OK);
    if (!plan->edge) {
        nf2_space_forget(fs, node);
        nf2_cache_drop(fs, node);
        nf2_space_free(fs, node, 1);
    }
    fs->root = root ? blocks[parts > 1 ? parts : 0] : fs->root;
    nf2_space_settle(fs, NF2_TREE_SLOT);
    return root ? nf2_space_flush(fs) : nf2_space_keep(fs);
}

static int carry_out(nf2_t *fs, const struct nf2_path *path, const struct plan *plan, struct nf2_pending *pending)
{
    bool takes = false;

    if (pending != NULL) {
        NF2_TRY(pending_fits(fs, path->node[path->depth - 1], plan, pending, &takes));
    }
    NF2_TRY(replace(fs, path, plan, takes ? pending : NULL));
    if (takes) {
        pending->done = true;
    }
    return NF2_OK;
}

/* Plans for the path's last node, or for the lowest node above it whose parent takes the plan's records. */
static int plan_path(nf2_t *fs, struct nf2_path *path, const struct nf2_key *hint, uint32_t need, bool thrifty, struct plan *plan)
{
    for (;;) {
        NF2_TRY(make_plan(fs, path->node[path->depth - 1], hint, need, thrifty, plan));
        int lacks = path->depth > 1 ? tell_parent(fs, path, plan, NULL) : 0;
        if (lacks <= 0) {
            return lacks;
        }
        need = (uint32_t)lacks;
        path->depth--; /* the parent first; the caller looks for its way anew */
    }
}

int nf2_tree_make_room(nf2_t *fs, struct nf2_path *path, const struct nf2_key *hint, uint32_t need, struct nf2_pending *pending)
{
    struct plan plan;
    uint8_t depth = path->depth;

    NF2_TRY(plan_path(fs, path, hint, need, fs->after_cut, &plan));
    bool allowed = plan.parts == 1 || fs->urgent || nf2_space_free_blocks(fs) > nf2_space_reserve(fs) / 2;
    int result = allowed ? carry_out(fs, path, &plan, pending) : NF2_ERR_NOSPC;
    if (result == NF2_ERR_NOSPC && allowed && plan.parts > 1) { /* with as few blocks as can be */
        path->depth = depth;
        NF2_TRY(plan_path(fs, path, hint, need, true, &plan));
        result = carry_out(fs, path, &plan, pending);
    }
    return result;
}

int nf2_tree_rewrite(nf2_t *fs, struct nf2_path *path)
{
    struct plan plan;

    NF2_TRY(plan_path(fs, path, NULL, 0, true, &plan));
    return carry_out(fs, path, &plan, NULL);
}
