/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * selftest.c - small tests of a driver, and a diagnosis. A test that fails is made again patiently,
 * with time after each operation: if it passes then, the driver does not wait. If not, it is made
 * with reads of other places before each look: if it passes then, reads are answered from a cache.
 */
#include "selftest.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define TAGS_MAX 20u
#define PATIENCE 4u             /* times the typical time */

struct selftest {
    const struct nf2_flash *flash;
    uint32_t begin, end;        /* of the volume on the chip */
    uint32_t base;              /* first large erase block in it */
    uint8_t *data, *found;      /* a page; a page and the guard */
    uint32_t last;              /* page that was looked at last */
    uint8_t salt;               /* of the pattern */
    bool patient, evicting;
    struct nf2_selftest_report report;
};

static bool fail(struct selftest *test, enum nf2_selftest_fault fault, uint32_t address)
{
    test->report.fault = fault;
    test->report.address = address;
    return false;
}

/* Neighbouring bytes, pages and blocks differ. */
static uint8_t pattern(const struct selftest *test, uint32_t address)
{
    uint32_t mixed = (address + test->salt * 0x3D4D51CBu) * 0x9E3779B1u;
    mixed ^= mixed >> 15;
    return (uint8_t)(mixed * 0x85EBCA6Bu >> 24);
}

/* ---- the driver's functions ------------------------------------------------------------------ */

static bool driver(struct selftest *test, int value, uint32_t address)
{
    test->report.value = value;
    return value == 0 || fail(test, NF2_SELFTEST_DRIVER_ERROR, address);
}

static bool read_raw(struct selftest *test, uint32_t address, uint8_t *out, uint32_t length)
{
    const struct nf2_flash *flash = test->flash;
    return driver(test, flash->read(flash->context, address, out, length), address);
}

/*
 * Reads for so long that the chip must have finished: what was read
 * last, so that every cache stays as it is.
 */
static bool wait_long(struct selftest *test, uint32_t typical_us)
{
    uint32_t each = test->flash->read_page_us > 0 ? test->flash->read_page_us : 1u;
    uint32_t reads = test->patient ? PATIENCE * (typical_us / each + 1u) : 0;
    for (uint32_t i = 0; i < reads; i++) {
        if (!read_raw(test, test->last, test->found, test->flash->page_size)) {
            return false;
        }
    }
    return true;
}

/* Reads other places, so that no cache of reasonable size keeps this one. */
static bool evict(struct selftest *test)
{
    uint32_t page = test->flash->page_size, far = test->end - test->begin;
    far = far / 2u < 256u * 1024u ? far / 2u : 256u * 1024u;
    for (uint32_t at = 0; test->evicting && at < far; at += page) {
        if (!read_raw(test, test->end - far + at, test->found, page)) {
            return false;
        }
    }
    return true;
}

static bool program(struct selftest *test, uint32_t address, uint32_t length)
{
    const struct nf2_flash *flash = test->flash;
    for (uint32_t i = 0; i < length; i++) {
        test->data[i] = pattern(test, address + i);
    }
    int value = flash->program(flash->context, address, test->data, length);
    return driver(test, value, address) && wait_long(test, flash->program_page_us);
}

static bool erase(struct selftest *test, uint32_t address, uint32_t length)
{
    const struct nf2_flash *flash = test->flash;
    int value = flash->erase(flash->context, address, length);
    uint32_t us = length == flash->block_size ? flash->erase_block_us : flash->large_erase_us;
    return driver(test, value, address) && wait_long(test, us);
}

/* Fills the memory with what must not come back, so that a driver that does nothing shows. */
static bool look(struct selftest *test, uint32_t address, uint32_t length, bool blank)
{
    uint8_t *found = test->found;
    for (uint32_t i = 0; i < length + NF2_SELFTEST_GUARD; i++) {
        found[i] = (uint8_t)~(blank || i >= length ? 0xFF : pattern(test, address + i));
    }
    uint8_t guard = found[length];
    test->last = address / test->flash->page_size * test->flash->page_size;
    if (!read_raw(test, address, found, length)) {
        return false;
    }
    for (uint32_t i = length; i < length + NF2_SELFTEST_GUARD; i++) {
        if (found[i] != guard) {
            return fail(test, NF2_SELFTEST_OVERRUN, address);
        }
    }
    return true;
}

/* Whether that range reads as the pattern, or blank. If not, `fault` is reported. */
static bool holds(struct selftest *test, uint32_t address, uint32_t length, bool blank,
                  enum nf2_selftest_fault fault)
{
    if (!evict(test) || !look(test, address, length, blank)) {
        return false;
    }
    for (uint32_t i = 0; i < length; i++) {
        uint8_t expected = blank ? 0xFF : pattern(test, address + i);
        if (test->found[i] != expected) {
            test->report.expected = expected;
            test->report.found = test->found[i];
            return fail(test, fault, address + i);
        }
    }
    return true;
}

static bool is_blank(struct selftest *test, uint32_t address, enum nf2_selftest_fault fault)
{
    return holds(test, address, test->flash->page_size, true, fault);
}

static bool is_written(struct selftest *test, uint32_t address, enum nf2_selftest_fault fault)
{
    return holds(test, address, test->flash->page_size, false, fault);
}

/* ---- the tests: each leaves the report as it is, or fails ------------------------------------ */

/* Twice, with other memory contents: what comes back both times is the chip's. */
static bool test_read(struct selftest *test)
{
    uint32_t page = test->flash->page_size, same = 0;
    for (uint32_t i = 0; i < page; i++) {
        test->data[i] = (uint8_t)(i * 7u);
        test->found[i] = (uint8_t)~test->data[i];
    }
    if (!read_raw(test, test->base, test->data, page)
        || !read_raw(test, test->base, test->found, page)) {
        return false;
    }
    for (uint32_t i = 0; i < page; i++) {
        same += test->data[i] == test->found[i];
    }
    return same > 0 || fail(test, NF2_SELFTEST_NO_READ, test->base);
}

/* What a wrapped page looks like: the pattern of a place further on in it. */
static bool is_wrapped(const struct selftest *test, uint32_t address)
{
    uint32_t page = test->flash->page_size, half = page / 2u, same = 0;
    for (uint32_t i = 0; i < half; i++) {
        uint8_t later = pattern(test, address + half + i);
        same += test->found[i] == later || test->found[i] == (later & pattern(test, address + i));
    }
    return same == half;
}

static bool test_program(struct selftest *test)
{
    uint32_t page = test->flash->page_size;
    if (!erase(test, test->base, test->flash->block_size)
        || !is_blank(test, test->base, NF2_SELFTEST_NO_ERASE)
        || !is_blank(test, test->base + page, NF2_SELFTEST_NO_ERASE)
        || !program(test, test->base, page)) {
        return false;
    }
    if (!is_written(test, test->base, NF2_SELFTEST_DATA)) {
        bool wraps = test->report.fault == NF2_SELFTEST_DATA && is_wrapped(test, test->base);
        bool nothing = test->report.fault == NF2_SELFTEST_DATA;
        for (uint32_t i = 0; i < page; i++) {
            nothing = nothing && test->found[i] == 0xFF;
        }
        return fail(test, wraps ? NF2_SELFTEST_PAGE_WRAP : nothing ? NF2_SELFTEST_NO_PROGRAM
                          : test->report.fault, test->report.address);
    }
    return is_blank(test, test->base + page, NF2_SELFTEST_DATA)
           && erase(test, test->base, test->flash->block_size)
           && is_blank(test, test->base, NF2_SELFTEST_NO_ERASE);
}

/* Several programs in a row without anything between them. */
static bool test_row(struct selftest *test)
{
    uint32_t page = test->flash->page_size, block = test->flash->block_size;
    if (!erase(test, test->base, block)) {
        return false;
    }
    for (uint32_t at = 0; at < 4u * page; at += page) {
        if (!program(test, test->base + at, page)) {
            return false;
        }
    }
    for (uint32_t at = 0; at < 4u * page; at += page) {
        bool first = at == 0;
        if (!is_written(test, test->base + at,
                        first ? NF2_SELFTEST_DATA : NF2_SELFTEST_SECOND_PROGRAM)) {
            return false;
        }
    }
    return true;
}

/* A page in pieces: its end first, as long as program_unit allows it. */
static bool test_pieces(struct selftest *test)
{
    uint32_t page = test->flash->page_size, unit = test->flash->program_unit;
    uint32_t at = test->base + page, middle = page / 2u / unit * unit;
    if (!erase(test, test->base, test->flash->block_size) || !program(test, at + page - unit, unit)
        || !program(test, at, unit) || !program(test, at + unit, middle - unit)
        || !program(test, at + middle, page - unit - middle)) {
        return false;
    }
    return is_written(test, at, NF2_SELFTEST_PROGRAM_UNIT)
           && is_blank(test, test->base, NF2_SELFTEST_PROGRAM_UNIT)
           && is_blank(test, at + page, NF2_SELFTEST_PROGRAM_UNIT);
}

/* Odd addresses and lengths, and memory of every alignment. */
static bool test_odd(struct selftest *test)
{
    uint32_t unit = test->flash->read_unit, page = test->flash->page_size;
    uint8_t *aligned = test->found;
    bool good = erase(test, test->base, test->flash->block_size) && program(test, test->base, page)
                && program(test, test->base + page, page);
    for (uint32_t i = 0; i < 24u && good; i++) {
        uint32_t address = test->base + (page - 12u * unit + i * unit) / unit * unit;
        test->found = aligned + i % 5u;
        good = holds(test, address, (1u + i * 5u % 27u) * unit / unit * unit, false,
                     NF2_SELFTEST_ODD_READ);
    }
    test->found = aligned;
    return good;
}

/* Marks the first and the last page of each block of [from, to). */
static bool mark(struct selftest *test, uint32_t from, uint32_t to)
{
    uint32_t block = test->flash->block_size, page = test->flash->page_size;
    for (uint32_t at = from; at < to; at += block) {
        if (!program(test, at, page) || !program(test, at + block - page, page)) {
            return false;
        }
    }
    return true;
}

/* Whether the marks of [from, to) are there, but for those of [gone, gone_end). */
static bool marks_but(struct selftest *test, uint32_t from, uint32_t to, uint32_t gone,
                      uint32_t gone_end)
{
    uint32_t block = test->flash->block_size, page = test->flash->page_size;
    for (uint32_t at = from; at < to; at += block) {
        bool blank = at >= gone && at < gone_end;
        enum nf2_selftest_fault fault = blank ? NF2_SELFTEST_ERASE_SMALL : NF2_SELFTEST_ERASE_LARGE;
        if (!holds(test, at, page, blank, fault)
            || !holds(test, at + block - page, page, blank, fault)) {
            return false;
        }
    }
    return true;
}

/* Erases one piece out of the middle of a marked range. */
static bool erase_one(struct selftest *test, uint32_t from, uint32_t to, uint32_t at,
                      uint32_t length)
{
    for (uint32_t block = from; block < to; block += test->flash->block_size) {
        if (!erase(test, block, test->flash->block_size)) {
            return false;
        }
    }
    return mark(test, from, to) && erase(test, at, length)
           && marks_but(test, from, to, at, at + length);
}

static bool test_erases(struct selftest *test)
{
    uint32_t block = test->flash->block_size, large = test->flash->large_erase_size;
    uint32_t span = large != 0 ? large : 8u * block, last = test->end / block * block;
    uint32_t from = test->base, to = from + span < last ? from + span : last;
    test->salt++;
    if (!erase_one(test, from, to, from + block, block)) {
        return false;
    }
    if (large == 0 || to - from < large) {
        return true;
    }
    uint32_t before = from - test->begin >= block ? from - block : from;
    to = last - to >= block ? to + block : to;
    return erase_one(test, before, to, from, large);
}

/*
 * A tag in each block whose number is a power of two, and in the
 * last one: all are there, or two are one.
 */
static bool test_addresses(struct selftest *test)
{
    uint32_t block = test->flash->block_size, tags[TAGS_MAX], count = 0;
    uint32_t base = (test->begin + block - 1u) / block * block;
    tags[count++] = base;
    for (uint32_t step = block; step < test->end - base && count + 1u < TAGS_MAX; step *= 2u) {
        tags[count++] = base + step;
    }
    tags[count++] = test->end / block * block - block;
    count -= tags[count - 1u] == tags[count - 2u];
    test->salt++;
    for (uint32_t i = 0; i < count; i++) {
        if (!erase(test, tags[i], block)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!program(test, tags[i], test->flash->page_size)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!is_written(test, tags[i], NF2_SELFTEST_ADDRESS)) {
            return false;
        }
    }
    return true;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static bool is_power(uint32_t value)
{
    return value != 0 && (value & (value - 1u)) == 0;
}

static bool sizes_fit(const struct nf2_flash *flash)
{
    uint32_t block = flash->block_size;
    return is_power(block) && block >= 4096u && block <= 65536u && flash->chip_size % block == 0
           && (flash->page_size == 256u || flash->page_size == 512u)
           && is_power(flash->program_unit) && flash->program_unit <= 32u
           && is_power(flash->read_unit) && flash->read_unit <= 32u
           && flash->large_erase_size % block == 0
           && (flash->large_erase_size == 0 || is_power(flash->large_erase_size));
}

static bool begin(struct selftest *test, const struct nf2_config *config)
{
    const struct nf2_flash *flash = config->flash;
    if (flash == NULL || flash->read == NULL || flash->program == NULL || flash->erase == NULL
        || !sizes_fit(flash) || config->buffer == NULL
        || config->buffer_size < NF2_SELFTEST_BUFFER_SIZE(flash->page_size)) {
        return false;
    }
    if (config->offset % flash->block_size != 0 || config->offset >= flash->chip_size
        || config->size > flash->chip_size - config->offset
        || config->size % flash->block_size != 0) {
        return false;
    }
    test->flash = flash;
    test->begin = config->offset;
    test->end = config->size != 0 ? config->offset + config->size : flash->chip_size;
    test->last = test->begin;
    test->data = config->buffer;
    test->found = test->data + flash->page_size;
    uint32_t large = flash->large_erase_size != 0 ? flash->large_erase_size : flash->block_size;
    test->base = (test->begin + large - 1u) / large * large;
    if (test->base + large > test->end) {
        test->base = test->begin;
    }
    return (test->end - test->begin) / flash->block_size >= NF2_BLOCKS_MIN;
}

/* Makes a test that failed again, in other circumstances. */
static void diagnose(struct selftest *test, bool (*run)(struct selftest *test))
{
    struct nf2_selftest_report first = test->report;
    if (first.fault == NF2_SELFTEST_DRIVER_ERROR || first.fault == NF2_SELFTEST_OVERRUN) {
        return;
    }
    test->patient = true;
    bool busy = run(test);
    test->patient = false;
    test->evicting = !busy;
    bool stale = !busy && run(test);
    test->evicting = false;
    test->report = first;
    test->report.fault = busy ? NF2_SELFTEST_BUSY : stale ? NF2_SELFTEST_STALE : first.fault;
}

enum nf2_selftest_fault nf2_selftest(const struct nf2_config *config,
                                     struct nf2_selftest_report *report)
{
    static bool (*const tests[])(struct selftest *test) = {
        test_read, test_program, test_row, test_pieces, test_odd, test_erases, test_addresses,
    };
    struct selftest test = {.report = {.fault = NF2_SELFTEST_GOOD}};
    if (config == NULL || !begin(&test, config)) {
        (void)fail(&test, NF2_SELFTEST_GEOMETRY, 0);
    }
    for (uint32_t i = 0;
         i < sizeof(tests) / sizeof(tests[0]) && test.report.fault == NF2_SELFTEST_GOOD; i++) {
        test.salt++;
        if (!tests[i](&test)) {
            diagnose(&test, tests[i]);
        }
    }
    if (report != NULL) {
        *report = test.report;
    }
    return test.report.fault;
}

const char *nf2_selftest_text(enum nf2_selftest_fault fault)
{
    static const char *const texts[] = {
        [NF2_SELFTEST_GOOD] = "the driver does what it should",
        [NF2_SELFTEST_GEOMETRY] = "the sizes in nf2_flash or nf2_config fit no volume",
        [NF2_SELFTEST_DRIVER_ERROR] = "a driver function returned an error",
        [NF2_SELFTEST_NO_READ] = "read leaves the memory as it was",
        [NF2_SELFTEST_OVERRUN] = "read writes more bytes than it was asked for",
        [NF2_SELFTEST_ODD_READ] =
            "reads of odd lengths, addresses or memory are wrong: look at DMA and FIFO ends",
        [NF2_SELFTEST_NO_PROGRAM] = "program changes nothing: write enable, or write protection",
        [NF2_SELFTEST_NO_ERASE] =
            "erase changes nothing: write enable, its opcode, or write protection",
        [NF2_SELFTEST_BUSY] = "program or erase returns while the chip is still busy",
        [NF2_SELFTEST_STALE] =
            "read answers from a cache: drop the range after each program and erase",
        [NF2_SELFTEST_PAGE_WRAP] =
            "a program wraps in its page: the chip's page is smaller than page_size",
        [NF2_SELFTEST_SECOND_PROGRAM] =
            "only the first of several programs arrives: send write enable before each",
        [NF2_SELFTEST_PROGRAM_UNIT] =
            "a page cannot be programmed in pieces: program_unit must be larger",
        [NF2_SELFTEST_ERASE_LARGE] =
            "an erase takes more than its length: wrong opcode for that size",
        [NF2_SELFTEST_ERASE_SMALL] =
            "an erase takes less than its length: wrong opcode for that size",
        [NF2_SELFTEST_ADDRESS] =
            "two addresses are one place: 3 address bytes beyond 16 MiB, or a smaller chip",
        [NF2_SELFTEST_DATA] = "wrong data: wiring, clock rate, dummy clocks, or supply",
    };
    bool known = (uint32_t)fault < sizeof(texts) / sizeof(texts[0]);
    return known ? texts[fault] : "unknown fault";
}
