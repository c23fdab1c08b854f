/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nrf52.c - nRF52 without a SoftDevice: pages of 4 KiB, each a block, and words of 4 bytes. The
 * processor stands still while a word is written (some 40 us) and a page is erased (85 ms), if it
 * runs from flash. With a SoftDevice, sd_flash_write and sd_flash_page_erase take the place of
 * nrfx: they find time between radio events, and an event tells when they are done.
 */
#include "internal.h"

#include <string.h>

#include "nrfx_nvmc.h"

#define PAGE 4096u
#define WORD 4u

/* `data` has any alignment. A word may be written twice between two erases; this does it once. */
static int flash_program(void *context, uint32_t address, const void *data, uint32_t length)
{
    const uint8_t *bytes = data;
    (void)context;
    for (uint32_t i = 0; i < length; i += WORD) {
        uint32_t word;
        memcpy(&word, bytes + i, WORD);
        nrfx_nvmc_word_write((uint32_t)((uintptr_t)nf2_volume_begin + address + i), word);
    }
    while (!nrfx_nvmc_write_done_check()) {
    }
    return 0;
}

static int flash_erase(void *context, uint32_t address, uint32_t length)
{
    (void)context;
    (void)length;               /* always one page */
    return nrfx_nvmc_page_erase((uint32_t)((uintptr_t)nf2_volume_begin + address)) == NRFX_SUCCESS
               ? 0
               : -1;
}

struct nf2_flash internal_flash = {
    .read = internal_flash_read, .program = flash_program, .erase = flash_erase,
    .block_size = PAGE, .page_size = 256, .program_unit = WORD, .read_unit = 1, .read_page_us = 4,
    .program_page_us = 2600, .erase_block_us = 85000,
};
