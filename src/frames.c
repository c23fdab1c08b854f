/* SPDX-License-Identifier: BSD-2-Clause */
#include "frames.h"

#include "node.h"

/* Is this the head of a block of frames of this volume? */
static bool is_head(nf2_t *fs, uint32_t block, const struct nf2_record *record)
{
    const uint8_t *p = nf2_peek(fs, block, record->offset, 2u + NF2_FRAMES_HEAD_BYTES);

    return p != NULL && record->type == NF2_FRAMES_HEAD && p[2] == 'F' &&
           record->length == NF2_RECORD_OVERHEAD + NF2_FRAMES_HEAD_BYTES &&
           nf2_get32(p + 7) == fs->root.volume_id;
}

/* The next frame, the place of its data and (in the record) their length: 1, 0 or an error. */
static int next_frame(nf2_t *fs, struct nf2_scan *scan, struct nf2_record *record, uint32_t *place)
{
    int found = nf2_scan_next(fs, scan, record);

    if (found > 0 && record->offset == NF2_PAGE_HEAD) { /* the block's first record */
        found = is_head(fs, scan->block, record) ? nf2_scan_next(fs, scan, record) : NF2_ERR_IO;
    }
    if (found <= 0) {
        return found;
    }
    const uint8_t *p = nf2_peek(fs, scan->block, record->offset, NF2_FRAME_DATA);
    if (p == NULL || record->type != NF2_FRAME || record->length < NF2_FRAME_OVERHEAD) {
        return NF2_ERR_IO;
    }
    *place = nf2_get16(p + 2);
    record->length = (uint16_t)(record->length - NF2_FRAME_OVERHEAD);
    return 1;
}

int nf2_frames_open(nf2_t *fs, struct nf2_piece *piece, uint32_t *append_at)
{
    struct nf2_record record;
    struct nf2_scan scan;
    uint32_t running = 0, place;
    int found;

    nf2_scan_begin(&scan, piece->block);
    while ((found = next_frame(fs, &scan, &record, &place)) > 0) {
        NF2_TRY(place == running ? NF2_OK : NF2_ERR_IO);
        running += record.length;
    }
    NF2_TRY(found);
    /* In this epoch only a program that failed leaves something invalid: its block is bad. */
    bool failed = fs->broken || fs->bads != 0 || fs->bad_flags != 0;
    if (running == 0 || scan.damaged || (scan.own && !failed)) {
        return NF2_ERR_IO;
    }
    piece->length = running > piece->within ? running - piece->within : 0;
    /* Where a program failed in this session nothing goes behind it. */
    *append_at = scan.own ? nf2_log_bytes(fs) : nf2_scan_append_at(fs, &scan, NF2_LOG_PAGE);
    return NF2_OK;
}

/*
 * Goes on in the last page behind the first one that begins with a valid frame at or before a
 * place; else in front.
 */
static void skip_pages(nf2_t *fs, struct nf2_scan *scan, uint32_t place)
{
    uint32_t page = NF2_LOG_PAGE, most = page - NF2_PAGE_HEAD - NF2_FRAME_OVERHEAD;
    struct nf2_record record;

    for (uint32_t at = nf2_max(place / most, 1) * page; at < nf2_log_bytes(fs); at += page) {
        const uint8_t *head = nf2_peek(fs, scan->block, at, NF2_PAGE_HEAD + NF2_FRAME_DATA);
        uint16_t epoch = head != NULL ? nf2_get16(head) : NF2_LOG_BLANK;
        if (epoch == NF2_LOG_BLANK || nf2_get16(head + NF2_PAGE_HEAD + 2) > place) {
            return;
        }
        int found = nf2_record_at(fs, scan->block, at + NF2_PAGE_HEAD, epoch, &record);
        if (found == NF2_PLACE_RECORD) {
            scan->position = scan->used_end = (uint16_t)at;
        }
    }
}

int nf2_frames_read(nf2_t *fs, const struct nf2_piece *piece, uint32_t at, void *data,
                    uint32_t length)
{
    struct nf2_record record;
    struct nf2_scan scan;
    uint32_t place;
    uint8_t *to = data;

    at += piece->within - piece->offset;
    nf2_scan_begin(&scan, piece->block);
    skip_pages(fs, &scan, at);
    while (length > 0) {
        int found = next_frame(fs, &scan, &record, &place);
        if (found <= 0 || place > at) {
            return found < 0 ? found : NF2_ERR_IO;
        }
        uint32_t skip = at - place;
        if (skip < record.length) {
            uint32_t n = nf2_min(length, record.length - skip);
            NF2_TRY(nf2_record_read(fs, piece->block, record.offset, NF2_FRAME_DATA + skip, to, n));
            to += n;
            at += n;
            length -= n;
        }
    }
    return NF2_OK;
}

int nf2_frames_append(nf2_t *fs, nf2_file_t *file)
{
    uint32_t length = file->buffered + NF2_FRAME_OVERHEAD - NF2_RECORD_OVERHEAD;
    struct nf2_writer writer;
    uint8_t head[NF2_FRAMES_HEAD_BYTES] = {'F'}, place[2];

    NF2_ASSERT(file->buffered > 0 && NF2_PAGE_HEAD + NF2_RECORD_OVERHEAD + length <= NF2_LOG_PAGE);
    if (!nf2_log_fits(fs, file->frames_at, length)) {
        return 0;
    }
    nf2_writer_begin(&writer, file->frames_block, file->frames_at);
    if (file->frames_at == 0) {
        nf2_put32(nf2_put32(head + 1, nf2_serial_next(fs)), fs->root.volume_id);
        writer.more = true;
        nf2_writer_record(fs, &writer, NF2_FRAMES_HEAD, head, sizeof head);
        writer.more = false;
    }
    (void)nf2_writer_open(fs, &writer, NF2_FRAME, length);
    nf2_put16(place, file->frames_data);
    nf2_writer_put(fs, &writer, place, sizeof place);
    nf2_writer_put(fs, &writer, file->buffer, file->buffered);
    nf2_writer_close(fs, &writer);
    NF2_TRY(nf2_writer_end(fs, &writer));
    file->frames_at = (uint16_t)writer.position;
    file->frames_data = (uint16_t)(file->frames_data + file->buffered);
    return 1;
}
