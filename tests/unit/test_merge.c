/* SPDX-License-Identifier: BSD-2-Clause */
/* test_merge.c - idle work after a removal looks at the leaves beside it, and merges as much as a look at all leaves would. */
#include <stdio.h>
#include <string.h>

#include "api_volume.h"
#include "check.h"
#include "core_traits.h"

#define NAMES 1500u
#define KEPT 25u                /* one name of so many stays */

static void name_of(uint32_t i, char *name, size_t size)
{
    snprintf(name, size, "some-file-%05u", (unsigned)i);
}

static uint32_t used(struct volume *volume)
{
    struct nf2_statfs stat;

    CHECK_EQ(nf2_statfs(&volume->fs, &stat), NF2_OK);
    return stat.blocks - stat.blocks_free;
}

/* Names in random order, and none idle work is due for. */
static void fill(struct volume *volume)
{
    char name[64];

    volume_up(volume, "w25q80");
    for (uint32_t i = 0; i < NAMES; i++) {
        name_of(i * 611u % NAMES, name, sizeof name);
        CHECK_EQ(put(volume, name, 20, i), NF2_OK);
    }
    CHECK_EQ(maintain_all(volume), NF2_OK);
}

static void remove_one(struct volume *volume, uint32_t i)
{
    char name[64];

    name_of(i, name, sizeof name);
    CHECK_EQ(nf2_remove(&volume->fs, name), NF2_OK);
}

/* Idle work after one removal does not grow with the tree. */
TEST(reads_after_a_removal)
{
    static struct volume volume;
    uint64_t most = 0;

    fill(&volume);
    for (uint32_t i = 0; i < 40; i++) {
        remove_one(&volume, i * 37u);
        uint64_t before = vflash_counts(volume.flash)->read_pages;
        CHECK_EQ(maintain_all(&volume), NF2_OK);
        uint64_t pages = vflash_counts(volume.flash)->read_pages - before;
        most = pages > most ? pages : most;
    }
    printf("%u blocks in use, idle work after a removal: %u pages read at most\n", (unsigned)used(&volume), (unsigned)most);
    CHECK(used(&volume) > 25);
    CHECK(most <= CORE_IDLE_READS(used(&volume)));
    volume_down(&volume, true);
}

/* A name that comes and goes makes no work but once. */
TEST(one_name_again_and_again)
{
    static struct volume volume;
    uint64_t most = 0;

    fill(&volume);
    for (uint32_t i = 0; i < 40; i++) {
        CHECK_EQ(put(&volume, "some-file-x", 20, i), NF2_OK);
        CHECK_EQ(nf2_remove(&volume.fs, "some-file-x"), NF2_OK);
        uint64_t before = vflash_counts(volume.flash)->read_pages;
        CHECK_EQ(maintain_all(&volume), NF2_OK);
        uint64_t pages = vflash_counts(volume.flash)->read_pages - before;
        most = pages > most && i > 0 ? pages : most;
    }
    printf("idle work after a name came and went: %u pages read at most\n", (unsigned)most);
    CHECK(most <= CORE_IDLE_READS(used(&volume)));
    volume_down(&volume, true);
}

/* In the order given by `step`, one after the other with idle time between: a mount, and a look at all leaves, win nothing more. */
static void empty_slowly(uint32_t step)
{
    static struct volume volume;

    fill(&volume);
    uint32_t full = used(&volume);
    for (uint32_t i = 0; i < NAMES; i++) {
        uint32_t number = i * step % NAMES;
        if (number % KEPT != 0) {
            remove_one(&volume, number);
            CHECK_EQ(maintain_all(&volume), NF2_OK);
        }
    }
    uint32_t slowly = used(&volume);
    CHECK_EQ(volume_again(&volume, true), NF2_OK);
    CHECK_EQ(maintain_all(&volume), NF2_OK);
    printf("%u blocks in use, %u when nearly all names are removed, %u after a look at all leaves\n", (unsigned)full, (unsigned)slowly,
           (unsigned)used(&volume));
    CHECK(used(&volume) >= slowly && used(&volume) <= slowly + 1u); /* one may be a claim's, for nodes */
    CHECK(slowly < full / 3);
    CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
    volume_down(&volume, true);
}

TEST(removed_in_order)
{
    empty_slowly(1);
}

TEST(removed_here_and_there)
{
    empty_slowly(611);
}

static void put_names(struct volume *volume, const char *format, uint32_t count, uint32_t size)
{
    char name[32];

    for (uint32_t i = 0; i < count; i++) {
        snprintf(name, sizeof name, format, (unsigned)i);
        CHECK_EQ(put(volume, name, size, i), NF2_OK);
    }
}

/* A write that is refused for space looks at all leaves once, not each time that it is tried again. */
TEST(refused_again_and_again)
{
    static struct volume volume;
    static uint8_t data[16384];
    uint64_t most = 0;

    volume_up(&volume, "w25q80");
    put_names(&volume, "some-file-%05u", 4000, 20);
    CHECK_EQ(maintain_all(&volume), NF2_OK);
    CHECK_EQ(nf2_open(&volume.fs, &volume.file, "data", NF2_O_WRONLY | NF2_O_CREAT, volume.page), NF2_OK);
    while (nf2_write(&volume.fs, &volume.file, data, 4096) > 0) {
    }
    CHECK_EQ(maintain_all(&volume), NF2_OK);
    for (uint32_t i = 0; i < 10; i++) {
        uint64_t before = vflash_counts(volume.flash)->read_pages;
        CHECK_EQ(nf2_write(&volume.fs, &volume.file, data, sizeof data), NF2_ERR_NOSPC);
        uint64_t pages = vflash_counts(volume.flash)->read_pages - before;
        most = pages > most && i > 0 ? pages : most;
    }
    printf("a write refused once more: %u pages read at most\n", (unsigned)most);
    CHECK(most <= 1200);
    CHECK_EQ(nf2_close(&volume.fs, &volume.file), NF2_ERR_NOSPC);
    volume_down(&volume, true);
}

/*
 * What one call erases for joins of leaves has a bound, but for those that its space depends on: a full volume of which most
 * names were removed takes one large write at once.
 */
TEST(joined_for_one_write)
{
    static struct volume volume;
    static uint8_t data[384 * 1024];
    uint32_t count = 0;
    char name[32];

    volume_up(&volume, "w25q80");
    for (;; count++) {
        name_of(count * 7919u % 100000u, name, sizeof name);
        if (put(&volume, name, 60, count) != NF2_OK) {
            break;
        }
    }
    for (uint32_t i = 0; i <= count; i++) {
        name_of(i * 7919u % 100000u, name, sizeof name);
        if (i % 10 > 2) {
            CHECK(nf2_remove(&volume.fs, name) == NF2_OK || i == count);
        }
    }
    CHECK_EQ(nf2_open(&volume.fs, &volume.file, "data", NF2_O_WRONLY | NF2_O_CREAT, volume.page), NF2_OK);
    CHECK_EQ(nf2_write(&volume.fs, &volume.file, data, sizeof data), (int32_t)sizeof data);
    CHECK_EQ(nf2_close(&volume.fs, &volume.file), NF2_OK);
    CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
    volume_down(&volume, true);
}

int main(void)
{
    RUN(joined_for_one_write);
    RUN(reads_after_a_removal);
    RUN(one_name_again_and_again);
    RUN(removed_in_order);
    RUN(removed_here_and_there);
    RUN(refused_again_and_again);
    return check_done();
}
