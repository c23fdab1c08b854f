/* SPDX-License-Identifier: BSD-2-Clause */
#include "evacuate.h"

#include "batch.h"
#include "flash.h"
#include "frames.h"
#include "index.h"
#include "space.h"

#define TRIES 6u                /* replacements of leaves before a block for moved data fits in one */

/* ---- moving data -------------------------------------------------------------------------------- */

/* A block for moved data, owned by the file before anything refers to it. Its last bytes are used too. */
static NF2_APART int destination(nf2_t *fs, uint32_t id)
{
    struct nf2_node_op change;
    uint32_t block;

    if (fs->compact_owner == id && fs->compact_end < nf2_block_bytes(fs)) {
        return NF2_OK;
    }
    for (unsigned attempt = 0; attempt < TRIES; attempt++) {
        nf2_space_settle(fs, NF2_TREE_SLOT);
        NF2_TRY(nf2_space_tree_block(fs, &block));
        struct nf2_item own = nf2_owned_run(block, 1);
        nf2_index_put(&change, id, &own);
        int fits = nf2_tree_fits(fs, &change);
        if (fits > 0) {
            NF2_TRY(nf2_tree_change(fs, &change, 1, 0, NULL));
            nf2_space_settle(fs, NF2_TREE_SLOT);
            fs->compact_owner = id;
            fs->compact_block = block;
            fs->compact_end = 0;
            return NF2_OK;
        }
        NF2_TRY(nf2_space_abandon(fs, NF2_TREE_SLOT)); /* new nodes would push it out of the slot before somebody owns it */
        NF2_TRY(fits);
        NF2_TRY(nf2_tree_room(fs, &change));
    }
    return NF2_ERR_NOSPC;
}

/* Copies what the map says of `at` to the end of the destination, page by page. */
static NF2_APART int copy_data(nf2_t *fs, uint32_t id, const struct nf2_item *item, uint32_t at, uint32_t length)
{
    for (uint32_t done = 0, n; done < length; done += n) {
        uint32_t end = fs->compact_end + done, within = item->within + (at + done - item->number);
        n = nf2_min(length - done, nf2_page(fs) - end % nf2_page(fs));
        if (item->kind == NF2_BODY_FRAMES) {
            NF2_TRY(nf2_frames_read(fs, id, item->block, item->base, at + done, fs->write_buffer, n));
        } else {
            NF2_TRY(nf2_flash_read(fs, item->block, within, fs->write_buffer, n));
        }
        NF2_TRY(nf2_flash_program(fs, fs->compact_block, end, fs->write_buffer, n));
    }
    return NF2_OK;
}

/*
 * Copies a file's data at `at` that the map has in one place, as far as the destination's block goes. How many bytes; `copy` is
 * the piece that the map is to have for them.
 */
static NF2_APART int copy_some(nf2_t *fs, uint32_t id, uint32_t at, uint32_t length, struct nf2_item *copy)
{
    struct nf2_item item;
    uint32_t n, bytes = nf2_block_bytes(fs);

    NF2_TRY(nf2_index_map(fs, id, at, &item, &n));
    length = nf2_min(length, nf2_min(n, bytes - fs->compact_end));
    NF2_TRY(copy_data(fs, id, &item, at, length));
    int found = nf2_index_seek(fs, id, NF2_INDEX_MAP, at, NF2_BELOW, copy);
    NF2_TRY(found);
    if (found > 0 && copy->kind == NF2_BODY_PIECE && copy->block != NF2_NO_BLOCK && copy->number + copy->length == at &&
        copy->block * bytes + copy->within + copy->length == fs->compact_block * bytes + fs->compact_end) {
        copy->length += length; /* one piece with what lies in front of it */
    } else {
        *copy = nf2_piece_at(at, fs->compact_block, fs->compact_end, length);
    }
    fs->compact_end = nf2_align_unit(fs, fs->compact_end + length);
    return (int)length;
}

/* Moves such data, and lets the map refer to the copy: at once, or with a batch that is to be committed. */
static NF2_APART int move_some(nf2_t *fs, uint32_t id, uint32_t at, uint32_t length, struct nf2_batch *batch)
{
    struct nf2_item copy;

    NF2_TRY(destination(fs, id));
    int moved = copy_some(fs, id, at, length, &copy);
    NF2_TRY(moved);
    int result = nf2_index_insert(fs, id, &copy, NULL, false, 0);
    if (result == NF2_SPANS_LEAVES) { /* as a batch of one operation */
        nf2_space_settle(fs, NF2_TREE_SLOT);
        result = nf2_batch_item(fs, batch, id, &copy);
    }
    return result < 0 ? result : moved;
}

#define ITEMS 16u               /* mapping entries that one look notes */
#define LEAVES 16u              /* of the map, that one look goes through */

struct victim {
    struct nf2_run run;
    uint32_t from, last;        /* file offsets: where the present leaf begins, and its last entry */
    uint8_t leaves, count;
    bool end;                   /* the leaf has OWN entries: they come behind the map */
    uint32_t number[ITEMS];
};

static bool lies_in(const nf2_t *fs, const struct nf2_item *item, const struct nf2_run *run)
{
    uint32_t last = item->block;

    if (item->kind == NF2_BODY_PIECE && item->block != NF2_NO_BLOCK && item->length > 0) {
        last += (item->within + item->length - 1) / nf2_block_bytes(fs);
    } else if (item->kind != NF2_BODY_FRAMES) {
        return false;
    }
    return last >= run->start && item->block < run->start + run->count;
}

/* Notes the mapping entries of a leaf that have data in the victim blocks; 1 behind a leaf with some, or when it is enough. */
static int find_item(nf2_t *fs, void *context, const struct nf2_item *item)
{
    struct victim *victim = context;

    if (item == NULL) {
        if (victim->count > 0) {
            return 1;
        }
        victim->from = victim->last + 1u; /* the leaf is done, whatever becomes of its bounds */
        return ++victim->leaves == LEAVES || victim->end;
    }
    if (item->kind == NF2_BODY_OWN) {
        victim->end = true;
        return 0;
    }
    victim->last = nf2_max(victim->last, item->number);
    if (lies_in(fs, item, &victim->run)) {
        victim->number[victim->count++] = item->number;
    }
    return victim->count == ITEMS;
}

/* What the mapping entry `number` holds in a run of blocks, if it still does: from which file offset on, and how many bytes. */
static NF2_APART int find_data(nf2_t *fs, uint32_t id, uint32_t number, const struct nf2_run *run, uint32_t *at, uint32_t *length)
{
    struct nf2_item item;

    *at = number;
    *length = 0;
    int found = nf2_index_seek(fs, id, NF2_INDEX_MAP, number, NF2_AT_OR_BELOW, &item);
    NF2_TRY(found);
    if (!found || item.number != number || !lies_in(fs, &item, run)) {
        return NF2_OK;
    }
    if (item.kind == NF2_BODY_FRAMES) {
        return nf2_index_map(fs, id, number, &item, length);
    }
    uint32_t size = nf2_block_bytes(fs), skip = run->start > item.block ? (run->start - item.block) * size : 0;
    skip -= nf2_min(skip, item.within);
    *at += skip;
    *length = nf2_min(item.length, (run->start + run->count - item.block) * size - item.within) - skip;
    return NF2_OK;
}

int nf2_evacuate(nf2_t *fs, uint32_t id, const struct nf2_run *run, uint32_t *from, uint32_t bytes)
{
    struct victim victim = {.run = *run, .from = *from, .last = *from};
    uint32_t at, length;

    int more = nf2_index_each(fs, id, *from, find_item, &victim);
    NF2_TRY(more);
    for (uint32_t i = 0; i < victim.count && bytes > 0; i++) {
        NF2_TRY(find_data(fs, id, victim.number[i], run, &at, &length));
        for (length = nf2_min(length, bytes); length > 0;) {
            struct nf2_batch batch = nf2_batch_empty();
            int some = move_some(fs, id, at, length, &batch);
            if (some <= 0) {
                return some < 0 ? some : NF2_ERR_IO;
            }
            NF2_TRY(batch.count > 0 ? nf2_batch_commit(fs, &batch, false, NF2_TREE_SLOT, NULL) : NF2_OK);
            at += (uint32_t)some;
            length -= (uint32_t)some;
            bytes -= (uint32_t)some;
        }
    }
    *from = victim.from;
    return more > 0 && !(victim.end && victim.count == 0);
}

/* ---- giving blocks back ------------------------------------------------------------------------- */

/* Cuts the OWN entry `own` in two at block `at`, where the parts lie in different leaves: nothing is dropped. */
static NF2_APART int cut_own(nf2_t *fs, uint32_t id, const struct nf2_item *own, uint32_t at, struct nf2_batch *batch)
{
    struct nf2_node_op changes[3];
    struct nf2_item front = *own, rest = *own;

    front.length = at - own->number;
    rest.number = rest.block = at;
    rest.length = own->length - front.length;
    nf2_index_put(&changes[0], id, &rest);
    nf2_index_put(&changes[1], id, own);
    changes[1].type = NF2_NODE_MOV;
    changes[1].held = 0;
    changes[1].body = nf2_span_of(NULL, 0);
    nf2_index_put(&changes[2], id, &front);
    return nf2_batch_change(fs, changes, 3, batch, NULL);
}

/* Takes [start, start + count) out of the OWN entry `own`: one group, else it would drop what the rest owns. */
static NF2_APART int release(nf2_t *fs, uint32_t id, const struct nf2_item *own, uint32_t start, uint32_t count)
{
    struct nf2_node_op changes[2];
    struct nf2_item rest = *own;
    unsigned n = 1;

    rest.length = start - own->number;
    nf2_index_put(&changes[0], id, &rest);
    if (rest.length == 0) {
        changes[0].type = NF2_NODE_DEL;
        changes[0].held = 0;
        changes[0].body = nf2_span_of(NULL, 0);
    }
    if (start + count < own->number + own->length) {
        rest.number = rest.block = start + count;
        rest.length = own->number + own->length - rest.number;
        nf2_index_put(&changes[1], id, &rest);
        n++;
    }
    return nf2_tree_change(fs, changes, n, 0, NULL);
}

/* The OWN entry with the first block from `*block` on that the file owns: 1, 0, or an error. */
static NF2_APART int next_own(nf2_t *fs, uint32_t id, uint32_t *block, struct nf2_item *own)
{
    int found = nf2_index_seek(fs, id, NF2_INDEX_OWN, *block, NF2_AT_OR_BELOW, own);

    if (found == 0 || (found > 0 && *block - own->number >= own->length)) {
        found = nf2_index_seek(fs, id, NF2_INDEX_OWN, *block, NF2_ABOVE, own);
        *block = found > 0 ? own->number : *block;
    }
    return found;
}

int nf2_evacuate_next_owned(nf2_t *fs, uint32_t id, uint32_t *block)
{
    struct nf2_item own;

    return next_own(fs, id, block, &own);
}

int nf2_evacuate_release(nf2_t *fs, uint32_t id, const struct nf2_run *run)
{
    uint32_t block = run->start, end = block + run->count;
    struct nf2_batch batch;
    struct nf2_item own;
    int found = 0;

    while (block < end && (found = next_own(fs, id, &block, &own)) > 0 && block < end) {
        uint32_t count = nf2_min(end, own.number + own.length) - block;
        int result = release(fs, id, &own, block, count);
        if (result == NF2_SPANS_LEAVES) { /* in two first: the next turn frees the first one's end */
            result = cut_own(fs, id, &own, block + count, &batch);
            result = result == NF2_SPANS_LEAVES ? nf2_batch_commit(fs, &batch, false, NF2_TREE_SLOT, NULL) : result;
            count = 0;
        }
        NF2_TRY(result);
        block += count;
    }
    return found < 0 ? found : NF2_OK;
}
