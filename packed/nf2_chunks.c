/* SPDX-License-Identifier: BSD-2-Clause */
#include "nf2_chunks.h"

#include <stddef.h>
#include <string.h>

#define HEADER 32u
#define ENTRY 8u                /* of the table: where the chunk ends, and its CRC */
#define FORMAT 1u
#define NO_CHUNK UINT32_MAX

static const uint8_t magic[8] = {'N', 'F', '2', 'C', 'H', 'U', 'N', 'K'};

static uint32_t get32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static uint32_t crc_of(const void *data, uint32_t length)
{
    return ~nf2_crc(0xFFFFFFFFu, data, length);
}

static uint32_t chunk_count(const nf2_chunks_t *chunks)
{
    return chunks->size / chunks->chunk_size + (chunks->size % chunks->chunk_size != 0);
}

/* Takes over what the header says. Returns 1, or 0 where it says what no writer does. */
static int take_header(nf2_chunks_t *chunks, const uint8_t *header, uint32_t stored)
{
    if (header[10] < 8 || header[10] > 15) {
        return 0;
    }
    chunks->codec = header[9];
    chunks->parameter = header[11];
    chunks->chunk_size = 1u << header[10];
    chunks->size = get32(header + 12);
    chunks->stored = get32(header + 16);
    chunks->table_at = HEADER;
    return chunks->stored == stored && chunks->size <= NF2_FILE_MAX &&
           chunk_count(chunks) <= (stored - HEADER) / ENTRY;
}

int nf2_chunks_open(nf2_chunks_t *chunks, const struct nf2_chunks_config *config,
                    nf2_chunks_source source, void *volume, void *file, uint32_t stored)
{
    uint8_t header[HEADER];
    if (chunks == NULL || config == NULL || config->unpack == NULL || config->buffer == NULL ||
        source == NULL) {
        return NF2_ERR_INVAL;
    }
    *chunks = (nf2_chunks_t){.config = config, .source = source, .volume = volume, .file = file,
                             .in_buffer = NO_CHUNK};
    if (stored < HEADER) {
        return 0;
    }
    const int result = source(chunks, 0, header, HEADER);
    if (result < 0) {
        return result;
    }
    if (memcmp(header, magic, sizeof(magic)) != 0 ||
        get32(header + 28) != crc_of(header, HEADER - 4)) {
        return 0;
    }
    if (header[8] != FORMAT) {
        return NF2_ERR_VERSION;
    }
    if (!take_header(chunks, header, stored)) {
        return NF2_ERR_IO;
    }
    if (config->buffer_size < chunks->chunk_size) {
        return NF2_ERR_INVAL;
    }
    return 1;
}

int32_t nf2_chunks_pull(nf2_chunks_t *chunks, void *data, uint32_t length)
{
    const uint32_t left = chunks->pull_end - chunks->pull_at;
    const uint32_t taken = length < left ? length : left;
    const int result = taken == 0 ? 0 : chunks->source(chunks, chunks->pull_at, data, taken);
    if (result < 0) {
        return result;
    }
    chunks->pull_crc = nf2_crc(chunks->pull_crc, data, taken);
    chunks->pull_at += taken;
    return (int32_t)taken;
}

static int copy_stored(nf2_chunks_t *chunks, uint32_t size)
{
    const int32_t got = nf2_chunks_pull(chunks, chunks->config->buffer, size);
    return got < 0 ? got : NF2_OK;
}

/* Brings a chunk into the buffer. One that compression did not make smaller is stored as it is. */
static int load(nf2_chunks_t *chunks, uint32_t number)
{
    const struct nf2_chunks_config *config = chunks->config;
    const uint32_t first = number == 0 ? 1 : 0;     /* the first one has no entry before it */
    const uint32_t data_at = chunks->table_at + chunk_count(chunks) * ENTRY;
    const uint32_t rest = chunks->size - number * chunks->chunk_size;
    const uint32_t size = rest < chunks->chunk_size ? rest : chunks->chunk_size;
    uint8_t entries[2 * ENTRY];

    if (chunks->in_buffer == number) {
        return NF2_OK;
    }
    int result = chunks->source(chunks, chunks->table_at + (number - 1 + first) * ENTRY,
                                entries + first * ENTRY, (2 - first) * ENTRY);
    if (result < 0) {
        return result;
    }
    const uint32_t begin = first != 0 ? data_at : get32(entries), end = get32(entries + ENTRY);
    if (begin < data_at || end <= begin || end > chunks->stored || end - begin > size) {
        return NF2_ERR_IO;
    }
    chunks->in_buffer = NO_CHUNK;
    chunks->pull_at = begin;
    chunks->pull_end = end;
    chunks->pull_crc = 0xFFFFFFFFu;
    result = end - begin == size ? copy_stored(chunks, size) :
             config->unpack(config->context, chunks, end - begin, config->buffer, size,
                            config->buffer_size);
    if (result < 0) {
        return result;
    }
    if (chunks->pull_at != end || ~chunks->pull_crc != get32(entries + ENTRY + 4)) {
        return NF2_ERR_IO;
    }
    chunks->in_buffer = number;
    return NF2_OK;
}

int32_t nf2_chunks_read(nf2_chunks_t *chunks, void *data, uint32_t length)
{
    uint8_t *out = data;
    if (chunks == NULL || chunks->source == NULL || (data == NULL && length > 0)) {
        return NF2_ERR_INVAL;
    }
    const uint32_t left = chunks->size - chunks->position;
    const uint32_t wanted = length < left ? length : left;
    uint32_t done = 0;
    while (done < wanted) {
        const uint32_t at = chunks->position + done, inside = at % chunks->chunk_size;
        const uint32_t room = chunks->chunk_size - inside;
        const uint32_t piece = wanted - done < room ? wanted - done : room;
        const int result = load(chunks, at / chunks->chunk_size);
        if (result < 0) {
            return result;
        }
        memcpy(out + done, chunks->config->buffer + inside, piece);
        done += piece;
    }
    chunks->position += done;
    return (int32_t)done;
}

int32_t nf2_chunks_seek(nf2_chunks_t *chunks, uint32_t position)
{
    if (chunks == NULL || position > chunks->size) {
        return NF2_ERR_INVAL;
    }
    chunks->position = position;
    return (int32_t)position;
}
