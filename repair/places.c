/* SPDX-License-Identifier: BSD-2-Clause */
/* places.c - what should lie in bad blocks, and lies elsewhere: put where it belongs, in a copy of the image. A volume that does not mount tells of none. */
#include <stdlib.h>
#include <string.h>

#include "places.h"

#include "tolerant.h"

static int read_image(void *context, uint32_t address, void *data, uint32_t length)
{
    const struct rep_image *image = context;

    memcpy(data, image->bytes + address, length);
    return 0;
}

static int refuse_program(void *context, uint32_t address, const void *data, uint32_t length)
{
    (void)context;
    (void)address;
    (void)data;
    (void)length;
    return -1;
}

static int refuse_erase(void *context, uint32_t address, uint32_t length)
{
    return refuse_program(context, address, NULL, length);
}

uint8_t *rep_places(struct rep_image *image)
{
    uint32_t size = image->blocks * image->block_size;
    struct nf2_flash driver = {image,
                               read_image,
                               refuse_program,
                               refuse_erase,
                               size,
                               image->block_size,
                               0,
                               image->page_size,
                               image->program_unit,
                               1,
                               0,
                               0,
                               0,
                               0};
    uint8_t buffer[NF2_BUFFER_SIZE(NF2_PAGE_MAX)];
    struct nf2_config config = {.flash = &driver, .buffer = buffer, .buffer_size = sizeof buffer};
    nf2_t fs;

    if (nf2_mount(&fs, &config, NF2_MOUNT_RDONLY) != NF2_OK || fs.bad_count == 0) {
        return NULL;
    }
    uint8_t *copy = rep_alloc(size);
    memcpy(copy, image->bytes, size);
    for (unsigned i = 0; i < fs.bad_count; i++) {
        memcpy(copy + (size_t)fs.bad[i].block * image->block_size, image->bytes + (size_t)fs.bad[i].by * image->block_size, image->block_size);
        image->place[image->places++] = fs.bad[i].by;
    }
    for (unsigned i = 0; i < image->places; i++) {
        memset(copy + (size_t)image->place[i] * image->block_size, 0xFF, image->block_size);
    }
    (void)nf2_unmount(&fs);
    image->bytes = copy;
    return copy;
}
