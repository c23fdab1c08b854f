/* SPDX-License-Identifier: BSD-2-Clause */
/* test_api.c - directed tests of volumes: format, mount, figures, maintenance, drivers, damage. Files: test_api_files.c. */
#include <stdlib.h>
#include <string.h>

#include "api_volume.h"
#include "calls.h"
#include "check.h"
#include "core_traits.h"
#include "inspect/inspect.h"

#define DAMAGED_ROUNDS 150u

static const char *const chips[] = { "tiny256k", "tinyecc16", "tiny512" };
static const char *chip;        /* of the tests that run on each */

TEST(error_texts)
{
    static const int codes[] = {
        NF2_OK, NF2_ERR_NOENT, NF2_ERR_IO, NF2_ERR_BADF, NF2_ERR_BUSY, NF2_ERR_EXIST, NF2_ERR_NOTDIR, NF2_ERR_ISDIR,
        NF2_ERR_INVAL, NF2_ERR_FBIG, NF2_ERR_NOSPC, NF2_ERR_ROFS, NF2_ERR_NAMETOOLONG, NF2_ERR_NOTEMPTY,
        NF2_ERR_BLANK, NF2_ERR_FOREIGN, NF2_ERR_CORRUPT, NF2_ERR_GEOMETRY, NF2_ERR_VERSION
    };
    const unsigned count = sizeof codes / sizeof codes[0];

    for (unsigned i = 0; i < count; i++) {
        const char *text = nf2_error_text(codes[i]);

        CHECK(text && text[0]);
        for (unsigned j = 0; j < i; j++) {
            CHECK(strcmp(text, nf2_error_text(codes[j])) != 0);
        }
    }
    /* drivers often return -1 */
    CHECK(strcmp(nf2_error_text(-1), nf2_error_text(NF2_OK)) != 0 && strcmp(nf2_error_text(-1), nf2_error_text(-12345)) == 0);
    CHECK(nf2_error_text(7) != NULL);
}

/* ---- format and mount ---------------------------------------------------------------------------- */

/* The configuration is refused by both, and nothing is written. */
static void refused(struct volume *volume, int a, int b)
{
    uint64_t before = chip_changes(volume->flash);
    int status = nf2_format(&volume->fs, &volume->config, NF2_FORMAT_QUICK);

    CHECK(one_of(status, a, b, b));
    CHECK_EQ(chip_changes(volume->flash), before);
    status = nf2_mount(&volume->fs, &volume->config, NF2_MOUNT_RDWR);
    CHECK(one_of(status, a, b, NF2_ERR_BLANK));
    CHECK_EQ(chip_changes(volume->flash), before);
}

TEST(bad_configuration)
{
    struct volume volume;
    struct nf2_config config;

    volume_new(&volume, "tiny256k");
    config = volume.config;
    volume.config.buffer = NULL;
    refused(&volume, NF2_ERR_INVAL, NF2_ERR_INVAL);
    volume.config = config;
    volume.config.buffer_size--;
    refused(&volume, NF2_ERR_INVAL, NF2_ERR_INVAL);
    volume.config = config;
    volume.config.flash = NULL;
    refused(&volume, NF2_ERR_INVAL, NF2_ERR_INVAL);
    volume.config = config;
    volume.config.offset = 100;
    refused(&volume, NF2_ERR_INVAL, NF2_ERR_GEOMETRY);
    volume.config.offset = volume.driver.chip_size;
    refused(&volume, NF2_ERR_INVAL, NF2_ERR_GEOMETRY);
    volume.config = config;
    volume.config.size = 100 * 1000;
    refused(&volume, NF2_ERR_INVAL, NF2_ERR_GEOMETRY);
    volume.config.size = volume.driver.chip_size + volume.driver.block_size;
    refused(&volume, NF2_ERR_INVAL, NF2_ERR_GEOMETRY);
    volume.config.size = 0;
    volume.config.offset = volume.driver.block_size;
    volume.config.size = volume.driver.chip_size;
    refused(&volume, NF2_ERR_INVAL, NF2_ERR_GEOMETRY);
    volume.config = config;
    volume.config.size = (NF2_BLOCKS_MIN - 1) * volume.driver.block_size;
    CHECK_EQ(nf2_format(&volume.fs, &volume.config, NF2_FORMAT_QUICK), NF2_ERR_NOSPC);
    volume.config = config;
    CHECK_EQ(nf2_format(&volume.fs, &volume.config, NF2_FORMAT_QUICK), NF2_OK);
    volume_down(&volume, false);
}

TEST(bad_geometry)
{
    struct volume volume;
    struct nf2_flash good;

    volume_new(&volume, "tiny256k");
    good = volume.driver;
#define REFUSED(field, value) \
    do { \
        volume.driver = good; \
        volume.driver.field = (value); \
        refused(&volume, NF2_ERR_GEOMETRY, NF2_ERR_INVAL); \
    } while (0)
    REFUSED(chip_size, 0);
    REFUSED(chip_size, 100000);
    REFUSED(block_size, 0);
    REFUSED(block_size, 512);
    REFUSED(block_size, 3000);
    REFUSED(block_size, 128 * 1024);
    REFUSED(page_size, 0);
    REFUSED(page_size, 100);
    REFUSED(page_size, 128);
    REFUSED(page_size, 1024);
    REFUSED(program_unit, 0);
    REFUSED(program_unit, 3);
    REFUSED(program_unit, 64);
    REFUSED(read_unit, 0);
    REFUSED(read_unit, 3);
    REFUSED(read_unit, 64);
    REFUSED(large_erase_size, good.block_size + 100);
    REFUSED(read, NULL);
    REFUSED(program, NULL);
    REFUSED(erase, NULL);
#undef REFUSED
    volume_down(&volume, false);
}

TEST(blank_and_foreign)
{
    struct volume volume;
    uint64_t state = 5;
    uint8_t *memory;

    volume_new(&volume, "tiny256k");
    memory = vflash_memory(volume.flash);
    CHECK_EQ(nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDWR), NF2_ERR_BLANK);
    CHECK_EQ(nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDONLY), NF2_ERR_BLANK);
    for (uint32_t at = 0; at < 256; at++) { /* anything in the first page is somebody's */
        memory[at] = 0;
        CHECK_EQ(nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDWR), NF2_ERR_FOREIGN);
        memory[at] = 0xFF;
    }
    memset(memory, 0, volume.driver.chip_size);
    CHECK_EQ(nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDWR), NF2_ERR_FOREIGN);
    for (uint32_t i = 0; i < volume.driver.chip_size; i++) {
        memory[i] = (uint8_t)random_number(&state, 256);
    }
    CHECK_EQ(nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDWR), NF2_ERR_FOREIGN);
    CHECK_EQ(nf2_format(&volume.fs, &volume.config, NF2_FORMAT_QUICK), NF2_OK);     /* over anything */
    CHECK_EQ(nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDWR), NF2_OK);
    CHECK_EQ(put(&volume, "a", 5000, 1), NF2_OK);
    CHECK(holds(&volume, "a", 5000, 1));
    CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
    CHECK_EQ(vflash_counts(volume.flash)->violations, 0);
    volume_down(&volume, true);
}

TEST(other_geometry)
{
    struct volume volume;
    struct nf2_flash good;

    volume_up(&volume, "tiny256k");
    CHECK_EQ(put(&volume, "a", 5000, 1), NF2_OK);
    CHECK_EQ(nf2_unmount(&volume.fs), NF2_OK);
    good = volume.driver;
    volume.driver.block_size = 2 * good.block_size;
    CHECK_EQ(nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDWR), NF2_ERR_GEOMETRY);
    volume.driver = good;
    volume.driver.program_unit = 16;
    CHECK_EQ(nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDWR), NF2_ERR_GEOMETRY);
    volume.driver = good;
    volume.config.size = volume.driver.chip_size - 4 * volume.driver.block_size;
    CHECK_EQ(nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDWR), NF2_ERR_GEOMETRY);
    volume.config.size = 0;
    CHECK_EQ(nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDWR), NF2_OK);
    CHECK(holds(&volume, "a", 5000, 1));
    volume_down(&volume, true);
}

/* A volume says nothing of its chip's pages: it goes on with shorter programs, and with longer ones where the chip takes them. */
TEST(other_page)
{
    struct volume volume;
    char name[16];

    volume_up(&volume, "tiny512");
    for (unsigned turn = 0; turn < 6; turn++) {
        volume.driver.page_size = turn % 2 ? 256 : 512;
        CHECK_EQ(volume_again(&volume, turn != 3), NF2_OK);
        for (unsigned i = 0; i < 12 * turn; i++) {
            snprintf(name, sizeof name, "%u", i);
            CHECK(holds(&volume, name, 37 * i, i));
        }
        for (unsigned i = 0; i < 12 * (turn + 1); i++) {
            snprintf(name, sizeof name, "%u", i);
            CHECK_EQ(put(&volume, name, 37 * i, i), NF2_OK);
        }
    }
    CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), NF2_OK);
    volume_down(&volume, true);
}

static uint32_t crc32_of(const uint8_t *data, uint32_t length)
{
    uint32_t crc = 0xFFFFFFFFu;

    for (uint32_t i = 0; i < 8 * length; i++) {
        uint32_t bit = (crc ^ (uint32_t)(data[i / 8] >> i % 8)) & 1u;

        crc = crc >> 1 ^ (bit ? 0xEDB88320u : 0);
    }
    return ~crc;
}

/* Gives the anchors of a volume another format version (FORMAT.md, sections 1 and 2), and their checks anew. */
static unsigned set_version(struct volume *volume, uint8_t version)
{
    unsigned found = 0;

    for (uint32_t at = 0; at < 3 * volume->driver.block_size; at += 32) {
        uint8_t *slot = vflash_memory(volume->flash) + at;
        uint32_t length = (slot[2] | (uint32_t)slot[3] << 8) & 0xFFFu;

        if (memcmp(slot + 4, "NF2F", 4) != 0) {
            continue;
        }
        slot[8] = version;
        uint32_t crc = crc32_of(slot, length - 2);
        for (unsigned i = 0; i < 4; i++) {
            slot[length - 2 + i] = (uint8_t)(crc >> 8 * i);
        }
        found++;
    }
    return found;
}

TEST(other_version)
{
    struct volume volume;

    volume_new(&volume, chip);
    CHECK_EQ(nf2_format(&volume.fs, &volume.config, NF2_FORMAT_QUICK), NF2_OK);
    CHECK(set_version(&volume, NF2_FORMAT_VERSION + 1) > 0);
    CHECK_EQ(nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDWR), NF2_ERR_VERSION);
    CHECK_EQ(nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDONLY), NF2_ERR_VERSION);
    CHECK(set_version(&volume, NF2_FORMAT_VERSION) > 0);
    CHECK_EQ(nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDWR), NF2_OK);
    volume_down(&volume, true);
}

/* A chip that begins with these bytes has a volume of another version: nothing but a format touches it. */
static void expect_other_version(const uint8_t *anchor, uint32_t length)
{
    struct volume volume;

    volume_new(&volume, "tiny256k");
    memcpy(vflash_memory(volume.flash), anchor, length);
    CHECK_EQ(nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDWR), NF2_ERR_VERSION);
    CHECK_EQ(nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDONLY), NF2_ERR_VERSION);
    CHECK_EQ(nf2_mount_rdonly(&volume.fs, &volume.config), NF2_ERR_VERSION);
    CHECK(memcmp(vflash_memory(volume.flash), anchor, length) == 0);
    CHECK_EQ(nf2_format(&volume.fs, &volume.config, NF2_FORMAT_QUICK), NF2_OK);
    CHECK_EQ(nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDWR), NF2_OK);
    volume_down(&volume, true);
}

/* What older versions of the format had in the first super block, as it was on a chip. */
TEST(older_versions)
{
    static const uint8_t first[] = {
        0x00, 0xC0, 0x20, 0x20, 0x4E, 0x46, 0x32, 0x46, 0x01, 0x0C, 0x00, 0x01, 0x01, 0x00, 0x40, 0x00, 0x00,
        0x59, 0x6E, 0xB6, 0x81, 0x01, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x00, 0xA8, 0x74, 0x0F, 0x75,
    };
    static const uint8_t second[] = {
        0x00, 0xC0, 0x22, 0x20, 0x4E, 0x46, 0x32, 0x46, 0x02, 0x00, 0x00, 0x00, 0x01, 0x11, 0x00, 0x00, 0x40, 0x00,
        0x00, 0x00, 0x7A, 0xC1, 0x82, 0x93, 0x03, 0x02, 0x00, 0x00, 0x03, 0x00, 0x00, 0x00, 0x5E, 0x80, 0xE3, 0x3E,
    };

    expect_other_version(first, sizeof first);
    expect_other_version(second, sizeof second);
}

/* An anchor that says another size of regions than the root log does is damaged, or of another geometry. */
TEST(regions_of_an_anchor)
{
    struct volume volume;

    for (unsigned bit = 24; bit < 28; bit++) {
        volume_new(&volume, chip);
        CHECK_EQ(nf2_format(&volume.fs, &volume.config, NF2_FORMAT_QUICK), NF2_OK);
        for (uint32_t at = 0; at < 3 * volume.driver.block_size; at += 32) {
            uint8_t *slot = vflash_memory(volume.flash) + at;
            slot[12 + bit / 8] ^= (uint8_t)(memcmp(slot + 4, "NF2F", 4) == 0 ? 1u << bit % 8 : 0);
        }
        CHECK(set_version(&volume, NF2_FORMAT_VERSION) > 0); /* and the check anew */
        CHECK(one_of(nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDONLY), NF2_ERR_GEOMETRY, NF2_ERR_CORRUPT, NF2_ERR_CORRUPT));
        volume_down(&volume, false);
    }
}

TEST(format_again)
{
    struct volume volume;
    struct nf2_statfs fresh, stat;

    volume_up(&volume, chip);
    CHECK_EQ(nf2_statfs(&volume.fs, &fresh), NF2_OK);
    CHECK_EQ(put(&volume, "old", 9000, 1), NF2_OK);
    CHECK_EQ(nf2_unmount(&volume.fs), NF2_OK);
    for (int flags = NF2_FORMAT_QUICK; flags <= NF2_FORMAT_ERASE; flags++) {
        CHECK_EQ(nf2_format(&volume.fs, &volume.config, flags), NF2_OK);
        CHECK_EQ(nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDWR), NF2_OK);
        CHECK_EQ(size_of(&volume, "old", NULL), NF2_ERR_NOENT);
        CHECK_EQ(nf2_statfs(&volume.fs, &stat), NF2_OK);
        CHECK_EQ(stat.blocks_free, fresh.blocks_free);
        CHECK_EQ(stat.blocks_available, fresh.blocks_available);
        if (flags == NF2_FORMAT_ERASE) {
            CHECK_EQ(stat.blocks_erased, stat.blocks_free);
        }
        CHECK_EQ(put(&volume, "old", 9000, 2), NF2_OK);
        CHECK_EQ(volume_again(&volume, true), NF2_OK);
        CHECK(holds(&volume, "old", 9000, 2));
        CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
        CHECK_EQ(nf2_unmount(&volume.fs), NF2_OK);
    }
    volume_down(&volume, false);
}

/* A cut during format leaves the old volume while its three super blocks are erased, then a chip that does not mount, or (at its end) an empty volume. */
TEST(format_cut)
{
    for (uint64_t operation = 1;; operation++) {
        struct volume volume;
        struct vflash_cut cut = { .operation = operation, .byte = (uint32_t)operation % 97, .last_byte_mask = 0x3C, .seed = operation };
        int status;

        cut.erase = (enum vflash_erase_cut)(operation % 5);
        volume_up(&volume, chip);
        CHECK_EQ(put(&volume, "old", 3000, 1), NF2_OK);
        CHECK_EQ(nf2_unmount(&volume.fs), NF2_OK);
        vflash_cut_at(volume.flash, &cut);
        status = nf2_format(&volume.fs, &volume.config, NF2_FORMAT_QUICK);
        vflash_cut_at(volume.flash, NULL);
        vflash_power_on(volume.flash);
        if (status == NF2_OK || operation > 1000) {
            CHECK(operation > 1 && operation <= 1000);
            volume_down(&volume, false);
            return;
        }
        status = nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDWR);
        if (status == NF2_OK) {
            CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
            CHECK_EQ(size_of(&volume, "old", NULL), operation <= 3 ? size_of(&volume, "old", NULL) : NF2_ERR_NOENT);
        } else {
            CHECK(one_of(status, NF2_ERR_BLANK, NF2_ERR_FOREIGN, NF2_ERR_CORRUPT));
        }
        CHECK_EQ(nf2_format(&volume.fs, &volume.config, NF2_FORMAT_QUICK), NF2_OK);
        volume_down(&volume, false);
    }
}

/* Power fails in the first format of a blank chip, at this operation: is there one? */
static bool first_format_cut(uint64_t operation, int flags)
{
    struct volume volume;
    struct vflash_cut cut = { .operation = operation, .byte = (uint32_t)operation * 7 % 97, .last_byte_mask = 0x3C, .seed = operation };

    cut.erase = (enum vflash_erase_cut)(operation % 5);
    volume_new(&volume, chip);
    vflash_cut_at(volume.flash, &cut);
    int status = nf2_format(&volume.fs, &volume.config, flags);
    vflash_cut_at(volume.flash, NULL);
    vflash_power_on(volume.flash);
    bool cut_there = status != NF2_OK;
    if (cut_there) {
        status = nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDWR);
        if (status == NF2_ERR_BLANK && CHECK_EQ(nf2_format(&volume.fs, &volume.config, flags), NF2_OK)) {
            status = nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDWR);
        }
        if (status != NF2_OK) {
            printf("cut at operation %u, flags %d\n", (unsigned)operation, flags);
        }
    }
    if (cut_there && CHECK_EQ(status, NF2_OK)) {
        CHECK_EQ(put(&volume, "a", 5000, 1), NF2_OK);
        CHECK_EQ(volume_again(&volume, true), NF2_OK);
        CHECK(holds(&volume, "a", 5000, 1));
        CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
        CHECK_EQ(nf2_unmount(&volume.fs), NF2_OK);
    }
    volume_down(&volume, false);
    return cut_there;
}

/* Firmware formats only what is blank: however often power fails in the first format, the chip is blank or has a volume. */
TEST(first_format_cut)
{
    uint64_t operation = 1;

    for (int flags = NF2_FORMAT_QUICK; flags <= NF2_FORMAT_ERASE; flags++) {
        for (operation = 1; first_format_cut(operation, flags) && CHECK(operation < 1000); operation++) {
        }
        CHECK(operation > 8);
    }
}

/* Files and listings that are open at an unmount: the calls with them say so, and change nothing. */
static void open_at_unmount(int flags)
{
    struct volume volume;
    nf2_file_t file, reader;
    nf2_dir_t dir;
    struct nf2_dirent entry;
    uint8_t buffer[NF2_PAGE_MAX], data[600] = { 1 };
    bool writes = flags == NF2_MOUNT_RDWR;

    volume_up(&volume, chip);
    CHECK_EQ(put(&volume, "a", 5000, 1), NF2_OK);
    CHECK_EQ(nf2_unmount(&volume.fs), NF2_OK);
    CHECK_EQ(nf2_mount(&volume.fs, &volume.config, flags), NF2_OK);
    CHECK_EQ(nf2_open(&volume.fs, &reader, "a", NF2_O_RDONLY, NULL), NF2_OK);
    CHECK_EQ(nf2_opendir(&volume.fs, &dir, "/"), NF2_OK);
    CHECK_EQ(nf2_open(&volume.fs, &file, "a", writes ? NF2_O_RDWR : NF2_O_RDONLY, buffer), NF2_OK);
    if (writes) {
        CHECK_EQ(nf2_write(&volume.fs, &file, data, sizeof data), (int32_t)sizeof data);
    }
    CHECK_EQ(nf2_unmount(&volume.fs), NF2_OK);

    uint64_t before = chip_changes(volume.flash);
    CHECK_EQ(nf2_read(&volume.fs, &reader, data, sizeof data), NF2_ERR_BADF);
    CHECK_EQ(nf2_seek(&volume.fs, &file, 0, NF2_SEEK_SET), NF2_ERR_BADF);
    CHECK_EQ(nf2_tell(&volume.fs, &file), NF2_ERR_BADF);
    CHECK_EQ(nf2_size(&volume.fs, &file), NF2_ERR_BADF);
    CHECK_EQ(nf2_read(&volume.fs, &file, data, sizeof data), NF2_ERR_BADF);
    CHECK_EQ(nf2_write(&volume.fs, &file, data, sizeof data), NF2_ERR_BADF);
    CHECK_EQ(nf2_truncate(&volume.fs, &file, 0), NF2_ERR_BADF);
    CHECK_EQ(nf2_preallocate(&volume.fs, &file, 9000), NF2_ERR_BADF);
    CHECK_EQ(nf2_sync(&volume.fs, &file), NF2_ERR_BADF);
    CHECK_EQ(nf2_close(&volume.fs, &file), NF2_ERR_BADF);
    CHECK_EQ(nf2_close(&volume.fs, &reader), NF2_ERR_BADF);
    CHECK_EQ(nf2_readdir(&volume.fs, &dir, &entry), NF2_ERR_BADF);
    CHECK_EQ(chip_changes(volume.flash), before);
    CHECK_EQ(nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDWR), NF2_OK);
    CHECK(holds(&volume, "a", 5000, 1));
    volume_down(&volume, true);
}

TEST(handles_end_with_the_unmount)
{
    open_at_unmount(NF2_MOUNT_RDWR);
    open_at_unmount(NF2_MOUNT_RDONLY);
}

static void read_only_calls(struct volume *volume)
{
    nf2_file_t file;
    uint64_t before = chip_changes(volume->flash);

    CHECK(holds(volume, "d/a", 5000, 1));
    CHECK(holds(volume, "d/b", 50, 2));
    CHECK_EQ(nf2_open(&volume->fs, &file, "d/a", NF2_O_RDWR, volume->page), NF2_ERR_ROFS);
    CHECK_EQ(nf2_open(&volume->fs, &file, "d/new", NF2_O_WRONLY | NF2_O_CREAT, volume->page), NF2_ERR_ROFS);
    CHECK_EQ(nf2_mkdir(&volume->fs, "e"), NF2_ERR_ROFS);
    CHECK_EQ(nf2_remove(&volume->fs, "d/a"), NF2_ERR_ROFS);
    CHECK_EQ(nf2_rename(&volume->fs, "d/a", "c"), NF2_ERR_ROFS);
    CHECK(one_of(nf2_maintain(&volume->fs, 1000000), NF2_ERR_ROFS, 0, 0));
    CHECK_EQ(nf2_check(&volume->fs, NULL, NULL), 0);
    CHECK_EQ(nf2_unmount(&volume->fs), NF2_OK);
    CHECK_EQ(chip_changes(volume->flash), before);
}

TEST(read_only)
{
    struct volume volume;

    volume_up(&volume, chip);
    CHECK_EQ(nf2_mkdir(&volume.fs, "d"), NF2_OK);
    CHECK_EQ(put(&volume, "d/a", 5000, 1), NF2_OK);
    CHECK_EQ(put(&volume, "d/b", 50, 2), NF2_OK);
    CHECK_EQ(nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDONLY), NF2_OK);  /* after a session that just ended */
    read_only_calls(&volume);
    CHECK_EQ(nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDWR), NF2_OK);
    CHECK_EQ(volume_again(&volume, true), NF2_OK);
    CHECK_EQ(nf2_unmount(&volume.fs), NF2_OK);
    CHECK_EQ(nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDONLY), NF2_OK);  /* after a clean one */
    read_only_calls(&volume);
    volume_down(&volume, false);
}

/* ---- a part of a chip, two volumes, other drivers ------------------------------------------------ */

static void exercise(struct volume *volume, uint32_t seed)
{
    char name[16];

    CHECK(one_of(nf2_mkdir(&volume->fs, "dir"), NF2_OK, NF2_ERR_EXIST, NF2_OK));
    for (unsigned i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "dir/f%u", i);
        CHECK_EQ(put(volume, name, i * i * 20, seed + i), NF2_OK);
    }
    for (unsigned i = 0; i < 20; i += 3) {
        snprintf(name, sizeof name, "dir/f%u", i);
        CHECK_EQ(nf2_remove(&volume->fs, name), NF2_OK);
    }
    CHECK(maintain_all(volume) == 0);
}

static void exercised(struct volume *volume, uint32_t seed)
{
    char name[16];

    for (unsigned i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "dir/f%u", i);
        CHECK(i % 3 == 0 ? size_of(volume, name, NULL) == NF2_ERR_NOENT : holds(volume, name, i * i * 20, seed + i));
    }
    CHECK_EQ(nf2_check(&volume->fs, NULL, NULL), 0);
}

static void on_part_of_chip(int format_flags)
{
    struct volume volume;
    uint32_t from = 7 * 4096, size = 420 * 1024;     /* the old and the new "fill" fit together: replacing is all or nothing */
    uint8_t *memory;
    uint32_t touched = 0;

    volume_new(&volume, "w25q80");
    memory = vflash_memory(volume.flash);
    for (uint32_t i = 0; i < volume.driver.chip_size; i++) {
        memory[i] = (uint8_t)(i * 7 >> 3);
    }
    volume.config.offset = from;
    volume.config.size = size;
    CHECK_EQ(nf2_format(&volume.fs, &volume.config, format_flags), NF2_OK);
    CHECK_EQ(nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDWR), NF2_OK);
    for (unsigned round = 0; round < 6; round++) {
        exercise(&volume, round);
        CHECK_EQ(put(&volume, "fill", 120000, round), NF2_OK);
        CHECK_EQ(put(&volume, "too large", 400000, round), NF2_ERR_NOSPC);
        CHECK(one_of(nf2_remove(&volume.fs, "too large"), NF2_OK, NF2_ERR_NOENT, NF2_OK));
        CHECK_EQ(volume_again(&volume, round % 2), NF2_OK);
        exercised(&volume, round);
    }
    for (uint32_t i = 0; i < volume.driver.chip_size; i++) {
        touched += (i < from || i >= from + size) && memory[i] != (uint8_t)(i * 7 >> 3);
    }
    CHECK_EQ(touched, 0);
    CHECK_EQ(vflash_counts(volume.flash)->violations, 0);
    volume_down(&volume, true);
}

TEST(part_of_chip)
{
    on_part_of_chip(NF2_FORMAT_QUICK);
    on_part_of_chip(NF2_FORMAT_ERASE);
}

TEST(two_volumes)
{
    struct volume one, two;

    volume_new(&one, "w25q80");
    volume_new(&two, "w25q80");
    vflash_free(two.flash);
    two.flash = NULL;
    two.driver = one.driver;
    one.config.size = two.config.offset = 512 * 1024;
    CHECK_EQ(nf2_format(&one.fs, &one.config, NF2_FORMAT_QUICK), NF2_OK);
    CHECK_EQ(nf2_format(&two.fs, &two.config, NF2_FORMAT_ERASE), NF2_OK);
    CHECK_EQ(nf2_mount(&one.fs, &one.config, NF2_MOUNT_RDWR), NF2_OK);
    CHECK_EQ(nf2_mount(&two.fs, &two.config, NF2_MOUNT_RDWR), NF2_OK);
    for (unsigned round = 0; round < 5; round++) {
        exercise(&one, round);
        exercise(&two, 100 + round);
        exercised(&one, round);
        CHECK_EQ(volume_again(round % 2 ? &one : &two, true), NF2_OK);
        exercised(&two, 100 + round);
        exercised(&one, round);
    }
    volume_down(&two, true);
    volume_down(&one, true);
}

struct strict_reads {
    const struct nf2_flash *below;
    uint32_t unit, misaligned;
};

static int strict_read(void *context, uint32_t address, void *data, uint32_t length)
{
    struct strict_reads *strict = context;

    strict->misaligned += address % strict->unit || length % strict->unit || length == 0 || length > strict->below->block_size
                          || address + length > strict->below->chip_size;
    return strict->below->read(strict->below->context, address, data, length);
}

static int strict_program(void *context, uint32_t address, const void *data, uint32_t length)
{
    const struct strict_reads *strict = context;

    return strict->below->program(strict->below->context, address, data, length);
}

static int strict_erase(void *context, uint32_t address, uint32_t length)
{
    const struct strict_reads *strict = context;

    return strict->below->erase(strict->below->context, address, length);
}

static void with_read_unit(uint32_t unit)
{
    struct volume volume;
    struct strict_reads strict = { .unit = unit };

    volume_new(&volume, chip);
    strict.below = vflash_driver(volume.flash);
    volume.driver.context = &strict;
    volume.driver.read = strict_read;
    volume.driver.program = strict_program;
    volume.driver.erase = strict_erase;
    volume.driver.read_unit = unit;
    CHECK_EQ(nf2_format(&volume.fs, &volume.config, NF2_FORMAT_QUICK), NF2_OK);
    CHECK_EQ(nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDWR), NF2_OK);
    exercise(&volume, 3);
    exercised(&volume, 3);
    CHECK_EQ(volume_again(&volume, false), NF2_OK);
    exercised(&volume, 3);
    CHECK_EQ(strict.misaligned, 0);
    volume_down(&volume, true);
}

TEST(read_units)
{
    with_read_unit(16);
    with_read_unit(32);
}

/* ---- locks --------------------------------------------------------------------------------------- */

struct locks {
    int depth, deepest, count;
};

static void lock(void *context)
{
    struct locks *locks = context;

    locks->depth++;
    locks->count++;
    locks->deepest = locks->depth > locks->deepest ? locks->depth : locks->deepest;
}

static void unlock(void *context)
{
    ((struct locks *)context)->depth--;
}

TEST(lock_hooks)
{
    struct volume volume;
    struct locks locks = { 0, 0, 0 };
    struct nf2_statfs statfs;
    struct nf2_health health;
    struct nf2_stat stat;
    struct nf2_dirent entry;
    nf2_dir_t dir;
    uint8_t data[10] = { 0 };
    nf2_t *fs = &volume.fs;
    nf2_file_t *file = &volume.file;

    volume_new(&volume, "tiny256k");
    volume.config.lock = lock;
    volume.config.unlock = unlock;
    volume.config.lock_context = &locks;
#define LOCKED(call) \
    do { \
        int count_before = locks.count; \
        (void)(call); \
        CHECK(locks.count > count_before); \
        CHECK_EQ(locks.depth, 0); \
    } while (0)
    LOCKED(nf2_mount(fs, &volume.config, NF2_MOUNT_RDWR));  /* refused: blank */
    LOCKED(nf2_format(fs, &volume.config, NF2_FORMAT_QUICK));
    LOCKED(nf2_mount(fs, &volume.config, NF2_MOUNT_RDWR));
    LOCKED(nf2_open(fs, file, "none", NF2_O_RDONLY, volume.page));
    LOCKED(nf2_open(fs, file, "a", NF2_O_RDWR | NF2_O_CREAT, volume.page));
    LOCKED(nf2_write(fs, file, data, sizeof data));
    LOCKED(nf2_seek(fs, file, 0, NF2_SEEK_SET));
    LOCKED(nf2_read(fs, file, data, sizeof data));
    LOCKED(nf2_tell(fs, file));
    LOCKED(nf2_size(fs, file));
    LOCKED(nf2_truncate(fs, file, 5));
    LOCKED(nf2_preallocate(fs, file, 5000));
    LOCKED(nf2_sync(fs, file));
    LOCKED(nf2_close(fs, file));
    LOCKED(nf2_close(fs, file));
    LOCKED(nf2_mkdir(fs, "d"));
    LOCKED(nf2_mkdir(fs, "d"));
    LOCKED(nf2_stat(fs, "d", &stat));
    LOCKED(nf2_stat(fs, "none", &stat));
    LOCKED(nf2_rename(fs, "a", "b"));
    LOCKED(nf2_rename(fs, "a", "b"));
    LOCKED(nf2_opendir(fs, &dir, "/"));
    LOCKED(nf2_readdir(fs, &dir, &entry));
    LOCKED(nf2_rewinddir(fs, &dir));
    LOCKED(nf2_closedir(fs, &dir));
    LOCKED(nf2_opendir(fs, &dir, "b"));
    LOCKED(nf2_remove(fs, "b"));
    LOCKED(nf2_remove(fs, "b"));
    LOCKED(nf2_statfs(fs, &statfs));
    LOCKED(nf2_health(fs, &health));
    LOCKED(nf2_block_state(fs, 0, NULL));
    LOCKED(nf2_maintain(fs, 100000));
    LOCKED(nf2_check(fs, NULL, NULL));
    LOCKED(nf2_unmount(fs));
#undef LOCKED
    CHECK_EQ(locks.deepest, 1);
    volume_down(&volume, false);
}

/* ---- figures and maintenance --------------------------------------------------------------------- */

TEST(figures)
{
    struct volume volume;
    struct nf2_statfs stat;
    struct nf2_health health, later;
    uint64_t wear = 0;
    uint32_t erases = 0;

    volume_up(&volume, chip);
    for (unsigned i = 0; i < 40; i++) {
        CHECK_EQ(put(&volume, "a", 40000, i), NF2_OK);
    }
    CHECK(maintain_all(&volume) == 0);
    CHECK_EQ(nf2_statfs(&volume.fs, &stat), NF2_OK);
    CHECK_EQ(stat.blocks, volume.driver.chip_size / volume.driver.block_size);
    CHECK_EQ(stat.blocks_bad, 0);
    CHECK(stat.blocks_free <= stat.blocks - 10 && stat.blocks_available <= stat.blocks_free);
    CHECK_EQ(nf2_health(&volume.fs, &health), NF2_OK);
    for (uint32_t block = 0; block < stat.blocks; block++) {
        CHECK(nf2_block_state(&volume.fs, block, &erases) >= 0);
        wear += vflash_wear(volume.flash, block);
        /* no region that has nothing but super blocks */
        CHECK(block < CORE_BAD_COUNTED_FROM || (erases >= health.erases_min && erases <= health.erases_max));
    }
    CHECK(nf2_block_state(&volume.fs, stat.blocks, NULL) < 0);
    CHECK(health.erases_min <= health.erases_mean && health.erases_mean <= health.erases_max);
    CHECK(health.erases_total <= wear);
    CHECK(health.erases_total + 20 + wear / 20 >= wear);
    CHECK_EQ(health.blocks_bad, 0);
    CHECK_EQ(volume_again(&volume, true), NF2_OK);
    CHECK_EQ(put(&volume, "b", 400, 1), NF2_OK);
    CHECK_EQ(nf2_health(&volume.fs, &later), NF2_OK);
    CHECK_EQ(later.mounts_unclean, health.mounts_unclean);
    CHECK_EQ(volume_again(&volume, false), NF2_OK);
    CHECK_EQ(put(&volume, "b", 500, 1), NF2_OK);
    CHECK_EQ(nf2_health(&volume.fs, &later), NF2_OK);
    CHECK_EQ(later.mounts_unclean, health.mounts_unclean + 1);
    volume_down(&volume, true);
}

/* A session behind a cut that changes nothing says at its end that the volume was left cleanly, with two programs; the next one, with none. */
TEST(cut_and_left)
{
    struct volume volume;
    struct nf2_health health, later;

    volume_up(&volume, "tiny256k");
    CHECK_EQ(put(&volume, "a", 400, 1), NF2_OK);
    CHECK_EQ(volume_again(&volume, false), NF2_OK);
    CHECK_EQ(nf2_health(&volume.fs, &health), NF2_OK);
    uint64_t before = vflash_counts(volume.flash)->program_calls;
    CHECK_EQ(volume_again(&volume, true), NF2_OK);
    CHECK(vflash_counts(volume.flash)->program_calls <= before + 2);
    CHECK_EQ(nf2_health(&volume.fs, &later), NF2_OK);
    CHECK_EQ(later.mounts_unclean, health.mounts_unclean);
    before = vflash_counts(volume.flash)->program_calls;
    CHECK_EQ(volume_again(&volume, true), NF2_OK);
    CHECK_EQ(vflash_counts(volume.flash)->program_calls, before);
    CHECK(holds(&volume, "a", 400, 1));
    volume_down(&volume, true);
}

TEST(budgets)
{
    static const uint32_t budget[] = { 0, 50, 1000, 20000, 60000, 250000, 2000000 };
    struct volume volume;

    volume_up(&volume, chip);
    for (unsigned round = 0; round < 70; round++) {
        uint64_t before;
        int status;

        CHECK_EQ(put(&volume, round % 3 ? "a" : "b", 3000 + round * 500, round), NF2_OK);
        if (round % 5 == 4) {
            CHECK_EQ(nf2_remove(&volume.fs, "a"), NF2_OK);
        }
        before = vflash_counts(volume.flash)->time_us;
        status = nf2_maintain(&volume.fs, budget[round % 7]);
        CHECK(one_of(status, 0, 1, 1));
        CHECK(vflash_counts(volume.flash)->time_us - before <= budget[round % 7]);
    }
    CHECK(maintain_all(&volume) == 0);
    CHECK_EQ(nf2_maintain(&volume.fs, 1000000), 0);
    CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
    volume_down(&volume, true);
}

/* Free blocks in all regions, few of them side by side: the search for the next one to erase counts, too. */
TEST(budgets_of_holes)
{
    static struct volume volume;
    char name[24];
    uint32_t files = 0;

    volume_up(&volume, "w25q256");
    for (int result = 0; result == 0; files += result == 0) {
        snprintf(name, sizeof name, "/hole %u", files);
        result = put(&volume, name, 24u * 1024u, files);
        CHECK(one_of(result, 0, NF2_ERR_NOSPC, 0));
    }
    for (uint32_t i = 0; i < files; i += 2) {
        snprintf(name, sizeof name, "/hole %u", i);
        CHECK_EQ(nf2_remove(&volume.fs, name), NF2_OK);
    }
    for (unsigned round = 0; round < 400; round++) {
        uint32_t budget = round % 2 ? 60000u : 250000u;
        uint64_t before = vflash_counts(volume.flash)->time_us;
        CHECK(nf2_maintain(&volume.fs, budget) >= 0);
        CHECK(vflash_counts(volume.flash)->time_us - before <= budget);
    }
    CHECK(maintain_all(&volume) == 0);
    volume_down(&volume, true);
}

/* ---- damage -------------------------------------------------------------------------------------- */

/* Whatever the chip holds: error codes, but no crash and no endless loop. */
static void walk_damaged(struct volume *volume)
{
    nf2_dir_t dir;
    struct nf2_dirent entry;
    unsigned entries = 0;
    char path[300];

    if (nf2_mount(&volume->fs, &volume->config, NF2_MOUNT_RDWR) != NF2_OK) {
        return;
    }
    (void)nf2_check(&volume->fs, NULL, NULL);
    if (nf2_opendir(&volume->fs, &dir, "dir") == NF2_OK) {
        while (nf2_readdir(&volume->fs, &dir, &entry) == 1 && entries++ < 1000) {
            snprintf(path, sizeof path, "dir/%s", entry.name);
            (void)holds(volume, path, 0, 0);
        }
        CHECK(entries < 1000);
    }
    (void)put(volume, "dir/f1", 300, 1);
    (void)put(volume, "dir/new", 9000, 1);
    (void)nf2_remove(&volume->fs, "dir/f2");
    (void)nf2_maintain(&volume->fs, 1000000);
    (void)nf2_unmount(&volume->fs);
}

TEST(damaged)
{
    struct volume volume;
    struct vflash_checkpoint *good;
    uint64_t state = 99;

    volume_up(&volume, chip);
    exercise(&volume, 1);
    CHECK_EQ(nf2_unmount(&volume.fs), NF2_OK);
    good = vflash_save(volume.flash);
    vflash_set_strict(volume.flash, false);
    for (unsigned round = 0; round < DAMAGED_ROUNDS; round++) {
        uint8_t *memory;
        uint32_t block, count = 1 + random_number(&state, 20);

        vflash_restore(volume.flash, good);
        memory = vflash_memory(volume.flash);
        do {    /* somewhere where something is */
            block = random_number(&state, volume.driver.chip_size / volume.driver.block_size) * volume.driver.block_size;
        } while (memory[block] == 0xFF && memory[block + 1] == 0xFF);
        for (uint32_t i = 0; i < count; i++) {
            uint32_t at = block + random_number(&state, round % 3 ? 512 : volume.driver.block_size);

            memory[at] = (uint8_t)(round % 5 == 0 ? 0 : memory[at] ^ (1u << random_number(&state, 8)));
        }
        if (round % 11 == 0) {
            memset(memory + block, round % 2 ? 0 : 0xFF, volume.driver.block_size);
        }
        walk_damaged(&volume);
    }
    vflash_release(good);
    volume_down(&volume, false);
}

/* Each driver call fails once: the error is passed on, the volume is whole after the next mount. */
TEST(driver_fails)
{
    bool reached = true;

    for (uint64_t operation = 1; reached && operation < 400; operation++) {
        struct volume volume;
        int status;

        volume_up(&volume, chip);
        CHECK_EQ(put(&volume, "old", 2000, 1), NF2_OK);
        vflash_fail_at(volume.flash, operation);
        status = put(&volume, "old", 3000, 2);
        if (status == NF2_OK) {
            status = nf2_mkdir(&volume.fs, "dir");
        }
        if (status == NF2_OK) {
            status = nf2_rename(&volume.fs, "old", "dir/new");
        }
        reached = status != NF2_OK;
        vflash_fail_at(volume.flash, 0);
        CHECK(one_of(status, NF2_ERR_IO, NF2_OK, NF2_OK));
        CHECK_EQ(volume_again(&volume, false), NF2_OK);
        CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
        CHECK_EQ(holds(&volume, "old", 2000, 1) + holds(&volume, "old", 3000, 2) + holds(&volume, "dir/new", 3000, 2), 1);
        CHECK_EQ(put(&volume, "more", 5000, 3), NF2_OK);
        CHECK(holds(&volume, "more", 5000, 3));
        volume_down(&volume, true);
    }
    CHECK(!reached);
}

static const char *short_name(unsigned number)
{
    static char names[2][3];
    static unsigned turn;
    char *name = names[turn++ % 2u];

    name[0] = (char)('A' + number / 26u);
    name[1] = (char)('a' + number % 26u);
    return name;
}

/*
 * Many names of one directory go, then one takes the place of another: however many records of a
 * node are gone by then, what is left can be read.
 */
TEST(rename_behind_removals)
{
    static struct volume many;
    struct vflash_chip small = *vflash_chip_find("w25q128");
    struct nf2_stat status;

    small.size = 1u << 20;
    for (unsigned gone = 130; gone < 150; gone++) {
        volume_new_on(&many, &small);
        volume_format(&many);
        for (unsigned i = 420; i-- > 0;) {
            CHECK_EQ(nf2_open(&many.fs, &many.file, short_name(i), NF2_O_RDWR | NF2_O_CREAT, many.page), NF2_OK);
            CHECK_EQ(nf2_close(&many.fs, &many.file), NF2_OK);
        }
        for (unsigned i = 0; i < gone; i++) {
            CHECK_EQ(nf2_remove(&many.fs, short_name(419u - i)), NF2_OK);
        }
        CHECK_EQ(nf2_rename(&many.fs, short_name(419u - gone), short_name(418u - gone)), NF2_OK);
        CHECK_EQ(nf2_stat(&many.fs, short_name(418u - gone), &status), NF2_OK);
        CHECK_EQ(nf2_stat(&many.fs, short_name(416u - gone), &status), NF2_OK);
        volume_down(&many, true);
    }
}

int main(void)
{
    RUN(error_texts);
    RUN(bad_configuration);
    RUN(bad_geometry);
    RUN(blank_and_foreign);
    RUN(other_geometry);
    RUN(other_page);
    RUN(part_of_chip);
    RUN(two_volumes);
    RUN(lock_hooks);
    RUN(budgets_of_holes);
    for (unsigned i = 0; i < sizeof chips / sizeof chips[0]; i++) {
        chip = chips[i];
        printf("chip %s\n", chip);
        RUN(other_version);
    RUN(older_versions);
    RUN(regions_of_an_anchor);
        RUN(format_again);
        RUN(format_cut);
        RUN(first_format_cut);
        RUN(handles_end_with_the_unmount);
    RUN(read_only);
        RUN(figures);
        RUN(cut_and_left);
        RUN(budgets);
        RUN(damaged);
        RUN(driver_fails);
        RUN(read_units);
    }
    RUN(rename_behind_removals);
    return check_done();
}
