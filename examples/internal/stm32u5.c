/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stm32u5.c - STM32U5, and with few changes H5: sectors of 8 KiB, each a block, and units of 16
 * bytes, each written once between two erases. What stm32l4.c says of the NMI holds here, too.
 */
#include "internal.h"

#include <string.h>

#include "stm32u5xx_hal.h"

#define UNIT 16u

/* The HAL takes the address of a unit, which must be aligned; `data` has any alignment. */
static int flash_program(void *context, uint32_t address, const void *data, uint32_t length)
{
    const uint8_t *bytes = data;
    HAL_StatusTypeDef status = HAL_FLASH_Unlock();
    (void)context;
    for (uint32_t i = 0; i < length && status == HAL_OK; i += UNIT) {
        uint32_t unit[UNIT / 4u];
        memcpy(unit, bytes + i, UNIT);
        status = HAL_FLASH_Program(FLASH_TYPEPROGRAM_QUADWORD,
                                   (uintptr_t)nf2_volume_begin + address + i, (uintptr_t)unit);
    }
    (void)HAL_FLASH_Lock();
    return status == HAL_OK ? 0 : -1;
}

static int flash_erase(void *context, uint32_t address, uint32_t length)
{
    uint32_t at = (uint32_t)((uintptr_t)nf2_volume_begin - FLASH_BASE) + address;
    uint32_t bad_page;
    FLASH_EraseInitTypeDef erase = {
        .TypeErase = FLASH_TYPEERASE_PAGES,
        .Banks = at < FLASH_BANK_SIZE ? FLASH_BANK_1 : FLASH_BANK_2,
        .Page = at % FLASH_BANK_SIZE / FLASH_PAGE_SIZE,
        .NbPages = length / FLASH_PAGE_SIZE,
    };
    (void)context;
    HAL_StatusTypeDef status = HAL_FLASH_Unlock();
    if (status == HAL_OK) {
        status = HAL_FLASHEx_Erase(&erase, &bad_page);
    }
    (void)HAL_FLASH_Lock();
    return status == HAL_OK ? 0 : -1;
}

struct nf2_flash internal_flash = {
    .read = internal_flash_read, .program = flash_program, .erase = flash_erase,
    .block_size = FLASH_PAGE_SIZE, .page_size = 256, .program_unit = UNIT, .read_unit = 1,
    .read_page_us = 2, .program_page_us = 1900, .erase_block_us = 3000,
};
