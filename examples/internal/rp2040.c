/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rp2040.c - RP2040 and RP2350: a part of the serial flash that the program runs from. The ROM
 * writes whole pages of 256 bytes; bytes of 0xFF leave what is there as it is, so smaller pieces
 * work, too.
 *
 * flash_safe_execute (pico-sdk 1.5.1 and later) keeps interrupts and the other core out meanwhile.
 * The other core has to call flash_safe_execute_core_init() once. It may take 50 ms for an erase.
 */
#include "internal.h"

#include <string.h>

#include "hardware/flash.h"
#include "pico/flash.h"

#define BLOCK FLASH_SECTOR_SIZE
#define PAGE FLASH_PAGE_SIZE
#define TIMEOUT_MS 1000u

struct operation {
    uint32_t offset, length;    /* on the chip */
    uint8_t page[PAGE];         /* to program, in RAM: the flash cannot be read meanwhile */
};

static uint32_t on_chip(uint32_t address)
{
    return (uint32_t)((uintptr_t)nf2_volume_begin - XIP_BASE) + address;
}

static void do_program(void *context)
{
    const struct operation *operation = context;
    flash_range_program(operation->offset, operation->page, PAGE);
}

static void do_erase(void *context)
{
    const struct operation *operation = context;
    flash_range_erase(operation->offset, operation->length);
}

static int flash_program(void *context, uint32_t address, const void *data, uint32_t length)
{
    struct operation operation = {.offset = on_chip(address - address % PAGE)};
    (void)context;
    memset(operation.page, 0xFF, PAGE);
    memcpy(operation.page + address % PAGE, data, length);
    return flash_safe_execute(do_program, &operation, TIMEOUT_MS) == PICO_OK ? 0 : -1;
}

static int flash_erase(void *context, uint32_t address, uint32_t length)
{
    struct operation operation = {.offset = on_chip(address), .length = length};
    (void)context;
    return flash_safe_execute(do_erase, &operation, TIMEOUT_MS) == PICO_OK ? 0 : -1;
}

struct nf2_flash internal_flash = {
    .read = internal_flash_read, .program = flash_program, .erase = flash_erase,
    .block_size = BLOCK, .page_size = PAGE, .program_unit = 1, .read_unit = 1, .read_page_us = 10,
    .program_page_us = 500, .erase_block_us = 50000,
};
