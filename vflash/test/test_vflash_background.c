/* SPDX-License-Identifier: BSD-2-Clause */
/* test_vflash_background.c - an erase that is open while other calls are made. */
#include "calls.h"

#define SUSPEND_US 30u

static struct vflash *chip;
static const struct nf2_flash *driver;

static void open_chip(uint32_t suspend_us)
{
    chip = make("w25q256");
    vflash_background(chip, true, suspend_us);
    driver = vflash_driver(chip);
}

static int begin(uint32_t address, uint32_t length)
{
    return driver->erase_begin(driver->context, address, length);
}

static int ended(void)
{
    return driver->erase_done(driver->context);
}

static uint64_t now_us(void)
{
    return vflash_counts(chip)->time_us;
}

TEST(off_by_default)
{
    chip = make("w25q256");
    CHECK(vflash_driver(chip)->erase_begin == NULL && vflash_driver(chip)->erase_done == NULL);
    vflash_background(chip, true, 0);
    CHECK(vflash_driver(chip)->erase_begin != NULL && vflash_driver(chip)->erase_done != NULL);
    vflash_background(chip, false, 0);
    CHECK(vflash_driver(chip)->erase_begin == NULL && vflash_driver(chip)->erase_done == NULL);
    vflash_free(chip);
}

TEST(it_takes_time_that_passes)
{
    open_chip(SUSPEND_US);
    uint32_t erase_us = vflash_chip_of(chip)->erase_us[0];
    CHECK_EQ(do_fill(chip, 0, 0, PAGE), 0);
    CHECK_EQ(ended(), 1);                       /* none is open */
    uint64_t before = now_us();
    CHECK_EQ(begin(0, BLOCK), 0);
    CHECK_EQ(now_us(), before);
    CHECK(vflash_is_erasing(chip));
    vflash_pass(chip, erase_us - 1u);
    CHECK_EQ(ended(), 0);
    vflash_pass(chip, 1);
    CHECK(!vflash_is_erasing(chip));
    CHECK_EQ(ended(), 1);
    CHECK_EQ(now_us(), before + erase_us);
    CHECK_EQ(vflash_memory(chip)[0], 0xFF);
    CHECK_EQ(vflash_wear(chip, 0), 1);
    CHECK_EQ(vflash_counts(chip)->erases[0], 1);
    vflash_free(chip);
}

/* Reads and programs elsewhere: the erase stops for them, or they wait for its end. */
TEST(others_suspend_it_or_wait)
{
    for (int suspends = 0; suspends < 2; suspends++) {
        uint8_t byte;
        open_chip(suspends == 1 ? SUSPEND_US : 0);
        const struct vflash_chip *facts = vflash_chip_of(chip);
        uint32_t more_us = suspends == 1 ? SUSPEND_US : facts->erase_us[0];
        CHECK_EQ(begin(0, BLOCK), 0);
        uint64_t before = now_us();
        CHECK_EQ(do_read(chip, BLOCK, &byte, 1), 0);
        CHECK_EQ(now_us() - before, more_us + facts->read_page_us);
        CHECK_EQ(ended(), suspends == 1 ? 0 : 1);
        before = now_us();
        CHECK_EQ(do_fill(chip, BLOCK, 0x5A, PAGE), 0);
        CHECK_EQ(now_us() - before, (suspends == 1 ? SUSPEND_US : 0) + facts->program_page_us);
        vflash_pass(chip, suspends == 1 ? facts->erase_us[0] : 0);
        CHECK_EQ(ended(), 1);
        CHECK_EQ(vflash_memory(chip)[BLOCK], 0x5A);
        vflash_free(chip);
    }
}

TEST(what_is_not_allowed_meanwhile)
{
    uint8_t byte = 0;
    open_chip(SUSPEND_US);
    CHECK_EQ(begin(LARGE, LARGE), 0);
    CHECK_EQ(do_read(chip, 2 * LARGE - 1, &byte, 1), VFLASH_VIOLATION);
    CHECK_EQ(do_read(chip, LARGE - 1, &byte, 1), 0);
    CHECK_EQ(do_read(chip, 2 * LARGE, &byte, 1), 0);
    CHECK_EQ(do_program(chip, LARGE, &byte, 1), VFLASH_VIOLATION);
    CHECK_EQ(do_erase(chip, 0, BLOCK), VFLASH_VIOLATION);
    CHECK_EQ(begin(0, BLOCK), VFLASH_VIOLATION);
    vflash_pass(chip, 1000000);
    CHECK_EQ(begin(0, BLOCK), VFLASH_VIOLATION);        /* nobody has asked about the first one */
    CHECK_EQ(ended(), 1);
    CHECK_EQ(begin(1, BLOCK), VFLASH_VIOLATION);
    CHECK_EQ(begin(0, BLOCK), 0);
    vflash_free(chip);
}

/* The cut is in the erase's own operation: its caller has been told that it began. */
TEST(cut_of_its_own_operation)
{
    for (int next = 0; next < 4; next++) {
        uint8_t byte = 0;
        open_chip(SUSPEND_US);
        memset(vflash_memory(chip), 0x33, 3 * BLOCK);
        vflash_cut_at(chip, &(struct vflash_cut){
                                .operation = 1, .erase = VFLASH_ERASE_PREFIX, .byte = 100, .last_byte_mask = 0});
        CHECK_EQ(begin(BLOCK, BLOCK), 0);
        CHECK_EQ(vflash_memory(chip)[BLOCK], 0x33);
        if (next == 0) {
            vflash_pass(chip, 1);
            CHECK_EQ(ended(), VFLASH_OFF);
        } else {
            CHECK_EQ(next == 1   ? ended()
                     : next == 2 ? do_read(chip, 0, &byte, 1)
                                 : do_program(chip, 0, &byte, 1),
                     VFLASH_OFF);
        }
        CHECK_EQ(vflash_memory(chip)[BLOCK + 99], 0xFF);
        CHECK_EQ(vflash_memory(chip)[BLOCK + 100], 0x33);
        CHECK_EQ(vflash_memory(chip)[0], 0x33);
        CHECK_EQ(vflash_memory(chip)[2 * BLOCK], 0x33);
        vflash_power_on(chip);
        CHECK_EQ(ended(), 1);                   /* nothing is open any more */
        CHECK_EQ(do_erase(chip, BLOCK, BLOCK), 0);
        vflash_free(chip);
    }
}

/* A cut at a program while the erase is open tears both; what has ended is whole. */
TEST(cut_of_a_program_meanwhile)
{
    for (int over = 0; over < 2; over++) {
        open_chip(SUSPEND_US);
        memset(vflash_memory(chip), 0x33, BLOCK);
        vflash_cut_at(chip, &(struct vflash_cut){.operation = 2, .byte = 3, .erase = VFLASH_ERASE_PREFIX});
        CHECK_EQ(begin(0, BLOCK), 0);
        vflash_pass(chip, over == 1 ? 1000000 : 1000);
        CHECK_EQ(do_fill(chip, BLOCK, 0, 10), VFLASH_OFF);
        CHECK_EQ(vflash_memory(chip)[BLOCK + 2], 0);
        CHECK_EQ(vflash_memory(chip)[BLOCK + 3], 0xFF);
        CHECK_EQ(vflash_memory(chip)[2], 0xFF);
        CHECK_EQ(vflash_memory(chip)[3], over == 1 ? 0xFF : 0x33);
        vflash_free(chip);
    }
}

TEST(bad_blocks_and_failing_calls)
{
    open_chip(SUSPEND_US);
    vflash_break_block(chip, 1, false);
    CHECK_EQ(begin(BLOCK, BLOCK), 0);
    vflash_pass(chip, 1000000);
    CHECK_EQ(ended(), NF2_FLASH_BAD);
    CHECK_EQ(ended(), 1);
    vflash_fail_at(chip, 1);
    CHECK_EQ(begin(0, BLOCK), VFLASH_FAILED);
    CHECK_EQ(ended(), 1);
    CHECK_EQ(begin(0, BLOCK), 0);
    vflash_fail_at(chip, 1);
    memset(vflash_memory(chip), 0x33, BLOCK);
    CHECK_EQ(ended(), VFLASH_FAILED);
    CHECK_EQ(ended(), 1);
    CHECK_EQ(vflash_memory(chip)[0], 0x33);
    vflash_free(chip);
}

/* A checkpoint keeps the open erase. */
TEST(checkpoint)
{
    open_chip(SUSPEND_US);
    memset(vflash_memory(chip), 0, BLOCK);
    CHECK_EQ(begin(0, BLOCK), 0);
    struct vflash_checkpoint *saved = vflash_save(chip);
    vflash_pass(chip, 1000000);
    CHECK_EQ(ended(), 1);
    vflash_restore(chip, saved);
    CHECK(vflash_is_erasing(chip));
    CHECK_EQ(ended(), 0);
    CHECK_EQ(vflash_memory(chip)[0], 0);
    vflash_pass(chip, 1000000);
    CHECK_EQ(ended(), 1);
    CHECK_EQ(vflash_memory(chip)[0], 0xFF);
    vflash_release(saved);
    vflash_free(chip);
}

int main(void)
{
    RUN(off_by_default);
    RUN(it_takes_time_that_passes);
    RUN(others_suspend_it_or_wait);
    RUN(what_is_not_allowed_meanwhile);
    RUN(cut_of_its_own_operation);
    RUN(cut_of_a_program_meanwhile);
    RUN(bad_blocks_and_failing_calls);
    RUN(checkpoint);
    return check_done();
}
