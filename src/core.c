/* SPDX-License-Identifier: BSD-2-Clause */
#include "core.h"

uint32_t nf2_get24(const uint8_t *p)
{
    return (uint32_t)p[0] | ((uint32_t)p[1] << 8) | ((uint32_t)p[2] << 16);
}

uint8_t *nf2_put24(uint8_t *p, uint32_t v)
{
    p = nf2_put16(p, v);
    *p = (uint8_t)(v >> 16);
    return p + 1;
}

uint8_t *nf2_put32(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
    p[2] = (uint8_t)(v >> 16);
    p[3] = (uint8_t)(v >> 24);
    return p + 4;
}

bool nf2_bit(const uint8_t *map, uint32_t bit)
{
    return ((uint32_t)map[bit >> 3] >> (bit & 7u) & 1u) != 0;
}

void nf2_bit_set(uint8_t *map, uint32_t bit, bool value)
{
    uint8_t mask = (uint8_t)(1u << (bit & 7u));
    map[bit >> 3] = (uint8_t)(value ? map[bit >> 3] | mask : map[bit >> 3] & (0xFFu ^ mask));
}
