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
        struct nf2_item own;
        int found = block > 0 ? nf2_index_seek(fs, id, NF2_INDEX_OWN, block - 1u, NF2_AT_OR_BELOW, &own) : 0;
        NF2_TRY(found);
        if (found > 0 && own.number + own.length == block && own.length < 0xFFFFu) { /* one entry for what lies side by side */
            own.length++;
        } else {
            own = nf2_owned_run(block, 1);
        }
        nf2_index_put(&change, id, &own);
        int done = nf2_tree_try(fs, &change);
        if (done > 0) {
            nf2_space_settle(fs, NF2_TREE_SLOT);
            fs->compact_owner = id;
            fs->compact_block = block;
            fs->compact_end = 0;
            return NF2_OK;
        }
        NF2_TRY(nf2_space_abandon(fs, NF2_TREE_SLOT, 0)); /* new nodes would push it out of the slot before somebody owns it */
        NF2_TRY(done);
        NF2_TRY(nf2_tree_room(fs, &change, 1));
    }
    return NF2_ERR_NOSPC;
}

/* Copies what the map says of `at` to the end of the destination, page by page. */
static int copy_data(nf2_t *fs, uint32_t id, const struct nf2_item *item, uint32_t at, uint32_t length)
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
    struct nf2_noted noted[3];
    struct nf2_stretch stretch = nf2_stretch_of(noted, 3);
    const struct nf2_item *front = NULL;
    struct nf2_item item;
    uint32_t n, bytes = nf2_block_bytes(fs);

    *copy = nf2_piece_at(at, fs->compact_block, fs->compact_end, 0);
    if (at > 0) {
        NF2_TRY(nf2_stretch_look(fs, id, at - 1u, &stretch));
        (void)nf2_stretch_at(&stretch, at - 1u, &front, &n);
    }
    if (front != NULL && front->kind == NF2_BODY_PIECE && front->block != NF2_NO_BLOCK && nf2_piece_end(front) == at &&
        front->block * bytes + front->within + front->length == fs->compact_block * bytes + fs->compact_end) {
        *copy = *front; /* one piece with what lies in front of it */
    }
    NF2_TRY(nf2_index_at(fs, id, at, &stretch, &item, &n));
    length = nf2_min(length, nf2_min(n, bytes - fs->compact_end));
    NF2_TRY(copy_data(fs, id, &item, at, length));
    copy->length += length;
    fs->compact_end = nf2_align_unit(fs, fs->compact_end + length);
    return (int)length;
}

/* The map is to refer to a copy, in several leaves: a batch of one operation, which is to be applied. */
static NF2_APART int commit_copy(nf2_t *fs, uint32_t id, const struct nf2_item *copy)
{
    struct nf2_batch batch = nf2_batch_empty();

    nf2_space_settle(fs, NF2_TREE_SLOT);
    NF2_TRY(nf2_batch_item(fs, &batch, id, copy));
    return nf2_batch_commit(fs, &batch, false, NF2_TREE_SLOT);
}

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

/* The last of the victims in front of block `before` that holds data of a mapping entry; its count is 0 if there is none. */
static struct nf2_run victim_of(const nf2_t *fs, const struct nf2_item *item, const struct nf2_victims *victims, uint32_t before)
{
    struct nf2_run best = {0, 0}, run = {0, victims->blocks};

    for (uint32_t i = 0; i < victims->count; i++) {
        run.start = victims->first[i];
        if (run.start < before && run.start >= best.start && lies_in(fs, item, &run)) {
            best = run;
        }
    }
    return best;
}

/* ---- a walk over the map ------------------------------------------------------------------------ */

#define ITEMS 6u                /* mapping entries that one look notes, and one group of records moves */

/* What a walk over some leaves of a map keeps in mind. */
struct look {
    const struct nf2_evacuation *job;
    struct nf2_item item[ITEMS];
    uint8_t bins[2u * NF2_CLEAN_BINS];     /* as they are when the present leaf is done */
    uint32_t last;              /* and the walk's place then */
    uint8_t leaves, items;
    bool more;                  /* the leaf has more of them */
};

static struct nf2_census census_of(const struct nf2_evacuation *job, uint8_t *bins)
{
    struct nf2_census census = {job->id, job->first, job->victims.blocks, NF2_CLEAN_BINS, bins, NULL, NULL};
    return census;
}

/* Nothing of the present leaf is left to be moved: it counts, whatever becomes of its bounds. */
static void leaf_done(struct look *look)
{
    const struct nf2_census counted = census_of(look->job, look->job->bins);

    for (uint32_t i = 0; counted.bin != NULL && i < counted.bins; i++) {
        if (!nf2_census_full(&counted, i)) { /* a block of it may have been taken meanwhile */
            memcpy(counted.bin + 2u * i, look->bins + 2u * i, 2);
        }
    }
    *look->job->from = look->last;
    look->leaves++;
}

/* Notes the mapping entries of a leaf that have data in the victims, and counts; 1 behind a leaf with some, or when it is enough. */
static int note_item(nf2_t *fs, void *context, const struct nf2_item *item)
{
    struct look *look = context;

    if (item == NULL) {
        if (look->items == 0) {
            leaf_done(look);
        }
        return look->items > 0 || look->leaves >= look->job->leaves;
    }
    uint32_t place = item->number | (item->kind == NF2_BODY_OWN ? NF2_INDEX_BLOCKS : 0);
    if (place < *look->job->from) {
        return 0;
    }
    look->last = nf2_max(look->last, place + 1u);
    if (victim_of(fs, item, &look->job->victims, NF2_NONE).count > 0) {
        look->more = look->more || look->items == ITEMS;
        look->item[look->items < ITEMS ? look->items++ : 0] = *item;
    }
    struct nf2_census leaf = census_of(look->job, look->bins);
    return look->job->bins != NULL ? nf2_census_item(fs, &leaf, item) : 0;
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

/* Moves what a mapping entry holds in a victim, `bytes` at most. 1: all of it, 0: there is more, or a batch is to be applied first. */
static int move_item(nf2_t *fs, uint32_t id, uint32_t number, const struct nf2_run *run, uint32_t bytes)
{
    uint32_t at, length;

    NF2_TRY(find_data(fs, id, number, run, &at, &length));
    bool all = length <= bytes;
    for (length = nf2_min(length, bytes); length > 0;) {
        struct nf2_item copy;
        NF2_TRY(destination(fs, id));
        int some = copy_some(fs, id, at, length, &copy);
        NF2_TRY(some);
        int result = nf2_index_insert(fs, id, &copy, nf2_piece_end(&copy), NULL, NF2_ONE_GROUP);
        if (result < 0 || some == 0) {
            return result < 0 ? result : NF2_ERR_IO;
        }
        if (result == NF2_SPANS_LEAVES) {
            return commit_copy(fs, id, &copy);
        }
        at += (uint32_t)some;
        length -= (uint32_t)some;
    }
    return all;
}

/* `waiting`: bytes in front of the destination's end that are not programmed. They lie in the write buffer. */
static int program_waiting(nf2_t *fs, uint32_t *waiting)
{
    uint32_t n = *waiting, from = fs->compact_end - n;

    *waiting = 0;
    return n > 0 ? nf2_flash_program(fs, fs->compact_block, from, fs->write_buffer + from % nf2_page(fs), n) : NF2_OK;
}

/* Copies a piece's data to the destination: a page is programmed when it is full. */
static int copy_piece(nf2_t *fs, const struct nf2_item *item, uint32_t *waiting)
{
    uint32_t page = nf2_page(fs);

    for (uint32_t done = 0, n; done < item->length; done += n) {
        uint32_t within = item->within + done, in_page = fs->compact_end % page;
        n = nf2_min(item->length - done, page - in_page);
        NF2_TRY(nf2_flash_read(fs, item->block, within, fs->write_buffer + in_page, n));
        uint32_t padded = nf2_align_unit(fs, n);
        memset(fs->write_buffer + in_page + n, 0xFF, padded - n);
        fs->compact_end += padded;
        *waiting += padded;
        if (fs->compact_end % page == 0) {
            NF2_TRY(program_waiting(fs, waiting));
        }
    }
    return NF2_OK;
}

/* Copies a short piece that lies in the victims whole: the item says where it lies then. 1, 0: it is to be moved otherwise, or an error. */
static int copy_short(nf2_t *fs, uint32_t id, struct nf2_item *item, const struct nf2_run *victim, uint32_t *waiting)
{
    uint32_t bytes = nf2_block_bytes(fs), last = item->block + (item->within + item->length - 1) / bytes;

    if (item->kind != NF2_BODY_PIECE || item->length > bytes || item->block < victim->start || last >= victim->start + victim->count) {
        return 0;
    }
    if (fs->compact_owner == id && fs->compact_end + item->length > bytes) {
        if (item->length > nf2_page(fs) && fs->compact_end < bytes) {
            return 0; /* in two parts */
        }
        NF2_TRY(program_waiting(fs, waiting));
        fs->compact_end = bytes;
    }
    if (*waiting == 0) { /* else it has room: the block is not new */
        NF2_TRY(destination(fs, id));
    }
    uint32_t within = fs->compact_end;
    NF2_TRY(copy_piece(fs, item, waiting));
    item->block = fs->compact_block;
    item->within = (uint16_t)within;
    return 1;
}

/* Copies items that a look has noted, from `*i` on. 1: all of them, 0: it is enough for this time, 2: `*i` is to be moved otherwise. */
static NF2_APART int copy_items(nf2_t *fs, struct look *look, uint32_t start, uint32_t *i)
{
    const struct nf2_evacuation *job = look->job;
    uint32_t first = *i, waiting = 0;
    int result = 1;

    for (; *i < look->items; ++*i) {
        struct nf2_item *item = &look->item[*i];
        uint32_t used = fs->programs - start + (*i - first) / 2u;
        if (used > 0 && used + item->length / nf2_page(fs) >= job->programs) {
            result = 0;
            break;
        }
        struct nf2_run victim = victim_of(fs, item, &job->victims, NF2_NONE);
        int copied = copy_short(fs, job->id, item, &victim, &waiting);
        NF2_TRY(copied);
        if (copied == 0) {
            result = 2;
            break;
        }
    }
    NF2_TRY(program_waiting(fs, &waiting));
    return result;
}

/*
 * A step that may program few pages sees to it that the leaf has room for the records before it copies anything: else it would replace nodes when
 * its pages are used up. 1, 0: it is enough for this time, or an error.
 */
static NF2_APART int make_room(nf2_t *fs, const struct nf2_evacuation *job, const struct nf2_item *item, uint32_t count, uint32_t start)
{
    struct nf2_node_op change[ITEMS];
    uint32_t used = fs->programs - start;

    for (uint32_t i = 0; i < count; i++) {
        nf2_index_put(&change[i], job->id, &item[i]);
        change[i].kill = 1;
    }
    int fits = job->programs != NF2_NONE && count > 0 ? nf2_tree_fits(fs, change, count) : 1;
    if (fits != 0) {
        return fits;
    }
    if (used > 0 && used + nf2_block_bytes(fs) / nf2_page(fs) > job->programs) {
        return 0;
    }
    NF2_TRY(nf2_tree_room(fs, change, count));
    return 1;
}

/* Their records, as one group. */
static NF2_APART int put_items(nf2_t *fs, uint32_t id, const struct nf2_item *item, uint32_t count)
{
    struct nf2_node_op change[ITEMS];

    for (uint32_t i = 0; i < count; i++) {
        nf2_index_put(&change[i], id, &item[i]);
    }
    int result = count > 0 ? nf2_tree_change(fs, change, count) : NF2_OK;
    for (uint32_t i = 0; i < count && result == NF2_SPANS_LEAVES; i++) { /* the leaf was replaced meanwhile */
        result = nf2_tree_change(fs, &change[i], 1);
        result = result == NF2_OK && i + 1 < count ? NF2_SPANS_LEAVES : result;
    }
    return result;
}

/* Moves what a noted item holds in the victims, if several in the last one first: what is in front of that stays under its number. 1: all of it, 0: enough. */
static int move_long(nf2_t *fs, const struct nf2_evacuation *job, const struct nf2_item *item)
{
    uint32_t block = nf2_block_bytes(fs);
    struct nf2_run victim = victim_of(fs, item, &job->victims, NF2_NONE);
    int all = 1;

    for (; victim.count > 0 && all > 0; victim = victim_of(fs, item, &job->victims, victim.start)) {
        uint32_t blocks = nf2_max(1u, nf2_min(job->programs * nf2_page(fs) / block, victim.count)); /* whole ones: pieces of a block stay whole */
        all = move_item(fs, job->id, item->number, &victim, blocks * block);
    }
    return all;
}

/* Is the piece that ends where this item begins noted behind it? The two may be one by now, which is longer than it was. */
static bool front_waits(const struct look *look, uint32_t i)
{
    bool waits = false;

    for (uint32_t j = i + 1u; j < look->items; j++) {
        waits = waits || (look->item[j].kind == NF2_BODY_PIECE && nf2_piece_end(&look->item[j]) == look->item[i].number);
    }
    return waits;
}

/* Moves the items that a look has noted. 1: all of them, or the leaf is to be looked at anew, 0: it is enough for this time. */
static int move_items(nf2_t *fs, struct look *look, uint32_t start)
{
    for (uint32_t i = 0;; i++) {
        uint32_t first = i;
        int result = make_room(fs, look->job, &look->item[i], look->items - i, start);
        if (result <= 0) {
            return result;
        }
        result = copy_items(fs, look, start, &i);
        NF2_TRY(result);
        NF2_TRY(put_items(fs, look->job->id, &look->item[first], i - first));
        if (result != 2) {
            return result;
        }
        result = move_long(fs, look->job, &look->item[i]);
        if (result <= 0) {
            return result;
        }
        if (front_waits(look, i)) {
            look->more = true;
            return 1;
        }
    }
}

int nf2_evacuate(nf2_t *fs, const struct nf2_evacuation *job)
{
    struct look look = {.job = job};
    uint32_t start = fs->programs;
    int more;

    do {
        look.items = 0;
        look.more = false;
        look.last = *job->from;
        if (job->bins != NULL) {
            memcpy(look.bins, job->bins, sizeof look.bins);
        }
        more = nf2_index_each(fs, job->id, *job->from, note_item, &look);
        NF2_TRY(more);
        if (look.items > 0) {
            int all = move_items(fs, &look, start);
            NF2_TRY(all);
            if (!all) {
                return 1;
            }
            if (!look.more) {
                leaf_done(&look);
            }
        }
    } while (more > 0 && look.leaves < job->leaves && fs->programs - start < job->programs);
    return more > 0;
}

int nf2_evacuate_all(nf2_t *fs, uint32_t id, const struct nf2_victims *victims)
{
    uint32_t from = 0, most = (uint32_t)victims->count * victims->blocks * nf2_block_bytes(fs) + NF2_FILE_MAX / nf2_block_bytes(fs);
    struct nf2_evacuation job = {id, *victims, NULL, 0, &from, NF2_NONE, NF2_NONE};
    int more = 1;

    for (uint32_t i = 0; i < most && more > 0 && !nf2_batch_waits(fs); i++) {
        more = nf2_evacuate(fs, &job);
    }
    return more > 0 && !nf2_batch_waits(fs) ? NF2_ERR_IO : more;
}

/* ---- giving blocks back ------------------------------------------------------------------------- */

/* Cuts the OWN entry `own` in two at block `at`, where the parts lie in different leaves: nothing is dropped. */
static int cut_own(nf2_t *fs, uint32_t id, const struct nf2_item *own, uint32_t at, struct nf2_batch *batch)
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
static int release(nf2_t *fs, uint32_t id, const struct nf2_item *own, uint32_t start, uint32_t count)
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
    return nf2_tree_change(fs, changes, n);
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

int nf2_evacuate_release(nf2_t *fs, uint32_t id, const struct nf2_run *run, uint32_t entries)
{
    uint32_t block = run->start, end = block + run->count;
    struct nf2_batch batch;
    struct nf2_item own;
    int found = 0;

    for (; block < end && (found = next_own(fs, id, &block, &own)) > 0 && block < end; entries--) {
        if (entries == 0) {
            return 1;
        }
        uint32_t count = nf2_min(end, own.number + own.length) - block;
        int result = release(fs, id, &own, block, count);
        if (result == NF2_SPANS_LEAVES) { /* in two first: the next turn frees the first one's end */
            result = cut_own(fs, id, &own, block + count, &batch);
            if (result == NF2_SPANS_LEAVES) {
                result = nf2_batch_commit(fs, &batch, false, NF2_TREE_SLOT);
                return result < 0 ? result : 1;
            }
            count = 0;
        }
        NF2_TRY(result);
        block += count;
    }
    return found < 0 ? found : 0;
}
