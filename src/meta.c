/* SPDX-License-Identifier: BSD-2-Clause */
#include "meta.h"

#include "flash.h"
#include "region.h"
#include "super.h"

uint32_t nf2_meta_reserve(const nf2_t *fs)
{
    return nf2_regions(fs) > NF2_TURN_REGIONS ? nf2_regions(fs) / NF2_TURN_REGIONS + 1u + nf2_regions(fs) / 16u : nf2_meta_window(fs) == 1u;
}

#define ID_RESERVE 64u
#define MOUNT_PAGES 4u          /* of the log's head, that mounts after cuts may use */

/* The longest STATE without its list of touched nodes, which must fit in the read buffer of the smallest page. */
#define STATE_REST                                                                                                      \
    (NF2_STATE_FIXED + 1u + NF2_SLOTS * (1u + 5u * NF2_SLOT_RUNS) + 1u + 4u * NF2_ORPHANS_MAX + 1u + 5u * NF2_STATE_CHANGES_MAX + \
     1u + 3u * NF2_STOCK_MAX + 2u + 6u * NF2_BAD_MAX)
_Static_assert(STATE_REST <= NF2_STATE_MAX - NF2_STATE_TOUCHED, "NF2_WRITERS is too large");
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
                     (fs->redo_owned ? NF2_STATE_REDO_OWNED : 0u));
    p = nf2_put16(p, fs->epoch);
    p = nf2_put24(p, fs->root);
    p = nf2_put24(p, fs->free_blocks);
    p = nf2_put24(p, fs->erased_blocks);
    p = nf2_put32(p, fs->id_limit);
    p = nf2_put32(p, fs->redo_sequence);
    p = nf2_put24(p, fs->redo_block);
    p = nf2_put16(p, fs->unclean_mounts);
    p = nf2_put32(p, fs->erases);
    p = nf2_put24(p, fs->meta_tail);
    return nf2_put24(p, fs->region == NF2_NONE ? fs->maintain_cursor : nf2_min(fs->region * NF2_REGION_BLOCKS + fs->region_next, fs->blocks - 1u));
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

/* Has the owner of a bad block freed it, if it had one? */
static bool is_over(const nf2_t *fs, const struct nf2_bad *bad)
{
    bool over = bad->by == bad->block;

    for (unsigned i = 0; i < fs->freed_count; i++) {
        over = over || bad->block - fs->freed[i].start < fs->freed[i].count;
    }
    return over;
}

/* Bad blocks: nothing is written where there are none. */
static uint8_t *put_bad(const nf2_t *fs, uint8_t *p)
{
    uint8_t *count = p;
    uint32_t bad = fs->blocks_bad;

    if (bad + fs->bad_count > 0) {
        p += 2;
    }
    for (unsigned i = 0; i < fs->bad_count; i++) {
        bool over = is_over(fs, &fs->bad[i]);
        p = nf2_put24(p, fs->bad[i].block | (over ? NF2_BAD_OVER : 0u));
        p = nf2_put24(p, fs->bad[i].by);
        bad += over;
    }
    if (p > count) {
        nf2_put16(count, bad);
    }
    return p;
}

#define TOUCHED_BYTES 5u        /* of an item of the list of touched nodes */

/*
 * Encodes what a STATE has in front of its list of touched nodes (`*front` bytes) and behind it (`*behind`) into the read buffer: nothing is
 * read while it is written. How long it is with that list.
 */
static uint32_t encode_state(nf2_t *fs, const struct state *state, uint32_t *front, uint32_t *behind)
{
    uint8_t *p = fs->read_buffer;

    fs->window_address = NF2_NONE;
    p = put_fixed(fs, p, state->clean);
    NF2_ASSERT(p - fs->read_buffer == NF2_STATE_FIXED);
    p = put_slots(fs, p);
    *front = (uint32_t)(p - fs->read_buffer);
    p = put_orphans(fs, p);
    *p++ = (uint8_t)(fs->freed_count + state->count);
    for (unsigned i = 0; i < fs->freed_count; i++) {
        p = put_run(p, &fs->freed[i], NF2_FREED);
    }
    for (unsigned i = 0; i < state->count; i++) {
        p = put_run(p, &state->extra[i], state->kinds[i]);
    }
    *p++ = fs->stock_count;
    for (unsigned i = 0; i < fs->stock_count; i++) {
        p = nf2_put24(p, fs->stock[i]);
    }
    p = put_bad(fs, p);
    NF2_ASSERT((uint32_t)(p - fs->read_buffer) <= STATE_REST);
    *behind = (uint32_t)(p - fs->read_buffer) - *front;
    return *front + 1u + TOUCHED_BYTES * fs->touched_count + *behind;
}

static NF2_APART void put_touched(nf2_t *fs, struct nf2_writer *writer)
{
    uint8_t item[TOUCHED_BYTES];

    nf2_writer_put(fs, writer, &fs->touched_count, 1);
    for (unsigned i = 0; i < fs->touched_count; i++) {
        nf2_put16(nf2_put24(item, fs->touched[i].node), fs->touched[i].end);
        nf2_writer_put(fs, writer, item, sizeof item);
    }
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
            nf2_bit_set(fs->region_used, block % NF2_REGION_BLOCKS, kind == NF2_LOST);
            nf2_bit_set(fs->region_erased, block % NF2_REGION_BLOCKS, kind != NF2_FREED);
        }
    }
}

/* What became of bad blocks whose owners had freed them. */
static void bad_written(nf2_t *fs)
{
    for (unsigned i = fs->bad_count; i-- > 0;) {
        struct nf2_run block = {fs->bad[i].block, 1}, by = {fs->bad[i].by, fs->bad[i].by != fs->bad[i].block};
        if (is_over(fs, &fs->bad[i])) {
            apply_to_region(fs, &block, NF2_LOST);
            apply_to_region(fs, &by, NF2_FREED);
            struct nf2_bad over = fs->bad[i];
            fs->bad[i] = fs->bad[--fs->bad_count];
            fs->bad[fs->bad_count] = over;
            fs->blocks_bad++;
        }
    }
    fs->bad_news = false;
}

static void state_written(nf2_t *fs, bool clean)
{
    for (unsigned i = 0; i < fs->freed_count; i++) {
        apply_to_region(fs, &fs->freed[i], NF2_FREED);
    }
    bad_written(fs);
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

static void put_head(nf2_t *fs, struct nf2_writer *writer, uint32_t previous)
{
    uint8_t head[NF2_META_HEAD_PAYLOAD], *p = head;

    *p++ = 'M';
    p = nf2_put32(p, fs->volume_id);
    p = nf2_put32(p, fs->meta_sequence);
    p = nf2_put24(p, previous);
    nf2_put24(p, fs->meta_next);
    nf2_writer_record(fs, writer, NF2_META_HEAD, true, head, sizeof head);
}

/* Programs the group of one at the end of the log. */
static int program_state(nf2_t *fs, const struct state *state)
{
    struct nf2_writer writer;
    uint32_t front, behind;

    uint32_t length = encode_state(fs, state, &front, &behind);
    nf2_writer_begin(&writer, fs->meta_head, fs->meta_end);
    if (state->head) {
        put_head(fs, &writer, state->previous);
    }
    if (state->small != NULL) {
        nf2_writer_record(fs, &writer, state->small->type, true, state->small->payload, state->small->length);
    }
    (void)nf2_writer_open(fs, &writer, NF2_META_STATE, false, length);
    nf2_writer_put(fs, &writer, fs->read_buffer, front);
    put_touched(fs, &writer);
    nf2_writer_put(fs, &writer, fs->read_buffer + front, behind);
    nf2_writer_close(fs, &writer);
    NF2_TRY(nf2_writer_end(fs, &writer));
    fs->meta_end = (uint16_t)writer.position;
    return NF2_OK;
}

/* Writes one. */
static int write_state(nf2_t *fs, const struct state *state)
{
    uint32_t free_blocks = fs->free_blocks, erased_blocks = fs->erased_blocks, erases = fs->erases;

    account(fs, state->extra, state->kinds, state->count);
    int result = program_state(fs, state);
    if (result < 0) { /* it may be written elsewhere */
        fs->free_blocks = free_blocks;
        fs->erased_blocks = erased_blocks;
        fs->erases = erases;
        return result;
    }
    state_written(fs, state->clean);
    for (unsigned i = 0; i < state->count; i++) {
        apply_to_region(fs, &state->extra[i], state->kinds[i]);
    }
    return NF2_OK;
}

/* A turn of the log in the making. */
struct turn {
    uint16_t region[NF2_TURN_REGIONS];      /* regions that the oldest blocks alone tell of: written anew */
    uint8_t regions;
    struct nf2_walk walk;
    uint32_t oldest;                        /* so many blocks of the window go */
    uint32_t next;                          /* the block after the one that is begun; NF2_NONE: not known yet */
    bool suspect;                           /* it is to be erased before use */
    bool writes;                            /* REGION pages, or an anchor */
    struct nf2_small claim;                 /* of that block, in the opening group; length 0: not needed */
};

/* A bit for each region, while the window is walked. */
static uint8_t *needed_regions(const nf2_t *fs)
{
    return nf2_scratch(fs, NF2_SCRATCH_NODE);
}
_Static_assert(NF2_REGIONS_MAX / 8u <= 256u / 4u, "a quarter of the smallest page");

static int evacuate_run(nf2_t *fs, void *context, enum nf2_change change, uint32_t start, uint32_t count)
{
    const struct turn *turn = context;

    (void)change;
    if (turn->walk.index < turn->oldest) {
        for (uint32_t r = start / NF2_REGION_BLOCKS; r <= (start + count - 1) / NF2_REGION_BLOCKS && r < NF2_REGIONS_MAX; r++) {
            nf2_bit_set(needed_regions(fs), r, true);
        }
    }
    return NF2_OK;
}

static int evacuate_region(nf2_t *fs, void *context, uint32_t region, uint32_t block, uint32_t offset)
{
    const struct turn *turn = context;

    (void)block;
    (void)offset;
    if (region < NF2_REGIONS_MAX) {
        nf2_bit_set(needed_regions(fs), region, turn->walk.index < turn->oldest);
    }
    return NF2_OK;
}

/* A block that the tree has claimed and nobody uses, or one of the stock. */
static void take_next(nf2_t *fs, struct turn *turn)
{
    turn->next = nf2_slot_take(&fs->slot[NF2_TREE_SLOT], true);
    if (turn->next == NF2_NONE && fs->stock_count > 0) {
        turn->next = fs->stock[--fs->stock_count];
    }
    if (turn->next == NF2_NONE) {
        turn->next = nf2_slot_take(&fs->slot[NF2_TREE_SLOT], false);
        turn->suspect = turn->next != NF2_NONE;
    }
}

/*
 * A turn makes the window one block longer: so its oldest block goes where it is longer than `limit` then, or two; none where too
 * many regions would have to be written anew: then some are, and the next turn finds fewer.
 */
static int plan_oldest(nf2_t *fs, struct turn *turn, uint32_t limit)
{
    uint32_t blocks = nf2_meta_window(fs) + 1, needed;

    turn->oldest = blocks > limit ? 1u + (blocks > nf2_meta_limit(fs) + 1u) : 0;
    turn->oldest = nf2_min(turn->oldest, NF2_FREED_MAX - fs->freed_count);
    turn->writes = turn->writes || turn->oldest > 0;
    for (; turn->oldest > 0; turn->oldest--) {
        memset(needed_regions(fs), 0, NF2_REGIONS_MAX / 8u);
        NF2_TRY(nf2_meta_walk(fs, &turn->walk));
        needed = turn->regions = 0;
        for (uint32_t r = 0; r < nf2_regions(fs); r++) {
            if (nf2_bit(needed_regions(fs), r) && needed++ < NF2_TURN_REGIONS) {
                turn->region[turn->regions++] = (uint16_t)r;
            }
        }
        if (needed <= NF2_TURN_REGIONS) {
            return NF2_OK;
        }
    }
    return NF2_OK;
}

/* Gives up the oldest blocks: one becomes the log's next block, if none is known, the others are free from the next STATE on. */
static NF2_APART int drop_oldest(nf2_t *fs, struct turn *turn, uint32_t *tail)
{
    struct nf2_meta_head head;

    *tail = fs->meta_tail;
    for (uint32_t i = 0; i < turn->oldest; i++) {
        int found = nf2_meta_head(fs, *tail, &head);
        if (found <= 0) {
            return found < 0 ? found : NF2_ERR_CORRUPT;
        }
        if (turn->next == NF2_NONE) {
            turn->next = *tail;
            turn->suspect = true;
        } else {
            fs->freed[fs->freed_count].start = *tail;
            fs->freed[fs->freed_count++].count = 1;
        }
        *tail = head.next;
    }
    return NF2_OK;
}

/* The first free block from region `first` on, whatever it takes: a walk for each region. Also one that waits because it is worn. */
static NF2_APART int search(nf2_t *fs, uint32_t first, uint32_t *block, bool *dirty)
{
    struct nf2_region region;

    for (uint32_t n = 0; n < nf2_regions(fs); n++) {
        NF2_TRY(nf2_region_read(fs, (first + n) % nf2_regions(fs), &region));
        for (uint32_t i = 0; i < NF2_REGION_BLOCKS; i++) {
            *block = region.number * NF2_REGION_BLOCKS + i;
            *dirty = nf2_region_state(&region, i) == NF2_BLOCK_DIRTY;
            if (nf2_region_state(&region, i) <= NF2_BLOCK_ERASED && *block != fs->kept_node) {
                return NF2_OK;
            }
        }
    }
    return NF2_ERR_NOSPC;
}

/* Takes a free block, near where blocks were taken last: an erased one; with `any` a dirty one, too. */
static int claim_next(nf2_t *fs, struct turn *turn, bool any)
{
    uint32_t first = fs->region != NF2_NONE ? fs->region : fs->maintain_cursor / NF2_REGION_BLOCKS, block;
    int result = (any ? fs->free_blocks : fs->erased_blocks) == 0 ? NF2_ERR_NOSPC
                                                                  : nf2_region_find(fs, first * NF2_REGION_BLOCKS, &block, &turn->suspect);

    if (result == NF2_ERR_NOSPC && any && fs->free_blocks > 0) {
        result = search(fs, first, &block, &turn->suspect);
    }
    NF2_TRY(result == NF2_OK && turn->suspect && !any ? NF2_ERR_NOSPC : result);
    turn->next = block;
    turn->claim.length = 6;
    nf2_put24(turn->claim.payload + 1, block);
    nf2_put16(turn->claim.payload + 4, 1u | (turn->suspect ? NF2_CLAIM_DIRTY : 0u));
    fs->free_blocks--;
    fs->erased_blocks -= !turn->suspect;
    if (fs->region == block / NF2_REGION_BLOCKS) {
        nf2_bit_set(fs->region_used, block % NF2_REGION_BLOCKS, true);
    }
    return NF2_OK;
}

/*
 * The tree has no block to give. An erased one, then; else one that goes: a dirty one of the others costs the same erase, and
 * breaks up what a large erase could take. A mount does not stop to write REGION pages for it while there is any block.
 */
static int find_next(nf2_t *fs, struct turn *turn)
{
    int result = fs->mounted || turn->oldest == 0 ? claim_next(fs, turn, !fs->mounted) : NF2_ERR_NOSPC;

    if (result == NF2_ERR_NOSPC && turn->oldest == 0) {
        NF2_TRY(plan_oldest(fs, turn, 2));
        result = turn->oldest == 0 ? claim_next(fs, turn, true) : result;
    }
    return result == NF2_ERR_NOSPC && turn->oldest > 0 ? NF2_OK : result;
}

int nf2_meta_write_region(nf2_t *fs, const struct nf2_region *region, uint32_t block, uint32_t *end)
{
    struct nf2_writer writer;

    fs->window_address = NF2_NONE;
    nf2_region_encode(region, fs->read_buffer);
    nf2_writer_begin(&writer, block, *end);
    nf2_writer_record(fs, &writer, NF2_META_REGION, false, fs->read_buffer, NF2_REGION_PAYLOAD);
    NF2_TRY(nf2_writer_end(fs, &writer));
    *end = writer.position;
    return NF2_OK;
}

/* Writes REGION pages into the block that is begun. What is to stand in front of them is still to come: they hold what that says, too. */
static NF2_APART int write_regions(nf2_t *fs, const struct turn *turn, uint32_t *end)
{
    struct nf2_region region;

    for (unsigned r = 0; r < turn->regions; r++) {
        NF2_TRY(nf2_region_read(fs, turn->region[r], &region));
        if (turn->claim.length > 0) {
            nf2_region_change(&region, turn->suspect ? NF2_CLAIMED_DIRTY : NF2_CLAIMED, turn->next, 1);
        }
        for (unsigned i = 0; i < fs->freed_count; i++) {
            nf2_region_change(&region, NF2_FREED, fs->freed[i].start, fs->freed[i].count);
        }
        for (unsigned i = 0; i < fs->bad_count; i++) {
            if (is_over(fs, &fs->bad[i])) {
                nf2_region_change(&region, NF2_FREED, fs->bad[i].by, 1);
                nf2_region_change(&region, NF2_LOST, fs->bad[i].block, 1);
            }
        }
        NF2_TRY(nf2_meta_write_region(fs, &region, fs->meta_next, end));
    }
    return NF2_OK;
}

/* What the group says that opens the new block. */
static NF2_ONCE struct state opening_state(const nf2_t *fs, const struct turn *turn)
{
    struct state state = {true, fs->meta_head, turn->claim.length > 0 ? &turn->claim : NULL, false, NULL, NULL, 0};

    return state;
}

/*
 * Place of the first page behind the group that opens a block. Not the second one: where a cut left only the first record of the
 * group, the first one of that page would seem to end it.
 */
static NF2_APART uint32_t behind_opening(nf2_t *fs, const struct turn *turn)
{
    struct state state = opening_state(fs, turn);
    uint32_t end, front, behind, length = NF2_RECORD_OVERHEAD + encode_state(fs, &state, &front, &behind);

    nf2_log_place(fs, 0, NF2_META_HEAD_PAYLOAD + NF2_RECORD_OVERHEAD, NF2_NONE, &end);
    if (state.small != NULL) {
        nf2_log_place(fs, end, state.small->length + NF2_RECORD_OVERHEAD, NF2_NONE, &end);
    }
    nf2_log_place(fs, end, length, NF2_NONE, &end);
    return nf2_max(2u * nf2_page(fs), ((end - 1u) | (nf2_page(fs) - 1u)) + 1u);
}

/* The new block is erased if it has to be, and an anchor written. `*begin`: where the group that makes it the head goes. */
static int begin_block(nf2_t *fs, const struct turn *turn, uint32_t *begin)
{
    *begin = fs->next_torn && !NF2_BROKEN(NF2_FAULT_SUSPECT) ? NF2_TURN_PAGES * nf2_page(fs) : 0;
    if (fs->super_points_to + (NF2_BROKEN(NF2_FAULT_ANCHOR) ? 1u : 0u) - fs->meta_tail_sequence < turn->oldest ||
        nf2_bad_place(fs, fs->meta_next) != fs->meta_next) { /* a mount looks for it before it has read which blocks are bad */
        NF2_TRY(nf2_super_write(fs));
    }
    if ((fs->next_suspect && !NF2_BROKEN(NF2_FAULT_SUSPECT)) || (!fs->opened && fs->flash->program_unit > 1) ||
        (*begin > 0 && turn->writes)) {
        NF2_TRY(nf2_flash_erase(fs, fs->meta_next, 1));
        fs->erases++;
        *begin = 0;
    }
    return NF2_OK;
}

/* The group that makes it the head; so many erases were this turn's. */
static NF2_APART int end_block(nf2_t *fs, const struct turn *turn, uint32_t tail, uint32_t begin, uint32_t erases)
{
    struct state state = opening_state(fs, turn);

    uint32_t old_tail = fs->meta_tail;

    fs->meta_head = fs->meta_next;
    fs->meta_next = turn->next;
    fs->meta_sequence++;
    fs->meta_tail = tail;
    fs->meta_tail_sequence += turn->oldest;
    fs->meta_end = (uint16_t)begin;
    bool suspect = fs->next_suspect;
    fs->next_suspect = turn->suspect;
    fs->erases -= erases; /* not in this STATE: an opening one has the same bits when it is written again */
    int result = write_state(fs, &state);
    fs->erases += erases;
    if (result < 0) {
        fs->meta_next = fs->meta_head;
        fs->meta_head = state.previous;
        fs->meta_sequence--;
        fs->meta_tail = old_tail;
        fs->meta_tail_sequence -= turn->oldest;
        fs->next_suspect = suspect;
        return result;
    }
    fs->next_torn = false;
    fs->renew_from = 0;
    return NF2_OK;
}

/* The new block: its REGION pages, then the group that makes it the head. */
static int fill_block(nf2_t *fs, struct turn *turn, uint32_t tail)
{
    uint32_t erases = fs->erases, begin, first, end;

    NF2_TRY(begin_block(fs, turn, &begin));
    first = end = behind_opening(fs, turn);
    NF2_TRY(write_regions(fs, turn, &end));
    NF2_TRY(end_block(fs, turn, tail, begin, fs->erases - erases));
    fs->meta_end = end > first ? (uint16_t)end : fs->meta_end;
    return NF2_OK;
}

int nf2_meta_replace_next(nf2_t *fs)
{
    int result = NF2_ERR_IO;

    while (result < 0 && nf2_bad_room(fs) && !fs->broken) {
        bool erased = true;
        uint32_t by = nf2_bad_spare(fs, &erased);
        if (by == NF2_NONE && fs->stock_count > 0) {
            by = fs->stock[--fs->stock_count];
            erased = true;
        }
        if (by == NF2_NONE) {
            break;
        }
        result = erased ? NF2_OK : nf2_flash_erase(fs, by, 1);
        if (!fs->broken) {
            nf2_bad_note(fs, result < 0 ? by : fs->meta_next, by);
        }
    }
    fs->next_suspect = fs->next_torn = false;
    fs->broken = result < 0;
    return result;
}

/* The blocks that go and the new one, or another in its place. */
static int turn_over(nf2_t *fs, struct turn *turn)
{
    uint32_t tail;
    int result;

    NF2_TRY(drop_oldest(fs, turn, &tail));
    while ((result = fill_block(fs, turn, tail)) < 0 && fs->log_failed) {
        NF2_TRY(nf2_meta_replace_next(fs));
    }
    return result;
}

/*
 * The log goes on in the block that was named for it. A turn is whole or not at all, with the blocks that it takes and gives
 * back: a mount that is cut over and over needs no more of them.
 */
static int make_turn(nf2_t *fs)
{
    struct turn turn = {.walk = {evacuate_run, evacuate_region, NULL, 0, 0}, .claim = {NF2_META_CLAIM, 0, {NF2_TREE_SLOT}}};

    turn.walk.context = &turn;
    take_next(fs, &turn);
    int result = plan_oldest(fs, &turn, nf2_meta_limit(fs) + (fs->mounted ? 0 : nf2_meta_slack(fs)));
    if (result == NF2_OK && turn.next == NF2_NONE) {
        result = find_next(fs, &turn);
    }
    result = result < 0 ? result : turn_over(fs, &turn);
    if (result < 0) { /* half made in memory, or what was to go on record is there already */
        fs->broken = true;
        fs->free_blocks += turn.claim.length > 0;
        fs->erased_blocks += turn.claim.length > 0 && !turn.suspect;
    }
    return result == NF2_ERR_NOSPC ? NF2_ERR_IO : result; /* bad blocks took the log's reserve: there is no way on */
}

int nf2_meta_turn_early(nf2_t *fs)
{
    bool suspect = fs->next_suspect;
    uint32_t sequence = fs->meta_sequence;

    if (nf2_meta_room(fs, fs->meta_end + MOUNT_PAGES * nf2_page(fs)) || !nf2_meta_room(fs, fs->meta_end)) {
        return NF2_OK;
    }
    fs->next_suspect = true; /* for the next mount, which can't tell otherwise that this turn was begun */
    NF2_TRY(nf2_meta_state(fs, false));
    if (fs->meta_sequence != sequence) {
        return NF2_OK; /* the head was a bad block */
    }
    fs->next_suspect = suspect;
    return make_turn(fs);
}

int nf2_meta_prepare_small(nf2_t *fs, uint32_t length)
{
    uint32_t end;
    bool fits = nf2_log_place(fs, fs->meta_end, length + NF2_RECORD_OVERHEAD, nf2_log_bytes(fs), &end) < nf2_log_bytes(fs);

    return fits ? NF2_OK : make_turn(fs);
}

int nf2_meta_put(nf2_t *fs, const struct nf2_small *record)
{
    struct nf2_writer writer;

    nf2_writer_begin(&writer, fs->meta_head, fs->meta_end);
    nf2_writer_record(fs, &writer, record->type, false, record->payload, record->length);
    NF2_TRY(nf2_writer_end(fs, &writer));
    fs->meta_end = (uint16_t)writer.position;
    return NF2_OK;
}

bool nf2_meta_head_bad(nf2_t *fs, int result)
{
    if (result >= 0 || !fs->log_failed) {
        return false;
    }
    fs->log_failed = false;
    fs->meta_end = (uint16_t)nf2_log_bytes(fs);
    fs->next_suspect = true;
    if (fs->flash->program_unit == 1) { /* else each mount erases the block that it begins */
        (void)nf2_super_write(fs); /* where it fails nothing more is written */
    }
    return true;
}

int nf2_meta_append(nf2_t *fs, const struct nf2_small *record)
{
    int result;

    do {
        NF2_TRY(nf2_meta_prepare_small(fs, record->length));
        result = nf2_meta_put(fs, record);
    } while (nf2_meta_head_bad(fs, result));
    return result;
}

bool nf2_meta_room(const nf2_t *fs, uint32_t at)
{
    uint32_t end;
    return nf2_log_place(fs, at, NF2_STATE_MAX + NF2_RECORD_OVERHEAD, nf2_log_bytes(fs), &end) < nf2_log_bytes(fs);
}

int nf2_meta_prepare(nf2_t *fs)
{
    return nf2_meta_room(fs, fs->meta_end) ? NF2_OK : make_turn(fs);
}

int nf2_meta_put_state(nf2_t *fs, bool clean, const struct nf2_run *extra, const enum nf2_change *kinds, unsigned count)
{
    struct state state = {false, 0, NULL, clean, extra, kinds, count};

    return write_state(fs, &state);
}

int nf2_meta_state(nf2_t *fs, bool clean)
{
    int result;

    do {
        NF2_TRY(nf2_meta_prepare(fs));
        result = nf2_meta_put_state(fs, clean, NULL, NULL, 0);
    } while (nf2_meta_head_bad(fs, result));
    return result;
}

int nf2_meta_open(nf2_t *fs)
{
    bool stays = fs->flash->program_unit == 1 && nf2_meta_room(fs, fs->meta_end);

    if (!NF2_BROKEN(NF2_FAULT_OPENING)) { /* on units that take one program only nothing torn is ever repeated: a fresh block */
        int result = stays ? nf2_meta_put_state(fs, false, NULL, NULL, 0) : make_turn(fs);
        bool bad = stays && nf2_meta_head_bad(fs, result);
        NF2_TRY(bad ? make_turn(fs) : result);
        stays = stays && !bad;
    }
    fs->opened = true;
    /* By an append: where the next mount's first program found it in its way, a super block would have to be erased. */
    return !stays && nf2_meta_slack(fs) == 0 && fs->super_points_to == fs->meta_tail_sequence ? nf2_super_write(fs) : NF2_OK;
}

/* ---- making and finding the logs ---------------------------------------------------------------- */

int nf2_meta_format(nf2_t *fs, uint32_t claimed_blocks)
{
    struct nf2_small claim = {NF2_META_CLAIM, 6, {NF2_TREE_SLOT}};

    nf2_put24(claim.payload + 1, 0);
    nf2_put16(claim.payload + 4, claimed_blocks | (fs->blank_erased ? 0u : NF2_CLAIM_DIRTY));
    struct state state = {true, NF2_NO_BLOCK, &claim, true, NULL, NULL, 0};
    NF2_TRY(write_state(fs, &state));
    fs->opened = true;
    return nf2_super_write(fs);
}
