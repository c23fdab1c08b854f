/* SPDX-License-Identifier: BSD-2-Clause */
#include "compact.h"

#include "batch.h"
#include "cache.h"
#include "content.h"
#include "flash.h"
#include "frames.h"
#include "space.h"

/* Live bytes are counted for so many blocks at a time, two bytes each in the tree buffer. */
#define WINDOW_BLOCKS (NF2_TREE_BUFFER_SIZE / 2u)

#define TRIES 6u                /* replacements of leaves before a block for moved data fits in one */

/* ---- counting ----------------------------------------------------------------------------------- */

#define OWNED 0x8000u           /* of a count: the file owns the block; below it live bytes, in parts that a block of 64 KiB has enough of */

struct count {
    uint32_t id, first;
};

/* In whole program units: what a copy takes. A block full of copies is then full, and is not copied again. */
static void add_live(nf2_t *fs, uint32_t first, uint32_t block, uint32_t bytes)
{
    uint32_t part = nf2_block_bytes(fs) > 16384 ? 4 : 1;

    bytes = nf2_align_unit(fs, bytes);
    if (block - first < WINDOW_BLOCKS) {
        uint8_t *p = fs->tree_buffer + 2u * (block - first);
        uint32_t live = (nf2_get16(p) & (OWNED - 1u)) + (bytes + part - 1) / part;
        nf2_put16(p, (nf2_get16(p) & OWNED) | nf2_min(OWNED - 1u, live));
    }
}

static uint32_t live_bytes(const nf2_t *fs, uint32_t index)
{
    return (nf2_get16(fs->tree_buffer + 2u * index) & (OWNED - 1u)) * (nf2_block_bytes(fs) > 16384 ? 4u : 1u);
}

static void count_own(nf2_t *fs, uint32_t first, const struct nf2_item *own)
{
    uint32_t from = nf2_max(own->number, first), to = nf2_min(own->number + own->length, first + WINDOW_BLOCKS);

    for (uint32_t block = from; block < to; block++) {
        fs->tree_buffer[2u * (block - first) + 1u] |= OWNED >> 8;
    }
}

static int count_item(nf2_t *fs, void *context, const struct nf2_item *item)
{
    const struct count *c = context;
    uint32_t bytes = nf2_block_bytes(fs), length = item->length;

    if (item->kind == NF2_BODY_OWN) {
        count_own(fs, c->first, item);
    } else if (item->kind == NF2_BODY_FRAMES && item->block - c->first < WINDOW_BLOCKS) {
        struct nf2_item at;
        NF2_TRY(nf2_index_map(fs, c->id, item->number, &at, &length));
        add_live(fs, c->first, item->block, length == 0 ? 1 : length);
    }
    if (item->kind != NF2_BODY_PIECE || item->block == NF2_NO_BLOCK) {
        return 0;
    }
    uint32_t block = item->block, within = item->within;
    while (length > 0) {
        uint32_t n = nf2_min(length, bytes - within);
        add_live(fs, c->first, block, n);
        length -= n;
        within = 0;
        block++;
    }
    return 0;
}

/* Blocks with the list of uncommitted operations that a handle keeps on flash. */
static int count_spill(nf2_t *fs, const nf2_file_t *file, uint32_t first)
{
    uint32_t bytes = nf2_block_bytes(fs);
    struct nf2_scan scan;
    struct nf2_entry op;
    int found;

    if (file->spill_first == NF2_NONE) {
        return NF2_OK;
    }
    add_live(fs, first, file->spill_first, bytes);
    add_live(fs, first, file->spill, bytes);
    nf2_scan_begin(&scan, file->spill_first);
    while ((found = nf2_batch_next(fs, &scan, &op)) > 0) {
        add_live(fs, first, op.node, bytes);
    }
    return found;
}

/* What a handle has written and not committed counts as wholly live, unless the handle has overwritten it since. */
static int count_pending(nf2_t *fs, const nf2_file_t *file, uint32_t first)
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
            add_live(fs, first, piece.block + b, bytes);
        }
    }
    return NF2_OK;
}

static int count_handles(nf2_t *fs, uint32_t id, uint32_t first)
{
    uint32_t bytes = nf2_block_bytes(fs);

    for (const nf2_file_t *file = fs->files; file != NULL; file = file->next) {
        if (file->kind != NF2_BODY_INDEXED || file->id != id || !nf2_file_writes(file)) {
            continue;
        }
        NF2_TRY(count_pending(fs, file, first));
        NF2_TRY(count_spill(fs, file, first));
        add_live(fs, first, file->fragment_block, bytes);
        if (file->frames_at != 0) {
            add_live(fs, first, file->frames, bytes);
        }
    }
    if (fs->compact_owner == id) {
        add_live(fs, first, fs->compact_block, bytes);
    }
    return NF2_OK;
}

/* ---- giving blocks back ------------------------------------------------------------------------- */

/* Cuts the OWN entry `own` in two at block `at`, where the parts lie in different leaves: nothing is dropped. */
static NF2_APART int cut_own(nf2_t *fs, uint32_t id, const struct nf2_item *own, uint32_t at)
{
    struct nf2_index_change memory[3];
    struct nf2_node_op changes[3];
    struct nf2_item front = *own, rest = *own;

    front.length = at - own->number;
    rest.number = rest.block = at;
    rest.length = own->length - front.length;
    nf2_index_put(&memory[0], id, &rest, &changes[0]);
    nf2_index_put(&memory[1], id, own, &changes[1]);
    changes[1].type = NF2_NODE_MOV;
    changes[1].body.length = 0;
    nf2_index_put(&memory[2], id, &front, &changes[2]);
    return nf2_batch_change(fs, changes, 3, NF2_TREE_SLOT, NULL);
}

/* Takes [start, start + count) out of the OWN entry `own`: one group, else it would drop what the rest owns. */
static NF2_APART int release(nf2_t *fs, uint32_t id, const struct nf2_item *own, uint32_t start, uint32_t count)
{
    struct nf2_index_change memory[2];
    struct nf2_node_op changes[2];
    struct nf2_item rest = *own;
    unsigned n = 1;

    rest.length = start - own->number;
    nf2_index_put(&memory[0], id, &rest, &changes[0]);
    if (rest.length == 0) {
        changes[0].type = NF2_NODE_DEL;
        changes[0].body.length = 0;
    }
    if (start + count < own->number + own->length) {
        rest.number = rest.block = start + count;
        rest.length = own->number + own->length - rest.number;
        nf2_index_put(&memory[1], id, &rest, &changes[1]);
        n++;
    }
    return nf2_tree_change(fs, changes, n, 0, NULL);
}

/* ---- moving data -------------------------------------------------------------------------------- */

/* A block for moved data, owned by the file before anything refers to it. Its last bytes are used too. */
static int destination(nf2_t *fs, uint32_t id)
{
    struct nf2_index_change memory;
    struct nf2_node_op change;
    uint32_t block;

    if (fs->compact_owner == id && fs->compact_end < nf2_block_bytes(fs)) {
        return NF2_OK;
    }
    for (unsigned attempt = 0; attempt < TRIES; attempt++) {
        nf2_space_settle(fs, NF2_TREE_SLOT);
        int result = nf2_space_block(fs, NF2_TREE_SLOT, nf2_space_tree_claim(fs), &block);
        if (result != NF2_OK) {
            return result < 0 ? result : NF2_ERR_NOSPC;
        }
        struct nf2_item own = {NF2_BODY_OWN, block, block, 0, 1, 0};
        nf2_index_put(&memory, id, &own, &change);
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

/* Moves at most a page of a file's data at `at`, as the map gives it, and lets the map refer to the copy. */
static NF2_APART int move_some(nf2_t *fs, uint32_t id, uint32_t at, uint32_t length)
{
    struct nf2_index_change memory;
    struct nf2_node_op change;
    struct nf2_item item;
    uint32_t n;

    length = nf2_min(length, nf2_min(NF2_TREE_BUFFER_SIZE, nf2_page(fs)));
    NF2_TRY(destination(fs, id));
    length = nf2_min(length, nf2_block_bytes(fs) - fs->compact_end);
    NF2_TRY(nf2_index_map(fs, id, at, &item, &n));
    length = nf2_min(length, n);
    nf2_cache_lend(fs, false);
    if (item.kind == NF2_BODY_FRAMES) {
        NF2_TRY(nf2_frames_read(fs, id, item.block, item.base, at, fs->tree_buffer, length));
    } else {
        uint32_t within = item.within + (at - item.number);
        NF2_TRY(nf2_flash_read(fs, item.block + within / nf2_block_bytes(fs), within % nf2_block_bytes(fs), fs->tree_buffer, length));
    }
    NF2_TRY(nf2_flash_program(fs, fs->compact_block, fs->compact_end, fs->tree_buffer, length));
    nf2_cache_lend(fs, false);
    struct nf2_item copy = {NF2_BODY_PIECE, at, fs->compact_block, fs->compact_end, length, 0};
    fs->compact_end = nf2_align_unit(fs, fs->compact_end + length);
    int result = nf2_index_insert(fs, id, &copy, NULL, false, 0);
    if (result == NF2_SPANS_LEAVES) { /* as a batch of one operation */
        struct nf2_batch batch = nf2_batch_empty();
        uint32_t block;
        nf2_space_settle(fs, NF2_TREE_SLOT);
        result = nf2_space_block(fs, NF2_TREE_SLOT, nf2_space_tree_claim(fs), &block);
        if (result != NF2_OK) {
            return result < 0 ? result : NF2_ERR_NOSPC;
        }
        NF2_TRY(nf2_batch_extend(fs, &batch, block));
        nf2_index_put(&memory, id, &copy, &change);
        NF2_TRY(nf2_batch_add(fs, &batch, &change, 1));
        NF2_TRY(nf2_batch_commit(fs, &batch, false, NF2_TREE_SLOT, NULL));
    }
    return result < 0 ? result : (int)length;
}

#define VICTIM_ITEMS 16u        /* mapping entries that one walk over the map notes */

struct victim {
    uint32_t block, count;
    uint32_t number[VICTIM_ITEMS];
};

static bool lies_in(const nf2_t *fs, const struct nf2_item *item, uint32_t block)
{
    if (item->kind == NF2_BODY_PIECE && item->block != NF2_NO_BLOCK && item->length > 0) {
        return block >= item->block && block <= item->block + (item->within + item->length - 1) / nf2_block_bytes(fs);
    }
    return item->kind == NF2_BODY_FRAMES && item->block == block;
}

/* Notes a mapping entry with data in the victim block; 1 when no more can be noted. */
static int find_victim_item(nf2_t *fs, void *context, const struct nf2_item *item)
{
    struct victim *victim = context;

    if (lies_in(fs, item, victim->block)) {
        victim->number[victim->count++] = item->number;
    }
    return victim->count == VICTIM_ITEMS;
}

/* Moves what the mapping entry `number` holds in a block, if it still does. */
static int move_item(nf2_t *fs, uint32_t id, uint32_t number, uint32_t block)
{
    struct nf2_item item;
    uint32_t at = number, end, length;

    int found = nf2_index_seek(fs, id, NF2_INDEX_MAP, number, NF2_AT_OR_BELOW, &item);
    NF2_TRY(found);
    if (!found || item.number != number || !lies_in(fs, &item, block)) {
        return NF2_OK;
    }
    if (item.kind == NF2_BODY_FRAMES) {
        NF2_TRY(nf2_index_map(fs, id, at, &item, &length));
        end = at + length;
    } else {
        uint32_t bytes = nf2_block_bytes(fs), block_start = (block - item.block) * bytes;
        at += block_start > item.within ? block_start - item.within : 0;
        end = nf2_min(item.number + item.length, item.number + block_start + bytes - item.within);
    }
    while (at < end) {
        int moved = move_some(fs, id, at, end - at);
        if (moved <= 0) {
            return moved < 0 ? moved : NF2_ERR_IO;
        }
        at += (uint32_t)moved;
    }
    return NF2_OK;
}

static int empty_block(nf2_t *fs, uint32_t id, uint32_t block)
{
    struct victim victim = {.block = block};

    for (uint32_t i = 0; i < nf2_block_bytes(fs); i++) {
        victim.count = 0;
        NF2_TRY(nf2_index_each(fs, id, find_victim_item, &victim));
        if (victim.count == 0) {
            return NF2_OK;
        }
        for (uint32_t item = 0; item < victim.count; item++) {
            NF2_TRY(move_item(fs, id, victim.number[item], block));
        }
    }
    return NF2_ERR_IO;
}

/* ---- steps -------------------------------------------------------------------------------------- */

#define DEAD_RUNS 8u            /* that one look notes */

/* What a look at a window of blocks found: runs that nothing live lies in, and the emptiest of the others. */
struct finding {
    struct nf2_run dead[DEAD_RUNS];
    uint32_t dead_runs, victim, least;
};

static void note_dead(struct finding *finding, uint32_t block)
{
    struct nf2_run *last = finding->dead_runs > 0 ? &finding->dead[finding->dead_runs - 1u] : NULL;

    if (last != NULL && last->start + last->count == block) {
        last->count++;
    } else if (finding->dead_runs < DEAD_RUNS) {
        finding->dead[finding->dead_runs].start = block;
        finding->dead[finding->dead_runs++].count = 1;
    }
}

/* Counts what is live in the blocks of a file in the window from `first` on. */
static NF2_APART int look_at_window(nf2_t *fs, uint32_t id, uint32_t first, struct finding *finding)
{
    struct count c = {id, first};

    finding->dead_runs = 0;
    finding->victim = NF2_NONE;
    nf2_cache_lend(fs, true);
    int result = nf2_index_each(fs, id, count_item, &c);
    result = result < 0 ? result : count_handles(fs, id, first);
    for (uint32_t i = 0; i < WINDOW_BLOCKS; i++) {
        uint32_t live = live_bytes(fs, i);
        if ((nf2_get16(fs->tree_buffer + 2u * i) & OWNED) == 0) {
            continue;
        }
        if (live == 0) {
            note_dead(finding, first + i);
        } else if (finding->victim == NF2_NONE || live < finding->least) {
            finding->least = live;
            finding->victim = first + i;
        }
    }
    nf2_cache_lend(fs, false);
    return result;
}

/* Gives back a run of blocks without live data, whatever OWN entries it lies in. */
static NF2_APART int release_run(nf2_t *fs, uint32_t id, const struct nf2_run *dead)
{
    struct nf2_item own;

    for (uint32_t start = dead->start, end = start + dead->count; start < end;) {
        int found = nf2_index_seek(fs, id, NF2_INDEX_OWN, start, NF2_AT_OR_BELOW, &own);
        if (found <= 0 || start - own.number >= own.length) {
            return found < 0 ? found : NF2_ERR_IO;
        }
        uint32_t count = nf2_min(end, own.number + own.length) - start;
        int result = release(fs, id, &own, start, count);
        if (result == NF2_SPANS_LEAVES) { /* in two first: the next turn frees the first one's end */
            result = cut_own(fs, id, &own, start + count);
            count = 0;
        }
        NF2_TRY(result);
        start += count;
    }
    return NF2_OK;
}

/* Handles start a new run of blocks: the present one may lose some. */
static int record_handles(nf2_t *fs, uint32_t id)
{
    for (nf2_file_t *file = fs->files; file != NULL; file = file->next) {
        if (file->kind == NF2_BODY_INDEXED && file->id == id && nf2_file_writes(file)) {
            NF2_TRY(nf2_indexed_record(fs, file));
        }
    }
    return NF2_OK;
}

/* The next block that the file owns from `block` on: 1, 0, or an error. */
static int next_owned(nf2_t *fs, uint32_t id, uint32_t *block)
{
    struct nf2_item own;
    int found = nf2_index_seek(fs, id, NF2_INDEX_OWN, *block, NF2_AT_OR_BELOW, &own);

    if (found == 0 || (found > 0 && *block - own.number >= own.length)) {
        found = nf2_index_seek(fs, id, NF2_INDEX_OWN, *block, NF2_ABOVE, &own);
        *block = found > 0 ? own.number : *block;
    }
    return found;
}

/* Looks at windows of the file's blocks until one has something to do. */
static int compact_file(nf2_t *fs, uint32_t id, uint32_t live)
{
    uint32_t part = nf2_block_bytes(fs) / 16u;
    struct finding finding;
    int found;

    NF2_TRY(record_handles(fs, id));
    while ((found = next_owned(fs, id, &fs->compact_from)) > 0) {
        NF2_TRY(look_at_window(fs, id, fs->compact_from, &finding));
        for (uint32_t i = 0; i < finding.dead_runs; i++) {
            NF2_TRY(release_run(fs, id, &finding.dead[i]));
        }
        if (finding.dead_runs > 0) {
            return 1;
        }
        if (finding.victim != NF2_NONE && finding.least <= part * live) {
            fs->compact_live = (uint8_t)nf2_min(finding.least / part + 1u, NF2_COMPACT_ALL);
            NF2_TRY(empty_block(fs, id, finding.victim));
            return 1;
        }
        fs->compact_from += WINDOW_BLOCKS;
    }
    fs->compact_from = 0;
    return found;
}

int nf2_compact_step(nf2_t *fs, uint32_t live)
{
    static const uint8_t none[1] = {0};
    struct nf2_entry entry;
    bool urgent = fs->urgent;

    for (;;) {
        struct nf2_key key = nf2_key_of(fs->compact_id, none, 0);
        int found = nf2_tree_seek(fs, &key, NF2_AT_OR_ABOVE, &entry);
        if (found <= 0 || entry.id == NF2_NONE) {
            fs->compact_id = fs->compact_from = 0;
            fs->compact_again = (uint8_t)(fs->compact_again - (fs->compact_again > 0));
            return found < 0 ? found : 0;
        }
        fs->compact_from = entry.id == fs->compact_id ? fs->compact_from : 0;
        fs->compact_id = entry.id;
        uint8_t kind;
        NF2_TRY(nf2_body_read(fs, &entry, 0, &kind, 1));
        if (kind >= NF2_BODY_PIECE && kind <= NF2_BODY_OWN) {
            fs->urgent = true;
            int result = compact_file(fs, entry.id, live);
            fs->urgent = urgent;
            if (result != 0) {
                return result;
            }
        }
        fs->compact_id++;
    }
}
