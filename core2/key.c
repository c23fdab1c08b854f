/* SPDX-License-Identifier: BSD-2-Clause */
/* key.c - keys of the tree: an id, and up to 24 bytes. */
#include "node.h"

const struct nf2_key nf2_key_lowest = {0, 0, {0}};

struct nf2_key nf2_key_number(uint32_t id, uint32_t number)
{
    struct nf2_key key = {id, 4, {0}};

    for (unsigned i = 0; i < 4; i++) {
        key.bytes[i] = (uint8_t)(number >> (24 - 8 * i));
    }
    return key;
}

struct nf2_key nf2_key_system(uint8_t kind, uint32_t number)
{
    struct nf2_key key = nf2_key_number(NF2_SYSTEM_ID, number);

    memmove(key.bytes + 1, key.bytes, 4);
    key.bytes[0] = kind;
    key.length = 5;
    return key;
}

uint32_t nf2_key_value(const struct nf2_key *key)
{
    const uint8_t *p = key->bytes + key->length;
    return key->length < 4 ? 0 : (uint32_t)p[-4] << 24 | (uint32_t)p[-3] << 16 | (uint32_t)p[-2] << 8 | p[-1];
}

int nf2_key_compare(const struct nf2_key *a, const struct nf2_key *b)
{
    if (a->id != b->id) {
        return a->id < b->id ? -1 : 1;
    }
    unsigned n = nf2_min(a->length, b->length), i = 0;
    while (i < n && a->bytes[i] == b->bytes[i]) {
        i++;
    }
    return i < n ? (int)a->bytes[i] - (int)b->bytes[i] : (int)a->length - (int)b->length;
}

uint8_t *nf2_key_store(uint8_t *p, const struct nf2_key *key)
{
    p = nf2_put_varint(p, key->id);
    *p++ = key->length;
    memcpy(p, key->bytes, key->length);
    return p + key->length;
}
