/* SPDX-License-Identifier: BSD-2-Clause */
/* pcg32.h - PCG32 (XSH-RR 64/32): small seeded random numbers, the same on every machine. */
#ifndef PCG32_H
#define PCG32_H

#include <stdint.h>

struct pcg32 {
    uint64_t state;
    uint64_t increment;         /* odd: the stream */
};

static inline uint32_t pcg32_next(struct pcg32 *rng)
{
    uint64_t old = rng->state;
    rng->state = old * 6364136223846793005u + rng->increment;
    uint32_t shifted = (uint32_t)(((old >> 18) ^ old) >> 27);
    uint32_t turn = (uint32_t)(old >> 59);
    return (shifted >> turn) | (shifted << ((32 - turn) & 31));
}

/* Seeds as the reference implementation does: the same seed and stream give the same numbers. */
static inline void pcg32_seed(struct pcg32 *rng, uint64_t seed, uint64_t stream)
{
    rng->state = 0;
    rng->increment = (stream << 1) | 1;
    (void)pcg32_next(rng);
    rng->state += seed;
    (void)pcg32_next(rng);
}

/* In [0, bound), 0 where `bound` is 0; uniform to within bound / 2^32. */
static inline uint32_t pcg32_below(struct pcg32 *rng, uint32_t bound)
{
    return (uint32_t)(((uint64_t)pcg32_next(rng) * bound) >> 32);
}

#endif
