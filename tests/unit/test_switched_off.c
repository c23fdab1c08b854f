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

int main(void)
{
    RUN(switched_off);
    return check_done();
}
