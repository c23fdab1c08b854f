/* SPDX-License-Identifier: BSD-2-Clause */
/* weak_crc.c - in the place of repair/crc.c: checks always fit, so that what is behind them meets hostile input. */
#include "repair/inside.h"

uint32_t rep_crc(uint32_t crc, const uint8_t *data, uint32_t length)
{
    (void)crc;
    (void)data;
    (void)length;
    return REP_CRC_GOOD;
}

int rep_crc_bit(uint32_t crc, uint32_t length)
{
    (void)crc;
    (void)length;
    return -1;
}
