/* SPDX-License-Identifier: BSD-2-Clause */
/* spi_nor.c - SPI NOR by its commands. The times are those of the W25Q256JV: put in your chip's. */
#include "spi_nor.h"

#include <stddef.h>

#define BLOCK 4096u
#define LARGE 65536u
#define PAGE 256u

#define WRITE_ENABLE 0x06u
#define READ_STATUS 0x05u
#define READ_ID 0x9Fu
#define WAKE 0xABu              /* out of deep power-down; others take no notice */
#define STATUS_BUSY 0x01u
#define STATUS_ENABLED 0x02u

/* Maximum times of the data sheet, not the typical ones: worn chips, and cold ones, need them. */
#define PROGRAM_MAX_US 3000u
#define BLOCK_MAX_US 400000u
#define LARGE_MAX_US 2000000u

static int command(struct spi_nor *chip, uint8_t code)
{
    return chip->transfer(chip->bus, &code, 1, NULL, NULL, 0);
}

static int status(struct spi_nor *chip, uint8_t *out)
{
    const uint8_t code = READ_STATUS;
    return chip->transfer(chip->bus, &code, 1, NULL, out, 1);
}

/* Waits until the chip is idle, asking every `step` microseconds. */
static int wait_idle(struct spi_nor *chip, uint32_t step, uint32_t max_us)
{
    uint8_t bits;
    for (uint32_t waited = 0;; waited += step) {
        if (status(chip, &bits) != 0) {
            return -1;
        }
        if ((bits & STATUS_BUSY) == 0) {
            return 0;
        }
        if (waited >= max_us) {
            return -1;
        }
        chip->pause(chip->bus, step);
    }
}

/* The chip forgets it after each program and erase. A chip that is write-protected, or not there, does not take it. */
static int write_enable(struct spi_nor *chip)
{
    uint8_t bits;
    if (command(chip, WRITE_ENABLE) != 0 || status(chip, &bits) != 0) {
        return -1;
    }
    return (bits & STATUS_ENABLED) != 0 ? 0 : -1;
}

/* A command with its address and, behind that, `dummy` bytes of zeros. Returns its length. */
static uint32_t with_address(const struct spi_nor *chip, uint8_t out[6], uint8_t three, uint8_t four, uint32_t address, uint32_t dummy)
{
    uint32_t n = 0;
    out[n++] = chip->four ? four : three;   /* codes of their own: the chip's address mode does not matter, nor what a reset left it in */
    if (chip->four) {
        out[n++] = (uint8_t)(address >> 24);
    }
    out[n++] = (uint8_t)(address >> 16);
    out[n++] = (uint8_t)(address >> 8);
    out[n++] = (uint8_t)address;
    for (uint32_t i = 0; i < dummy; i++) {
        out[n++] = 0;
    }
    return n;
}

static int flash_read(void *context, uint32_t address, void *data, uint32_t length)
{
    struct spi_nor *chip = context;
    uint8_t bytes[6];
    uint32_t n = with_address(chip, bytes, 0x0B, 0x0C, address, 1);
    return chip->transfer(chip->bus, bytes, n, NULL, data, length);
}

static int flash_program(void *context, uint32_t address, const void *data, uint32_t length)
{
    struct spi_nor *chip = context;
    uint8_t bytes[6];
    uint32_t n = with_address(chip, bytes, 0x02, 0x12, address, 0);
    if (write_enable(chip) != 0 || chip->transfer(chip->bus, bytes, n, data, NULL, length) != 0) {
        return -1;
    }
    return wait_idle(chip, 50, PROGRAM_MAX_US);
}

static int flash_erase(void *context, uint32_t address, uint32_t length)
{
    struct spi_nor *chip = context;
    bool large = length == LARGE;
    uint8_t bytes[6];
    uint32_t n = large ? with_address(chip, bytes, 0xD8, 0xDC, address, 0) : with_address(chip, bytes, 0x20, 0x21, address, 0);
    if (write_enable(chip) != 0 || chip->transfer(chip->bus, bytes, n, NULL, NULL, 0) != 0) {
        return -1;
    }
    return wait_idle(chip, 1000, large ? LARGE_MAX_US : BLOCK_MAX_US);
}

/* Of the identification's third byte: 24 is 16 MiB, 25 is 32 MiB; from 32 on (32 is 64 MiB) some makers count on from there. */
static bool capacity_is(uint8_t code, uint32_t size)
{
    uint32_t power = code < 32u ? code : code - 6u;
    return power < 32u && size == (uint32_t)1 << power;
}

int spi_nor_start(struct spi_nor *chip, uint32_t size)
{
    const uint8_t read_id = READ_ID;
    uint8_t id[3];

    chip->four = size > (16u << 20);
    chip->driver = (struct nf2_flash){
        .context = chip,
        .read = flash_read, .program = flash_program, .erase = flash_erase,
        .chip_size = size, .block_size = BLOCK, .large_erase_size = LARGE,
        .page_size = PAGE, .program_unit = 1, .read_unit = 1,
        /* Typical times: what nf2_maintain reckons its budget with. Reads: at your bus's clock, here four lines at 50 MHz and more. */
        .read_page_us = 4, .program_page_us = 400, .erase_block_us = 50000, .large_erase_us = 150000,
    };
    if (command(chip, WAKE) != 0) {
        return -1;
    }
    chip->pause(chip->bus, 50);
    if (wait_idle(chip, 1000, LARGE_MAX_US) != 0 || chip->transfer(chip->bus, &read_id, 1, NULL, id, sizeof(id)) != 0) {
        return -1;
    }
    return id[0] != 0x00 && id[0] != 0xFF && capacity_is(id[2], size) ? 0 : -1;
}
