/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * log.h - a log in one block: checked records in pages, appended in groups that count whole or not
 * at all. docs/FORMAT.md defines pages, records, groups and the epoch rule.
 */
#ifndef NF2FS_CORE_LOG_H
#define NF2FS_CORE_LOG_H

#include "flash.h"
#include "format.h"

static inline uint32_t nf2_page_start(uint32_t position)
{
    return position & ~(NF2_LOG_PAGE - 1);
}

static inline uint32_t nf2_page_end(uint32_t position)
{
    return (position | (NF2_LOG_PAGE - 1)) + 1;
}

/* Bytes from a place that is no page's start to the end of its page. */
static inline uint32_t nf2_page_rest(uint32_t position)
{
    return (0u - position) & (NF2_LOG_PAGE - 1);
}

/*
 * Where byte `position` of a record lies in the block: all up to the page's end follow it. Long
 * records go on behind the heads of further pages.
 */
uint32_t nf2_record_place(uint32_t offset, uint32_t position);

/* Place behind a record of `length` bytes. */
static inline uint32_t nf2_record_end(uint32_t offset, uint32_t length)
{
    return nf2_record_place(offset, length - 1) + 1;
}

/*
 * An epoch as pages hold it: a number of 12 bits, and above it how many of them are 0. A program
 * that was cut leaves too many ones, in both parts or in one: that is never another epoch.
 */
uint16_t nf2_epoch_code(uint32_t number);

/* Epochs from one to another, round the end. */
static inline uint32_t nf2_epochs_between(uint16_t from, uint16_t to)
{
    return ((uint32_t)to - from) & (NF2_EPOCHS - 1u);
}

/*
 * Is each epoch one session? Their numbers come round: then a record may be as old as it looks, or
 * older by all of them, and nothing follows from where pages are blank or torn.
 */
static inline bool nf2_epochs_differ(const nf2_t *fs)
{
    return fs->root.unclean_mounts < NF2_EPOCHS;
}

struct nf2_record {
    uint16_t offset;            /* in the block */
    uint16_t length;            /* header, payload and check */
    uint16_t end;               /* the place behind it */
    uint8_t type;
    bool more;
};

struct nf2_scan {
    uint16_t position;          /* next place to look at */
    uint16_t epoch;             /* of the page that it is in */
    uint16_t last_end, last_epoch;  /* behind the last valid record, and its page's epoch;
                                       last_end 0: none yet */
    uint16_t group_end;         /* records before this place belong to a group known to be whole */
    uint16_t used_end;          /* end of the last page that is not blank */
    uint16_t bad_epoch;         /* epoch of the last page with an invalid record, */
    uint16_t front_epoch;       /* and of the last valid record in front of it */
    bool bad;
    bool dirty_end;             /* something that is no record follows the
                                   last record in its page */
    bool damaged;               /* an invalid record that no cut explains */
    bool own;                   /* an invalid place in what this session has programmed */
    uint32_t block;
};

static inline uint32_t nf2_log_bytes(const nf2_t *fs)
{
    return fs->log_bytes;
}

void nf2_scan_begin(struct nf2_scan *scan, uint32_t block);

/*
 * Goes to the first record place of the page that `position` is at the start of: 1, 0 if the page
 * is blank, or an error.
 */
int nf2_scan_page(nf2_t *fs, struct nf2_scan *scan);

/* Goes on at `position`, which is behind a valid record of the page's epoch. */
void nf2_scan_resume(struct nf2_scan *scan, uint32_t position);

/* The check of a record begins with its page's epoch: so far it is this. */
void nf2_epoch_begin(nf2_t *fs, uint32_t epoch);
static inline uint32_t nf2_epoch_check(nf2_t *fs, uint32_t epoch)
{
    if (fs->check_epoch != epoch) {
        nf2_epoch_begin(fs, epoch);
    }
    return fs->check;
}

/*
 * What lies at `position` of a page of this epoch (NF2_NONE: its check was looked at before): 1 a
 * valid record, 0 nothing more in this page, -1 something invalid, or an error below that.
 */
enum { NF2_PLACE_RECORD = 1, NF2_PLACE_BLANK = 0, NF2_PLACE_INVALID = -1 };
int nf2_record_at(nf2_t *fs, uint32_t block, uint32_t position, uint32_t epoch,
                  struct nf2_record *record);

/* The next record of a whole group: 1, 0 at the end, or an error. */
int nf2_scan_next(nf2_t *fs, struct nf2_scan *scan, struct nf2_record *record);

/* Where the record after `record` would be: packed in a group, at a program unit behind one. */
uint32_t nf2_next_place(const nf2_t *fs, const struct nf2_record *record);

/*
 * Where the next append goes after a scan to the end; nf2_log_bytes if there is no room. The byte
 * NF2_VOID of a page: that page becomes void first, then the next one is gone on in. A log in which
 * no record leaves a page that has `kept` bytes to spare needs to give up less.
 */
#define NF2_VOID 1u
uint32_t nf2_scan_append_at(const nf2_t *fs, const struct nf2_scan *scan, uint32_t kept);

/* Reads `length` bytes at `position` of a record (0: its header), page crossings taken out. */
int nf2_record_read(nf2_t *fs, uint32_t block, uint32_t offset, uint32_t position, void *data,
                    uint32_t length);

/* A source of bytes for a record: a part of another record, or memory. */
struct nf2_span {
    uint16_t length;
    uint16_t position;          /* in the other record; or one of these: */
    union {
        struct {
            uint16_t block, offset;
        } record;
        const void *data;
    } at;
};
enum { NF2_IN_RAM = 0, NF2_COUNTED = 1 };       /* counted: behind its own length, as a byte */

static inline struct nf2_span nf2_span_of(const void *data, uint32_t length)
{
    struct nf2_span span = {(uint16_t)length, NF2_IN_RAM, {.data = data}};
    return span;
}

static inline struct nf2_span nf2_span_at(uint32_t block, uint32_t offset, uint32_t position,
                                          uint32_t length)
{
    struct nf2_span span = {(uint16_t)length, (uint16_t)position,
                            {.record = {(uint16_t)block, (uint16_t)offset}}};
    return span;
}

/*
 * Appends groups: begin, records, end. `position` moves on as records are placed. Nothing counts
 * before the end; one program where the group fits in the rest of a page. What fails is told at the
 * end: nothing is programmed behind it.
 */
struct nf2_writer {
    uint32_t block;
    uint32_t position;          /* place of the next byte */
    uint32_t start;             /* place of the first byte in the write buffer */
    uint32_t crc;
    uint32_t bytes;             /* of all records */
    int result;                 /* the first error; with one set first only `position` moves */
    bool begun;                 /* something was programmed */
    bool more;                  /* the next record is not the last one of its group */
};

/* Is there room for a record with so many bytes of payload in a log that ends at `at`? */
bool nf2_log_fits(const nf2_t *fs, uint32_t at, uint32_t length);

void nf2_writer_begin(struct nf2_writer *writer, uint32_t block, uint32_t position);

/* The next group begins at a program unit. */
void nf2_writer_align(nf2_t *fs, struct nf2_writer *writer);

/*
 * A record: open, its payload's bytes, `length` in all, from memory or from another record, close.
 * The caller has checked the room. Returns its offset.
 */
uint32_t nf2_writer_open(nf2_t *fs, struct nf2_writer *writer, unsigned type, uint32_t length);
void nf2_writer_put(nf2_t *fs, struct nf2_writer *writer, const void *data, uint32_t length);
void nf2_writer_span(nf2_t *fs, struct nf2_writer *writer, const struct nf2_span *from);
void nf2_writer_close(nf2_t *fs, struct nf2_writer *writer);

/* The same of a part of another record, which is read twice: it must be the same both times. */
void nf2_writer_copy(nf2_t *fs, struct nf2_writer *writer, const struct nf2_span *from);

/* A record with this payload. */
void nf2_writer_record(nf2_t *fs, struct nf2_writer *writer, unsigned type, const void *payload,
                       uint32_t length);

/* Programs what is buffered; afterwards `position` is the log's end. 0, or what failed. */
int nf2_writer_end(nf2_t *fs, struct nf2_writer *writer);

#endif
