/* SPDX-License-Identifier: BSD-2-Clause */
/* test_latency.c - percentiles beside those of a sorted list. */
#include <stdio.h>
#include <stdlib.h>

#include "latency.h"

#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            exit(1); \
        } \
    } while (0)

#define TIMES 20000u

static int by_size(const void *one, const void *other)
{
    uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
    return a < b ? -1 : a > b;
}

int main(void)
{
    static uint64_t times[TIMES];
    static struct latency latency;
    uint64_t state = 1;
    CHECK(latency_rank(&latency, 500000) == 0);
    for (uint32_t i = 0; i < TIMES; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        times[i] = (state >> 33) >> (state >> 58) % 31;     /* of all sizes */
        latency_add(&latency, times[i]);
    }
    qsort(times, TIMES, sizeof(times[0]), by_size);
    static const uint64_t ranks[] = {1, 1000, 100000, 500000, 990000, 999000, 999900, 1000000};
    for (unsigned i = 0; i < sizeof(ranks) / sizeof(ranks[0]); i++) {
        uint64_t place = (TIMES * ranks[i] + 999999) / 1000000;
        uint64_t exact = times[place - 1], found = latency_rank(&latency, ranks[i]);
        CHECK(found >= exact && found <= exact + exact / 64);
        CHECK(exact >= LATENCY_EXACT || found == exact);
    }
    CHECK(latency_rank(&latency, 1000000) == times[TIMES - 1]);
    latency_add(&latency, UINT64_MAX);
    CHECK(latency.max_us == UINT64_MAX && latency_rank(&latency, 1000000) > LATENCY_EXACT);
    printf("latency: ok\n");
    return 0;
}
