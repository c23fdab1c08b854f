/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check.c - a checker: walks the whole tree, read-only, and compares what it finds with what the meta log says of
 * blocks. Blocks are compared in windows of one bit a block in the tree buffer, so that RAM does not grow with the chip.
 */
#include "batch.h"
#include "cache.h"
#include "index.h"
#include "flash.h"
#include "names.h"
#include "region.h"
#include "space.h"

#define WINDOW_BLOCKS (NF2_TREE_BUFFER_SIZE * 8u)

struct check {
    void (*report)(void *context, const char *text);
    void *context;
    int wrong;
    uint32_t first;             /* of the window */
    bool unsettled;             /* what a cut left is settled by a mount for writing only: blocks cannot be compared */
};

static void complain(struct check *check, const char *what, uint32_t number)
{
    char text[96];
    unsigned n = 0;
    char digits[10];
    unsigned d = 0;

    check->wrong++;
    if (check->report == NULL) {
        return;
    }
    while (what[n] != '\0' && n < sizeof text - 12) {
        text[n] = what[n];
        n++;
    }
    text[n++] = ' ';
    do {
        digits[d++] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    while (d > 0) {
        text[n++] = digits[--d];
    }
    text[n] = '\0';
    check->report(check->context, text);
}

/* ---- blocks that something owns ----------------------------------------------------------------- */

/* Read-only after a cut: a batch may be applied in part, and what it moves be there twice. */
static bool half_applied(const nf2_t *fs, const struct check *check)
{
    return check->unsettled && fs->redo_block < fs->blocks;
}

static void own(nf2_t *fs, struct check *check, uint32_t start, uint32_t count)
{
    for (uint32_t block = start; block < start + count; block++) {
        if (block >= fs->blocks) {
            complain(check, "a reference leads out of the volume: block", block);
            return;
        }
        if (block - check->first >= WINDOW_BLOCKS) {
            continue;
        }
        if (nf2_bit(fs->tree_buffer, block - check->first) && !half_applied(fs, check)) {
            complain(check, "two owners of block", block);
        }
        nf2_bit_set(fs->tree_buffer, block - check->first, true);
    }
}

static void own_lists(nf2_t *fs, struct check *check)
{
    own(fs, check, 0, NF2_SUPER_BLOCKS);
    own(fs, check, fs->root, 1);
    own(fs, check, fs->meta_next, 1);
    if (check->unsettled) {
        return; /* the slots may list what was committed since */
    }
    for (unsigned i = 0; i < fs->freed_count; i++) {
        own(fs, check, fs->freed[i].start, fs->freed[i].count);
    }
    for (unsigned s = 0; s < NF2_SLOTS; s++) {
        for (unsigned r = 0; r < fs->slot[s].runs; r++) {
            own(fs, check, fs->slot[s].run[r].start, fs->slot[s].run[r].count);
        }
    }
    if (fs->redo_block < fs->blocks && !fs->redo_owned) {
        own(fs, check, fs->redo_block, 1);
    }
}

static int own_meta_window(nf2_t *fs, struct check *check)
{
    struct nf2_meta_head head;
    uint32_t block = fs->meta_tail;

    for (uint32_t i = 0; i < fs->blocks; i++) {
        int found = block < fs->blocks ? nf2_meta_head(fs, block, &head) : 0;
        NF2_TRY(found);
        if (!found) {
            break;
        }
        own(fs, check, block, 1);
        if (block == fs->meta_head) {
            return NF2_OK;
        }
        block = head.next;
    }
    complain(check, "the meta log is broken behind block", fs->meta_tail);
    return NF2_OK;
}

/* ---- the tree ----------------------------------------------------------------------------------- */

static int check_owned(nf2_t *fs, struct check *check, const struct nf2_entry *entry)
{
    struct nf2_run runs[NF2_EXTENTS_MAX];
    uint32_t id;
    int n = nf2_entry_owns(fs, entry, runs, &id);

    if (n < 0) {
        complain(check, "an entry cannot be read in node", entry->node);
        return NF2_OK;
    }
    for (int i = 0; i < n; i++) {
        own(fs, check, runs[i].start, runs[i].count);
    }
    return NF2_OK;
}

/* Entries of one node: they can be read, and what they own has one owner. */
static int check_node(nf2_t *fs, struct check *check, uint32_t node)
{
    struct nf2_node_info info;
    struct nf2_scan scan;
    struct nf2_entry entry;
    int found = nf2_node_info(fs, node, &info);

    if (found < 0) {
        complain(check, "a damaged node: block", node);
        return NF2_OK;
    }
    nf2_scan_begin(&scan, node);
    while ((found = nf2_node_next(fs, &scan, &entry)) > 0) {
        if (nf2_entry_alive(&entry, info.killed)) {
            NF2_TRY(check_owned(fs, check, &entry));
        }
    }
    if (found < 0) {
        complain(check, "a damaged node: block", node);
    }
    return NF2_OK;
}

/* All nodes, leaf by leaf, each inner node when it is first entered. */
static int check_tree(nf2_t *fs, struct check *check)
{
    static const uint8_t none[1] = {0};
    struct nf2_key first = nf2_key_of(0, none, 0);
    struct nf2_path path;
    uint32_t seen[NF2_NODE_LEVELS];
    int more = nf2_tree_descend(fs, &first, &path);

    for (unsigned i = 0; i < NF2_NODE_LEVELS; i++) {
        seen[i] = NF2_NONE;
    }
    if (more < 0) {
        complain(check, "the tree cannot be walked from its root, block", fs->root);
        return NF2_OK;
    }
    for (uint32_t leaves = 0; leaves < fs->blocks; leaves++) {
        for (unsigned i = 0; i < path.depth; i++) {
            if (path.node[i] != seen[i]) {
                seen[i] = path.node[i];
                NF2_TRY(check_node(fs, check, path.node[i]));
            }
        }
        more = nf2_tree_neighbour(fs, &path, NF2_ABOVE);
        if (more < 0) {
            complain(check, "the tree cannot be walked on from leaf", path.node[path.depth - 1]);
        }
        if (more <= 0) {
            return NF2_OK;
        }
    }
    complain(check, "the tree has more leaves than the volume blocks:", fs->blocks);
    return NF2_OK;
}

/* ---- blocks against the meta log ---------------------------------------------------------------- */

static int compare_window(nf2_t *fs, struct check *check, uint32_t *free_blocks)
{
    struct nf2_region region;

    for (uint32_t i = 0; i < WINDOW_BLOCKS && check->first + i < fs->blocks; i++) {
        uint32_t block = check->first + i;
        if (block % NF2_REGION_BLOCKS == 0) {
            NF2_TRY(nf2_region_read(fs, block / NF2_REGION_BLOCKS, &region));
        }
        unsigned state = nf2_region_state(&region, block % NF2_REGION_BLOCKS);
        bool owned = nf2_bit(fs->tree_buffer, i);
        *free_blocks += state <= NF2_BLOCK_ERASED;
        if (owned && state <= NF2_BLOCK_ERASED) {
            complain(check, "in use, but free in the meta log: block", block);
        } else if (!owned && state == NF2_BLOCK_USED) {
            complain(check, "used by nothing: block", block);
        }
    }
    return NF2_OK;
}

/* ---- files -------------------------------------------------------------------------------------- */

/* Walks the map of an indexed file: entries do not overlap, frames can be read. */
static int check_map(nf2_t *fs, struct check *check, uint32_t id)
{
    struct nf2_item item, next;
    uint32_t length;
    int found = nf2_index_seek(fs, id, NF2_INDEX_MAP, 0, NF2_AT_OR_ABOVE, &item);

    while (found > 0) {
        int further = nf2_index_seek(fs, id, NF2_INDEX_MAP, item.number, NF2_ABOVE, &next);
        if (further > 0 && !half_applied(fs, check) && item.kind == NF2_BODY_PIECE && item.number + item.length > next.number) {
            complain(check, "mapping entries overlap in the file with id", id);
        }
        struct nf2_item at;
        if (nf2_index_map(fs, id, item.number, &at, &length) < 0) {
            complain(check, "unreadable data in the file with id", id);
        }
        found = further;
        item = next;
    }
    if (found < 0) {
        complain(check, "a damaged map of the file with id", id);
    }
    return NF2_OK;
}

/* Every directory entry: its kind is known, its sizes fit. */
static int check_entries(nf2_t *fs, struct check *check)
{
    static const uint8_t none[1] = {0};
    struct nf2_key key = nf2_key_of(0, none, 0);
    struct nf2_entry entry = {.node = fs->root};
    struct nf2_stat stat;
    uint8_t bytes[NF2_NAME_MAX];
    enum nf2_seek seek = NF2_AT_OR_ABOVE;
    int found;

    while ((found = nf2_tree_seek(fs, &key, seek, &entry)) > 0) {
        seek = NF2_ABOVE;
        int kind = nf2_entry_kind(fs, &entry);
        if (kind < 0) {
            complain(check, "an entry of unknown kind in node", entry.node);
        } else if (kind <= NF2_BODY_INDEXED && nf2_entry_stat(fs, &entry, &stat) < 0) {
            complain(check, "a file that cannot be read, entry in node", entry.node);
        } else if (kind == NF2_BODY_INDEXED) {
            uint32_t id;
            NF2_TRY(nf2_entry_id(fs, &entry, &id));
            NF2_TRY(check_map(fs, check, id));
        }
        NF2_TRY(nf2_record_read(fs, entry.node, entry.offset, entry.key_position, bytes, entry.key_length));
        key = nf2_key_of(entry.id, bytes, entry.key_length);
    }
    if (found < 0) {
        complain(check, "entries cannot be listed on from node", entry.node);
    }
    return NF2_OK;
}

static int do_check(nf2_t *fs, struct check *check)
{
    uint32_t free_blocks = 0;

    if (!fs->mounted) {
        return NF2_ERR_INVAL;
    }
    check->unsettled = fs->read_only && !fs->clean;
    for (check->first = 0; check->first < fs->blocks; check->first += WINDOW_BLOCKS) {
        memset(fs->tree_buffer, 0, NF2_TREE_BUFFER_SIZE);
        own_lists(fs, check);
        NF2_TRY(own_meta_window(fs, check));
        NF2_TRY(check_tree(fs, check));
        if (!check->unsettled) {
            NF2_TRY(compare_window(fs, check, &free_blocks));
        }
        memset(fs->tree_buffer, 0, NF2_TREE_BUFFER_SIZE);
    }
    if (free_blocks != fs->free_blocks && !check->unsettled) {
        complain(check, "the count of free blocks is wrong; they are", free_blocks);
    }
    NF2_TRY(check_entries(fs, check));
    return check->wrong;
}

int nf2_check(nf2_t *fs, void (*report)(void *context, const char *text), void *context)
{
    struct check check = {report, context, 0, 0, false};

    nf2_lock(fs);
    nf2_cache_lend(fs, true);
    int result = do_check(fs, &check);
    nf2_cache_lend(fs, false);
    nf2_unlock(fs);
    return result;
}
