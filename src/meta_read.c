/* SPDX-License-Identifier: BSD-2-Clause */
/* meta_read.c - the meta log as a mount finds it, and walks over its window. */
#include "flash.h"
#include "meta.h"
#include "super.h"

/* ---- records ------------------------------------------------------------------------------------ */

/* Looks for the head of a block with this scan, which begins anew from its page then. */
static NF2_APART int enter_block(nf2_t *fs, uint32_t block, struct nf2_scan *scan, struct nf2_meta_head *head)
{
    struct nf2_record record;
    uint8_t payload[NF2_META_HEAD_PAYLOAD];
    int found;

    nf2_scan_begin(scan, block);
    scan->gaps = true; /* it may begin behind what a turn that was cut left: nothing visible, something torn, REGION pages */
    do {
        found = nf2_scan_next(fs, scan, &record);
    } while (found > 0 && record.type == NF2_META_REGION);
    if (found <= 0) {
        return found;
    }
    if (record.type != NF2_META_HEAD || record.length != NF2_META_HEAD_PAYLOAD + NF2_RECORD_OVERHEAD) {
        return 0;
    }
    NF2_TRY(nf2_record_read(fs, block, record.offset, 2, payload, sizeof payload));
    head->sequence = nf2_get32(payload + 5);
    head->previous = nf2_get24(payload + 9);
    head->next = nf2_get24(payload + 12);
    head->offset = record.offset;
    nf2_scan_begin(scan, block);
    scan->gaps = true; /* between the group that opens a block and REGION pages */
    scan->position = (uint16_t)(head->offset & ~(nf2_page(fs) - 1u));
    return payload[0] == 'M' && nf2_get32(payload + 1) == fs->volume_id;
}

int nf2_meta_head(nf2_t *fs, uint32_t block, struct nf2_meta_head *head)
{
    struct nf2_scan scan;

    return enter_block(fs, block, &scan, head);
}

/* A reader of the lists behind STATE's fixed part. */
struct lists {
    uint32_t block, offset, position, end;
};

static int list_take(nf2_t *fs, struct lists *lists, uint8_t *to, uint32_t length)
{
    if (lists->position + length > lists->end) {
        return NF2_ERR_CORRUPT;
    }
    NF2_TRY(nf2_record_read(fs, lists->block, lists->offset, lists->position, to, length));
    lists->position += length;
    return NF2_OK;
}

/* Passes over a list with items of so many bytes. */
static int list_skip(nf2_t *fs, struct lists *lists, uint32_t bytes)
{
    uint8_t count;

    NF2_TRY(list_take(fs, lists, &count, 1));
    lists->position += bytes * count;
    return NF2_OK;
}

static int take_slots(nf2_t *fs, struct lists *lists)
{
    uint8_t slots, runs, item[5];

    NF2_TRY(list_take(fs, lists, &slots, 1));
    for (unsigned s = 0; s < slots; s++) {
        NF2_TRY(list_take(fs, lists, &runs, 1));
        unsigned to = fs->clean && s + 1u == slots ? NF2_TREE_SLOT : s; /* another build may have more writers, or fewer */
        if (runs > NF2_SLOT_RUNS || (runs > 0 && (to >= NF2_SLOTS || (fs->clean && (to != NF2_TREE_SLOT || runs > 1))))) {
            return NF2_ERR_CORRUPT;
        }
        for (unsigned r = 0; r < runs; r++) {
            NF2_TRY(list_take(fs, lists, item, sizeof item));
            fs->slot[to].run[r].start = nf2_get24(item);
            fs->slot[to].run[r].count = nf2_get16(item + 3);
        }
        if (to < NF2_SLOTS) {
            fs->slot[to].runs = runs;
        }
    }
    return NF2_OK;
}

static int take_touched_and_orphans(nf2_t *fs, struct lists *lists)
{
    uint8_t count, item[5];

    NF2_TRY(list_take(fs, lists, &count, 1));
    for (unsigned i = 0; i < count; i++) {
        NF2_TRY(list_take(fs, lists, item, 5));
        if (i < NF2_TOUCHED_MAX) {
            fs->touched[i].node = (uint16_t)nf2_min(nf2_get24(item), UINT16_MAX);
            fs->touched[i].logged = fs->touched[i].end = nf2_get16(item + 3);
        }
    }
    fs->touched_count = (uint8_t)nf2_min(count, NF2_TOUCHED_MAX);
    NF2_TRY(list_take(fs, lists, &count, 1));
    for (unsigned i = 0; i < count; i++) {
        NF2_TRY(list_take(fs, lists, item, 4));
        if (i < NF2_ORPHANS_MAX) {
            fs->orphan[i] = nf2_get32(item);
        }
    }
    fs->orphan_count = (uint8_t)nf2_min(count, NF2_ORPHANS_MAX);
    return NF2_OK;
}

/*
 * Bad blocks: those that were freed for a walk, the others (`walk` NULL) for a mount. Where the anchor has places that are not among
 * them, the session was cut in a turn of the log.
 */
static int take_bad(nf2_t *fs, struct lists *lists, struct nf2_walk *walk, unsigned anchored)
{
    uint8_t item[6] = {0};

    NF2_TRY(lists->position < lists->end ? list_take(fs, lists, item, 2) : NF2_OK);
    fs->blocks_bad = walk == NULL ? nf2_get16(item) : fs->blocks_bad;
    while (lists->position < lists->end) {
        NF2_TRY(list_take(fs, lists, item, sizeof item));
        uint32_t block = nf2_get24(item) & ~NF2_BAD_OVER, by = nf2_get24(item + 3), place = nf2_bad_place(fs, block);
        bool over = block != nf2_get24(item);
        bool here = walk == NULL && !over && place != by;
        if (block >= fs->blocks || by >= fs->blocks || (here && !nf2_bad_room(fs))) {
            return NF2_ERR_CORRUPT;
        }
        if (walk != NULL) {
            NF2_TRY(over ? walk->run(fs, walk->context, NF2_FREED, by, 1) : NF2_OK);
            NF2_TRY(over ? walk->run(fs, walk->context, NF2_LOST, block, 1) : NF2_OK);
        } else if (!over && place == by) {
            anchored--;
        } else if (here) {
            nf2_bad_note(fs, place != block ? by : block, by); /* the anchor's is newer */
        }
    }
    fs->bad_news = walk == NULL ? anchored > 0 : fs->bad_news;
    return NF2_OK;
}

/* Is it in the place of a bad block? */
static bool in_place(const nf2_t *fs, uint32_t block)
{
    bool yes = false;

    for (unsigned i = 0; i < fs->bad_count; i++) {
        yes = yes || fs->bad[i].by == block;
    }
    return yes;
}

/* What follows the list of changes. */
static int take_stock(nf2_t *fs, struct lists *lists)
{
    uint8_t count, item[3];

    NF2_TRY(list_take(fs, lists, &count, 1));
    for (unsigned i = 0; i < count; i++) {
        NF2_TRY(list_take(fs, lists, item, sizeof item));
        if (i >= NF2_STOCK_MAX || nf2_get24(item) >= fs->blocks) {
            return NF2_ERR_CORRUPT;
        }
        if (!in_place(fs, nf2_get24(item))) {
            fs->stock[fs->stock_count++] = (uint16_t)nf2_get24(item);
        }
    }
    return NF2_OK;
}

static struct lists lists_of(uint32_t block, const struct nf2_record *record)
{
    struct lists lists = {block, record->offset, 2u + NF2_STATE_FIXED, record->length - 4u};
    return lists;
}

static NF2_APART int walk_state(nf2_t *fs, struct nf2_walk *walk, const struct nf2_record *record)
{
    struct lists lists = lists_of(walk->block, record);
    uint8_t count, item[5];

    NF2_TRY(list_take(fs, &lists, &count, 1));
    for (unsigned slots = count; slots > 0; slots--) {
        NF2_TRY(list_skip(fs, &lists, 5));
    }
    NF2_TRY(list_skip(fs, &lists, 5)); /* touched nodes, orphans */
    NF2_TRY(list_skip(fs, &lists, 4));
    NF2_TRY(list_take(fs, &lists, &count, 1));
    for (unsigned i = 0; i < count; i++) {
        NF2_TRY(list_take(fs, &lists, item, 5));
        uint32_t number = nf2_get16(item + 3);
        NF2_TRY(walk->run(fs, walk->context, (enum nf2_change)(number >> 14 & 3u), nf2_get24(item), number & NF2_CHANGE_COUNT_MAX));
    }
    NF2_TRY(list_skip(fs, &lists, 3));
    return take_bad(fs, &lists, walk, 0);
}

static NF2_APART int walk_record(nf2_t *fs, struct nf2_walk *walk, const struct nf2_record *record)
{
    uint8_t payload[6];

    switch (record->type) {
    case NF2_META_STATE:
        return walk_state(fs, walk, record);
    case NF2_META_CLAIM:
        NF2_TRY(nf2_record_read(fs, walk->block, record->offset, 2, payload, 6));
        return walk->run(fs, walk->context, nf2_get16(payload + 4) & NF2_CLAIM_DIRTY ? NF2_CLAIMED_DIRTY : NF2_CLAIMED,
                         nf2_get24(payload + 1), nf2_get16(payload + 4) & NF2_CHANGE_COUNT_MAX);
    case NF2_META_REGION:
        NF2_TRY(nf2_record_read(fs, walk->block, record->offset, 2, payload, 2));
        return walk->region(fs, walk->context, nf2_get16(payload), walk->block, record->offset);
    default:
        return NF2_OK;
    }
}

int nf2_meta_walk(nf2_t *fs, struct nf2_walk *walk)
{
    uint32_t block = fs->meta_tail;

    for (uint32_t turn = 0; turn <= fs->blocks; turn++) {
        struct nf2_scan scan;
        struct nf2_record record;
        struct nf2_meta_head head;
        int found = enter_block(fs, block, &scan, &head);
        if (found <= 0) {
            return found < 0 ? found : NF2_ERR_CORRUPT;
        }
        walk->block = block;
        walk->index = turn;
        while ((found = nf2_scan_next(fs, &scan, &record)) > 0) {
            NF2_TRY(walk_record(fs, walk, &record));
        }
        NF2_TRY(found);
        if (scan.damaged) {
            return NF2_ERR_IO;
        }
        if (block == fs->meta_head) {
            return NF2_OK;
        }
        block = head.next;
    }
    return NF2_ERR_CORRUPT;
}

/* ---- mounting ----------------------------------------------------------------------------------- */

/* Follows the chain from the block that the anchor names to the head. */
static int find_head(nf2_t *fs)
{
    struct nf2_meta_head head, next;

    int found = nf2_meta_head(fs, fs->meta_head, &head);
    if (found <= 0) {
        return found < 0 ? found : NF2_ERR_CORRUPT;
    }
    fs->super_points_to = head.sequence;
    for (uint32_t turn_count = 0; turn_count <= fs->blocks; turn_count++) {
        found = head.next < fs->blocks ? nf2_meta_head(fs, head.next, &next) : 0;
        NF2_TRY(found);
        if (!found || next.sequence != head.sequence + 1) {
            fs->meta_sequence = head.sequence;
            fs->meta_next = head.next;
            fs->meta_end = head.offset; /* for now */
            return NF2_OK;
        }
        fs->meta_head = head.next;
        head = next;
    }
    return NF2_ERR_CORRUPT;
}

static int load_state(nf2_t *fs, const struct nf2_record *record, uint8_t anchored)
{
    uint8_t p[NF2_STATE_FIXED];

    if (record->length < NF2_STATE_FIXED + NF2_RECORD_OVERHEAD) {
        return NF2_ERR_CORRUPT;
    }
    NF2_TRY(nf2_record_read(fs, fs->meta_head, record->offset, 2, p, sizeof p));
    fs->clean = (p[0] & NF2_STATE_CLEAN) != 0;
    fs->next_suspect = (p[0] & NF2_STATE_NEXT_SUSPECT) != 0;
    fs->redo_owned = (p[0] & NF2_STATE_REDO_OWNED) != 0;
    fs->epoch = nf2_get16(p + 1);
    fs->root = nf2_get24(p + 3);
    fs->free_blocks = nf2_get24(p + 6);
    fs->erased_blocks = nf2_get24(p + 9);
    fs->id_limit = fs->next_id = nf2_get32(p + 12);
    fs->redo_sequence = nf2_get32(p + 16);
    fs->redo_block = nf2_get24(p + 20);
    fs->unclean_mounts = nf2_get16(p + 23);
    fs->erases = nf2_get32(p + 25);
    fs->meta_tail = nf2_get24(p + 29);
    uint32_t cursor = nf2_get24(p + 32);
    fs->region = NF2_NONE;
    fs->maintain_cursor = (uint16_t)nf2_min(cursor, fs->blocks - 1);
    fs->exchange_region = (uint16_t)(fs->erases / NF2_REGION_BLOCKS % nf2_regions(fs));
    struct lists lists = lists_of(fs->meta_head, record);
    fs->stock_count = 0;
    fs->bad_count = anchored;
    memset(fs->bad + anchored, 0, (NF2_BAD_MAX - anchored) * sizeof fs->bad[0]);
    NF2_TRY(take_slots(fs, &lists));
    NF2_TRY(take_touched_and_orphans(fs, &lists));
    NF2_TRY(list_skip(fs, &lists, 5)); /* changes */
    NF2_TRY(take_stock(fs, &lists));
    NF2_TRY(take_bad(fs, &lists, NULL, anchored));
    fs->clean = fs->clean && !fs->bad_news;
    return NF2_OK;
}

static void load_claim(nf2_t *fs, const uint8_t *p)
{
    struct nf2_slot *slot = &fs->slot[p[0] < NF2_SLOTS ? p[0] : NF2_TREE_SLOT];
    uint32_t start = nf2_get24(p + 1), count = nf2_get16(p + 4) & NF2_CHANGE_COUNT_MAX;
    struct nf2_run *last = slot->runs > 0 ? &slot->run[slot->runs - 1] : NULL;

    fs->free_blocks -= nf2_min(count, fs->free_blocks);
    if (nf2_get16(p + 4) & NF2_CLAIM_DIRTY) {
        fs->erases += count;
    } else {
        fs->erased_blocks -= nf2_min(count, fs->erased_blocks);
    }
    if (last != NULL && last->start + last->count == start) {
        last->count += count;
    } else if (slot->runs < NF2_SLOT_RUNS) {
        slot->run[slot->runs].start = start;
        slot->run[slot->runs++].count = count;
    }
}

static void load_touch(nf2_t *fs, const uint8_t *p)
{
    uint32_t node = nf2_get24(p);

    for (unsigned i = 0; i < fs->touched_count; i++) {
        if (fs->touched[i].node == node) {
            return; /* the older place covers more */
        }
    }
    if (fs->touched_count < NF2_TOUCHED_MAX) {
        fs->touched[fs->touched_count].node = (uint16_t)nf2_min(node, UINT16_MAX);
        fs->touched[fs->touched_count].logged = fs->touched[fs->touched_count].end = nf2_get16(p + 3);
        fs->touched_count++;
    }
}

/* Applies one record that follows the last STATE. */
static int load_small(nf2_t *fs, const struct nf2_record *record)
{
    uint8_t p[8] = {0};

    if (record->type == NF2_META_REGION || record->type == NF2_META_HEAD) {
        return NF2_OK;
    }
    NF2_TRY(nf2_record_read(fs, fs->meta_head, record->offset, 2, p, nf2_min(sizeof p, record->length - NF2_RECORD_OVERHEAD)));
    fs->clean = false;
    if (record->type == NF2_META_CLAIM) {
        load_claim(fs, p);
    } else if (record->type == NF2_META_TOUCH) {
        load_touch(fs, p);
    } else if (record->type == NF2_META_REDO) {
        fs->redo_sequence = nf2_get32(p);
        fs->redo_block = nf2_get24(p + 4);
        fs->redo_owned = p[7] != 0;
    } else if (record->type == NF2_META_ORPHAN && fs->orphan_count < NF2_ORPHANS_MAX) {
        fs->orphan[fs->orphan_count++] = nf2_get32(p);
    }
    return NF2_OK;
}

/* The next epoch, behind all that mounts may have used which were cut in their first program: torn pages tell. */
static int next_epoch(nf2_t *fs, const struct nf2_scan *scan)
{
    uint16_t newest = fs->epoch;
    uint8_t head[2];

    if (nf2_epochs_between(newest, scan->last_epoch) < 0x800u) {
        newest = scan->last_epoch; /* of a torn group, if it is another one */
    }
    for (uint32_t at = (scan->last_end - 1u) | (nf2_page(fs) - 1u); at + 1 < scan->used_end; at += nf2_page(fs)) {
        NF2_TRY(nf2_flash_read(fs, fs->meta_head, at + 1, head, sizeof head));
        uint16_t code = nf2_get16(head);
        uint32_t ahead = nf2_epochs_between(fs->epoch, code);
        if (code == nf2_epoch_code(code) && ahead < 0x800u && ahead > nf2_epochs_between(fs->epoch, newest)) {
            newest = code;
        }
    }
    fs->epoch = NF2_BROKEN(NF2_FAULT_EPOCH) ? fs->epoch : nf2_epoch_code(newest + 1u);
    return NF2_OK;
}

/* The last STATE of the head block, then what follows it. */
static int load_head(nf2_t *fs)
{
    struct nf2_scan scan;
    struct nf2_record record;
    uint8_t anchored = fs->bad_count;
    bool found = false;
    int more, loaded = NF2_OK;

    nf2_scan_begin(&scan, fs->meta_head);
    scan.gaps = true;
    scan.position = (uint16_t)(fs->meta_end & ~(nf2_page(fs) - 1u)); /* of HEAD: what is in front of it is of a turn that was cut */
    while ((more = nf2_scan_next(fs, &scan, &record)) > 0) {
        if (record.type == NF2_META_STATE) {
            memset(fs->slot, 0, sizeof fs->slot);
            fs->touched_count = fs->orphan_count = 0;
            loaded = load_state(fs, &record, anchored); /* the last one's: with an older one the anchor's places may be too many */
            found = true;
        } else if (found) {
            NF2_TRY(load_small(fs, &record));
        }
    }
    NF2_TRY(more);
    NF2_TRY(loaded);
    if (!found || scan.damaged) {
        return NF2_ERR_CORRUPT;
    }
    if (scan.dirty_end || scan.used_end > ((scan.last_end - 1u) | (nf2_page(fs) - 1u)) + 1u) {
        fs->clean = false; /* the first program of the last session was torn */
    }
    fs->recovered = !fs->clean;
    if (!fs->clean) {
        fs->unclean_mounts++;
        if (!nf2_meta_room(fs, scan.last_end)) { /* the session may have been cut in a turn: its pages are given up */
            fs->next_torn = NF2_TURN_PAGES + NF2_OPENING_PAGES <= fs->node_pages;
            fs->next_suspect = fs->next_suspect || !fs->next_torn;
        }
        NF2_TRY(next_epoch(fs, &scan));
    }
    fs->meta_end = (uint16_t)nf2_scan_append_at(fs, &scan);
    if (fs->log_failed && fs->super_points_to == fs->meta_sequence) { /* the anchor says so of this head: a turn was begun */
        fs->meta_end = (uint16_t)nf2_log_bytes(fs);
        fs->next_suspect = true;
    }
    fs->log_failed = false;
    return NF2_OK;
}

/* Nothing is handed out from what a cut session claimed; what a clean one left to the tree is erased. */
static int take_over_slots(nf2_t *fs)
{
    for (unsigned s = 0; s < NF2_SLOTS; s++) {
        struct nf2_slot *slot = &fs->slot[s];
        if (slot->runs == 0) {
            continue;
        }
        const struct nf2_run *last = &slot->run[slot->runs - 1u];
        if (last->count > 0xFFFFu || last->start >= fs->blocks || last->count > fs->blocks - last->start) {
            return NF2_ERR_CORRUPT;
        }
        slot->ready = (uint16_t)last->count;
        slot->used = fs->clean ? 0 : slot->ready;
        slot->logged_runs = slot->runs;
        slot->logged_end = last->start + last->count;
    }
    return NF2_OK;
}

int nf2_meta_load(nf2_t *fs)
{
    struct nf2_meta_head tail;

    NF2_TRY(nf2_super_load(fs));
    NF2_TRY(find_head(fs));
    NF2_TRY(load_head(fs));
    NF2_TRY(nf2_super_resume(fs));
    int found = nf2_meta_head(fs, fs->meta_tail, &tail);
    if (found <= 0) {
        return found < 0 ? found : NF2_ERR_CORRUPT;
    }
    fs->meta_tail_sequence = tail.sequence;
    fs->epoch_known = true;
    return take_over_slots(fs);
}
