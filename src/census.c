/* SPDX-License-Identifier: BSD-2-Clause */
#include "census.h"

#include "batch.h"
#include "cache.h"
#include "content.h"
#include "flash.h"
#include "index.h"

/* Two bytes a bin in the tree buffer: above, how many of its blocks the file owns; below, live bytes in parts. */
#define LIVE_BITS 11u
#define FULL ((1u << LIVE_BITS) - 1u)
_Static_assert(2u * NF2_CENSUS_BINS <= NF2_TREE_BUFFER_SIZE, "the bins lie in the tree buffer");

static uint32_t part_of(const nf2_t *fs, const struct nf2_census *census)
{
    return nf2_max(1u, census->blocks * nf2_block_bytes(fs) >> LIVE_BITS);
}

static uint8_t *bin_of(const struct nf2_census *census, uint32_t block)
{
    uint32_t bin = (block - census->first) / census->blocks;

    return block >= census->first && bin < census->bins ? census->bin + 2u * bin : NULL;
}

uint32_t nf2_census_owned(const struct nf2_census *census, uint32_t bin)
{
    return nf2_get16(census->bin + 2u * bin) >> LIVE_BITS;
}

bool nf2_census_full(const struct nf2_census *census, uint32_t bin)
{
    return (nf2_get16(census->bin + 2u * bin) & FULL) == FULL;
}

uint32_t nf2_census_live(const nf2_t *fs, const struct nf2_census *census, uint32_t bin)
{
    return (nf2_get16(census->bin + 2u * bin) & FULL) * part_of(fs, census);
}

enum nf2_use nf2_census_use(const struct nf2_census *census, uint32_t block)
{
    uint32_t i = block - census->first;

    return i < NF2_CENSUS_USES ? (enum nf2_use)(census->use[i / 4u] >> (i % 4u * 2u) & 3u) : NF2_USE_NONE;
}

/* Owned or not, and live, in any order. */
static void note_use(const struct nf2_census *census, uint32_t block, enum nf2_use use)
{
    uint32_t i = block - census->first, shift = i % 4u * 2u;
    enum nf2_use old = nf2_census_use(census, block);
    bool more = use == NF2_USE_DEAD ? old == NF2_USE_NONE : old == NF2_USE_DEAD || use > old;

    if (more && i < NF2_CENSUS_USES) {
        census->use[i / 4u] = (uint8_t)((census->use[i / 4u] & ~(3u << shift)) | (unsigned)use << shift);
    }
}

/* A byte a block: above, does the file own it; below, live parts of the block's 128. */
#define OWNED 0x80u
#define PARTS 128u

static NF2_ONCE uint8_t *byte_of(const struct nf2_census *census, uint32_t block)
{
    uint32_t i = block - census->first;

    return i < NF2_CENSUS_BLOCKS ? census->block + i : NULL;
}

bool nf2_census_owns(const struct nf2_census *census, uint32_t block)
{
    const uint8_t *p = byte_of(census, block);

    return p != NULL && (*p & OWNED) != 0;
}

uint32_t nf2_census_block_live(const nf2_t *fs, const struct nf2_census *census, uint32_t block)
{
    uint32_t live = *byte_of(census, block) & (PARTS - 1u);

    return live < PARTS - 1u ? live * (nf2_block_bytes(fs) / PARTS) : nf2_block_bytes(fs) + 1u;
}

/* As many parts as end in it: what lies side by side is not rounded twice. Whatever is live in a block counts. */
static void add_parts(nf2_t *fs, const struct nf2_census *census, uint32_t block, uint32_t within, uint32_t bytes)
{
    uint32_t part = nf2_block_bytes(fs) / PARTS, live = nf2_align_unit(fs, within + bytes) / part - within / part;
    uint8_t *p = byte_of(census, block);

    if (p != NULL) {
        uint32_t sum = nf2_max(1u, nf2_min(PARTS - 1u, (*p & (PARTS - 1u)) + live));
        *p = (uint8_t)((*p & OWNED) | sum);
    }
}

/* In whole program units: what a copy takes. A block full of copies is then full, and is not copied again. */
static void add_live(nf2_t *fs, const struct nf2_census *census, uint32_t block, uint32_t within, uint32_t bytes)
{
    if (census->use != NULL) {
        note_use(census, block, bytes < nf2_block_bytes(fs) ? NF2_USE_PART : NF2_USE_FULL);
        return;
    }
    if (census->block != NULL) {
        add_parts(fs, census, block, within, bytes);
        return;
    }
    uint8_t *p = bin_of(census, block);
    uint32_t part = part_of(fs, census);

    if (p != NULL) {
        uint32_t value = nf2_get16(p), live = (value & FULL) + (nf2_align_unit(fs, bytes) + part - 1) / part;
        nf2_put16(p, (value & ~FULL) | nf2_min(FULL, live));
    }
}

/* A handle needs the block as it is. */
static void pin(nf2_t *fs, const struct nf2_census *census, uint32_t block)
{
    bool bins = census->use == NULL && census->block == NULL;

    add_live(fs, census, block, 0, bins ? FULL * part_of(fs, census) : nf2_block_bytes(fs));
}

static void count_own(const struct nf2_census *census, const struct nf2_item *own)
{
    for (uint32_t block = own->number; block < own->number + own->length; block++) {
        if (census->use != NULL) {
            note_use(census, block, NF2_USE_DEAD);
            continue;
        }
        uint8_t *p = census->block != NULL ? byte_of(census, block) : bin_of(census, block);
        if (p != NULL && census->block != NULL) {
            *p |= OWNED;
        } else if (p != NULL) {
            nf2_put16(p, nf2_get16(p) + (1u << LIVE_BITS));
        }
    }
}

int nf2_census_item(nf2_t *fs, const struct nf2_census *census, const struct nf2_item *item)
{
    uint32_t bytes = nf2_block_bytes(fs), length = item->length;

    if (item->kind == NF2_BODY_OWN) {
        count_own(census, item);
    } else if (item->kind == NF2_BODY_FRAMES && census->use != NULL) {
        note_use(census, item->block, NF2_USE_PART);
    } else if (item->kind == NF2_BODY_FRAMES && (census->block != NULL ? byte_of(census, item->block) : bin_of(census, item->block)) != NULL) {
        struct nf2_item at;
        NF2_TRY(nf2_index_map(fs, census->id, item->number, &at, &length));
        add_live(fs, census, item->block, 0, length == 0 ? 1 : length);
    }
    if (item->kind != NF2_BODY_PIECE || item->block == NF2_NO_BLOCK) {
        return 0;
    }
    uint32_t block = item->block, within = item->within;
    while (length > 0) {
        uint32_t n = nf2_min(length, bytes - within);
        add_live(fs, census, block, within, n);
        length -= n;
        within = 0;
        block++;
    }
    return 0;
}

static int count_item(nf2_t *fs, void *context, const struct nf2_item *item)
{
    return item != NULL ? nf2_census_item(fs, context, item) : 0;
}

/* Blocks with the list of uncommitted operations that a handle keeps on flash. */
static int count_spill(nf2_t *fs, const nf2_file_t *file, const struct nf2_census *census)
{
    struct nf2_scan scan;
    struct nf2_entry op;
    int found;

    if (file->spill_first == NF2_NONE) {
        return NF2_OK;
    }
    pin(fs, census, file->spill_first);
    pin(fs, census, file->spill);
    nf2_scan_begin(&scan, file->spill_first);
    while ((found = nf2_batch_next(fs, &scan, &op)) > 0) {
        pin(fs, census, op.node);
    }
    return found;
}

/* What a handle has written and not committed stays where it is, unless the handle has overwritten it since. */
static int count_pending(nf2_t *fs, const nf2_file_t *file, const struct nf2_census *census)
{
    uint32_t bytes = nf2_block_bytes(fs), length;
    struct nf2_piece piece;

    for (uint32_t at = 0; at < file->size; at += length) {
        int found = nf2_indexed_pending(fs, file, at, &piece, &length);
        NF2_TRY(found);
        length = nf2_min(length, file->size - at);
        if (!found || piece.block == NF2_NO_BLOCK) {
            continue;
        }
        uint32_t within = piece.within + (at - piece.offset);
        for (uint32_t b = within / bytes; b <= (within + length - 1) / bytes; b++) {
            pin(fs, census, piece.block + b);
        }
    }
    return NF2_OK;
}

int nf2_census_handles(nf2_t *fs, const struct nf2_census *census)
{
    for (const nf2_file_t *file = fs->files; file != NULL; file = file->next) {
        if (file->kind != NF2_BODY_INDEXED || file->id != census->id || !nf2_file_writes(file)) {
            continue;
        }
        NF2_TRY(count_pending(fs, file, census));
        NF2_TRY(count_spill(fs, file, census));
        pin(fs, census, file->fragment_block);
        if (file->frames_at != 0) {
            pin(fs, census, file->frames);
        }
    }
    if (fs->compact_owner == census->id) {
        pin(fs, census, fs->compact_block);
    }
    return NF2_OK;
}

int nf2_census_needed(nf2_t *fs, uint32_t id, const struct nf2_run *run)
{
    uint8_t bin[2] = {0};
    struct nf2_census census = {id, run->start, run->count, 1, bin, NULL, NULL};

    NF2_TRY(nf2_census_handles(fs, &census));
    return nf2_census_full(&census, 0);
}

int nf2_census_walk(nf2_t *fs, struct nf2_census *census)
{
    return nf2_index_each(fs, census->id, 0, count_item, census);
}

int nf2_census_begin(nf2_t *fs, struct nf2_census *census)
{
    nf2_cache_lend(fs, true);
    census->bins = NF2_CENSUS_BINS;
    census->bin = fs->tree_buffer;
    int result = nf2_census_walk(fs, census);
    return result < 0 ? result : nf2_census_handles(fs, census);
}

/* A walk that comes to an end. */
struct bounded {
    const struct nf2_census *census;
    uint32_t leaves;
};

static int count_bounded_item(nf2_t *fs, void *context, const struct nf2_item *item)
{
    struct bounded *bounded = context;

    if (item != NULL) {
        return nf2_census_item(fs, bounded->census, item);
    }
    return bounded->leaves-- == 0;
}

int nf2_census_blocks(nf2_t *fs, struct nf2_census *census, uint32_t *leaves)
{
    struct bounded bounded = {census, *leaves};

    nf2_cache_lend(fs, true);
    census->block = fs->tree_buffer;
    int more = nf2_index_each(fs, census->id, 0, count_bounded_item, &bounded);
    NF2_TRY(more);
    *leaves = more == 0 ? bounded.leaves : 0;
    NF2_TRY(nf2_census_handles(fs, census));
    return more == 0;
}

int nf2_census_uses(nf2_t *fs, struct nf2_census *census)
{
    nf2_cache_lend(fs, true);
    census->use = fs->tree_buffer;
    int result = nf2_census_walk(fs, census);
    return result < 0 ? result : nf2_census_handles(fs, census);
}

void nf2_census_end(nf2_t *fs)
{
    nf2_cache_lend(fs, false);
}
