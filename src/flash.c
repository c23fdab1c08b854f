/* SPDX-License-Identifier: BSD-2-Clause */
#include "flash.h"

#include "bad.h"

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
        (flash->page_size != 256 && flash->page_size != 512) ||
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

/* `offset` may lie behind the block, in one of those that follow: each has a place of its own. */
static uint32_t address_of(const nf2_t *fs, uint32_t block, uint32_t offset)
{
    uint32_t bytes = fs->flash->block_size;

    return fs->config->offset + nf2_bad_place(fs, block + offset / bytes) * bytes + (offset & (bytes - 1));
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

    bool known = in_range(fs, block, offset, length) && fs->window_address == address_of(fs, block, offset - at) &&
                 at >= fs->window_begin && at + length <= fs->window_end;

    return known ? fs->read_buffer + at : NULL;
}

/* Whole read units, of a page as a rule: of more the caller charges the others. */
static int drive_read(nf2_t *fs, uint32_t address, uint8_t *to, uint32_t length)
{
    fs->busy_us += fs->flash->read_page_us;
    if (fs->flash->read(fs->flash->context, address, to, length) != 0) {
        fs->read_failed = true;
        return NF2_ERR_IO;
    }
    return NF2_OK;
}

/* Fills the window from its end up to `to`, or a little more for the read unit. */
static int fill_window(nf2_t *fs, uint32_t to)
{
    uint32_t from = fs->window_end, unit = fs->flash->read_unit;

    to = (to + unit - 1) & ~(unit - 1);
    int result = drive_read(fs, fs->window_address + from, fs->read_buffer + from, to - from);
    fs->window_end = (uint16_t)to;
    fs->window_address = result < 0 ? NF2_NONE : fs->window_address;
    return result;
}

const uint8_t *nf2_peek_just(nf2_t *fs, uint32_t block, uint32_t offset, uint32_t length)
{
    uint32_t page = nf2_page(fs), at = offset & (page - 1);

    if (!in_range(fs, block, offset, length) || at + length > page) {
        return NULL;
    }
    uint32_t address = address_of(fs, block, offset - at);
    if (fs->window_address != address || at < fs->window_begin) {
        fs->window_address = address;
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
    uint32_t unit = fs->flash->read_unit, bytes = nf2_block_bytes(fs);
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
        uint32_t at = offset & (bytes - 1), address = address_of(fs, block, offset);
        uint32_t skip = at & (unit - 1), n = nf2_min(length, bytes - at);
        bool aligned = skip == 0 && n >= unit;
        n = aligned ? n & ~(unit - 1) : nf2_min(unit - skip, n);
        fs->busy_us += (address % nf2_page(fs) + n - 1u) / nf2_page(fs) * fs->flash->read_page_us;
        NF2_TRY(drive_read(fs, address - skip, aligned ? to : edge, aligned ? n : unit));
        if (!aligned) {
            memcpy(to, edge + skip, n);
        }
        offset += n;
        to += n;
        length -= n;
    }
    return NF2_OK;
}

/* Whole program units of one page; the driver's answer. */
static int drive_program(nf2_t *fs, uint32_t address, const void *data, uint32_t length)
{
    uint32_t page = nf2_page(fs);

    fs->programs++;
    fs->busy_us += fs->flash->program_page_us;
    if (fs->window_address != NF2_NONE && (address & ~(page - 1)) == fs->window_address) {
        fs->window_address = NF2_NONE;
    }
    return fs->flash->program(fs->flash->context, address, data, length);
}

static int drive_erase(nf2_t *fs, uint32_t block, uint32_t count)
{
    fs->programs++;
    fs->busy_us += count > 1 ? fs->flash->large_erase_us : fs->flash->erase_block_us;
    fs->window_address = NF2_NONE;
    return fs->flash->erase(fs->flash->context, address_of(fs, block, 0), count * nf2_block_bytes(fs));
}

/* Copies what a block holds to an erased one, with what is to be programmed: what a failed program left there is undefined. The window is the buffer. */
static int copy_with(nf2_t *fs, uint32_t block, uint32_t to, uint32_t offset, const uint8_t *data, uint32_t length)
{
    uint32_t page = nf2_page(fs), unit = fs->flash->program_unit > 1 ? fs->flash->program_unit : page;
    int result = 0;

    for (uint32_t at = 0; at < nf2_block_bytes(fs) && result == 0; at += unit) {
        uint8_t *units = fs->read_buffer + (at & (page - 1)), all = 0xFF;
        if (units == fs->read_buffer) {
            fs->window_address = NF2_NONE;
            NF2_TRY(drive_read(fs, address_of(fs, block, at), units, page));
            if (offset - at < page) {
                memcpy(units + (offset - at), data, length);
            }
        }
        for (uint32_t i = 0; i < unit; i++) {
            all &= units[i];
        }
        result = all != 0xFF ? drive_program(fs, address_of(fs, to, at), units, unit) : 0;
    }
    return result;
}

/* The block does not take a program: that and what it holds already go to another one. */
static int replace(nf2_t *fs, uint32_t block, uint32_t offset, const uint8_t *data, uint32_t length)
{
    int result = NF2_FLASH_BAD;
    bool erased;

    while (result == NF2_FLASH_BAD && nf2_bad_room(fs)) {
        uint32_t by = nf2_bad_spare(fs, &erased);
        if (by == NF2_NONE) {
            break;
        }
        result = erased ? 0 : drive_erase(fs, by, 1);
        result = result != 0 ? result : copy_with(fs, block, by, offset, data, length);
        nf2_bad_note(fs, result != 0 ? by : block, by);
    }
    return result;
}

/* Whole program units of one page. */
static int program_units(nf2_t *fs, uint32_t block, uint32_t offset, const uint8_t *data, uint32_t length)
{
    int result = drive_program(fs, address_of(fs, block, offset), data, length);
    fs->log_failed = result == NF2_FLASH_BAD && nf2_bad_fixed(fs, block);
    result = result == NF2_FLASH_BAD && !fs->log_failed ? replace(fs, block, offset, data, length) : result;
    fs->broken = result != 0 && !fs->log_failed;
    return result != 0 ? NF2_ERR_IO : NF2_OK;
}

int nf2_flash_program(nf2_t *fs, uint32_t block, uint32_t offset, const void *data, uint32_t length)
{
    const uint8_t *from = data;
    uint32_t page = nf2_page(fs), unit = fs->flash->program_unit, bytes = nf2_block_bytes(fs);

    if (fs->broken || fs->read_only) {
        return fs->broken ? NF2_ERR_IO : NF2_ERR_ROFS;
    }
    if (!in_range(fs, block, offset, nf2_align_unit(fs, length)) || offset % unit != 0) {
        return NF2_ERR_IO;
    }
    while (length > 0) {
        uint32_t n = nf2_min(length, page - (offset & (page - 1))), padded = nf2_align_unit(fs, n);
        const uint8_t *units = from;
        if (n != padded) {
            memmove(fs->write_buffer, from, n);
            memset(fs->write_buffer + n, 0xFF, padded - n);
            units = fs->write_buffer;
        }
        NF2_TRY(program_units(fs, block + offset / bytes, offset & (bytes - 1), units, padded));
        offset += n;
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
    int result = drive_erase(fs, block, count);
    fs->log_failed = result == NF2_FLASH_BAD && nf2_bad_fixed(fs, block);
    fs->broken = result != 0 && result != NF2_FLASH_BAD;
    return result != 0 ? NF2_ERR_IO : NF2_OK;
}

uint32_t nf2_large_blocks(const nf2_t *fs)
{
    return fs->flash->large_erase_size / fs->flash->block_size;
}

uint32_t nf2_group_shift(const nf2_t *fs, uint32_t large)
{
    return (large - fs->config->offset / fs->flash->block_size % large) % large;
}
