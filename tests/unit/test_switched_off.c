/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_switched_off.c - a device that wakes, appends a line to a file, and is switched off: with an
 * unmount before, or without. docs/ERRORS.md says what is the same and what is not.
 */
#include "check.h"
#include "nf2fs/nf2fs.h"
#include "vflash.h"

#define WAKES 400u
#define LINE 24u

static struct vflash *chip;
static nf2_t fs;
static nf2_file_t file, other;
static uint8_t buffer[NF2_BUFFER_SIZE(256u)], page[256], other_page[256];
static struct nf2_config config;

/* What is in RAM is gone. */
static void switch_off(void)
{
    memset(&fs, 0xA5, sizeof(fs));
    memset(&file, 0x5A, sizeof(file));
    memset(&other, 0x5A, sizeof(other));
    memset(buffer, 0xA5, sizeof(buffer));
    memset(page, 0xA5, sizeof(page));
}

static void line_of(uint32_t wake, char *line)
{
    (void)snprintf(line, LINE + 1u, "%08u, 21.5 degrees\r\n", (unsigned)(wake % 100000000u));
}

/* Returns the pages that the mounts read. */
static uint64_t wakes(bool unmounts)
{
    uint64_t pages = 0;
    char line[LINE + 1u];
    chip = vflash_new(vflash_chip_find("w25q80"));
    config = (struct nf2_config){.flash = vflash_driver(chip), .buffer = buffer,
                                 .buffer_size = sizeof(buffer)};
    CHECK_EQ(nf2_format(&fs, &config, NF2_FORMAT_QUICK), NF2_OK);
    for (uint32_t wake = 0; wake < WAKES; wake++) {
        switch_off();
        uint64_t before = vflash_counts(chip)->read_pages;
        CHECK_EQ(nf2_mount(&fs, &config, NF2_MOUNT_RDWR), NF2_OK);
        pages += vflash_counts(chip)->read_pages - before;
        line_of(wake, line);
        CHECK_EQ(nf2_open(&fs, &file, "/log", NF2_O_WRONLY | NF2_O_CREAT | NF2_O_APPEND, page),
                 NF2_OK);
        CHECK_EQ(nf2_write(&fs, &file, line, LINE), LINE);
        CHECK_EQ(nf2_close(&fs, &file), NF2_OK);
        CHECK_EQ(nf2_open(&fs, &other, "/unsynced", NF2_O_WRONLY | NF2_O_CREAT, other_page),
                 NF2_OK);
        CHECK_EQ(nf2_write(&fs, &other, line, LINE), LINE);
        if (unmounts) {
            CHECK_EQ(nf2_unmount(&fs), NF2_OK);
        }
    }
    return pages;
}

/* Each line of a file that was closed is there, and of the other one nothing, either way. */
static void check_content(uint32_t unclean)
{
    char line[LINE + 1u], found[LINE + 1u] = "";
    struct nf2_health health;
    struct nf2_stat stat;
    switch_off();
    CHECK_EQ(nf2_mount(&fs, &config, NF2_MOUNT_RDWR), NF2_OK);
    CHECK_EQ(nf2_stat(&fs, "/unsynced", &stat), NF2_ERR_NOENT);
    CHECK_EQ(nf2_stat(&fs, "/log", &stat), NF2_OK);
    CHECK_EQ(stat.size, WAKES * LINE);
    CHECK_EQ(nf2_open(&fs, &file, "/log", NF2_O_RDONLY, NULL), NF2_OK);
    for (uint32_t wake = 0; wake < WAKES; wake++) {
        line_of(wake, line);
        CHECK_EQ(nf2_read(&fs, &file, found, LINE), LINE);
        CHECK_TEXT(found, line);
    }
    CHECK_EQ(nf2_close(&fs, &file), NF2_OK);
    CHECK_EQ(nf2_health(&fs, &health), NF2_OK);
    CHECK(unclean == 0 ? health.mounts_unclean == 0 : health.mounts_unclean >= unclean);
    CHECK_EQ(nf2_check(&fs, NULL, NULL), 0);
    CHECK_EQ(nf2_unmount(&fs), NF2_OK);
    CHECK_EQ(vflash_counts(chip)->violations, 0);
    vflash_free(chip);
}

TEST(switched_off)
{
    uint64_t with = wakes(true);
    check_content(0);
    uint64_t without = wakes(false);
    check_content(WAKES - 1u);
    CHECK(without > with);      /* the mount after a cut has to search */
}

/* ---- many wakes ------------------------------------------------------------------------------ */

static void start(const char *name)
{
    chip = vflash_new(vflash_chip_find(name));
    config = (struct nf2_config){.flash = vflash_driver(chip), .buffer = buffer,
                                 .buffer_size = sizeof(buffer)};
    CHECK_EQ(nf2_format(&fs, &config, NF2_FORMAT_QUICK), NF2_OK);
}

/* Mounts, appends a line, closes, and is switched off. */
static bool wake_up(const char *path, uint32_t wake)
{
    char line[LINE + 1u];
    switch_off();
    line_of(wake, line);
    return CHECK_EQ(nf2_mount(&fs, &config, NF2_MOUNT_RDWR), NF2_OK) &&
           CHECK_EQ(nf2_open(&fs, &file, path, NF2_O_WRONLY | NF2_O_CREAT | NF2_O_APPEND, page), NF2_OK) &&
           CHECK_EQ(nf2_write(&fs, &file, line, LINE), LINE) && CHECK_EQ(nf2_close(&fs, &file), NF2_OK);
}

/*
 * A super block takes an erase each so many wakes, beside that of the format, or as many as the mean of all blocks if that
 * is more: see docs/guide/lifetime.md.
 */
static void supers_last(const char *name, uint32_t wakes_for_one, uint32_t wakes)
{
    const struct vflash_chip *kind = vflash_chip_find(name);
    uint32_t blocks = kind->size / kind->block_size, most = 0;
    uint64_t sum = 0;
    start(name);
    for (uint32_t wake = 0; wake < wakes && wake_up("/log", wake); wake++) {
    }
    for (uint32_t block = 0; block < blocks; block++) {
        uint32_t wear = vflash_wear(chip, block);
        sum += wear;
        most = block < 3u && wear > most ? wear : most;
    }
    uint32_t mean = (uint32_t)(sum / blocks), allowed = wakes / wakes_for_one;
    printf("%s: %u wakes: %u erases of a super block beside the format's, %u of a block in the mean\n", name, (unsigned)wakes,
           (unsigned)most - 1u, (unsigned)mean);
    CHECK(most - 1u <= (allowed > mean ? allowed : mean));
    CHECK_EQ(vflash_counts(chip)->violations, 0);
    vflash_free(chip);
}

TEST(super_blocks_last)
{
    supers_last("w25q256", 3000u, 9000u);
    supers_last("tinyecc1m", 380u, 1200u);
}

/*
 * A log that is visited each `between` wakes, while another one is written in all of them: how many blocks have its lines. The
 * sessions that never touch it cost it nothing, but for units that are programmed once.
 */
static unsigned blocks_of_rare_log(const char *name, uint32_t between)
{
    const struct vflash_chip *kind = vflash_chip_find(name);
    char line[LINE + 1u];
    unsigned blocks = 0;
    start(name);
    for (uint32_t wake = 0; wake < 24u * between; wake++) {
        bool rare = wake % between == between - 1u;
        if (!wake_up(rare ? "/rare" : "/often", rare ? 90000000u + wake : wake)) {
            break;
        }
    }
    for (uint32_t block = 0; block < kind->size / kind->block_size; block++) {
        const char *bytes = (const char *)vflash_memory(chip) + block * kind->block_size;
        unsigned lines = 0;
        for (uint32_t at = 0; at + LINE <= kind->block_size && lines == 0; at++) {
            line_of(90000000u, line);
            lines += memcmp(bytes + at, line, 4) == 0 && memcmp(bytes + at + 8, line + 8, LINE - 8u) == 0;
        }
        blocks += lines;
    }
    vflash_free(chip);
    return blocks;
}

TEST(rare_log)
{
    unsigned each = blocks_of_rare_log("w25q80", 2u), rare = blocks_of_rare_log("w25q80", 15u);
    printf("24 lines, with 1 and 14 wakes between two of them: %u and %u blocks\n", each, rare);
    CHECK(rare <= 2u * each);
}

int main(void)
{
    RUN(super_blocks_last);
    RUN(rare_log);
    RUN(switched_off);
    return check_done();
}
