/* SPDX-License-Identifier: BSD-2-Clause */
/* root.c - anchors and root log: FORMAT.md, sections 2, 3 and 9. */
#include "node.h"

#define GROUP_MOST 1100u        /* bytes of a log that the longest GROUP takes */

struct anchor {
    bool found, other_format;
    bool odd;                   /* its block has something else in front of all anchors */
    uint32_t sequence, volume_id, head, block;
};

/* ---- anchors --------------------------------------------------------------------------------- */

static void read_anchor(struct repair *repair, uint32_t block, const struct rep_record *record,
                        struct anchor *best)
{
    const struct rep_image *image = &repair->image;
    const uint8_t *p = record->payload;
    bool whole = record->type == NF2_SUPER_ANCHOR && record->length > NF2_ANCHOR_VERSION &&
                 rep_get32(p) == NF2_MAGIC;
    bool own = whole && record->length >= NF2_ANCHOR_BYTES &&
               rep_get32(p + NF2_ANCHOR_VERSION) == NF2_FORMAT_VERSION &&
               rep_get32(p + NF2_ANCHOR_BLOCKS) == image->blocks &&
               rep_get32(p + NF2_ANCHOR_GEOMETRY) ==
                   (image->block_size | image->page_size | image->unit);

    best->other_format = best->other_format || (whole && p[4] != NF2_FORMAT_VERSION);
    if (!own) {
        rep_find(repair, REPAIR_ANCHOR, block, record->at, 0, 0,
                 whole ? "This anchor is that of another format version or chip." :
                         "This record of a super block is no anchor.");
    } else if (!best->found || rep_get32(p + NF2_ANCHOR_SEQUENCE) > best->sequence) {
        best->found = true;
        best->volume_id = rep_get32(p + NF2_ANCHOR_VOLUME);
        best->sequence = rep_get32(p + NF2_ANCHOR_SEQUENCE);
        best->head = rep_get32(p + NF2_ANCHOR_HEAD);
        best->block = block;
    }
}

static void find_anchor(struct repair *repair, struct anchor *best)
{
    for (uint32_t block = 0; block < repair->image.supers; block++) {
        struct rep_log log;
        rep_log_read(&repair->image, block, false, &log);
        for (size_t i = 0; i < log.count; i++) {
            read_anchor(repair, block, &log.record[i], best);
        }
        if (best->found && best->block == block) { /* one that a cut left would be erased by now */
            best->odd = log.torns > 0 && log.first_torn < log.record[0].at;
        }
        if (log.damaged) {
            rep_find(repair, REPAIR_ANCHOR, block, log.damage, 0, 0,
                     "This super block is damaged: no power cut leaves what is here.");
        } else if (log.torns > 0) {
            rep_find(repair, REPAIR_UNFINISHED, block, log.first_torn, log.torns, 0,
                     "An anchor was not written to its end.");
        }
        rep_log_free(&log);
    }
    if (best->odd) {
        rep_find(repair, REPAIR_ANCHOR, best->block, 0, 0, 0,
                 "This super block is damaged: no power cut leaves what is in front of its anchors.");
    }
}

/* ---- the records of the root log ------------------------------------------------------------- */

static void load_claim(const uint8_t *p, struct rep_claim *claim)
{
    claim->start = rep_get16(p);
    claim->count = p[2];
    claim->erased = p[3];
}

static bool read_checkpoint(const struct repair *repair, const struct rep_record *record,
                            struct rep_state *state)
{
    const uint8_t *p = record->payload;

    if (record->length != NF2_STATE_BYTES ||
        rep_get32(p + NF2_STATE_VOLUME) != repair->image.volume_id ||
        p[NF2_STATE_BADS] > NF2_BAD_MAX || rep_get16(p + NF2_STATE_WINDOW) >= repair->windows ||
        p[NF2_STATE_LEVEL] >= NF2_LEVELS) {
        return false;
    }
    state->found = true;
    state->clean = (p[NF2_STATE_CLEAN] & 1u) != 0;
    state->fresh = (p[NF2_STATE_FRESH] & 1u) != 0;
    state->now_fresh = (p[NF2_STATE_NOW_FRESH] & 1u) != 0;
    state->suspect = (p[NF2_STATE_SUSPECT] & 1u) != 0;
    state->bad_keys = (p[NF2_STATE_BAD_FLAGS] & NF2_BAD_KEYS) != 0;
    state->next = rep_get16(p + NF2_STATE_NEXT);
    state->root = rep_get16(p + NF2_STATE_ROOT);
    state->base_end = rep_get16(p + NF2_STATE_BASE);
    state->level = p[NF2_STATE_LEVEL];
    state->id_limit = rep_get32(p + NF2_STATE_ID_LIMIT);
    state->free = rep_get16(p + NF2_STATE_FREE);
    state->erases = rep_get32(p + NF2_STATE_ERASES);
    state->unclean_mounts = rep_get16(p + NF2_STATE_UNCLEAN);
    state->window = rep_get16(p + NF2_STATE_WINDOW);
    state->erased_groups = rep_get32(p + NF2_STATE_ERASED);
    state->group_block = rep_get16(p + NF2_STATE_GROUP);
    state->group_block = state->group_block == 0 ? REP_NO_BLOCK : state->group_block;
    state->group_at = rep_get16(p + NF2_STATE_GROUP_AT);
    load_claim(p + NF2_STATE_CLAIMS, &state->claim[0]);
    load_claim(p + NF2_STATE_CLAIMS + 4, &state->claim[1]);
    state->bads = p[NF2_STATE_BADS];
    memcpy(state->bits, p + NF2_STATE_USED, sizeof state->bits);
    for (unsigned i = 0; i < state->bads; i++) {
        state->bad[i] = rep_get16(p + NF2_STATE_BAD + 2 * i);
    }
    return true;
}

/* False: a record that cannot be here. */
static bool read_record(const struct repair *repair, const struct rep_record *record,
                        struct rep_state *state)
{
    state->epoch = record->epoch;
    if (record->type == NF2_ROOT_GROUP && state->found) {
        state->group_block = state->head;
        state->group_at = record->at;
        state->clean = false;
        return true;
    }
    return record->type == NF2_ROOT_CHECKPOINT && read_checkpoint(repair, record, state);
}

static void take_records(const struct repair *repair, const struct rep_log *log, uint32_t block,
                         struct rep_state *state)
{
    memset(state, 0, sizeof *state);
    state->head = block;
    state->next = state->group_block = REP_NO_BLOCK;
    for (size_t i = 0; i < log->count; i++) {
        state->broken += !read_record(repair, &log->record[i], state);
    }
    state->end = log->last_end;
    state->torn = log->bad || log->behind;
    state->records = log->count > 1 ? (unsigned)log->count - 1 : 0;
}

/* Reads the root log in a block. False: none is there. */
static bool read_log(struct repair *repair, uint32_t block, bool tolerant, struct rep_log *log,
                     struct rep_state *state)
{
    rep_log_read(&repair->image, block, tolerant, log);
    take_records(repair, log, block, state);
    return state->found && state->root < repair->image.blocks;
}

/* ---- searching for one ----------------------------------------------------------------------- */

/*
 * Does this block begin with the HEAD of a node ('N') or a CHECKPOINT ('C')? Its volume's id in
 * `*id`.
 */
static bool head_of(struct repair *repair, uint32_t block, uint8_t letter, uint32_t *id)
{
    struct rep_record record;
    bool mended, node = letter == 'N';
    uint16_t epoch = rep_page_epoch(&repair->image, block, 0, &mended);

    bool there = epoch != NF2_LOG_BLANK &&
                 rep_record_at(&repair->image, block, NF2_PAGE_HEAD, epoch, &record) ==
                     REP_RECORD &&
                 record.type == (node ? NF2_NODE_HEAD : NF2_ROOT_CHECKPOINT) &&
                 record.length == (node ? NF2_NODE_HEAD_BYTES : NF2_STATE_BYTES) &&
                 (!node || (record.payload[0] == 'N' && rep_get24(record.payload + 2) == block));
    *id = there ? rep_get32(record.payload + (node ? 5 : NF2_STATE_VOLUME)) : 0;
    return there;
}

/* The volume that most nodes and root logs are of: each one of another volume takes a vote away. */
static bool guess_volume(struct repair *repair)
{
    uint32_t votes = 0, id;
    bool found = false;

    for (uint32_t block = 0; block < repair->image.blocks; block++) {
        if (head_of(repair, block, 'N', &id) || head_of(repair, block, 'C', &id)) {
            repair->image.volume_id = votes == 0 ? id : repair->image.volume_id;
            votes = id == repair->image.volume_id ? votes + 1 : votes - 1;
            found = true;
        }
    }
    return found;
}

/*
 * Is `a` of a later time? Erases are counted from CHECKPOINT to CHECKPOINT. Where a log goes on
 * without one it is found from the log before it: last_head.
 */
static bool newer(const struct rep_state *a, const struct rep_state *b)
{
    uint32_t later = ((uint32_t)a->epoch - b->epoch) & 0xFFFu;

    return later != 0 ? later < 2048 : a->erases > b->erases;
}

/* Does it lead to a whole node? What only looks like a root log is data of a file, perhaps. */
static bool has_root(struct repair *repair, const struct rep_state *state)
{
    struct rep_node node;

    repair->quiet = true;
    bool there = rep_node_read(repair, state->root, state->level, state->base_end, &node) &&
                 node.whole;
    repair->quiet = false;
    rep_node_free(&node);
    return there;
}

/*
 * The last log that a mount comes to from this one on, each in the block that the one before names
 * as the next: FORMAT.md, section 9.
 */
static uint32_t last_head(struct repair *repair, uint32_t head)
{
    uint32_t erases = 0, last = head, block = head;
    bool on = true;

    for (uint32_t i = 0; i < repair->image.blocks && on && block < repair->image.blocks; i++) {
        struct rep_log log;
        rep_log_read(&repair->image, block, false, &log);
        const uint8_t *p = log.count > 0 && log.record[0].length >= NF2_STATE_BYTES ?
                               log.record[0].payload :
                               NULL;
        on = p != NULL && rep_get32(p + NF2_STATE_VOLUME) == repair->image.volume_id &&
             rep_get32(p + NF2_STATE_ERASES) >= erases;
        if (on) {
            last = block;
            erases = rep_get32(p + NF2_STATE_ERASES) + p[NF2_STATE_SUSPECT];
            block = rep_get16(p + NF2_STATE_NEXT);
        }
        rep_log_free(&log);
    }
    return last;
}

/* The newest root log of all blocks, if it is newer than `best`, with a tree. */
static bool search_log(struct repair *repair, struct rep_state *best)
{
    uint32_t id, before = best->head;
    struct rep_state state;
    struct rep_log log;

    for (uint32_t block = 0; block < repair->image.blocks; block++) {
        if (!head_of(repair, block, 'C', &id) || id != repair->image.volume_id) {
            continue;
        }
        bool there = read_log(repair, block, true, &log, &state);
        rep_log_free(&log);
        if (there && (!best->found || newer(&state, best)) && has_root(repair, &state)) {
            *best = state;
        }
    }
    return best->head != before;
}

/* ---- the state that holds -------------------------------------------------------------------- */

/* A mount's view of it: FORMAT.md, section 9. */
static void settle(struct repair *repair, const struct rep_log *log)
{
    struct rep_state *state = &repair->state;
    struct rep_image *image = &repair->image;
    bool torn = log->bad && (log->dirty_end || log->behind);
    uint16_t code = log->bad_epoch;
    bool later = log->bad && code == rep_epoch_code(code) &&
                 (((uint32_t)code - state->epoch) & 0xFFFu) < 2048;

    state->clean = state->clean && !torn;
    image->clean = state->clean;
    image->epoch = state->clean ? state->epoch : rep_epoch_code((later ? code : state->epoch) + 1u);
    image->epoch_known = true;
    image->never_cut = state->clean && state->unclean_mounts == 0 && state->bads == 0 &&
                       !state->bad_keys;
    if (!state->clean) {
        memset(state->claim, 0, sizeof state->claim);
    }
}

/*
 * Is a log that was searched for the last one? Not if it may go on in a log that is lost. It does
 * not where something else is in the next block, nor where it has room for what is written next: a
 * clean log for a CHECKPOINT, another one for the longest GROUP.
 */
static bool is_last(struct repair *repair)
{
    const struct rep_image *image = &repair->image;
    const struct rep_state *state = &repair->state;
    uint32_t id, page = image->page_size, room = image->log_bytes - state->end;
    uint32_t most = state->clean ? NF2_RECORD_OVERHEAD + NF2_STATE_BYTES : GROUP_MOST + 2 * page;
    bool stays = image->unit == 1 && !state->torn && room >= most;

    return stays ||
           (state->next < image->blocks &&
            (rep_get32(rep_at(image, state->next, 0)) == UINT32_MAX ||
             head_of(repair, state->next, 'N', &id) || head_of(repair, state->next, 'C', &id)));
}

static void report_log(struct repair *repair, const struct rep_log *log)
{
    struct rep_state *state = &repair->state;

    if (log->damaged) {
        rep_find(repair, REPAIR_LOG, state->head, log->damage, log->torns, 0,
                 "The root log is damaged: no power cut leaves what is here.");
    } else if (log->torns > 0) {
        rep_find(repair, REPAIR_UNFINISHED, state->head, log->first_torn, log->torns, 0,
                 "A record of the root log was not written to its end.");
    }
    if (state->broken > 0 || !state->found) {
        rep_find(repair, REPAIR_LOG, state->head, 0, state->broken, 0,
                 "The root log has %u records that cannot be in it.", state->broken);
    }
    if (state->found &&
        (state->root >= repair->image.blocks || state->next >= repair->image.blocks)) {
        rep_find(repair, REPAIR_LOG, state->head, 0, 0, 0,
                 "The root log names a block outside of the volume.");
    }
}

static bool use_head(struct repair *repair, uint32_t head)
{
    struct rep_log log;
    bool whole = read_log(repair, head, false, &log, &repair->state) && !log.damaged &&
                 repair->state.broken == 0 && repair->state.next < repair->image.blocks;

    report_log(repair, &log);
    if (!whole) {
        rep_note(repair, REPAIR_NOTE_META, head, log.torns + repair->state.broken, NULL, NULL);
        rep_log_free(&log);
        (void)read_log(repair, head, true, &log, &repair->state);
        repair->state.clean = false;
    }
    bool found = repair->state.found && repair->state.root < repair->image.blocks;
    if (found) {
        settle(repair, &log);
    }
    rep_log_free(&log);
    repair->summary.log_read = whole;
    return found;
}

/*
 * Where the log is that holds: a mount goes on from the one that the anchor names. Where nothing
 * was written behind its first CHECKPOINT a cut may have been in front of its anchor.
 */
static uint32_t find_head(struct repair *repair, const struct anchor *anchor)
{
    uint32_t head = last_head(repair, anchor->head);
    struct rep_state state;
    struct rep_log log;

    bool there = read_log(repair, head, true, &log, &state);
    rep_log_free(&log);
    if (head != anchor->head) {
        rep_find(repair, state.records == 0 ? REPAIR_UNFINISHED : REPAIR_ANCHOR, anchor->block, 0,
                 head, 0,
                 "The root log goes on in block %u, and no anchor says so: a mount finds it by the "
                 "one before.",
                 head);
    }
    if (there && search_log(repair, &state) && state.records > 0) {
        head = last_head(repair, state.head);
        rep_find(repair, REPAIR_ANCHOR, anchor->block, 0, head, 0,
                 "A newer root log is in block %u, and nothing leads to it: a mount takes older "
                 "contents, or none.",
                 head);
        rep_note(repair, REPAIR_NOTE_SUPER, head, 0, NULL, NULL);
    }
    return head;
}

bool rep_root_find(struct repair *repair)
{
    struct rep_state found = {.head = REP_NONE};
    struct anchor anchor = {0};

    find_anchor(repair, &anchor);
    if (anchor.found) {
        repair->image.volume_id = anchor.volume_id;
        if (anchor.head < repair->image.blocks && use_head(repair, find_head(repair, &anchor))) {
            return true;
        }
        rep_find(repair, REPAIR_ANCHOR, anchor.block, 0, anchor.head, 0,
                 "The newest anchor names block %u, where no root log is.", anchor.head);
    } else {
        rep_find(repair, REPAIR_ANCHOR, 0, 0, 0, 0,
                 "No anchor is left: nothing says where the root log is.");
        rep_note(repair, REPAIR_NOTE_SUPER, REP_NONE, 0, NULL, NULL);
        if (anchor.other_format || !guess_volume(repair)) {
            return false;
        }
    }
    repair->summary.log_read = repair->state.found = false;
    if (search_log(repair, &found)) {
        bool whole = use_head(repair, last_head(repair, found.head)) && repair->summary.log_read;
        repair->summary.log_read = whole && !anchor.found && is_last(repair);
    }
    if (!repair->summary.log_read) {
        rep_note(repair, REPAIR_NOTE_META, repair->state.found ? repair->state.head : REP_NONE, 0,
                 NULL, NULL);
    }
    return true;
}

bool rep_state_used(const struct repair *repair, uint32_t block)
{
    const struct rep_state *state = &repair->state;
    uint32_t at = block - state->window * repair->window_blocks;

    if (!state->found || at >= repair->window_blocks) {
        return !(state->found && state->fresh &&
                 block >= (state->window + 1) * repair->window_blocks);
    }
    return (state->bits[at / 8] >> at % 8 & 1u) != 0;
}

bool rep_is_bad(const struct repair *repair, uint32_t block)
{
    struct rep_key key = {NF2_SYSTEM_ID,
                          5,
                          {NF2_KEY_BAD, (uint8_t)(block >> 24), (uint8_t)(block >> 16),
                           (uint8_t)(block >> 8), (uint8_t)block}};

    for (unsigned i = 0; i < repair->state.bads; i++) {
        if (repair->state.bad[i] == block) {
            return true;
        }
    }
    return rep_entry_find(repair, &key) != NULL;
}
