/* SPDX-License-Identifier: BSD-2-Clause */
/* test_spi_nor.c - the example's driver, against a chip that takes commands as the real ones do, with NF2FS over it. */
#include <string.h>

#include "check.h"
#include "nf2fs/nf2fs.h"
#include "spi_nor.h"
#include "vflash.h"

/* ---- a chip by its commands, its content on a virtual chip ---------------------------------------- */

struct part {
    struct vflash *flash;
    const struct nf2_flash *cells;
    uint8_t capacity;           /* the third byte of its identification */
    bool enabled, protected, deaf;
    uint32_t busy_us;           /* until the present operation ends */
    uint32_t ignored;           /* commands that a busy chip, or one that is not enabled, takes no notice of */
    uint32_t waited_us;
};

static void part_pause(void *bus, uint32_t us)
{
    struct part *part = bus;
    part->waited_us += us;
    part->busy_us = part->busy_us > us ? part->busy_us - us : 0;
}

static uint32_t address_of(const uint8_t *command, bool four)
{
    uint32_t address = four ? (uint32_t)command[1] << 24 : 0;
    const uint8_t *low = command + (four ? 2 : 1);
    return address | (uint32_t)low[0] << 16 | (uint32_t)low[1] << 8 | low[2];
}

/* Bytes past the page's end come to lie at its beginning. */
static int program_page(struct part *part, uint32_t address, const uint8_t *data, uint32_t length)
{
    uint32_t page = part->cells->page_size, first = page - address % page;
    first = first < length ? first : length;
    int result = part->cells->program(part->cells->context, address, data, first);
    return result != 0 || first == length ? result : part->cells->program(part->cells->context, address / page * page, data + first, length - first);
}

/* What changes cells: only when enabled, and the enable is gone after it. */
static int change(struct part *part, const uint8_t *command, bool four, const void *out, uint32_t length, uint32_t us, uint32_t erase)
{
    if (!part->enabled) {
        part->ignored++;
        return 0;
    }
    part->enabled = false;
    part->busy_us = us;
    uint32_t address = address_of(command, four);
    return erase != 0 ? part->cells->erase(part->cells->context, address / erase * erase, erase) : program_page(part, address, out, length);
}

static int part_transfer(void *bus, const uint8_t *command, uint32_t command_length, const void *out, void *in, uint32_t length)
{
    struct part *part = bus;
    const struct nf2_flash *cells = part->cells;
    bool four = command[0] == 0x0C || command[0] == 0x12 || command[0] == 0x21 || command[0] == 0xDC;
    if (part->deaf) {
        memset(in != NULL ? in : &(uint8_t){0}, 0xFF, in != NULL ? length : 1);
        return 0;
    }
    if (command[0] == 0x05) {
        memset(in, (part->busy_us > 0 ? 1 : 0) | (part->enabled ? 2 : 0), length);
        return 0;
    }
    if (part->busy_us > 0) {
        part->ignored += command[0] != 0xAB;
        return 0;
    }
    if (four && cells->chip_size <= 16u << 20) {
        part->ignored++;
        return 0;
    }
    switch (command[0]) {
    case 0x06:
        part->enabled = !part->protected;
        return 0;
    case 0x9F:
        memcpy(in, (const uint8_t[]){0xEF, 0x40, part->capacity}, length);
        return 0;
    case 0x0B:
    case 0x0C:
        CHECK(command_length == (four ? 6u : 5u));
        return cells->read(cells->context, address_of(command, four), in, length);
    case 0x02:
    case 0x12:
        return change(part, command, four, out, length, cells->program_page_us, 0);
    case 0x20:
    case 0x21:
        return change(part, command, four, NULL, 0, cells->erase_block_us, cells->block_size);
    case 0xD8:
    case 0xDC:
        return change(part, command, four, NULL, 0, cells->large_erase_us, cells->large_erase_size);
    default:
        return 0;
    }
}

static void part_open(struct part *part, struct spi_nor *chip, const char *name, uint8_t capacity)
{
    *part = (struct part){.flash = vflash_new(vflash_chip_find(name)), .capacity = capacity};
    CHECK(part->flash != NULL);
    part->cells = vflash_driver(part->flash);
    *chip = (struct spi_nor){.transfer = part_transfer, .pause = part_pause, .bus = part};
}

/* ---- a volume over it ----------------------------------------------------------------------------- */

static nf2_t fs;
static nf2_file_t file;
static uint8_t volume_buffer[NF2_BUFFER_SIZE(256u)], file_buffer[256], content[70000], found[70000];

static void fill_and_compare(const struct nf2_config *config)
{
    for (uint32_t i = 0; i < sizeof(content); i++) {
        content[i] = (uint8_t)(i * 7u + i / 256u);
    }
    CHECK(nf2_format(&fs, config, NF2_FORMAT_QUICK) == NF2_OK);
    CHECK(nf2_mount(&fs, config, NF2_MOUNT_RDWR) == NF2_OK);
    for (int round = 0; round < 3; round++) {
        CHECK(nf2_open(&fs, &file, "/big", NF2_O_WRONLY | NF2_O_CREAT | NF2_O_TRUNC, file_buffer) == NF2_OK);
        CHECK(nf2_write(&fs, &file, content, sizeof(content)) == (int32_t)sizeof(content));
        CHECK(nf2_close(&fs, &file) == NF2_OK);
    }
    for (int i = 0; i < 200; i++) {
        CHECK(nf2_open(&fs, &file, "/log", NF2_O_WRONLY | NF2_O_CREAT | NF2_O_APPEND, file_buffer) == NF2_OK);
        CHECK(nf2_write(&fs, &file, content + i, 33) == 33);
        CHECK(nf2_close(&fs, &file) == NF2_OK);
    }
    while (nf2_maintain(&fs, 1000000) == 1) {
    }
    CHECK(nf2_unmount(&fs) == NF2_OK);
    CHECK(nf2_mount(&fs, config, NF2_MOUNT_RDWR) == NF2_OK);
    CHECK(nf2_open(&fs, &file, "/big", NF2_O_RDONLY, NULL) == NF2_OK);
    CHECK(nf2_read(&fs, &file, found, sizeof(found)) == (int32_t)sizeof(found) && memcmp(found, content, sizeof(found)) == 0);
    CHECK(nf2_close(&fs, &file) == NF2_OK);
    CHECK(nf2_check(&fs, NULL, NULL) == 0);
    CHECK(nf2_unmount(&fs) == NF2_OK);
}

static void volume_over(const char *name, uint8_t capacity, uint32_t size)
{
    struct part part;
    struct spi_nor chip;
    part_open(&part, &chip, name, capacity);
    CHECK(spi_nor_start(&chip, size) == 0);
    const struct nf2_config config = {.flash = &chip.driver, .buffer = volume_buffer, .buffer_size = sizeof(volume_buffer)};
    fill_and_compare(&config);
    CHECK(part.ignored == 0 && vflash_counts(part.flash)->violations == 0);
    CHECK(vflash_counts(part.flash)->program_pages > 500);
    vflash_free(part.flash);
}

/* The processor was reset while the chip erases: the first command would not be taken. */
TEST(start_of_a_busy_chip)
{
    struct part part;
    struct spi_nor chip;
    part_open(&part, &chip, "w25q128", 24);
    part.busy_us = 1500000;
    CHECK(spi_nor_start(&chip, 16u << 20) == 0);
    CHECK(part.ignored == 0 && part.waited_us >= 1500000);
    CHECK(spi_nor_start(&chip, 8u << 20) < 0);      /* another capacity */
    part.deaf = true;
    CHECK(spi_nor_start(&chip, 16u << 20) < 0);     /* no chip: the bus reads ones, which is busy for ever */
    vflash_free(part.flash);
}

/* What the chip does not do is an error of the driver, and no endless wait. */
TEST(what_the_chip_refuses)
{
    struct part part;
    struct spi_nor chip;
    uint8_t byte = 0;
    part_open(&part, &chip, "w25q128", 24);
    CHECK(spi_nor_start(&chip, 16u << 20) == 0);
    part.protected = true;
    CHECK(chip.driver.program(&chip, 0, &byte, 1) < 0 && chip.driver.erase(&chip, 0, 4096) < 0);
    part.protected = false;
    CHECK(chip.driver.program(&chip, 0, &byte, 1) == 0);
    part.deaf = true;
    CHECK(chip.driver.program(&chip, 1, &byte, 1) < 0 && chip.driver.erase(&chip, 0, 65536) < 0);
    vflash_free(part.flash);
}

TEST(volume)
{
    volume_over("w25q128", 24, 16u << 20);
}

TEST(volume_with_addresses_of_four_bytes)
{
    volume_over("w25q256", 25, 32u << 20);
}

int main(void)
{
    RUN(volume);
    RUN(volume_with_addresses_of_four_bytes);
    RUN(start_of_a_busy_chip);
    RUN(what_the_chip_refuses);
    return check_done();
}
