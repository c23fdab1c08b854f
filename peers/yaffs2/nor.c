/* SPDX-License-Identifier: BSD-2-Clause */
/* nor.c - YAFFS2's driver functions over a NOR chip. */
#include "nor.h"

#include <errno.h>
#include <stddef.h>

#include "yportenv.h"
#include "yaffs_guts.h"
#include "yaffs_packedtags2.h"

#define SPARE_1 16u             /* mode 1 */
#define SPARE_2 32u             /* mode 2: its tags take 28 */
#define CHUNK_1 512u
#define CHUNK_2 1024u
#define BLOCK_1 (16u * 1024u)
#define BLOCK_2 (32u * 1024u)

#define STATUS_BLANK 0xFFu
#define STATUS_BEGUN 0xFEu      /* programmed first; reads as in use, so that a torn chunk is never taken for a blank one */
#define STATUS_WHOLE 0xFCu      /* programmed last */
#define STATUS_TORN 0u          /* what YAFFS2 is told of a chunk that was only begun: deleted */

static struct yaffs_nor *nor_of(const struct yaffs_dev *dev)
{
    return dev->driver_context;
}

static uint32_t address_of(const struct yaffs_dev *dev, int chunk)
{
    const struct yaffs_nor *nor = nor_of(dev);
    uint32_t per_block = (uint32_t)dev->param.chunks_per_block;
    return (uint32_t)chunk / per_block * nor->block_size + (uint32_t)chunk % per_block * nor->chunk_size;
}

/* Of the spare bytes, which follow the last chunk of the block. */
static uint32_t spare_address(const struct yaffs_dev *dev, int chunk)
{
    const struct yaffs_nor *nor = nor_of(dev);
    uint32_t per_block = (uint32_t)dev->param.chunks_per_block;
    return (uint32_t)chunk / per_block * nor->block_size + per_block * nor->chunk_size + (uint32_t)chunk % per_block * nor->spare_size;
}

/* ---- the chip ------------------------------------------------------------------------------------- */

static int program(const struct yaffs_nor *nor, uint32_t address, const void *data, uint32_t length)
{
    const struct nf2_flash *flash = nor->flash;
    const uint8_t *bytes = data;
    while (length > 0) {
        uint32_t piece = flash->page_size - address % flash->page_size;
        piece = piece < length ? piece : length;
        if (flash->program(flash->context, address, bytes, piece) < 0) {
            return YAFFS_FAIL;
        }
        address += piece;
        bytes += piece;
        length -= piece;
    }
    return YAFFS_OK;
}

static int read(const struct yaffs_nor *nor, uint32_t address, void *data, uint32_t length)
{
    return nor->flash->read(nor->flash->context, address, data, length) < 0 ? YAFFS_FAIL : YAFFS_OK;
}

static int erase(struct yaffs_nor *nor, uint32_t block)
{
    const struct nf2_flash *flash = nor->flash;
    uint32_t address = block * nor->block_size;
    if (!nor->small_erases && flash->erase(flash->context, address, nor->block_size) == 0) {
        return YAFFS_OK;
    }
    for (uint32_t done = 0; done < nor->block_size; done += flash->block_size) {
        if (flash->erase(flash->context, address + done, flash->block_size) < 0) {
            return YAFFS_FAIL;
        }
    }
    nor->small_erases = true;   /* the chip has no command for the whole block, but for its parts */
    return YAFFS_OK;
}

static int erase_block(struct yaffs_dev *dev, int block)
{
    return erase(nor_of(dev), (uint32_t)block);
}

int yaffs_nor_erase_all(struct yaffs_nor *nor)
{
    for (uint32_t block = 0; block < nor->flash->chip_size / nor->block_size; block++) {
        if (erase(nor, block) != YAFFS_OK) {
            return -EIO;
        }
    }
    return 0;
}

static int initialise(struct yaffs_dev *dev)
{
    (void)dev;
    return YAFFS_OK;
}

/* ---- mode 2 --------------------------------------------------------------------------------------- */

/* The tags, and blank bytes up to a whole program unit. */
static uint32_t tags_size(const struct yaffs_nor *nor)
{
    uint32_t unit = nor->flash->program_unit;
    return ((uint32_t)sizeof(struct yaffs_packed_tags2) + unit - 1) / unit * unit;
}

static int write_chunk_tags(struct yaffs_dev *dev, int chunk, const u8 *data, const struct yaffs_ext_tags *tags)
{
    const struct yaffs_nor *nor = nor_of(dev);
    union {
        struct yaffs_packed_tags2 tags;
        u8 bytes[SPARE_2];
    } spare;
    memset(spare.bytes, 0xFF, sizeof(spare.bytes));
    yaffs_pack_tags2(&spare.tags, tags, 1);
    if (data != NULL && program(nor, address_of(dev, chunk), data, nor->chunk_size) != YAFFS_OK) {
        return YAFFS_FAIL;
    }
    return program(nor, spare_address(dev, chunk), spare.bytes, tags_size(nor));
}

static int read_chunk_tags(struct yaffs_dev *dev, int chunk, u8 *data, struct yaffs_ext_tags *tags)
{
    const struct yaffs_nor *nor = nor_of(dev);
    if (data != NULL && read(nor, address_of(dev, chunk), data, nor->chunk_size) != YAFFS_OK) {
        return YAFFS_FAIL;
    }
    if (tags == NULL) {
        return YAFFS_OK;
    }
    struct yaffs_packed_tags2 packed;
    if (read(nor, spare_address(dev, chunk), &packed, sizeof(packed)) != YAFFS_OK) {
        return YAFFS_FAIL;
    }
    yaffs_unpack_tags2(tags, &packed, 1);
    return YAFFS_OK;
}

static int query_block(struct yaffs_dev *dev, int block, enum yaffs_block_state *state, u32 *sequence)
{
    struct yaffs_ext_tags tags;
    if (read_chunk_tags(dev, block * dev->param.chunks_per_block, NULL, &tags) != YAFFS_OK) {
        return YAFFS_FAIL;
    }
    *state = tags.chunk_used ? YAFFS_BLOCK_STATE_NEEDS_SCAN : YAFFS_BLOCK_STATE_EMPTY;
    *sequence = tags.chunk_used ? tags.seq_number : 0;
    return YAFFS_OK;
}

static int mark_bad(struct yaffs_dev *dev, int block)
{
    (void)dev;
    (void)block;
    return YAFFS_FAIL;          /* a NOR chip has no place for such marks */
}

/* ---- mode 1 --------------------------------------------------------------------------------------- */

/* One byte of the spare bytes at `spare`; 0xFF is what is there already, or left as it is. */
static int program_status(const struct yaffs_nor *nor, uint32_t spare, size_t offset, u8 value)
{
    return value == STATUS_BLANK ? YAFFS_OK : program(nor, spare + (uint32_t)offset, &value, 1);
}

/* The chunk between its two marks; without data only a mark. */
static int write_chunk(struct yaffs_dev *dev, int chunk, const u8 *data, const struct yaffs_spare *spare)
{
    const struct yaffs_nor *nor = nor_of(dev);
    const size_t page_status = offsetof(struct yaffs_spare, page_status);
    uint32_t marks = spare_address(dev, chunk);
    if (data == NULL) {
        int result = program_status(nor, marks, page_status, spare->page_status);
        return result == YAFFS_OK ? program_status(nor, marks, offsetof(struct yaffs_spare, block_status), spare->block_status) : result;
    }
    struct yaffs_spare marked = *spare;
    marked.page_status = STATUS_BEGUN;
    if (program_status(nor, marks, page_status, STATUS_BEGUN) != YAFFS_OK || program(nor, address_of(dev, chunk), data, nor->chunk_size) != YAFFS_OK ||
        program(nor, marks, &marked, SPARE_1) != YAFFS_OK) {
        return YAFFS_FAIL;
    }
    return program_status(nor, marks, page_status, STATUS_WHOLE);
}

static int read_chunk(struct yaffs_dev *dev, int chunk, u8 *data, struct yaffs_spare *spare)
{
    const struct yaffs_nor *nor = nor_of(dev);
    if (data != NULL && read(nor, address_of(dev, chunk), data, nor->chunk_size) != YAFFS_OK) {
        return YAFFS_FAIL;
    }
    if (spare == NULL) {
        return YAFFS_OK;
    }
    if (read(nor, spare_address(dev, chunk), spare, SPARE_1) != YAFFS_OK) {
        return YAFFS_FAIL;
    }
    if (spare->page_status == STATUS_WHOLE) {
        spare->page_status = STATUS_BLANK;
    } else if (spare->page_status == STATUS_BEGUN) {
        spare->page_status = STATUS_TORN;
    }
    return YAFFS_OK;
}

/* ---- geometry ------------------------------------------------------------------------------------- */

static void set_geometry(struct yaffs_dev *dev, struct yaffs_nor *nor, bool mode2)
{
    uint32_t block = mode2 ? BLOCK_2 : BLOCK_1;
    nor->block_size = block > nor->flash->block_size ? block : nor->flash->block_size;
    nor->small_erases = nor->block_size != nor->flash->block_size && nor->block_size != BLOCK_2;
    nor->chunk_size = mode2 ? CHUNK_2 : CHUNK_1;
    nor->spare_size = mode2 ? SPARE_2 : SPARE_1;
    dev->param.chunks_per_block = (int)(nor->block_size / (nor->chunk_size + nor->spare_size));
    dev->param.total_bytes_per_chunk = nor->chunk_size;
    dev->param.spare_bytes_per_chunk = (int)nor->spare_size;
    dev->param.start_block = 0;
    dev->param.end_block = (int)(nor->flash->chip_size / nor->block_size) - 1;
}

void yaffs_nor_attach(struct yaffs_dev *dev, struct yaffs_nor *nor, bool mode2)
{
    set_geometry(dev, nor, mode2);
    dev->driver_context = nor;
    dev->param.is_yaffs2 = mode2;
    dev->param.initialise_flash_fn = initialise;
    dev->param.erase_fn = erase_block;
    if (mode2) {
        dev->param.write_chunk_tags_fn = write_chunk_tags;
        dev->param.read_chunk_tags_fn = read_chunk_tags;
        dev->param.query_block_fn = query_block;
        dev->param.bad_block_fn = mark_bad;
    } else {
        dev->param.write_chunk_fn = write_chunk;
        dev->param.read_chunk_fn = read_chunk;
    }
}
