/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_promises.c - what is accepted can be made durable, up to the last block, also where what is free lies in several
 * windows; what nf2_preallocate set aside is there whatever else is written; nf2_statfs says no more than there is.
 */
#include <stdio.h>
#include <string.h>

#include "api_volume.h"
#include "check.h"

#define BLOCK 4096u

static uint32_t state;
static uint8_t bytes[BLOCK];
static uint8_t page[NF2_PAGE_MAX];

static uint32_t below(uint32_t limit)
{
    state = state * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)state * limit >> 32);
}

/* A volume of so many blocks at the front of a large chip. */
static void volume_of(struct volume *volume, uint32_t blocks)
{
    volume_new(volume, "w25q256");
    volume->config.size = blocks * BLOCK;
    volume_format(volume);
}

static struct nf2_statfs space_of(struct volume *volume)
{
    struct nf2_statfs space;

    CHECK_EQ(nf2_statfs(&volume->fs, &space), NF2_OK);
    return space;
}

static void open_new(struct volume *volume, nf2_file_t *file, const char *name, uint8_t *buffer)
{
    CHECK_EQ(nf2_open(&volume->fs, file, name, NF2_O_WRONLY | NF2_O_CREAT, buffer), NF2_OK);
}

/* What it took can be made durable, and goes away again. */
static void close_and_remove(struct volume *volume, nf2_file_t *file, const char *name, uint32_t size)
{
    uint32_t found = 0;

    CHECK_EQ(nf2_close(&volume->fs, file), NF2_OK);
    CHECK_EQ(size_of(volume, name, &found), NF2_OK);
    CHECK_EQ(found, size);
    CHECK_EQ(nf2_remove(&volume->fs, name), NF2_OK);
}

static void write_blocks(struct volume *volume, nf2_file_t *file, uint32_t count)
{
    for (uint32_t n = 0; n < count; n++) {
        CHECK_EQ(nf2_write(&volume->fs, file, bytes, BLOCK), (int)BLOCK);
    }
}

/* Appends pieces until one is refused: so many were not. */
static uint32_t append_all(struct volume *volume, nf2_file_t *file, uint32_t piece)
{
    uint32_t count = 0;
    int written;

    while ((written = nf2_write(&volume->fs, file, bytes, piece)) == (int)piece) {
        count++;
    }
    CHECK_EQ(written, NF2_ERR_NOSPC);
    CHECK_EQ(nf2_write(&volume->fs, file, NULL, 0), 0); /* the pieces are enough */
    return count;
}

/* One file takes all that is there, in short pieces; again and again. */
TEST(short_pieces_fill_the_volume)
{
    static const uint32_t sizes[] = {32, 512, 513, 1024, 2560};
    static struct volume volume;

    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        volume_of(&volume, sizes[i]);
        for (unsigned turn = 0; turn < 6; turn++) {
            nf2_file_t file;
            open_new(&volume, &file, "all", page);
            uint32_t count = append_all(&volume, &file, 300);
            CHECK(count > 100);
            close_and_remove(&volume, &file, "all", count * 300);
        }
        volume_down(&volume, true);
    }
}

static void name_of(char *name, uint32_t number)
{
    snprintf(name, 16, "k%u", (unsigned)number);
}

/* Small and large files come and go; some are left: what is free lies here and there. */
static void scatter(struct volume *volume, uint32_t changes)
{
    char name[16];

    for (uint32_t i = 0; i < changes; i++) {
        name_of(name, below(400));
        if (below(2) == 0) {
            (void)nf2_remove(&volume->fs, name);
        } else if (put(volume, name, below(3) == 0 ? below(20000) : below(600), i) == NF2_ERR_NOSPC) {
            (void)nf2_remove(&volume->fs, name);
        }
        if (below(30) == 0) {
            (void)nf2_maintain(&volume->fs, 200000);
        }
    }
}

static void remove_all(struct volume *volume)
{
    char name[16];

    for (uint32_t i = 0; i < 400; i++) {
        name_of(name, i);
        (void)nf2_remove(&volume->fs, name);
    }
}

/* On volumes that were in use before, with or without a mount or a cut in between. */
TEST(what_is_free_is_scattered)
{
    static const uint32_t sizes[] = {600, 1024, 2560};
    static struct volume volume;
    unsigned closes = 0;

    for (uint32_t seed = 0; seed < 24; seed++) {
        state = seed;
        volume_of(&volume, sizes[seed % 3]);
        for (unsigned turn = 0; turn < 4; turn++) {
            nf2_file_t file;
            scatter(&volume, below(3000));
            if (below(2) == 0) {
                CHECK_EQ(volume_again(&volume, below(2) == 0), NF2_OK);
            }
            if (below(2) == 0) {
                remove_all(&volume);
            }
            open_new(&volume, &file, "cap", page);
            close_and_remove(&volume, &file, "cap", append_all(&volume, &file, BLOCK) * BLOCK);
            remove_all(&volume);
            closes++;
        }
        volume_down(&volume, true);
    }
    printf("%u closes of a file that filled a volume in use\n", closes);
}

/* All that nf2_statfs has is set aside, and written. */
TEST(all_is_set_aside)
{
    static const uint32_t sizes[] = {64, 513, 1024, 2560, 8192};
    static struct volume volume;

    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        volume_of(&volume, sizes[i]);
        for (unsigned turn = 0; turn < 3; turn++) {
            nf2_file_t file;
            uint32_t blocks = space_of(&volume).blocks_available;
            open_new(&volume, &file, "all", page);
            while (blocks > 0 && nf2_preallocate(&volume.fs, &file, blocks * BLOCK) == NF2_ERR_NOSPC) {
                blocks--;
            }
            CHECK(blocks > (turn == 0 ? sizes[i] / 2 : 0));
            write_blocks(&volume, &file, blocks);
            close_and_remove(&volume, &file, "all", blocks * BLOCK);
        }
        volume_down(&volume, true);
    }
}

/* A second file gets all that statfs has, too: other windows are counted once. */
TEST(a_second_is_set_aside)
{
    static const uint32_t sizes[] = {600, 1100, 8192};
    static struct volume volume;
    static uint8_t other[NF2_PAGE_MAX];

    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        nf2_file_t file;
        volume_of(&volume, sizes[i]);
        open_new(&volume, &volume.file, "a", page);
        open_new(&volume, &file, "b", other);
        CHECK_EQ(nf2_preallocate(&volume.fs, &volume.file, 1), NF2_OK);
        uint32_t blocks = (space_of(&volume).blocks_available - 1) * 32 / 33; /* with a block for each 32 */
        CHECK_EQ(nf2_preallocate(&volume.fs, &file, blocks * BLOCK), NF2_OK);
        CHECK_EQ(nf2_preallocate(&volume.fs, &file, (blocks + 2) * BLOCK), NF2_ERR_NOSPC);
        write_blocks(&volume, &file, blocks);
        CHECK_EQ(nf2_close(&volume.fs, &volume.file), NF2_OK);
        close_and_remove(&volume, &file, "b", blocks * BLOCK);
        volume_down(&volume, true);
    }
}

/* A new file is written until that is refused, beside another one for which blocks are set aside: what was taken is made durable. */
TEST(refused_beside_a_promise)
{
    static struct volume volume;
    static uint8_t other[NF2_PAGE_MAX];
    char name[16];

    struct vflash_chip chip = *vflash_chip_find("w25q64");

    chip.program_unit = 32;
    for (uint32_t i = 0; i < 60; i++) {
        nf2_file_t file;
        uint32_t taken = 0, files = i / 6 * 3, set_aside = i % 6;
        volume_new_on(&volume, &chip);
        volume.config.offset = 3 * BLOCK;
        volume.config.size = 64 * BLOCK;
        volume_format(&volume);
        for (uint32_t k = 0; k < files; k++) {
            snprintf(name, sizeof name, "x%u", (unsigned)k);
            CHECK_EQ(put(&volume, name, 3000 + k * 17, k), NF2_OK);
        }
        open_new(&volume, &volume.file, "a", page);
        CHECK_EQ(nf2_sync(&volume.fs, &volume.file), NF2_OK);
        CHECK_EQ(nf2_preallocate(&volume.fs, &volume.file, set_aside * BLOCK), NF2_OK);
        open_new(&volume, &file, "new", other);
        while (nf2_write(&volume.fs, &file, bytes, BLOCK) == (int)BLOCK) {
            taken += BLOCK;
        }
        CHECK_EQ(nf2_write(&volume.fs, &file, NULL, 0), 0);
        CHECK_EQ(nf2_sync(&volume.fs, &file), NF2_OK);
        for (uint32_t k = 0; k < set_aside; k++) { /* and the promise is kept */
            CHECK_EQ(nf2_write(&volume.fs, &volume.file, bytes, BLOCK), (int)BLOCK);
        }
        CHECK_EQ(nf2_close(&volume.fs, &volume.file), NF2_OK);
        close_and_remove(&volume, &file, "new", taken);
        volume_down(&volume, true);
    }
}

/* Synced appends of another file are refused before they take what was set aside. */
TEST(appends_leave_what_is_set_aside)
{
    static const uint32_t sizes[] = {64, 256};
    static struct volume volume;
    static uint8_t other[NF2_PAGE_MAX];

    for (unsigned i = 0; i < 2; i++) {
        uint32_t want = sizes[i] * BLOCK / 3;
        nf2_file_t file, log;
        int status;
        volume_of(&volume, sizes[i]);
        open_new(&volume, &file, "a", page);
        CHECK_EQ(nf2_preallocate(&volume.fs, &file, want), NF2_OK);
        open_new(&volume, &log, "log", other);
        do {
            status = nf2_write(&volume.fs, &log, bytes, 100);
            status = status < 0 ? status : nf2_sync(&volume.fs, &log);
        } while (status == NF2_OK);
        CHECK_EQ(status, NF2_ERR_NOSPC);
        for (uint32_t n = 0; n < want / 100; n++) {
            CHECK_EQ(nf2_write(&volume.fs, &file, bytes, 100), 100);
        }
        CHECK_EQ(nf2_close(&volume.fs, &file), NF2_OK);
        (void)nf2_close(&volume.fs, &log);
        volume_down(&volume, true);
    }
}

/* On a small volume the tree gets a level while a file is written: blocks are kept for that from the start. */
TEST(the_tree_gets_higher)
{
    static const uint32_t sizes[] = {32, 40, 48, 63, 64};
    static struct volume volume;
    static uint8_t other[NF2_PAGE_MAX];
    char name[16];

    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (uint32_t files = 0; files < 60; files += 4) {
            nf2_file_t file, small;
            volume_of(&volume, sizes[i]);
            for (uint32_t n = 0; n < files; n++) {
                name_of(name, n);
                CHECK_EQ(put(&volume, name, 100, n), NF2_OK);
            }
            open_new(&volume, &file, "all", page);
            (void)append_all(&volume, &file, 1400);
            open_new(&volume, &small, "b", other);
            int status = nf2_write(&volume.fs, &small, bytes, 120);
            CHECK(one_of(status, 120, NF2_ERR_NOSPC, NF2_ERR_NOSPC));
            CHECK_EQ(nf2_close(&volume.fs, &small), NF2_OK);
            CHECK_EQ(nf2_close(&volume.fs, &file), NF2_OK);
            volume_down(&volume, true);
        }
    }
}

/* Nothing is counted twice: an empty volume never has more free blocks than blocks. */
TEST(no_more_is_free_than_there_is)
{
    static struct volume volume;
    uint32_t most = 0;

    volume_of(&volume, 1024);
    for (unsigned turn = 0; turn < 12; turn++) {
        nf2_file_t file;
        CHECK_EQ(maintain_all(&volume), NF2_OK);
        uint32_t free = space_of(&volume).blocks_free;
        most = free > most ? free : most;
        uint32_t blocks = space_of(&volume).blocks_available;
        open_new(&volume, &file, "all", page);
        write_blocks(&volume, &file, blocks);
        CHECK(space_of(&volume).blocks_free + blocks <= 1024);
        close_and_remove(&volume, &file, "all", blocks * BLOCK);
    }
    printf("an empty volume of 1,024 blocks has up to %u free ones\n", (unsigned)most);
    CHECK(most <= 1024 - 5);
    volume_down(&volume, true);
}

/* Two files have blocks set aside, others have the rest: small writes of both are still taken. */
TEST(two_files_set_aside)
{
    static uint8_t other[NF2_PAGE_MAX];
    struct volume volume;
    nf2_file_t file;
    char name[16];

    for (uint32_t blocks = 32; blocks <= 128; blocks += 16) {
        volume_of(&volume, blocks);
        CHECK_EQ(put(&volume, "b", 3000, 1), NF2_OK);
        open_new(&volume, &volume.file, "a", page);
        CHECK_EQ(nf2_open(&volume.fs, &file, "b", NF2_O_WRONLY | NF2_O_APPEND, other), NF2_OK);
        CHECK_EQ(nf2_preallocate(&volume.fs, &volume.file, 3600), NF2_OK);
        CHECK_EQ(nf2_preallocate(&volume.fs, &file, 12000), NF2_OK);
        for (uint32_t i = 0, status = 0; status == 0; i++) {
            snprintf(name, sizeof name, "o%u", (unsigned)i);
            status = put(&volume, name, 700, i) != NF2_OK;
        }
        CHECK_EQ(nf2_write(&volume.fs, &file, bytes, 10), 10);
        CHECK_EQ(nf2_sync(&volume.fs, &file), NF2_OK);
        CHECK_EQ(nf2_write(&volume.fs, &volume.file, bytes, 14), 14);
        CHECK_EQ(nf2_close(&volume.fs, &volume.file), NF2_OK);
        CHECK_EQ(nf2_close(&volume.fs, &file), NF2_OK);
        volume_down(&volume, true);
    }
}

/*
 * A full volume of small files of which any goes when a new one comes: leaves are left half empty all over. They are joined where
 * nothing else gives room. Without that files of a third of the first ones' bytes fill the volume.
 */
TEST(small_files_come_and_go)
{
    static uint32_t number[4000];
    struct volume volume;
    uint32_t files = 0, most = 0, next = 0;
    char name[16];

    state = 1;
    volume_of(&volume, 64);
    for (uint32_t i = 0; i < 3500; i++) {
        snprintf(name, sizeof name, "f%08u", (unsigned)next);
        if (put(&volume, name, 100, next) == NF2_OK) {
            number[files++] = next++;
            continue;
        }
        most = most == 0 ? files : most;
        (void)nf2_remove(&volume.fs, name);
        for (uint32_t n = below(3) + 1; n > 0; n--) {
            uint32_t at = below(files);
            snprintf(name, sizeof name, "f%08u", (unsigned)number[at]);
            CHECK_EQ(nf2_remove(&volume.fs, name), NF2_OK);
            number[at] = number[--files];
        }
    }
    printf("%u small files at first, %u at last\n", (unsigned)most, (unsigned)files);
    CHECK(most > 0 && 3 * files > 2 * most);
    for (uint32_t i = 0; i < files; i++) {
        snprintf(name, sizeof name, "f%08u", (unsigned)number[i]);
        CHECK(holds(&volume, name, 100, number[i]));
    }
    volume_down(&volume, true);
}

int main(void)
{
    RUN(two_files_set_aside);
    RUN(small_files_come_and_go);
    RUN(short_pieces_fill_the_volume);
    RUN(what_is_free_is_scattered);
    RUN(all_is_set_aside);
    RUN(a_second_is_set_aside);
    RUN(refused_beside_a_promise);
    RUN(appends_leave_what_is_set_aside);
    RUN(the_tree_gets_higher);
    RUN(no_more_is_free_than_there_is);
    return check_done();
}
