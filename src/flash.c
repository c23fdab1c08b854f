/* SPDX-License-Identifier: BSD-2-Clause */
#include "flash.h"

#define PEEK_BYTES 88u          /* what a look into the middle of a page reads:
                                   one record or two, at the price of one read */

/* A power of two between these. */
static bool power(uint32_t value, uint32_t least, uint32_t most)
{
    return value >= least && value <= most && (value & (value - 1)) == 0;
}

int nf2_flash_validate(const struct nf2_config *config)
{
    const struct nf2_flash *flash = config->flash;

    if (flash == NULL || flash->read == NULL || flash->program == NULL || flash->erase == NULL ||
        config->buffer == NULL) {
        return NF2_ERR_INVAL;
    }
    uint32_t block = flash->block_size, large = flash->large_erase_size;
    if (!power(block, 4096, 65536) || !power(flash->page_size, 256, 512) ||
        !power(flash->program_unit, 1, 32) || !power(flash->read_unit, 1, 32) ||
        flash->chip_size % block != 0 ||
        (large != 0 && !power(large, 2 * block, UINT32_MAX))) {
        return NF2_ERR_GEOMETRY;
    }
    bool fits = (config->offset | config->size) % block == 0 && config->offset < flash->chip_size &&
                config->size <= flash->chip_size - config->offset;
    return fits && config->buffer_size >= NF2_BUFFER_SIZE(flash->page_size) ? NF2_OK :
           NF2_ERR_INVAL;
}

uint32_t nf2_large_blocks(const nf2_t *fs)
{
    uint32_t blocks = fs->flash->large_erase_size / nf2_block_bytes(fs);
    return blocks > 1 ? blocks : 1;
}

bool nf2_large_begins(const nf2_t *fs, uint32_t block)
{
    return (fs->drive.offset / nf2_block_bytes(fs) + block) % nf2_large_blocks(fs) == 0;
}

/* The place on the chip; NF2_NONE: a damaged reference, it reaches beyond the volume. */
static NF2_APART uint32_t locate(const nf2_t *fs, uint32_t block, uint32_t offset, uint32_t length)
{
    uint32_t behind = (fs->blocks - block) * nf2_block_bytes(fs);

    if (block >= fs->blocks || offset > behind || length > behind - offset) {
        return NF2_NONE;
    }
    return fs->drive.offset + block * nf2_block_bytes(fs) + offset;
}

/* Whole read units. The time is that of a page for each page touched. */
static int drive_read(nf2_t *fs, uint32_t address, uint8_t *to, uint32_t length)
{
    uint32_t page = NF2_LOG_PAGE, pages = (address % page + length + page - 1) / page;

    NF2_ASSERT(length > 0 && address % fs->flash->read_unit == 0 &&
               length % fs->flash->read_unit == 0);
    fs->drive.busy_us += pages * (fs->flash->read_page_us + NF2_PROCESSOR_US);
    return fs->flash->read(fs->flash->context, address, to, length) != 0 ? NF2_ERR_IO : NF2_OK;
}

/*
 * Where the window does not have it: fills that from its end, or anew; a little more for the read
 * unit.
 */
static const uint8_t *move_window(nf2_t *fs, uint32_t at, uint32_t address,
                                            uint32_t length)
{
    struct nf2_drive *drive = &fs->drive;
    uint32_t page = NF2_LOG_PAGE, unit = fs->flash->read_unit;
    uint32_t want = page - at;  /* who goes on in a page will do so again */

    NF2_NEAR(drive);
    if (length > want || address - drive->offset > fs->blocks * nf2_block_bytes(fs) - length) {
        return NULL;
    }
    if (address < drive->window || address > drive->window_end || at == 0) {
        drive->window = drive->window_end = address & ~(unit - 1);
        want = nf2_max(length, nf2_min(want, PEEK_BYTES));
    }
    uint32_t from = drive->window_end, to = (address + want + unit - 1) & ~(unit - 1);
    NF2_ASSERT(from < to && to - 1 <= (from | (page - 1)) && from % unit == 0);
    drive->window_end = to;
    if (drive_read(fs, from, fs->read_buffer + (from & (page - 1)), to - from) < 0) {
        drive->window_end = 0;
        return NULL;
    }
    return fs->read_buffer + at;
}

const uint8_t *nf2_peek(nf2_t *fs, uint32_t block, uint32_t offset, uint32_t length)
{
    const struct nf2_drive *drive = &fs->drive;
    uint32_t address = offset + drive->offset + block * nf2_block_bytes(fs);
    uint32_t at = address & (NF2_LOG_PAGE - 1);

    if (address < drive->window || address + length > drive->window_end) {
        return move_window(fs, at, address, length);
    }
    return fs->read_buffer + at;
}

/* Block by block; through the window where the ends are not aligned to the driver's read unit. */
int nf2_flash_read(nf2_t *fs, uint32_t block, uint32_t offset, void *data, uint32_t length)
{
    uint32_t unit = fs->flash->read_unit, bytes = nf2_block_bytes(fs), n;

    uint32_t start = locate(fs, block, offset, length) - offset;
    if (start + offset == NF2_NONE) {
        return NF2_ERR_IO;
    }
    for (uint8_t *to = data; length > 0; offset += n, to += n, length -= n) {
        uint32_t skip = offset & (unit - 1);
        n = nf2_min(length, bytes - (offset & (bytes - 1)));
        if (skip == 0 && n >= unit) {
            n &= ~(unit - 1);
            NF2_TRY(drive_read(fs, start + offset, to, n));
        } else {
            n = nf2_min(unit - skip, n);
            const uint8_t *from = nf2_peek(fs, block, offset, n);
            NF2_TRY(from != NULL ? NF2_OK : NF2_ERR_IO);
            memcpy(to, from, n);
        }
    }
    return NF2_OK;
}

/* What a program or an erase answered. */
static int settle(nf2_t *fs, int result)
{
    if (result == NF2_FLASH_BAD) {
        return NF2_FAILED_BLOCK;
    }
    if (result != 0) {
        fs->broken = true;
        return NF2_ERR_IO;
    }
    return NF2_OK;
}

static int writable(const nf2_t *fs)
{
    return fs->broken ? NF2_ERR_IO : fs->read_only ? NF2_ERR_ROFS : NF2_OK;
}

int nf2_flash_program(nf2_t *fs, uint32_t block, uint32_t offset, const void *data, uint32_t length)
{
    struct nf2_drive *drive = &fs->drive;
    uint32_t padded = nf2_align_unit(fs, length), unit = fs->flash->program_unit;

    NF2_ASSERT(length > 0 && offset % nf2_chip_page(fs) + padded <= nf2_chip_page(fs));
    NF2_TRY(writable(fs));
    uint32_t address = locate(fs, block, offset, padded);
    if (address == NF2_NONE || (offset & (unit - 1)) != 0) {
        return NF2_ERR_IO;
    }
    if (padded != length) {
        memmove(fs->write_buffer, data, length);
        memset(fs->write_buffer + length, 0xFF, padded - length);
        data = fs->write_buffer;
    }
    fs->changes++;
    drive->busy_us += fs->flash->program_page_us;
    if (address < drive->window_end && drive->window < address + padded) {
        drive->window_end = 0;
    }
    return settle(fs, fs->flash->program(fs->flash->context, address, data, padded));
}

int nf2_flash_erase(nf2_t *fs, uint32_t block, uint32_t count)
{
    struct nf2_drive *drive = &fs->drive;

    NF2_ASSERT(count == 1 || (count == nf2_large_blocks(fs) && nf2_large_begins(fs, block)));
    uint32_t bytes = count * nf2_block_bytes(fs), address = locate(fs, block, 0, bytes);
    NF2_TRY(writable(fs));
    if (address == NF2_NONE) {
        return NF2_ERR_IO;
    }
    fs->changes++;
    drive->busy_us += count > 1 ? fs->flash->large_erase_us : fs->flash->erase_block_us;
    drive->window_end = 0;
    return settle(fs, fs->flash->erase(fs->flash->context, address, bytes));
}
