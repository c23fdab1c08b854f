/* SPDX-License-Identifier: BSD-2-Clause */
#include "current.h"

#include <stdlib.h>
#include <string.h>

#include "core.h"
#include "frames_read.h"
#include "log.h"
#include "node.h"

static const uint8_t nothing[1] = {0};
static const struct rep_key lowest = {0, nothing, 0};

static struct rep_node *node_at(struct rep_tree *tree, uint32_t block)
{
    if (tree->node[block] == NULL) {
        tree->node[block] = rep_alloc(sizeof *tree->node[block]);
        rep_node_read(tree->image, block, tree->meta->volume, tree->node[block]);
    }
    return tree->node[block];
}

/* ---- holes --------------------------------------------------------------------------------------- */

/* A part of the keys: where a node belongs. */
struct range {
    uint32_t block;
    uint8_t level;              /* that it should have; REP_NO_LEVEL: not known */
    struct rep_key low, high;
    bool bounded;
    bool doubtful, unsure;      /* the entry that leads here, or one above it, may be outdated: a record is lost, or it may be */
};

static void add_torn(struct rep_tree *tree, const struct range *range)
{
    struct rep_hole torn = {.low = range->low, .high = range->high, .bounded = range->bounded, .block = range->block};

    tree->torn = rep_grow(tree->torn, tree->torns, sizeof *tree->torn);
    tree->torn[tree->torns++] = torn;
}

static void add_hole(struct rep_tree *tree, const struct range *range, uint8_t level, uint32_t block, bool sure)
{
    struct rep_hole hole = {range->low, range->high, range->bounded, sure, false, false, false, level, block};

    tree->hole = rep_grow(tree->hole, tree->holes, sizeof *tree->hole);
    tree->hole[tree->holes++] = hole;
}

static bool in_range(const struct rep_hole *hole, const struct rep_key *key)
{
    return rep_key_compare(key, &hole->low) >= 0 && (!hole->bounded || rep_key_compare(key, &hole->high) < 0);
}

const struct rep_hole *rep_in_hole(const struct rep_tree *tree, const struct rep_key *key, bool open)
{
    for (unsigned i = 0; i < tree->holes; i++) {
        if (!tree->hole[i].records && in_range(&tree->hole[i], key) && ((tree->hole[i].sure && !tree->hole[i].closed) || !open)) {
            return &tree->hole[i];
        }
    }
    return NULL;
}

/* Does a hole have a part in [low, high]? */
static bool touches(const struct rep_hole *hole, const struct rep_key *low, const struct rep_key *high)
{
    return rep_key_compare(&hole->low, high) <= 0 && (!hole->bounded || rep_key_compare(&hole->high, low) > 0);
}

bool rep_torn_between(const struct rep_tree *tree, const struct rep_key *low, const struct rep_key *high)
{
    for (unsigned i = 0; i < tree->torns; i++) {
        if (touches(&tree->torn[i], low, high)) {
            return true;
        }
    }
    return false;
}

const struct rep_hole *rep_hole_between(const struct rep_tree *tree, const struct rep_key *low, const struct rep_key *high)
{
    for (unsigned i = 0; i < tree->holes; i++) {
        const struct rep_hole *hole = &tree->hole[i];
        if (!hole->closed && !hole->guess && touches(hole, low, high)) {
            return hole;
        }
    }
    return NULL;
}

/* ---- down from a node ---------------------------------------------------------------------------- */

static int by_key(const void *a, const void *b)
{
    const struct rep_entry *left = *(const struct rep_entry *const *)a, *right = *(const struct rep_entry *const *)b;
    int order = rep_key_compare(&left->key, &right->key);

    return order != 0 ? order : (int)right->offset - (int)left->offset; /* the newer one first */
}

/* Blocks that may hold a node of the volume which nothing is known of yet. */
static bool may_be_node(const struct rep_tree *tree, uint32_t block, const bool *owned)
{
    uint32_t volume;

    if (tree->meta->is_meta[block] || tree->role[block] >= REP_FOUND_NODE || (owned != NULL && owned[block]) ||
        rep_head(tree->image, block, 'M', &volume)) {
        return false;
    }
    return rep_head(tree->image, block, 'N', &volume) ? volume == tree->meta->volume : rep_is_log(tree->image, block);
}

/* Were nodes made of this one that hold all that it held? (A cut may have left some of them, and the others not written yet.) */
static bool has_heirs(struct rep_tree *tree, struct rep_node *node, const bool *owned)
{
    unsigned copied = 0;
    bool in_use = false;

    for (uint32_t block = 0; block < tree->image->blocks; block++) {
        bool looked = tree->role[block] >= REP_FOUND_NODE || may_be_node(tree, block, owned);
        if (!looked || block == node->block || tree->meta->state[block] < REP_USED) {
            continue;
        }
        struct rep_node *other = node_at(tree, block);
        unsigned n = other->level == node->level && !other->begun && rep_derived(node, other) == 0 ? rep_derived(other, node) : 0;
        in_use = in_use || (n > 0 && rep_in_use(other, node));
        copied += n;
    }
    return copied > 0 && (tree->replaced[node->block] || copied + (in_use ? REP_CHANGES_MAX : 2u) >= node->entries);
}

/* Is this the node that belongs here? */
static bool fits(struct rep_tree *tree, const struct range *range)
{
    if (range->block >= tree->image->blocks || tree->role[range->block] >= REP_FOUND_NODE || tree->meta->is_meta[range->block]) {
        return false;
    }
    struct rep_node *node = node_at(tree, range->block);
    uint8_t state = tree->meta->state[range->block];
    if (((range->doubtful || tree->meta->clean) && state <= REP_ERASED) || (range->unsure && has_heirs(tree, node, NULL))) {
        return false; /* the record that says what took its place is lost */
    }
    if (node->headed || range->level == REP_NO_LEVEL) {
        return node->headed && (range->level == REP_NO_LEVEL || node->level == range->level);
    }
    uint32_t other;
    if (node->entries + node->deads == 0 || rep_head(tree->image, range->block, 'N', &other) || rep_head(tree->image, range->block, 'M', &other)) {
        return false;
    }
    return node->level == REP_NO_LEVEL ? range->level != 0 : node->level == range->level;
}

static void add_range(struct range **queue, unsigned *count, const struct range *range)
{
    *queue = rep_grow(*queue, *count, sizeof **queue);
    (*queue)[(*count)++] = *range;
}

static void note_replaced(struct rep_tree *tree, const struct rep_node *node)
{
    for (unsigned i = 0; i < node->deads; i++) {
        uint32_t block = rep_child(&node->dead[i]);
        if (block < tree->image->blocks) {
            tree->replaced[block] = true;
        }
    }
}

/* The children of an inner node, each with its part of the node's range. */
static void add_children(struct rep_tree *tree, const struct range *range, const struct rep_node *node, struct range **queue, unsigned *count)
{
    const struct rep_entry **child = rep_alloc(node->entries * sizeof(struct rep_entry *));
    uint8_t level = node->level == REP_NO_LEVEL || node->level == 0 ? REP_NO_LEVEL : (uint8_t)(node->level - 1);
    unsigned n = 0;

    for (unsigned i = 0; i < node->entries; i++) {
        if (node->entry[i].kind == NF2_BODY_CHILD && rep_child(&node->entry[i]) != NF2_NONE) {
            child[n++] = &node->entry[i];
        }
    }
    rep_sort(child, n, sizeof *child, by_key);
    struct range hole = *range;
    hole.bounded = n > 0 || range->bounded;
    hole.high = n > 0 ? child[0]->key : range->high;
    if (n == 0 || rep_key_compare(&child[0]->key, &range->low) > 0) {
        add_hole(tree, &hole, level, NF2_NONE, true);
    }
    for (unsigned i = 0; i < n; i++) {
        struct range part = {rep_child(child[i]), level, child[i]->key, range->high, range->bounded, child[i]->trust > REP_UNSURE || range->doubtful,
                             child[i]->trust > REP_SURE || range->unsure};
        if (i > 0 && rep_key_compare(&child[i]->key, &child[i - 1]->key) == 0) {
            continue;
        }
        if (i + 1 < n) {
            part.high = child[i + 1]->key;
            part.bounded = true;
        }
        add_range(queue, count, &part);
    }
    if (node->lost > 0) {
        add_hole(tree, range, level, NF2_NONE, false);
    }
    note_replaced(tree, node);
    free(child);
}

/* All below a node gets a role; what is not there is a hole. */
static void descend(struct rep_tree *tree, const struct range *start, enum rep_role role)
{
    struct range *queue = NULL;
    unsigned count = 0;

    add_range(&queue, &count, start);
    for (unsigned i = 0; i < count; i++) {
        struct range range = queue[i];
        if (!fits(tree, &range)) {
            add_hole(tree, &range, range.level, range.block, true);
            continue;
        }
        struct rep_node *node = node_at(tree, range.block);
        tree->role[range.block] = (uint8_t)role;
        tree->doubt[range.block] = range.doubtful ? REP_DOUBTFUL : range.unsure ? REP_UNSURE : REP_SURE;
        if (!node->headed && range.level != REP_NO_LEVEL) {
            node->level = range.level;
        }
        if (node->level != 0) {
            add_children(tree, &range, node, &queue, &count);
        } else if (node->lost > 0) {
            add_hole(tree, &range, 0, range.block, false);
            tree->hole[tree->holes - 1].records = true;
        }
        if (node->level == 0 && node->log.losts > node->lost) {
            add_torn(tree, &range);
        }
    }
    free(queue);
}

/* ---- the root ------------------------------------------------------------------------------------ */

/* Does it say that data lie where there is a node or a meta block now? Then it is older than that. */
static bool overtaken(const struct rep_tree *tree, const struct rep_node *node)
{
    for (unsigned i = 0; i < node->entries; i++) {
        const struct rep_entry *entry = &node->entry[i];
        uint32_t start = entry->kind == NF2_BODY_OWN ? rep_number(&entry->key) : 0, count = entry->kind == NF2_BODY_OWN && entry->body_length >= 3 ? nf2_get16(entry->body + 1) : 0;
        for (uint32_t at = 5; entry->kind == NF2_BODY_FLAT ? at + 5 <= entry->body_length : at == 5; at += 5) {
            if (entry->kind == NF2_BODY_FLAT) {
                start = nf2_get24(entry->body + at);
                count = nf2_get16(entry->body + at + 3);
            }
            for (uint32_t block = start; block < start + count; block++) {
                uint32_t volume;
                if (block >= tree->image->blocks || ((rep_head(tree->image, block, 'N', &volume) || rep_head(tree->image, block, 'M', &volume)) && volume == tree->meta->volume)) {
                    return true;
                }
            }
        }
    }
    return false;
}

/* Does something say that the node was given up, besides the meta log? */
static bool looks_old(struct rep_tree *tree, struct rep_node *node, const bool *owned)
{
    return overtaken(tree, node) || has_heirs(tree, node, owned); /* a block that was replaced may hold another node since */
}

/* Was a node that nothing leads to given up? */
static bool given_up(struct rep_tree *tree, struct rep_node *node, const bool *owned)
{
    uint8_t state = tree->meta->state[node->block];

    if (state != REP_USED && state != REP_UNKNOWN && (tree->meta->whole || tree->meta->rooted)) {
        return true;
    }
    return !(tree->meta->clean && state == REP_USED) && looks_old(tree, node, owned);
}

/* Children of an inner node that are not there, or were given up. */
static unsigned bad_children(struct rep_tree *tree, struct rep_node *node)
{
    unsigned bad = node->lost;

    for (unsigned i = 0; i < node->entries; i++) {
        uint32_t child = rep_child(&node->entry[i]);
        bad += child >= tree->image->blocks || !may_be_node(tree, child, NULL) || node_at(tree, child)->level + 1 != node->level ||
               looks_old(tree, node_at(tree, child), NULL);
    }
    return bad;
}

/* How well a node would do as the root: 0 not at all. */
static unsigned fitness(struct rep_tree *tree, uint32_t block)
{
    const struct rep_meta *meta = tree->meta;
    unsigned named = 0, bad = 0;

    while (named < meta->roots && meta->root[named] != block) {
        named++;
    }
    struct rep_node *node = may_be_node(tree, block, NULL) ? node_at(tree, block) : NULL;
    if (node == NULL || !node->headed || looks_old(tree, node, NULL)) {
        return 0;
    }
    if (node->level > 0) {
        bad = nf2_min(bad_children(tree, node), 15);
        if (bad >= node->entries) {
            return 0;
        }
    }
    return ((node->level + 1u) * 16u + 15u - bad) * (REP_ROOTS_MAX + 1u) + (named == meta->roots ? 0 : REP_ROOTS_MAX - named);
}

/* Was `node` put in the place of a root, or above it? All of what that held is there too. */
static bool succeeds(struct rep_tree *tree, struct rep_node *node, struct rep_node *root)
{
    if (!node->headed || (node->level != root->level && node->level != root->level + 1)) {
        return false;
    }
    if (node->level == root->level) {
        return !node->begun && rep_in_use(node, root) && rep_derived(root, node) == 0 && rep_derived(node, root) + REP_CHANGES_MAX >= nf2_max(root->entries, REP_CHANGES_MAX + 1u);
    }
    bool leads_on = false, in_use = false; /* what is not in use yet holds nothing else, and nobody may have come to make it the root */
    for (unsigned i = 0; i < node->entries && bad_children(tree, node) == 0; i++) {
        struct rep_node *child = node_at(tree, rep_child(&node->entry[i]));
        leads_on = leads_on || child == root || rep_derived(child, root) > 0;
        in_use = in_use || (child != root && rep_in_use(child, root));
    }
    return leads_on && in_use;
}

/* The root that a state names may not be the last one, where the volume was not left properly. */
static uint32_t last_root(struct rep_tree *tree, uint32_t root)
{
    for (uint32_t turn = 0; turn < tree->image->blocks; turn++) {
        uint32_t next = root;
        for (uint32_t block = 0; block < tree->image->blocks && next == root; block++) {
            if (block != root && tree->meta->state[block] == REP_USED && may_be_node(tree, block, NULL) &&
                succeeds(tree, node_at(tree, block), tree->node[root])) {
                next = block;
            }
        }
        if (next == root) {
            break;
        }
        root = next;
    }
    return root;
}

/*
 * The root as the meta log has it. Where that is damaged, the highest node that was not given up and whose children are there; if
 * there are several, none.
 */
static uint32_t find_root(struct rep_tree *tree)
{
    struct rep_meta *meta = tree->meta;
    struct range range = {meta->roots > 0 ? meta->root[0] : NF2_NONE, REP_NO_LEVEL, lowest, lowest, false, false, false};
    uint32_t best = NF2_NONE;
    unsigned most = 0, equals = 0;

    if (!meta->outdated && fits(tree, &range)) {
        return meta->clean ? range.block : last_root(tree, range.block);
    }
    bool lost = range.block < tree->image->blocks && !rep_is_log(tree->image, range.block) && tree->meta->state[range.block] == REP_USED;
    if (meta->whole || lost) {
        return NF2_NONE; /* what is below it is found by its blocks */
    }
    for (uint32_t block = 0; block < tree->image->blocks; block++) {
        unsigned fit = fitness(tree, block);
        equals = fit > most ? 1 : equals + (fit == most);
        best = fit > most ? block : best;
        most = fit > most ? fit : most;
    }
    return most > 0 && equals == 1 ? best : NF2_NONE;
}

static void find_tree(struct rep_tree *tree)
{
    struct range all = {NF2_NONE, REP_NO_LEVEL, lowest, lowest, false, false, false};

    tree->node = rep_alloc(tree->image->blocks * sizeof *tree->node);
    tree->role = rep_alloc(tree->image->blocks);
    tree->doubt = rep_alloc(tree->image->blocks);
    tree->replaced = rep_alloc(tree->image->blocks * sizeof *tree->replaced);
    tree->root = find_root(tree);
    all.block = tree->root != NF2_NONE ? tree->root : tree->meta->whole && tree->meta->roots > 0 ? tree->meta->root[0] : NF2_NONE;
    descend(tree, &all, REP_TREE_NODE);
    if (!tree->meta->rooted && tree->root != NF2_NONE) {
        add_hole(tree, &all, REP_NO_LEVEL, NF2_NONE, false);
        tree->hole[tree->holes - 1].guess = true;
    }
}

/* Is it a root above the one that is known, of which a part went into a node below it? */
static bool outgrows(struct rep_tree *tree, struct rep_node *node)
{
    struct rep_node *root = tree->root != NF2_NONE ? tree->node[tree->root] : NULL;
    bool leads_on = false;

    if (root == NULL || node->begun || node->level != root->level + 1 || bad_children(tree, node) > 0) {
        return false;
    }
    for (unsigned i = 0; i < node->entries && !leads_on; i++) {
        leads_on = rep_surely_derived(node_at(tree, rep_child(&node->entry[i])), root);
    }
    return leads_on;
}

/* Does a node name an id that was never given, or a batch that was never committed, as far as the meta log knows? */
static bool knows_more(const struct rep_meta *meta, const struct rep_node *node)
{
    bool more = meta->next_id != 0 && node->last_id >= meta->next_id;

    for (unsigned i = 0; i < node->marks; i++) {
        more = more || (node->mark[i] != 0 && node->mark[i] - meta->redo_sequence - 1u < 0x7FFFFFFFu);
    }
    return node->headed && more;
}

/* Are there nodes that the meta log knows nothing of: with later ids, of a later session, or made of nodes of the tree in blocks that are free for it? */
static bool outgrown(struct rep_tree *tree)
{
    uint16_t epoch = tree->image->epoch;

    for (uint32_t block = 0; block < tree->image->blocks; block++) {
        bool known = tree->role[block] != REP_NONE || may_be_node(tree, block, NULL);
        if (known && knows_more(tree->meta, node_at(tree, block))) {
            return true;
        }
        if (tree->meta->state[block] > REP_ERASED || !may_be_node(tree, block, NULL)) {
            continue;
        }
        struct rep_node *node = node_at(tree, block);
        for (unsigned i = 0; i < node->log.records && node->headed; i++) {
            if (nf2_epochs_between(epoch, node->log.record[i].epoch) - 1u < 0x7FEu) {
                return true;
            }
        }
        const struct rep_record *last = node->log.records > 0 ? &node->log.record[node->log.records - 1] : NULL;
        if (tree->meta->whole && last != NULL && nf2_epochs_between(last->epoch, epoch) - 1u < 0x7FFu) {
            continue; /* of a session that was cut: the mount that followed has freed it */
        }
        if (node->headed && outgrows(tree, node)) {
            return true;
        }
        for (uint32_t other = 0; other < tree->image->blocks && node->headed; other++) {
            struct rep_node *older = tree->role[other] == REP_TREE_NODE ? tree->node[other] : NULL;
            if (older != NULL && older->level == node->level && !node->begun && rep_surely_derived(node, older)) {
                return true;
            }
        }
    }
    return false;
}

void rep_tree_find(struct rep_image *image, struct rep_meta *meta, struct rep_tree *tree)
{
    memset(tree, 0, sizeof *tree);
    tree->image = image;
    tree->meta = meta;
    find_tree(tree);
    if (!meta->outdated && outgrown(tree)) {
        rep_tree_free(tree);
        tree->image = image;
        tree->meta = meta;
        rep_meta_distrust(image, meta);
        find_tree(tree);
    }
}

/* ---- what nothing leads to ----------------------------------------------------------------------- */

static bool has_key_in(const struct rep_node *node, const struct rep_hole *hole)
{
    for (unsigned i = 0; i < node->entries; i++) {
        if (in_range(hole, &node->entry[i].key)) {
            return true;
        }
    }
    return false;
}

/* Does a block hold nothing of what the entry says? */
static bool refutes(struct rep_tree *tree, const struct rep_entry *entry)
{
    struct rep_frames frames;
    uint32_t block = NF2_NONE;
    bool refuted = false;

    if (entry->kind == NF2_BODY_FRAMES && entry->body_length >= 8) {
        rep_frames_read(tree->image, entry->key.id, nf2_get24(entry->body + 1), nf2_get32(entry->body + 4), &frames);
        refuted = frames.frames == 0;
        rep_frames_free(&frames);
    } else if (entry->kind == NF2_BODY_PIECE && entry->body_length >= 10 && nf2_get32(entry->body + 6) > 0) {
        block = nf2_get24(entry->body + 1);
    } else if (entry->kind == NF2_BODY_FLAT && entry->body_length >= 10 && nf2_get32(entry->body + 1) > 0) {
        block = nf2_get24(entry->body + 5);
    }
    return refuted || (block < tree->image->blocks && rep_blank(rep_block(tree->image, block), tree->image->block_size));
}

static void count_refuted(struct rep_tree *tree, const bool *owned)
{
    for (uint32_t block = 0; block < tree->image->blocks && !tree->meta->clean; block++) {
        if (may_be_node(tree, block, owned)) {
            struct rep_node *node = node_at(tree, block);
            node->refuted = 0;
            for (unsigned i = 0; i < node->entries; i++) {
                node->refuted += refutes(tree, &node->entry[i]);
            }
        }
    }
}

/* Was the node made of one of the tree? */
static bool is_heir(const struct rep_tree *tree, struct rep_node *node)
{
    for (uint32_t block = 0; block < tree->image->blocks; block++) {
        const struct rep_node *older = tree->role[block] == REP_TREE_NODE ? tree->node[block] : NULL;
        if (older != NULL && older->level == node->level && rep_derived(node, older) > 0) {
            return true;
        }
    }
    return false;
}

/* The same, or does it lead to such a node? */
static bool may_follow(struct rep_tree *tree, struct rep_node *node)
{
    bool follows = is_heir(tree, node);

    for (unsigned i = 0; i < node->entries && !follows; i++) {
        uint32_t child = rep_child(&node->entry[i]);
        follows = child < tree->image->blocks && may_be_node(tree, child, NULL) && is_heir(tree, node_at(tree, child));
    }
    return follows;
}

void rep_tree_strays(struct rep_tree *tree, const bool *owned)
{
    struct range all = {NF2_NONE, REP_NO_LEVEL, lowest, lowest, false, false, false};
    bool stray = false;

    for (uint32_t block = 0; block < tree->image->blocks && tree->meta->clean; block++) {
        stray = stray || (tree->meta->state[block] == REP_USED && !tree->meta->is_idle[block] && may_be_node(tree, block, owned) &&
                          node_at(tree, block)->headed);
    }
    if (stray) {
        add_hole(tree, &all, REP_NO_LEVEL, NF2_NONE, false);
    }
}

void rep_tree_fill(struct rep_tree *tree, const bool *owned, bool headless)
{
    count_refuted(tree, owned);
    for (int level = NF2_NODE_LEVELS; level >= 0 && tree->holes > 0; level--) {
        unsigned holes = tree->holes; /* descending finds more of them */
        for (uint32_t block = 0; block < tree->image->blocks; block++) {
            if (!may_be_node(tree, block, owned)) {
                continue;
            }
            struct rep_node *node = node_at(tree, block);
            bool here = (node->headed || headless) && (level == NF2_NODE_LEVELS ? node->level == REP_NO_LEVEL : node->level == level);
            for (unsigned i = 0; i < holes && here; i++) {
                const struct rep_hole *hole = &tree->hole[i];
                if (hole->records || (hole->level != REP_NO_LEVEL && node->level != REP_NO_LEVEL && node->level > hole->level) || !has_key_in(node, hole)) {
                    continue;
                }
                if (hole->guess && tree->meta->whole && (node->begun || !may_follow(tree, node))) {
                    continue; /* the meta log names the root: only what may have taken its place is looked at */
                }
                if (given_up(tree, node, owned)) {
                    tree->role[block] = REP_COPY_NODE;
                } else {
                    struct range range = {block, node->level, hole->low, hole->high, hole->bounded, false, false};
                    descend(tree, &range, REP_FOUND_NODE);
                }
                here = false;
            }
        }
    }
}

void rep_tree_copies(struct rep_tree *tree, const bool *owned)
{
    for (uint32_t block = 0; block < tree->image->blocks && tree->holes > 0; block++) {
        if (may_be_node(tree, block, owned)) {
            const struct rep_node *node = node_at(tree, block);
            for (unsigned i = 0; i < tree->holes && tree->role[block] == REP_NONE && node->level == 0; i++) {
                tree->role[block] = tree->hole[i].sure && !tree->hole[i].closed && has_key_in(node, &tree->hole[i]) ? REP_COPY_NODE : REP_NONE;
            }
        }
    }
}

void rep_tree_free(struct rep_tree *tree)
{
    for (uint32_t block = 0; tree->node != NULL && block < tree->image->blocks; block++) {
        if (tree->node[block] != NULL) {
            rep_node_free(tree->node[block]);
            free(tree->node[block]);
        }
    }
    free(tree->node);
    free(tree->role);
    free(tree->doubt);
    free(tree->replaced);
    free(tree->hole);
    free(tree->torn);
    memset(tree, 0, sizeof *tree);
}
