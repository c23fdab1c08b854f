/* SPDX-License-Identifier: BSD-2-Clause */
/* common.c - memory, lists, keys and ranges of them. */
#include <stdarg.h>
#include <stdio.h>

#include "inside.h"

/* ---- memory ---------------------------------------------------------------------------------- */

void *rep_take(struct repair *r, size_t bytes)
{
    struct rep_memory *memory = calloc(1, sizeof *memory + bytes);

    if (memory == NULL) {
        abort();
    }
    memory->next = r->memory;
    r->memory = memory;
    return memory->bytes;
}

const char *rep_text(struct repair *r, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    size_t size = (size_t)vsnprintf(NULL, 0, format, list) + 1;
    va_end(list);
    char *text = rep_take(r, size);
    va_start(list, format);
    (void)vsnprintf(text, size, format, list);
    va_end(list);
    return text;
}

void *rep_grow(struct repair *r, void *list, size_t count, size_t *room, size_t size)
{
    if (count < *room) {
        return list;
    }
    *room = *room == 0 ? 4 : 2 * *room;
    void *more = rep_take(r, *room * size);
    return count > 0 ? memcpy(more, list, count * size) : more;
}

void rep_sort(void *list, size_t count, size_t size, int (*order)(const void *, const void *))
{
    if (count > 1) { /* an empty one is NULL */
        qsort(list, count, size, order);
    }
}

size_t rep_lower(const void *list, size_t count, size_t size, const void *key,
                 int (*order)(const void *one, const void *key))
{
    size_t low = 0;

    while (low < count) {
        size_t middle = (low + count) / 2;
        if (order((const uint8_t *)list + middle * size, key) < 0) {
            low = middle + 1;
        } else {
            count = middle;
        }
    }
    return low;
}

/* ---- keys ------------------------------------------------------------------------------------ */

uint32_t rep_varint(const uint8_t *p, uint32_t room, uint32_t *value)
{
    *value = 0;
    for (uint32_t i = 0; i < 5 && i < room && (i < 4 || p[i] <= 0x0F); i++) {
        *value |= (uint32_t)(p[i] & 0x7Fu) << 7 * i;
        if ((p[i] & 0x80u) == 0) {
            return i + 1;
        }
    }
    return 0;
}

int rep_key_compare(const void *a, const void *b)
{
    const struct rep_key *x = a, *y = b;
    int order = rep_order(x->id, y->id);

    order = order != 0 ? order : memcmp(x->bytes, y->bytes, rep_min(x->length, y->length));
    return order != 0 ? order : rep_order(x->length, y->length);
}

uint32_t rep_key_value(const struct rep_key *key)
{
    uint32_t value = 0;

    for (unsigned i = key->length < 4 ? key->length : key->length - 4u; i < key->length; i++) {
        value = value << 8 | key->bytes[i];
    }
    return value;
}

uint32_t rep_key_load(const uint8_t *p, uint32_t room, struct rep_key *key)
{
    uint32_t at = rep_varint(p, room, &key->id);

    if (at == 0 || at >= room || p[at] > NF2_KEY_MAX || p[at] > room - at - 1) {
        return 0;
    }
    key->length = p[at];
    memset(key->bytes, 0, sizeof key->bytes);
    memcpy(key->bytes, p + at + 1, key->length);
    return at + 1 + key->length;
}

/* ---- ranges of keys -------------------------------------------------------------------------- */

const struct rep_range rep_all_keys = {{0, 0, {0}}, {UINT32_MAX, NF2_KEY_MAX + 1, {0xFF}}};

void rep_ranges_tidy(rep_ranges *ranges)
{
    size_t kept = 0;

    REP_SORT(ranges, rep_key_compare);
    for (size_t i = 0; i < ranges->count; i++) {
        struct rep_range *range = &ranges->list[i], *last = &ranges->list[kept - (kept > 0)];
        if (kept == 0 || rep_key_compare(&range->from, &last->below) > 0) {
            ranges->list[kept++] = *range;
        } else if (rep_key_compare(&range->below, &last->below) > 0) {
            last->below = range->below;
        }
    }
    ranges->count = kept;
}

static int ends_behind(const void *one, const void *key)
{
    return rep_key_compare(&((const struct rep_range *)one)->below, key) <= 0 ? -1 : 1;
}

bool rep_ranges_touch(const rep_ranges *ranges, const struct rep_key *from,
                      const struct rep_key *to)
{
    size_t i = REP_LOWER(ranges, from, ends_behind);
    return i < ranges->count && rep_key_compare(&ranges->list[i].from, to) <= 0;
}
