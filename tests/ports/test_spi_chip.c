/* SPDX-License-Identifier: BSD-2-Clause */
/* test_spi_chip.c - the command-level chip does what data sheets say, mistakes included. */
#include "check.h"
#include "spi_chip.h"

#define POWER_UP_NS 10000000u

static struct spi_chip *chip;

/* One transaction on one line: `length` bytes out, then `count` in. */
static void talk(const uint8_t *out, uint32_t length, uint8_t *in, uint32_t count)
{
    spi_chip_select(chip, true);
    for (uint32_t i = 0; i < length; i++) {
        (void)spi_chip_exchange(chip, out[i], 1);
    }
    for (uint32_t i = 0; i < count; i++) {
        in[i] = spi_chip_exchange(chip, 0, 1);
    }
    spi_chip_select(chip, false);
}

#define TELL(...)                                                                                  \
    talk((const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}), NULL, 0)

static uint8_t status(uint8_t opcode)
{
    uint8_t in;
    talk(&opcode, 1, &in, 1);
    return in;
}

static uint8_t byte_at(uint32_t address)
{
    const uint8_t out[4] = {0x03, (uint8_t)(address >> 16), (uint8_t)(address >> 8),
                            (uint8_t)address};
    uint8_t in;
    talk(out, 4, &in, 1);
    return in;
}

static void open_chip(const struct spi_chip_kind *kind)
{
    chip = spi_chip_new(kind);
    CHECK(chip != NULL);
    spi_chip_wait(chip, POWER_UP_NS);
}

TEST(identification)
{
    open_chip(&spi_chip_w25q256);
    uint8_t id[3], sfdp[4];
    talk((const uint8_t[]){0x9F}, 1, id, 3);
    CHECK_MEM(id, "\xEF\x40\x19", 3);
    talk((const uint8_t[]){0x5A, 0, 0, 0, 0}, 5, sfdp, 4);
    CHECK_MEM(sfdp, "SFDP", 4);
    spi_chip_free(chip);
}

TEST(write_enable_and_busy)
{
    open_chip(&spi_chip_w25q128);
    TELL(0x02, 0, 0, 0, 0x12);
    CHECK_EQ(spi_chip_counts(chip)->ignored, 1);
    TELL(0x06);
    CHECK_EQ(status(0x05), 2);
    TELL(0x02, 0, 0, 0, 0x12);
    CHECK_EQ(status(0x05) & 1, 1);
    CHECK_EQ(byte_at(0), 0xFF);             /* a busy chip does not answer */
    spi_chip_wait(chip, 400000);
    CHECK_EQ(status(0x05), 0);              /* and the latch is off again */
    CHECK_EQ(byte_at(0), 0x12);
    spi_chip_free(chip);
}

TEST(programs_wrap_and_clear_bits)
{
    open_chip(&spi_chip_w25q128);
    TELL(0x06);
    TELL(0x02, 0, 1, 0xFF, 0xF0, 0x0F);
    spi_chip_wait(chip, 400000);
    CHECK_EQ(byte_at(0x1FF), 0xF0);
    CHECK_EQ(byte_at(0x100), 0x0F);
    CHECK_EQ(byte_at(0x200), 0xFF);
    CHECK_EQ(spi_chip_counts(chip)->wrapped, 1);
    TELL(0x06);
    TELL(0x02, 0, 1, 0xFF, 0x3C);
    spi_chip_wait(chip, 400000);
    CHECK_EQ(byte_at(0x1FF), 0x30);
    CHECK_EQ(spi_chip_counts(chip)->rises, 1);
    spi_chip_free(chip);
}

TEST(erase_takes_its_block)
{
    open_chip(&spi_chip_w25q128);
    memset(spi_chip_memory(chip), 0, 0x20000);
    TELL(0x06);
    TELL(0x20, 0, 0x12, 0x34);
    spi_chip_wait(chip, 50000000);
    CHECK_EQ(byte_at(0x0FFF), 0);
    CHECK_EQ(byte_at(0x1000), 0xFF);
    CHECK_EQ(byte_at(0x1FFF), 0xFF);
    CHECK_EQ(byte_at(0x2000), 0);
    TELL(0x06);
    TELL(0xD8, 0, 0x12, 0x34, 0x56);        /* a byte too many */
    CHECK(!spi_chip_is_busy(chip));
    spi_chip_free(chip);
}

/* Three address bytes reach the first 16 MiB only. */
TEST(addressing)
{
    open_chip(&spi_chip_w25q256);
    spi_chip_memory(chip)[0x1000000] = 0x77;
    CHECK_EQ(byte_at(0), 0xFF);
    uint8_t in;
    talk((const uint8_t[]){0x13, 1, 0, 0, 0}, 5, &in, 1);
    CHECK_EQ(in, 0x77);
    TELL(0xB7);
    talk((const uint8_t[]){0x03, 1, 0, 0, 0}, 5, &in, 1);
    CHECK_EQ(in, 0x77);
    TELL(0x66);
    TELL(0x99);
    spi_chip_wait(chip, 30000);
    CHECK_EQ(byte_at(0), 0xFF);
    spi_chip_free(chip);
}

TEST(suspend)
{
    open_chip(&spi_chip_w25q128);
    memset(spi_chip_memory(chip), 0x55, 0x20000);
    TELL(0x06);
    TELL(0xD8, 0, 0, 0);
    spi_chip_wait(chip, 10000000);
    TELL(0x75);
    CHECK_EQ(status(0x05) & 1, 1);
    spi_chip_wait(chip, 20000);
    CHECK_EQ(status(0x05) & 1, 0);
    CHECK_EQ(status(0x35) & 0x80, 0x80);
    CHECK_EQ(byte_at(0x10000), 0x55);
    CHECK(byte_at(0x100) != 0x55 || byte_at(0x101) != 0x55);    /* in the block: nonsense */
    CHECK_EQ(spi_chip_counts(chip)->blind_reads, 2);
    spi_chip_wait(chip, 1000000000);
    CHECK_EQ(status(0x35) & 0x80, 0x80);                        /* it waits as long as need be */
    TELL(0x7A);
    CHECK_EQ(status(0x05) & 1, 1);
    spi_chip_wait(chip, 141000000);
    CHECK_EQ(byte_at(0x100), 0xFF);
    spi_chip_free(chip);
}

/* Suspended again and again without time between: the erase gets nowhere. */
TEST(suspend_too_often)
{
    open_chip(&spi_chip_w25q128);
    TELL(0x06);
    TELL(0x20, 0, 0, 0);
    for (int i = 0; i < 2000; i++) {
        spi_chip_wait(chip, 50000);
        TELL(0x75);
        spi_chip_wait(chip, 20000);
        TELL(0x7A);
    }
    CHECK(spi_chip_is_busy(chip));
    spi_chip_free(chip);
}

TEST(power_down)
{
    open_chip(&spi_chip_w25q128);
    TELL(0xB9);
    CHECK_EQ(status(0x05), 0xFF);
    TELL(0xAB);
    CHECK_EQ(status(0x05), 0xFF);           /* not awake at once */
    spi_chip_wait(chip, 3000);
    CHECK_EQ(status(0x05), 0);
    spi_chip_free(chip);
}

static void program_zeros(uint32_t count)
{
    TELL(0x06);
    spi_chip_select(chip, true);
    for (uint32_t i = 0; i < 4; i++) {
        (void)spi_chip_exchange(chip, i == 0 ? 0x02 : 0, 1);
    }
    for (uint32_t i = 0; i < count; i++) {
        (void)spi_chip_exchange(chip, 0, 1);
    }
    spi_chip_select(chip, false);
}

static uint32_t bits_cleared(uint32_t from, uint32_t to)
{
    uint32_t count = 0;
    for (uint32_t i = from; i < to; i++) {
        for (uint32_t bits = (uint8_t)~spi_chip_memory(chip)[i]; bits != 0; bits &= bits - 1u) {
            count++;
        }
    }
    return count;
}

/* The supply fails half way through a page, then between two bytes of its transfer. */
TEST(torn_by_the_supply)
{
    open_chip(&spi_chip_w25q128);
    spi_chip_cut_at(chip, spi_chip_now_ns(chip) + 300000u, SPI_CHIP_CUT_POWER, 1);
    program_zeros(256);
    spi_chip_wait(chip, 1000000);
    CHECK(spi_chip_is_cut(chip));
    CHECK(bits_cleared(0, 256) > 300 && bits_cleared(0, 256) < 1800);
    CHECK_EQ(bits_cleared(256, 4096), 0);
    spi_chip_start(chip);
    spi_chip_wait(chip, POWER_UP_NS);
    CHECK_EQ(status(0x05), 0);
    spi_chip_free(chip);

    open_chip(&spi_chip_w25q128);
    spi_chip_cut_at(chip, spi_chip_now_ns(chip) + 10000u, SPI_CHIP_CUT_POWER, 1);
    program_zeros(256);
    spi_chip_wait(chip, 1000000);
    CHECK_EQ(bits_cleared(0, 256), 0);      /* the transfer was not complete: nothing began */
    spi_chip_free(chip);
}

/* Only the processor is reset: the bytes that had arrived are programmed. */
TEST(torn_by_a_reset)
{
    open_chip(&spi_chip_w25q128);
    spi_chip_cut_at(chip, spi_chip_now_ns(chip) + 10000u, SPI_CHIP_CUT_RESET, 1);
    program_zeros(256);
    spi_chip_start(chip);
    CHECK_EQ(status(0x05) & 1, 1);
    spi_chip_wait(chip, 1000000);
    uint32_t bits = bits_cleared(0, 256);
    CHECK(bits > 0 && bits < 800 && bits % 8 == 0 && bits_cleared(bits / 8, 256) == 0);
    spi_chip_free(chip);
}

TEST(torn_erase)
{
    open_chip(&spi_chip_w25q128);
    memset(spi_chip_memory(chip), 0, 8192);
    TELL(0x06);
    spi_chip_cut_at(chip, spi_chip_now_ns(chip) + 25000000u, SPI_CHIP_CUT_POWER, 2);
    TELL(0x20, 0, 0, 0);
    spi_chip_wait(chip, 100000000);
    uint32_t bits = bits_cleared(0, 4096);
    CHECK(bits > 8000 && bits < 24000);
    CHECK_EQ(bits_cleared(4096, 8192), 4096 * 8);
    spi_chip_free(chip);
}

static void program_zeros_at(uint8_t block)
{
    TELL(0x06);
    TELL(0x02, block, 0, 0, 0);
}

/* ---- what differs from chip to chip ---------------------------------------------------------- */

TEST(power_up_takes_time)
{
    struct spi_chip_kind kind = spi_chip_w25q128;
    kind.power_up_us = 100;
    chip = spi_chip_new(&kind);
    CHECK(chip != NULL);
    CHECK_EQ(status(0x05), 0xFF);
    spi_chip_wait(chip, 200000);
    CHECK_EQ(status(0x05), 0);
    TELL(0x06);
    CHECK_EQ(status(0x05), 0);
    spi_chip_wait(chip, 5000000);
    TELL(0x06);
    CHECK_EQ(status(0x05), 2);
    spi_chip_free(chip);
}

static void erase_with(uint8_t opcode, uint8_t high, uint8_t middle)
{
    TELL(0x06);
    TELL(opcode, high, middle, 0);
}

/* Small sectors in the lowest 128 KiB alone; elsewhere the chip stays busy until 30h. */
TEST(erases_by_place)
{
    open_chip(&spi_chip_s25fl128s);
    memset(spi_chip_memory(chip), 0, 1u << 20);
    erase_with(0x20, 0x01, 0xF0);
    spi_chip_wait(chip, 200000000);
    CHECK_EQ(byte_at(0x1F000), 0xFF);
    erase_with(0x20, 0x02, 0);
    CHECK_EQ(status(0x05), 0x23);
    spi_chip_wait(chip, 1000000000);
    CHECK_EQ(status(0x05), 0x23);
    TELL(0x30);
    CHECK_EQ(status(0x05), 0);
    CHECK_EQ(byte_at(0x20000), 0);
    erase_with(0xD8, 0x02, 0);
    spi_chip_wait(chip, 200000000);
    CHECK_EQ(byte_at(0x2FFFF), 0xFF);
    spi_chip_free(chip);

    open_chip(&spi_chip_sst26vf032b);           /* one opcode, three sizes */
    memset(spi_chip_memory(chip), 0, 4u << 20);
    erase_with(0xD8, 0, 0);
    CHECK(!spi_chip_is_busy(chip));             /* locked */
    TELL(0x06);
    TELL(0x98);
    static const uint32_t places[3] = {0, 0x8000, 0x10000}, sizes[3] = {0x2000, 0x8000, 0x10000};
    for (uint32_t i = 0; i < 3; i++) {
        erase_with(0xD8, (uint8_t)(places[i] >> 16), (uint8_t)(places[i] >> 8));
        spi_chip_wait(chip, 100000000);
        CHECK_EQ(byte_at(places[i] + sizes[i] - 1u), 0xFF);
        CHECK_EQ(byte_at(places[i] + sizes[i]), 0);
    }
    spi_chip_free(chip);
}

/* Where each of them says that an erase failed, and that the array is protected. */
TEST(failures)
{
    open_chip(&spi_chip_mt25ql256);
    spi_chip_fail_next(chip);
    erase_with(0x20, 0, 0);
    CHECK_EQ(status(0x70), 0);
    spi_chip_wait(chip, 100000000);
    CHECK_EQ(status(0x70), 0xA0);
    TELL(0x50);
    CHECK_EQ(status(0x70), 0x80);
    spi_chip_set_registers(chip, 0x04, 0);
    erase_with(0x20, 0, 0);
    CHECK_EQ(status(0x70), 0xA2);
    spi_chip_free(chip);

    open_chip(&spi_chip_mx25l25645g);
    spi_chip_set_registers(chip, 0x04, 0);
    erase_with(0x20, 0, 0);
    CHECK_EQ(status(0x2B), 0x40);
    spi_chip_set_registers(chip, 0, 0);
    erase_with(0x20, 0, 0);
    spi_chip_wait(chip, 100000000);
    CHECK_EQ(status(0x2B), 0);
    spi_chip_free(chip);
}

/* Each die must be asked before the next command is taken. */
TEST(stacked_dies)
{
    struct spi_chip_kind kind = spi_chip_n25q00a;
    kind.size = 32u << 20;
    kind.dies = 2;
    open_chip(&kind);
    erase_with(0x20, 0, 0);
    spi_chip_wait(chip, 1000000000);
    (void)status(0x70);
    erase_with(0x20, 0, 0);
    CHECK(!spi_chip_is_busy(chip));
    (void)status(0x70);
    erase_with(0x20, 0, 0);
    CHECK(spi_chip_is_busy(chip));
    spi_chip_free(chip);
}

/* Ones for as many clocks as an address takes end continuous reading; fewer do not. */
TEST(modes)
{
    open_chip(&spi_chip_w25q256);
    spi_chip_set_mode(chip, SPI_CHIP_CONTINUOUS);
    CHECK_EQ(status(0x05), 0xFF);
    TELL(0xFF);
    CHECK_EQ(status(0x05), 0);
    TELL(0xB7);                                 /* four address bytes: eight clocks are too few */
    spi_chip_set_mode(chip, SPI_CHIP_CONTINUOUS);
    TELL(0xFF);
    CHECK_EQ(status(0x05), 0xFF);
    TELL(0xFF, 0xFF);
    CHECK_EQ(status(0x05), 0);
    spi_chip_set_mode(chip, SPI_CHIP_CONTINUOUS);
    TELL(0xFF, 0x00);                           /* the mode clocks say: go on */
    CHECK_EQ(status(0x05), 0xFF);
    spi_chip_set_mode(chip, SPI_CHIP_QPI);
    CHECK_EQ(status(0x05), 0xFF);
    TELL(0x66);                                 /* EFh arrives: two bits, and the lines pulled up */
    TELL(0x99);
    CHECK_EQ(status(0x05), 0xFF);
    TELL(0xFF);
    CHECK_EQ(status(0x05), 0);
    spi_chip_set_mode(chip, SPI_CHIP_OCTAL);
    TELL(0xFF);
    CHECK_EQ(status(0x05), 0xFF);
    spi_chip_reset_pin(chip);
    CHECK_EQ(status(0x05), 0);
    spi_chip_free(chip);
}

/* A program while an erase is suspended; the erase goes on afterwards, and not meanwhile. */
TEST(program_in_a_suspended_erase)
{
    open_chip(&spi_chip_w25q128);
    memset(spi_chip_memory(chip), 0x55, 0x10000);
    erase_with(0xD8, 0, 0);
    spi_chip_wait(chip, 50000000);
    TELL(0x75);
    spi_chip_wait(chip, 20000);
    program_zeros_at(0);                        /* in the block: refused */
    CHECK(!spi_chip_is_busy(chip));
    program_zeros_at(1);
    CHECK(spi_chip_is_busy(chip));
    TELL(0x7A);                                 /* too early: ignored */
    spi_chip_wait(chip, 1000000);
    CHECK(!spi_chip_is_busy(chip));
    CHECK_EQ(status(0x35) & 0x80, 0x80);
    CHECK_EQ(byte_at(0x10000), 0);
    spi_chip_wait(chip, 1000000000);
    CHECK_EQ(spi_chip_memory(chip)[0], 0x55);
    TELL(0x7A);
    spi_chip_wait(chip, 90000000);
    CHECK(spi_chip_is_busy(chip));
    spi_chip_wait(chip, 20000000);
    CHECK_EQ(byte_at(0), 0xFF);
    CHECK_EQ(byte_at(0x10000), 0);
    spi_chip_free(chip);
}

int main(void)
{
    RUN(identification);
    RUN(write_enable_and_busy);
    RUN(programs_wrap_and_clear_bits);
    RUN(erase_takes_its_block);
    RUN(addressing);
    RUN(suspend);
    RUN(suspend_too_often);
    RUN(power_down);
    RUN(torn_by_the_supply);
    RUN(torn_by_a_reset);
    RUN(torn_erase);
    RUN(power_up_takes_time);
    RUN(erases_by_place);
    RUN(failures);
    RUN(stacked_dies);
    RUN(modes);
    RUN(program_in_a_suspended_erase);
    return check_done();
}
