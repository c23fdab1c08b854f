/* SPDX-License-Identifier: BSD-2-Clause */
/* Chunks of LZ4, unpacked by its own C source (lz4.c), in place: no RAM beside the buffer. */
#include "unpack.h"

#include "lz4.h"

int unpack_lz4(void *context, struct nf2_chunks *chunks, uint32_t packed, uint8_t *chunk,
               uint32_t size, uint32_t capacity)
{
    (void)context;
    if (chunks->codec != NF2_CODEC_LZ4 || chunks->parameter != 0) {
        return NF2_ERR_VERSION;
    }
    if (capacity < NF2_CHUNKS_BUFFER(size)) {
        return NF2_ERR_INVAL;
    }
    /* The packed bytes end where the buffer ends: what is unpacked never catches up with them. */
    uint8_t *source = chunk + capacity - packed;
    const int32_t got = nf2_chunks_pull(chunks, source, packed);
    if (got < 0) {
        return got;
    }
    const int made = LZ4_decompress_safe((const char *)source, (char *)chunk, (int)packed,
                                         (int)size);
    return made == (int)size ? NF2_OK : NF2_ERR_IO;
}
