/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * chip.h - a NOR chip in memory that counts: pages of 256 bytes, blocks of 4 KiB, erases of 4 and
 * 64 KiB.
 */
#ifndef CHIP_H
#define CHIP_H

#include <stdint.h>

#define CHIP_SIZE_MAX (8u << 20)
#define CHIP_PAGE 256u
#define CHIP_BLOCK 4096u
#define CHIP_LARGE 65536u

/* Typical times of a W25Q256JV at a modest bus: microseconds. */
#define CHIP_READ_US 1u       /* a command, */
#define CHIP_READ_PAGE_US 10u /* and each page of data */
#define CHIP_PROGRAM_US 400u
#define CHIP_ERASE_BLOCK_US 50000u
#define CHIP_ERASE_LARGE_US 150000u

struct chip_counts {
    uint32_t reads, read_bytes, programs, program_bytes, block_erases, large_erases;
    uint32_t faults; /* calls that break the driver's rules, and programs that would set a bit */
};

extern struct chip_counts chip_counts;

/* A new chip of `size` bytes, each with this value. */
void chip_new(uint32_t size, uint8_t value);
uint32_t chip_size(void);

int chip_read(uint32_t address, void *data, uint32_t length);
int chip_program(uint32_t address, const void *data, uint32_t length);
int chip_erase(uint32_t address, uint32_t length);

/* Time of what was counted, microseconds. */
uint32_t chip_busy_us(void);

/* Keeps the content of a chip of at most half of CHIP_SIZE_MAX; brings it back. */
void chip_save(void);
void chip_restore(void);

#endif
