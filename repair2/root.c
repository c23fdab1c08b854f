/* SPDX-License-Identifier: BSD-2-Clause */
/* root.c - anchors and root log: FORMAT.md, sections 2, 3 and 9. */
#include "node.h"

struct anchor {
    bool found, other_format;
    uint32_t sequence, volume_id, head, block;
};

/* ---- anchors ------------------------------------------------------------------------------------- */

static uint8_t log2_of(uint32_t value)
{
    uint8_t n = 0;
    while (value > 1) {
        value >>= 1;
        n++;
    }
    return n;
}

static void read_anchor(struct repair *repair, uint32_t block, const struct rep_record *record, struct anchor *best)
{
    const struct rep_image *image = &repair->image;
    const uint8_t *p = record->payload;
    bool whole = record->type == NF2_SUPER_ANCHOR && record->length >= NF2_ANCHOR_BYTES && memcmp(p, NF2_MAGIC, 4) == 0;
    bool own = whole && p[4] == NF2_FORMAT_VERSION && p[5] == log2_of(image->block_size) &&
               rep_get16(p + 6) == image->page_size && p[8] == image->unit && rep_get24(p + 10) == image->blocks;

    best->other_format = best->other_format || (whole && p[4] != NF2_FORMAT_VERSION);
    if (!own) {
        rep_find(repair, REPAIR_ANCHOR, block, record->at, 0, 0, whole ? "This anchor is that of another format version or chip." :
                 "This record of a super block is no anchor.");
    } else if (!best->found || rep_get32(p + 17) > best->sequence) {
        best->found = true;
        best->volume_id = rep_get32(p + 13);
        best->sequence = rep_get32(p + 17);
        best->head = rep_get24(p + 21);
        best->block = block;
    }
}

static void find_anchor(struct repair *repair, struct anchor *best)
{
    for (uint32_t block = 0; block < repair->image.supers; block++) {
        struct rep_log log;
        rep_log_read(&repair->image, block, 0, 0, false, &log);
        for (size_t i = 0; i < log.count; i++) {
            read_anchor(repair, block, &log.record[i], best);
        }
        if (log.damaged) {
            rep_find(repair, REPAIR_ANCHOR, block, log.damage, 0, 0, "This super block is damaged: no power cut leaves what is here.");
        } else if (log.torns > 0) {
            rep_find(repair, REPAIR_UNFINISHED, block, log.first_torn, log.torns, 0, "An anchor was not written to its end.");
        }
        rep_log_free(&log);
    }
}

/* ---- the records of the root log ----------------------------------------------------------------- */

static void load_claim(const uint8_t *p, struct rep_claim *claim)
{
    claim->start = rep_get24(p);
    claim->count = rep_get16(p + 3);
    claim->erased = rep_get16(p + 5);
}

static bool read_checkpoint(const struct repair *repair, const struct rep_record *record, struct rep_state *state)
{
    const uint8_t *p = record->payload;
    uint32_t bads = record->length >= NF2_STATE_FIXED ? p[47] : 0;

    if (bads > NF2_BAD_MAX || record->length != NF2_STATE_FIXED + sizeof state->bits + 3 * bads ||
        rep_get16(p + 22) >= repair->windows || p[8] >= NF2_LEVELS) {
        return false;
    }
    state->found = true;
    state->clean = (p[0] & NF2_STATE_CLEAN) != 0;
    state->fresh = (p[0] & NF2_STATE_FRESH) != 0;
    state->now_fresh = (p[0] & NF2_STATE_NOW_FRESH) != 0;
    state->bad_keys = (p[0] & NF2_STATE_BADS) != 0;
    state->epoch = rep_get16(p + 1);
    state->root = rep_get24(p + 3);
    state->base_end = rep_get16(p + 6);
    state->level = p[8];
    state->id_limit = rep_get32(p + 9);
    state->free = rep_get24(p + 13);
    state->erases = rep_get32(p + 16);
    state->unclean_mounts = rep_get16(p + 20);
    state->window = rep_get16(p + 22);
    state->erased_groups = rep_get32(p + 24);
    state->group_block = rep_get24(p + 28);
    state->group_at = rep_get16(p + 31);
    load_claim(p + 33, &state->claim[0]);
    load_claim(p + 40, &state->claim[1]);
    state->bads = bads;
    memcpy(state->bits, p + NF2_STATE_FIXED, sizeof state->bits);
    for (unsigned i = 0; i < bads; i++) {
        state->bad[i] = rep_get24(p + NF2_STATE_FIXED + sizeof state->bits + 3 * i);
    }
    return true;
}

static bool read_claim(const struct repair *repair, const uint8_t *p, uint32_t length, struct rep_state *state)
{
    uint32_t start = length >= 5 ? rep_get24(p) : REP_NONE, count = length >= 5 ? rep_get16(p + 3) : 0;
    uint32_t group = (repair->window_blocks + NF2_GROUPS - 1) / NF2_GROUPS;

    if (start >= repair->image.blocks || count > repair->image.blocks - start) {
        return false;
    }
    for (uint32_t block = start; block < start + count; block++) {
        uint32_t at = block - state->window * repair->window_blocks;
        if (at < repair->window_blocks) {
            state->bits[at / 8] |= (uint8_t)(1u << at % 8);
            state->erased_groups &= ~(1u << at / group);
        }
    }
    state->free -= rep_min(count, state->free);
    return true;
}

/* False: a record that cannot be here. */
static bool read_record(const struct repair *repair, const struct rep_record *record, bool first, struct rep_state *state)
{
    const uint8_t *p = record->payload;

    if (first != (record->type == NF2_ROOT_HEAD)) {
        return false;
    }
    state->clean = state->clean && record->type == NF2_ROOT_CHECKPOINT;
    switch (record->type) {
    case NF2_ROOT_HEAD:
        state->next = record->length >= NF2_ROOT_HEAD_BYTES ? rep_get24(p + 5) : REP_NO_BLOCK;
        return record->length >= NF2_ROOT_HEAD_BYTES && p[0] == 'R' && rep_get32(p + 1) == repair->image.volume_id;
    case NF2_ROOT_CHECKPOINT:
        return read_checkpoint(repair, record, state);
    case NF2_ROOT_CLAIM:
        return read_claim(repair, p, record->length, state);
    case NF2_ROOT_GROUP:
        state->group_block = state->head;
        state->group_at = record->at;
        return true;
    case NF2_ROOT_DONE:
        state->group_block = REP_NO_BLOCK;
        return true;
    default:
        return false;
    }
}

static void take_records(const struct repair *repair, const struct rep_log *log, uint32_t block, struct rep_state *state)
{
    memset(state, 0, sizeof *state);
    state->head = block;
    state->next = state->group_block = REP_NO_BLOCK;
    for (size_t i = 0; i < log->count; i++) {
        state->broken += !read_record(repair, &log->record[i], i == 0, state);
    }
    state->records = log->count > 2 ? (unsigned)log->count - 2 : 0;
}

/* Reads the root log in a block. False: none is there. */
static bool read_log(struct repair *repair, uint32_t block, bool tolerant, struct rep_log *log, struct rep_state *state)
{
    rep_log_read(&repair->image, block, 0, 0, tolerant, log);
    take_records(repair, log, block, state);
    return state->found && state->root < repair->image.blocks;
}

/* ---- searching for one --------------------------------------------------------------------------- */

/* Is there a HEAD of a node ('N') or of a root log ('R') in this block? Its volume's id in `*id`. */
static bool head_of(struct repair *repair, uint32_t block, uint8_t letter, uint32_t *id)
{
    struct rep_record record;
    bool mended;
    uint16_t epoch = rep_page_epoch(&repair->image, block, 0, &mended);
    uint32_t at = letter == 'N' ? 5 : 1;

    bool there = epoch != NF2_LOG_BLANK && rep_record_at(&repair->image, block, NF2_PAGE_HEAD, epoch, &record) == REP_RECORD &&
                 record.type == 1 && record.length >= at + 4 && record.payload[0] == letter &&
                 (letter != 'N' || (record.length == NF2_NODE_HEAD_BYTES && rep_get24(record.payload + 2) == block));
    *id = there ? rep_get32(record.payload + at) : 0;
    return there;
}

/* The volume that most nodes and root logs are of. */
static bool guess_volume(struct repair *repair)
{
    uint32_t ids[16], counts[16] = {0}, best = 0;

    for (uint32_t block = 0; block < repair->image.blocks; block++) {
        uint32_t id;
        if (!head_of(repair, block, 'N', &id) && !head_of(repair, block, 'R', &id)) {
            continue;
        }
        for (unsigned i = 0; i < 16; i++) {
            if (counts[i] == 0 || ids[i] == id) {
                ids[i] = id;
                counts[i]++;
                best = counts[i] > counts[best] ? i : best;
                break;
            }
        }
    }
    repair->image.volume_id = counts[best] > 0 ? ids[best] : 0;
    return counts[best] > 0;
}

/* Do the logs go on from one block to another? */
static bool leads_to(struct repair *repair, uint32_t from, uint32_t to)
{
    uint32_t id;

    for (unsigned turns = 0; turns < 64 && from != to; turns++) {
        if (from >= repair->image.blocks || !head_of(repair, from, 'R', &id) || id != repair->image.volume_id) {
            return false;
        }
        from = rep_get24(rep_at(&repair->image, from, NF2_PAGE_HEAD + 2 + 5)); /* in HEAD: `next` */
    }
    return from == to;
}

/* Is `a` of a later time? Erases are counted from CHECKPOINT to CHECKPOINT; where there was none the log's next block is later. */
static bool newer(struct repair *repair, const struct rep_state *a, const struct rep_state *b)
{
    uint32_t later = ((uint32_t)a->epoch - b->epoch) & 0xFFFu;

    if (later != 0) {
        return later < 2048;
    }
    return a->erases != b->erases ? a->erases > b->erases : b->next == a->head && !leads_to(repair, a->head, b->head);
}

/* Does it lead to a whole node? What only looks like a root log is data of a file, perhaps. */
static bool has_root(struct repair *repair, const struct rep_state *state)
{
    struct rep_node node;
    bool there = rep_node_read(repair, state->root, state->level, state->base_end, false, &node) && node.whole;

    rep_node_free(&node);
    return there;
}

/* The newest root log of all blocks, if it is newer than `best`. */
static bool search_log(struct repair *repair, struct rep_state *best)
{
    bool found = false;
    uint32_t id;

    for (uint32_t block = 0; block < repair->image.blocks; block++) {
        struct rep_state state;
        struct rep_log log;
        bool other = repair->use != NULL && repair->use[block] != REPAIR_USE_NONE && repair->use[block] != REPAIR_USE_NEXT;
        if (!head_of(repair, block, 'R', &id) || id != repair->image.volume_id) {
            continue;
        }
        if (read_log(repair, block, true, &log, &state) && (!best->found || newer(repair, &state, best)) && (!other || has_root(repair, &state))) {
            *best = state;
            found = true;
        }
        rep_log_free(&log);
    }
    return found;
}

/* ---- the state that holds ------------------------------------------------------------------------ */

/* A mount's view of it: FORMAT.md, section 9. */
static void settle(struct repair *repair, const struct rep_log *log)
{
    struct rep_state *state = &repair->state;
    struct rep_image *image = &repair->image;
    bool torn = log->bad && (log->dirty_end || log->behind);
    uint16_t code = log->bad_epoch;
    bool later = log->bad && code == rep_epoch_code(code) && (((uint32_t)code - state->epoch) & 0xFFFu) < 2048;

    state->clean = state->clean && !torn;
    image->clean = state->clean;
    image->epoch = state->clean ? state->epoch : rep_epoch_code((later ? code : state->epoch) + 1u);
    image->epoch_known = true;
    image->never_cut = state->clean && state->unclean_mounts == 0 && state->bads == 0 && !state->bad_keys;
    if (!state->clean) {
        memset(state->claim, 0, sizeof state->claim);
    }
}

uint32_t rep_newer_log(struct repair *repair)
{
    struct rep_state beyond = repair->state;

    if (!repair->state.found || !search_log(repair, &beyond)) {
        return REP_NONE;
    }
    if (beyond.records == 0) { /* a turn of the log writes no more before the anchor */
        rep_find(repair, REPAIR_UNFINISHED, beyond.head, 0, 0, 0, "The root log was about to go on here.");
        return REP_NONE;
    }
    return beyond.head;
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
        rep_find(repair, REPAIR_LOG, state->head, 0, state->broken, 0, "The root log has %u records that cannot be in it.",
                 state->broken);
    }
    if (state->found && (state->root >= repair->image.blocks || state->next >= repair->image.blocks)) {
        rep_find(repair, REPAIR_LOG, state->head, 0, 0, 0, "The root log names a block outside of the volume.");
    }
}

static bool use_head(struct repair *repair, uint32_t head)
{
    struct rep_log log;
    bool whole = read_log(repair, head, false, &log, &repair->state) && !log.damaged && repair->state.broken == 0 &&
                 repair->state.next < repair->image.blocks;

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

bool rep_root_find(struct repair *repair, uint32_t newer)
{
    struct anchor anchor = {0};

    find_anchor(repair, &anchor);
    if (newer != REP_NONE && anchor.found) {
        rep_find(repair, REPAIR_ANCHOR, anchor.block, 0, newer, 0,
                 "A newer root log is in block %u, and the anchor that says so is lost: a mount takes older contents.", newer);
        rep_note(repair, REPAIR_NOTE_SUPER, newer, 0, NULL, NULL);
        anchor.head = newer;
    }
    if (!anchor.found) {
        rep_find(repair, REPAIR_ANCHOR, 0, 0, 0, 0, "No anchor is left: nothing says where the root log is.");
        rep_note(repair, REPAIR_NOTE_SUPER, REP_NONE, 0, NULL, NULL);
        if (anchor.other_format || !guess_volume(repair)) {
            return false;
        }
    } else {
        repair->image.volume_id = anchor.volume_id;
        if (anchor.head < repair->image.blocks && use_head(repair, anchor.head)) {
            return true;
        }
        rep_find(repair, REPAIR_ANCHOR, anchor.block, 0, anchor.head, 0,
                 "The newest anchor names block %u, where no root log is.", anchor.head);
    }
    repair->summary.log_read = repair->state.found = false;
    if (search_log(repair, &repair->state)) {
        struct rep_log log;
        (void)read_log(repair, repair->state.head, true, &log, &repair->state);
        settle(repair, &log);
        uint32_t id, next = repair->state.next;
        bool last = !anchor.found && next < repair->image.blocks && /* it does not go on in a log that is lost: something else is there */
                    (rep_get32(rep_at(&repair->image, next, 0)) == UINT32_MAX || head_of(repair, next, 'N', &id) || head_of(repair, next, 'R', &id));
        repair->summary.log_read = last && !log.damaged && repair->state.broken == 0;
        rep_log_free(&log);
    }
    if (!repair->summary.log_read) {
        rep_note(repair, REPAIR_NOTE_META, repair->state.found ? repair->state.head : REP_NONE, 0, NULL, NULL);
    }
    return true;
}

bool rep_state_used(const struct repair *repair, uint32_t block)
{
    const struct rep_state *state = &repair->state;
    uint32_t at = block - state->window * repair->window_blocks;

    if (!state->found || at >= repair->window_blocks) {
        return !(state->found && state->fresh && block >= (state->window + 1) * repair->window_blocks);
    }
    return (state->bits[at / 8] >> at % 8 & 1u) != 0;
}

bool rep_is_bad(const struct repair *repair, uint32_t block)
{
    struct rep_key key = {NF2_SYSTEM_ID, 5, {NF2_KEY_BAD, (uint8_t)(block >> 24), (uint8_t)(block >> 16), (uint8_t)(block >> 8), (uint8_t)block}};

    for (unsigned i = 0; i < repair->state.bads; i++) {
        if (repair->state.bad[i] == block) {
            return true;
        }
    }
    return rep_entry_find(repair, &key) != NULL;
}
