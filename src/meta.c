/* SPDX-License-Identifier: BSD-2-Clause */
#include "meta.h"

#include "flash.h"
#include "region.h"

#define HEAD_PAYLOAD 15u
#define STATE_CLEAN 1u
#define STATE_NEXT_SUSPECT 2u
#define STATE_REDO_OWNED 4u
#define STATE_SPARE_SUSPECT 8u
#define EVACUATE_MAX 8u         /* REGION pages written anew at one turn of the log */
#define ID_RESERVE 64u

/* The longest STATE must fit in the read buffer of the smallest page. */
#define NF2_STATE_MAX                                                                                                   \
    (NF2_STATE_FIXED + 1u + NF2_SLOTS * (1u + 5u * NF2_SLOT_RUNS) + 1u + 5u * NF2_TOUCHED_MAX + 1u + 4u * NF2_ORPHANS_MAX + \
     1u + 5u * NF2_STATE_CHANGES_MAX)
_Static_assert(NF2_STATE_MAX <= 256u, "NF2_WRITERS is too large");
_Static_assert(NF2_FREED_MAX <= NF2_STATE_CHANGES_MAX, "a STATE holds all freed runs");

/* ---- reading ------------------------------------------------------------------------------------ */

struct head {
    uint32_t sequence, previous, next;
};

/* The head of meta block `block`: 1, 0 if it is none of this volume, or an error. */
static int read_head(nf2_t *fs, uint32_t block, struct head *head)
{
    struct nf2_scan scan;
    struct nf2_record record;
    uint8_t payload[HEAD_PAYLOAD];

    nf2_scan_begin(&scan, block);
    int found = nf2_scan_next(fs, &scan, &record);
    if (found <= 0) {
        return found;
    }
    if (record.type != NF2_META_HEAD || record.length != HEAD_PAYLOAD + NF2_RECORD_OVERHEAD) {
        return 0;
    }
    NF2_TRY(nf2_record_read(fs, block, record.offset, 2, payload, sizeof payload));
    head->sequence = nf2_get32(payload + 5);
    head->previous = nf2_get24(payload + 9);
    head->next = nf2_get24(payload + 12);
    return payload[0] == 'M' && nf2_get32(payload + 1) == fs->volume_id;
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

static int take_slots(nf2_t *fs, struct lists *lists, bool keep)
{
    uint8_t slots, runs, item[5];

    NF2_TRY(list_take(fs, lists, &slots, 1));
    for (unsigned s = 0; s < slots; s++) {
        NF2_TRY(list_take(fs, lists, &runs, 1));
        if (runs > NF2_SLOT_RUNS || (keep && runs > 0 && s >= NF2_SLOTS)) {
            return NF2_ERR_CORRUPT;
        }
        for (unsigned r = 0; r < runs; r++) {
            NF2_TRY(list_take(fs, lists, item, sizeof item));
            if (keep) {
                fs->slot[s].run[r].start = nf2_get24(item);
                fs->slot[s].run[r].count = nf2_get16(item + 3);
            }
        }
        if (keep && s < NF2_SLOTS) {
            fs->slot[s].runs = runs;
        }
    }
    return NF2_OK;
}

static int take_touched_and_orphans(nf2_t *fs, struct lists *lists, bool keep)
{
    uint8_t count, item[5];

    NF2_TRY(list_take(fs, lists, &count, 1));
    for (unsigned i = 0; i < count; i++) {
        NF2_TRY(list_take(fs, lists, item, 5));
        if (keep && i < NF2_TOUCHED_MAX) {
            fs->touched[i].node = nf2_get24(item);
            fs->touched[i].logged = fs->touched[i].end = nf2_get16(item + 3);
        }
    }
    if (keep) {
        fs->touched_count = (uint8_t)nf2_min(count, NF2_TOUCHED_MAX);
    }
    NF2_TRY(list_take(fs, lists, &count, 1));
    for (unsigned i = 0; i < count; i++) {
        NF2_TRY(list_take(fs, lists, item, 4));
        if (keep && i < NF2_ORPHANS_MAX) {
            fs->orphan[i] = nf2_get32(item);
        }
    }
    if (keep) {
        fs->orphan_count = (uint8_t)nf2_min(count, NF2_ORPHANS_MAX);
    }
    return NF2_OK;
}

static struct lists lists_of(uint32_t block, const struct nf2_record *record)
{
    struct lists lists = {block, record->offset, 2u + NF2_STATE_FIXED, record->length - 4u};
    return lists;
}

static int walk_state(nf2_t *fs, struct nf2_walk *walk, const struct nf2_record *record)
{
    struct lists lists = lists_of(walk->block, record);
    uint8_t count, item[5];

    NF2_TRY(take_slots(fs, &lists, false));
    NF2_TRY(take_touched_and_orphans(fs, &lists, false));
    NF2_TRY(list_take(fs, &lists, &count, 1));
    for (unsigned i = 0; i < count; i++) {
        NF2_TRY(list_take(fs, &lists, item, 5));
        uint32_t number = nf2_get16(item + 3);
        NF2_TRY(walk->run(fs, walk->context, (enum nf2_change)(number >> 14 & 3u), nf2_get24(item), number & NF2_CHANGE_COUNT_MAX));
    }
    return NF2_OK;
}

static int walk_record(nf2_t *fs, struct nf2_walk *walk, const struct nf2_record *record)
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
        struct head head;
        int found = read_head(fs, block, &head);
        if (found <= 0) {
            return found < 0 ? found : NF2_ERR_CORRUPT;
        }
        walk->block = block;
        nf2_scan_begin(&scan, block);
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

/* ---- super log ---------------------------------------------------------------------------------- */

#define ANCHOR_PAYLOAD 26u
#define ANCHOR_BLANK_ERASED 1u

static unsigned log2_of(uint32_t value)
{
    unsigned n = 0;
    while (value > 1) {
        value >>= 1;
        n++;
    }
    return n;
}

static void encode_anchor(const nf2_t *fs, uint8_t *p)
{
    memcpy(p, "NF2F", 4);
    p[4] = NF2_FORMAT_VERSION;
    p[5] = (uint8_t)log2_of(fs->flash->block_size);
    nf2_put16(p + 6, fs->flash->page_size);
    p[8] = (uint8_t)fs->flash->program_unit;
    p[9] = fs->blank_erased ? ANCHOR_BLANK_ERASED : 0;
    nf2_put24(p + 10, fs->blocks);
    nf2_put32(p + 13, fs->volume_id);
    nf2_put32(p + 17, fs->super_sequence);
    nf2_put24(p + 21, fs->meta_head);
    p[24] = p[25] = 0;
}

/* Writes an anchor that names the head of the meta log; when its block is full, into the other one. */
static int write_anchor(nf2_t *fs)
{
    uint8_t payload[ANCHOR_PAYLOAD] = {0};
    struct nf2_span span = nf2_span_of(payload, sizeof payload);
    struct nf2_writer writer;
    uint32_t end, length = ANCHOR_PAYLOAD + NF2_RECORD_OVERHEAD;

    fs->super_sequence++;
    encode_anchor(fs, payload);
    if (nf2_log_place(fs, fs->super_end, length, nf2_log_bytes(fs), &end) >= nf2_log_bytes(fs)) {
        fs->super_block = fs->super_block == 0 ? 1 : 0;
        NF2_TRY(nf2_flash_erase(fs, fs->super_block, 1));
        fs->erases++;
        fs->super_end = 0;
    }
    nf2_writer_begin(fs, &writer, fs->super_block, fs->super_end);
    NF2_TRY(nf2_writer_record(fs, &writer, NF2_META_HEAD, false, &span, 1));
    NF2_TRY(nf2_writer_end(fs, &writer));
    fs->super_end = (uint16_t)writer.position;
    fs->super_points_to = fs->meta_sequence;
    return NF2_OK;
}

/* ---- writing ------------------------------------------------------------------------------------ */

static uint8_t *put_run(uint8_t *p, const struct nf2_run *run, enum nf2_change kind)
{
    p = nf2_put24(p, run->start);
    return nf2_put16(p, run->count | (uint32_t)kind << 14);
}

/* The part of a slot's runs that is not known to be committed, as it stands in memory. */
static uint8_t *put_slots(const nf2_t *fs, uint8_t *p)
{
    *p++ = NF2_SLOTS;
    for (unsigned s = 0; s < NF2_SLOTS; s++) {
        const struct nf2_slot *slot = &fs->slot[s];
        *p++ = slot->runs;
        for (unsigned r = 0; r < slot->runs; r++) {
            p = nf2_put24(p, slot->run[r].start);
            p = nf2_put16(p, slot->run[r].count);
        }
    }
    return p;
}

static uint8_t *put_touched_and_orphans(const nf2_t *fs, uint8_t *p)
{
    *p++ = fs->touched_count;
    for (unsigned i = 0; i < fs->touched_count; i++) {
        p = nf2_put24(p, fs->touched[i].node);
        p = nf2_put16(p, fs->touched[i].end);
    }
    *p++ = fs->orphan_count;
    for (unsigned i = 0; i < fs->orphan_count; i++) {
        p = nf2_put32(p, fs->orphan[i]);
    }
    return p;
}

static uint8_t *put_fixed(nf2_t *fs, uint8_t *p, bool clean)
{
    fs->id_limit = clean ? fs->next_id : nf2_max(fs->id_limit, fs->next_id + ID_RESERVE);
    *p++ = (uint8_t)((clean ? STATE_CLEAN : 0u) | (fs->next_suspect ? STATE_NEXT_SUSPECT : 0u) |
                     (fs->redo_owned ? STATE_REDO_OWNED : 0u) | (fs->spare_suspect ? STATE_SPARE_SUSPECT : 0u));
    p = nf2_put16(p, fs->epoch);
    p = nf2_put24(p, fs->root);
    p = nf2_put24(p, fs->free_blocks);
    p = nf2_put24(p, fs->erased_blocks);
    p = nf2_put32(p, fs->id_limit);
    p = nf2_put32(p, fs->redo_sequence);
    p = nf2_put24(p, fs->redo_block);
    p = nf2_put16(p, fs->unclean_mounts);
    p = nf2_put32(p, fs->erases);
    p = nf2_put24(p, fs->meta_spare);
    p = nf2_put24(p, fs->meta_tail);
    return nf2_put24(p, fs->region == NF2_NONE ? 0 : fs->region * NF2_REGION_BLOCKS + fs->region_next % NF2_REGION_BLOCKS);
}

/* Encodes a STATE into the read buffer (nothing is read while it is written) and returns its length. */
static uint32_t encode_state(nf2_t *fs, bool clean, const struct nf2_run *extra, const enum nf2_change *kinds, unsigned count)
{
    uint8_t *p = fs->read_buffer;

    fs->window_address = NF2_NONE;
    p = put_fixed(fs, p, clean);
    NF2_ASSERT(p - fs->read_buffer == NF2_STATE_FIXED);
    p = put_slots(fs, p);
    p = put_touched_and_orphans(fs, p);
    *p++ = (uint8_t)(fs->freed_count + count);
    for (unsigned i = 0; i < fs->freed_count; i++) {
        p = put_run(p, &fs->freed[i], NF2_FREED);
    }
    for (unsigned i = 0; i < count; i++) {
        p = put_run(p, &extra[i], kinds[i]);
    }
    NF2_ASSERT((uint32_t)(p - fs->read_buffer) <= NF2_STATE_MAX);
    return (uint32_t)(p - fs->read_buffer);
}

/* What the changes of a STATE do to the counts that it holds. */
static void account(nf2_t *fs, const struct nf2_run *extra, const enum nf2_change *kinds, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        fs->erased_blocks += kinds[i] == NF2_RETURNED || kinds[i] == NF2_ERASED ? extra[i].count : 0;
        fs->free_blocks += kinds[i] == NF2_ERASED ? 0 : extra[i].count;
        fs->erases += kinds[i] == NF2_ERASED ? extra[i].count : 0;
    }
    for (unsigned i = 0; i < fs->freed_count; i++) {
        fs->free_blocks += fs->freed[i].count;
    }
}

/* Keeps the bitmaps of the region in memory in step with a change that is on flash now. */
static void apply_to_region(nf2_t *fs, const struct nf2_run *run, enum nf2_change kind)
{
    for (uint32_t block = run->start; block < run->start + run->count; block++) {
        if (fs->region != NF2_NONE && block / NF2_REGION_BLOCKS == fs->region) {
            nf2_bit_set(fs->region_used, block % NF2_REGION_BLOCKS, false);
            nf2_bit_set(fs->region_erased, block % NF2_REGION_BLOCKS, kind != NF2_FREED);
        }
    }
}

static void state_written(nf2_t *fs, bool clean)
{
    for (unsigned i = 0; i < fs->freed_count; i++) {
        apply_to_region(fs, &fs->freed[i], NF2_FREED);
    }
    for (unsigned i = 0; i < fs->touched_count; i++) {
        fs->touched[i].logged = fs->touched[i].end;
    }
    fs->freed_count = 0;
    fs->clean = clean;
    fs->logged_orphans = fs->orphan_count;
    fs->logged_touched = fs->touched_count;
    fs->redo_logged = fs->redo_block < fs->blocks;
    for (unsigned s = 0; s < NF2_SLOTS; s++) {
        struct nf2_slot *slot = &fs->slot[s];
        slot->logged_runs = slot->runs;
        slot->logged_end = slot->runs > 0 ? slot->run[slot->runs - 1].start + slot->run[slot->runs - 1].count : NF2_NONE;
    }
}

static void encode_head(const nf2_t *fs, uint8_t *p, uint32_t previous)
{
    p[0] = 'M';
    p = nf2_put32(p + 1, fs->volume_id);
    p = nf2_put32(p, fs->meta_sequence);
    p = nf2_put24(p, previous);
    nf2_put24(p, fs->meta_next);
}

/* Head, then the first STATE, of the block that becomes the log's head: one group. */
static int open_block(nf2_t *fs, uint32_t previous, const struct nf2_small *small, bool clean)
{
    uint8_t head[HEAD_PAYLOAD] = {0};
    struct nf2_span head_span = nf2_span_of(head, sizeof head);
    struct nf2_writer writer;

    encode_head(fs, head, previous);
    account(fs, NULL, NULL, 0);
    uint32_t length = encode_state(fs, clean, NULL, NULL, 0);
    struct nf2_span state_span = nf2_span_of(fs->read_buffer, length);
    nf2_writer_begin(fs, &writer, fs->meta_head, 0);
    NF2_TRY(nf2_writer_record(fs, &writer, NF2_META_HEAD, true, &head_span, 1));
    if (small != NULL) {
        struct nf2_span span = nf2_span_of(small->payload, small->length);
        NF2_TRY(nf2_writer_record(fs, &writer, small->type, true, &span, 1));
    }
    NF2_TRY(nf2_writer_record(fs, &writer, NF2_META_STATE, false, &state_span, 1));
    NF2_TRY(nf2_writer_end(fs, &writer));
    fs->meta_end = (uint16_t)writer.position;
    state_written(fs, clean);
    return NF2_OK;
}

struct evacuation {
    uint8_t needed[NF2_REGIONS_MAX / 8];
    struct nf2_walk walk;
    uint32_t tail;
};

static int evacuate_run(nf2_t *fs, void *context, enum nf2_change change, uint32_t start, uint32_t count)
{
    struct evacuation *e = context;

    (void)fs;
    (void)change;
    if (e->walk.block == e->tail) {
        for (uint32_t r = start / NF2_REGION_BLOCKS; r <= (start + count - 1) / NF2_REGION_BLOCKS && r < NF2_REGIONS_MAX; r++) {
            nf2_bit_set(e->needed, r, true);
        }
    }
    return NF2_OK;
}

static int evacuate_region(nf2_t *fs, void *context, uint32_t region, uint32_t block, uint32_t offset)
{
    struct evacuation *e = context;

    (void)fs;
    (void)offset;
    if (region < NF2_REGIONS_MAX) {
        nf2_bit_set(e->needed, region, block == e->tail);
    }
    return NF2_OK;
}

static int write_region(nf2_t *fs, uint32_t number)
{
    struct nf2_region region;
    struct nf2_writer writer;
    struct nf2_span span = nf2_span_of(fs->read_buffer, NF2_REGION_PAYLOAD);

    NF2_TRY(nf2_region_read(fs, number, &region));
    fs->window_address = NF2_NONE;
    nf2_region_encode(&region, fs->read_buffer);
    nf2_writer_begin(fs, &writer, fs->meta_head, fs->meta_end);
    NF2_TRY(nf2_writer_record(fs, &writer, NF2_META_REGION, false, &span, 1));
    NF2_TRY(nf2_writer_end(fs, &writer));
    fs->meta_end = (uint16_t)writer.position;
    return NF2_OK;
}

/* Blocks of the window, head and tail included. */
static uint32_t window_blocks(const nf2_t *fs)
{
    return fs->meta_sequence - fs->meta_tail_sequence + 1;
}

/* Gives up the oldest block of the window. Its block is free from the next STATE on, which also names the new tail. */
static int drop_tail(nf2_t *fs)
{
    struct head head;

    int found = read_head(fs, fs->meta_tail, &head);
    if (found <= 0) {
        return found < 0 ? found : NF2_ERR_CORRUPT;
    }
    if (fs->super_points_to == fs->meta_tail_sequence) {
        NF2_TRY(write_anchor(fs));
    }
    NF2_ASSERT(fs->freed_count < NF2_FREED_MAX);
    fs->freed[fs->freed_count].start = fs->meta_tail;
    fs->freed[fs->freed_count++].count = 1;
    fs->meta_tail = head.next;
    fs->meta_tail_sequence++;
    return NF2_OK;
}

/* Writes REGION pages anew that would be lost with the oldest block; drops it when none is left. */
static int evacuate(nf2_t *fs)
{
    struct evacuation e = {{0}, {evacuate_run, evacuate_region, NULL, 0}, fs->meta_tail};
    unsigned written = 0;
    uint32_t end;

    e.walk.context = &e;
    if (window_blocks(fs) < nf2_regions(fs) / 4 + 2 || fs->freed_count >= NF2_FREED_MAX) {
        return NF2_OK;
    }
    NF2_TRY(nf2_meta_walk(fs, &e.walk));
    for (uint32_t r = 0; r < nf2_regions(fs); r++) {
        if (!nf2_bit(e.needed, r)) {
            continue;
        }
        if (written++ == EVACUATE_MAX || nf2_log_place(fs, fs->meta_end, NF2_REGION_PAYLOAD + NF2_RECORD_OVERHEAD,
                                                       nf2_log_bytes(fs), &end) >= nf2_log_bytes(fs)) {
            return NF2_OK;
        }
        NF2_TRY(write_region(fs, r));
    }
    return drop_tail(fs);
}

/* The log goes on in the block that was named for it, erased again where a cut may have torn something into it. */
static int turn(nf2_t *fs, bool erase, const struct nf2_small *small)
{
    uint32_t previous = fs->meta_head;

    if (fs->meta_spare == NF2_NONE) {
        return NF2_ERR_NOSPC;
    }
    if (fs->next_suspect || erase) {
        NF2_TRY(nf2_flash_erase(fs, fs->meta_next, 1));
        fs->erases++;
    }
    fs->next_suspect = fs->spare_suspect;
    fs->spare_suspect = false;
    fs->meta_head = fs->meta_next;
    fs->meta_next = fs->meta_spare;
    fs->meta_spare = NF2_NONE;
    fs->meta_sequence++;
    NF2_TRY(open_block(fs, previous, small, false));
    return evacuate(fs);
}

int nf2_meta_append(nf2_t *fs, const struct nf2_small *records, unsigned count)
{
    struct nf2_writer writer;
    uint32_t at = fs->meta_end, length = 0;

    for (unsigned i = 0; i < count; i++) {
        length += records[i].length + NF2_RECORD_OVERHEAD;
    }
    if (nf2_log_place(fs, at, length, nf2_log_bytes(fs), &at) >= nf2_log_bytes(fs)) {
        NF2_TRY(turn(fs, false, NULL));
    }
    nf2_writer_begin(fs, &writer, fs->meta_head, fs->meta_end);
    for (unsigned i = 0; i < count; i++) {
        struct nf2_span span = nf2_span_of(records[i].payload, records[i].length);
        NF2_TRY(nf2_writer_record(fs, &writer, records[i].type, i + 1 < count, &span, 1));
    }
    NF2_TRY(nf2_writer_end(fs, &writer));
    fs->meta_end = (uint16_t)writer.position;
    return NF2_OK;
}

int nf2_meta_state(nf2_t *fs, bool clean, const struct nf2_run *extra, const enum nf2_change *kinds, unsigned count)
{
    struct nf2_writer writer;
    uint32_t end, longest = NF2_STATE_MAX + NF2_RECORD_OVERHEAD;

    if (nf2_log_place(fs, fs->meta_end, longest, nf2_log_bytes(fs), &end) >= nf2_log_bytes(fs)) {
        NF2_TRY(turn(fs, false, NULL));
    }
    account(fs, extra, kinds, count);
    uint32_t length = encode_state(fs, clean, extra, kinds, count);
    struct nf2_span span = nf2_span_of(fs->read_buffer, length);
    nf2_writer_begin(fs, &writer, fs->meta_head, fs->meta_end);
    NF2_TRY(nf2_writer_record(fs, &writer, NF2_META_STATE, false, &span, 1));
    NF2_TRY(nf2_writer_end(fs, &writer));
    fs->meta_end = (uint16_t)writer.position;
    state_written(fs, clean);
    for (unsigned i = 0; i < count; i++) {
        apply_to_region(fs, &extra[i], kinds[i]);
    }
    return NF2_OK;
}

/* Any free block becomes the spare one; the CLAIM that takes it goes into the block that is opened. */
static int claim_spare(nf2_t *fs, struct nf2_small *claim)
{
    struct nf2_region region;

    for (uint32_t r = 0; r < nf2_regions(fs); r++) {
        NF2_TRY(nf2_region_read(fs, r, &region));
        for (uint32_t i = 0; i < NF2_REGION_BLOCKS; i++) {
            unsigned state = nf2_region_state(&region, i);
            if (state > NF2_BLOCK_ERASED) {
                continue;
            }
            fs->meta_spare = r * NF2_REGION_BLOCKS + i;
            fs->spare_suspect = true;
            fs->free_blocks--;
            fs->erased_blocks -= state == NF2_BLOCK_ERASED;
            nf2_put24(claim->payload + 1, fs->meta_spare);
            nf2_put16(claim->payload + 4, 1u | (state == NF2_BLOCK_DIRTY ? NF2_CLAIM_DIRTY : 0u));
            return NF2_OK;
        }
    }
    return NF2_ERR_NOSPC;
}

int nf2_meta_open(nf2_t *fs)
{
    struct nf2_small claim = {NF2_META_CLAIM, 6, {NF2_TREE_SLOT}};
    bool claimed = false;

    fs->opened = true;
    /* A torn first program may be repeated with the same bits, but not on units that take one program only: there a fresh block. */
    if (fs->flash->program_unit == 1) {
        return nf2_meta_state(fs, false, NULL, NULL, 0);
    }
    if (fs->meta_spare == NF2_NONE) {
        NF2_TRY(claim_spare(fs, &claim));
        claimed = true;
    }
    NF2_TRY(turn(fs, true, claimed ? &claim : NULL));
    if (fs->meta_spare == NF2_NONE) { /* recovery may turn the log once more, before anything can be claimed in the usual way */
        int result = claim_spare(fs, &claim);
        return result == NF2_OK ? nf2_meta_append(fs, &claim, 1) : result == NF2_ERR_NOSPC ? NF2_OK : result;
    }
    return NF2_OK;
}

/* ---- making and finding the logs ---------------------------------------------------------------- */

int nf2_meta_format(nf2_t *fs, uint32_t used_blocks)
{
    struct nf2_small claim = {NF2_META_CLAIM, 6, {NF2_TREE_SLOT}};

    nf2_put24(claim.payload + 1, 0);
    nf2_put16(claim.payload + 4, used_blocks);
    NF2_TRY(open_block(fs, 0xFFFFFFu, &claim, true));
    fs->super_sequence = 0;
    fs->super_block = 0;
    fs->super_end = 0;
    return write_anchor(fs);
}

/* Is the beginning of the super log blank, a damaged anchor, or something else? */
static int no_anchor(nf2_t *fs)
{
    bool blank = true, magic = false;

    for (uint32_t block = 0; block < NF2_SUPER_BLOCKS; block++) {
        const uint8_t *p = nf2_peek(fs, block, 0, nf2_page(fs));
        if (p == NULL) {
            return NF2_ERR_IO;
        }
        for (uint32_t i = 0; i < nf2_page(fs); i++) {
            blank = blank && p[i] == 0xFF;
        }
        magic = magic || memcmp(p + NF2_PAGE_HEAD + 2, "NF2F", 4) == 0;
    }
    return blank ? NF2_ERR_BLANK : magic ? NF2_ERR_CORRUPT : NF2_ERR_FOREIGN;
}

/* Does the anchor fit this library and this geometry? */
static int check_anchor(const nf2_t *fs, const uint8_t *p)
{
    if (p[4] != NF2_FORMAT_VERSION) {
        return NF2_ERR_VERSION;
    }
    if (p[5] != log2_of(fs->flash->block_size) || nf2_get16(p + 6) != fs->flash->page_size ||
        p[8] != fs->flash->program_unit || nf2_get24(p + 10) != fs->blocks) {
        return NF2_ERR_GEOMETRY;
    }
    return NF2_OK;
}

/* Takes over the newest anchor of one super block. */
static int scan_anchors(nf2_t *fs, uint32_t block, uint8_t *best, bool *found)
{
    struct nf2_scan scan;
    struct nf2_record record;
    uint8_t payload[ANCHOR_PAYLOAD];
    int more;

    nf2_scan_begin(&scan, block);
    while ((more = nf2_scan_next(fs, &scan, &record)) > 0) {
        if (record.type != NF2_META_HEAD || record.length != ANCHOR_PAYLOAD + NF2_RECORD_OVERHEAD) {
            continue;
        }
        NF2_TRY(nf2_record_read(fs, block, record.offset, 2, payload, sizeof payload));
        if (memcmp(payload, "NF2F", 4) == 0 && (!*found || nf2_get32(payload + 17) > nf2_get32(best + 17))) {
            memcpy(best, payload, sizeof payload);
            *found = true;
            fs->super_block = block;
        }
    }
    return more;
}

static int load_anchor(nf2_t *fs)
{
    uint8_t anchor[ANCHOR_PAYLOAD] = {0};
    bool found = false;

    for (uint32_t block = 0; block < NF2_SUPER_BLOCKS; block++) {
        NF2_TRY(scan_anchors(fs, block, anchor, &found));
    }
    if (!found) {
        return no_anchor(fs);
    }
    NF2_TRY(check_anchor(fs, anchor));
    fs->blank_erased = (anchor[9] & ANCHOR_BLANK_ERASED) != 0;
    fs->volume_id = nf2_get32(anchor + 13);
    fs->super_sequence = nf2_get32(anchor + 17);
    fs->meta_head = nf2_get24(anchor + 21);
    return NF2_OK;
}

/* Follows the chain from the block that the anchor names to the head. */
static int find_head(nf2_t *fs)
{
    struct head head, next;

    int found = read_head(fs, fs->meta_head, &head);
    if (found <= 0) {
        return found < 0 ? found : NF2_ERR_CORRUPT;
    }
    fs->super_points_to = head.sequence;
    for (uint32_t turn_count = 0; turn_count <= fs->blocks; turn_count++) {
        found = head.next < fs->blocks ? read_head(fs, head.next, &next) : 0;
        NF2_TRY(found);
        if (!found || next.sequence != head.sequence + 1) {
            fs->meta_sequence = head.sequence;
            fs->meta_next = head.next;
            return NF2_OK;
        }
        fs->meta_head = head.next;
        head = next;
    }
    return NF2_ERR_CORRUPT;
}

static int load_state(nf2_t *fs, const struct nf2_record *record)
{
    uint8_t p[NF2_STATE_FIXED];

    if (record->length < NF2_STATE_FIXED + NF2_RECORD_OVERHEAD) {
        return NF2_ERR_CORRUPT;
    }
    NF2_TRY(nf2_record_read(fs, fs->meta_head, record->offset, 2, p, sizeof p));
    fs->clean = (p[0] & STATE_CLEAN) != 0;
    fs->next_suspect = (p[0] & STATE_NEXT_SUSPECT) != 0;
    fs->redo_owned = (p[0] & STATE_REDO_OWNED) != 0;
    fs->spare_suspect = (p[0] & STATE_SPARE_SUSPECT) != 0;
    fs->epoch = nf2_get16(p + 1);
    fs->root = nf2_get24(p + 3);
    fs->free_blocks = nf2_get24(p + 6);
    fs->erased_blocks = nf2_get24(p + 9);
    fs->id_limit = fs->next_id = nf2_get32(p + 12);
    fs->redo_sequence = nf2_get32(p + 16);
    fs->redo_block = nf2_get24(p + 20);
    fs->unclean_mounts = nf2_get16(p + 23);
    fs->erases = nf2_get32(p + 25);
    fs->meta_spare = nf2_get24(p + 29);
    fs->meta_spare = fs->meta_spare == 0xFFFFFFu ? NF2_NONE : fs->meta_spare;
    fs->meta_tail = nf2_get24(p + 32);
    uint32_t cursor = nf2_get24(p + 35);
    fs->region = NF2_NONE;
    fs->maintain_cursor = nf2_min(cursor, fs->blocks - 1);
    struct lists lists = lists_of(fs->meta_head, record);
    NF2_TRY(take_slots(fs, &lists, true));
    return take_touched_and_orphans(fs, &lists, true);
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
        fs->touched[fs->touched_count].node = node;
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

/* The last STATE of the head block, then what follows it. */
static int load_head(nf2_t *fs)
{
    struct nf2_scan scan;
    struct nf2_record record;
    bool found = false;
    int more;

    nf2_scan_begin(&scan, fs->meta_head);
    while ((more = nf2_scan_next(fs, &scan, &record)) > 0) {
        if (record.type == NF2_META_STATE) {
            memset(fs->slot, 0, sizeof fs->slot);
            fs->touched_count = fs->orphan_count = 0;
            NF2_TRY(load_state(fs, &record));
            found = true;
        } else if (found) {
            NF2_TRY(load_small(fs, &record));
        }
    }
    NF2_TRY(more);
    if (!found || scan.damaged) {
        return NF2_ERR_CORRUPT;
    }
    if (scan.dirty_end || scan.used_end > ((scan.last_end - 1u) | (nf2_page(fs) - 1u)) + 1u) {
        fs->clean = false; /* the first program of the last session was torn */
    }
    if (!fs->clean) {
        fs->unclean_mounts++;
        fs->next_suspect = true;
        fs->epoch = (uint16_t)(fs->epoch + 1 == 0xFFFF ? 0 : fs->epoch + 1);
    }
    fs->meta_end = (uint16_t)nf2_scan_append_at(fs, &scan);
    return NF2_OK;
}

int nf2_meta_load(nf2_t *fs)
{
    struct nf2_scan scan;
    struct nf2_record record;
    struct head tail;
    int more;

    NF2_TRY(load_anchor(fs));
    NF2_TRY(find_head(fs));
    NF2_TRY(load_head(fs));
    more = read_head(fs, fs->meta_tail, &tail);
    if (more <= 0) {
        return more < 0 ? more : NF2_ERR_CORRUPT;
    }
    fs->meta_tail_sequence = tail.sequence;
    nf2_scan_begin(&scan, fs->super_block);
    while ((more = nf2_scan_next(fs, &scan, &record)) > 0) {
    }
    fs->super_end = (uint16_t)nf2_scan_append_at(fs, &scan);
    for (unsigned s = 0; s < NF2_SLOTS; s++) { /* nothing is handed out from what an earlier session claimed */
        struct nf2_slot *slot = &fs->slot[s];
        slot->used = slot->ready = (uint16_t)(slot->runs > 0 ? slot->run[slot->runs - 1].count : 0);
    }
    return more;
}
