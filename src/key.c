/* SPDX-License-Identifier: BSD-2-Clause */
/* key.c - keys of the tree: an id, and up to 24 bytes. */
#include "node.h"

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
