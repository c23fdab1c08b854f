/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads a file that may be compressed, from a volume or from a read-only image, and writes it to
 * standard output:
 *
 *   nf2 pack --compress DIRECTORY flash.img --chip w25q80          (or with --read-only, too)
 *   example_compressed w25q80 flash.img PATH
 *
 * The chip is a virtual one that holds the file flash.img. On a device, `flash` is your driver; the
 * rest stays. One buffer of a chunk's size serves all files, one after the other.
 */
#include <stdio.h>

#include "heatshrink_decoder.h"
#include "nf2_packed.h"
#include "unpack.h"
#include "vflash.h"

#define CHUNK 4096u             /* what `nf2 pack` makes where it is told nothing else */
#define PAGE_MAX NF2_PAGE_MAX

/* A firmware that knows its codec names one function in the configuration, and links one codec. */
static int unpack(void *context, struct nf2_chunks *chunks, uint32_t packed, uint8_t *chunk,
                  uint32_t size, uint32_t capacity)
{
    return (chunks->codec == NF2_CODEC_LZ4 ? unpack_lz4 : unpack_heatshrink)(
        context, chunks, packed, chunk, size, capacity);
}

static uint8_t buffer[NF2_CHUNKS_BUFFER(CHUNK)];
static heatshrink_decoder decoder;
static const struct nf2_chunks_config unpacking = {
    .unpack = unpack, .context = &decoder, .buffer = buffer, .buffer_size = sizeof(buffer)};

static int32_t show(nf2_chunks_t *chunks)
{
    char piece[100];
    int32_t got;
    while ((got = nf2_chunks_read(chunks, piece, sizeof(piece))) > 0) {
        fwrite(piece, 1, (size_t)got, stdout);
    }
    return got;
}

/* ---- from a read-only image ---- */

static int32_t show_packed(nf2_packed_t *image, const char *path)
{
    struct nf2_packed_entry entry;
    nf2_chunks_t chunks;
    char piece[100];
    int32_t got = nf2_packed_find(image, path, &entry);
    if (got < 0) {
        return got;
    }
    got = nf2_packed_open_chunks(image, &entry, &chunks, &unpacking);
    if (got != 0) {
        return got < 0 ? got : show(&chunks);
    }
    for (uint32_t at = 0; (got = nf2_packed_read(image, &entry, at, piece, sizeof(piece))) > 0;
         at += (uint32_t)got) {
        fwrite(piece, 1, (size_t)got, stdout);
    }
    return got;
}

/* ---- from an ordinary volume ---- */

static int32_t show_open_file(nf2_t *fs, nf2_file_t *file)
{
    nf2_chunks_t chunks;
    char piece[100];
    int32_t got = nf2_chunks_open_file(&chunks, &unpacking, fs, file);
    if (got != 0) {
        return got < 0 ? got : show(&chunks);
    }
    while ((got = nf2_read(fs, file, piece, sizeof(piece))) > 0) {
        fwrite(piece, 1, (size_t)got, stdout);
    }
    return got;
}

static int32_t show_file(const struct nf2_flash *flash, const char *path)
{
    static nf2_t fs;
    static nf2_file_t file;
    static uint8_t memory[NF2_BUFFER_SIZE(PAGE_MAX)];
    const struct nf2_config config = {
        .flash = flash, .buffer = memory, .buffer_size = NF2_BUFFER_SIZE(flash->page_size)};
    int32_t result = nf2_mount_rdonly(&fs, &config);
    if (result < 0) {
        return result;
    }
    result = nf2_open(&fs, &file, path, NF2_O_RDONLY, NULL);
    if (result == NF2_OK) {
        result = show_open_file(&fs, &file);
        nf2_close(&fs, &file);
    }
    nf2_unmount(&fs);
    return result;
}

/* ---- the virtual chip ---- */

static struct vflash *chip_with(const char *name, const char *path)
{
    const struct vflash_chip *facts = vflash_chip_find(name);
    struct vflash *chip = facts == NULL ? NULL : vflash_new(facts);
    FILE *file = fopen(path, "rb");
    if (chip == NULL || file == NULL) {
        fprintf(stderr, "no chip %s, or no file %s\n", name, path);
        if (file != NULL) {
            fclose(file);
        }
        vflash_free(chip);
        return NULL;
    }
    const size_t got = fread(vflash_memory(chip), 1, vflash_driver(chip)->chip_size, file);
    fclose(file);
    return got > 0 ? chip : NULL;
}

int main(int count, char **values)
{
    static nf2_packed_t image;
    struct vflash *chip = count == 4 ? chip_with(values[1], values[2]) : NULL;
    if (chip == NULL) {
        fprintf(stderr, "usage: example_compressed CHIP IMAGE PATH\n");
        return 2;
    }
    int32_t result = nf2_packed_mount(&image, vflash_driver(chip), 0);
    result = result == NF2_OK ? show_packed(&image, values[3]) :
             result == NF2_ERR_FOREIGN ? show_file(vflash_driver(chip), values[3]) : result;
    if (result < 0) {
        fprintf(stderr, "%s: %s\n", values[3], nf2_error_text(result));
    }
    vflash_free(chip);
    return result < 0 ? 1 : 0;
}
