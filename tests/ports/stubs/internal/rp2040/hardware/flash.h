/* SPDX-License-Identifier: BSD-2-Clause */
/* flash.h - see ../../README.md. */
#include <stddef.h>
#include <stdint.h>

extern uint8_t flash_memory[];
#define XIP_BASE ((uintptr_t)flash_memory)
#define FLASH_PAGE_SIZE 256u
#define FLASH_SECTOR_SIZE 4096u
void flash_range_program(uint32_t offset, const uint8_t *data, size_t length);
void flash_range_erase(uint32_t offset, size_t length);
