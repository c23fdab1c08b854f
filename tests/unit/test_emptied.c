/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_emptied.c - a full volume gives all back: each removal works, in any order, and files fit again. Removals of few
 * entries must not take the blocks that are kept for them: leaves stay one where blocks are lacking.
 */
#include <stdio.h>
#include <string.h>

#include "api_volume.h"
#include "check.h"

#define FILES_MAX 8000u
#define NAME_SIZE 40u

static char names[FILES_MAX][NAME_SIZE];
static uint32_t state;

static uint32_t below(uint32_t limit)
{
    state = state * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)state * limit >> 32);
}

/* Files until there is no space for one more: their number. With names in order leaves are filled up. */
static uint32_t fill(struct volume *volume, uint32_t size_max, bool in_order, uint32_t name_length)
{
    uint32_t count = 0;
    int status;

    do {
        if (in_order) {
            snprintf(names[count], NAME_SIZE, "f%0*u", (int)name_length, (unsigned)count);
        } else {
            snprintf(names[count], NAME_SIZE, "%u%.*s", (unsigned)below(1000000000), (int)name_length,
                     "abcdefghijklmnop");
        }
        status = put(volume, names[count], below(size_max), count);
        count++;
    } while (status == NF2_OK && count < FILES_MAX);
    CHECK_EQ(status, NF2_ERR_NOSPC);
    count--;
    int removed = nf2_remove(&volume->fs, names[count]); /* of it the name may be there */
    CHECK(one_of(removed, NF2_OK, NF2_ERR_NOENT, NF2_ERR_NOENT));
    return count;
}

static void shuffle(uint32_t count)
{
    char name[NAME_SIZE];

    for (uint32_t left = count; left > 1; left--) {
        uint32_t other = below(left);
        memcpy(name, names[left - 1], NAME_SIZE);
        memmove(names[left - 1], names[other], NAME_SIZE);
        memcpy(names[other], name, NAME_SIZE);
    }
}

static void empty_and_fill(const char *chip, uint32_t seed, bool in_order)
{
    static struct volume volume;
    uint32_t first = 0, least = UINT32_MAX;

    state = seed * 7919u + 1u;
    volume_up(&volume, chip);
    uint32_t size_max = 1 + below(250), name_length = 4 + below(13), again = below(3);
    for (unsigned round = 0; round < 3; round++) {
        uint32_t count = fill(&volume, size_max, in_order, name_length);
        first = round == 0 ? count : first;
        least = count < least ? count : least;
        if (again > 0) {
            CHECK_EQ(volume_again(&volume, again == 1), NF2_OK);
        }
        shuffle(count);
        for (uint32_t i = 0; i < count; i++) {
            CHECK_EQ(nf2_remove(&volume.fs, names[i]), NF2_OK);
        }
    }
    printf("%s, files below %u bytes: %u, later %u at least\n", chip, (unsigned)size_max, (unsigned)first,
           (unsigned)least);
    CHECK(2 * least > first); /* leaves are two thirds full where names come in any order */
    CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
    volume_down(&volume, true);
}

TEST(removals_on_full)
{
    for (uint32_t seed = 0; seed < 12; seed++) {
        empty_and_fill("tiny128k", seed, seed % 2 == 0);
    }
}

/* Files of one size, with names in order, until there is no space for one more: their number. */
static uint32_t fill_in_order(struct volume *volume, uint32_t size)
{
    uint32_t count = 0;
    int status;

    do {
        snprintf(names[count], NAME_SIZE, "fill%u", (unsigned)count);
        status = put(volume, names[count], size, count);
        count += status == NF2_OK;
    } while (status == NF2_OK && count < FILES_MAX);
    CHECK_EQ(status, NF2_ERR_NOSPC);
    return count;
}

/* Of 104 bytes, in order: with them all blocks but seven are in use. */
TEST(reserve_is_kept)
{
    static struct volume volume;

    volume_up(&volume, "tinyecc16");
    uint32_t count = fill_in_order(&volume, 104);
    CHECK_EQ(volume_again(&volume, true), NF2_OK);
    for (uint32_t i = 0; i < count; i++) {
        CHECK_EQ(nf2_remove(&volume.fs, names[i]), NF2_OK);
    }
    uint32_t again = fill_in_order(&volume, 104);
    printf("files of 104 bytes: %u, then %u\n", (unsigned)count, (unsigned)again);
    CHECK(again + again / 8u > count);
    volume_down(&volume, true);
}

/* A removal on a full volume does not look for blocks that are not there. */
TEST(removals_are_quick)
{
    static struct volume volume;

    volume_up(&volume, "tiny256k");
    CHECK(fill_in_order(&volume, 60) > 700);
    CHECK_EQ(volume_again(&volume, true), NF2_OK);
    struct vflash_counts before = *vflash_counts(volume.flash);
    for (uint32_t i = 0; i < 100; i++) {
        CHECK_EQ(nf2_remove(&volume.fs, names[i * 7u]), NF2_OK);
    }
    const struct vflash_counts *after = vflash_counts(volume.flash);
    unsigned reads = (unsigned)(after->read_pages - before.read_pages) / 100u,
             programs = (unsigned)(after->program_pages - before.program_pages);
    printf("removals on a full volume: %u pages read each, %u programs for a hundred\n", reads, programs);
    CHECK(reads <= 58);
    CHECK(programs <= 137);
    volume_down(&volume, true);
}

static uint32_t reads_since(const struct volume *volume, uint64_t before)
{
    return (uint32_t)(vflash_counts(volume->flash)->read_pages - before);
}

/*
 * Half of a volume was small files that are gone: their leaves are empty until they are joined. What looks for a name that is not
 * there, or for a piece that a map does not have, does not pass through them.
 */
TEST(empty_leaves_are_not_searched)
{
    static const char *const missing[] = { "a", "f06000", "f12999", "zz" };
    static struct volume volume;
    static uint8_t data[4096];
    uint32_t most_stat = 0, most_sync = 0;
    struct nf2_stat stat;
    char name[NAME_SIZE];

    volume_new(&volume, "w25q256");
    volume.config.size = 4u << 20;
    volume_format(&volume);
    for (unsigned i = 0; i < 13000; i++) {
        snprintf(name, sizeof name, "f%05u", i);
        CHECK_EQ(put(&volume, name, 100, i), NF2_OK);
    }
    for (unsigned i = 0; i < 13000; i++) {
        snprintf(name, sizeof name, "f%05u", i);
        CHECK_EQ(nf2_remove(&volume.fs, name), NF2_OK);
    }
    for (unsigned i = 0; i < 4; i++) {
        uint64_t before = vflash_counts(volume.flash)->read_pages;
        CHECK_EQ(nf2_stat(&volume.fs, missing[i], &stat), NF2_ERR_NOENT);
        most_stat = reads_since(&volume, before) > most_stat ? reads_since(&volume, before) : most_stat;
    }
    CHECK_EQ(nf2_open(&volume.fs, &volume.file, "large", NF2_O_RDWR | NF2_O_CREAT, volume.page), NF2_OK);
    for (unsigned i = 0; i < 20; i++) {
        CHECK_EQ(nf2_write(&volume.fs, &volume.file, data, sizeof data), (int)sizeof data);
        uint64_t before = vflash_counts(volume.flash)->read_pages;
        CHECK_EQ(nf2_sync(&volume.fs, &volume.file), NF2_OK);
        most_sync = reads_since(&volume, before) > most_sync ? reads_since(&volume, before) : most_sync;
    }
    CHECK_EQ(nf2_close(&volume.fs, &volume.file), NF2_OK);
    printf("among empty leaves: %u pages read for a name that is not there, %u for a sync\n", (unsigned)most_stat, (unsigned)most_sync);
    CHECK(most_stat <= 300 && most_sync <= 1000);
    volume_down(&volume, true);
}

int main(void)
{
    RUN(removals_are_quick);
    RUN(removals_on_full);
    RUN(reserve_is_kept);
    RUN(empty_leaves_are_not_searched);
    return check_done();
}
