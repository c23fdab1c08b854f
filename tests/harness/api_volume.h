/* SPDX-License-Identifier: BSD-2-Clause */
/* api_volume.h - a volume on a virtual chip for the directed tests, and short forms of common steps. */
#ifndef API_VOLUME_H
#define API_VOLUME_H

#include <stdbool.h>
#include <stdint.h>

#include "nf2fs/nf2fs.h"
#include "vflash/vflash.h"

struct volume {
    struct vflash *flash;       /* NULL: the chip belongs to another volume */
    struct nf2_flash driver;    /* a copy, to be changed by tests */
    struct nf2_config config;
    nf2_t fs;
    uint8_t page[NF2_PAGE_MAX]; /* buffer of the handle in `put` and of `file` */
    nf2_file_t file;
};

/* A blank chip, configured but not formatted. */
void volume_new(struct volume *volume, const char *chip_name);
void volume_new_on(struct volume *volume, const struct vflash_chip *chip);
/* Formats and mounts it. */
void volume_format(struct volume *volume);
/* The same, formatted and mounted. */
void volume_up(struct volume *volume, const char *chip_name);
/* Frees; unmounts first where `mounted`. */
void volume_down(struct volume *volume, bool mounted);
/* Mounts again, after an unmount or without one. */
int volume_again(struct volume *volume, bool unmount);

/* Byte `at` of the content of files made by `put`. */
uint8_t content_byte(uint32_t seed, uint32_t at);
/* Writes and closes a file; the first error, or 0. */
int put(struct volume *volume, const char *path, uint32_t size, uint32_t seed);
/* Whether the file is there with exactly this content. */
bool holds(struct volume *volume, const char *path, uint32_t size, uint32_t seed);
/* nf2_stat's result; the size in `*size` (may be NULL). */
int size_of(struct volume *volume, const char *path, uint32_t *size);
/* Programs and erases of the chip so far. */
uint64_t chip_changes(const struct vflash *flash);
/* Runs maintenance to its end. */
int maintain_all(struct volume *volume);
bool one_of(int value, int a, int b, int c);

#endif
