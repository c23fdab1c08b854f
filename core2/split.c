/* SPDX-License-Identifier: BSD-2-Clause */
/* split.c - a node written anew as one node or two, with the changes that it had no room for; then its parent, up to the root. */
#include "tree.h"

struct rewrite {
    const struct nf2_child *way;
    const struct nf2_key *key;  /* that the way leads to */
    unsigned level;             /* of the node being written anew */
    struct nf2_op *ops;         /* changes in it: the caller's, then `up` */
    unsigned count;
    uint32_t live, put;         /* bytes of what stays, and of what is put */
    struct nf2_key cut;         /* first key of the second node */
    bool two, edge;             /* edge: the old node stays, what is put goes into a new one */
    struct nf2_child made[2];   /* the new nodes */
    struct nf2_op up[2];        /* what they mean for the parent */
    uint8_t body[2][NF2_CHILD_BYTES];
    uint8_t old;                /* levels, a bit each, whose node on the way is free when the change is committed */
    bool failed;                /* a block failed in a program that may count after a remount */
};

static bool brings(const struct nf2_op *op)
{
    return op->type == NF2_OP_PUT || op->type == NF2_OP_REN;
}

/* Is the entry with this key replaced or removed by the changes? */
static bool overruled(const struct rewrite *rewrite, const struct nf2_key *key)
{
    for (unsigned i = 0; i < rewrite->count; i++) {
        const struct nf2_op *op = &rewrite->ops[i];
        if (op->type == NF2_OP_RANGE ? nf2_op_covers(op, key) :
            nf2_key_compare(key, &op->key) == 0 ||
            (op->type == NF2_OP_REN && nf2_key_compare(key, op->from) == 0)) {
            return true;
        }
    }
    return false;
}

/* The next entry that stays: 1, 0 or an error. */
static int next_kept(nf2_t *fs, const struct rewrite *rewrite, struct nf2_iterator *iterator,
                     struct nf2_entry *entry)
{
    int found;

    while ((found = nf2_iterate_next(fs, iterator, entry)) > 0 && overruled(rewrite, &entry->key)) {
    }
    return found;
}

static int view_of(nf2_t *fs, const struct rewrite *rewrite, struct nf2_view **view)
{
    return nf2_node_view(fs, rewrite->way[rewrite->level], rewrite->level, view);
}

/* A rename becomes a PUT with the body of its source. */
static NF2_APART int resolve(nf2_t *fs, struct rewrite *rewrite, struct nf2_view *view)
{
    struct nf2_entry entry;

    rewrite->put = 0;
    for (unsigned i = 0; i < rewrite->count; i++) {
        struct nf2_op *op = &rewrite->ops[i];
        if (op->type == NF2_OP_REN) {
            int found = nf2_node_find(fs, view, op->from, &entry);
            NF2_TRY(found > 0 ? NF2_OK : NF2_ERR_IO);
            op->body[0] = nf2_body_span(&entry, 0, entry.body_length);
        }
        rewrite->put += brings(op) ? nf2_op_bytes(op) : 0;
    }
    return NF2_OK;
}

/* Name and name with an extension stay together, so that replacing a file by renaming stays a change of one leaf. */
static bool belong_together(const struct nf2_key *a, const struct nf2_key *b)
{
    return a->id == b->id && a->length <= b->length && memcmp(a->bytes, b->bytes, a->length) == 0;
}

/* Where the live entries are cut into two halves. */
static NF2_APART int find_cut(nf2_t *fs, struct rewrite *rewrite, struct nf2_view *view)
{
    struct nf2_iterator iterator;
    struct nf2_entry entry;
    uint32_t sum = 0;
    int found;

    NF2_TRY(nf2_iterate(fs, view, NULL, &iterator));
    while ((found = next_kept(fs, rewrite, &iterator, &entry)) > 0) {
        if (2 * sum >= rewrite->live && sum > 0 && !belong_together(&rewrite->cut, &entry.key)) {
            rewrite->cut = entry.key;
            return NF2_OK;
        }
        sum += nf2_entry_bytes(&entry);
        rewrite->cut = entry.key; /* the last one goes apart, if all names belong together */
    }
    return found;
}

static bool above_all(const struct rewrite *rewrite, const struct nf2_key *last)
{
    bool above = rewrite->count > 0;

    for (unsigned i = 0; i < rewrite->count; i++) {
        above = above && rewrite->ops[i].type == NF2_OP_PUT &&
                nf2_key_compare(&rewrite->ops[i].key, last) > 0;
    }
    return above;
}

/* One node or two, and where the cut is. */
static NF2_APART int plan(nf2_t *fs, struct rewrite *rewrite)
{
    struct nf2_iterator iterator;
    struct nf2_entry entry;
    struct nf2_view *view;
    uint32_t bytes = nf2_log_bytes(fs);
    bool all_kept = true;
    int found;

    NF2_TRY(view_of(fs, rewrite, &view));
    NF2_TRY(resolve(fs, rewrite, view));
    NF2_TRY(nf2_iterate(fs, view, NULL, &iterator));
    uint32_t end = NF2_PAGE_HEAD + NF2_RECORD_OVERHEAD + NF2_NODE_HEAD_BYTES;
    bool fits = true;
    rewrite->live = 0;
    while ((found = nf2_iterate_next(fs, &iterator, &entry)) > 0) {
        bool kept = !overruled(rewrite, &entry.key);
        uint32_t length = kept ? nf2_entry_bytes(&entry) : 0;
        fits = fits && (!kept || (end < bytes && nf2_log_place(fs, end, length, bytes, &end) < bytes));
        rewrite->live += length;
        all_kept = all_kept && kept;
        rewrite->cut = entry.key; /* the last one */
    }
    NF2_TRY(found);
    uint32_t tail = rewrite->put > 0 ? rewrite->put + nf2_page(fs) : 0; /* what is put may leave a page in part empty */
    fits = fits && bytes - nf2_min(end, bytes) >= tail;
    bool scarce = nf2_alloc_stock(fs) <= nf2_space_kept(fs);
    bool torn = nf2_view_torn(fs, view); /* then nothing stays in it */
    rewrite->edge = !torn && all_kept && above_all(rewrite, &rewrite->cut) && rewrite->live > bytes / 2;
    uint32_t most = rewrite->count == 0 ? 95 : scarce ? 86 : 62; /* per cent; a node that only moves stays one */
    rewrite->two = !rewrite->edge && (!fits || rewrite->live + rewrite->put > bytes / 100 * most);
    return rewrite->two ? find_cut(fs, rewrite, view) : NF2_OK;
}

/* Does this key belong into the part of the new nodes? */
static bool in_part(const struct rewrite *rewrite, unsigned part, const struct nf2_key *key)
{
    return !rewrite->two || (nf2_key_compare(key, &rewrite->cut) >= 0) == (part == 1);
}

/* The changes of a part, as one group behind the base. */
static void write_ops(nf2_t *fs, struct rewrite *rewrite, unsigned part, struct nf2_writer *writer)
{
    unsigned left = 0;

    for (unsigned i = 0; i < rewrite->count; i++) {
        left += brings(&rewrite->ops[i]) && in_part(rewrite, part, &rewrite->ops[i].key);
    }
    for (unsigned i = 0; i < rewrite->count; i++) {
        if (brings(&rewrite->ops[i]) && in_part(rewrite, part, &rewrite->ops[i].key)) {
            nf2_node_put(fs, writer, &rewrite->ops[i], --left > 0);
        }
    }
}

/* The entries of a part that stay: counted first, since the last record ends the group. */
static int write_kept(nf2_t *fs, struct rewrite *rewrite, unsigned part, struct nf2_writer *writer)
{
    struct nf2_iterator iterator;
    struct nf2_entry entry, next;
    struct nf2_view *view;
    bool any = false;
    int found = 0;

    NF2_TRY(view_of(fs, rewrite, &view));
    NF2_TRY(nf2_iterate(fs, view, part == 1 ? &rewrite->cut : NULL, &iterator));
    for (;;) {
        found = rewrite->edge ? 0 : next_kept(fs, rewrite, &iterator, &next);
        found = found > 0 && !in_part(rewrite, part, &next.key) ? 0 : found;
        if (!any) {
            nf2_node_begin(fs, writer, writer->block, rewrite->level, found <= 0);
            any = true;
        } else {
            nf2_node_copy(fs, writer, &entry, found > 0);
        }
        if (found <= 0) {
            return found;
        }
        entry = next;
    }
}

/* Writes a part into a block, and notes where it is. */
static NF2_APART int fill_part(nf2_t *fs, struct rewrite *rewrite, unsigned part, uint32_t block)
{
    struct nf2_writer writer;

    nf2_view_forget(fs, block);
    writer.block = block;
    NF2_TRY(write_kept(fs, rewrite, part, &writer));
    rewrite->made[part].block = block;
    nf2_writer_align(fs, &writer);
    rewrite->made[part].base_end = (uint16_t)writer.position;
    write_ops(fs, rewrite, part, &writer);
    return nf2_writer_end(fs, &writer);
}

/* One of the new nodes; a bad block is passed over. */
static NF2_APART int write_part(nf2_t *fs, struct rewrite *rewrite, unsigned part)
{
    uint32_t block;
    int result = NF2_FAILED_BLOCK;

    while (result == NF2_FAILED_BLOCK) {
        NF2_TRY(nf2_alloc_node(fs, &block));
        result = fill_part(fs, rewrite, part, block);
        if (result == NF2_FAILED_BLOCK) {
            nf2_journal_bad(fs, block);
        }
    }
    return result;
}

static void child_op(struct nf2_op *op, const struct nf2_key *key, const struct nf2_child *child, uint8_t *body)
{
    body[0] = NF2_BODY_CHILD;
    nf2_put16(nf2_put24(body + 1, child->block), child->base_end);
    nf2_op_put(op, key, body, NF2_CHILD_BYTES);
}

/* What the new nodes mean for the parent, under the key that led to the old one. */
static NF2_APART void ops_for_parent(struct rewrite *rewrite, const struct nf2_key *low)
{
    rewrite->ops = rewrite->up; /* what was in there is done */
    rewrite->count = 0;
    if (rewrite->edge) {
        child_op(&rewrite->up[rewrite->count++], &rewrite->cut, &rewrite->made[0], rewrite->body[0]);
        return;
    }
    child_op(&rewrite->up[rewrite->count++], low, &rewrite->made[0], rewrite->body[0]);
    if (rewrite->two) {
        child_op(&rewrite->up[rewrite->count++], &rewrite->cut, &rewrite->made[1], rewrite->body[1]);
    }
}

/* A root above two nodes. */
static NF2_APART int fill_root(nf2_t *fs, struct rewrite *rewrite, struct nf2_child *root)
{
    struct nf2_writer writer;

    nf2_view_forget(fs, root->block);
    nf2_node_begin(fs, &writer, root->block, rewrite->level + 1, false);
    nf2_node_put(fs, &writer, &rewrite->up[0], true);
    nf2_node_put(fs, &writer, &rewrite->up[1], false);
    int result = nf2_writer_end(fs, &writer);
    root->base_end = (uint16_t)writer.position;
    return result;
}

/* It stands above the new nodes; with the edge kept, above the old root and the new node. */
static int write_root(nf2_t *fs, struct rewrite *rewrite)
{
    static const struct nf2_key lowest = {0, 0, {0}};
    int result = NF2_FAILED_BLOCK;
    struct nf2_child root;

    if (rewrite->level + 2 > NF2_LEVELS_MAX) {
        return NF2_ERR_NOSPC;
    }
    const struct nf2_child *first = rewrite->edge ? &rewrite->way[rewrite->level] : &rewrite->made[0];
    child_op(&rewrite->up[0], &lowest, first, rewrite->body[0]);
    child_op(&rewrite->up[1], &rewrite->cut, &rewrite->made[rewrite->edge ? 0 : 1], rewrite->body[1]);
    while (result == NF2_FAILED_BLOCK) {
        NF2_TRY(nf2_alloc_node(fs, &root.block));
        result = fill_root(fs, rewrite, &root);
        if (result == NF2_FAILED_BLOCK) {
            nf2_journal_bad(fs, root.block);
        }
    }
    fs->root.node = (uint16_t)root.block;
    fs->root.node_base = root.base_end;
    fs->root.level = (uint8_t)(rewrite->level + 1);
    return result;
}

/* The root was written anew: a CHECKPOINT commits. */
static NF2_APART int commit_root(nf2_t *fs, struct rewrite *rewrite)
{
    struct nf2_child before = {fs->root.node, fs->root.node_base};
    uint8_t level = fs->root.level;
    int result = NF2_OK;

    if (rewrite->two || rewrite->edge) {
        result = write_root(fs, rewrite);
    } else {
        fs->root.node = (uint16_t)rewrite->made[0].block;
        fs->root.node_base = rewrite->made[0].base_end;
    }
    if (result == NF2_OK) {
        result = nf2_journal_checkpoint(fs, false);
        fs->io.broken = fs->io.broken || result < 0; /* the record may count after a remount */
    }
    if (result == NF2_OK) {
        return NF2_OK;
    }
    fs->root.node = (uint16_t)before.block;
    fs->root.node_base = before.base_end;
    fs->root.level = level;
    return result;
}

/* The parent gets its changes: 1 if it has room, 0 if it is to be written anew, too, or an error. */
static NF2_APART int commit_parent(nf2_t *fs, struct rewrite *rewrite)
{
    struct nf2_entry entry;
    struct nf2_view *view;

    rewrite->level++;
    NF2_TRY(view_of(fs, rewrite, &view));
    int found = nf2_node_seek(fs, view, rewrite->key, NF2_AT_OR_BELOW, &entry);
    NF2_TRY(found > 0 ? NF2_OK : NF2_ERR_IO);
    ops_for_parent(rewrite, &entry.key);
    int result = nf2_node_append(fs, view, rewrite->ops, rewrite->count);
    if (result == NF2_FAILED_BLOCK) {
        nf2_journal_bad(fs, rewrite->way[rewrite->level].block);
    }
    bool torn = nf2_view_torn(fs, view);
    rewrite->failed = rewrite->failed || torn;
    return result == NF2_OK ? 1 : result == NF2_NODE_FULL || torn ? 0 : result;
}

/* The lowest of the new keys is where the new node begins. */
static void cut_at_edge(struct rewrite *rewrite)
{
    rewrite->cut = rewrite->ops[0].key;
    for (unsigned i = 1; i < rewrite->count; i++) {
        bool lower = nf2_key_compare(&rewrite->ops[i].key, &rewrite->cut) < 0;
        rewrite->cut = lower ? rewrite->ops[i].key : rewrite->cut;
    }
}

/* One level: 1 if that is committed, 0 if the parent is to be written anew, too, or an error. */
static int rewrite_level(nf2_t *fs, struct rewrite *rewrite)
{
    NF2_TRY(plan(fs, rewrite));
    if (rewrite->edge) {
        cut_at_edge(rewrite);
    } else {
        rewrite->old = (uint8_t)(rewrite->old | 1u << rewrite->level);
    }
    for (unsigned part = 0; part <= rewrite->two; part++) {
        NF2_TRY(write_part(fs, rewrite, part));
    }
    if (rewrite->level < fs->root.level) {
        return commit_parent(fs, rewrite);
    }
    NF2_TRY(commit_root(fs, rewrite));
    return 1;
}

int nf2_tree_rewrite(nf2_t *fs, const struct nf2_child *way, unsigned level, const struct nf2_key *key, struct nf2_op *ops,
                     unsigned count)
{
    struct rewrite rewrite;
    unsigned top = fs->root.level;
    int done = 0;

    memset(&rewrite, 0, sizeof rewrite);
    rewrite.way = way;
    rewrite.key = key;
    rewrite.level = level;
    rewrite.ops = ops;
    rewrite.count = count;
    while (done == 0) {
        done = rewrite_level(fs, &rewrite);
    }
    fs->io.broken = fs->io.broken || (done < 0 && rewrite.failed);
    for (unsigned i = level; i <= top; i++) {
        bool gone = (rewrite.old >> i & 1u) != 0;
        if (gone || done < 0) { /* what failed may be there when it is read again */
            nf2_view_forget(fs, way[i].block);
        }
        if (gone && done > 0) {
            nf2_space_freed(fs, way[i].block);
        }
    }
    return done < 0 ? done : NF2_OK;
}
