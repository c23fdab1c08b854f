/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_spinor_chips.c - the driver over chips that differ from one another: erases by place, fail
 * bits, protection, modes that a boot loader leaves, what a chip does after power-up.
 */
#include <stdlib.h>

#include "check.h"
#include "nf2fs/nf2fs.h"
#include "selftest.h"
#include "spi_board.h"

static struct spi_board board;
static struct spinor chip;
static nf2_t fs;
static nf2_file_t file;
static uint8_t volume_buffer[NF2_SELFTEST_BUFFER_SIZE(512u)], file_buffer[512], content[40000];
static uint8_t found[40000];

static void open_board(const struct spi_chip_kind *kind, uint8_t lines)
{
    spi_board_open(&board, kind, lines);
    CHECK_EQ(spinor_start(&chip, &board.bus), 0);
}

/* The selftest and a volume on it, by the driver's own addresses; nothing was ignored. */
static void use_as_volume(uint32_t blocks)
{
    uint32_t before = spi_chip_counts(board.chip)->ignored;
    const struct nf2_config config = {
        .flash = &chip.driver, .size = blocks * chip.driver.block_size, .buffer = volume_buffer,
        .buffer_size = sizeof(volume_buffer)};
    struct nf2_selftest_report report;
    CHECK_EQ(nf2_selftest(&config, &report), NF2_SELFTEST_GOOD);
    for (uint32_t i = 0; i < sizeof(content); i++) {
        content[i] = (uint8_t)(i * 7u + i / 256u);
    }
    CHECK_EQ(nf2_format(&fs, &config, NF2_FORMAT_QUICK), NF2_OK);
    CHECK_EQ(nf2_mount(&fs, &config, NF2_MOUNT_RDWR), NF2_OK);
    CHECK_EQ(nf2_open(&fs, &file, "/a", NF2_O_RDWR | NF2_O_CREAT, file_buffer), NF2_OK);
    CHECK_EQ(nf2_write(&fs, &file, content, sizeof(content)), (int32_t)sizeof(content));
    CHECK_EQ(nf2_close(&fs, &file), NF2_OK);
    CHECK_EQ(nf2_open(&fs, &file, "/a", NF2_O_RDONLY, NULL), NF2_OK);
    CHECK_EQ(nf2_read(&fs, &file, found, sizeof(found)), (int32_t)sizeof(found));
    CHECK_MEM(found, content, sizeof(content));
    CHECK_EQ(nf2_close(&fs, &file), NF2_OK);
    CHECK_EQ(nf2_check(&fs, NULL, NULL), 0);
    CHECK_EQ(nf2_unmount(&fs), NF2_OK);
    CHECK_EQ(spi_chip_counts(board.chip)->ignored, before);
    CHECK_EQ(spi_chip_counts(board.chip)->wrapped, 0);
}

/* ---- erases by place ------------------------------------------------------------------------- */

/* Small sectors at one end: only what works everywhere is used. */
TEST(s25fl128s_is_used_by_64_kib)
{
    for (int top = 0; top < 2; top++) {
        spi_board_open(&board, &spi_chip_s25fl128s, 4);
        spi_chip_set_registers(board.chip, 0, top == 1 ? 4 : 0);
        CHECK_EQ(spinor_start(&chip, &board.bus), 0);
        CHECK(chip.part.sfdp);
        CHECK_EQ(chip.driver.block_size, 65536);
        CHECK_EQ(chip.driver.large_erase_size, 0);
        CHECK_EQ(chip.driver.chip_size, 16u << 20);
        CHECK_EQ(spinor_erase(&chip, 0x100000, 4096), SPINOR_RANGE);
        CHECK_EQ(spinor_erase(&chip, 0xFF0000, 65536), 0);
        use_as_volume(32);
        spi_board_close(&board);
    }
}

/* Nothing works everywhere: the largest piece in which something does is the driver's chip. */
TEST(uniform_piece)
{
    struct spi_chip_kind kind = spi_chip_s25fl128s;
    kind.regions[0].erases = 1;
    kind.other[1].erases = 1;
    for (int top = 0; top < 2; top++) {
        spi_board_open(&board, &kind, 1);
        spi_chip_set_registers(board.chip, 0, top == 1 ? 4 : 0);
        CHECK_EQ(spinor_start(&chip, &board.bus), 0);
        uint32_t edge = 128u << 10, base = top == 1 ? 0 : edge;
        CHECK_EQ(chip.part.base, base);
        CHECK_EQ(chip.driver.chip_size, (16u << 20) - edge);
        CHECK_EQ(chip.driver.block_size, 65536);
        CHECK_EQ(chip.driver.program(&chip, 65536 + 3, "here", 4), 0);
        CHECK_MEM(spi_chip_memory(board.chip) + base + 65536 + 3, "here", 4);
        CHECK_EQ(chip.driver.read(&chip, 65536 + 3, found, 4), 0);
        CHECK_MEM(found, "here", 4);
        CHECK_EQ(chip.driver.erase(&chip, 65536, 65536), 0);
        CHECK_EQ(spi_chip_memory(board.chip)[base + 65536 + 3], 0xFF);
        CHECK_EQ(spinor_erase(&chip, top == 1 ? (16u << 20) - 65536u : 0, 65536), SPINOR_RANGE);
        use_as_volume(32);
        spi_board_close(&board);
    }
}

/* A map that makes no sense; and a chip that should have one and has none. */
TEST(without_a_map)
{
    struct spi_chip_kind kind = spi_chip_s25fl128s;
    kind.map_garbled = true;
    spi_board_open(&board, &kind, 1);
    CHECK_EQ(spinor_start(&chip, &board.bus), SPINOR_UNEVEN);
    spi_board_close(&board);
    for (int table = 0; table < 2; table++) {
        kind = spi_chip_s25fl128s;
        memset(kind.regions, 0, sizeof(kind.regions));
        kind.sfdp = table == 1;
        spi_board_open(&board, &kind, 1);
        CHECK_EQ(spinor_start(&chip, &board.bus), 0);
        CHECK_EQ(chip.driver.block_size, 65536);
        CHECK_EQ(spinor_erase(&chip, 0x100000, 4096), SPINOR_RANGE);
        spi_board_close(&board);
    }
    kind = spi_chip_sst26vf032b;
    memset(kind.regions, 0, sizeof(kind.regions));
    spi_board_open(&board, &kind, 1);
    CHECK_EQ(spinor_start(&chip, &board.bus), 0);
    CHECK_EQ(chip.driver.block_size, 4096);
    CHECK_EQ(chip.driver.large_erase_size, 0);
    spi_board_close(&board);
}

/* The regions add up to something else than the chip. */
TEST(map_of_another_size)
{
    struct spi_chip_kind kind = spi_chip_sst26vf032b;
    kind.regions[2].size -= 65536u;
    spi_board_open(&board, &kind, 1);
    CHECK_EQ(spinor_start(&chip, &board.bus), SPINOR_UNEVEN);
    spi_board_close(&board);
}

/* One opcode erases more or less, as the place has it: only 4 KiB are the same everywhere. */
TEST(sst26vf032b_is_used_by_4_kib)
{
    open_board(&spi_chip_sst26vf032b, 1);
    CHECK_EQ(chip.driver.block_size, 4096);
    CHECK_EQ(chip.driver.large_erase_size, 0);
    CHECK_EQ(spinor_erase(&chip, 0, 65536), SPINOR_RANGE);
    CHECK_EQ(spinor_unprotect(&chip), 0);
    use_as_volume(1024);
    spi_board_close(&board);
}

TEST(sectors_of_256_kib)
{
    struct spi_chip_kind kind = spi_chip_s25fl512s;
    for (int table = 0; table < 2; table++) {
        kind.sfdp = table == 1;
        spi_board_open(&board, &kind, 1);
        CHECK_EQ(spinor_start(&chip, &board.bus), SPINOR_UNEVEN);
        CHECK_EQ(chip.part.size, 64u << 20);
        spi_board_close(&board);
    }
}

/* ---- failures and protection ----------------------------------------------------------------- */

static const struct spi_chip_kind *const telling[] = {
    &spi_chip_s25fl128s, &spi_chip_mt25ql256, &spi_chip_mx25l25645g};
#define TELLING (sizeof(telling) / sizeof(telling[0]))

TEST(failures_are_told)
{
    for (uint32_t i = 0; i < TELLING; i++) {
        open_board(telling[i], 1);
        uint32_t block = chip.driver.block_size;
        spi_chip_fail_next(board.chip);
        CHECK_EQ(spinor_erase(&chip, block, block), NF2_FLASH_BAD);
        CHECK_EQ(spinor_erase(&chip, block, block), 0);
        spi_chip_fail_next(board.chip);
        CHECK_EQ(spinor_program(&chip, block, "a", 1), NF2_FLASH_BAD);
        CHECK_EQ(spinor_program(&chip, block, "a", 1), 0);
        CHECK_EQ(spi_chip_memory(board.chip)[block], 'a');
        CHECK(!spi_chip_is_busy(board.chip));
        spi_board_close(&board);
    }
}

/* Protection is told from a block that failed, and cleared on request; quad reads stay on. */
TEST(protection_is_told_and_cleared)
{
    for (uint32_t i = 0; i < TELLING; i++) {
        open_board(telling[i], 4);
        uint32_t block = chip.driver.block_size;
        CHECK(!chip.part.is_protected);
        uint8_t quad = telling[i]->quad_method == 2 ? 0x40 : 0;
        spi_chip_set_registers(board.chip, 0x1C | quad, 2);
        CHECK_EQ(spinor_start(&chip, &board.bus), 0);
        CHECK(chip.part.is_protected);
        CHECK_EQ(spinor_program(&chip, 0, "a", 1), SPINOR_PROTECTED);
        CHECK_EQ(spinor_erase(&chip, 0, block), SPINOR_PROTECTED);
        CHECK_EQ(spinor_unprotect(&chip), 0);
        CHECK(!chip.part.is_protected);
        CHECK_EQ(spinor_program(&chip, 0, "a", 1), 0);
        CHECK_EQ(spinor_read(&chip, 0, found, 1), 0);
        CHECK_EQ(found[0], 'a');
        use_as_volume(telling[i] == &spi_chip_s25fl128s ? 32 : 128);
        spi_board_close(&board);
    }
}

/* A chip that says nothing: it is known from the start. Bits that invert the others count, too. */
TEST(protection_of_a_silent_chip)
{
    static const uint8_t registers[][2] = {{0x1C, 2}, {0x04, 2}, {0, 0x42}};
    for (uint32_t i = 0; i < 3; i++) {
        spi_board_open(&board, &spi_chip_w25q128, 4);
        spi_chip_set_registers(board.chip, registers[i][0], registers[i][1]);
        CHECK_EQ(spinor_start(&chip, &board.bus), 0);
        CHECK(chip.part.is_protected);
        CHECK_EQ(spinor_program(&chip, 0, "a", 1), 0);
        CHECK_EQ(spi_chip_memory(board.chip)[0], 0xFF);
        CHECK_EQ(spinor_unprotect(&chip), 0);
        CHECK_EQ(spinor_program(&chip, 0, "a", 1), 0);
        CHECK_EQ(spi_chip_memory(board.chip)[0], 'a');
        CHECK_EQ(spinor_read(&chip, 0, found, 1), 0);
        CHECK_EQ(found[0], 'a');
        spi_board_close(&board);
    }
}

/* All blocks are locked at each power-up: said, not ignored. */
TEST(locked_at_power_up)
{
    open_board(&spi_chip_sst26vf032b, 1);
    for (int round = 0; round < 2; round++) {
        CHECK(chip.part.is_protected);
        CHECK_EQ(spinor_program(&chip, 16u * (unsigned)round, "a", 1), SPINOR_PROTECTED);
        CHECK_EQ(spinor_erase(&chip, 4096, 4096), SPINOR_PROTECTED);
        CHECK_EQ(spinor_unprotect(&chip), 0);
        CHECK_EQ(spinor_program(&chip, 16u * (unsigned)round, "a", 1), 0);
        CHECK_EQ(spi_chip_memory(board.chip)[16 * round], 'a');
        spi_chip_cut_at(board.chip, spi_chip_now_ns(board.chip), SPI_CHIP_CUT_POWER, 1);
        spi_chip_wait(board.chip, 1000);
        spi_chip_start(board.chip);
        CHECK_EQ(spinor_start(&chip, &board.bus), 0);
    }
    spi_board_close(&board);
}

TEST(read_back)
{
    for (int on = 0; on < 2; on++) {
        open_board(&spi_chip_w25q256, 4);
        board.bus.read_back = on == 1;
        CHECK_EQ(spinor_program(&chip, 250, "a line of text", 14), 0);
        spi_chip_protect(board.chip, true);
        CHECK_EQ(spinor_program(&chip, 1000, "a", 1), on == 1 ? SPINOR_DIFFERS : 0);
        spi_board_close(&board);
    }
}

/* Dies that are stacked: each must have said that it is ready. */
TEST(stacked_dies)
{
    struct spi_chip_kind kind = spi_chip_n25q00a;
    kind.size = 64u << 20;
    kind.id[2] = 0x20;
    kind.dies = 2;
    open_board(&kind, 4);
    CHECK_EQ(chip.part.dies, 2);
    use_as_volume(128);
    spi_chip_fail_next(board.chip);
    CHECK_EQ(spinor_erase(&chip, 0, 4096), NF2_FLASH_BAD);
    CHECK_EQ(spinor_erase(&chip, 0, 4096), 0);
    spi_board_close(&board);
}

/* ---- how the chip was left ------------------------------------------------------------------- */

static void send(uint8_t opcode, uint8_t address_bytes, uint32_t address)
{
    const struct spinor_transfer transfer = {
        .opcode = opcode, .address_bytes = address_bytes, .address_lines = 1, .data_lines = 1,
        .address = address};
    CHECK_EQ(board.bus.transfer(&board, &transfer), 0);
}

static void pin(void *context)
{
    struct spi_board *at = context;
    spi_chip_reset_pin(at->chip);
}

static int start_from(const struct spi_chip_kind *kind, enum spi_chip_mode mode, uint8_t lines,
                      bool four, bool reset_pin)
{
    spi_board_open(&board, kind, lines);
    spi_chip_wait(board.chip, 10000000);
    memcpy(spi_chip_memory(board.chip), "content", 7);
    if (four) {
        send(0xB7, 0, 0);
    }
    spi_chip_set_mode(board.chip, mode);
    board.bus.reset = reset_pin ? pin : NULL;
    int result = spinor_start(&chip, &board.bus);
    if (result == 0) {
        CHECK(chip.part.sfdp);
        CHECK_EQ(spinor_read(&chip, 0, found, 7), 0);
        CHECK_MEM(found, "content", 7);
    }
    spi_board_close(&board);
    return result;
}

/* As a boot stage that runs code from the chip leaves it. */
TEST(modes_are_left)
{
    for (uint8_t lines = 1; lines <= 4; lines += 3) {
        CHECK_EQ(start_from(&spi_chip_w25q128, SPI_CHIP_CONTINUOUS, lines, false, false), 0);
        CHECK_EQ(start_from(&spi_chip_w25q256, SPI_CHIP_CONTINUOUS, lines, true, false), 0);
        CHECK_EQ(start_from(&spi_chip_w25q256, SPI_CHIP_QPI, lines, true, false), 0);
        CHECK_EQ(start_from(&spi_chip_mx25l25645g, SPI_CHIP_CONTINUOUS, lines, false, false), 0);
        CHECK_EQ(start_from(&spi_chip_mx25l25645g, SPI_CHIP_OCTAL, lines, false, false),
                 SPINOR_ABSENT);
        CHECK_EQ(start_from(&spi_chip_mx25l25645g, SPI_CHIP_OCTAL, lines, false, true), 0);
    }
    CHECK_EQ(start_from(&spi_chip_mx25l25645g, SPI_CHIP_QPI, 4, false, false), 0);
    /* one line cannot say F5h on four */
    CHECK_EQ(start_from(&spi_chip_mx25l25645g, SPI_CHIP_QPI, 1, false, false), SPINOR_ABSENT);
    CHECK_EQ(start_from(&spi_chip_mx25l25645g, SPI_CHIP_QPI, 1, false, true), 0);
}

/* An erase that was suspended when the processor was reset is whole afterwards. */
TEST(suspended_erase_goes_on)
{
    static const struct spi_chip_kind *const kinds[] = {&spi_chip_w25q128, &spi_chip_mx25l25645g};
    for (int i = 0; i < 2; i++) {
        open_board(kinds[i], 1);
        spi_chip_wait(board.chip, 10000000);
        memset(spi_chip_memory(board.chip), 0, 65536);
        uint8_t bytes = chip.part.address_bytes;
        send(0x06, 0, 0);
        send(chip.part.erase[2].opcode, bytes, 0);
        spi_chip_wait(board.chip, 1000000);
        send(chip.part.suspend, 0, 0);
        spi_chip_wait(board.chip, 100000);
        CHECK_EQ(spinor_start(&chip, &board.bus), 0);
        uint32_t left = 0;
        for (uint32_t k = 0; k < 65536u; k++) {
            left += spi_chip_memory(board.chip)[k] != 0xFF;
        }
        CHECK_EQ(left, 0);
        spi_board_close(&board);
    }
}

/* A failure that nobody cleared before the reset keeps this chip busy for good. */
TEST(failure_that_was_left)
{
    open_board(&spi_chip_s25fl128s, 1);
    spi_chip_wait(board.chip, 10000000);
    send(0x06, 0, 0);
    send(0x21, 4, 0x100000);
    CHECK(spi_chip_is_busy(board.chip));
    CHECK_EQ(spinor_start(&chip, &board.bus), 0);
    CHECK_EQ(spinor_program(&chip, 0, "a", 1), 0);
    spi_board_close(&board);
}

/* Right after power-up a chip does not answer, then takes no write enable for some milliseconds. */
TEST(power_up)
{
    static const struct spi_chip_kind *const kinds[] = {&spi_chip_w25q128, &spi_chip_mx25l25645g};
    for (int i = 0; i < 2; i++) {
        struct spi_chip_kind kind = *kinds[i];
        kind.power_up_us = 3000;
        kind.power_up_write_us = 10000;
        open_board(&kind, 4);
        CHECK(spi_chip_now_ns(board.chip) >= 3000000u);
        CHECK_EQ(spinor_program(&chip, 0, "a", 1), 0);
        CHECK_EQ(spi_chip_memory(board.chip)[0], 'a');
        CHECK_EQ(spinor_erase(&chip, 0, 4096), 0);
        spi_board_close(&board);
    }
}

TEST(errors_have_words)
{
    for (int error = SPINOR_DIFFERS; error < 0; error++) {
        CHECK(strcmp(spinor_error_text(error), spinor_error_text(-99)) != 0);
    }
}

int main(void)
{
    RUN(s25fl128s_is_used_by_64_kib);
    RUN(uniform_piece);
    RUN(without_a_map);
    RUN(map_of_another_size);
    RUN(sst26vf032b_is_used_by_4_kib);
    RUN(sectors_of_256_kib);
    RUN(failures_are_told);
    RUN(protection_is_told_and_cleared);
    RUN(protection_of_a_silent_chip);
    RUN(locked_at_power_up);
    RUN(read_back);
    RUN(stacked_dies);
    RUN(modes_are_left);
    RUN(suspended_erase_goes_on);
    RUN(failure_that_was_left);
    RUN(power_up);
    RUN(errors_have_words);
    return check_done();
}
