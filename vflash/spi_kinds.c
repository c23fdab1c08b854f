/* SPDX-License-Identifier: BSD-2-Clause */
/* spi_kinds.c - serial NOR chips as their data sheets have them. */
#include "spi_chip.h"

#define W25Q_ERASES                                                                                \
    {                                                                                              \
        {4096, 0x20, 0x21, 50000}, {32768, 0x52, 0, 120000},                                       \
        {                                                                                          \
            65536, 0xD8, 0xDC, 150000                                                              \
        }                                                                                          \
    }

const struct spi_chip_kind spi_chip_w25q256 = {
    .id = {0xEF, 0x40, 0x19},
    .size = 32u << 20,
    .page_size = 256,
    .erase = W25Q_ERASES,
    .program_us = 400,
    .four_opcodes = true,
    .four_mode = true,
    .sfdp = true,
    .quad = true,
    .programs_meanwhile = true,
    .suspend_us = 20,
    .resume_gap_us = 100,
    .wake_us = 3,
    .power_up_us = 20,
    .power_up_write_us = 5000,
    .protect_bits = 0x3C,
    .protect_inverts = true,
    .qpi_exit = 0xFF,
};

const struct spi_chip_kind spi_chip_w25q128 = {
    .id = {0xEF, 0x40, 0x18},
    .size = 16u << 20,
    .page_size = 256,
    .erase = W25Q_ERASES,
    .program_us = 400,
    .sfdp = true,
    .quad = true,
    .programs_meanwhile = true,
    .suspend_us = 20,
    .resume_gap_us = 100,
    .wake_us = 3,
    .power_up_us = 20,
    .power_up_write_us = 5000,
    .protect_bits = 0x1C,
    .protect_inverts = true,
    .qpi_exit = 0xFF,
};

const struct spi_chip_kind spi_chip_old = {
    .id = {0xC2, 0x20, 0x16}, .size = 4u << 20, .page_size = 256,
    .erase = {{4096, 0x20, 0, 60000}, {65536, 0xD8, 0, 700000}}, .program_us = 1400,
};

/*
 * 4 KiB erases work in the lowest or, where bit 2 of the configuration register says so, in the
 * highest 128 KiB alone; elsewhere they fail. A failure keeps the chip busy until 30h.
 */
const struct spi_chip_kind spi_chip_s25fl128s = {
    .id = {0x01, 0x20, 0x18},
    .id_more = {0x4D, 0x01},
    .id_long = true,
    .size = 16u << 20,
    .page_size = 256,
    .erase = {{4096, 0x20, 0x21, 130000}, {65536, 0xD8, 0xDC, 130000}},
    .program_us = 250,
    .four_opcodes = true,
    .sfdp = true,
    .quad = true,
    .programs_meanwhile = true,
    .suspend_us = 45,
    .suspend_size = 65536,
    .resume_gap_us = 100,
    .regions = {{128u << 10, 3}, {(16u << 20) - (128u << 10), 2}},
    .other = {{(16u << 20) - (128u << 10), 2}, {128u << 10, 3}},
    .map_opcode = 0x35,
    .map_bit = 4,
    .protect_bits = 0x1C,
    .status_errors = true,
    .power_up_us = 300,
    .power_up_write_us = 300,
};

const struct spi_chip_kind spi_chip_s25fl512s = {
    .id = {0x01, 0x02, 0x20},
    .id_more = {0x4D, 0x00},
    .id_long = true,
    .size = 64u << 20,
    .page_size = 512,
    .erase = {{262144, 0xD8, 0xDC, 520000}},
    .program_us = 340,
    .four_opcodes = true,
    .sfdp = true,
    .quad = true,
    .suspend_us = 45,
    .resume_gap_us = 100,
    .protect_bits = 0x1C,
    .status_errors = true,
    .power_up_us = 300,
    .power_up_write_us = 300,
};

/* D8h erases 8 KiB, 32 KiB or 64 KiB, as the place has it. Nothing is written until 98h. */
#define SST26_EDGE 0x8000u
const struct spi_chip_kind spi_chip_sst26vf032b = {
    .id = {0xBF, 0x26, 0x42}, .size = 4u << 20, .page_size = 256,
    .erase = {{4096, 0x20, 0, 25000}, {8192, 0xD8, 0, 25000}, {32768, 0xD8, 0, 25000},
              {65536, 0xD8, 0, 25000}},
    .program_us = 1000, .sfdp = true, .suspend_us = 25, .resume_gap_us = 500, .suspend = 0xB0,
    .resume = 0x30,
    .regions = {{SST26_EDGE, 3}, {SST26_EDGE, 5}, {(4u << 20) - 4u * SST26_EDGE, 9},
                {SST26_EDGE, 5}, {SST26_EDGE, 3}},
    .locked = true, .power_up_us = 100, .power_up_write_us = 100, .qpi_exit = 0xFF,
};

#define MICRON_ERASES                                                                              \
    {                                                                                              \
        {4096, 0x20, 0x21, 50000}, {32768, 0x52, 0x5C, 100000},                                    \
        {                                                                                          \
            65536, 0xD8, 0xDC, 150000                                                              \
        }                                                                                          \
    }

const struct spi_chip_kind spi_chip_mt25ql256 = {
    .id = {0x20, 0xBA, 0x19},
    .size = 32u << 20,
    .page_size = 256,
    .erase = MICRON_ERASES,
    .program_us = 120,
    .four_opcodes = true,
    .four_mode = true,
    .four_mode_latched = true,
    .sfdp = true,
    .quad = true,
    .quad_method = SPI_CHIP_QUAD_ALWAYS,
    .flag_status = true,
    .dies = 1,
    .programs_meanwhile = true,
    .suspend_us = 30,
    .resume_gap_us = 150,
    .wake_us = 30,
    .protect_bits = 0x5C,
    .power_up_us = 150,
    .power_up_write_us = 150,
    .qpi_exit = 0xF5,
};

/* Stacked dies: 70h must be read for each of them. */
const struct spi_chip_kind spi_chip_n25q00a = {
    .id = {0x20, 0xBA, 0x21},
    .size = 128u << 20,
    .page_size = 256,
    .erase = {{4096, 0x20, 0x21, 250000}, {65536, 0xD8, 0xDC, 700000}},
    .program_us = 500,
    .four_opcodes = true,
    .four_mode = true,
    .four_mode_latched = true,
    .sfdp = true,
    .quad = true,
    .quad_method = SPI_CHIP_QUAD_ALWAYS,
    .flag_status = true,
    .dies = 4,
    .programs_meanwhile = true,
    .suspend_us = 15,
    .resume_gap_us = 100,
    .protect_bits = 0x5C,
    .power_up_us = 150,
    .power_up_write_us = 150,
    .qpi_exit = 0xF5,
};

/* The quad enable bit is in register 1, failures are in the security register. */
const struct spi_chip_kind spi_chip_mx25l25645g = {
    .id = {0xC2, 0x20, 0x19},
    .size = 32u << 20,
    .page_size = 256,
    .erase = {{4096, 0x20, 0x21, 30000}, {32768, 0x52, 0x5C, 150000}, {65536, 0xD8, 0xDC, 280000}},
    .program_us = 250,
    .four_opcodes = true,
    .four_mode = true,
    .sfdp = true,
    .quad = true,
    .quad_method = 2,
    .security = true,
    .programs_meanwhile = true,
    .suspend_us = 20,
    .resume_gap_us = 100,
    .suspend = 0xB0,
    .resume = 0x30,
    .wake_us = 30,
    .protect_bits = 0x3C,
    .power_up_us = 800,
    .power_up_write_us = 800,
    .qpi_exit = 0xF5,
};
