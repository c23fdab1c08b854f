/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nf2_zephyr_flash.c - a driver over a flash area, with the geometry that the flash driver tells.
 */
#include "nf2_zephyr_flash.h"

#include <zephyr/drivers/flash.h>
#include <zephyr/logging/log.h>

LOG_MODULE_DECLARE(nf2fs, CONFIG_FS_LOG_LEVEL);

#define BLOCK_MIN 4096u         /* what struct nf2_flash allows */
#define BLOCK_MAX 65536u
#define UNIT_MAX 32u

/* ---- the driver ------------------------------------------------------------------------------ */

static int area_read(void *context, uint32_t address, void *data, uint32_t length)
{
    const struct nf2_zephyr *volume = context;
    return flash_area_read(volume->area, (off_t)address, data, length);
}

static int area_program(void *context, uint32_t address, const void *data, uint32_t length)
{
    const struct nf2_zephyr *volume = context;
    return flash_area_write(volume->area, (off_t)address, data, length);
}

/* Memory that needs no erase (RRAM, MRAM) is filled instead. */
static int area_erase(void *context, uint32_t address, uint32_t length)
{
    const struct nf2_zephyr *volume = context;
    return flash_area_flatten(volume->area, (off_t)address, length);
}

static void lock(void *context)
{
    struct nf2_zephyr *volume = context;
    (void)k_mutex_lock(&volume->mutex, K_FOREVER);
}

static void unlock(void *context)
{
    struct nf2_zephyr *volume = context;
    (void)k_mutex_unlock(&volume->mutex);
}

/* ---- geometry -------------------------------------------------------------------------------- */

/*
 * Zephyr calls the piece that is erased at a time a page. `block` is 0 while the largest one of the
 * area is searched, and then the size of a block: no page may lie in two of them.
 */
struct layout {
    uint32_t begin, end;        /* of the area, on the device */
    uint32_t block, largest;
    bool fits;
};

static bool look_at_page(const struct flash_pages_info *page, void *context)
{
    struct layout *layout = context;
    uint32_t begin = (uint32_t)page->start_offset, size = (uint32_t)page->size;
    if (begin >= layout->end) {
        return false;
    }
    if (begin + size <= layout->begin) {
        return true;
    }
    layout->largest = size > layout->largest ? size : layout->largest;
    if (begin < layout->begin || begin + size > layout->end) {
        layout->fits = false;
    } else if (layout->block != 0) {
        uint32_t at = (begin - layout->begin) % layout->block;
        layout->fits = layout->fits && at + size <= layout->block;
    }
    return true;
}

/* The size of a block: the area's largest page, or several small ones. 0: none fits. */
static uint32_t block_size_of(const struct flash_area *area)
{
    struct layout layout = {.begin = (uint32_t)area->fa_off,
                            .end = (uint32_t)area->fa_off + (uint32_t)area->fa_size,
                            .fits = true};
    flash_page_foreach(flash_area_get_device(area), look_at_page, &layout);
    uint32_t block = layout.largest;
    while (block != 0 && block < BLOCK_MIN) {
        block *= 2u;
    }
    if (block == 0 || block > BLOCK_MAX || (block & (block - 1u)) != 0) {
        LOG_ERR("the flash is erased by %u bytes; NF2FS takes a power of two up to %u",
                (unsigned)layout.largest, (unsigned)BLOCK_MAX);
        return 0;
    }
    layout.block = block;
    flash_page_foreach(flash_area_get_device(area), look_at_page, &layout);
    if (!layout.fits) {
        LOG_ERR("the pages of the flash do not make blocks of %u bytes in this partition",
                (unsigned)block);
    }
    return layout.fits ? block : 0;
}

/* A large erase pays where the partition begins with one, on the device. */
static uint32_t large_erase_of(const struct nf2_zephyr *volume, uint32_t block)
{
    uint32_t large = volume->large_erase_size != 0 ? volume->large_erase_size
                                                   : CONFIG_NF2FS_LARGE_ERASE_SIZE;
    bool fits = large >= 2u * block && (uint32_t)volume->area->fa_off % large == 0;
    return fits ? large : 0;
}

int nf2_zephyr_configure(struct nf2_zephyr *volume)
{
    uint32_t block = block_size_of(volume->area);
    uint32_t unit = flash_area_align(volume->area);
    if (block == 0) {
        return NF2_ERR_GEOMETRY;
    }
    if (unit == 0 || unit > UNIT_MAX) {
        LOG_ERR("the flash is written by %u bytes; NF2FS takes up to %u", (unsigned)unit,
                (unsigned)UNIT_MAX);
        return NF2_ERR_GEOMETRY;
    }
    uint32_t blocks = (uint32_t)volume->area->fa_size / block;
    if (blocks < NF2_BLOCKS_MIN) {
        LOG_ERR("the partition has %u blocks of %u bytes; a volume needs %u", (unsigned)blocks,
                (unsigned)block, NF2_BLOCKS_MIN);
        return NF2_ERR_NOSPC;
    }
    uint32_t large = large_erase_of(volume, block);
    volume->flash = (struct nf2_flash){
        .context = volume, .read = area_read, .program = area_program, .erase = area_erase,
        .chip_size = blocks * block, .block_size = block,
        .large_erase_size = large, .page_size = NF2_ZEPHYR_PAGE_SIZE, .program_unit = unit,
        .read_unit = 1, .read_page_us = 40, .program_page_us = 400, .erase_block_us = 50000,
        .large_erase_us = large != 0 ? 150000 : 0,
    };
    volume->config = (struct nf2_config){
        .flash = &volume->flash, .buffer = volume->buffer, .buffer_size = sizeof(volume->buffer),
        .lock = lock, .unlock = unlock, .lock_context = volume,
    };
    return NF2_OK;
}
