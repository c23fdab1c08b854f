/* SPDX-License-Identifier: BSD-2-Clause */
#include "super.h"

#include "flash.h"

#define ANCHOR_PAYLOAD 26u
#define ANCHOR_BLANK_ERASED 1u
#define ANCHOR_HEAD_FAILED 2u
#define ANCHOR_PLACES 2u        /* of bad blocks, at most: the meta log's head, and its next block */
#define ANCHOR_MAX (ANCHOR_PAYLOAD + 6u * ANCHOR_PLACES)

static unsigned log2_of(uint32_t value)
{
    unsigned n = 0;
    while (value > 1) {
        value >>= 1;
        n++;
    }
    return n;
}

/* Its length. */
static uint32_t encode_anchor(const nf2_t *fs, uint8_t *p)
{
    memcpy(p, "NF2F", 4);
    p[4] = NF2_FORMAT_VERSION;
    p[5] = (uint8_t)log2_of(fs->flash->block_size);
    nf2_put16(p + 6, fs->flash->page_size);
    p[8] = (uint8_t)fs->flash->program_unit;
    bool failed = fs->next_suspect && fs->meta_end >= nf2_log_bytes(fs);
    p[9] = (uint8_t)((fs->blank_erased ? ANCHOR_BLANK_ERASED : 0u) | (failed ? ANCHOR_HEAD_FAILED : 0u));
    nf2_put24(p + 10, fs->blocks);
    nf2_put32(p + 13, fs->volume_id);
    nf2_put32(p + 17, fs->super_sequence);
    nf2_put24(p + 21, fs->meta_head);
    p[24] = p[25] = 0;
    uint32_t length = ANCHOR_PAYLOAD;
    for (unsigned i = 0; i < fs->bad_count; i++) {
        if (nf2_bad_fixed(fs, fs->bad[i].block)) {
            nf2_put24(p + length, fs->bad[i].block);
            nf2_put24(p + length + 3, fs->bad[i].by);
            length += 6;
        }
    }
    return length;
}

static NF2_APART int append_anchor(nf2_t *fs)
{
    uint8_t payload[ANCHOR_MAX] = {0};
    uint32_t length = encode_anchor(fs, payload);
    struct nf2_writer writer;

    nf2_writer_begin(&writer, fs->super_block, fs->super_end);
    nf2_writer_record(fs, &writer, NF2_META_HEAD, false, payload, length);
    NF2_TRY(nf2_writer_end(fs, &writer));
    fs->super_end = (uint16_t)writer.position;
    fs->super_points_to = fs->meta_sequence;
    return NF2_OK;
}

/* An anchor in the other block, erased. */
static int begin_other(nf2_t *fs)
{
    fs->super_block ^= 1u;
    fs->super_end = 0;
    fs->erases++;
    int result = nf2_flash_erase(fs, fs->super_block, 1);
    return result < 0 ? result : append_anchor(fs);
}

bool nf2_super_full(const nf2_t *fs)
{
    uint32_t end;

    return nf2_log_place(fs, fs->super_end, ANCHOR_MAX + NF2_RECORD_OVERHEAD, nf2_log_bytes(fs), &end) >= nf2_log_bytes(fs);
}

int nf2_super_write(nf2_t *fs)
{
    uint32_t at = fs->super_end;
    bool room = !nf2_super_full(fs);
    int result = NF2_ERR_IO;

    fs->super_sequence++;
    fs->log_failed = true;
    /* Before a session's opening STATE nothing may be programmed that a torn program of the same session could lie under. */
    if (fs->opened && room) {
        result = append_anchor(fs);
    }
    if (result < 0 && fs->log_failed) { /* full, or bad: the anchors in it count as long as the other block has none */
        result = begin_other(fs);
    }
    if (result < 0 && fs->log_failed && !fs->opened && room && fs->flash->program_unit == 1) { /* the same bits, if it is torn */
        fs->super_block ^= 1u;
        fs->super_end = (uint16_t)at;
        result = append_anchor(fs);
    }
    fs->broken = result < 0;
    fs->log_failed = false;
    return result;
}

/* Is the beginning of the super log blank, a damaged anchor, or something else? */
static int no_anchor(nf2_t *fs)
{
    bool blank = true, magic = false, other = false;

    for (uint32_t block = 0; block < NF2_SUPER_BLOCKS; block++) {
        const uint8_t *p = nf2_peek(fs, block, 0, nf2_page(fs));
        if (p == NULL) {
            return NF2_ERR_IO;
        }
        for (uint32_t i = 0; i < nf2_page(fs); i++) {
            blank = blank && p[i] == 0xFF;
        }
        const uint8_t *anchor = p + NF2_PAGE_HEAD + 2;
        bool named = memcmp(anchor, "NF2F", 4) == 0;
        magic = magic || named;
        other = other || (named && anchor[4] == 2); /* whose anchors have another length */
    }
    return other ? NF2_ERR_VERSION : blank ? NF2_ERR_BLANK : magic ? NF2_ERR_CORRUPT : NF2_ERR_FOREIGN;
}

/* Does the anchor fit this library and this geometry? */
static int check_anchor(const nf2_t *fs, const uint8_t *p)
{
    if (p[4] != NF2_FORMAT_VERSION) {
        return NF2_ERR_VERSION;
    }
    if (p[5] != log2_of(fs->flash->block_size) || nf2_get16(p + 6) != fs->flash->page_size ||
        p[8] != fs->flash->program_unit || nf2_get24(p + 10) != fs->blocks) {
        return NF2_ERR_GEOMETRY;
    }
    return NF2_OK;
}

/* Reads a record of a super block: is it an anchor? */
static int read_anchor(nf2_t *fs, uint32_t block, const struct nf2_record *record, uint8_t *payload)
{
    uint32_t length = record->length - NF2_RECORD_OVERHEAD;

    memset(payload, 0, ANCHOR_MAX);
    if (record->type != NF2_META_HEAD || length < ANCHOR_PAYLOAD || length > ANCHOR_MAX) {
        return 0;
    }
    NF2_TRY(nf2_record_read(fs, block, record->offset, 2, payload, length));
    return memcmp(payload, "NF2F", 4) == 0;
}

/* Takes over the newest anchor of one super block. */
static int scan_anchors(nf2_t *fs, uint32_t block, uint8_t *best, bool *found)
{
    struct nf2_scan scan;
    struct nf2_record record;
    int more;

    nf2_scan_begin(&scan, block);
    while ((more = nf2_scan_next(fs, &scan, &record)) > 0) {
        uint8_t payload[ANCHOR_MAX];
        int anchor = read_anchor(fs, block, &record, payload);
        NF2_TRY(anchor);
        if (anchor && (!*found || nf2_get32(payload + 17) > nf2_get32(best + 17))) {
            memcpy(best, payload, sizeof payload);
            *found = true;
            fs->super_block = (uint8_t)block;
        }
    }
    return more;
}

int nf2_super_load(nf2_t *fs)
{
    uint8_t anchor[ANCHOR_MAX] = {0};
    bool found = false;

    for (uint32_t block = 0; block < NF2_SUPER_BLOCKS; block++) {
        NF2_TRY(scan_anchors(fs, block, anchor, &found));
    }
    if (!found) {
        return no_anchor(fs);
    }
    NF2_TRY(check_anchor(fs, anchor));
    fs->blank_erased = (anchor[9] & ANCHOR_BLANK_ERASED) != 0;
    fs->log_failed = (anchor[9] & ANCHOR_HEAD_FAILED) != 0;
    fs->volume_id = nf2_get32(anchor + 13);
    fs->super_sequence = nf2_get32(anchor + 17);
    fs->meta_head = nf2_get24(anchor + 21);
    for (unsigned i = 0; i < ANCHOR_PLACES; i++) {
        const uint8_t *p = anchor + ANCHOR_PAYLOAD + 6u * i;
        if (nf2_get24(p) >= fs->blocks || nf2_get24(p + 3) >= fs->blocks) {
            return NF2_ERR_CORRUPT;
        }
        if (nf2_get24(p) != 0) {
            nf2_bad_note(fs, nf2_get24(p), nf2_get24(p + 3));
        }
    }
    return NF2_OK;
}

int nf2_super_resume(nf2_t *fs)
{
    struct nf2_scan scan;
    struct nf2_record record;
    int more;

    nf2_scan_begin(&scan, fs->super_block);
    while ((more = nf2_scan_next(fs, &scan, &record)) > 0) {
    }
    fs->super_end = (uint16_t)nf2_scan_append_at(fs, &scan);
    return more;
}

int nf2_super_whole(nf2_t *fs)
{
    struct nf2_scan scan;
    struct nf2_record record;
    uint8_t payload[ANCHOR_MAX];
    uint32_t last = 0, anchors = 0;
    bool gap = false;
    int more;

    nf2_scan_begin(&scan, fs->super_block);
    scan.gaps = true;
    while ((more = nf2_scan_next(fs, &scan, &record)) > 0) {
        int anchor = read_anchor(fs, fs->super_block, &record, payload);
        NF2_TRY(anchor);
        gap = gap || !anchor || (anchors == 0 ? record.offset != NF2_PAGE_HEAD : nf2_get32(payload + 17) != last + 1u);
        last = nf2_get32(payload + 17);
        anchors++;
    }
    return more < 0 ? more : !(gap && scan.damaged);
}
