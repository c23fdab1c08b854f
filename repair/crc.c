/* SPDX-License-Identifier: BSD-2-Clause */
/* crc.c - checks. In a file of their own, so that a fuzzer may have others. */
#include "inside.h"

static uint32_t zero_bits(uint32_t crc, unsigned bits)
{
    while (bits-- > 0) {
        crc = crc >> 1 ^ ((crc & 1u) != 0 ? 0xEDB88320u : 0);
    }
    return crc;
}

uint32_t rep_crc(uint32_t crc, const uint8_t *data, uint32_t length)
{
    static uint32_t table[256];

    for (uint32_t i = 0; i < 256 && table[255] == 0; i++) {
        table[i] = zero_bits(i, 8);
    }
    for (uint32_t i = 0; i < length; i++) {
        crc = crc >> 8 ^ table[(crc ^ data[i]) & 0xFFu];
    }
    return crc;
}

/* What a wrong bit changes of the sum depends on its distance from the end alone. */
int rep_crc_bit(uint32_t crc, uint32_t length)
{
    uint32_t wrong = crc ^ REP_CRC_GOOD, one = zero_bits(0x80u, 8);

    for (uint32_t back = 0; back < 8 * length; back++, one = zero_bits(one, 1)) {
        if (one == wrong) {
            return (int)(8 * (length - 1 - back / 8) + 7 - back % 8);
        }
    }
    return -1;
}
