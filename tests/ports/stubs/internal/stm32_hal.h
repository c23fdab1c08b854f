/* SPDX-License-Identifier: BSD-2-Clause */
/* stm32_hal.h - see README.md: what stm32l4xx_hal.h and stm32u5xx_hal.h have in common. */
#ifndef STUB_STM32_HAL_H
#define STUB_STM32_HAL_H

#include <stdint.h>

extern uint8_t flash_memory[];
#define FLASH_BASE ((uintptr_t)flash_memory)
#define FLASH_BANK_SIZE 0x80000u
#define FLASH_BANK_1 1u
#define FLASH_BANK_2 2u
#define FLASH_TYPEERASE_PAGES 0u

typedef enum { HAL_OK, HAL_ERROR } HAL_StatusTypeDef;
typedef struct { uint32_t TypeErase, Banks, Page, NbPages; } FLASH_EraseInitTypeDef;
HAL_StatusTypeDef HAL_FLASH_Unlock(void);
HAL_StatusTypeDef HAL_FLASH_Lock(void);
HAL_StatusTypeDef HAL_FLASH_Program(uint32_t type, uintptr_t address, uint64_t data);
HAL_StatusTypeDef HAL_FLASHEx_Erase(FLASH_EraseInitTypeDef *erase, uint32_t *bad_page);

#endif
