/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * log.c - FORMAT.md, section 1: the records of a log as the core counts them, and as many as can be
 * read where it is damaged.
 */
#include "inside.h"

#define LENGTH_MOST 0xFFFu

static uint32_t page_end(uint32_t at)
{
    return (at & ~(NF2_LOG_PAGE - 1)) + NF2_LOG_PAGE;
}

uint16_t rep_epoch_code(uint32_t number)
{
    number &= 0xFFFu;
    return (uint16_t)(number | (12u - (uint32_t)__builtin_popcount(number)) << 12);
}

/* ---- one record ------------------------------------------------------------------------------ */

/*
 * Copies the bytes of a record, heads of further pages left out. The place behind it; 0: none of
 * this length can stand here.
 */
static uint32_t copy(const struct repair *r, uint32_t block, uint32_t at, uint32_t length,
                     uint8_t *to)
{
    uint32_t end = page_end(at);

    if (length < NF2_RECORD_OVERHEAD ||
        (at + length > end && at % NF2_LOG_PAGE != NF2_PAGE_HEAD)) {
        return 0;
    }
    for (uint32_t n; length > 0; to += n, at += n, length -= n) {
        if (at == end) { /* it goes on in the next page */
            at += NF2_CONTINUED_HEAD;
            end += NF2_LOG_PAGE;
        }
        if (end > r->log_bytes) {
            return 0;
        }
        n = rep_min(end - at, length);
        memcpy(to, rep_at(r, block, at), n);
    }
    return at;
}

static void put16(uint8_t *p, uint16_t value)
{
    p[0] = (uint8_t)value;
    p[1] = (uint8_t)(value >> 8);
}

/*
 * Is there a record, if some bits of its header are turned over? With `mend` also if one bit of it
 * is wrong that is not of its length.
 */
static bool record_if(struct repair *r, uint32_t block, uint32_t at, uint16_t epoch, uint32_t turn,
                      bool mend, struct rep_record *record)
{
    uint8_t summed[2 + LENGTH_MOST], *bytes = summed + 2;
    uint32_t header = rep_get16(rep_at(r, block, at)) ^ turn, length = header & LENGTH_MOST;
    uint32_t end = copy(r, block, at, length, bytes);

    if (end == 0) {
        return false;
    }
    put16(summed, epoch);
    put16(bytes, (uint16_t)header);
    uint32_t crc = rep_crc(REP_CRC_START, summed, length + 2);
    int wrong = mend ? rep_crc_bit(crc, length) : -1;
    if (wrong >= 0) {
        bytes[wrong / 8] ^= (uint8_t)(1u << wrong % 8);
    }
    header = rep_get16(bytes);
    if ((crc != REP_CRC_GOOD && wrong < 0) || (header & LENGTH_MOST) != length ||
        header >> 13 == 0) {
        return false;
    }
    bool mended = turn != 0 || wrong >= 0, lies_so = !mended && end == at + length;
    const uint8_t *kept = lies_so ? rep_at(r, block, at) :
                                    memcpy(rep_take(r, length), bytes, length);
    *record = (struct rep_record){kept + 2, (uint16_t)at, (uint16_t)end,
                                  (uint16_t)(length - NF2_RECORD_OVERHEAD), epoch,
                                  (uint8_t)(header >> 13), (header >> 12 & 1u) != 0, mended};
    return true;
}

enum rep_place rep_record_at(struct repair *r, uint32_t block, uint32_t at, uint16_t epoch,
                             struct rep_record *record)
{
    *record = (struct rep_record){.at = (uint16_t)at, .epoch = epoch};
    if (at + NF2_RECORD_OVERHEAD > page_end(at)) {
        return REP_BLANK;
    }
    uint32_t header = rep_get16(rep_at(r, block, at));
    if (header == NF2_LOG_BLANK || header == NF2_CONTINUED) {
        return REP_BLANK;
    }
    record->more = (header >> 12 & 1u) != 0;
    return record_if(r, block, at, epoch, 0, false, record) ? REP_RECORD : REP_INVALID;
}

/* Where a place is invalid: with one bit of its length turned over, or of what else it is. */
static bool record_mend(struct repair *r, uint32_t block, uint32_t at, uint16_t epoch,
                        struct rep_record *record)
{
    for (uint32_t turn = 1; turn <= LENGTH_MOST; turn <<= 1) {
        if (record_if(r, block, at, epoch, turn, false, record)) {
            return true;
        }
    }
    return record_if(r, block, at, epoch, 0, true, record);
}

uint32_t rep_record_next(const struct repair *r, const struct rep_record *record)
{
    uint32_t end = record->end, aligned = (end + r->unit - 1) & ~(r->unit - 1);

    return record->more ? end : rep_min(aligned, page_end(end - 1));
}

uint16_t rep_page_epoch(struct repair *r, uint32_t block, uint32_t page)
{
    uint16_t stored = rep_get16(rep_at(r, block, page));
    uint32_t at = page + NF2_PAGE_HEAD;
    struct rep_record record;

    if (stored == rep_epoch_code(stored) ||
        (rep_get16(rep_at(r, block, at)) & LENGTH_MOST) > page_end(at) - at) {
        return stored;
    }
    for (unsigned bit = 0; bit < 16; bit++) {
        uint16_t epoch = (uint16_t)(stored ^ 1u << bit);
        if (epoch == rep_epoch_code(epoch) &&
            rep_record_at(r, block, at, epoch, &record) == REP_RECORD) {
            return epoch;
        }
    }
    return stored;
}

bool rep_record_first(struct repair *r, uint32_t block, uint8_t type, uint32_t length,
                      struct rep_record *record)
{
    uint16_t epoch = rep_page_epoch(r, block, 0);
    bool there = epoch == rep_epoch_code(epoch) &&
                 (rep_record_at(r, block, NF2_PAGE_HEAD, epoch, record) == REP_RECORD ||
                  record_mend(r, block, NF2_PAGE_HEAD, epoch, record));

    record->mended = there && (record->mended || epoch != rep_get16(rep_at(r, block, 0)));
    return there && record->type == type && record->length == length;
}

/* ---- the whole log --------------------------------------------------------------------------- */

static uint16_t word(const struct rep_log *log, uint32_t at)
{
    return rep_get16(rep_at(log->r, log->block, at));
}

static enum rep_place record_at(const struct rep_log *log, uint32_t at, struct rep_record *record)
{
    return rep_record_at(log->r, log->block, at, log->epoch, record);
}

static void damaged(struct rep_log *log, uint32_t at)
{
    log->damage = log->damage != 0 ? log->damage : (uint16_t)at;
}

/* Does a record of another program follow an invalid one in its page, if that has this length? */
static bool goes_on_behind(const struct rep_log *log, struct rep_record place, uint32_t length)
{
    uint32_t last = page_end(place.at), next;
    bool more;

    place.end = (uint16_t)(length < NF2_RECORD_OVERHEAD ? last : place.at + length);
    do {
        more = place.more;
        next = place.end < last ? rep_record_next(log->r, &place) : last;
        if (next >= last || record_at(log, next, &place) != REP_RECORD) {
            return false;
        }
    } while (more);
    return true;
}

/* Does the last invalid place lie in front of this one, and reach it? */
static bool reached(const struct rep_log *log, uint32_t at)
{
    uint8_t bytes[LENGTH_MOST];
    uint32_t length = word(log, log->last_torn) & LENGTH_MOST;

    return log->torns > 0 && copy(log->r, log->block, log->last_torn, length, bytes) > at;
}

/* A place that is invalid: torn, or damaged. */
static void note_invalid(struct rep_log *log, const struct rep_record *place)
{
    if (log->torns > 0 && log->last_torn == place->at) {
        return; /* looked at as a part of a group, and again in its page */
    }
    if (reached(log, place->at)) {
        return; /* the head of a page in which that record was to go on */
    }
    log->first_torn = log->torns++ == 0 ? place->at : log->first_torn;
    log->last_torn = place->at;
    if (log->bad && log->bad_epoch == log->epoch) {
        /* two cuts in one session: the core takes both for unfinished writes */
        damaged(log, place->at);
    }
    for (uint32_t turn = 0; turn <= LENGTH_MOST; turn = turn == 0 ? 1 : turn << 1) {
        if (goes_on_behind(log, *place, (word(log, place->at) ^ turn) & LENGTH_MOST)) {
            damaged(log, place->at);
            return;
        }
    }
}

static void note_valid(struct rep_log *log, uint32_t end, bool whole)
{
    if (whole && log->bad &&
        (log->bad_epoch == log->epoch || log->front_epoch == log->epoch || log->last_end == 0)) {
        damaged(log, log->at); /* within a session nothing is written behind a torn program */
    }
    log->last_end = end;
    log->used_end = rep_max(log->used_end, page_end(end - 1));
    log->last_epoch = log->epoch;
    log->dirty_end = false;
}

static void leave_page(struct rep_log *log, bool invalid)
{
    const struct repair *r = log->r;

    if (invalid) {
        log->bad = log->dirty_end = true;
        log->bad_epoch = log->epoch;
        log->front_epoch = log->last_end != 0 ? log->last_epoch : log->epoch;
        bool now = log->epoch == r->epoch || log->front_epoch == r->epoch || log->last_end == 0;
        if ((now && r->epoch_known && r->state.clean) || r->never_cut) {
            damaged(log, log->at);
        }
    }
    log->at = page_end(log->at);
}

/* The record behind one of a group: in its page, or at the next one's beginning. */
static enum rep_place next_of_group(const struct rep_log *log, struct rep_record *record)
{
    uint32_t at = rep_record_next(log->r, record), page = page_end(at - 1);
    enum rep_place found = at == page ? REP_BLANK : record_at(log, at, record);

    if (found == REP_BLANK && page < log->r->log_bytes && word(log, page) == log->epoch) {
        found = record_at(log, page + NF2_PAGE_HEAD, record);
    }
    return found;
}

/*
 * Takes the records of a group, if it is whole; else the page is left. In a damaged log records
 * count one by one.
 */
static void take(struct rep_log *log, struct rep_record record)
{
    size_t before = log->records.count;
    enum rep_place found = REP_RECORD;
    uint32_t end;

    do {
        REP_ADD(log->r, &log->records, record);
        end = rep_record_next(log->r, &record);
    } while (record.more && !log->tolerant && (found = next_of_group(log, &record)) == REP_RECORD);
    if (found == REP_INVALID) {
        note_invalid(log, &record);
    }
    note_valid(log, end, found == REP_RECORD);
    if (found != REP_RECORD) {
        log->records.count = before;
        leave_page(log, true);
        return;
    }
    log->whole = record.more ? log->whole : log->records.count;
    log->mended += record.mended;
    log->at = end;
}

static void note_lost(struct rep_log *log, uint32_t at)
{
    log->lost++;
    log->last_lost = (uint16_t)at;
}

/* Behind damage: the record with a bit turned over, or the page's next place with a valid one. */
static bool go_on(struct rep_log *log)
{
    uint32_t end = page_end(log->at);
    struct rep_record record;

    if (record_mend(log->r, log->block, log->at, log->epoch, &record)) {
        take(log, record);
        return true;
    }
    note_lost(log, log->at);
    for (uint32_t at = log->at + 1; at + NF2_RECORD_OVERHEAD < end; at++) {
        if (record_at(log, at, &record) == REP_RECORD) {
            log->at = at;
            return true;
        }
    }
    return false;
}

/* Where a session of this epoch goes on behind the last record: FORMAT.md, section 1.4. */
static uint32_t goes_on_at(const struct rep_log *log, uint16_t epoch)
{
    uint32_t sessions = log->last_end != 0 ? rep_sessions(log->last_epoch, epoch) : 0;
    return log->used_end + sessions * NF2_LOG_PAGE;
}

/* Pages in front of this one are blank, and what was in them is lost. */
static void note_gap(struct rep_log *log)
{
    damaged(log, log->at);
    note_lost(log, log->at - NF2_LOG_PAGE);
}

/* Nothing of any session can be here: the core does not look at what is behind. */
static void end_log(struct rep_log *log)
{
    const uint32_t end = log->r->log_bytes;

    while (log->at < end && word(log, log->at) == NF2_LOG_BLANK) {
        log->at += NF2_LOG_PAGE;
    }
    if (log->at < end) {
        note_gap(log);
        log->at = end;
    }
}

/* False: the page is blank. */
static bool enter_page(struct rep_log *log)
{
    const struct repair *r = log->r;

    log->epoch = rep_page_epoch(log->r, log->block, log->at);
    log->mended_heads += log->epoch != word(log, log->at);
    if (log->epoch != NF2_LOG_BLANK) {
        uint16_t epoch = log->epoch == rep_epoch_code(log->epoch) ? log->epoch : r->epoch;
        bool told = epoch == log->epoch || r->epoch_known || log->last_end == 0;
        if (told && log->at > goes_on_at(log, epoch)) {
            note_gap(log);
        }
        log->used_end = log->at + NF2_LOG_PAGE;
        log->at += NF2_PAGE_HEAD;
        return true;
    }
    if (r->epoch_known && log->last_end != 0 && !log->tolerant &&
        log->at >= goes_on_at(log, r->epoch)) {
        end_log(log);
    } else {
        log->at += NF2_LOG_PAGE;
    }
    return false;
}

/* What is here: a record that counts, or a reason to leave the page. */
static void look(struct rep_log *log)
{
    struct rep_record record;
    enum rep_place found = record_at(log, log->at, &record);

    if (found == REP_RECORD) {
        take(log, record);
        return;
    }
    if (found == REP_INVALID) {
        note_invalid(log, &record);
    }
    if (found == REP_BLANK || !log->tolerant || !go_on(log)) {
        leave_page(log, found == REP_INVALID);
    }
}

const struct rep_log *rep_log_read(struct repair *r, uint32_t block, bool tolerant)
{
    struct rep_log *log = &r->log;

    *log = (struct rep_log){.records = log->records, .r = r, .block = block, .tolerant = tolerant};
    log->records.count = 0;
    while (log->at < r->log_bytes) {
        if (log->at % NF2_LOG_PAGE != 0 || enter_page(log)) {
            look(log);
        }
    }
    log->dirty_end |= log->last_end > 0 && page_end(log->last_end - 1) < log->used_end;
    return log;
}
