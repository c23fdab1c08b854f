/* SPDX-License-Identifier: BSD-2-Clause */
#include "log.h"

/* ---- reading --------------------------------------------------------------------------------- */

uint16_t nf2_epoch_code(uint32_t number)
{
    uint32_t zeros = 12;

    number &= 0xFFFu;
    for (uint32_t bits = number; bits != 0; bits &= bits - 1) {
        zeros--;
    }
    return (uint16_t)(number | zeros << 12);
}

uint32_t nf2_record_place(uint32_t offset, uint32_t position)
{
    uint32_t first = nf2_page_rest(offset),
             per_page = NF2_LOG_PAGE - NF2_CONTINUED_HEAD;

    if (position < first) {
        return offset + position;
    }
    position -= first;
    return offset + first + position / per_page * NF2_LOG_PAGE + NF2_CONTINUED_HEAD +
           position % per_page;
}

int nf2_record_read(nf2_t *fs, uint32_t block, uint32_t offset, uint32_t position, void *data,
                    uint32_t length)
{
    uint8_t *to = data;

    while (length > 0) {
        uint32_t at = nf2_record_place(offset, position);
        uint32_t n = nf2_min(nf2_page_rest(at), length);
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

void nf2_epoch_begin(nf2_t *fs, uint32_t epoch)
{
    uint8_t head[2] = {(uint8_t)epoch, (uint8_t)(epoch >> 8)};

    fs->check_epoch = (uint16_t)epoch;
    fs->check = nf2_crc(0xFFFFFFFFu, head, 2);
}

int nf2_record_at(nf2_t *fs, uint32_t block, uint32_t position, uint32_t epoch,
                  struct nf2_record *record)
{
    uint32_t rest = nf2_page_rest(position);
    const uint8_t *p = nf2_peek(fs, block, position, 2);

    if (rest < NF2_RECORD_OVERHEAD) {
        return NF2_PLACE_BLANK;
    }
    if (p == NULL) {
        return NF2_ERR_IO;
    }
    uint32_t header = nf2_get16(p), length = header & 0xFFFu;
    if (header == NF2_LOG_BLANK || header == NF2_CONTINUED) {
        return NF2_PLACE_BLANK;
    }
    record->offset = (uint16_t)position;
    record->length = (uint16_t)length;
    record->type = (uint8_t)(header >> 13);
    record->more = (header & NF2_RECORD_MORE) != 0;
    if (length < NF2_RECORD_OVERHEAD || record->type == 0) {
        return NF2_PLACE_INVALID;
    }
    bool within = length <= rest;
    uint32_t end = within ? position + length : nf2_record_end(position, length);
    record->end = (uint16_t)end;
    if (!within && (rest != NF2_LOG_PAGE - NF2_PAGE_HEAD || end > nf2_log_bytes(fs))) {
        return NF2_PLACE_INVALID;
    }
    if (epoch == NF2_NONE) {
        return NF2_PLACE_RECORD;
    }
    uint32_t n = nf2_min(nf2_peeked(fs, position), length), done = n;
    uint32_t crc = nf2_crc(nf2_epoch_check(fs, epoch), p, n);
    while (done < length) {
        /* NOLINTNEXTLINE(readability-suspicious-call-argument): an offset there is a position */
        uint32_t at = nf2_record_place(position, done);
        n = nf2_min(nf2_page_rest(at), length - done);
        p = nf2_peek(fs, block, at, n);
        if (p == NULL) {
            return NF2_ERR_IO;
        }
        crc = nf2_crc(crc, p, n);
        done += n;
    }
    return crc == NF2_CRC_OF_CHECKED ? NF2_PLACE_RECORD : NF2_PLACE_INVALID;
}

uint32_t nf2_next_place(const nf2_t *fs, const struct nf2_record *record)
{
    uint32_t end = record->end;

    return record->more ? end : nf2_min(nf2_align_unit(fs, end), nf2_page_end(end - 1));
}

/*
 * Is a record valid if the bit that says that its group goes on is taken as clear? The check of a
 * record with another bit in its header is that of the record as it is, begun with that bit.
 */
static int ends_group(nf2_t *fs, const struct nf2_scan *scan, struct nf2_record *record)
{
    int found = NF2_PLACE_BLANK;

    if (record->more) {
        nf2_epoch_begin(fs, scan->epoch);
        fs->check ^= NF2_RECORD_MORE;
        found = nf2_record_at(fs, scan->block, record->offset, scan->epoch, record);
        fs->check ^= NF2_RECORD_MORE;
        record->more = found != NF2_PLACE_RECORD;
    }
    return found;
}

/*
 * An invalid place, of which `invalid` tells what the header says: damage, not a torn program,
 * where a record follows in its page that another program wrote. Each program writes one group; a
 * torn one leaves bits set: where the bit that says that the group goes on is clear, or is all that
 * is wrong, it does not. A bit of the length may be wrong.
 */
static int note_invalid(nf2_t *fs, struct nf2_scan *scan, struct nf2_record *invalid)
{
    int ends = ends_group(fs, scan, invalid);

    if (ends < NF2_PLACE_INVALID) {
        return ends;
    }
    for (unsigned bit = 0; bit <= 12 && !scan->damaged; bit++) {
        struct nf2_record record = *invalid;
        bool more = true;
        record.length ^= (uint16_t)(1u << bit & 0xFFFu);
        record.end = (uint16_t)nf2_record_end(record.offset, record.length);
        while (more && record.length >= NF2_RECORD_OVERHEAD) {
            uint32_t place = nf2_next_place(fs, &record);
            more = record.more;
            int found = place >= nf2_page_end(invalid->offset) ? NF2_PLACE_BLANK :
                        nf2_record_at(fs, scan->block, place, scan->epoch, &record);
            if (found < NF2_PLACE_INVALID) {
                return found;
            }
            if (found != NF2_PLACE_RECORD) {
                break;
            }
            scan->damaged = !more;
        }
    }
    return NF2_PLACE_INVALID;
}

/*
 * Is the group that begins with `record` whole? Sets `group_end` behind it, or behind its last
 * valid record; `record` goes on to that, or to the place that breaks the group off if that is
 * NF2_PLACE_INVALID.
 */
static int group_whole(nf2_t *fs, struct nf2_scan *scan, struct nf2_record *record)
{
    for (;;) {
        uint32_t place = nf2_next_place(fs, record), next = nf2_page_end(place - 1);
        int found = NF2_PLACE_BLANK;
        scan->group_end = (uint16_t)place;
        if (!record->more) {
            return NF2_PLACE_RECORD;
        }
        if (place != next) {
            found = nf2_record_at(fs, scan->block, place, scan->epoch, record);
        }
        if (found == NF2_PLACE_BLANK && next < nf2_log_bytes(fs)) { /* perhaps it goes on there */
            const uint8_t *head = nf2_peek(fs, scan->block, next, 2);
            if (head == NULL) {
                return NF2_ERR_IO;
            }
            uint32_t other = nf2_get16(head) ^ scan->epoch;
            /* of no bit, or of one that turned over or was not programmed */
            if ((other & (other - 1)) == 0) {
                found = nf2_record_at(fs, scan->block, next + NF2_PAGE_HEAD, scan->epoch, record);
            }
            bool within = found == NF2_PLACE_RECORD &&
                          NF2_PAGE_HEAD + (uint32_t)record->length <= NF2_LOG_PAGE;
            if (other != 0 && found >= NF2_PLACE_INVALID && !within) {
                found = NF2_PLACE_BLANK; /* mend_epoch() does not take it */
            }
        }
        if (found != NF2_PLACE_RECORD) {
            return found;
        }
    }
}

void nf2_scan_begin(struct nf2_scan *scan, uint32_t block)
{
    memset(scan, 0, sizeof *scan);
    scan->block = block;
}

/*
 * One bit of a page's epoch turned over: it is the one that the check of the page's first record
 * holds with, if that lies in the page.
 */
static int mend_epoch(nf2_t *fs, struct nf2_scan *scan)
{
    uint32_t stored = scan->epoch;
    struct nf2_record record;

    for (uint32_t bit = 1; bit < 0x10000u && stored != nf2_epoch_code(stored); bit <<= 1) {
        uint32_t epoch = stored ^ bit;
        int found = epoch != nf2_epoch_code(epoch) ? NF2_PLACE_BLANK :
                    nf2_record_at(fs, scan->block, scan->position, epoch, &record);
        if (found < NF2_PLACE_INVALID) {
            return found;
        }
        if (found == NF2_PLACE_RECORD && scan->position + record.length <= scan->used_end) {
            scan->epoch = (uint16_t)epoch;
            break;
        }
    }
    return 1;
}

/*
 * Is the blank page at the scan's position the log's end? By the epoch rule nothing can have been
 * appended further on. With units of a byte one page at most is left blank in front of another one,
 * also where epochs have come round.
 */
static bool log_ends(const nf2_t *fs, const struct nf2_scan *scan)
{
    uint32_t skip = nf2_epochs_differ(fs) ? nf2_epochs_between(scan->last_epoch, fs->epoch) :
                    NF2_EPOCHS;
    uint32_t most = fs->flash->program_unit == 1 ? 1 : NF2_EPOCHS;
    uint32_t end = nf2_max(nf2_page_end(scan->last_end - 1u), scan->used_end);

    return fs->epoch != 0 && scan->last_end != 0 &&
           scan->position >= end + nf2_min(skip, most) * NF2_LOG_PAGE;
}

int nf2_scan_page(nf2_t *fs, struct nf2_scan *scan)
{
    uint32_t page = NF2_LOG_PAGE, position = scan->position;
    /* Behind a blank page: so is this one, likely. */
    const uint8_t *head = nf2_peek(fs, scan->block, position, scan->used_end < position ? 2 : page);

    if (head == NULL) {
        return NF2_ERR_IO;
    }
    scan->epoch = nf2_get16(head);
    if (scan->epoch == NF2_LOG_BLANK) {
        scan->position = (uint16_t)(log_ends(fs, scan) ? nf2_log_bytes(fs) : position + page);
        return 0;
    }
    scan->used_end = (uint16_t)(position + page);
    scan->position = (uint16_t)(position + NF2_PAGE_HEAD);
    return mend_epoch(fs, scan);
}

void nf2_scan_resume(struct nf2_scan *scan, uint32_t position)
{
    scan->position = scan->last_end = (uint16_t)position;
    scan->used_end = (uint16_t)nf2_page_end(position - 1);
    scan->last_epoch = scan->epoch;
}

/* Notes that the page has something invalid: no group behind it in that epoch is there by right. */
static void note_bad(const nf2_t *fs, struct nf2_scan *scan)
{
    scan->bad = true;
    scan->bad_epoch = scan->epoch;
    scan->front_epoch = scan->last_end != 0 ? scan->last_epoch : scan->epoch;
    scan->dirty_end = true;
    if ((scan->epoch == fs->epoch || scan->front_epoch == fs->epoch || scan->last_end == 0) &&
        nf2_epochs_differ(fs)) {
        scan->own = true;
    }
}

int nf2_scan_next(nf2_t *fs, struct nf2_scan *scan, struct nf2_record *record)
{
    while (scan->position < nf2_log_bytes(fs)) {
        if (scan->position == nf2_page_start(scan->position)) {
            int entered = nf2_scan_page(fs, scan);
            NF2_TRY(entered);
            if (entered == 0) {
                continue;
            }
        }
        /* else it was checked with the first one */
        bool begins = scan->position >= scan->group_end;
        int found = nf2_record_at(fs, scan->block, scan->position, begins ? scan->epoch : NF2_NONE,
                                  record);
        int whole = found;
        struct nf2_record last = *record;
        if (found == NF2_PLACE_RECORD && begins) {
            whole = group_whole(fs, scan, &last);
        }
        if (whole == NF2_PLACE_INVALID) {
            whole = note_invalid(fs, scan, &last);
        }
        if (whole < NF2_PLACE_INVALID) {
            return whole;
        }
        if (found == NF2_PLACE_RECORD) {
            whole = NF2_BROKEN(NF2_FAULT_WHOLE) ? found : whole;
            bool within = record->more && whole == NF2_PLACE_RECORD;
            uint32_t end = within ? nf2_next_place(fs, record) : scan->group_end;
            /*
             * In an epoch nothing is behind a torn program; nor behind a node's first one in any.
             */
            bool wrong = scan->bad && (scan->bad_epoch == scan->epoch ||
                                       scan->front_epoch == scan->epoch || scan->last_end == 0);
            if (wrong && whole == NF2_PLACE_RECORD && nf2_epochs_differ(fs)) {
                scan->damaged = true;
            }
            scan->last_end = (uint16_t)end;
            scan->last_epoch = scan->epoch;
            scan->dirty_end = false;
            if (whole == NF2_PLACE_RECORD) {
                scan->position = (uint16_t)end;
                return 1;
            }
            scan->group_end = 0;
        }
        if (found != NF2_PLACE_BLANK) {
            note_bad(fs, scan);
        }
        scan->position = (uint16_t)nf2_page_end(scan->position);
    }
    return 0;
}

uint32_t nf2_scan_append_at(const nf2_t *fs, const struct nf2_scan *scan, uint32_t kept)
{
    if (scan->last_end == 0) {
        return 0;
    }
    uint32_t page = nf2_page_end(scan->last_end - 1u), at = nf2_max(page, scan->used_end);
    if (scan->last_epoch == fs->epoch && !scan->dirty_end && at == page) {
        return scan->last_end;
    }
    uint32_t skip = NF2_BROKEN(NF2_FAULT_SKIP) ? 0 :
                    nf2_epochs_between(scan->last_epoch, fs->epoch);
    skip -= skip > 0 && scan->last_end + kept <= page;
    if (skip > 1 && fs->flash->program_unit == 1) {
        skip = 1;
        at += NF2_VOID;
    }
    return nf2_min(at + skip * NF2_LOG_PAGE, nf2_log_bytes(fs));
}

/* ---- appending ------------------------------------------------------------------------------- */

/* Is a page to be made void before the log goes on in the next one? */
static bool voids(uint32_t at)
{
    return nf2_page_rest(at) == NF2_LOG_PAGE - NF2_VOID;
}

/* Where a record of so many bytes goes in a log that ends at `at`: there, or in the next page. */
static NF2_APART uint32_t place(uint32_t at, uint32_t length)
{
    uint32_t page = nf2_page_end(at - 1); /* `at` itself, where a page begins */

    return at + length > page || voids(at) ? page + NF2_PAGE_HEAD : at;
}

bool nf2_log_fits(const nf2_t *fs, uint32_t at, uint32_t length)
{
    length += NF2_RECORD_OVERHEAD;
    return nf2_record_end(place(at, length), length) <= nf2_log_bytes(fs);
}

void nf2_writer_begin(struct nf2_writer *writer, uint32_t block, uint32_t position)
{
    writer->block = block;
    writer->position = position;
    writer->start = position;
    writer->bytes = 0;
    writer->result = NF2_OK;
    writer->begun = writer->more = false;
}

void nf2_writer_align(nf2_t *fs, struct nf2_writer *writer)
{
    uint32_t at = nf2_align_unit(fs, writer->position);

    if (writer->result >= 0) {
        memset(fs->write_buffer + (writer->position - writer->start), 0xFF,
               at - writer->position);
    }
    writer->position = at;
}

static void writer_program(nf2_t *fs, struct nf2_writer *writer)
{
    nf2_writer_align(fs, writer);
    uint32_t length = writer->position - writer->start;
    if (length > 0 && writer->result >= 0) {
        writer->result =
            nf2_flash_program(fs, writer->block, writer->start, fs->write_buffer, length);
        writer->begun = true;
    }
    writer->start = writer->position;
}

/*
 * Puts bytes into the page; at a page's end programs it and goes on in the next as a long record
 * does.
 */
static void emit(nf2_t *fs, struct nf2_writer *writer, const uint8_t *data, uint32_t length)
{
    while (length > 0) {
        uint32_t room = nf2_page_end(writer->start) - writer->position;
        if (room == 0) {
            writer_program(fs, writer);
            nf2_put16(nf2_put16(fs->write_buffer, fs->epoch), NF2_CONTINUED);
            writer->position += NF2_CONTINUED_HEAD;
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
    if (writer->result >= 0) {
        writer->crc = nf2_crc(writer->crc, data, length);
        emit(fs, writer, data, length);
    }
}

void nf2_writer_span(nf2_t *fs, struct nf2_writer *writer, const struct nf2_span *from)
{
    if (from->position <= NF2_COUNTED && from->length > 0) {
        uint8_t length = (uint8_t)(from->length - from->position);
        nf2_writer_put(fs, writer, &length, from->position);
        nf2_writer_put(fs, writer, from->at.data, (uint32_t)from->length - from->position);
        return;
    }
    for (uint32_t done = 0, n; done < from->length && writer->result >= 0; done += n) {
        uint32_t at = nf2_record_place(from->at.record.offset, from->position + done);
        n = nf2_min(from->length - done, nf2_page_rest(at));
        const uint8_t *data = nf2_peek(fs, from->at.record.block, at, n);
        writer->result = data != NULL ? writer->result : NF2_ERR_IO;
        nf2_writer_put(fs, writer, data, n);
    }
}

void nf2_writer_copy(nf2_t *fs, struct nf2_writer *writer, const struct nf2_span *from)
{
    uint32_t crc = writer->crc;
    uint8_t byte;

    nf2_writer_span(fs, writer, from);
    fs->drive.window_end = 0;   /* what is read is not what the window has */
    for (uint32_t at = from->position; at < (uint32_t)from->position + from->length; at++) {
        if (nf2_record_read(fs, from->at.record.block, from->at.record.offset, at, &byte, 1) < 0) {
            break;
        }
        crc = nf2_crc(crc, &byte, 1);
    }
    if (crc != writer->crc && writer->result >= 0) {
        writer->result = NF2_ERR_IO;
    }
}

uint32_t nf2_writer_open(nf2_t *fs, struct nf2_writer *writer, unsigned type, uint32_t length)
{
    uint8_t bytes[2];

    length += NF2_RECORD_OVERHEAD;
    NF2_ASSERT(length <= NF2_RECORD_MAX);
    writer->bytes += length;
    uint32_t offset = place(writer->position, length);
    if (offset != writer->position) { /* in a new page; the rest of the last one is given up */
        if (voids(writer->position)) {
            writer->start -= NF2_VOID;
            memset(fs->write_buffer, 0, NF2_PAGE_HEAD);
            writer->position = writer->start + NF2_PAGE_HEAD;
        }
        writer_program(fs, writer);
        writer->start = offset - NF2_PAGE_HEAD;
        writer->position = offset;
        nf2_put16(fs->write_buffer, fs->epoch);
    }
    if (writer->result < 0) {   /* only where it would end is asked for */
        writer->position = nf2_record_end(offset, length);
        return offset;
    }
    NF2_ASSERT(nf2_record_end(offset, length) <= nf2_log_bytes(fs));
    writer->crc = nf2_epoch_check(fs, fs->epoch);
    nf2_put16(bytes, type << 13 | (writer->more ? NF2_RECORD_MORE : 0u) | length);
    nf2_writer_put(fs, writer, bytes, 2);
    return offset;
}

void nf2_writer_close(nf2_t *fs, struct nf2_writer *writer)
{
    uint8_t bytes[4];

    nf2_put32(bytes, ~writer->crc);
    nf2_writer_put(fs, writer, bytes, 4);
}

void nf2_writer_record(nf2_t *fs, struct nf2_writer *writer, unsigned type, const void *payload,
                       uint32_t length)
{
    (void)nf2_writer_open(fs, writer, type, length);
    nf2_writer_put(fs, writer, payload, length);
    nf2_writer_close(fs, writer);
}

int nf2_writer_end(nf2_t *fs, struct nf2_writer *writer)
{
    writer_program(fs, writer);
    return writer->result;
}
