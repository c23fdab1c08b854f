/* SPDX-License-Identifier: BSD-2-Clause */
/* test_vflash.c - the virtual chip: its memory, counters, rules, checkpoints and trace; its other tests lie in vflash/test/. */
#include "test/calls.h"

/* ---- random numbers ----------------------------------------------------------------------------- */

TEST(pcg32_is_the_reference)
{
    static const uint32_t expected[] = {0xA15C02B7, 0x7B47F409, 0xBA1D3330, 0x83D2F293, 0xBFA4784B, 0xCBED606E};
    struct pcg32 rng;
    pcg32_seed(&rng, 42, 54);
    for (unsigned i = 0; i < 6; i++) {
        CHECK_EQ(pcg32_next(&rng), expected[i]);
    }
    unsigned seen = 0;
    for (unsigned i = 0; i < 200; i++) {
        uint32_t value = pcg32_below(&rng, 5);
        CHECK(value < 5);
        seen |= 1u << value;
    }
    CHECK_EQ(seen, 31);
}

/* ---- memory ------------------------------------------------------------------------------------- */

TEST(new_chip_is_blank_and_keeps_what_is_programmed)
{
    struct vflash *chip = make("tiny128k");
    uint8_t data[PAGE], back[PAGE];
    CHECK(all_bytes(vflash_memory(chip), 0xFF, 128 * 1024));
    for (uint32_t i = 0; i < PAGE; i++) {
        data[i] = (uint8_t)(i * 7);
    }
    CHECK_EQ(do_program(chip, 3 * PAGE, data, PAGE), 0);
    CHECK_EQ(do_read(chip, 3 * PAGE, back, PAGE), 0);
    CHECK_MEM(back, data, PAGE);
    CHECK_EQ(do_program(chip, 5 * PAGE + 3, data, 13), 0);
    CHECK_MEM(vflash_memory(chip) + 5 * PAGE + 3, data, 13);
    CHECK_EQ(vflash_memory(chip)[5 * PAGE + 2], 0xFF);
    CHECK_EQ(vflash_memory(chip)[5 * PAGE + 16], 0xFF);
    CHECK_EQ(violations(chip), 0);
    CHECK(vflash_violation(chip) == NULL);
    vflash_free(chip);
}

TEST(erases_take_each_size_and_nothing_more)
{
    static const uint32_t sizes[] = {BLOCK, 32 * 1024, LARGE};
    struct vflash *chip = make("tiny256k");
    for (unsigned i = 0; i < 3; i++) {
        uint32_t at = LARGE, end = at + sizes[i];
        memset(vflash_memory(chip), 0x5A, 256 * 1024);
        vflash_counts_reset(chip);
        CHECK_EQ(do_erase(chip, at, sizes[i]), 0);
        CHECK(all_bytes(vflash_memory(chip), 0x5A, at));
        CHECK(all_bytes(vflash_memory(chip) + at, 0xFF, sizes[i]));
        CHECK(all_bytes(vflash_memory(chip) + end, 0x5A, 256 * 1024 - end));
        CHECK_EQ(vflash_counts(chip)->erases[i], 1);
        CHECK_EQ(vflash_counts(chip)->erases[(i + 1) % 3], 0);
        CHECK_EQ(vflash_counts(chip)->erases[(i + 2) % 3], 0);
    }
    vflash_free(chip);
}

TEST(wear_is_counted_for_each_block)
{
    struct vflash *chip = make("tiny256k");
    CHECK_EQ(do_erase(chip, 16 * BLOCK, BLOCK), 0);
    CHECK_EQ(do_erase(chip, LARGE, LARGE), 0);
    CHECK_EQ(do_erase(chip, LARGE + 32 * 1024, 32 * 1024), 0);
    CHECK_EQ(vflash_wear(chip, 15), 0);
    CHECK_EQ(vflash_wear(chip, 16), 2);
    CHECK_EQ(vflash_wear(chip, 17), 1);
    CHECK_EQ(vflash_wear(chip, 24), 2);
    CHECK_EQ(vflash_wear(chip, 31), 2);
    CHECK_EQ(vflash_wear(chip, 32), 0);
    vflash_counts_reset(chip);
    CHECK_EQ(vflash_wear(chip, 16), 2);
    vflash_free(chip);
}

/* ---- counters and time --------------------------------------------------------------------------- */

TEST(reads_are_counted_by_pages_touched)
{
    struct vflash *chip = make("tiny256k");
    const struct vflash_counts *counts = vflash_counts(chip);
    uint8_t data[1024];
    CHECK_EQ(do_read(chip, 0, data, 1), 0);
    CHECK_EQ(counts->read_pages, 1);
    CHECK_EQ(do_read(chip, 0, data, PAGE), 0);
    CHECK_EQ(counts->read_pages, 2);
    CHECK_EQ(do_read(chip, 255, data, 2), 0);
    CHECK_EQ(counts->read_pages, 4);
    CHECK_EQ(do_read(chip, 255, data, 514), 0);
    CHECK_EQ(counts->read_pages, 8);
    CHECK_EQ(do_read(chip, 7, data, 0), 0);
    CHECK_EQ(counts->read_pages, 8);
    CHECK_EQ(counts->read_calls, 5);
    CHECK_EQ(counts->read_bytes, 1 + 256 + 2 + 514);
    CHECK_EQ(counts->time_us, 8 * 4);
    CHECK_EQ(counts->time_slow_us, 8 * 41);
    CHECK_EQ(counts->program_calls + counts->erases[0] + counts->violations, 0);
    vflash_counts_reset(chip);
    CHECK_EQ(counts->read_calls + counts->read_bytes + counts->read_pages + counts->time_us + counts->time_slow_us + counts->time_byte_ns, 0);
    vflash_free(chip);
}

TEST(programs_and_erases_are_charged)
{
    struct vflash *chip = make("tiny256k");
    const struct vflash_counts *counts = vflash_counts(chip);
    CHECK_EQ(do_fill(chip, 10, 0, 20), 0);
    CHECK_EQ(do_fill(chip, 256, 0, 256), 0);
    CHECK_EQ(do_fill(chip, 30, 0, 1), 0);
    CHECK_EQ(counts->program_calls, 3);
    CHECK_EQ(counts->program_pages, 3);
    CHECK_EQ(counts->program_bytes, 277);
    CHECK_EQ(counts->time_us, 1200);
    CHECK_EQ(counts->time_slow_us, 1200);
    vflash_counts_reset(chip);
    CHECK_EQ(do_erase(chip, 0, BLOCK), 0);
    CHECK_EQ(counts->time_us, 50000);
    CHECK_EQ(do_erase(chip, 0, 32 * 1024), 0);
    CHECK_EQ(counts->time_us, 170000);
    CHECK_EQ(do_erase(chip, 0, LARGE), 0);
    CHECK_EQ(counts->time_us, 320000);
    CHECK_EQ(counts->time_slow_us, 320000);
    CHECK_EQ(counts->time_byte_ns, 320000000);
    CHECK_EQ(counts->read_calls + counts->program_calls, 0);
    vflash_free(chip);
}

/* Programs: 0.2 of a page's time and 1.25 us a byte. Reads: 15.625 ns a byte, and as much as 24 bytes for the command. */
TEST(byte_convention_counts_bytes)
{
    struct vflash *chip = make("tiny256k");
    const struct vflash_counts *counts = vflash_counts(chip);
    CHECK_EQ(do_fill(chip, 0, 0, PAGE), 0);
    CHECK_EQ(counts->time_byte_ns, 400000);
    CHECK_EQ(do_fill(chip, PAGE, 0, 32), 0);
    CHECK_EQ(counts->time_byte_ns, 400000 + 80000 + 32 * 1250);
    vflash_counts_reset(chip);
    uint8_t data[512];
    CHECK_EQ(do_read(chip, 0, data, 256), 0);
    CHECK_EQ(counts->time_byte_ns, 4375);
    CHECK_EQ(do_read(chip, 0, data, 512), 0);
    CHECK_EQ(counts->time_byte_ns, 4375 + 8375);
    CHECK_EQ(do_read(chip, 250, data, 8), 0);
    CHECK_EQ(counts->time_byte_ns, 4375 + 8375 + 500);
    vflash_free(chip);

    struct vflash_chip own = *vflash_chip_find("tiny512");
    own.first_byte_pct = 50;
    own.program_page_us = 512;
    chip = vflash_new(&own);
    CHECK_EQ(do_fill(chip, 0, 0, 100), 0);
    CHECK_EQ(vflash_counts(chip)->time_byte_ns, 256000 + 50000);
    vflash_free(chip);
}

/* ---- strict rules ------------------------------------------------------------------------------- */

/* The call was refused: a violation more, nothing counted, nothing changed, no wear. */
static void check_refused(struct vflash *chip, int result, const char *why)
{
    static uint8_t before[256 * 1024];
    const struct vflash_counts *counts = vflash_counts(chip);
    CHECK_EQ(result, VFLASH_VIOLATION);
    CHECK_EQ(counts->violations, 1);
    CHECK_EQ(counts->read_calls + counts->program_calls + counts->erases[0] + counts->erases[1] + counts->erases[2], 0);
    CHECK_EQ(counts->time_us + counts->time_byte_ns, 0);
    if (!CHECK(vflash_violation(chip) != NULL && strstr(vflash_violation(chip), why) != NULL)) {
        printf("    \"%s\", not \"%s\"\n", vflash_violation(chip), why);
    }
    memset(before, 0xF0, sizeof(before));
    CHECK_MEM(vflash_memory(chip), before, vflash_chip_of(chip)->size);
    for (uint32_t block = 0; block < vflash_chip_of(chip)->size / BLOCK; block++) {
        CHECK_EQ(vflash_wear(chip, block), 0);
    }
    vflash_counts_reset(chip);
}

TEST(strict_rules_refuse)
{
    struct vflash *chip = make("tiny256k");
    uint8_t data[1024];
    const uint32_t end = 256 * 1024;
    memset(vflash_memory(chip), 0xF0, end);
    check_refused(chip, do_read(chip, end, data, 1), "leaves");
    check_refused(chip, do_read(chip, end - 1, data, 2), "leaves");
    check_refused(chip, do_read(chip, UINT32_MAX, data, 2), "leaves");
    check_refused(chip, do_fill(chip, end, 0, 1), "leaves");
    check_refused(chip, do_fill(chip, end - 1, 0, 2), "leaves");
    check_refused(chip, do_fill(chip, UINT32_MAX, 0, 2), "leaves");
    check_refused(chip, do_fill(chip, 255, 0, 2), "page end");
    check_refused(chip, do_fill(chip, 0, 0, 257), "page end");
    check_refused(chip, do_fill(chip, 0, 0xF8, 1), "0 to 1");
    check_refused(chip, do_fill(chip, 0, 0xFF, PAGE), "0 to 1");
    memset(data, 0, sizeof(data));
    data[63] = 0x01;
    check_refused(chip, do_program(chip, 0, data, 64), "0 to 1");
    check_refused(chip, do_program(chip, 1, data, 64), "0 to 1");
    check_refused(chip, do_program(chip, 1, data + 57, 7), "0 to 1");
    check_refused(chip, do_erase(chip, 0, 0), "size");
    check_refused(chip, do_erase(chip, 0, 8192), "size");
    check_refused(chip, do_erase(chip, 0, 2 * LARGE), "size");
    check_refused(chip, do_erase(chip, 1, BLOCK), "aligned");
    check_refused(chip, do_erase(chip, BLOCK, LARGE), "aligned");
    check_refused(chip, do_erase(chip, end, BLOCK), "leaves");
    check_refused(chip, do_erase(chip, UINT32_MAX - BLOCK + 1, BLOCK), "leaves");
    vflash_free(chip);

    struct vflash_chip own = *vflash_chip_find("tiny256k");
    own.erase_sizes[1] = own.erase_sizes[2] = 0;
    chip = vflash_new(&own);
    memset(vflash_memory(chip), 0xF0, end);
    check_refused(chip, do_erase(chip, 0, 0), "size");
    check_refused(chip, do_erase(chip, 0, LARGE), "size");
    vflash_free(chip);
}

TEST(strict_rules_allow)
{
    struct vflash *chip = make("tiny256k");
    uint8_t data[1024];
    const uint32_t end = 256 * 1024;
    CHECK_EQ(do_read(chip, end - 1, data, 1), 0);
    CHECK_EQ(do_read(chip, end, data, 0), 0);
    CHECK_EQ(do_fill(chip, end - PAGE, 0, PAGE), 0);
    CHECK_EQ(do_fill(chip, 255, 0x7F, 1), 0);
    CHECK_EQ(do_fill(chip, 255, 0x0F, 1), 0);       /* a byte twice, from 1 to 0 only */
    CHECK_EQ(do_fill(chip, 255, 0x0F, 1), 0);
    CHECK_EQ(do_erase(chip, end - LARGE, LARGE), 0);
    CHECK_EQ(do_erase(chip, 0, BLOCK), 0);
    CHECK_EQ(do_fill(chip, 255, 0xFF, 1), 0);
    CHECK_EQ(violations(chip), 0);
    vflash_free(chip);
}

TEST(not_strict_does_what_a_chip_does)
{
    struct vflash *chip = make("tiny256k");
    uint8_t *memory = vflash_memory(chip), data[600];
    const uint32_t end = 256 * 1024;
    vflash_set_strict(chip, false);
    for (unsigned i = 0; i < sizeof(data); i++) {
        data[i] = (uint8_t)i;
    }
    CHECK_EQ(do_program(chip, PAGE + 250, data, 10), 0);        /* wraps inside the page */
    CHECK_MEM(memory + PAGE + 250, data, 6);
    CHECK_MEM(memory + PAGE, data + 6, 4);
    CHECK_EQ(memory[2 * PAGE], 0xFF);
    CHECK_EQ(vflash_counts(chip)->program_pages, 1);
    CHECK_EQ(do_program(chip, 4 * PAGE + 16, data, 300), 0);    /* the last 256 bytes stay */
    CHECK_MEM(memory + 4 * PAGE + 60, data + 44, 196);
    CHECK_MEM(memory + 4 * PAGE, data + 240, 60);
    CHECK_EQ(violations(chip), 2);
    memory[8 * PAGE] = 0x3C;
    CHECK_EQ(do_fill(chip, 8 * PAGE, 0xF0, 1), 0);
    CHECK_EQ(memory[8 * PAGE], 0x30);
    memory[8 * PAGE + 20] = 0x3C;
    CHECK_EQ(do_fill(chip, 8 * PAGE + 16, 0xF0, 8), 0);
    CHECK_EQ(memory[8 * PAGE + 20], 0x30);
    CHECK_EQ(violations(chip), 4);
    memory[0] = 0x11;
    memory[end - 1] = 0x22;
    CHECK_EQ(do_read(chip, end - 1, data, 2), 0);
    CHECK_EQ(data[0], 0x22);
    CHECK_EQ(data[1], 0x11);
    CHECK_EQ(do_fill(chip, end + 9 * PAGE, 0x00, 1), 0);
    CHECK_EQ(memory[9 * PAGE], 0x00);
    CHECK_EQ(violations(chip), 6);
    CHECK_EQ(do_erase(chip, BLOCK - 1, BLOCK), 0);
    CHECK(all_bytes(memory, 0xFF, BLOCK));
    memset(memory, 0x00, end);
    CHECK_EQ(do_erase(chip, LARGE + BLOCK, LARGE), 0);
    CHECK(all_bytes(memory, 0x00, LARGE));
    CHECK(all_bytes(memory + LARGE, 0xFF, LARGE));
    CHECK(all_bytes(memory + 2 * LARGE, 0x00, end - 2 * LARGE));
    CHECK_EQ(do_erase(chip, 0, 5000), VFLASH_VIOLATION);
    CHECK_EQ(violations(chip), 9);
    CHECK_EQ(vflash_counts(chip)->erases[0], 1);
    vflash_free(chip);
}

static void check_units(const char *name, uint32_t unit)
{
    struct vflash *chip = make(name);
    CHECK_EQ(do_fill(chip, 0, 0x00, unit - 1), VFLASH_VIOLATION);
    CHECK_EQ(do_fill(chip, 1, 0x00, unit), VFLASH_VIOLATION);
    CHECK_EQ(do_fill(chip, unit / 2, 0x00, unit), VFLASH_VIOLATION);
    CHECK(strstr(vflash_violation(chip), "aligned") != NULL);
    CHECK_EQ(violations(chip), 3);
    CHECK_EQ(do_fill(chip, unit, 0x0F, unit), 0);
    CHECK_EQ(do_fill(chip, unit, 0x00, unit), VFLASH_VIOLATION);
    CHECK(strstr(vflash_violation(chip), "unit") != NULL);
    CHECK_EQ(do_fill(chip, unit, 0x0F, unit), VFLASH_VIOLATION);
    CHECK_EQ(vflash_memory(chip)[unit], 0x0F);
    CHECK_EQ(do_fill(chip, 0, 0x00, 2 * unit), VFLASH_VIOLATION);
    CHECK_EQ(do_fill(chip, 0, 0xFF, unit), 0);      /* blank data is a program, too */
    CHECK_EQ(do_fill(chip, 0, 0x00, unit), VFLASH_VIOLATION);
    CHECK_EQ(do_fill(chip, 2 * unit, 0x00, unit), 0);
    CHECK_EQ(violations(chip), 7);
    fill_block(chip, 1, 0x00);
    fill_block(chip, 15, 0x00);
    CHECK_EQ(do_fill(chip, BLOCK - unit, 0x00, unit), 0);
    CHECK_EQ(do_erase(chip, 0, BLOCK), 0);
    CHECK_EQ(do_fill(chip, 0, 0x00, PAGE), 0);
    CHECK_EQ(do_fill(chip, BLOCK - PAGE, 0x00, PAGE), 0);
    CHECK_EQ(do_fill(chip, BLOCK, 0x00, unit), VFLASH_VIOLATION);
    CHECK_EQ(do_erase(chip, 0, LARGE), 0);
    CHECK_EQ(do_fill(chip, BLOCK, 0x00, unit), 0);
    CHECK_EQ(do_fill(chip, LARGE - unit, 0x00, unit), 0);
    CHECK_EQ(violations(chip), 8);
    vflash_free(chip);
}

TEST(write_once_units_are_written_once)
{
    check_units("tinyecc16", 16);
    check_units("tinyecc32", 32);
    struct vflash *chip = make("tinyecc16");
    vflash_set_strict(chip, false);
    CHECK_EQ(do_fill(chip, 3, 0xF3, 1), 0);         /* the whole unit is used up */
    CHECK_EQ(do_fill(chip, 3 * PAGE - 16, 0xF3, 32), 0);    /* wraps to the unit at the page's start */
    CHECK_EQ(vflash_memory(chip)[2 * PAGE], 0xF3);
    vflash_set_strict(chip, true);
    CHECK_EQ(do_fill(chip, 0, 0x00, 16), VFLASH_VIOLATION);
    CHECK_EQ(do_fill(chip, 3 * PAGE - 16, 0x00, 16), VFLASH_VIOLATION);
    CHECK_EQ(do_fill(chip, 2 * PAGE, 0x00, 16), VFLASH_VIOLATION);
    CHECK_EQ(do_fill(chip, 16, 0x00, 16), 0);
    CHECK_EQ(do_fill(chip, 2 * PAGE + 16, 0x00, 16), 0);
    CHECK_EQ(do_fill(chip, 3 * PAGE, 0x00, 16), 0);
    vflash_free(chip);
}

/* ---- checkpoints -------------------------------------------------------------------------------- */

/* Does the same random work on a chip, and sums up all that can be seen of it. */
static uint64_t work(struct vflash *chip, uint64_t seed)
{
    const struct vflash_chip *facts = vflash_chip_of(chip);
    struct pcg32 rng;
    uint64_t sum = 0;
    uint8_t data[PAGE];
    pcg32_seed(&rng, seed, 1);
    for (unsigned i = 0; i < 300; i++) {
        uint32_t at = pcg32_below(&rng, facts->size / PAGE) * PAGE;
        int result;
        if (pcg32_below(&rng, 8) == 0) {
            result = do_erase(chip, at / BLOCK * BLOCK, BLOCK);
        } else if (pcg32_below(&rng, 2) == 0) {
            result = do_fill(chip, at, (uint8_t)pcg32_next(&rng), PAGE);
        } else {
            result = do_read(chip, at, data, PAGE);
            sum += count_bytes(data, 0xFF, PAGE);
        }
        sum = sum * 31 + (uint64_t)result;
        if (result == VFLASH_OFF) {
            vflash_power_on(chip);
        }
    }
    for (uint32_t i = 0; i < facts->size; i++) {
        sum = sum * 31 + vflash_memory(chip)[i];
    }
    for (uint32_t block = 0; block < facts->size / BLOCK; block++) {
        sum = sum * 31 + vflash_wear(chip, block);
    }
    const struct vflash_counts *counts = vflash_counts(chip);
    return sum * 31 + counts->time_us + counts->violations * 7 + counts->program_bytes * 11 + vflash_operations(chip) * 13;
}

static void check_checkpoint(const char *name)
{
    struct vflash *chip = make(name);
    (void)work(chip, 1);
    vflash_cut_at(chip, &(struct vflash_cut){.operation = 1, .erase = VFLASH_ERASE_UNSTABLE, .seed = 3});
    CHECK_EQ(do_erase(chip, 0, BLOCK), VFLASH_OFF);
    vflash_power_on(chip);
    vflash_cut_at(chip, &(struct vflash_cut){.operation = 40, .byte = 30, .seed = 4});
    vflash_fail_at(chip, 50);
    vflash_break_block(chip, 7, false);
    struct vflash_checkpoint *checkpoint = vflash_save(chip);
    if (!CHECK(checkpoint != NULL)) {
        return;
    }
    uint64_t first = work(chip, 2);
    (void)work(chip, 3);
    vflash_break_block(chip, 8, true);
    vflash_restore(chip, checkpoint);
    CHECK_EQ(work(chip, 2), first);
    vflash_restore(chip, checkpoint);
    CHECK(work(chip, 5) != first);
    vflash_restore(chip, checkpoint);
    CHECK_EQ(work(chip, 2), first);
    vflash_release(checkpoint);
    vflash_release(NULL);
    vflash_free(chip);
}

TEST(checkpoints_bring_everything_back)
{
    check_checkpoint("tiny256k");
    check_checkpoint("tinyecc16");
    struct vflash *chip = make("tinyecc32");
    struct vflash_checkpoint *blank = vflash_save(chip);
    CHECK_EQ(do_fill(chip, 0, 0xFF, 32), 0);
    CHECK_EQ(do_fill(chip, 0, 0x00, 32), VFLASH_VIOLATION);
    struct vflash_checkpoint *used = vflash_save(chip);
    vflash_cut_at(chip, &(struct vflash_cut){.operation = 1});
    CHECK_EQ(do_fill(chip, 64, 0x00, 32), VFLASH_OFF);
    vflash_restore(chip, blank);
    CHECK(vflash_violation(chip) == NULL);
    CHECK_EQ(vflash_operations(chip), 0);
    CHECK_EQ(do_fill(chip, 0, 0x00, 32), 0);            /* the power is back, too */
    vflash_restore(chip, used);
    CHECK_EQ(do_fill(chip, 0, 0x00, 32), VFLASH_VIOLATION);
    CHECK_EQ(violations(chip), 2);
    vflash_release(blank);
    vflash_release(used);
    vflash_free(chip);
}

/* ---- the trace ---------------------------------------------------------------------------------- */

TEST(trace_has_a_line_for_each_operation)
{
    struct vflash *chip = make("tiny256k");
    char text[1000] = "";
    uint8_t data[8];
    FILE *trace = tmpfile();
    if (!CHECK(trace != NULL)) {
        return;
    }
    vflash_trace(chip, trace);
    CHECK_EQ(do_read(chip, 16, data, 8), 0);
    CHECK_EQ(do_fill(chip, PAGE, 0, PAGE), 0);
    CHECK_EQ(do_erase(chip, LARGE, LARGE), 0);
    CHECK_EQ(do_erase(chip, 1, BLOCK), VFLASH_VIOLATION);
    vflash_fail_at(chip, 1);
    CHECK_EQ(do_read(chip, 0, data, 1), VFLASH_FAILED);
    vflash_cut_at(chip, &(struct vflash_cut){.operation = 1, .byte = 1});
    CHECK_EQ(do_fill(chip, 0, 0, 2), VFLASH_OFF);
    vflash_power_on(chip);
    vflash_trace(chip, NULL);
    CHECK_EQ(do_read(chip, 0, data, 1), 0);
    rewind(trace);
    text[fread(text, 1, sizeof(text) - 1, trace)] = '\0';
    fclose(trace);
    CHECK_TEXT(text, "read 0x00000010 8\n"
                     "program 0x00000100 256\n"
                     "erase 0x00010000 65536\n"
                     "erase 0x00000001 4096 refused: the erase is not aligned to its size\n"
                     "read 0x00000000 1 failed\n"
                     "program 0x00000000 2 power cut\n");
    vflash_free(chip);
}

/* ------------------------------------------------------------------------------------------------ */

int main(void)
{
    RUN(pcg32_is_the_reference);
    RUN(new_chip_is_blank_and_keeps_what_is_programmed);
    RUN(erases_take_each_size_and_nothing_more);
    RUN(wear_is_counted_for_each_block);
    RUN(reads_are_counted_by_pages_touched);
    RUN(programs_and_erases_are_charged);
    RUN(byte_convention_counts_bytes);
    RUN(strict_rules_refuse);
    RUN(strict_rules_allow);
    RUN(not_strict_does_what_a_chip_does);
    RUN(write_once_units_are_written_once);
    RUN(checkpoints_bring_everything_back);
    RUN(trace_has_a_line_for_each_operation);
    return check_done();
}
