/* SPDX-License-Identifier: BSD-2-Clause */
#include "chip.h"

#include "board.h"

static LARGE_MEMORY uint8_t content[CHIP_SIZE_MAX];
static LARGE_MEMORY uint8_t saved[CHIP_SIZE_MAX / 2];
static uint32_t size;
struct chip_counts chip_counts;

static void copy(uint8_t *to, const uint8_t *from, uint32_t length)
{
    if ((((uintptr_t)to | (uintptr_t)from) & 3u) == 0)
        for (; length >= 4; length -= 4, to += 4, from += 4)
            *(uint32_t *)(void *)to = *(const uint32_t *)(const void *)from;
    while (length--)
        *to++ = *from++;
}

static void set(uint8_t *to, uint32_t length, uint8_t value)
{
    uint32_t word = value * 0x01010101u;
    for (uint32_t i = 0; i < length; i += 4)
        *(uint32_t *)(void *)(to + i) = word;
}

void chip_new(uint32_t new_size, uint8_t value)
{
    size = new_size;
    set(content, size, value);
}

uint32_t chip_size(void)
{
    return size;
}

static int refuse(void)
{
    chip_counts.faults++;
    return -1;
}

int chip_read(uint32_t address, void *data, uint32_t length)
{
    if (address > size || length > size - address)
        return refuse();
    chip_counts.reads++;
    chip_counts.read_bytes += length;
    copy(data, content + address, length);
    return 0;
}

int chip_program(uint32_t address, const void *data, uint32_t length)
{
    if (address > size || length > size - address || address % CHIP_PAGE + length > CHIP_PAGE)
        return refuse();
    chip_counts.programs++;
    chip_counts.program_bytes += length;
    const uint8_t *from = data;
    for (uint32_t i = 0; i < length; i++) {
        content[address + i] &= from[i];
        if (content[address + i] != from[i])
            chip_counts.faults++;
    }
    return 0;
}

int chip_erase(uint32_t address, uint32_t length)
{
    if ((length != CHIP_BLOCK && length != CHIP_LARGE) || address % length || address >= size)
        return refuse();
    if (length == CHIP_BLOCK)
        chip_counts.block_erases++;
    else
        chip_counts.large_erases++;
    set(content + address, length, 0xFF);
    return 0;
}

uint32_t chip_busy_us(void)
{
    const struct chip_counts *now = &chip_counts;
    uint32_t data_us = (uint32_t)((uint64_t)now->read_bytes * CHIP_READ_PAGE_US / CHIP_PAGE);
    return now->reads * CHIP_READ_US + data_us + now->programs * CHIP_PROGRAM_US
           + now->block_erases * CHIP_ERASE_BLOCK_US + now->large_erases * CHIP_ERASE_LARGE_US;
}

void chip_save(void)
{
    copy(saved, content, size);
}

void chip_restore(void)
{
    copy(content, saved, size);
}
