/* SPDX-License-Identifier: BSD-2-Clause */
/* test_vflash_faults.c - power cuts and what they leave, failing calls, broken blocks. */
#include <setjmp.h>

#include "calls.h"

/* ---- power cuts --------------------------------------------------------------------------------- */

static void cut_next(struct vflash *chip, struct vflash_cut cut)
{
    cut.operation = 1;
    vflash_cut_at(chip, &cut);
}

static void count_call(void *context)
{
    ++*(unsigned *)context;
}

TEST(cut_counts_programs_and_erases)
{
    struct vflash *chip = make("tiny256k");
    struct vflash_cut cut = {.operation = 4, .byte = UINT32_MAX};
    uint8_t byte = 0;
    unsigned cuts = 0;
    CHECK_EQ(do_fill(chip, 0, 0, 1), 0);
    CHECK_EQ(vflash_operations(chip), 1);
    vflash_on_cut(chip, count_call, &cuts);
    vflash_cut_at(chip, &cut);
    CHECK_EQ(vflash_operations(chip), 0);
    CHECK_EQ(do_fill(chip, 1, 0, 1), 0);
    CHECK_EQ(do_read(chip, 0, &byte, 1), 0);
    CHECK_EQ(do_erase(chip, 0, BLOCK), 0);
    CHECK_EQ(do_erase(chip, 1, BLOCK), VFLASH_VIOLATION);
    CHECK_EQ(vflash_operations(chip), 3);
    CHECK_EQ(cuts, 0);
    CHECK_EQ(do_fill(chip, 2, 0, 1), VFLASH_OFF);
    CHECK_EQ(cuts, 1);
    CHECK_EQ(vflash_operations(chip), 4);
    vflash_power_on(chip);
    for (uint32_t i = 3; i < 10; i++) {
        CHECK_EQ(do_fill(chip, i, 0, 1), 0);        /* the cut does not come again */
    }
    vflash_cut_at(chip, NULL);
    CHECK_EQ(do_fill(chip, 10, 0, 1), 0);
    CHECK_EQ(vflash_operations(chip), 1);
    CHECK_EQ(cuts, 1);
    vflash_free(chip);
}

TEST(nothing_happens_while_off)
{
    struct vflash *chip = make("tiny256k");
    unsigned cuts = 0;
    fill_block(chip, 0, 0x55);
    cut_next(chip, (struct vflash_cut){.byte = 0});
    vflash_on_cut(chip, count_call, &cuts);
    vflash_fail_at(chip, 3);
    CHECK_EQ(do_fill(chip, BLOCK, 0, 8), VFLASH_OFF);
    struct vflash_counts before = *vflash_counts(chip);
    uint8_t data[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    for (int i = 0; i < 5; i++) {
        CHECK_EQ(do_read(chip, 0, data, 8), VFLASH_OFF);
        CHECK_EQ(do_fill(chip, BLOCK, 0, 8), VFLASH_OFF);
        CHECK_EQ(do_erase(chip, 0, BLOCK), VFLASH_OFF);
        CHECK_EQ(do_erase(chip, 1, 1), VFLASH_OFF);
    }
    CHECK_EQ(data[0], 1);
    CHECK_EQ(data[7], 8);
    CHECK_MEM(vflash_counts(chip), &before, sizeof(before));
    CHECK_EQ(vflash_operations(chip), 1);
    CHECK_EQ(vflash_wear(chip, 0), 0);
    CHECK(all_bytes(vflash_memory(chip), 0x55, BLOCK));
    CHECK(all_bytes(vflash_memory(chip) + BLOCK, 0xFF, BLOCK));
    CHECK_EQ(cuts, 1);
    vflash_power_on(chip);
    CHECK_EQ(do_read(chip, 0, data, 8), 0);
    CHECK_EQ(data[0], 0x55);
    CHECK_EQ(do_read(chip, 0, data, 8), VFLASH_FAILED);     /* calls while off did not count */
    vflash_free(chip);
}

TEST(torn_program_leaves_its_first_bytes)
{
    struct vflash *chip = make("tiny256k");
    const uint8_t *page = vflash_memory(chip);
    cut_next(chip, (struct vflash_cut){.byte = 10, .last_byte_mask = 0x0F});
    CHECK_EQ(do_fill(chip, 0, 0x21, 100), VFLASH_OFF);
    CHECK(all_bytes(page, 0x21, 10));
    CHECK_EQ(page[10], 0xF1);
    CHECK(all_bytes(page + 11, 0xFF, PAGE - 11));
    CHECK_EQ(vflash_counts(chip)->program_pages, 1);
    vflash_power_on(chip);

    cut_next(chip, (struct vflash_cut){.byte = 0, .last_byte_mask = 0});
    CHECK_EQ(do_fill(chip, PAGE, 0x00, 100), VFLASH_OFF);
    CHECK(all_bytes(page + PAGE, 0xFF, PAGE));
    vflash_power_on(chip);

    for (unsigned i = 0; i < 3; i++) {
        static const uint32_t all[] = {100, 101, UINT32_MAX};
        uint32_t at = (2 + i) * PAGE;
        cut_next(chip, (struct vflash_cut){.byte = all[i], .last_byte_mask = 0xFF, .shuffle = i == 1});
        CHECK_EQ(do_fill(chip, at, 0x00, 100), VFLASH_OFF);
        CHECK(all_bytes(page + at, 0x00, 100));
        CHECK(all_bytes(page + at + 100, 0xFF, PAGE - 100));
        vflash_power_on(chip);
        CHECK_EQ(do_fill(chip, at + 100, 0x00, 1), 0);
    }
    vflash_free(chip);
}

TEST(shuffled_program_lands_as_seeded)
{
    uint8_t first[PAGE], data[PAGE];
    unsigned differ = 0, in_order = 0;
    for (unsigned run = 0; run < 20; run++) {
        struct vflash *chip = make("tiny256k");
        memset(vflash_memory(chip) + 50, 0xF7, 100);
        memset(data, 0x03, sizeof(data));
        cut_next(chip, (struct vflash_cut){.byte = 40, .last_byte_mask = 0xF0, .shuffle = true, .seed = run / 2});
        CHECK_EQ(do_program(chip, 50, data, 100), VFLASH_OFF);
        const uint8_t *landed = vflash_memory(chip) + 50;
        CHECK_EQ(count_bytes(landed, 0x03, 100), 40);
        CHECK_EQ(count_bytes(landed, 0xF7 & 0x0F, 100), 1);
        CHECK_EQ(count_bytes(landed, 0xF7, 100), 59);
        CHECK_EQ(landed[-1], 0xFF);
        CHECK_EQ(landed[100], 0xFF);
        if (run % 2 == 1) {
            CHECK_MEM(first, landed, 100);
        } else {
            differ += run > 0 && memcmp(first, landed, 100) != 0;
        }
        in_order += all_bytes(landed, 0x03, 40);
        memcpy(first, landed, 100);
        vflash_free(chip);
    }
    CHECK_EQ(differ, 9);
    CHECK_EQ(in_order, 0);
}

TEST(torn_units_count_as_programmed)
{
    struct vflash *chip = make("tinyecc16");
    cut_next(chip, (struct vflash_cut){.byte = 8});
    CHECK_EQ(do_fill(chip, 16, 0x00, 48), VFLASH_OFF);
    vflash_power_on(chip);
    CHECK_EQ(vflash_memory(chip)[48], 0xFF);
    CHECK_EQ(do_fill(chip, 48, 0x00, 16), VFLASH_VIOLATION);
    CHECK_EQ(do_fill(chip, 16, 0x00, 16), VFLASH_VIOLATION);
    CHECK_EQ(do_fill(chip, 0, 0x00, 16), 0);
    CHECK_EQ(do_fill(chip, 64, 0x00, 16), 0);
    static const enum vflash_erase_cut torn[] = {VFLASH_ERASE_UNTOUCHED, VFLASH_ERASE_WEAK, VFLASH_ERASE_PARTLY};
    for (unsigned i = 0; i < 3; i++) {
        cut_next(chip, (struct vflash_cut){.erase = torn[i], .seed = i});
        CHECK_EQ(do_erase(chip, 0, BLOCK), VFLASH_OFF);
        vflash_power_on(chip);
        CHECK_EQ(do_fill(chip, 48, 0x00, 16), VFLASH_VIOLATION);
    }
    cut_next(chip, (struct vflash_cut){.erase = VFLASH_ERASE_DONE});
    CHECK_EQ(do_erase(chip, 0, BLOCK), VFLASH_OFF);
    vflash_power_on(chip);
    CHECK_EQ(do_fill(chip, 48, 0x00, 16), 0);
    vflash_free(chip);
}

static jmp_buf at_cut;

static void jump(void *context)
{
    (void)context;
    longjmp(at_cut, 1);
}

TEST(cut_may_be_jumped_out_of)
{
    struct vflash *chip = make("tiny256k");
    cut_next(chip, (struct vflash_cut){.byte = 3});
    vflash_on_cut(chip, jump, NULL);
    if (setjmp(at_cut) == 0) {
        (void)do_fill(chip, 0, 0x00, 8);
        CHECK(false);
    }
    CHECK(all_bytes(vflash_memory(chip), 0x00, 3));
    CHECK_EQ(vflash_memory(chip)[3], 0xFF);
    CHECK_EQ(do_fill(chip, 3, 0x00, 5), VFLASH_OFF);
    vflash_power_on(chip);
    CHECK_EQ(do_fill(chip, 3, 0x00, 5), 0);
    vflash_free(chip);
}

TEST(cut_hits_a_refused_call_as_well)
{
    struct vflash *chip = make("tiny256k");
    cut_next(chip, (struct vflash_cut){.byte = UINT32_MAX, .erase = VFLASH_ERASE_DONE});
    CHECK_EQ(do_fill(chip, 250, 0x00, 10), VFLASH_OFF);
    CHECK_EQ(violations(chip), 1);
    CHECK(all_bytes(vflash_memory(chip), 0xFF, BLOCK));
    vflash_power_on(chip);
    vflash_memory(chip)[0] = 0;
    cut_next(chip, (struct vflash_cut){.byte = UINT32_MAX, .erase = VFLASH_ERASE_DONE});
    CHECK_EQ(do_erase(chip, 1, BLOCK), VFLASH_OFF);
    CHECK_EQ(vflash_memory(chip)[0], 0);
    CHECK_EQ(do_read(chip, 0, NULL, 0), VFLASH_OFF);
    vflash_free(chip);
}

/* ---- torn erases -------------------------------------------------------------------------------- */

static struct vflash *torn_erase(enum vflash_erase_cut erase, uint64_t seed, uint8_t old, uint32_t length)
{
    struct vflash *chip = make("tiny256k");
    memset(vflash_memory(chip), old, 256 * 1024);
    cut_next(chip, (struct vflash_cut){.erase = erase, .seed = seed});
    CHECK_EQ(do_erase(chip, LARGE, length), VFLASH_OFF);
    CHECK(all_bytes(vflash_memory(chip), old, LARGE));
    CHECK(all_bytes(vflash_memory(chip) + LARGE + length, old, 256 * 1024 - LARGE - length));
    CHECK_EQ(vflash_wear(chip, 16), 1);
    CHECK_EQ(vflash_counts(chip)->time_us, length == BLOCK ? 50000 : 150000);
    vflash_power_on(chip);
    return chip;
}

TEST(torn_erase_untouched_or_done)
{
    struct vflash *chip = torn_erase(VFLASH_ERASE_UNTOUCHED, 1, 0x12, BLOCK);
    CHECK(all_bytes(vflash_memory(chip) + LARGE, 0x12, BLOCK));
    vflash_free(chip);
    chip = torn_erase(VFLASH_ERASE_DONE, 1, 0x12, LARGE);
    CHECK(all_bytes(vflash_memory(chip) + LARGE, 0xFF, LARGE));
    fill_block(chip, 16, 0x12);
    CHECK(all_bytes(vflash_memory(chip) + LARGE, 0x12, BLOCK));
    vflash_free(chip);
}

TEST(torn_erase_partly)
{
    unsigned front_blank = 0, back_blank = 0, mixed = 0;
    for (unsigned seed = 0; seed < 64; seed++) {
        struct vflash *chip = torn_erase(VFLASH_ERASE_PARTLY, seed, 0x12, BLOCK);
        struct vflash *twin = torn_erase(VFLASH_ERASE_PARTLY, seed, 0x12, BLOCK);
        const uint8_t *block = vflash_memory(chip) + LARGE;
        CHECK_MEM(block, vflash_memory(twin) + LARGE, BLOCK);
        uint32_t blank = count_bytes(block, 0xFF, BLOCK), old = count_bytes(block, 0x12, BLOCK);
        CHECK(blank < BLOCK && old < BLOCK);
        front_blank += all_bytes(block, 0xFF, 16);
        back_blank += all_bytes(block + BLOCK - 16, 0xFF, 16);
        mixed += blank > BLOCK / 8 && old > BLOCK / 8 && blank + old < BLOCK - BLOCK / 8;
        vflash_free(chip);
        vflash_free(twin);
    }
    CHECK(front_blank > 8 && front_blank < 56);
    CHECK(back_blank > 8 && back_blank < 56);
    CHECK(mixed > 8);
    unsigned lost = 0;
    for (unsigned seed = 0; seed < 16; seed++) {            /* an erase of a blank block may lose 1s */
        struct vflash *chip = torn_erase(VFLASH_ERASE_PARTLY, seed, 0xFF, LARGE);
        lost += !all_bytes(vflash_memory(chip) + LARGE, 0xFF, LARGE);
        vflash_free(chip);
    }
    CHECK(lost > 8);
}

TEST(torn_erase_prefix)
{
    static const uint32_t ends[] = {0, 1, 300, BLOCK - 1, BLOCK, UINT32_MAX};
    for (unsigned i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        struct vflash *chip = make("tiny256k");
        const uint8_t *block = vflash_memory(chip) + BLOCK;
        uint32_t end = ends[i] < BLOCK ? ends[i] : BLOCK;
        memset(vflash_memory(chip), 0x12, 3 * BLOCK);
        cut_next(chip, (struct vflash_cut){.erase = VFLASH_ERASE_PREFIX, .byte = ends[i], .last_byte_mask = 0xC0});
        CHECK_EQ(do_erase(chip, BLOCK, BLOCK), VFLASH_OFF);
        CHECK(all_bytes(block, 0xFF, end));
        if (end < BLOCK) {
            CHECK_EQ(block[end], 0xD2);
            CHECK(all_bytes(block + end + 1, 0x12, BLOCK - end - 1));
        }
        CHECK(all_bytes(vflash_memory(chip), 0x12, BLOCK));
        CHECK(all_bytes(block + BLOCK, 0x12, BLOCK));
        vflash_power_on(chip);
        vflash_break_block(chip, 2, true);
        memset(vflash_memory(chip) + 2 * BLOCK, 0x12, BLOCK);
        cut_next(chip, (struct vflash_cut){.erase = VFLASH_ERASE_PREFIX, .byte = 10});
        CHECK_EQ(do_erase(chip, 2 * BLOCK, BLOCK), VFLASH_OFF);
        CHECK(all_bytes(block + BLOCK, 0x12, BLOCK));
        vflash_free(chip);
    }
}

/* How many bytes of a block differ from `value` after it was programmed with it. */
static uint32_t spoiled(struct vflash *chip, uint32_t block, uint8_t value)
{
    fill_block(chip, block, value);
    return BLOCK - count_bytes(vflash_memory(chip) + block * BLOCK, value, BLOCK);
}

TEST(torn_erase_weak)
{
    struct vflash *chip = torn_erase(VFLASH_ERASE_WEAK, 5, 0x12, LARGE);
    struct vflash *twin = torn_erase(VFLASH_ERASE_WEAK, 5, 0x12, LARGE);
    const uint8_t *memory = vflash_memory(chip);
    uint8_t data[PAGE];
    CHECK(all_bytes(memory + LARGE, 0xFF, LARGE));
    CHECK_EQ(do_read(chip, LARGE, data, PAGE), 0);
    CHECK(all_bytes(data, 0xFF, PAGE));
    CHECK_EQ(do_fill(chip, LARGE, 0xFF, PAGE), 0);      /* asks no byte to change */
    CHECK(all_bytes(memory + LARGE, 0xFF, LARGE));
    CHECK_EQ(do_fill(twin, LARGE, 0xFF, PAGE), 0);
    uint32_t wrong = spoiled(chip, 16, 0x5A);
    CHECK(wrong > BLOCK / 8 && wrong < BLOCK / 2);
    unsigned kept = 0, lost = 0;
    for (uint32_t i = 0; i < BLOCK; i++) {
        kept += (memory[LARGE + i] & ~0x5A) != 0;       /* a bit that was to go stays */
        lost += (~memory[LARGE + i] & 0x5A) != 0;       /* and another way round */
    }
    CHECK(kept > BLOCK / 16 && lost > BLOCK / 16);
    CHECK_EQ(spoiled(twin, 16, 0x5A), wrong);
    CHECK_MEM(memory, vflash_memory(twin), 256 * 1024);
    CHECK(spoiled(chip, 31, 0x5A) > 0);                 /* each block of the large erase */
    CHECK_EQ(do_erase(chip, LARGE, BLOCK), 0);
    CHECK_EQ(spoiled(chip, 16, 0x5A), 0);               /* a whole erase heals this block only */
    CHECK(spoiled(chip, 17, 0x5A) > 0);
    CHECK_EQ(do_erase(chip, LARGE, LARGE), 0);
    CHECK_EQ(spoiled(chip, 17, 0x5A), 0);
    CHECK_EQ(spoiled(chip, 31, 0x5A), 0);
    vflash_free(chip);
    vflash_free(twin);
}

TEST(torn_erase_unstable)
{
    struct vflash *chip = torn_erase(VFLASH_ERASE_UNSTABLE, 9, 0x12, BLOCK);
    struct vflash *twin = torn_erase(VFLASH_ERASE_UNSTABLE, 9, 0x12, BLOCK);
    uint8_t data[2 * PAGE], again[2 * PAGE], last[PAGE] = {0};
    unsigned changed = 0, old = 0, blank = 0;
    for (unsigned i = 0; i < 200; i++) {
        CHECK_EQ(do_read(chip, LARGE + PAGE, data, PAGE), 0);
        CHECK_EQ(do_read(twin, LARGE + PAGE, again, PAGE), 0);
        CHECK_MEM(data, again, PAGE);
        changed += memcmp(data, last, PAGE) != 0;
        old += all_bytes(data, 0x12, PAGE);
        blank += all_bytes(data, 0xFF, PAGE);
        memcpy(last, data, PAGE);
    }
    CHECK(changed > 100 && old > 20 && blank > 20);
    CHECK_EQ(do_read(chip, LARGE - PAGE, data, PAGE), 0);
    CHECK(all_bytes(data, 0x12, PAGE));                 /* the neighbours are stable */
    for (unsigned i = 0; i < 20; i++) {
        CHECK_EQ(do_read(chip, LARGE + BLOCK - PAGE, data, 2 * PAGE), 0);
        CHECK(all_bytes(data + PAGE, 0x12, PAGE));
    }
    vflash_power_on(chip);
    CHECK_EQ(do_erase(chip, LARGE, BLOCK), 0);
    for (unsigned i = 0; i < 20; i++) {
        CHECK_EQ(do_read(chip, LARGE, data, PAGE), 0);
        CHECK(all_bytes(data, 0xFF, PAGE));
    }
    CHECK_EQ(spoiled(chip, 16, 0x5A), 0);
    vflash_free(chip);
    vflash_free(twin);
}

/* ---- failing calls, broken blocks ----------------------------------------------------------------- */

TEST(one_call_fails)
{
    struct vflash *chip = make("tiny256k");
    uint8_t byte = 7;
    vflash_fail_at(chip, 2);
    CHECK_EQ(do_read(chip, 0, &byte, 1), 0);
    byte = 7;
    CHECK_EQ(do_read(chip, 0, &byte, 1), VFLASH_FAILED);
    CHECK_EQ(byte, 7);
    CHECK_EQ(do_read(chip, 0, &byte, 1), 0);
    vflash_fail_at(chip, 1);
    CHECK_EQ(do_fill(chip, 0, 0x00, 1), VFLASH_FAILED);
    CHECK_EQ(vflash_memory(chip)[0], 0xFF);
    CHECK_EQ(do_fill(chip, 0, 0x00, 1), 0);
    vflash_fail_at(chip, 1);
    CHECK_EQ(do_erase(chip, 0, BLOCK), VFLASH_FAILED);
    CHECK_EQ(vflash_memory(chip)[0], 0x00);
    CHECK_EQ(vflash_wear(chip, 0), 0);
    vflash_fail_at(chip, 1);
    vflash_fail_at(chip, 0);
    CHECK_EQ(do_erase(chip, 0, BLOCK), 0);
    CHECK_EQ(vflash_counts(chip)->read_calls, 2);
    CHECK_EQ(vflash_counts(chip)->program_calls, 1);
    CHECK_EQ(vflash_counts(chip)->erases[0], 1);
    CHECK_EQ(violations(chip), 0);
    vflash_free(chip);

    chip = make("tinyecc16");
    vflash_fail_at(chip, 1);
    CHECK_EQ(do_fill(chip, 0, 0x00, 16), VFLASH_FAILED);
    CHECK_EQ(do_fill(chip, 0, 0x00, 16), 0);            /* the call never got to the chip */
    vflash_free(chip);
}

static void check_broken(bool silent)
{
    struct vflash *chip = make("tiny256k");
    const int result = silent ? 0 : NF2_FLASH_BAD;
    memset(vflash_memory(chip), 0x12, LARGE);
    vflash_break_block(chip, 3, silent);
    CHECK_EQ(do_fill(chip, 3 * BLOCK, 0x00, 8), result);
    CHECK_EQ(do_erase(chip, 3 * BLOCK, BLOCK), result);
    CHECK(all_bytes(vflash_memory(chip) + 3 * BLOCK, 0x12, BLOCK));
    CHECK_EQ(do_erase(chip, 0, LARGE), result);
    CHECK(all_bytes(vflash_memory(chip), 0xFF, 3 * BLOCK));
    CHECK(all_bytes(vflash_memory(chip) + 3 * BLOCK, 0x12, BLOCK));
    CHECK(all_bytes(vflash_memory(chip) + 4 * BLOCK, 0xFF, LARGE - 4 * BLOCK));
    CHECK_EQ(do_fill(chip, 2 * BLOCK, 0x00, 8), 0);
    CHECK_EQ(vflash_memory(chip)[2 * BLOCK], 0);
    static const enum vflash_erase_cut torn[] = {VFLASH_ERASE_PARTLY, VFLASH_ERASE_WEAK, VFLASH_ERASE_UNSTABLE, VFLASH_ERASE_DONE};
    for (unsigned i = 0; i < 4; i++) {
        cut_next(chip, (struct vflash_cut){.erase = torn[i], .seed = i});
        CHECK_EQ(do_erase(chip, 0, LARGE), VFLASH_OFF);
        vflash_power_on(chip);
        CHECK(all_bytes(vflash_memory(chip) + 3 * BLOCK, 0x12, BLOCK));
    }
    cut_next(chip, (struct vflash_cut){.byte = UINT32_MAX});
    CHECK_EQ(do_fill(chip, 3 * BLOCK, 0x00, 8), VFLASH_OFF);
    vflash_power_on(chip);
    CHECK(all_bytes(vflash_memory(chip) + 3 * BLOCK, 0x12, BLOCK));
    uint8_t byte;
    CHECK_EQ(do_read(chip, 3 * BLOCK, &byte, 1), 0);
    CHECK_EQ(byte, 0x12);
    vflash_break_block(chip, 3, !silent);
    CHECK_EQ(do_erase(chip, 3 * BLOCK, BLOCK), silent ? NF2_FLASH_BAD : 0);
    vflash_free(chip);
}

TEST(broken_blocks_stay_as_they_are)
{
    check_broken(false);
    check_broken(true);
}

/* ---- bits that turn over, the watch --------------------------------------------------------------- */

static uint32_t bits_set(const uint8_t *data, uint32_t length)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < length * 8; i++) {
        count += (unsigned)data[i / 8] >> i % 8 & 1u;
    }
    return count;
}

TEST(bits_flip_as_asked)
{
    struct vflash *chip = make("tinyecc16");
    uint8_t *memory = vflash_memory(chip), data[2 * PAGE];
    CHECK_EQ(do_fill(chip, 0, 0x0F, 16), 0);
    vflash_flip(chip, 3, 0x81);
    CHECK_EQ(do_read(chip, 0, data, 16), 0);
    CHECK_EQ(data[3], 0x8E);                            /* both ways */
    CHECK_EQ(data[2], 0x0F);
    CHECK_EQ(do_fill(chip, 0, 0x00, 16), VFLASH_VIOLATION);
    CHECK_EQ(do_fill(chip, 16, 0x00, 16), 0);
    unsigned differ = 0;
    for (uint64_t seed = 0; seed < 20; seed++) {
        memset(memory + PAGE, 0x00, 3 * PAGE);
        CHECK_EQ(vflash_flip_seeded(chip, 2 * PAGE, PAGE, 7, seed), 7);
        CHECK_EQ(bits_set(memory + 2 * PAGE, PAGE), 7);
        CHECK_EQ(bits_set(memory + PAGE, 3 * PAGE), 7);
        memcpy(data, memory + 2 * PAGE, PAGE);
        CHECK_EQ(vflash_flip_seeded(chip, 2 * PAGE, PAGE, 7, seed), 7);
        CHECK(all_bytes(memory + PAGE, 0x00, 3 * PAGE));    /* the same seed turns the same bits */
        differ += seed > 0 && memcmp(data, data + PAGE, PAGE) != 0;
        memcpy(data + PAGE, data, PAGE);
    }
    CHECK_EQ(differ, 19);
    CHECK_EQ(vflash_flip_seeded(chip, 2 * PAGE, 2, 1000, 1), 16);
    CHECK_EQ(bits_set(memory + 2 * PAGE, PAGE), 16);
    CHECK_EQ(vflash_flip_seeded(chip, 2 * PAGE, 0, 5, 1), 0);
    CHECK_EQ(vflash_flip_seeded(chip, 0, 256 * 1024, 0, 1), 0);
    CHECK_EQ(vflash_counts(chip)->program_calls, 2);
    vflash_free(chip);
}

struct seen {
    struct vflash_operation operation;
    unsigned count;
};

static void note_seen(void *context, const struct vflash_operation *operation)
{
    struct seen *seen = context;
    seen->operation = *operation;
    seen->count++;
}

TEST(watch_sees_each_operation)
{
    struct vflash *chip = make("tiny256k");
    struct seen seen = {.count = 0};
    uint8_t byte;
    vflash_watch(chip, note_seen, &seen);
    CHECK_EQ(do_fill(chip, 10, 0x00, 20), 0);
    CHECK(!seen.operation.erase && seen.operation.address == 10 && seen.operation.length == 20);
    CHECK_EQ(do_read(chip, 0, &byte, 1), 0);
    CHECK_EQ(seen.count, 1);
    cut_next(chip, (struct vflash_cut){.byte = 0});
    CHECK_EQ(do_erase(chip, LARGE, LARGE), VFLASH_OFF);     /* the cut one is seen, none while off */
    CHECK(seen.operation.erase && seen.operation.address == LARGE && seen.operation.length == LARGE);
    CHECK_EQ(do_erase(chip, 0, BLOCK), VFLASH_OFF);
    CHECK_EQ(seen.count, 2);
    vflash_power_on(chip);
    vflash_watch(chip, NULL, NULL);
    CHECK_EQ(do_erase(chip, 0, BLOCK), 0);
    CHECK_EQ(seen.count, 2);
    vflash_free(chip);
}

/* ------------------------------------------------------------------------------------------------ */

int main(void)
{
    RUN(cut_counts_programs_and_erases);
    RUN(nothing_happens_while_off);
    RUN(torn_program_leaves_its_first_bytes);
    RUN(shuffled_program_lands_as_seeded);
    RUN(torn_units_count_as_programmed);
    RUN(cut_may_be_jumped_out_of);
    RUN(cut_hits_a_refused_call_as_well);
    RUN(torn_erase_untouched_or_done);
    RUN(torn_erase_partly);
    RUN(torn_erase_prefix);
    RUN(torn_erase_weak);
    RUN(torn_erase_unstable);
    RUN(one_call_fails);
    RUN(broken_blocks_stay_as_they_are);
    RUN(bits_flip_as_asked);
    RUN(watch_sees_each_operation);
    return check_done();
}
