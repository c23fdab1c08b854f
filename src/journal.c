/* SPDX-License-Identifier: BSD-2-Clause */
#include "journal.h"

#define LEAST_BLOCKS 4u         /* to be known as free where a cut session turns the log */
#define IDS_AHEAD 64u           /* ids that a CHECKPOINT gives out in advance */
#define STATE_RECORD (NF2_STATE_BYTES + NF2_RECORD_OVERHEAD)

/* ---- what a CHECKPOINT holds ----------------------------------------------------------------- */

#define FIXED NF2_STATE_REGIONS         /* bytes in front of the states of regions, */
#define BEHIND (NF2_STATE_BYTES - NF2_STATE_CLAIMS)     /* and behind them */

/* What stands in front of the states of the regions. */
static void store_fixed(const nf2_t *fs, uint8_t *p)
{
    const struct nf2_root *root = &fs->root;

    memset(p, 0, FIXED);
    nf2_put32(p + NF2_STATE_VOLUME, root->volume_id);
    nf2_put32(p + NF2_STATE_ID_LIMIT, root->id_limit);
    nf2_put16(p + NF2_STATE_NEXT, fs->root_next);
    nf2_put16(p + NF2_STATE_ROOT, fs->root_node);
    nf2_put16(p + NF2_STATE_BASE, fs->root_base);
    nf2_put16(p + NF2_STATE_GROUP_AT, fs->group_at);
    nf2_put16(p + NF2_STATE_UNCLEAN, root->unclean_mounts);
    for (unsigned i = 0; i < NF2_BAD_MAX; i++) {
        nf2_put16(p + NF2_STATE_BAD + 2u * i, root->bad[i]);
    }
    p[NF2_STATE_LEVEL] = (uint8_t)(fs->root_level | fs->bads << 4);
    p[NF2_STATE_FLAGS] = (uint8_t)((fs->clean ? NF2_FLAG_CLEAN : 0u) |
                                   (fs->next_suspect ? NF2_FLAG_SUSPECT : 0u) |
                                   (fs->leaky ? NF2_FLAG_LEAKY : 0u) |
                                   (uint32_t)fs->bad_flags * NF2_FLAG_BAD);
    nf2_put32(p + NF2_STATE_SERIAL, root->serial);
    nf2_put32(p + NF2_STATE_ERASES, fs->erases);
}

/* Of these the volume id is known before. */
static int load_fixed(nf2_t *fs, const uint8_t *p)
{
    struct nf2_root *root = &fs->root;
    uint32_t flags = p[NF2_STATE_FLAGS];

    if (nf2_get32(p + NF2_STATE_VOLUME) != root->volume_id) {
        return NF2_ERR_CORRUPT;
    }
    root->id_limit = nf2_get32(p + NF2_STATE_ID_LIMIT);
    fs->root_next = nf2_get16(p + NF2_STATE_NEXT);
    fs->root_node = nf2_get16(p + NF2_STATE_ROOT);
    fs->root_base = nf2_get16(p + NF2_STATE_BASE);
    fs->group_at = nf2_get16(p + NF2_STATE_GROUP_AT);
    root->unclean_mounts = nf2_get16(p + NF2_STATE_UNCLEAN);
    for (unsigned i = 0; i < NF2_BAD_MAX; i++) {
        root->bad[i] = nf2_get16(p + NF2_STATE_BAD + 2u * i);
    }
    fs->root_level = p[NF2_STATE_LEVEL] & 15u;
    fs->bads = p[NF2_STATE_LEVEL] >> 4;
    fs->clean = (flags & NF2_FLAG_CLEAN) != 0;
    fs->next_suspect = (flags & NF2_FLAG_SUSPECT) != 0;
    fs->leaky = (flags & NF2_FLAG_LEAKY) != 0;
    fs->bad_flags = (uint8_t)(flags / NF2_FLAG_BAD & 15u);
    root->serial = root->serial_recorded = nf2_get32(p + NF2_STATE_SERIAL);
    fs->erases = nf2_get32(p + NF2_STATE_ERASES);
    if ((p[NF2_STATE_LEVEL] & NF2_LEVEL_SPARE) != 0) {
        return NF2_ERR_VERSION;
    }
    return fs->root_level < NF2_LEVELS && fs->bads <= NF2_BAD_MAX ? NF2_OK : NF2_ERR_CORRUPT;
}

/* What stands behind them: of each writer the next block, how many of those are claimed, erased. */
static void store_behind(const nf2_t *fs, uint8_t *p)
{
    const struct nf2_space *space = &fs->space;

    memset(p, 0, BEHIND);
    for (unsigned i = 0; i < NF2_WRITERS; i++, p += 4) {
        nf2_put16(p, space->claim[i].start);
        p[2] = space->claim[i].count;
        p[3] = space->claim[i].erased;
    }
    memcpy(p, space->taken, NF2_TAKEN_MAX);
    p[NF2_TAKEN_MAX] = space->taken_count;
    p[NF2_TAKEN_MAX + 1u] = (uint8_t)(space->region_log | space->shift << 4);
    nf2_put16(p + NF2_TAKEN_MAX + 2u, fs->root.sequence);
}

static int load_behind(nf2_t *fs, const uint8_t *p)
{
    struct nf2_space *space = &fs->space;

    for (unsigned i = 0; i < NF2_WRITERS; i++, p += 4) {
        struct nf2_claim *claim = &space->claim[i];
        claim->start = nf2_get16(p);
        claim->count = p[2];
        claim->erased = p[3];
        if (claim->start > fs->blocks || claim->start + nf2_claim_rest(fs, claim) > fs->blocks ||
            claim->erased > nf2_claim_rest(fs, claim)) {
            return NF2_ERR_CORRUPT;
        }
    }
    memcpy(space->taken, p, NF2_TAKEN_MAX);
    space->taken_count = p[NF2_TAKEN_MAX];
    uint32_t ahead = (nf2_get16(p + NF2_TAKEN_MAX + 2u) - fs->root.anchor) & 0xFFFFu;
    fs->root.sequence = fs->root.anchor + (ahead < 0x8000u ? ahead : 0);
    bool valid = space->taken_count <= NF2_TAKEN_MAX &&
                 p[NF2_TAKEN_MAX + 1u] == (space->region_log | space->shift << 4);
    return valid ? NF2_OK : NF2_ERR_CORRUPT;
}

/*
 * A walk that was on is not gone on with: its victims are in use again. Regions of super blocks are
 * never free, whatever a record says.
 */
static void load_regions(nf2_t *fs)
{
    nf2_regions_count(fs);
    for (uint32_t region = 0; region < fs->space.regions; region++) {
        bool super = nf2_region_first(fs, region) < NF2_SUPER_BLOCKS;
        if (super || nf2_region_state(fs, region) == NF2_REGION_VICTIM) {
            nf2_region_set(fs, region, NF2_REGION_USED);
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
    nf2_writer_copy(fs, writer, &body);
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
    uint8_t bytes[FIXED];

    NF2_ASSERT(fs->bads <= NF2_BAD_MAX && fs->root_node < fs->blocks && fs->epoch != 0);
    fs->root.id_limit = fs->root.next_id + (fs->clean ? 0 : IDS_AHEAD);
    nf2_writer_begin(&writer, block, fs->root_end);
    if (block != fs->root_head) {
        nf2_super_reserve(fs);
        writer.more = at + volume_at != 0;
        fs->group_at = 0;
    }
    (void)nf2_writer_open(fs, &writer, NF2_ROOT_CHECKPOINT, NF2_STATE_BYTES);
    store_fixed(fs, bytes);
    nf2_writer_put(fs, &writer, bytes, FIXED);
    nf2_writer_put(fs, &writer, fs->space.state, NF2_STATE_MAP);
    store_behind(fs, bytes);
    nf2_writer_put(fs, &writer, bytes, BEHIND);
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
        fs->space.unrecorded = false;
        fs->root.serial_recorded = fs->root.serial;
    }
    return result;
}

/* Takes the one at a place of the head. */
static int read_state(nf2_t *fs, uint32_t place)
{
    uint8_t bytes[FIXED];

    NF2_TRY(nf2_record_read(fs, fs->root_head, place, 2, bytes, FIXED));
    NF2_TRY(load_fixed(fs, bytes));
    NF2_TRY(nf2_record_read(fs, fs->root_head, place, 2 + FIXED, fs->space.state, NF2_STATE_MAP));
    NF2_TRY(nf2_record_read(fs, fs->root_head, place, 2 + NF2_STATE_CLAIMS, bytes, BEHIND));
    NF2_TRY(load_behind(fs, bytes));
    load_regions(fs);
    return NF2_OK;
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
        erases = nf2_get32(p + NF2_STATE_ERASES) +
                 ((p[NF2_STATE_FLAGS] & NF2_FLAG_SUSPECT) != 0);
        fs->root_head = block;
        block = nf2_get16(p + NF2_STATE_NEXT);
    }
    return NF2_OK;
}

/*
 * Before the first program of a session: does a second look find the same end of the log? A read
 * that was wrong once, where the log goes on, would make it end early: what is programmed then
 * would hide the rest for good.
 */
static NF2_APART int look_again(nf2_t *fs)
{
    struct nf2_scan scan;
    struct nf2_record record;
    uint32_t head = fs->root_head, last = 0;
    uint16_t epoch = fs->epoch;

    fs->epoch = 0;              /* nothing ends early */
    int found = find_head(fs);
    nf2_scan_begin(&scan, head);
    while (found >= 0 && (found = nf2_scan_next(fs, &scan, &record)) > 0) {
        last = record.offset;
    }
    if (found == 0 && (fs->root_head != head || last != fs->root.last)) {
        fs->broken = true;      /* the next mount reads all anew */
        found = NF2_ERR_IO;
    }
    fs->root_head = head;
    fs->epoch = epoch;
    return found;
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
    NF2_TRY(read_state(fs, state));
    if (root->volume_bytes > 0) { /* the tag of the first field */
        NF2_TRY(nf2_record_read(fs, fs->root_head, root->volume_at, 2, &root->classes, 1));
        NF2_TRY((root->classes & NF2_FIELD_REFUSE) != 0 ? NF2_ERR_VERSION : NF2_OK);
    }
    fs->root.last = (uint16_t)nf2_max(nf2_max(state, group_at), root->volume_at);
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
    fs->cut = !fs->clean || torn || fs->anchor_due || begun;
    if (fs->cut) {              /* a walk finds what was claimed and not used */
        fs->root.serial += NF2_SERIALS_AHEAD;
        nf2_claims_drop(fs);
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
    fs->root_end = (uint16_t)nf2_scan_append_at(fs, &scan, STATE_RECORD);
    /*
     * A session that was cut in its first program may have left no trace of it, and the next one
     * programs the same place. With units that are programmed once it must not: all goes into
     * blocks that are erased first.
     */
    if (fs->flash->program_unit > 1 && !NF2_BROKEN(NF2_FAULT_ONCE)) {
        fs->next_suspect = true;
        fs->root_end = UINT16_MAX;
    }
    if (fs->in_doubt) {
        nf2_space_doubt(fs);
    }
    return NF2_OK;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* A block of a claim on record, or a hole that is erased: its region is in use on record. */
static NF2_APART bool recorded_next(nf2_t *fs, uint32_t *block)
{
    struct nf2_space *space = &fs->space;

    for (unsigned i = 0; i < NF2_WRITERS; i++) {
        struct nf2_claim *claim = &space->claim[i];
        if (claim->count > 0) {
            *block = claim->start;
            fs->next_suspect = claim->erased == 0;
            nf2_claim_take(claim, 1);
            return true;
        }
    }
    if (space->hand_count > 0) {
        *block = space->hand[--space->hand_count];
        fs->next_suspect = false;
        return true;
    }
    return false;
}

/*
 * A block that no claim has. A session that is cut may have programmed it, where the block
 * that was next on record failed, and no record tells of that: so an anchor says that what is free
 * may not be blank.
 */
static NF2_APART bool unrecorded_next(nf2_t *fs, uint32_t *block)
{
    struct nf2_claim *claim = fs->space.claim;
    uint32_t i = 0;

    while (i < NF2_WRITERS && nf2_claim_rest(fs, &claim[i]) == 0) {
        i++;
    }
    if (i == NF2_WRITERS) {
        /* the next session erases it anyway, if it is as short as the one before this was */
        bool erases = fs->cut || fs->flash->program_unit > 1;
        uint32_t region = nf2_claim_choose(fs, NF2_FOR_NODES,
                                           erases ? NF2_REGION_FREE : NF2_REGION_ERASED);
        if (region == NF2_NO_REGION) {
            return false;
        }
        i = NF2_FOR_NODES;
        (void)nf2_claim_open(fs, &claim[i], region, 1);
    }
    *block = claim[i].start;
    fs->next_suspect = claim[i].erased == 0;
    nf2_claim_take(&claim[i], 1);
    return true;
}

/* Sets the block for the log's next turn: `block` only where there is no other one. */
static void find_next(nf2_t *fs, uint32_t block)
{
    uint32_t next;

    fs->next_suspect = true;
    /* the log's old blocks last: two of them would take turns, and wear out */
    bool found = recorded_next(fs, &next) || unrecorded_next(fs, &next) ||
                 (next = nf2_freed_take(fs)) != NF2_NO_BLOCK;
    fs->root_next = (uint16_t)(found ? next : block);
}

/*
 * The block for a turn failed: the one that is taken now goes on record in the old log, where that
 * has room. If not, an anchor that names that log tells of it. `*end`: of the old log.
 */
static int pass_over(nf2_t *fs, uint32_t *end)
{
    int result = NF2_FAILED_BLOCK;

    /* an anchor of such a turn may have been cut, and no record tells of it */
    fs->next_suspect = fs->anchor_due = true;
    fs->root_end = (uint16_t)*end;
    if (nf2_log_fits(fs, *end, NF2_STATE_BYTES)) {
        result = write_state(fs, fs->root_head);  /* if it fails that log is full */
    }
    *end = fs->root_end;
    if (result == NF2_FAILED_BLOCK && fs->mounted && !fs->in_doubt) {
        fs->in_doubt = true;
        result = nf2_super_write(fs);
    }
    return result < 0 && result != NF2_FAILED_BLOCK ? result : NF2_FAILED_BLOCK;
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
        if (suspect) {
            nf2_space_erased(fs, block, 1);
        }
        fs->root_end = 0;
        if (result == NF2_OK) {
            result = write_state(fs, block);
        }
        if (result == NF2_OK) {
            fs->anchor_due |= fs->in_doubt; /* one of this number may have been cut unseen */
            fs->in_doubt = false;
            result = NF2_BROKEN(NF2_FAULT_TURN) && fs->mounted ? NF2_OK : nf2_super_write(fs);
        } else if (result == NF2_FAILED_BLOCK) {
            nf2_space_bad(fs, block);
            result = pass_over(fs, &end);
        }
    }
    if (result < 0) {           /* what is known of the log is not what is there */
        fs->broken = true;
    } else if (old != 0 && old != fs->root_next && fs->group_at == 0) { /* in a format it is 0 */
        nf2_space_freed(fs, old);
    }
    return result == NF2_FAILED_BLOCK ? NF2_ERR_IO : result;
}

/*
 * No record leaves a page in which a CHECKPOINT has room: where a cut session left such a page, it
 * has torn nothing in the next one.
 */
int nf2_journal_room(nf2_t *fs, uint32_t length)
{
    int result = nf2_log_fits(fs, fs->root_end, length) ? NF2_OK : NF2_FAILED_BLOCK;
    bool leaves;

    NF2_ASSERT(fs->opened);
    do {
        result = result == NF2_FAILED_BLOCK ? turn(fs) : result;
        uint32_t rest = nf2_page_rest(fs->root_end);
        leaves = result == NF2_OK && rest >= STATE_RECORD && rest < length + NF2_RECORD_OVERHEAD;
        result = leaves ? nf2_journal_here(fs) : result;
    } while (leaves);
    return result;
}

int nf2_journal_end(nf2_t *fs, struct nf2_writer *writer)
{
    int result = nf2_writer_end(fs, writer);

    if (writer->begun) {
        /* full by decree */
        fs->root_end = (uint16_t)(result == NF2_OK ? writer->position : nf2_log_bytes(fs));
    }
    if (result == NF2_FAILED_BLOCK) {
        nf2_space_bad(fs, writer->block);
    }
    return result;
}

int nf2_journal_state(nf2_t *fs, bool clean)
{
    int result = NF2_FAILED_BLOCK;

    if (fs->read_only) {
        return NF2_ERR_ROFS;
    }
    NF2_TRY(fs->opened || !fs->mounted ? NF2_OK : look_again(fs));
    /* before a block that led to the head has another use: `next` may be one */
    if (fs->anchor_due) {
        NF2_TRY(nf2_super_write(fs));
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

int nf2_journal_here(nf2_t *fs)
{
    NF2_ASSERT(fs->opened && nf2_log_fits(fs, fs->root_end, NF2_STATE_BYTES));
    fs->clean = false;
    return write_state(fs, fs->root_head);
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
    if (fs->cut && nf2_space_stock(fs) < LEAST_BLOCKS &&
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
