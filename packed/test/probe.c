/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * probe.c - looks at a read-only image from all sides, over a chip in memory that counts the pages
 * that are read.
 *
 *   probe IMAGE TREE READ_UNIT             everything in the image is what lies in TREE, and nothing
 *                                          takes more reads than promised
 *   probe IMAGE TREE READ_UNIT FLIPS SEED  one damaged image after the other, each with a few bits
 *                                          that differ: an error or the right bytes, and an end
 *
 * Compressed files are read from random places, too.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../examples/compressed/unpack.h"
#include "heatshrink_decoder.h"
#include "nf2_packed.h"

#define RANDOM_READS 50
#define OFFSET 512u             /* where the image lies on the chip */

static uint8_t *memory;
static uint32_t memory_size, pages_read, unit;
static uint32_t entries_seen;   /* in one walk: it must end */
static int damaged;             /* errors are allowed */
static unsigned long errors;

static void fail(const char *what, const char *path, long value)
{
    fprintf(stderr, "probe: %s: %s (%ld)\n", path, what, value);
    exit(1);
}

static uint32_t random_below(uint32_t limit)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 20) % limit;
}

static int read_memory(void *context, uint32_t address, void *data, uint32_t length)
{
    (void)context;
    if (address % unit != 0 || length % unit != 0 || length == 0 || length > 4096 ||
        address > memory_size || length > memory_size - address) {
        fail("the driver is asked for what it must not be asked for", "", (long)address);
    }
    memcpy(data, memory + address, length);
    pages_read += (address + length - 1) / 256 - address / 256 + 1;
    return 0;
}

static int unpack(void *context, struct nf2_chunks *chunks, uint32_t packed, uint8_t *chunk,
                  uint32_t size, uint32_t capacity)
{
    return (chunks->codec == NF2_CODEC_LZ4 ? unpack_lz4 : unpack_heatshrink)(
        context, chunks, packed, chunk, size, capacity);
}

static heatshrink_decoder decoder;

/* ---- files ---- */

static uint8_t *host_file(const char *path, uint32_t *size)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        fail("cannot be read on the host", path, 0);
    }
    fseek(file, 0, SEEK_END);
    *size = (uint32_t)ftell(file);
    rewind(file);
    uint8_t *data = malloc(*size + 1);
    if (data == NULL || fread(data, 1, *size, file) != *size) {
        fail("cannot be read on the host", path, 0);
    }
    fclose(file);
    return data;
}

static void compare_chunks(nf2_chunks_t *chunks, const char *path, const uint8_t *expected,
                           uint32_t size)
{
    static uint8_t got[3 * NF2_CHUNK_MAX];
    if (chunks->size != size && !damaged) {
        fail("has another size", path, (long)chunks->size);
    }
    for (int i = 0; i < RANDOM_READS; i++) {
        const uint32_t at = i == 0 ? chunks->size : random_below(chunks->size + 1);
        const uint32_t length = random_below(3 * chunks->chunk_size);
        const uint32_t wanted = length < chunks->size - at ? length : chunks->size - at;
        int32_t result = nf2_chunks_seek(chunks, at);
        if (result == (int32_t)at) {
            result = nf2_chunks_read(chunks, got, length);
        }
        if (result < 0 && damaged) {
            errors++;
        } else if (result != (int32_t)wanted || at + wanted > size ||
                   memcmp(got, expected + at, wanted) != 0) {
            fail("a read from the middle gave something else", path, result);
        }
    }
    if (nf2_chunks_seek(chunks, chunks->size + 1) != NF2_ERR_INVAL) {
        fail("a position past the end was taken", path, 0);
    }
}

static void compare_file(nf2_packed_t *image, struct nf2_packed_entry *entry, const char *path,
                         const uint8_t *expected, uint32_t size)
{
    /* Exactly as large as promised, so that the sanitizer sees a byte too many. */
    uint8_t *buffer = malloc(NF2_CHUNKS_BUFFER(NF2_CHUNK_MAX));
    const struct nf2_chunks_config config = {unpack, &decoder, buffer,
                                             NF2_CHUNKS_BUFFER(NF2_CHUNK_MAX)};
    nf2_chunks_t chunks;
    const int opened = nf2_packed_open_chunks(image, entry, &chunks, &config);
    if (opened < 0 && damaged) {
        errors++;
    } else if (opened == 1) {
        const struct nf2_chunks_config tight = {
            unpack, &decoder, buffer,
            entry->codec == NF2_CODEC_LZ4 ? NF2_CHUNKS_BUFFER(chunks.chunk_size) : chunks.chunk_size};
        const struct nf2_chunks_config small = {unpack, &decoder, buffer, chunks.chunk_size - 1};
        uint8_t *exact = realloc(buffer, tight.buffer_size);
        buffer = exact;
        struct nf2_chunks_config exactly = tight;
        exactly.buffer = exact;
        if (nf2_packed_open_chunks(image, entry, &chunks, &small) != NF2_ERR_INVAL ||
            nf2_packed_open_chunks(image, entry, &chunks, &exactly) != 1) {
            fail("the buffer's size is not looked at", path, 0);
        }
        compare_chunks(&chunks, path, expected, size);
    } else if (opened == 0 && entry->codec == NF2_CODEC_NONE) {
        const uint32_t at = random_below(entry->stored + 1);
        const uint32_t wanted = entry->stored - at;
        uint8_t *got = malloc(wanted + 1);
        const int32_t result = nf2_packed_read(image, entry, at, got, wanted + 1);
        if (!damaged && (result != (int32_t)wanted || entry->size != size || entry->stored != size ||
                         memcmp(got, expected + at, wanted) != 0)) {
            fail("was read wrong", path, result);
        }
        free(got);
    } else {
        fail("cannot be opened", path, opened);
    }
    free(buffer);
}

/* ---- directories ---- */

static void find(nf2_packed_t *image, const char *path, struct nf2_packed_entry *entry, int *result)
{
    image->in_page = UINT32_MAX;        /* nothing is known from before */
    pages_read = 0;
    *result = nf2_packed_find(image, path, entry);
    if (pages_read > 3) {
        fail("more than three pages were read to find it", path, (long)pages_read);
    }
}

static void visit(nf2_packed_t *image, const char *tree, const char *path, int depth)
{
    struct nf2_packed_entry entry, listed;
    nf2_packed_dir_t dir;
    char name[NF2_PACKED_PATH_MAX + 1], below[1024];
    int result;
    find(image, path, &entry, &result);
    if (result < 0) {
        if (!damaged) {
            fail("is not found", path, result);
        }
        errors++;
        return;
    }
    if (entry.type == NF2_TYPE_FILE) {
        uint32_t size;
        snprintf(below, sizeof(below), "%s/%s", tree, path);
        uint8_t *expected = host_file(below, &size);
        compare_file(image, &entry, path, expected, size);
        free(expected);
        return;
    }
    result = nf2_packed_opendir(&entry, &dir);
    uint32_t count = 0;
    while (result >= 0 && depth < 200 && (result = nf2_packed_readdir(image, &dir, &listed, name)) > 0) {
        snprintf(below, sizeof(below), "%.700s/%s", path, name);
        if (++entries_seen > 100000) {
            fail("lists without an end", path, 0);
        }
        count++;
        visit(image, tree, below, depth + 1);
    }
    if (result < 0 && !damaged) {
        fail("cannot be listed", path, result);
    }
    snprintf(below, sizeof(below), "%s/%s", tree, path);
    DIR *host = opendir(below);
    uint32_t expected = 0;
    for (const struct dirent *one; host != NULL && (one = readdir(host)) != NULL;) {
        expected += strcmp(one->d_name, ".") != 0 && strcmp(one->d_name, "..") != 0;
    }
    if (host != NULL) {
        closedir(host);
    }
    if (!damaged && count != expected) {
        fail("has another number of names", path, (long)count);
    }
}

static void look(const struct nf2_flash *flash, const char *tree)
{
    static nf2_packed_t image;
    struct nf2_packed_entry entry;
    int result;
    pages_read = 0;
    result = nf2_packed_mount(&image, flash, OFFSET);
    if (pages_read > 1) {
        fail("more than one page was read to mount it", tree, (long)pages_read);
    }
    if (result < 0) {
        if (!damaged) {
            fail("is not mounted", tree, result);
        }
        errors++;
        return;
    }
    entries_seen = 0;
    visit(&image, tree, "", 0);
    find(&image, "no such file", &entry, &result);
    if (result != NF2_ERR_NOENT && !damaged) {
        fail("a file that is not there was found", tree, result);
    }
    result = nf2_packed_check(&image);
    if (result != NF2_OK && !damaged) {
        fail("the check of the whole fails", tree, result);
    }
    errors += result != NF2_OK;
}

int main(int count, char **values)
{
    if (count != 4 && count != 6) {
        fprintf(stderr, "usage: probe IMAGE TREE READ_UNIT [FLIPS SEED]\n");
        return 2;
    }
    uint32_t size;
    uint8_t *image = host_file(values[1], &size);
    unit = (uint32_t)atoi(values[3]);
    memory_size = (OFFSET + size + 4095) / 4096 * 4096;
    memory = malloc(memory_size);
    memset(memory, 0xFF, memory_size);
    memcpy(memory + OFFSET, image, size);
    const struct nf2_flash flash = {.read = read_memory, .chip_size = memory_size, .block_size = 4096,
                                    .page_size = 256, .program_unit = 1, .read_unit = unit};
    look(&flash, values[2]);
    damaged = 1;
    const int flips = count == 6 ? atoi(values[4]) : 0;
    for (int i = count == 6 ? atoi(values[5]) : 0; i > 0; i--) {
        random_below(2);
    }
    for (int i = 0; i < flips; i++) {
        memcpy(memory + OFFSET, image, size);
        /* In turn: anywhere, and in the head, where the index and the records lie. */
        const uint32_t range = i % 2 == 0 || size < 8192 ? size : 8192;
        const int bits = 1 + (int)random_below(3);
        for (int bit = 0; bit < bits; bit++) {
            memory[OFFSET + random_below(range)] ^= (uint8_t)(1u << random_below(8));
        }
        if (i % 3 == 0) {       /* a header that somebody made so */
            uint8_t *header = memory + OFFSET;
            header[12 + random_below(36)] ^= (uint8_t)(1u << random_below(8));
            const uint32_t crc = ~nf2_crc(0xFFFFFFFFu, header, 60);
            for (uint32_t byte = 0; byte < 4; byte++) {
                header[60 + byte] = (uint8_t)(crc >> (8 * byte));
            }
        }
        look(&flash, values[2]);
    }
    if (flips > 0 && errors < (unsigned long)flips) {
        fail("damage was not seen", values[1], (long)errors);   /* the check sees each */
    }
    printf("%lu errors of %d damaged images\n", errors, flips);
    free(memory);
    free(image);
    return 0;
}
