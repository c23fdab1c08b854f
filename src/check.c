/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check.c - a checker: walks the whole tree, read-only, and compares what it finds with what the meta log says of
 * blocks. Blocks are compared in windows of one bit a block, so that RAM does not grow with the chip.
 */
#include "checker.h"

#include "batch.h"
#include "cache.h"
#include "flash.h"
#include "names.h"
#include "region.h"
#include "space.h"
#include "super.h"

void nf2_complain(struct check *check, enum nf2_finding_kind kind, uint32_t block, uint32_t id, uint32_t number)
{
    struct nf2_finding finding = {kind, block, id, number, NULL, 0};

    check->wrong++;
    if (check->report != NULL) {
        check->report(check->context, &finding);
    }
}

/* ---- logs --------------------------------------------------------------------------------------- */

/* A log from the page of `from` to its end: 1 if all can be read, else 0. */
static int whole_log(nf2_t *fs, uint32_t block, uint32_t from)
{
    struct nf2_scan scan;
    struct nf2_record record;
    int found;

    nf2_scan_begin(&scan, block);
    scan.gaps = true;
    scan.position = (uint16_t)(from & ~(nf2_page(fs) - 1u));
    while ((found = nf2_scan_next(fs, &scan, &record)) > 0) {
    }
    return found == 0 && !scan.damaged;
}

static int no_run(nf2_t *fs, void *context, enum nf2_change change, uint32_t start, uint32_t count)
{
    (void)change;
    if (start >= fs->blocks || count > fs->blocks - start) {
        nf2_complain(context, NF2_FOUND_OUTSIDE, start, 0, 0);
    }
    return NF2_OK;
}

static int no_region(nf2_t *fs, void *context, uint32_t number, uint32_t block, uint32_t offset)
{
    (void)offset;
    if (number >= nf2_regions(fs)) {
        nf2_complain(context, NF2_FOUND_META, block, 0, 0);
    }
    return NF2_OK;
}

/* The chain of the meta log from tail to head: sequences, names of the neighbours, all records. */
static void check_meta(nf2_t *fs, struct check *check)
{
    struct nf2_walk walk = {no_run, no_region, check, 0, 0};
    struct nf2_meta_head head = {0};
    uint32_t block = fs->meta_tail, previous = NF2_NONE;

    for (uint32_t sequence = fs->meta_tail_sequence;; sequence++) {
        if (nf2_meta_head(fs, block, &head) <= 0 || head.sequence != sequence ||
            (previous != NF2_NONE && head.previous != previous) || !whole_log(fs, block, head.offset)) {
            nf2_complain(check, NF2_FOUND_META, block, 0, 0);
            return;
        }
        if (block == fs->meta_head || sequence == fs->meta_sequence) {
            break;
        }
        previous = block;
        block = head.next;
    }
    if (block != fs->meta_head || nf2_meta_walk(fs, &walk) < 0) {
        nf2_complain(check, NF2_FOUND_META, block, 0, 0);
    }
}

static void check_logs(nf2_t *fs, struct check *check)
{
    struct nf2_scan scan;
    struct nf2_entry op;
    uint32_t ops = 0;
    int found = 0;

    /* Nothing in the other block counts: it is erased before it is used again, and a cut in that erase leaves anything there. */
    if (nf2_super_whole(fs) <= 0) {
        nf2_complain(check, NF2_FOUND_SUPER, fs->super_block, 0, 0);
    }
    if (fs->super_points_to - fs->meta_tail_sequence > fs->meta_sequence - fs->meta_tail_sequence) {
        nf2_complain(check, NF2_FOUND_SUPER, fs->super_block, 0, 0);
    }
    check_meta(fs, check);
    if (fs->redo_block < fs->blocks) {
        nf2_scan_begin(&scan, fs->redo_block);
        while ((found = nf2_batch_next(fs, &scan, &op)) > 0) {
            ops++;
        }
        if (found < 0 || ops == 0) {
            nf2_complain(check, NF2_FOUND_BATCH, fs->redo_block, 0, 0);
        }
    }
}

/* ---- blocks that something owns ----------------------------------------------------------------- */

/* After a cut a batch may be applied in part, and what it moves be there twice. */
static bool half_applied(const nf2_t *fs, const struct check *check)
{
    return check->unsettled && fs->redo_block < fs->blocks;
}

static void own(nf2_t *fs, struct check *check, uint32_t start, uint32_t count)
{
    for (uint32_t block = start; block < start + count; block++) {
        if (block >= fs->blocks) {
            nf2_complain(check, NF2_FOUND_OUTSIDE, block, 0, 0);
            return;
        }
        if (block - check->first >= check->room * 8u) {
            continue;
        }
        if (nf2_bit(check->work, block - check->first) && !half_applied(fs, check)) {
            nf2_complain(check, NF2_FOUND_OWNERS, block, 0, 0);
        }
        nf2_bit_set(check->work, block - check->first, true);
    }
}

static void own_lists(nf2_t *fs, struct check *check)
{
    own(fs, check, 0, NF2_SUPER_BLOCKS);
    own(fs, check, fs->root, 1);
    own(fs, check, fs->meta_next, 1);
    for (unsigned i = 0; i < fs->stock_count; i++) {
        own(fs, check, fs->stock[i], 1);
    }
    for (unsigned i = 0; i < fs->bad_count; i++) {
        own(fs, check, fs->bad[i].by, 1);
    }
    if (check->unsettled) {
        return; /* the slots may list what was committed since */
    }
    for (unsigned i = 0; i < fs->freed_count; i++) {
        own(fs, check, fs->freed[i].start, fs->freed[i].count);
    }
    for (unsigned s = 0; s < NF2_SLOTS; s++) {
        for (unsigned r = 0; r < fs->slot[s].runs; r++) {
            own(fs, check, fs->slot[s].run[r].start, fs->slot[s].run[r].count);
        }
    }
    if (fs->redo_block < fs->blocks && !fs->redo_owned) {
        own(fs, check, fs->redo_block, 1);
    }
}

static void own_meta_window(nf2_t *fs, struct check *check)
{
    struct nf2_meta_head head;
    uint32_t block = fs->meta_tail;

    for (uint32_t i = 0; i < fs->blocks && block < fs->blocks; i++) {
        own(fs, check, block, 1);
        if (block == fs->meta_head || nf2_meta_head(fs, block, &head) <= 0) {
            return;
        }
        block = head.next;
    }
}

static int own_entry(nf2_t *fs, struct check *check, const struct nf2_entry *entry)
{
    struct nf2_run runs[NF2_EXTENTS_MAX];
    uint32_t id;
    int n = nf2_entry_owns(fs, entry, runs, &id);

    for (int i = 0; i < n; i++) {
        own(fs, check, runs[i].start, runs[i].count);
    }
    return NF2_OK;
}

static int own_node(nf2_t *fs, struct check *check, const struct nf2_path *path, int level)
{
    (void)level;
    (void)nf2_check_each(fs, check, path->node[path->depth - 1], own_entry);
    return NF2_OK;
}

/* ---- blocks against the meta log ---------------------------------------------------------------- */

static bool is_blank(nf2_t *fs, uint32_t block)
{
    for (uint32_t at = 0; at < nf2_block_bytes(fs); at += nf2_page(fs)) {
        const uint8_t *page = nf2_peek_just(fs, block, at, nf2_page(fs));
        for (uint32_t i = 0; page != NULL && i < nf2_page(fs); i++) {
            if (page[i] != 0xFF) {
                return false;
            }
        }
        if (page == NULL) {
            return false;
        }
    }
    return true;
}

struct counts {
    uint32_t free_blocks, erased_blocks;
};

static int compare_window(nf2_t *fs, struct check *check, struct counts *counts)
{
    struct nf2_region region;

    for (uint32_t i = 0; i < check->room * 8u && check->first + i < fs->blocks; i++) {
        uint32_t block = check->first + i;
        if (i == 0 || block % NF2_REGION_BLOCKS == 0) {
            NF2_TRY(nf2_region_read(fs, block / NF2_REGION_BLOCKS, &region));
        }
        unsigned state = nf2_region_state(&region, block % NF2_REGION_BLOCKS);
        bool owned = nf2_bit(check->work, i);
        counts->free_blocks += state <= NF2_BLOCK_ERASED;
        counts->erased_blocks += state == NF2_BLOCK_ERASED;
        if (owned && state != NF2_BLOCK_USED) {
            nf2_complain(check, NF2_FOUND_FREE, block, 0, 0);
        } else if (!owned && state == NF2_BLOCK_USED && !check->partial) {
            nf2_complain(check, NF2_FOUND_LEAK, block, 0, 0);
        } else if ((state == NF2_BLOCK_ERASED || nf2_space_held(fs, block) == NF2_BLOCK_ERASED) && !is_blank(fs, block)) {
            nf2_complain(check, NF2_FOUND_ERASED, block, 0, 0);
        }
    }
    return NF2_OK;
}

static void check_blocks(nf2_t *fs, struct check *check)
{
    struct counts counts = {0, 0};

    for (check->first = 0; check->first < fs->blocks; check->first += check->room * 8u) {
        memset(check->work, 0, check->room);
        own_lists(fs, check);
        own_meta_window(fs, check);
        (void)nf2_check_walk(fs, check, NF2_ABOVE, false, own_node);
        if (!check->unsettled && compare_window(fs, check, &counts) < 0) {
            return; /* the meta log cannot be read, which was said */
        }
    }
    if (counts.free_blocks != fs->free_blocks && !check->unsettled) {
        nf2_complain(check, NF2_FOUND_COUNT, NF2_NONE, 0, counts.free_blocks);
    }
    if (counts.erased_blocks != fs->erased_blocks && !check->unsettled) {
        nf2_complain(check, NF2_FOUND_COUNT, NF2_NONE, 0, counts.erased_blocks);
    }
}

static int do_check(nf2_t *fs, struct check *check)
{
    check->unsettled = (fs->read_only && !fs->clean) || fs->redo_block < fs->blocks;
    check->work = fs->tree_buffer;
    check->room = nf2_min(fs->config->buffer_size - 2u * nf2_page(fs), 0x100000u);
    check_logs(fs, check);
    NF2_TRY(nf2_check_tree(fs, check));
    check_blocks(fs, check);
    NF2_TRY(nf2_check_ids(fs, check));
    return check->wrong;
}

int nf2_check(nf2_t *fs, void (*report)(void *context, const struct nf2_finding *finding), void *context)
{
    struct check check = {.report = report, .context = context};
    int result = NF2_ERR_INVAL;

    nf2_lock(fs);
    if (fs->mounted) { /* else the buffer is not the volume's */
        nf2_cache_lend(fs, true);
        result = do_check(fs, &check);
        nf2_cache_lend(fs, false);
    }
    nf2_unlock(fs);
    return result;
}
