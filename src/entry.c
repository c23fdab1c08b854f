/* SPDX-License-Identifier: BSD-2-Clause */
/* entry.c - keys of the tree; the front of a node's record: its key, and where its body lies. */
#include "node.h"

/* ---- keys ------------------------------------------------------------------------------------ */

const struct nf2_key nf2_key_lowest = {0, 0, {0}};

void nf2_key_copy(struct nf2_key *to, const struct nf2_key *from)
{
    memcpy(to, from, offsetof(struct nf2_key, bytes) + from->length);
}

void nf2_key_make(struct nf2_key *key, uint32_t id, uint8_t kind, uint32_t number)
{
    uint8_t *p = key->bytes;

    key->id = id;
    if (kind != 0) {
        *p++ = kind;
    }
    for (uint32_t shift = 32; shift > 0; *p++ = (uint8_t)(number >> shift)) {
        shift -= 8;
    }
    key->length = (uint8_t)(p - key->bytes);
}

uint32_t nf2_key_value(const struct nf2_key *key)
{
    const uint8_t *p = key->bytes + key->length;
    return key->length < 4 ? 0 :
           (uint32_t)p[-4] << 24 | (uint32_t)p[-3] << 16 | (uint32_t)p[-2] << 8 | p[-1];
}

int nf2_key_order(uint32_t id, const uint8_t *bytes, uint32_t length, const struct nf2_key *key)
{
    if (id != key->id) {
        return id < key->id ? -1 : 1;
    }
    const uint8_t *other = key->bytes, *end = bytes + nf2_min(length, key->length);
    while (bytes != end) {      /* few, and not aligned: no work for memcmp */
        int order = *bytes++ - *other++;
        if (order != 0) {
            return order;
        }
    }
    return (int)length - key->length;
}

int nf2_key_compare(const struct nf2_key *a, const struct nf2_key *b)
{
    return nf2_key_order(a->id, a->bytes, a->length, b);
}

uint8_t *nf2_key_store(uint8_t *p, const struct nf2_key *key)
{
    p = nf2_put_varint(p, key->id);
    *p++ = key->length;
    memcpy(p, key->bytes, key->length);
    return p + key->length;
}

/* ---- the front of a record ------------------------------------------------------------------- */

/*
 * Of a record, up to the end of its key; and what an inner node's entry has behind that, which is a
 * PUT, a PUTK or an ADD: in front of their keys are at most 5 bytes. More is read more often.
 */
#define FRONT_BYTES (5u + NF2_KEY_BYTES + NF2_CHILD_BYTES)
_Static_assert(FRONT_BYTES >= NF2_NODE_FRONT + NF2_KEY_BYTES, "a front with the longest key fits");

/* Where the key begins in a record that has none: behind all that a front has. */
#define NO_KEY 64
_Static_assert(NO_KEY > FRONT_BYTES, "no front reaches there");

/*
 * Of a record that is known to be valid, or whose key is only a help to find one. A front does not
 * cross a page's end.
 */
int nf2_front_of(nf2_t *fs, uint32_t block, uint32_t place, struct nf2_front *front)
{
    /* behind a page in the buffer lies another one: a look there finds something that is no key */
    static const uint8_t key_at[8] = {NO_KEY, NO_KEY, 2, 5, NO_KEY, 9, 3, NO_KEY};
    uint32_t peeked = nf2_min(nf2_page_rest(place), FRONT_BYTES);
    const uint8_t *p = nf2_peek(fs, block, place, peeked);

    if (p == NULL) {
        return NF2_ERR_IO;
    }
    uint32_t header = nf2_get16(p), length = header & 0xFFFu, id;
    int at = key_at[header >> 13], end = (int)nf2_min(length, peeked + 4u) - 4;
    front->bytes = p;
    front->length = length;
    front->type = header >> 13;
    id = p[at];                 /* of one byte, mostly */
    front->id = id;
    at++;
    if (id >= 0x80) {
        at += (int)nf2_get_varint(p + at - 1, 5, &front->id) - 1;
    }
    if (p[at] > NF2_KEY_MAX || at + 1 + p[at] > end) {
        return NF2_ERR_IO;
    }
    front->key_length = p[at];
    front->key = (uint32_t)at + 1;
    return NF2_OK;
}

void nf2_front_key(const struct nf2_front *front, struct nf2_key *key)
{
    key->id = front->id;
    key->length = (uint8_t)front->key_length;
    memcpy(key->bytes, front->bytes + front->key, front->key_length);
}

int nf2_key_at(nf2_t *fs, uint32_t block, uint32_t place, struct nf2_key *key)
{
    struct nf2_front front;

    NF2_TRY(nf2_front_of(fs, block, place, &front));
    nf2_front_key(&front, key);
    return NF2_OK;
}

int nf2_compare_at(nf2_t *fs, uint32_t block, uint32_t place, const struct nf2_key *key)
{
    struct nf2_front front;

    NF2_TRY(nf2_front_of(fs, block, place, &front));
    int order = nf2_key_order(front.id, front.bytes + front.key, front.key_length, key);
    return 1 + (order > 0) - (order < 0);
}

int nf2_entry_at(nf2_t *fs, uint32_t block, int place, struct nf2_entry *entry)
{
    struct nf2_front front;
    uint32_t record = (uint32_t)place;

    if (place <= 0) {
        return place;
    }
    NF2_TRY(nf2_front_of(fs, block, record, &front));
    entry->record = (uint16_t)place;
    nf2_front_key(&front, &entry->key);
    if (front.type == NF2_NODE_REN) {   /* the body is another record's */
        record = nf2_get16(front.bytes + 2);
        NF2_TRY(nf2_front_of(fs, block, record, &front));
        NF2_TRY(front.type != NF2_NODE_REN ? NF2_OK : NF2_ERR_IO);
    }
    uint32_t position = front.key + front.key_length;
    entry->body = nf2_span_at(block, record, position, front.length - 4u - position);
    return 1;
}

struct nf2_span nf2_body_span(const struct nf2_entry *entry, uint32_t at, uint32_t length)
{
    struct nf2_span part = entry->body;

    part.position = (uint16_t)(part.position + at);
    part.length = (uint16_t)length;
    return part;
}
