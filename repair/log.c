/* SPDX-License-Identifier: BSD-2-Clause */
/* log.c - FORMAT.md, section 1. */
#include "log.h"

#define RECORD_LONGEST 4095u

static uint32_t page_start(const struct rep_image *image, uint32_t at)
{
    return at & ~(image->page_size - 1);
}
static uint32_t page_end(const struct rep_image *image, uint32_t at)
{
    return page_start(image, at) + image->page_size;
}

uint16_t rep_epoch_code(uint32_t number)
{
    uint32_t zeros = 12;

    number &= 0xFFFu;
    for (uint32_t bits = number; bits != 0; bits &= bits - 1) {
        zeros--;
    }
    return (uint16_t)(number | zeros << 12);
}

/* ---- one record ------------------------------------------------------------------------------ */

/* Place behind `length` bytes that begin at `at`, heads of further pages taken out. */
static uint32_t span_end(const struct rep_image *image, uint32_t at, uint32_t length)
{
    uint32_t room = page_end(image, at) - at, each = image->page_size - NF2_CONTINUED_HEAD;

    if (length <= room) {
        return at + length;
    }
    uint32_t left = length - room, pages = (left - 1) / each;
    return page_end(image, at) + pages * image->page_size + NF2_CONTINUED_HEAD + left -
           pages * each;
}

/*
 * The bytes of a record in one piece: where they lie, or put together in `to`. Its end is known to
 * lie in the log.
 */
static const uint8_t *gather(const struct rep_image *image, uint32_t block, uint32_t at,
                             uint32_t length, uint8_t *to)
{
    uint32_t n = rep_min(page_end(image, at) - at, length);

    if (n == length) {
        return rep_at(image, block, at);
    }
    memcpy(to, rep_at(image, block, at), n);
    for (uint32_t done = n, page = page_end(image, at); done < length;
         done += n, page += image->page_size) {
        n = rep_min(image->page_size - NF2_CONTINUED_HEAD, length - done);
        memcpy(to + done, rep_at(image, block, page + NF2_CONTINUED_HEAD), n);
    }
    return to;
}

/* Can a record of this length stand here? */
static bool fits(const struct rep_image *image, uint32_t at, uint32_t length)
{
    bool crosses = at + length > page_end(image, at);

    return length >= NF2_RECORD_OVERHEAD &&
           (!crosses || (at == page_start(image, at) + NF2_PAGE_HEAD &&
                         span_end(image, at, length) <= image->log_bytes));
}

static void fill(struct rep_image *image, uint32_t at, const uint8_t *bytes, bool own,
                 struct rep_record *record)
{
    uint32_t header = rep_get16(bytes), length = header & 0xFFFu;

    if (own) {
        uint8_t *copy = rep_take(&image->arena, length);
        memcpy(copy, bytes, length);
        bytes = copy;
    }
    record->payload = bytes + 2;
    record->length = (uint16_t)(length - NF2_RECORD_OVERHEAD);
    record->at = (uint16_t)at;
    record->end = (uint16_t)span_end(image, at, length);
    record->type = (uint8_t)(header >> 13);
    record->more = (header >> 12 & 1u) != 0;
    record->mended = false;
}

static uint32_t crc_of(uint16_t epoch, const uint8_t *bytes, uint32_t length)
{
    const uint8_t head[2] = {(uint8_t)epoch, (uint8_t)(epoch >> 8)};
    return rep_crc(rep_crc(REP_CRC_START, head, 2), bytes, length);
}

enum rep_place rep_record_at(struct rep_image *image, uint32_t block, uint32_t at, uint16_t epoch,
                             struct rep_record *record)
{
    uint8_t buffer[RECORD_LONGEST + 1];

    record->at = (uint16_t)at;
    record->length = 0;
    record->more = false;
    record->epoch = epoch;
    if (at + NF2_RECORD_OVERHEAD > page_end(image, at)) {
        return REP_BLANK;
    }
    uint16_t header = rep_get16(rep_at(image, block, at));
    if (header == NF2_LOG_BLANK || header == NF2_CONTINUED) {
        return REP_BLANK;
    }
    uint32_t length = header & 0xFFFu;
    record->more = (header & 0x1000u) != 0;
    if (header >> 13 == 0 || !fits(image, at, length)) {
        return REP_INVALID;
    }
    const uint8_t *bytes = gather(image, block, at, length, buffer);
    if (crc_of(epoch, bytes, length) != REP_CRC_GOOD) {
        return REP_INVALID;
    }
    fill(image, at, bytes, bytes == buffer, record);
    return REP_RECORD;
}

bool rep_record_mend(struct rep_image *image, uint32_t block, uint32_t at, uint16_t epoch,
                     struct rep_record *record)
{
    uint8_t buffer[RECORD_LONGEST + 1];
    uint16_t stored = rep_get16(rep_at(image, block, at));

    for (unsigned bit = 0; bit <= 12; bit++) { /* of its length; at last none */
        uint32_t length = (stored ^ (bit < 12 ? 1u << bit : 0)) & 0xFFFu;
        if (!fits(image, at, length)) {
            continue;
        }
        const uint8_t *bytes = gather(image, block, at, length, buffer);
        if (bytes != buffer) {
            memcpy(buffer, bytes, length);
        }
        if (bit < 12) {
            buffer[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
        uint32_t crc = crc_of(epoch, buffer, length);
        int wrong = bit < 12 ? -1 : rep_crc_bit(crc, length);
        if (wrong >= 0) {
            buffer[wrong / 8] ^= (uint8_t)(1u << wrong % 8);
        }
        bool length_stays = (rep_get16(buffer) & 0xFFFu) == length && rep_get16(buffer) >> 13 != 0;
        if (length_stays && (wrong >= 0 || (bit < 12 && crc == REP_CRC_GOOD))) {
            fill(image, at, buffer, true, record);
            record->epoch = epoch;
            record->mended = true;
            return true;
        }
    }
    return false;
}

uint32_t rep_record_next(const struct rep_image *image, const struct rep_record *record)
{
    uint32_t end = record->end, aligned = (end + image->unit - 1) & ~(image->unit - 1);

    return record->more ? end : rep_min(aligned, page_end(image, end - 1));
}

uint16_t rep_page_epoch(struct rep_image *image, uint32_t block, uint32_t start, bool *mended)
{
    uint16_t stored = rep_get16(rep_at(image, block, start));
    uint32_t at = start + NF2_PAGE_HEAD;
    struct rep_record record;

    *mended = false;
    if (stored == rep_epoch_code(stored) ||
        (rep_get16(rep_at(image, block, at)) & 0xFFFu) > page_end(image, at) - at) {
        return stored;
    }
    for (unsigned bit = 0; bit < 16; bit++) {
        uint16_t epoch = (uint16_t)(stored ^ 1u << bit);
        if (epoch == rep_epoch_code(epoch) &&
            rep_record_at(image, block, at, epoch, &record) == REP_RECORD) {
            *mended = true;
            return epoch;
        }
    }
    return stored;
}

/* ---- the whole log --------------------------------------------------------------------------- */

struct scan {
    struct rep_image *image;
    struct rep_log *log;
    uint32_t block, position, group_end;
    uint16_t epoch, front_epoch;
    bool tolerant;
    /* records before those of a group of which the end was not seen yet */
    size_t open;
};

static void damaged(struct rep_log *log, uint32_t at)
{
    log->damage = log->damaged ? log->damage : (uint16_t)at;
    log->damaged = true;
}

/*
 * Does a record that another program wrote follow behind an invalid one, if that has this length?
 */
static bool goes_on_behind(const struct scan *scan, struct rep_record place, uint32_t length)
{
    struct rep_image *image = scan->image;
    uint32_t last = page_end(image, place.at);

    for (place.end = (uint16_t)(place.at + length);
         length >= NF2_RECORD_OVERHEAD && place.at + length < last;) {
        uint32_t next = rep_record_next(image, &place);
        bool more = place.more;
        if (next >= last ||
            rep_record_at(image, scan->block, next, scan->epoch, &place) != REP_RECORD) {
            return false;
        }
        if (!more) {
            return true;
        }
        length = (uint32_t)place.length + NF2_RECORD_OVERHEAD;
        if (place.end >= last) {
            return false;
        }
    }
    return false;
}

/* A place that is invalid: torn, or damaged. */
static void note_invalid(struct scan *scan, const struct rep_record *place)
{
    struct rep_log *log = scan->log;
    uint32_t stored = rep_get16(rep_at(scan->image, scan->block, place->at));

    if (log->torns > 0 && log->last_torn == place->at) {
        return; /* looked at as a part of a group, and again in its page */
    }
    log->first_torn = log->torns++ == 0 ? place->at : log->first_torn;
    log->last_torn = place->at;
    if (log->bad && log->bad_epoch == scan->epoch && scan->block >= scan->image->supers) {
        /* two cuts in one session: the core takes both for unfinished writes */
        damaged(log, place->at);
    }
    for (unsigned bit = 0; bit <= 12 && !log->damaged; bit++) {
        if (goes_on_behind(scan, *place, (stored ^ (bit < 12 ? 1u << bit : 0)) & 0xFFFu)) {
            damaged(log, place->at);
        }
    }
}

/*
 * Is the group that begins with `record` whole? `*end` is the place behind what is valid of it;
 * `record` the last one that was looked at.
 */
static enum rep_place group_whole(const struct scan *scan, struct rep_record *record, uint32_t *end)
{
    struct rep_image *image = scan->image;

    *end = rep_record_next(image, record);
    while (record->more) {
        uint32_t place = *end;
        bool at_start = place == page_start(image, place);
        enum rep_place found = at_start ?
                                   REP_BLANK :
                                   rep_record_at(image, scan->block, place, scan->epoch, record);
        if (found == REP_BLANK) { /* it may go on in the next page */
            place = at_start ? place : page_end(image, place);
            if (place >= image->log_bytes ||
                rep_get16(rep_at(image, scan->block, place)) != scan->epoch) {
                return REP_BLANK;
            }
            found = rep_record_at(image, scan->block, place + NF2_PAGE_HEAD, scan->epoch, record);
        }
        if (found != REP_RECORD) {
            return found;
        }
        *end = rep_record_next(image, record);
    }
    return REP_RECORD;
}

static void note_valid(struct scan *scan, uint32_t end, bool whole)
{
    struct rep_log *log = scan->log;

    /* a session is on record when its anchor is: its anchors may be cut again and again */
    bool super = scan->block < scan->image->supers;

    if (whole && log->bad && !super &&
        (log->bad_epoch == scan->epoch || scan->front_epoch == scan->epoch || log->last_end == 0)) {
        /* within a session nothing is written behind a torn program */
        damaged(log, scan->position);
    }
    log->last_end = end;
    log->last_epoch = scan->epoch;
    log->dirty_end = false;
}

static void leave_page(struct scan *scan, bool invalid)
{
    struct rep_log *log = scan->log;
    const struct rep_image *image = scan->image;

    if (invalid) {
        log->bad = log->dirty_end = true;
        log->bad_epoch = scan->epoch;
        scan->front_epoch = log->last_end != 0 ? log->last_epoch : scan->epoch;
        bool now = scan->epoch == image->epoch || scan->front_epoch == image->epoch ||
                   log->last_end == 0;
        if ((now && image->epoch_known && image->clean) || image->never_cut) {
            damaged(log, scan->position);
        }
    }
    scan->position = page_end(image, scan->position);
}

static void add(struct scan *scan, const struct rep_record *record, uint32_t next)
{
    struct rep_log *log = scan->log;

    note_valid(scan, next, true);
    log->record = rep_grow(log->record, log->count, &log->room, sizeof *log->record);
    log->record[log->count++] = *record;
    if (record->mended) {
        log->mended++;
        log->last_mended = record->at;
    }
    scan->open = record->more ? scan->open : log->count;
    scan->position = next;
}

/*
 * Behind damage: the same record with a bit turned over, or the next place in the page with a valid
 * one.
 */
static bool go_on(struct scan *scan)
{
    struct rep_image *image = scan->image;
    uint32_t end = page_end(image, scan->position);
    struct rep_record record;

    if (image->budget < image->page_size * 16u) {
        return false;
    }
    image->budget -= image->page_size * 16u;
    if (rep_record_mend(image, scan->block, scan->position, scan->epoch, &record)) {
        add(scan, &record, rep_record_next(image, &record));
        return true;
    }
    scan->log->lost++;
    scan->log->last_lost = (uint16_t)scan->position;
    for (uint32_t at = scan->position + 1; at + NF2_RECORD_OVERHEAD < end; at++) {
        image->budget -= rep_min(image->page_size / 16u, (uint32_t)image->budget);
        if (rep_record_at(image, scan->block, at, scan->epoch, &record) == REP_RECORD) {
            scan->position = at;
            return true;
        }
    }
    return false;
}

/* False: the page is blank. */
static bool enter_page(struct scan *scan)
{
    struct rep_image *image = scan->image;
    struct rep_log *log = scan->log;
    bool mended;

    scan->epoch = rep_page_epoch(image, scan->block, scan->position, &mended);
    log->mended_heads += mended;
    if (scan->epoch == NF2_LOG_BLANK) {
        uint32_t skip = rep_age(image, log->last_epoch) * image->page_size;
        uint32_t last = rep_max((log->last_end + image->page_size - 1) & ~(image->page_size - 1),
                                log->used_end);
        bool ends = image->epoch_known && log->last_end != 0 && !scan->tolerant &&
                    scan->position >= last + skip;
        scan->position = ends ? image->log_bytes : scan->position + image->page_size;
        return false;
    }
    log->used_end = scan->position + image->page_size;
    scan->position += NF2_PAGE_HEAD;
    return true;
}

/* What is at the position: a record that counts, or a reason to leave the page. */
static void look(struct scan *scan)
{
    struct rep_record record, last;
    enum rep_place found = rep_record_at(scan->image, scan->block, scan->position, scan->epoch,
                                         &record);

    if (found != REP_RECORD) {
        if (found == REP_INVALID) {
            note_invalid(scan, &record);
        }
        if (found == REP_BLANK || !scan->tolerant || !go_on(scan)) {
            leave_page(scan, found == REP_INVALID);
        }
        return;
    }
    if (record.more && scan->position >= scan->group_end && !scan->tolerant) {
        uint32_t end;
        last = record;
        found = group_whole(scan, &last, &end);
        if (found != REP_RECORD) {
            if (found == REP_INVALID) {
                note_invalid(scan, &last);
            }
            note_valid(scan, end, false);
            leave_page(scan, true);
            return;
        }
        scan->group_end = end;
    }
    add(scan, &record, rep_record_next(scan->image, &record));
}

void rep_log_read(struct rep_image *image, uint32_t block, bool tolerant, struct rep_log *log)
{
    struct scan scan = {.image = image, .log = log, .block = block, .tolerant = tolerant};

    memset(log, 0, sizeof *log);
    while (scan.position < image->log_bytes) {
        if (scan.position == page_start(image, scan.position) && !enter_page(&scan)) {
            continue;
        }
        look(&scan);
    }
    log->all = log->count;
    log->count = tolerant ? scan.open : log->count; /* the last group has no end */
    log->behind = log->last_end > 0 && page_end(image, log->last_end - 1) < log->used_end;
}

void rep_log_free(struct rep_log *log)
{
    free(log->record);
    log->record = NULL;
}
