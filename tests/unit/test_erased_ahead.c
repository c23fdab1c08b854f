/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_erased_ahead.c - what is on record as erased in a group that idle time erases in parts. A cut in an erase leaves its
 * blocks torn: so no erase takes one that the record has as free and erased.
 */
#include <stdio.h>
#include <string.h>

#include "api_volume.h"
#include "check.h"
#include "core_traits.h"
#include "vflash/pcg32.h"

#define BLOCK 4096u
#define BLOCKS 1024u            /* two windows, with groups of one large erase */
#define SEEDS 40u
#define SESSIONS 300u

static struct volume volume;
static struct {
    bool looks;                 /* at what a mount finds now: not at what that reads */
    unsigned erases, torn;      /* large erases, blocks of them that are on record as erased */
} seen;

/* In front of each large erase: a second mount, of what is on record. */
static void watch(void *context, const struct vflash_operation *operation)
{
    static nf2_t fs;
    static uint8_t buffer[NF2_BUFFER_SIZE(NF2_PAGE_MAX)];
    struct nf2_config config = volume.config;

    (void)context;
    if (seen.looks || !operation->erase || operation->length == BLOCK) {
        return;
    }
    seen.looks = true;
    seen.erases++;
    config.buffer = buffer;
    CHECK_EQ(nf2_mount_rdonly(&fs, &config), NF2_OK);
    for (uint32_t i = 0; i < operation->length / BLOCK; i++) {
        uint32_t block = operation->address / BLOCK + i;
        seen.torn += block != fs.root_next && core_erased_on_record(&fs, block);
    }
    CHECK_EQ(nf2_unmount(&fs), NF2_OK);
    seen.looks = false;
}

static void some_files(struct pcg32 *rng, unsigned count)
{
    char name[16];

    for (; count > 0; count--) {
        snprintf(name, sizeof name, "small%u", (unsigned)pcg32_below(rng, 28));
        uint32_t size = pcg32_below(rng, pcg32_below(rng, 3) != 0 ? 400 : 20000);
        CHECK(one_of(put(&volume, name, size, size), NF2_OK, NF2_ERR_NOSPC, NF2_OK));
    }
}

TEST(no_erase_of_what_is_erased)
{
    char name[16];

    for (uint32_t seed = 10; seed < 10 + SEEDS; seed++) {
        struct pcg32 rng;
        struct nf2_statfs space;

        pcg32_seed(&rng, seed, 3);
        volume_new(&volume, "w25q64");
        volume.config.size = BLOCKS * BLOCK;
        volume_format(&volume);
        CHECK_EQ(nf2_statfs(&volume.fs, &space), NF2_OK);
        for (uint32_t i = 0; i < space.blocks_available * (84 + seed % 8) / 400; i++) {
            snprintf(name, sizeof name, "rest%u", (unsigned)i);
            CHECK_EQ(put(&volume, name, 4 * BLOCK, i), NF2_OK);
        }
        some_files(&rng, 1500);
        vflash_watch(volume.flash, watch, NULL);
        for (unsigned i = 0; i < SESSIONS; i++) {
            CHECK_EQ(volume_again(&volume, pcg32_below(&rng, 5) != 0), NF2_OK);
            for (unsigned part = 1 + pcg32_below(&rng, 2); part > 0; part--) {
                some_files(&rng, pcg32_below(&rng, 8));
                for (unsigned n = pcg32_below(&rng, 4); n > 0; n--) {
                    CHECK(nf2_maintain(&volume.fs, 153000 + pcg32_below(&rng, 60000)) >= 0);
                }
            }
        }
        vflash_watch(volume.flash, NULL, NULL);
        CHECK_EQ(vflash_counts(volume.flash)->violations, 0);
        CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
        volume_down(&volume, true);
    }
    printf("%u large erases, of %u blocks that are on record as erased\n", seen.erases, seen.torn);
    CHECK(seen.erases > 100);
    CHECK_EQ(seen.torn, 0);
}

int main(void)
{
    RUN(no_erase_of_what_is_erased);
    return check_done();
}
