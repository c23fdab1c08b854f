/* SPDX-License-Identifier: BSD-2-Clause */
#include "inspect.h"

#include "bad.h"
#include "journal.h"
#include "lock.h"
#include "victims.h"
#include "walk.h"
#include "wear.h"

/* Visits all leaves, with marks alone. */
static int mark_all(nf2_t *fs)
{
    struct nf2_walk *walk = &fs->walk;
    struct nf2_path path;
    struct nf2_wanted none;

    nf2_victims_begin(fs);
    NF2_TRY(nf2_walk_begin(fs, false));
    fs->walk_active = false;
    for (;; nf2_key_copy(&walk->cursor, &path.upper)) {
        NF2_TRY(nf2_walk_visit(fs, &path, &none)); /* there are no victims */
        if (!path.bounded) {    /* `upper` is nothing */
            return NF2_OK;
        }
    }
}

/*
 * Marks the blocks in use of a window (space.mark), and does nothing else. What was marked is lost:
 * the next walk is of the window whose turn it was, or of the one behind it, if that was counted.
 */
static int look(nf2_t *fs, uint32_t window)
{
    struct nf2_walk *walk = &fs->walk;
    uint32_t turn = fs->mark_window + (fs->walk_active ? nf2_windows(fs) - 1u : 0);
    /* a walk since then would have changed something */
    bool idle = !fs->walk_active && !fs->walk_ready;

    if (idle && walk->looked == fs->changes + 1u && walk->looked_window == window) {
        return NF2_OK;
    }
    walk->looked = 0;
    fs->mark_window = walk->looked_window = (uint16_t)window;
    int result = mark_all(fs);
    fs->walk_active = false;
    fs->mark_window = (uint16_t)(turn % nf2_windows(fs));
    NF2_TRY(result);
    walk->looked = fs->changes + 1u;
    return NF2_OK;
}

/* One that is not known to be bad. */
static int state_of(nf2_t *fs, uint32_t block)
{
    struct nf2_space *space = &fs->space;
    uint32_t window = block / fs->window_blocks, at = block % fs->window_blocks;

    for (unsigned i = 0; i < sizeof space->claim / sizeof space->claim[0]; i++) {
        const struct nf2_claim *claim = &space->claim[i];
        if (block - claim->start < claim->count) {
            return block - claim->start < claim->erased ? NF2_BLOCK_ERASED : NF2_BLOCK_DIRTY;
        }
    }
    for (unsigned i = fs->freed_count; i > 0;) {
        if (space->freed[--i] == block) {
            return NF2_BLOCK_DIRTY;
        }
    }
    if (window != fs->now_window) {
        if (fs->fresh && window > fs->now_window) {
            return NF2_BLOCK_ERASED;
        }
        NF2_TRY(look(fs, window));
        return nf2_bit(space->mark, at) ? NF2_BLOCK_USED : NF2_BLOCK_DIRTY;
    }
    if (nf2_bit(space->now, at)) {
        return NF2_BLOCK_USED;
    }
    return nf2_space_erased(fs, block, 1) ? NF2_BLOCK_ERASED : NF2_BLOCK_DIRTY;
}

/* Those of its group, as far as they were counted; the mean of all where that cannot be read. */
static uint32_t erases_of(nf2_t *fs, uint32_t block)
{
    uint32_t size = fs->window_blocks, group = block % size / nf2_group_blocks(fs);
    struct nf2_counts counts;

    return nf2_wear_load(fs, block / size, &counts) < 0 ? fs->erases / fs->blocks :
           nf2_wear_of(fs, &counts, group);
}

/* Is this block known to be bad? 1, 0 or an error. */
static int bad_is(nf2_t *fs, uint32_t block)
{
    uint32_t next = block;

    if (nf2_space_bad_listed(fs, block)) {
        return 1;
    }
    bool keys = (fs->bad_flags & NF2_BAD_KEYS) != 0;
    int found = keys ? nf2_system_next(fs, NF2_KEY_BAD, block, &next) : 0;
    return found > 0 ? next == block : found;
}

static int do_block_state(nf2_t *fs, uint32_t block, uint32_t *erases)
{
    if (block >= fs->blocks) {
        return NF2_ERR_INVAL;
    }
    nf2_journal_prepare(fs);
    if (erases != NULL) {
        *erases = erases_of(fs, block);
    }
    int bad = bad_is(fs, block);
    return bad == 0 ? state_of(fs, block) : bad < 0 ? bad : NF2_BLOCK_BAD;
}

int nf2_block_state(nf2_t *fs, uint32_t block, uint32_t *erases)
{
    NF2_LOCKED(fs, do_block_state(fs, block, erases));
}
