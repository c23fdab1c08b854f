/* SPDX-License-Identifier: BSD-2-Clause */
/* test_tap.c - the second counter agrees with the virtual chip on random calls, refused and failing ones too, and says where it does not. */
#include <stdlib.h>

#include "check.h"
#include "pcg32.h"
#include "tap.h"

#define CALLS 200000u

static void random_call(const struct nf2_flash *driver, struct pcg32 *rng)
{
    static uint8_t data[4096];
    uint32_t address = pcg32_below(rng, driver->chip_size);
    uint32_t kind = pcg32_below(rng, 10);
    if (kind < 5) {
        uint32_t left = driver->chip_size - address;
        uint32_t length = pcg32_below(rng, left < sizeof(data) ? left : (uint32_t)sizeof(data)) + (kind == 0);     /* now and then beyond the end */
        (void)driver->read(driver->context, address, data, length);
    } else if (kind < 9) {
        data[0] = (uint8_t)pcg32_next(rng);        /* bits from 0 to 1 are refused */
        (void)driver->program(driver->context, address, data, pcg32_below(rng, 2 * driver->page_size));
    } else {
        uint32_t length = pcg32_below(rng, 8) == 0 ? driver->large_erase_size : driver->block_size;
        address -= pcg32_below(rng, 4) == 0 ? 0 : address % length;
        (void)driver->erase(driver->context, address, length);
    }
}

static void compare_on(const char *name)
{
    struct tap tap;
    struct pcg32 rng;
    struct vflash *chip = vflash_new(vflash_chip_find(name));
    pcg32_seed(&rng, 5, 1);
    CHECK_EQ(tap_open(&tap, chip), 0);
    vflash_break_block(chip, 1, false);
    for (uint32_t i = 0; i < CALLS; i++) {
        random_call(&tap.driver, &rng);
        if (i % 1000 == 0) {
            vflash_fail_at(chip, 3);
        }
    }
    const struct vflash_counts *counts = vflash_counts(chip);
    CHECK(counts->violations > 0 && counts->read_pages > 0 && counts->program_pages > 0 && counts->erases[0] > 0);
    const char *difference = dumb_difference(&tap.dumb, vflash_chip_of(chip), counts);
    CHECK_TEXT(difference != NULL ? difference : "none", "none");
    tap_close(&tap);
    vflash_free(chip);
}

TEST(both_counters_agree)
{
    compare_on("w25q80");
    compare_on("tiny512");
    compare_on("tiny128k");
}

TEST(a_difference_is_named)
{
    struct tap tap;
    uint8_t data[16];
    struct vflash *chip = vflash_new(vflash_chip_find("tiny128k"));
    CHECK_EQ(tap_open(&tap, chip), 0);
    CHECK_EQ(tap.driver.read(tap.driver.context, 0, data, sizeof(data)), 0);
    CHECK(dumb_difference(&tap.dumb, vflash_chip_of(chip), vflash_counts(chip)) == NULL);
    CHECK_EQ(tap.chip->read(tap.chip->context, 0, data, sizeof(data)), 0);      /* past the tap */
    const char *difference = dumb_difference(&tap.dumb, vflash_chip_of(chip), vflash_counts(chip));
    CHECK_TEXT(difference != NULL ? difference : "none", "read calls");
    tap_close(&tap);
    vflash_free(chip);
}

TEST(sizes_are_powers_of_two)
{
    static const struct {
        uint32_t length, place;
    } cases[] = {{0, 0}, {1, 0}, {2, 1}, {3, 2}, {4, 2}, {5, 3}, {256, 8}, {257, 9}, {UINT32_MAX, TAP_SIZES - 1}};
    for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        CHECK_EQ(tap_size(cases[i].length), cases[i].place);
    }
}

int main(void)
{
    RUN(sizes_are_powers_of_two);
    RUN(both_counters_agree);
    RUN(a_difference_is_named);
    return check_done();
}
