/* SPDX-License-Identifier: BSD-2-Clause */
#include "core.h"

#ifndef NF2_CRC                 /* else the port has its own: see nf2fs/flash.h */

/* Four bits at a time, two bytes in a round: the compromise for small ROMs. */
#define STEP(crc) (((crc) >> 4) ^ table[(crc) & 15u])

uint32_t nf2_crc(uint32_t crc, const void *data, uint32_t length)
{
    static const uint32_t words[16] = {
        0x00000000u, 0x1DB71064u, 0x3B6E20C8u, 0x26D930ACu, 0x76DC4190u, 0x6B6B51F4u, 0x4DB26158u,
        0x5005713Cu, 0xEDB88320u, 0xF00F9344u, 0xD6D6A3E8u, 0xCB61B38Cu, 0x9B64C2B0u, 0x86D3D2D4u,
        0xA00AE278u, 0xBDBDF21Cu,
    };
    const uint32_t *table = words;
    const uint8_t *p = data, *end = p + length;

    NF2_NEAR(table);
    if ((length & 1u) != 0) {
        crc ^= *p++;
        goto one;               /* half a round for one byte */
    }
    while (p != end) {
        crc ^= nf2_get16(p);
        p += 2;
        crc = STEP(crc);
        crc = STEP(crc);
one:
        crc = STEP(crc);
        crc = STEP(crc);
    }
    return crc;
}

#endif
