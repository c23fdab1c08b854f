/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_bad_errors.c - a block fails for good, and a moment later a call of the driver fails for another reason: each erase in its turn
 * meets the bad block, and each of the next calls fails. What was synced stays, the call at hand says so or succeeds, a mount finds all sound.
 */
#include <string.h>

#include "api_volume.h"
#include "check.h"

#define FILES 6u
#define STEPS 22u

static const char *const names[FILES] = {"small", "flat", "large", "dir/one", "dir/two", "pieces"};
static const uint32_t sizes[FILES] = {60, 6000, 30000, 700, 9000, 14000};

static struct {
    struct vflash *flash;
    uint32_t in;                /* erases until one meets the bad block; 0: none does */
    uint32_t behind;            /* calls of the driver until one of them fails, */
    uint32_t fails;             /* and how many do */
    uint32_t block_size;
    bool met;
} fault;

static void watch(void *context, const struct vflash_operation *operation)
{
    (void)context;
    if (operation->erase && fault.in > 0 && --fault.in == 0 && operation->address / fault.block_size >= 2) {
        fault.met = true;
        vflash_break_block(fault.flash, operation->address / fault.block_size, false);
        vflash_fail_from(fault.flash, fault.behind, fault.fails);
    }
}

static void begin_files(struct volume *volume, uint32_t *seeds)
{
    CHECK_EQ(nf2_mkdir(&volume->fs, "dir"), NF2_OK);
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < FILES; i++) {
            seeds[i] = round * 50 + i + 1;
            CHECK_EQ(put(volume, names[i], sizes[i], seeds[i]), NF2_OK);
        }
    }
}

/* Puts, idle work and mounts, in turn. */
static int step(struct volume *volume, unsigned number, const uint32_t *seeds)
{
    if (number % 7 == 3) {
        int left = nf2_maintain(&volume->fs, 500000);
        return left < 0 ? left : NF2_OK;
    }
    return number % 11 == 5 ? volume_again(volume, number % 2 == 0) : put(volume, names[number % FILES], sizes[number % FILES], seeds[number % FILES]);
}

/* All is as it was synced; what the step that failed wrote may be there, or a part of it. */
static bool all_right(struct volume *volume, const uint32_t *old, const uint32_t *seeds)
{
    bool right = true;

    for (unsigned i = 0; i < FILES; i++) {
        bool now = holds(volume, names[i], sizes[i], seeds[i]) || (old[i] != seeds[i] && holds(volume, names[i], sizes[i], old[i]));
        for (uint32_t part = 0; !now && old[i] != seeds[i] && part < sizes[i]; part += 1000) { /* put() writes so many bytes at a time, and closes behind an error */
            now = holds(volume, names[i], part, seeds[i]);
        }
        right = now && right;
    }
    return right;
}

/* False: no such operation came. */
static bool run(struct volume *volume, const struct vflash_checkpoint *ground, const uint32_t *begun, uint32_t in, uint32_t behind, uint32_t fails)
{
    uint32_t seeds[FILES], old[FILES];
    int status = NF2_OK;
    bool right = true, mounted = true;

    vflash_restore(volume->flash, ground);
    fault.flash = volume->flash;
    fault.in = fault.behind = fault.fails = 0;
    fault.met = false;
    memcpy(seeds, begun, sizeof seeds);
    CHECK_EQ(volume_again(volume, false), NF2_OK);
    fault.in = in;
    fault.behind = behind;
    fault.fails = fails;
    for (unsigned number = 0; number < STEPS && status == NF2_OK; number++) {
        memcpy(old, seeds, sizeof old);
        if (number % 7 != 3 && number % 11 != 5) {
            seeds[number % FILES] = 200 + number;
        }
        status = step(volume, number, seeds);
        mounted = number % 11 != 5 || status == NF2_OK;
    }
    fault.in = 0;
    vflash_fail_at(volume->flash, 0);
    right = CHECK(status == NF2_OK || status == NF2_ERR_IO) && CHECK(status == NF2_OK || fault.met);
    right = right && (!mounted || CHECK(all_right(volume, status == NF2_OK ? seeds : old, seeds)));
    right = right && CHECK_EQ(volume_again(volume, false), NF2_OK) && CHECK(all_right(volume, status == NF2_OK ? seeds : old, seeds));
    right = right && CHECK_EQ(nf2_check(&volume->fs, NULL, NULL), 0);
    right = right && CHECK_EQ(put(volume, "small", 90, 7), NF2_OK) && CHECK(holds(volume, "small", 90, 7));
    if (!right) {
        printf("erase %u meets a bad block, %u calls fail from call %u behind it on\n", (unsigned)in, (unsigned)fails, (unsigned)behind);
    }
    return fault.met;
}

static void each(const char *chip, uint32_t most, uint32_t stride)
{
    static struct volume volume;
    uint32_t seeds[FILES], runs = 0, met = 0;

    volume_up(&volume, chip);
    fault.block_size = vflash_chip_of(volume.flash)->block_size;
    begin_files(&volume, seeds);
    vflash_watch(volume.flash, watch, NULL);
    struct vflash_checkpoint *ground = vflash_save(volume.flash);
    for (uint32_t in = 1; in <= most && check_state.failures == 0; in++) {
        for (uint32_t behind = 1 + in % stride; behind < 60 && check_state.failures == 0; behind += stride, runs++) {
            met += run(&volume, ground, seeds, in, behind, behind % 3 == 2 ? 4 : 1);
        }
    }
    CHECK(met > runs / 4);
    printf("%s: %u runs, %u met a bad block\n", chip, (unsigned)runs, (unsigned)met);
    vflash_release(ground);
    volume_down(&volume, true);
}

#ifdef __SANITIZE_ADDRESS__
#define STRIDE 6u
#else
#define STRIDE 1u
#endif

TEST(erases)
{
    each("tiny256k", 30, STRIDE);
}

int main(void)
{
    RUN(erases);
    return check_done();
}
