/* SPDX-License-Identifier: BSD-2-Clause */
#include "recover.h"

#include "batch.h"
#include "cache.h"
#include "flash.h"
#include "space.h"
#include "tree.h"

/* Blocks of the slots' runs are looked at in windows: one bit a block in the tree buffer. */
#define WINDOW_BLOCKS (NF2_TREE_BUFFER_SIZE * 8u)

static bool in_slots(const nf2_t *fs, uint32_t block)
{
    for (unsigned s = 0; s < NF2_SLOTS; s++) {
        for (unsigned r = 0; r < fs->slot[s].runs; r++) {
            const struct nf2_run *run = &fs->slot[s].run[r];
            if (block - run->start < run->count) {
                return true;
            }
        }
    }
    return false;
}

/* ---- what is referenced ------------------------------------------------------------------------- */

static void mark(nf2_t *fs, uint32_t first, uint32_t start, uint32_t count)
{
    for (uint32_t block = start; block < start + count; block++) {
        if (block - first < WINDOW_BLOCKS) {
            nf2_bit_set(fs->tree_buffer, block - first, true);
        }
    }
}

static int mark_entry(nf2_t *fs, uint32_t first, const struct nf2_entry *entry)
{
    struct nf2_run runs[NF2_EXTENTS_MAX];
    uint32_t id;
    int n = nf2_entry_owns(fs, entry, runs, &id);

    NF2_TRY(n);
    for (int i = 0; i < n; i++) {
        mark(fs, first, runs[i].start, runs[i].count);
    }
    return NF2_OK;
}

static int mark_node(nf2_t *fs, uint32_t first, uint32_t node)
{
    struct nf2_node_info info;
    struct nf2_scan scan;
    struct nf2_entry entry;
    int found;

    NF2_TRY(nf2_node_info(fs, node, &info));
    nf2_scan_begin(&scan, node);
    while ((found = nf2_node_next(fs, &scan, &entry)) > 0) {
        if (nf2_entry_alive(&entry, info.killed)) {
            NF2_TRY(mark_entry(fs, first, &entry));
        }
    }
    return found;
}

/* A committed batch that is not applied yet: its blocks, and what its operations will own. */
static int mark_batch(nf2_t *fs, uint32_t first)
{
    struct nf2_scan scan;
    struct nf2_entry op;
    int found;

    if (fs->redo_block >= fs->blocks) {
        return NF2_OK;
    }
    mark(fs, first, fs->redo_block, 1);
    nf2_scan_begin(&scan, fs->redo_block);
    while ((found = nf2_batch_next(fs, &scan, &op)) > 0) {
        mark(fs, first, op.node, 1);
        if (op.type == NF2_BATCH_PUT) {
            NF2_TRY(mark_entry(fs, first, &op));
        }
    }
    return found;
}

static int mark_all(nf2_t *fs, uint32_t first)
{
    memset(fs->tree_buffer, 0, NF2_TREE_BUFFER_SIZE);
    mark(fs, first, fs->root, 1);
    NF2_TRY(mark_batch(fs, first));
    for (unsigned i = 0; i < fs->touched_count; i++) {
        NF2_TRY(mark_node(fs, first, fs->touched[i].node));
    }
    return NF2_OK;
}

static int is_referenced(nf2_t *fs, uint32_t block, bool *yes)
{
    NF2_TRY(mark_all(fs, block));
    *yes = nf2_bit(fs->tree_buffer, 0);
    return NF2_OK;
}

/* ---- what was dropped --------------------------------------------------------------------------- */

/* Frees a dropped run, but for blocks of the slots (they are looked at later) and what a pending batch owns. */
static int free_dropped(nf2_t *fs, const struct nf2_run *run)
{
    for (uint32_t block = run->start; block < run->start + run->count; block++) {
        bool referenced = false;
        if (block >= fs->blocks || in_slots(fs, block)) {
            continue;
        }
        if (fs->redo_block < fs->blocks) {
            NF2_TRY(is_referenced(fs, block, &referenced));
        }
        if (!referenced) {
            if (fs->freed_count == NF2_FREED_MAX) {
                return NF2_ERR_CORRUPT;
            }
            nf2_space_free(fs, block, 1);
        }
    }
    return NF2_OK;
}

static void note_orphan(nf2_t *fs, uint32_t id)
{
    for (unsigned i = 0; i < fs->orphan_count; i++) {
        if (fs->orphan[i] == id) {
            return;
        }
    }
    if (id != 0 && fs->orphan_count < NF2_ORPHANS_MAX) {
        nf2_space_orphan_add(fs, id);
    }
}

static int apply_group(nf2_t *fs, struct nf2_effects *effects)
{
    nf2_effects_settle(effects);
    if (effects->dropped_count > 0) { /* the whole group goes into one STATE, with the node's new end */
        NF2_TRY(nf2_space_prepare(fs, effects->dropped_count + 2u));
    }
    for (unsigned i = 0; i < effects->owned_ids; i++) {
        nf2_space_adopt(fs, effects->owned_id[i]);
    }
    for (unsigned i = 0; i < effects->dropped_count; i++) {
        NF2_TRY(free_dropped(fs, &effects->dropped[i]));
    }
    for (unsigned i = 0; i < effects->dropped_ids; i++) {
        note_orphan(fs, effects->dropped_id[i]);
    }
    return NF2_OK;
}

/* Did this record make an indexed file of the flat one that it replaces? */
static int takes_over(nf2_t *fs, const struct nf2_entry *entry, bool *yes)
{
    uint8_t body[6] = {0};

    *yes = false;
    if (entry->type != NF2_NODE_PUTK || entry->body_length < sizeof body) {
        return NF2_OK;
    }
    NF2_TRY(nf2_body_read(fs, entry, 0, body, sizeof body));
    *yes = body[0] == NF2_BODY_INDEXED && body[NF2_TOOK_OVER] != 0;
    return NF2_OK;
}

static int dropped_at(nf2_t *fs, struct nf2_effects *effects, uint32_t node, uint16_t offset)
{
    struct nf2_entry old;

    if (offset == 0) {
        return NF2_OK;
    }
    NF2_TRY(nf2_entry_at(fs, node, offset, &old));
    return nf2_effects_dropped(fs, effects, &old);
}

static int add_record(nf2_t *fs, struct nf2_effects *effects, const struct nf2_entry *entry)
{
    bool over;

    if (entry->type == NF2_NODE_PUT || entry->type == NF2_NODE_PUTK) {
        NF2_TRY(nf2_effects_owned(fs, effects, entry));
    }
    if (entry->type == NF2_NODE_PUTK || entry->type == NF2_NODE_DEL) {
        NF2_TRY(takes_over(fs, entry, &over));
        return over ? NF2_OK : dropped_at(fs, effects, entry->node, entry->kill);
    }
    return entry->type == NF2_NODE_REN ? dropped_at(fs, effects, entry->node, entry->victim) : NF2_OK;
}

/* Does what the records behind `logged` did, group by group, as the calls did that were cut off from the meta log. */
static int replay_node(nf2_t *fs, struct nf2_touched *touched)
{
    struct nf2_scan scan;
    struct nf2_entry entry;
    struct nf2_effects effects;
    int found;

    memset(&effects, 0, sizeof effects);
    nf2_scan_begin(&scan, touched->node);
    while ((found = nf2_node_next(fs, &scan, &entry)) > 0) {
        if (entry.offset < touched->logged) {
            continue;
        }
        NF2_TRY(add_record(fs, &effects, &entry));
        if (!entry.more) {
            uint32_t node = touched->node;
            NF2_TRY(apply_group(fs, &effects));
            memset(&effects, 0, sizeof effects);
            if (node != touched->node) {
                return NF2_ERR_IO;
            }
            touched->end = scan.position;
        }
    }
    return found;
}

/* ---- what was claimed and not committed ---------------------------------------------------------- */

/* Frees the unreferenced blocks in front of a run, one window, as many as the list takes; shortens the run by what is settled. */
static int settle_front(nf2_t *fs, struct nf2_run *run)
{
    uint32_t first = run->start, count = nf2_min(run->count, WINDOW_BLOCKS);

    NF2_TRY(mark_all(fs, first));
    for (uint32_t i = 0; i < count; i++) {
        if (!nf2_bit(fs->tree_buffer, i)) {
            if (fs->freed_count + 1u > NF2_FREED_MAX - NF2_FREED_KEPT) {
                return NF2_OK;
            }
            nf2_space_free(fs, first + i, 1);
        }
        run->start++;
        run->count--;
    }
    return NF2_OK;
}

static int settle_slots(nf2_t *fs)
{
    for (unsigned s = 0; s < NF2_SLOTS; s++) {
        struct nf2_slot *slot = &fs->slot[s];
        while (slot->runs > 0) {
            struct nf2_run *run = &slot->run[slot->runs - 1];
            if (run->count > 0) {
                NF2_TRY(settle_front(fs, run));
            }
            if (run->count == 0) {
                slot->runs--;
            } else if (fs->freed_count + 1u > NF2_FREED_MAX - NF2_FREED_KEPT) {
                NF2_TRY(nf2_meta_state(fs, false, NULL, NULL, 0));
            }
        }
        slot->used = slot->ready = 0;
    }
    return NF2_OK;
}

/* A batch that was applied to its end is over: what it names may have been dropped since. */
static int forget_applied_batch(nf2_t *fs)
{
    uint32_t block = fs->redo_block;
    bool applied;

    NF2_TRY(nf2_batch_is_applied(fs, &applied));
    if (applied) {
        if (!fs->redo_owned && !in_slots(fs, block)) {
            nf2_space_free(fs, block, 1);
        }
        fs->redo_block = NF2_NO_BLOCK;
        fs->redo_owned = false;
    }
    return NF2_OK;
}

/* Nodes that records behind `logged` of their parents replaced: nothing of them is unsettled, and what they name is stale. */
static int forget_replaced(nf2_t *fs)
{
    for (unsigned i = fs->touched_count; i-- > 0;) { /* downwards: what takes a forgotten one's place was looked at already */
        struct nf2_touched touched = fs->touched[nf2_min(i, fs->touched_count - 1u)];
        struct nf2_scan scan;
        struct nf2_entry entry, old;
        struct nf2_run runs[NF2_EXTENTS_MAX];
        uint32_t id;
        int found, level = nf2_node_level(fs, touched.node);

        NF2_TRY(level);
        nf2_scan_begin(&scan, touched.node);
        while (level > 0 && (found = nf2_node_next(fs, &scan, &entry)) != 0) {
            NF2_TRY(found);
            if (entry.offset >= touched.logged && entry.kill != 0) {
                NF2_TRY(nf2_entry_at(fs, touched.node, entry.kill, &old));
                int n = nf2_entry_owns(fs, &old, runs, &id);
                NF2_TRY(n);
                if (n > 0) {
                    nf2_space_forget(fs, runs[0].start);
                }
            }
        }
    }
    return NF2_OK;
}

/* A fault: see broken.h. */
static int forget_slots(nf2_t *fs)
{
    memset(fs->slot, 0, sizeof fs->slot);
    return NF2_OK;
}

static int settle(nf2_t *fs)
{
    nf2_cache_lend(fs, true);
    NF2_TRY(forget_replaced(fs));
    NF2_TRY(forget_applied_batch(fs));
    for (unsigned i = 0; i < fs->touched_count; i++) {
        NF2_TRY(NF2_BROKEN(NF2_FAULT_REPLAY) ? NF2_OK : replay_node(fs, &fs->touched[i]));
    }
    NF2_TRY(NF2_BROKEN(NF2_FAULT_SLOTS) ? forget_slots(fs) : settle_slots(fs));
    memset(fs->tree_buffer, 0, NF2_TREE_BUFFER_SIZE);
    return nf2_meta_state(fs, false, NULL, NULL, 0);
}

int nf2_recover(nf2_t *fs)
{
    int result = nf2_meta_open(fs);
    result = result < 0 ? result : settle(fs);
    nf2_cache_lend(fs, false);
    NF2_TRY(result);
    return nf2_batch_finish(fs);
}
