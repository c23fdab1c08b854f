/* SPDX-License-Identifier: BSD-2-Clause */
#include "tree.h"

#include "cache.h"
#include "flash.h"
#include "group.h"
#include "ids.h"
#include "space.h"
#include "split.h"

#define TRIES 12u               /* replacements of nodes that one change may need */

/* ---- look-up ------------------------------------------------------------------------------------- */

int nf2_tree_find(nf2_t *fs, const struct nf2_key *key, struct nf2_entry *entry)
{
    struct nf2_path path;
    int found = nf2_cache_find(fs, NF2_NONE, key, entry); /* a key is in one leaf at most: no need to know which */

    if (found == 0) {
        NF2_TRY(nf2_tree_descend(fs, key, &path));
        found = nf2_node_find(fs, path.node[path.depth - 1], key, entry);
    }
    if (found <= 0) {
        return found;
    }
    NF2_TRY(nf2_entry_body(fs, entry));
    return 1;
}

int nf2_tree_seek(nf2_t *fs, const struct nf2_key *key, enum nf2_seek seek, struct nf2_entry *entry)
{
    bool below = seek == NF2_BELOW || seek == NF2_AT_OR_BELOW;
    struct nf2_path path;
    int found, moved = 1;

    NF2_TRY(nf2_tree_descend(fs, key, &path));
    do { /* what the key's leaf lacks is in the next ones */
        found = nf2_node_seek(fs, path.node[path.depth - 1], key, seek, entry);
        moved = found == 0 ? nf2_tree_neighbour(fs, &path, below ? NF2_BELOW : NF2_ABOVE) : 0;
    } while (moved > 0);
    NF2_TRY(found > 0 ? nf2_entry_body(fs, entry) : moved);
    return found;
}

/* ---- changes in one leaf ------------------------------------------------------------------------ */

void nf2_tree_apply_effects(nf2_t *fs, const struct nf2_effects *effects)
{
    for (unsigned i = 0; i < effects->dropped.runs; i++) {
        nf2_space_free(fs, effects->dropped.run[i].start, effects->dropped.run[i].count);
    }
    for (unsigned i = 0; i < effects->owned.ids; i++) {
        nf2_id_adopt(fs, effects->owned.id[i]);
    }
    for (unsigned i = 0; i < effects->dropped.ids; i++) {
        if (effects->dropped.id[i] != 0) {
            nf2_id_orphan_add(fs, effects->dropped.id[i]);
        }
    }
}

/* What a group needs of the lists in memory and in the meta log before it is appended. */
struct needs {
    bool touch;
    uint8_t runs, ids;          /* places in the list of freed runs, and of orphans */
};

/* Is there what the group needs, and is its leaf on record? 1, 0, or an error. */
static int prepared(nf2_t *fs, uint32_t leaf, const struct needs *needs)
{
    if (needs->ids > 0 && fs->orphan_count + needs->ids > (fs->urgent ? NF2_ORPHANS_MAX : NF2_ORPHANS_USED)) {
        return NF2_ERR_BUSY; /* the callers finish an orphan first: see nf2_orphans_room */
    }
    return (!fs->bad_news || NF2_BROKEN(NF2_FAULT_PLACE)) && fs->logged_orphans + needs->ids <= NF2_ORPHANS_MAX && nf2_space_prepared(fs, needs->runs) &&
           (!needs->touch || nf2_space_touched(fs, leaf));
}

/* Sees to it. */
static int prepare(nf2_t *fs, uint32_t leaf, const struct needs *needs)
{
    if (fs->logged_orphans + needs->ids > NF2_ORPHANS_MAX) {
        NF2_TRY(nf2_space_flush(fs)); /* a reader of the log could not list one more */
    }
    NF2_TRY(nf2_space_prepare(fs, needs->runs));
    NF2_TRY(nf2_space_keep(fs));
    return needs->touch ? nf2_group_prepare(fs, leaf) : NF2_OK;
}

/* Does a new body take over the blocks of the old one? An indexed file made of a flat one does. */
static bool takes_over(const uint8_t *body, uint32_t length)
{
    return body != NULL && length > NF2_TOOK_OVER && body[0] == NF2_BODY_INDEXED && body[NF2_TOOK_OVER] != 0;
}

static int change_effects(nf2_t *fs, const struct nf2_node_op *change, const struct nf2_entry *old, struct nf2_effects *effects)
{
    uint32_t length;
    const uint8_t *body = nf2_op_body(change, &length);
    bool keeps = change->type == NF2_NODE_MOV || takes_over(body, length);

    if (change->type == NF2_NODE_PUT && body != NULL) {
        NF2_TRY(nf2_effects_owned_body(effects, change->key.at.number, body, length)); /* an OWN entry's key is a number */
    }
    if (old != NULL && keeps) {
        effects->any = true;
    }
    return old != NULL && !keeps ? nf2_effects_add(fs, effects, &effects->dropped, old) : NF2_OK;
}

/* What a change kills: the entry with its key, and for a REN its source; and where the leaf ends. */
struct killed {
    struct nf2_sought sought[NF2_GROUP_MAX];    /* REN: the source, then the key */
    bool cached;                /* the leaf is: it is asked anew, entry after entry */
    int append_at;
    uint32_t entries;
};

static int look_for_killed(nf2_t *fs, uint32_t leaf, const struct nf2_pending *pending, struct killed *killed)
{
    struct nf2_cached cached;
    unsigned count = 0;

    if (pending->source != NULL) {
        killed->sought[count++].key = pending->source;
    }
    for (unsigned i = 0; i < pending->count; i++) {
        killed->sought[count++].key = &pending->ops[i].key;
    }
    killed->cached = nf2_cache_has(fs, leaf, &cached);
    killed->append_at = nf2_node_find_all(fs, leaf, killed->sought, killed->cached ? 0 : count, &killed->entries);
    return killed->append_at < 0 ? killed->append_at : NF2_OK;
}

static int killed_entry(nf2_t *fs, uint32_t leaf, const struct killed *killed, unsigned i, struct nf2_entry *old)
{
    if (killed->cached) {
        return nf2_cache_find(fs, leaf, killed->sought[i].key, old);
    }
    NF2_TRY(killed->sought[i].place != 0 ? nf2_entry_parse_at(fs, leaf, killed->sought[i].place, old) : NF2_OK);
    return killed->sought[i].place != 0;
}

/* What to kill in this leaf: the entry with the change's key (1: `old`, 0: none), and for a REN its source. */
static int find_killed(nf2_t *fs, uint32_t leaf, const struct killed *killed, unsigned i, struct nf2_node_op *op, struct nf2_entry *old)
{
    bool source = op->type == NF2_NODE_REN;
    int found;

    op->kill = op->victim = 0;
    if (source) {
        found = killed_entry(fs, leaf, killed, 0, old);
        if (found <= 0) {
            return found < 0 ? found : NF2_ERR_NOENT;
        }
        op->kill = old->offset;
    }
    found = killed_entry(fs, leaf, killed, source ? 1 : i, old);
    if (found > 0) {
        *(source ? &op->victim : &op->kill) = old->offset;
    }
    return found;
}

/* What an attempt came to: done; the leaf lacks room (PLAIN: and the change has no effects on space), or there is more than one; something is to be prepared first. */
enum { TRY_NO_ROOM = 0, TRY_DONE = 1, TRY_SPANS = NF2_SPANS_LEAVES, TRY_NO_ROOM_PLAIN, TRY_NEEDS };

/* What a change of this leaf comes to. */
struct outcome {
    struct nf2_effects effects;
    uint32_t append_at;
    uint32_t limit;             /* where the leaf must end behind it */
    bool any;                   /* there is something to be written */
};

/* Finds out, and sets what each of the changes kills. */
static NF2_APART int foresee(nf2_t *fs, uint32_t leaf, struct nf2_pending *pending, struct outcome *outcome)
{
    struct nf2_entry old;
    struct killed killed;
    bool grows = false;

    memset(outcome, 0, sizeof *outcome);
    outcome->any = outcome->effects.any = pending->mark != 0;
    NF2_TRY(look_for_killed(fs, leaf, pending, &killed));
    for (unsigned i = 0; i < pending->count; i++) {
        struct nf2_node_op *op = &pending->ops[i];
        bool puts = nf2_op_puts(op);
        int found = find_killed(fs, leaf, &killed, i, op, &old);
        NF2_TRY(found);
        if (!found && !puts) {
            continue;
        }
        NF2_TRY(change_effects(fs, op, found ? &old : NULL, &outcome->effects));
        grows = grows || puts;
        outcome->any = true;
    }
    outcome->append_at = (uint32_t)killed.append_at;
    outcome->limit = grows ? nf2_put_limit(fs, killed.entries) : nf2_log_bytes(fs);
    return grows;
}

/* One attempt in one leaf. `kept`: bytes that are to stay free behind the changes. */
static NF2_APART int try_change(nf2_t *fs, uint32_t leaf, struct nf2_pending *pending, uint32_t kept, struct needs *needs)
{
    struct nf2_node_op *ops = pending->ops;
    struct outcome outcome;
    struct nf2_effects *effects = &outcome.effects;
    int grows = foresee(fs, leaf, pending, &outcome);

    NF2_TRY(grows);
    if (!outcome.any) {
        return TRY_DONE;
    }
    uint32_t limit = outcome.limit - (grows ? kept : 0);
    if (nf2_node_fit(fs, outcome.append_at, ops, pending->count, pending->mark, limit) == NF2_NONE) {
        return effects->any ? TRY_NO_ROOM : TRY_NO_ROOM_PLAIN;
    }
    nf2_effects_settle(effects);
    needs->touch = effects->any;
    needs->runs = effects->dropped.runs;
    needs->ids = effects->dropped.ids;
    int ready = prepared(fs, leaf, needs);
    if (ready <= 0) { /* from where the stack is short: then the attempt is repeated */
        return ready < 0 ? ready : TRY_NEEDS;
    }
    if (NF2_BROKEN(NF2_FAULT_FREE_FIRST) && effects->dropped.runs > 0) {
        nf2_tree_apply_effects(fs, effects);
        NF2_TRY(nf2_space_flush(fs));
        effects->dropped.runs = effects->dropped.ids = 0;
    }
    NF2_TRY(nf2_group_append(fs, leaf, outcome.append_at, ops, pending->count, pending->mark));
    nf2_tree_apply_effects(fs, effects);
    for (unsigned i = 0; i < pending->count; i++) {
        if (ops[i].kill != 0 && nf2_op_puts(&ops[i])) {
            nf2_tree_follow(fs, leaf, ops[i].kill, leaf, ops[i].offset, ops[i].type == NF2_NODE_PUT);
        }
    }
    pending->node = leaf;
    pending->offset = ops[0].offset;
    return TRY_DONE;
}

/* Bytes that the changes take at most. */
static uint32_t changes_length(const struct nf2_node_op *changes, unsigned count)
{
    uint32_t length = 12; /* a mark */

    for (unsigned i = 0; i < count; i++) {
        length += nf2_node_op_length(&changes[i]) + (changes[i].kill == 0 ? 2u : 0u);
    }
    return length;
}

/*
 * A file that is made durable while it is empty is about to be written: its leaf keeps room for that, so that a leaf that
 * names fill in order is full when a name comes, and nothing has to be copied.
 */
static uint32_t room_kept(const nf2_t *fs, const struct nf2_node_op *change)
{
    bool empty = change->held == NF2_CONTENT && change->body.length == 0;

    return empty ? changes_length(change, 1) + nf2_page(fs) / 4 : 0;
}

/* Does the key belong to this leaf? */
static int belongs(nf2_t *fs, uint32_t leaf, const struct nf2_key *key)
{
    struct nf2_path path;
    struct nf2_entry entry;

    int found = nf2_cache_find(fs, leaf, key, &entry);
    if (found == 0) {
        NF2_TRY(nf2_tree_descend(fs, key, &path));
        found = path.node[path.depth - 1] == leaf;
    }
    return found;
}

int nf2_tree_fits(nf2_t *fs, const struct nf2_node_op *changes, unsigned count)
{
    struct nf2_path path;
    uint32_t entries;

    NF2_TRY(nf2_tree_descend(fs, &changes->key, &path));
    int append_at = nf2_node_tail(fs, path.node[path.depth - 1], &entries);
    NF2_TRY(append_at);
    return nf2_node_fit(fs, (uint32_t)append_at, changes, count, 0, nf2_put_limit(fs, entries)) != NF2_NONE;
}

int nf2_tree_room(nf2_t *fs, const struct nf2_node_op *changes, unsigned count)
{
    struct nf2_path path;

    NF2_TRY(nf2_tree_descend(fs, &changes->key, &path));
    return nf2_tree_make_room(fs, &path, &changes->key, changes_length(changes, count), NULL);
}

/* Keys and bodies that lie in a leaf must outlive it: it may be replaced for the change that copies them. */
static void keep_referred(nf2_t *fs, const struct nf2_node_op *changes, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        if (nf2_key_on_flash(&changes[i].key)) {
            fs->kept_node = (uint16_t)nf2_bad_place(fs, changes[i].key.at.block);
        }
        if (changes[i].held == 0 && changes[i].body.position != 0) {
            fs->kept_node = (uint16_t)nf2_bad_place(fs, changes[i].body.at.block);
        }
    }
}

/* The way to the leaf that all keys of the change lie in, or NF2_SPANS_LEAVES. */
static int find_leaf(nf2_t *fs, const struct nf2_pending *pending, struct nf2_path *path)
{
    NF2_TRY(nf2_tree_descend(fs, &pending->ops[0].key, path));
    uint32_t leaf = path->node[path->depth - 1];
    for (unsigned i = 1; i < pending->count; i++) {
        int inside = belongs(fs, leaf, &pending->ops[i].key);
        if (inside <= 0) {
            return inside < 0 ? inside : NF2_SPANS_LEAVES;
        }
    }
    int inside = pending->source != NULL ? belongs(fs, leaf, pending->source) : 1;
    return inside == 0 ? NF2_SPANS_LEAVES : inside < 0 ? inside : NF2_OK;
}

/* One attempt where the keys lie, with all that it takes but room: if that is lacking, `path` leads there. */
static int attempt(nf2_t *fs, struct nf2_pending *pending, bool first, struct nf2_path *path)
{
    struct needs needs;
    uint32_t leaf = pending->leaf;
    int result = leaf == 0 ? find_leaf(fs, pending, path) : NF2_OK;

    if (result != NF2_OK) {
        return result;
    }
    pending->leaf = 0;
    bool alone = first && pending->count == 1; /* a wish: no reason to replace a leaf twice */
    uint32_t there = leaf != 0 ? leaf : path->node[path->depth - 1], kept = alone ? room_kept(fs, pending->ops) : 0;
    result = try_change(fs, there, pending, kept, &needs);
    if (result == TRY_NEEDS) {
        NF2_TRY(prepare(fs, there, &needs));
        result = try_change(fs, there, pending, kept, &needs);
        NF2_ASSERT(result != TRY_NEEDS);
    }
    if (leaf != 0 && (result == TRY_NO_ROOM || result == TRY_NO_ROOM_PLAIN)) {
        int found = find_leaf(fs, pending, path);
        result = found == NF2_OK ? result : found;
    }
    return result;
}

int nf2_tree_try(nf2_t *fs, struct nf2_node_op *change)
{
    struct nf2_pending pending = {.ops = change, .count = 1};
    struct nf2_path path;
    int result = attempt(fs, &pending, false, &path);

    NF2_TRY(result == TRY_DONE ? nf2_space_keep(fs) : NF2_OK);
    return result < 0 ? result : result == TRY_DONE;
}

/*
 * Changes of one leaf were made: if they removed an entry, is it sparse now? Idle work looks at that leaf and the one in front
 * of it, or at all where others are due as well. Where blocks are scarce all are looked at in any case.
 */
static NF2_APART void note_removal(nf2_t *fs, const struct nf2_node_op *changes, unsigned count)
{
    const struct nf2_key *key = NULL;

    for (unsigned i = 0; i < count; i++) {
        key = changes[i].type == NF2_NODE_DEL || changes[i].type == NF2_NODE_MOV ? &changes[i].key : key;
    }
    if (key == NULL) {
        return;
    }
    uint8_t bytes[NF2_MERGE_KEY] = {0};
    bool alone = !nf2_space_scarce(fs) && fs->merge_quiet >= NF2_MERGE_DONE && fs->merge_quiet <= NF2_MERGE_DONE_HERE && !fs->exchanging;
    if (!alone || key->length > sizeof bytes || nf2_key_bytes(fs, key, 0, bytes, key->length) != NF2_OK) {
        fs->merge_quiet = NF2_MERGE_ALL;
        return;
    }
    bool same = key->id == fs->merge_id && key->length == fs->merge_length && memcmp(bytes, fs->merge_key, key->length) == 0;
    if (fs->merge_quiet == NF2_MERGE_DONE_HERE && same) {
        return; /* it came back, and went again */
    }
    fs->merge_id = key->id;
    fs->merge_length = key->length;
    fs->merge_skip = 0;
    memcpy(fs->merge_key, bytes, sizeof bytes);
    fs->merge_quiet = NF2_MERGE_LEFT;
}

int nf2_tree_change_in(nf2_t *fs, uint32_t leaf, struct nf2_node_op *changes, unsigned count, uint32_t mark, struct nf2_entry *where)
{
    struct nf2_pending pending = {.ops = changes, .count = count, .mark = mark, .leaf = leaf};
    struct nf2_path path;

    NF2_ASSERT(count <= NF2_GROUP_MAX);
    pending.source = changes->type == NF2_NODE_REN ? changes->body.at.data : NULL;
    keep_referred(fs, changes, count);
    for (unsigned tries = 0; !pending.done; tries++) {
        int result = attempt(fs, &pending, tries == 0, &path);
        if (result < 0 || result == NF2_SPANS_LEAVES) {
            return result;
        }
        if (result == TRY_DONE) {
            break;
        }
        if (tries == TRIES) {
            return NF2_ERR_NOSPC;
        }
        NF2_TRY(nf2_tree_make_room(fs, &path, &changes->key, changes_length(changes, count), result == TRY_NO_ROOM_PLAIN ? &pending : NULL));
    }
    note_removal(fs, changes, count);
    NF2_TRY(nf2_space_keep(fs));
    if (where != NULL && pending.node != 0) {
        where->node = pending.node;
        where->offset = pending.offset;
    }
    return NF2_OK;
}

int nf2_tree_change(nf2_t *fs, struct nf2_node_op *changes, unsigned count)
{
    return nf2_tree_change_in(fs, 0, changes, count, 0, NULL);
}

int nf2_tree_rename(nf2_t *fs, const struct nf2_key *source, const struct nf2_key *to)
{
    struct nf2_node_op op = {.type = NF2_NODE_REN, .key = *to, .body = nf2_span_of(source, 0)};

    return nf2_tree_change(fs, &op, 1);
}
