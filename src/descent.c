/* SPDX-License-Identifier: BSD-2-Clause */
#include "descent.h"

#include "cache.h"

int nf2_tree_child(nf2_t *fs, const struct nf2_entry *entry, uint32_t *block)
{
    NF2_TRY(nf2_entry_child(fs, entry, block));
    return *block != 0 && *block < fs->blocks ? NF2_OK : NF2_ERR_IO;
}

/* Goes on from the path's last node to its child `entry`, whose level must be one less. */
static int step_down(nf2_t *fs, struct nf2_path *path, const struct nf2_entry *entry, int level)
{
    uint32_t child;

    NF2_TRY(nf2_tree_child(fs, entry, &child));
    int child_level = nf2_node_level(fs, child);
    NF2_TRY(child_level);
    if (child_level != level - 1 || path->depth == NF2_NODE_LEVELS) {
        return NF2_ERR_IO;
    }
    path->child[path->depth - 1] = entry->offset;
    path->node[path->depth++] = (uint16_t)child;
    return child_level;
}

/* Does the key lie where the last way led? 1 and that way, 0, or an error. */
static NF2_APART int take_finger(nf2_t *fs, const struct nf2_key *key, struct nf2_path *path)
{
    struct nf2_finger finger;
    struct nf2_entry entry;
    int order;

    if (key->position != NF2_KEY_NUMBER || !nf2_cache_finger(fs, &finger)) {
        return 0;
    }
    uint32_t last = finger.depth - 2u;
    NF2_TRY(nf2_entry_parse_at(fs, finger.node[last], finger.child[last], &entry));
    struct nf2_key low = nf2_entry_key(&entry);
    NF2_TRY(nf2_key_compare(fs, &low, key, &order));
    if (order <= 0 && finger.next != 0) {
        NF2_TRY(nf2_entry_parse_at(fs, finger.node[last], finger.next, &entry));
        struct nf2_key high = nf2_entry_key(&entry);
        NF2_TRY(nf2_key_compare(fs, key, &high, &order));
        order = order < 0 ? 0 : 1;
    }
    if (order > 0) {
        return 0;
    }
    memcpy(path->node, finger.node, sizeof finger.node);
    memcpy(path->child, finger.child, sizeof finger.child);
    path->depth = (uint8_t)finger.depth;
    return 1;
}

/* `next`: the entry behind the one that leads to the path's leaf, in the same node; 0: there is none. */
static NF2_APART void set_finger(nf2_t *fs, const struct nf2_path *path, uint16_t next)
{
    struct nf2_finger finger = {.next = next, .depth = path->depth};

    if (path->depth < 2 || path->depth > NF2_FINGER_NODES || (next == 0 && path->depth > 2)) { /* behind the last child it takes a look higher up */
        return;
    }
    memcpy(finger.node, path->node, sizeof finger.node);
    memcpy(finger.child, path->child, sizeof finger.child);
    nf2_cache_set_finger(fs, &finger);
}

#define FINGER_PAGES 4u         /* a shorter way costs not much more than a look at the finger that is of no use */

static int descend(nf2_t *fs, const struct nf2_key *key, struct nf2_path *path)
{
    struct nf2_entry entry, above;
    bool numbered = key->position == NF2_KEY_NUMBER; /* of a file's map, which is what comes back; and no key to be read from the chip */
    uint32_t start_us = fs->busy_us;
    uint16_t next = 0;

    path->node[0] = (uint16_t)fs->root;
    path->depth = 1;
    int level = nf2_node_level(fs, fs->root);
    while (level > 0) {
        uint32_t node = path->node[path->depth - 1];
        int found = numbered ? nf2_node_seek_both(fs, node, key, &entry, &above) : nf2_node_seek(fs, node, key, NF2_AT_OR_BELOW, &entry);
        if (found <= 0 || (found & 1) == 0) {
            return found < 0 ? found : NF2_ERR_IO;
        }
        next = (found & 2) != 0 ? above.offset : 0;
        level = step_down(fs, path, &entry, level);
    }
    if (level == 0 && numbered && fs->busy_us - start_us > FINGER_PAGES * fs->flash->read_page_us) {
        set_finger(fs, path, next);
    }
    return level;
}

int nf2_tree_descend(nf2_t *fs, const struct nf2_key *key, struct nf2_path *path)
{
    int found = take_finger(fs, key, path);

#if defined(NF2_DEBUG) && NF2_DEBUG > 1
    struct nf2_path way;
    int level = found > 0 ? descend(fs, key, &way) : -1; /* the driver may fail here */
    NF2_ASSERT(level < 0 || (level == 0 && way.depth == path->depth && memcmp(way.node, path->node, way.depth * sizeof way.node[0]) == 0 &&
                             memcmp(way.child, path->child, (way.depth - 1u) * sizeof way.child[0]) == 0));
#endif
    return found < 0 ? found : found > 0 ? 0 : descend(fs, key, path);
}

int nf2_tree_together(nf2_t *fs, const struct nf2_key *low, const struct nf2_key *high)
{
    struct nf2_entry below, above;
    uint32_t node = fs->root;
    int level, last = NF2_NODE_LEVELS;

    for (; (level = nf2_node_level(fs, node)) > 0; last = level) {
        if (level >= last) {
            return NF2_ERR_IO;
        }
        int found = nf2_node_seek_both(fs, node, low, &below, &above), order = 1;
        if (found <= 0 || (found & 1) == 0) {
            return found < 0 ? found : NF2_ERR_IO;
        }
        if ((found & 2) != 0) {
            struct nf2_key key = nf2_entry_key(&above);
            NF2_TRY(nf2_key_compare(fs, &key, high, &order));
        }
        if (order <= 0) {
            return 0;
        }
        NF2_TRY(nf2_tree_child(fs, &below, &node));
    }
    return level < 0 ? level : 1;
}

int nf2_tree_child_entry(nf2_t *fs, const struct nf2_path *path, unsigned depth, struct nf2_entry *entry)
{
    return nf2_entry_parse_at(fs, path->node[depth], path->child[depth], entry);
}

int nf2_tree_way_to(nf2_t *fs, uint32_t block, struct nf2_path *path)
{
    struct nf2_scan scan;
    struct nf2_entry entry;
    int found;

    if (nf2_node_level(fs, block) < 0) {
        return 0; /* whatever else it is */
    }
    nf2_scan_begin(&scan, block);
    do { /* one of the keys that it was made for leads to it */
        found = nf2_node_next(fs, &scan, &entry);
    } while (found > 0 && entry.type != NF2_NODE_PUT);
    if (found <= 0) {
        return 0;
    }
    struct nf2_key key = nf2_entry_key(&entry);
    NF2_TRY(nf2_tree_descend(fs, &key, path));
    for (uint8_t depth = 0; depth < path->depth; depth++) {
        if (path->node[depth] == block) {
            path->depth = (uint8_t)(depth + 1u);
            return 1;
        }
    }
    return 0;
}

/* The entry behind the one that leads to the path's leaf, if that is where the last way led: 1, 0, or an error. */
static int behind_finger(nf2_t *fs, const struct nf2_path *path, struct nf2_entry *entry)
{
    struct nf2_finger finger;

    if (!nf2_cache_finger(fs, &finger) || finger.depth != path->depth || finger.next == 0) {
        return 0;
    }
    uint32_t last = finger.depth - 2u;
    if (memcmp(finger.node, path->node, finger.depth * sizeof finger.node[0]) != 0 || finger.child[last] != path->child[last]) {
        return 0;
    }
    NF2_TRY(nf2_entry_parse_at(fs, finger.node[last], finger.next, entry));
#if defined(NF2_DEBUG) && NF2_DEBUG > 1
    struct nf2_entry other;
    if (nf2_tree_child_entry(fs, path, last, &other) == NF2_OK) {
        struct nf2_key key = nf2_entry_key(&other);
        NF2_ASSERT(nf2_node_seek(fs, finger.node[last], &key, NF2_ABOVE, &other) < 0 || other.offset == finger.next);
    }
#endif
    return 1;
}

int nf2_tree_neighbour(nf2_t *fs, struct nf2_path *path, enum nf2_seek seek)
{
    struct nf2_entry entry;
    unsigned depth = path->depth - 1u;
    int found = seek == NF2_ABOVE ? behind_finger(fs, path, &entry) : 0;

    NF2_TRY(found);
    depth -= (unsigned)found;
    while (depth > 0 && found == 0) {
        depth--;
        NF2_TRY(nf2_tree_child_entry(fs, path, depth, &entry));
        struct nf2_key key = nf2_entry_key(&entry);
        found = nf2_node_seek(fs, path->node[depth], &key, seek, &entry);
    }
    if (found <= 0) {
        return found;
    }
    path->depth = (uint8_t)(depth + 1);
    int level = nf2_node_level(fs, path->node[depth]);
    while (level > 0) {
        level = step_down(fs, path, &entry, level);
        if (level <= 0) {
            break;
        }
        struct nf2_key end = nf2_lowest_key(seek == NF2_ABOVE ? 0 : NF2_NONE);
        found = nf2_node_seek(fs, path->node[path->depth - 1], &end, seek == NF2_ABOVE ? NF2_AT_OR_ABOVE : NF2_AT_OR_BELOW, &entry);
        if (found <= 0) {
            return found < 0 ? found : NF2_ERR_IO;
        }
    }
    return level < 0 ? level : 1;
}

/* Looks for the entries behind the one that leads to the path's leaf. */
static int look_ahead(nf2_t *fs, const struct nf2_path *path, struct nf2_leaves *leaves)
{
    struct nf2_entry entry;

    NF2_TRY(nf2_tree_child_entry(fs, path, path->depth - 2u, &entry));
    struct nf2_key key = nf2_entry_key(&entry);
    int found = nf2_node_following(fs, path->node[path->depth - 2u], &key, leaves->place);
    leaves->count = (uint8_t)(found > 0 ? found : 0);
    leaves->at = 0;
    return found;
}

int nf2_tree_next_leaf(nf2_t *fs, struct nf2_path *path, struct nf2_leaves *leaves)
{
    struct nf2_entry entry;

    if (leaves->at == leaves->count && path->depth > 1) {
        NF2_TRY(look_ahead(fs, path, leaves));
    }
    if (leaves->at == leaves->count) { /* the last one of its parent, as a rule */
        return nf2_tree_neighbour(fs, path, NF2_ABOVE);
    }
#if defined(NF2_DEBUG) && NF2_DEBUG > 1
    struct nf2_path way = *path;
    bool next = nf2_tree_neighbour(fs, &way, NF2_ABOVE) > 0;
#endif
    path->depth--;
    NF2_TRY(nf2_entry_parse_at(fs, path->node[path->depth - 1u], leaves->place[leaves->at++], &entry));
    int level = step_down(fs, path, &entry, 1);
#if defined(NF2_DEBUG) && NF2_DEBUG > 1
    NF2_ASSERT(level < 0 || !next || way.node[way.depth - 1u] == path->node[path->depth - 1u]);
#endif
    return level < 0 ? level : 1;
}

void nf2_tree_follow(nf2_t *fs, uint32_t node, uint16_t from, uint32_t to_node, uint16_t to, bool changed)
{
    for (nf2_file_t *file = fs->files; file != NULL; file = file->next) {
        if (file->leaf == node && file->entry == from) {
            file->leaf = to_node;
            file->entry = to;
            file->before = from;
            file->stale = file->stale || changed;
        }
    }
}

void nf2_tree_unfollow(nf2_t *fs, uint32_t to_node, uint32_t from, uint32_t to, uint32_t node)
{
    for (nf2_file_t *file = to_node != 0 ? fs->files : NULL; file != NULL; file = file->next) { /* 0: no block was taken; new files are on none either */
        if (file->leaf == to_node && file->entry >= from && file->entry < to) {
            file->leaf = node;
            file->entry = file->before;
        }
    }
}
