/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stm32l4.c - STM32L4, and with few changes G0, G4, WB and WL: pages of 2 KiB, of which two make a
 * block, and units of 8 bytes, each written once between two erases.
 *
 * A power cut may leave a unit whose error correction fails. Reading it raises the NMI: its handler
 * has to return, since the file system reads such units and knows by its own checks what they are.
 */
#include "internal.h"

#include <string.h>

#include "stm32l4xx_hal.h"

#define BLOCK 4096u
#define UNIT 8u

/* `data` has any alignment. */
static int flash_program(void *context, uint32_t address, const void *data, uint32_t length)
{
    const uint8_t *bytes = data;
    HAL_StatusTypeDef status = HAL_FLASH_Unlock();
    (void)context;
    for (uint32_t i = 0; i < length && status == HAL_OK; i += UNIT) {
        uint64_t unit;
        memcpy(&unit, bytes + i, UNIT);
        status = HAL_FLASH_Program(FLASH_TYPEPROGRAM_DOUBLEWORD,
                                   (uintptr_t)nf2_volume_begin + address + i, unit);
    }
    (void)HAL_FLASH_Lock();
    return status == HAL_OK ? 0 : -1;
}

static int flash_erase(void *context, uint32_t address, uint32_t length)
{
    uint32_t offset = (uint32_t)((uintptr_t)nf2_volume_begin - FLASH_BASE) + address;
    uint32_t bad_page;
    HAL_StatusTypeDef status = HAL_FLASH_Unlock();
    (void)context;
    for (uint32_t done = 0; done < length && status == HAL_OK; done += FLASH_PAGE_SIZE) {
        uint32_t at = offset + done;
        FLASH_EraseInitTypeDef erase = {
            .TypeErase = FLASH_TYPEERASE_PAGES,
            .Banks = at < FLASH_BANK_SIZE ? FLASH_BANK_1 : FLASH_BANK_2,
            .Page = at % FLASH_BANK_SIZE / FLASH_PAGE_SIZE,
            .NbPages = 1,
        };
        status = HAL_FLASHEx_Erase(&erase, &bad_page);
    }
    (void)HAL_FLASH_Lock();
    return status == HAL_OK ? 0 : -1;
}

struct nf2_flash internal_flash = {
    .read = internal_flash_read, .program = flash_program, .erase = flash_erase,
    .block_size = BLOCK, .page_size = 256, .program_unit = UNIT, .read_unit = 1, .read_page_us = 2,
    .program_page_us = 2900, .erase_block_us = 50000,
};

/* Clears the flag of a unit that cannot be corrected. Another source of an NMI ends here, too. */
void NMI_Handler(void)
{
    while ((FLASH->ECCR & FLASH_ECCR_ECCD) == 0) {
    }
    FLASH->ECCR |= FLASH_ECCR_ECCD;
}
