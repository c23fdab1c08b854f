/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_windows.c - a volume of several windows is new: one window after the other is taken without a walk, and without a
 * block that the format found to be bad. Later it is as any other volume.
 */
#include <stdio.h>

#include "api_volume.h"
#include "check.h"

#define BLOCKS 1600u            /* three windows of 512 blocks and a part of one */
#define FILE_BYTES 65536u
#define FILE_BLOCKS (FILE_BYTES / 4096)
#define KEPT_BACK 40u           /* blocks that files cannot have: what statfs keeps back, super blocks, root log, tree */

/* The first and the last block of a window, two neighbours, and some in between. */
static const uint32_t bad_blocks[] = { 20, 512, 600, 1023, 1024, 1025, 1300, 1536, 1599 };
#define BAD (sizeof bad_blocks / sizeof *bad_blocks)

/* Counts what is asked of bad blocks. */
static struct watch {
    const struct nf2_flash *chip;
    unsigned tried;
} watch;

static void look(uint32_t address, uint32_t length)
{
    for (unsigned i = 0; i < BAD; i++) {
        uint32_t at = bad_blocks[i] * 4096;
        watch.tried += at + 4096 > address && at < address + length;
    }
}

static int watch_read(void *context, uint32_t address, void *data, uint32_t length)
{
    (void)context;
    return watch.chip->read(watch.chip->context, address, data, length);
}

static int watch_program(void *context, uint32_t address, const void *data, uint32_t length)
{
    (void)context;
    look(address, length);
    return watch.chip->program(watch.chip->context, address, data, length);
}

static int watch_erase(void *context, uint32_t address, uint32_t length)
{
    (void)context;
    look(address, length);
    return watch.chip->erase(watch.chip->context, address, length);
}

static void begin(struct volume *volume, unsigned bad)
{
    struct vflash_chip chip = *vflash_chip_find("w25q256");

    chip.size = BLOCKS * 4096;
    volume_new_on(volume, &chip);
    watch.chip = vflash_driver(volume->flash);
    volume->driver = *watch.chip;
    volume->driver.read = watch_read;
    volume->driver.program = watch_program;
    volume->driver.erase = watch_erase;
    volume->config.flash = &volume->driver;
    for (unsigned i = 0; i < bad; i++) {
        vflash_break_block(volume->flash, bad_blocks[i], false);
    }
}

static void name_of(unsigned file, char *name)
{
    (void)snprintf(name, 16, "file%u", file);
}

/* Writes files until one is refused: how many there are. */
static unsigned fill(struct volume *volume)
{
    char name[16];
    unsigned files = 0;
    int result = NF2_OK;

    for (;; files++) {
        name_of(files, name);
        result = put(volume, name, FILE_BYTES, files);
        if (result != NF2_OK) {
            break;
        }
        if (files % 16 == 7) {  /* a session that is cut, or not */
            CHECK_EQ(volume_again(volume, files % 32 == 7), NF2_OK);
        }
    }
    CHECK_EQ(result, NF2_ERR_NOSPC);
    CHECK_EQ(nf2_remove(&volume->fs, name), NF2_ERR_NOENT);
    return files;
}

static void all_there(struct volume *volume, unsigned files)
{
    char name[16];

    for (unsigned i = 0; i < files; i++) {
        name_of(i, name);
        CHECK(holds(volume, name, FILE_BYTES, i));
    }
    CHECK_EQ(nf2_check(&volume->fs, NULL, NULL), 0);
}

static void remove_all(struct volume *volume, unsigned files)
{
    char name[16];

    for (unsigned i = 0; i < files; i++) {
        name_of(i, name);
        CHECK_EQ(nf2_remove(&volume->fs, name), NF2_OK);
    }
}

static uint64_t erases_of(const struct volume *volume)
{
    const struct vflash_counts *counts = vflash_counts(volume->flash);
    return counts->erases[0] + counts->erases[1] + counts->erases[2];
}

/* `erases_most`: in sessions that are cut, and where the last blocks are looked for, also if the format erased all blocks. */
static void life(int flags, unsigned bad, uint64_t erases_most)
{
    struct volume volume;
    struct nf2_statfs stat;
    unsigned most = (BLOCKS - bad) / FILE_BLOCKS, least = (BLOCKS - bad - KEPT_BACK) / FILE_BLOCKS;

    begin(&volume, bad);
    CHECK_EQ(nf2_format(&volume.fs, &volume.config, flags), NF2_OK);
    CHECK_EQ(nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDWR), NF2_OK);
    watch.tried = 0;
    CHECK_EQ(nf2_statfs(&volume.fs, &stat), NF2_OK);
    if (flags == NF2_FORMAT_ERASE) {
        CHECK_EQ(stat.blocks_bad, bad);
        CHECK(stat.blocks_free + bad <= BLOCKS);
    }
    uint32_t available = stat.blocks_available;

    uint64_t erases = erases_of(&volume);
    unsigned files = fill(&volume);
    erases = erases_of(&volume) - erases;
    CHECK(erases <= erases_most);
    CHECK(files >= least && files <= most);
    all_there(&volume, files);
    remove_all(&volume, files);
    CHECK_EQ(volume_again(&volume, true), NF2_OK);

    unsigned again = fill(&volume);
    CHECK(again >= least && again <= most);
    printf("format %d, %u bad: %lu of %u blocks available, %u files with %lu erases, then %u\n", flags, bad,
           (unsigned long)available, BLOCKS, files, (unsigned long)erases, again);
    all_there(&volume, again);
    if (flags == NF2_FORMAT_ERASE && bad > 0) {
        CHECK_EQ(watch.tried, 0);
    }
    CHECK_EQ(nf2_statfs(&volume.fs, &stat), NF2_OK);
    CHECK_EQ(stat.blocks_bad, bad);
    CHECK_EQ(vflash_counts(volume.flash)->violations, 0);
    volume_down(&volume, true);
}

TEST(new_volume)
{
    life(NF2_FORMAT_QUICK, 0, 200);
    life(NF2_FORMAT_ERASE, 0, 84);
}

TEST(bad_blocks_in_each_window)
{
    life(NF2_FORMAT_QUICK, BAD, 305);
    life(NF2_FORMAT_ERASE, BAD, 113);
}

int main(void)
{
    RUN(new_volume);
    RUN(bad_blocks_in_each_window);
    return check_done();
}
