/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_first_change.c - a used volume on a device that loses power often: the first change of a session waits for no erase as long as
 * an erased block is on record, in a region that is erased or in the rest of an open one; only where the root log turns it may. It is
 * durable. Units of one byte: others make each session go on in a new block of the root log.
 */
#include <stdio.h>
#include <string.h>

#include "api_volume.h"
#include "check.h"

#define FILES 300u
#define SESSIONS 400u

static struct volume volume;

/* Sessions behind a cut, behind an unmount: with an erased block on record, of these where the log turned, and where the first change erased all the same. */
static struct { unsigned sessions, with_erased, turned, waited; } cut, left;

static uint64_t erases(void)
{
    const struct vflash_counts *counts = vflash_counts(volume.flash);

    return counts->erases[0] + counts->erases[1] + counts->erases[2];
}

static const char *name_of(unsigned i)
{
    static char name[32];

    snprintf(name, sizeof name, "setting of part %03u", i);
    return name;
}

/* Each block was used: none is known to be erased. */
static void use_up(uint32_t *seed)
{
    volume_new(&volume, "w25q256");
    volume.config.size = 4u << 20;
    volume_format(&volume);
    for (unsigned i = 0; i < FILES; i++) {
        seed[i] = i;
        CHECK_EQ(put(&volume, name_of(i), 60, seed[i]), NF2_OK);
    }
    for (unsigned i = 0; i < 60; i++) {
        CHECK_EQ(put(&volume, "large", 100000, i), NF2_OK);
    }
}

enum end { CUT_AT_ONCE, ONE_MORE, IDLE, UNMOUNT, ENDS };

/* The first change, of a file: did it wait? */
static void first_change(const char *name, uint32_t seed, bool behind_cut)
{
    struct nf2_statfs stat;
    uint64_t before = erases();
    uint32_t head = volume.fs.root_head;

    CHECK_EQ(nf2_statfs(&volume.fs, &stat), NF2_OK);
    CHECK_EQ(put(&volume, name, 60, seed), NF2_OK);
    bool turned = volume.fs.root_head != head, erased = stat.blocks_erased > 0;
    cut.sessions += behind_cut;
    left.sessions += !behind_cut;
    (behind_cut ? &cut : &left)->with_erased += erased;
    (behind_cut ? &cut : &left)->turned += erased && turned;
    (behind_cut ? &cut : &left)->waited += erased && !turned && erases() > before;
}

static void session(uint32_t *seed, unsigned number)
{
    unsigned a = number * 7 % FILES, b = (number * 7 + 150) % FILES;

    seed[a] += 1000;
    first_change(name_of(a), seed[a], number % ENDS != 0 || number == 0);
    CHECK(holds(&volume, name_of(a), 60, seed[a]) && holds(&volume, name_of(b), 60, seed[b]));
    if (number % ENDS == ONE_MORE) {
        seed[b] += 1000;
        CHECK_EQ(put(&volume, name_of(b), 60, seed[b]), NF2_OK);
    } else if (number % ENDS == IDLE) {
        CHECK(nf2_maintain(&volume.fs, 400000) >= 0);
    }
    CHECK_EQ(volume_again(&volume, number % ENDS == UNMOUNT), NF2_OK);
    CHECK(holds(&volume, name_of(a), 60, seed[a]) && holds(&volume, name_of(b), 60, seed[b]));
}

TEST(without_an_erase)
{
    static uint32_t seed[FILES];
    struct nf2_health health;

    use_up(seed);
    CHECK_EQ(volume_again(&volume, false), NF2_OK);
    for (unsigned i = 0; i < SESSIONS; i++) {
        session(seed, i);
    }
    for (unsigned i = 0; i < FILES; i++) {
        CHECK(holds(&volume, name_of(i), 60, seed[i]));
    }
    CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
    CHECK_EQ(nf2_health(&volume.fs, &health), NF2_OK);
    CHECK_EQ(health.mounts_unclean, 1 + SESSIONS - SESSIONS / ENDS); /* one that was unmounted is none */
    printf("behind a cut: of %u sessions %u had an erased block, in %u of these the log turned, %u waited for an erase\n", cut.sessions,
           cut.with_erased, cut.turned, cut.waited);
    printf("behind an unmount: of %u sessions %u had an erased block, in %u of these the log turned, %u waited for an erase\n", left.sessions,
           left.with_erased, left.turned, left.waited);
    CHECK(cut.with_erased > cut.sessions / 2 && left.with_erased > left.sessions / 2); /* else nothing was tried */
    CHECK(cut.turned < cut.with_erased / 5);
    /* what is left of the region for nodes may not be erased: then another region is taken that is */
    CHECK(cut.waited == 0 && left.waited == 0);
    volume_down(&volume, true);
}

static uint32_t erased_blocks(void)
{
    uint32_t sum = 0;

    for (uint32_t block = 0; block < (volume.config.size >> 12); block++) {
        sum += vflash_wear(volume.flash, block);
    }
    return sum;
}

/* A device that appends a record and loses power: what one session erases beyond its need is on record, and the next one uses it. */
TEST(nothing_is_erased_twice)
{
    volume_new(&volume, "w25q256");
    volume.config.size = 16u << 20;
    volume_format(&volume);
    CHECK_EQ(put(&volume, "rests", 8u << 20, 1), NF2_OK);
    CHECK_EQ(volume_again(&volume, true), NF2_OK);
    uint32_t before = erased_blocks();
    for (unsigned i = 0; i < 2000; i++) {
        CHECK_EQ(nf2_open(&volume.fs, &volume.file, "log", NF2_O_WRONLY | NF2_O_CREAT | NF2_O_APPEND, volume.page), NF2_OK);
        CHECK_EQ(nf2_write(&volume.fs, &volume.file, "a record of 24 bytes, so", 24), 24);
        CHECK_EQ(nf2_close(&volume.fs, &volume.file), NF2_OK);
        CHECK_EQ(volume_again(&volume, false), NF2_OK);
    }
    uint32_t erased = erased_blocks() - before;
    printf("2000 sessions of one record, each cut: %u blocks erased\n", (unsigned)erased);
    CHECK(erased <= 700); /* 200 for records, 143 for the log, some for leaves, and what is erased beyond */
    CHECK(holds(&volume, "rests", 8u << 20, 1));
    volume_down(&volume, true);
}

int main(void)
{
    RUN(without_an_erase);
    RUN(nothing_is_erased_twice);
    return check_done();
}
