/* SPDX-License-Identifier: BSD-2-Clause */
/* stm32l4xx_hal.h - see ../README.md. */
#include "../stm32_hal.h"

#define FLASH_PAGE_SIZE 2048u
#define FLASH_TYPEPROGRAM_DOUBLEWORD 0u
#define FLASH_ECCR_ECCD 0x80000000u
typedef struct { volatile uint32_t ECCR; } FLASH_TypeDef;
extern FLASH_TypeDef *const FLASH;
void NMI_Handler(void);
