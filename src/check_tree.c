/* SPDX-License-Identifier: BSD-2-Clause */
/* check_tree.c - the checker's walk over the tree, and what is right for nodes, entries, the content of files. */
#include "checker.h"
#include "flash.h"
#include "frames.h"
#include "index.h"
#include "names.h"

/* ---- the walk ----------------------------------------------------------------------------------- */

/* The child at `entry` of the path's last node, of this level, as a further step of the path: 1, or 0 if it is none. */
static int enter(nf2_t *fs, struct nf2_path *path, const struct nf2_entry *entry, int level, uint32_t *child)
{
    struct nf2_entry at = *entry;

    path->child[path->depth - 1] = entry->offset;
    if (nf2_entry_body(fs, &at) < 0 || nf2_tree_child(fs, &at, child) < 0 || nf2_node_level(fs, *child) != level) {
        return 0;
    }
    path->node[path->depth++] = (uint16_t)*child;
    return 1;
}

int nf2_check_walk(nf2_t *fs, struct check *check, enum nf2_seek direction, bool report, nf2_visit *visit)
{
    struct nf2_path path;
    struct nf2_entry entry;
    int root = nf2_node_level(fs, fs->root);
    bool entered = true;

    path.node[0] = (uint16_t)fs->root;
    path.depth = root < 0 ? 0 : 1;
    if (report && root < 0) {
        nf2_complain(check, NF2_FOUND_TREE, fs->root, 0, 0);
    }
    check->partial = check->partial || root < 0;
    for (uint32_t nodes = 0; path.depth > 0;) {
        int level = root + 1 - path.depth, found = 0;
        uint32_t node = path.node[path.depth - 1], child = NF2_NONE;
        if (entered) {
            if (++nodes > fs->blocks) { /* the same nodes again and again */
                return NF2_OK;
            }
            NF2_TRY(visit(fs, check, &path, level));
        }
        if (level > 0 && entered) {
            struct nf2_key end = nf2_lowest_key(direction == NF2_ABOVE ? 0 : NF2_NONE);
            found = nf2_node_seek(fs, node, &end, direction == NF2_ABOVE ? NF2_AT_OR_ABOVE : NF2_AT_OR_BELOW, &entry);
        } else if (level > 0 && nf2_tree_child_entry(fs, &path, path.depth - 1u, &entry) == NF2_OK) {
            struct nf2_key key = nf2_entry_key(&entry);
            found = nf2_node_seek(fs, node, &key, direction, &entry);
        }
        if (found <= 0) { /* a node that cannot be read was complained of when it was visited */
            path.depth--;
            entered = false;
            continue;
        }
        entered = enter(fs, &path, &entry, level - 1, &child);
        if (!entered) {
            check->partial = true;
            if (report) {
                nf2_complain(check, NF2_FOUND_TREE, child < fs->blocks ? child : node, 0, 0);
            }
        }
    }
    return NF2_OK;
}

int nf2_check_each(nf2_t *fs, struct check *check, uint32_t node, nf2_visit_entry *visit)
{
    uint8_t killed[NF2_KILL_BYTES];
    struct nf2_live live;
    struct nf2_entry entry;
    int found = nf2_live_begin(fs, node, killed, &live);

    while (found >= 0 && (found = nf2_live_next(fs, &live, &entry)) > 0) {
        if (nf2_entry_body(fs, &entry) == NF2_OK) {
            NF2_TRY(visit(fs, check, &entry));
        }
    }
    check->partial = check->partial || found < 0;
    return found;
}

/* ---- content of files --------------------------------------------------------------------------- */

/* Complains of an entry: with its name, if it has one. */
static void complain_entry(nf2_t *fs, struct check *check, enum nf2_finding_kind kind, const struct nf2_entry *entry)
{
    struct nf2_finding finding = {kind, entry->node, entry->id, 0, fs->write_buffer, entry->key_length};

    check->wrong++;
    if (nf2_record_read(fs, entry->node, entry->offset, entry->key_position, fs->write_buffer, entry->key_length) < 0) {
        finding.name = NULL;
    }
    if (check->report != NULL) {
        check->report(check->context, &finding);
    }
}

/* Can the driver read this? From `within` of a block on. */
static bool readable(nf2_t *fs, uint32_t block, uint32_t within, uint32_t length)
{
    while (length > 0) {
        block += within / nf2_block_bytes(fs);
        within %= nf2_block_bytes(fs);
        uint32_t n = nf2_min(length, nf2_page(fs) - (within & (nf2_page(fs) - 1)));
        if (nf2_peek_just(fs, block, within, n) == NULL) {
            return false;
        }
        within += n;
        length -= n;
    }
    return true;
}

static void check_flat(nf2_t *fs, struct check *check, const struct nf2_entry *entry, uint32_t size)
{
    struct nf2_run runs[NF2_EXTENTS_MAX];
    uint32_t id;
    int n = nf2_entry_owns(fs, entry, runs, &id);

    for (int i = 0; i < n; i++) {
        uint32_t bytes = nf2_min(size, runs[i].count * nf2_block_bytes(fs));
        if (runs[i].start + runs[i].count <= fs->blocks && !readable(fs, runs[i].start, 0, bytes)) {
            complain_entry(fs, check, NF2_FOUND_DATA, entry);
        }
        size -= bytes;
    }
    if (n < 0 || size > 0) {
        complain_entry(fs, check, NF2_FOUND_SIZE, entry);
    }
}

/* Does the file own all blocks of a part of it? */
static bool is_owned(nf2_t *fs, uint32_t id, uint32_t block, uint32_t end)
{
    struct nf2_item own;

    while (block < end) {
        if (nf2_index_seek(fs, id, NF2_INDEX_OWN, block, NF2_AT_OR_BELOW, &own) <= 0 || block - own.number >= own.length) {
            return false;
        }
        block = own.number + own.length;
    }
    return true;
}

/* One part of an indexed file; `next`: where the following one begins. */
static void check_item(nf2_t *fs, struct check *check, uint32_t id, const struct nf2_item *item, uint32_t next)
{
    bool piece = item->kind == NF2_BODY_PIECE;
    uint32_t blocks = piece ? (item->within + item->length + nf2_block_bytes(fs) - 1) / nf2_block_bytes(fs) : 1;
    uint32_t reach = next != NF2_NONE ? next : item->number; /* frames go on to what follows them */
    struct nf2_frames frames;

    if (piece && item->length > next - item->number && !check->unsettled) {
        nf2_complain(check, NF2_FOUND_OVERLAP, NF2_NONE, id, item->number);
    }
    if (piece && (item->block == NF2_NO_BLOCK || item->length == 0)) {
        return;
    }
    if (!check->unsettled && !is_owned(fs, id, item->block, item->block + blocks)) {
        nf2_complain(check, NF2_FOUND_FOREIGN, item->block, id, item->number);
    }
    if (piece ? !readable(fs, item->block, item->within, item->length)
              : nf2_frames_open(fs, id, item->block, item->base, &frames) < 0 || frames.end < reach) {
        nf2_complain(check, NF2_FOUND_DATA, item->block, id, item->number);
    }
}

static void check_map(nf2_t *fs, struct check *check, const struct nf2_entry *entry, uint32_t id)
{
    struct nf2_item item, next;
    int found = nf2_index_seek(fs, id, NF2_INDEX_MAP, 0, NF2_AT_OR_ABOVE, &item);

    while (found > 0) {
        int further = nf2_index_seek(fs, id, NF2_INDEX_MAP, item.number, NF2_ABOVE, &next);
        check_item(fs, check, id, &item, further > 0 ? next.number : NF2_NONE);
        found = further;
        item = next;
    }
    if (found < 0) {
        complain_entry(fs, check, NF2_FOUND_SIZE, entry);
    }
}

/* ---- entries ------------------------------------------------------------------------------------ */

static bool is_name(const uint8_t *name, uint32_t length)
{
    for (uint32_t i = 0; i < length; i++) {
        if (name[i] == '\0' || name[i] == '/') {
            return false;
        }
    }
    return length > 0 && !(name[0] == '.' && (length == 1 || (length == 2 && name[1] == '.')));
}

static void check_named(nf2_t *fs, struct check *check, const struct nf2_entry *entry, int kind)
{
    struct nf2_stat stat;
    uint32_t id;

    if (nf2_record_read(fs, entry->node, entry->offset, entry->key_position, fs->write_buffer, entry->key_length) < 0 ||
        !is_name(fs->write_buffer, entry->key_length)) {
        complain_entry(fs, check, NF2_FOUND_NAME, entry);
    }
    if (kind == NF2_BODY_DIR ? entry->body_length != 5 : nf2_entry_stat(fs, entry, &stat) < 0 || stat.size > NF2_FILE_MAX) {
        complain_entry(fs, check, NF2_FOUND_SIZE, entry);
    } else if (kind == NF2_BODY_FLAT) {
        check_flat(fs, check, entry, stat.size);
    } else if (kind == NF2_BODY_INDEXED && nf2_entry_id(fs, entry, &id) == NF2_OK) {
        check_map(fs, check, entry, id);
    }
}

static void check_entry(nf2_t *fs, struct check *check, struct nf2_entry *entry, int level)
{
    struct nf2_item item;
    uint8_t key = 0;
    int kind = nf2_entry_body(fs, entry);

    kind = kind < 0 ? kind : nf2_entry_kind(fs, entry);
    if (kind < 0 || (level > 0) != (kind == NF2_BODY_CHILD)) {
        complain_entry(fs, check, NF2_FOUND_ENTRY, entry);
    } else if (kind <= NF2_BODY_INDEXED) {
        check_named(fs, check, entry, kind);
    } else if (level == 0 && (nf2_index_item(fs, entry, &item) < 0 ||
                              nf2_record_read(fs, entry->node, entry->offset, entry->key_position, &key, 1) < 0 ||
                              key != (kind == NF2_BODY_OWN ? NF2_INDEX_OWN : NF2_INDEX_MAP))) {
        complain_entry(fs, check, NF2_FOUND_ENTRY, entry);
    }
}

/* ---- nodes -------------------------------------------------------------------------------------- */

/* Where the range of keys of the path's last node begins, and where it ends: false where nothing bounds it. */
static bool range_low(nf2_t *fs, const struct nf2_path *path, struct nf2_entry *low)
{
    return path->depth > 1 && nf2_tree_child_entry(fs, path, path->depth - 2u, low) == NF2_OK;
}

static bool range_high(nf2_t *fs, const struct nf2_path *path, struct nf2_entry *high)
{
    for (unsigned depth = path->depth - 1u; depth-- > 0;) {
        if (nf2_tree_child_entry(fs, path, depth, high) == NF2_OK) {
            struct nf2_key key = nf2_entry_key(high);
            if (nf2_node_seek(fs, path->node[depth], &key, NF2_ABOVE, high) > 0) {
                return true;
            }
        }
    }
    return false;
}

static int count_entry(nf2_t *fs, struct check *check, const struct nf2_entry *entry)
{
    (void)fs;
    (void)entry;
    check->count++;
    return NF2_OK;
}

/* The entries in order: in the node's range, each key once; the first of an inner node is where the range begins. */
static int check_node(nf2_t *fs, struct check *check, const struct nf2_path *path, int level)
{
    struct nf2_entry at, low, high;
    struct nf2_key key = nf2_lowest_key(0);
    uint32_t node = path->node[path->depth - 1], ordered = 0;
    bool bounded = range_high(fs, path, &high), strays = false;
    enum nf2_seek seek = NF2_AT_OR_ABOVE;
    int found, order = 0;

    check->count = 0;
    if (nf2_check_each(fs, check, node, count_entry) < 0) {
        nf2_complain(check, NF2_FOUND_NODE, node, 0, 0);
        return NF2_OK;
    }
    if (range_low(fs, path, &low)) {
        key = nf2_entry_key(&low);
        strays = nf2_node_seek(fs, node, &key, NF2_BELOW, &at) > 0;
        if (strays) {
            complain_entry(fs, check, NF2_FOUND_RANGE, &at);
        }
    }
    while ((found = nf2_node_seek(fs, node, &key, seek, &at)) > 0) {
        struct nf2_key own = nf2_entry_key(&at);
        if (level > 0 && ordered == 0) {
            NF2_TRY(nf2_key_compare(fs, &own, &key, &order));
        }
        if (order == 0 && bounded) {
            struct nf2_key end = nf2_entry_key(&high);
            NF2_TRY(nf2_key_compare(fs, &own, &end, &order));
            order = order >= 0;
        }
        if (order != 0) {
            complain_entry(fs, check, NF2_FOUND_RANGE, &at);
            order = 0;
        }
        key = own;
        check_entry(fs, check, &at, level);
        seek = NF2_ABOVE;
        ordered++;
    }
    if (found < 0) {
        nf2_complain(check, NF2_FOUND_NODE, node, 0, 0);
    } else if (ordered != check->count && !strays) {
        nf2_complain(check, NF2_FOUND_TWICE, node, 0, check->count - ordered);
    }
    return NF2_OK;
}

int nf2_check_tree(nf2_t *fs, struct check *check)
{
    return nf2_check_walk(fs, check, NF2_ABOVE, true, check_node);
}
