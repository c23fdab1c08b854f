/* SPDX-License-Identifier: BSD-2-Clause */
/* test_selftest.c - drivers with the mistakes that people make: the selftest names each. */
#include "check.h"
#include "nf2fs/nf2fs.h"
#include "selftest.h"
#include "spi_board.h"

#define CHIP (1u << 20)

enum mistake {
    NO_MISTAKE,
    DOES_NOTHING,               /* every function returns 0 at once */
    NO_BUSY_WAIT,
    NO_BUSY_WAIT_AFTER_ERASE,
    LARGE_OPCODE_FOR_BLOCK,     /* D8h for 4 KiB */
    BLOCK_OPCODE_FOR_LARGE,     /* 20h for 64 KiB */
    LARGE_ONLY_WHERE_IT_BEGINS, /* 64 KiB asked for, the first half erased */
    THREE_BYTES,                /* addresses of three bytes on a chip beyond 16 MiB */
    SMALLER_CHIP,               /* chip_size says more than there is */
    PAGE_OF_512,                /* on a chip with pages of 256 */
    ENABLE_ONCE,                /* write enable before the first of several programs */
    NEVER_ENABLE,
    NO_ERASE,
    STALE_READ,                 /* a cache of the page that was read last */
    STALE_WINDOW,               /* a large cache that nothing drops */
    READ_OVERRUN,               /* whole words are written to memory */
    READ_SHORT,                 /* the bytes behind the last whole word are missing */
    READ_ALIGNED,               /* memory is taken as aligned to words */
    PROGRAM_PADS,               /* programs whole words, with zeros where there is no data */
    WRONG_DUMMIES,              /* data comes a byte early */
    RETURNS_ERROR,
    MISTAKES
};

static const char *const mistake_names[MISTAKES] = {
    "none",
    "does nothing",
    "no busy wait",
    "no busy wait after erase",
    "64 KiB opcode for 4 KiB",
    "4 KiB opcode for 64 KiB",
    "half of 64 KiB",
    "three address bytes",
    "smaller chip",
    "page of 512",
    "write enable once",
    "no write enable",
    "no erase",
    "stale read",
    "stale window",
    "read overrun",
    "read short",
    "read aligned",
    "program pads",
    "wrong dummy clocks",
    "returns an error",
};

static struct {
    struct spi_board board;
    enum mistake mistake;
    bool large_chip, enabled_once;
    uint8_t page[256];          /* the cache of STALE_READ */
    uint32_t cached;
    bool is_cached[512];        /* those of STALE_WINDOW: by page of the chip's first 128 KiB */
    uint8_t window[512 * 256];
} naive;

static void transfer(uint8_t opcode, uint32_t address, bool addressed, const uint8_t *out,
                     uint8_t *in, uint32_t length)
{
    bool read = opcode == 0x0B || opcode == 0x0C;
    const struct spinor_transfer command = {
        .opcode = opcode,
        .address_bytes = !addressed         ? 0
                         : naive.large_chip ? 4
                                            : 3,
        .address_lines = 1,
        .dummy_clocks = !read || naive.mistake == WRONG_DUMMIES ? 0 : 8,
        .data_lines = 1,
        .address = address,
        .out = out,
        .in = in,
        .length = length,
    };
    (void)naive.board.bus.transfer(&naive.board, &command);
}

static void wait_idle(void)
{
    uint8_t status = 1;
    while ((status & 1) != 0) {
        transfer(0x05, 0, false, NULL, &status, 1);
        naive.board.bus.pause(&naive.board, 20);
    }
}

static void enable(bool program)
{
    if (naive.mistake == NEVER_ENABLE
        || (program && naive.mistake == ENABLE_ONCE && naive.enabled_once)) {
        return;
    }
    naive.enabled_once = program;
    transfer(0x06, 0, false, NULL, NULL, 0);
}

static uint8_t opcode(uint8_t three, uint8_t four)
{
    return naive.large_chip ? four : three;
}

static void read_chip(uint32_t address, uint8_t *data, uint32_t length)
{
    transfer(opcode(0x0B, 0x0C), address, true, NULL, data, length);
}

static void read_page_cached(uint32_t address, uint8_t *data, uint32_t length)
{
    for (uint32_t i = 0; i < length; i++) {
        uint32_t page = (address + i) / 256u;
        if (naive.cached != page) {
            naive.cached = page;
            read_chip(page * 256u, naive.page, 256);
        }
        data[i] = naive.page[(address + i) % 256u];
    }
}

/* As large as 128 KiB: what maps to the same line takes its place. */
static void read_window(uint32_t address, uint8_t *data, uint32_t length)
{
    static uint32_t tag[512];
    for (uint32_t i = 0; i < length; i++) {
        uint32_t page = (address + i) / 256u, line = page % 512u;
        if (!naive.is_cached[line] || tag[line] != page) {
            naive.is_cached[line] = true;
            tag[line] = page;
            read_chip(page * 256u, naive.window + line * 256u, 256);
        }
        data[i] = naive.window[line * 256u + (address + i) % 256u];
    }
}

static int naive_read(void *context, uint32_t address, void *data, uint32_t length)
{
    uint8_t *bytes = data;
    (void)context;
    switch (naive.mistake) {
    case DOES_NOTHING:
        return 0;
    case STALE_READ:
        read_page_cached(address, bytes, length);
        return 0;
    case STALE_WINDOW:
        read_window(address, bytes, length);
        return 0;
    case READ_OVERRUN:
        read_chip(address, bytes, (length + 3u) / 4u * 4u);
        return 0;
    case READ_SHORT:
        read_chip(address, bytes, length / 4u * 4u);
        return 0;
    case READ_ALIGNED:
        read_chip(address, bytes - (uintptr_t)bytes % 4u, length);
        return 0;
    default:
        read_chip(address, bytes, length);
        return 0;
    }
}

static int naive_program(void *context, uint32_t address, const void *data, uint32_t length)
{
    uint8_t padded[516] = {0};
    (void)context;
    if (naive.mistake == DOES_NOTHING) {
        return 0;
    }
    if (naive.mistake == RETURNS_ERROR && address > 4096u) {
        return -77;
    }
    memcpy(padded, data, length);
    length = naive.mistake == PROGRAM_PADS ? (length + 3u) / 4u * 4u : length;
    enable(true);
    transfer(opcode(0x02, 0x12), address, true, padded, NULL, length);
    if (naive.mistake != NO_BUSY_WAIT) {
        wait_idle();
    }
    return 0;
}

static int naive_erase(void *context, uint32_t address, uint32_t length)
{
    bool large = length == 65536u;
    uint8_t small = opcode(0x20, 0x21);
    (void)context;
    if (naive.mistake == DOES_NOTHING || naive.mistake == NO_ERASE) {
        return 0;
    }
    bool as_large = naive.mistake == LARGE_OPCODE_FOR_BLOCK
                    || (large && naive.mistake != BLOCK_OPCODE_FOR_LARGE);
    enable(false);
    if (large && naive.mistake == LARGE_ONLY_WHERE_IT_BEGINS) {
        transfer(0x52, address, true, NULL, NULL, 0);
    } else {
        transfer(as_large ? opcode(0xD8, 0xDC) : small, address, true, NULL, NULL, 0);
    }
    if (naive.mistake != NO_BUSY_WAIT && naive.mistake != NO_BUSY_WAIT_AFTER_ERASE) {
        wait_idle();
    }
    return 0;
}

static struct nf2_flash driver_of(enum mistake mistake)
{
    struct nf2_flash flash = {
        .read = naive_read,
        .program = naive_program,
        .erase = naive_erase,
        .chip_size = CHIP,
        .block_size = 4096,
        .large_erase_size = 65536,
        .page_size = 256,
        .program_unit = 1,
        .read_unit = 1,
        .read_page_us = 43,
        .program_page_us = 400,
        .erase_block_us = 50000,
        .large_erase_us = 150000,
    };
    flash.chip_size = mistake == THREE_BYTES    ? 32u << 20
                      : mistake == SMALLER_CHIP ? 2 * CHIP
                                                : CHIP;
    flash.page_size = mistake == PAGE_OF_512 ? 512 : 256;
    return flash;
}

/* This driver does not know that a chip takes no program right after it was powered up. */
#define POWER_UP_NS 10000000u

static uint8_t buffer[NF2_SELFTEST_BUFFER_SIZE(512u)];

/* On a blank chip, and on one that was written before. */
static void judge(enum mistake mistake, bool dirty, enum nf2_selftest_fault expected)
{
    struct spi_chip_kind kind = mistake == THREE_BYTES ? spi_chip_w25q256 : spi_chip_w25q128;
    struct nf2_selftest_report report;
    kind.size = mistake == THREE_BYTES ? kind.size : CHIP;
    memset(&naive, 0, sizeof(naive));
    naive.mistake = mistake;
    naive.cached = UINT32_MAX;
    spi_board_open(&naive.board, &kind, 1);
    spi_chip_wait(naive.board.chip, POWER_UP_NS);
    memset(spi_chip_memory(naive.board.chip), dirty ? 0x5A : 0xFF, kind.size);
    const struct nf2_flash flash = driver_of(mistake);
    const struct nf2_config config = {
        .flash = &flash, .buffer = buffer, .buffer_size = sizeof(buffer)};
    enum nf2_selftest_fault found = nf2_selftest(&config, &report);
    if (!CHECK_EQ(found, expected)) {
        printf("%s on a %s chip: %s at 0x%X\n", mistake_names[mistake], dirty ? "written" : "blank",
               nf2_selftest_text(found), (unsigned)report.address);
    }
    CHECK_EQ(report.fault, found);
    CHECK_EQ(report.value, found == NF2_SELFTEST_DRIVER_ERROR ? -77 : 0);
    spi_board_close(&naive.board);
}

TEST(each_mistake_is_named)
{
    static const enum nf2_selftest_fault named[MISTAKES] = {
        [NO_MISTAKE] = NF2_SELFTEST_GOOD,
        [DOES_NOTHING] = NF2_SELFTEST_NO_READ,
        [NO_BUSY_WAIT] = NF2_SELFTEST_BUSY,
        [NO_BUSY_WAIT_AFTER_ERASE] = NF2_SELFTEST_BUSY,
        [LARGE_OPCODE_FOR_BLOCK] = NF2_SELFTEST_ERASE_LARGE,
        [BLOCK_OPCODE_FOR_LARGE] = NF2_SELFTEST_ERASE_SMALL,
        [LARGE_ONLY_WHERE_IT_BEGINS] = NF2_SELFTEST_ERASE_SMALL,
        [THREE_BYTES] = NF2_SELFTEST_ADDRESS,
        [SMALLER_CHIP] = NF2_SELFTEST_ADDRESS,
        [PAGE_OF_512] = NF2_SELFTEST_PAGE_WRAP,
        [ENABLE_ONCE] = NF2_SELFTEST_SECOND_PROGRAM,
        [NEVER_ENABLE] = NF2_SELFTEST_NO_PROGRAM,
        [NO_ERASE] = NF2_SELFTEST_NO_ERASE,
        [STALE_READ] = NF2_SELFTEST_STALE,
        [STALE_WINDOW] = NF2_SELFTEST_STALE,
        [READ_OVERRUN] = NF2_SELFTEST_OVERRUN,
        [READ_SHORT] = NF2_SELFTEST_ODD_READ,
        [READ_ALIGNED] = NF2_SELFTEST_ODD_READ,
        [PROGRAM_PADS] = NF2_SELFTEST_PROGRAM_UNIT,
        [WRONG_DUMMIES] = NF2_SELFTEST_DATA,
        [RETURNS_ERROR] = NF2_SELFTEST_DRIVER_ERROR,
    };
    for (enum mistake mistake = NO_MISTAKE; mistake < MISTAKES; mistake++) {
        for (int dirty = 0; dirty < 2; dirty++) {
            bool unchanged = dirty == 1 && mistake == NEVER_ENABLE;
            judge(mistake, dirty == 1, unchanged ? NF2_SELFTEST_NO_ERASE : named[mistake]);
        }
    }
}

TEST(sizes)
{
    struct nf2_flash flash = driver_of(NO_MISTAKE);
    struct nf2_config config = {.flash = &flash, .buffer = buffer, .buffer_size = sizeof(buffer)};
    CHECK_EQ(nf2_selftest(NULL, NULL), NF2_SELFTEST_GEOMETRY);
    flash.page_size = 300;
    CHECK_EQ(nf2_selftest(&config, NULL), NF2_SELFTEST_GEOMETRY);
    flash.page_size = 256;
    config.offset = 100;
    CHECK_EQ(nf2_selftest(&config, NULL), NF2_SELFTEST_GEOMETRY);
    config.offset = 0;
    config.size = 16u * 4096u;
    CHECK_EQ(nf2_selftest(&config, NULL), NF2_SELFTEST_GEOMETRY);
    config.size = 0;
    for (flash.page_size = 256; flash.page_size <= 512; flash.page_size *= 2) {
        config.buffer_size = NF2_SELFTEST_BUFFER_SIZE(flash.page_size) - 1u;
        CHECK_EQ(nf2_selftest(&config, NULL), NF2_SELFTEST_GEOMETRY);
    }
}

/*
 * Only the volume's part of the chip is touched; one that is
 * not aligned to large erases works too.
 */
TEST(range)
{
    struct nf2_flash flash = driver_of(NO_MISTAKE);
    const struct nf2_config config = {
        .flash = &flash,
        .buffer = buffer,
        .buffer_size = sizeof(buffer),
        .offset = 5u * 4096u,
        .size = 60u * 4096u,
    };
    struct spi_chip_kind kind = spi_chip_w25q128;
    kind.size = CHIP;
    memset(&naive, 0, sizeof(naive));
    spi_board_open(&naive.board, &kind, 1);
    spi_chip_wait(naive.board.chip, POWER_UP_NS);
    uint8_t *memory = spi_chip_memory(naive.board.chip);
    memset(memory, 0x11, CHIP);
    CHECK_EQ(nf2_selftest(&config, NULL), NF2_SELFTEST_GOOD);
    uint32_t changed = 0;
    for (uint32_t i = 0; i < CHIP; i++) {
        changed += memory[i] != 0x11 && (i < config.offset || i >= config.offset + config.size);
    }
    CHECK_EQ(changed, 0);
    spi_board_close(&naive.board);
}

TEST(texts)
{
    for (int fault = NF2_SELFTEST_GOOD; fault <= NF2_SELFTEST_DATA; fault++) {
        CHECK(strcmp(nf2_selftest_text((enum nf2_selftest_fault)fault), "unknown fault") != 0);
    }
    CHECK_TEXT(nf2_selftest_text((enum nf2_selftest_fault)99), "unknown fault");
    CHECK_TEXT(spinor_error_text(1), "unknown error");
}

int main(void)
{
    RUN(each_mistake_is_named);
    RUN(sizes);
    RUN(range);
    RUN(texts);
    return check_done();
}
