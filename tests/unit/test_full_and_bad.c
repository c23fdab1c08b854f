/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_full_and_bad.c - blocks fail on a full volume of which power cuts lost what was claimed: a leaf that a GROUP is applied to,
 * while next to no block is known to be free, or while the log turns; several under a removal; the log's next block, and the
 * one that takes its place, a free one that no claim has.
 */
#include <stdio.h>
#include <string.h>

#include "api_volume.h"
#include "calls.h"
#include "check.h"
#include "core_traits.h"

#define NAMES 120u
#define LOG_NEARLY_FULL 3400u
#define FEW_FREE 12u

static struct volume volume;
static uint64_t state;

/* ---- blocks that fail ------------------------------------------------------------------------ */

/*
 * The first block of the tree that is programmed fails, and then so many that are erased; or of all that are, seven of ten, but not
 * the block where the log was.
 */
static struct {
    unsigned failed, more;
    bool often;
    uint64_t draw;
    uint32_t log;
    bool lands;                 /* a program that fails leaves bits: half of its bytes, the next one all of them */
    unsigned landed;
} breaks;

static void on_operation(void *context, const struct vflash_operation *operation)
{
    uint32_t block = operation->address / volume.driver.block_size;

    (void)context;
    if (block < 3 || block == volume.fs.root_head || block == volume.fs.root_next || (breaks.often && block == breaks.log)) {
        return;
    }
    bool more = breaks.often ? random_number(&breaks.draw, 10) < 7 : breaks.failed <= breaks.more;
    if (breaks.failed == 0 ? !operation->erase : operation->erase && more) {
        breaks.failed++;
        vflash_break_block(volume.flash, block, false);
    }
}

static int landing_program(void *context, uint32_t address, const void *data, uint32_t length)
{
    int result = vflash_driver(volume.flash)->program(context, address, data, length);

    if (result == NF2_FLASH_BAD && breaks.lands) {
        uint8_t *at = vflash_memory(volume.flash) + address;
        uint32_t lands = breaks.landed++ % 2 == 0 ? length / 2 : length;
        for (uint32_t i = 0; i < lands; i++) {
            at[i] &= ((const uint8_t *)data)[i];
        }
    }
    return result;
}

static void break_blocks(unsigned more, bool lands)
{
    memset(&breaks, 0, sizeof breaks);
    breaks.more = more;
    breaks.lands = lands;
    vflash_watch(volume.flash, on_operation, NULL);
}

/* ---- a full volume that cuts went over ------------------------------------------------------- */

static char names[NAMES][40];

static void name_all(void)
{
    for (unsigned i = 0; i < NAMES; i++) {
        int length = snprintf(names[i], sizeof names[i], "%c%u_%u", 'a' + (char)random_number(&state, 26), (unsigned)random_number(&state, 1000), i);
        if (random_number(&state, 5) == 0) {
            memset(names[i] + length, 'x', 34u - (unsigned)length);
            names[i][34] = 0;
        }
    }
}

static const char *some_name(void)
{
    return names[random_number(&state, NAMES)];
}

static void some_call(void)
{
    const char *a = some_name(), *b = some_name();
    uint32_t kind = random_number(&state, 100);

    if (kind < 60) {
        (void)nf2_rename(&volume.fs, a, b);
    } else if (kind < 75) {
        (void)put(&volume, a, 200, kind);
    } else {
        (void)nf2_remove(&volume.fs, a);
    }
}

static void fill(unsigned seed)
{
    struct vflash_chip chip = *vflash_chip_find("tiny256k");
    unsigned refused = 0;

    chip.size = (seed % 2 == 0 ? 64 : 128) * 4096;
    chip.erase_sizes[1] = chip.erase_sizes[2] = 0;
    state = seed;
    volume_new_on(&volume, &chip);
    volume.driver.program = landing_program;
    breaks.lands = false;
    volume_format(&volume);
    name_all();
    for (unsigned i = 0; i < 4000 && refused < 12; i++) {
        uint32_t size = random_number(&state, 2) ? 200 : random_number(&state, 12000);
        refused += put(&volume, some_name(), size, i) != NF2_OK;
    }
    for (unsigned i = 0; i < 6; i++) {
        (void)nf2_remove(&volume.fs, some_name());
    }
    CHECK_EQ(volume_again(&volume, true), NF2_OK);
}

static void cut_session(unsigned seed)
{
    struct vflash_cut cut = { .operation = 1 + random_number(&state, random_number(&state, 2) ? 5 : 16), .byte = UINT32_MAX, .seed = seed };

    vflash_cut_at(volume.flash, &cut);
    for (unsigned i = 0; i < 6; i++) {
        some_call();
    }
    vflash_cut_at(volume.flash, NULL);
    vflash_power_on(volume.flash);
    CHECK_EQ(nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDWR), NF2_OK);
}

/* Sessions that are cut; a trial in front of each one that `suits`, from which the volume comes back. How many trials. */
static unsigned history(unsigned seed, unsigned sessions, bool (*suits)(unsigned session), bool (*trial)(void))
{
    unsigned trials = 0;

    fill(seed);
    for (unsigned i = 0; i < sessions; i++) {
        if (suits(i)) {
            struct vflash_checkpoint *before = vflash_save(volume.flash);
            uint64_t kept = state;
            trials++;
            if (!trial()) {
                printf("  history %u, session %u: %u blocks failed\n", seed, i, breaks.failed);
            }
            state = kept;
            vflash_restore(volume.flash, before);
            vflash_release(before);
            CHECK_EQ(nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDWR), NF2_OK);
        }
        cut_session(seed);
    }
    volume_down(&volume, true);
    return trials;
}

/* ---- the leaf of a GROUP --------------------------------------------------------------------- */

static bool group_waits(unsigned session)
{
    (void)session;
    return volume.fs.group_at != 0 && core_stock(&volume.fs) <= 3;
}

static bool applied(bool lands)
{
    bool right = true;

    break_blocks(core_stock(&volume.fs), lands);
    for (unsigned i = 0; i < 2; i++) {
        right = CHECK(one_of(nf2_remove(&volume.fs, some_name()), NF2_OK, NF2_ERR_NOSPC, NF2_ERR_NOENT)) && right;
        vflash_watch(volume.flash, NULL, NULL);
    }
    return CHECK_EQ(volume_again(&volume, true), NF2_OK) && CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0) && right;
}

static bool leaf_fails(void)
{
    return applied(false);
}

static bool leaf_fails_and_lands(void)
{
    return applied(true);
}

/*
 * The leaf fails, and with it all blocks that are known to be free: the session looks for others, and applies the GROUP to a new
 * leaf. The one that failed takes no more, also where bits land in it.
 */
TEST(leaf_of_a_group_that_waits)
{
    static const unsigned chosen[] = { 4, 5 };
    unsigned trials = 0;

    for (unsigned i = 0; i < 2; i++) {
        trials += history(chosen[i], 60, group_waits, leaf_fails);
        trials += history(chosen[i], 60, group_waits, leaf_fails_and_lands);
    }
    printf("  %u trials\n", trials);
    CHECK(trials > 0);
}

/* ---- the log turns while a GROUP is applied -------------------------------------------------- */

static bool log_turns_soon(unsigned session)
{
    (void)session;
    return volume.fs.group_at != 0 && volume.fs.root_end > 1500 && core_stock(&volume.fs) >= 2 && core_stock(&volume.fs) <= 12;
}

static bool most_fail(void)
{
    struct vflash_checkpoint *before = vflash_save(volume.flash);
    bool right = true;

    for (unsigned draw = 0; draw < 12 && right; draw++) {
        break_blocks(0, false);
        breaks.often = true;
        breaks.draw = draw;
        breaks.log = volume.fs.root_head;
        for (unsigned i = 0; i < 2; i++) {
            (void)nf2_remove(&volume.fs, some_name());
            vflash_watch(volume.flash, NULL, NULL);
        }
        right = CHECK_EQ(volume_again(&volume, false), NF2_OK) && CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
        vflash_restore(volume.flash, before);
        right = CHECK_EQ(nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDWR), NF2_OK) && right;
    }
    vflash_release(before);
    return right;
}

/* What the GROUP says is read from the old log until it is done: that block is not taken before. */
TEST(log_turns_under_a_group)
{
    unsigned trials = history(5, 60, log_turns_soon, most_fail) + history(6, 60, log_turns_soon, most_fail);

    printf("  %u trials\n", trials);
    CHECK(trials > 0);
}

/* ---- removals -------------------------------------------------------------------------------- */

static bool late(unsigned session)
{
    return session >= 29 && core_stock(&volume.fs) <= 8;
}

/* Four fail. To put them on record takes no block that a removal needs. (Where no other block is known that the log could turn to,
   a removal returns IO: docs/DESIGN.md, "Open".) */
static bool removals(void)
{
    bool right = true;

    break_blocks(3, false);
    for (unsigned i = 0; i < 12 && right; i++) {
        int result = nf2_remove(&volume.fs, some_name());
        right = CHECK(result == NF2_OK || result == NF2_ERR_NOENT) && (i != 5 || CHECK_EQ(volume_again(&volume, false), NF2_OK));
    }
    vflash_watch(volume.flash, NULL, NULL);
    return right && CHECK_EQ(volume_again(&volume, true), NF2_OK) && CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
}

TEST(four_fail_under_removals)
{
    unsigned trials = history(33, 43, late, removals);

    printf("  %u trials\n", trials);
    CHECK(trials > 0);
}

/* ---- the log's turn -------------------------------------------------------------------------- */

static uint32_t log_next;       /* before a call */

/* The log's next block fails, and the one that is erased behind it. */
static void on_erase(void *context, const struct vflash_operation *operation)
{
    uint32_t block = operation->address / volume.driver.block_size;

    (void)context;
    if (operation->erase && (breaks.failed == 0 ? block == log_next : breaks.failed == 1)) {
        breaks.failed++;
        vflash_break_block(volume.flash, block, false);
    }
}

/* Behind a cut no block is claimed: what takes the place of the log's next block is on no record. */
static bool turns_behind_a_cut(unsigned session)
{
    const nf2_t *fs = &volume.fs;

    (void)session;
    return fs->root_next != fs->root_head && fs->root_end > LOG_NEARLY_FULL && core_claimed(fs) == 0 && core_stock(fs) >= 3 &&
           core_stock(fs) <= FEW_FREE;
}

static unsigned both;           /* trials in which two failed */

/* A third block takes their place: no call returns an error but NOSPC, also if power goes in between. */
static bool two_fail(void)
{
    struct vflash_checkpoint *before = vflash_save(volume.flash);
    uint64_t begun = state;
    bool right = true;

    for (unsigned at = 0; at < 8 && right; at++) { /* 0: power stays; else it goes with the operation of this number */
        struct vflash_cut cut = { .operation = at, .byte = UINT32_MAX, .seed = at };
        state = begun;
        breaks.failed = 0;
        log_next = volume.fs.root_next;
        vflash_watch(volume.flash, on_erase, NULL);
        vflash_cut_at(volume.flash, at > 0 ? &cut : NULL);
        for (unsigned i = 0; i < 4; i++) {
            int result = nf2_remove(&volume.fs, some_name());
            right = CHECK(at > 0 || one_of(result, NF2_OK, NF2_ERR_NOSPC, NF2_ERR_NOENT)) && right;
        }
        vflash_watch(volume.flash, NULL, NULL);
        both += breaks.failed == 2;
        vflash_cut_at(volume.flash, NULL);
        vflash_power_on(volume.flash);
        right = CHECK_EQ(volume_again(&volume, at == 0), NF2_OK) && CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0) && right;
        vflash_restore(volume.flash, before);
        right = CHECK_EQ(nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDWR), NF2_OK) && right;
    }
    vflash_release(before);
    return right;
}

TEST(two_fail_in_a_turn)
{
    unsigned trials = 0;

    for (unsigned seed = 4; seed < 10; seed++) {
        trials += history(seed, 60, turns_behind_a_cut, two_fail);
    }
    printf("  %u trials, two blocks failed in %u runs of them\n", trials, both);
    CHECK(both > 0);
}

int main(void)
{
    RUN(leaf_of_a_group_that_waits);
    RUN(log_turns_under_a_group);
    RUN(four_fail_under_removals);
    RUN(two_fail_in_a_turn);
    return check_done();
}
