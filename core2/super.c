/* SPDX-License-Identifier: BSD-2-Clause */
#include "super.h"

static uint8_t log2_of(uint32_t value)
{
    uint8_t n = 0;

    NF2_ASSERT(value != 0 && (value & (value - 1)) == 0);
    while (value > 1) {
        value >>= 1;
        n++;
    }
    return n;
}

static void encode(const nf2_t *fs, uint8_t *p)
{
    memcpy(p, NF2_MAGIC, 4);
    p[4] = NF2_FORMAT_VERSION;
    p[5] = log2_of(nf2_block_bytes(fs));
    nf2_put16(p + 6, nf2_page(fs));
    p[8] = (uint8_t)fs->io.flash->program_unit;
    p[9] = 0;
    nf2_put24(p + 10, fs->io.blocks);
    nf2_put32(p + 13, fs->root.volume_id);
    nf2_put32(p + 17, fs->root.super_sequence);
    nf2_put24(p + 21, fs->root.head);
}

/* Takes an anchor that is newer than what is known. The most telling reason against it is kept in `*result`. */
static void consider(nf2_t *fs, const uint8_t *p, uint32_t block, int *result)
{
    uint32_t sequence = nf2_get32(p + 17);
    uint8_t own[NF2_ANCHOR_BYTES];

    encode(fs, own);
    if (memcmp(p, NF2_MAGIC, 4) != 0) {
        return;
    }
    if (p[4] != NF2_FORMAT_VERSION) {
        *result = NF2_ERR_VERSION;
    } else if (memcmp(p + 5, own + 5, 8) != 0) {
        *result = NF2_ERR_GEOMETRY;
    } else if (*result != NF2_OK || sequence > fs->root.super_sequence) {
        *result = NF2_OK;
        fs->root.super_sequence = sequence;
        fs->root.super_block = (uint8_t)block;
        fs->root.volume_id = nf2_get32(p + 13);
        fs->root.head = nf2_get24(p + 21);
    }
}

static int scan_super(nf2_t *fs, uint32_t block, int *result, struct nf2_scan *scan)
{
    struct nf2_record record;
    uint8_t anchor[NF2_ANCHOR_BYTES];
    int found;

    nf2_scan_begin(scan, block);
    while ((found = nf2_scan_next(fs, scan, &record)) > 0) {
        bool whole = record.type == NF2_SUPER_ANCHOR && record.length >= sizeof anchor + NF2_RECORD_OVERHEAD;
        if (whole) {
            NF2_TRY(nf2_record_read(fs, block, record.offset, 2, anchor, sizeof anchor));
            consider(fs, anchor, block, result);
        }
    }
    const uint8_t *first = nf2_peek(fs, block, 0, 16); /* of a chip of another geometry */
    NF2_TRY(first != NULL ? NF2_OK : NF2_ERR_IO);
    for (unsigned i = 0; i < 16; i++) {
        *result = *result == NF2_ERR_BLANK && first[i] != 0xFF ? NF2_ERR_FOREIGN : *result;
    }
    return found;
}

int nf2_super_find(nf2_t *fs, struct nf2_scan *last)
{
    int result = NF2_ERR_BLANK;

    for (uint32_t block = 0; block < nf2_super_blocks(fs); block++) {
        struct nf2_scan scan;
        NF2_TRY(scan_super(fs, block, &result, &scan));
        *last = fs->root.super_block == block ? scan : *last;
    }
    return result;
}

static int append(nf2_t *fs, uint32_t block, uint32_t at)
{
    struct nf2_writer writer;
    uint8_t anchor[NF2_ANCHOR_BYTES];

    NF2_ASSERT(block < nf2_super_blocks(fs) && fs->root.head >= nf2_super_blocks(fs));
    encode(fs, anchor);
    nf2_writer_begin(&writer, block, at);
    nf2_writer_record(fs, &writer, NF2_SUPER_ANCHOR, anchor, sizeof anchor);
    NF2_TRY(nf2_writer_end(fs, &writer));
    fs->root.super_block = (uint8_t)block;
    fs->root.super_end = (uint16_t)writer.position;
    return NF2_OK;
}

void nf2_super_full(nf2_t *fs)
{
    fs->root.super_end = (uint16_t)nf2_log_bytes(fs);
}

int nf2_super_write(nf2_t *fs)
{
    struct nf2_root *root = &fs->root;
    int result = NF2_OK;

    root->super_sequence++;
    if (nf2_log_fits(fs, root->super_end, NF2_ANCHOR_BYTES)) {
        result = append(fs, root->super_block, root->super_end);
        if (result != NF2_FAILED_BLOCK) {
            return result;
        }
    }
    uint32_t block = root->super_block, others = nf2_super_blocks(fs) - 1;
    for (uint32_t i = 0; i < others; i++) { /* never the block that has the last anchor */
        block = (block + 1) % (others + 1);
        result = nf2_flash_erase(fs, block, 1);
        result = result == NF2_OK ? append(fs, block, 0) : result;
        if (result != NF2_FAILED_BLOCK) {
            return result;
        }
    }
    return NF2_ERR_IO;
}

int nf2_super_erase(nf2_t *fs)
{
    uint32_t good = 0;

    for (uint32_t block = 0; block < nf2_super_blocks(fs); block++) {
        int result = nf2_flash_erase(fs, block, 1);
        NF2_TRY(result == NF2_FAILED_BLOCK ? NF2_OK : result);
        fs->root.super_block = result == NF2_OK && good == 0 ? (uint8_t)block : fs->root.super_block;
        good += result == NF2_OK;
    }
    fs->root.super_end = 0;
    fs->root.super_sequence = 0;
    return good > 0 ? NF2_OK : NF2_ERR_IO;
}
