/* SPDX-License-Identifier: BSD-2-Clause */
/* test_format.c - a format over a chip that was used: the new volume is empty and stays whole, whatever the old one left. */
#include <stdio.h>
#include <string.h>

#include "api_volume.h"
#include "check.h"

#define OLD_NAMES 20u
#define BLOCKS 48u
#define BLOCK 4096u

static uint32_t seed_of[OLD_NAMES], size_now[OLD_NAMES];

static void old_name(char *name, uint32_t i)
{
    snprintf(name, 16, "old%u", (unsigned)i);
}

/* A volume that was written so often, left cleanly. */
static void use(struct volume *volume, uint32_t writes)
{
    char name[16];

    volume_new(volume, "w25q80");
    volume->config.size = BLOCKS * BLOCK;
    volume_format(volume);
    for (uint32_t n = 0; n < writes; n++) {
        uint32_t i = n % OLD_NAMES;
        old_name(name, i);
        seed_of[i] = n;
        size_now[i] = 300u + n % 50u * 20u;
        CHECK_EQ(put(volume, name, size_now[i], n), NF2_OK);
        if (n % 37 == 36) { /* a session that was cut */
            CHECK_EQ(nf2_mount(&volume->fs, &volume->config, NF2_MOUNT_RDWR), NF2_OK);
        }
    }
    CHECK_EQ(nf2_unmount(&volume->fs), NF2_OK);
}

static unsigned entries(struct volume *volume)
{
    nf2_dir_t dir;
    struct nf2_dirent entry;
    unsigned count = 0;
    int found;

    CHECK_EQ(nf2_opendir(&volume->fs, &dir, "/"), NF2_OK);
    while ((found = nf2_readdir(&volume->fs, &dir, &entry)) > 0) {
        count++;
    }
    CHECK_EQ(found, 0);
    return count;
}

/* Short sessions, so many, of which those around `unclean` end without an unmount: their anchors skip pages. */
static void use_in_sessions(struct volume *volume, uint32_t sessions, uint32_t unclean)
{
    char name[16];

    volume_new(volume, "w25q80");
    volume->config.size = BLOCKS * BLOCK;
    volume_format(volume);
    for (uint32_t n = 0; n < sessions * 3; n++) {
        uint32_t i = n % OLD_NAMES;
        old_name(name, i);
        seed_of[i] = n;
        size_now[i] = 3000;
        CHECK_EQ(put(volume, name, size_now[i], n), NF2_OK);
        if (n % 3 == 2) {
            CHECK_EQ(volume_again(volume, n / 3 - unclean > 2), NF2_OK);
        }
    }
    CHECK_EQ(nf2_unmount(&volume->fs), NF2_OK);
}

/* The volume that a format has made: empty, and its files are there after a remount. */
static bool is_new(struct volume *volume, int flags)
{
    char name[16];
    unsigned long wrong = check_state.failures;

    CHECK_EQ(nf2_format(&volume->fs, &volume->config, flags), NF2_OK);
    if (!CHECK_EQ(nf2_mount(&volume->fs, &volume->config, NF2_MOUNT_RDWR), NF2_OK)) {
        return false;
    }
    CHECK_EQ(entries(volume), 0);
    for (uint32_t i = 0; i < 80; i++) {
        snprintf(name, sizeof name, "new%u", (unsigned)i % 8u);
        CHECK_EQ(put(volume, name, 1000, i), NF2_OK);
    }
    CHECK_EQ(volume_again(volume, true), NF2_OK);
    CHECK_EQ(entries(volume), 8);
    CHECK(holds(volume, "new7", 1000, 79));
    CHECK_EQ(nf2_check(&volume->fs, NULL, NULL), 0);
    CHECK_EQ(nf2_unmount(&volume->fs), NF2_OK);
    return check_state.failures == wrong;
}

/* Somebody erased what names the old volume; its root logs are still there. */
TEST(super_blocks_erased)
{
    struct volume volume;

    for (uint32_t writes = 40; writes < 1200; writes += 60) {
        use(&volume, writes);
        memset(vflash_memory(volume.flash), 0xFF, 3 * BLOCK);
        CHECK_EQ(nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDWR), NF2_ERR_FOREIGN); /* its data are there */
        if (!is_new(&volume, writes % 120u == 0 ? NF2_FORMAT_QUICK : NF2_FORMAT_ERASE)) {
            printf("  after %u writes\n", (unsigned)writes);
        }
        volume_down(&volume, false);
    }
}

/* ---- blank or not ------------------------------------------------------------------- */

#define REACHED 8u              /* blocks in front that a cut format may have written: what only they have is not seen */

static int mounted(struct volume *volume)
{
    int status = nf2_mount(&volume->fs, &volume->config, NF2_MOUNT_RDWR);

    CHECK_EQ(status == NF2_OK ? nf2_unmount(&volume->fs) : NF2_OK, NF2_OK);
    return status;
}

/* Firmware formats what is blank: a volume whose first blocks were erased by mistake is not. */
TEST(first_blocks_erased)
{
    struct volume volume;
    char name[16];

    for (uint32_t blocks = 3; blocks <= 40; blocks++) {
        volume_up(&volume, "tiny256k");
        for (uint32_t i = 0; i < 40; i++) {
            (void)snprintf(name, sizeof name, "file%u", (unsigned)i);
            CHECK_EQ(put(&volume, name, 4000, i), NF2_OK);
        }
        CHECK_EQ(nf2_unmount(&volume.fs), NF2_OK);
        memset(vflash_memory(volume.flash), 0xFF, blocks * BLOCK);
        CHECK_EQ(mounted(&volume), NF2_ERR_FOREIGN);
        volume_down(&volume, false);
    }
}

/* One byte, in the first page of a block: it is seen in the first block, and in those that a cut format does not reach. */
TEST(one_byte)
{
    struct volume volume;

    volume_new(&volume, "tiny256k");
    CHECK_EQ(mounted(&volume), NF2_ERR_BLANK);
    for (uint32_t block = 0; block < vflash_chip_of(volume.flash)->size / BLOCK; block++) {
        for (uint32_t at = 0; at < 256; at += 51) {
            uint8_t *byte = vflash_memory(volume.flash) + block * BLOCK + at;
            *byte = 0x7F;
            CHECK_EQ(mounted(&volume), block == 0 || block >= REACHED ? NF2_ERR_FOREIGN : NF2_ERR_BLANK);
            *byte = 0xFF;
        }
    }
    CHECK_EQ(mounted(&volume), NF2_ERR_BLANK);
    volume_down(&volume, false);
}

static const struct nf2_flash *awake;
static unsigned long reads, asleep;
static uint8_t asleep_reads;

/* A chip that is not ready yet answers with one byte alone. */
static int sleepy_read(void *context, uint32_t address, void *data, uint32_t length)
{
    int result = awake->read(context, address, data, length);

    if (++reads <= asleep) {
        memset(data, asleep_reads, length);
    }
    return result;
}

/*
 * A volume on a chip that is asleep for some reads: it is never blank where the chip wakes up before a mount has looked at as
 * many places as there are blocks. The next mount finds it.
 */
TEST(chip_asleep)
{
    struct volume volume;
    unsigned long statuses[2] = {0, 0};

    volume_up(&volume, "tiny256k");
    uint32_t blocks = vflash_chip_of(volume.flash)->size / BLOCK;
    CHECK_EQ(put(&volume, "a", 3000, 1), NF2_OK);
    CHECK_EQ(nf2_unmount(&volume.fs), NF2_OK);
    awake = volume.config.flash;
    struct nf2_flash driver = *awake;
    driver.read = sleepy_read;
    volume.config.flash = &driver;
    for (asleep = 0; asleep < blocks; asleep++) {
        for (unsigned zeros = 0; zeros < 2; zeros++) {
            asleep_reads = zeros ? 0 : 0xFF;
            reads = 0;
            int status = mounted(&volume);
            CHECK(status != NF2_ERR_BLANK);
            statuses[status == NF2_OK]++;
            CHECK_EQ(mounted(&volume), NF2_OK);
        }
    }
    printf("asleep for up to %u reads: %lu mounts failed, %lu did not; none was of a blank chip\n", blocks, statuses[0], statuses[1]);
    asleep = 0;
    CHECK_EQ(nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDWR), NF2_OK);
    CHECK(holds(&volume, "a", 3000, 1));
    volume_down(&volume, true);
}

/* What was there before is there as it was, or the new one, or no volume is. */
static bool is_old_or_new(struct volume *volume)
{
    char name[16];
    unsigned long wrong = check_state.failures;
    int status = nf2_mount(&volume->fs, &volume->config, NF2_MOUNT_RDWR);

    if (status != NF2_OK) {
        return CHECK(one_of(status, NF2_ERR_BLANK, NF2_ERR_FOREIGN, NF2_ERR_GEOMETRY));
    }
    for (uint32_t i = entries(volume) == 0 ? OLD_NAMES : 0; i < OLD_NAMES; i++) {
        old_name(name, i);
        CHECK(holds(volume, name, size_now[i], seed_of[i]));
    }
    CHECK_EQ(nf2_check(&volume->fs, NULL, NULL), 0);
    (void)nf2_unmount(&volume->fs);
    return check_state.failures == wrong;
}

/* Power goes off at this operation of a format: is there one? */
static bool cut_format(struct volume *volume, unsigned operation, unsigned how)
{
    struct vflash_cut cut = { .operation = operation, .byte = how * 577u % 4096u, .last_byte_mask = 0x5A, .seed = how };

    cut.erase = (enum vflash_erase_cut)(how % 6);
    vflash_cut_at(volume->flash, &cut);
    int status = nf2_format(&volume->fs, &volume->config, NF2_FORMAT_QUICK);
    vflash_cut_at(volume->flash, NULL);
    vflash_power_on(volume->flash);
    return status != NF2_OK;
}

/* A format is cut in any of its operations, and what a cut erase leaves is anything; the next one is whole. */
TEST(cut_and_formatted_again)
{
    struct volume volume;

    for (uint32_t writes = 100; writes < 1600; writes += 53) {
        use(&volume, writes);
        struct vflash_checkpoint *whole = vflash_save(volume.flash);
        unsigned at = 0;
        for (bool right = true, is_cut = true; right && is_cut;) {
            at++;
            for (unsigned how = 0; how < 12 && right && is_cut; how++) {
                is_cut = cut_format(&volume, at, writes + how);
                right = !is_cut || is_old_or_new(&volume);
                right = right && (how > 0 || is_new(&volume, NF2_FORMAT_QUICK));
                if (!right) {
                    printf("  after %u writes, cut %u in operation %u\n", (unsigned)writes, how, at);
                }
                vflash_restore(volume.flash, whole);
            }
        }
        CHECK(at > 8);
        vflash_release(whole);
        volume_down(&volume, false);
    }
}

/* The anchor that the old volume is found by is the last one to be erased, also behind pages that were skipped. */
TEST(cut_behind_unclean_sessions)
{
    struct volume volume;

    for (uint32_t sessions = 8; sessions < 400; sessions += 7) {
        use_in_sessions(&volume, sessions, sessions / 2);
        struct vflash_checkpoint *whole = vflash_save(volume.flash);
        for (unsigned at = 1; at <= 5; at++) {
            CHECK(cut_format(&volume, at, 0));
            if (!is_old_or_new(&volume)) {
                printf("  after %u sessions, cut in operation %u\n", (unsigned)sessions, at);
            }
            vflash_restore(volume.flash, whole);
        }
        vflash_release(whole);
        volume_down(&volume, false);
    }
}

/* Of a volume with another program unit nothing mounts behind a format, also where its newest super block is bad. */
TEST(another_unit_and_bad_super_block)
{
    struct volume volume;

    for (uint32_t sessions = 100; sessions < 1000; sessions += 53) {
        use_in_sessions(&volume, sessions, 0);
        CHECK_EQ(nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDONLY), NF2_OK);
        vflash_break_block(volume.flash, volume.fs.super_block, false);
        CHECK_EQ(nf2_unmount(&volume.fs), NF2_OK);
        volume.driver.program_unit = 16;
        CHECK_EQ(nf2_format(&volume.fs, &volume.config, NF2_FORMAT_QUICK), NF2_OK);
        CHECK_EQ(nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDWR), NF2_OK);
        CHECK_EQ(nf2_unmount(&volume.fs), NF2_OK);
        volume.driver.program_unit = 1;
        if (!CHECK_EQ(nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDWR), NF2_ERR_GEOMETRY)) {
            printf("  after %u sessions\n", (unsigned)sessions);
        }
        volume_down(&volume, false);
    }
}

/* A chip of which one super block is good can be formatted, blank or used. */
TEST(two_bad_super_blocks)
{
    struct volume volume;

    for (unsigned number = 0; number < 12; number++) {
        volume_new(&volume, number % 2 ? "w25q80" : "tinyecc16");
        if (number / 6 > 0) {
            volume_format(&volume);
            CHECK_EQ(put(&volume, "old", 3000, 1), NF2_OK);
            CHECK_EQ(nf2_unmount(&volume.fs), NF2_OK);
        }
        for (uint32_t block = 0; block < 3; block++) {
            if (block != number / 2 % 3) {
                vflash_break_block(volume.flash, block, false);
            }
        }
        if (!is_new(&volume, NF2_FORMAT_QUICK)) {
            printf("  block %u is good, %s\n", number / 2 % 3, number / 6 > 0 ? "used" : "blank");
        }
        volume_down(&volume, false);
    }
}

/* A driver that fails in a program or an erase, and from then on counts what it is asked for. */
static struct fails {
    const struct nf2_flash *chip;
    unsigned left, asked;
} fails;

static int fails_now(void)
{
    fails.asked += fails.left == 0;
    fails.left -= fails.left > 0;
    return fails.left == 0 ? -1 : 0;
}

static int fails_read(void *context, uint32_t address, void *data, uint32_t length)
{
    (void)context;
    return fails.chip->read(fails.chip->context, address, data, length);
}

static int fails_program(void *context, uint32_t address, const void *data, uint32_t length)
{
    (void)context;
    return fails_now() < 0 ? -1 : fails.chip->program(fails.chip->context, address, data, length);
}

static int fails_erase(void *context, uint32_t address, uint32_t length)
{
    (void)context;
    return fails_now() < 0 ? -1 : fails.chip->erase(fails.chip->context, address, length);
}

/* Where the driver fails the format fails, and writes no more. */
TEST(driver_fails)
{
    struct volume volume;
    int status = NF2_ERR_IO;

    for (unsigned at = 1; status != NF2_OK && CHECK(at < 30); at++) {
        use(&volume, 300);
        fails.chip = vflash_driver(volume.flash);
        fails.left = at;
        fails.asked = 0;
        volume.driver = *fails.chip;
        volume.driver.read = fails_read;
        volume.driver.program = fails_program;
        volume.driver.erase = fails_erase;
        volume.config.flash = &volume.driver;
        status = nf2_format(&volume.fs, &volume.config, NF2_FORMAT_QUICK);
        CHECK(fails.left > 0 ? status == NF2_OK : status == NF2_ERR_IO);
        CHECK_EQ(fails.asked, 0);
        volume_down(&volume, false);
    }
}

/* The new volume has another size, or another program unit: of the old one nothing was used before it was void. */
static void cut_in_another(bool unit)
{
    struct volume volume;

    for (uint32_t writes = 100; writes < 1600; writes += 53) {
        use(&volume, writes);
        struct vflash_checkpoint *whole = vflash_save(volume.flash);
        bool is_cut = true;
        for (unsigned at = 1; is_cut; at++) {
            volume.config.size -= unit ? 0 : 8 * BLOCK;
            volume.driver.program_unit = unit ? 16 : 1;
            is_cut = cut_format(&volume, at, writes);
            CHECK(!is_cut || is_old_or_new(&volume));
            volume.config.size += unit ? 0 : 8 * BLOCK;
            volume.driver.program_unit = 1;
            if (!is_old_or_new(&volume)) {
                printf("  after %u writes, cut in operation %u\n", (unsigned)writes, at);
            }
            vflash_restore(volume.flash, whole);
        }
        vflash_release(whole);
        volume_down(&volume, false);
    }
}

TEST(cut_in_another_size)
{
    cut_in_another(false);
}

TEST(cut_in_another_unit)
{
    cut_in_another(true);
}

/*
 * The power goes off in three formats in a row of a chip that was blank, which is all that firmware formats: it is blank, or
 * has a volume.
 */
TEST(blank_and_cut_thrice)
{
    struct volume volume;

    for (unsigned number = 0; number < 12 * 12 * 12; number++) {
        unsigned cuts[] = { number % 12, number / 12 % 12, number / 144 };
        int status = NF2_ERR_BLANK;
        volume_new(&volume, number % 2 ? "w25q80" : "tinyecc16");
        for (unsigned i = 0; i < 3 && status == NF2_ERR_BLANK; i++) {
            (void)cut_format(&volume, cuts[i] + 1, number + i);
            status = nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDWR);
        }
        if (!CHECK(status == NF2_ERR_BLANK || status == NF2_OK)) {
            printf("  cut in operations %u, %u, %u: %d\n", cuts[0] + 1, cuts[1] + 1, cuts[2] + 1, status);
        }
        volume_down(&volume, false);
    }
}

/*
 * A super block is bad, and a format of a blank chip is cut: what the format tore is never programmed again where units are
 * programmed once, also if it left no trace.
 */
TEST(bad_super_block_and_cut)
{
    struct volume volume;
    struct vflash_chip chip = *vflash_chip_find("tinyecc16");

    chip.program_unit = 8;
    for (unsigned number = 0; number < 3 * 16 * 12; number++) {
        struct vflash_cut cut = { .operation = number / 3 % 16 + 1, .byte = number / 48 % 6 * 8, .seed = number };
        cut.erase = (enum vflash_erase_cut)(number % 5);
        volume_new_on(&volume, &chip);
        vflash_break_block(volume.flash, number % 3, false);
        vflash_cut_at(volume.flash, &cut);
        (void)nf2_format(&volume.fs, &volume.config, number / 288 != 0 ? NF2_FORMAT_ERASE : NF2_FORMAT_QUICK);
        vflash_cut_at(volume.flash, NULL);
        vflash_power_on(volume.flash);
        if (nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDWR) == NF2_OK) {
            for (uint32_t i = 0; i < 200; i++) {
                CHECK_EQ(put(&volume, "file", 100, i), NF2_OK);
                if (i % 4 == 0) {
                    CHECK_EQ(volume_again(&volume, true), NF2_OK);
                }
            }
        }
        if (!CHECK_EQ(vflash_counts(volume.flash)->violations, 0)) {
            printf("  super block %u, cut in operation %u\n", number % 3, number / 3 % 16 + 1);
        }
        volume_down(&volume, false);
    }
}

/* A super block fails, and keeps the anchors of the volume that was; also of one of another size. */
TEST(bad_super_block)
{
    struct volume volume;

    for (uint32_t bad = 0; bad < 3; bad++) {
        for (uint32_t writes = 300; writes < 2000; writes += 300) {
            use(&volume, writes);
            vflash_break_block(volume.flash, bad, false);
            if (writes % 900u == 0) {
                volume.config.size += 8 * BLOCK;
            }
            if (!is_new(&volume, writes % 600u == 0 ? NF2_FORMAT_QUICK : NF2_FORMAT_ERASE)) {
                printf("  block %u bad after %u writes\n", (unsigned)bad, (unsigned)writes);
            }
            volume_down(&volume, false);
        }
    }
}

int main(void)
{
    RUN(super_blocks_erased);
    RUN(first_blocks_erased);
    RUN(one_byte);
    RUN(chip_asleep);
    RUN(cut_and_formatted_again);
    RUN(cut_behind_unclean_sessions);
    RUN(another_unit_and_bad_super_block);
    RUN(two_bad_super_blocks);
    RUN(driver_fails);
    RUN(cut_in_another_size);
    RUN(cut_in_another_unit);
    RUN(blank_and_cut_thrice);
    RUN(bad_super_block_and_cut);
    RUN(bad_super_block);
    return check_done();
}
