/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tolerant.h - the logs of a damaged image (docs/FORMAT.md, section 1), read for what is still in them: records behind a damaged
 * one are found by their checks, single bits are mended by them, and what is lost is told from what a power cut left unfinished.
 */
#ifndef REPAIR_TOLERANT_H
#define REPAIR_TOLERANT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nf2fs/nf2fs.h"

struct rep_image {
    const uint8_t *bytes;
    uint32_t blocks, block_size, page_size, program_unit;
    uint32_t log_bytes;         /* of a block that a log uses */
    bool settled;               /* the volume was left cleanly: nothing in the pages of this epoch was cut */
    uint16_t epoch;
    uint16_t epochs[64];        /* seen in sound records: a page whose own is damaged has one of them */
    unsigned epoch_count;
    uint32_t place[NF2_BAD_MAX];/* blocks in the place of bad ones: what they hold is where it belongs (places.h) */
    unsigned places;
    uint64_t effort;            /* steps that comparing nodes may still take: an image may be made to take ages */
    uint64_t memory;            /* bytes for what came out of comparing them */
};

struct rep_record {
    uint16_t offset, length, epoch;
    uint8_t type;
    bool more;
    bool mended;                /* by one bit */
    bool partial;               /* of a group of which something is missing, and it may never have been whole */
};

/* A place where something was written that cannot be read. */
struct rep_lost {
    uint16_t from, to, epoch;
    uint16_t length;            /* of the record, as its header says; 0: the header does not fit the place */
    uint8_t type;               /* of that record */
    bool more;
    bool unfinished;            /* it may be what a power cut left: then nothing is lost */
};

/* What a log is, for what is written in which order. */
enum rep_kind {
    REP_LOG,                    /* pages one after the other */
    REP_META,                   /* of the meta log: REGION pages come before the group that opens the block */
    REP_META_LAST,              /* nothing was written anywhere after its last record, which may be mended in any case */
    REP_SUPER                   /* the same */
};

struct rep_log {
    uint32_t block;
    enum rep_kind kind;
    uint8_t *bytes;             /* a copy, mended */
    struct rep_record *record;
    struct rep_lost *lost;
    unsigned records, losts;
    unsigned mended;            /* bits */
};

static inline const uint8_t *rep_block(const struct rep_image *image, uint32_t block)
{
    return image->bytes + (size_t)block * image->block_size;
}

/* Reads a block as a log. `log->records` is 0 if it is none. */
void rep_log_read(struct rep_image *image, uint32_t block, enum rep_kind kind, struct rep_log *log);
void rep_log_free(struct rep_log *log);

/* A record's payload, page heads taken out; its length. `to` has room for 4,000 bytes. */
uint32_t rep_payload(const struct rep_image *image, const struct rep_log *log, uint32_t offset, uint32_t length, uint8_t *to);

/* The bytes of the image that a record lies in, its pages' heads included: at most 17 ranges. */
typedef void rep_range(void *context, uint32_t from, uint32_t to);
void rep_record_bytes(const struct rep_image *image, uint32_t block, const struct rep_record *record, rep_range *range, void *context);

/*
 * The one bit of `length` checked bytes (or of the check behind them) that, turned, makes the check right; -1 if there is none.
 * `crc` is the register before these bytes.
 */
int32_t rep_one_bit(uint32_t crc, const uint8_t *bytes, uint32_t length, uint32_t check);

/* Is this blank? And: is it blank but for a bit or two? */
bool rep_blank(const uint8_t *bytes, uint32_t length);
bool rep_noise(const uint8_t *bytes, uint32_t length);

/* Epochs that a page may have whose own is damaged: its own first; at most 90. */
unsigned rep_epoch_guesses(const struct rep_image *image, uint16_t epoch, uint16_t *guesses);

/* malloc and realloc that end the process where there is no memory: a host has it. */
void *rep_alloc(size_t size);
void rep_sort(void *list, size_t count, size_t size, int (*compare)(const void *a, const void *b));   /* qsort, of nothing too */
void *rep_grow(void *list, unsigned count, size_t size);    /* room for one more */

#endif
