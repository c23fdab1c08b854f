/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nf2_chunks.h - reads files that a host has compressed in chunks.
 *
 * `nf2 put --compress` and `nf2 pack --compress` write them to ordinary volumes, `nf2 pack
 * --read-only --compress` to images (nf2_packed.h). A chunk is unpacked as a whole, by the function
 * that you name in the configuration; there is no codec in here. examples/compressed has such
 * functions for LZ4 and heatshrink. Reads may begin anywhere in the file: only the chunks that they
 * touch are read. The chunk that was unpacked last stays in RAM.
 *
 * Each chunk has a CRC-32, which is compared before its bytes are given out. So damage is returned
 * as NF2_ERR_IO, unless it is such that the CRC does not see it. A file whose header is damaged
 * looks like one that is not compressed.
 *
 * The reader stands above the public API: the core knows nothing of it, and a program that does not
 * call it links nothing of it. One call at a time on an nf2_chunks_t. README.md has the format.
 */
#ifndef NF2_CHUNKS_H
#define NF2_CHUNKS_H

#include "nf2fs/nf2fs.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Registered numbers of codecs; others are added here. Numbers from 128 on are for your own use. */
enum nf2_codec {
    NF2_CODEC_NONE = 0,         /* of a file in an image: it is not compressed */
    NF2_CODEC_LZ4 = 1,          /* a block of LZ4; no parameter */
    NF2_CODEC_HEATSHRINK = 2    /* parameter: bits of the window, times 16, plus bits of the
                                   lookahead */
};

#define NF2_CHUNK_MIN 256u
#define NF2_CHUNK_MAX 32768u

/*
 * Bytes of a buffer in which LZ4 can unpack a chunk of this size in place. A codec that takes its
 * input in pieces needs the size of the chunk alone.
 */
#define NF2_CHUNKS_BUFFER(chunk_size) ((chunk_size) + (chunk_size) / 256u + 32u)

struct nf2_chunks;

struct nf2_chunks_config {
    /*
     * Unpacks one chunk: `packed` bytes, which nf2_chunks_pull gives in their order, become exactly
     * `size` bytes at `chunk`. There are `capacity` bytes at `chunk`: so the packed bytes can first
     * be put at its end. Returns 0, or an error that the reader passes on: NF2_ERR_VERSION for a
     * codec or parameter that it does not know, NF2_ERR_INVAL where `capacity` is too small for it,
     * NF2_ERR_IO where the bytes make no sense, and what nf2_chunks_pull returned.
     */
    int (*unpack)(void *context, struct nf2_chunks *chunks, uint32_t packed, uint8_t *chunk,
                  uint32_t size, uint32_t capacity);
    void *context;

    /* Memory for one chunk, in use until the last read; at least the file's chunk size. */
    uint8_t *buffer;
    uint32_t buffer_size;
};

/* Where the compressed file lies: reads exactly `length` bytes at `offset`, or returns an error. */
typedef int (*nf2_chunks_source)(struct nf2_chunks *chunks, uint32_t offset, void *data,
                                 uint32_t length);

/* `codec`, `parameter`, `size` and `chunk_size` may be read; the rest is private. */
typedef struct nf2_chunks {
    const struct nf2_chunks_config *config;
    nf2_chunks_source source;
    void *volume;               /* for the source */
    void *file;
    uint32_t size;              /* bytes of the file when it is unpacked */
    uint32_t chunk_size;        /* bytes of each chunk but the last one */
    uint32_t stored;            /* bytes of the compressed file */
    uint32_t table_at;          /* the chunks' entries, within the compressed file */
    uint32_t position;
    uint32_t in_buffer;         /* number of the chunk in the buffer; UINT32_MAX: none */
    uint32_t pull_at, pull_end, pull_crc;
    uint8_t codec;
    uint8_t parameter;
} nf2_chunks_t;

/*
 * Opens a compressed file that is open for reading. Nothing else may use `file` meanwhile; close it
 * with nf2_close when you have done. Returns 1 if the file is compressed and 0 if it is not: then
 * read it with nf2_read, from position 0 on. Any file can be asked; only one that begins as
 * compressed files do, with a CRC that is right, is taken for one.
 * Errors: VERSION (a later format), INVAL (the buffer is smaller than a chunk), IO, and those of
 * nf2_read.
 */
int nf2_chunks_open_file(nf2_chunks_t *chunks, const struct nf2_chunks_config *config, nf2_t *fs,
                         nf2_file_t *file);

/* The same with a source of your own, which holds `stored` bytes: for it are `volume` and `file`. */
int nf2_chunks_open(nf2_chunks_t *chunks, const struct nf2_chunks_config *config,
                    nf2_chunks_source source, void *volume, void *file, uint32_t stored);

/*
 * Reads from the position on. Returns the bytes read (fewer than `length` only at the end), or an
 * error; then the position is as it was. Errors: IO (damage), INVAL, and those of `unpack`.
 */
int32_t nf2_chunks_read(nf2_chunks_t *chunks, void *data, uint32_t length);

/* Sets the position and returns it; INVAL if it is past the end. */
int32_t nf2_chunks_seek(nf2_chunks_t *chunks, uint32_t position);

/*
 * For `unpack` only: the next bytes of the chunk, at most `length`. Returns how many, 0 at its end,
 * or an error.
 */
int32_t nf2_chunks_pull(struct nf2_chunks *chunks, void *data, uint32_t length);

#ifdef __cplusplus
}
#endif

#endif
