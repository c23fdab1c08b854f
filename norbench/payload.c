/* SPDX-License-Identifier: BSD-2-Clause */
/* payload.c - seeded pseudo-random bytes and numbers. */
#include "payload.h"

void payload_seed(struct pcg32 *rng, uint64_t seed, enum payload_stream stream)
{
    pcg32_seed(rng, seed, (uint64_t)stream);
}

void payload_fill(struct pcg32 *rng, uint8_t *data, uint32_t length)
{
    while (length >= 4) {
        uint32_t word = pcg32_next(rng);
        data[0] = (uint8_t)word;
        data[1] = (uint8_t)(word >> 8);
        data[2] = (uint8_t)(word >> 16);
        data[3] = (uint8_t)(word >> 24);
        data += 4;
        length -= 4;
    }
    uint32_t word = length > 0 ? pcg32_next(rng) : 0;
    for (; length > 0; length--, word >>= 8) {
        *data++ = (uint8_t)word;
    }
}

uint32_t payload_below(struct pcg32 *rng, uint32_t bound)
{
    return pcg32_below(rng, bound);
}

uint32_t payload_zipf(struct pcg32 *rng, uint32_t count)
{
    uint32_t sum = 0;
    for (uint32_t k = 0; k < count; k++) {
        sum += 1000000u / (k + 1);
    }
    uint32_t pick = payload_below(rng, sum);
    uint32_t index = 0;
    while (pick >= 1000000u / (index + 1)) {
        pick -= 1000000u / (index + 1);
        index++;
    }
    return index;
}
