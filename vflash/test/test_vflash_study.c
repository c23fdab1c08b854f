/* SPDX-License-Identifier: BSD-2-Clause */
/* test_vflash_study.c - maximum times, times under conditions, counts of each page, NAND, states in files. */
#include "calls.h"

#define NAND_PAGE 2048u
#define NAND_BLOCK (128u * 1024u)

TEST(maximum_times_are_those_of_the_data_sheet)
{
    struct vflash *chip = make("w25q80");
    CHECK_EQ(do_fill(chip, 0, 0, PAGE), 0);
    CHECK_EQ(do_erase(chip, 0, BLOCK), 0);
    CHECK_EQ(do_erase(chip, 0, LARGE), 0);
    CHECK_EQ(vflash_counts(chip)->time_us, 400 + 50000 + 150000);
    CHECK_EQ(vflash_counts(chip)->time_max_us, 3000 + 400000 + 2000000);
    CHECK_EQ(vflash_counts(chip)->time_model_us, vflash_counts(chip)->time_us);
    vflash_free(chip);
}

TEST(an_unknown_maximum_is_taken_as_typical)
{
    struct vflash *chip = make("tiny8k");
    CHECK_EQ(do_erase(chip, 0, 8192), 0);
    CHECK_EQ(vflash_counts(chip)->time_max_us, 300000);
    vflash_free(chip);
}

/* Half way to the endurance an erase takes half way from typical to maximum. */
TEST(wear_slows_erases)
{
    struct vflash_chip facts = *vflash_chip_find("tiny128k");
    facts.endurance = 4;
    struct vflash *chip = vflash_new(&facts);
    vflash_set_conditions(chip, &(struct vflash_conditions){.wear = true});
    uint64_t last = 0;
    static const uint64_t expected[] = {50000, 137500, 225000, 312500, 400000};
    for (unsigned i = 0; i < 5; i++) {
        CHECK_EQ(do_erase(chip, 0, BLOCK), 0);
        CHECK_EQ(vflash_counts(chip)->time_model_us - last, expected[i]);
        last = vflash_counts(chip)->time_model_us;
    }
    CHECK_EQ(vflash_counts(chip)->time_us, 5 * 50000);
    vflash_free(chip);
}

TEST(content_shortens_programs)
{
    struct vflash *chip = make("tiny128k");
    uint8_t data[PAGE];
    memset(data, 0xFF, sizeof(data));
    vflash_set_conditions(chip, &(struct vflash_conditions){.content = true});
    CHECK_EQ(do_program(chip, 0, data, PAGE), 0);
    CHECK_EQ(vflash_counts(chip)->time_model_us, 80);       /* a fifth of 400: nothing to program */
    memset(data, 0, PAGE / 2);
    CHECK_EQ(do_program(chip, 0, data, PAGE), 0);
    CHECK_EQ(vflash_counts(chip)->time_model_us, 80 + 240);
    CHECK_EQ(vflash_counts(chip)->time_us, 800);
    vflash_free(chip);
}

TEST(a_share_of_blocks_is_slow)
{
    struct vflash *chip = make("w25q80");
    uint32_t blocks = vflash_chip_of(chip)->size / BLOCK, slow = 0;
    vflash_set_conditions(chip, &(struct vflash_conditions){.slow_permille = 100, .seed = 7});
    uint64_t last = 0;
    for (uint32_t block = 0; block < blocks; block++) {
        CHECK_EQ(do_erase(chip, block * BLOCK, BLOCK), 0);
        uint64_t us = vflash_counts(chip)->time_model_us - last;
        last += us;
        CHECK(us == 50000 || us == 400000);
        slow += us == 400000;
    }
    CHECK(slow > blocks / 20 && slow < blocks / 5);
    vflash_set_conditions(chip, NULL);
    CHECK_EQ(do_erase(chip, 0, BLOCK), 0);
    CHECK_EQ(vflash_counts(chip)->time_model_us, last + 50000);
    vflash_free(chip);
}

TEST(each_page_is_counted)
{
    struct vflash *chip = make("tiny128k");
    uint8_t data[2 * PAGE];
    CHECK_EQ(vflash_page_reads(chip, 3), 0);
    CHECK_EQ(vflash_count_each_page(chip), 0);
    CHECK_EQ(do_fill(chip, 3 * PAGE, 0, 16), 0);
    CHECK_EQ(do_fill(chip, 3 * PAGE + 16, 0, 16), 0);
    CHECK_EQ(do_read(chip, 3 * PAGE + 10, data, PAGE), 0);
    CHECK_EQ(vflash_page_programs(chip, 3), 2);
    CHECK_EQ(vflash_page_programs(chip, 4), 0);
    CHECK_EQ(vflash_page_reads(chip, 3), 1);
    CHECK_EQ(vflash_page_reads(chip, 4), 1);
    vflash_free(chip);
}

TEST(nand_pages_go_upwards_and_once)
{
    static uint8_t page[NAND_PAGE];
    struct vflash *chip = make("hffs-nand");
    CHECK_EQ(do_program(chip, 0, page, NAND_PAGE), 0);
    CHECK_EQ(do_program(chip, 2 * NAND_PAGE, page, NAND_PAGE), 0);
    CHECK_EQ(violations(chip), 0);
    CHECK_EQ(do_program(chip, NAND_PAGE, page, NAND_PAGE), VFLASH_VIOLATION);      /* behind the last one */
    CHECK_EQ(do_program(chip, 2 * NAND_PAGE, page, NAND_PAGE), VFLASH_VIOLATION);  /* again */
    CHECK_EQ(do_program(chip, 3 * NAND_PAGE, page, NAND_PAGE / 2), VFLASH_VIOLATION);
    CHECK_EQ(do_erase(chip, 0, NAND_BLOCK), 0);
    CHECK_EQ(do_program(chip, NAND_PAGE, page, NAND_PAGE), 0);
    vflash_free(chip);
}

TEST(nand_has_bad_blocks_from_the_factory)
{
    static uint8_t page[NAND_PAGE];
    struct vflash *chip = make("hffs-nand");
    uint32_t blocks = vflash_chip_of(chip)->size / NAND_BLOCK, bad = 0;
    CHECK(!vflash_is_bad(chip, 0));
    for (uint32_t block = 0; block < blocks; block++) {
        uint8_t mark = 0xFF;
        CHECK_EQ(vflash_spare_read(chip, block * (NAND_BLOCK / NAND_PAGE), &mark, 1), 0);
        CHECK_EQ(mark, vflash_is_bad(chip, block) ? 0 : 0xFF);
        if (vflash_is_bad(chip, block)) {
            bad++;
            CHECK_EQ(do_erase(chip, block * NAND_BLOCK, NAND_BLOCK), NF2_FLASH_BAD);
            CHECK_EQ(do_program(chip, block * NAND_BLOCK, page, NAND_PAGE), NF2_FLASH_BAD);
        }
    }
    CHECK_EQ(bad, 8);
    vflash_free(chip);
}

TEST(nand_spare_bytes_clear_and_are_erased)
{
    struct vflash *chip = make("hffs-nand");
    uint8_t tags[64], back[65];
    memset(tags, 0x0F, sizeof(tags));
    CHECK_EQ(vflash_spare_program(chip, 1, tags, sizeof(tags)), 0);
    memset(tags, 0x3C, sizeof(tags));
    CHECK_EQ(vflash_spare_program(chip, 1, tags, 1), 0);
    CHECK_EQ(vflash_spare_read(chip, 1, back, 64), 0);
    CHECK_EQ(back[0], 0x0C);
    CHECK_EQ(back[63], 0x0F);
    CHECK_EQ(vflash_spare_read(chip, 1, back, 65), VFLASH_VIOLATION);
    CHECK_EQ(do_erase(chip, 0, NAND_BLOCK), 0);
    CHECK_EQ(vflash_spare_read(chip, 1, back, 64), 0);
    CHECK(all_bytes(back, 0xFF, 64));
    vflash_free(chip);
}

TEST(a_state_goes_through_a_file)
{
    char message[100] = "";
    struct vflash *chip = make("tinyecc16"), *other = make("tinyecc16"), *wrong = make("tiny256k");
    FILE *file = tmpfile();
    CHECK_EQ(do_erase(chip, BLOCK, BLOCK), 0);
    CHECK_EQ(do_fill(chip, BLOCK, 0x5A, 64), 0);
    CHECK_EQ(vflash_store(chip, file, message, sizeof(message)), 0);
    rewind(file);
    CHECK_EQ(vflash_load(wrong, file, message, sizeof(message)), -1);
    CHECK_TEXT(message, "the stored state is of another chip");
    rewind(file);
    CHECK_EQ(vflash_load(other, file, message, sizeof(message)), 0);
    CHECK(memcmp(vflash_memory(other), vflash_memory(chip), vflash_chip_of(chip)->size) == 0);
    CHECK(memcmp(vflash_counts(other), vflash_counts(chip), sizeof(struct vflash_counts)) == 0);
    CHECK_EQ(vflash_wear(other, 1), 1);
    CHECK_EQ(do_fill(other, BLOCK, 0, 16), VFLASH_VIOLATION);      /* it knows that the unit was programmed */
    CHECK_EQ(vflash_load(other, file, message, sizeof(message)), -1);      /* at the end of the file */
    CHECK_TEXT(message, "this is no stored state of a chip, or of another version");
    fclose(file);
    vflash_free(chip);
    vflash_free(other);
    vflash_free(wrong);
}

int main(void)
{
    RUN(maximum_times_are_those_of_the_data_sheet);
    RUN(an_unknown_maximum_is_taken_as_typical);
    RUN(wear_slows_erases);
    RUN(content_shortens_programs);
    RUN(a_share_of_blocks_is_slow);
    RUN(each_page_is_counted);
    RUN(nand_pages_go_upwards_and_once);
    RUN(nand_has_bad_blocks_from_the_factory);
    RUN(nand_spare_bytes_clear_and_are_erased);
    RUN(a_state_goes_through_a_file);
    return check_done();
}
