/* SPDX-License-Identifier: BSD-2-Clause */
#include "region.h"

#include "flash.h"

unsigned nf2_region_state(const struct nf2_region *region, uint32_t index)
{
    return region->state[index / 4] >> (index % 4 * 2) & 3u;
}

static uint32_t blocks_of(const nf2_t *fs, uint32_t number)
{
    return nf2_min(NF2_REGION_BLOCKS, fs->blocks - number * NF2_REGION_BLOCKS);
}

static void set_state(struct nf2_region *region, uint32_t index, unsigned state)
{
    unsigned shift = index % 4 * 2;
    region->state[index / 4] = (uint8_t)((region->state[index / 4] & ~(3u << shift)) | state << shift);
}

/* Before any record: all free, erased or not as the format left it; blocks beyond the volume count as bad. */
static void set_default(const nf2_t *fs, uint32_t number, struct nf2_region *region)
{
    region->number = number;
    region->wear_base = 0;
    region->block = NF2_NONE;
    region->state = fs->write_buffer + nf2_page(fs) - (NF2_REGION_STATES + NF2_REGION_BLOCKS);
    region->wear = region->state + NF2_REGION_STATES;
    memset(region->wear, 0, NF2_REGION_BLOCKS);
    for (uint32_t i = 0; i < NF2_REGION_BLOCKS; i++) {
        unsigned state = fs->blank_erased ? NF2_BLOCK_ERASED : NF2_BLOCK_DIRTY;
        set_state(region, i, i < blocks_of(fs, number) ? state : NF2_BLOCK_BAD);
    }
}

/*
 * Counts an erase; offsets are kept relative to the least worn block, or to one 255 behind where that lies further back: the
 * counts of those that rest run ahead then, never the other way round.
 */
static void count_erase(struct nf2_region *region, uint32_t index)
{
    if (region->wear[index] < 255) {
        region->wear[index]++;
        return;
    }
    uint32_t least = 255;
    for (uint32_t i = 0; i < NF2_REGION_BLOCKS; i++) {
        if (nf2_region_state(region, i) != NF2_BLOCK_BAD && region->wear[i] < least) {
            least = region->wear[i];
        }
    }
    least = nf2_max(least, 1);
    region->wear_base += least;
    for (uint32_t i = 0; i < NF2_REGION_BLOCKS; i++) {
        region->wear[i] = (uint8_t)(region->wear[i] < least ? 0 : region->wear[i] - least);
    }
    region->wear[index]++;
}

void nf2_region_change(struct nf2_region *region, enum nf2_change change, uint32_t start, uint32_t count)
{
    uint32_t first = region->number * NF2_REGION_BLOCKS;
    uint32_t from = nf2_max(start, first), to = nf2_min(start + count, first + NF2_REGION_BLOCKS);

    for (uint32_t block = from; block < to; block++) {
        uint32_t i = block - first;
        if (change == NF2_ERASED || change == NF2_CLAIMED_DIRTY) {
            count_erase(region, i);
        }
        set_state(region, i,
                  change == NF2_LOST ? NF2_BLOCK_BAD : change >= NF2_CLAIMED ? NF2_BLOCK_USED : change == NF2_FREED ? NF2_BLOCK_DIRTY : NF2_BLOCK_ERASED);
    }
}

static int on_run(nf2_t *fs, void *context, enum nf2_change change, uint32_t start, uint32_t count)
{
    (void)fs;
    nf2_region_change(context, change, start, count);
    return NF2_OK;
}

static int on_region(nf2_t *fs, void *context, uint32_t number, uint32_t block, uint32_t offset)
{
    struct nf2_region *region = context;
    uint8_t base[3];

    if (number != region->number) {
        return NF2_OK;
    }
    uint32_t at = 2u + 2u;
    NF2_TRY(nf2_record_read(fs, block, offset, at, base, sizeof base));
    region->wear_base = nf2_get24(base);
    region->block = block;
    return nf2_record_read(fs, block, offset, at + 3u, region->state, NF2_REGION_STATES + NF2_REGION_BLOCKS); /* and the wear behind it */
}

static void note_worn(nf2_t *fs, const struct nf2_region *region)
{
    for (uint32_t i = 0; i < NF2_REGION_BLOCKS; i++) {
        fs->worn = nf2_max(fs->worn, region->wear_base + region->wear[i]);
    }
}

int nf2_region_read(nf2_t *fs, uint32_t number, struct nf2_region *region)
{
    struct nf2_walk walk = {on_run, on_region, region, 0, 0};

    set_default(fs, number, region);
    NF2_TRY(nf2_meta_walk(fs, &walk));
    note_worn(fs, region);
    return NF2_OK;
}

struct span_context {
    struct nf2_span_use *span;
    uint32_t count, blocks;
};

static int span_run(nf2_t *fs, void *context, enum nf2_change change, uint32_t start, uint32_t count)
{
    const struct span_context *c = context;

    (void)fs;
    for (uint32_t i = 0; i < c->count; i++) {
        struct nf2_span_use *span = &c->span[i];
        uint32_t from = nf2_max(start, span->first), to = nf2_min(start + count, span->first + c->blocks);
        for (uint32_t block = from; block < to; block++) {
            uint32_t bit = 1u << (block - span->first);
            span->used = change >= NF2_CLAIMED && change != NF2_LOST ? span->used | bit : span->used & ~bit;
            span->dirty = change == NF2_FREED ? span->dirty | bit : span->dirty & ~bit;
        }
    }
    return NF2_OK;
}

static int span_region(nf2_t *fs, void *context, uint32_t number, uint32_t block, uint32_t offset)
{
    const struct span_context *c = context;
    uint8_t state[NF2_REGION_STATES / 4u + 1u];

    for (uint32_t i = 0; i < c->count; i++) {
        struct nf2_span_use *span = &c->span[i];
        uint32_t at = span->first % NF2_REGION_BLOCKS, skip = at % 4u;
        if (span->first / NF2_REGION_BLOCKS != number) {
            continue;
        }
        NF2_TRY(nf2_record_read(fs, block, offset, 2u + 2u + 3u + at / 4u, state, (skip + c->blocks + 3u) / 4u));
        span->used = span->dirty = 0;
        for (uint32_t j = 0; j < c->blocks; j++) {
            unsigned s = state[(skip + j) / 4u] >> ((skip + j) % 4u * 2u) & 3u;
            span->used |= (uint32_t)(s == NF2_BLOCK_USED) << j;
            span->dirty |= (uint32_t)(s == NF2_BLOCK_DIRTY) << j;
        }
    }
    return NF2_OK;
}

int nf2_region_spans(nf2_t *fs, struct nf2_span_use *spans, uint32_t count, uint32_t blocks)
{
    struct span_context context = {spans, count, blocks};
    struct nf2_walk walk = {span_run, span_region, &context, 0, 0};

    for (uint32_t i = 0; i < count; i++) {
        spans[i].used = 0;
        spans[i].dirty = fs->blank_erased ? 0 : (1u << blocks) - 1u;
    }
    return nf2_meta_walk(fs, &walk);
}

void nf2_region_encode(const struct nf2_region *region, uint8_t *payload)
{
    payload = nf2_put16(payload, region->number);
    payload = nf2_put24(payload, region->wear_base);
    memcpy(payload, region->state, NF2_REGION_STATES + NF2_REGION_BLOCKS);
}

struct count_context {
    uint32_t first, count;
    enum nf2_free kind;
    uint32_t limit;
    uint8_t *counts;
    struct nf2_region *also;
};

/* What one block's change does to the count: by kind, then change. */
static const int8_t effects[3][6] = {{1, 0, -1, 0, -1, -1}, {0, 1, 1, -1, 0, 0}, {1, 1, 0, -1, -1, -1}};

static int count_run(nf2_t *fs, void *context, enum nf2_change change, uint32_t start, uint32_t count)
{
    const struct count_context *c = context;

    NF2_TRY(c->also != NULL ? on_run(fs, c->also, change, start, count) : NF2_OK);
    for (uint32_t block = start; block < start + count; block++) {
        uint32_t region = block / NF2_REGION_BLOCKS - c->first;
        if (region < c->count) {
            int n = c->counts[region] + effects[c->kind][change]; /* below 0: one beyond the limit */
            c->counts[region] = (uint8_t)(n > 0 ? n : 0);
        }
    }
    return NF2_OK;
}

static int count_region(nf2_t *fs, void *context, uint32_t number, uint32_t block, uint32_t offset)
{
    const struct count_context *c = context;
    enum { PART = NF2_REGION_BLOCKS / 8 };     /* little stack: claims come through here */
    uint8_t base[3], state[PART / 4], wear[PART] = {0}, n = 0;
    uint32_t states = 2u + 2u + 3u, wears = states + NF2_REGION_BLOCKS / 4u;

    NF2_TRY(c->also != NULL ? on_region(fs, c->also, number, block, offset) : NF2_OK);
    if (number - c->first >= c->count) {
        return NF2_OK;
    }
    NF2_TRY(nf2_record_read(fs, block, offset, 2u + 2u, base, sizeof base));
    for (uint32_t i = 0; i < NF2_REGION_BLOCKS; i++) {
        if (i % PART == 0) {
            NF2_TRY(nf2_record_read(fs, block, offset, states + i / 4u, state, sizeof state));
            NF2_TRY(c->limit != UINT32_MAX ? nf2_record_read(fs, block, offset, wears + i, wear, sizeof wear) : NF2_OK);
        }
        unsigned s = state[i % PART / 4] >> (i % 4 * 2) & 3u;
        bool counts = c->kind == NF2_FREE ? s <= NF2_BLOCK_ERASED : s == (unsigned)c->kind;
        n = (uint8_t)(n + (counts && nf2_get24(base) + wear[i % PART] <= c->limit));
    }
    c->counts[number - c->first] = n;
    return NF2_OK;
}

int nf2_region_counts(nf2_t *fs, enum nf2_free kind, uint32_t limit, uint32_t first, uint32_t count, uint8_t *counts, struct nf2_region *also)
{
    struct count_context context = {first, count, kind, limit, counts, also};
    struct nf2_walk walk = {count_run, count_region, &context, 0, 0};

    if (also != NULL) {
        set_default(fs, also->number, also);
    }

    for (uint32_t i = 0; i < count; i++) {
        bool counted = first + i < nf2_regions(fs) && kind != (fs->blank_erased ? NF2_FREE_DIRTY : NF2_FREE_ERASED);
        counts[i] = (uint8_t)(counted ? blocks_of(fs, first + i) : 0);
    }
    NF2_TRY(nf2_meta_walk(fs, &walk));
    if (also != NULL) {
        note_worn(fs, also);
    }
    return NF2_OK;
}

#define CANDIDATES 4u           /* of each kind */

/* The longest runs of free blocks that a walk met and nothing younger has taken: dirty ones and erased ones. Count 0: an empty place. */
struct candidate {              /* little stack: turns of the log come through here */
    uint16_t start, count;
};

struct candidates {
    struct candidate run[2][CANDIDATES];
};

static void propose(const nf2_t *fs, struct candidates *found, uint32_t start, uint32_t count, bool erased)
{
    struct candidate *place = found->run[erased];

    for (unsigned i = 1; i < CANDIDATES; i++) {
        place = found->run[erased][i].count < place->count ? &found->run[erased][i] : place;
    }
    if (count > place->count && start < fs->blocks && count <= fs->blocks - start) {
        place->start = (uint16_t)start;
        place->count = (uint16_t)count;
    }
}

/* Blocks of a run that are not free, or differently, any more: the longer part of what is left stays. */
static void drop(struct candidates *found, uint32_t start, uint32_t count)
{
    for (unsigned i = 0; i < 2u * CANDIDATES; i++) {
        struct candidate *run = &found->run[i / CANDIDATES][i % CANDIDATES];
        uint32_t end = (uint32_t)run->start + run->count;
        if (start >= end || start + count <= run->start) {
            continue;
        }
        uint32_t before = start > run->start ? start - run->start : 0, behind = end > start + count ? end - (start + count) : 0;
        run->start = (uint16_t)(before >= behind ? run->start : start + count);
        run->count = (uint16_t)nf2_max(before, behind);
    }
}

static int candidate_run(nf2_t *fs, void *context, enum nf2_change change, uint32_t start, uint32_t count)
{
    drop(context, start, count);
    if (change < NF2_CLAIMED) {
        propose(fs, context, start, count, change != NF2_FREED);
    }
    return NF2_OK;
}

static int candidate_region(nf2_t *fs, void *context, uint32_t number, uint32_t block, uint32_t offset)
{
    uint32_t first = number * NF2_REGION_BLOCKS, n = 0;
    unsigned of = NF2_BLOCK_USED, state = NF2_BLOCK_USED;
    uint8_t states = 0;

    drop(context, first, NF2_REGION_BLOCKS);
    for (uint32_t i = 0; i <= NF2_REGION_BLOCKS; i++, n++) {
        if (i % 4u == 0 && i < NF2_REGION_BLOCKS) {
            NF2_TRY(nf2_record_read(fs, block, offset, 2u + 2u + 3u + i / 4u, &states, 1));
        }
        state = states >> (i % 4u * 2u) & 3u;
        if (i == NF2_REGION_BLOCKS || state != of) {
            if (of <= NF2_BLOCK_ERASED) {
                propose(fs, context, first + i - n, n, of == NF2_BLOCK_ERASED);
            }
            of = state;
            n = 0;
        }
    }
    return NF2_OK;
}

/* The first block of the run that may be taken, or NF2_NONE. */
static uint32_t first_of(const nf2_t *fs, const struct candidate *run)
{
    for (uint32_t block = run->start; block < (uint32_t)run->start + run->count; block++) {
        bool waits = fs->region == block / NF2_REGION_BLOCKS && nf2_bit(fs->region_used, block % NF2_REGION_BLOCKS); /* it is free, but worn */
        if (block != fs->kept_node && !waits) {
            return block;
        }
    }
    return NF2_NONE;
}

/* The nearest behind `near` of those that may be taken: an erased one if there is any. */
static NF2_APART int nearest_of(const nf2_t *fs, const struct candidates *found, uint32_t near, uint32_t *block, bool *dirty)
{
    uint32_t least = NF2_NONE;

    for (unsigned kind = 2; kind-- > 0 && least == NF2_NONE;) {
        for (unsigned i = 0; i < CANDIDATES; i++) {
            uint32_t at = first_of(fs, &found->run[kind][i]), distance = (at + fs->blocks - near) % fs->blocks;
            if (at != NF2_NONE && distance < least) {
                least = distance;
                *block = at;
                *dirty = kind == NF2_BLOCK_DIRTY;
            }
        }
    }
    return least != NF2_NONE ? NF2_OK : NF2_ERR_NOSPC;
}

int nf2_region_find(nf2_t *fs, uint32_t near, uint32_t *block, bool *dirty)
{
    struct candidates found;
    struct nf2_walk walk = {candidate_run, candidate_region, &found, 0, 0};

    memset(&found, 0, sizeof found);
    for (uint32_t i = 0; i < CANDIDATES && i < nf2_regions(fs); i++) {  /* what no record tells of is as the format left it */
        uint32_t number = nf2_regions(fs) - 1u - i;
        propose(fs, &found, number * NF2_REGION_BLOCKS, blocks_of(fs, number), fs->blank_erased);
    }
    NF2_TRY(nf2_meta_walk(fs, &walk));
    return nearest_of(fs, &found, near, block, dirty);
}
