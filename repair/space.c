/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * space.c - which blocks are in use, by whom, and what is on record of them: FORMAT.md, sections
 * 3.1 and 7.
 */
#include "inside.h"

/* A run of bytes that a piece of a file shows. */
struct extent {
    uint64_t start, end;
    const struct rep_entry *entry;
    uint32_t base;              /* of frames */
    bool frames, orphan;
};

struct space {
    struct repair *repair;
    struct extent *extent;
    size_t extents, room;
};

static void add_piece(struct space *space, const struct rep_entry *entry,
                      const struct rep_piece *piece, bool orphan)
{
    uint64_t bytes = space->repair->image.block_size, start = piece->block * bytes;
    bool frames = piece->kind == NF2_PIECE_FRAMES;

    if (piece->kind == NF2_PIECE_ZEROS || piece->length == 0 || entry->trust >= REPAIR_OUTDATED) {
        return; /* copies are no part of the volume */
    }
    struct extent extent = {start + (frames ? 0 : piece->within),
                            start + (frames ? bytes : piece->within + (uint64_t)piece->length),
                            entry,
                            piece->within,
                            frames,
                            orphan};
    space->extent = rep_grow(space->extent, space->extents, &space->room, sizeof extent);
    space->extent[space->extents++] = extent;
}

static void collect(struct space *space)
{
    struct repair *repair = space->repair;
    struct rep_piece piece;
    struct rep_list list;
    uint32_t next;

    for (size_t i = 0; i < repair->entries; i++) {
        const struct rep_entry *entry = &repair->entry[i];
        if (rep_is_piece(entry)) {
            if (rep_map_piece(repair, i, &piece, &next)) {
                add_piece(space, entry, &piece, rep_map_get(&repair->orphan, entry->key.id) != 0);
            }
        } else if (entry->key.id != NF2_SYSTEM_ID && rep_list_begin(entry, &list)) {
            while (rep_list_next(repair, &list, &piece)) {
                add_piece(space, entry, &piece, false);
            }
        }
    }
}

static int by_start(const void *a, const void *b)
{
    const struct extent *x = a, *y = b;
    if (x->orphan != y->orphan) {
        return (int)x->orphan - (int)y->orphan;
    }
    return x->start != y->start ? (x->start < y->start ? -1 : 1) :
                                  (x->end > y->end) - (x->end < y->end);
}

/* Two parts of one file may be in the same frames. */
static bool may_share(const struct extent *a, const struct extent *b)
{
    return a->frames && b->frames && a->start == b->start && a->base == b->base &&
           a->entry->key.id == b->entry->key.id;
}

/*
 * What a removed file holds may be held by another one, too: a list becomes a map, an old map stays
 * for its successor. Between files that have names nothing is shared.
 */
static void compare_extents(struct space *space)
{
    const struct extent *last = NULL;
    uint32_t bytes = space->repair->image.block_size;

    rep_sort(space->extent, space->extents, sizeof *space->extent, by_start);
    for (size_t i = 0; i < space->extents && !space->extent[i].orphan; i++) {
        const struct extent *one = &space->extent[i];
        if (last != NULL && one->start < last->end && !may_share(last, one)) {
            uint32_t block = (uint32_t)(one->start / bytes);
            rep_find(
                space->repair, REPAIR_OVERLAP, block, (uint32_t)(one->start % bytes),
                last->entry->block, one->entry->key.id,
                "Two parts of files lie in the same place; entries in blocks %u and %u say so.",
                last->entry->block, one->entry->block);
        }
        last = last == NULL || one->end > last->end ? one : last;
    }
}

static void mark(struct repair *repair, uint32_t block, enum repair_use use, const char *text)
{
    uint8_t *now = &repair->use[block];
    bool data = use == REPAIR_USE_DATA || use == REPAIR_USE_FRAMES;
    bool shared = *now == REPAIR_USE_NONE || *now == REPAIR_USE_BAD ||
                  (data && (*now == REPAIR_USE_DATA || *now == REPAIR_USE_FRAMES));

    if (!shared) {
        rep_find(repair, REPAIR_OVERLAP, block, 0, *now, 0, "%s, and in use as %s.", text,
                 repair_use_text((enum repair_use) * now));
        return;
    }
    *now = (uint8_t)use;
}

static void mark_extents(struct space *space)
{
    uint32_t bytes = space->repair->image.block_size;

    for (size_t i = 0; i < space->extents; i++) {
        const struct extent *one = &space->extent[i];
        for (uint64_t block = one->start / bytes; block * bytes < one->end; block++) {
            mark(space->repair, (uint32_t)block, one->frames ? REPAIR_USE_FRAMES : REPAIR_USE_DATA,
                 "This block holds data of a file");
        }
    }
}

/* The log's own blocks are marked before the tree is read. */
static void mark_others(struct repair *repair)
{
    const struct rep_state *state = &repair->state;

    if (state->group_block < repair->image.blocks && state->group_block != state->next &&
        repair->use[state->group_block] != REPAIR_USE_LOG) {
        mark(repair, state->group_block, REPAIR_USE_LOG,
             "This block holds a committed change that waits");
    }
    for (unsigned i = 0; i < 2 && state->clean; i++) {
        const struct rep_claim *claim = &state->claim[i];
        for (uint32_t n = 0; n < claim->count && claim->start + n < repair->image.blocks; n++) {
            mark(repair, claim->start + n, REPAIR_USE_CLAIMED,
                 "This block is set aside for new data");
        }
    }
}

/* ---- what is on record ----------------------------------------------------------------------- */

static bool blank(const struct rep_image *image, uint32_t block)
{
    const uint8_t *p = rep_at(image, block, 0);
    return p[0] == 0xFF && memcmp(p, p + 1, image->block_size - 1) == 0;
}

static bool on_record_as_erased(const struct repair *repair, uint32_t block)
{
    const struct rep_state *state = &repair->state;
    uint32_t at = block - state->window * repair->window_blocks,
             group = (repair->window_blocks + NF2_GROUPS - 1) / NF2_GROUPS;

    for (unsigned i = 0; i < 2; i++) {
        if (block - state->claim[i].start <
            rep_min(state->claim[i].count, state->claim[i].erased)) {
            return true;
        }
    }
    if (at >= repair->window_blocks) {
        return state->fresh && block >= (state->window + 1) * repair->window_blocks;
    }
    return (state->bits[at / 8] >> at % 8 & 1u) == 0 &&
           (state->now_fresh || (state->erased_groups >> at / group & 1u) != 0);
}

static void compare_record(struct repair *repair)
{
    const struct rep_state *state = &repair->state;
    uint32_t used = 0;

    for (uint32_t block = 0; block < repair->image.blocks; block++) {
        uint8_t use = repair->use[block];
        used += use != REPAIR_USE_NONE && use != REPAIR_USE_CLAIMED;
        if (use != REPAIR_USE_NONE && block >= repair->image.supers &&
            !rep_state_used(repair, block)) {
            rep_find(
                repair, REPAIR_FREE, block, 0, use, 0,
                "This block is free on record, and in use as %s: it may be erased at any time.",
                repair_use_text((enum repair_use)use));
        }
        if (on_record_as_erased(repair, block) && !blank(&repair->image, block)) {
            rep_find(repair, REPAIR_ERASED, block, 0, 0, 0,
                     "This block is on record as erased, and is not.");
        }
    }
    if (repair->summary.complete && state->free > repair->image.blocks - used) {
        rep_find(repair, REPAIR_COUNT, state->head, 0, state->free, 0,
                 "%u blocks are free on record, and %u can be.", state->free,
                 repair->image.blocks - used);
    }
}

static void mark_bad(struct repair *repair, uint32_t block)
{
    if (block < repair->image.blocks && repair->use[block] == REPAIR_USE_NONE) {
        repair->use[block] = REPAIR_USE_BAD;
    }
}

void rep_space_check(struct repair *repair)
{
    struct space space = {.repair = repair};
    const struct rep_state *state = &repair->state;

    for (unsigned i = 0; i < state->bads; i++) {
        mark_bad(repair, state->bad[i]);
    }
    for (size_t i = 0; i < repair->entries && repair->entry[i].key.id == NF2_SYSTEM_ID; i++) {
        if (repair->entry[i].key.bytes[0] == NF2_KEY_BAD) {
            mark_bad(repair, rep_key_value(&repair->entry[i].key));
        }
    }
    mark_others(repair);
    collect(&space);
    compare_extents(&space);
    mark_extents(&space);
    if (state->found && repair->summary.log_read) {
        compare_record(repair);
    }
    free(space.extent);
}
