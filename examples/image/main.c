/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * main.c - mounts an image as a board would mount its chip, and prints a file of it.
 * Usage: firmware IMAGE [FILE [OFFSET]]   OFFSET: bytes, where on the chip the volume begins
 *
 * The chip is an array, so the driver is a few lines; ports/spinor is one for a real chip. Nothing
 * is written, so the volume is mounted for reading: the code for writing is not linked.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nf2fs/nf2fs.h"

#define CHIP_SIZE (1024u * 1024u)
#define PAGE_SIZE 256u
#define BLOCK_SIZE 4096u

static uint8_t chip[CHIP_SIZE];

static int chip_read(void *context, uint32_t address, void *data, uint32_t length)
{
    (void)context;
    memcpy(data, chip + address, length);
    return 0;
}

static int chip_program(void *context, uint32_t address, const void *data, uint32_t length)
{
    const uint8_t *bytes = data;
    (void)context;
    for (uint32_t i = 0; i < length; i++)
        chip[address + i] &= bytes[i];
    return 0;
}

static int chip_erase(void *context, uint32_t address, uint32_t length)
{
    (void)context;
    memset(chip + address, 0xFF, length);
    return 0;
}

static const struct nf2_flash flash = {
    .read = chip_read,
    .program = chip_program,
    .erase = chip_erase,
    .chip_size = CHIP_SIZE,
    .block_size = BLOCK_SIZE,
    .page_size = PAGE_SIZE,
    .program_unit = 1,
    .read_unit = 1,
    .read_page_us = 4,
    .program_page_us = 400,
    .erase_block_us = 50000,
};

static nf2_t fs;
static nf2_file_t file;
static uint8_t buffer[NF2_BUFFER_SIZE(PAGE_SIZE)];

static int load(const char *path)
{
    FILE *image = fopen(path, "rb");
    size_t size = image ? fread(chip, 1, sizeof chip, image) : 0;
    if (image)
        (void)fclose(image);
    return size == sizeof chip ? 0 : -1;
}

static int print_file(const char *path)
{
    char piece[64];
    int32_t length;
    int result = nf2_open(&fs, &file, path, NF2_O_RDONLY, NULL);
    if (result != NF2_OK)
        return result;
    while ((length = nf2_read(&fs, &file, piece, sizeof piece)) > 0)
        (void)fwrite(piece, 1, (size_t)length, stdout);
    result = nf2_close(&fs, &file);
    return length < 0 ? (int)length : result;
}

int main(int count, char **arguments)
{
    const char *path = count > 2 ? arguments[2] : "/etc/settings";
    const struct nf2_config config = {
        .flash = &flash,
        .offset = count > 3 ? (uint32_t)strtoul(arguments[3], NULL, 0) : 0,
        .buffer = buffer,
        .buffer_size = sizeof buffer,
    };
    if (count < 2 || load(arguments[1]) != 0) {
        (void)fprintf(stderr, "usage: firmware IMAGE [FILE [OFFSET]]; the image has %u bytes\n",
                      CHIP_SIZE);
        return 2;
    }
    int result = nf2_mount_rdonly(&fs, &config);
    if (result == NF2_OK) {
        result = print_file(path);
        int left = nf2_unmount(&fs);
        result = result < 0 ? result : left;
    }
    if (result < 0)
        (void)fprintf(stderr, "firmware: %s\n", nf2_error_text(result));
    return result < 0;
}
