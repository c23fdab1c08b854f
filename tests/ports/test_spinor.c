/* SPDX-License-Identifier: BSD-2-Clause */
/* test_spinor.c - the driver over the command-level chip, alone and with a volume on it. */
#include <stdlib.h>

#include "check.h"
#include "nf2fs/nf2fs.h"
#include "pcg32.h"
#include "selftest.h"
#include "spi_board.h"

static struct spi_board board;
static struct spinor chip;

static void open_board(const struct spi_chip_kind *kind, uint8_t lines)
{
    spi_board_open(&board, kind, lines);
    CHECK_EQ(spinor_start(&chip, &board.bus), 0);
}

/* ---- finding the chip ------------------------------------------------------------------------ */

TEST(what_the_table_says)
{
    open_board(&spi_chip_w25q256, 4);
    const struct spinor_part *part = &chip.part;
    CHECK(part->sfdp);
    CHECK_EQ(part->size, 32u << 20);
    CHECK_EQ(part->page_size, 256);
    CHECK_EQ(part->address_bytes, 4);
    CHECK_EQ(part->read, 0x6C);
    CHECK_EQ(part->program, 0x12);
    CHECK_EQ(part->erase[0].size, 4096);
    CHECK_EQ(part->erase[0].opcode, 0x21);
    CHECK_EQ(part->erase[1].size, 0);           /* 32 KiB: not with four address bytes */
    CHECK_EQ(part->erase[2].opcode, 0xDC);
    CHECK_EQ(part->suspend, 0x75);
    CHECK(part->suspend_us >= 20 && part->resume_gap_us >= 100 && part->wake_us >= 3);
    CHECK_EQ(chip.driver.large_erase_size, 65536);
    CHECK(chip.driver.erase_block_us >= 50000 && chip.driver.erase_block_us < 70000);
    CHECK(chip.driver.large_erase_us >= 150000 && chip.driver.large_erase_us < 180000);
    CHECK(chip.driver.program_page_us >= 400 && chip.driver.program_page_us < 500);
    CHECK_EQ(chip.driver.read_page_us, 12);     /* 568 clocks of 20 ns */
    spi_board_close(&board);
}

TEST(one_line_and_three_bytes)
{
    open_board(&spi_chip_w25q128, 1);
    CHECK_EQ(chip.part.read, 0x0B);
    CHECK_EQ(chip.part.address_bytes, 3);
    CHECK_EQ(chip.part.erase[1].size, 32768);
    spi_board_close(&board);
}

TEST(without_a_table)
{
    open_board(&spi_chip_old, 4);
    CHECK(!chip.part.sfdp);
    CHECK_EQ(chip.part.size, 4u << 20);
    CHECK_EQ(chip.part.suspend, 0);
    CHECK_EQ(chip.part.read, 0x0B);
    spi_board_close(&board);
}

TEST(four_bytes_by_a_mode)
{
    struct spi_chip_kind kind = spi_chip_w25q256;
    kind.four_opcodes = false;
    for (int latched = 0; latched < 2; latched++) {
        kind.four_mode_latched = latched == 1;
        open_board(&kind, 4);
        CHECK_EQ(chip.part.read, 0x6B);
        CHECK_EQ(chip.part.address_bytes, 4);
        CHECK_EQ(spinor_program(&chip, 0x1000010, "here", 4), 0);
        CHECK_MEM(spi_chip_memory(board.chip) + 0x1000010, "here", 4);
        CHECK_EQ(spinor_erase(&chip, 0x1000000, 4096), 0);
        CHECK_EQ(spi_chip_memory(board.chip)[0x1000010], 0xFF);
        spi_board_close(&board);
    }
    kind.sfdp_first = true;         /* the table does not say how: as W25Q256FV */
    for (int latched = 0; latched < 2; latched++) {
        kind.four_mode_latched = latched == 1;
        open_board(&kind, 4);
        CHECK(chip.part.sfdp && chip.part.address_bytes == 4);
        CHECK(chip.driver.large_erase_size == 65536 && chip.part.erase[2].max_us > 2000000);
        CHECK_EQ(spinor_program(&chip, 0x1000010, "here", 4), 0);
        CHECK_MEM(spi_chip_memory(board.chip) + 0x1000010, "here", 4);
        spi_board_close(&board);
    }
    kind.sfdp_first = false;
    kind.four_mode = false;
    spi_board_open(&board, &kind, 1);
    CHECK_EQ(spinor_start(&chip, &board.bus), SPINOR_UNKNOWN);
    spi_board_close(&board);
}

TEST(no_chip)
{
    spi_board_open(&board, &spi_chip_w25q128, 1);
    board.deaf = true;
    CHECK_EQ(spinor_start(&chip, &board.bus), SPINOR_ABSENT);
    CHECK(spi_chip_now_ns(board.chip) < 1000000000u);
    spi_board_close(&board);
}

/* The processor was reset while the chip did something that takes time. */
TEST(start_after_a_reset)
{
    static const uint8_t busy[] = {0xD8, 0, 0, 0};
    for (int state = 0; state < 4; state++) {
        open_board(&spi_chip_w25q128, 4);
        memset(spi_chip_memory(board.chip), 0, 65536);
        struct spinor_transfer erase = {
            .opcode = busy[0], .address_bytes = 3, .address_lines = 1, .data_lines = 1};
        struct spinor_transfer plain = {.opcode = 0x06, .address_lines = 1, .data_lines = 1};
        board.bus.transfer(&board, &plain);
        if (state < 2) {
            board.bus.transfer(&board, &erase);
        }
        if (state == 1) {
            spi_chip_wait(board.chip, 1000000);
            plain.opcode = 0x75;
            board.bus.transfer(&board, &plain);
            spi_chip_wait(board.chip, 100000);
        }
        if (state == 2) {
            CHECK_EQ(spinor_sleep(&chip), 0);
        }
        CHECK_EQ(spinor_start(&chip, &board.bus), 0);
        CHECK_EQ(spi_chip_memory(board.chip)[0],
                 state == 0 ? 0xFF : spi_chip_memory(board.chip)[0]);
        CHECK_EQ(spinor_program(&chip, 1u << 20, "works", 5), 0);
        CHECK_MEM(spi_chip_memory(board.chip) + (1u << 20), "works", 5);
        spi_board_close(&board);
    }
}

/* ---- what it does with the chip -------------------------------------------------------------- */

TEST(programs_are_split_at_page_ends)
{
    uint8_t data[1000], found[1000];
    open_board(&spi_chip_w25q256, 4);
    for (uint32_t i = 0; i < sizeof(data); i++) {
        data[i] = (uint8_t)(i * 11u);
    }
    CHECK_EQ(spinor_program(&chip, 0x1FFFF05u - 0x1000u, data, sizeof(data)), 0);
    CHECK_EQ(spinor_read(&chip, 0x1FFFF05u - 0x1000u, found, sizeof(found)), 0);
    CHECK_MEM(found, data, sizeof(data));
    CHECK_EQ(spi_chip_counts(board.chip)->programs, 4);
    CHECK_EQ(spi_chip_counts(board.chip)->wrapped, 0);
    CHECK_EQ(spinor_program(&chip, (32u << 20) - 1u, data, 2), SPINOR_RANGE);
    CHECK_EQ(spinor_read(&chip, 32u << 20, found, 1), SPINOR_RANGE);
    CHECK_EQ(spinor_erase(&chip, 4096, 65536), SPINOR_RANGE);
    CHECK_EQ(spinor_erase(&chip, 0, 8192), SPINOR_RANGE);
    spi_board_close(&board);
}

TEST(what_the_chip_refuses)
{
    uint8_t byte = 0;
    open_board(&spi_chip_w25q128, 1);
    spi_chip_protect(board.chip, true);
    /* the latch is set, the array protected */
    CHECK_EQ(spinor_program(&chip, 0, &byte, 1), 0);
    CHECK_EQ(spi_chip_memory(board.chip)[0], 0xFF);
    spi_chip_protect(board.chip, false);
    board.deaf = true;
    CHECK(spinor_program(&chip, 0, &byte, 1) < 0 && spinor_erase(&chip, 0, 4096) < 0);
    board.deaf = false;
    CHECK_EQ(spinor_program(&chip, 0, &byte, 1), 0);
    spi_board_close(&board);

    struct spi_chip_kind kind = spi_chip_w25q128;
    kind.flag_status = true;
    open_board(&kind, 1);
    spi_chip_fail_next(board.chip);
    CHECK_EQ(spinor_erase(&chip, 0, 4096), NF2_FLASH_BAD);
    CHECK_EQ(spinor_erase(&chip, 0, 4096), 0);
    spi_chip_fail_next(board.chip);
    CHECK_EQ(spinor_program(&chip, 0, &byte, 1), NF2_FLASH_BAD);
    CHECK_EQ(spinor_program(&chip, 0, &byte, 1), 0);
    spi_board_close(&board);
}

/*
 * An erase that takes longer than the chip's own maximum ends in
 * an error, with a clock and without one.
 */
TEST(time_outs)
{
    struct spi_chip_kind kind = spi_chip_w25q128;
    for (int clock = 0; clock < 2; clock++) {
        open_board(&kind, 1);
        board.bus.now_us = clock == 1 ? board.bus.now_us : NULL;
        chip.part.erase[0].max_us = 10000;
        uint64_t before = spi_chip_now_ns(board.chip);
        CHECK_EQ(spinor_erase(&chip, 0, 4096), SPINOR_TIMEOUT);
        CHECK(spi_chip_now_ns(board.chip) - before < 40000000u);
        spi_board_close(&board);
    }
}

TEST(deep_power_down)
{
    uint8_t byte = 0x5A;
    open_board(&spi_chip_w25q256, 4);
    CHECK_EQ(spinor_sleep(&chip), 0);
    CHECK_EQ(spinor_sleep(&chip), 0);
    CHECK_EQ(spinor_program(&chip, 3, &byte, 1), 0);
    CHECK_EQ(spi_chip_memory(board.chip)[3], 0x5A);
    CHECK_EQ(spinor_sleep(&chip), 0);
    byte = 0;
    CHECK_EQ(spinor_read(&chip, 3, &byte, 1), 0);
    CHECK_EQ(byte, 0x5A);
    spi_board_close(&board);
}

/* Pauses end at once; then a delay, or a clock with steps, tells how long the chip needs. */
TEST(minimum_waits)
{
    struct spi_chip_kind kind = spi_chip_w25q128;
    kind.wake_us = 30;
    for (int way = 0; way < 3; way++) {
        spi_board_open(&board, &kind, 1);
        board.early = true;
        board.bus.delay = way == 0 ? board.bus.delay : NULL;
        board.clock_step_us = way == 1 ? 10000 : 0;
        CHECK_EQ(spinor_start(&chip, &board.bus), 0);
        CHECK(chip.part.sfdp);
        spi_chip_memory(board.chip)[7] = 0x5A;
        uint32_t before = spi_chip_counts(board.chip)->ignored;
        for (int i = 0; i < 30; i++) {
            uint8_t byte = 0;
            CHECK_EQ(spinor_sleep(&chip), 0);
            spi_chip_wait(board.chip, 777777u * (unsigned)i);
            CHECK_EQ(spinor_read(&chip, 7, &byte, 1), 0);
            CHECK_EQ(byte, 0x5A);
        }
        CHECK_EQ(spi_chip_counts(board.chip)->ignored, before);
        spi_board_close(&board);
    }
}

static uint32_t stopped_clock(void *unused)
{
    (void)unused;
    return 77;
}

static void no_pause(void *unused, uint32_t us)
{
    (void)unused;
    (void)us;
}

TEST(clock_that_stands_still)
{
    spi_board_open(&board, &spi_chip_w25q128, 1);
    board.bus.pause = no_pause;
    board.bus.delay = NULL;
    board.bus.now_us = stopped_clock;
    CHECK_EQ(spinor_start(&chip, &board.bus), SPINOR_TIMEOUT);
    spi_board_close(&board);
}

/* ---- a read while another task erases -------------------------------------------------------- */

static struct {
    uint32_t address, reads, wrong;
    uint64_t longest_ns;
} reader;

static void read_meanwhile(void *context)
{
    uint8_t data[256];
    (void)context;
    uint64_t before = spi_chip_now_ns(board.chip);
    int result = spinor_read(&chip, reader.address, data, sizeof(data));
    uint64_t took = spi_chip_now_ns(board.chip) - before;
    reader.longest_ns = took > reader.longest_ns ? took : reader.longest_ns;
    reader.reads++;
    reader.wrong += result != 0 || data[0] != 0x33 || data[255] != 0x33;
}

static void erase_with_reader(uint32_t address)
{
    memset(spi_chip_memory(board.chip), 0x33, 1u << 20);
    memset(&reader, 0, sizeof(reader));
    reader.address = address;
    board.while_busy = read_meanwhile;
    CHECK_EQ(spinor_erase(&chip, 0, 65536), 0);
    board.while_busy = NULL;
    CHECK_EQ(spi_chip_memory(board.chip)[0xFFFF], 0xFF);
    CHECK_EQ(spi_chip_memory(board.chip)[0x10000], 0x33);
}

TEST(read_suspends_an_erase)
{
    open_board(&spi_chip_w25q256, 4);
    erase_with_reader(0x10000);
    CHECK(reader.reads > 100);
    CHECK_EQ(reader.wrong, 0);
    CHECK(reader.longest_ns < 1000000u);        /* 1 ms; the erase takes 150 */
    CHECK_EQ(spi_chip_counts(board.chip)->suspends, reader.reads);
    CHECK_EQ(spi_chip_counts(board.chip)->blind_reads, 0);
    spi_board_close(&board);
}

/* The erase gets its time between two reads, though the pauses give it none. */
TEST(reads_that_follow_one_another)
{
    open_board(&spi_chip_w25q256, 4);
    board.early = true;
    erase_with_reader(0x10000);
    CHECK(reader.reads > 100);
    CHECK_EQ(reader.wrong, 0);
    CHECK_EQ(spi_chip_counts(board.chip)->blind_reads, 0);
    spi_board_close(&board);
}

/* Without `claim` a task that waits for another one's operation asks more and more seldom. */
static void end_work(void *context)
{
    static int left = 20;
    (void)context;
    if (--left == 0) {
        chip.work = SPINOR_IDLE;
    }
}

TEST(waits_let_low_tasks_run)
{
    uint8_t byte = 0;
    open_board(&spi_chip_w25q256, 4);
    board.bus.claim = NULL;
    board.bus.release = NULL;
    board.longest_pause_us = 0;
    chip.work = SPINOR_PROGRAMS;                /* another task's */
    board.while_busy = end_work;
    CHECK_EQ(spinor_read(&chip, 0, &byte, 1), 0);
    CHECK(board.longest_pause_us >= 1000u);
    spi_board_close(&board);
}

/* A program that takes longer than programs do: looked at every millisecond. */
TEST(slow_programs_sleep)
{
    uint8_t data[256] = {0};
    struct spi_chip_kind kind = spi_chip_w25q128;
    kind.program_us = 6000;
    open_board(&kind, 1);
    chip.part.program_max_us = 100000;
    board.longest_pause_us = 0;
    CHECK_EQ(spinor_program(&chip, 0, data, sizeof(data)), 0);
    CHECK(board.longest_pause_us >= 1000u);
    spi_board_close(&board);
}

/* ---- suspends that fail ---------------------------------------------------------------------- */

static struct {
    int (*transfer)(void *context, const struct spinor_transfer *transfer);
    uint8_t opcode;
    uint32_t skip, left, failed;
} failing;

/* Fails `left` transfers of the opcode, after the first `skip`. */
static int fail_transfer(void *context, const struct spinor_transfer *transfer)
{
    if (transfer->opcode == failing.opcode && failing.skip > 0) {
        failing.skip--;
    } else if (transfer->opcode == failing.opcode && failing.left > 0) {
        failing.left--;
        failing.failed++;
        return -1;
    }
    return failing.transfer(context, transfer);
}

static int meanwhile_result;
static uint8_t meanwhile_byte;

/* One read, after 20 ms of the erase. */
static void read_once(void *context)
{
    (void)context;
    if (spi_chip_now_ns(board.chip) < reader.longest_ns || reader.reads > 0) {
        return;
    }
    reader.reads++;
    meanwhile_result = spinor_read(&chip, reader.address, &meanwhile_byte, 1);
}

static void erase_with_one_read(void)
{
    memset(spi_chip_memory(board.chip), 0x33, 1u << 20);
    memset(&reader, 0, sizeof(reader));
    reader.address = 0x10000;
    reader.longest_ns = spi_chip_now_ns(board.chip) + 20000000u;
    board.while_busy = read_once;
    CHECK_EQ(spinor_erase(&chip, 0, 65536), 0);
    board.while_busy = NULL;
    CHECK_EQ(reader.reads, 1);
    CHECK(!spi_chip_is_busy(board.chip));
    for (uint32_t i = 0; i < 65536u; i++) {
        CHECK_EQ(spi_chip_memory(board.chip)[i], 0xFF);
    }
}

/* The bus fails at any point of a suspended read: the erase goes on and ends all the same. */
TEST(failures_in_a_suspended_read)
{
    static const struct {
        uint8_t opcode;
        uint32_t skip;
    } places[] = {{0x75, 0}, {0x6C, 0}, {0x7A, 0}};
    for (uint32_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        open_board(&spi_chip_w25q256, 4);
        memset(&failing, 0, sizeof(failing));
        failing.transfer = board.bus.transfer;
        failing.opcode = places[i].opcode;
        failing.skip = places[i].skip;
        failing.left = 1;
        board.bus.transfer = fail_transfer;
        erase_with_one_read();
        CHECK_EQ(failing.failed, 1);
        CHECK_EQ(meanwhile_result, SPINOR_BUS);
        spi_board_close(&board);
    }
}

/* A read inside the block waits: what it held is going. */
TEST(read_of_the_block_waits)
{
    open_board(&spi_chip_w25q256, 4);
    memset(spi_chip_memory(board.chip), 0, 65536);
    chip.work = SPINOR_ERASES_NOW;              /* another task's, in the block */
    chip.work_length = 65536;
    uint8_t byte = 0;
    board.while_busy = NULL;
    struct spinor other = chip;
    other.work = SPINOR_IDLE;
    CHECK_EQ(spinor_erase(&other, 0, 65536), 0);
    chip.work = SPINOR_IDLE;
    CHECK_EQ(spinor_read(&chip, 100, &byte, 1), 0);
    CHECK_EQ(byte, 0xFF);
    CHECK_EQ(spi_chip_counts(board.chip)->suspends, 0);
    spi_board_close(&board);
}

/* ---- an erase in the background -------------------------------------------------------------- */

static void pass_ms(uint32_t ms)
{
    spi_chip_wait(board.chip, 1000000u * (uint64_t)ms);
}

static uint32_t asked_meanwhile, ended_meanwhile;

/* Another task asks whenever the bus is free. */
static void ask_meanwhile(void *context)
{
    (void)context;
    asked_meanwhile++;
    ended_meanwhile += spinor_erase_done(&chip) != 0;
}

/* A program inside a suspended erase: the chip is not busy with the erase, which has not ended. */
TEST(asked_in_a_program)
{
    uint8_t data[256] = {0};
    open_board(&spi_chip_w25q256, 4);
    pass_ms(10);
    CHECK_EQ(spinor_erase_begin(&chip, 0, 65536), 0);
    asked_meanwhile = ended_meanwhile = 0;
    board.while_busy = ask_meanwhile;
    CHECK_EQ(spinor_program(&chip, 65536, data, sizeof(data)), 0);
    board.while_busy = NULL;
    CHECK_EQ(asked_meanwhile, 0);
    CHECK_EQ(ended_meanwhile, 0);
    CHECK_EQ(spinor_erase_done(&chip), 0);
    spi_board_close(&board);
}

TEST(erase_in_the_background)
{
    uint8_t data[300], read[300];
    memset(data, 0x5A, sizeof(data));
    open_board(&spi_chip_w25q256, 4);
    CHECK(chip.driver.erase_begin != NULL && chip.driver.erase_done != NULL);
    CHECK_EQ(spinor_erase_done(&chip), 1);
    memset(spi_chip_memory(board.chip), 0x33, 2u << 20);
    pass_ms(10);
    uint64_t before = spi_chip_now_ns(board.chip);
    CHECK_EQ(chip.driver.erase_begin(&chip, 65536, 65536), 0);
    CHECK(spi_chip_now_ns(board.chip) - before < 100000u);
    CHECK_EQ(chip.driver.erase_begin(&chip, 0, 65536), SPINOR_RANGE);
    CHECK_EQ(board.locks, 0);
    CHECK_EQ(board.claims, 0);
    memset(spi_chip_memory(board.chip) + 0x100000, 0xFF, 1u << 20);
    uint32_t rounds = 0;
    for (; chip.driver.erase_done(&chip) == 0 && rounds < 1000u; rounds++) {
        pass_ms(5);
        before = spi_chip_now_ns(board.chip);
        CHECK_EQ(spinor_program(&chip, 0x100000 + 1000 * rounds, data, sizeof(data)), 0);
        CHECK_EQ(spinor_read(&chip, 0x100000 + 1000 * rounds, read, sizeof(read)), 0);
        CHECK_MEM(read, data, sizeof(data));
        CHECK(spi_chip_now_ns(board.chip) - before < 3000000u);
    }
    CHECK(rounds >= 20u && rounds < 40u);
    CHECK(spi_chip_counts(board.chip)->meanwhile >= 2 * rounds);
    CHECK_EQ(spi_chip_counts(board.chip)->blind_reads, 0);
    for (uint32_t i = 0; i < 65536u; i++) {
        CHECK_EQ(spi_chip_memory(board.chip)[65536 + i], 0xFF);
    }
    CHECK_EQ(spi_chip_memory(board.chip)[65535], 0x33);
    CHECK_EQ(spi_chip_memory(board.chip)[131072], 0x33);
    CHECK_EQ(chip.driver.erase_done(&chip), 1);
    spi_board_close(&board);
}

/* What cannot go on beside it waits for its end; erase_done then says how it ended. */
TEST(background_is_waited_for)
{
    struct spi_chip_kind kind = spi_chip_mt25ql256;
    for (int what = 0; what < 5; what++) {
        kind.programs_meanwhile = what != 0;
        kind.suspend_us = what == 1 ? 0 : spi_chip_mt25ql256.suspend_us;
        open_board(&kind, 1);
        CHECK_EQ(chip.driver.erase_begin != NULL, what > 1);
        memset(spi_chip_memory(board.chip), 0x33, 65536);
        uint8_t byte = 0;
        if (what == 4) {
            spi_chip_fail_next(board.chip);
        }
        CHECK_EQ(spinor_erase_begin(&chip, 0, 4096), 0);
        CHECK_EQ(spinor_erase_done(&chip), 0);
        CHECK_EQ(what == 0   ? spinor_program(&chip, 0x100000, &byte, 1)
                 : what == 1 ? spinor_read(&chip, 0x100000, &byte, 1)
                 : what == 2 ? spinor_sleep(&chip)
                 : what == 3 ? spinor_read(&chip, 10, &byte, 1)
                             : spinor_erase(&chip, 8192, 4096),
                 0);
        CHECK(!spi_chip_is_busy(board.chip));
        CHECK(what != 3 || byte == 0xFF);
        CHECK_EQ(spinor_erase_done(&chip), what == 4 ? NF2_FLASH_BAD : 1);
        CHECK_EQ(spinor_erase_done(&chip), 1);
        CHECK_EQ(spi_chip_memory(board.chip)[0], what == 4 ? 0x33 : 0xFF);
        CHECK_EQ(spi_chip_memory(board.chip)[8192], what == 4 ? 0xFF : 0x33);
        spi_board_close(&board);
    }
}

TEST(background_failures)
{
    uint8_t byte = 0;
    open_board(&spi_chip_mt25ql256, 1);
    spi_chip_fail_next(board.chip);
    CHECK_EQ(spinor_erase_begin(&chip, 0, 4096), 0);
    pass_ms(100);
    CHECK_EQ(spinor_erase_done(&chip), NF2_FLASH_BAD);
    CHECK_EQ(spinor_erase_done(&chip), 1);
    CHECK_EQ(spinor_erase_begin(&chip, 1, 4096), SPINOR_RANGE);
    board.deaf = true;
    CHECK(spinor_erase_begin(&chip, 0, 4096) < 0);
    board.deaf = false;
    CHECK_EQ(spinor_erase_done(&chip), 1);          /* nothing has begun */
    chip.part.erase[0].max_us = 10000;
    CHECK_EQ(spinor_erase_begin(&chip, 0, 4096), 0);
    pass_ms(20);
    CHECK_EQ(spinor_erase_done(&chip), 0);
    pass_ms(20);
    CHECK_EQ(spinor_erase_done(&chip), SPINOR_TIMEOUT);
    spi_board_close(&board);

    /* a program inside the suspended erase fails; the bus fails when the erase is to be resumed */
    open_board(&spi_chip_mt25ql256, 1);
    pass_ms(10);
    memset(spi_chip_memory(board.chip), 0x33, 65536);
    CHECK_EQ(spinor_erase_begin(&chip, 0, 65536), 0);
    pass_ms(10);
    spi_chip_fail_next(board.chip);
    CHECK_EQ(spinor_program(&chip, 0x100000, &byte, 1), NF2_FLASH_BAD);
    memset(&failing, 0, sizeof(failing));
    failing.transfer = board.bus.transfer;
    failing.opcode = 0x7A;
    failing.left = 1;
    board.bus.transfer = fail_transfer;
    CHECK_EQ(spinor_read(&chip, 0x100000, &byte, 1), SPINOR_BUS);
    for (int i = 0; i < 30 && spinor_erase_done(&chip) == 0; i++) {
        pass_ms(10);
    }
    CHECK_EQ(spi_chip_memory(board.chip)[65535], 0xFF);
    CHECK(!spi_chip_is_busy(board.chip));
    spi_board_close(&board);
}

/* The power fails in a program inside a suspended erase: both are torn, nothing else is. */
TEST(background_cut)
{
    uint8_t data[256] = {0};
    open_board(&spi_chip_w25q128, 1);
    pass_ms(10);
    memset(spi_chip_memory(board.chip), 0x33, 3u << 16);
    memset(spi_chip_memory(board.chip) + 0x100000, 0xFF, 4096);
    CHECK_EQ(spinor_erase_begin(&chip, 65536, 65536), 0);
    pass_ms(75);
    spi_chip_cut_at(board.chip, spi_chip_now_ns(board.chip) + 300000u, SPI_CHIP_CUT_POWER, 5);
    CHECK(spinor_program(&chip, 0x100000, data, sizeof(data)) < 0);
    CHECK(spi_chip_is_cut(board.chip));
    uint32_t erased = 0, programmed = 0;
    for (uint32_t i = 0; i < 65536u; i++) {
        erased += spi_chip_memory(board.chip)[65536 + i] == 0xFF;
    }
    for (uint32_t i = 0; i < 256u; i++) {
        programmed += spi_chip_memory(board.chip)[0x100000 + i] != 0xFF;
    }
    CHECK(erased > 0 && erased < 65536u);
    CHECK(programmed > 0);
    CHECK_EQ(spi_chip_memory(board.chip)[65535], 0x33);
    CHECK_EQ(spi_chip_memory(board.chip)[131072], 0x33);
    spi_chip_start(board.chip);
    CHECK_EQ(spinor_start(&chip, &board.bus), 0);
    CHECK_EQ(spinor_erase(&chip, 65536, 65536), 0);
    spi_board_close(&board);
}

/* While it runs the window is off, and a read that waits for its end finds it on again. */
TEST(background_and_window)
{
    uint8_t read[4] = {0};
    struct spi_chip_kind kind = spi_chip_w25q128;
    for (int suspends = 0; suspends < 2; suspends++) {
        kind.suspend_us = suspends == 1 ? spi_chip_w25q128.suspend_us : 0;
        spi_board_open(&board, &kind, 4);
        spi_board_map(&board);
        CHECK_EQ(spinor_start(&chip, &board.bus), 0);
        CHECK_EQ(spinor_program(&chip, 5, "text", 4), 0);
        CHECK_EQ(spinor_program(&chip, 4096, "text", 4), 0);
        CHECK_EQ(spinor_erase_begin(&chip, 4096, 4096), 0);
        CHECK(!board.mapped);
        CHECK_EQ(spinor_read(&chip, 5, read, 4), 0);
        CHECK_MEM(read, "text", 4);
        CHECK_EQ(board.mapped, suspends == 0);
        pass_ms(100);
        CHECK_EQ(spinor_erase_done(&chip), 1);
        CHECK(board.mapped);
        CHECK_EQ(spinor_read(&chip, 4096, read, 4), 0);
        CHECK_EQ(read[0], 0xFF);
        CHECK(!board.window_misused);
        spi_board_close(&board);
    }
}

/* ---- the memory window ----------------------------------------------------------------------- */

TEST(memory_window)
{
    uint8_t data[300], found[300];
    spi_board_open(&board, &spi_chip_w25q128, 4);
    spi_board_map(&board);
    CHECK_EQ(spinor_start(&chip, &board.bus), 0);
    memset(data, 0xA5, sizeof(data));
    CHECK_EQ(spinor_read(&chip, 1000, found, sizeof(found)), 0);
    CHECK_EQ(found[0], 0xFF);
    CHECK_EQ(spinor_program(&chip, 1000, data, sizeof(data)), 0);
    CHECK_EQ(spinor_read(&chip, 1000, found, sizeof(found)), 0);
    CHECK_MEM(found, data, sizeof(data));
    CHECK_EQ(spinor_erase(&chip, 0, 4096), 0);
    CHECK_EQ(spinor_read(&chip, 1000, found, sizeof(found)), 0);
    CHECK_EQ(found[0], 0xFF);
    CHECK_EQ(spinor_read(&chip, 2u << 20, found, sizeof(found)), 0);     /* beyond the window */
    CHECK(!board.window_misused);
    spi_board_close(&board);
}

/* ---- a volume over it ------------------------------------------------------------------------ */

static nf2_t fs;
static nf2_file_t file;
static uint8_t volume_buffer[NF2_BUFFER_SIZE(256u)], file_buffer[256], content[70000],
    found_content[70000];

static void fill_and_compare(const struct nf2_config *config)
{
    for (uint32_t i = 0; i < sizeof(content); i++) {
        content[i] = (uint8_t)(i * 7u + i / 256u);
    }
    CHECK_EQ(nf2_format(&fs, config, NF2_FORMAT_QUICK), NF2_OK);
    CHECK_EQ(nf2_mount(&fs, config, NF2_MOUNT_RDWR), NF2_OK);
    for (int round = 0; round < 3; round++) {
        CHECK_EQ(
            nf2_open(&fs, &file, "/big", NF2_O_WRONLY | NF2_O_CREAT | NF2_O_TRUNC, file_buffer),
            NF2_OK);
        CHECK_EQ(nf2_write(&fs, &file, content, sizeof(content)), (int32_t)sizeof(content));
        CHECK_EQ(nf2_close(&fs, &file), NF2_OK);
    }
    for (int i = 0; i < 200; i++) {
        CHECK_EQ(
            nf2_open(&fs, &file, "/log", NF2_O_WRONLY | NF2_O_CREAT | NF2_O_APPEND, file_buffer),
            NF2_OK);
        CHECK_EQ(nf2_write(&fs, &file, content + i, 33), 33);
        CHECK_EQ(nf2_close(&fs, &file), NF2_OK);
    }
    CHECK_EQ(nf2_unmount(&fs), NF2_OK);
    CHECK_EQ(nf2_mount(&fs, config, NF2_MOUNT_RDWR), NF2_OK);
    CHECK_EQ(nf2_open(&fs, &file, "/big", NF2_O_RDONLY, NULL), NF2_OK);
    CHECK_EQ(nf2_read(&fs, &file, found_content, sizeof(found_content)),
             (int32_t)sizeof(found_content));
    CHECK_MEM(found_content, content, sizeof(content));
    CHECK_EQ(nf2_close(&fs, &file), NF2_OK);
    CHECK_EQ(nf2_check(&fs, NULL, NULL), 0);
    CHECK_EQ(nf2_unmount(&fs), NF2_OK);
}

TEST(volume)
{
    static const struct spi_chip_kind *const kinds[] = {&spi_chip_w25q128, &spi_chip_w25q256,
                                                        &spi_chip_old};
    for (int i = 0; i < 3; i++) {
        open_board(kinds[i], i == 1 ? 4 : 1);
        spi_chip_wait(board.chip, 10000000);        /* it takes programs by now */
        uint32_t before = spi_chip_counts(board.chip)->ignored;
        const struct nf2_config config = {
            .flash = &chip.driver,
            .size = 4u << 20,
            .buffer = volume_buffer,
            .buffer_size = sizeof(volume_buffer),
        };
        struct nf2_selftest_report report;
        CHECK_EQ(nf2_selftest(&config, &report), NF2_SELFTEST_GOOD);
        fill_and_compare(&config);
        CHECK_EQ(spi_chip_counts(board.chip)->ignored, before);
        CHECK_EQ(spi_chip_counts(board.chip)->wrapped, 0);
        CHECK_EQ(spi_chip_counts(board.chip)->rises, 0);
        CHECK(spi_chip_counts(board.chip)->programs > 500);
        spi_board_close(&board);
    }
}

/* ---- the board fails at any instant ---------------------------------------------------------- */

#define RECORD 40u

/* Appends numbered records, each durable. Returns how many were acknowledged. */
static uint32_t append_records(uint32_t limit)
{
    uint32_t done = 0;
    if (nf2_open(&fs, &file, "/records", NF2_O_WRONLY | NF2_O_CREAT | NF2_O_APPEND | NF2_O_SYNC,
                 file_buffer)
        != NF2_OK) {
        return 0;
    }
    uint32_t at = (uint32_t)nf2_size(&fs, &file) / RECORD;
    while (done < limit) {
        uint8_t record[RECORD];
        memset(record, (int)(uint8_t)((at + done) * 7u + 1u), sizeof(record));
        if (nf2_write(&fs, &file, record, RECORD) != (int32_t)RECORD) {
            break;
        }
        done++;
    }
    (void)nf2_close(&fs, &file);
    return done;
}

static uint32_t whole_records(void)
{
    uint8_t record[RECORD];
    uint32_t count = 0;
    if (nf2_open(&fs, &file, "/records", NF2_O_RDONLY, NULL) != NF2_OK) {
        return 0;
    }
    int32_t length;
    while ((length = nf2_read(&fs, &file, record, RECORD)) == (int32_t)RECORD) {
        for (uint32_t i = 0; i < RECORD; i++) {
            CHECK_EQ(record[i], (uint8_t)(count * 7u + 1u));
        }
        count++;
    }
    CHECK_EQ(length, 0);
    CHECK_EQ(nf2_close(&fs, &file), NF2_OK);
    return count;
}

/* Power cuts and resets by turns; after each the driver starts on the chip as it was left. */
TEST(cuts_between_any_two_bytes)
{
    struct pcg32 random;
    uint32_t torn = 0;
    pcg32_seed(&random, 21, 1);
    struct spi_chip_kind kind = spi_chip_w25q128;
    kind.size = 1u << 20;
    kind.id[2] = 0x14;
    open_board(&kind, 4);
    const struct nf2_config config = {
        .flash = &chip.driver, .buffer = volume_buffer, .buffer_size = sizeof(volume_buffer)};
    CHECK_EQ(nf2_format(&fs, &config, NF2_FORMAT_QUICK), NF2_OK);
    uint32_t promised = 0;
    for (int round = 0; round < 200; round++) {
        CHECK_EQ(nf2_mount(&fs, &config, NF2_MOUNT_RDWR), NF2_OK);
        uint32_t there = whole_records();
        CHECK(there == promised || there == promised + 1u);
        if (there > 300u) {
            CHECK_EQ(nf2_remove(&fs, "/records"), NF2_OK);
            there = 0;
        }
        uint64_t in_ns = 1000u * (uint64_t)pcg32_below(&random, round % 8 == 0 ? 400000 : 9000);
        enum spi_chip_cut cut = round % 3 == 0 ? SPI_CHIP_CUT_RESET : SPI_CHIP_CUT_POWER;
        spi_chip_cut_at(board.chip, spi_chip_now_ns(board.chip) + in_ns, cut, pcg32_next(&random));
        promised = there + append_records(10000);
        CHECK(spi_chip_is_cut(board.chip));
        torn += spi_chip_counts(board.chip)->programs > 0;
        spi_chip_start(board.chip);
        CHECK_EQ(spinor_start(&chip, &board.bus), 0);
    }
    CHECK(torn > 0 && spi_chip_counts(board.chip)->wrapped == 0);
    CHECK_EQ(nf2_mount(&fs, &config, NF2_MOUNT_RDWR), NF2_OK);
    CHECK_EQ(nf2_check(&fs, NULL, NULL), 0);
    CHECK_EQ(nf2_unmount(&fs), NF2_OK);
    spi_board_close(&board);
}

int main(void)
{
    RUN(what_the_table_says);
    RUN(one_line_and_three_bytes);
    RUN(without_a_table);
    RUN(four_bytes_by_a_mode);
    RUN(no_chip);
    RUN(start_after_a_reset);
    RUN(programs_are_split_at_page_ends);
    RUN(what_the_chip_refuses);
    RUN(time_outs);
    RUN(deep_power_down);
    RUN(minimum_waits);
    RUN(clock_that_stands_still);
    RUN(read_suspends_an_erase);
    RUN(reads_that_follow_one_another);
    RUN(waits_let_low_tasks_run);
    RUN(slow_programs_sleep);
    RUN(failures_in_a_suspended_read);
    RUN(read_of_the_block_waits);
    RUN(asked_in_a_program);
    RUN(erase_in_the_background);
    RUN(background_is_waited_for);
    RUN(background_failures);
    RUN(background_cut);
    RUN(background_and_window);
    RUN(memory_window);
    RUN(volume);
    RUN(cuts_between_any_two_bytes);
    return check_done();
}
