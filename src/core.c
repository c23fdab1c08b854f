/* SPDX-License-Identifier: BSD-2-Clause */
#include "core.h"

#include "alloc.h"
#include "lock.h"

uint8_t *nf2_put16(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
    return p + 2;
}

uint8_t *nf2_put24(uint8_t *p, uint32_t v)
{
    p[2] = (uint8_t)(v >> 16);
    return nf2_put16(p, v) + 1;
}

uint8_t *nf2_put32(uint8_t *p, uint32_t v)
{
    return nf2_put16(nf2_put16(p, v), v >> 16);
}

uint8_t *nf2_put_varint(uint8_t *p, uint32_t v)
{
    while (v > 0x7Fu) {
        *p++ = (uint8_t)(v | 0x80u);
        v >>= 7;
    }
    *p++ = (uint8_t)v;
    return p;
}

uint32_t nf2_get_varint(const uint8_t *p, uint32_t room, uint32_t *value)
{
    *value = 0;
    for (uint32_t i = 0; i < room && i < 5; i++) {
        *value |= (uint32_t)(p[i] & 0x7Fu) << 7 * i;
        if ((p[i] & 0x80u) == 0) {
            return i + 1;
        }
    }
    return 0;
}

void nf2_bit_set(uint8_t *map, uint32_t bit, bool value)
{
    uint8_t mask = (uint8_t)(1u << bit % 8);

    map[bit / 8] = (uint8_t)(value ? map[bit / 8] | mask : map[bit / 8] & ~mask);
}

int nf2_enter(nf2_t *fs)
{
    const struct nf2_config *config = fs->config;

    if (config != NULL && config->lock != NULL) {
        config->lock(config->lock_context);
    }
    if (!fs->mounted) {
        return NF2_ERR_INVAL;
    }
    fs->call_began_us = fs->drive.busy_us;
    return NF2_OK;
}

/*
 * Results of the core's own say that space or a block was lacking where that should not happen.
 */
int32_t nf2_leave(const nf2_t *fs, int32_t result)
{
    const struct nf2_config *config = fs->config;

    if (config != NULL && config->unlock != NULL) {
        config->unlock(config->lock_context);
    }
    if (result == NF2_NEED_SPACE) {
        return NF2_ERR_NOSPC;
    }
    return NF2_OWN_RESULT(result) ? NF2_ERR_IO : result;
}
