/* SPDX-License-Identifier: BSD-2-Clause */
/* split.c - changes of a node, in its tail or in new nodes; then its parent, up to the root. */
#include "tree.h"

struct rewrite {
    bool two, edge;             /* edge: the first one of two is the old node, which stays */
    bool failed;                /* a block failed in a program that may count after a remount */
    uint8_t old;                /* levels, a bit each, whose node on the way is replaced */
    const struct nf2_child *way;
    const struct nf2_key *key;  /* that the way leads to */
    struct nf2_op *ops;         /* changes of the node at `level`: the caller's, then `up` */
    unsigned count;
    unsigned level;
    unsigned sources;           /* of entries: none, the node of the way, its neighbour too */
    unsigned entries;           /* that stay */
    uint32_t base;              /* of a node that holds all: where its base ends */
    struct nf2_child right;     /* the neighbour; block 0: none */
    struct nf2_child made[2];   /* the new nodes */
    struct nf2_key cut;         /* first key of the second one */
    uint8_t body[2][NF2_CHILD_BYTES];
    struct nf2_op up[2];        /* what they mean for the parent */
};

/* ---- new nodes --------------------------------------------------------------------------- */

static bool overruled(const struct rewrite *rewrite, const struct nf2_key *key)
{
    unsigned i = 0;

    while (i < rewrite->count && !nf2_op_covers(&rewrite->ops[i], key)) {
        i++;
    }
    return i < rewrite->count;
}

/* Name and name with an extension stay together, so that replacing a file by renaming stays a change of one leaf. */
static bool belong_together(const struct nf2_key *a, const struct nf2_key *b)
{
    return a->id == b->id && a->length <= b->length && memcmp(a->bytes, b->bytes, a->length) == 0;
}

/*
 * Does the first one of two nodes end, at `position`, in front of this entry, the `n`th one that
 * stays? The last one goes apart, if nothing else does.
 */
static bool ends_at(const struct rewrite *rewrite, unsigned n, uint32_t position,
                    const struct nf2_key *key)
{
    bool half = 2 * position >= rewrite->base && !belong_together(&rewrite->cut, key);
    return rewrite->two && (half || n == rewrite->entries);
}

/* The entries of a part that stay. With the first part it is seen where the second one begins. */
static int copy_kept(nf2_t *fs, struct rewrite *rewrite, unsigned part, struct nf2_writer *writer)
{
    struct nf2_iterator iterator;
    struct nf2_entry entry;
    struct nf2_view *view;
    struct nf2_op op;           /* of the entry in front, which is the last one if no other follows */
    uint32_t ahead = 0;         /* bytes of that, about; 0: there is none */
    bool end = false;
    unsigned n = 0;
    int found = 0;

    for (unsigned i = 0; i < rewrite->sources && !end; i++) {
        struct nf2_child node = i == 0 ? rewrite->way[rewrite->level] : rewrite->right;
        NF2_TRY(nf2_node_view(fs, node, rewrite->level, &view));
        NF2_TRY(nf2_iterate(fs, view, part == 1 ? &rewrite->cut : &nf2_key_lowest, &iterator));
        while (!end && (found = nf2_iterate_next(fs, &iterator, &entry)) > 0) {
            bool kept = !overruled(rewrite, &entry.key);
            n += kept;
            if (part == 0) {
                end = kept && ends_at(rewrite, n, writer->position + ahead, &entry.key);
                nf2_key_copy(&rewrite->cut, &entry.key); /* the last one, if there is no end */
            }
            if (kept && !end) {
                if (ahead > 0) {
                    nf2_node_put(fs, writer, &op);
                }
                nf2_op_put(&op, &entry.key, NULL, 0);
                op.body[0] = nf2_body_whole(&entry);
                ahead = NF2_RECORD_OVERHEAD + 2u + entry.key.length + entry.body_length;
                end = rewrite->sources == 2 && 2 * writer->position > nf2_log_bytes(fs); /* enough */
            }
        }
        NF2_TRY(found);
    }
    writer->more = false;
    if (ahead > 0) {
        nf2_node_put(fs, writer, &op);
    }
    rewrite->entries = n;
    return NF2_OK;
}

/* Writes a part into a block. NF2_NO_BLOCK: only to see how long that gets; NF2_NODE_FULL then. */
static NF2_APART int fill(nf2_t *fs, struct rewrite *rewrite, unsigned part,
                          struct nf2_writer *writer)
{
    nf2_writer_begin(writer, writer->block, 0);
    writer->result = writer->block == NF2_NO_BLOCK ? NF2_NODE_FULL : NF2_OK;
    writer->more = rewrite->entries > 0;
    nf2_node_head(fs, writer, rewrite->level);
    NF2_TRY(copy_kept(fs, rewrite, part, writer));
    nf2_writer_align(fs, writer);
    rewrite->made[part].block = (uint16_t)writer->block;
    rewrite->made[part].base_end = (uint16_t)writer->position;
    for (const struct nf2_op *op = rewrite->ops; op < rewrite->ops + rewrite->count; op++) {
        bool second = rewrite->two && nf2_key_compare(&op->key, &rewrite->cut) >= 0;
        if (op->type == NF2_OP_PUT && second == (part != 0)) {
            nf2_node_put(fs, writer, op);
            nf2_writer_align(fs, writer);
        }
    }
    return nf2_writer_end(fs, writer);
}

/* One node or two, and whether the old one stays. */
static int plan(nf2_t *fs, struct rewrite *rewrite, struct nf2_writer *writer)
{
    uint32_t bytes = nf2_log_bytes(fs);

    rewrite->two = false;
    rewrite->entries = 0;
    writer->block = NF2_NO_BLOCK;
    int result = fill(fs, rewrite, 0, writer);
    NF2_TRY(result != NF2_NODE_FULL ? result : NF2_OK);
    rewrite->base = rewrite->made[0].base_end;
    bool append = rewrite->count == 1 && rewrite->ops->type == NF2_OP_PUT &&
                  nf2_key_compare(&rewrite->ops->key, &rewrite->cut) > 0;
    rewrite->edge = append && 2 * rewrite->base > bytes && !rewrite->failed;
    uint32_t most = rewrite->count == 0 ? 8 : 6; /* eighths; what only moves stays one */
    rewrite->two = rewrite->edge || writer->position > bytes || writer->bytes > bytes / 8 * most;
    return NF2_OK;
}

/* One of the new nodes; a bad block is passed over. */
static int write_part(nf2_t *fs, struct rewrite *rewrite, unsigned part, struct nf2_writer *writer)
{
    int result = NF2_FAILED_BLOCK;

    while (result == NF2_FAILED_BLOCK) {
        NF2_TRY(nf2_alloc_node(fs, &writer->block));
        result = fill(fs, rewrite, part, writer);
        if (result == NF2_FAILED_BLOCK) {
            nf2_journal_bad(fs, writer->block);
        }
    }
    return result;
}

/* ---- what they mean for the parent ------------------------------------------------------- */

/* A new root: a CHECKPOINT commits. 1, or an error. */
static NF2_APART int commit_root(nf2_t *fs, const struct nf2_child *node, unsigned level)
{
    fs->root.node = (uint16_t)node->block;
    fs->root.node_base = node->base_end;
    fs->root.level = (uint8_t)level;
    int result = nf2_journal_checkpoint(fs, false);
    fs->io.broken = fs->io.broken || result < 0; /* the record may count after a remount */
    return result < 0 ? result : 1;
}

static void child_op(struct rewrite *rewrite, unsigned part, const struct nf2_key *key)
{
    uint8_t *body = rewrite->body[part];

    body[0] = NF2_BODY_CHILD;
    nf2_put16(nf2_put24(body + 1, rewrite->made[part].block), rewrite->made[part].base_end);
    nf2_op_put(&rewrite->up[part], key, body, NF2_CHILD_BYTES);
}

/* One level up: 0, 1 if there is none, or an error. A root above two nodes begins empty. */
static NF2_APART int go_up(nf2_t *fs, struct rewrite *rewrite)
{
    bool root = rewrite->level >= fs->root.level, joined = rewrite->sources == 2;
    struct nf2_entry entry;
    struct nf2_view *view;

    if (root && !rewrite->two) {
        return commit_root(fs, &rewrite->made[0], rewrite->level);
    }
    rewrite->level++;
    rewrite->sources = !root;
    const struct nf2_key *key = &nf2_key_lowest;
    if (!root) {
        NF2_TRY(nf2_node_view(fs, rewrite->way[rewrite->level], rewrite->level, &view));
        int found = nf2_node_seek(fs, view, rewrite->key, NF2_AT_OR_BELOW, &entry);
        NF2_TRY(found > 0 ? NF2_OK : NF2_ERR_IO);
        key = &entry.key;
    }
    child_op(rewrite, 0, key);
    if (rewrite->two) {
        child_op(rewrite, 1, &rewrite->cut);
    }
    unsigned skipped = rewrite->edge && !root; /* what the parent has already */
    rewrite->ops = rewrite->up + skipped;
    rewrite->count = (rewrite->two || joined ? 2u : 1u) - skipped;
    return rewrite->level < NF2_LEVELS ? 0 : NF2_ERR_NOSPC;
}

/* The new nodes of a level: 0, 1 if that is committed, NF2_UNCHANGED, or an error. */
static int write_level(nf2_t *fs, struct rewrite *rewrite)
{
    struct nf2_writer writer;

    fs->way.known = false;      /* its nodes are, until this is done */
    NF2_TRY(plan(fs, rewrite, &writer));
    if (rewrite->sources == 2 && 2 * rewrite->base > nf2_log_bytes(fs)) {
        return NF2_UNCHANGED;
    }
    if (rewrite->edge) {
        rewrite->made[0] = rewrite->way[rewrite->level];
        nf2_key_copy(&rewrite->cut, &rewrite->ops->key);
        rewrite->sources = rewrite->entries = 0;
    } else {
        rewrite->old = (uint8_t)(rewrite->old | 1u << rewrite->level);
    }
    NF2_ASSERT(rewrite->two <= (rewrite->edge || rewrite->entries > 1)); /* none is that long */
    for (unsigned part = rewrite->edge; part <= rewrite->two; part++) {
        NF2_TRY(write_part(fs, rewrite, part, &writer));
    }
    return go_up(fs, rewrite);
}

/* The changes into the tail: 1, 0 if new nodes are to be written, or an error. */
static int append(nf2_t *fs, struct rewrite *rewrite)
{
    struct nf2_view *view;

    NF2_TRY(nf2_node_view(fs, rewrite->way[rewrite->level], rewrite->level, &view));
    int result = nf2_node_append(fs, view, rewrite->ops, rewrite->count);
    if (result == NF2_FAILED_BLOCK) {
        nf2_journal_bad(fs, view->block);
    }
    bool torn = result == NF2_FAILED_BLOCK || result == NF2_NODE_HALF;
    rewrite->failed = rewrite->failed || torn;
    return result == NF2_OK ? 1 : result == NF2_NODE_FULL || torn ? 0 : result;
}

static void give_up(nf2_t *fs, uint32_t block, int done)
{
    nf2_view_forget(fs, block);
    if (done > 0) {
        nf2_space_freed(fs, block);
    }
}

static int run(nf2_t *fs, struct rewrite *rewrite)
{
    unsigned top = fs->root.level;
    int done = 0;

    while (done == 0) {
        done = rewrite->count > 0 && rewrite->level <= top ? append(fs, rewrite) : 0;
        done = done == 0 ? write_level(fs, rewrite) : done;
    }
    if (done < 0) {
        rewrite->old = 0xFF;    /* what failed may be there when it is read again */
        fs->io.broken = fs->io.broken || rewrite->failed;
    }
    for (unsigned i = 0; i <= top; i++) {
        if ((rewrite->old >> i & 1u) != 0) {
            give_up(fs, rewrite->way[i].block, done);
        }
    }
    if (rewrite->right.block != 0 && rewrite->old != 0) {
        give_up(fs, rewrite->right.block, done);
    }
    return done;
}

/* ---- the calls --------------------------------------------------------------------------- */

static NF2_APART void begin(struct rewrite *rewrite, const struct nf2_child *way,
                            const struct nf2_key *key, unsigned level)
{
    memset(rewrite, 0, sizeof *rewrite);
    rewrite->way = way;
    rewrite->key = key;
    rewrite->level = level;
    rewrite->sources = 1;
}

int nf2_tree_write(nf2_t *fs, const struct nf2_child *way, struct nf2_op *ops, unsigned count)
{
    struct rewrite rewrite;

    begin(&rewrite, way, &ops->key, 0);
    rewrite.ops = ops;
    rewrite.count = count;
    return run(fs, &rewrite);
}

int nf2_tree_move(nf2_t *fs, const struct nf2_path *path, unsigned level)
{
    struct rewrite rewrite;

    begin(&rewrite, path->node, &path->lower, level);
    return run(fs, &rewrite);
}

/* The root has one child, which takes its place. */
static int lower(nf2_t *fs, const struct nf2_path *path)
{
    unsigned level = fs->root.level;
    fs->way.known = false;
    int done = commit_root(fs, &path->node[level - 1], level - 1);

    give_up(fs, path->node[level].block, done);
    return done;
}

int nf2_tree_join(nf2_t *fs, const struct nf2_path *path, uint32_t bytes)
{
    struct rewrite rewrite;
    struct nf2_entry entry;
    struct nf2_front front;
    struct nf2_view *view;
    unsigned level = 0;
    int found = 0;

    while (level < fs->root.level && found == 0) {
        level++;
        NF2_TRY(nf2_node_view(fs, path->node[level], level, &view));
        found = nf2_node_seek(fs, view, &path->lower, NF2_ABOVE, &entry);
        NF2_TRY(found);
    }
    if (level == 0 || nf2_alloc_stock(fs) < 4u + 2u * fs->root.level) {
        return NF2_UNCHANGED;
    }
    if (found == 0) {           /* nothing follows; is there anything in front? */
        found = nf2_node_seek(fs, view, &nf2_key_lowest, NF2_ABOVE, &entry);
        return found == 0 ? lower(fs, path) : found < 0 ? found : NF2_UNCHANGED;
    }
    if (level == 1 && 4 * bytes > nf2_log_bytes(fs)) {
        return NF2_UNCHANGED;
    }
    begin(&rewrite, path->node, &path->lower, level - 1);
    rewrite.sources = 2;
    rewrite.right.block = (uint16_t)entry.block;
    NF2_TRY(nf2_tree_child(fs, entry.record, &front, &rewrite.right));
    nf2_op_delete(&rewrite.up[1], &entry.key);
    return run(fs, &rewrite);
}
