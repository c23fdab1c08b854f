/* SPDX-License-Identifier: BSD-2-Clause */
/* fast_crc.h - the core's CRC-32 (src/core.h), by whichever of the two files is linked. */
#ifndef FAST_CRC_H
#define FAST_CRC_H

#include <stdint.h>

uint32_t nf2_crc(uint32_t crc, const void *data, uint32_t length);

#endif
