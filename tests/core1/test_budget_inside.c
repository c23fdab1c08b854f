/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_budget_inside.c - idle work keeps its budget in states of the core that are rare from outside, and leaves nothing for a round
 * over all files. See unit/test_budget.c.
 */
#include <stdio.h>
#include <string.h>

#include "api_volume.h"
#include "check.h"
#include "src/core.h"
#include "src/log.h"
#include "src/super.h"

#define SIZE 1048576u
#define PIECES 1500u
#define PIECE 300u

static uint32_t state = 7;
static uint8_t data[4096];

static uint32_t below(uint32_t limit)
{
    state = state * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)state * limit >> 32);
}

static void overwrite(struct volume *volume, const char *name, uint32_t pieces)
{
    CHECK_EQ(nf2_open(&volume->fs, &volume->file, name, NF2_O_WRONLY, volume->page), NF2_OK);
    for (uint32_t i = 0; i < pieces; i++) {
        CHECK(nf2_seek(&volume->fs, &volume->file, (int32_t)below(SIZE - PIECE), NF2_SEEK_SET) >= 0);
        CHECK_EQ(nf2_write(&volume->fs, &volume->file, data, PIECE), (int32_t)PIECE);
        CHECK(i % 20 != 0 || nf2_sync(&volume->fs, &volume->file) == NF2_OK);
    }
    CHECK_EQ(nf2_close(&volume->fs, &volume->file), NF2_OK);
}

/* A file whose map has many leaves. */
static void make_file(struct volume *volume, uint32_t number)
{
    char name[16];

    snprintf(name, sizeof name, "file%u", (unsigned)number);
    CHECK_EQ(put(volume, name, SIZE, number), NF2_OK);
    overwrite(volume, name, PIECES);
}

/* Reads are slow, so that a look at all maps takes longer than the budget. */
static void slow_volume(struct volume *volume)
{
    volume_new(volume, "w25q128");
    volume->driver.read_page_us = 41;
    volume_format(volume);
}

/* Idle time until nothing is left to do; every call keeps to its budget. Returns the most, in parts of 1,000. */
static uint32_t idle(struct volume *volume)
{
    static const uint32_t budgets[] = {850000, 1000000, 2000000};
    uint32_t most = 0;
    int more = 1;

    for (uint32_t i = 0; i < 4000 && more > 0; i++) {
        uint32_t budget = budgets[i % 3u];
        uint64_t before = vflash_counts(volume->flash)->time_slow_us;
        more = nf2_maintain(&volume->fs, budget);
        uint64_t us = vflash_counts(volume->flash)->time_slow_us - before;
        CHECK(us <= budget);
        most = us * 1000u / budget > most ? (uint32_t)(us * 1000u / budget) : most;
    }
    CHECK_EQ(more, 0);
    return most;
}

static uint32_t free_blocks(struct volume *volume)
{
    struct nf2_statfs statfs;

    CHECK_EQ(nf2_statfs(&volume->fs, &statfs), NF2_OK);
    return statfs.blocks_free;
}

/* Garbage of files that change in turn, with or without idle time between them: nothing is left for a round over all of them. */
TEST(no_garbage_left)
{
    static struct volume volume;

    slow_volume(&volume);
    for (uint32_t i = 0; i < 3; i++) {
        make_file(&volume, i);
    }
    idle(&volume);
    for (uint32_t i = 0; i < 12; i++) {
        char name[16];
        snprintf(name, sizeof name, "file%u", (unsigned)(i * i % 3u));
        overwrite(&volume, name, 40);
        int more = i % 3u == 2u ? 0 : nf2_maintain(&volume.fs, i % 2u == 0 ? 2000000 : 850000);
        CHECK(more >= 0);
        if (i % 4u == 3u) {
            uint32_t before, full;
            idle(&volume);
            before = free_blocks(&volume);
            volume.fs.compact_due = NF2_COMPACT_TWICE;
            idle(&volume);
            full = free_blocks(&volume);
            CHECK(full <= before + 2u); /* a second round may empty what the first one had filled */
            printf("free blocks: %u, after a round over all files %u\n", (unsigned)before, (unsigned)full);
        }
    }
    CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
    volume_down(&volume, true);
}

/* Idle time in which the meta log turns while the super log is full: the anchor's erase belongs to the budget, too. */
TEST(super_log_full)
{
    static struct volume volume;
    uint32_t most = 0, erased = 0;

    volume_up(&volume, "w25q80");
    state = 7;
    for (uint32_t i = 0; i < 10000; i++) {
        char name[16];
        snprintf(name, sizeof name, "f%u", (unsigned)below(20));
        if (below(2) == 0) {
            int result = nf2_remove(&volume.fs, name);
            CHECK(result == NF2_OK || result == NF2_ERR_NOENT);
        } else {
            CHECK_EQ(put(&volume, name, below(3) == 0 ? 20000 : 100, i), NF2_OK);
        }
        volume.fs.super_end = (uint16_t)nf2_log_bytes(&volume.fs); /* as it is once in many turns */
        uint32_t budget = 50000u + below(200000);
        uint64_t before = vflash_counts(volume.flash)->time_us;
        CHECK(nf2_maintain(&volume.fs, budget) >= 0);
        uint64_t us = vflash_counts(volume.flash)->time_us - before;
        CHECK(us <= budget);
        most = us * 1000u / budget > most ? (uint32_t)(us * 1000u / budget) : most;
        erased += !nf2_super_full(&volume.fs);
    }
    printf("idle work with the super log full: %u of 1,000 parts of the budget at most, %u anchors\n", (unsigned)most, (unsigned)erased);
    CHECK(erased > 10);
    volume_down(&volume, true);
}

int main(void)
{
    RUN(super_log_full);
    RUN(no_garbage_left);
    return check_done();
}
