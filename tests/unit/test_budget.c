/* SPDX-License-Identifier: BSD-2-Clause */
/* test_budget.c - idle work keeps its budget where files have large maps, of which a step may find nothing to do in many. */
#include <stdio.h>
#include <string.h>

#include "api_volume.h"
#include "check.h"

#define FILES 6u
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

TEST(large_maps)
{
    static struct volume volume;

    slow_volume(&volume);
    for (uint32_t i = 0; i < FILES; i++) {
        make_file(&volume, i);
    }
    uint32_t most = idle(&volume);
    uint64_t pages = vflash_counts(volume.flash)->read_pages;
    for (uint32_t i = 0; i < 4; i++) {
        overwrite(&volume, "file2", 1);
        uint32_t again = idle(&volume);
        most = again > most ? again : most;
    }
    pages = (vflash_counts(volume.flash)->read_pages - pages) / 4u;
    printf("idle work after one piece: %u pages read\n", (unsigned)pages);
    CHECK(pages < 30000); /* a look at that file's map, not at all maps */
    printf("idle work on large maps: %u of 1,000 parts of the budget at most\n", (unsigned)most);
    CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
    volume_down(&volume, true);
}

/* Files come, change and go on a volume that is rather full, with a little idle time between: most blocks that nodes are written to are not erased. */
static void hardly_idle(const char *chip, uint32_t budget)
{
    static struct volume volume;
    uint32_t over = 0, most = 0, worked = 0;
    char name[16];

    volume_up(&volume, chip);
    uint32_t size = vflash_chip_of(volume.flash)->size / 24u;
    for (uint32_t i = 0; i < 1500; i++) {
        snprintf(name, sizeof name, "f%u", (unsigned)below(20));
        uint32_t kind = below(10);
        if (kind < 3) {
            int result = nf2_remove(&volume.fs, name);
            CHECK(result == NF2_OK || result == NF2_ERR_NOENT);
        } else if (nf2_open(&volume.fs, &volume.file, name, NF2_O_RDWR | NF2_O_CREAT, volume.page) == NF2_OK) {
            int32_t length = kind < 6 ? 50 : kind < 9 ? 1500 : 4000;
            CHECK(nf2_seek(&volume.fs, &volume.file, (int32_t)below(size), NF2_SEEK_SET) >= 0);
            int32_t done = nf2_write(&volume.fs, &volume.file, data, (uint32_t)length);
            CHECK(done == length || done == NF2_ERR_NOSPC);
            int result = nf2_close(&volume.fs, &volume.file);
            CHECK(result == NF2_OK || result == NF2_ERR_NOSPC);
        }
        for (uint32_t calls = below(3); calls > 0; calls--) {
            uint64_t before = vflash_counts(volume.flash)->time_us;
            CHECK(nf2_maintain(&volume.fs, budget) >= 0);
            uint64_t us = vflash_counts(volume.flash)->time_us - before;
            over += us > budget;
            worked += us > 0;
            most = us > most ? (uint32_t)us : most;
        }
    }
    int more = 1;
    for (uint32_t calls = 0; calls < 1000 && more > 0; calls++) {
        more = nf2_maintain(&volume.fs, budget);
    }
    CHECK(more == 0 || budget < 300000); /* what does not fit in is not put off for ever; a large erase takes half of that */
    printf("%s: of %u us of idle time at most %u, %u times something was done\n", chip, (unsigned)budget, (unsigned)most, (unsigned)worked);
    CHECK_EQ(over, 0);
    CHECK(worked > 100);
    CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
    volume_down(&volume, true);
}

TEST(nothing_erased)
{
    static const struct {
        const char *chip;
        uint32_t budget;
    } cases[] = {{"tiny64k", 512000}, {"tiny64k", 1200000}, {"tiny2m", 200000}, {"tiny2m", 500000}, {"w25q80", 300000}, {"tiny512", 250000}};

    for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        hardly_idle(cases[i].chip, cases[i].budget);
    }
}

/* Sessions that are cut, and idle time of less than an erase behind each: nothing is erased in it, also where a cut turn owes an anchor. */
static void behind_cuts(const char *chip)
{
    static struct volume volume;
    char name[16];
    unsigned over = 0, erased = 0;

    volume_up(&volume, chip);
    for (uint32_t session = 0; session < 400; session++) {
        struct vflash_cut cut = {.operation = 1 + session * 37u % 23u, .byte = session * 7u % 97u, .last_byte_mask = 0x3C, .seed = session};
        cut.erase = (enum vflash_erase_cut)(session % 5);
        vflash_cut_at(volume.flash, &cut);
        int status = NF2_OK;
        for (uint32_t i = 0; i < 60 && status == NF2_OK; i++) {
            snprintf(name, sizeof name, "f%u", (unsigned)(i * 7u % 20u));
            status = put(&volume, name, i * 431u % 5000u + 1u, i);
        }
        vflash_cut_at(volume.flash, NULL);
        vflash_power_on(volume.flash);
        CHECK_EQ(volume_again(&volume, false), NF2_OK);
        const struct vflash_counts *counts = vflash_counts(volume.flash);
        uint64_t us = counts->time_us, erases = counts->erases[0] + counts->erases[1] + counts->erases[2];
        CHECK(nf2_maintain(&volume.fs, 20000) >= 0);
        counts = vflash_counts(volume.flash);
        over += counts->time_us - us > 20000;
        erased += counts->erases[0] + counts->erases[1] + counts->erases[2] > erases;
    }
    printf("%s: idle time of 20 ms behind 400 cuts: %u times it took more, %u times it erased\n", chip, over, erased);
    CHECK_EQ(over, 0);
    CHECK_EQ(erased, 0);
    volume_down(&volume, true);
}

TEST(less_than_an_erase_behind_cuts)
{
    static const char *const chips[] = {"tiny64k", "tiny256k", "tiny2m", "tiny512", "tinyecc16"};

    for (uint32_t i = 0; i < sizeof chips / sizeof chips[0]; i++) {
        behind_cuts(chips[i]);
    }
}

int main(void)
{
    RUN(less_than_an_erase_behind_cuts);
    RUN(nothing_erased);
    RUN(large_maps);
    return check_done();
}
