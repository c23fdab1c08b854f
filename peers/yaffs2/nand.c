/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nand.c - YAFFS2's driver functions over a NAND chip: a chunk is a page, its tags lie in the spare bytes behind the mark of bad
 * blocks. A real chip programs a page and its spare bytes at once; here they are two calls, of which the second costs no time.
 */
#include "nor.h"

#include <errno.h>

#include "vfs.h"

#include "yportenv.h"
#include "yaffs_guts.h"
#include "yaffs_packedtags2.h"

#define MARK_SIZE 2u            /* of a bad block: its first page's first spare bytes are not 0xFF */
#define SPARE_USED (MARK_SIZE + sizeof(struct yaffs_packed_tags2))

static struct yaffs_nor *chip_of(const struct yaffs_dev *dev)
{
    return dev->driver_context;
}

static uint32_t first_page(const struct yaffs_nor *chip, uint32_t block)
{
    return block * (chip->block_size / chip->chunk_size);
}

static bool is_bad(const struct yaffs_nor *chip, uint32_t block)
{
    uint8_t mark = 0;
    int result = chip->nand->spare_read(chip->nand->context, first_page(chip, block), &mark, 1);
    return result < 0 || mark != 0xFF;
}

int yaffs_nand_erase_all(struct yaffs_nor *chip)
{
    const struct nf2_flash *flash = chip->flash;
    for (uint32_t block = 0; block < flash->chip_size / chip->block_size; block++) {
        if (!is_bad(chip, block) && flash->erase(flash->context, block * chip->block_size, chip->block_size) < 0) {
            return -EIO;
        }
    }
    return 0;
}

static int write_chunk_tags(struct yaffs_dev *dev, int chunk, const u8 *data, const struct yaffs_ext_tags *tags)
{
    const struct yaffs_nor *chip = chip_of(dev);
    const struct nf2_flash *flash = chip->flash;
    struct yaffs_packed_tags2 packed;
    uint8_t spare[SPARE_USED] = {0xFF, 0xFF};
    yaffs_pack_tags2(&packed, tags, 1);
    memcpy(spare + MARK_SIZE, &packed, sizeof(packed));
    if (data == NULL || flash->program(flash->context, (uint32_t)chunk * chip->chunk_size, data, chip->chunk_size) < 0) {
        return YAFFS_FAIL;
    }
    return chip->nand->spare_program(chip->nand->context, (uint32_t)chunk, spare, SPARE_USED) < 0 ? YAFFS_FAIL : YAFFS_OK;
}

static int read_chunk_tags(struct yaffs_dev *dev, int chunk, u8 *data, struct yaffs_ext_tags *tags)
{
    const struct yaffs_nor *chip = chip_of(dev);
    const struct nf2_flash *flash = chip->flash;
    if (data != NULL && flash->read(flash->context, (uint32_t)chunk * chip->chunk_size, data, chip->chunk_size) < 0) {
        return YAFFS_FAIL;
    }
    if (tags == NULL) {
        return YAFFS_OK;
    }
    struct yaffs_packed_tags2 packed;
    uint8_t spare[SPARE_USED];
    if (chip->nand->spare_read(chip->nand->context, (uint32_t)chunk, spare, SPARE_USED) < 0) {
        return YAFFS_FAIL;
    }
    memcpy(&packed, spare + MARK_SIZE, sizeof(packed));
    yaffs_unpack_tags2(tags, &packed, 1);
    return YAFFS_OK;
}

static int erase_block(struct yaffs_dev *dev, int block)
{
    const struct yaffs_nor *chip = chip_of(dev);
    const struct nf2_flash *flash = chip->flash;
    return flash->erase(flash->context, (uint32_t)block * chip->block_size, chip->block_size) < 0 ? YAFFS_FAIL : YAFFS_OK;
}

static int query_block(struct yaffs_dev *dev, int block, enum yaffs_block_state *state, u32 *sequence)
{
    struct yaffs_ext_tags tags;
    *sequence = 0;
    if (is_bad(chip_of(dev), (uint32_t)block)) {
        *state = YAFFS_BLOCK_STATE_DEAD;
        return YAFFS_OK;
    }
    if (read_chunk_tags(dev, (int)first_page(chip_of(dev), (uint32_t)block), NULL, &tags) != YAFFS_OK) {
        return YAFFS_FAIL;
    }
    *state = tags.chunk_used ? YAFFS_BLOCK_STATE_NEEDS_SCAN : YAFFS_BLOCK_STATE_EMPTY;
    *sequence = tags.chunk_used ? tags.seq_number : 0;
    return YAFFS_OK;
}

static int mark_bad(struct yaffs_dev *dev, int block)
{
    const struct yaffs_nor *chip = chip_of(dev);
    const uint8_t mark[MARK_SIZE] = {0, 0};
    return chip->nand->spare_program(chip->nand->context, first_page(chip, (uint32_t)block), mark, MARK_SIZE) < 0 ? YAFFS_FAIL : YAFFS_OK;
}

static int initialise(struct yaffs_dev *dev)
{
    (void)dev;
    return YAFFS_OK;
}

bool yaffs_nand_fits(const struct nf2_flash *flash, const struct vfs_nand *nand)
{
    return nand->spare_size >= SPARE_USED && flash->page_size >= 1024u;
}

void yaffs_nand_attach(struct yaffs_dev *dev, struct yaffs_nor *chip)
{
    chip->block_size = chip->flash->block_size;
    chip->chunk_size = chip->flash->page_size;
    chip->spare_size = chip->nand->spare_size;
    dev->driver_context = chip;
    dev->param.is_yaffs2 = 1;
    dev->param.chunks_per_block = (int)(chip->block_size / chip->chunk_size);
    dev->param.total_bytes_per_chunk = chip->chunk_size;
    dev->param.spare_bytes_per_chunk = (int)chip->spare_size;
    dev->param.start_block = 0;
    dev->param.end_block = (int)(chip->flash->chip_size / chip->block_size) - 1;
    dev->param.initialise_flash_fn = initialise;
    dev->param.erase_fn = erase_block;
    dev->param.write_chunk_tags_fn = write_chunk_tags;
    dev->param.read_chunk_tags_fn = read_chunk_tags;
    dev->param.query_block_fn = query_block;
    dev->param.bad_block_fn = mark_bad;
}
