/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * internal.h - a volume in the flash that the program itself lies in: one of stm32l4.c, stm32u5.c,
 * nrf52.c and rp2040.c has the driver. docs/INTERNAL_FLASH.md says what to watch.
 *
 *     struct nf2_config config = {.flash = &internal_flash, .buffer = buffer,
 *                                 .buffer_size = sizeof(buffer)};
 *
 * The linker script says where the volume lies, on whole blocks, and keeps the program out of
 * there:
 *
 *     nf2_volume_begin = ORIGIN(VOLUME);
 *     nf2_volume_end = ORIGIN(VOLUME) + LENGTH(VOLUME);
 *
 * internal_flash.chip_size is set by internal_flash_size(), which is called once before the mount.
 */
#ifndef INTERNAL_H
#define INTERNAL_H

#include <stdint.h>
#include <string.h>

#include "nf2fs/flash.h"

extern const uint8_t nf2_volume_begin[], nf2_volume_end[];

extern struct nf2_flash internal_flash;

/* The flash is memory: all four read alike. */
static inline int internal_flash_read(void *context, uint32_t address, void *data, uint32_t length)
{
    (void)context;
    memcpy(data, nf2_volume_begin + address, length);
    return 0;
}

static inline void internal_flash_size(void)
{
    internal_flash.chip_size = (uint32_t)(nf2_volume_end - nf2_volume_begin);
}

#endif
