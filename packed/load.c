/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * load.c - what it costs to read a read-only image.
 *
 *   norbench-packed --fs NAME --chip NAME --image FILE --tree DIRECTORY
 *
 * The image is put on a virtual chip and mounted; then all files of the tree are found and read in
 * pieces of 4 KiB and compared, byte by byte; then the largest one is read at random places. One
 * line of JSON says what each step cost the flash. peers/linux/copy_tree.c does the same with the
 * kernel's file systems, but for the last step.
 */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "nf2_packed.h"
#include "vflash.h"
#ifdef NF2_HAVE_CODECS
#include "../examples/compressed/unpack.h"
#include "heatshrink_decoder.h"
#endif

#define PIECE 4096u
#define PATH 1024u
#define RANDOM_READS 200u
#define RANDOM_PIECE 1024u

enum step { MOUNT, LOAD, RANDOM, STEPS };
static const char *const step_names[STEPS] = {"mount_again", "load", "random"};

static nf2_packed_t image;
static uint64_t files, bytes;
static uint32_t chunk_size, largest_size;
static char largest[PATH], failure[256];

static void fail(const char *what, const char *path, long value)
{
    if (failure[0] == '\0') {
        snprintf(failure, sizeof(failure), "%s %.150s (%ld)", what, path, value);
    }
}

/* ---- one file -------------------------------------------------------------------------------- */

#ifdef NF2_HAVE_CODECS
static heatshrink_decoder decoder;

static int unpack(void *context, struct nf2_chunks *chunks, uint32_t packed, uint8_t *chunk,
                  uint32_t size, uint32_t capacity)
{
    return (chunks->codec == NF2_CODEC_LZ4 ? unpack_lz4 : unpack_heatshrink)(
        context, chunks, packed, chunk, size, capacity);
}
#else
static int unpack(void *context, struct nf2_chunks *chunks, uint32_t packed, uint8_t *chunk,
                  uint32_t size, uint32_t capacity)
{
    (void)context, (void)chunks, (void)packed, (void)chunk, (void)size, (void)capacity;
    return NF2_ERR_VERSION;
}
#endif

static uint8_t buffer[NF2_CHUNKS_BUFFER(NF2_CHUNK_MAX)];

struct open_file {
    struct nf2_packed_entry entry;
    nf2_chunks_t chunks;
    int compressed;             /* 1; 0: it is not */
};

static int open_file(struct open_file *file, const char *path)
{
    static const struct nf2_chunks_config config = {
        .unpack = unpack,
#ifdef NF2_HAVE_CODECS
        .context = &decoder,
#endif
        .buffer = buffer,
        .buffer_size = sizeof(buffer),
    };
    const int result = nf2_packed_find(&image, path, &file->entry);
    file->compressed = result < 0 ? result :
                       nf2_packed_open_chunks(&image, &file->entry, &file->chunks, &config);
    if (file->compressed == 1 && file->chunks.chunk_size > chunk_size) {
        chunk_size = file->chunks.chunk_size;
    }
    return file->compressed < 0 ? file->compressed : 0;
}

static int32_t read_at(struct open_file *file, uint32_t position, void *data, uint32_t length)
{
    if (file->compressed == 0) {
        return nf2_packed_read(&image, &file->entry, position, data, length);
    }
    const int32_t result = nf2_chunks_seek(&file->chunks, position);
    return result < 0 ? result : nf2_chunks_read(&file->chunks, data, length);
}

static void load_file(const char *from, const char *path)
{
    static uint8_t data[PIECE], expected[PIECE];
    static struct open_file file;
    FILE *source = fopen(from, "rb");
    const int result = open_file(&file, path);
    if (source == NULL || result < 0) {
        fail("cannot open", path, result);
        return;
    }
    int32_t got = 1;
    uint32_t at = 0;
    while (failure[0] == '\0' && got > 0) {
        got = read_at(&file, at, data, PIECE);
        const size_t wanted = fread(expected, 1, PIECE, source);
        if (got < 0 || (size_t)got != wanted || memcmp(data, expected, wanted) != 0) {
            fail("what was read differs:", path, got);
        }
        at += got > 0 ? (uint32_t)got : 0;
    }
    fclose(source);
    files++;
    bytes += at;
    if (at > largest_size) {
        largest_size = at;
        snprintf(largest, sizeof(largest), "%s", path);
    }
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void load(const char *from, const char *to)
{
    struct dirent **entries;
    const int count = scandir(from, &entries, NULL, by_name);
    for (int i = 0; i < count; i++) {
        char source[PATH], target[PATH];
        struct stat facts;
        snprintf(source, sizeof(source), "%.700s/%.255s", from, entries[i]->d_name);
        snprintf(target, sizeof(target), "%.700s/%.255s", to, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.' && failure[0] == '\0' && stat(source, &facts) == 0) {
            (S_ISDIR(facts.st_mode) ? load : load_file)(source, target);
        }
        free(entries[i]);
    }
    if (count < 0) {
        fail("cannot list", from, count);
    } else {
        free(entries);
    }
}

static void read_at_random(void)
{
    static struct open_file file;
    static uint8_t data[RANDOM_PIECE];
    uint32_t state = 42;
    if (largest_size <= RANDOM_PIECE || open_file(&file, largest) < 0) {
        fail("no file to read from", largest, 0);
        return;
    }
    for (uint32_t i = 0; i < RANDOM_READS; i++) {
        state = state * 1664525u + 1013904223u;
        const uint32_t at = (uint32_t)((uint64_t)state * (largest_size - RANDOM_PIECE) >> 32);
        const int32_t got = read_at(&file, at, data, RANDOM_PIECE);
        if (got != (int32_t)RANDOM_PIECE) {
            fail("a random read failed:", largest, got);
        }
    }
}

/* ---- the steps ------------------------------------------------------------------------------- */

static uint64_t clock_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static const char *argument(int count, char **values, const char *name)
{
    for (int i = 1; i + 1 < count; i += 2) {
        if (strcmp(values[i], name) == 0) {
            return values[i + 1];
        }
    }
    fprintf(stderr,
            "usage: norbench-packed --fs NAME --chip NAME --image FILE --tree DIRECTORY\n");
    exit(2);
}

static uint32_t put_image(struct vflash *chip, const char *path)
{
    FILE *file = fopen(path, "rb");
    const size_t size = file == NULL ? 0 :
                        fread(vflash_memory(chip), 1, vflash_driver(chip)->chip_size, file);
    if (size == 0 || fgetc(file) != EOF) {
        fprintf(stderr, "%s cannot be read, or is larger than the chip\n", path);
        exit(2);
    }
    fclose(file);
    return (uint32_t)size;
}

int main(int count, char **values)
{
    const char *fs = argument(count, values, "--fs"), *chip_name = argument(count, values, "--chip"),
               *path = argument(count, values, "--image"), *tree = argument(count, values, "--tree");
    const struct vflash_chip *facts = vflash_chip_find(chip_name);
    struct vflash *chip = facts == NULL ? NULL : vflash_new(facts);
    if (chip == NULL) {
        fprintf(stderr, "no chip \"%s\"\n", chip_name);
        return 2;
    }
    const uint32_t size = put_image(chip, path);
    struct vflash_counts costs[STEPS];
    uint64_t clocks[STEPS];
    for (enum step step = MOUNT; step < STEPS; step++) {
        const struct vflash_counts before = *vflash_counts(chip);
        const uint64_t start_us = clock_us();
        if (step == MOUNT) {
            const int result = nf2_packed_mount(&image, vflash_driver(chip), 0);
            if (result < 0) {
                fail("cannot mount", path, result);
            }
        } else if (failure[0] == '\0') {
            if (step == LOAD) {
                load(tree, "");
            } else {
                read_at_random();
            }
        }
        clocks[step] = clock_us() - start_us;
        costs[step] = *vflash_counts(chip);
        costs[step].read_pages -= before.read_pages;
        costs[step].time_us -= before.time_us;
    }
    uint32_t ram = (uint32_t)sizeof(image) + chunk_size;
#ifdef NF2_HAVE_CODECS
    if (chunk_size != 0) {
        ram += (uint32_t)sizeof(nf2_chunks_t);
        ram += strstr(fs, "heatshrink") != NULL ? (uint32_t)sizeof(decoder) :
               NF2_CHUNKS_BUFFER(chunk_size) - chunk_size;
    }
#endif
    printf("{\"fs\": \"%s\", \"version\": \"%s\", \"workload\": \"copy\", \"chip\": \"%s\", "
           "\"status\": \"%s%s\", \"verified\": %s, ",
           fs, NF2_VERSION, chip_name, failure[0] != '\0' ? "failed: " : "ok", failure,
           failure[0] == '\0' ? "true" : "false");
    for (enum step step = MOUNT; step < STEPS; step++) {
        printf("\"%s\": {\"time_us\": %" PRIu64 ", \"read_pages\": %" PRIu64
               ", \"clock_us\": %" PRIu64 "}, ",
               step_names[step], costs[step].time_us, costs[step].read_pages, clocks[step]);
    }
    printf("\"random_reads\": %u, \"files\": %" PRIu64 ", \"bytes\": %" PRIu64
           ", \"ram_bytes\": %" PRIu32 ", \"image_bytes\": %" PRIu32 "}\n",
           RANDOM_READS, files, bytes, ram, size);
    vflash_free(chip);
    return failure[0] == '\0' ? 0 : 1;
}
