/* SPDX-License-Identifier: BSD-2-Clause */
#include "meta.h"

#include "flash.h"
#include "region.h"
#include "super.h"

#define EVACUATE_MAX 8u         /* REGION pages written anew at one turn of the log */
#define EVACUATE_KEPT 4u        /* pages of the new block that are left to what made the log turn */
#define ID_RESERVE 64u

/* The longest list of touched nodes in a STATE, and the longest rest, which must fit in the read buffer of the smallest page. */
#define TOUCHED_LIST (1u + 5u * NF2_TOUCHED_MAX)
#define STATE_REST                                                                                                      \
    (NF2_STATE_FIXED + 1u + NF2_SLOTS * (1u + 5u * NF2_SLOT_RUNS) + 1u + 4u * NF2_ORPHANS_MAX + 1u + 5u * NF2_STATE_CHANGES_MAX)
#define NF2_STATE_MAX (STATE_REST + TOUCHED_LIST)
_Static_assert(STATE_REST <= 256u, "NF2_WRITERS is too large");
_Static_assert(NF2_FREED_MAX <= NF2_STATE_CHANGES_MAX, "a STATE holds all freed runs");

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

static uint32_t put_touched(const nf2_t *fs, uint8_t *list)
{
    uint8_t *p = list;

    *p++ = fs->touched_count;
    for (unsigned i = 0; i < fs->touched_count; i++) {
        p = nf2_put24(p, fs->touched[i].node);
        p = nf2_put16(p, fs->touched[i].end);
    }
    return (uint32_t)(p - list);
}

static uint8_t *put_orphans(const nf2_t *fs, uint8_t *p)
{
    *p++ = fs->orphan_count;
    for (unsigned i = 0; i < fs->orphan_count; i++) {
        p = nf2_put32(p, fs->orphan[i]);
    }
    return p;
}

static uint8_t *put_fixed(nf2_t *fs, uint8_t *p, bool clean)
{
    fs->id_limit = clean ? fs->next_id : nf2_max(fs->id_limit, fs->next_id + ID_RESERVE);
    *p++ = (uint8_t)((clean ? NF2_STATE_CLEAN : 0u) | (fs->next_suspect ? NF2_STATE_NEXT_SUSPECT : 0u) |
                     (fs->redo_owned ? NF2_STATE_REDO_OWNED : 0u) | (fs->spare_suspect ? NF2_STATE_SPARE_SUSPECT : 0u));
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

/* What a STATE's group holds in front of it and changes. */
struct state {
    bool head;                  /* HEAD first: the block becomes the log's head */
    uint32_t previous;          /* block, for that */
    const struct nf2_small *small;
    bool clean;
    const struct nf2_run *extra;
    const enum nf2_change *kinds;
    unsigned count;
};

/* Encodes a STATE: into `list` the touched nodes, into the read buffer (nothing is read while it is written) what is in front of them and behind. */
static void encode_state(nf2_t *fs, const struct state *state, uint8_t *list, struct nf2_span *spans)
{
    uint8_t *p = fs->read_buffer;

    fs->window_address = NF2_NONE;
    p = put_fixed(fs, p, state->clean);
    NF2_ASSERT(p - fs->read_buffer == NF2_STATE_FIXED);
    p = put_slots(fs, p);
    spans[0] = nf2_span_of(fs->read_buffer, (uint32_t)(p - fs->read_buffer));
    spans[1] = nf2_span_of(list, put_touched(fs, list));
    uint8_t *rest = p;
    p = put_orphans(fs, p);
    *p++ = (uint8_t)(fs->freed_count + state->count);
    for (unsigned i = 0; i < fs->freed_count; i++) {
        p = put_run(p, &fs->freed[i], NF2_FREED);
    }
    for (unsigned i = 0; i < state->count; i++) {
        p = put_run(p, &state->extra[i], state->kinds[i]);
    }
    NF2_ASSERT((uint32_t)(p - fs->read_buffer) <= STATE_REST);
    spans[2] = nf2_span_of(rest, (uint32_t)(p - rest));
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

/* Writes one at the end of the log: one group. */
static int write_state(nf2_t *fs, const struct state *state)
{
    uint8_t list[TOUCHED_LIST], head[NF2_META_HEAD_PAYLOAD] = {0};
    struct nf2_span head_span = nf2_span_of(head, sizeof head), spans[3];
    struct nf2_writer writer;

    account(fs, state->extra, state->kinds, state->count);
    encode_state(fs, state, list, spans);
    nf2_writer_begin(fs, &writer, fs->meta_head, fs->meta_end);
    if (state->head) {
        encode_head(fs, head, state->previous);
        NF2_TRY(nf2_writer_record(fs, &writer, NF2_META_HEAD, true, &head_span, 1));
    }
    if (state->small != NULL) {
        struct nf2_span small = nf2_span_of(state->small->payload, state->small->length);
        NF2_TRY(nf2_writer_record(fs, &writer, state->small->type, true, &small, 1));
    }
    NF2_TRY(nf2_writer_record(fs, &writer, NF2_META_STATE, false, spans, 3));
    NF2_TRY(nf2_writer_end(fs, &writer));
    fs->meta_end = (uint16_t)writer.position;
    state_written(fs, state->clean);
    for (unsigned i = 0; i < state->count; i++) {
        apply_to_region(fs, &state->extra[i], state->kinds[i]);
    }
    return NF2_OK;
}

static int open_block(nf2_t *fs, uint32_t previous, const struct nf2_small *small, bool clean)
{
    struct state state = {true, previous, small, clean, NULL, NULL, 0};

    fs->meta_end = 0;
    return write_state(fs, &state);
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

static NF2_APART int write_region(nf2_t *fs, uint32_t number)
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
    struct nf2_meta_head head;

    int found = nf2_meta_head(fs, fs->meta_tail, &head);
    if (found <= 0) {
        return found < 0 ? found : NF2_ERR_CORRUPT;
    }
    if (fs->super_points_to + (NF2_BROKEN(NF2_FAULT_ANCHOR) ? 1u : 0u) == fs->meta_tail_sequence) {
        NF2_TRY(nf2_super_write(fs));
    }
    NF2_ASSERT(fs->freed_count < NF2_FREED_MAX);
    fs->freed[fs->freed_count].start = fs->meta_tail;
    fs->freed[fs->freed_count++].count = 1;
    fs->meta_tail = head.next;
    fs->meta_tail_sequence++;
    return NF2_OK;
}

/* Writes REGION pages anew that would be lost with the oldest block; drops it when none is left: 1. */
static NF2_APART int evacuate_tail(nf2_t *fs)
{
    struct evacuation e = {{0}, {evacuate_run, evacuate_region, NULL, 0}, fs->meta_tail};
    unsigned written = 0;
    uint32_t end, limit = nf2_log_bytes(fs) - EVACUATE_KEPT * nf2_page(fs);

    e.walk.context = &e;
    if (window_blocks(fs) < nf2_regions(fs) / 4 + 2 || fs->freed_count >= NF2_FREED_MAX) {
        return 0;
    }
    NF2_TRY(nf2_meta_walk(fs, &e.walk));
    for (uint32_t r = 0; r < nf2_regions(fs); r++) {
        if (!nf2_bit(e.needed, r)) {
            continue;
        }
        if (written++ == EVACUATE_MAX || nf2_log_place(fs, fs->meta_end, NF2_REGION_PAYLOAD + NF2_RECORD_OVERHEAD,
                                                       limit, &end) >= nf2_log_bytes(fs)) {
            return 0;
        }
        NF2_TRY(write_region(fs, r));
    }
    NF2_TRY(drop_tail(fs));
    return 1;
}

/* Each turn of the log adds a block to the window: one is dropped, and one more where turns were cut before they came to that. */
static int evacuate(nf2_t *fs)
{
    int dropped = evacuate_tail(fs);

    if (dropped > 0 && window_blocks(fs) > nf2_regions(fs) / 4 + 2) {
        dropped = evacuate_tail(fs);
    }
    return dropped < 0 ? dropped : NF2_OK;
}

/* The log goes on in the block that was named for it, erased again where a cut may have torn something into it. */
static int turn(nf2_t *fs, bool erase, const struct nf2_small *small)
{
    uint32_t previous = fs->meta_head;

    if (fs->meta_spare == NF2_NONE) {
        return NF2_ERR_NOSPC;
    }
    if ((fs->next_suspect && !NF2_BROKEN(NF2_FAULT_SUSPECT)) || erase) {
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

/* Is there room in the log's head for so many bytes? */
static bool has_room(const nf2_t *fs, uint32_t length)
{
    uint32_t end;
    return nf2_log_place(fs, fs->meta_end, length, nf2_log_bytes(fs), &end) < nf2_log_bytes(fs);
}

int nf2_meta_prepare(nf2_t *fs)
{
    return has_room(fs, NF2_STATE_MAX + NF2_RECORD_OVERHEAD) ? NF2_OK : turn(fs, false, NULL);
}

int nf2_meta_state(nf2_t *fs, bool clean, const struct nf2_run *extra, const enum nf2_change *kinds, unsigned count)
{
    struct state state = {false, 0, NULL, clean, extra, kinds, count};

    NF2_TRY(nf2_meta_prepare(fs));
    return write_state(fs, &state);
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

/* On units that take one program only nothing torn is ever repeated: the log goes on in a fresh block. */
static int open_with_units(nf2_t *fs, struct nf2_small *claim)
{
    bool claimed = fs->meta_spare == NF2_NONE;

    if (claimed) {
        NF2_TRY(claim_spare(fs, claim));
    }
    NF2_TRY(turn(fs, true, claimed ? claim : NULL));
    if (fs->meta_spare == NF2_NONE) { /* recovery may turn the log once more, before anything can be claimed in the usual way */
        int result = claim_spare(fs, claim);
        return result == NF2_OK ? nf2_meta_append(fs, claim, 1) : result == NF2_ERR_NOSPC ? NF2_OK : result;
    }
    return NF2_OK;
}

int nf2_meta_open(nf2_t *fs)
{
    struct nf2_small claim = {NF2_META_CLAIM, 6, {NF2_TREE_SLOT}};
    struct state state = {false, 0, NULL, false, NULL, NULL, 0};

    fs->opened = true;
    if (NF2_BROKEN(NF2_FAULT_OPENING)) {
        return NF2_OK;
    }
    if (fs->flash->program_unit > 1) {
        return open_with_units(fs, &claim);
    }
    if (fs->meta_spare == NF2_NONE) { /* the session before was cut before it had one: or it would never come to that */
        int result = claim_spare(fs, &claim);
        if (result != NF2_OK && result != NF2_ERR_NOSPC) {
            return result;
        }
        state.small = result == NF2_OK ? &claim : NULL;
    }
    if (has_room(fs, NF2_STATE_MAX + 2u * NF2_RECORD_OVERHEAD + claim.length)) {
        return write_state(fs, &state);
    }
    return turn(fs, false, state.small);
}

/* ---- making and finding the logs ---------------------------------------------------------------- */

int nf2_meta_format(nf2_t *fs, uint32_t claimed_blocks)
{
    struct nf2_small claim = {NF2_META_CLAIM, 6, {NF2_TREE_SLOT}};

    nf2_put24(claim.payload + 1, 0);
    nf2_put16(claim.payload + 4, claimed_blocks);
    NF2_TRY(open_block(fs, 0xFFFFFFu, &claim, true));
    fs->super_sequence = 0;
    fs->super_block = 0;
    fs->super_end = 0;
    return nf2_super_write(fs);
}
