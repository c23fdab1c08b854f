/* SPDX-License-Identifier: BSD-2-Clause */
#include "log.h"

#include "flash.h"

uint16_t nf2_epoch_code(uint32_t number)
{
    uint32_t zeros = 12;

    number &= 0xFFFu;
    for (uint32_t bits = number; bits != 0; bits &= bits - 1) {
        zeros--;
    }
    return (uint16_t)(number | zeros << 12);
}

#define BLANK 0xFFFFu
#define CONTINUED 0x0004u       /* header of a page that a long record goes on in */
#define CONTINUED_HEAD 4u       /* epoch and that header */

static uint32_t page_start(const nf2_t *fs, uint32_t position)
{
    return position & ~(nf2_page(fs) - 1);
}

static uint32_t page_end(const nf2_t *fs, uint32_t position)
{
    return page_start(fs, position) + nf2_page(fs);
}

/* Place behind a record of `length` bytes that begins at `offset`: long ones go on behind the heads of further pages. */
static uint32_t record_end(const nf2_t *fs, uint32_t offset, uint32_t length)
{
    uint32_t room = page_end(fs, offset) - offset;

    if (length <= room) {
        return offset + length;
    }
    uint32_t per_page = nf2_page(fs) - CONTINUED_HEAD;
    uint32_t left = length - room, pages = (left + per_page - 1) / per_page;
    return page_end(fs, offset) + (pages - 1) * nf2_page(fs) + CONTINUED_HEAD + left - (pages - 1) * per_page;
}

uint32_t nf2_record_place(const nf2_t *fs, uint32_t offset, uint32_t position, uint32_t *room)
{
    uint32_t first = page_end(fs, offset) - offset, per_page = nf2_page(fs) - CONTINUED_HEAD;

    if (position < first) {
        *room = first - position;
        return offset + position;
    }
    position -= first;
    *room = per_page - position % per_page;
    return page_end(fs, offset) + position / per_page * nf2_page(fs) + CONTINUED_HEAD + position % per_page;
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

/* 1 if the record's check holds, 0 if not, or an error. */
static int check_record(nf2_t *fs, uint32_t block, const struct nf2_record *record, uint16_t epoch)
{
    uint8_t bytes[2];
    uint32_t crc, n;

    nf2_put16(bytes, epoch);
    crc = nf2_crc(0xFFFFFFFFu, bytes, 2);
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

/* Looks at the place `position` of a page: 1 with a valid record there, 0 if the page ends, -1 if it holds something invalid, or an error below that. */
enum { PLACE_RECORD = 1, PLACE_BLANK = 0, PLACE_INVALID = -1 };

static int look(nf2_t *fs, uint32_t block, uint32_t position, uint16_t epoch, struct nf2_record *record)
{
    uint32_t end = page_end(fs, position);

    if (position + NF2_RECORD_OVERHEAD > end) {
        return PLACE_BLANK;
    }
    const uint8_t *p = nf2_peek(fs, block, position, 2);
    if (p == NULL) {
        return NF2_ERR_IO;
    }
    uint16_t header = nf2_get16(p);
    if (header == BLANK) {
        return PLACE_BLANK;
    }
    record->offset = (uint16_t)position;
    record->length = header & 0xFFFu;
    record->type = (uint8_t)(header >> 13);
    record->more = (header >> 12 & 1u) != 0;
    if (record->length < NF2_RECORD_OVERHEAD || record->type == 0) {
        return header == CONTINUED ? PLACE_BLANK : PLACE_INVALID;
    }
    bool crosses = position + record->length > end;
    if (crosses && (position != page_start(fs, position) + NF2_PAGE_HEAD ||
                    record_end(fs, position, record->length) > nf2_log_bytes(fs))) {
        return PLACE_INVALID;
    }
    int valid = check_record(fs, block, record, epoch);
    return valid < 0 ? valid : valid ? PLACE_RECORD : PLACE_INVALID;
}

/* Where the record after `record` would be: packed in a group, at a program unit behind one. */
static uint32_t next_place(const nf2_t *fs, const struct nf2_record *record)
{
    uint32_t end = record_end(fs, record->offset, record->length);

    return record->more ? end : nf2_min(nf2_align_unit(fs, end), page_end(fs, end - 1));
}

/*
 * Behind an invalid record, if it had this length: does a record follow in its page that another program wrote? Each program writes one
 * group. A torn one leaves bits set: where the bit that says that the group goes on is clear, it does not.
 */
static int goes_on_behind(nf2_t *fs, const struct nf2_scan *scan, struct nf2_record *record)
{
    uint32_t last = page_end(fs, record->offset);

    while (record->length >= NF2_RECORD_OVERHEAD && record_end(fs, record->offset, record->length) < last) {
        bool more = record->more;
        uint32_t place = next_place(fs, record);
        int found = place < last ? look(fs, scan->block, place, scan->epoch, record) : PLACE_BLANK;
        if (found != PLACE_RECORD || !more) {
            return found == PLACE_RECORD ? 1 : found < PLACE_INVALID ? found : 0;
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
 * behind the last valid one, and `record` is the place that breaks it off if that is PLACE_INVALID.
 */
static NF2_APART int group_whole(nf2_t *fs, const struct nf2_scan *scan, struct nf2_record *record, uint32_t *end)
{
    uint16_t epoch = scan->epoch;

    while (record->more) {
        uint32_t place = next_place(fs, record);
        *end = place;
        int found = place == page_start(fs, place) ? PLACE_BLANK : look(fs, scan->block, place, epoch, record);
        if (found == PLACE_BLANK) { /* it may go on in the next page */
            place = place == page_start(fs, place) ? place : page_end(fs, place);
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
            found = look(fs, scan->block, place + NF2_PAGE_HEAD, epoch, record);
        }
        if (found != PLACE_RECORD) {
            return found;
        }
    }
    *end = next_place(fs, record);
    return PLACE_RECORD;
}

void nf2_scan_begin(struct nf2_scan *scan, uint32_t block)
{
    memset(scan, 0, sizeof *scan);
    scan->block = block;
}

/* One bit of a page's epoch turned over: it is the one that the check of the page's first record holds with, if that lies in the page. */
static int mend_epoch(nf2_t *fs, struct nf2_scan *scan)
{
    uint16_t stored = scan->epoch;
    const uint8_t *header = stored != nf2_epoch_code(stored) ? nf2_peek(fs, scan->block, scan->position, 2) : NULL;

    if (header == NULL || (nf2_get16(header) & 0xFFFu) > page_end(fs, scan->position) - scan->position) {
        return NF2_OK;
    }
    for (unsigned bit = 0; bit < 16; bit++) {
        uint16_t epoch = (uint16_t)(stored ^ 1u << bit);
        struct nf2_record record;
        int found = epoch == nf2_epoch_code(epoch) ? look(fs, scan->block, scan->position, epoch, &record) : PLACE_INVALID;
        if (found == PLACE_RECORD || found < PLACE_INVALID) {
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

    if (scan->limit != 0) {
        want = nf2_min(want, (uint32_t)scan->limit - scan->position);
    }
    if (scan->used_end < scan->position) { /* behind a blank page: so is this one, likely */
        NF2_TRY(nf2_flash_read(fs, scan->block, scan->position, bytes, sizeof bytes));
    }
    if (nf2_get16(bytes) != BLANK) {
        head = nf2_peek_just(fs, scan->block, scan->position, want);
    }
    if (head == NULL) {
        return NF2_ERR_IO;
    }
    scan->epoch = nf2_get16(head);
    if (scan->epoch == BLANK) {
        bool ends = !scan->gaps && nf2_log_ends(fs, scan->position, scan->last_end, scan->used_end, scan->last_epoch);
        scan->position = (uint16_t)(ends ? nf2_log_bytes(fs) : scan->position + nf2_page(fs));
        return 0;
    }
    scan->used_end = (uint16_t)page_end(fs, scan->position);
    scan->position = (uint16_t)(scan->position + NF2_PAGE_HEAD);
    NF2_TRY(mend_epoch(fs, scan));
    return 1;
}

/* Takes note of a valid record (of a whole group, or of a torn one) that ends at `end`. */
static void note_valid(struct nf2_scan *scan, uint32_t end, bool whole)
{
    if (whole && scan->bad && (scan->bad_epoch == scan->epoch || scan->front_epoch == scan->epoch || (scan->last_end == 0 && !scan->gaps))) {
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
        /* No cut made it, where none was since its page, or the one in front, was begun. Not in the meta log: its blocks are given up where a program fails. */
        bool now = scan->epoch == fs->epoch || scan->front_epoch == fs->epoch || scan->last_end == 0;
        scan->damaged = scan->damaged || (now && fs->epoch_known && !fs->recovered && !fs->broken && !scan->gaps);
    }
    scan->position = (uint16_t)page_end(fs, scan->position);
}

int nf2_scan_next(nf2_t *fs, struct nf2_scan *scan, struct nf2_record *record)
{
    for (;;) {
        if (scan->position >= (scan->limit != 0 ? scan->limit : nf2_log_bytes(fs))) {
            return 0;
        }
        if (scan->position == page_start(fs, scan->position)) {
            int entered = enter_page(fs, scan);
            if (entered <= 0) {
                NF2_TRY(entered);
                continue;
            }
        }
        int found = look(fs, scan->block, scan->position, scan->epoch, record);
        if (found < PLACE_INVALID) {
            return found;
        }
        if (found != PLACE_RECORD) {
            NF2_TRY(found == PLACE_INVALID ? note_invalid(fs, scan, record) : NF2_OK);
            leave_page(fs, scan, found == PLACE_INVALID);
            continue;
        }
        uint32_t end = next_place(fs, record);
        if (record->more && scan->position >= scan->group_end) {
            uint32_t group_end = end;
            struct nf2_record last = *record;
            int whole = group_whole(fs, scan, &last, &group_end);
            NF2_TRY(whole == PLACE_INVALID ? note_invalid(fs, scan, &last) : whole);
            if (whole != PLACE_RECORD) {
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
    bool torn_page_behind = page_end(fs, scan->last_end - 1u) < scan->used_end;
    if (scan->last_epoch == fs->epoch && !scan->dirty_end && !torn_page_behind) {
        return scan->last_end;
    }
    uint32_t skip = NF2_BROKEN(NF2_FAULT_PAGES) ? 0 : nf2_epochs_between(scan->last_epoch, fs->epoch);
    uint32_t at = nf2_max(page_end(fs, scan->last_end - 1u), scan->used_end) + skip * nf2_page(fs);
    return nf2_min(at, nf2_log_bytes(fs));
}

/* ---- writing ------------------------------------------------------------------------------------ */

uint32_t nf2_log_place(const nf2_t *fs, uint32_t at, uint32_t length, uint32_t limit, uint32_t *end)
{
    bool at_start = at == page_start(fs, at);
    uint32_t offset = at_start ? at + NF2_PAGE_HEAD : at;

    if (offset + length > page_end(fs, at) && !at_start) {
        offset = page_end(fs, at) + NF2_PAGE_HEAD;
    }
    *end = record_end(fs, offset, length);
    return *end <= limit ? offset : nf2_log_bytes(fs);
}

void nf2_writer_begin(struct nf2_writer *writer, uint32_t block, uint32_t position)
{
    writer->block = block;
    writer->position = position;
    writer->start = position;
    writer->result = NF2_OK;
}

static void writer_program(nf2_t *fs, struct nf2_writer *writer)
{
    uint32_t length = writer->position - writer->start;

    if (length > 0 && writer->result >= 0) {
        uint32_t padded = nf2_align_unit(fs, length);
        memset(fs->write_buffer + length, 0xFF, padded - length);
        writer->result = nf2_flash_program(fs, writer->block, writer->start, fs->write_buffer, padded);
    }
    writer->start = writer->position;
}

/* Puts bytes into the page; at a page's end programs it and goes on in the next as a long record does. */
static void emit(nf2_t *fs, struct nf2_writer *writer, const uint8_t *data, uint32_t length)
{
    while (length > 0) {
        uint32_t room = page_end(fs, writer->start) - writer->position;
        if (room == 0) {
            writer_program(fs, writer);
            nf2_put16(fs->write_buffer, fs->epoch);
            nf2_put16(fs->write_buffer + 2, CONTINUED);
            writer->position += CONTINUED_HEAD;
            continue;
        }
        uint32_t n = nf2_min(room, length);
        memcpy(fs->write_buffer + (writer->position - writer->start), data, n);
        writer->position += n;
        data += n;
        length -= n;
    }
}

void nf2_writer_put(nf2_t *fs, struct nf2_writer *writer, const void *data, uint32_t length)
{
    writer->crc = nf2_crc(writer->crc, data, length);
    emit(fs, writer, data, length);
}

void nf2_writer_copy(nf2_t *fs, struct nf2_writer *writer, const struct nf2_span *from)
{
    uint8_t chunk[32];

    for (uint32_t done = 0, n; done < from->length; done += n) {
        n = nf2_min(from->length - done, sizeof chunk);
        int result = nf2_record_read(fs, from->at.block, from->offset, from->position + done, chunk, n);
        writer->result = writer->result < 0 ? writer->result : result;
        nf2_writer_put(fs, writer, chunk, n);
    }
}

/* Moves to where a record of `length` bytes may begin: a page head first, or the rest of the page given up. */
static void writer_place(nf2_t *fs, struct nf2_writer *writer, uint32_t length)
{
    uint32_t start = page_start(fs, writer->position), end = page_end(fs, writer->position);

    if (writer->position != start && writer->position + length > end) {
        writer_program(fs, writer);
        writer->position = writer->start = end;
    } else if (writer->position == start && writer->position != writer->start) {
        writer_program(fs, writer);
    }
    if (writer->position == page_start(fs, writer->position)) {
        nf2_put16(fs->write_buffer, fs->epoch);
        writer->position += NF2_PAGE_HEAD;
    }
}

uint32_t nf2_writer_open(nf2_t *fs, struct nf2_writer *writer, uint8_t type, bool more, uint32_t length)
{
    uint8_t bytes[2];

    length += NF2_RECORD_OVERHEAD;
    NF2_ASSERT(length <= NF2_RECORD_MAX);
    writer_place(fs, writer, length);
    uint32_t offset = writer->position;
    NF2_ASSERT(record_end(fs, offset, length) <= nf2_log_bytes(fs));
    nf2_put16(bytes, fs->epoch);
    writer->crc = nf2_crc(0xFFFFFFFFu, bytes, 2);
    nf2_put16(bytes, (uint32_t)type << 13 | (more ? 0x1000u : 0u) | length);
    nf2_writer_put(fs, writer, bytes, 2);
    return offset;
}

void nf2_writer_close(nf2_t *fs, struct nf2_writer *writer)
{
    uint8_t bytes[4];

    nf2_put32(bytes, ~writer->crc);
    emit(fs, writer, bytes, 4);
}

void nf2_writer_record(nf2_t *fs, struct nf2_writer *writer, uint8_t type, bool more, const void *payload, uint32_t length)
{
    (void)nf2_writer_open(fs, writer, type, more, length);
    nf2_writer_put(fs, writer, payload, length);
    nf2_writer_close(fs, writer);
}

int nf2_writer_end(nf2_t *fs, struct nf2_writer *writer)
{
    writer_program(fs, writer);
    uint32_t end = nf2_align_unit(fs, writer->position);
    writer->position = nf2_min(end, page_end(fs, writer->position - 1));
    writer->start = writer->position;
    return writer->result;
}
