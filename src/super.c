/* SPDX-License-Identifier: BSD-2-Clause */
#include "super.h"

#define ANCHOR_LEAST 26u        /* bytes of one in any version of the format */
#define FORMAT_REACHES 8u       /* blocks, that a format may write in front of its first anchor */

/* The words of an anchor, by their number: see format.h. */
enum { MAGIC = 0, VERSION, GEOMETRY, BLOCKS, VOLUME, SEQUENCE, HEAD, WORDS };

#define EPOCH WORDS             /* behind them: of the anchor's page */

/* Words to bytes of the format, and back. */
static void turn_words(uint32_t *words)
{
    const uint16_t one = 1;

    for (unsigned i = 0; i < WORDS && *(const uint8_t *)&one != 1; i++) {
        words[i] = nf2_get32((const uint8_t *)&words[i]);
    }
}

static NF2_APART void describe(const nf2_t *fs, uint32_t *words)
{
    words[MAGIC] = NF2_MAGIC;
    words[VERSION] = NF2_FORMAT_VERSION;
    words[GEOMETRY] = nf2_geometry(fs);
    words[BLOCKS] = fs->blocks;
    words[VOLUME] = fs->root.volume_id;
    words[SEQUENCE] = fs->root.super_sequence;
    words[HEAD] = fs->root_head;
}

/*
 * Takes an anchor that is newer than what is known, also of another geometry: older ones are void,
 * which a format could not erase. Why the newest one does not do is kept in `*result`.
 */
static void consider(nf2_t *fs, uint32_t *words, uint32_t block, int *result)
{
    uint32_t own[WORDS];

    turn_words(words);
    describe(fs, own);
    if (*result != NF2_ERR_BLANK && words[SEQUENCE] <= own[SEQUENCE]) {
        return;
    }
    bool same = words[MAGIC] == own[MAGIC] && words[BLOCKS] == own[BLOCKS] &&
                (words[GEOMETRY] ^ own[GEOMETRY]) << 8 == 0;
    *result = words[VERSION] != own[VERSION] ? NF2_ERR_VERSION : NF2_OK;
    if (*result == NF2_OK &&
        (!same || !nf2_regions_begin(fs, words[GEOMETRY] >> 24 & 15u, words[GEOMETRY] >> 28))) {
        *result = NF2_ERR_GEOMETRY;
    }
    fs->root.super_sequence = words[SEQUENCE];
    fs->super_block = (uint8_t)block;
    fs->root.volume_id = words[VOLUME];
    fs->root_head = words[HEAD];
    fs->root_end = (uint16_t)words[EPOCH];
}

static int scan_super(nf2_t *fs, uint32_t block, int *result)
{
    struct nf2_scan scan;
    struct nf2_record record;
    uint32_t words[WORDS + 1];
    int found;

    nf2_scan_begin(&scan, block);
    while ((found = nf2_scan_next(fs, &scan, &record)) > 0) {
        if (record.type == NF2_SUPER_ANCHOR &&
            record.length >= ANCHOR_LEAST + NF2_RECORD_OVERHEAD) {
            NF2_TRY(nf2_record_read(fs, block, record.offset, 2, words, NF2_ANCHOR_BYTES));
            words[EPOCH] = scan.epoch;
            consider(fs, words, block, result);
        }
    }
    return found;
}

static int scan_supers(nf2_t *fs)
{
    int result = NF2_ERR_BLANK;

    for (uint32_t block = 0; block < NF2_SUPER_BLOCKS; block++) {
        NF2_TRY(scan_super(fs, block, &result));
    }
    return result;
}

/* FOREIGN, if the first page is not blank, or that of a block which a cut format does not reach. */
static NF2_APART int look_for_content(nf2_t *fs)
{
    int result = NF2_ERR_BLANK;

    for (uint32_t block = 0; block < fs->blocks; block += block == 0 ? FORMAT_REACHES : 1) {
        const uint8_t *first = nf2_peek(fs, block, 0, NF2_LOG_PAGE);
        NF2_TRY(first != NULL ? NF2_OK : NF2_ERR_IO);
        if (first[0] != 0xFF || memcmp(first, first + 1, NF2_LOG_PAGE - 1) != 0) {
            result = NF2_ERR_FOREIGN;
        }
    }
    return result;
}

/* Where no anchor is seen the chip may not be ready, or has lost them; and who calls may format. */
int nf2_super_find(nf2_t *fs)
{
    int result = scan_supers(fs);

    if (result == NF2_ERR_BLANK) {
        int content = look_for_content(fs);
        result = scan_supers(fs);
        result = result == NF2_ERR_BLANK ? content : result;
    }
    return result;
}

/*
 * Where a block goes on that this session has not written yet. One with anything but anchors in it,
 * or without one, is erased first: its erase may have been cut.
 */
static uint32_t find_end(nf2_t *fs, uint32_t block)
{
    struct nf2_scan scan;
    struct nf2_record record;
    int found = 1;

    nf2_scan_begin(&scan, block);
    while (found > 0) {
        found = nf2_scan_next(fs, &scan, &record);
    }
    bool anchors = scan.last_end != 0 && (!scan.bad || block == fs->super_block);
    return found == 0 && anchors ? nf2_scan_append_at(fs, &scan) : UINT16_MAX;
}

void nf2_super_forget(nf2_t *fs)
{
    /* also the last one: it takes no anchor then, but keeps its own */
    bool all = fs->flash->program_unit > 1 && !fs->opened;

    for (uint32_t block = 0; block < NF2_SUPER_BLOCKS; block++) {
        if (all || block != fs->super_block) {
            fs->root.super_end[block] = UINT16_MAX;
        }
    }
}

static NF2_APART int append(nf2_t *fs, uint32_t block, uint16_t *end)
{
    struct nf2_writer writer;
    uint32_t words[WORDS];

    NF2_ASSERT(block < NF2_SUPER_BLOCKS && sizeof words == NF2_ANCHOR_BYTES);
    describe(fs, words);
    turn_words(words);
    nf2_writer_begin(&writer, block, *end);
    nf2_writer_record(fs, &writer, NF2_SUPER_ANCHOR, words, sizeof words);
    int result = nf2_writer_end(fs, &writer);
    *end = (uint16_t)writer.position;
    return result;
}

/* Does a block take one more anchor? */
static NF2_APART bool fits_in(nf2_t *fs, uint32_t block)
{
    uint16_t *end = &fs->root.super_end[block];

    if (*end == 0 && fs->mounted) {
        *end = (uint16_t)find_end(fs, block);
    }
    return nf2_log_fits(fs, *end, NF2_ANCHOR_BYTES);
}

uint32_t nf2_super_behind(uint32_t block)
{
    return block + 1 < NF2_SUPER_BLOCKS ? block + 1 : 0;
}

bool nf2_super_erases(nf2_t *fs)
{
    return !fits_in(fs, nf2_super_behind(fs->super_block));
}

/*
 * Goes to the block behind that of the last anchor, so that one of the two is left if a block is
 * lost. The last one is never erased. A block that fails is never used again: where the next place
 * is in it nobody could know.
 */
int nf2_super_write(nf2_t *fs)
{
    int result = NF2_FAILED_BLOCK;

    uint32_t block = fs->super_block;
    fs->root.super_sequence++;
    for (uint32_t i = NF2_SUPER_BLOCKS; i > 0 && result == NF2_FAILED_BLOCK; i--) {
        block = NF2_BROKEN(NF2_FAULT_ANCHOR) ? block : nf2_super_behind(block);
        uint16_t *end = &fs->root.super_end[block];
        bool fits = fits_in(fs, block), failed = (fs->bad_flags & NF2_BAD_SUPER(block)) != 0;
        if (failed || (!fits && i == 1 && fs->mounted)) {
            continue;
        }
        result = fits ? NF2_OK : nf2_flash_erase(fs, block, 1);
        *end = (uint16_t)(fits ? *end : 0);
        result = result == NF2_OK ? append(fs, block, end) : result;
        /*
         * In front of a session's first CHECKPOINT that must stay what it was when a cut tore it,
         * bit for bit.
         */
        if (result == NF2_FAILED_BLOCK && !fs->anchor_due) {
            fs->bad_flags |= (uint8_t)NF2_BAD_SUPER(block);
        }
    }
    fs->super_block = (uint8_t)block;
    if (result == NF2_FAILED_BLOCK) {
        fs->broken = fs->mounted; /* a format may do without the anchor that voids others */
        return NF2_ERR_IO;
    }
    return result;
}
