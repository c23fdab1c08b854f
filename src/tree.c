/* SPDX-License-Identifier: BSD-2-Clause */
#include "tree.h"

void nf2_op_put(struct nf2_op *op, const struct nf2_key *key, const void *body, uint32_t length)
{
    op->type = NF2_OP_PUT;
    op->key = key;
    op->body[0] = nf2_span_of(body, length);
    op->body[1] = nf2_span_of(NULL, 0);
}

void nf2_op_delete(struct nf2_op *op, const struct nf2_key *key)
{
    nf2_op_put(op, key, NULL, 0);
    op->type = NF2_OP_DEL;
}

void nf2_op_put_system(struct nf2_op *op, uint8_t kind, uint32_t number)
{
    nf2_op_put(op, nf2_op_own(op), NULL, 0);
    nf2_key_make(nf2_op_own(op), NF2_SYSTEM_ID, kind, number);
}

void nf2_op_range(struct nf2_op *op, uint32_t id, uint32_t from, uint32_t to)
{
    nf2_op_put_system(op, 0, from);
    nf2_op_own(op)->id = id;
    op->type = NF2_OP_RANGE;
    op->to = to;
}

void nf2_op_delete_orphan(struct nf2_op *op, uint32_t id)
{
    nf2_op_put_system(op, NF2_KEY_ORPHAN, id);
    op->type = NF2_OP_DEL;
}

/* ---- finding --------------------------------------------------------------------------------- */

int nf2_tree_child(nf2_t *fs, uint32_t place, struct nf2_front *front, struct nf2_child *node)
{
    NF2_TRY(nf2_front_of(fs, node->block, place, front));
    const uint8_t *child = front->bytes + front->key + front->key_length;
    bool valid = child + NF2_CHILD_BYTES + 4 == front->bytes + front->length &&
                 child[0] == NF2_BODY_CHILD;
    uint32_t block = nf2_get32(child) >> 8;
    node->block = (uint16_t)block;
    node->base_end = nf2_get16(child + 4);
    /* 0: a view without a node */
    return valid && block != 0 && block < fs->blocks ? NF2_OK : NF2_ERR_IO;
}

int nf2_tree_leads(nf2_t *fs, const struct nf2_key *key, bool below)
{
    const struct nf2_way *way = &fs->way;
    int order = 0;

    NF2_NEAR(way);
    if (way->below != 0) {
        order = nf2_compare_at(fs, way->node[1].block, way->below, key);
    }
    if (order < 0) {
        return order;
    }
    if (order + (int)below > 1) {
        return 0;
    }
    order = way->above == 0 ? 2 :
            nf2_compare_at(fs, way->node[way->above_level].block, way->above, key);
    return order < 0 ? order : order + (int)below > 1;
}

/*
 * The way on from its node at a level: 1, 0 if there is nothing below the key, or an error. `above`
 * is only set where something follows the leaf below that node.
 */
static int way_from(nf2_t *fs, const struct nf2_key *key, bool below, uint32_t level)
{
    struct nf2_way *way = &fs->way;
    struct nf2_iterator gap;
    struct nf2_front front;

    NF2_NEAR(way);
    way->known = false;
    way->below = way->above = way->last = 0;
    for (; level > 0; level--) {
        struct nf2_child node = way->node[level];
        NF2_TRY(nf2_node_view(fs, node, level, &gap.view));
        NF2_TRY(nf2_node_gap(fs, key, !below, &gap));
        if (gap.below == 0) {
            return below ? 0 : NF2_ERR_IO;
        }
        way->below = gap.below;
        int above = nf2_iterate_place(fs, &gap);
        NF2_TRY(above);
        if (above > 0) {
            way->above_level = (uint8_t)level;
            way->above = (uint16_t)above;
        }
        NF2_TRY(nf2_tree_child(fs, gap.below, &front, &node));
        way->node[level - 1] = node;
    }
    way->known = true;
    return 1;
}

/*
 * The way from the root; or, since leaves are asked for in order, from the node that has what
 * follows the last one, if the key lies there, and not behind all that this node has.
 */
static int find_way(nf2_t *fs, const struct nf2_key *key, bool below)
{
    struct nf2_way *way = &fs->way;
    uint32_t level = way->above_level;
    int order = 2;

    NF2_NEAR(way);
    if (way->known && way->above != 0 && !below) {
        order = nf2_compare_at(fs, way->node[level].block, way->above, key);
        NF2_TRY(order);
    }
    if (order < 2) {
        NF2_TRY(way_from(fs, key, below, level));
        if (way->above != 0) {
            return 1;
        }
    }
    level = fs->root_level;
    way->node[level].block = fs->root_node;
    way->node[level].base_end = fs->root_base;
    return way_from(fs, key, below, level);
}

/* No search, if that is the leaf that was asked for last and no node was written anew since. */
int nf2_tree_lead(nf2_t *fs, const struct nf2_key *key, bool below)
{
    int known = fs->way.known ? nf2_tree_leads(fs, key, below) : 0;
    return known == 0 ? find_way(fs, key, below) : known;
}

int nf2_tree_bound(nf2_t *fs, bool above, const struct nf2_key *from, struct nf2_key *key)
{
    const struct nf2_way *way = &fs->way;

    NF2_NEAR(way);
    uint32_t place = above ? way->above : way->below;
    if (place == 0) {
        return 0;
    }
    uint32_t block = way->node[above ? way->above_level : 1].block;
    int order = nf2_compare_at(fs, block, place, from);
    NF2_TRY(order < 0 || above == (order > 1) ? order : NF2_ERR_IO);
    NF2_TRY(nf2_key_at(fs, block, place, key));
    return 1;
}

int nf2_tree_descend(nf2_t *fs, const struct nf2_key *key, struct nf2_path *path)
{
    NF2_TRY(nf2_tree_lead(fs, key, false));
    memcpy(path->node, fs->way.node, sizeof path->node);
    path->above_level = fs->way.above_level;
    int above = nf2_tree_bound(fs, true, key, &path->upper);
    path->bounded = above > 0;
    NF2_TRY(above);
    return nf2_tree_bound(fs, false, key, &path->lower);
}

/* The entry behind the last one that was found: 1, 0 if it is in another leaf, or an error. */
static int go_on(nf2_t *fs, struct nf2_entry *entry)
{
    struct nf2_way *way = &fs->way;
    struct nf2_iterator gap;

    NF2_TRY(nf2_node_view(fs, way->node[0], 0, &gap.view));
    gap.spot = way->spot;
    return nf2_gap_seek(fs, &gap, NF2_ABOVE, entry);
}

/*
 * Keys are asked for in order, often: is it the last entry, or the one behind it, that a search for
 * a key leads to? 1, 0 or an error.
 */
static int follows(nf2_t *fs, const struct nf2_key *key, enum nf2_seek how,
                   struct nf2_entry *entry)
{
    struct nf2_way *way = &fs->way;

    if (way->last == 0 || !nf2_seek_at(how)) {
        return 0;
    }
    int order = nf2_compare_at(fs, way->node[0].block, way->last, key);
    if (order == 1 && how == NF2_AT_OR_BELOW) {
        entry->spot = way->spot;
        return nf2_entry_at(fs, way->node[0].block, way->last, entry) > 0;
    }
    int found = order == (how == NF2_ABOVE) ? go_on(fs, entry) : 0;
    /* what cannot be read there is no error: the key may lie elsewhere */
    return how == NF2_ABOVE ? found : found > 0 && nf2_key_compare(&entry->key, key) == 0;
}

int nf2_tree_seek_in_leaf(nf2_t *fs, const struct nf2_key *key, enum nf2_seek how,
                          struct nf2_entry *entry)
{
    struct nf2_way *way = &fs->way;
    struct nf2_iterator gap;
    int found = follows(fs, key, how, entry);

    NF2_NEAR(way);
    if (found == 0) {
        found = nf2_tree_lead(fs, key, how == NF2_BELOW);
        if (found <= 0) {
            return found;
        }
        NF2_TRY(nf2_node_view(fs, way->node[0], 0, &gap.view));
        NF2_TRY(nf2_node_gap(fs, key, nf2_seek_at(how), &gap));
        found = nf2_gap_seek(fs, &gap, how, entry);
    }
    if (found > 0) {
        way->last = entry->record;
        way->spot = entry->spot;
    }
    return found;
}

int nf2_tree_seek_as_is(nf2_t *fs, const struct nf2_key *key, enum nf2_seek how,
                        struct nf2_entry *entry)
{
    uint32_t id = key->id, leaves = 0;
    bool above = how >= NF2_ABOVE;
    int found;

    while ((found = nf2_tree_seek_in_leaf(fs, key, how, entry)) == 0 && fs->way.known) {
        int bounded = nf2_tree_bound(fs, above, key, &entry->key);
        /* beyond are only other ids: many leaves may be empty there */
        if (bounded <= 0 || entry->key.id != id) {
            return bounded < 0 ? bounded : 0;
        }
        if (++leaves > UINT16_MAX) { /* there are fewer, but a read may have been wrong */
            return NF2_ERR_CORRUPT;
        }
        key = &entry->key;      /* a neighbour has it */
        how = above ? NF2_AT_OR_ABOVE : NF2_BELOW;
    }
    return found;
}

/*
 * Names are asked for more than once: directories on the way to what is in them, files by each step
 * of a call. So hints tell where entries are, those found last first: what lies there is compared
 * with the key.
 */
int nf2_tree_find_as_is(nf2_t *fs, const struct nf2_key *key, struct nf2_entry *entry)
{
    uint32_t *hints = fs->hint, i = 0;
    uint32_t part = (key->bytes[key->length - 1] ^ key->length ^ key->id) << 29;

    NF2_NEAR(hints);
    uint32_t hint = 0;
    for (; i < NF2_HINTS; i++) {
        hint = hints[i];
        if (hint != 0 && (hint ^ part) >> 29 == 0 &&
            nf2_compare_at(fs, (uint16_t)(hint >> 13), hint & 0x1FFFu, key) == 1) {
            break;
        }
    }
    if (i < NF2_HINTS) {
        NF2_TRY(nf2_entry_at(fs, (uint16_t)(hint >> 13), (int)(hint & 0x1FFFu), entry));
    } else {
        int found = nf2_tree_seek_in_leaf(fs, key, NF2_AT_OR_BELOW, entry);
        if (found <= 0 || nf2_key_compare(&entry->key, key) != 0) {
            return found < 0 ? found : 0;
        }
        hint = nf2_hint_of(entry->body.at.record.block, entry->record) | part;
        i--;
    }
    memmove(hints + 1, hints, i * sizeof hint);
    *hints = hint;
    return 1;
}
