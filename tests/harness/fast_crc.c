/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fast_crc.c - the core's CRC-32 with large tables, for tests that make millions of them: it takes the place of src/crc.c
 * at link time. The torture program compares it with the definition when it starts.
 */
#include "fast_crc.h"

static uint32_t table[8][256];

static void make_table(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;

        for (unsigned bit = 0; bit < 8; bit++) {
            crc = crc & 1 ? crc >> 1 ^ 0xEDB88320u : crc >> 1;
        }
        table[0][i] = crc;
    }
    for (unsigned t = 1; t < 8; t++) {
        for (uint32_t i = 0; i < 256; i++) {
            table[t][i] = table[t - 1][i] >> 8 ^ table[0][table[t - 1][i] & 0xFF];
        }
    }
}

static uint32_t word(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

uint32_t nf2_crc(uint32_t crc, const void *data, uint32_t length)
{
    const uint8_t *p = data;

    if (table[0][1] == 0) {
        make_table();
    }
    for (; length >= 8; length -= 8, p += 8) {
        uint32_t low = crc ^ word(p), high = word(p + 4);

        crc = table[7][low & 0xFF] ^ table[6][low >> 8 & 0xFF] ^ table[5][low >> 16 & 0xFF] ^ table[4][low >> 24]
            ^ table[3][high & 0xFF] ^ table[2][high >> 8 & 0xFF] ^ table[1][high >> 16 & 0xFF] ^ table[0][high >> 24];
    }
    for (; length > 0; length--) {
        crc = crc >> 8 ^ table[0][(crc ^ *p++) & 0xFF];
    }
    return crc;
}
