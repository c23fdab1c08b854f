/* SPDX-License-Identifier: BSD-2-Clause */
#include "recover.h"

#include "batch.h"
#include "cache.h"
#include "flash.h"
#include "ids.h"
#include "space.h"
#include "tree.h"

/*
 * Which blocks of a list are referenced? One pass over all that may reference blocks answers that for so many of them: one
 * bit each in the tree buffer.
 */
#define QUESTIONS (NF2_TREE_BUFFER_SIZE * 8u)

struct questions {
    bool freed;                 /* the list is that of freed runs, not the slots' */
    uint32_t first;             /* the place that the first bit stands for */
};

/* Place of a block in the slots' runs, in the order in which they are settled: the tree's first, of each slot the last run. NF2_NONE: not there. */
static uint32_t place_in_slots(const nf2_t *fs, uint32_t block)
{
    uint32_t place = 0;

    for (unsigned s = NF2_SLOTS; s-- > 0;) {
        for (unsigned r = fs->slot[s].runs; r-- > 0;) {
            const struct nf2_run *run = &fs->slot[s].run[r];
            if (block - run->start < run->count) {
                return place + (block - run->start);
            }
            place += run->count;
        }
    }
    return NF2_NONE;
}

static uint32_t place_in_freed(const nf2_t *fs, uint32_t block)
{
    uint32_t place = 0;

    for (unsigned i = 0; i < fs->freed_count; i++) {
        if (block - fs->freed[i].start < fs->freed[i].count) {
            return place + (block - fs->freed[i].start);
        }
        place += fs->freed[i].count;
    }
    return NF2_NONE;
}

/* ---- what is referenced ------------------------------------------------------------------------- */

static void mark(nf2_t *fs, const struct questions *questions, uint32_t start, uint32_t count)
{
    for (uint32_t block = start; block < start + count; block++) {
        uint32_t bit = (questions->freed ? place_in_freed(fs, block) : place_in_slots(fs, block)) - questions->first;
        if (bit < QUESTIONS) {
            nf2_bit_set(fs->tree_buffer, bit, true);
        }
    }
}

static int mark_entry(nf2_t *fs, const struct questions *questions, const struct nf2_entry *entry)
{
    struct nf2_run runs[NF2_EXTENTS_MAX];
    uint32_t id;
    int n = nf2_entry_owns(fs, entry, runs, &id);

    NF2_TRY(n);
    for (int i = 0; i < n; i++) {
        mark(fs, questions, runs[i].start, runs[i].count);
    }
    return NF2_OK;
}

static int mark_node(nf2_t *fs, const struct questions *questions, uint32_t node)
{
    struct nf2_live live;
    struct nf2_entry entry;
    int found;

    NF2_TRY(nf2_live_begin(fs, node, nf2_scratch(fs, NF2_SCRATCH_NODE), &live));
    while ((found = nf2_live_next(fs, &live, &entry)) > 0) {
        NF2_TRY(mark_entry(fs, questions, &entry));
    }
    return found;
}

/* A committed batch that is not applied yet: its blocks, and what its operations will own. */
static int mark_batch(nf2_t *fs, const struct questions *questions)
{
    struct nf2_scan scan;
    struct nf2_entry op;
    int found;

    if (fs->redo_block >= fs->blocks) {
        return NF2_OK;
    }
    mark(fs, questions, fs->redo_block, 1);
    nf2_scan_begin(&scan, fs->redo_block);
    while ((found = nf2_batch_next(fs, &scan, &op)) > 0) {
        mark(fs, questions, op.node, 1);
        if (op.type == NF2_BATCH_PUT) {
            NF2_TRY(mark_entry(fs, questions, &op));
        }
    }
    return found;
}

static int mark_all(nf2_t *fs, const struct questions *questions)
{
    memset(fs->tree_buffer, 0, NF2_TREE_BUFFER_SIZE);
    mark(fs, questions, fs->root, 1);
    for (unsigned i = 0; i < fs->bad_count; i++) {
        mark(fs, questions, fs->bad[i].by, 1);
    }
    NF2_TRY(mark_batch(fs, questions));
    for (unsigned i = 0; i < fs->touched_count; i++) {
        NF2_TRY(mark_node(fs, questions, fs->touched[i].node));
    }
    return NF2_OK;
}

/* ---- what was dropped --------------------------------------------------------------------------- */

/* Frees a dropped run, but for blocks of the slots: they are looked at later. */
static int free_dropped(nf2_t *fs, const struct nf2_run *run)
{
    for (uint32_t block = run->start; block < run->start + run->count; block++) {
        if (block >= fs->blocks || place_in_slots(fs, block) != NF2_NONE) {
            continue;
        }
        if (fs->freed_count == NF2_FREED_MAX) {
            return NF2_ERR_CORRUPT;
        }
        nf2_space_free(fs, block, 1);
    }
    return NF2_OK;
}

/* What a pending batch owns, or has given to a node already, is not free: takes it off the list of freed runs, before that gets to the chip. */
static int keep_referenced(nf2_t *fs)
{
    struct questions questions = {true, 0};
    struct nf2_run freed[NF2_FREED_MAX];
    uint32_t place = 0;
    unsigned count = 0;

    for (unsigned i = 0; i < fs->freed_count && fs->redo_block < fs->blocks; i++) {
        bool joins = false;
        for (uint32_t block = fs->freed[i].start; block < fs->freed[i].start + fs->freed[i].count; block++, place++) {
            if (place % QUESTIONS == 0) {
                questions.first = place;
                NF2_TRY(mark_all(fs, &questions));
            }
            if (nf2_bit(fs->tree_buffer, place - questions.first)) {
                joins = false;
                continue;
            }
            if (!joins && count == NF2_FREED_MAX) {
                return NF2_ERR_CORRUPT;
            }
            if (!joins) {
                freed[count].start = block;
                freed[count++].count = 0;
            }
            freed[count - 1].count++;
            joins = true;
        }
    }
    if (place > 0) {
        memcpy(fs->freed, freed, count * sizeof freed[0]);
        fs->freed_count = (uint8_t)count;
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
        nf2_id_orphan_add(fs, id);
    }
}

static int apply_group(nf2_t *fs, struct nf2_effects *effects)
{
    nf2_effects_settle(effects);
    if (effects->dropped.runs > 0 && fs->freed_count + effects->dropped.runs + 2u > NF2_FREED_MAX - NF2_FREED_KEPT) {
        NF2_TRY(keep_referenced(fs)); /* the whole group goes into one STATE, with the node's new end */
        NF2_TRY(nf2_space_flush(fs));
    }
    for (unsigned i = 0; i < effects->owned.ids; i++) {
        nf2_id_adopt(fs, effects->owned.id[i]);
    }
    for (unsigned i = 0; i < effects->dropped.runs; i++) {
        NF2_TRY(free_dropped(fs, &effects->dropped.run[i]));
    }
    for (unsigned i = 0; i < effects->dropped.ids; i++) {
        note_orphan(fs, effects->dropped.id[i]);
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
    return nf2_effects_add(fs, effects, &effects->dropped, &old);
}

static int add_record(nf2_t *fs, struct nf2_effects *effects, const struct nf2_entry *entry)
{
    bool over;

    if (entry->type == NF2_NODE_PUT || entry->type == NF2_NODE_PUTK) {
        NF2_TRY(nf2_effects_add(fs, effects, &effects->owned, entry));
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

/* Frees what no record references of the slots' runs; each STATE on the way has the runs shortened by what is settled. */
static int settle_slots(nf2_t *fs)
{
    static const struct questions questions = {false, 0};
    uint32_t bit = QUESTIONS;

    for (unsigned s = NF2_SLOTS; s-- > 0;) {
        struct nf2_slot *slot = &fs->slot[s];
        for (; slot->runs > 0; slot->runs--) {
            struct nf2_run *run = &slot->run[slot->runs - 1];
            for (; run->count > 0; run->start++, run->count--, bit++) {
                if (bit == QUESTIONS) {
                    NF2_TRY(mark_all(fs, &questions));
                    bit = 0;
                }
                if (!nf2_bit(fs->tree_buffer, bit)) {
                    NF2_TRY(nf2_space_prepare(fs, 1));
                    nf2_space_free(fs, run->start, 1);
                }
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
        if (!fs->redo_owned && place_in_slots(fs, block) == NF2_NONE) {
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
    NF2_TRY(keep_referenced(fs));
    NF2_TRY(NF2_BROKEN(NF2_FAULT_SLOTS) ? forget_slots(fs) : settle_slots(fs));
    memset(fs->tree_buffer, 0, NF2_TREE_BUFFER_SIZE);
    return nf2_meta_state(fs, false);
}

int nf2_recover(nf2_t *fs)
{
    int result = nf2_meta_open(fs);
    result = result < 0 ? result : settle(fs);
    nf2_cache_lend(fs, false);
    fs->after_cut = fs->stock_count > 0;
    return result;
}
