/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * main.c - the library without an operating system: the selftest of the driver, a volume, a log
 * that is read back. The flash is RAM here, so that it runs on an emulated board; on a device
 * flash_read, flash_program and flash_erase are yours to write (or ports/spinor's), and put() is
 * your console.
 */
#include <string.h>

#include "nf2fs.h"              /* the amalgamation; else "nf2fs/nf2fs.h" */
#include "selftest.h"

#define CHIP_SIZE (1024u * 1024u)
#define PAGE_SIZE 256u

void put(const char *text);

/* ---- the driver ------------------------------------------------------------------------------ */

extern uint8_t chip_memory[CHIP_SIZE];      /* link.ld puts it into the board's large RAM */

static int flash_read(void *context, uint32_t address, void *data, uint32_t length)
{
    (void)context;
    memcpy(data, chip_memory + address, length);
    return 0;
}

static int flash_program(void *context, uint32_t address, const void *data, uint32_t length)
{
    const uint8_t *bytes = data;
    (void)context;
    for (uint32_t i = 0; i < length; i++) {
        chip_memory[address + i] &= bytes[i];
    }
    return 0;
}

static int flash_erase(void *context, uint32_t address, uint32_t length)
{
    (void)context;
    memset(chip_memory + address, 0xFF, length);
    return 0;
}

static const struct nf2_flash flash = {
    .read = flash_read, .program = flash_program, .erase = flash_erase,
    .chip_size = CHIP_SIZE, .block_size = 4096, .large_erase_size = 65536, .page_size = PAGE_SIZE,
    .program_unit = 1, .read_unit = 1,
    .read_page_us = 4, .program_page_us = 400, .erase_block_us = 50000, .large_erase_us = 150000,
};

/* ---- the volume ------------------------------------------------------------------------------ */

static nf2_t fs;
static nf2_file_t file;
static uint8_t volume_buffer[NF2_BUFFER_SIZE(PAGE_SIZE)], file_buffer[PAGE_SIZE];
static const struct nf2_config config = {
    .flash = &flash, .buffer = volume_buffer, .buffer_size = sizeof(volume_buffer),
};

/* A new board: the driver is looked at before it is trusted. */
static int start(void)
{
    int result = nf2_mount(&fs, &config, NF2_MOUNT_RDWR);
    if (result != NF2_ERR_BLANK) {
        return result;
    }
    enum nf2_selftest_fault fault = nf2_selftest(&config, NULL);
    put(nf2_selftest_text(fault));
    put("\n");
    if (fault != NF2_SELFTEST_GOOD) {
        return NF2_ERR_IO;
    }
    result = nf2_format(&fs, &config, NF2_FORMAT_QUICK);
    return result != NF2_OK ? result : nf2_mount(&fs, &config, NF2_MOUNT_RDWR);
}

static int append(const char *line)
{
    int result =
        nf2_open(&fs, &file, "/boot.log", NF2_O_WRONLY | NF2_O_CREAT | NF2_O_APPEND, file_buffer);
    if (result != NF2_OK) {
        return result;
    }
    int32_t written = nf2_write(&fs, &file, line, (uint32_t)strlen(line));
    result = nf2_close(&fs, &file);
    return written < 0 ? (int)written : result;
}

static int print(void)
{
    char text[33];
    int32_t length;
    int result = nf2_open(&fs, &file, "/boot.log", NF2_O_RDONLY, NULL);
    if (result != NF2_OK) {
        return result;
    }
    while ((length = nf2_read(&fs, &file, text, sizeof(text) - 1)) > 0) {
        text[length] = '\0';
        put(text);
    }
    result = nf2_close(&fs, &file);
    return length < 0 ? (int)length : result;
}

int main(void)
{
    int result = start();
    for (int i = 0; i < 3 && result == NF2_OK; i++) {
        result = append("a line that survives a power cut\n");
        while (result == NF2_OK && nf2_maintain(&fs, 200000) == 1) {   /* where there is time */
        }
    }
    result = result == NF2_OK ? print() : result;
    result = result == NF2_OK ? nf2_unmount(&fs) : result;
    put(nf2_error_text(result));
    put("\n");
    return result != NF2_OK;
}
