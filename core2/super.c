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

int nf2_super_find(nf2_t *fs, struct nf2_scan *scans)
{
    int result = NF2_ERR_BLANK;

    for (uint32_t block = 0; block < nf2_super_blocks(fs); block++) {
        NF2_TRY(scan_super(fs, block, &result, &scans[block]));
    }
    return result;
}

/*
 * A block without an anchor is erased first: its erase may have been cut. So is each with units that are programmed once: a session
 * that was cut in its first program may have left no trace of it.
 */
void nf2_super_ends(nf2_t *fs, const struct nf2_scan *scan)
{
    for (uint32_t block = 0; block < nf2_super_blocks(fs); block++, scan++) {
        bool known = fs->io.flash->program_unit == 1 && scan->last_end != 0;
        fs->root.super_end[block] = (uint16_t)(known ? nf2_scan_append_at(fs, scan) : UINT16_MAX);
    }
}

static int append(nf2_t *fs, uint32_t block)
{
    struct nf2_writer writer;
    uint8_t anchor[NF2_ANCHOR_BYTES];

    NF2_ASSERT(block < nf2_super_blocks(fs) && fs->root.head >= nf2_super_blocks(fs));
    encode(fs, anchor);
    nf2_writer_begin(&writer, block, fs->root.super_end[block]);
    nf2_writer_record(fs, &writer, NF2_SUPER_ANCHOR, false, anchor, sizeof anchor);
    int result = nf2_writer_end(fs, &writer);
    fs->root.super_end[block] = (uint16_t)(result == NF2_OK ? writer.position : UINT16_MAX);
    return result;
}

bool nf2_log_takes(const nf2_t *fs, uint32_t at, uint32_t length)
{
    uint32_t limit = nf2_log_bytes(fs), end;

    return at < limit && nf2_log_place(fs, at, length + NF2_RECORD_OVERHEAD, limit, &end) < limit;
}

/* Goes to the block behind that of the last anchor, so that one of the two is left if a block is lost. The last one is never erased. */
int nf2_super_write(nf2_t *fs)
{
    struct nf2_root *root = &fs->root;
    uint32_t supers = nf2_super_blocks(fs), block = root->super_block;
    int result = NF2_FAILED_BLOCK;

    root->super_sequence++;
    for (uint32_t i = supers; i > 0 && result == NF2_FAILED_BLOCK; i--) {
        block = (block + 1) % supers;
        if (!nf2_log_takes(fs, root->super_end[block], NF2_ANCHOR_BYTES)) {
            result = i > 1 ? nf2_flash_erase(fs, block, 1) : NF2_FAILED_BLOCK;
            if (result != NF2_OK) {
                continue;
            }
            root->super_end[block] = 0;
        }
        result = append(fs, block);
    }
    root->super_block = (uint8_t)block;
    return result == NF2_FAILED_BLOCK ? NF2_ERR_IO : result;
}
