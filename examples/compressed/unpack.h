/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions for nf2_chunks_config.unpack (packed/nf2_chunks.h). Take those that you need. */
#ifndef UNPACK_H
#define UNPACK_H

#include "nf2_chunks.h"

/* LZ4: fast, and the buffer needs NF2_CHUNKS_BUFFER(chunk size). `context` is not used. */
int unpack_lz4(void *context, struct nf2_chunks *chunks, uint32_t packed, uint8_t *chunk,
               uint32_t size, uint32_t capacity);

/* heatshrink, where RAM is short. `context` is a heatshrink_decoder. */
int unpack_heatshrink(void *context, struct nf2_chunks *chunks, uint32_t packed, uint8_t *chunk,
                      uint32_t size, uint32_t capacity);

#endif
