/* SPDX-License-Identifier: BSD-2-Clause */
#include "made.h"

#include <stdlib.h>
#include <string.h>

#define EPOCH_0 0xC000u         /* number 0: all twelve bits are 0 */
#define SUPERS 3u

static void put16(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
}

static void put24(uint8_t *p, uint32_t v)
{
    put16(p, v);
    p[2] = (uint8_t)(v >> 16);
}

static void put32(uint8_t *p, uint32_t v)
{
    put16(p, v);
    put16(p + 2, v >> 16);
}

/* A bit at a time: nothing here is shared with what is tested. */
uint32_t made_crc(uint32_t crc, const void *data, uint32_t length)
{
    const uint8_t *p = data;

    for (uint32_t i = 0; i < length; i++) {
        crc ^= p[i];
        for (unsigned bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ ((crc & 1u) != 0 ? 0xEDB88320u : 0);
        }
    }
    return crc;
}

/* A record that does not fit in a page, from the beginning of one on. */
static uint32_t long_record(struct made *made, uint32_t block, uint8_t type, bool more, const void *payload, uint32_t length)
{
    static uint8_t record[MADE_BLOCK];
    uint32_t page = (made->end[block] + MADE_PAGE - 1) & ~(MADE_PAGE - 1), at = page, all = length + 6;
    uint8_t *p = made->bytes + block * MADE_BLOCK, head[2];

    put16(head, made->epoch);
    put16(record, (uint32_t)type << 13 | (more ? 0x1000u : 0) | all);
    memcpy(record + 2, payload, length);
    put32(record + 2 + length, ~made_crc(made_crc(0xFFFFFFFFu, head, 2), record, 2 + length));
    for (uint32_t done = 0; done < all; at += MADE_PAGE) {
        uint32_t front = done == 0 ? 2 : 4, n = all - done < MADE_PAGE - front ? all - done : MADE_PAGE - front;
        put16(p + at, made->epoch);
        if (done > 0) {
            put16(p + at + 2, 4); /* it goes on here */
        }
        memcpy(p + at + front, record + done, n);
        made->end[block] = at + front + n;
        done += n;
    }
    return page + 2;
}

uint32_t made_record(struct made *made, uint32_t block, uint8_t type, bool more, const void *payload, uint32_t length)
{
    uint32_t at = made->end[block], all = length + 6;
    uint8_t *p = made->bytes + block * MADE_BLOCK;

    if (all + 2 > MADE_PAGE) {
        return long_record(made, block, type, more, payload, length);
    }
    if (at % MADE_PAGE != 0 && at % MADE_PAGE + all > MADE_PAGE) {
        at += MADE_PAGE - at % MADE_PAGE;
    }
    if (at % MADE_PAGE == 0 || block < SUPERS) { /* a slot of a super block has an epoch of its own */
        put16(p + at, made->epoch);
        at += 2;
    }
    put16(p + at, (uint32_t)type << 13 | (more ? 0x1000u : 0) | all);
    memcpy(p + at + 2, payload, length);
    uint8_t head[2];
    put16(head, made->epoch);
    put32(p + at + 2 + length, ~made_crc(made_crc(0xFFFFFFFFu, head, 2), p + at, 2 + length));
    made->end[block] = at + all;
    return at;
}

uint32_t made_key(uint8_t *to, uint32_t id, const void *key, uint8_t length)
{
    uint32_t n = 0;

    for (; id > 0x7F; id >>= 7) {
        to[n++] = (uint8_t)(id | 0x80u);
    }
    to[n++] = (uint8_t)id;
    to[n++] = length;
    memcpy(to + n, key, length);
    return n + length;
}

/* ---- entries ------------------------------------------------------------------------------------- */

static int order(const struct made_entry *a, uint32_t id, const void *key, uint8_t length)
{
    if (a->id != id) {
        return a->id < id ? -1 : 1;
    }
    int n = memcmp(a->key, key, a->length < length ? a->length : length);
    return n != 0 ? n : (int)a->length - (int)length;
}

struct made_entry *made_add(struct made *made, uint32_t id, const void *key, uint8_t length, const void *body, uint16_t body_length)
{
    unsigned at = 0;

    while (at < made->entries && order(&made->entry[at], id, key, length) < 0) {
        at++;
    }
    memmove(&made->entry[at + 1], &made->entry[at], (made->entries - at) * sizeof made->entry[0]);
    made->entries++;
    made->bound += at < made->bound;
    struct made_entry *entry = &made->entry[at];
    memset(entry, 0, sizeof *entry);
    entry->id = id;
    entry->length = length;
    memcpy(entry->key, key, length);
    entry->body_length = body_length;
    if (body_length > 0) {
        memcpy(entry->body, body, body_length);
    }
    return entry;
}

struct made_entry *made_name(struct made *made, uint32_t id, const char *name, const void *body, uint16_t body_length)
{
    uint8_t key[24], long_body[600];
    uint32_t length = (uint32_t)strlen(name);

    if (length <= 23) {
        return made_add(made, id, name, (uint8_t)length, body, body_length);
    }
    memcpy(key, name, 20);
    put24(key + 20, ~made_crc(0xFFFFFFFFu, name, length));
    key[23] = 0;
    long_body[0] = (uint8_t)(length - 20);
    memcpy(long_body + 1, name + 20, length - 20);
    memcpy(long_body + 1 + length - 20, body, body_length);
    return made_add(made, id, key, 24, long_body, (uint16_t)(1 + length - 20 + body_length));
}

struct made_entry *made_piece(struct made *made, uint32_t id, uint32_t offset, uint32_t block, uint32_t within, uint32_t length)
{
    uint8_t key[4] = {(uint8_t)(offset >> 24), (uint8_t)(offset >> 16), (uint8_t)(offset >> 8), (uint8_t)offset}, body[16] = {8};
    uint32_t n = 6;

    put24(body + 1, block);
    put16(body + 4, within);
    for (; length > 0x7F; length >>= 7) {
        body[n++] = (uint8_t)(length | 0x80u);
    }
    body[n++] = (uint8_t)length;
    return made_add(made, id, key, 4, body, (uint16_t)n);
}

/* ---- the volume ---------------------------------------------------------------------------------- */

void made_begin(struct made *made)
{
    static const uint8_t frames[] = {3, 9, MADE_FRAMES, 0, 0, 0, 0, 0, 0, 0}, list[] = {3, 8, MADE_DATA, 0, 0, 0, 0, 0x80, 0x04, 10, 5};

    memset(made, 0, sizeof *made);
    made->bytes = malloc(MADE_BLOCKS * MADE_BLOCK);
    if (made->bytes == NULL) {
        abort();
    }
    made->epoch = EPOCH_0;
    made->frames_head[0] = 'F';
    put32(made->frames_head + 1, 77);
    put32(made->frames_head + 5, MADE_VOLUME);
    made->clean = true;
    made->level = 1;
    made->root = MADE_INNER;
    made->id_limit = 20;
    for (unsigned i = 0; i < 512; i++) {
        made->bits[i / 8] |= (uint8_t)((i < MADE_USED || i >= MADE_BLOCKS) << i % 8);
    }
    made->child[0] = MADE_LEAF;
    made->child[1] = MADE_OTHER;
    made_add(made, 0, "O\0\0\0\7", 5, NULL, 0);
    made_name(made, 1, "dir", "\1\2\0\0\0", 5);
    made_name(made, 1, "inline", "\2hello", 6);
    made_name(made, 1, "list", list, sizeof list);
    made_name(made, 1, "log", frames, sizeof frames);
    made_name(made, 1, "map", "\4\3\0\0\0", 5);
    made_name(made, 2, "inside", "\2x", 2);
    made->bound = made->entries;
    made_name(made, 2, "zz a name of more than twenty-three bytes", "\2long", 5);
    made_piece(made, 3, 0, MADE_DATA + 1, 100, 5000);
    made_piece(made, 3, 4096, MADE_DATA + 3, 0, 1000);
    made_piece(made, 7, 50, MADE_DATA, 2048, 10);
}

static void write_node(struct made *made, uint32_t block, uint8_t level, unsigned from, unsigned to)
{
    uint8_t head[13] = {'N', (uint8_t)(level | made->level_bits[0])}, payload[700];

    put24(head + 2, block);
    put32(head + 5, MADE_VOLUME);
    put32(head + 9, made->serial++);
    (void)made_record(made, block, 1, from < to, head, sizeof head);
    for (unsigned i = from; i < to; i++) {
        const struct made_entry *entry = &made->entry[i];
        uint32_t n = made_key(payload, entry->id, entry->key, entry->length);
        memcpy(payload + n, entry->body, entry->body_length);
        (void)made_record(made, block, 2, i + 1 < to, payload, n + entry->body_length);
    }
}

static void write_inner(struct made *made)
{
    uint8_t head[13] = {'N', (uint8_t)(1 | made->level_bits[1])}, payload[64];
    const struct made_entry *bound = &made->entry[made->bound_key != 0 ? made->bound_key : made->bound];

    put24(head + 2, MADE_INNER);
    put32(head + 5, MADE_VOLUME);
    put32(head + 9, made->serial++);
    (void)made_record(made, MADE_INNER, 1, true, head, sizeof head);
    for (unsigned left = 2 + made->again; left > 0; left--) {
        unsigned i = left < 2 + made->again;
        uint32_t n = i == 0 ? made_key(payload, 0, "", 0) : made_key(payload, bound->id, bound->key, bound->length);
        payload[n] = 12;
        put24(payload + n + 1, made->child[i]);
        put16(payload + n + 4, (uint32_t)((int)made->end[i == 0 ? MADE_LEAF : MADE_OTHER] + made->child_base));
        (void)made_record(made, MADE_INNER, 2, left > 1, payload, n + 6);
    }
}

static void write_log(struct made *made)
{
    uint8_t state[MADE_STATE] = {0}, anchor[24] = "NF2F\3";

    put32(state, MADE_VOLUME);
    put32(state + 4, made->id_limit);
    put16(state + 8, MADE_NEXT);
    put16(state + 10, made->root);
    put16(state + 12, made->end[made->root < MADE_BLOCKS ? made->root : MADE_INNER]);
    put16(state + 14, made->group_at);
    put16(state + 16, made->unclean);
    state[26] = made->level;
    state[27] = (uint8_t)(made->clean | made->bad_flags << 3);
    for (uint32_t block = 0; block < MADE_BLOCKS; block++) { /* a region each: in use, free, erased */
        bool used = (made->bits[block / 8] >> block % 8 & 1) != 0;
        uint32_t region = used ? 0 : block - made->erased < made->erased_count ? 3 : 2;
        state[36 + block / 4] |= (uint8_t)(region << block % 4 * 2);
    }
    (void)made_record(made, MADE_HEAD, 2, false, state, sizeof state);
    put32(anchor + 8, MADE_BLOCK + 256 + 1);
    put16(anchor + 12, MADE_BLOCKS - 1);
    put16(anchor + 14, MADE_HEAD);
    put32(anchor + 16, MADE_VOLUME);
    for (uint32_t block = 0; block < SUPERS; block++) { /* the last one in the first super block */
        put32(anchor + 20, block > 0 ? block : 3);
        (void)made_record(made, block, 1, false, anchor, sizeof anchor);
    }
}

/* One frame of 20 bytes, in a group with the head, and one of 30. */
static void write_frames(struct made *made)
{
    uint32_t offset = 0;

    if (made->frames_head[0] != 0) {
        (void)made_record(made, MADE_FRAMES, 1, true, made->frames_head, sizeof made->frames_head);
    }

    for (uint32_t length = 20; length <= 30; length += 10) {
        uint8_t payload[2 + 30];
        put16(payload, offset);
        memset(payload + 2, (int)('a' + offset), length);
        (void)made_record(made, MADE_FRAMES, 6, false, payload, 2 + length);
        offset += length;
    }
}

void made_build(struct made *made)
{
    memset(made->bytes, 0xFF, MADE_BLOCKS * MADE_BLOCK);
    memset(made->end, 0, sizeof made->end);
    write_node(made, MADE_LEAF, 0, 0, made->level > 0 ? made->bound : made->entries);
    write_node(made, MADE_OTHER, 0, made->bound, made->entries);
    write_inner(made);
    write_log(made);
    write_frames(made);
    for (uint32_t i = 0; i < 4 * MADE_BLOCK; i++) {
        made->bytes[MADE_DATA * MADE_BLOCK + i] = (uint8_t)(i * 7 + i / 256);
    }
}

void made_end(struct made *made)
{
    free(made->bytes);
}

uint32_t made_find(const struct made *made, uint32_t block, const char *name)
{
    const uint8_t *p = made->bytes + block * MADE_BLOCK;
    size_t length = strlen(name);

    for (uint32_t i = 4; i + length < MADE_BLOCK; i++) {
        if (p[i - 1] == length && memcmp(p + i, name, length) == 0) {
            return i - 4;       /* behind a header, an id of one byte and the length */
        }
    }
    return 0;
}
