/* SPDX-License-Identifier: BSD-2-Clause */
/* test_vflash_nand.c - the driver of nf2fs/nand.h: parts of pages, what was mended, bad blocks, what a cut leaves. */
#include "calls.h"

#define NAND_PAGE 2048u
#define PAGES 32u               /* of a block of tinynand */

static struct vflash *chip;
static const struct nf2_nand *nand;
static uint8_t want[NAND_PAGE], got[NAND_PAGE];

static void begin(const char *name)
{
    chip = make(name);
    nand = vflash_nand_driver(chip);
    CHECK(nand != NULL);
    for (uint32_t i = 0; i < NAND_PAGE; i++) {
        want[i] = (uint8_t)(i * 7 + i / 256);
    }
}

static void end(void)
{
    vflash_free(chip);
}

static int load(uint32_t column, uint32_t length)
{
    return nand->load(nand->context, column, want + column, length);
}

static int program(uint32_t page)
{
    CHECK_EQ(load(0, NAND_PAGE), 0);
    return nand->program(nand->context, page);
}

/* Reads the whole page into `got`. */
static int read_page(uint32_t page)
{
    memset(got, 0xA5, NAND_PAGE);
    return nand->read(nand->context, page, 0, got, NAND_PAGE);
}

static int erase(uint32_t block)
{
    return nand->erase(nand->context, block);
}

static bool right(void)
{
    return memcmp(got, want, NAND_PAGE) == 0;
}

/* A good block other than the first one. */
static uint32_t good_block(uint32_t from)
{
    while (vflash_is_bad(chip, from)) {
        from++;
    }
    return from;
}

/* ---- the structure -------------------------------------------------------------------------------- */

TEST(the_catalogue_has_chips_of_the_paper_and_of_today)
{
    static const struct {
        const char *name;
        uint32_t blocks, read_us, program_us, bad;
    } chips[] = {
        {"hffs-nand", 1024, 125, 400, 8},           /* paper: no time of the bus */
        {"w25n01gv", 1024, 60 + 41, 250 + 41, 20},
        {"mt29f2g01", 2048, 46 + 41, 220 + 41, 40},
    };
    for (unsigned i = 0; i < 3; i++) {
        begin(chips[i].name);
        CHECK_EQ(nand->blocks, chips[i].blocks);
        CHECK_EQ(nand->pages_per_block, 64);
        CHECK_EQ(nand->page_size, 2048);
        CHECK_EQ(nand->read_page_us, chips[i].read_us);
        CHECK_EQ(nand->program_page_us, chips[i].program_us);
        CHECK_EQ(nand->erase_block_us, 2000);
        CHECK_EQ(nand->cycles, 100000);
        uint32_t bad = 0;
        for (uint32_t block = 0; block < nand->blocks; block++) {
            int marked = nand->mark(nand->context, block, false);
            CHECK_EQ(marked, vflash_is_bad(chip, block));
            bad += marked == 1;
        }
        CHECK_EQ(bad, chips[i].bad);
        CHECK_EQ(nand->mark(nand->context, 0, false), 0);
        end();
    }
}

TEST(what_is_no_such_chip_has_no_driver)
{
    struct vflash_chip facts = *vflash_chip_find("tinynand");
    struct vflash *nor = make("tiny256k");
    CHECK(vflash_nand_driver(nor) == NULL);
    vflash_free(nor);
    facts.spare_size = 0;
    struct vflash *bare = vflash_new(&facts);
    CHECK(vflash_nand_driver(bare) == NULL);
    vflash_free(bare);
    facts = *vflash_chip_find("tinynand");
    facts.block_size = facts.erase_sizes[0] = 32 * 1024;    /* 16 pages */
    struct vflash *short_blocks = vflash_new(&facts);
    CHECK(vflash_nand_driver(short_blocks) == NULL);
    vflash_free(short_blocks);
}

TEST(impossible_codes_are_refused)
{
    struct vflash_chip facts = *vflash_chip_find("tinynand");
    char message[160];
    facts.ecc_weak = 9;
    CHECK_EQ(vflash_chip_check(&facts, message, sizeof(message)), -1);
    facts.ecc_weak = 0;
    CHECK_EQ(vflash_chip_check(&facts, message, sizeof(message)), -1);
    facts.ecc_bits = 0;
    CHECK_EQ(vflash_chip_check(&facts, message, sizeof(message)), 0);
    facts = *vflash_chip_find("tiny256k");
    facts.worn_out_pct = 1;
    CHECK_EQ(vflash_chip_check(&facts, message, sizeof(message)), -1);
}

/* ---- pages ---------------------------------------------------------------------------------------- */

TEST(a_page_goes_in_and_comes_out_in_parts)
{
    begin("tinynand");
    CHECK_EQ(load(0, 100), 0);
    CHECK_EQ(load(100, 412), 0);
    CHECK_EQ(load(1024, 1024), 0);                 /* a gap */
    CHECK_EQ(nand->program(nand->context, 5), 0);
    memset(want + 512, 0xFF, 512);
    CHECK_EQ(read_page(5), 0);
    CHECK(right());
    for (uint32_t at = 0; at < NAND_PAGE; at += 100) {
        uint32_t length = NAND_PAGE - at < 100 ? NAND_PAGE - at : 100;
        uint8_t part[100];
        CHECK_EQ(nand->read(nand->context, 5, at, part, length), 0);
        CHECK(memcmp(part, want + at, length) == 0);
    }
    CHECK_EQ(read_page(6), 0);
    CHECK(all_bytes(got, 0xFF, NAND_PAGE));
    CHECK_EQ(violations(chip), 0);
    end();
}

/* The cells are read once for all parts; what a part costs is its time on the bus. */
TEST(parts_of_a_page_cost_the_bus_alone)
{
    uint8_t part[1000];
    begin("w25n01gv");
    CHECK_EQ(program(0), 0);
    CHECK_EQ(vflash_counts(chip)->time_us, 41 + 250);
    CHECK_EQ(vflash_counts(chip)->program_bytes, NAND_PAGE);
    vflash_counts_reset(chip);
    CHECK_EQ(nand->read(nand->context, 0, 0, part, 1000), 0);
    CHECK_EQ(vflash_counts(chip)->time_us, 60 + 20);
    CHECK_EQ(nand->read(nand->context, 0, 1000, part, 500), 0);
    CHECK_EQ(vflash_counts(chip)->time_us, 60 + 20 + 10);
    CHECK_EQ(vflash_counts(chip)->time_byte_ns, 60000 + 1500 * 20);
    CHECK_EQ(vflash_counts(chip)->read_pages, 1);
    CHECK_EQ(vflash_counts(chip)->read_calls, 2);
    CHECK_EQ(vflash_counts(chip)->read_bytes, 1500);
    CHECK_EQ(vflash_nand_reads(chip, 0), 1);
    CHECK_EQ(program(1), 0);                        /* the buffer holds another page now */
    CHECK_EQ(nand->read(nand->context, 0, 0, part, 10), 0);
    CHECK_EQ(vflash_counts(chip)->read_pages, 2);
    CHECK_EQ(erase(0), 0);
    CHECK_EQ(vflash_nand_reads(chip, 0), 0);
    end();
}

TEST(the_other_driver_pays_for_the_bus_too)
{
    begin("w25n01gv");
    CHECK_EQ(do_program(chip, 0, want, NAND_PAGE), 0);
    CHECK_EQ(vflash_counts(chip)->time_us, 41 + 250);
    CHECK_EQ(do_read(chip, 0, got, NAND_PAGE), 0);
    CHECK_EQ(vflash_counts(chip)->time_us, 41 + 250 + 41 + 60);
    CHECK_EQ(read_page(0), 0);
    CHECK(right());
    end();
}

TEST(a_copy_stays_inside_the_chip)
{
    begin("w25n01gv");
    CHECK_EQ(program(3), 0);
    vflash_counts_reset(chip);
    CHECK_EQ(nand->copy(nand->context, 3, 64), 0);
    CHECK_EQ(vflash_counts(chip)->time_us, 60 + 250);
    CHECK_EQ(vflash_counts(chip)->read_bytes, 0);
    CHECK_EQ(read_page(64), 0);
    CHECK(right());
    CHECK_EQ(nand->copy(nand->context, 3, 64), VFLASH_VIOLATION);
    CHECK_EQ(nand->copy(nand->context, 64 * 1024, 65), VFLASH_VIOLATION);
    CHECK_EQ(nand->copy(nand->context, 3, 64 * 1024), VFLASH_VIOLATION);
    vflash_nand_spoil(chip, 3, 255);
    CHECK_EQ(nand->copy(nand->context, 3, 65), NF2_NAND_LOST);
    CHECK_EQ(program(65), 0);                       /* nothing was programmed */
    end();
}

TEST(broken_rules_are_refused)
{
    begin("tinynand");
    uint32_t pages = nand->blocks * PAGES;
    uint8_t part[4];
    CHECK_EQ(nand->program(nand->context, 0), VFLASH_VIOLATION);
    CHECK_TEXT(vflash_violation(chip), "the program has no load before it");
    CHECK_EQ(load(100, 10), VFLASH_VIOLATION);
    CHECK_TEXT(vflash_violation(chip), "the load does not begin a page");
    CHECK_EQ(load(0, 100), 0);
    CHECK_EQ(load(99, 10), VFLASH_VIOLATION);
    CHECK_TEXT(vflash_violation(chip), "the load goes back");
    CHECK_EQ(load(2040, 9), VFLASH_VIOLATION);
    CHECK_EQ(load(NAND_PAGE, 0), VFLASH_VIOLATION);
    CHECK_EQ(nand->read(nand->context, 0, 0, part, 4), VFLASH_VIOLATION);
    CHECK_TEXT(vflash_violation(chip), "a read comes between a load and its program");
    CHECK_EQ(nand->program(nand->context, 2), 0);
    CHECK_EQ(program(1), VFLASH_VIOLATION);
    CHECK_TEXT(vflash_violation(chip), "the program goes back behind a page of its block that was programmed");
    CHECK_EQ(program(2), VFLASH_VIOLATION);
    CHECK_EQ(nand->program(nand->context, 3), VFLASH_VIOLATION);    /* a refused program uses up what was loaded */
    CHECK_EQ(program(pages), VFLASH_VIOLATION);
    CHECK_EQ(nand->read(nand->context, pages, 0, part, 4), VFLASH_VIOLATION);
    CHECK_EQ(nand->read(nand->context, 0, 2046, part, 4), VFLASH_VIOLATION);
    CHECK_EQ(nand->read(nand->context, 0, UINT32_MAX, part, 4), VFLASH_VIOLATION);
    CHECK_EQ(nand->read(nand->context, 0, 4, part, UINT32_MAX), VFLASH_VIOLATION);
    CHECK_EQ(erase(nand->blocks), VFLASH_VIOLATION);
    CHECK_EQ(nand->mark(nand->context, nand->blocks, false), VFLASH_VIOLATION);
    CHECK_EQ(nand->mark(nand->context, nand->blocks, true), VFLASH_VIOLATION);
    CHECK_EQ(violations(chip), 17);
    end();
}

/* ---- what was mended ------------------------------------------------------------------------------- */

TEST(a_read_says_fine_mended_weak_or_lost)
{
    static const struct {
        uint32_t bits;
        int result;
    } cases[] = {{0, 0}, {1, NF2_NAND_MENDED}, {4, NF2_NAND_MENDED}, {5, NF2_NAND_WEAK}, {8, NF2_NAND_WEAK},
                 {9, NF2_NAND_LOST}, {255, NF2_NAND_LOST}};
    begin("tinynand");
    CHECK_EQ(program(0), 0);
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        vflash_nand_spoil(chip, 0, cases[i].bits);
        CHECK_EQ(read_page(0), cases[i].result);
        CHECK_EQ(right(), cases[i].result >= 0 || cases[i].bits == 255);
    }
    vflash_nand_spoil(chip, 0, 9);
    CHECK_EQ(read_page(0), NF2_NAND_LOST);
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < NAND_PAGE * 8; i++) {
        wrong += ((got[i / 8] ^ want[i / 8]) >> i % 8) & 1u;
    }
    CHECK_EQ(wrong, 4 * 9);                         /* nine in each of the four codewords */
    CHECK_EQ(read_page(1), 0);                      /* others are as they were */
    CHECK_EQ(erase(0), 0);
    CHECK_EQ(program(0), 0);
    CHECK_EQ(read_page(0), 0);
    end();
}

/* The results of a read of each page of a block that was erased and read so often. */
static void tally(uint32_t erases, uint32_t reads, uint32_t counts[4])
{
    memset(counts, 0, 4 * sizeof(counts[0]));
    for (uint32_t block = 0; block < nand->blocks; block++) {
        vflash_nand_age(chip, block, erases, reads);
        for (uint32_t page = 0; page < PAGES && !vflash_is_bad(chip, block); page++) {
            int result = read_page(block * PAGES + page);
            counts[result < 0 ? 3 : result]++;
            CHECK(right() == (result >= 0));
        }
    }
}

static void fill(void)
{
    for (uint32_t page = 0; page < nand->blocks * PAGES; page++) {
        if (!vflash_is_bad(chip, page / PAGES)) {
            CHECK_EQ(program(page), 0);
        }
    }
}

TEST(wrong_bits_grow_with_wear)
{
    uint32_t young[4], middle[4], old[4];
    begin("tinynand");
    fill();
    tally(1, 0, young);
    tally(50, 0, middle);
    tally(150, 0, old);
    printf("  pages fine, mended, weak, lost: %u %u %u %u; at the endurance %u %u %u %u; at three times %u %u %u %u\n",
           young[0], young[1], young[2], young[3], middle[0], middle[1], middle[2], middle[3], old[0], old[1], old[2], old[3]);
    CHECK(young[0] > 1900 && young[2] == 0 && young[3] == 0);
    CHECK(middle[1] > 1500 && middle[2] > 5 && middle[3] == 0);    /* a bit in the mean of each codeword */
    CHECK(old[2] + old[3] > 1900 && old[3] > 500);
    end();
}

/* By as many reads as the chip has for it, a page becomes as bad as by its endurance; an erase makes it good again. */
TEST(wrong_bits_grow_with_reads_until_the_erase)
{
    uint32_t before[4], after[4];
    begin("tinynand");
    fill();
    tally(1, 100, before);
    tally(1, 4000, after);
    CHECK(before[0] > 1500 && before[3] == 0);
    CHECK(after[0] < 300 && after[1] > 1500);
    uint32_t block = good_block(1);
    vflash_nand_age(chip, block, 50, 100000);
    CHECK_EQ(read_page(block * PAGES), NF2_NAND_LOST);
    CHECK_EQ(erase(block), 0);
    CHECK_EQ(program(block * PAGES), 0);
    CHECK(read_page(block * PAGES) >= 0);
    end();
}

TEST(real_reads_disturb)
{
    begin("tinynand");
    CHECK_EQ(program(0), 0);
    CHECK_EQ(program(1), 0);
    int worst = 0, result = 0;
    for (uint32_t i = 0; i < 40000 && worst >= 0; i++) {
        result = read_page(1);                      /* a page that is read for ever ... */
        CHECK(result >= 0 || i > 1000);
        if (i % 100 == 0) {
            int other = read_page(0);               /* ... harms the others of its block */
            CHECK(other < 0 || other >= worst);     /* never better again */
            worst = other < 0 ? other : other > worst ? other : worst;
        } else {
            CHECK_EQ(nand->read(nand->context, 2, 0, got, 1), 0);   /* else the page stays in the buffer */
        }
    }
    CHECK_EQ(worst, NF2_NAND_LOST);
    end();
}

TEST(a_seed_gives_the_same_bits)
{
    uint32_t first[4], again[4], other[4];
    begin("tinynand");
    fill();
    vflash_nand_seed(chip, 7);
    tally(100, 0, first);
    tally(100, 0, again);
    CHECK(memcmp(first, again, sizeof(first)) == 0);
    vflash_nand_seed(chip, 8);
    tally(100, 0, other);
    CHECK(memcmp(first, other, sizeof(first)) != 0);
    end();
}

/* ---- bad blocks ------------------------------------------------------------------------------------ */

TEST(a_marked_block_is_never_erased)
{
    begin("tinynand");
    uint32_t bad = 0;
    while (!vflash_is_bad(chip, bad)) {
        bad++;
    }
    CHECK_EQ(erase(bad), VFLASH_VIOLATION);
    CHECK_TEXT(vflash_violation(chip), "the erase hits a block that is marked bad");
    CHECK_EQ(nand->mark(nand->context, bad, false), 1);
    vflash_set_strict(chip, false);
    CHECK_EQ(erase(bad), NF2_FLASH_BAD);
    CHECK_EQ(nand->mark(nand->context, bad, false), 0);     /* lost for ever */
    end();
}

TEST(a_mark_is_set_also_on_a_block_that_failed)
{
    begin("tinynand");
    uint32_t block = good_block(3);
    CHECK_EQ(program(block * PAGES), 0);
    vflash_break_block(chip, block, false);
    CHECK_EQ(program(block * PAGES + 1), NF2_FLASH_BAD);
    CHECK_EQ(read_page(block * PAGES + 1), NF2_NAND_LOST);
    CHECK_EQ(read_page(block * PAGES), 0);                  /* what was there can still be read */
    CHECK(right());
    CHECK_EQ(erase(block), NF2_FLASH_BAD);
    CHECK_EQ(nand->mark(nand->context, block, true), 0);
    CHECK_EQ(nand->mark(nand->context, block, false), 1);
    end();
}

TEST(blocks_wear_out_between_the_endurance_and_twice_that)
{
    begin("tinynand");
    uint32_t failed = 0, first = UINT32_MAX, last = 0;
    for (uint32_t block = 0; block < nand->blocks; block++) {
        for (uint32_t count = 1; count <= 101 && !vflash_is_bad(chip, block); count++) {
            int result = erase(block);
            if (result != 0) {
                CHECK_EQ(result, NF2_FLASH_BAD);
                failed++;
                first = count < first ? count : first;
                last = count > last ? count : last;
            }
        }
    }
    CHECK_EQ(failed, nand->blocks - 2);
    CHECK(first > 50 && first < 60);
    CHECK(last > 90 && last <= 101);
    end();
}

/* ---- cuts and programs that lie -------------------------------------------------------------------- */

/* Programs page 1 with a cut. Returns what a read says of it then. */
static int cut_program(const struct vflash_cut *cut)
{
    begin("tinynand");
    CHECK_EQ(program(0), 0);
    vflash_cut_at(chip, cut);
    CHECK_EQ(load(0, NAND_PAGE), 0);
    CHECK_EQ(nand->program(nand->context, 1), VFLASH_OFF);
    CHECK_EQ(read_page(1), VFLASH_OFF);
    CHECK_EQ(load(0, NAND_PAGE), VFLASH_OFF);
    CHECK_EQ(erase(0), VFLASH_OFF);
    CHECK_EQ(nand->copy(nand->context, 0, 2), VFLASH_OFF);
    CHECK_EQ(nand->mark(nand->context, 0, false), VFLASH_OFF);
    vflash_power_on(chip);
    CHECK_EQ(read_page(0), 0);                      /* the page before it is whole */
    CHECK(right());
    int result = read_page(1);
    uint8_t now[NAND_PAGE];
    memcpy(now, got, sizeof(now));
    CHECK_EQ(program(1), VFLASH_VIOLATION);         /* also where it reads as blank */
    CHECK_EQ(program(2), 0);
    memcpy(got, now, sizeof(now));
    return result;
}

TEST(a_torn_page_reads_as_blank_as_whole_as_weak_or_is_lost)
{
    CHECK_EQ(cut_program(&(struct vflash_cut){.operation = 1}), 0);
    CHECK(all_bytes(got, 0xFF, NAND_PAGE));
    end();
    CHECK_EQ(cut_program(&(struct vflash_cut){.operation = 1, .byte = 1000}), NF2_NAND_LOST);
    CHECK(memcmp(got, want, 1000) == 0);
    end();
    CHECK_EQ(cut_program(&(struct vflash_cut){.operation = 1, .last_byte_mask = 0x0F}), NF2_NAND_LOST);
    end();
    CHECK_EQ(cut_program(&(struct vflash_cut){.operation = 1, .byte = 2047, .shuffle = true, .seed = 3}), NF2_NAND_LOST);
    end();
    CHECK_EQ(cut_program(&(struct vflash_cut){.operation = 1, .byte = UINT32_MAX, .shuffle = true}), NF2_NAND_WEAK);
    CHECK(right());
    end();
    CHECK_EQ(cut_program(&(struct vflash_cut){.operation = 1, .byte = UINT32_MAX}), 0);
    CHECK(right());
    end();
}

TEST(a_cut_forgets_what_was_loaded)
{
    begin("tinynand");
    vflash_cut_at(chip, &(struct vflash_cut){.operation = 1});
    CHECK_EQ(program(0), VFLASH_OFF);
    vflash_power_on(chip);
    CHECK_EQ(nand->program(nand->context, 1), VFLASH_VIOLATION);
    end();
}

/* Erases a block of two pages with a cut; what a read of the first one says then. */
static int cut_erase(enum vflash_erase_cut left)
{
    begin("tinynand");
    CHECK_EQ(program(0), 0);
    CHECK_EQ(program(PAGES), 0);
    vflash_cut_at(chip, &(struct vflash_cut){.operation = 1, .erase = left, .byte = 10, .seed = 5});
    CHECK_EQ(erase(0), VFLASH_OFF);
    vflash_power_on(chip);
    CHECK_EQ(read_page(PAGES), 0);                  /* another block */
    CHECK(right());
    return read_page(0);
}

TEST(a_torn_erase_leaves_all_pages_undefined)
{
    static const enum vflash_erase_cut lost[] = {VFLASH_ERASE_PARTLY, VFLASH_ERASE_PREFIX, VFLASH_ERASE_UNSTABLE};
    for (unsigned i = 0; i < 3; i++) {
        CHECK_EQ(cut_erase(lost[i]), NF2_NAND_LOST);
        CHECK_EQ(program(9), VFLASH_VIOLATION);     /* the block must be erased first */
        CHECK_TEXT(vflash_violation(chip), "the program hits a page that a torn erase left");
        CHECK_EQ(erase(0), 0);
        CHECK_EQ(program(9), 0);
        CHECK_EQ(read_page(9), 0);
        end();
    }
    CHECK_EQ(cut_erase(VFLASH_ERASE_UNTOUCHED), 0);
    CHECK(right());
    end();
    CHECK_EQ(cut_erase(VFLASH_ERASE_DONE), 0);
    CHECK(all_bytes(got, 0xFF, NAND_PAGE));
    CHECK_EQ(program(0), 0);
    end();
}

/* It reads as blank, and what is programmed there is not what is read back. */
TEST(a_weak_erase_shows_in_the_next_program)
{
    CHECK_EQ(cut_erase(VFLASH_ERASE_WEAK), 0);
    CHECK(all_bytes(got, 0xFF, NAND_PAGE));
    CHECK_EQ(program(1), 0);
    CHECK_EQ(read_page(1), NF2_NAND_LOST);
    end();
}

TEST(a_program_may_report_success_and_store_something_else)
{
    begin("tinynand");
    vflash_garbage_at(chip, 2, 77, true);
    CHECK_EQ(program(0), 0);
    CHECK_EQ(program(1), 0);
    CHECK_EQ(program(2), 0);
    CHECK_EQ(read_page(0), 0);
    CHECK(right());
    CHECK_EQ(read_page(1), 0);                      /* no code tells: only a comparison does */
    CHECK_EQ(got[77], want[77] ^ 0x55);
    CHECK_EQ(read_page(2), 0);
    CHECK(right());
    vflash_garbage_at(chip, 1, 77, false);
    CHECK_EQ(program(3), 0);
    CHECK_EQ(read_page(3), NF2_NAND_LOST);
    vflash_break_block(chip, 0, true);
    CHECK_EQ(program(4), 0);
    CHECK_EQ(read_page(4), 0);
    CHECK(all_bytes(got, 0xFF, NAND_PAGE));
    end();
}

/* ---- failing calls, states ------------------------------------------------------------------------- */

TEST(calls_fail_when_asked_to)
{
    uint8_t part[4];
    begin("tinynand");
    CHECK_EQ(program(0), 0);
    vflash_fail_at(chip, 1);
    CHECK_EQ(nand->read(nand->context, 0, 0, part, 4), VFLASH_FAILED);
    vflash_fail_at(chip, 1);
    CHECK_EQ(load(0, NAND_PAGE), VFLASH_FAILED);
    CHECK_EQ(load(0, NAND_PAGE), 0);
    vflash_fail_at(chip, 1);
    CHECK_EQ(nand->program(nand->context, 1), VFLASH_FAILED);
    vflash_fail_at(chip, 1);
    CHECK_EQ(nand->copy(nand->context, 0, 1), VFLASH_FAILED);
    vflash_fail_at(chip, 1);
    CHECK_EQ(erase(1), VFLASH_FAILED);
    vflash_fail_at(chip, 1);
    CHECK_EQ(nand->mark(nand->context, 1, false), VFLASH_FAILED);
    vflash_fail_at(chip, 1);
    CHECK_EQ(nand->mark(nand->context, 1, true), VFLASH_FAILED);
    CHECK_EQ(vflash_failed(chip), 7);
    CHECK_EQ(nand->mark(nand->context, 1, false), 0);
    CHECK_EQ(program(1), 0);                        /* nothing had happened to it */
    CHECK_EQ(violations(chip), 0);
    end();
}

TEST(a_state_keeps_what_the_cells_do_not_show)
{
    char message[100] = "";
    begin("tinynand");
    vflash_cut_at(chip, &(struct vflash_cut){.operation = 2});
    CHECK_EQ(program(0), 0);
    CHECK_EQ(program(1), VFLASH_OFF);               /* reads as blank */
    vflash_power_on(chip);
    vflash_nand_spoil(chip, 0, 5);
    vflash_nand_age(chip, 3, 40, 900);
    struct vflash_checkpoint *checkpoint = vflash_save(chip);
    FILE *file = tmpfile();
    CHECK_EQ(vflash_store(chip, file, message, sizeof(message)), 0);
    CHECK_EQ(erase(0), 0);
    CHECK_EQ(erase(3), 0);
    vflash_restore(chip, checkpoint);
    vflash_release(checkpoint);
    for (unsigned round = 0; round < 2; round++) {
        CHECK_EQ(read_page(0), NF2_NAND_WEAK);
        CHECK(right());
        CHECK_EQ(read_page(1), 0);
        CHECK_EQ(program(1), VFLASH_VIOLATION);
        CHECK_EQ(vflash_nand_reads(chip, 3), 900);
        vflash_free(chip);
        chip = make("tinynand");
        nand = vflash_nand_driver(chip);
        rewind(file);
        CHECK_EQ(vflash_load(chip, file, message, sizeof(message)), 0);
    }
    fclose(file);
    end();
}

TEST(a_read_only_image_takes_no_change)
{
    static const char *path = "test_vflash_nand.img";
    char message[200];
    struct vflash_chip facts = *vflash_chip_find("tinynand");
    (void)remove(path);
    chip = vflash_open(&facts, path, false, message, sizeof(message));
    nand = vflash_nand_driver(chip);
    CHECK_EQ(program(0), 0);
    vflash_free(chip);
    chip = vflash_open(&facts, path, true, message, sizeof(message));
    nand = vflash_nand_driver(chip);
    CHECK_EQ(read_page(0), 0);
    CHECK(right());
    CHECK_EQ(program(1), VFLASH_FAILED);
    CHECK_EQ(erase(0), VFLASH_FAILED);
    CHECK_EQ(nand->copy(nand->context, 0, 1), VFLASH_FAILED);
    CHECK_EQ(nand->mark(nand->context, 0, true), VFLASH_FAILED);
    vflash_free(chip);
    (void)remove(path);
}

int main(void)
{
    RUN(the_catalogue_has_chips_of_the_paper_and_of_today);
    RUN(what_is_no_such_chip_has_no_driver);
    RUN(impossible_codes_are_refused);
    RUN(a_page_goes_in_and_comes_out_in_parts);
    RUN(parts_of_a_page_cost_the_bus_alone);
    RUN(the_other_driver_pays_for_the_bus_too);
    RUN(a_copy_stays_inside_the_chip);
    RUN(broken_rules_are_refused);
    RUN(a_read_says_fine_mended_weak_or_lost);
    RUN(wrong_bits_grow_with_wear);
    RUN(wrong_bits_grow_with_reads_until_the_erase);
    RUN(real_reads_disturb);
    RUN(a_seed_gives_the_same_bits);
    RUN(a_marked_block_is_never_erased);
    RUN(a_mark_is_set_also_on_a_block_that_failed);
    RUN(blocks_wear_out_between_the_endurance_and_twice_that);
    RUN(a_torn_page_reads_as_blank_as_whole_as_weak_or_is_lost);
    RUN(a_cut_forgets_what_was_loaded);
    RUN(a_torn_erase_leaves_all_pages_undefined);
    RUN(a_weak_erase_shows_in_the_next_program);
    RUN(a_program_may_report_success_and_store_something_else);
    RUN(calls_fail_when_asked_to);
    RUN(a_state_keeps_what_the_cells_do_not_show);
    RUN(a_read_only_image_takes_no_change);
    return check_done();
}
