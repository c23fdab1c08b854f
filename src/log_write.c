/* SPDX-License-Identifier: BSD-2-Clause */
/* log_write.c - appending groups of records to a log. */
#include "log.h"

/* Where a record of so many bytes goes in a log that ends at `at`: there, or in the next page. */
static NF2_APART uint32_t place(uint32_t at, uint32_t length)
{
    uint32_t page = nf2_page_end(at - 1); /* `at` itself, where a page begins */

    return at + length > page ? page + NF2_PAGE_HEAD : at;
}

bool nf2_log_fits(const nf2_t *fs, uint32_t at, uint32_t length)
{
    length += NF2_RECORD_OVERHEAD;
    return nf2_record_end(place(at, length), length) <= nf2_log_bytes(fs);
}

void nf2_writer_begin(struct nf2_writer *writer, uint32_t block, uint32_t position)
{
    writer->block = block;
    writer->position = position;
    writer->start = position;
    writer->bytes = 0;
    writer->result = NF2_OK;
    writer->begun = writer->more = false;
}

void nf2_writer_align(nf2_t *fs, struct nf2_writer *writer)
{
    uint32_t at = nf2_align_unit(fs, writer->position);

    if (writer->result >= 0) {
        memset(fs->write_buffer + (writer->position - writer->start), 0xFF,
               at - writer->position);
    }
    writer->position = at;
}

static void writer_program(nf2_t *fs, struct nf2_writer *writer)
{
    nf2_writer_align(fs, writer);
    uint32_t length = writer->position - writer->start;
    if (length > 0 && writer->result >= 0) {
        writer->result =
            nf2_flash_program(fs, writer->block, writer->start, fs->write_buffer, length);
        writer->begun = true;
    }
    writer->start = writer->position;
}

/*
 * Puts bytes into the page; at a page's end programs it and goes on in the next as a long record
 * does.
 */
static void emit(nf2_t *fs, struct nf2_writer *writer, const uint8_t *data, uint32_t length)
{
    while (length > 0) {
        uint32_t room = nf2_page_end(writer->start) - writer->position;
        if (room == 0) {
            writer_program(fs, writer);
            nf2_put16(nf2_put16(fs->write_buffer, fs->epoch), NF2_CONTINUED);
            writer->position += NF2_CONTINUED_HEAD;
            continue;
        }
        uint32_t n = nf2_min(room, length);
        memcpy(fs->write_buffer + (writer->position - writer->start), data, n);
        writer->position += n;
        data += n;
        length -= n;
    }
}

void nf2_writer_put(nf2_t *fs, struct nf2_writer *writer, const void *data, uint32_t length)
{
    if (writer->result >= 0) {
        writer->crc = nf2_crc(writer->crc, data, length);
        emit(fs, writer, data, length);
    }
}

void nf2_writer_span(nf2_t *fs, struct nf2_writer *writer, const struct nf2_span *from)
{
    if (from->position <= NF2_COUNTED && from->length > 0) {
        uint8_t length = (uint8_t)(from->length - from->position);
        nf2_writer_put(fs, writer, &length, from->position);
        nf2_writer_put(fs, writer, from->at.data, (uint32_t)from->length - from->position);
        return;
    }
    for (uint32_t done = 0, n; done < from->length && writer->result >= 0; done += n) {
        uint32_t at = nf2_record_place(from->at.record.offset, from->position + done);
        n = nf2_min(from->length - done, nf2_page_rest(at));
        const uint8_t *data = nf2_peek(fs, from->at.record.block, at, n);
        writer->result = data != NULL ? writer->result : NF2_ERR_IO;
        nf2_writer_put(fs, writer, data, n);
    }
}

uint32_t nf2_writer_open(nf2_t *fs, struct nf2_writer *writer, unsigned type, uint32_t length)
{
    uint8_t bytes[2];

    length += NF2_RECORD_OVERHEAD;
    NF2_ASSERT(length <= NF2_RECORD_MAX);
    writer->bytes += length;
    uint32_t offset = place(writer->position, length);
    if (offset != writer->position) { /* in a new page; the rest of the last one is given up */
        writer_program(fs, writer);
        writer->start = offset - NF2_PAGE_HEAD;
        writer->position = offset;
        nf2_put16(fs->write_buffer, fs->epoch);
    }
    if (writer->result < 0) {   /* only where it would end is asked for */
        writer->position = nf2_record_end(offset, length);
        return offset;
    }
    NF2_ASSERT(nf2_record_end(offset, length) <= nf2_log_bytes(fs));
    writer->crc = nf2_epoch_check(fs, fs->epoch);
    nf2_put16(bytes, type << 13 | (writer->more ? 0x1000u : 0u) | length);
    nf2_writer_put(fs, writer, bytes, 2);
    return offset;
}

void nf2_writer_close(nf2_t *fs, struct nf2_writer *writer)
{
    uint8_t bytes[4];

    nf2_put32(bytes, ~writer->crc);
    nf2_writer_put(fs, writer, bytes, 4);
}

void nf2_writer_record(nf2_t *fs, struct nf2_writer *writer, unsigned type, const void *payload,
                       uint32_t length)
{
    (void)nf2_writer_open(fs, writer, type, length);
    nf2_writer_put(fs, writer, payload, length);
    nf2_writer_close(fs, writer);
}

int nf2_writer_end(nf2_t *fs, struct nf2_writer *writer)
{
    writer_program(fs, writer);
    return writer->result;
}
