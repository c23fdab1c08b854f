/* SPDX-License-Identifier: BSD-2-Clause */
/* core.h - what every room of the core shares: assertions, integers in little endian, small helpers. */
#ifndef NF2FS_CORE_H
#define NF2FS_CORE_H

#include <stddef.h>
#include <string.h>

#include "nf2fs/nf2fs.h"
#include "broken.h"

#ifndef NF2_ASSERT
#ifdef NF2_DEBUG
#include <assert.h>
#define NF2_ASSERT(condition) assert(condition)
#else
#define NF2_ASSERT(condition) ((void)0)
#endif
#endif

/* For checks that read the chip, which tests count: with NF2_DEBUG=2. */
#if defined(NF2_DEBUG) && NF2_DEBUG > 1
#define NF2_ASSERT_READING(condition) NF2_ASSERT(condition)
#else
#define NF2_ASSERT_READING(condition) ((void)0)
#endif

/* Keeps the locals of a branch off the stack of what its caller calls next. */
#if defined(__GNUC__)
#define NF2_APART __attribute__((noinline))
#else
#define NF2_APART
#endif

/* Its calls are shorter than the copies of it that a compiler takes for short. */
#define NF2_ONCE NF2_APART

#define NF2_TREE_SLOT (NF2_SLOTS - 1u)
#define NF2_NONE UINT32_MAX
#define NF2_NO_BLOCK 0xFFFFFFu   /* no block, in the 24 bits of the format */

#define NF2_TRY(call)            \
    do {                         \
        int nf2_err_ = (call);   \
        if (nf2_err_ < 0) {      \
            return nf2_err_;     \
        }                        \
    } while (0)

/* What idle work looks at for garbage (fs->compact_due). */
enum nf2_compact_due {
    NF2_COMPACT_NOTHING,
    NF2_COMPACT_ONCE,           /* all indexed files, to the present round's end */
    NF2_COMPACT_TWICE,          /* to the end of the next one: the present one may be half done */
    NF2_COMPACT_ONE             /* the file fs->compact_id */
};

#define NF2_GARBAGE_MUCH 255u  /* fs->garbage: so many blocks or more, or it is not known */

/* Which leaves idle work looks at for sparse ones, and then merges. */
enum nf2_merge_due {
    NF2_MERGE_ALL,              /* all, from where the walk is */
    NF2_MERGE_AGAIN,            /* and once more, from the first one */
    NF2_MERGE_DONE,             /* none; where blocks are scarce fuller ones are merged, which was not looked for */
    NF2_MERGE_DONE_SCARCE,      /* none */
    NF2_MERGE_DONE_HERE,        /* none; some were not looked at, and the key that was removed last is known */
    NF2_MERGE_LEFT,             /* the left neighbour of the leaf that this key led to, and that leaf */
    NF2_MERGE_HERE              /* that leaf */
};

static inline uint32_t nf2_min(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static inline uint32_t nf2_max(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static inline uint16_t nf2_get16(const uint8_t *p)
{
    return (uint16_t)(p[0] | (uint16_t)(p[1] << 8));
}

uint32_t nf2_get24(const uint8_t *p);

static inline uint32_t nf2_get32(const uint8_t *p)
{
    return (uint32_t)p[0] | ((uint32_t)p[1] << 8) | ((uint32_t)p[2] << 16) | ((uint32_t)p[3] << 24);
}

static inline uint8_t *nf2_put16(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
    return p + 2;
}

uint8_t *nf2_put24(uint8_t *p, uint32_t v);

uint8_t *nf2_put32(uint8_t *p, uint32_t v);

bool nf2_bit(const uint8_t *map, uint32_t bit);

void nf2_bit_set(uint8_t *map, uint32_t bit, bool value);

/* CRC-32 continued from `crc` (start with 0xFFFFFFFF, invert at the end). */
uint32_t nf2_crc(uint32_t crc, const void *data, uint32_t length);
#define NF2_CRC_OF_CHECKED 0xDEBB20E3u  /* of anything and its check behind it, not inverted */

#endif
