/* SPDX-License-Identifier: BSD-2-Clause */
/* test_compact.c - random overwrites of a large file in its steady state: right, never refused, at a bounded cost. */
#include <stdio.h>
#include <string.h>

#include "api_volume.h"
#include "check.h"

#include "src/descent.h"
#include "src/region.h"
#include "src/space.h"
#include "src/turn.h"

#define FILE_MAX (8u * 1024u * 1024u)

static uint8_t content[FILE_MAX];
static uint32_t state;

static uint32_t random_below(uint32_t limit)
{
    state = state * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)state * limit >> 32);
}

static void overwrite(struct volume *volume, uint32_t at, uint32_t size)
{
    for (uint32_t i = 0; i < size; i++) {
        content[at + i] = (uint8_t)(random_below(256));
    }
    CHECK_EQ(nf2_seek(&volume->fs, &volume->file, (int32_t)at, NF2_SEEK_SET), (int32_t)at);
    CHECK_EQ(nf2_write(&volume->fs, &volume->file, content + at, size), (int32_t)size);
    CHECK_EQ(nf2_sync(&volume->fs, &volume->file), NF2_OK);
}

static void compare(struct volume *volume, uint32_t size)
{
    static uint8_t found[4096];

    CHECK_EQ(nf2_seek(&volume->fs, &volume->file, 0, NF2_SEEK_SET), 0);
    for (uint32_t at = 0; at < size; at += sizeof found) {
        CHECK_EQ(nf2_read(&volume->fs, &volume->file, found, sizeof found), (int32_t)sizeof found);
        CHECK(memcmp(found, content + at, sizeof found) == 0);
    }
}

struct bound {
    uint32_t warm, updates;     /* before the count, and counted */
    uint32_t flash_us;          /* an update, on the average */
};

/* How a file is made and updated: all of it in pieces in their order, then aligned ones; or the pieces in a random order; or updates at any byte. */
enum manner { IN_ORDER, SCATTERED, AT_ANY_BYTE };

static uint32_t place(uint32_t size, uint32_t piece, enum manner manner)
{
    return manner == AT_ANY_BYTE ? random_below(size - piece + 1) : random_below(size / piece) * piece;
}

/* A file of `percent` of a chip (cut to `megabytes`, 0: all of it) is made in pieces, then updated. The handle stays open. An update's mean time. */
static uint64_t mean_time(const char *name, uint32_t megabytes, uint32_t percent, uint32_t piece, enum manner manner, const struct bound *bound, uint32_t seed)
{
    struct vflash_chip chip = *vflash_chip_find(name);
    struct volume volume;

    state = piece + percent + seed * 1000u;
    chip.size = megabytes > 0 ? megabytes << 20 : chip.size;
    volume_new_on(&volume, &chip);
    volume_format(&volume);
    uint32_t size = vflash_chip_of(volume.flash)->size / 100 * percent / 4096 * 4096;
    CHECK(size <= FILE_MAX);
    CHECK_EQ(nf2_open(&volume.fs, &volume.file, "data", NF2_O_RDWR | NF2_O_CREAT, volume.page), NF2_OK);
    for (uint32_t i = 0, count = size / piece; i < count; i++) { /* every index once: the step has no divisor in common with it */
        overwrite(&volume, (manner == SCATTERED ? (uint32_t)((uint64_t)i * 7919u % count) : i) * piece, piece);
    }
    for (uint32_t i = 0; i < bound->warm; i++) {
        overwrite(&volume, place(size, piece, manner), piece);
    }
    uint64_t before = vflash_counts(volume.flash)->time_us;
    for (uint32_t i = 0; i < bound->updates; i++) {
        overwrite(&volume, place(size, piece, manner), piece);
    }
    uint64_t mean = (vflash_counts(volume.flash)->time_us - before) / bound->updates;
    compare(&volume, size);
    CHECK_EQ(nf2_close(&volume.fs, &volume.file), NF2_OK);
    CHECK_EQ(volume_again(&volume, true), NF2_OK);
    CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
    CHECK_EQ(nf2_open(&volume.fs, &volume.file, "data", NF2_O_RDONLY, volume.page), NF2_OK);
    compare(&volume, size);
    CHECK_EQ(nf2_close(&volume.fs, &volume.file), NF2_OK);
    CHECK_EQ(vflash_counts(volume.flash)->violations, 0);
    volume_down(&volume, true);
    return mean;
}

static void check_time(const char *name, uint32_t percent, uint32_t piece, uint64_t mean, const struct bound *bound)
{
    printf("%s, %u%%, %u B: %lu us an update\n", name, (unsigned)percent, (unsigned)piece, (unsigned long)mean);
    CHECK(mean <= bound->flash_us);
}

static void steady(const char *name, uint32_t megabytes, uint32_t percent, uint32_t piece, enum manner manner, const struct bound *bound)
{
    check_time(name, percent, piece, mean_time(name, megabytes, percent, piece, manner, bound, 0), bound);
}

#define HISTORIES 6u            /* on a chip of few groups one alone says little */

/* The same on a small chip, in the mean of several histories. */
static void steady_small(uint32_t percent, uint32_t piece, enum manner manner, const struct bound *bound)
{
    uint64_t sum = 0;

    for (uint32_t seed = 0; seed < HISTORIES; seed++) {
        sum += mean_time("w25q80", 0, percent, piece, manner, bound, seed);
    }
    check_time("w25q80", percent, piece, sum / HISTORIES, bound);
}

/* The chip's own time for the updates is far below the bounds; what the bounds hold is the share of large erases, and of reads. */
TEST(small_chip)
{
    steady_small(50, 4096, IN_ORDER, &(struct bound){600, 600, 34000});
    steady_small(50, 1024, IN_ORDER, &(struct bound){1200, 1000, 21000});
    steady_small(50, 256, IN_ORDER, &(struct bound){3000, 1500, 24000});
    steady_small(80, 4096, IN_ORDER, &(struct bound){600, 400, 62000});
}

/* The pieces of the map must not become ever shorter, nor the copies ever more. */
TEST(at_any_byte)
{
    steady_small(50, 256, AT_ANY_BYTE, &(struct bound){3000, 1000, 24000});
    steady_small(50, 1024, AT_ANY_BYTE, &(struct bound){1500, 500, 60000});
}

/* Copies that empty groups must not take the last blocks: a write would be refused with a quarter of the chip garbage. */
TEST(three_quarters)
{
    steady("w25q256", 4, 75, 4096, IN_ORDER, &(struct bound){2000, 400, 60000});
}

/* More leaves of owned blocks than one look at the map goes through. */
TEST(many_owned_blocks)
{
    steady("w25q128", 0, 50, 4096, SCATTERED, &(struct bound){2600, 400, 30000});
}

/* A chip of 4 MiB, and a file on it that is open. */
static void begin_small(struct volume *volume)
{
    struct vflash_chip chip = *vflash_chip_find("w25q64");

    chip.size = 4u << 20;
    volume_new_on(volume, &chip);
    volume_format(volume);
    CHECK_EQ(nf2_open(&volume->fs, &volume->file, "data", NF2_O_RDWR | NF2_O_CREAT, volume->page), NF2_OK);
}

/* Blocks that somebody may take, though their group is being emptied. */
static unsigned handed_out(const nf2_t *fs)
{
    unsigned count = 0;

    for (uint32_t block = 0; block < fs->blocks; block++) {
        count += nf2_turn_emptied(fs, block) && nf2_space_claimed(fs, block);
    }
    return count;
}

/*
 * A block that was claimed before its group was chosen got data while the walk went over the map: behind the walk's place it was
 * not seen, and the group was given back with it.
 */
TEST(no_claim_in_victims)
{
    static struct volume volume;
    const uint32_t size = 2u << 20, piece = 256;
    uint32_t emptied = 0;

    state = 1;
    begin_small(&volume);
    for (uint32_t i = 0; i < 30000; i++) {
        overwrite(&volume, i < size / piece ? i * piece : place(size, piece, IN_ORDER), piece);
        CHECK_EQ(handed_out(&volume.fs), 0);
        emptied += nf2_turn_emptied(&volume.fs, i % volume.fs.blocks);
    }
    CHECK(emptied > 0);
    compare(&volume, size);
    CHECK_EQ(nf2_close(&volume.fs, &volume.file), NF2_OK);
    volume_down(&volume, true);
}

/*
 * Small appends to a file that go on in the block of its last frames. When that lies in a group that is being emptied the frames are
 * about to get another place: one more behind them was lost.
 */
TEST(tail_in_a_victim)
{
    static struct volume volume;
    const uint32_t body = 2u << 20, line = 10, most = 2000;
    uint32_t size, tail = 0, frames = 0, met = 0;

    state = 7;
    begin_small(&volume);
    for (uint32_t i = 0; i < 30000; i++) {
        bool victim = frames != 0 && nf2_turn_emptied(&volume.fs, frames);
        if (i < body / 256 || (!victim && random_below(500) > 0)) {
            overwrite(&volume, i < body / 256 ? i * 256 : place(body, 256, IN_ORDER), 256);
            continue;
        }
        met += victim;
        for (unsigned n = 0; n < 3; n++, tail += line) {
            overwrite(&volume, body + tail, line);
            frames = volume.file.frames_at != 0 ? volume.file.frames : 0;
            while (victim && nf2_maintain(&volume.fs, 1000000) > 0) {
            }
        }
        CHECK_EQ(size_of(&volume, "data", &size), NF2_OK);
        CHECK_EQ(size, body + tail);
        if (tail >= most) {
            tail = 0;
            frames = 0;
            CHECK_EQ(nf2_truncate(&volume.fs, &volume.file, body), NF2_OK);
            CHECK_EQ(nf2_sync(&volume.fs, &volume.file), NF2_OK);
        }
    }
    CHECK(met > 0);
    compare(&volume, body);
    CHECK_EQ(nf2_close(&volume.fs, &volume.file), NF2_OK);
    CHECK_EQ(volume_again(&volume, true), NF2_OK);
    CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
    volume_down(&volume, true);
}

/* Is a group free but for nodes of the tree? Its region's state lies beside what a search keeps, and is asked for on while ways to nodes are looked for. */
TEST(region_beside_searches)
{
    struct volume volume;
    struct nf2_region region;
    struct nf2_path path;
    uint8_t states[NF2_REGION_STATES];
    char name[32];
    uint32_t nodes = 0;

    volume_up(&volume, "w25q80");
    for (unsigned i = 0; i < 600; i++) { /* an inner root: ways lead through a search */
        snprintf(name, sizeof name, "directory %u", i);
        CHECK_EQ(nf2_mkdir(&volume.fs, name), NF2_OK);
    }
    CHECK_EQ(nf2_region_read(&volume.fs, 0, &region), NF2_OK);
    memcpy(states, region.state, sizeof states);
    for (uint32_t block = 0; block < NF2_REGION_BLOCKS; block++) {
        int node = nf2_tree_way_to(&volume.fs, block, &path);
        CHECK(node >= 0);
        nodes += (uint32_t)node;
    }
    CHECK(nodes > 0);
    CHECK(memcmp(states, region.state, sizeof states) == 0);
    volume_down(&volume, true);
}

/* A log, synced with each append, without idle time: what was removed makes room for it first, nothing searches the log for garbage. */
TEST(log_after_log)
{
    static struct volume volume;
    struct vflash_chip chip = *vflash_chip_find("w25q64");
    uint64_t most = 0, start = 0;
    uint8_t line[32] = {0};

    chip.size = 4u << 20;
    volume_new_on(&volume, &chip);
    volume_format(&volume);
    CHECK_EQ(put(&volume, "/rests", 2u << 20, 1), NF2_OK);
    for (unsigned round = 0; round < 4; round++) {
        start = round == 2 ? vflash_counts(volume.flash)->read_pages : start;
        CHECK_EQ(nf2_open(&volume.fs, &volume.file, "/log", NF2_O_WRONLY | NF2_O_CREAT | NF2_O_EXCL, volume.page), NF2_OK);
        for (unsigned i = 0; i < 16384; i++) {
            uint64_t before = vflash_counts(volume.flash)->read_pages;
            CHECK_EQ(nf2_write(&volume.fs, &volume.file, line, sizeof line), (int32_t)sizeof line);
            CHECK_EQ(nf2_sync(&volume.fs, &volume.file), NF2_OK);
            uint64_t pages = vflash_counts(volume.flash)->read_pages - before;
            most = pages > most ? pages : most;
        }
        CHECK_EQ(nf2_close(&volume.fs, &volume.file), NF2_OK);
        CHECK_EQ(nf2_remove(&volume.fs, "/log"), NF2_OK);
    }
    CHECK(most <= 550);
    CHECK(vflash_counts(volume.flash)->read_pages - start <= 2u * 16384u);
    CHECK(holds(&volume, "/rests", 2u << 20, 1));
    volume_down(&volume, true);
}

/* The last blocks of the largest volume: the round over a file's blocks went on with the first ones, for ever. */
TEST(last_blocks)
{
    static struct volume volume;
    struct vflash_chip large = *vflash_chip_find("w25q256");
    uint32_t blocks = NF2_REGIONS_MAX * NF2_REGION_BLOCKS;

    large.size = blocks * 4096u;
    volume_new_on(&volume, &large);
    volume_format(&volume);
    volume.fs.maintain_cursor = (uint16_t)(blocks - NF2_REGION_BLOCKS); /* where blocks are taken from */
    CHECK_EQ(nf2_open(&volume.fs, &volume.file, "data", NF2_O_RDWR | NF2_O_CREAT, volume.page), NF2_OK);
    overwrite(&volume, 0, 65536);
    for (uint32_t i = 0; i < 8; i++) {
        overwrite(&volume, i * 8000u, 100);
    }
    CHECK(nf2_space_next(&volume.fs, volume.file.slot) >= blocks - NF2_REGION_BLOCKS);
    volume.fs.garbage = NF2_GARBAGE_MUCH;
    CHECK_EQ(nf2_maintain(&volume.fs, 3000000), 1);
    CHECK_EQ(volume.fs.compact_due, 0);
    compare(&volume, 65536);
    volume_down(&volume, true);
}

int main(void)
{
    RUN(no_claim_in_victims);
    RUN(tail_in_a_victim);
    RUN(log_after_log);
    RUN(last_blocks);
    RUN(region_beside_searches);
    RUN(small_chip);
    RUN(at_any_byte);
    RUN(three_quarters);
    RUN(many_owned_blocks);
    return check_done();
}
