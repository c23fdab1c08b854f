/* SPDX-License-Identifier: BSD-2-Clause */
#include "common.h"

uint32_t rep_varint(const uint8_t *p, uint32_t room, uint32_t *value)
{
    *value = 0;
    for (uint32_t i = 0; i < 5 && i < room; i++) {
        if (i == 4 && p[i] > 0x0F) {
            return 0;
        }
        *value |= (uint32_t)(p[i] & 0x7Fu) << 7 * i;
        if ((p[i] & 0x80u) == 0) {
            return i + 1;
        }
    }
    return 0;
}

/* ---- keys ------------------------------------------------------------------------------------ */

int rep_key_compare(const struct rep_key *a, const struct rep_key *b)
{
    if (a->id != b->id) {
        return a->id < b->id ? -1 : 1;
    }
    int order = memcmp(a->bytes, b->bytes, rep_min(a->length, b->length));
    return order != 0 ? order : (int)a->length - (int)b->length;
}

struct rep_key rep_key_number(uint32_t id, uint32_t number)
{
    struct rep_key key = {id,
                          4,
                          {(uint8_t)(number >> 24), (uint8_t)(number >> 16), (uint8_t)(number >> 8),
                           (uint8_t)number}};
    return key;
}

uint32_t rep_key_value(const struct rep_key *key)
{
    const uint8_t *p = key->bytes + key->length;
    return key->length < 4 ?
               0 :
               (uint32_t)p[-4] << 24 | (uint32_t)p[-3] << 16 | (uint32_t)p[-2] << 8 | p[-1];
}

uint32_t rep_key_load(const uint8_t *p, uint32_t room, struct rep_key *key)
{
    uint32_t at = rep_varint(p, room, &key->id);

    memset(key->bytes, 0, sizeof key->bytes);
    if (at == 0 || at >= room || p[at] > NF2_KEY_MAX || p[at] > room - at - 1) {
        return 0;
    }
    key->length = p[at];
    memcpy(key->bytes, p + at + 1, key->length);
    return at + 1 + key->length;
}

/* ---- memory ---------------------------------------------------------------------------------- */

struct rep_chunk {
    struct rep_chunk *next;
    size_t used, room;
    max_align_t bytes[];
};

void *rep_take(struct rep_arena *arena, size_t bytes)
{
    struct rep_chunk *chunk = arena->chunk;

    bytes = (bytes + 15) & ~(size_t)15;
    if (chunk == NULL || chunk->room - chunk->used < bytes) {
        size_t room = bytes > (1u << 16) ? bytes : 1u << 16;
        chunk = malloc(sizeof *chunk + room);
        if (chunk == NULL) {
            abort();
        }
        chunk->next = arena->chunk;
        chunk->used = 0;
        chunk->room = room;
        arena->chunk = chunk;
    }
    void *memory = (uint8_t *)chunk->bytes + chunk->used;
    chunk->used += bytes;
    return memory;
}

void rep_arena_free(struct rep_arena *arena)
{
    while (arena->chunk != NULL) {
        struct rep_chunk *next = arena->chunk->next;
        free(arena->chunk);
        arena->chunk = next;
    }
}

void *rep_grow(void *array, size_t count, size_t *room, size_t size)
{
    if (count < *room) {
        return array;
    }
    *room = *room == 0 ? 16 : 2 * *room;
    array = realloc(array, *room * size);
    if (array == NULL) {
        abort();
    }
    return array;
}

void rep_sort(void *array, size_t count, size_t size, int (*order)(const void *, const void *))
{
    if (count > 1) {
        qsort(array, count, size, order);
    }
}

/* ---- numbers by number ----------------------------------------------------------------------- */

static size_t slot_of(const struct rep_map *map, uint32_t key)
{
    size_t at = (size_t)(key * 2654435761u) & (map->room - 1);

    while (map->pair[2 * at + 1] != 0 && map->pair[2 * at] != key) {
        at = (at + 1) & (map->room - 1);
    }
    return at;
}

uint32_t rep_map_get(const struct rep_map *map, uint32_t key)
{
    return map->room == 0 ? 0 : map->pair[2 * slot_of(map, key) + 1];
}

bool rep_map_set(struct rep_map *map, uint32_t key, uint32_t value)
{
    if (2 * map->count >= map->room) {
        struct rep_map more = {NULL, map->count, map->room == 0 ? 64 : 2 * map->room};
        more.pair = calloc(more.room, 2 * sizeof *more.pair);
        if (more.pair == NULL) {
            abort();
        }
        for (size_t i = 0; i < map->room; i++) {
            if (map->pair[2 * i + 1] != 0) {
                size_t to = slot_of(&more, map->pair[2 * i]);
                memcpy(more.pair + 2 * to, map->pair + 2 * i, 2 * sizeof *more.pair);
            }
        }
        free(map->pair);
        *map = more;
    }
    size_t at = slot_of(map, key);
    if (map->pair[2 * at + 1] != 0) {
        return false;
    }
    map->pair[2 * at] = key;
    map->pair[2 * at + 1] = value;
    map->count++;
    return true;
}

void rep_map_free(struct rep_map *map)
{
    free(map->pair);
}
