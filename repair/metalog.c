/* SPDX-License-Identifier: BSD-2-Clause */
#include "metalog.h"

#include <stdlib.h>
#include <string.h>

#include "core.h"
#include "meta.h"
#include "nodes.h"
#include "region.h"

#define ANCHOR_PAYLOAD 26u
#define SPAN 256u               /* blocks of a meta log further back than this are not looked at */

struct block {
    uint32_t sequence, block, previous, next;
    uint16_t epoch;             /* of the session that began it */
    bool headed;                /* that is known */
};

struct reading {
    struct rep_image *image;
    struct rep_meta *meta;
    struct block *block;        /* of the volume, in the order of their sequences */
    unsigned blocks;
    uint8_t payload[NF2_RECORD_MAX];
    bool stated;                /* a STATE was found */
    uint8_t flags;              /* of the last one */
    bool full;                  /* the last block has no room for another one */
    bool torn;                  /* it ends with what may be an unfinished write */
    uint32_t tail, next;
    uint32_t free, erased;      /* blocks, as the last state and the claims behind it say */
    bool *claimed;              /* blocks that were in use once, as far as the log goes back */
    uint32_t idle[2];           /* blocks that were claimed and never used, where the volume was left cleanly: start, count */
    uint32_t stock[NF2_STOCK_MAX];  /* the same, however it was left */
    unsigned stocks;
};

/* ---- volumes ------------------------------------------------------------------------------------- */

/* The newest anchor in the super log. */
static bool read_anchor(struct rep_image *image, uint32_t *volume, bool *blank_erased)
{
    uint32_t best = 0;

    for (uint32_t block = 0; block < NF2_SUPER_BLOCKS && block < image->blocks; block++) {
        struct rep_log log;
        rep_log_read(image, block, REP_SUPER, &log);
        for (unsigned i = 0; i < log.records; i++) {
            uint8_t p[NF2_RECORD_MAX];
            const struct rep_record *record = &log.record[i];
            if (record->type != 1 || record->length < ANCHOR_PAYLOAD + NF2_RECORD_OVERHEAD) {
                continue;
            }
            rep_payload(image, &log, record->offset, record->length, p);
            if (memcmp(p, "NF2F", 4) == 0 && p[4] == NF2_FORMAT_VERSION && nf2_get24(p + 10) == image->blocks && nf2_get32(p + 17) > best) {
                best = nf2_get32(p + 17);
                *volume = nf2_get32(p + 13);
                *blank_erased = (p[9] & 1u) != 0;
            }
        }
        rep_log_free(&log);
    }
    return best > 0;
}

unsigned rep_volumes(struct rep_image *image, uint32_t *ids, unsigned most, bool *anchored)
{
    uint32_t id, *seen = rep_alloc(most * sizeof *seen);
    unsigned count = 0;
    bool blank;

    for (uint32_t block = 0; block < image->blocks; block++) {
        bool found = rep_head(image, block, 'N', &id) || rep_head(image, block, 'M', &id);
        unsigned i = 0;
        while (i < count && ids[i] != id) {
            i++;
        }
        if (found && i < most) {
            ids[i] = id;
            seen[i] = i == count ? 1 : seen[i] + 1;
            count += i == count;
        }
    }
    for (unsigned i = 1; i < count; i++) { /* by how often they were seen */
        for (unsigned j = i; j > 0 && seen[j] > seen[j - 1]; j--) {
            uint32_t swap = seen[j];
            seen[j] = seen[j - 1];
            seen[j - 1] = swap;
            swap = ids[j];
            ids[j] = ids[j - 1];
            ids[j - 1] = swap;
        }
    }
    free(seen);
    for (uint32_t block = 0; block < image->blocks && count == 0; block++) {
        if (rep_is_log(image, block)) { /* all heads are lost, but not all records */
            ids[count++] = 0;
        }
    }
    *anchored = read_anchor(image, &id, &blank);
    if (*anchored) {
        ids[0] = id;
        return 1;
    }
    return count;
}

/* ---- the chain ----------------------------------------------------------------------------------- */

static int by_sequence(const void *a, const void *b)
{
    const struct block *left = a, *right = b;

    return left->sequence < right->sequence ? -1 : left->sequence > right->sequence;
}

/* The head record of a meta block, mended where need be. A block that a cut left before the group with its head was whole is none. */
static bool read_head(struct reading *r, uint32_t block, struct block *out)
{
    struct rep_log log;
    bool found = false;

    rep_log_read(r->image, block, REP_META, &log);
    for (unsigned i = 0; i < log.records && !found; i++) {
        if (log.record[i].type == NF2_META_HEAD && log.record[i].length == NF2_META_HEAD_PAYLOAD + NF2_RECORD_OVERHEAD) {
            const uint8_t *p = r->payload;
            rep_payload(r->image, &log, log.record[i].offset, log.record[i].length, r->payload);
            found = p[0] == 'M' && nf2_get32(p + 1) == r->meta->volume && !log.record[i].partial;
            out->sequence = nf2_get32(p + 5);
            out->previous = nf2_get24(p + 9);
            out->next = nf2_get24(p + 12);
            out->block = block;
            out->epoch = log.record[i].epoch;
            out->headed = true;
        }
    }
    rep_log_free(&log);
    return found;
}

static void add_block(struct reading *r, const struct block *block)
{
    for (unsigned i = 0; i < r->blocks; i++) {
        if (r->block[i].block == block->block) {
            return;
        }
    }
    r->block = rep_grow(r->block, r->blocks, sizeof *r->block);
    r->block[r->blocks++] = *block;
}

/* Have all records of a block the form of the meta log's? */
static bool has_meta_records(struct reading *r, uint32_t block)
{
    static const uint16_t payloads[8] = {[NF2_META_HEAD] = NF2_META_HEAD_PAYLOAD, [NF2_META_CLAIM] = 6, [NF2_META_TOUCH] = 5,
                                         [NF2_META_REGION] = NF2_REGION_PAYLOAD, [NF2_META_REDO] = 8, [NF2_META_ORPHAN] = 4};
    struct rep_log log;

    rep_log_read(r->image, block, REP_META, &log);
    bool fits = log.records > 0;
    for (unsigned i = 0; i < log.records; i++) {
        uint32_t length = log.record[i].length - NF2_RECORD_OVERHEAD;
        fits = fits && (log.record[i].type == NF2_META_STATE ? length >= NF2_STATE_FIXED + 4u : length == payloads[log.record[i].type]);
    }
    rep_log_free(&log);
    return fits;
}

/* A block of which the head is damaged, where its neighbours say that it is one: it has their place in the order. */
static void add_headless(struct reading *r, uint32_t block, uint32_t sequence, uint32_t previous, uint32_t next)
{
    struct block found = {sequence, block, previous, next, 0, false};
    uint32_t other;

    for (unsigned i = 0; i < r->blocks; i++) {
        if (r->block[i].sequence == sequence) {
            return;
        }
    }
    if (block < r->image->blocks && !rep_head(r->image, block, 'M', &other) && !rep_head(r->image, block, 'N', &other) &&
        rep_is_log(r->image, block) && has_meta_records(r, block)) {
        add_block(r, &found);
    }
}

static void find_blocks(struct reading *r)
{
    struct block found;

    for (uint32_t block = 0; block < r->image->blocks; block++) {
        if (rep_is_log(r->image, block) && read_head(r, block, &found)) {
            add_block(r, &found);
        }
    }
    rep_sort(r->block, r->blocks, sizeof *r->block, by_sequence);
    for (unsigned i = 0, count = r->blocks; i < count; i++) {
        struct block at = r->block[i];
        if (i + 1 == count || r->block[i + 1].sequence != at.sequence + 1) {
            add_headless(r, at.next, at.sequence + 1, at.block, i + 1 < count && r->block[i + 1].sequence == at.sequence + 2 ? r->block[i + 1].block : NF2_NONE);
        }
        if (at.sequence > 1 && (i == 0 || r->block[i - 1].sequence != at.sequence - 1)) {
            add_headless(r, at.previous, at.sequence - 1, NF2_NONE, at.block);
        }
    }
    rep_sort(r->block, r->blocks, sizeof *r->block, by_sequence);
}

/* ---- records ------------------------------------------------------------------------------------- */

static void set_states(struct reading *r, uint32_t start, uint32_t count, enum rep_state state)
{
    for (uint32_t block = start; block < start + count && block < r->image->blocks; block++) {
        r->meta->state[block] = (uint8_t)state;
        r->claimed[block] = r->claimed[block] || state == REP_USED;
    }
}

static void add_orphan(struct rep_meta *meta, uint32_t id)
{
    meta->orphan = rep_grow(meta->orphan, meta->orphans, sizeof *meta->orphan);
    meta->orphan[meta->orphans++] = id;
}

static void note_root(struct rep_meta *meta, uint32_t root)
{
    if (meta->roots > 0 && meta->root[0] == root) {
        return;
    }
    meta->roots = nf2_min(meta->roots + 1, REP_ROOTS_MAX);
    memmove(meta->root + 1, meta->root, (meta->roots - 1) * sizeof meta->root[0]);
    meta->root[0] = root;
}

/* Passes over a list of items of `size` bytes; where it begins, NULL if it does not fit. */
static const uint8_t *take_list(const uint8_t **at, const uint8_t *end, uint32_t size, uint32_t *count)
{
    const uint8_t *begin = *at + 1;

    *count = *at < end ? **at : 0;
    if (*at >= end || (uint32_t)(end - begin) < *count * size) {
        *count = 0;
        *at = end;
        return NULL;
    }
    *at = begin + *count * size;
    return begin;
}

static void take_state(struct reading *r, uint32_t length)
{
    static const enum rep_state states[4] = {REP_DIRTY, REP_ERASED, REP_ERASED, REP_UNKNOWN};
    struct rep_meta *meta = r->meta;
    const uint8_t *p = r->payload, *at = p + NF2_STATE_FIXED, *end = p + length, *item;
    uint32_t slots, count;

    if (length < NF2_STATE_FIXED) {
        return;
    }
    r->stated = true;
    r->flags = p[0];
    meta->clean = (p[0] & NF2_STATE_CLEAN) != 0;
    r->image->epoch = nf2_get16(p + 1);
    note_root(meta, nf2_get24(p + 3));
    r->free = nf2_get24(p + 6);
    r->erased = nf2_get24(p + 9);
    meta->next_id = nf2_get32(p + 12);
    meta->redo_sequence = nf2_get32(p + 16);
    meta->redo_block = nf2_get24(p + 20);
    meta->unclean_mounts = nf2_get16(p + 23);
    meta->erases = nf2_get32(p + 25);
    r->tail = nf2_get24(p + 29);
    meta->orphans = 0;
    slots = at < end ? *at++ : 0;
    for (uint32_t s = 0; s < slots; s++) {
        item = take_list(&at, end, 5, &count);
        r->idle[0] = count > 0 ? nf2_get24(item) : 0;
        r->idle[1] = count > 0 ? nf2_get16(item + 3) : 0;
    }
    (void)take_list(&at, end, 5, &count);
    item = take_list(&at, end, 4, &count);
    for (uint32_t i = 0; i < count; i++) {
        add_orphan(meta, nf2_get32(item + 4 * i));
    }
    item = take_list(&at, end, 5, &count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t number = nf2_get16(item + 5 * i + 3);
        set_states(r, nf2_get24(item + 5 * i), number & NF2_CHANGE_COUNT_MAX, states[number >> 14]);
    }
    item = take_list(&at, end, 3, &count);
    r->stocks = nf2_min(count, NF2_STOCK_MAX);
    for (uint32_t i = 0; i < r->stocks; i++) {
        r->stock[i] = nf2_get24(item + 3 * i);
    }
    for (at += 2; at + 6 <= end; at += 6) { /* bad blocks that were freed */
        if (nf2_get24(at) & NF2_BAD_OVER) {
            set_states(r, nf2_get24(at + 3), 1, REP_DIRTY);
            set_states(r, nf2_get24(at) & ~NF2_BAD_OVER, 1, REP_UNKNOWN);
        }
    }
}

static void take_record(struct reading *r, const struct rep_record *record, uint32_t length)
{
    const uint8_t *p = r->payload;
    struct rep_meta *meta = r->meta;

    switch (record->type) {
    case NF2_META_STATE:
        take_state(r, length);
        break;
    case NF2_META_CLAIM:
        set_states(r, nf2_get24(p + 1), nf2_get16(p + 4) & NF2_CHANGE_COUNT_MAX, REP_USED);
        r->free -= nf2_get16(p + 4) & NF2_CHANGE_COUNT_MAX;
        r->erased -= nf2_get16(p + 4) & NF2_CLAIM_DIRTY ? 0 : nf2_get16(p + 4) & NF2_CHANGE_COUNT_MAX;
        meta->clean = false;
        break;
    case NF2_META_REGION:
        for (uint32_t i = 0; i < NF2_REGION_BLOCKS && length >= 37; i++) {
            set_states(r, nf2_get16(p) * NF2_REGION_BLOCKS + i, 1, (enum rep_state)(p[5 + i / 4] >> (i % 4 * 2) & 3u));
        }
        break;
    case NF2_META_REDO:
        meta->redo_sequence = nf2_get32(p);
        meta->redo_block = nf2_get24(p + 4);
        meta->clean = false;
        break;
    case NF2_META_ORPHAN:
        add_orphan(meta, nf2_get32(p));
        meta->clean = false;
        break;
    case NF2_META_TOUCH:
        meta->clean = false;
        break;
    default:
        break;
    }
}

/* Has a log room for the longest STATE behind a place, a page that a torn program left blank in front of it? Else it was turned, maybe. */
static bool has_room(const struct rep_image *image, uint32_t at)
{
    uint32_t page = image->page_size, pages = (NF2_STATE_MAX + NF2_RECORD_OVERHEAD + NF2_PAGE_HEAD + page - 1u) / page;

    return ((at + page - 1u) / page + pages) * page <= image->log_bytes;
}

/*
 * The page that the block's own records begin in: that of HEAD. What is in front of it is of a turn that was cut. Where HEAD is lost the
 * first record that such a turn does not leave tells.
 */
static uint32_t opening_page(struct reading *r, const struct rep_log *log)
{
    uint32_t behind = NF2_TURN_PAGES * r->image->page_size;

    for (unsigned i = 0; i < log->records; i++) {
        const struct rep_record *record = &log->record[i];
        if (!record->partial && record->type == NF2_META_HEAD) {
            return record->offset & ~(r->image->page_size - 1u);
        }
    }
    r->meta->whole = false;
    for (unsigned i = 0; i < log->records; i++) {
        if (!log->record[i].partial && log->record[i].type != NF2_META_REGION) {
            return log->record[i].offset >= behind ? behind : 0;
        }
    }
    return 0;
}

/* The session that went on in the next block was not cut in this one. */
static void read_block(struct reading *r, const struct block *block, const struct block *next, struct rep_log *log)
{
    uint16_t epoch = r->image->epoch;

    r->image->settled = next != NULL && next->headed && next->sequence == block->sequence + 1;
    r->image->epoch = r->image->settled ? next->epoch : epoch;
    rep_log_read(r->image, block->block, next == NULL ? REP_META_LAST : REP_META, log);
    r->image->settled = false;
    r->image->epoch = epoch;
}

/* Takes all records of a block. `next`: the one that the log goes on in, NULL for the last. */
static void take_block(struct reading *r, const struct block *block, const struct block *next)
{
    struct rep_log log;
    unsigned lost = 0, first = 0;

    read_block(r, block, next, &log);
    uint32_t begin = opening_page(r, &log);
    while (lost < log.losts && log.lost[lost].from < begin) {
        lost++;
    }
    while (first < log.records && log.record[first].offset < begin) {
        first++;
    }
    r->torn = lost < log.losts;
    for (unsigned i = first; i <= log.records; i++) {
        uint32_t to = i < log.records ? log.record[i].offset : r->image->log_bytes;
        while (lost < log.losts && log.lost[lost].from < to) {
            if (!log.lost[lost].unfinished) {
                r->meta->lost++;
                r->meta->whole = false;
            }
            r->meta->clean = false;
            lost++;
        }
        if (i < log.records && !log.record[i].partial) {
            take_record(r, &log.record[i], rep_payload(r->image, &log, log.record[i].offset, log.record[i].length, r->payload));
        }
    }
    uint32_t end = log.records > 0 ? log.record[log.records - 1].offset + log.record[log.records - 1].length : 0u;
    r->full = !has_room(r->image, end);
    r->meta->mended += log.mended;
    r->next = block->next;
    rep_log_free(&log);
}

/* Of the blocks from `first` on. */
static void take_blocks(struct reading *r, unsigned first)
{
    struct rep_meta *meta = r->meta;

    for (unsigned i = first; i < r->blocks; i++) {
        if (i > first && r->block[i].sequence != r->block[i - 1].sequence + 1) {
            meta->whole = false;
        }
        take_block(r, &r->block[i], i + 1 < r->blocks ? &r->block[i + 1] : NULL);
    }
}

/* Are there as many free blocks as the last state says? Else a change is lost, and may look like a write that was cut. */
static bool adds_up(const struct reading *r)
{
    uint32_t count[REP_UNKNOWN + 1u] = {0};

    for (uint32_t block = 0; block < r->image->blocks; block++) {
        count[r->meta->state[block]]++;
    }
    return count[REP_DIRTY] + count[REP_ERASED] == r->free && count[REP_ERASED] == r->erased;
}

static void mark_meta(struct reading *r, uint32_t block)
{
    if (block < r->image->blocks) {
        r->meta->is_meta[block] = true;
    }
}

static bool is_blank(const struct reading *r, uint32_t block)
{
    return block >= r->image->blocks || rep_noise(rep_block(r->image, block), r->image->block_size);
}

#define PROOFS 3u               /* so many blocks that should be blank: one may be damaged */

/* What a block that should be blank says: a node or a meta block in it is proof that there was more of the log. */
static unsigned proof(const struct reading *r, uint32_t block)
{
    uint32_t volume;

    if (is_blank(r, block)) {
        return 0;
    }
    return (rep_head(r->image, block, 'N', &volume) || rep_head(r->image, block, 'M', &volume)) && volume == r->meta->volume ? PROOFS : 1;
}

/* Is a block that a turn of the log was to begin as a cut left it: REGION pages, and of the group in front of them nothing that counts? */
static bool is_torn_turn(const struct reading *r, uint32_t block)
{
    struct rep_log log;

    rep_log_read(r->image, block, REP_META, &log);
    bool torn = log.losts <= 2 * NF2_OPENING_PAGES; /* the next turn begins behind the first one, and may be cut too */
    for (unsigned i = 0; i < log.losts; i++) {
        torn = torn && log.lost[i].unfinished;
    }
    for (unsigned i = 0; i < log.records; i++) {
        torn = torn && (log.record[i].partial || log.record[i].type == NF2_META_REGION);
    }
    rep_log_free(&log);
    return torn;
}

/* Do blocks hold something that were erased as far as the log knows, or never used (`since_format`)? Then there was more of it. */
static bool is_outdated(const struct reading *r, bool since_format)
{
    unsigned proofs = 0;

    for (uint32_t i = 0; i < r->idle[1] && r->meta->clean; i++) {
        proofs += proof(r, r->idle[0] + i);
    }
    for (unsigned i = 0; i < r->stocks; i++) {
        proofs += proof(r, r->stock[i]);
    }
    for (uint32_t block = 0; block < r->image->blocks; block++) {
        proofs += r->meta->state[block] == REP_ERASED ? proof(r, block) : since_format && !r->claimed[block] ? proof(r, block) / PROOFS * PROOFS : 0;
    }
    bool next = !is_blank(r, r->next) && (r->flags & NF2_STATE_NEXT_SUSPECT) == 0 && !is_torn_turn(r, r->next);
    return proofs >= PROOFS || (next && (r->full || proofs > 0 || r->image->program_unit > 1));
}

void rep_meta_distrust(struct rep_image *image, struct rep_meta *meta)
{
    meta->outdated = true;
    meta->whole = meta->clean = meta->rooted = image->settled = false;
    memset(meta->state, REP_UNKNOWN, image->blocks);
    memset(meta->is_idle, 0, image->blocks * sizeof *meta->is_idle);
}

void rep_meta_read(struct rep_image *image, uint32_t volume, bool anchored, struct rep_meta *meta)
{
    struct reading *r = rep_alloc(sizeof *r);
    bool blank_erased = false;
    uint32_t id;
    unsigned first = 0;

    memset(meta, 0, sizeof *meta);
    meta->volume = volume;
    meta->anchored = anchored;
    meta->redo_block = NF2_NO_BLOCK;
    meta->head = meta->unfinished = NF2_NONE;
    meta->state = rep_alloc(image->blocks);
    meta->is_meta = rep_alloc(image->blocks * sizeof *meta->is_meta);
    meta->is_idle = rep_alloc(image->blocks * sizeof *meta->is_idle);
    r->claimed = rep_alloc(image->blocks * sizeof *r->claimed);
    r->image = image;
    r->meta = meta;
    r->tail = r->next = NF2_NO_BLOCK;
    image->settled = false;
    find_blocks(r);
    if (r->blocks > 0) { /* where the window begins: the last state says it; before, all is free */
        (void)read_anchor(image, &id, &blank_erased);
        take_blocks(r, r->blocks > SPAN ? r->blocks - SPAN : 0);
        for (first = r->blocks; first > 0 && r->block[first - 1].block != r->tail; first--) {
        }
        meta->whole = r->stated && first > 0;
        meta->roots = meta->orphans = meta->lost = meta->mended = 0;
        meta->clean = false;
        first = first > 0 ? first - 1 : 0;
        set_states(r, 0, image->blocks, !meta->whole ? REP_UNKNOWN : blank_erased ? REP_ERASED : REP_DIRTY);
        take_blocks(r, first);
        meta->whole = meta->whole && adds_up(r);
        meta->head = r->block[r->blocks - 1].block;
    }
    meta->unfinished = r->torn ? meta->head : !is_blank(r, r->next) && is_torn_turn(r, r->next) ? r->next : NF2_NONE;
    meta->rooted = meta->clean;
    meta->clean = meta->clean && meta->whole;
    meta->open = !is_blank(r, r->next) || (r->full && !meta->clean) || r->torn;
    image->settled = meta->clean;
    if (!r->stated || is_outdated(r, meta->whole && r->block[first].sequence == 1)) {
        rep_meta_distrust(image, meta);
    }
    for (unsigned i = first; i < r->blocks; i++) {
        mark_meta(r, r->block[i].block);
    }
    if (!meta->outdated) {
        mark_meta(r, r->next);
    }
    for (uint32_t i = 0; i < r->idle[1] && meta->clean && r->idle[0] + i < image->blocks; i++) {
        meta->is_idle[r->idle[0] + i] = true;
    }
    for (unsigned i = 0; i < r->stocks && meta->whole; i++) {
        if (r->stock[i] < image->blocks) {
            meta->is_idle[r->stock[i]] = true;
        }
    }
    for (unsigned i = 0; i < image->places; i++) {
        meta->is_idle[image->place[i]] = true;
    }
    mark_meta(r, 0);
    mark_meta(r, 1);
    free(r->claimed);
    free(r->block);
    free(r);
}

void rep_meta_free(struct rep_meta *meta)
{
    free(meta->state);
    free(meta->is_meta);
    free(meta->is_idle);
    free(meta->orphan);
    memset(meta, 0, sizeof *meta);
}
