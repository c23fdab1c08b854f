/* SPDX-License-Identifier: BSD-2-Clause */
#include "flash.h"

#define PEEK_BYTES 48u          /* what a look into the middle of a page reads: most records are shorter */

static bool power_of_two(uint32_t value)
{
    return value != 0 && (value & (value - 1)) == 0;
}

int nf2_flash_validate(const struct nf2_config *config)
{
    const struct nf2_flash *flash = config->flash;

    if (flash == NULL || flash->read == NULL || flash->program == NULL || flash->erase == NULL || config->buffer == NULL) {
        return NF2_ERR_INVAL;
    }
    if (!power_of_two(flash->block_size) || flash->block_size < 4096 || flash->block_size > 65536 ||
        (flash->page_size != 256 && flash->page_size != 512) || flash->block_size / flash->page_size < 8 ||
        !power_of_two(flash->program_unit) || flash->program_unit > 32 || !power_of_two(flash->read_unit) ||
        flash->read_unit > 32 || flash->chip_size % flash->block_size != 0 ||
        (flash->large_erase_size != 0 &&
         (!power_of_two(flash->large_erase_size) || flash->large_erase_size <= flash->block_size))) {
        return NF2_ERR_GEOMETRY;
    }
    if (config->buffer_size < NF2_BUFFER_SIZE(flash->page_size) || config->offset % flash->block_size != 0 ||
        config->size % flash->block_size != 0 || config->offset >= flash->chip_size ||
        config->size > flash->chip_size - config->offset) {
        return NF2_ERR_INVAL;
    }
    return NF2_OK;
}

static uint32_t address_of(const nf2_t *fs, uint32_t block, uint32_t offset)
{
    return fs->config->offset + block * fs->flash->block_size + offset;
}

/* The check that keeps a damaged reference from reaching beyond the volume. */
static bool in_range(const nf2_t *fs, uint32_t block, uint32_t offset, uint32_t length)
{
    uint32_t size = fs->blocks * fs->flash->block_size;

    if (block >= fs->blocks) {
        return false;
    }
    uint32_t from = block * fs->flash->block_size;
    return offset <= size - from && length <= size - from - offset;
}

/* These bytes, if they are in the window; else NULL. */
static const uint8_t *in_window(const nf2_t *fs, uint32_t block, uint32_t offset, uint32_t length)
{
    uint32_t at = offset & (nf2_page(fs) - 1);

    bool known = block < fs->blocks && fs->window_address == address_of(fs, block, offset - at) && at >= fs->window_begin && at + length <= fs->window_end;

    return known ? fs->read_buffer + at : NULL;
}

/* Fills the window from its end up to `to`, or a little more for the read unit. */
static int fill_window(nf2_t *fs, uint32_t to)
{
    uint32_t from = fs->window_end, unit = fs->flash->read_unit;

    to = (to + unit - 1) & ~(unit - 1);
    if (fs->flash->read(fs->flash->context, fs->window_address + from, fs->read_buffer + from, to - from) != 0) {
        fs->window_address = NF2_NONE;
        return NF2_ERR_IO;
    }
    fs->window_end = (uint16_t)to;
    return NF2_OK;
}

const uint8_t *nf2_peek_just(nf2_t *fs, uint32_t block, uint32_t offset, uint32_t length)
{
    uint32_t page = nf2_page(fs), at = offset & (page - 1);

    if (!in_range(fs, block, offset, length) || at + length > page) {
        return NULL;
    }
    if (fs->window_address != address_of(fs, block, offset - at) || at < fs->window_begin) {
        fs->window_address = address_of(fs, block, offset - at);
        fs->window_begin = fs->window_end = (uint16_t)(at & ~(fs->flash->read_unit - 1));
    }
    if (at + length > fs->window_end && fill_window(fs, at + length) != NF2_OK) {
        return NULL;
    }
    return fs->read_buffer + at;
}

const uint8_t *nf2_peek(nf2_t *fs, uint32_t block, uint32_t offset, uint32_t length)
{
    uint32_t page = nf2_page(fs), at = offset & (page - 1);
    const uint8_t *known = in_window(fs, block, offset, length);

    if (known != NULL) {
        return known;
    }
    length = nf2_max(length, at == 0 ? page : nf2_min(page - at, PEEK_BYTES)); /* all of a page that is begun, else what a record takes */
    return nf2_peek_just(fs, block, offset, length);
}

/* Block by block; through a small buffer where the ends are not aligned to the driver's read unit. */
int nf2_flash_read(nf2_t *fs, uint32_t block, uint32_t offset, void *data, uint32_t length)
{
    const struct nf2_flash *flash = fs->flash;
    uint32_t unit = flash->read_unit, address = address_of(fs, block, offset);
    uint8_t *to = data, edge[32];
    const uint8_t *known = in_window(fs, block, offset, length);

    if (known != NULL) {
        memcpy(data, known, length);
        return NF2_OK;
    }
    if (!in_range(fs, block, offset, length)) {
        return NF2_ERR_IO;
    }
    while (length > 0) {
        uint32_t skip = address & (unit - 1), n = nf2_min(length, flash->block_size - (address & (flash->block_size - 1)));
        bool aligned = skip == 0 && n >= unit;
        n = aligned ? n & ~(unit - 1) : nf2_min(unit - skip, n);
        if (flash->read(flash->context, address - skip, aligned ? to : edge, aligned ? n : unit) != 0) {
            return NF2_ERR_IO;
        }
        if (!aligned) {
            memcpy(to, edge + skip, n);
        }
        address += n;
        to += n;
        length -= n;
    }
    return NF2_OK;
}

/* Whole program units of one page. */
static int program_units(nf2_t *fs, uint32_t address, const uint8_t *data, uint32_t length)
{
    uint32_t page = nf2_page(fs);

    fs->programs++;
    fs->busy_us += fs->flash->program_page_us;
    if (fs->window_address != NF2_NONE && (address & ~(page - 1)) == fs->window_address) {
        fs->window_address = NF2_NONE;
    }
    if (fs->flash->program(fs->flash->context, address, data, length) != 0) {
        fs->broken = true;
        return NF2_ERR_IO;
    }
    return NF2_OK;
}

int nf2_flash_program(nf2_t *fs, uint32_t block, uint32_t offset, const void *data, uint32_t length)
{
    const uint8_t *from = data;
    uint32_t page = nf2_page(fs), unit = fs->flash->program_unit;

    if (fs->broken || fs->read_only) {
        return fs->broken ? NF2_ERR_IO : NF2_ERR_ROFS;
    }
    if (!in_range(fs, block, offset, nf2_align_unit(fs, length)) || offset % unit != 0) {
        return NF2_ERR_IO;
    }
    uint32_t address = address_of(fs, block, offset);
    while (length > 0) {
        uint32_t n = nf2_min(length, page - (address & (page - 1)));
        if (n % unit == 0) {
            NF2_TRY(program_units(fs, address, from, n));
        } else {
            uint32_t padded = nf2_align_unit(fs, n);
            memmove(fs->write_buffer, from, n);
            memset(fs->write_buffer + n, 0xFF, padded - n);
            NF2_TRY(program_units(fs, address, fs->write_buffer, padded));
        }
        address += n;
        from += n;
        length -= n;
    }
    return NF2_OK;
}

int nf2_flash_erase(nf2_t *fs, uint32_t block, uint32_t count)
{
    if (fs->broken || fs->read_only) {
        return fs->broken ? NF2_ERR_IO : NF2_ERR_ROFS;
    }
    if (block + count > fs->blocks) {
        return NF2_ERR_IO;
    }
    fs->programs++;
    fs->busy_us += count > 1 ? fs->flash->large_erase_us : fs->flash->erase_block_us;
    fs->window_address = NF2_NONE;
    if (fs->flash->erase(fs->flash->context, address_of(fs, block, 0), count * nf2_block_bytes(fs)) != 0) {
        fs->broken = true;
        return NF2_ERR_IO;
    }
    return NF2_OK;
}

uint32_t nf2_large_blocks(const nf2_t *fs)
{
    return fs->flash->large_erase_size / fs->flash->block_size;
}
