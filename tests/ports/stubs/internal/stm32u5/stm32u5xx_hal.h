/* SPDX-License-Identifier: BSD-2-Clause */
/* stm32u5xx_hal.h - see ../README.md. */
#include "../stm32_hal.h"

#define FLASH_PAGE_SIZE 8192u
#define FLASH_TYPEPROGRAM_QUADWORD 1u
