/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Chunks of heatshrink, unpacked by its own C source (heatshrink_decoder.c, compiled with
 * -DHEATSHRINK_DYNAMIC_ALLOC=0): some 300 bytes of RAM and 256 bytes of stack beside the buffer,
 * which needs to be no larger than a chunk. `context` is a heatshrink_decoder.
 */
#include "unpack.h"

#include "heatshrink_decoder.h"

#define PIECE 256u              /* read at once; on the stack */
#define PARAMETER (HEATSHRINK_STATIC_WINDOW_BITS * 16 + HEATSHRINK_STATIC_LOOKAHEAD_BITS)

/* False where the bytes make more than `size`. */
static bool unpack_piece(heatshrink_decoder *decoder, uint8_t *piece, size_t length,
                         uint8_t *chunk, uint32_t size, uint32_t *done)
{
    for (size_t at = 0; at < length;) {
        size_t taken, made;
        HSD_poll_res result;
        if (*done == size ||
            heatshrink_decoder_sink(decoder, piece + at, length - at, &taken) < 0) {
            return false;
        }
        at += taken;
        do {
            result = heatshrink_decoder_poll(decoder, chunk + *done, size - *done, &made);
            *done += (uint32_t)made;
        } while (result == HSDR_POLL_MORE && *done < size);
        if (result < 0) {
            return false;
        }
    }
    return true;
}

int unpack_heatshrink(void *context, struct nf2_chunks *chunks, uint32_t packed, uint8_t *chunk,
                      uint32_t size, uint32_t capacity)
{
    heatshrink_decoder *decoder = context;
    uint8_t piece[PIECE];
    uint32_t done = 0;

    (void)packed;
    if (chunks->codec != NF2_CODEC_HEATSHRINK || chunks->parameter != PARAMETER) {
        return NF2_ERR_VERSION;
    }
    if (capacity < size) {
        return NF2_ERR_INVAL;
    }
    heatshrink_decoder_reset(decoder);
    int32_t got;
    while ((got = nf2_chunks_pull(chunks, piece, PIECE)) > 0) {
        if (!unpack_piece(decoder, piece, (size_t)got, chunk, size, &done)) {
            return NF2_ERR_IO;
        }
    }
    return got < 0 ? got : done == size ? NF2_OK : NF2_ERR_IO;
}
