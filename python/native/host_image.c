/* SPDX-License-Identifier: BSD-2-Clause */
/* host_image.c - chips and images for callers in other languages: see host.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "image.h"

#define GENERIC "generic-"

/* ---- chips ---------------------------------------------------------------------------------- */

const char *nf2h_chip_name(unsigned index)
{
    const struct vflash_chip *chip = vflash_chip_at(index);
    return chip ? chip->name : NULL;
}

const char *nf2h_chip_description(unsigned index)
{
    const struct vflash_chip *chip = vflash_chip_at(index);
    return chip ? chip->description : NULL;
}

/* A chip that is known by its geometry alone. */
static int generic_chip(const char *name, struct vflash_chip *out, char *message,
                        size_t message_size)
{
    struct vflash_chip chip = {.erase_us = {50000},
                               .read_page_us = 4,
                               .read_page_slow_us = 41,
                               .program_page_us = 400,
                               .first_byte_pct = 20,
                               .endurance = 100000,
                               .read_unit = 1};
    char rest;

    int found =
        sscanf(name + sizeof GENERIC - 1, "%" SCNu32 "-%" SCNu32 "-%" SCNu32 "-%" SCNu32 "%c",
               &chip.size, &chip.page_size, &chip.block_size, &chip.program_unit, &rest);
    if (found != 4) {
        (void)snprintf(message, message_size,
                       "%s: a chip is named " GENERIC "SIZE-PAGE-BLOCK-UNIT, in bytes", name);
        return NF2_ERR_INVAL;
    }
    chip.erase_sizes[0] = chip.block_size;
    (void)snprintf(chip.name, sizeof chip.name, "%s", name);
    (void)snprintf(chip.description, sizeof chip.description, "known by its geometry alone");
    if (vflash_chip_check(&chip, message, message_size) != 0)
        return NF2_ERR_INVAL;
    *out = chip;
    return NF2_OK;
}

int nf2h_find_chip(const char *name, struct vflash_chip *out, char *message, size_t message_size)
{
    const struct vflash_chip *known = vflash_chip_find(name);
    if (known) {
        *out = *known;
        return NF2_OK;
    }
    if (strncmp(name, GENERIC, sizeof GENERIC - 1) == 0)
        return generic_chip(name, out, message, message_size);
    FILE *file = fopen(name, "r");
    if (!file) {
        (void)snprintf(message, message_size,
                       "no chip is named '%s', nor is there such a chip file", name);
        return NF2_ERR_INVAL;
    }
    (void)fclose(file);
    return vflash_chip_load(name, out, message, message_size) == 0 ? NF2_OK : NF2_ERR_INVAL;
}

int nf2h_chip_info(const char *chip, uint64_t out[7], char name[32], char description[96],
                   char *message, size_t message_size)
{
    struct vflash_chip found;
    int result = nf2h_find_chip(chip, &found, message, message_size);
    if (result < 0)
        return result;
    out[0] = found.size;
    out[1] = found.page_size;
    out[2] = found.block_size;
    out[3] = found.program_unit;
    out[4] = found.endurance;
    out[5] = found.block_size;
    for (unsigned i = 0; i < 3; i++) {
        if (found.erase_sizes[i] > out[5])
            out[5] = found.erase_sizes[i];
    }
    out[6] = found.erase_us[0];
    _Static_assert(sizeof(found.name) <= 32 && sizeof(found.description) <= 96,
                   "the places in host.h");
    (void)snprintf(name, 32, "%s", found.name);
    (void)snprintf(description, 96, "%s", found.description);
    return NF2_OK;
}

/* ---- images --------------------------------------------------------------------------------- */

static nf2h_image *new_image(uint32_t offset, uint32_t size)
{
    nf2h_image *image = calloc(1, sizeof *image);
    if (image) {
        image->config = (struct nf2_config){.offset = offset,
                                            .size = size,
                                            .buffer = image->buffer,
                                            .buffer_size = sizeof image->buffer};
    }
    return image;
}

/* Opens the chip of an image: 0, or a negative nf2_error with a message. */
static int open_chip(nf2h_image *image, const char *chip, const char *path, int read_only,
                     char *message, size_t message_size)
{
    int result = nf2h_find_chip(chip, &image->chip, message, message_size);
    if (result < 0)
        return result;
    image->flash = path ? vflash_open(&image->chip, path, read_only != 0, message, message_size)
                        : vflash_new(&image->chip);
    if (!image->flash) {
        if (!path)
            (void)snprintf(message, message_size, "out of memory");
        return NF2_ERR_IO;
    }
    image->config.flash = vflash_driver(image->flash);
    return NF2_OK;
}

nf2h_image *nf2h_image_open(const char *chip, const char *path, int read_only, uint32_t offset,
                            uint32_t size, char *message, size_t message_size)
{
    nf2h_image *image = new_image(offset, size);
    if (!image) {
        (void)snprintf(message, message_size, "out of memory");
        return NULL;
    }
    if (open_chip(image, chip, path, read_only, message, message_size) < 0) {
        free(image);
        return NULL;
    }
    return image;
}

nf2h_image *
nf2h_image_over(const uint32_t geometry[10],
                int (*read)(void *context, uint32_t address, void *data, uint32_t length),
                int (*program)(void *context, uint32_t address, const void *data, uint32_t length),
                int (*erase)(void *context, uint32_t address, uint32_t length), void *context,
                uint32_t offset, uint32_t size)
{
    nf2h_image *image = geometry[3] <= NF2_PAGE_MAX ? new_image(offset, size) : NULL;
    if (!image)
        return NULL;
    image->device = (struct nf2_flash){
        .context = context,
        .read = read,
        .program = program,
        .erase = erase,
        .chip_size = geometry[0],
        .block_size = geometry[1],
        .large_erase_size = geometry[2],
        .page_size = geometry[3],
        .program_unit = geometry[4],
        .read_unit = geometry[5],
        .read_page_us = geometry[6],
        .program_page_us = geometry[7],
        .erase_block_us = geometry[8],
        .large_erase_us = geometry[9],
    };
    image->config.flash = &image->device;
    return image;
}

uint8_t *nf2h_image_memory(nf2h_image *image)
{
    return image->flash ? vflash_memory(image->flash) : NULL;
}

/* ---- probing -------------------------------------------------------------------------------- */

struct probed {
    const uint8_t *bytes;
    uint64_t length;
};

static int probed_read(void *context, uint32_t address, void *data, uint32_t length)
{
    const struct probed *probed = context;
    uint64_t there = address < probed->length ? probed->length - address : 0;
    size_t part = there < length ? (size_t)there : length;

    if (part > 0)
        memcpy(data, probed->bytes + address, part);
    memset((uint8_t *)data + part, 0xFF, length - part);
    return 0;
}

static int no_program(void *context, uint32_t address, const void *data, uint32_t length)
{
    (void)context, (void)address, (void)data, (void)length;
    return -1;
}

static int no_erase(void *context, uint32_t address, uint32_t length)
{
    (void)context, (void)address, (void)length;
    return -1;
}

int nf2h_probe(const uint8_t *bytes, uint64_t length, const uint32_t geometry[4])
{
    struct probed probed = {bytes, length};
    const uint32_t all[10] = {geometry[0], geometry[2], 0,   geometry[1], geometry[3],
                              1,           4,           400, 50000,       0};
    nf2h_image *image = nf2h_image_over(all, probed_read, no_program, no_erase, &probed, 0, 0);
    if (!image)
        return NF2_ERR_GEOMETRY;
    int result = nf2_mount(&image->fs, &image->config, NF2_MOUNT_RDONLY);
    if (result == NF2_OK)
        (void)nf2_unmount(&image->fs);
    free(image);
    return result;
}
