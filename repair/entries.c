/* SPDX-License-Identifier: BSD-2-Clause */
#include "entries.h"

#include <stdlib.h>
#include <string.h>

#include "core.h"
#include "frames_read.h"
#include "index.h"
#include "node.h"

#define RUNS_MAX 8u

/* ---- collecting ---------------------------------------------------------------------------------- */

static void add(struct rep_entries *entries, const struct rep_entry *entry)
{
    entries->entry = rep_grow(entries->entry, entries->count, sizeof *entries->entry);
    entries->entry[entries->count++] = *entry;
}

static void note_removed(struct rep_entries *entries, uint32_t id)
{
    if (id != 0) {
        entries->removed = rep_grow(entries->removed, entries->removeds, sizeof *entries->removed);
        entries->removed[entries->removeds++] = id;
    }
}

static void take_node(struct rep_tree *tree, struct rep_entries *entries, const struct rep_node *node, enum rep_role role)
{
    for (unsigned i = 0; i < node->entries; i++) {
        struct rep_entry entry = node->entry[i];
        const struct rep_hole *hole = role == REP_TREE_NODE ? NULL : rep_in_hole(tree, &entry.key, role == REP_COPY_NODE);
        if (entry.kind == NF2_BODY_CHILD || entry.key.id == 0 || (role != REP_TREE_NODE && hole == NULL)) {
            continue;
        }
        entry.other = hole != NULL && hole->guess;
        entry.rank = role == REP_TREE_NODE ? REP_RANK_TREE : role == REP_COPY_NODE ? REP_RANK_COPY : node->headed ? REP_RANK_FOUND : REP_RANK_HEADLESS;
        enum rep_trust least = role == REP_COPY_NODE ? REP_COPY : tree->meta->whole && !tree->meta->open ? REP_SURE : tree->root == NF2_NONE && !tree->meta->whole ? REP_DOUBTFUL : REP_UNSURE;
        entry.trust = (uint8_t)nf2_max(entry.trust, tree->meta->clean ? REP_SURE : tree->doubt[node->block]); /* clean: blocks in use belong to the tree */
        entry.trust = (uint8_t)nf2_max(entry.trust, role == REP_FOUND_NODE && !(node->headed && tree->meta->clean) ? REP_DOUBTFUL : least);
        add(entries, &entry);
    }
    for (unsigned i = 0; i < node->deads && role != REP_COPY_NODE; i++) {
        if (node->dead[i].kind == NF2_BODY_INDEXED && node->dead[i].type != NF2_NODE_MOV && node->dead[i].type != NF2_NODE_REN) {
            note_removed(entries, rep_body_id(&node->dead[i]));
        }
    }
}

static int by_key_and_rank(const void *a, const void *b)
{
    const struct rep_entry *left = a, *right = b;
    int order = rep_key_compare(&left->key, &right->key);

    if (order == 0) {
        order = (int)right->rank - (int)left->rank;
    }
    if (order == 0 && left->node != right->node) {
        return left->node < right->node ? -1 : 1;
    }
    return order != 0 ? order : (int)right->offset - (int)left->offset;
}

bool rep_entry_newer(const struct rep_tree *tree, const struct rep_entry *a, const struct rep_entry *b)
{
    return !a->batch && !b->batch && a->node != b->node && rep_newer(tree->node[a->node], tree->node[b->node]);
}

/* Of two entries of equal rank in different nodes the one of the newer node counts. */
static bool better(const struct rep_tree *tree, const struct rep_entry *a, const struct rep_entry *b)
{
    return a->rank == b->rank && rep_entry_newer(tree, a, b); /* else they are in this order */
}

/* Is there proof of that? */
static bool surely_better(const struct rep_tree *tree, const struct rep_entry *a, const struct rep_entry *b)
{
    return rep_derived(tree->node[a->node], tree->node[b->node]) > 0 && rep_derived(tree->node[b->node], tree->node[a->node]) == 0;
}

static bool same_body(const struct rep_entry *a, const struct rep_entry *b)
{
    return a->body_length == b->body_length && (a->body_length == 0 || memcmp(a->body, b->body, a->body_length) == 0);
}

/* One entry of each key is left, and of names what may be newer as well. */
static void settle(const struct rep_tree *tree, struct rep_entries *entries)
{
    struct rep_entry *all = entries->entry;
    unsigned kept = 0;

    rep_sort(all, entries->count, sizeof *all, by_key_and_rank);
    for (unsigned i = 0, next; i < entries->count; i = next) {
        unsigned best = i;
        for (next = i + 1; next < entries->count && rep_key_compare(&all[next].key, &all[i].key) == 0; next++) {
            best = better(tree, &all[next], &all[best]) ? next : best;
        }
        struct rep_entry first = all[best];
        all[best] = all[i];
        all[i] = first;
        unsigned at = kept;
        all[kept++] = first;
        for (unsigned j = i + 1; j < next; j++) {
            struct rep_entry other = all[j];
            bool equal = (other.rank == first.rank || other.other) && other.node != first.node && (other.kind >= NF2_BODY_PIECE || !same_body(&other, &first));
            if (equal && !surely_better(tree, &first, &other)) {
                all[at].trust = (uint8_t)nf2_max(all[at].trust, other.other ? REP_UNSURE : REP_DOUBTFUL);
                other.other = true;
                other.trust = REP_COPY;
                all[kept++] = other;
            }
        }
    }
    entries->count = kept;
}

unsigned rep_entries_seek(const struct rep_entries *entries, const struct rep_key *key)
{
    unsigned low = 0, high = entries->count;

    while (low < high) {
        unsigned middle = (low + high) / 2;
        if (rep_key_compare(&entries->entry[middle].key, key) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

unsigned rep_entries_of(const struct rep_entries *entries, uint32_t id, unsigned *end)
{
    static const uint8_t nothing[1] = {0};
    struct rep_key first = {id, nothing, 0}, behind = {id + 1, nothing, 0};

    *end = id == NF2_NONE ? entries->count : rep_entries_seek(entries, &behind);
    return rep_entries_seek(entries, &first);
}

bool rep_is_removed(const struct rep_tree *tree, const struct rep_entries *entries, uint32_t id, bool named)
{
    for (unsigned i = 0; i < tree->meta->orphans && !(named && !tree->meta->clean); i++) {
        if (tree->meta->orphan[i] == id) {
            return true;
        }
    }
    for (unsigned i = 0; i < entries->removeds; i++) {
        if (entries->removed[i] == id) {
            return true;
        }
    }
    return false;
}

/* ---- blocks -------------------------------------------------------------------------------------- */

unsigned rep_entry_runs(const struct rep_entry *entry, struct rep_run *runs)
{
    unsigned count = 0;

    if (entry->kind == NF2_BODY_FLAT) {
        for (uint32_t at = 5; at + 5 <= entry->body_length && count < RUNS_MAX; at += 5) {
            runs[count].start = nf2_get24(entry->body + at);
            runs[count++].count = nf2_get16(entry->body + at + 3);
        }
    } else if (entry->kind == NF2_BODY_OWN && entry->body_length >= 3) {
        runs[count].start = rep_number(&entry->key);
        runs[count++].count = nf2_get16(entry->body + 1);
    }
    return count;
}

void rep_entries_own(const struct rep_tree *tree, const struct rep_entries *entries, bool *owned)
{
    struct rep_run runs[RUNS_MAX];

    for (unsigned i = 0; i < entries->count; i++) {
        unsigned count = rep_entry_runs(&entries->entry[i], runs);
        for (unsigned j = 0; j < count && entries->entry[i].rank > REP_RANK_COPY; j++) {
            for (uint32_t block = runs[j].start; block < runs[j].start + runs[j].count && block < tree->image->blocks; block++) {
                owned[block] = true;
            }
        }
    }
}

/* ---- a batch ------------------------------------------------------------------------------------- */

static uint8_t *keep(struct rep_entries *entries, const uint8_t *bytes, uint32_t length)
{
    uint8_t *copy = rep_alloc(length);

    memcpy(copy, bytes, length);
    entries->memory = rep_grow(entries->memory, entries->memories, sizeof *entries->memory);
    entries->memory[entries->memories++] = copy;
    return copy;
}

static void remove_at(struct rep_entries *entries, unsigned at)
{
    entries->count--;
    memmove(&entries->entry[at], &entries->entry[at + 1], (entries->count - at) * sizeof *entries->entry);
}

/* The value under the key is this one from now on. */
static void put(struct rep_entries *entries, const struct rep_entry *entry)
{
    unsigned at = rep_entries_seek(entries, &entry->key);

    if (at < entries->count && rep_key_compare(&entries->entry[at].key, &entry->key) == 0) {
        entries->entry[at] = *entry;
        return;
    }
    add(entries, entry);
    memmove(&entries->entry[at + 1], &entries->entry[at], (entries->count - 1 - at) * sizeof *entries->entry);
    entries->entry[at] = *entry;
}

/* A mapping entry like this one, at another offset. `length`: of a piece. */
static struct rep_entry moved(struct rep_entries *entries, const struct rep_tree *tree, const struct rep_entry *entry, uint32_t from, uint32_t length)
{
    struct rep_entry part = *entry;
    uint8_t *key = keep(entries, entry->key.bytes, 5), *body = keep(entries, entry->body, entry->body_length);
    uint32_t skip = from - rep_number(&entry->key);

    key[1] = (uint8_t)(from >> 24);
    key[2] = (uint8_t)(from >> 16);
    key[3] = (uint8_t)(from >> 8);
    key[4] = (uint8_t)from;
    part.key.bytes = key;
    part.body = body;
    if (entry->kind == NF2_BODY_PIECE) {
        uint32_t block = nf2_get24(body + 1), within = nf2_get16(body + 4) + skip;
        if (block != NF2_NO_BLOCK) {
            nf2_put24(body + 1, block + within / tree->image->block_size);
            nf2_put16(body + 4, within % tree->image->block_size);
        }
        nf2_put32(body + 6, length);
    }
    return part;
}

static uint32_t mapping_end(const struct rep_tree *tree, const struct rep_entry *entry)
{
    if (entry->kind == NF2_BODY_PIECE && entry->body_length == NF2_PIECE_BODY) {
        return rep_number(&entry->key) + nf2_get32(entry->body + 6);
    }
    if (entry->kind == NF2_BODY_FRAMES && entry->body_length == NF2_FRAMES_BODY) {
        struct rep_frames frames;
        rep_frames_read(tree->image, entry->key.id, nf2_get24(entry->body + 1), nf2_get32(entry->body + 4), &frames);
        uint32_t end = nf2_get32(entry->body + 4) + frames.end;
        rep_frames_free(&frames);
        return nf2_max(end, rep_number(&entry->key));
    }
    return rep_number(&entry->key);
}

/* Takes [from, to) out of the map of a file. */
static void clear_map(struct rep_entries *entries, const struct rep_tree *tree, uint32_t id, uint32_t from, uint32_t to)
{
    unsigned end;

    for (unsigned i = rep_entries_of(entries, id, &end); i < end; i++) {
        struct rep_entry entry = entries->entry[i];
        uint32_t at = rep_number(&entry.key), behind = mapping_end(tree, &entry);
        if (entry.key.length != 5 || entry.key.bytes[0] != NF2_INDEX_MAP || entry.kind < NF2_BODY_PIECE || at >= to) {
            continue;
        }
        if (i + 1 < end && entries->entry[i + 1].key.length == 5 && entries->entry[i + 1].key.bytes[0] == NF2_INDEX_MAP) {
            behind = nf2_min(behind, rep_number(&entries->entry[i + 1].key));
        }
        if (behind > to) {
            struct rep_entry rest = moved(entries, tree, &entry, to, behind - to);
            put(entries, &rest);
        }
        if (at >= from) {
            remove_at(entries, i);
            i--;
        } else if (behind > from && entry.kind == NF2_BODY_PIECE) {
            entries->entry[i] = moved(entries, tree, &entry, at, from - at);
        }
        (void)rep_entries_of(entries, id, &end);
    }
}

static void apply(struct rep_entries *entries, const struct rep_tree *tree, const struct rep_entry *op)
{
    struct rep_entry entry = *op;
    bool mapping = op->key.length == 5 && op->key.bytes[0] == NF2_INDEX_MAP;
    uint32_t at = rep_number(&op->key);

    entry.batch = true;
    entry.rank = REP_RANK_TREE;
    entry.trust = tree->holes > 0 ? REP_DOUBTFUL : REP_SURE; /* it may have been applied, and changed since, in what is lost */
    if (op->type == NF2_NODE_PUT && mapping) {
        clear_map(entries, tree, op->key.id, at, op->kind == NF2_BODY_PIECE ? mapping_end(tree, op) : at);
        put(entries, &entry);
    } else if (op->type == NF2_NODE_PUT) {
        put(entries, &entry);
    } else if (mapping) { /* the file ends here: an empty piece says so */
        static const uint8_t end[NF2_PIECE_BODY] = {NF2_BODY_PIECE, 0xFF, 0xFF, 0xFF};
        clear_map(entries, tree, op->key.id, at, NF2_NONE);
        entry.body = keep(entries, end, sizeof end);
        entry.body_length = sizeof end;
        entry.kind = NF2_BODY_PIECE;
        put(entries, &entry);
    } else {
        unsigned i = rep_entries_seek(entries, &op->key);
        if (i < entries->count && rep_key_compare(&entries->entry[i].key, &op->key) == 0) {
            note_removed(entries, op->type == NF2_NODE_PUTK ? rep_body_id(&entries->entry[i]) : 0);
            remove_at(entries, i);
        }
    }
}

/* Does a node carry the mark of the last batch, or of a later one? */
static bool is_applied(const struct rep_tree *tree)
{
    for (uint32_t block = 0; block < tree->image->blocks; block++) {
        const struct rep_node *node = tree->role[block] >= REP_FOUND_NODE ? tree->node[block] : NULL;
        for (unsigned i = 0; node != NULL && i < node->marks; i++) {
            if (node->mark[i] - tree->meta->redo_sequence < 0x80000000u && node->mark[i] != 0) {
                return true;
            }
        }
    }
    return false;
}

/* Does the file own the block of a piece that the batch puts? It did when the batch was committed. */
static bool owns_piece(const struct rep_entries *entries, const struct rep_entry *op)
{
    uint32_t block = op->kind == NF2_BODY_PIECE && op->body_length >= NF2_PIECE_BODY ? nf2_get24(op->body + 1) : NF2_NO_BLOCK;
    unsigned end, first = rep_entries_of(entries, op->key.id, &end);
    bool owned = block == NF2_NO_BLOCK;

    for (unsigned i = first; i < end && !owned; i++) {
        const struct rep_entry *entry = &entries->entry[i];
        owned = entry->kind == NF2_BODY_OWN && entry->body_length >= 3 && block - rep_number(&entry->key) < nf2_get16(entry->body + 1);
    }
    for (unsigned i = 0; i < entries->batches; i++) {
        for (unsigned j = 0; j < entries->batch[i].mades && !owned; j++) {
            const struct rep_entry *other = &entries->batch[i].made[j];
            owned = other->kind == NF2_BODY_OWN && other->key.id == op->key.id && other->body_length >= 3 &&
                    block - rep_number(&other->key) < nf2_get16(other->body + 1);
        }
    }
    return owned;
}

static void apply_batch(struct rep_tree *tree, struct rep_entries *entries)
{
    uint32_t block = tree->meta->redo_block;

    if (block >= tree->image->blocks || !tree->meta->whole || is_applied(tree)) {
        return;
    }
    entries->batch = rep_alloc(tree->image->blocks * sizeof *entries->batch);
    while (block < tree->image->blocks && entries->batches < tree->image->blocks) {
        block = rep_batch_read(tree->image, block, &entries->batch[entries->batches++]);
    }
    for (unsigned i = 0; i < entries->batches && tree->holes == 0; i++) {
        for (unsigned j = 0; j < entries->batch[i].mades; j++) {
            if (!owns_piece(entries, &entries->batch[i].made[j])) {
                return; /* it is over, and more happened since */
            }
        }
    }
    for (unsigned i = 0; i < entries->batches; i++) {
        for (unsigned j = 0; j < entries->batch[i].mades; j++) {
            apply(entries, tree, &entries->batch[i].made[j]);
        }
        entries->batch_lost += entries->batch[i].lost + (entries->batch[i].mades == 0);
    }
    for (unsigned i = 0; i < entries->count && entries->batch_lost > 0; i++) { /* any of them may have been replaced or removed by it */
        entries->entry[i].trust = (uint8_t)nf2_max(entries->entry[i].trust, REP_UNSURE);
    }
}

/* ---- all ----------------------------------------------------------------------------------------- */

void rep_entries_collect(struct rep_tree *tree, struct rep_entries *entries)
{
    memset(entries, 0, sizeof *entries);
    for (uint32_t block = 0; block < tree->image->blocks; block++) {
        if (tree->role[block] != REP_NONE && tree->node[block] != NULL) {
            take_node(tree, entries, tree->node[block], (enum rep_role)tree->role[block]);
        }
    }
    settle(tree, entries);
    apply_batch(tree, entries);
}

void rep_entries_free(struct rep_entries *entries)
{
    for (unsigned i = 0; i < entries->memories; i++) {
        free(entries->memory[i]);
    }
    for (unsigned i = 0; i < entries->batches; i++) {
        rep_node_free(&entries->batch[i]);
    }
    free(entries->memory);
    free(entries->batch);
    free(entries->entry);
    free(entries->removed);
    memset(entries, 0, sizeof *entries);
}

/* ---- the map of a file --------------------------------------------------------------------------- */

static bool has_map(const struct rep_node *node, uint32_t id)
{
    for (unsigned i = 0; i < node->entries; i++) {
        if (node->entry[i].key.id == id && node->entry[i].kind >= NF2_BODY_PIECE) {
            return true;
        }
    }
    return false;
}

unsigned rep_map_of(const struct rep_tree *tree, const struct rep_entries *entries, uint32_t id, uint32_t leaf, const struct rep_entry **map)
{
    unsigned end, first = rep_entries_of(entries, id, &end), count = 0;
    uint32_t *used = rep_alloc((end - first + 1) * sizeof *used);
    unsigned nodes = 0;
    uint8_t best = 0;

    for (unsigned i = first; i < end; i++) {
        best = (uint8_t)nf2_max(best, entries->entry[i].rank);
    }

    if (leaf < tree->image->blocks && tree->node[leaf] != NULL && has_map(tree->node[leaf], id)) {
        used[nodes++] = leaf;
    }
    for (unsigned pass = 0; pass < 2; pass++) { /* the best entries of each key say which nodes count; those that overlap them do not */
        for (unsigned i = first; i < end; i++) {
            const struct rep_entry *entry = &entries->entry[i];
            const struct rep_node *node = entry->batch ? NULL : tree->node[entry->node];
            bool counts = node == NULL, known = node == NULL;
            if (entry->rank == REP_RANK_COPY && best > REP_RANK_COPY) { /* what is older fills no gaps */
                continue;
            }
            for (unsigned j = 0; j < nodes && !known; j++) {
                counts = used[j] == entry->node;
                known = counts || rep_overlap(node, tree->node[used[j]]);
            }
            if (!known && !(pass == 0 && entry->other)) {
                used[nodes++] = entry->node;
                counts = true;
            }
            if (pass == 1 && counts && (count == 0 || rep_key_compare(&map[count - 1]->key, &entry->key) != 0)) {
                map[count++] = entry;
            }
        }
    }
    free(used);
    return count;
}
