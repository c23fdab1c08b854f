/* SPDX-License-Identifier: BSD-2-Clause */
/* root.c - anchors and root log: FORMAT.md, sections 2, 3 and 9. */
#include "inside.h"

#define GROUP_MOST 1100u        /* bytes of a log that the longest GROUP takes */

struct anchor {
    const uint8_t *record;      /* the one that counts, NULL: there is none */
    uint32_t block;
    bool due;                   /* none names the last log, in which nothing was done */
    struct rep_log logs[NF2_SUPER_BLOCKS];      /* the slots of each: what is whole, what is torn */
};

/* ---- anchors --------------------------------------------------------------------------------- */

static uint32_t anchor32(const struct anchor *anchor, unsigned field)
{
    return rep_get32(anchor->record + field);
}

static uint32_t anchor_head(const struct anchor *anchor)
{
    return rep_get16(anchor->record + NF2_ANCHOR_HEAD);
}

/* The sizes are those of the chip; the regions that it says the volume may have. */
static bool own_geometry(const struct repair *r, uint32_t word)
{
    uint32_t size = word >> 24 & 15u, shift = word >> 28;

    return (word & (NF2_ANCHOR_DOUBT - 1u)) == r->block_size + NF2_LOG_PAGE + r->unit && shift < 1u << size &&
           (r->blocks + shift - 1) >> size < NF2_REGIONS_MAX;
}

static void read_anchor(struct repair *r, uint32_t block, const struct rep_record *record,
                        struct anchor *best)
{
    const uint8_t *p = record->payload;
    bool own = record->type == NF2_SUPER_ANCHOR && record->length >= NF2_ANCHOR_BYTES &&
               rep_get32(p) == NF2_MAGIC &&
               rep_get32(p + NF2_ANCHOR_VERSION) == NF2_FORMAT_VERSION &&
               rep_get16(p + NF2_ANCHOR_BLOCKS) + 1u == r->blocks &&
               own_geometry(r, rep_get32(p + NF2_ANCHOR_GEOMETRY));

    if (!own) {
        rep_find(r, REPAIR_ANCHOR, block, record->at, 0, 0, "This record of a super block is no "
                 "anchor, or that of another format version or chip.");
    } else if (best->record == NULL ||
               rep_get32(p + NF2_ANCHOR_SEQUENCE) > anchor32(best, NF2_ANCHOR_SEQUENCE)) {
        best->record = p;
        best->block = block;
    }
}

/* An anchor in each slot; or it is blank, or a cut has left something there. */
static void read_slots(struct repair *r, uint32_t block, struct anchor *best)
{
    struct rep_log *log = &best->logs[block];
    struct rep_record record;

    *log = (struct rep_log){.r = r, .block = block};
    for (uint32_t at = 0; at < r->log_bytes; at += NF2_SLOT_BYTES) {
        const uint8_t *slot = rep_at(r, block, at);
        enum rep_place found =
            rep_record_at(r, block, at + NF2_PAGE_HEAD, rep_get16(slot), &record);
        if (found == REP_RECORD) {
            read_anchor(r, block, &record, best);
            log->whole++;
        } else if (slot[0] != 0xFF || memcmp(slot, slot + 1, NF2_SLOT_BYTES - 1) != 0) {
            log->first_torn = log->torns++ == 0 ? record.at : log->first_torn;
        }
    }
}

static void find_anchor(struct repair *r, struct anchor *best)
{
    for (uint32_t block = 0; block < NF2_SUPER_BLOCKS; block++) {
        read_slots(r, block, best);
    }
    if (best->record != NULL && anchor_head(best) < NF2_SUPER_BLOCKS) {
        best->record = NULL;    /* a format was cut; what was there before may be found */
    }
}

static bool failed(const struct repair *r, uint32_t block)
{
    return r->state.record != NULL &&
           (rep_state_flag(&r->state, NF2_FLAG_BAD * NF2_BAD_SUPER(block)));
}

/*
 * A format leaves an anchor in each super block, and the one that takes the next anchor is the only
 * one that is erased or programmed: a cut leaves something else there, until that anchor is
 * written. One that takes all anchors, since the others failed, may keep what cuts left.
 */
static void report_supers(struct repair *r, const struct anchor *anchor)
{
    uint32_t next = anchor->block;

    do {
        next = (next + 1) % NF2_SUPER_BLOCKS;
    } while (failed(r, next) && next != anchor->block);
    for (uint32_t block = 0; block < NF2_SUPER_BLOCKS; block++) {
        const struct rep_log *log = &anchor->logs[block];
        bool turn = block == next && (anchor->due || next == anchor->block),
             told = anchor->record == NULL || failed(r, block) || turn;
        rep_log_report(r, log, REPAIR_ANCHOR, 0, told ? 0 : log->first_torn);
        if (!told && log->whole == 0 && log->torns == 0) {
            rep_find(r, REPAIR_ANCHOR, block, 0, 0, 0,
                     "There is no anchor in this super block: it is no spare for the others.");
        }
    }
}

/* ---- the records of the root log ------------------------------------------------------------- */

/* False: a record that cannot be here. */
static bool take_record(const struct repair *r, const struct rep_record *record,
                        struct rep_state *state)
{
    const uint8_t *p = record->payload;

    state->epoch = record->epoch;
    if (record->type == NF2_ROOT_VOLUME) {
        return state->record != NULL && record->length <= NF2_VOLUME_BYTES_MAX;
    }
    if (record->type == NF2_ROOT_GROUP && state->record != NULL &&
        record->length <= NF2_GROUP_BYTES_MAX) {
        state->odd_group = rep_state16(state, NF2_STATE_GROUP_AT) != 0;
        state->group_at = state->last_group = record->at;
        state->clean = false;
        return true;
    }
    if (record->type != NF2_ROOT_CHECKPOINT || record->length != NF2_STATE_BYTES ||
        rep_get32(p + NF2_STATE_VOLUME) != r->volume_id || p[NF2_STATE_LEVEL] >> 4 > NF2_BAD_MAX ||
        (p[NF2_STATE_LEVEL] & 15u) >= NF2_LEVELS) {
        return false;
    }
    state->record = p;
    state->clean = (p[NF2_STATE_FLAGS] & NF2_FLAG_CLEAN) != 0;
    state->next = rep_get16(p + NF2_STATE_NEXT);
    state->group_at = rep_get16(p + NF2_STATE_GROUP_AT);
    state->odd_group = state->group_at != 0 && state->group_at != state->last_group;
    return true;
}

/* Reads the root log in a block. False: none is there. */
static bool read_log(struct repair *r, uint32_t block, bool tolerant, struct rep_state *state)
{
    const struct rep_log *log = rep_log_read(r, block, tolerant);

    *state = (struct rep_state){.head = block, .next = REP_NONE};
    for (size_t i = 0; i < log->whole; i++) {
        state->broken += !take_record(r, &log->records.list[i], state);
        state->groups += i > 0 && !log->records.list[i - 1].more;
    }
    state->end = log->last_end;
    state->torn = log->bad || log->dirty_end;
    return state->record != NULL && rep_state16(state, NF2_STATE_ROOT) < r->blocks;
}

/* ---- searching for one ----------------------------------------------------------------------- */

/* Of this volume, and with the copy of a GROUP that belongs to it. */
static bool is_checkpoint(struct repair *r, uint32_t block, struct rep_record *record)
{
    return rep_record_first(r, block, NF2_ROOT_CHECKPOINT, NF2_STATE_BYTES, record) &&
           rep_get32(record->payload + NF2_STATE_VOLUME) == r->volume_id &&
           (!record->more || rep_log_read(r, block, false)->whole > 0);
}

/* Does this block begin with a node or a CHECKPOINT? The id of its volume. */
static bool is_log(struct repair *r, uint32_t block, uint32_t *id)
{
    struct rep_record record;
    bool node = rep_record_first(r, block, NF2_NODE_HEAD, NF2_NODE_HEAD_BYTES, &record) &&
                record.payload[0] == 'N' && rep_get24(record.payload + 2) == block;
    bool there = node ||
                 rep_record_first(r, block, NF2_ROOT_CHECKPOINT, NF2_STATE_BYTES, &record);

    *id = there ? rep_get32(record.payload + (node ? 5 : NF2_STATE_VOLUME)) : 0;
    return there;
}

/* The volume that most nodes and root logs are of: each one of another volume takes a vote away. */
static bool guess_volume(struct repair *r)
{
    uint32_t votes = 0, id;
    bool found = false;

    for (uint32_t block = 0; block < r->blocks; block++) {
        if (is_log(r, block, &id)) {
            r->volume_id = votes == 0 ? id : r->volume_id;
            votes = id == r->volume_id ? votes + 1 : votes - 1;
            found = true;
        }
    }
    return found;
}

/* Does it lead to a whole node? What only looks like a root log is data of a file, perhaps. */
static bool has_root(struct repair *r, const struct rep_state *state)
{
    struct rep_node node;

    r->quiet = true;
    bool there = rep_node_read(r, rep_state16(state, NF2_STATE_ROOT),
                               rep_state_level(state),
                               rep_state16(state, NF2_STATE_BASE), &node) &&
                 node.whole;
    r->quiet = false;
    return there;
}

/*
 * The last log that a mount comes to from this one on, each in the block that the one before names
 * as the next: FORMAT.md, section 9.
 */
static uint32_t last_head(struct repair *r, uint32_t head)
{
    uint32_t erases = 0, last = head, block = head;
    struct rep_record first;

    for (uint32_t i = 0; i < r->blocks && block < r->blocks && is_checkpoint(r, block, &first);
         i++) {
        const uint8_t *p = first.payload;
        if (first.mended || rep_get32(p + NF2_STATE_ERASES) < erases) {
            break; /* a mended one may be what a cut left */
        }
        last = block;
        erases = rep_get32(p + NF2_STATE_ERASES) + ((p[NF2_STATE_FLAGS] & NF2_FLAG_SUSPECT) != 0);
        block = rep_get16(p + NF2_STATE_NEXT);
    }
    return last;
}

/*
 * The newest root log of all blocks, if it is newer than `best`, with a tree. Erases are counted
 * from CHECKPOINT to CHECKPOINT. Where a log goes on without one it is found from the log before
 * it: last_head.
 */
static bool search_log(struct repair *r, struct rep_state *best)
{
    uint32_t before = best->head;
    struct rep_state state;
    struct rep_record first;

    for (uint32_t block = 0; block < r->blocks; block++) {
        if (is_checkpoint(r, block, &first) && read_log(r, block, true, &state) &&
            (best->record == NULL || rep_state32(&state, NF2_STATE_ERASES) >
                                     rep_state32(best, NF2_STATE_ERASES)) &&
            has_root(r, &state)) {
            *best = state;
        }
    }
    return best->head != before;
}

/* ---- the state that holds -------------------------------------------------------------------- */

/* A mount's view of the log that was read: FORMAT.md, section 9. */
static void settle(struct repair *r)
{
    struct rep_state *state = &r->state;

    /* a session that was cut in its first CHECKPOINT does not count: it wrote nothing else */
    state->clean = state->clean && !r->log.dirty_end;
    r->epoch = state->clean ? state->epoch : rep_epoch_code(state->epoch + 1u);
    r->epoch_known = true;
    r->never_cut = r->doubted ||
                   (state->clean && rep_state16(state, NF2_STATE_UNCLEAN) == 0 &&
                    rep_state_bads(state) == 0 &&
                    !rep_state_flag(state, NF2_FLAG_BAD * NF2_BAD_KEYS));
}

bool rep_root_has_room(const struct repair *r)
{
    const struct rep_state *state = &r->state;
    uint32_t most = state->clean ? NF2_RECORD_OVERHEAD + NF2_STATE_BYTES :
                                   GROUP_MOST + 2 * NF2_LOG_PAGE;

    return r->unit == 1 && !state->torn && r->log_bytes - state->end >= most;
}

/*
 * Is a log that was searched for the last one? Not if it may go on in a log that is lost. It does
 * not where something else is in the next block, nor where it has room for what is written next.
 */
static bool is_last(struct repair *r)
{
    uint32_t id, next = r->state.next;

    return rep_root_has_room(r) ||
           (next < r->blocks &&
            (rep_get32(rep_at(r, next, 0)) == UINT32_MAX || is_log(r, next, &id)));
}

/* Takes what the log in a block says. False: it is damaged. */
static bool use_head(struct repair *r, uint32_t head)
{
    bool found = read_log(r, head, false, &r->state);

    rep_log_report(r, &r->log, REPAIR_LOG, 0, r->log.damage);
    bool sense = found && r->state.broken == 0 && r->state.next < r->blocks,
         whole = sense && r->log.damage == 0;
    if (!sense) {
        rep_find(r, REPAIR_LOG, head, 0, r->state.broken, 0,
                 "The root log names a block outside of the volume, or has records that cannot be "
                 "in it, or none that counts.");
    }
    if (!whole) {
        found = read_log(r, head, true, &r->state);
        r->state.clean = false;
    }
    if (found) {
        settle(r);
    }
    return whole;
}

/*
 * The log that the anchor leads to: a mount goes on from the one that it names. REP_NONE: none is
 * there. Where nothing was written behind its first CHECKPOINT a cut may have been in front of its
 * anchor.
 */
static uint32_t follow_anchor(struct repair *r, struct anchor *anchor, struct rep_state *state)
{
    uint32_t named = anchor_head(anchor), head = last_head(r, named);

    if (head >= r->blocks || !read_log(r, head, true, state)) {
        rep_find(r, REPAIR_LOG, anchor->block, 0, named, 0,
                 "The newest anchor names block %u, where no root log is.", named);
        *state = (struct rep_state){.head = REP_NONE};
        return REP_NONE;
    }
    if (head != named) {
        anchor->due = state->groups == 0;
        rep_find(r, anchor->due ? REPAIR_UNFINISHED : REPAIR_ANCHOR, anchor->block, 0, head, 0,
                 "The root log goes on in block %u, and no anchor says so: a mount finds it by "
                 "the one before.", head);
    }
    return head;
}

/* The log that holds: the one that the anchor leads to (`*led`), or a newer one. */
static uint32_t find_head(struct repair *r, struct anchor *anchor, bool *led)
{
    struct rep_state best = {.head = REP_NONE};
    uint32_t head = anchor->record != NULL ? follow_anchor(r, anchor, &best) : REP_NONE;

    *led = head != REP_NONE;
    if (search_log(r, &best) && (!*led || best.groups > 0)) {
        head = last_head(r, best.head);
        if (*led) {
            rep_find(r, REPAIR_ANCHOR, anchor->block, 0, head, 0,
                     "A newer root log is in block %u, and nothing leads to it: a mount takes "
                     "older contents, or none.", head);
        }
    }
    return head;
}

bool rep_root_find(struct repair *r)
{
    struct anchor anchor = {0};
    bool led;

    find_anchor(r, &anchor);
    if (anchor.record != NULL) {
        r->volume_id = anchor32(&anchor, NF2_ANCHOR_VOLUME);
    } else {
        rep_find(r, REPAIR_ANCHOR, 0, 0, 0, 0,
                 "No anchor is left: nothing says where the root log is.");
        if (!guess_volume(r)) {
            return false;
        }
    }
    uint32_t head = find_head(r, &anchor, &led);
    r->state.next = REP_NONE;
    r->summary.log_read = head != REP_NONE && use_head(r, head) &&
                          (led || (anchor.record == NULL && is_last(r)));
    report_supers(r, &anchor);
    return true;
}
