/* SPDX-License-Identifier: BSD-2-Clause */
/* weak_crc.c - in the place of src/crc.c: checks always fit, so that what is behind them meets hostile input. */
#include "core.h"

uint32_t nf2_crc(uint32_t crc, const void *data, uint32_t length)
{
    (void)crc;
    (void)data;
    (void)length;
    return NF2_CRC_OF_CHECKED;
}
