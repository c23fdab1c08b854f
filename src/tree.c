/* SPDX-License-Identifier: BSD-2-Clause */
#include "tree.h"

#include "cache.h"
#include "flash.h"
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
    struct nf2_path path;
    bool below = seek == NF2_BELOW || seek == NF2_AT_OR_BELOW;
    int found;

    NF2_TRY(nf2_tree_descend(fs, key, &path));
    for (;;) {
        found = nf2_node_seek(fs, path.node[path.depth - 1], key, seek, entry);
        if (found != 0) {
            break;
        }
        int moved = nf2_tree_neighbour(fs, &path, below ? NF2_BELOW : NF2_ABOVE);
        if (moved <= 0) {
            return moved;
        }
    }
    NF2_TRY(found);
    NF2_TRY(nf2_entry_body(fs, entry));
    return 1;
}

/* ---- changes in one leaf ------------------------------------------------------------------------ */

void nf2_tree_apply_effects(nf2_t *fs, const struct nf2_effects *effects)
{
    for (unsigned i = 0; i < effects->dropped_count; i++) {
        nf2_space_free(fs, effects->dropped[i].start, effects->dropped[i].count);
    }
    for (unsigned i = 0; i < effects->owned_ids; i++) {
        nf2_space_adopt(fs, effects->owned_id[i]);
    }
    for (unsigned i = 0; i < effects->dropped_ids; i++) {
        if (effects->dropped_id[i] != 0) {
            nf2_space_orphan_add(fs, effects->dropped_id[i]);
        }
    }
}

/* Room in the lists of freed runs and orphans for what the group will do. */
static int prepare_effects(nf2_t *fs, struct nf2_effects *effects)
{
    nf2_effects_settle(effects);
    if (effects->dropped_ids > 0 && fs->orphan_count + effects->dropped_ids > (fs->urgent ? NF2_ORPHANS_MAX : NF2_ORPHANS_USED)) {
        return NF2_ERR_BUSY; /* the callers finish an orphan first: see nf2_orphans_room */
    }
    if (fs->logged_orphans + effects->dropped_ids > NF2_ORPHANS_MAX) {
        NF2_TRY(nf2_space_flush(fs)); /* a reader of the log could not list one more */
    }
    return nf2_space_prepare(fs, effects->dropped_count);
}

/* Number in the key of an OWN entry that a change puts. */
static int own_number(nf2_t *fs, const struct nf2_key *key, uint32_t *number)
{
    uint8_t b[5] = {0};

    if (key->length == sizeof b) {
        NF2_TRY(nf2_key_bytes(fs, key, 0, b, sizeof b));
    }
    *number = (uint32_t)b[1] << 24 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 8 | b[4];
    return NF2_OK;
}

/* Does a new body take over the blocks of the old one? An indexed file made of a flat one does. */
static bool takes_over(const struct nf2_tree_change *change)
{
    const uint8_t *body = change->bodies > 0 ? change->body[0].data : NULL;
    return body != NULL && body[0] == NF2_BODY_INDEXED && change->body[0].length > NF2_TOOK_OVER && body[NF2_TOOK_OVER] != 0;
}

static int change_effects(nf2_t *fs, const struct nf2_tree_change *change, const struct nf2_entry *old, struct nf2_effects *effects)
{
    if (change->type == NF2_CHANGE_PUT && change->body[0].data != NULL) {
        uint32_t number;
        NF2_TRY(own_number(fs, &change->key, &number));
        NF2_TRY(nf2_effects_owned_body(effects, number, change->body[0].data, change->body[0].length));
    }
    if (old != NULL && change->type != NF2_CHANGE_MOVE_OUT && !takes_over(change)) {
        NF2_TRY(nf2_effects_dropped(fs, effects, old));
    }
    if (change->type == NF2_CHANGE_MOVE_OUT || (old != NULL && takes_over(change))) {
        effects->any = true;
    }
    return NF2_OK;
}

static void op_from_change(const struct nf2_tree_change *change, bool exists, uint16_t kill, struct nf2_node_op *op)
{
    memset(op, 0, sizeof *op);
    op->kill = kill;
    op->key = change->key;
    if (change->type == NF2_CHANGE_PUT) {
        op->type = exists ? NF2_NODE_PUTK : NF2_NODE_PUT;
        op->body[0] = change->body[0];
        op->body[1] = change->body[1];
        op->bodies = change->bodies;
    } else {
        op->type = change->type == NF2_CHANGE_DEL ? NF2_NODE_DEL : NF2_NODE_MOV;
    }
}

/* What an attempt came to: done, or the leaf lacks room; PLAIN: and the change has no effects on space. */
enum { TRY_NO_ROOM = 0, TRY_DONE = 1, TRY_NO_ROOM_PLAIN = 2 };

/* One attempt in the leaf at the path's end. `kept`: bytes that are to stay free behind the changes. */
static int try_change(nf2_t *fs, uint32_t leaf, const struct nf2_tree_change *changes, unsigned count, uint32_t kept, uint32_t mark,
                      struct nf2_entry *where)
{
    struct nf2_node_op ops[NF2_GROUP_MAX + 1];
    uint16_t offsets[NF2_GROUP_MAX + 1] = {0}, kills[NF2_GROUP_MAX + 1] = {0};
    struct nf2_effects effects;
    struct nf2_entry old;
    unsigned n = 0;
    bool grows = false;

    memset(&effects, 0, sizeof effects);
    for (unsigned i = 0; i < count; i++) {
        int found = nf2_node_find(fs, leaf, &changes[i].key, &old);
        NF2_TRY(found);
        if (!found && changes[i].type != NF2_CHANGE_PUT) {
            continue;
        }
        NF2_TRY(change_effects(fs, &changes[i], found ? &old : NULL, &effects));
        kills[n] = found ? old.offset : 0;
        op_from_change(&changes[i], found, kills[n], &ops[n]);
        if (changes[i].type == NF2_CHANGE_PUT) {
            grows = true;
        } else {
            fs->merge_quiet = 0;
        }
        n++;
    }
    if (mark != 0) { /* a record of its own says that the batch is done */
        memset(&ops[n], 0, sizeof ops[n]);
        ops[n].type = NF2_NODE_MOV;
        ops[n++].sequence = mark;
    }
    if (n == 0) {
        return TRY_DONE;
    }
    uint32_t append_at, records;
    NF2_TRY(nf2_node_tail(fs, leaf, &append_at, &records));
    uint32_t limit = grows ? nf2_put_limit(fs, records) - kept : nf2_log_bytes(fs);
    if (nf2_node_fit(fs, append_at, ops, n, limit) == NF2_NONE) {
        return effects.any || mark != 0 ? TRY_NO_ROOM : TRY_NO_ROOM_PLAIN;
    }
    NF2_TRY(prepare_effects(fs, &effects));
    if (NF2_BROKEN(NF2_FAULT_FREE_FIRST) && effects.dropped_count > 0) {
        nf2_tree_apply_effects(fs, &effects);
        NF2_TRY(nf2_space_flush(fs));
        effects.dropped_count = effects.dropped_ids = 0;
    }
    if (effects.any || mark != 0) {
        NF2_TRY(nf2_space_touch(fs, leaf, append_at));
    }
    int end = nf2_node_append(fs, leaf, append_at, ops, n, offsets);
    NF2_TRY(end);
    nf2_space_node_end(fs, leaf, (uint32_t)end);
    nf2_tree_apply_effects(fs, &effects);
    for (unsigned i = 0; i < n; i++) {
        if (kills[i] != 0 && ops[i].type == NF2_NODE_PUTK) {
            nf2_tree_follow(fs, leaf, kills[i], leaf, offsets[i], true);
        }
    }
    if (where != NULL) {
        where->node = leaf;
        where->offset = offsets[0];
    }
    return TRY_DONE;
}

/* Bytes that the changes take at most. */
static uint32_t changes_length(const struct nf2_tree_change *changes, unsigned count)
{
    struct nf2_node_op op;
    uint32_t length = 12; /* a mark */

    for (unsigned i = 0; i < count; i++) {
        op_from_change(&changes[i], true, 0, &op);
        length += nf2_node_op_length(&op);
    }
    return length;
}

/*
 * A file that is made durable while it is empty is about to be written: its leaf keeps room for that, so that a leaf that
 * names fill in order is full when a name comes, and nothing has to be copied.
 */
static uint32_t room_kept(const nf2_t *fs, const struct nf2_tree_change *change)
{
    const uint8_t *body = change->bodies == 1 ? change->body[0].data : NULL;
    bool empty = body != NULL && change->body[0].length == 1 && body[0] == NF2_BODY_INLINE;

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

int nf2_tree_fits(nf2_t *fs, const struct nf2_tree_change *change)
{
    struct nf2_path path;
    struct nf2_node_op op;
    uint32_t append_at, records;

    NF2_TRY(nf2_tree_descend(fs, &change->key, &path));
    NF2_TRY(nf2_node_tail(fs, path.node[path.depth - 1], &append_at, &records));
    op_from_change(change, false, 0, &op);
    return nf2_node_fit(fs, append_at, &op, 1, nf2_put_limit(fs, records)) != NF2_NONE;
}

int nf2_tree_room(nf2_t *fs, const struct nf2_tree_change *change)
{
    struct nf2_path path;

    NF2_TRY(nf2_tree_descend(fs, &change->key, &path));
    return nf2_tree_make_room(fs, &path, &change->key, changes_length(change, 1), NULL);
}

int nf2_tree_change(nf2_t *fs, const struct nf2_tree_change *changes, unsigned count, uint32_t mark, struct nf2_entry *where)
{
    struct nf2_pending pending = {.changes = changes, .count = count};
    struct nf2_path path;

    NF2_ASSERT(count >= 1 && count <= NF2_GROUP_MAX);
    for (unsigned attempt = 0; attempt < TRIES; attempt++) {
        NF2_TRY(nf2_tree_descend(fs, &changes[0].key, &path));
        for (unsigned i = 1; i < count; i++) {
            int inside = belongs(fs, path.node[path.depth - 1], &changes[i].key);
            if (inside <= 0) {
                return inside < 0 ? inside : NF2_SPANS_LEAVES;
            }
        }
        uint32_t kept = attempt == 0 && count == 1 ? room_kept(fs, changes) : 0; /* a wish: no reason to replace a leaf twice */
        int done = try_change(fs, path.node[path.depth - 1], changes, count, kept, mark, where);
        if (done < 0 || done == TRY_DONE) {
            return done < 0 ? done : NF2_OK;
        }
        NF2_TRY(nf2_tree_make_room(fs, &path, &changes[0].key, changes_length(changes, count), done == TRY_NO_ROOM_PLAIN ? &pending : NULL));
        if (pending.done) {
            if (where != NULL) {
                where->node = pending.node;
                where->offset = pending.offset;
            }
            return NF2_OK;
        }
    }
    return NF2_ERR_NOSPC;
}

/* One attempt to rename inside a leaf. */
static int try_rename(nf2_t *fs, uint32_t leaf, const struct nf2_key *source, const struct nf2_key *to)
{
    struct nf2_entry from, victim;
    struct nf2_node_op op;
    struct nf2_effects effects;
    uint32_t append_at, records;
    uint16_t offset;

    memset(&effects, 0, sizeof effects);
    memset(&op, 0, sizeof op);
    int found = nf2_node_find(fs, leaf, source, &from);
    if (found <= 0) {
        return found < 0 ? found : NF2_ERR_NOENT;
    }
    found = nf2_node_find(fs, leaf, to, &victim);
    NF2_TRY(found);
    op.type = NF2_NODE_REN;
    op.kill = from.offset;
    op.victim = found ? victim.offset : 0;
    op.key = *to;
    if (found) {
        NF2_TRY(nf2_effects_dropped(fs, &effects, &victim));
    }
    NF2_TRY(nf2_node_tail(fs, leaf, &append_at, &records));
    if (nf2_node_fit(fs, append_at, &op, 1, nf2_put_limit(fs, records)) == NF2_NONE) {
        return effects.any ? TRY_NO_ROOM : TRY_NO_ROOM_PLAIN;
    }
    NF2_TRY(prepare_effects(fs, &effects));
    if (effects.any) {
        NF2_TRY(nf2_space_touch(fs, leaf, append_at));
    }
    int end = nf2_node_append(fs, leaf, append_at, &op, 1, &offset);
    NF2_TRY(end);
    nf2_space_node_end(fs, leaf, (uint32_t)end);
    nf2_tree_apply_effects(fs, &effects);
    nf2_tree_follow(fs, leaf, op.kill, leaf, offset, false);
    return TRY_DONE;
}

int nf2_tree_rename(nf2_t *fs, const struct nf2_key *source, const struct nf2_key *to)
{
    struct nf2_pending pending = {.source = source, .target = to};
    struct nf2_path path, other;

    for (unsigned attempt = 0; attempt < TRIES; attempt++) {
        NF2_TRY(nf2_tree_descend(fs, source, &other));
        NF2_TRY(nf2_tree_descend(fs, to, &path));
        if (other.node[other.depth - 1] != path.node[path.depth - 1]) {
            return NF2_SPANS_LEAVES;
        }
        int done = try_rename(fs, path.node[path.depth - 1], source, to);
        if (done < 0 || done == TRY_DONE) {
            return done < 0 ? done : NF2_OK;
        }
        uint32_t need = NF2_RECORD_OVERHEAD + 10u + to->length;
        NF2_TRY(nf2_tree_make_room(fs, &path, to, need, done == TRY_NO_ROOM_PLAIN ? &pending : NULL));
        if (pending.done) {
            return NF2_OK;
        }
    }
    return NF2_ERR_NOSPC;
}
