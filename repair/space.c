/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * space.c - which blocks are in use, by whom, and what is on record of them: FORMAT.md, sections
 * 3.1 and 7.
 */
#include "inside.h"

/* ---- what is on record ----------------------------------------------------------------------- */

/* Two bits for each region say what its blocks are. */
static void load_regions(struct repair *r)
{
    uint32_t geometry = rep_state8(&r->state, NF2_STATE_GEOMETRY);
    uint32_t size = geometry & 15u, shift = geometry >> 4;

    for (uint32_t block = 0; block < r->blocks; block++) {
        uint32_t region = (block + shift) >> size, state = 0;
        if (region < NF2_REGIONS_MAX) {
            state = rep_state8(&r->state, NF2_STATE_REGIONS + region / 4) >> region % 4 * 2 & 3u;
        }
        r->record[block] = (uint8_t)(state < 2 ? REP_USED : state == 3 ? REP_ERASED : 0);
    }
}

/*
 * Of each writer: blocks that it has claimed, which only a clean volume has still, and those of
 * these, and behind them, that are erased.
 */
static void load_claims(struct repair *r)
{
    for (unsigned i = 0; i < 3; i++) {
        const uint8_t *claim = r->state.record + NF2_STATE_CLAIMS + 4 * i;
        uint32_t start = rep_get16(claim), most = claim[2] > claim[3] ? claim[2] : claim[3];
        for (uint32_t n = r->state.clean ? 0 : claim[2]; n < most && start + n < r->blocks; n++) {
            r->record[start + n] |= n < claim[2] ? REP_CLAIMED : 0;
            r->record[start + n] |= n < claim[3] ? REP_ERASED : 0;
        }
    }
}

static void mark(struct repair *r, uint32_t block, enum repair_use use)
{
    enum repair_use now = (enum repair_use)r->use[block];
    bool data = use == REPAIR_USE_DATA || use == REPAIR_USE_FRAMES;

    if (now == REPAIR_USE_NONE || now == REPAIR_USE_BAD ||
        (data && (now == REPAIR_USE_DATA || now == REPAIR_USE_FRAMES))) {
        r->use[block] = (uint8_t)use;
    } else {
        rep_find(r, REPAIR_OVERLAP, block, 0, now, 0, "This block is in use as %s, and as %s.",
                 repair_use_text(use), repair_use_text(now));
    }
}

/* What is no node: the super blocks and the log's own. */
static void mark_log(struct repair *r)
{
    memset(r->use, REPAIR_USE_SUPER, NF2_SUPER_BLOCKS);
    if (r->state.record != NULL) {
        mark(r, r->state.head, REPAIR_USE_LOG);
    }
    if (r->state.record != NULL && r->state.next < r->blocks) {
        mark(r, r->state.next, REPAIR_USE_NEXT);
    }
}

void rep_space_load(struct repair *r)
{
    const uint8_t *p = r->state.record;

    memset(r->record, REP_USED, r->blocks);
    mark_log(r);
    if (p == NULL) {
        return;
    }
    load_regions(r);
    for (unsigned i = 0; i < rep_state_bads(&r->state); i++) {
        uint32_t block = rep_get16(p + NF2_STATE_BAD + 2 * i);
        if (block < r->blocks) {
            r->record[block] |= REP_BAD;
        }
    }
    load_claims(r);
}

static bool blank(const struct repair *r, uint32_t block)
{
    const uint8_t *p = rep_at(r, block, 0);
    return p[0] == 0xFF && memcmp(p, p + 1, r->block_size - 1) == 0;
}

/*
 * The log goes on in a block that is erased, unless it is suspect. A cut may have been in the turn,
 * but not in that of a log which was left cleanly and has room for what comes next.
 */
static void check_next(struct repair *r)
{
    uint32_t next = r->state.next;
    bool sure = r->state.clean && rep_root_has_room(r);

    if (!rep_state_flag(&r->state, NF2_FLAG_SUSPECT) && !blank(r, next)) {
        rep_find(r, sure ? REPAIR_ERASED : REPAIR_UNFINISHED, next, 0, 0, 0,
                 sure ? "The root log's next block is on record as erased, and is not." :
                        "The root log's next block holds something that is no root log.");
    }
}

static void compare_record(struct repair *r)
{
    for (uint32_t block = 0; block < r->blocks; block++) {
        enum repair_use use = (enum repair_use)r->use[block];
        if (use != REPAIR_USE_NONE && block >= NF2_SUPER_BLOCKS &&
            !rep_on_record(r, block, REP_USED)) {
            r->older = true;
            rep_find(r, REPAIR_FREE, block, 0, use, 0, "This block is free on record, and in use "
                     "as %s: it may be erased at any time.", repair_use_text(use));
        }
        if (rep_on_record(r, block, REP_ERASED) && !blank(r, block)) {
            rep_find(r, REPAIR_ERASED, block, 0, 0, 0,
                     "This block is on record as erased, and is not.");
        }
    }
}

/* ---- who has what ---------------------------------------------------------------------------- */

static int by_start(const void *a, const void *b)
{
    const struct rep_extent *x = a, *y = b;
    return x->orphan != y->orphan ? rep_order(x->orphan, y->orphan) : rep_order(x->start, y->start);
}

/* Two parts of one file may be in the same frames. */
static bool may_share(const struct rep_extent *a, const struct rep_extent *b)
{
    return a->frames && b->frames && a->start == b->start && a->base == b->base &&
           a->entry->key.id == b->entry->key.id;
}

/*
 * What a removed file holds may be held by another one, too: a list becomes a map, an old map stays
 * for its successor. Between files that have names nothing is shared.
 */
static void compare_extents(struct repair *r)
{
    const struct rep_extent *last = NULL;

    REP_SORT(&r->extents, by_start);
    for (size_t i = 0; i < r->extents.count && !r->extents.list[i].orphan; i++) {
        const struct rep_extent *one = &r->extents.list[i];
        if (last != NULL && one->start < last->end && !may_share(last, one)) {
            uint32_t other = last->entry->block;
            rep_find(r, REPAIR_OVERLAP, (uint32_t)(one->start / r->block_size),
                     (uint32_t)(one->start % r->block_size), other, one->entry->key.id,
                     "Two parts of files lie in the same place; entries in blocks %u and %u say "
                     "so.", other, one->entry->block);
        }
        last = last == NULL || one->end > last->end ? one : last;
    }
}

/* The log's own blocks were marked before the tree was read. */
static void mark_all(struct repair *r)
{
    for (uint32_t block = 0; block < r->blocks; block++) {
        if (r->use[block] == REPAIR_USE_NONE && rep_on_record(r, block, REP_BAD)) {
            r->use[block] = REPAIR_USE_BAD;
        }
        if (rep_on_record(r, block, REP_CLAIMED)) {
            mark(r, block, REPAIR_USE_CLAIMED);
        }
    }
    compare_extents(r);
    for (size_t i = 0; i < r->extents.count; i++) {
        const struct rep_extent *one = &r->extents.list[i];
        for (uint64_t block = one->start / r->block_size; block * r->block_size < one->end;
             block++) {
            mark(r, (uint32_t)block, one->frames ? REPAIR_USE_FRAMES : REPAIR_USE_DATA);
        }
    }
}

void rep_space_check(struct repair *r)
{
    mark_all(r);
    if (r->summary.log_read) {
        compare_record(r);
        check_next(r);
    }
}
