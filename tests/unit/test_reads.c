/* SPDX-License-Identifier: BSD-2-Clause */
/* test_reads.c - what listing, looking up and reading small files read, and that the short cuts they take are right. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api_volume.h"
#include "check.h"
#include "core_traits.h"

#define NAMES 150u
#define NAME_BYTES 256u

static const char *const chips[] = { "w25q80", "tinyecc16", "tiny512" };
static const char *chip;

static uint64_t bytes_read(const struct volume *volume)
{
    return vflash_counts(volume->flash)->read_bytes;
}

static uint32_t blocks_of_log(const struct volume *volume)
{
    uint32_t log = 8192; /* at most */
    return log < volume->driver.block_size ? log : volume->driver.block_size;
}

static void make_names(struct volume *volume, const char *format, uint32_t count)
{
    char name[64];

    for (uint32_t i = 0; i < count; i++) { /* not in order: 67 has no divisor in common with the counts used here */
        snprintf(name, sizeof name, format, (unsigned)(i * 67 % count));
        CHECK_EQ(put(volume, name, 12, i), NF2_OK);
    }
}

/* Lists a directory: how many names, each above the one before it. */
static uint32_t list(struct volume *volume, const char *path)
{
    nf2_dir_t dir;
    struct nf2_dirent entry;
    char last[NAME_BYTES] = "";
    uint32_t count = 0;

    CHECK_EQ(nf2_opendir(&volume->fs, &dir, path), NF2_OK);
    while (nf2_readdir(&volume->fs, &dir, &entry) == 1) {
        CHECK(core_name_order(last, entry.name) < 0);
        memcpy(last, entry.name, sizeof last);
        count++;
    }
    CHECK_EQ(nf2_closedir(&volume->fs, &dir), NF2_OK);
    return count;
}

/* A listing is a few passes over each leaf, and little for each name; so also where the names have much in common. */
TEST(listing)
{
    static const char *const formats[] = { "%03u", "some-long-common-part-%03u.txt" };
    struct volume volume;

    for (unsigned i = 0; i < 2; i++) {
        volume_up(&volume, chip);
        make_names(&volume, formats[i], NAMES);
        CHECK_EQ(volume_again(&volume, true), NF2_OK);
        uint64_t before = bytes_read(&volume);
        CHECK_EQ(list(&volume, "/"), NAMES);
        uint32_t leaves = NAMES * (i == 0 ? 30 : 50) / (blocks_of_log(&volume) / 2) + 1;
        CHECK(bytes_read(&volume) - before < leaves * 4 * blocks_of_log(&volume) + NAMES * 100);
        volume_down(&volume, true);
    }
}

/* Names that only differ behind what they begin with, beside others that differ early. */
TEST(listing_of_ties)
{
    struct volume volume;

    volume_up(&volume, chip);
    CHECK_EQ(put(&volume, "a", 1, 1), NF2_OK);
    make_names(&volume, "common-%03u", 60);
    make_names(&volume, "comm%03u", 30);
    CHECK_EQ(put(&volume, "zebra", 1, 1), NF2_OK);
    CHECK_EQ(list(&volume, "/"), 92);
    volume_down(&volume, true);
}

/* What is there all the time is listed once, also with long names, and while others come, go and are replaced. */
TEST(listing_of_changes)
{
    struct volume volume;
    nf2_dir_t dir;
    struct nf2_dirent entry;
    char name[NAME_BYTES];
    uint32_t stay = 0, round = 0;

    volume_up(&volume, chip);
    for (uint32_t i = 0; i < 40; i++) {
        memset(name, 'a' + (int)(i % 7), sizeof name);
        snprintf(name + (i % 4 == 3 ? 240 : i % 5), 16, "%02u", (unsigned)i);
        CHECK_EQ(put(&volume, name, 5, i), NF2_OK);
    }
    CHECK_EQ(nf2_opendir(&volume.fs, &dir, "/"), NF2_OK);
    while (nf2_readdir(&volume.fs, &dir, &entry) == 1) {
        stay += strncmp(entry.name, "new", 3) != 0;
        CHECK_EQ(put(&volume, entry.name, 6 + round, round), NF2_OK);
        snprintf(name, sizeof name, "new%u", (unsigned)round);
        CHECK_EQ(put(&volume, name, 5, round), NF2_OK);
        if (round++ > 0) {
            snprintf(name, sizeof name, "new%u", (unsigned)round - 2);
            CHECK_EQ(nf2_remove(&volume.fs, name), NF2_OK);
        }
        CHECK(round < 200);
    }
    CHECK_EQ(stay, 40);
    CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
    volume_down(&volume, true);
}

/* Files of one leaf, after a first look: their records and little else are read. */
TEST(small_files)
{
    struct volume volume;
    char name[64], data[16];

    volume_up(&volume, chip);
    CHECK_EQ(nf2_mkdir(&volume.fs, "d"), NF2_OK);
    CHECK_EQ(nf2_mkdir(&volume.fs, "d/e"), NF2_OK);
    make_names(&volume, "d/e/%03u", 60);
    CHECK_EQ(volume_again(&volume, true), NF2_OK);
    CHECK(holds(&volume, "d/e/000", 12, 0));
    uint64_t before = bytes_read(&volume);
    for (uint32_t i = 0; i < 60; i++) {
        snprintf(name, sizeof name, "d/e/%03u", (unsigned)(i * 7 % 60));
        CHECK_EQ(nf2_open(&volume.fs, &volume.file, name, NF2_O_RDONLY, NULL), NF2_OK);
        CHECK_EQ(nf2_read(&volume.fs, &volume.file, data, sizeof data), 12);
        CHECK_EQ(nf2_close(&volume.fs, &volume.file), NF2_OK);
    }
    uint64_t bytes = (bytes_read(&volume) - before) / 60u;
    printf("a look into one of 60 small files: %u bytes read\n", (unsigned)bytes);
    CHECK(bytes <= CORE_BYTES_SMALL_FILE);
    volume_down(&volume, true);
}

/* The way to a directory is known until it is another one. */
TEST(known_directories)
{
    struct volume volume;

    volume_up(&volume, chip);
    CHECK_EQ(nf2_mkdir(&volume.fs, "a"), NF2_OK);
    CHECK_EQ(nf2_mkdir(&volume.fs, "a/in"), NF2_OK);
    CHECK_EQ(put(&volume, "a/in/x", 10, 1), NF2_OK);
    CHECK(holds(&volume, "a/in/x", 10, 1));
    CHECK_EQ(nf2_rename(&volume.fs, "a", "b"), NF2_OK);
    CHECK_EQ(size_of(&volume, "a/in/x", NULL), NF2_ERR_NOENT);
    CHECK(holds(&volume, "b/in/x", 10, 1));
    CHECK_EQ(nf2_mkdir(&volume.fs, "a"), NF2_OK);
    CHECK_EQ(size_of(&volume, "a/in/x", NULL), NF2_ERR_NOENT);
    CHECK_EQ(nf2_rename(&volume.fs, "b/in", "a/in"), NF2_OK);
    CHECK_EQ(size_of(&volume, "b/in/x", NULL), NF2_ERR_NOENT);
    CHECK(holds(&volume, "a/in/x", 10, 1));
    CHECK_EQ(nf2_rename(&volume.fs, "a", "b"), NF2_OK); /* replaces the empty one */
    CHECK(holds(&volume, "b/in/x", 10, 1));
    CHECK_EQ(nf2_remove(&volume.fs, "b/in/x"), NF2_OK);
    CHECK_EQ(nf2_remove(&volume.fs, "b/in"), NF2_OK);
    CHECK_EQ(size_of(&volume, "b/in/x", NULL), NF2_ERR_NOENT);
    CHECK_EQ(put(&volume, "b/in", 10, 2), NF2_OK);
    CHECK_EQ(size_of(&volume, "b/in/x", NULL), NF2_ERR_NOTDIR);
    volume_down(&volume, true);
}

/* More entries in a leaf than the tree buffer takes. */
TEST(crowded_leaf)
{
    struct volume volume;
    char name[64];

    volume_up(&volume, chip);
    for (uint32_t i = 0; i < 400; i++) {
        snprintf(name, sizeof name, "%03u", (unsigned)(i * 67 % 400));
        CHECK_EQ(put(&volume, name, 0, 0), NF2_OK);
        CHECK_EQ(size_of(&volume, name, NULL), NF2_OK);
    }
    for (uint32_t i = 0; i < 400; i++) {
        snprintf(name, sizeof name, "%03u", (unsigned)i);
        CHECK_EQ(size_of(&volume, name, NULL), NF2_OK);
        CHECK(i % 2 == 0 || nf2_remove(&volume.fs, name) == NF2_OK);
    }
    CHECK_EQ(size_of(&volume, "401", NULL), NF2_ERR_NOENT);
    CHECK_EQ(size_of(&volume, "399", NULL), NF2_ERR_NOENT);
    CHECK_EQ(list(&volume, "/"), 200);
    CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
    volume_down(&volume, true);
}

/* Names asked for in order: a search goes on where the last one ended. */
TEST(in_order)
{
    struct volume volume;
    char name[64];

    volume_up(&volume, chip);
    CHECK_EQ(nf2_mkdir(&volume.fs, "d"), NF2_OK);
    make_names(&volume, "d/%03u", NAMES);
    CHECK_EQ(volume_again(&volume, true), NF2_OK);
    uint64_t before = bytes_read(&volume);
    for (uint32_t i = 0; i < NAMES; i++) {
        snprintf(name, sizeof name, "d/%03u", (unsigned)i);
        CHECK_EQ(size_of(&volume, name, NULL), NF2_OK);
    }
    uint64_t bytes = (bytes_read(&volume) - before) / NAMES;
    printf("a look at one of %u names in order: %u bytes read\n", NAMES, (unsigned)bytes);
    CHECK(bytes <= 450);
    volume_down(&volume, true);
}

/* A look at each name that is listed, and at others, which change between: the listing goes on behind what it gave. */
TEST(looks_between)
{
    struct volume volume;
    nf2_dir_t dir;
    struct nf2_dirent entry;
    char name[64];
    uint32_t count = 0;

    volume_up(&volume, chip);
    make_names(&volume, "%03u", NAMES);
    CHECK_EQ(nf2_opendir(&volume.fs, &dir, "/"), NF2_OK);
    while (nf2_readdir(&volume.fs, &dir, &entry) == 1) {
        snprintf(name, sizeof name, "%03u", (unsigned)count);
        CHECK(strcmp(entry.name, name) == 0);
        CHECK_EQ(entry.size, 12 + count % 2);
        CHECK(count % 2 == 0 || holds(&volume, entry.name, 13, count));
        snprintf(name, sizeof name, "%03u", (unsigned)count + 1);
        if (count % 4 == 0) {   /* the next one is another record then */
            CHECK_EQ(put(&volume, name, 13, count + 1), NF2_OK);
            CHECK_EQ(size_of(&volume, name, NULL), NF2_OK);
        } else if (count % 4 == 2) { /* it goes, and comes again */
            CHECK_EQ(nf2_remove(&volume.fs, name), NF2_OK);
            CHECK_EQ(size_of(&volume, name, NULL), NF2_ERR_NOENT);
            CHECK_EQ(put(&volume, name, 13, count + 1), NF2_OK);
        }
        count++;
    }
    CHECK_EQ(count, NAMES);
    volume_down(&volume, true);
}

/* Read from the front, a file in short pieces costs little more than its pages. */
TEST(pieces_in_order)
{
    struct volume volume;
    static uint8_t data[256];
    uint32_t pieces = 400, state = 1;

    volume_up(&volume, "w25q80");
    CHECK_EQ(put(&volume, "table", pieces * 256, 1), NF2_OK);
    CHECK_EQ(nf2_open(&volume.fs, &volume.file, "table", NF2_O_RDWR, volume.page), NF2_OK);
    for (uint32_t i = 0; i < 3 * pieces; i++) {
        state = state * 1664525u + 1013904223u;
        CHECK(nf2_seek(&volume.fs, &volume.file, (int32_t)((state >> 8) % pieces * 256u), NF2_SEEK_SET) >= 0);
        CHECK_EQ(nf2_write(&volume.fs, &volume.file, data, sizeof data), (int32_t)sizeof data);
        CHECK_EQ(nf2_sync(&volume.fs, &volume.file), NF2_OK);
    }
    CHECK_EQ(nf2_close(&volume.fs, &volume.file), NF2_OK);
    CHECK_EQ(nf2_open(&volume.fs, &volume.file, "table", NF2_O_RDONLY, NULL), NF2_OK);
    uint64_t before = vflash_counts(volume.flash)->read_pages;
    for (uint32_t i = 0; i < pieces; i++) {
        CHECK_EQ(nf2_read(&volume.fs, &volume.file, data, sizeof data), (int32_t)sizeof data);
    }
    uint64_t pages = (vflash_counts(volume.flash)->read_pages - before) * 10u / pieces;
    printf("%u pieces of a page in order: %u.%u pages read for each\n", (unsigned)pieces, (unsigned)pages / 10u, (unsigned)pages % 10u);
    CHECK(pages <= 30);
    CHECK_EQ(nf2_close(&volume.fs, &volume.file), NF2_OK);
    volume_down(&volume, true);
}

/* A rename searches its leaves for the old and the new name in one pass, wherever the names lie. */
TEST(renames)
{
    struct volume volume;
    char from[NAME_BYTES], to[NAME_BYTES];

    volume_up(&volume, "w25q80");
    make_names(&volume, "file-of-some-length-%03u", 600);
    uint64_t before = vflash_counts(volume.flash)->read_pages;
    for (uint32_t i = 0; i < 60; i++) {
        snprintf(from, sizeof from, "file-of-some-length-%03u", (unsigned)(i * 7u));
        snprintf(to, sizeof to, "file-of-some-length-%03u", (unsigned)(700u + i * 37u % 60u));
        CHECK_EQ(nf2_rename(&volume.fs, from, to), NF2_OK);
    }
    uint64_t pages = (vflash_counts(volume.flash)->read_pages - before) / 60u;
    printf("a rename among 600 names: %u pages read\n", (unsigned)pages);
    CHECK(pages <= CORE_PAGES_RENAME);
    volume_down(&volume, true);
}

int main(void)
{
    for (unsigned i = 0; i < sizeof chips / sizeof chips[0]; i++) {
        chip = chips[i];
        printf("chip %s\n", chip);
        RUN(listing);
        RUN(listing_of_ties);
        RUN(listing_of_changes);
        RUN(small_files);
        RUN(known_directories);
        RUN(crowded_leaf);
        RUN(in_order);
        RUN(looks_between);
    }
    RUN(pieces_in_order);
    RUN(renames);
    return check_done();
}
