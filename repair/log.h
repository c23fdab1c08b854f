/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * log.h - the records of a log, as the core counts them, and as many as can be read where it is
 * damaged.
 */
#ifndef REPAIR_LOG_H
#define REPAIR_LOG_H

#include "common.h"

struct rep_record {
    const uint8_t *payload;     /* in one piece */
    uint16_t at, length;        /* in the block; of the payload */
    uint16_t end;               /* place behind it */
    uint16_t epoch;
    uint8_t type;
    bool more, mended;
};

struct rep_log {
    struct rep_record *record;
    size_t count, all, room;    /* of whole groups; with those of a last one that has no end */
    /* behind the last record; end of the last page that is not blank */
    uint32_t last_end, used_end;
    uint16_t last_epoch;
    uint16_t bad_epoch;         /* of the last page with an invalid place */
    /* one is in the log; behind the last record in its page; a page behind that is not blank */
    bool bad, dirty_end, behind;
    bool damaged;               /* no cuts leave what is here: the core refuses it, as a rule */
    uint16_t damage;            /* the first place that says so */
    uint16_t first_torn, last_torn; /* invalid places */
    unsigned torns;
    /*
     * where it was read in spite of its damage: places without a record; records of which a bit was
     * turned
     */
    unsigned lost, mended;
    uint16_t last_lost, last_mended;    /* the last of these places */
    unsigned mended_heads;      /* pages of which a bit of the epoch was turned over */
};

enum rep_place { REP_RECORD = 1, REP_BLANK = 0, REP_INVALID = -1 };

/* What lies at a place of a page of this epoch. */
enum rep_place rep_record_at(struct rep_image *image, uint32_t block, uint32_t at, uint16_t epoch,
                             struct rep_record *record);

/* The same, with one bit of it turned over where it is invalid: true if that makes it a record. */
bool rep_record_mend(struct rep_image *image, uint32_t block, uint32_t at, uint16_t epoch,
                     struct rep_record *record);

/* Where the record behind one would be. */
uint32_t rep_record_next(const struct rep_image *image, const struct rep_record *record);

/* Reads a log. `tolerant`: also what is behind damage. To be freed. */
void rep_log_read(struct rep_image *image, uint32_t block, bool tolerant, struct rep_log *log);
void rep_log_free(struct rep_log *log);

uint16_t rep_epoch_code(uint32_t number);

/* The epoch of a page, with one bit turned over where that makes sense of its first record. */
uint16_t rep_page_epoch(struct rep_image *image, uint32_t block, uint32_t page_start, bool *mended);

#endif
