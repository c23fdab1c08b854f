/* SPDX-License-Identifier: BSD-2-Clause */
#include "journal.h"

#define LEAST_BLOCKS 4u         /* to be known as free where a cut session turns the log */
#define IDS_AHEAD 64u           /* ids that a CHECKPOINT gives out in advance */

/* ---- what a CHECKPOINT holds ----------------------------------------------------------------- */

/*
 * Runs of fields that lie together and are of one size: 0 stands for bools. On record they follow
 * each other.
 */
#define END_OF(field) (offsetof(nf2_t, field) + sizeof ((nf2_t *)NULL)->field)
#define RUN(first, last, size) \
    {offsetof(nf2_t, first), (uint8_t)(END_OF(last) - offsetof(nf2_t, first)), size}
static const struct run {
    uint16_t at;
    uint8_t bytes, size;
} runs[] = {
    RUN(root.volume_id, root.id_limit, 4), RUN(root_next, group_at, 2),
    RUN(root.unclean_mounts, root.bad, 2),
    RUN(root_level, bads, 1), RUN(clean, leaky, 0), RUN(bad_flags, bad_flags, 1),
    RUN(erases, erased_groups, 4), RUN(free, ahead, 2),
    RUN(space.nodes.start, space.nodes.start, 2), RUN(space.nodes.count, space.nodes.erased, 1),
    RUN(space.data.start, space.data.start, 2), RUN(space.data.count, space.data.erased, 1),
    RUN(fresh, now_fresh, 0), RUN(space.now, space.now, 1),
};
#define RUNS_END (runs + sizeof runs / sizeof runs[0])

static bool little(void)
{
    const uint16_t one = 1;
    return *(const uint8_t *)&one == 1;
}

/* From the order of bytes in RAM to that of a record, or back; of bools one bit counts. */
static void turn_run(const struct run *run, uint8_t *at)
{
    for (uint32_t i = 0; i < run->bytes; i++) {
        uint32_t other = little() || run->size == 0 ? i : i ^ (run->size - 1u);
        uint8_t byte = at[i];
        if (run->size == 0) {
            at[i] &= 1;
        } else if (other > i) {
            at[i] = at[other];
            at[other] = byte;
        }
    }
}

/* Copies a record of the head into a new log: its place there, 0 if there is none. */
static NF2_APART uint16_t copy(nf2_t *fs, struct nf2_writer *writer, unsigned type, uint32_t at,
                               uint32_t length)
{
    struct nf2_span body = nf2_span_at(fs->root_head, at, 2, length);

    if (at == 0) {
        return 0;
    }
    at = nf2_writer_open(fs, writer, type, length);
    nf2_writer_span(fs, writer, &body);
    nf2_writer_close(fs, writer);
    return (uint16_t)at;
}

/*
 * Appends one to the log in a block, which is the head from then on; where that fails the head
 * stays, and what waits in it is read there. In a new log the VOLUME goes along, and a GROUP that
 * waits: the block that it was in may be the next one, as the only one that is known to be free.
 * The CHECKPOINT names none then: the copy behind it counts.
 */
static int write_state(nf2_t *fs, uint32_t block)
{
    uint32_t at = fs->group_at, volume_at = fs->root.volume_at;
    struct nf2_writer writer;

    NF2_ASSERT(fs->bads <= NF2_BAD_MAX && fs->root_node < fs->blocks && fs->epoch != 0);
    fs->root.id_limit = fs->root.next_id + (fs->clean ? 0 : IDS_AHEAD);
    nf2_writer_begin(&writer, block, fs->root_end);
    if (block != fs->root_head) {
        writer.more = at + volume_at != 0;
        fs->group_at = 0;
    }
    (void)nf2_writer_open(fs, &writer, NF2_ROOT_CHECKPOINT, NF2_STATE_BYTES);
    for (const struct run *run = runs; run < RUNS_END; run++) {
        uint8_t *fields = (uint8_t *)fs + run->at;
        if (!little()) {
            turn_run(run, fields);
        }
        nf2_writer_put(fs, &writer, fields, run->bytes);
        if (!little()) {
            turn_run(run, fields);
        }
    }
    nf2_writer_close(fs, &writer);
    if (writer.more) {
        writer.more = at != 0;
        fs->root.volume_at = copy(fs, &writer, NF2_ROOT_VOLUME, volume_at, fs->root.volume_bytes);
        writer.more = false;
        fs->group_at = copy(fs, &writer, NF2_ROOT_GROUP, at, fs->root.group_bytes);
    }
    int result = nf2_journal_end(fs, &writer);
    if (result < 0) {
        fs->group_at = (uint16_t)at;
        fs->root.volume_at = (uint16_t)volume_at;
    } else {
        fs->root_head = block;
    }
    return result;
}

/* Takes the one at a place of the head. */
static int read_state(nf2_t *fs, uint32_t place)
{
    struct nf2_space *space = &fs->space;
    uint32_t at = 2, volume_id = fs->root.volume_id;

    for (const struct run *run = runs; run < RUNS_END; at += run->bytes, run++) {
        uint8_t *fields = (uint8_t *)fs + run->at;
        NF2_TRY(nf2_record_read(fs, fs->root_head, place, at, fields, run->bytes));
        turn_run(run, fields);
    }
    NF2_ASSERT(at == 2 + NF2_STATE_BYTES);
    fs->now_free = (uint16_t)nf2_space_count(space->now);
    bool valid = space->nodes.erased <= space->nodes.count &&
                 space->data.erased <= space->data.count && fs->bads <= NF2_BAD_MAX &&
                 fs->root_level < NF2_LEVELS && fs->now_window < nf2_windows(fs) &&
                 fs->root.volume_id == volume_id;
    return valid ? NF2_OK : NF2_ERR_CORRUPT;
}

/* ---- reading the log ------------------------------------------------------------------------- */

/*
 * The epoch of the last session: of one that was cut in its first CHECKPOINT only the torn page is
 * left.
 */
static uint16_t last_epoch(const nf2_t *fs, const struct nf2_scan *scan)
{
    uint16_t torn = scan->bad_epoch;
    bool later = scan->bad && torn == nf2_epoch_code(torn) &&
                 nf2_epochs_between(fs->epoch, torn) < 2048;

    return later ? torn : fs->epoch;
}

/*
 * The last log: where an anchor is lost, or a cut came in front of it, the log goes on in the block
 * that the head names as the next one. What that was before has fewer erases, or was erased. A read
 * that fails must not end the search: an older log would be gone on with.
 */
static NF2_APART int find_head(nf2_t *fs)
{
    struct nf2_scan scan;
    struct nf2_record record;
    uint32_t block = fs->root_head, erases = 0;

    for (uint32_t i = fs->blocks; i > 0 && block < fs->blocks; i--) {
        nf2_scan_begin(&scan, block);
        int found = nf2_scan_page(fs, &scan);
        NF2_TRY(found);
        if (scan.epoch != nf2_epoch_code(scan.epoch)) {
            break; /* it is blank, or has what it had before: to search that takes long */
        }
        found = nf2_scan_next(fs, &scan, &record);
        NF2_TRY(found);
        if (found == 0 || record.type != NF2_ROOT_CHECKPOINT ||
            record.length != NF2_RECORD_OVERHEAD + NF2_STATE_BYTES) {
            break;
        }
        const uint8_t *p = nf2_peek(fs, block, record.offset + 2u, NF2_STATE_ERASES + 4u);
        NF2_TRY(p != NULL ? NF2_OK : NF2_ERR_IO);
        if (nf2_get32(p + NF2_STATE_VOLUME) != fs->root.volume_id ||
            nf2_get32(p + NF2_STATE_ERASES) < erases) {
            break;
        }
        erases = nf2_get32(p + NF2_STATE_ERASES) + p[NF2_STATE_SUSPECT];
        fs->root.super_sequence++; /* no anchor that is lost has that of the next one */
        fs->root_head = block;
        block = nf2_get16(p + NF2_STATE_NEXT);
    }
    return NF2_OK;
}

int nf2_journal_read(nf2_t *fs)
{
    struct nf2_scan scan;
    struct nf2_record record;
    uint32_t anchored = fs->root_head, state = 0, group_at = 0;
    struct nf2_root *root = &fs->root;
    uint16_t anchor = fs->root_end; /* the epoch of its page */
    int found;

    NF2_NEAR(root);
    NF2_ASSERT(fs->root_head < fs->blocks && fs->epoch == 0);
    NF2_TRY(find_head(fs));
    nf2_scan_begin(&scan, fs->root_head);
    /*
     * the last CHECKPOINT counts, and a GROUP behind it, or the last one in front if it says so;
     * and the last VOLUME
     */
    while ((found = nf2_scan_next(fs, &scan, &record)) > 0) {
        uint32_t bytes = record.length - NF2_RECORD_OVERHEAD, most = NF2_GROUP_BYTES_MAX;
        if (record.type > NF2_ROOT_GROUP) {
            return NF2_ERR_VERSION;
        }
        if (record.type == NF2_ROOT_CHECKPOINT) {
            state = bytes == NF2_STATE_BYTES ? record.offset : 0;
        } else if (record.type == NF2_ROOT_GROUP) {
            group_at = record.offset;
            root->group_bytes = (uint16_t)bytes;
        } else if (record.type != NF2_ROOT_VOLUME) {
            state = 0;
        } else {
            most = NF2_VOLUME_BYTES_MAX;
            root->volume_at = record.offset;
            root->volume_bytes = (uint16_t)bytes;
        }
        NF2_TRY(state != 0 && bytes <= most ? NF2_OK : NF2_ERR_CORRUPT);
    }
    NF2_TRY(found);
    if (state == 0 || scan.damaged) {
        return NF2_ERR_CORRUPT;
    }
    /*
     * Serials are not on record: each session counts from 1 on. With a place in the CHECKPOINT that
     * is where root->serial comes from, 1,024 more after a cut, and a CHECKPOINT comes before the
     * 1,024th serial since the last one.
     */
    NF2_TRY(read_state(fs, state));
    if (root->volume_bytes > 0) { /* the tag of the first field */
        NF2_TRY(nf2_record_read(fs, fs->root_head, root->volume_at, 2, &root->classes, 1));
        NF2_TRY((root->classes & NF2_FIELD_REFUSE) != 0 ? NF2_ERR_VERSION : NF2_OK);
    }
    bool last = fs->group_at == group_at && group_at < state;
    NF2_TRY(fs->group_at == 0 || last ? NF2_OK : NF2_ERR_CORRUPT);
    if (group_at > state) {
        fs->group_at = (uint16_t)group_at;
        fs->clean = false;
    }
    fs->root.next_id = NF2_BROKEN(NF2_FAULT_ID) ? fs->root.next_id : fs->root.id_limit;
    fs->epoch = scan.last_epoch;
    bool torn = scan.bad &&
                (scan.dirty_end || scan.used_end > nf2_page_end(scan.last_end - 1u));
    /* A turn without its anchor was cut in that, of which the super block may have a part. */
    fs->anchor_due = fs->root_head != anchored;
    /* A session wrote that anchor, and no more than a part of its first CHECKPOINT. */
    bool begun = nf2_epochs_between(fs->epoch, anchor) - 1u < 2047u;
    /* torn: in its first CHECKPOINT */
    fs->cut = !fs->clean || torn || fs->anchor_due || begun ? 1u | NF2_PUTS_OFF : 0;
    if (fs->cut) { /* what was claimed and not used is found by the walk */
        memset(&fs->space.nodes, 0, sizeof fs->space.nodes);
        memset(&fs->space.data, 0, sizeof fs->space.data);
        /* it may have been cut in a turn */
        fs->next_suspect = fs->next_suspect || !NF2_BROKEN(NF2_FAULT_SUSPECT);
        uint16_t before = fs->epoch;
        fs->epoch = begun ? anchor : before;
        fs->epoch = nf2_epoch_code(last_epoch(fs, &scan) +
                                   (NF2_BROKEN(NF2_FAULT_EPOCH) ? 0u : 1u));
        /* those that were cut in their first CHECKPOINT count, too */
        uint32_t unclean = fs->root.unclean_mounts + nf2_epochs_between(before, fs->epoch);
        fs->root.unclean_mounts = (uint16_t)nf2_min(unclean, UINT16_MAX);
        fs->leaky = true;
    }
    fs->root_end = (uint16_t)nf2_scan_append_at(fs, &scan);
    /*
     * A session that was cut in its first program may have left no trace of it, and the next one
     * programs the same place. With units that are programmed once it must not: all goes into
     * blocks that are erased first.
     */
    if (fs->flash->program_unit > 1 && !NF2_BROKEN(NF2_FAULT_ONCE)) {
        fs->next_suspect = true;
        fs->root_end = UINT16_MAX;
        if (fs->anchor_due) {
            nf2_super_forget(fs);
        }
    }
    return NF2_OK;
}

/* ---- writing --------------------------------------------------------------------------------- */

void nf2_journal_bad(nf2_t *fs, uint32_t block)
{
    NF2_ASSERT(block < fs->blocks);
    nf2_space_take(fs, block, 1);
    if (nf2_space_bad_listed(fs, block) || NF2_BROKEN(NF2_FAULT_BAD)) {
        return;
    }
    /*
     * Too many in one call: the last one is found anew when it fails again. The first ones stay:
     * the leaf that a GROUP waits for may be among them.
     */
    if (fs->bads == NF2_BAD_MAX) {
        fs->bads--;
    }
    fs->root.bad[fs->bads++] = (uint16_t)block;
}

void nf2_journal_bad_done(nf2_t *fs, uint32_t block)
{
    unsigned kept = 0;

    NF2_ASSERT(fs->bads <= NF2_BAD_MAX);
    /* more that failed meanwhile may have taken its place */
    for (unsigned i = 0; i < fs->bads; i++) {
        if (fs->root.bad[i] != block) {
            fs->root.bad[kept++] = fs->root.bad[i];
        }
    }
    fs->bads = (uint8_t)kept;
}

/*
 * The claim that the log's next block comes from: where there is none for nodes, a free block
 * becomes it; where the block for a turn failed and none is left, one that was freed.
 */
static NF2_APART struct nf2_claim *next_claim(nf2_t *fs)
{
    struct nf2_claim *nodes = &fs->space.nodes;
    uint32_t block = nodes->start;

    NF2_NEAR(nodes);
    if (nodes->count == 0) {
        bool found = nf2_space_find(fs, 1, NF2_SPACE_RESTS, &block) > 0;
        if (found || (fs->root_next == fs->root_head && fs->freed_count > 0)) {
            block = found ? block : fs->space.freed[--fs->freed_count];
            nodes->start = (uint16_t)block;
            nodes->erased = (uint8_t)(found ? nf2_space_erased(fs, block, 1) : 0);
            nodes->count = 1;
            nf2_space_take(fs, block, 1);
        }
    }
    return nodes->count > 0 ? nodes : &fs->space.data;
}

void nf2_journal_prepare(nf2_t *fs)
{
    if (!fs->opened && !nf2_log_fits(fs, fs->root_end, NF2_GROUP_BYTES_MAX)) {
        struct nf2_claim *claim = next_claim(fs);
        claim->erased = (uint8_t)nf2_min(claim->erased, claim->count - 1u);
    }
}

/* Sets the block for the log's next turn: `block` only where there is no other one. */
static void find_next(nf2_t *fs, uint32_t block)
{
    struct nf2_claim *claim = next_claim(fs);

    fs->next_suspect = true;
    if (claim->count > 0) {
        block = nf2_claim_last(claim, &fs->next_suspect);
    }
    fs->root_next = (uint16_t)block;
}

/*
 * The block for a turn failed: the one that is taken now goes on record in the old log, where that
 * has room. Where it has none, or failed, a cut may leave a torn page in a block that no record
 * names. The next session gets here, too, before it takes any other block, and trusts none to be
 * erased. The old log's end is returned.
 */
static uint32_t pass_over(nf2_t *fs, uint32_t end)
{
    fs->now_fresh = false;
    fs->erased_groups = 0;
    fs->ahead = 0;
    fs->next_suspect = true;
    fs->root_end = (uint16_t)end;
    if (nf2_log_fits(fs, end, NF2_STATE_BYTES)) {
        (void)write_state(fs, fs->root_head);  /* if it fails that log is full */
    }
    return fs->root_end;
}

/* Goes on in the next block; a bad one is passed over. The anchor is the commit. */
static NF2_APART int turn(nf2_t *fs)
{
    uint32_t old = fs->root_head, end = fs->root_end;
    int result = NF2_FAILED_BLOCK;

    for (uint32_t tries = nf2_journal_tries(fs); tries > 0 && result == NF2_FAILED_BLOCK; tries--) {
        bool suspect = fs->next_suspect && !NF2_BROKEN(NF2_FAULT_NEXT);
        uint32_t block = fs->root_next;
        find_next(fs, old);
        if (block == old) {     /* what the anchor names: there was no other one */
            continue;
        }
        result = suspect ? nf2_flash_erase(fs, block, 1) : NF2_OK;
        fs->erases += suspect;
        fs->root_end = 0;
        if (result == NF2_OK) {
            result = write_state(fs, block);
        }
        if (result == NF2_OK) {
            result = NF2_BROKEN(NF2_FAULT_TURN) && fs->mounted ? NF2_OK : nf2_super_write(fs);
        } else if (result == NF2_FAILED_BLOCK) {
            nf2_journal_bad(fs, block);
            nf2_super_forget(fs);
            end = pass_over(fs, end);
        }
    }
    if (result < 0) {           /* what is known of the log is not what is there */
        fs->broken = true;
    } else if (old != 0 && old != fs->root_next && fs->group_at == 0) { /* in a format it is 0 */
        nf2_space_freed(fs, old);
    }
    return result == NF2_FAILED_BLOCK ? NF2_ERR_IO : result;
}

int nf2_journal_room(nf2_t *fs, uint32_t length)
{
    NF2_ASSERT(fs->opened);
    return nf2_log_fits(fs, fs->root_end, length) ? NF2_OK : turn(fs);
}

int nf2_journal_end(nf2_t *fs, struct nf2_writer *writer)
{
    int result = nf2_writer_end(fs, writer);

    if (writer->begun) {
        /* full by decree */
        fs->root_end = (uint16_t)(result == NF2_OK ? writer->position : nf2_log_bytes(fs));
    }
    if (result == NF2_FAILED_BLOCK) {
        nf2_journal_bad(fs, writer->block);
    }
    return result;
}

static NF2_APART int checkpoint(nf2_t *fs, bool clean)
{
    int result = NF2_FAILED_BLOCK;

    if (fs->read_only) {
        return NF2_ERR_ROFS;
    }
    nf2_journal_prepare(fs);
    /* before a block that led to the head has another use: `next` may be one */
    if (fs->anchor_due) {
        NF2_TRY(nf2_super_write(fs));
        fs->anchor_due = false;
    }
    fs->clean = clean;
    if (nf2_log_fits(fs, fs->root_end, NF2_STATE_BYTES)) {
        result = write_state(fs, fs->root_head);
    }
    if (result == NF2_FAILED_BLOCK) {
        result = turn(fs); /* it writes one, too */
    }
    if (result == NF2_OK) {
        fs->opened = true;
    }
    return result;
}

int nf2_journal_checkpoint(nf2_t *fs)
{
    return checkpoint(fs, false);
}

int nf2_journal_close(nf2_t *fs)
{
    return checkpoint(fs, true);
}

/*
 * A CHECKPOINT that goes behind others says what the mount knew: cut, it may leave no trace, and
 * the next session programs the same in the same place. So no walk comes before it. The one that a
 * turn writes behind a cut lies in a block that is erased first.
 */
int nf2_journal_open(nf2_t *fs)
{
    fs->opened = fs->opened || NF2_BROKEN(NF2_FAULT_OPENING);
    if (fs->opened) {
        return NF2_OK;
    }
    if (fs->cut && fs->now_free < LEAST_BLOCKS &&
        !nf2_log_fits(fs, fs->root_end, NF2_GROUP_BYTES_MAX)) {
        fs->root_end = UINT16_MAX;
        return NF2_NEED_SPACE;
    }
    return nf2_journal_checkpoint(fs);
}

int nf2_journal_id(nf2_t *fs, uint32_t *id)
{
    struct nf2_root *root = &fs->root;

    NF2_NEAR(root);
    NF2_ASSERT(id != NULL && root->next_id <= root->id_limit);
    if (root->next_id >= root->id_limit) {
        NF2_TRY(nf2_journal_checkpoint(fs));
    }
    *id = root->next_id++;
    return NF2_OK;
}
