/* SPDX-License-Identifier: BSD-2-Clause */
/* crc.c - checks. In a file of their own, so that a fuzzer may have others. */
#include "common.h"

#define POLYNOMIAL 0xEDB88320u

static uint32_t crc_step(uint32_t crc)
{
    return crc >> 1 ^ ((crc & 1u) != 0 ? POLYNOMIAL : 0);
}

uint32_t rep_crc(uint32_t crc, const uint8_t *data, uint32_t length)
{
    static uint32_t table[256];

    if (table[1] == 0) {
        for (uint32_t i = 0; i < 256; i++) {
            uint32_t v = i;
            for (unsigned bit = 0; bit < 8; bit++) {
                v = crc_step(v);
            }
            table[i] = v;
        }
    }
    for (uint32_t i = 0; i < length; i++) {
        crc = crc >> 8 ^ table[(crc ^ data[i]) & 0xFFu];
    }
    return crc;
}

/* What a wrong bit changes of the result depends on its distance from the end alone. */
int rep_crc_bit(uint32_t crc, uint32_t length)
{
    uint32_t wrong = crc ^ REP_CRC_GOOD, one = 0x80u;

    for (unsigned i = 0; i < 8; i++) {
        one = crc_step(one);
    }
    for (uint32_t back = 0; back < 8 * length; back++, one = crc_step(one)) {
        if (one == wrong) {
            return (int)(8 * (length - 1 - back / 8) + 7 - back % 8);
        }
    }
    return -1;
}
