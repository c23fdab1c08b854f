/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_wear.c - wear levelling by regions: writers get those that were erased least, and what rests is moved. On a chip of 256 blocks
 * a region is one block; on larger ones it is a large erase.
 */
#include <stdio.h>
#include <stdlib.h>

#include "api_volume.h"
#include "check.h"
#include "core_traits.h"
#include "inspect/inspect.h"

#define CHIP "w25q80"           /* 256 blocks of 4 KiB */
#define SUPER_BLOCKS 3u
#define HOT_SIZE 120000u

struct wear {
    uint32_t least, most;       /* erases of a region's blocks, in the mean, of the regions that are levelled */
    uint32_t mean;              /* of all blocks, as the volume counts it */
    uint32_t off;               /* by how many the count of a region is wrong, at most */
};

/* Erases of the blocks of a region, in the mean, as the chip counted them. */
static uint32_t wear_of_region(const struct volume *volume, uint32_t region)
{
    uint32_t first = core_region_first(&volume->fs, region), end = core_region_end(&volume->fs, region), sum = 0;

    for (uint32_t block = first; block < end; block++) {
        sum += vflash_wear(volume->flash, block);
    }
    return sum / (end - first);
}

/* The region of the super blocks has none of what is levelled, where it is their alone. */
static bool levelled(const struct volume *volume, uint32_t region)
{
    return core_region_first(&volume->fs, region) >= SUPER_BLOCKS;
}

/* How many per cent of the regions that are levelled were erased less often. */
static unsigned share_below(const struct volume *volume, uint32_t erases)
{
    unsigned below = 0, all = 0;

    for (uint32_t region = 0; region < core_regions(&volume->fs); region++) {
        all += levelled(volume, region);
        below += levelled(volume, region) && wear_of_region(volume, region) < erases;
    }
    return below * 100u / all;
}

static struct wear wear_of(struct volume *volume)
{
    struct wear wear = {UINT32_MAX, 0, 0, 0};
    nf2_t *fs = &volume->fs;

    for (uint32_t block = 0; block < fs->blocks; block++) {
        wear.mean += vflash_wear(volume->flash, block);
    }
    for (uint32_t region = 0; region < core_regions(fs); region++) {
        uint32_t n = wear_of_region(volume, region), counted = 0;
        if (levelled(volume, region)) {
            CHECK_EQ(nf2_block_erases(fs, core_region_first(fs, region), &counted), NF2_OK);
            uint32_t off = n > counted ? n - counted : counted - n;
            wear.off = off > wear.off ? off : wear.off;
            wear.least = n < wear.least ? n : wear.least;
            wear.most = n > wear.most ? n : wear.most;
        }
    }
    wear.mean /= fs->blocks;
    return wear;
}

static void print_wear(const char *what, const struct wear *wear)
{
    printf("%s: mean %u, regions %u to %u, counts wrong by %u at most\n", what, (unsigned)wear->mean, (unsigned)wear->least, (unsigned)wear->most,
           (unsigned)wear->off);
}

/* What include/nf2fs/nf2fs.h says of `wear_spread`. */
static void check_levelled(struct volume *volume, uint32_t spread)
{
    struct wear wear = wear_of(volume);

    CHECK(wear.least + spread + spread / 2 + 8 >= wear.mean);
    for (uint32_t block = 0; block < SUPER_BLOCKS; block++) {
        CHECK(vflash_wear(volume->flash, block) < wear.mean);
    }
}

/* What rests: flat files, one in an index, small ones that fill leaves. */
static void rest(struct volume *volume)
{
    char name[16];

    for (unsigned i = 0; i < 4; i++) {
        snprintf(name, sizeof name, "flat%u", i);
        CHECK_EQ(put(volume, name, 100000 + i * 4096, i), NF2_OK);
    }
    CHECK_EQ(put(volume, "mapped", 50000, 9), NF2_OK);
    CHECK_EQ(nf2_open(&volume->fs, &volume->file, "mapped", NF2_O_RDWR, volume->page), NF2_OK);
    for (unsigned i = 0; i < 20; i++) { /* with what is there already */
        uint8_t bytes[100];
        for (unsigned j = 0; j < sizeof bytes; j++) {
            bytes[j] = content_byte(9, i * 2000 + j);
        }
        int at = (int)(i * 2000);
        CHECK_EQ(nf2_seek(&volume->fs, &volume->file, at, NF2_SEEK_SET), at);
        CHECK_EQ(nf2_write(&volume->fs, &volume->file, bytes, sizeof bytes), (int)sizeof bytes);
        CHECK_EQ(nf2_sync(&volume->fs, &volume->file), NF2_OK);
    }
    CHECK_EQ(nf2_close(&volume->fs, &volume->file), NF2_OK);
    for (unsigned i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "small%02u", i);
        CHECK_EQ(put(volume, name, 60 + i, 100 + i), NF2_OK);
    }
}

static void rests_unchanged(struct volume *volume)
{
    char name[16];

    for (unsigned i = 0; i < 4; i++) {
        snprintf(name, sizeof name, "flat%u", i);
        CHECK(holds(volume, name, 100000 + i * 4096, i));
    }
    CHECK(holds(volume, "mapped", 50000, 9));
    for (unsigned i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "small%02u", i);
        CHECK(holds(volume, name, 60 + i, 100 + i));
    }
    CHECK_EQ(nf2_check(&volume->fs, NULL, NULL), 0);
}

/* The same file comes and goes until the mean of erases is so high. */
static void wear_down(struct volume *volume, uint32_t mean)
{
    struct nf2_health health = {0};

    for (unsigned i = 0; health.erases_mean < mean; i++) {
        CHECK_EQ(put(volume, "hot", HOT_SIZE, i), NF2_OK);
        CHECK_EQ(nf2_remove(&volume->fs, "hot"), NF2_OK);
        CHECK_EQ(maintain_all(volume), 0);
        CHECK_EQ(nf2_health(&volume->fs, &health), NF2_OK);
    }
}

static void begin(struct volume *volume, uint32_t age, uint8_t spread)
{
    volume_up(volume, CHIP);
    volume->config.wear_age = age;
    volume->config.wear_spread = spread;
    rest(volume);
}

TEST(never)
{
    struct volume volume;

    begin(&volume, UINT32_MAX, 0);
    wear_down(&volume, 40);
    CHECK(share_below(&volume, 2) > 30);
    rests_unchanged(&volume);
    volume_down(&volume, true);
}

/*
 * Nothing moves before that age. What rested so long has caught up when blocks were erased three
 * times as often again.
 */
TEST(age_first)
{
    struct volume volume;

    begin(&volume, 30, 8);
    wear_down(&volume, 27);
    CHECK(share_below(&volume, 2) > 30);
    wear_down(&volume, 120);
    struct wear wear = wear_of(&volume);
    print_wear("from 30 on", &wear);
    check_levelled(&volume, 8);
    rests_unchanged(&volume);
    volume_down(&volume, true);
}

TEST(defaults_level)
{
    struct volume volume;

    begin(&volume, 0, 0);
    for (uint32_t mean = 64; mean <= 128; mean += 32) {
        wear_down(&volume, mean);
        check_levelled(&volume, 8);
    }
    struct wear wear = wear_of(&volume);
    print_wear("defaults", &wear);
    CHECK(wear.most * 10 <= wear.mean * 13);
    rests_unchanged(&volume);
    CHECK_EQ(volume_again(&volume, true), NF2_OK);
    rests_unchanged(&volume);
    volume_down(&volume, true);
}

/* Nothing moves before anything lags that far; then nothing lags much farther. */
TEST(spread_bounds)
{
    struct volume volume;
    static const uint8_t spreads[] = {2, 20};

    for (unsigned t = 0; t < sizeof spreads; t++) {
        uint32_t spread = spreads[t], from = spread * 4 < 40 ? 40 : spread * 4;
        begin(&volume, 1, spreads[t]);
        wear_down(&volume, spread * 3 / 4);
        CHECK(share_below(&volume, 2) > 30);
        for (uint32_t mean = from; mean <= from + 40; mean += 20) {
            wear_down(&volume, mean);
            check_levelled(&volume, spread);
        }
        struct wear wear = wear_of(&volume);
        print_wear(t == 0 ? "spread 2" : "spread 20", &wear);
        CHECK(spread > 8 || wear.most * 10 <= wear.mean * 13);
        rests_unchanged(&volume);
        volume_down(&volume, true);
    }
}

/* What is on record of a region is what the chip counted, but for erases that are not in an entry yet. */
TEST(counts_are_right)
{
    static const char *const chips[] = {CHIP, "w25q64", "tinyecc1m"};
    struct volume volume;

    for (unsigned t = 0; t < sizeof chips / sizeof chips[0]; t++) {
        volume_up(&volume, chips[t]);
        rest(&volume);
        for (unsigned i = 0; i < 400; i++) {
            CHECK_EQ(put(&volume, "hot", HOT_SIZE, i), NF2_OK);
            CHECK(i % 4 != 0 || nf2_maintain(&volume.fs, 400000) >= 0);
        }
        struct wear wear = wear_of(&volume);
        print_wear(chips[t], &wear);
        CHECK(wear.most > 4);   /* else nothing was counted */
        CHECK(wear.off <= 1);
        volume_down(&volume, true);
    }
}

/* A reader of a file that is moved goes on where it is now; one who is writing is left alone. */
TEST(open_files)
{
    struct volume volume;
    nf2_file_t reader;
    uint8_t bytes[1000];

    begin(&volume, 1, 4);
    CHECK_EQ(nf2_open(&volume.fs, &reader, "flat2", NF2_O_RDONLY, NULL), NF2_OK);
    CHECK_EQ(nf2_open(&volume.fs, &volume.file, "flat1", NF2_O_RDWR | NF2_O_APPEND, volume.page),
             NF2_OK);
    CHECK_EQ(nf2_write(&volume.fs, &volume.file, "more", 4), 4);
    uint32_t size = 0;
    for (unsigned i = 0; i < 50; i++) {
        nf2_file_t hot;
        uint8_t page[NF2_PAGE_MAX];
        CHECK_EQ(nf2_open(&volume.fs, &hot, "hot", NF2_O_WRONLY | NF2_O_CREAT, page), NF2_OK);
        for (unsigned j = 0; j < 100; j++) {
            CHECK_EQ(nf2_write(&volume.fs, &hot, bytes, sizeof bytes), (int)sizeof bytes);
        }
        CHECK_EQ(nf2_close(&volume.fs, &hot), NF2_OK);
        CHECK_EQ(nf2_remove(&volume.fs, "hot"), NF2_OK);
        CHECK_EQ(maintain_all(&volume), 0);
        CHECK_EQ(nf2_seek(&volume.fs, &reader, (int32_t)(i * 1000), NF2_SEEK_SET), (int)(i * 1000));
        CHECK_EQ(nf2_read(&volume.fs, &reader, bytes, sizeof bytes), (int)sizeof bytes);
        for (unsigned j = 0; j < sizeof bytes; j++) {
            CHECK_EQ(bytes[j], content_byte(2, i * 1000 + j));
        }
    }
    CHECK(wear_of(&volume).most > 4);
    CHECK_EQ(nf2_close(&volume.fs, &volume.file), NF2_OK);
    CHECK_EQ(nf2_close(&volume.fs, &reader), NF2_OK);
    CHECK_EQ(size_of(&volume, "flat1", &size), NF2_OK);
    CHECK_EQ(size, 104096 + 4);
    CHECK_EQ(put(&volume, "flat1", 104096, 1), NF2_OK);
    rests_unchanged(&volume);
    volume_down(&volume, true);
}

/* A small file that comes and goes, with idle time behind each. */
static void come_and_go(struct volume *volume, unsigned rounds)
{
    for (unsigned i = 0; i < rounds; i++) {
        CHECK_EQ(put(volume, "hot", 32, i), NF2_OK);
        CHECK_EQ(nf2_remove(&volume->fs, "hot"), NF2_OK);
        CHECK(nf2_maintain(&volume->fs, 200000) >= 0);
    }
}

/*
 * Blocks fall free one by one. As long as many are erased they wait for their neighbours: one
 * erase for sixteen costs a fifth.
 */
TEST(erases_wait)
{
    struct volume volume;

    volume_up(&volume, "w25q128");
    come_and_go(&volume, 3000);
    const uint64_t *erases = vflash_counts(volume.flash)->erases;
    printf("few blocks at a time fall free: %u erases of one, %u of sixteen\n", (unsigned)erases[0],
           (unsigned)erases[2]);
    CHECK(erases[2] > 6);
    /* a third of the large ones is wanted: missed, holes are taken one by one (DESIGN.md, "Open") */
    CHECK(erases[0] <= 1300);
    struct nf2_statfs statfs;
    CHECK_EQ(nf2_statfs(&volume.fs, &statfs), NF2_OK);
    CHECK(statfs.blocks_erased >= CORE_ERASED_AHEAD(statfs.blocks_free));
    volume_down(&volume, true);
}

/*
 * A region takes longer to erase than each stretch of idle time has: what one has erased
 * of it is not erased again by the next one, though a walk ends in each of them.
 */
TEST(region_erased_in_parts)
{
    static struct volume volume;
    uint32_t most = 0;

    volume_up(&volume, "w25q80");
    CHECK_EQ(put(&volume, "cold", 512u << 10, 1), NF2_OK);
    come_and_go(&volume, 1000);
    for (uint32_t block = 0; block < 256; block++) {
        uint32_t n = vflash_wear(volume.flash, block);
        most = n > most ? n : most;
    }
    printf("a region that is erased in parts: %u erases of a block at most\n", (unsigned)most);
    CHECK(most <= 14);
    volume_down(&volume, true);
}

/*
 * The same name beside others that rest, and fill half of a leaf or less: they are not copied
 * again and again.
 */
TEST(hot_name_alone)
{
    static const unsigned resting[] = {20, 29, 36};
    char name[24];

    for (unsigned t = 0; t < sizeof resting / sizeof resting[0]; t++) {
        struct volume volume;

        volume_up(&volume, CHIP);
        for (unsigned i = 0; i < resting[t]; i++) {
            snprintf(name, sizeof name, "rests%02u", i);
            CHECK_EQ(put(&volume, name, 40, i), NF2_OK);
        }
        come_and_go(&volume, 200);
        uint64_t begun = vflash_counts(volume.flash)->program_pages;
        come_and_go(&volume, 1000);
        uint64_t pages = vflash_counts(volume.flash)->program_pages - begun;
        printf("one name of %u comes and goes: %u pages programmed for 1,000 times\n", resting[t],
               (unsigned)pages);
        CHECK(pages < CORE_PAGES_COME_AND_GO);
        for (unsigned i = 0; i < resting[t]; i++) {
            snprintf(name, sizeof name, "rests%02u", i);
            CHECK(holds(&volume, name, 40, i));
        }
        volume_down(&volume, true);
    }
}

/*
 * What rests is to move where no worn block is erased: idle time does not look for one again and
 * again.
 */
TEST(no_place)
{
    struct vflash_chip chip = *vflash_chip_find("w25q256");
    struct volume volume;
    char name[16];

    chip.size = 4u << 20;
    volume_new_on(&volume, &chip);
    volume.config.wear_age = 4;
    volume.config.wear_spread = 2;
    volume_format(&volume);
    for (unsigned i = 0; i < 64; i++) { /* files of a few pieces, in many leaves */
        snprintf(name, sizeof name, "rests%02u", i);
        CHECK_EQ(put(&volume, name, 20000, i), NF2_OK);
        CHECK_EQ(nf2_open(&volume.fs, &volume.file, name, NF2_O_RDWR, volume.page), NF2_OK);
        for (unsigned j = 0; j < 4; j++) {
            uint8_t byte = content_byte(i, j * 5000);
            int at = (int)(j * 5000);
            CHECK_EQ(nf2_seek(&volume.fs, &volume.file, at, NF2_SEEK_SET), at);
            CHECK_EQ(nf2_write(&volume.fs, &volume.file, &byte, 1), 1);
            CHECK_EQ(nf2_sync(&volume.fs, &volume.file), NF2_OK);
        }
        CHECK_EQ(nf2_close(&volume.fs, &volume.file), NF2_OK);
    }
    uint64_t most = 0;
    for (unsigned t = 0; t < 8; t++) {
        uint64_t begun = vflash_counts(volume.flash)->read_pages;
        come_and_go(&volume, 500);
        uint64_t pages = (vflash_counts(volume.flash)->read_pages - begun) / 500u;
        most = pages > most ? pages : most;
    }
    CHECK(most < 237);
    printf("a name comes and goes while others are to move: %u pages read each time at most\n",
           (unsigned)most);
    for (unsigned i = 0; i < 64; i++) {
        snprintf(name, sizeof name, "rests%02u", i);
        CHECK(holds(&volume, name, 20000, i));
    }
    volume_down(&volume, true);
}

/* The blocks beside the super blocks wear as others do, or less. */
TEST(beside_super_blocks)
{
    static struct volume volume;
    struct vflash_chip chip = *vflash_chip_find("w25q64");
    uint32_t most = 0, mean = 0;

    chip.size = 4u << 20;
    volume_new_on(&volume, &chip);
    volume_format(&volume);
    CHECK_EQ(put(&volume, "cold", 2u << 20, 1), NF2_OK);
    for (unsigned i = 0; mean < 12; i++) {
        CHECK_EQ(put(&volume, "hot", 32, i), NF2_OK);
        CHECK_EQ(nf2_remove(&volume.fs, "hot"), NF2_OK);
        const uint64_t *erases = vflash_counts(volume.flash)->erases;
        mean = (uint32_t)((erases[0] + 8u * erases[1] + 16u * erases[2]) / 1024u);
    }
    for (uint32_t block = 0; block < core_region_blocks(&volume.fs); block++) {
        uint32_t n = vflash_wear(volume.flash, block);
        most = n > most ? n : most;
    }
    printf("beside the super blocks: %u erases at most, where the mean is %u\n", (unsigned)most, (unsigned)mean);
    CHECK(5 * most <= 6 * mean); /* what all blocks may have */
    volume_down(&volume, true);
}

/* Regions of one block, fewer than 256: those that the volume does not have are never the least worn ones. */
TEST(short_volume)
{
    static const struct {
        uint32_t blocks, mean;
    } volumes[] = {{100, 60}, {112, 60}};
    static struct volume volume;

    for (unsigned i = 0; i < sizeof volumes / sizeof volumes[0]; i++) {
        uint32_t blocks = volumes[i].blocks, most = 0, sum = 0;
        volume_new(&volume, "w25q256");
        volume.config.size = blocks * 4096;
        volume_format(&volume);
        CHECK_EQ(put(&volume, "cold", blocks * 2048, 1), NF2_OK);
        for (unsigned n = 0; sum < volumes[i].mean * blocks; n++) {
            for (unsigned file = 0; file < 8; file++) {
                CHECK_EQ(put(&volume, "hot", 12000, n), NF2_OK);
            }
            sum = most = 0;
            for (uint32_t block = 0; block < blocks; block++) {
                uint32_t erases = vflash_wear(volume.flash, block);
                sum += erases;
                most = erases > most ? erases : most;
            }
        }
        uint32_t mean = sum / blocks;
        printf("%u blocks, half of them at rest: %u erases at most, where the mean is %u\n", (unsigned)blocks, (unsigned)most,
               (unsigned)mean);
        CHECK(10 * most <= 15 * mean);
        CHECK(holds(&volume, "cold", blocks * 2048, 1));
        volume_down(&volume, true);
    }
}

/* Whole blocks are overwritten in any order: regions are emptied, and erased as a whole. */
TEST(blocks_in_any_order)
{
    static struct volume volume;
    uint32_t at_random = 1;
    uint8_t piece[4096];

    volume_up(&volume, "w25q64");
    memset(piece, 0x5A, sizeof piece);
    CHECK_EQ(put(&volume, "table", 2u << 20, 1), NF2_OK);
    CHECK_EQ(nf2_open(&volume.fs, &volume.file, "table", NF2_O_RDWR, volume.page), NF2_OK);
    for (unsigned i = 0; i < 5000; i++) {
        int at = (int)((at_random = at_random * 1664525u + 1013904223u) >> 23 << 12);
        CHECK_EQ(nf2_seek(&volume.fs, &volume.file, at, NF2_SEEK_SET), at);
        CHECK_EQ(nf2_write(&volume.fs, &volume.file, piece, sizeof piece), (int)sizeof piece);
        CHECK_EQ(nf2_sync(&volume.fs, &volume.file), NF2_OK);
    }
    const uint64_t *erases = vflash_counts(volume.flash)->erases;
    printf("blocks of a file in any order: %u erases of one, %u of sixteen\n", (unsigned)erases[0],
           (unsigned)erases[2]);
    CHECK(erases[0] <= 19 && erases[2] <= 400);
    CHECK_EQ(nf2_close(&volume.fs, &volume.file), NF2_OK);
    CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
    volume_down(&volume, true);
}

/*
 * A device wakes, changes a small file or nothing, does a little idle work and sleeps. What idle time erased, of claims and
 * of a region in part, is not erased anew in the next session, and no block is taken again and again.
 */
static void short_sessions(const char *chip, bool changes, unsigned most_erases, unsigned most_worn)
{
    enum { SESSIONS = 300, FILES = 64 };
    static struct volume volume;
    static uint32_t before[2048];
    unsigned sum = 0, worst = 0;
    uint32_t seed[FILES] = {0};
    char name[16];

    volume_up(&volume, chip);
    uint32_t blocks = volume.fs.blocks;
    CHECK(blocks <= 2048);
    for (unsigned i = 0; i < blocks / 32; i++) {
        snprintf(name, sizeof name, "rest%u", i);
        CHECK_EQ(put(&volume, name, 65536, i), NF2_OK);
    }
    for (unsigned i = 0; i < 2000; i++) {
        snprintf(name, sizeof name, "small%u", i % FILES);
        CHECK_EQ(put(&volume, name, i * 89 % 3000, i), NF2_OK);
        seed[i % FILES] = i;
    }
    for (uint32_t block = 0; block < blocks; block++) {
        before[block] = vflash_wear(volume.flash, block);
    }
    for (unsigned i = 0; i < SESSIONS; i++) {
        CHECK_EQ(volume_again(&volume, true), NF2_OK);
        if (changes) {
            snprintf(name, sizeof name, "small%u", i * 5 % FILES);
            seed[i * 5 % FILES] = i;
            CHECK_EQ(put(&volume, name, 200, i), NF2_OK);
        }
        CHECK(nf2_maintain(&volume.fs, 250000) >= 0);
    }
    for (uint32_t block = 0; block < blocks; block++) {
        unsigned n = vflash_wear(volume.flash, block) - before[block];
        sum += n;
        worst = n > worst ? n : worst;
    }
    printf("%s, %u sessions with %s: %u erases, %u of the most worn block\n", chip, SESSIONS,
           changes ? "a change" : "none", sum, worst);
    CHECK(sum <= most_erases);
    CHECK(worst <= most_worn);
    for (unsigned i = 0; changes && i < FILES; i++) {
        snprintf(name, sizeof name, "small%u", i);
        CHECK(holds(&volume, name, 200, seed[i]));
    }
    CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
    volume_down(&volume, true);
}

TEST(sessions)
{
    short_sessions(CHIP, true, 67, 4);
    short_sessions(CHIP, false, 4, 1);
    short_sessions("w25q64", true, 54, 1);
    short_sessions("w25q64", false, 0, 0);
    short_sessions("tinyecc1m", true, 400, 110);
}

/* No region has more erases on record than any block of the chip. */
TEST(counts_of_a_new_volume)
{
    static struct volume volume;
    unsigned too_many = 0, most = 0;
    struct nf2_health health;

    volume_up(&volume, "w25q64");
    CHECK_EQ(put(&volume, "table", 2u << 20, 1), NF2_OK);
    for (unsigned i = 0; i < 400; i++) {
        CHECK_EQ(put(&volume, "again", 65000, i), NF2_OK);
        CHECK_EQ(nf2_health(&volume.fs, &health), NF2_OK);
        uint32_t worn = 0;
        for (uint32_t block = 0; block < volume.fs.blocks; block++) {
            uint32_t erases = vflash_wear(volume.flash, block);
            worn = erases > worn ? erases : worn;
        }
        too_many += health.erases_max > worn + 1;
        most = health.erases_max > most ? health.erases_max : most;
    }
    printf("a new volume: %u times of 400 more erases of the most worn region than of any block, up to %u\n", too_many,
           most);
    CHECK_EQ(too_many, 0);
    volume_down(&volume, true);
}

/*
 * Where little is free, idle time erases single blocks of regions that are partly in use. A node of such a region that is replaced
 * afterwards is not erased, and is not handed out beside what is.
 */
TEST(freed_in_a_part)
{
    enum { SEEDS = 4, SESSIONS = 120 };
    static struct volume volume;
    uint32_t at_random = 1;
    char name[16];

    for (unsigned seed = 0; seed < SEEDS; seed++) {
        volume_new(&volume, "w25q64");
        volume.config.size = 4u << 20;
        volume_format(&volume);
        for (unsigned i = 0; i < 58; i++) {
            snprintf(name, sizeof name, "rest%u", i);
            CHECK_EQ(put(&volume, name, 65536, i), NF2_OK);
        }
        for (unsigned i = 0; i < SESSIONS * 4; i++) {
            for (unsigned n = at_random >> 30; n > 0; n--) {
                at_random = at_random * 1664525u + 1013904223u;
                snprintf(name, sizeof name, "small%u", at_random >> 26);
                CHECK_EQ(put(&volume, name, at_random >> 24, i), NF2_OK);
            }
            at_random = at_random * 1664525u + 1013904223u;
            CHECK(nf2_maintain(&volume.fs, 110000 * (1 + (at_random >> 20) % 3)) >= 0);
            int again = i % 4 == 3 ? volume_again(&volume, true) : NF2_OK;
            CHECK_EQ(again, NF2_OK);
            if (again != NF2_OK) {
                return;
            }
        }
        CHECK_EQ(vflash_counts(volume.flash)->violations, 0);
        CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
        volume_down(&volume, true);
    }
}

int main(void)
{
    RUN(counts_of_a_new_volume);
    RUN(freed_in_a_part);
    RUN(sessions);
    RUN(blocks_in_any_order);
    RUN(short_volume);
    RUN(no_place);
    RUN(erases_wait);
    RUN(hot_name_alone);
    RUN(never);
    RUN(age_first);
    RUN(defaults_level);
    RUN(spread_bounds);
    RUN(counts_are_right);
    RUN(open_files);
    RUN(region_erased_in_parts);
    RUN(beside_super_blocks);
    return check_done();
}
