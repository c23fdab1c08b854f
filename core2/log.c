/* SPDX-License-Identifier: BSD-2-Clause */
#include "log.h"

uint16_t nf2_epoch_code(uint32_t number)
{
    uint32_t zeros = 12;

    number &= 0xFFFu;
    for (uint32_t bits = number; bits != 0; bits &= bits - 1) {
        zeros--;
    }
    return (uint16_t)(number | zeros << 12);
}

uint32_t nf2_record_end(const nf2_t *fs, uint32_t offset, uint32_t length)
{
    uint32_t room = nf2_page_end(fs, offset) - offset;

    if (length <= room) {
        return offset + length;
    }
    uint32_t per_page = nf2_page(fs) - NF2_CONTINUED_HEAD;
    uint32_t left = length - room, pages = (left + per_page - 1) / per_page;
    return nf2_page_end(fs, offset) + (pages - 1) * nf2_page(fs) + NF2_CONTINUED_HEAD + left -
           (pages - 1) * per_page;
}

uint32_t nf2_record_place(const nf2_t *fs, uint32_t offset, uint32_t position, uint32_t *room)
{
    uint32_t first = nf2_page_end(fs, offset) - offset, per_page = nf2_page(fs) - NF2_CONTINUED_HEAD;

    if (position < first) {
        *room = first - position;
        return offset + position;
    }
    position -= first;
    *room = per_page - position % per_page;
    return nf2_page_end(fs, offset) + position / per_page * nf2_page(fs) + NF2_CONTINUED_HEAD + position % per_page;
}

int nf2_record_read(nf2_t *fs, uint32_t block, uint32_t offset, uint32_t position, void *data, uint32_t length)
{
    uint8_t *to = data;

    while (length > 0) {
        uint32_t n, at = nf2_record_place(fs, offset, position, &n);
        n = nf2_min(n, length);
        const uint8_t *from = nf2_peek(fs, block, at, n);
        if (from == NULL) {
            return NF2_ERR_IO;
        }
        memcpy(to, from, n);
        to += n;
        position += n;
        length -= n;
    }
    return NF2_OK;
}

/* A record's check begins with the epoch of its page. */
static uint32_t seed_of(uint16_t epoch)
{
    uint8_t bytes[2];

    nf2_put16(bytes, epoch);
    return nf2_crc(0xFFFFFFFFu, bytes, 2);
}

/* 1 if the record's check holds, 0 if not, or an error. */
static int check_record(nf2_t *fs, uint32_t block, const struct nf2_record *record, uint32_t crc)
{
    uint32_t n;

    if (record->length <= nf2_page_end(fs, record->offset) - record->offset) {
        const uint8_t *p = nf2_peek(fs, block, record->offset, record->length);
        return p == NULL ? NF2_ERR_IO : nf2_crc(crc, p, record->length) == NF2_CRC_OF_CHECKED;
    }
    for (uint32_t position = 0; position < record->length; position += n) {
        uint32_t at = nf2_record_place(fs, record->offset, position, &n);
        n = nf2_min(n, record->length - position);
        const uint8_t *from = nf2_peek(fs, block, at, n);
        if (from == NULL) {
            return NF2_ERR_IO;
        }
        crc = nf2_crc(crc, from, n);
    }
    return crc == NF2_CRC_OF_CHECKED;
}

static int record_at(nf2_t *fs, uint32_t block, uint32_t position, uint32_t seed, struct nf2_record *record)
{
    uint32_t end = nf2_page_end(fs, position);

    if (position + NF2_RECORD_OVERHEAD > end) {
        return NF2_PLACE_BLANK;
    }
    const uint8_t *p = nf2_peek(fs, block, position, 2);
    if (p == NULL) {
        return NF2_ERR_IO;
    }
    uint16_t header = nf2_get16(p);
    if (header == NF2_LOG_BLANK) {
        return NF2_PLACE_BLANK;
    }
    record->bytes = NULL;
    record->offset = (uint16_t)position;
    record->length = header & 0xFFFu;
    record->type = (uint8_t)(header >> 13);
    record->more = (header >> 12 & 1u) != 0;
    if (record->length < NF2_RECORD_OVERHEAD || record->type == 0) {
        return header == NF2_CONTINUED ? NF2_PLACE_BLANK : NF2_PLACE_INVALID;
    }
    bool crosses = position + record->length > end;
    if (crosses && (position != nf2_page_start(fs, position) + NF2_PAGE_HEAD ||
                    nf2_record_end(fs, position, record->length) > nf2_log_bytes(fs))) {
        return NF2_PLACE_INVALID;
    }
    int valid = check_record(fs, block, record, seed);
    return valid < 0 ? valid : valid ? NF2_PLACE_RECORD : NF2_PLACE_INVALID;
}

int nf2_record_at(nf2_t *fs, uint32_t block, uint32_t position, uint16_t epoch, struct nf2_record *record)
{
    return record_at(fs, block, position, seed_of(epoch), record);
}

/* Where the record after `record` would be: packed in a group, at a program unit behind one. */
static uint32_t next_place(const nf2_t *fs, const struct nf2_record *record)
{
    uint32_t end = nf2_record_end(fs, record->offset, record->length);

    return record->more ? end : nf2_min(nf2_align_unit(fs, end), nf2_page_end(fs, end - 1));
}

/*
 * Behind an invalid record, if it had this length: does a record follow in its page that another program wrote? Each program writes one
 * group. A torn one leaves bits set: where the bit that says that the group goes on is clear, it does not.
 */
static int goes_on_behind(nf2_t *fs, const struct nf2_scan *scan, struct nf2_record *record)
{
    uint32_t last = nf2_page_end(fs, record->offset);

    while (record->length >= NF2_RECORD_OVERHEAD && nf2_record_end(fs, record->offset, record->length) < last) {
        bool more = record->more;
        uint32_t place = next_place(fs, record);
        int found = place < last ? nf2_record_at(fs, scan->block, place, scan->epoch, record) : NF2_PLACE_BLANK;
        if (found != NF2_PLACE_RECORD || !more) {
            return found == NF2_PLACE_RECORD ? 1 : found < NF2_PLACE_INVALID ? found : 0;
        }
    }
    return 0;
}

/* An invalid place, of which `look` has told what the header says: damage, not a torn program, where the page goes on. A bit of the length may be wrong. */
static NF2_APART int note_invalid(nf2_t *fs, struct nf2_scan *scan, const struct nf2_record *invalid)
{
    for (unsigned bit = 0; bit <= 12 && !scan->damaged; bit++) {
        struct nf2_record record = *invalid;
        record.length ^= 1u << bit & 0xFFFu;
        int damage = goes_on_behind(fs, scan, &record);
        NF2_TRY(damage);
        scan->damaged = damage > 0;
    }
    return NF2_OK;
}

/*
 * Is the group that begins with `record` whole? Goes on to its last record, and sets the place behind it; where it is not whole, the place
 * behind the last valid one, and `record` is the place that breaks it off if that is NF2_PLACE_INVALID.
 */
static NF2_APART int group_whole(nf2_t *fs, const struct nf2_scan *scan, struct nf2_record *record, uint32_t *end)
{
    uint16_t epoch = scan->epoch;

    while (record->more) {
        uint32_t place = next_place(fs, record);
        *end = place;
        int found = place == nf2_page_start(fs, place) ? NF2_PLACE_BLANK : record_at(fs, scan->block, place, scan->seed, record);
        if (found == NF2_PLACE_BLANK) { /* it may go on in the next page */
            place = place == nf2_page_start(fs, place) ? place : nf2_page_end(fs, place);
            if (place >= nf2_log_bytes(fs)) {
                return 0;
            }
            const uint8_t *head = nf2_peek(fs, scan->block, place, 2);
            if (head == NULL) {
                return NF2_ERR_IO;
            }
            if (nf2_get16(head) != epoch) {
                return 0;
            }
            found = record_at(fs, scan->block, place + NF2_PAGE_HEAD, scan->seed, record);
        }
        if (found != NF2_PLACE_RECORD) {
            return found;
        }
    }
    *end = next_place(fs, record);
    return NF2_PLACE_RECORD;
}

void nf2_scan_begin(struct nf2_scan *scan, uint32_t block)
{
    memset(scan, 0, sizeof *scan);
    scan->block = block;
}

void nf2_scan_resume(const nf2_t *fs, struct nf2_scan *scan, uint32_t position, uint16_t epoch)
{
    scan->position = (uint16_t)position;
    scan->last_end = (uint16_t)position;
    scan->used_end = (uint16_t)nf2_page_end(fs, position - 1);
    scan->epoch = scan->last_epoch = epoch;
    scan->seed = seed_of(epoch);
}

/* One bit of a page's epoch turned over: it is the one that the check of the page's first record holds with, if that lies in the page. */
static int mend_epoch(nf2_t *fs, struct nf2_scan *scan)
{
    uint16_t stored = scan->epoch;
    const uint8_t *header = stored != nf2_epoch_code(stored) ? nf2_peek(fs, scan->block, scan->position, 2) : NULL;

    if (header == NULL || (nf2_get16(header) & 0xFFFu) > nf2_page_end(fs, scan->position) - scan->position) {
        return NF2_OK;
    }
    for (unsigned bit = 0; bit < 16; bit++) {
        uint16_t epoch = (uint16_t)(stored ^ 1u << bit);
        struct nf2_record record;
        int found = epoch == nf2_epoch_code(epoch) ? nf2_record_at(fs, scan->block, scan->position, epoch, &record) : NF2_PLACE_INVALID;
        if (found == NF2_PLACE_RECORD || found < NF2_PLACE_INVALID) {
            scan->epoch = epoch;
            return found;
        }
    }
    return NF2_OK;
}

/* Goes to the first record place of the page that `position` is at the start of; 0 if the page is blank. */
static int enter_page(nf2_t *fs, struct nf2_scan *scan)
{
    uint32_t want = nf2_page(fs);
    uint8_t bytes[2] = {0};
    const uint8_t *head = bytes;

    if (scan->used_end < scan->position) { /* behind a blank page: so is this one, likely */
        NF2_TRY(nf2_flash_read(fs, scan->block, scan->position, bytes, sizeof bytes));
    }
    if (nf2_get16(bytes) != NF2_LOG_BLANK) {
        head = nf2_peek(fs, scan->block, scan->position, want);
    }
    if (head == NULL) {
        return NF2_ERR_IO;
    }
    scan->epoch = nf2_get16(head);
    if (scan->epoch == NF2_LOG_BLANK) {
        bool ends = nf2_log_ends(fs, scan->position, scan->last_end, scan->used_end, scan->last_epoch);
        scan->position = (uint16_t)(ends ? nf2_log_bytes(fs) : scan->position + nf2_page(fs));
        return 0;
    }
    scan->used_end = (uint16_t)nf2_page_end(fs, scan->position);
    scan->position = (uint16_t)(scan->position + NF2_PAGE_HEAD);
    NF2_TRY(mend_epoch(fs, scan));
    scan->seed = seed_of(scan->epoch);
    return 1;
}

/* Takes note of a valid record (of a whole group, or of a torn one) that ends at `end`. */
static void note_valid(struct nf2_scan *scan, uint32_t end, bool whole)
{
    if (whole && scan->bad && (scan->bad_epoch == scan->epoch || scan->front_epoch == scan->epoch || (scan->last_end == 0))) {
        scan->damaged = true; /* within an epoch nothing is written behind a torn program; nor behind a node's first one in any */
    }
    scan->last_end = (uint16_t)end;
    scan->last_epoch = scan->epoch;
    scan->dirty_end = false;
}

static void leave_page(const nf2_t *fs, struct nf2_scan *scan, bool invalid)
{
    if (invalid) {
        scan->bad = true;
        scan->bad_epoch = scan->epoch;
        scan->front_epoch = scan->last_end != 0 ? scan->last_epoch : scan->epoch;
        scan->dirty_end = true;
        bool now = scan->epoch == fs->io.epoch || scan->front_epoch == fs->io.epoch || scan->last_end == 0;
        scan->own = scan->own || now;
    }
    scan->position = (uint16_t)nf2_page_end(fs, scan->position);
}

/* Does a whole group lie in the rest of a page? Then `group_end` is behind it. */
static bool group_in_page(struct nf2_scan *scan, const uint8_t *p, uint32_t room)
{
    uint32_t at = 0, header, length;

    do {
        header = at + NF2_RECORD_OVERHEAD <= room ? nf2_get16(p + at) : NF2_LOG_BLANK;
        length = header & 0xFFFu;
        if (length < NF2_RECORD_OVERHEAD || at + length > room || header >> 13 == 0 ||
            nf2_crc(scan->seed, p + at, length) != NF2_CRC_OF_CHECKED) {
            return false;
        }
        at += length;
    } while ((header & 0x1000u) != 0);
    scan->group_end = (uint16_t)(scan->position + at);
    return true;
}

/* Most of a node's tail: the next record lies in the page that the window has, and so does its group. False: look closer. */
static bool next_in_window(const nf2_t *fs, struct nf2_scan *scan, struct nf2_record *record)
{
    uint32_t page = nf2_page(fs), at = scan->position & (page - 1);
    const uint8_t *p = fs->io.read_buffer + at;

    if (fs->io.window_address != scan->window || fs->io.window_begin != 0 || fs->io.window_end != page || at == 0 ||
        scan->bad || (scan->position >= scan->group_end && !group_in_page(scan, p, page - at))) {
        return false;
    }
    uint32_t header = at + NF2_RECORD_OVERHEAD <= page ? nf2_get16(p) : NF2_LOG_BLANK, length = header & 0xFFFu;
    if (at + length > page) {
        return false;           /* a group that goes on in other pages */
    }
    record->bytes = p;
    record->offset = scan->position;
    record->length = (uint16_t)length;
    record->type = (uint8_t)(header >> 13);
    record->more = (header & 0x1000u) != 0;
    at += length;
    at = record->more ? at : nf2_min(nf2_align_unit(fs, at), page);
    scan->position = scan->last_end = (uint16_t)((record->offset & ~(page - 1)) + at);
    scan->last_epoch = scan->epoch;
    scan->dirty_end = false;
    return true;
}

int nf2_scan_next(nf2_t *fs, struct nf2_scan *scan, struct nf2_record *record)
{
    for (;;) {
        if (next_in_window(fs, scan, record)) {
            return 1;
        }
        if (scan->position >= nf2_log_bytes(fs)) {
            return 0;
        }
        if (scan->position == nf2_page_start(fs, scan->position)) {
            int entered = enter_page(fs, scan);
            if (entered <= 0) {
                NF2_TRY(entered);
                continue;
            }
        }
        bool whole_page = nf2_peek(fs, scan->block, nf2_page_start(fs, scan->position), nf2_page(fs)) != NULL;
        scan->window = whole_page ? fs->io.window_address : NF2_NONE;
        int found = record_at(fs, scan->block, scan->position, scan->seed, record);
        if (found < NF2_PLACE_INVALID) {
            return found;
        }
        if (found != NF2_PLACE_RECORD) {
            NF2_TRY(found == NF2_PLACE_INVALID ? note_invalid(fs, scan, record) : NF2_OK);
            leave_page(fs, scan, found == NF2_PLACE_INVALID);
            continue;
        }
        uint32_t end = next_place(fs, record);
        if (record->more && scan->position >= scan->group_end) {
            uint32_t group_end = end;
            struct nf2_record last = *record;
            int whole = group_whole(fs, scan, &last, &group_end);
            NF2_TRY(whole == NF2_PLACE_INVALID ? note_invalid(fs, scan, &last) : whole);
            if (whole != NF2_PLACE_RECORD) {
                note_valid(scan, group_end, false);
                leave_page(fs, scan, true);
                continue;
            }
            scan->group_end = (uint16_t)group_end;
        }
        note_valid(scan, end, true);
        scan->position = (uint16_t)end;
        return 1;
    }
}

uint32_t nf2_scan_append_at(const nf2_t *fs, const struct nf2_scan *scan)
{
    if (scan->last_end == 0) {
        return 0;
    }
    bool torn_page_behind = nf2_page_end(fs, scan->last_end - 1u) < scan->used_end;
    if (scan->last_epoch == fs->io.epoch && !scan->dirty_end && !torn_page_behind) {
        return scan->last_end;
    }
    uint32_t skip = nf2_epochs_between(scan->last_epoch, fs->io.epoch);
    uint32_t at = nf2_max(nf2_page_end(fs, scan->last_end - 1u), scan->used_end) + skip * nf2_page(fs);
    return nf2_min(at, nf2_log_bytes(fs));
}
