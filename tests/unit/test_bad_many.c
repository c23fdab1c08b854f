/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_bad_many.c - one bad block anywhere, found at format or later, costs no error; nor does a
 * sixteenth of the blocks, in any pattern. All of them are known at last, also to the next mount.
 */
#include <stdio.h>
#include <string.h>

#include "api_volume.h"
#include "check.h"
#include "inspect/inspect.h"

#define FILES 12u
#define BAD_MOST 64u

struct bad {
    uint32_t block[BAD_MOST];
    unsigned count;
};

/* Blocks that erase, and in which each program fails. */
static struct weak {
    const struct nf2_flash *chip;
    struct bad bad;
} weak;

static int weak_read(void *context, uint32_t address, void *data, uint32_t length)
{
    const struct weak *driver = context;
    return driver->chip->read(driver->chip->context, address, data, length);
}

static int weak_program(void *context, uint32_t address, const void *data, uint32_t length)
{
    const struct weak *driver = context;

    for (unsigned i = 0; i < driver->bad.count; i++) {
        if (address / driver->chip->block_size == driver->bad.block[i]) {
            return NF2_FLASH_BAD;
        }
    }
    return driver->chip->program(driver->chip->context, address, data, length);
}

static int weak_erase(void *context, uint32_t address, uint32_t length)
{
    const struct weak *driver = context;
    return driver->chip->erase(driver->chip->context, address, length);
}

/* A chip on which no block is bad so far. */
static void begin(struct volume *volume, const char *chip)
{
    volume_new(volume, chip);
    weak.chip = vflash_driver(volume->flash);
    weak.bad.count = 0;
    volume->driver = *weak.chip;
    volume->driver.context = &weak;
    volume->driver.read = weak_read;
    volume->driver.program = weak_program;
    volume->driver.erase = weak_erase;
    volume->config.flash = &volume->driver;
}

/* `erases`: they fail in programs alone. */
static void break_all(struct volume *volume, const struct bad *bad, bool erases)
{
    for (unsigned i = 0; i < bad->count && !erases; i++) {
        vflash_break_block(volume->flash, bad->block[i], false);
    }
    if (erases) {
        weak.bad = *bad;
    }
}

static uint32_t size_of_file(unsigned file)
{
    static const uint32_t sizes[] = { 8, 300, 5000, 9000 };
    return sizes[file % 4];
}

static void name_of(unsigned file, char *name)
{
    (void)snprintf(name, 24, "dir/file%u", file);
}

/* Files are replaced, in turn; no call fails. */
static bool use(struct volume *volume, unsigned rounds, unsigned seed)
{
    char name[24];
    bool right = true;

    for (unsigned i = 0; i < rounds && right; i++) {
        unsigned file = (i * 5 + seed) % FILES;
        name_of(file, name);
        right = CHECK_EQ(put(volume, name, size_of_file(file), file + i), NF2_OK) &&
                CHECK(holds(volume, name, size_of_file(file), file + i));
        if (i % 16 == 15) {
            right = right && CHECK(nf2_maintain(&volume->fs, 500000) >= 0);
        }
        if (i % 32 == 31) {
            right = right && CHECK_EQ(volume_again(volume, i % 64 == 31), NF2_OK);
        }
    }
    return right;
}

/* All files are there, the volume is whole, and no more is lost than the bad blocks. */
static bool ends_well(struct volume *volume, unsigned most_bad)
{
    struct nf2_statfs stat;
    char name[24];
    bool right = true;

    for (unsigned i = 0; i < FILES; i++) {
        name_of(i, name);
        right = CHECK_EQ(put(volume, name, size_of_file(i), i), NF2_OK) && right;
    }
    right = CHECK_EQ(volume_again(volume, true), NF2_OK) && right;
    for (unsigned i = 0; i < FILES; i++) {
        name_of(i, name);
        right = CHECK(holds(volume, name, size_of_file(i), i)) && right;
    }
    right = CHECK_EQ(maintain_all(volume), 0) && right;
    right = CHECK_EQ(nf2_check(&volume->fs, NULL, NULL), 0) && right;
    right = CHECK_EQ(nf2_statfs(&volume->fs, &stat), NF2_OK) && right;
    right = CHECK(stat.blocks_bad <= most_bad) && right;
    return CHECK_EQ(vflash_counts(volume->flash)->violations, 0) && right;
}

static bool format_and_mount(struct volume *volume, int flags)
{
    return CHECK_EQ(nf2_format(&volume->fs, &volume->config, flags), NF2_OK) &&
           CHECK_EQ(nf2_mount(&volume->fs, &volume->config, NF2_MOUNT_RDWR), NF2_OK) &&
           CHECK_EQ(nf2_mkdir(&volume->fs, "dir"), NF2_OK);
}

/* ---- one ------------------------------------------------------------------------------------- */

static bool one(const char *chip, uint32_t block, int way)
{
    struct volume volume;
    struct bad bad = { { block }, 1 };
    bool later = way / 2 % 2 != 0;

    begin(&volume, chip);
    if (!later) {
        break_all(&volume, &bad, way >= 4);
    }
    bool right = format_and_mount(&volume, way % 2 ? NF2_FORMAT_ERASE : NF2_FORMAT_QUICK);
    if (later) {
        break_all(&volume, &bad, way >= 4);
    }
    right = right && use(&volume, 60, block) && ends_well(&volume, 1);
    volume_down(&volume, right);
    return right;
}

static void each(const char *chip, uint32_t blocks)
{
    for (uint32_t block = 0; block < blocks; block++) {
        for (int way = 0; way < 8; way++) {
            if (!one(chip, block, way)) {
                printf("%s: block %lu, way %d\n", chip, (unsigned long)block, way);
                return;
            }
        }
    }
}

TEST(one_anywhere)
{
    each("tiny128k", 32);
    each("tiny256k", 64);
    each("tinyecc16", 64);
    each("tiny512", 64);
}

/* ---- a super block ---- */

/* Long enough for the other ones to be full again and again: after each cut an anchor has a page of its own. */
static bool super_block(const char *chip, uint32_t block, bool erases)
{
    struct volume volume;
    struct bad bad = { { block }, 1 };
    bool right;

    begin(&volume, chip);
    right = format_and_mount(&volume, NF2_FORMAT_QUICK);
    break_all(&volume, &bad, erases);
    for (unsigned i = 0; i < 600 && right; i++) {
        right = CHECK_EQ(put(&volume, "dir/file", 700, i), NF2_OK) && CHECK_EQ(volume_again(&volume, i % 9 == 8), NF2_OK) &&
                CHECK(holds(&volume, "dir/file", 700, i));
    }
    right = right && CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
    volume_down(&volume, right);
    return right;
}

TEST(super_block_for_good)
{
    static const char *const chips[] = { "tiny128k", "tiny256k", "tinyecc16" };

    for (uint32_t i = 0; i < 18; i++) {
        if (!super_block(chips[i / 6], i % 6 / 2, i % 2 != 0)) {
            printf("%s, super block %u\n", chips[i / 6], (unsigned)(i % 6 / 2));
        }
    }
}

/* ---- a sixteenth ------------------------------------------------------------------------------ */

/* Together, evenly, or anywhere; of the first three blocks one is good. */
static void pattern(struct bad *bad, uint32_t blocks, unsigned number)
{
    uint32_t state = number * 2654435761u + 1u, most = blocks / 16u;

    memset(bad, 0, sizeof *bad);
    for (unsigned i = 0; i < most; i++) {
        uint32_t block = number < 8 ? number * blocks / 8u + i : number < 16 ? number + i * 16u : 0;
        if (number >= 16) {
            state = state * 1664525u + 1013904223u;
            block = (state >> 8) % blocks;
        }
        block = block < 2 ? block + 2 : block;
        bad->block[bad->count++] = block % blocks;
    }
}

static bool many(const char *chip, unsigned number, int way)
{
    struct volume volume;
    struct nf2_statfs stat;
    struct bad bad;
    int flags = way % 2 ? NF2_FORMAT_ERASE : NF2_FORMAT_QUICK;
    bool later = way / 2 % 2 != 0;

    begin(&volume, chip);
    pattern(&bad, vflash_chip_of(volume.flash)->size / vflash_chip_of(volume.flash)->block_size, number);
    if (!later) {
        break_all(&volume, &bad, way >= 4);
    }
    bool right = format_and_mount(&volume, flags);
    if (later) {
        right = right && use(&volume, 20, number);
        break_all(&volume, &bad, way >= 4);
    }
    right = right && use(&volume, 400, number) && ends_well(&volume, bad.count);
    if (right && way == 1) { /* each has been tried, but the one that waits for the root log; anchors lie in the first three */
        unsigned different = 0;
        for (unsigned i = 0; i < bad.count; i++) {
            bool before = bad.block[i] < 3 || bad.block[i] == volume.fs.root_next;
            if (before) {
                continue;
            }
            for (unsigned k = 0; k < i; k++) {
                before = before || bad.block[k] == bad.block[i];
            }
            different += !before;
            right = CHECK_EQ(nf2_block_state(&volume.fs, bad.block[i], NULL), NF2_BLOCK_BAD) && right;
        }
        right = CHECK_EQ(nf2_statfs(&volume.fs, &stat), NF2_OK) && right;
        right = CHECK_EQ(stat.blocks_bad, different) && right;
    }
    volume_down(&volume, right);
    return right;
}

static void patterns(const char *chip)
{
    for (unsigned number = 0; number < 24; number++) {
        for (int way = 0; way < 8; way++) {
            if (!many(chip, number, way)) {
                printf("%s: pattern %u, way %d\n", chip, number, way);
                return;
            }
        }
    }
}

TEST(a_sixteenth)
{
    patterns("tiny256k");
    patterns("tinyecc16");
    patterns("w25q80");
    patterns("tinyecc1m");
}

/* ---- a claim and the log in one call ------------------------------------------------------------ */

#define PARTS 44u

/* Of regions of one block: what is free is erased when it is claimed. */
static void nothing_is_erased(struct nf2_space *space)
{
    for (unsigned i = 0; i < sizeof space->state; i++) {
        space->state[i] &= (uint8_t)~(space->state[i] >> 1 & 0x55u);
    }
    for (unsigned i = 0; i < NF2_WRITERS; i++) {
        space->claim[i].erased = 0;
    }
    space->erased_regions = 0;
}

static uint32_t state_of(const struct nf2_space *space, uint32_t block)
{
    return (uint32_t)space->state[block / 4] >> block % 4 * 2 & 3u;
}

/* A free one in front of one in use. */
static uint32_t last_free(const struct nf2_space *space)
{
    uint32_t block = 4;

    while (block + 2u < space->regions && (state_of(space, block) != 2u || state_of(space, block + 1u) != 0)) {
        block++;
    }
    return block;
}

/*
 * A block is about to be claimed for data: it fails its erase, and then the log fails the CHECKPOINT that has it. What lies behind it
 * is in use, and stays so.
 */
static void claim_is_given_back(unsigned trial)
{
    static struct volume volume;
    char name[24];
    int status = NF2_OK;

    begin(&volume, "w25q80");
    CHECK(format_and_mount(&volume, NF2_FORMAT_QUICK));
    for (unsigned i = 0; i < PARTS; i++) {
        name_of(i, name);
        CHECK_EQ(put(&volume, name, 16384, i), NF2_OK);
    }
    for (unsigned i = trial % 3; i < PARTS; i += 3) {
        name_of(i, name);
        CHECK_EQ(nf2_remove(&volume.fs, name), NF2_OK);
    }
    CHECK_EQ(maintain_all(&volume), 0);
    CHECK_EQ(volume_again(&volume, false), NF2_OK); /* a session that begins erases nothing ahead */
    CHECK_EQ(put(&volume, "dir/small", 8, trial), NF2_OK);
    nothing_is_erased(&volume.fs.space);
    struct nf2_claim *claim = &volume.fs.space.claim[1]; /* of data */
    CHECK(claim->count == 0 && volume.fs.space.region_log == 0);
    claim->start = (uint16_t)last_free(&volume.fs.space); /* it is looked for from here on */
    vflash_break_block(volume.flash, claim->start, false);
    weak.bad = (struct bad){ { volume.fs.root_head }, 1 };
    CHECK_EQ(put(&volume, "dir/new", 30000, trial), NF2_OK);
    CHECK(nf2_block_state(&volume.fs, weak.bad.block[0], NULL) == NF2_BLOCK_BAD); /* else it was not tried */
    for (unsigned i = 0; status == NF2_OK; i++) {
        (void)snprintf(name, sizeof name, "dir/more%u", i);
        status = put(&volume, name, 4096, i);
    }
    CHECK_EQ(status, NF2_ERR_NOSPC);
    CHECK_EQ(volume_again(&volume, true), NF2_OK);
    for (unsigned i = 0; i < PARTS; i++) {
        name_of(i, name);
        CHECK(i % 3 == trial % 3 || holds(&volume, name, 16384, i));
    }
    CHECK(holds(&volume, "dir/new", 30000, trial));
    CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
    volume_down(&volume, true);
}

TEST(claim_and_log)
{
    for (unsigned trial = 0; trial < 3; trial++) {
        claim_is_given_back(trial);
    }
}

int main(void)
{
    RUN(one_anywhere);
    RUN(super_block_for_good);
    RUN(a_sixteenth);
    RUN(claim_and_log);
    return check_done();
}
