/* SPDX-License-Identifier: BSD-2-Clause */
/* core.h - shared by all modules: assertions, little-endian integers, small helpers. */
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

/* Keeps the locals of a branch off the stack of what its caller calls next. */
#if defined(__GNUC__)
#define NF2_APART __attribute__((noinline))
#else
#define NF2_APART
#endif

/*
 * Keeps this pointer to a part of a structure in a register of its own. Otherwise each access goes
 * through the whole structure's, and is a wide instruction where the part lies far behind its
 * start.
 */
#if defined(__GNUC__)
#define NF2_NEAR(pointer) __asm__("" : "+r"(pointer))
#else
#define NF2_NEAR(pointer) ((void)(pointer))
#endif

/*
 * Results that no caller of the library sees lie among the public ones, close to 0: a comparison
 * with them is a short instruction. Each is defined where it is returned.
 */
#define NF2_OWN_RESULT(result) ((result) < NF2_ERR_NOENT && (result) > NF2_ERR_BADF)

#define NF2_NONE UINT32_MAX
#define NF2_NO_BLOCK 0u         /* of the root log: none, since it is a super block */

/* A build may bring one of its own, which tells where an error came from. */
#ifndef NF2_TRY
#define NF2_TRY(call)            \
    do {                         \
        int nf2_err_ = (call);   \
        if (nf2_err_ < 0) {      \
            return nf2_err_;     \
        }                        \
    } while (0)
#endif

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

static inline uint32_t nf2_get24(const uint8_t *p)
{
    return (uint32_t)p[0] | ((uint32_t)p[1] << 8) | ((uint32_t)p[2] << 16);
}

static inline uint32_t nf2_get32(const uint8_t *p)
{
    return nf2_get24(p) | ((uint32_t)p[3] << 24);
}

/* Each returns the place behind what it stored. */
uint8_t *nf2_put16(uint8_t *p, uint32_t v);
uint8_t *nf2_put24(uint8_t *p, uint32_t v);
uint8_t *nf2_put32(uint8_t *p, uint32_t v);
uint8_t *nf2_put_varint(uint8_t *p, uint32_t v);

/* Bytes of the varint at `p` (at most `room`), 0 if it is none. */
uint32_t nf2_get_varint(const uint8_t *p, uint32_t room, uint32_t *value);

static inline bool nf2_bit(const uint8_t *map, uint32_t bit)
{
    return ((uint32_t)(map[bit / 8] >> bit % 8) & 1u) != 0;
}

void nf2_bit_set(uint8_t *map, uint32_t bit, bool value);

/* nf2_crc of anything and its check behind it, not inverted. */
#define NF2_CRC_OF_CHECKED 0xDEBB20E3u

#endif
