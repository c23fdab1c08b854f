/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * change.c - changes of the tree: of a node, in its tail or in new nodes, then of its parent, up to
 * the root; in one leaf, or leaf by leaf.
 */
#include "tree.h"

#include "refs.h"

/* What failed on the way: a node is in a bad block; what is there may count after a remount. */
enum { IS_BAD = 1, MAY_COUNT = 3 };

struct rewrite {
    bool two, edge;             /* edge: the first one of two is the old node, which stays */
    bool grows;                 /* the changes lie above all entries, in order */
    uint8_t failed;             /* IS_BAD, MAY_COUNT */
    uint8_t old;                /* levels, a bit each, whose node on the way is replaced */
    uint8_t count;
    uint8_t level;
    uint8_t sources;            /* of entries: none, the node of the way, its neighbour too */
    const struct nf2_child *way;
    const struct nf2_key *lead; /* that the way leads to */
    struct nf2_op *ops;         /* changes of the node at `level`: the caller's, then `up` */
    uint16_t cut, cut_block;    /* where the first entry of the second part lies; the last one, if
                                   it is not cut; 0: in front of all */
    uint16_t end[3];            /* entries that stay, in front of the first part (0),
                                   up to its end, in all; */
    uint16_t done;              /* passed so far */
    struct nf2_child right;     /* the neighbour; block 0: none */
    struct nf2_child made[2];   /* the new nodes */
    uint16_t base;              /* of a node that holds all: where its base ends */
    uint16_t block;             /* that is written; NF2_NO_BLOCK: it is measured */
    struct nf2_writer writer;   /* of the part that was written or measured last */
    struct nf2_key key[2];      /* of `up`: what they mean for the parent */
    struct nf2_op up[2];
};

/* ---- new nodes ------------------------------------------------------------------------------- */

static bool overruled(const struct rewrite *rewrite, const struct nf2_key *key)
{
    unsigned i = 0;

    while (i < rewrite->count && !nf2_op_covers(&rewrite->ops[i], key)) {
        i++;
    }
    return i < rewrite->count;
}

/*
 * Do the entry at the cut and the one behind it stay together? Name and name with an extension do,
 * so that replacing a file by renaming stays a change of one leaf.
 */
static int belong_together(nf2_t *fs, const struct rewrite *rewrite, const struct nf2_key *b)
{
    struct nf2_front a;

    NF2_TRY(nf2_front_of(fs, rewrite->cut_block, rewrite->cut, &a));
    return a.id == b->id && a.key_length <= b->length &&
           memcmp(a.bytes + a.key, b->bytes, a.key_length) == 0;
}

/* Does a change belong behind the cut (`at` 1: or to it)? Its key is not in RAM: that is stack. */
static int behind_cut(nf2_t *fs, const struct rewrite *rewrite, const struct nf2_op *op, int at)
{
    int order = 0;

    if (rewrite->cut != 0) {
        order = nf2_compare_at(fs, rewrite->cut_block, rewrite->cut, op->key);
    }
    return order < 0 ? order : order <= at;
}

/*
 * The entries of a node that stay, as far as they belong to the part. While it is measured where
 * the first one of two nodes ends, that is in the middle; the last entry goes apart, if nothing
 * else does.
 */
static NF2_APART int copy_kept(nf2_t *fs, struct rewrite *rewrite, struct nf2_view *view, int part)
{
    bool measuring = rewrite->block == NF2_NO_BLOCK;
    unsigned end = rewrite->end[part + 1];
    struct nf2_iterator gap;
    struct nf2_entry entry;
    struct nf2_op op;

    if (part > 0) {
        NF2_TRY(nf2_key_at(fs, rewrite->cut_block, rewrite->cut, &entry.key));
    }
    NF2_TRY(nf2_iterate(fs, view, part > 0 ? &entry.key : NULL, &gap));
    while (rewrite->done < end) {
        int found = nf2_iterate_next(fs, &gap, &entry);
        bool half = measuring && 2 * rewrite->writer.position > rewrite->base;
        if (found <= 0 || (half && rewrite->sources == 2)) { /* that is too much for one */
            return found;
        }
        bool kept = !overruled(rewrite, &entry.key);
        if (measuring) {
            int together = half ? belong_together(fs, rewrite, &entry.key) : 1;
            NF2_TRY(together);
            rewrite->cut = entry.record;
            rewrite->cut_block = (uint16_t)view->block;
            if (kept && rewrite->two && (together == 0 || rewrite->done + 1u == end)) {
                break;
            }
        }
        if (kept) {
            rewrite->done++;
            rewrite->writer.more = rewrite->done < end;
            nf2_op_put(&op, &entry.key, NULL, 0);
            op.body[0] = entry.body;
            nf2_node_put(fs, &rewrite->writer, &op, -1);
        }
    }
    return NF2_OK;
}

/* Writes a part into a block. NF2_NO_BLOCK: only to see how long that gets; NF2_NODE_FULL then. */
static NF2_APART int fill(nf2_t *fs, struct rewrite *rewrite, int part)
{
    struct nf2_writer *writer = &rewrite->writer;
    const struct nf2_child *node = &rewrite->way[rewrite->level];
    struct nf2_view *view;

    nf2_writer_begin(writer, rewrite->block, 0);
    writer->result = rewrite->block == NF2_NO_BLOCK ? NF2_NODE_FULL : NF2_OK;
    rewrite->done = rewrite->end[part];
    writer->more = rewrite->end[part + 1] > 0;
    nf2_node_head(fs, writer, rewrite->level);
    for (unsigned i = rewrite->sources; i > 0; i--, node = &rewrite->right) {
        NF2_TRY(nf2_node_view(fs, *node, rewrite->level, &view));
        NF2_TRY(copy_kept(fs, rewrite, view, part));
    }
    nf2_writer_align(fs, writer);
    rewrite->made[part].block = rewrite->block;
    rewrite->made[part].base_end = (uint16_t)writer->position;
    for (unsigned i = 0, put = 0; i < rewrite->count; i++) {
        const struct nf2_op *op = &rewrite->ops[i];
        int second = rewrite->two ? behind_cut(fs, rewrite, op, 1) : 0, rank = 0;
        NF2_TRY(second);
        if (op->type == NF2_OP_PUT && second == part) {
            const struct nf2_op *other = rewrite->ops;
            for (unsigned puts = put; puts != 0; puts >>= 1, other++) {
                rank += (puts & 1u) != 0 && nf2_key_compare(other->key, op->key) < 0;
            }
            put |= 1u << i;
            nf2_node_put(fs, writer, op, rewrite->grows ? -1 : rank);
            nf2_writer_align(fs, writer);
        }
    }
    return nf2_writer_end(fs, writer);
}

/* How long a part gets. */
static int measure(nf2_t *fs, struct rewrite *rewrite)
{
    rewrite->block = NF2_NO_BLOCK;
    int result = fill(fs, rewrite, 0);
    return result != NF2_NODE_FULL ? result : NF2_OK;
}

/*
 * Sixteenths of a node that one may be filled to, else there are two; what only moves stays one. A
 * leaf that is full of changes of few names is soon full again, and each change pays its part of
 * the new base: so it becomes two early, where space is ample. A key of four bytes is a piece's, as
 * a rule: maps are not split early. Where blocks are lacking there is one, while that is long
 * enough: else each removal from a full leaf would take one of the blocks that are left.
 */
static uint32_t most_of(const nf2_t *fs, const struct rewrite *rewrite)
{
    if (rewrite->count == 0 || nf2_space_stock(fs) < nf2_space_kept(fs)) {
        return 16;
    }
    bool names = rewrite->level == 0 && rewrite->lead->length != 4;
    return names && rewrite->done > 3 && nf2_node_ample(fs) ? 2 : 12;
}

/*
 * Bytes of the base of a node that was two: half of it, so that it is not soon two again. Where
 * there is nothing else to win it gets nearly full.
 */
static NF2_APART uint32_t joined_most(const nf2_t *fs)
{
    return nf2_log_bytes(fs) / 16 * (fs->walk.need == NF2_NEED_LAST ? 14u : 8u);
}

/* One node or two, and whether the old one stays. */
static int plan(nf2_t *fs, struct rewrite *rewrite)
{
    uint32_t bytes = nf2_log_bytes(fs);

    rewrite->two = rewrite->edge = false;
    rewrite->end[1] = UINT16_MAX;
    rewrite->base = (uint16_t)(rewrite->sources == 2 ? 2u * joined_most(fs) : UINT16_MAX);
    NF2_TRY(measure(fs, rewrite));
    rewrite->base = rewrite->made[0].base_end;
    rewrite->end[1] = rewrite->end[2] = rewrite->done;
    bool one = rewrite->count == 1 && rewrite->ops->type == NF2_OP_PUT;
    int append = one ? behind_cut(fs, rewrite, rewrite->ops, 0) : 0;
    NF2_TRY(append);
    rewrite->grows = append || rewrite->sources == 0;
    rewrite->edge = append && 2u * rewrite->base > bytes && !rewrite->failed;
    rewrite->two = rewrite->edge || rewrite->writer.position > bytes ||
                   rewrite->writer.bytes > bytes / 16 * most_of(fs, rewrite);
    if (rewrite->two && !rewrite->edge) {
        NF2_TRY(measure(fs, rewrite));
        rewrite->end[1] = rewrite->done;
    }
    return NF2_OK;
}

/* One of the new nodes; a bad block is passed over. */
static int write_part(nf2_t *fs, struct rewrite *rewrite, int part)
{
    int result = NF2_FAILED_BLOCK;

    while (result == NF2_FAILED_BLOCK) {
        uint32_t block;
        NF2_TRY(nf2_alloc_node(fs, &block));
        rewrite->block = (uint16_t)block;
        result = fill(fs, rewrite, part);
        if (result == NF2_FAILED_BLOCK) {
            nf2_space_bad(fs, rewrite->block);
        }
    }
    return result;
}

/* ---- what they mean for the parent ----------------------------------------------------------- */

/* A new root: a CHECKPOINT commits. 1, or an error. */
static NF2_APART int commit_root(nf2_t *fs, const struct nf2_child *node, unsigned level)
{
    fs->root_node = (uint16_t)node->block;
    fs->root_base = node->base_end;
    fs->root_level = (uint8_t)level;
    int result = nf2_journal_checkpoint(fs);
    if (result < 0) {           /* the record may count after a remount */
        fs->broken = true;
        return result;
    }
    return 1;
}

static void child_op(struct rewrite *rewrite, int part)
{
    struct nf2_op *op = &rewrite->up[part];
    uint8_t *body = (uint8_t *)nf2_op_own(op);

    nf2_op_put(op, &rewrite->key[part], body, NF2_CHILD_BYTES);
    *body++ = NF2_BODY_CHILD;
    nf2_put16(nf2_put24(body, rewrite->made[part].block), rewrite->made[part].base_end);
}

/* One level up: 0, 1 if there is none, or an error. A root above two nodes begins empty. */
static int go_up(nf2_t *fs, struct rewrite *rewrite)
{
    bool root = rewrite->level >= fs->root_level, joined = rewrite->sources == 2;
    struct nf2_iterator gap;

    if (root && !rewrite->two) {
        return commit_root(fs, &rewrite->made[0], rewrite->level);
    }
    if (rewrite->edge) {        /* where the level below was one, too, it is there */
        if (rewrite->ops->key != &rewrite->key[1]) {
            nf2_key_copy(&rewrite->key[1], rewrite->ops->key);
        }
    } else if (rewrite->two) {
        NF2_TRY(nf2_key_at(fs, rewrite->cut_block, rewrite->cut, &rewrite->key[1]));
    }
    rewrite->level++;
    rewrite->sources = !root;
    rewrite->key[0].id = rewrite->key[0].length = 0;
    if (!root) {
        NF2_TRY(nf2_node_view(fs, rewrite->way[rewrite->level], rewrite->level, &gap.view));
        NF2_TRY(nf2_node_gap(fs, rewrite->lead, 1, &gap));
        NF2_TRY(gap.below != 0 ?
                nf2_key_at(fs, gap.view->block, gap.below, &rewrite->key[0]) : NF2_ERR_IO);
    }
    child_op(rewrite, rewrite->two); /* the second, if there are two */
    child_op(rewrite, 0);
    unsigned skipped = rewrite->edge && !root; /* what the parent has already */
    rewrite->ops = rewrite->up + skipped;
    rewrite->count = (uint8_t)(1u + (rewrite->two | joined) - skipped);
    return rewrite->level < NF2_LEVELS ? 0 : NF2_ERR_NOSPC;
}

/* The new nodes of a level: 0, 1 if that is committed, NF2_UNCHANGED, or an error. */
static NF2_APART int write_level(nf2_t *fs, struct rewrite *rewrite)
{
    nf2_way_forget(fs);         /* its nodes are known no more, until this is done */
    NF2_TRY(plan(fs, rewrite));
    if (rewrite->sources == 2 && rewrite->base > joined_most(fs)) {
        return NF2_UNCHANGED;
    }
    if (rewrite->edge) {
        rewrite->cut = 0;
        rewrite->made[0] = rewrite->way[rewrite->level];
        rewrite->sources = 0;
        rewrite->end[2] = 0;
    } else {
        rewrite->old = (uint8_t)(rewrite->old | 1u << rewrite->level);
    }
    NF2_ASSERT(rewrite->two <= (rewrite->edge || rewrite->end[1] > 0)); /* none is that long */
    if (NF2_BROKEN(NF2_FAULT_FREED) && !rewrite->edge) {
        nf2_space_freed(fs, rewrite->way[rewrite->level].block);
    }
    for (int part = rewrite->edge; part <= rewrite->two; part++) {
        NF2_TRY(write_part(fs, rewrite, part));
    }
    return go_up(fs, rewrite);
}

/* The changes into the tail: 1, 0 if new nodes are to be written, or an error. */
static NF2_APART int append(nf2_t *fs, struct rewrite *rewrite)
{
    struct nf2_view *view;

    NF2_TRY(nf2_node_view(fs, rewrite->way[rewrite->level], rewrite->level, &view));
    int result = NF2_NODE_FULL;
    /* once failed it takes no more: what is programmed behind a torn place would be lost */
    unsigned failed = nf2_space_bad_listed(fs, view->block);
    if (failed == 0) {
        result = nf2_node_append(fs, view, rewrite->ops, rewrite->count);
        failed = result == NF2_NODE_HALF ? MAY_COUNT : 0;
    }
    if (result == NF2_FAILED_BLOCK) {
        nf2_space_bad(fs, view->block);
        failed = fs->group_at != 0 ? IS_BAD : MAY_COUNT; /* a GROUP that waits makes it anew */
    }
    if (failed == 0) {
        return result == NF2_OK ? 1 : result == NF2_NODE_FULL ? 0 : result;
    }
    rewrite->failed |= (uint8_t)failed;
    fs->patience = NF2_WAITS; /* it has to be replaced, however long that takes */
    return NF2_BROKEN(NF2_FAULT_TAIL) ? 1 : 0;
}

static void give_up(nf2_t *fs, uint32_t block, int done)
{
    nf2_view_forget(fs, block);
    if (done > 0 && !NF2_BROKEN(NF2_FAULT_FREED)) {
        nf2_space_freed(fs, block);
    }
}

static int run(nf2_t *fs, struct rewrite *rewrite)
{
    unsigned top = fs->root_level;
    int done = 0;

    while (done == 0) {
        done = rewrite->count > 0 && rewrite->level <= top ? append(fs, rewrite) : 0;
        done = done == 0 ? write_level(fs, rewrite) : done;
    }
    if (done < 0) {
        rewrite->old = 0xFF;    /* what failed may be there when it is read again */
        if (rewrite->failed > IS_BAD) {
            fs->broken = true;
        }
    }
    for (unsigned i = 0; i <= top; i++) {
        if (((uint32_t)rewrite->old >> i & 1u) != 0) {
            give_up(fs, rewrite->way[i].block, done);
        }
    }
    if (rewrite->right.block != 0 && rewrite->old != 0) {
        give_up(fs, rewrite->right.block, done);
    }
    return done;
}

/* ---- changes of nodes ------------------------------------------------------------------------ */

static NF2_APART void begin(struct rewrite *rewrite, const struct nf2_child *way,
                            const struct nf2_key *key, unsigned level)
{
    memset(rewrite, 0, sizeof *rewrite);
    rewrite->way = way;
    rewrite->lead = key;
    rewrite->level = (uint8_t)level;
    rewrite->sources = 1;
}

int nf2_tree_write(nf2_t *fs, const struct nf2_child *way, const struct nf2_key *lead,
                   unsigned level, struct nf2_op *ops, unsigned count)
{
    struct rewrite rewrite;

    begin(&rewrite, way, lead, level);
    rewrite.ops = ops;
    rewrite.count = (uint8_t)count;
    return run(fs, &rewrite);
}

/* The root has one child, which takes its place. */
static int lower_root(nf2_t *fs)
{
    const struct nf2_child *way = fs->way.node;
    unsigned level = fs->root_level;
    nf2_way_forget(fs);
    int done = commit_root(fs, &way[level - 1], level - 1);

    give_up(fs, way[level].block, done);
    return done;
}

int nf2_tree_join(nf2_t *fs, const struct nf2_key *lower, uint32_t bytes)
{
    const struct nf2_way *way = &fs->way;
    unsigned level, top = fs->root_level;
    struct rewrite rewrite;
    struct nf2_front front;

    /* one node a level: it must go on when removals took the rest */
    if (top == 0 || nf2_space_stock(fs) < 2u + top) {
        return NF2_UNCHANGED;
    }
    NF2_TRY(nf2_tree_lead(fs, lower, false));
    NF2_NEAR(way);
    if (way->above == 0) {      /* nothing follows; is there anything in front? */
        struct nf2_iterator gap;
        NF2_TRY(nf2_node_view(fs, way->node[top], top, &gap.view));
        NF2_TRY(nf2_node_gap(fs, &nf2_key_lowest, 1, &gap));
        int place = nf2_iterate_place(fs, &gap);
        NF2_TRY(place);
        return place == 0 ? lower_root(fs) : NF2_UNCHANGED;
    }
    level = way->above_level;
    uint32_t part = nf2_log_bytes(fs) / 16;
    /*
     * one that was made small stays so until it is nearly empty, else it would be split again soon
     */
    bool small = way->node->base_end < 5 * part && fs->walk.need != NF2_NEED_LAST;
    if (level == 1 && bytes > (small ? part : joined_most(fs) / 2)) {
        return NF2_UNCHANGED;
    }
    begin(&rewrite, way->node, lower, level - 1);
    rewrite.sources = 2;
    rewrite.right = way->node[level];
    NF2_TRY(nf2_tree_child(fs, way->above, &front, &rewrite.right));
    nf2_front_key(&front, &rewrite.key[1]);
    nf2_op_delete(&rewrite.up[1], &rewrite.key[1]);
    return run(fs, &rewrite);
}

/* ---- changes of leaves ----------------------------------------------------------------------- */

/* Leads the way to the leaf in which all changes lie. */
static NF2_APART int lead_all(nf2_t *fs, const struct nf2_op *ops, unsigned count)
{
    struct nf2_key upper;
    int within = nf2_tree_lead(fs, ops->key, false);

    for (const struct nf2_op *op = ops; within > 0 && op < ops + count; op++) {
        if (op > ops) {
            within = nf2_tree_leads(fs, op->key, false);
        }
        if (within > 0 && op->type == NF2_OP_RANGE && op->to != NF2_NONE) {
            int above = nf2_tree_bound(fs, true, op->key, &upper);
            within = above > 0 ? !nf2_op_covers(op, &upper) : above < 0 ? above : 1;
        }
    }
    return within == 0 ? NF2_SPANS_LEAVES : within;
}

int nf2_tree_change(nf2_t *fs, struct nf2_op *ops, unsigned count)
{
    NF2_TRY(lead_all(fs, ops, count));
    NF2_TRY(nf2_journal_open(fs));
    NF2_TRY(nf2_walked_barrier(fs, ops, count));
    int done = nf2_tree_write(fs, fs->way.node, ops->key, 0, ops, count);
    return done < 0 ? done : NF2_OK;
}

/* Ends a RANGE where the leaf ends that it begins in. */
static int cut_range(nf2_t *fs, struct nf2_op *range)
{
    struct nf2_key upper;

    NF2_TRY(nf2_tree_lead(fs, range->key, false));
    int above = nf2_tree_bound(fs, true, range->key, &upper);
    if (above > 0 && nf2_op_covers(range, &upper)) {
        range->to = range->to > NF2_FILE_MAX ? NF2_NONE : nf2_key_value(&upper);
    }
    return above < 0 ? above : 1;
}

int nf2_tree_first_part(nf2_t *fs, struct nf2_op *range, struct nf2_key *key)
{
    struct nf2_entry entry;
    int found = nf2_tree_seek_as_is(fs, range->key, NF2_AT_OR_ABOVE, &entry);

    if (found <= 0 || !nf2_op_covers(range, &entry.key)) {
        return found < 0 ? found : 0;
    }
    range->key = key;
    nf2_key_copy(key, &entry.key);
    return cut_range(fs, range);
}

int nf2_tree_apply(nf2_t *fs, struct nf2_op *op, struct nf2_key *key)
{
    uint32_t to = op->to;
    int found;

    if (op->type != NF2_OP_RANGE) {
        return nf2_tree_change(fs, op, 1);
    }
    while ((found = nf2_tree_first_part(fs, op, key)) > 0) { /* leaf by leaf */
        uint32_t before = fs->changes;
        NF2_TRY(nf2_tree_change(fs, op, 1));
        NF2_TRY(before != fs->changes ? NF2_OK : NF2_ERR_IO); /* a leaf is out of order */
        op->to = to;
    }
    return found;
}
