/* SPDX-License-Identifier: BSD-2-Clause */
#include "space.h"

#include "flash.h"
#include "region.h"
#include "super.h"
#include "turn.h"

#define TOUCHED_KEPT (NF2_TOUCHED_MAX / 2u)  /* touched nodes that stay listed when another one finds the list full */
#define LATE_MOUNTS 8u           /* one of so many mounts after a cut does at once what others do then: or a bad block in the way of the first change would stay there */
#define SETTLED_IN 4u            /* changes of a mount before one does what only later ones need, as an erase for the stock: a first small write is open, write, close */

/* Blocks to claim at a time for the tree and the logs: fewer where a cut would have many of them erased for nothing. */
static uint32_t tree_claim(const nf2_t *fs)
{
    uint32_t most = nf2_wear_aged(fs) ? 4u : NF2_CLAIM_BLOCKS; /* what is left over of a group that is taken breaks it up */

    return nf2_max(4, nf2_min(most, fs->blocks / 64u));
}

/* Blocks that were freed, and are free from the next STATE on. */
static uint32_t freed_blocks(const nf2_t *fs)
{
    uint32_t blocks = 0;

    for (unsigned i = 0; i < fs->freed_count; i++) {
        blocks += fs->freed[i].count;
    }
    return blocks;
}

uint32_t nf2_space_free_blocks(const nf2_t *fs)
{
    uint32_t blocks = fs->free_blocks + freed_blocks(fs);

    for (unsigned s = 0; s < NF2_SLOTS; s++) {
        const struct nf2_slot *slot = &fs->slot[s];
        blocks += slot->runs > 0 ? slot->run[slot->runs - 1].count - slot->used : 0;
    }
    return blocks + fs->stock_count;
}

uint32_t nf2_space_erased_blocks(const nf2_t *fs)
{
    uint32_t blocks = fs->erased_blocks;

    for (unsigned s = 0; s < NF2_SLOTS; s++) {
        blocks += (uint32_t)(fs->slot[s].ready - nf2_min(fs->slot[s].ready, fs->slot[s].used));
    }
    return blocks + fs->stock_count;
}

/* What lies in a slot and was not handed out, or in the stock: its state, or -1. */
static int claimed_state(const nf2_t *fs, uint32_t block)
{
    for (unsigned s = 0; s < NF2_SLOTS; s++) {
        const struct nf2_slot *slot = &fs->slot[s];
        const struct nf2_run *last = slot->runs > 0 ? &slot->run[slot->runs - 1] : NULL;
        if (last != NULL && block - last->start < last->count && block - last->start >= slot->used) {
            return block - last->start < slot->ready ? NF2_BLOCK_ERASED : NF2_BLOCK_DIRTY;
        }
    }
    for (unsigned i = 0; i < fs->stock_count; i++) {
        if (fs->stock[i] == block) {
            return NF2_BLOCK_ERASED;
        }
    }
    return -1;
}

bool nf2_space_claimed(const nf2_t *fs, uint32_t block)
{
    return claimed_state(fs, block) >= 0;
}

int nf2_space_held(const nf2_t *fs, uint32_t block)
{
    for (unsigned i = 0; i < fs->freed_count; i++) {
        if (block - fs->freed[i].start < fs->freed[i].count) {
            return NF2_BLOCK_DIRTY;
        }
    }
    return claimed_state(fs, block);
}

uint32_t nf2_space_available(const nf2_t *fs)
{
    uint32_t blocks = nf2_space_free_blocks(fs), window = nf2_min(nf2_meta_window(fs), nf2_meta_limit(fs));
    uint32_t kept = nf2_space_reserve(fs) + nf2_meta_limit(fs) - window; /* the window is going to be longer */

    return blocks > kept ? blocks - kept : 0;
}

/* ---- groups that are being emptied ---------------------------------------------------------------- */

/* A block is used: what was counted in its group does not hold any more. */
static void note_used(nf2_t *fs, uint32_t block)
{
    uint32_t large = nf2_large_blocks(fs);

    if (fs->clean_id == 0) {
        return;
    }
    uint32_t number = (block - nf2_group_shift(fs, large)) / large;
    if (number - fs->clean_counted < NF2_CLEAN_BINS) {
        memset(fs->clean_bins + 2u * (number - fs->clean_counted), 0xFF, 2);
    }
    for (unsigned i = 0; i < NF2_CLEAN_GROUPS; i++) {
        if (fs->group[i].number == number && fs->group[i].state == NF2_GROUP_CHEAP) {
            fs->group[i].state = NF2_GROUP_NONE;
        }
    }
}

bool nf2_clean_stop(nf2_t *fs)
{
    bool any = false;

    for (unsigned i = 0; i < NF2_CLEAN_GROUPS; i++) {
        any = any || fs->group[i].state >= NF2_GROUP_VICTIM;
        fs->group[i].state = NF2_GROUP_NONE;
    }
    fs->clean_id = 0;
    return any;
}

/* ---- claims ------------------------------------------------------------------------------------- */

#define CLAIM_LENGTH 6u

/* Puts it where there is room for it. */
static int record_claim(nf2_t *fs, unsigned slot, uint32_t start, uint32_t count, bool dirty)
{
    struct nf2_small claim = {NF2_META_CLAIM, CLAIM_LENGTH, {(uint8_t)slot}};

    nf2_put24(claim.payload + 1, start);
    nf2_put16(claim.payload + 4, count | (dirty ? NF2_CLAIM_DIRTY : 0u));
    NF2_TRY(NF2_BROKEN(NF2_FAULT_CLAIM) ? NF2_OK : nf2_meta_put(fs, &claim));
    for (uint32_t i = 0; i < count && start / NF2_REGION_BLOCKS == fs->region; i++) {
        nf2_bit_set(fs->region_used, start % NF2_REGION_BLOCKS + i, true);
    }
    if (fs->slot[slot].logged_end != start) {
        fs->slot[slot].logged_runs++;
    }
    fs->slot[slot].logged_end = start + count;
    fs->free_blocks -= count;
    if (dirty) {
        fs->erases += count;
    } else {
        fs->erased_blocks -= count;
    }
    return NF2_OK;
}

/* Does a run go on where the slot's last one ends? Each may become a freed run. */
static bool joins(const struct nf2_slot *slot, uint32_t start, uint32_t count)
{
    const struct nf2_run *last = slot->runs > 0 ? &slot->run[slot->runs - 1] : NULL;

    return last != NULL && last->start + last->count == start && last->count + count <= NF2_CHANGE_COUNT_MAX;
}

/* Adds a claimed run to a slot whose last run is used up. */
static void add_run(struct nf2_slot *slot, uint32_t start, uint32_t count, bool dirty)
{
    struct nf2_run *last = slot->runs > 0 ? &slot->run[slot->runs - 1] : NULL;

    if (joins(slot, start, count)) {
        last->count += count;
    } else {
        last = &slot->run[slot->runs++];
        last->start = start;
        last->count = count;
        slot->used = slot->ready = 0;
    }
    slot->ready = (uint16_t)(dirty ? slot->used : last->count);
}

static bool run_fits(const struct nf2_slot *slot, uint32_t start, uint32_t count)
{
    return slot->runs < NF2_SLOT_RUNS || joins(slot, start, count);
}

/* A block of the stock becomes the slot's: from the STATE on that says so it may be used. NOSPC: there is none. */
static int claim_stock(nf2_t *fs, struct nf2_slot *slot)
{
    NF2_TRY(nf2_meta_prepare(fs)); /* a turn of the log may take of it */
    if (fs->stock_count == 0 || !run_fits(slot, fs->stock[fs->stock_count - 1u], 1)) {
        return fs->stock_count == 0 ? NF2_ERR_NOSPC : NF2_SLOT_FULL;
    }
    add_run(slot, fs->stock[--fs->stock_count], 1, false);
    return nf2_meta_state(fs, false);
}

/* Finds a run and claims it. */
static NF2_APART int find_and_claim(nf2_t *fs, unsigned slot_index, uint32_t want)
{
    struct nf2_slot *slot = &fs->slot[slot_index];
    uint32_t start = 0, count;
    bool dirty;

    NF2_TRY(nf2_turn_find(fs, slot_index, want, &start, &count, &dirty));
    start += fs->region * NF2_REGION_BLOCKS;
    if (!run_fits(slot, start, count)) {
        return NF2_SLOT_FULL;
    }
    fs->region_next = (uint16_t)(start % NF2_REGION_BLOCKS + count);
    NF2_TRY(record_claim(fs, slot_index, start, count, dirty));
    add_run(slot, start, count, dirty);
    return NF2_OK;
}

/* The log turns before a run is looked for: it may take a block itself. */
static int try_claim(nf2_t *fs, unsigned slot_index, uint32_t want)
{
    const struct nf2_slot *slot = &fs->slot[slot_index];

    if (slot->logged_runs == NF2_SLOT_RUNS && slot->runs < NF2_SLOT_RUNS) {
        NF2_TRY(nf2_space_flush(fs)); /* a reader of the log could not list one more */
    }
    if (freed_blocks(fs) > fs->free_blocks) { /* else the few that are left would be taken again and again */
        NF2_TRY(nf2_space_flush(fs));
    }
    int result;
    do {
        NF2_TRY(nf2_meta_prepare_small(fs, CLAIM_LENGTH));
        result = find_and_claim(fs, slot_index, want);
        if (result == NF2_ERR_NOSPC && fs->freed_count > 0) {
            NF2_TRY(nf2_space_flush(fs));
            NF2_TRY(nf2_meta_prepare_small(fs, CLAIM_LENGTH));
            result = find_and_claim(fs, slot_index, want);
        }
    } while (nf2_meta_head_bad(fs, result));
    return result;
}

static int claim(nf2_t *fs, unsigned slot_index, uint32_t want)
{
    struct nf2_slot *slot = &fs->slot[slot_index];
    int result = NF2_ERR_NOSPC;

    if (slot_index != NF2_TREE_SLOT) {
        want = nf2_max(1, nf2_min(want, nf2_space_available(fs)));
    }
    want = nf2_min(want, NF2_REGION_BLOCKS);
    if (fs->clean_id != 0) { /* erased blocks are won with labour: none should wait in one slot while another has to erase */
        want = nf2_min(want, nf2_max(4u, fs->erased_blocks / 4u));
    }
    if (slot_index == NF2_TREE_SLOT && fs->after_cut) {
        result = claim_stock(fs, slot);
        fs->after_cut = result != NF2_ERR_NOSPC;
    }
    result = result == NF2_ERR_NOSPC ? try_claim(fs, slot_index, want) : result;
    if (result == NF2_ERR_NOSPC) {
        NF2_TRY(nf2_space_return_unused(fs, slot_index));
        result = try_claim(fs, slot_index, want);
    }
    if (result == NF2_ERR_NOSPC && nf2_clean_stop(fs)) { /* the free blocks of groups that were to be emptied */
        result = try_claim(fs, slot_index, want);
    }
    return result == NF2_ERR_NOSPC ? claim_stock(fs, slot) : result;
}

/* Does a large erase take the next blocks of the slot's run? */
static bool large_next(const nf2_t *fs, const struct nf2_slot *slot)
{
    const struct nf2_run *run = &slot->run[slot->runs - 1];
    uint32_t large = nf2_large_blocks(fs), first = run->start + slot->ready;

    return large > 0 && (first + fs->config->offset / nf2_block_bytes(fs)) % large == 0 && slot->ready + large <= run->count;
}

/* A block fails that nothing lies in: with the next STATE it is bad. */
static int lose(nf2_t *fs, uint32_t block)
{
    fs->broken = !nf2_bad_room(fs);
    if (fs->broken) {
        return NF2_ERR_IO;
    }
    nf2_bad_note(fs, block, block);
    return NF2_OK;
}

/* The first block of the slot's run that is not erased fails to be: what was claimed behind it is given back. */
static int lose_next(nf2_t *fs, struct nf2_slot *slot)
{
    NF2_TRY(nf2_space_prepare(fs, 1));
    struct nf2_run *last = slot->runs > 0 ? &slot->run[slot->runs - 1] : NULL;
    if (last == NULL || slot->ready >= last->count) {
        return NF2_OK; /* a turn of the log took it meanwhile */
    }
    uint32_t block = last->start + slot->ready;
    NF2_TRY(lose(fs, block));
    nf2_space_free(fs, block + 1u, last->count - slot->ready - 1u);
    last->count = slot->ready;
    nf2_slot_trim(slot);
    return nf2_space_keep(fs);
}

/* Erases so many blocks; one, where one of them is bad: or that is it, and the volume is not broken. */
static int erase_some(nf2_t *fs, uint32_t start, uint32_t *count)
{
    int result = nf2_flash_erase(fs, start, *count);

    if (result < 0 && !fs->broken && *count > 1) {
        *count = 1;
        result = nf2_flash_erase(fs, start, 1);
    }
    return result;
}

/* Erases the next block of the slot's run, or as many as a large erase takes. One that fails is lost to the slot. */
static int erase_next(nf2_t *fs, struct nf2_slot *slot)
{
    uint32_t count = large_next(fs, slot) ? nf2_large_blocks(fs) : 1;
    int result = erase_some(fs, slot->run[slot->runs - 1].start + slot->ready, &count);

    if (result < 0) {
        return fs->broken ? result : lose_next(fs, slot);
    }
    slot->ready = (uint16_t)(slot->ready + count);
    return NF2_OK;
}

int nf2_space_erase_free(nf2_t *fs, uint32_t start, uint32_t count)
{
    struct nf2_run run = {start, count};
    enum nf2_change kind = NF2_ERASED;

    NF2_TRY(NF2_BROKEN(NF2_FAULT_ERASED) ? nf2_meta_put_state(fs, false, &run, &kind, 1) : NF2_OK);
    int result = erase_some(fs, start, &run.count);
    if (result < 0 && !fs->broken) { /* from a claimed block to a bad one */
        fs->kept_node = (uint16_t)start; /* the log does not take it, where it turns */
        NF2_TRY(nf2_space_flush(fs));
        NF2_TRY(nf2_meta_prepare_small(fs, CLAIM_LENGTH));
        result = record_claim(fs, NF2_TREE_SLOT, start, 1, true);
        fs->broken = fs->broken || result < 0;
        NF2_TRY(result < 0 ? result : lose(fs, start));
        return nf2_space_keep(fs);
    }
    if (result < 0 || NF2_BROKEN(NF2_FAULT_ERASED)) {
        return result;
    }
    result = nf2_meta_put_state(fs, false, &run, &kind, 1); /* the callers have made room */
    return nf2_meta_head_bad(fs, result) ? NF2_OK : result; /* then they stay dirty: a turn might take one of them before they are on record */
}

/* Blocks that the stock should have now. */
static uint32_t stock_wanted(const nf2_t *fs)
{
    return nf2_space_available(fs) > 0 ? nf2_space_stock_size(fs) : 0;
}

/* The next block of the log is known not to be erased, and a turn would erase it: maybe one that a mount begins with. */
static bool next_dirty(const nf2_t *fs)
{
    return fs->next_suspect && fs->flash->program_unit == 1;
}

#define TREE_READY 3u           /* new nodes come several at a time */
#define MANY_CHANGES 255u       /* as many as are counted: a session of fewer takes few blocks for nodes */

bool nf2_space_dirty_claim(const nf2_t *fs)
{
    const struct nf2_slot *slot = &fs->slot[NF2_TREE_SLOT];

    return slot->runs > 0 && slot->ready < slot->run[slot->runs - 1].count;
}

/* Are more of the tree's blocks to be erased before they are needed? */
static bool tree_waits(const nf2_t *fs)
{
    const struct nf2_slot *slot = &fs->slot[NF2_TREE_SLOT];

    return fs->changes == MANY_CHANGES && nf2_space_dirty_claim(fs) && slot->used + TREE_READY > slot->ready;
}

uint32_t nf2_space_ready_us(const nf2_t *fs)
{
    return large_next(fs, &fs->slot[NF2_TREE_SLOT]) ? fs->flash->large_erase_us : fs->flash->erase_block_us;
}

int nf2_space_ready_more(nf2_t *fs)
{
    return erase_next(fs, &fs->slot[NF2_TREE_SLOT]);
}

bool nf2_space_stocked(const nf2_t *fs)
{
    return !next_dirty(fs) && fs->stock_count >= stock_wanted(fs) && !tree_waits(fs);
}

/* The slot's last block goes into the stock. */
static int stock_last(nf2_t *fs, struct nf2_slot *slot)
{
    const struct nf2_run *last = &slot->run[slot->runs - 1];
    int result = slot->ready < last->count ? nf2_flash_erase(fs, last->start + last->count - 1u, 1) : NF2_OK;

    if (fs->broken) {
        return result;
    }
    uint32_t block = nf2_slot_take(slot, false);
    if (result < 0) {
        return lose(fs, block);
    }
    fs->stock[fs->stock_count++] = (uint16_t)block;
    return NF2_OK;
}

/* The next block of the log is not erased. If it is bad, another one takes its place. */
static int other_next(nf2_t *fs)
{
    int result = nf2_space_next(fs, NF2_TREE_SLOT) == NF2_NONE && !fs->broken ? claim(fs, NF2_TREE_SLOT, 1) : NF2_OK;
    bool again = nf2_bad_place(fs, fs->meta_next) != fs->meta_next;

    NF2_TRY(fs->broken || (result < 0 && result != NF2_ERR_NOSPC) ? NF2_ERR_IO : nf2_meta_replace_next(fs));
    return again ? nf2_super_write(fs) : NF2_OK; /* the anchor may name the place before, and a mount takes it for the newer one */
}

int nf2_space_restock(nf2_t *fs)
{
    struct nf2_slot *slot = &fs->slot[NF2_TREE_SLOT];

    if (nf2_space_stocked(fs)) {
        return 0;
    }
    if (next_dirty(fs)) {
        NF2_TRY(nf2_flash_erase(fs, fs->meta_next, 1) == NF2_OK ? NF2_OK : other_next(fs));
        fs->erases++;
        fs->next_suspect = false;
    } else if (tree_waits(fs)) {
        NF2_TRY(erase_next(fs, slot));
        return 1; /* after a cut it is dirty again */
    } else {
        fs->after_cut = false; /* or it would take from the stock itself */
        int result = nf2_space_next(fs, NF2_TREE_SLOT) == NF2_NONE ? claim(fs, NF2_TREE_SLOT, tree_claim(fs)) : NF2_OK;
        if (result != NF2_OK || fs->stock_count == NF2_STOCK_MAX || nf2_space_next(fs, NF2_TREE_SLOT) == NF2_NONE) {
            return result == NF2_ERR_NOSPC || result >= 0 ? 0 : result;
        }
        if (large_next(fs, slot)) { /* before one of its blocks leaves */
            NF2_TRY(erase_next(fs, slot));
        }
        NF2_TRY(nf2_space_next(fs, NF2_TREE_SLOT) != NF2_NONE ? stock_last(fs, slot) : NF2_OK);
    }
    NF2_TRY(nf2_space_flush(fs)); /* what is not on record is none after the next cut */
    return 1;
}

/* After some changes the stock is filled again, an erase at a time: the first ones after a cut may have to be fast. But the next block of the log can't wait. */
static int keep_stock(nf2_t *fs)
{
    if (fs->changes <= SETTLED_IN && !next_dirty(fs)) {
        return NF2_OK;
    }
    int result = nf2_space_restock(fs);
    return result < 0 ? result : NF2_OK;
}

int nf2_space_ready(nf2_t *fs, unsigned slot_index)
{
    struct nf2_slot *slot = &fs->slot[slot_index];

    return nf2_space_next(fs, slot_index) != NF2_NONE && slot->used >= slot->ready ? erase_next(fs, slot) : NF2_OK;
}

/*
 * A change takes a second run for new nodes: the stock has blocks that need no erase, and is filled again later, an erase at a time. Not where
 * blocks or the slot's places run out.
 */
static bool stock_helps(const nf2_t *fs, unsigned slot_index)
{
    const struct nf2_slot *slot = &fs->slot[slot_index];

    return slot_index == NF2_TREE_SLOT && slot->runs > 0 && slot->runs <= NF2_SLOT_RUNS / 2u && nf2_space_available(fs) > 0;
}

int nf2_space_block(nf2_t *fs, unsigned slot_index, uint32_t want, uint32_t *block)
{
    struct nf2_slot *slot = &fs->slot[slot_index];

    NF2_TRY(nf2_space_ready(fs, slot_index));
    while (nf2_space_next(fs, slot_index) == NF2_NONE) {
        int result = stock_helps(fs, slot_index) ? claim_stock(fs, slot) : NF2_ERR_NOSPC;
        result = result == NF2_ERR_NOSPC ? claim(fs, slot_index, want) : result;
        if (result != NF2_OK) {
            return result;
        }
        NF2_TRY(nf2_space_ready(fs, slot_index)); /* it may turn out to be bad, and be lost to the slot */
    }
    *block = slot->run[slot->runs - 1].start + slot->used++;
    note_used(fs, *block);
    return NF2_OK;
}

int nf2_space_tree_block(nf2_t *fs, uint32_t *block)
{
    int result = nf2_space_block(fs, NF2_TREE_SLOT, tree_claim(fs), block);
    return result > 0 ? NF2_ERR_NOSPC : result;
}

int nf2_space_flush(nf2_t *fs)
{
    return nf2_meta_state(fs, false);
}

int nf2_space_flush_early(nf2_t *fs)
{
    NF2_TRY(nf2_space_flush(fs));
    if (fs->touched_count > 0) {
        fs->touched[fs->touched_count - 1u].logged = 0;
    }
    return NF2_OK;
}

uint32_t nf2_space_next(const nf2_t *fs, unsigned slot_index)
{
    const struct nf2_slot *slot = &fs->slot[slot_index];

    if (slot->runs == 0 || slot->used == slot->run[slot->runs - 1].count) {
        return NF2_NONE;
    }
    return slot->run[slot->runs - 1].start + slot->used;
}

void nf2_space_settle(nf2_t *fs, unsigned slot_index)
{
    struct nf2_slot *slot = &fs->slot[slot_index];

    if (slot->runs == 0) {
        return;
    }
    struct nf2_run rest = slot->run[slot->runs - 1];
    rest.start += slot->used;
    rest.count -= slot->used;
    slot->ready = (uint16_t)(slot->ready - slot->used);
    slot->used = 0;
    slot->run[0] = rest;
    slot->runs = rest.count > 0;
}

/* Blocks of a slot's run that were handed out. */
static uint32_t handed_out(const struct nf2_slot *slot, unsigned run)
{
    return run + 1u < slot->runs ? slot->run[run].count : slot->used;
}

uint32_t nf2_space_handed_out(const nf2_t *fs, unsigned slot_index)
{
    uint32_t blocks = 0;

    for (unsigned r = 0; r < fs->slot[slot_index].runs; r++) {
        blocks += handed_out(&fs->slot[slot_index], r);
    }
    return blocks;
}

/* The first `kept` blocks that were handed out stay in the slot, and what is claimed and was not handed out, if there is a place for it. */
static NF2_APART void keep_first(nf2_t *fs, struct nf2_slot *slot, uint32_t kept)
{
    struct nf2_run rest = {slot->run[slot->runs - 1u].start + slot->used, slot->run[slot->runs - 1u].count - slot->used};
    uint16_t ready = (uint16_t)(slot->ready - slot->used);
    uint8_t runs = 0;

    for (unsigned r = 0; r < slot->runs && kept > 0; r++, runs++) {
        slot->run[r].count = nf2_min(kept, handed_out(slot, r));
        kept -= slot->run[r].count;
    }
    bool room = rest.count > 0 && runs < NF2_SLOT_RUNS;
    if (room) {
        slot->run[runs++] = rest;
    } else {
        nf2_space_free(fs, rest.start, rest.count);
    }
    slot->runs = runs;
    slot->used = (uint16_t)(room ? 0 : slot->run[runs - 1u].count);
    slot->ready = room ? ready : slot->used;
}

int nf2_space_abandon(nf2_t *fs, unsigned slot_index, uint32_t kept)
{
    struct nf2_slot *slot = &fs->slot[slot_index];
    uint32_t blocks = nf2_space_handed_out(fs, slot_index), skip;

    if (blocks > 0 && blocks <= kept) {
        return NF2_OK;
    }
    NF2_ASSERT(kept == 0 || blocks > 0);
    if (slot->runs > 1 || slot->used > 0) { /* for all at once: a STATE in between would have blocks as freed and as claimed */
        NF2_TRY(nf2_space_prepare(fs, NF2_SLOT_RUNS + 1u));
    }
    blocks = kept;
    for (unsigned r = 0; r < slot->runs; r++, blocks -= skip) {
        skip = nf2_min(blocks, handed_out(slot, r));
        nf2_space_free(fs, slot->run[r].start + skip, handed_out(slot, r) - skip);
    }
    if (kept > 0 && slot->runs > 0) {
        keep_first(fs, slot, kept);
    } else {
        nf2_space_settle(fs, slot_index);
    }
    return NF2_OK;
}

/* Gives back what a slot claimed and did not hand out. There is room for the STATE. */
static NF2_APART int give_back(nf2_t *fs, struct nf2_slot *slot)
{
    struct nf2_run *last = &slot->run[slot->runs - 1], back[2];
    enum nf2_change kinds[2] = {NF2_RETURNED, NF2_FREED};
    back[0].start = last->start + slot->used;
    back[0].count = (uint32_t)(slot->ready - slot->used);
    back[1].start = last->start + slot->ready;
    back[1].count = last->count - slot->ready;
    unsigned first = back[0].count == 0, count = (back[0].count > 0 ? 1u : 0u) + (back[1].count > 0 ? 1u : 0u);
    last->count = slot->ready = slot->used;
    nf2_slot_trim(slot);
    int result = count > 0 ? nf2_meta_put_state(fs, false, back + first, kinds + first, count) : NF2_OK;
    fs->broken = fs->broken || result < 0; /* a turn now would have the slot shorter, and nobody the blocks */
    return result;
}

static int return_unused(nf2_t *fs, struct nf2_slot *slot)
{
    if (slot->runs == 0) {
        return NF2_OK;
    }
    if (fs->freed_count > NF2_FREED_MAX - NF2_FREED_KEPT) {
        NF2_TRY(nf2_space_flush(fs));
    }
    NF2_TRY(nf2_meta_prepare(fs)); /* the slot gets shorter in the STATE that gives back, not before */
    return slot->runs > 0 ? give_back(fs, slot) : NF2_OK; /* or the log took the last one */
}

int nf2_space_return_unused(nf2_t *fs, unsigned except)
{
    for (unsigned s = 0; s < NF2_SLOTS; s++) {
        if (s != except) {
            NF2_TRY(return_unused(fs, &fs->slot[s]));
        }
    }
    return NF2_OK;
}

int nf2_space_place(nf2_t *fs, unsigned slot_index, uint32_t start, uint32_t count)
{
    struct nf2_slot *slot = &fs->slot[slot_index];
    uint32_t sequence = fs->meta_sequence;

    count = nf2_min(count, nf2_space_available(fs));
    NF2_TRY(return_unused(fs, slot));
    NF2_TRY(slot->logged_runs == NF2_SLOT_RUNS ? nf2_space_flush(fs) : NF2_OK);
    NF2_TRY(nf2_meta_prepare(fs));
    if (count == 0 || slot->runs > 0 || fs->meta_sequence != sequence) {
        return 0; /* a turn of the log may have taken one of them */
    }
    int result = record_claim(fs, slot_index, start, count, false);
    if (result < 0) {
        return nf2_meta_head_bad(fs, result) ? 0 : result;
    }
    add_run(slot, start, count, false);
    return 1;
}

/* ---- freed runs --------------------------------------------------------------------------------- */

int nf2_space_prepare(nf2_t *fs, unsigned runs)
{
    return nf2_space_prepared(fs, runs) ? NF2_OK : nf2_space_flush(fs);
}

int nf2_space_prepare_early(nf2_t *fs, unsigned runs)
{
    return nf2_space_prepared(fs, runs) ? NF2_OK : nf2_space_flush_early(fs);
}

void nf2_space_free(nf2_t *fs, uint32_t start, uint32_t count)
{
    if (count == 0) {
        return;
    }
    for (uint32_t i = 0; NF2_BROKEN(NF2_FAULT_REUSE) && i < count && start / NF2_REGION_BLOCKS == fs->region; i++) {
        nf2_bit_set(fs->region_used, (start + i) % NF2_REGION_BLOCKS, false);
    }
    for (unsigned i = 0; i < fs->freed_count; i++) {
        struct nf2_run *run = &fs->freed[i];
        if (run->count + count <= NF2_CHANGE_COUNT_MAX && (run->start + run->count == start || start + count == run->start)) {
            run->start = nf2_min(run->start, start);
            run->count += count;
            return;
        }
    }
    NF2_ASSERT(fs->freed_count < NF2_FREED_MAX && count <= NF2_CHANGE_COUNT_MAX);
    fs->freed[fs->freed_count].start = start;
    fs->freed[fs->freed_count++].count = count;
}

/* ---- touched nodes ------------------------------------------------------------------------------ */

static struct nf2_touched *find_touched(nf2_t *fs, uint32_t node)
{
    for (unsigned i = 0; i < fs->touched_count; i++) {
        if (fs->touched[i].node == node) {
            return &fs->touched[i];
        }
    }
    return NULL;
}

/* Lists a node last. */
static void list_touched(nf2_t *fs, uint32_t node, uint32_t end)
{
    struct nf2_touched *touched = &fs->touched[fs->touched_count++];

    touched->node = (uint16_t)node;
    touched->logged = touched->end = (uint16_t)end;
}

bool nf2_space_touched(nf2_t *fs, uint32_t node)
{
    struct nf2_touched *found = find_touched(fs, node);

    if (found == NULL) {
        return false;
    }
    struct nf2_touched kept = *found, *last = &fs->touched[fs->touched_count - 1u];
    memmove(found, found + 1, (size_t)(last - found) * sizeof *found);
    *last = kept;
    return true;
}

int nf2_space_touch(nf2_t *fs, uint32_t node, uint32_t end)
{
    struct nf2_small touch = {NF2_META_TOUCH, 5, {0}};

    if (nf2_space_touched(fs, node)) {
        return NF2_OK;
    }
    if (fs->touched_count == NF2_TOUCHED_MAX || fs->logged_touched == NF2_TOUCHED_MAX) {
        if (fs->touched_count > TOUCHED_KEPT) { /* the ones longest out of use go: the STATE settles what they did, and names the new one */
            unsigned gone = fs->touched_count - TOUCHED_KEPT;
            memmove(fs->touched, fs->touched + gone, sizeof fs->touched[0] * TOUCHED_KEPT);
            fs->touched_count = TOUCHED_KEPT;
        }
        list_touched(fs, node, end);
        return nf2_space_flush(fs);
    }
    nf2_put24(touch.payload, node);
    nf2_put16(touch.payload + 3, end);
    /* Listed in memory first: if the log turns, its STATE already names the node. */
    list_touched(fs, node, end);
    fs->logged_touched++;
    return NF2_BROKEN(NF2_FAULT_TOUCH) ? NF2_OK : nf2_meta_append(fs, &touch);
}

void nf2_space_node_end(nf2_t *fs, uint32_t node, uint32_t end)
{
    struct nf2_touched *touched = find_touched(fs, node);

    if (touched != NULL) {
        touched->end = (uint16_t)end;
    }
}

int nf2_space_settle_node(nf2_t *fs, uint32_t node)
{
    const struct nf2_touched *touched = find_touched(fs, node);

    return touched != NULL && touched->logged != touched->end && !NF2_BROKEN(NF2_FAULT_SETTLE) ? nf2_space_flush(fs) : NF2_OK;
}

void nf2_space_forget(nf2_t *fs, uint32_t node)
{
    struct nf2_touched *touched = find_touched(fs, node);

    if (touched != NULL) {
        *touched = fs->touched[--fs->touched_count];
    }
}

/* ---- the beginning of a change ----------------------------------------------------------------------- */

/* The tree should have a block for what comes: one in the place of a bad one; the next one of the log, before that turns. */
static int feed_tree(nf2_t *fs)
{
    bool for_log = nf2_space_stock_size(fs) == 0 && fs->meta_end > nf2_log_bytes(fs) / 2;
    bool late = fs->changes > SETTLED_IN || fs->redo_block < fs->blocks || (fs->recovered && fs->unclean_mounts % LATE_MOUNTS == 0);

    uint32_t kept = fs->redo_block < fs->blocks ? 0 : nf2_space_reserve(fs); /* a batch that is to be applied takes of the reserve, too */

    if ((!late && !for_log) || nf2_space_next(fs, NF2_TREE_SLOT) != NF2_NONE || fs->free_blocks <= kept) {
        return NF2_OK;
    }
    int result = claim(fs, NF2_TREE_SLOT, tree_claim(fs));
    if (result == NF2_OK && for_log && fs->slot[NF2_TREE_SLOT].ready == 0) { /* with a large erase, before one of its blocks leaves */
        result = erase_next(fs, &fs->slot[NF2_TREE_SLOT]);
    }
    return result < 0 && result != NF2_ERR_NOSPC ? result : NF2_OK;
}

int nf2_space_open(nf2_t *fs)
{
    if (!fs->mounted) {
        return NF2_ERR_INVAL;
    }
    if (fs->read_only || fs->broken) {
        return fs->read_only ? NF2_ERR_ROFS : NF2_ERR_IO;
    }
    if (!fs->opened) {
        NF2_TRY(nf2_meta_open(fs));
    }
    fs->kept_node = 0;
    return nf2_space_abandon(fs, NF2_TREE_SLOT, 0); /* what a failed change took */
}

int nf2_space_begin(nf2_t *fs)
{
    NF2_TRY(nf2_space_open(fs));
    fs->changes = (uint8_t)nf2_min(fs->changes + 1u, 255);
    if (fs->changes == 1 && fs->recovered) {
        NF2_TRY(nf2_meta_turn_early(fs));
    }
    NF2_TRY(feed_tree(fs));
    NF2_TRY(fs->changes > SETTLED_IN ? nf2_meta_renew(fs) : NF2_OK);
    return keep_stock(fs);
}
