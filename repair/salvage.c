/* SPDX-License-Identifier: BSD-2-Clause */
#include "places.h"
#include "salvage.h"

#include <stdlib.h>
#include <string.h>

#include "core.h"
#include "index.h"
#include "meta.h"
#include "node.h"

#define RUNS_MAX 8u
#define VOLUMES_MAX 8u
#define EFFORT 1500000000u      /* some minutes with a chip full of nodes that are all alike; a real volume takes seconds */
#define MEMORY 268435456u

/* ---- notes --------------------------------------------------------------------------------------- */

void rep_note(struct repair *repair, enum repair_note_kind kind, uint32_t block, uint32_t number, char *from, char *to)
{
    static const bool losses[REPAIR_NOTE_KINDS] = {[REPAIR_NOTE_META] = true, [REPAIR_NOTE_NODE] = true, [REPAIR_NOTE_RECORDS] = true, [REPAIR_NOTE_BATCH] = true,
                                                   [REPAIR_NOTE_SHARED] = true, [REPAIR_NOTE_BLOCKS] = true,
                                                   [REPAIR_NOTE_MAZE] = true};

    repair->note = rep_grow(repair->note, repair->notes, sizeof *repair->note);
    repair->note[repair->notes++] = (struct repair_note){kind, block, number, from, to};
    repair->lossy = repair->lossy || losses[kind];
}

const char *repair_note_text(enum repair_note_kind kind)
{
    static const char *const texts[REPAIR_NOTE_KINDS] = {
        [REPAIR_NOTE_SUPER] = "both copies of the super log are lost",
        [REPAIR_NOTE_META] = "the meta log is damaged: which blocks are in use is not sure",
        [REPAIR_NOTE_NODE] = "a node of the tree is lost",
        [REPAIR_NOTE_RECORDS] = "records of a node are lost",
        [REPAIR_NOTE_MENDED] = "flipped bits were mended",
        [REPAIR_NOTE_UNFINISHED] = "an unfinished write, or one that was damaged",
        [REPAIR_NOTE_BATCH] = "parts of a committed change are lost",
        [REPAIR_NOTE_NAME] = "a name that no path can have was changed",
        [REPAIR_NOTE_SHARED] = "a second name for the same was left out",
        [REPAIR_NOTE_BLOCKS] = "data that no entry leads to",
        [REPAIR_NOTE_MAZE] = "there are too many nodes to compare them all: older content may have been taken for newer",
    };

    return (unsigned)kind < REPAIR_NOTE_KINDS ? texts[kind] : "unknown";
}

const char *repair_state_text(enum repair_state state)
{
    static const char *const texts[REPAIR_STATES] = {
        [REPAIR_WHOLE] = "whole",
        [REPAIR_UNSURE] = "whole, as far as can be told",
        [REPAIR_DOUBTFUL] = "maybe older than it was, or removed: a record is lost",
        [REPAIR_FOUND] = "its name is lost",
        [REPAIR_OUTDATED] = "older than it was: the newest content is lost",
        [REPAIR_COPY] = "an older copy: the newest is lost",
        [REPAIR_DAMAGED] = "parts are lost",
        [REPAIR_LOST] = "the content is lost",
    };

    return (unsigned)state < REPAIR_STATES ? texts[state] : "unknown";
}

/* ---- which entries hold -------------------------------------------------------------------------- */

static bool named_better(const struct rep_entries *entries, const struct rep_entry *entry)
{
    uint32_t id = rep_body_id(entry);

    for (unsigned i = 0; i < entries->count && id != 0; i++) {
        const struct rep_entry *other = &entries->entry[i];
        if (other != entry && other->rank > entry->rank && other->kind == entry->kind && rep_body_id(other) == id) {
            return true;
        }
    }
    return false;
}

/* Entries that may be outdated and whose blocks are free, or belong to somebody else, were replaced or removed. */
static bool is_dead(const struct repair *repair, const struct rep_entry *entry, const bool *owned)
{
    struct rep_run runs[RUNS_MAX];
    unsigned count = rep_entry_runs(entry, runs), end;
    uint32_t id = rep_body_id(entry);

    if (entry->trust < (repair->meta.clean ? REP_UNSURE : REP_DOUBTFUL)) {
        return false;
    }
    if (entry->kind == NF2_BODY_INDEXED &&
        (rep_is_removed(&repair->tree, &repair->entries, id, true) || (entry->trust == REP_COPY && rep_entries_of(&repair->entries, id, &end) == end))) {
        return true;
    }
    if (entry->trust == REP_COPY && named_better(&repair->entries, entry)) {
        return true;
    }
    for (unsigned i = 0; i < count; i++) {
        for (uint32_t block = runs[i].start; block < runs[i].start + runs[i].count; block++) {
            if (block >= repair->image.blocks || repair->meta.is_meta[block] || repair->tree.role[block] >= REP_FOUND_NODE ||
                (repair->meta.whole && repair->meta.state[block] <= REP_ERASED) || (entry->trust == REP_COPY && owned[block])) {
                return true;
            }
        }
    }
    return false;
}

static void drop_dead(struct repair *repair, const bool *owned)
{
    bool *dead = rep_alloc(repair->entries.count * sizeof *dead);
    unsigned kept = 0;

    for (unsigned i = 0; i < repair->entries.count; i++) {
        dead[i] = is_dead(repair, &repair->entries.entry[i], owned);
    }
    for (unsigned i = 0; i < repair->entries.count; i++) {
        if (!dead[i]) {
            repair->entries.entry[kept++] = repair->entries.entry[i];
        }
    }
    repair->entries.count = kept;
    free(dead);
}

/* Who owns each block: of two the entry that can be trusted more. */
static void find_owners(struct repair *repair)
{
    struct rep_run runs[RUNS_MAX];

    repair->owners.owner = rep_alloc(repair->image.blocks * sizeof *repair->owners.owner);
    repair->owners.shared = rep_alloc(repair->image.blocks * sizeof *repair->owners.shared);
    for (unsigned i = 0; i < repair->entries.count; i++) {
        const struct rep_entry *entry = &repair->entries.entry[i];
        unsigned count = rep_entry_runs(entry, runs);
        for (unsigned j = 0; j < count; j++) {
            for (uint32_t block = runs[j].start; block < runs[j].start + runs[j].count && block < repair->image.blocks; block++) {
                uint32_t *owner = &repair->owners.owner[block];
                const struct rep_entry *other = *owner != 0 ? &repair->entries.entry[*owner - 1] : NULL;
                bool level = other != NULL && entry->rank == other->rank && entry->trust == other->trust;
                bool takes = other == NULL || entry->rank > other->rank || (entry->rank == other->rank && entry->trust < other->trust) ||
                             (level && rep_entry_newer(&repair->tree, entry, other));
                bool same = other != NULL && (entry->kind == NF2_BODY_OWN ? other->kind == NF2_BODY_OWN && other->key.id == entry->key.id
                                                                          : rep_key_compare(&other->key, &entry->key) == 0);
                bool equal = level && !same && !takes && !rep_entry_newer(&repair->tree, other, entry);
                repair->owners.shared[block] = equal || (!(takes && !same) && repair->owners.shared[block]);
                *owner = takes ? i + 1 : *owner;
            }
        }
    }
}

/* Blocks that are in use and that nothing owns, where that can be told: they are marked. How many. */
static unsigned find_leaks(struct repair *repair, const bool *owned, bool mark)
{
    unsigned count = 0;

    for (uint32_t block = 0; block < repair->image.blocks && repair->meta.clean; block++) {
        bool leak = repair->meta.state[block] == REP_USED && !repair->meta.is_meta[block] && !repair->meta.is_idle[block] && repair->tree.role[block] < REP_FOUND_NODE &&
                    !rep_blank(rep_block(&repair->image, block), repair->image.block_size);
        for (unsigned i = 0; i < repair->tree.holes && leak; i++) {
            leak = repair->tree.hole[i].block != block || repair->tree.hole[i].records;
        }
        leak = leak && (mark ? repair->owners.owner[block] == 0 : !owned[block]);
        if (leak && mark) {
            repair->owners.owner[block] = NF2_NONE;
        }
        count += leak;
    }
    return count;
}

/* Where all blocks in use are accounted for, inner nodes may be lost, but nothing that they led to. */
static void close_holes(struct repair *repair, const bool *owned)
{
    bool found = false;

    if (!repair->meta.clean || find_leaks(repair, owned, false) > 0) {
        return;
    }
    for (uint32_t block = 0; block < repair->image.blocks && !found; block++) {
        found = repair->tree.role[block] == REP_FOUND_NODE;
    }
    for (unsigned i = 0; i < repair->tree.holes; i++) {
        struct rep_hole *hole = &repair->tree.hole[i];
        hole->closed = !hole->records && (!hole->sure || (hole->level == REP_NO_LEVEL ? found : hole->level > 0));
    }
}

static void collect_again(struct repair *repair, bool *owned)
{
    rep_entries_free(&repair->entries);
    rep_entries_collect(&repair->tree, &repair->entries);
    memset(owned, 0, repair->image.blocks * sizeof *owned);
    rep_entries_own(&repair->tree, &repair->entries, owned);
}

static void collect(struct repair *repair)
{
    bool *owned = rep_alloc(repair->image.blocks * sizeof *owned);

    collect_again(repair, owned);
    rep_tree_strays(&repair->tree, owned);
    if (repair->tree.holes > 0) {
        rep_tree_fill(&repair->tree, owned, false);
        collect_again(repair, owned);
        rep_tree_fill(&repair->tree, owned, true); /* what has no head may be something else: of files, for one */
        collect_again(repair, owned);
        close_holes(repair, owned);
        rep_tree_copies(&repair->tree, owned);
        collect_again(repair, owned);
    }
    drop_dead(repair, owned);
    find_owners(repair);
    (void)find_leaks(repair, owned, true);
    free(owned);
}

/* ---- what was found on the way ------------------------------------------------------------------- */

static void note_logs(struct repair *repair)
{
    if (!repair->meta.anchored) {
        rep_note(repair, REPAIR_NOTE_SUPER, NF2_NONE, 0, NULL, NULL);
    }
    if (!repair->meta.whole) {
        rep_note(repair, REPAIR_NOTE_META, repair->meta.head, repair->meta.lost, NULL, NULL);
    }
    if (repair->meta.unfinished != NF2_NONE) {
        rep_note(repair, REPAIR_NOTE_UNFINISHED, repair->meta.unfinished, 1, NULL, NULL);
    }
    if (repair->meta.mended > 0) {
        rep_note(repair, REPAIR_NOTE_MENDED, repair->meta.head, repair->meta.mended, NULL, NULL);
    }
    if (repair->image.effort == 0) {
        rep_note(repair, REPAIR_NOTE_MAZE, NF2_NONE, 0, NULL, NULL);
    }
    if (repair->entries.batch_lost > 0) {
        rep_note(repair, REPAIR_NOTE_BATCH, repair->meta.redo_block, repair->entries.batch_lost, NULL, NULL);
    }
}

static void note_nodes(struct repair *repair)
{
    for (uint32_t block = 0; block < repair->image.blocks; block++) {
        const struct rep_node *node = repair->tree.role[block] >= REP_FOUND_NODE ? repair->tree.node[block] : NULL;
        if (node == NULL) {
            continue;
        }
        if (node->lost > 0) {
            rep_note(repair, REPAIR_NOTE_RECORDS, block, node->lost, node->low != NULL ? rep_key_path(repair, node->low) : NULL,
                     node->high != NULL ? rep_key_path(repair, node->high) : NULL);
        }
        if (node->log.mended > 0) {
            rep_note(repair, REPAIR_NOTE_MENDED, block, node->log.mended, NULL, NULL);
        }
        if (node->log.losts > node->lost) {
            rep_note(repair, REPAIR_NOTE_UNFINISHED, block, node->log.losts - node->lost, NULL, NULL);
        }
    }
    for (unsigned i = 0; i < repair->tree.holes; i++) {
        const struct rep_hole *hole = &repair->tree.hole[i];
        if (hole->sure && !(hole->closed && hole->block == NF2_NONE)) {
            rep_note(repair, REPAIR_NOTE_NODE, hole->block, 0, rep_key_path(repair, &hole->low), hole->bounded ? rep_key_path(repair, &hole->high) : NULL);
        }
    }
}

/* ---- all ----------------------------------------------------------------------------------------- */

/* Do files own blocks that are free as far as the meta log knows? Then there was more of it. */
static bool disproved(struct repair *repair)
{
    struct rep_run runs[RUNS_MAX];
    bool found = false;

    rep_entries_collect(&repair->tree, &repair->entries);
    for (unsigned i = 0; i < repair->entries.count && repair->meta.whole && !found; i++) {
        const struct rep_entry *entry = &repair->entries.entry[i];
        unsigned count = entry->trust <= REP_UNSURE && entry->rank == REP_RANK_TREE ? rep_entry_runs(entry, runs) : 0;
        const struct rep_node *node = entry->batch ? NULL : repair->tree.node[entry->node];
        for (unsigned j = 0; j < count && node != NULL && node->log.losts == 0; j++) {
            for (uint32_t block = runs[j].start; block < runs[j].start + runs[j].count && block < repair->image.blocks; block++) {
                found = found || repair->meta.state[block] <= REP_ERASED || repair->meta.is_idle[block];
            }
        }
    }
    rep_entries_free(&repair->entries);
    return found;
}

static bool read_tree(struct repair *repair, uint32_t volume, bool anchored)
{
    rep_meta_read(&repair->image, volume, anchored, &repair->meta);
    rep_tree_find(&repair->image, &repair->meta, &repair->tree);
    if (!repair->meta.outdated && disproved(repair)) {
        rep_tree_free(&repair->tree);
        rep_meta_distrust(&repair->image, &repair->meta);
        rep_tree_find(&repair->image, &repair->meta, &repair->tree);
    }
    return repair->tree.holes == 0;
}

/* Nodes that the root leads to. */
static unsigned reached(const struct rep_tree *tree)
{
    unsigned count = 0;

    for (uint32_t block = 0; block < tree->image->blocks; block++) {
        count += tree->role[block] == REP_TREE_NODE;
    }
    return count;
}

static void forget_tree(struct repair *repair)
{
    rep_tree_free(&repair->tree);
    rep_meta_free(&repair->meta);
}

/* Reads the volume; where no anchor says which, the one whose tree is whole, or the largest. */
static bool choose_volume(struct repair *repair)
{
    uint32_t ids[VOLUMES_MAX];
    bool anchored;
    unsigned count = rep_volumes(&repair->image, ids, VOLUMES_MAX, &anchored), best = 0, most = 0;

    if (count == 0) {
        return false;
    }
    for (unsigned i = 0; i < count && count > 1; i++) {
        bool whole = read_tree(repair, ids[i], anchored);
        unsigned nodes = reached(&repair->tree) + (whole ? repair->image.blocks : 0);
        best = nodes > most ? i : best;
        most = nodes > most ? nodes : most;
        forget_tree(repair);
    }
    (void)read_tree(repair, ids[best], anchored);
    return true;
}

static bool fine_geometry(const struct repair_geometry *g)
{
    return (g->page_size == 256 || g->page_size == 512) && g->block_size >= 8 * g->page_size && g->block_size <= 65536 &&
           (g->block_size & (g->block_size - 1)) == 0 && g->program_unit >= 1 && g->program_unit <= 32 &&
           (g->program_unit & (g->program_unit - 1)) == 0 && g->size / g->block_size >= NF2_BLOCKS_MIN &&
           g->size / g->block_size <= NF2_REGIONS_MAX * NF2_REGION_BLOCKS;
}

struct repair *repair_open(const uint8_t *bytes, const struct repair_geometry *geometry)
{
    if (!fine_geometry(geometry)) {
        return NULL;
    }
    struct repair *repair = rep_alloc(sizeof *repair);
    repair->image.bytes = bytes;
    repair->image.blocks = geometry->size / geometry->block_size;
    repair->image.block_size = geometry->block_size;
    repair->image.page_size = geometry->page_size;
    repair->image.program_unit = geometry->program_unit;
    repair->image.effort = EFFORT;
    repair->image.memory = MEMORY;
    repair->image.log_bytes = nf2_min(NF2_LOG_PAGES * geometry->page_size, geometry->block_size);
    repair->copy = rep_places(&repair->image);
    if (!choose_volume(repair)) {
        free(repair->copy);
        free(repair);
        return NULL;
    }
    collect(repair);
    rep_names_find(repair);
    note_logs(repair);
    note_nodes(repair);
    for (unsigned i = 0; i < repair->items; i++) {
        repair->lossy = repair->lossy || repair->item[i].out.state >= REPAIR_DOUBTFUL;
    }
    return repair;
}

void repair_close(struct repair *repair)
{
    if (repair == NULL) {
        return;
    }
    for (unsigned i = 0; i < repair->items; i++) {
        free(repair->item[i].path);
        free(repair->item[i].made.body);
    }
    for (unsigned i = 0; i < repair->notes; i++) {
        free((void *)(uintptr_t)repair->note[i].from);
        free((void *)(uintptr_t)repair->note[i].to);
    }
    free(repair->item);
    free(repair->note);
    free(repair->owners.owner);
    free(repair->owners.shared);
    rep_entries_free(&repair->entries);
    forget_tree(repair);
    free(repair->copy);
    free(repair);
}

/* ---- looking at it ------------------------------------------------------------------------------- */

void rep_item_content(const struct repair *repair, const struct item *item, struct rep_content *content)
{
    if (item->blocks > 0) {
        memset(content, 0, sizeof *content);
        content->part = rep_grow(NULL, 0, sizeof *content->part);
        content->part[content->parts++] =
            (struct rep_part){0, item->blocks * repair->image.block_size, rep_block(&repair->image, item->first_block), false, false};
        content->size = content->part[0].length;
        return;
    }
    rep_content_read(&repair->tree, &repair->entries, &repair->owners,
                     item->entry >= 0 ? &repair->entries.entry[item->entry] : &item->made, content);
}

unsigned repair_count(const struct repair *repair)
{
    return repair->items;
}

const struct repair_item *repair_item(const struct repair *repair, unsigned number)
{
    return &repair->item[number].out;
}

bool repair_lost_range(const struct repair *repair, unsigned item, unsigned number, uint32_t *from, uint32_t *to)
{
    struct rep_content content;
    bool found = false;

    rep_item_content(repair, &repair->item[item], &content);
    for (unsigned i = 0; i < content.parts && !found; i++) {
        if (content.part[i].lost && number-- == 0) {
            *from = content.part[i].at;
            *to = *from + content.part[i].length;
            found = true;
        }
    }
    rep_content_free(&content);
    return found;
}

uint32_t repair_read(const struct repair *repair, unsigned item, uint32_t at, void *data, uint32_t length)
{
    struct rep_content content;
    uint32_t done = 0;

    rep_item_content(repair, &repair->item[item], &content);
    for (unsigned i = 0; i < content.parts && done < length; i++) {
        const struct rep_part *part = &content.part[i];
        if (at + done >= part->at + part->length || at + done < part->at) {
            continue;
        }
        uint32_t skip = at + done - part->at, n = nf2_min(length - done, part->length - skip);
        if (part->data != NULL) {
            memcpy((uint8_t *)data + done, part->data + skip, n);
        } else {
            memset((uint8_t *)data + done, 0, n);
        }
        done += n;
    }
    rep_content_free(&content);
    return done;
}

uint32_t repair_unchecked(const struct repair *repair, unsigned item)
{
    struct rep_content content;
    uint32_t bytes = 0;

    if (repair->item[item].out.type != NF2_TYPE_FILE) {
        return 0;
    }
    rep_item_content(repair, &repair->item[item], &content);
    for (unsigned i = 0; i < content.parts; i++) {
        const struct rep_part *part = &content.part[i];
        bytes += part->checked || part->lost ? 0 : part->length;
    }
    rep_content_free(&content);
    return bytes;
}

unsigned repair_notes(const struct repair *repair)
{
    return repair->notes;
}

const struct repair_note *repair_note(const struct repair *repair, unsigned number)
{
    return &repair->note[number];
}

bool repair_lossy(const struct repair *repair)
{
    return repair->lossy;
}

bool repair_clean(const struct repair *repair)
{
    return repair->meta.clean;
}

const char *repair_path_of(const struct repair *repair, uint32_t id)
{
    for (unsigned i = 0; i < repair->items; i++) {
        if (repair->item[i].id == id && id != 0) {
            return repair->item[i].path;
        }
    }
    return id == 1 ? "" : NULL;
}
