/* SPDX-License-Identifier: BSD-2-Clause */
/* common.h - integers, checks, keys, memory, and the image: shared by all files of repair. */
#ifndef REPAIR_COMMON_H
#define REPAIR_COMMON_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "src/format.h"
#include "repair.h"

#define REP_NONE UINT32_MAX
#define REP_NO_BLOCK 0xFFFFFFu
#define REP_CRC_START 0xFFFFFFFFu
#define REP_CRC_GOOD 0xDEBB20E3u        /* of anything and its check behind it */

static inline uint32_t rep_min(uint32_t a, uint32_t b) { return a < b ? a : b; }
static inline uint32_t rep_max(uint32_t a, uint32_t b) { return a > b ? a : b; }
static inline uint16_t rep_get16(const uint8_t *p)
{
    return (uint16_t)(p[0] | (uint16_t)(p[1] << 8));
}
static inline uint32_t rep_get24(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16;
}
static inline uint32_t rep_get32(const uint8_t *p) { return rep_get24(p) | (uint32_t)p[3] << 24; }

uint32_t rep_crc(uint32_t crc, const uint8_t *data, uint32_t length);

/*
 * The one bit of `length` bytes, the last four of which are their check, with which the check would
 * hold; -1: there is none. `crc` is that of all of them as they are.
 */
int rep_crc_bit(uint32_t crc, uint32_t length);

/* Bytes of the varint at `p`, 0 if it is none. */
uint32_t rep_varint(const uint8_t *p, uint32_t room, uint32_t *value);

struct rep_key {
    uint32_t id;
    uint8_t length;
    uint8_t bytes[NF2_KEY_MAX];
};

int rep_key_compare(const struct rep_key *a, const struct rep_key *b);
struct rep_key rep_key_number(uint32_t id, uint32_t number);
uint32_t rep_key_value(const struct rep_key *key);  /* the number that its last four bytes are */
/* bytes, 0 if it is none */
uint32_t rep_key_load(const uint8_t *p, uint32_t room, struct rep_key *key);

/*
 * Memory that lives as long as the repair. Where it runs out the process ends: a host has more than
 * an image needs.
 */
struct rep_arena {
    struct rep_chunk *chunk;
};
void *rep_take(struct rep_arena *arena, size_t bytes);
void rep_arena_free(struct rep_arena *arena);

/* Makes room for one more in an array of `*room`; the array may move. */
void *rep_grow(void *array, size_t count, size_t *room, size_t size);

/* NULL: of none */
void rep_sort(void *array, size_t count, size_t size, int (*order)(const void *, const void *));

/* Numbers by number: 0 where there is none. */
struct rep_map {
    uint32_t *pair;
    size_t count, room;
};
uint32_t rep_map_get(const struct rep_map *map, uint32_t key);
/* false: it was there, and stays */
bool rep_map_set(struct rep_map *map, uint32_t key, uint32_t value);
void rep_map_free(struct rep_map *map);

struct rep_image {
    const uint8_t *bytes;
    uint32_t block_size, page_size, unit, blocks, log_bytes, supers;
    uint32_t volume_id;
    uint16_t epoch;             /* of the last session */
    bool epoch_known;
    /* it was left cleanly: no cut explains an invalid place of its epoch */
    bool clean;
    bool never_cut;             /* nor was any before: no cut explains any invalid place */
    /* bytes that may still be looked at for records behind damaged ones, and in comparisons */
    uint64_t budget;
    uint64_t frames_budget;     /* the same for frames */
    struct rep_arena arena;
};

static inline const uint8_t *rep_at(const struct rep_image *image, uint32_t block, uint32_t offset)
{
    return image->bytes + (size_t)block * image->block_size + offset;
}

/* sessions ago that ended in a cut */
static inline uint32_t rep_age(const struct rep_image *image, uint16_t epoch)
{
    return ((uint32_t)image->epoch - epoch) & 0xFFFu;
}

#endif
