/* SPDX-License-Identifier: BSD-2-Clause */
/* api_volume.c - see api_volume.h. */
#include "api_volume.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void volume_new(struct volume *volume, const char *chip_name)
{
    const struct vflash_chip *chip = vflash_chip_find(chip_name);

    if (!chip) {
        fprintf(stderr, "no chip named %s\n", chip_name);
        exit(2);
    }
    volume_new_on(volume, chip);
}

void volume_new_on(struct volume *volume, const struct vflash_chip *chip)
{
    memset(volume, 0, sizeof *volume);
    volume->flash = vflash_new(chip);
    if (!volume->flash) {
        fprintf(stderr, "no memory for a chip\n");
        exit(2);
    }
    volume->driver = *vflash_driver(volume->flash);
    volume->config.flash = &volume->driver;
    volume->config.buffer_size = NF2_BUFFER_SIZE(chip->page_size);
    volume->config.buffer = malloc(volume->config.buffer_size);
}

void volume_up(struct volume *volume, const char *chip_name)
{
    volume_new(volume, chip_name);
    volume_format(volume);
}

void volume_format(struct volume *volume)
{
    int status;

    status = nf2_format(&volume->fs, &volume->config, NF2_FORMAT_QUICK);
    if (status == NF2_OK) {
        status = nf2_mount(&volume->fs, &volume->config, NF2_MOUNT_RDWR);
    }
    if (status != NF2_OK) {
        fprintf(stderr, "format or mount on %s: %d\n", vflash_chip_of(volume->flash)->name, status);
        exit(1);
    }
}

void volume_down(struct volume *volume, bool mounted)
{
    if (mounted) {
        (void)nf2_unmount(&volume->fs);
    }
    free(volume->config.buffer);
    if (volume->flash) {
        vflash_free(volume->flash);
    }
}

int volume_again(struct volume *volume, bool unmount)
{
    int status = unmount ? nf2_unmount(&volume->fs) : NF2_OK;

    memset(&volume->fs, 0xA5, sizeof volume->fs);
    memset(&volume->file, 0, sizeof volume->file);
    return status != NF2_OK ? status : nf2_mount(&volume->fs, &volume->config, NF2_MOUNT_RDWR);
}

uint8_t content_byte(uint32_t seed, uint32_t at)
{
    uint32_t value = (at + 1) * 2654435761u ^ seed * 40503u;

    return (uint8_t)(value >> 13 ^ value >> 24);
}

int put(struct volume *volume, const char *path, uint32_t size, uint32_t seed)
{
    nf2_file_t file;
    uint8_t piece[1000];
    int status = nf2_open(&volume->fs, &file, path, NF2_O_WRONLY | NF2_O_CREAT | NF2_O_TRUNC, volume->page);
    int closed;

    if (status != NF2_OK) {
        return status;
    }
    for (uint32_t at = 0; at < size && status >= 0;) {
        uint32_t length = size - at < sizeof piece ? size - at : (uint32_t)sizeof piece;

        for (uint32_t i = 0; i < length; i++) {
            piece[i] = content_byte(seed, at + i);
        }
        status = (int)nf2_write(&volume->fs, &file, piece, length);
        at += length;
    }
    closed = nf2_close(&volume->fs, &file);
    return status < 0 ? status : closed;
}

bool holds(struct volume *volume, const char *path, uint32_t size, uint32_t seed)
{
    nf2_file_t file;
    uint8_t piece[777];
    uint32_t at = 0;
    int32_t got;
    bool right = true;

    if (nf2_open(&volume->fs, &file, path, NF2_O_RDONLY, NULL) != NF2_OK) {
        return false;
    }
    while ((got = nf2_read(&volume->fs, &file, piece, sizeof piece)) > 0) {
        for (uint32_t i = 0; i < (uint32_t)got; i++) {
            right = right && piece[i] == content_byte(seed, at + i);
        }
        at += (uint32_t)got;
    }
    return nf2_close(&volume->fs, &file) == NF2_OK && got == 0 && right && at == size;
}

int size_of(struct volume *volume, const char *path, uint32_t *size)
{
    struct nf2_stat stat = { NF2_TYPE_FILE, 0 };
    int status = nf2_stat(&volume->fs, path, &stat);

    if (size) {
        *size = stat.size;
    }
    return status;
}

uint64_t chip_changes(const struct vflash *flash)
{
    const struct vflash_counts *counts = vflash_counts(flash);

    return counts->program_calls + counts->erases[0] + counts->erases[1] + counts->erases[2];
}

int maintain_all(struct volume *volume)
{
    int status = 1;

    for (unsigned i = 0; i < 100000 && status == 1; i++) {
        status = nf2_maintain(&volume->fs, 1000000000u);
    }
    return status;
}

bool one_of(int value, int a, int b, int c)
{
    return value == a || value == b || value == c;
}
