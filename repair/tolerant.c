/* SPDX-License-Identifier: BSD-2-Clause */
#include "tolerant.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core.h"
#include "log.h"
#include "meta.h"
#include "node.h"

#define BLANK 0xFFFFu
#define CONTINUED 0x0004u
#define CONTINUED_HEAD 4u
#define NOISE_BITS 2u           /* so many bits in blank flash are no record */

void *rep_alloc(size_t size)
{
    void *memory = calloc(1, size > 0 ? size : 1);

    if (memory == NULL) {
        fputs("out of memory\n", stderr);
        exit(1);
    }
    return memory;
}

void *rep_grow(void *list, unsigned count, size_t size)
{
    if (list != NULL && (count & (count - 1)) != 0) { /* room was made up to the next power of two */
        return list;
    }
    void *memory = realloc(list, size * (count > 0 ? 2u * count : 1u));
    if (memory == NULL) {
        fputs("out of memory\n", stderr);
        exit(1);
    }
    return memory;
}

void rep_sort(void *list, size_t count, size_t size, int (*compare)(const void *a, const void *b))
{
    if (count > 1) {
        qsort(list, count, size, compare);
    }
}

bool rep_blank(const uint8_t *bytes, uint32_t length)
{
    return length == 0 || (bytes[0] == 0xFF && memcmp(bytes, bytes + 1, length - 1) == 0);
}

bool rep_noise(const uint8_t *bytes, uint32_t length)
{
    unsigned count = 0;

    for (uint32_t i = 0; i < length && count <= NOISE_BITS; i++) {
        for (uint32_t bits = bytes[i] ^ 0xFFu; bits != 0; bits &= bits - 1) {
            count++;
        }
    }
    return count <= NOISE_BITS;
}

/* ---- one bit ------------------------------------------------------------------------------------- */

int32_t rep_one_bit(uint32_t crc, const uint8_t *bytes, uint32_t length, uint32_t check)
{
    uint32_t difference = nf2_crc(crc, bytes, length) ^ ~check, effect = 1;

    if ((difference & (difference - 1)) == 0) { /* a bit of the check itself */
        for (uint32_t bit = 0; bit < 32; bit++) {
            if (difference == 1u << bit) {
                return (int32_t)(8 * length + bit);
            }
        }
        return -1;
    }
    for (uint32_t shifts = 1; shifts <= 8 * length; shifts++) { /* what a bit does to the check that so many shifts follow */
        effect = effect >> 1 ^ (effect & 1u ? 0xEDB88320u : 0);
        if (effect == difference) {
            uint32_t behind = (shifts + 7) / 8; /* bytes from the one with the bit on */
            return (int32_t)(8 * (length - behind) + 8 * behind - shifts);
        }
    }
    return -1;
}

unsigned rep_epoch_guesses(const struct rep_image *image, uint16_t epoch, uint16_t *guesses)
{
    unsigned count = 0;

    guesses[count++] = epoch;
    for (unsigned bit = 0; bit < 16; bit++) {
        uint16_t other = (uint16_t)(epoch ^ 1u << bit);
        if (other == nf2_epoch_code(other)) {
            guesses[count++] = other;
        }
    }
    for (unsigned i = 0; i < image->epoch_count; i++) {
        guesses[count++] = image->epochs[i];
    }
    return count;
}

static void note_epoch(struct rep_image *image, uint16_t epoch)
{
    for (unsigned i = 0; i < image->epoch_count; i++) {
        if (image->epochs[i] == epoch) {
            return;
        }
    }
    if (image->epoch_count < sizeof image->epochs / sizeof image->epochs[0]) {
        image->epochs[image->epoch_count++] = epoch;
    }
}

/* ---- places -------------------------------------------------------------------------------------- */

static uint32_t page_start(const struct rep_image *image, uint32_t at)
{
    return at & ~(image->page_size - 1);
}

static uint32_t page_end(const struct rep_image *image, uint32_t at)
{
    return page_start(image, at) + image->page_size;
}

/* Where byte `position` of a record lies. */
static uint32_t place_of(const struct rep_image *image, uint32_t offset, uint32_t position)
{
    uint32_t first = page_end(image, offset) - offset, per_page = image->page_size - CONTINUED_HEAD;

    if (position < first) {
        return offset + position;
    }
    position -= first;
    return page_end(image, offset) + position / per_page * image->page_size + CONTINUED_HEAD + position % per_page;
}

static uint32_t record_end(const struct rep_image *image, uint32_t offset, uint32_t length)
{
    return place_of(image, offset, length - 1) + 1;
}

static uint32_t next_place(const struct rep_image *image, uint32_t offset, uint32_t length, bool more)
{
    uint32_t end = record_end(image, offset, length), aligned = (end + image->program_unit - 1) / image->program_unit * image->program_unit;

    return more ? end : nf2_min(aligned, page_end(image, end - 1));
}

/* Bytes [from, from + length) of a record. */
static void gather(const struct rep_image *image, const uint8_t *block, uint32_t offset, uint32_t from, uint32_t length, uint8_t *to)
{
    for (uint32_t i = 0; i < length; i++) {
        to[i] = block[place_of(image, offset, from + i)];
    }
}

uint32_t rep_payload(const struct rep_image *image, const struct rep_log *log, uint32_t offset, uint32_t length, uint8_t *to)
{
    gather(image, log->bytes, offset, 2, length - NF2_RECORD_OVERHEAD, to);
    return length - NF2_RECORD_OVERHEAD;
}

void rep_record_bytes(const struct rep_image *image, uint32_t block, const struct rep_record *record, rep_range *range, void *context)
{
    uint32_t base = block * image->block_size, end = record_end(image, record->offset, record->length);

    range(context, base + page_start(image, record->offset), base + page_start(image, record->offset) + NF2_PAGE_HEAD);
    for (uint32_t at = record->offset; at < end; at = page_end(image, at)) {
        range(context, base + at, base + nf2_min(end, page_end(image, at)));
    }
}

/* ---- one record ---------------------------------------------------------------------------------- */

/* Could a record with this header begin here? Its length, or 0. */
static uint32_t possible(const struct rep_image *image, uint32_t offset, uint32_t header)
{
    uint32_t length = header & 0xFFFu;
    bool crosses = offset + length > page_end(image, offset);

    if (length < NF2_RECORD_OVERHEAD || length > NF2_RECORD_MAX || header >> 13 == 0) {
        return 0;
    }
    if (crosses && (offset != page_start(image, offset) + NF2_PAGE_HEAD || record_end(image, offset, length) > image->log_bytes)) {
        return 0;
    }
    return length;
}

/* The register behind a page's epoch: a record's check begins so. */
static uint32_t crc_of_epoch(uint16_t epoch)
{
    uint8_t bytes[2];

    nf2_put16(bytes, epoch);
    return nf2_crc(0xFFFFFFFFu, bytes, 2);
}

static bool sound(const struct rep_image *image, const uint8_t *block, uint32_t offset, uint32_t header, uint16_t epoch)
{
    uint8_t bytes[NF2_RECORD_MAX];
    uint32_t length = possible(image, offset, header);

    if (length == 0) {
        return false;
    }
    gather(image, block, offset, 0, length, bytes);
    nf2_put16(bytes, header);
    return nf2_get32(bytes + length - 4) == ~nf2_crc(crc_of_epoch(epoch), bytes, length - 4);
}

static struct rep_record record_of(uint32_t offset, uint32_t header, uint16_t epoch)
{
    struct rep_record record = {(uint16_t)offset, (uint16_t)(header & 0xFFFu), epoch, (uint8_t)(header >> 13), (header >> 12 & 1u) != 0,
                                false, false};
    return record;
}

static bool record_at(const struct rep_image *image, const uint8_t *block, uint32_t offset, uint16_t epoch, struct rep_record *record)
{
    if (offset + NF2_RECORD_OVERHEAD > page_end(image, offset)) {
        return false;
    }
    uint32_t header = nf2_get16(block + offset);
    if (header == BLANK || !sound(image, block, offset, header, epoch)) {
        return false;
    }
    *record = record_of(offset, header, epoch);
    return true;
}

/* The record that one turned bit makes of what is here. `*bit` is its place in the block. */
static bool mend(const struct rep_image *image, const uint8_t *block, uint32_t offset, uint16_t epoch, struct rep_record *record, uint32_t *bit)
{
    uint8_t bytes[NF2_RECORD_MAX];
    uint32_t header = nf2_get16(block + offset), length = possible(image, offset, header);

    for (uint32_t i = 0; i < 16; i++) {
        if (sound(image, block, offset, header ^ 1u << i, epoch)) {
            *record = record_of(offset, header ^ 1u << i, epoch);
            *bit = 8 * offset + i;
            return true;
        }
    }
    if (length == 0) {
        return false;
    }
    gather(image, block, offset, 0, length, bytes);
    int32_t found = rep_one_bit(crc_of_epoch(epoch), bytes, length - 4, nf2_get32(bytes + length - 4));
    if (found < 16) { /* the header was tried */
        return false;
    }
    *record = record_of(offset, header, epoch);
    *bit = 8 * place_of(image, offset, (uint32_t)found / 8) + (uint32_t)found % 8;
    return true;
}

/* ---- a page -------------------------------------------------------------------------------------- */

static void add_record(struct rep_log *log, const struct rep_record *record)
{
    log->record = rep_grow(log->record, log->records, sizeof *log->record);
    log->record[log->records++] = *record;
}

static bool next_sound(const struct rep_image *image, const uint8_t *block, uint32_t from, uint16_t epoch, struct rep_record *record)
{
    for (uint32_t at = from; at < page_end(image, from - 1); at++) {
        if (record_at(image, block, at, epoch, record)) {
            return true;
        }
    }
    return false;
}

/* The epoch with which something in the page is right; the page's own, if nothing is. */
static uint16_t page_epoch(const struct rep_image *image, const uint8_t *block, uint32_t page)
{
    uint16_t guesses[90], own = nf2_get16(block + page);
    unsigned count = rep_epoch_guesses(image, own, guesses);
    struct rep_record record;

    for (unsigned i = 0; i < count; i++) {
        if (next_sound(image, block, page + NF2_PAGE_HEAD, guesses[i], &record)) {
            return guesses[i];
        }
    }
    return own;
}

static uint32_t last_written(const uint8_t *block, uint32_t from, uint32_t to)
{
    while (to > from && block[to - 1] == 0xFF) {
        to--;
    }
    return to;
}

/* A place where something was written; its mend is a record of length 0. */
static struct rep_lost *add_lost(struct rep_log *log, uint32_t from, uint32_t to, uint16_t epoch, struct rep_record **mends)
{
    struct rep_lost lost = {(uint16_t)from, (uint16_t)to, epoch, 0, 0, false, false};

    *mends = rep_grow(*mends, log->losts, sizeof **mends);
    memset(&(*mends)[log->losts], 0, sizeof **mends);
    log->lost = rep_grow(log->lost, log->losts, sizeof *log->lost);
    log->lost[log->losts] = lost;
    return &log->lost[log->losts++];
}

/*
 * What is at a place that holds no sound record. Notes what is lost, and the record that one bit makes of it (of which it is to
 * be judged later whether that may be). Returns where to go on.
 */
static uint32_t invalid(const struct rep_image *image, struct rep_log *log, uint32_t at, uint16_t epoch, struct rep_record **mends)
{
    uint32_t end = page_end(image, at), header = nf2_get16(log->bytes + at), bit;
    struct rep_record next, mended;
    bool found = next_sound(image, log->bytes, at + 1, epoch, &next);
    uint32_t to = found ? next.offset : last_written(log->bytes, at, end);

    if (!found && rep_noise(log->bytes + at, end - at)) {
        return end;
    }
    struct rep_lost *lost = add_lost(log, at, to, epoch, mends);
    if (at + NF2_RECORD_OVERHEAD <= end && mend(image, log->bytes, at, epoch, &mended, &bit) &&
        (!found || next.offset >= record_end(image, at, mended.length))) {
        log->bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        mended.mended = true;
        (*mends)[log->losts - 1] = mended;
        header = (uint32_t)mended.type << 13 | (mended.more ? 0x1000u : 0u) | mended.length;
        lost->to = (uint16_t)record_end(image, at, mended.length);
        to = next_place(image, at, mended.length, mended.more);
        found = true;
    } else {
        to = found ? to : end;
    }
    uint32_t length = possible(image, at, header), behind = length == 0 ? 0 : next_place(image, at, length, header >> 12 & 1u);
    if (length != 0 && (found ? behind == to : at + length <= end && lost->to <= at + length && lost->to + 4u > at + length)) {
        lost->length = (uint16_t)length; /* the header leads to what follows, or the record's check is what was written last */
        lost->type = (uint8_t)(header >> 13);
        lost->more = (header >> 12 & 1u) != 0;
    }
    return to;
}

/* All that is in the pages, in order. */
static void read_pages(struct rep_image *image, struct rep_log *log, struct rep_record **mends)
{
    uint16_t epoch = BLANK;
    struct rep_record record;

    for (uint32_t at = 0; at < image->log_bytes;) {
        if (at == page_start(image, at)) {
            if (rep_noise(log->bytes + at, image->page_size)) {
                at += image->page_size;
                continue;
            }
            epoch = page_epoch(image, log->bytes, at);
            log->mended += epoch != nf2_get16(log->bytes + at);
            nf2_put16(log->bytes + at, epoch);
            at += NF2_PAGE_HEAD;
            if (nf2_get16(log->bytes + at) == CONTINUED) { /* of a long record that was not found */
                uint32_t from = at;
                at = next_sound(image, log->bytes, at + 1, epoch, &record) ? record.offset : page_end(image, at);
                add_lost(log, from, at, epoch, mends);
                continue;
            }
        }
        if (record_at(image, log->bytes, at, epoch, &record)) {
            note_epoch(image, epoch);
            add_record(log, &record);
            at = next_place(image, at, record.length, record.more);
        } else if (rep_blank(log->bytes + at, page_end(image, at) - at)) {
            at = page_end(image, at);
        } else {
            at = invalid(image, log, at, epoch, mends);
        }
    }
}

/* Is there a place that cannot be read between two? */
static bool lost_between(const struct rep_log *log, uint32_t from, uint32_t to)
{
    for (unsigned i = 0; i < log->losts; i++) {
        if (log->lost[i].from >= from && log->lost[i].from < to) {
            return true;
        }
    }
    return false;
}

/* Does a record belong to the group that opens a block of the meta log? REGION pages behind it were programmed before it. */
static bool in_opening(const struct rep_image *image, const struct rep_log *log, uint32_t offset, uint8_t type)
{
    return (log->kind == REP_META || log->kind == REP_META_LAST) && offset < NF2_OPENING_PAGES * image->page_size && type != NF2_META_REGION;
}

/* Something between two records of one session was written and is blank: the writer would have gone on there. */
static void note_vanished(const struct rep_image *image, struct rep_log *log, struct rep_record **mends)
{
    for (unsigned i = 0; i + 1 < log->records; i++) {
        const struct rep_record *record = &log->record[i], *next = &log->record[i + 1];
        uint32_t end = next_place(image, record->offset, record->length, record->more), page = page_end(image, end - 1);
        if (record->epoch != next->epoch || next->offset < page || !rep_blank(log->bytes + end, page - end)) {
            continue;
        }
        if (lost_between(log, end, next->offset)) {
            continue; /* that is why */
        }
        if (in_opening(image, log, record->offset, record->type) && next->type == NF2_META_REGION && !record->more) {
            continue; /* a turn leaves the rest of these pages blank */
        }
        bool gap = page - end > image->page_size / 8 && next->length <= page - end;
        if (gap || page_start(image, next->offset) > page) {
            add_lost(log, end, next->offset, record->epoch, mends);
        }
    }
}

/* ---- unfinished or lost -------------------------------------------------------------------------- */

/* Was this place written in a session that nobody cut? Pages are written in order; that of the place may have lost its epoch. */
static bool in_last_session(const struct rep_image *image, const struct rep_log *log, const struct rep_lost *lost)
{
    bool found = lost->epoch == image->epoch;

    for (unsigned i = 0; i < log->records && !found; i++) {
        found = log->record[i].offset < lost->from && log->record[i].epoch == image->epoch;
    }
    return image->settled && found;
}

/* Is there proof that more was written after this place was, in the same session? Else it may be a program that was cut. */
static bool written_behind(const struct rep_image *image, const struct rep_log *log, const struct rep_lost *lost)
{
    bool same_group = lost->length == 0 || lost->more, opening = in_opening(image, log, lost->from, lost->type);

    if (in_last_session(image, log, lost)) {
        return true;
    }
    for (unsigned i = 0; i < log->records; i++) {
        const struct rep_record *record = &log->record[i];
        if (record->offset < lost->to || record->epoch != lost->epoch || (opening && record->type == NF2_META_REGION)) {
            continue;
        }
        if (!same_group || page_start(image, record->offset) != page_start(image, lost->from)) {
            return true; /* pages are programmed one after the other */
        }
        same_group = record->more;
    }
    for (unsigned i = 0; i < log->losts && lost->length != 0 && !lost->more; i++) { /* a cut sets no bit: that was all of its program */
        if (log->lost[i].epoch == lost->epoch && log->lost[i].from >= lost->to && !opening) {
            return true;
        }
    }
    return false;
}

/* Records that one bit made right count where there is such proof. */
static void take_mends(struct rep_log *log, const struct rep_record *mends)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < log->losts; i++) {
        if (mends[i].length == 0 || log->lost[i].unfinished) {
            log->lost[kept++] = log->lost[i];
            continue;
        }
        add_record(log, &mends[i]);
        log->mended++;
        unsigned at = log->records - 1;
        for (; at > 0 && log->record[at - 1].offset > mends[i].offset; at--) {
            log->record[at] = log->record[at - 1];
        }
        log->record[at] = mends[i];
    }
    log->losts = kept;
}

/* Is there a place between two that may be unfinished? */
static bool unfinished_between(const struct rep_log *log, uint32_t from, uint32_t to)
{
    for (unsigned i = 0; i < log->losts; i++) {
        if (log->lost[i].unfinished && log->lost[i].from >= from && log->lost[i].from < to) {
            return true;
        }
    }
    return false;
}

/* Is a record where the one in front of it in its group has its successor? Or is what lies between them lost? */
static bool goes_on(const struct rep_image *image, const struct rep_log *log, const struct rep_record *record, const struct rep_record *next)
{
    if (next->offset <= page_end(image, record_end(image, record->offset, record->length) - 1) + NF2_PAGE_HEAD) {
        return true;
    }
    return lost_between(log, record->offset, next->offset);
}

/* A group of which the rest is missing, and of which nothing says that it was ever there, is marked. */
static void mark_partial(const struct rep_image *image, struct rep_log *log)
{
    for (unsigned first = 0, next; first < log->records; first = next) {
        const struct rep_record *last = &log->record[first];
        bool whole = first == 0 || !unfinished_between(log, log->record[first - 1].offset, last->offset) ||
                     log->record[first - 1].epoch != last->epoch;
        for (next = first + 1; next < log->records && last->more; next++) {
            if (log->record[next].epoch != last->epoch || unfinished_between(log, last->offset, log->record[next].offset) ||
                !goes_on(image, log, last, &log->record[next])) {
                break;
            }
            last = &log->record[next];
        }
        bool cut = last->more && !(image->settled && last->epoch == image->epoch);
        for (unsigned i = first; i < next; i++) {
            log->record[i].partial = cut || !whole;
        }
    }
}

/*
 * May a record that one bit made right count, where it may be what a power cut left? A cut leaves bits that should be 0, not the other way round;
 * and a record that names a new node in its parent changes nothing but the way to what is there.
 */
static bool harmless(const struct rep_image *image, const struct rep_log *log, const struct rep_record *mend)
{
    const uint8_t *before = rep_block(image, log->block), *body = log->bytes + mend->offset + mend->length - 8;
    uint32_t end = (uint32_t)mend->offset + mend->length;

    for (uint32_t at = mend->offset; at < end && at < image->log_bytes; at++) {
        if ((log->bytes[at] & ~before[at]) != 0) {
            return true;
        }
    }
    return end <= page_end(image, mend->offset) && (mend->type == NF2_NODE_PUT || mend->type == NF2_NODE_PUTK) && body[0] == NF2_BODY_CHILD &&
           nf2_get24(body + 1) < image->blocks;
}

static int by_place(const void *a, const void *b)
{
    return (int)((const struct rep_lost *)a)->from - (int)((const struct rep_lost *)b)->from;
}

void rep_log_read(struct rep_image *image, uint32_t block, enum rep_kind kind, struct rep_log *log)
{
    bool newest = kind >= REP_META_LAST;
    struct rep_record *mends = NULL;

    memset(log, 0, sizeof *log);
    log->block = block;
    log->kind = kind;
    log->bytes = rep_alloc(image->log_bytes);
    memcpy(log->bytes, rep_block(image, block), image->log_bytes);
    read_pages(image, log, &mends);
    note_vanished(image, log, &mends);
    for (unsigned i = 0; i < log->losts; i++) {
        log->lost[i].unfinished = !written_behind(image, log, &log->lost[i]) && !(mends[i].length != 0 && (newest || harmless(image, log, &mends[i])));
    }
    take_mends(log, mends);
    rep_sort(log->lost, log->losts, sizeof *log->lost, by_place);
    mark_partial(image, log);
    free(mends);
}

void rep_log_free(struct rep_log *log)
{
    free(log->bytes);
    free(log->record);
    free(log->lost);
    memset(log, 0, sizeof *log);
}
