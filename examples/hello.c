/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hello.c - a volume from blank flash to a file read back. It runs over the virtual chip, started
 * twice; on a device only flash_driver() is yours to write (include/nf2fs/flash.h).
 */
#include <stdio.h>
#include <string.h>

#include "nf2fs/nf2fs.h"
#include "vflash.h"

#define PAGE_SIZE 256u

static nf2_t fs;
static nf2_file_t file;
static uint8_t volume_buffer[NF2_BUFFER_SIZE(PAGE_SIZE)];
static uint8_t file_buffer[PAGE_SIZE];

static const struct nf2_flash *flash_driver(struct vflash *chip)
{
    return vflash_driver(chip);
}

/* On a device: a delay of the board. The virtual chip is ready at once. */
static void wait_ms(unsigned ms)
{
    (void)ms;
}

/* Mounts the volume; formats a range that is blank. So reads a chip, too, that is not ready yet. */
static int start(const struct nf2_config *config)
{
    int result = nf2_mount(&fs, config, NF2_MOUNT_RDWR);
    if (result == NF2_ERR_BLANK) {
        wait_ms(100);
        result = nf2_mount(&fs, config, NF2_MOUNT_RDWR);
    }
    if (result == NF2_ERR_BLANK) {
        result = nf2_format(&fs, config, NF2_FORMAT_QUICK);
        if (result == NF2_OK) {
            result = nf2_mount(&fs, config, NF2_MOUNT_RDWR);
        }
    }
    return result;
}

/* Appends one line to a log; it is on the chip when this returns NF2_OK. */
static int append(const char *path, const char *line)
{
    int result = nf2_open(&fs, &file, path, NF2_O_WRONLY | NF2_O_CREAT | NF2_O_APPEND, file_buffer);
    if (result != NF2_OK) {
        return result;
    }
    int32_t written = nf2_write(&fs, &file, line, (uint32_t)strlen(line));
    result = nf2_close(&fs, &file);
    return written < 0 ? (int)written : result;
}

static int print(const char *path)
{
    char text[64];
    int result = nf2_open(&fs, &file, path, NF2_O_RDONLY, NULL);
    if (result != NF2_OK) {
        return result;
    }
    int32_t length;
    while ((length = nf2_read(&fs, &file, text, sizeof(text))) > 0) {
        fwrite(text, 1, (size_t)length, stdout);
    }
    result = nf2_close(&fs, &file);
    return length < 0 ? (int)length : result;
}

/* What a device does from its start until it is switched off. */
static int run(const struct nf2_config *config, int boot)
{
    int result = start(config);
    if (result == NF2_OK) {
        result = nf2_mkdir(&fs, "/log");
        if (result == NF2_ERR_EXIST) {      /* made by an earlier start */
            result = NF2_OK;
        }
    }
    for (int i = 0; i < 2 && result == NF2_OK; i++) {
        char line[32];
        snprintf(line, sizeof(line), "boot %d: hello %d\n", boot, i);
        result = append("/log/boot.txt", line);
    }
    if (result == NF2_OK) {
        result = print("/log/boot.txt");
    }
    if (result == NF2_OK) {
        result = nf2_unmount(&fs);
    }
    return result;
}

int main(void)
{
    struct vflash *chip = vflash_new(vflash_chip_find("w25q256"));
    if (chip == NULL) {
        return 1;
    }
    const struct nf2_config config = {
        .flash = flash_driver(chip),
        .buffer = volume_buffer,
        .buffer_size = sizeof(volume_buffer),
    };
    int result = NF2_OK;
    for (int boot = 0; boot < 2 && result == NF2_OK; boot++) {
        result = run(&config, boot);
    }
    if (result != NF2_OK) {
        fprintf(stderr, "hello: %s\n", nf2_error_text(result));
    }
    vflash_free(chip);
    return result == NF2_OK ? 0 : 1;
}
