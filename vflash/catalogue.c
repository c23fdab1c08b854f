/* SPDX-License-Identifier: BSD-2-Clause */
/* catalogue.c - the chips that are known by name, and what geometries there may be. */
#include <string.h>

#include "vflash.h"

#define KIB 1024u
#define MIB (1024u * 1024u)
#define NAND_ECC_MAX 32u

/* A block of 4 KiB, and the 32 and 64 KiB erases beside it. */
#define BLOCK_4K .block_size = 4 * KIB, .erase_sizes = {4 * KIB, 32 * KIB, 64 * KIB}
#define ENDURING .first_byte_pct = 20, .endurance = 100000, .read_unit = 1

/* W25Q256JV by its data sheet. */
#define W25Q BLOCK_4K, ENDURING, .erase_us = {50000, 120000, 150000}, .erase_max_us = {400000, 1600000, 2000000}, \
    .read_page_us = 4, .read_page_slow_us = 41, .program_page_us = 400, .program_page_max_us = 3000
#define W25Q_256 .page_size = 256, W25Q

/* IS25LE01G; its 32 and 64 KiB erases are assumed, its maximum times not known. */
#define IS25 BLOCK_4K, ENDURING, .page_size = 256, .program_unit = 1, .erase_us = {100000, 140000, 170000}, \
    .read_page_us = 4, .read_page_slow_us = 41, .program_page_us = 300

/* Parts of which only the geometry is taken from the data sheet; their times are those of w25q256. */
#define ASSUMED "; times of w25q256 assumed"
#define PART(part, title, bytes, text) \
    {.name = part, .description = title ", " text ASSUMED, .size = bytes, .program_unit = 1, W25Q_256}

/* Without an erase of 32 KiB. */
#define PART_4K_64K(part, title, bytes, text) \
    {.name = part, .description = title ", " text ASSUMED, .size = bytes, .program_unit = 1, \
     .page_size = 256, .block_size = 4 * KIB, .erase_sizes = {4 * KIB, 64 * KIB}, \
     .erase_us = {50000, 150000}, .erase_max_us = {400000, 2000000}, .read_page_us = 4, \
     .read_page_slow_us = 41, .program_page_us = 400, ENDURING}

#define MT25Q(part, title, bytes, text) \
    {.name = part, .description = title ", " text "; read times as w25q256", .size = bytes, \
     .page_size = 256, BLOCK_4K, .erase_us = {50000, 100000, 150000}, .program_unit = 1, \
     .read_page_us = 4, .read_page_slow_us = 41, .program_page_us = 120, ENDURING}

static const struct vflash_chip catalogue[] = {
    {.name = "w25q256", .description = "Winbond W25Q256JV, 32 MiB", .size = 32 * MIB, .program_unit = 1, W25Q_256},
    {.name = "w25q128", .description = "Winbond W25Q128JV, 16 MiB", .size = 16 * MIB, .program_unit = 1, W25Q_256},
    {.name = "w25q64", .description = "Winbond W25Q64JV, 8 MiB", .size = 8 * MIB, .program_unit = 1, W25Q_256},
    {.name = "w25q80", .description = "Winbond W25Q80, 1 MiB, with the times of w25q256",
     .size = 1 * MIB, .program_unit = 1, W25Q_256},
    {.name = "is25le01g", .description = "ISSI IS25LE01G, 128 MiB; 32 and 64 KiB erases assumed at 140 and 170 ms",
     .size = 128 * MIB, IS25},
    {.name = "is25-16m", .description = "16 MiB with the times of is25le01g (64 KiB erase assumed at 170 ms)", .size = 16 * MIB, IS25},
    {.name = "3dfs256m04", .description = "3D Plus 3DFS256M04, 32 MiB, pages of 512 B, blocks of 8 KiB",
     .size = 32 * MIB, .page_size = 512, .block_size = 8 * KIB, .erase_sizes = {8 * KIB}, .erase_us = {300000}, .program_unit = 1,
     .read_page_us = 22, .read_page_slow_us = 207, .program_page_us = 800, ENDURING},
    MT25Q("mt25ql01g", "Micron MT25QL01G", 128 * MIB, "128 MiB"),

    PART("w25q40", "Winbond W25Q40CL", 512 * KIB, "512 KiB"),
    PART("w25q16", "Winbond W25Q16JV", 2 * MIB, "2 MiB"),
    PART("w25q32", "Winbond W25Q32JV", 4 * MIB, "4 MiB"),
    PART("w25q512", "Winbond W25Q512JV", 64 * MIB, "64 MiB"),
    PART("w25q01", "Winbond W25Q01JV", 128 * MIB, "128 MiB"),
    PART("is25lp040", "ISSI IS25LP040E", 512 * KIB, "512 KiB"),
    PART("is25lp080", "ISSI IS25LP080D", 1 * MIB, "1 MiB"),
    PART("is25lp016", "ISSI IS25LP016D", 2 * MIB, "2 MiB"),
    PART("is25lp032", "ISSI IS25LP032D", 4 * MIB, "4 MiB"),
    PART("is25lp064", "ISSI IS25LP064D", 8 * MIB, "8 MiB"),
    PART("is25lp128", "ISSI IS25LP128F", 16 * MIB, "16 MiB"),
    PART("is25lp256", "ISSI IS25LP256D", 32 * MIB, "32 MiB"),
    PART("is25lp512", "ISSI IS25LP512M", 64 * MIB, "64 MiB"),
    PART("is25lp01g", "ISSI IS25LP01G", 128 * MIB, "128 MiB"),
    PART_4K_64K("mx25l40", "Macronix MX25L4006E", 512 * KIB, "512 KiB"),
    PART_4K_64K("mx25l80", "Macronix MX25L8006E", 1 * MIB, "1 MiB"),
    PART_4K_64K("mx25l16", "Macronix MX25L1606E", 2 * MIB, "2 MiB"),
    PART("mx25l32", "Macronix MX25L3233F", 4 * MIB, "4 MiB"),
    PART("mx25l64", "Macronix MX25L6433F", 8 * MIB, "8 MiB"),
    PART("mx25l128", "Macronix MX25L12833F", 16 * MIB, "16 MiB"),
    PART("mx25l256", "Macronix MX25L25645G", 32 * MIB, "32 MiB"),
    PART("mx25l512", "Macronix MX25L51245G", 64 * MIB, "64 MiB"),
    PART("mx66l1g", "Macronix MX66L1G45G", 128 * MIB, "128 MiB"),
    PART("gd25q40", "GigaDevice GD25Q40", 512 * KIB, "512 KiB"),
    PART("gd25q80", "GigaDevice GD25Q80", 1 * MIB, "1 MiB"),
    PART("gd25q16", "GigaDevice GD25Q16", 2 * MIB, "2 MiB"),
    PART("gd25q32", "GigaDevice GD25Q32", 4 * MIB, "4 MiB"),
    PART("gd25q64", "GigaDevice GD25Q64", 8 * MIB, "8 MiB"),
    PART("gd25q128", "GigaDevice GD25Q128", 16 * MIB, "16 MiB"),
    PART("gd25q256", "GigaDevice GD25Q256", 32 * MIB, "32 MiB"),
    PART("gd25b512", "GigaDevice GD25B512", 64 * MIB, "64 MiB"),
    PART("gd55b01g", "GigaDevice GD55B01G", 128 * MIB, "128 MiB"),
    MT25Q("mt25ql128", "Micron MT25QL128", 16 * MIB, "16 MiB"),
    MT25Q("mt25ql256", "Micron MT25QL256", 32 * MIB, "32 MiB"),
    MT25Q("mt25ql512", "Micron MT25QL512", 64 * MIB, "64 MiB"),
    PART("s25fl064l", "Infineon S25FL064L", 8 * MIB, "8 MiB"),
    PART("s25fl128l", "Infineon S25FL128L", 16 * MIB, "16 MiB"),
    PART("s25fl256l", "Infineon S25FL256L", 32 * MIB, "32 MiB"),
    PART("at25sf041", "Renesas AT25SF041", 512 * KIB, "512 KiB"),
    PART("at25sf081", "Renesas AT25SF081", 1 * MIB, "1 MiB"),
    PART("at25sf161", "Renesas AT25SF161", 2 * MIB, "2 MiB"),
    PART("at25sf321", "Renesas AT25SF321", 4 * MIB, "4 MiB"),
    PART("at25sf641", "Renesas AT25SF641", 8 * MIB, "8 MiB"),
    PART("at25sf128", "Renesas AT25SF128A", 16 * MIB, "16 MiB"),

    /* These stand for NOR with on-die ECC, as in the IS25LX family: the ECC unit may be programmed once between erases. */
    {.name = "ecc16-256m", .description = "w25q256 with on-die ECC over 16 B units, each written once",
     .size = 32 * MIB, .program_unit = 16, W25Q_256},
    {.name = "ecc32-256m", .description = "w25q256 with on-die ECC over 32 B units, each written once",
     .size = 32 * MIB, .program_unit = 32, W25Q_256},

    /* The two chips that paper "HFFS" (its Table 1) gives times of; its NOR is programmed 2 B at a time. */
    {.name = "hffs-nor", .description = "NOR of HFFS's evaluation, 4 MiB, blocks of 64 KiB; 90 ns and 11.5 us for each 2 B",
     .size = 4 * MIB, .page_size = 256, .block_size = 64 * KIB, .erase_sizes = {64 * KIB}, .erase_us = {700000}, .program_unit = 1,
     .read_page_us = 12, .read_page_slow_us = 13, .program_page_us = 1472, .first_byte_pct = 1, .endurance = 100000, .read_unit = 1},
    {.name = "hffs-nand", .description = "NAND of HFFS's evaluation, 128 MiB, pages of 2 KiB, blocks of 128 KiB; 8 bad ones assumed",
     .size = 128 * MIB, .page_size = 2 * KIB, .block_size = 128 * KIB, .erase_sizes = {128 * KIB}, .erase_us = {2000}, .program_unit = 2 * KIB,
     .read_page_us = 125, .read_page_slow_us = 126, .program_page_us = 400, .first_byte_pct = 100, .endurance = 100000, .read_unit = 1,
     .nand = 1, .spare_size = 64, .factory_bad = 8, .ecc_bits = 1, .ecc_weak = 1, .worn_errors_ppm = 1400, .disturb_reads = 1000000},

    /*
     * Serial NAND of today. Geometry, code and the most bad blocks at delivery: as drivers/mtd/nand/spi of Linux describes the parts.
     * Times of pages and blocks, and those of a bus of four lines at 100 MHz: assumed as is usual for such parts; wrong bits: see
     * vflash_nand_driver.
     */
    {.name = "w25n01gv", .description = "Winbond W25N01GV, serial NAND, 128 MiB, mends 1 bit in 512 B; times assumed",
     .size = 128 * MIB, .page_size = 2 * KIB, .block_size = 128 * KIB, .erase_sizes = {128 * KIB}, .erase_us = {2000}, .erase_max_us = {10000},
     .program_unit = 2 * KIB, .read_page_us = 60, .read_page_slow_us = 60, .program_page_us = 250, .program_page_max_us = 700,
     .first_byte_pct = 100, .endurance = 100000, .read_unit = 1, .nand = 1, .spare_size = 64, .factory_bad = 20, .bus_byte_ns = 20,
     .ecc_bits = 1, .ecc_weak = 1, .worn_errors_ppm = 1400, .disturb_reads = 1000000, .worn_out_pct = 100},
    {.name = "mt29f2g01", .description = "Micron MT29F2G01ABAGD, serial NAND, 256 MiB, mends 8 bits in 512 B; times assumed",
     .size = 256 * MIB, .page_size = 2 * KIB, .block_size = 128 * KIB, .erase_sizes = {128 * KIB}, .erase_us = {2000}, .erase_max_us = {10000},
     .program_unit = 2 * KIB, .read_page_us = 46, .read_page_slow_us = 46, .program_page_us = 220, .program_page_max_us = 600,
     .first_byte_pct = 100, .endurance = 100000, .read_unit = 1, .nand = 1, .spare_size = 128, .factory_bad = 40, .bus_byte_ns = 20,
     .ecc_bits = 8, .ecc_weak = 4, .worn_errors_ppm = 1000000, .disturb_reads = 1000000, .worn_out_pct = 100},

    {.name = "tiny256k", .description = "256 KiB for tests", .size = 256 * KIB, .program_unit = 1, W25Q_256},
    {.name = "tiny128k", .description = "128 KiB for tests", .size = 128 * KIB, .program_unit = 1, W25Q_256},
    {.name = "tinyecc16", .description = "256 KiB for tests, units of 16 B written once", .size = 256 * KIB, .program_unit = 16, W25Q_256},
    {.name = "tinyecc32", .description = "256 KiB for tests, units of 32 B written once", .size = 256 * KIB, .program_unit = 32, W25Q_256},
    {.name = "tiny2m", .description = "2 MiB for tests: four regions", .size = 2 * MIB, .program_unit = 1, W25Q_256},
    {.name = "tinyecc1m", .description = "1 MiB for tests, units of 16 B written once: two regions", .size = 1 * MIB, .program_unit = 16, W25Q_256},
    {.name = "tiny8k", .description = "512 KiB for tests, pages of 512 B, blocks of 8 KiB, no larger erases", .size = 512 * KIB, .page_size = 512,
     .block_size = 8 * KIB, .erase_sizes = {8 * KIB}, .erase_us = {300000}, .program_unit = 1, .read_page_us = 22, .read_page_slow_us = 207,
     .program_page_us = 800, ENDURING},
    {.name = "tiny64k", .description = "4 MiB for tests, blocks of 64 KiB, of which logs use a part", .size = 4 * MIB, .page_size = 256,
     .block_size = 64 * KIB, .erase_sizes = {64 * KIB}, .erase_us = {150000}, .program_unit = 1, .read_page_us = 4, .read_page_slow_us = 41,
     .program_page_us = 400, ENDURING},
    {.name = "tinynand", .description = "4 MiB NAND for tests, pages of 2 KiB, blocks of 64 KiB, that wear out soon", .size = 4 * MIB,
     .page_size = 2 * KIB, .block_size = 64 * KIB, .erase_sizes = {64 * KIB}, .erase_us = {2000}, .program_unit = 2 * KIB, .read_page_us = 60,
     .read_page_slow_us = 60, .program_page_us = 250, .first_byte_pct = 100, .endurance = 50, .read_unit = 1, .nand = 1, .spare_size = 64,
     .factory_bad = 2, .bus_byte_ns = 20, .ecc_bits = 8, .ecc_weak = 5, .worn_errors_ppm = 1000000, .disturb_reads = 1000, .worn_out_pct = 100},
    {.name = "tiny512", .description = "256 KiB for tests, pages of 512 B", .size = 256 * KIB, .program_unit = 1, .page_size = 512, W25Q},
};

#define CATALOGUE_COUNT (sizeof(catalogue) / sizeof(catalogue[0]))

const struct vflash_chip *vflash_chip_at(unsigned index)
{
    return index < CATALOGUE_COUNT ? &catalogue[index] : NULL;
}

const struct vflash_chip *vflash_chip_find(const char *name)
{
    for (unsigned i = 0; i < CATALOGUE_COUNT; i++) {
        if (strcmp(catalogue[i].name, name) == 0) {
            return &catalogue[i];
        }
    }
    return NULL;
}

/* ---- geometry ----------------------------------------------------------------------------------- */

static bool power_of_two(uint32_t value)
{
    return value != 0 && (value & (value - 1)) == 0;
}

/* Powers of two, ascending, the first one the block; those that there are come first. */
static bool erase_sizes_fit(const struct vflash_chip *chip)
{
    uint32_t last = chip->block_size;
    bool ended = false;
    for (unsigned i = 1; i < 3; i++) {
        uint32_t size = chip->erase_sizes[i];
        if (size != 0 && (ended || !power_of_two(size) || size <= last || chip->size % size != 0)) {
            return false;
        }
        ended = size == 0;
        last = ended ? last : size;
    }
    return chip->erase_sizes[0] == chip->block_size;
}

/* What is wrong with the geometry, or NULL. */
static const char *geometry_fault(const struct vflash_chip *chip)
{
    if (!power_of_two(chip->page_size) || chip->page_size > VFLASH_PAGE_MAX) {
        return "page_size must be a power of two up to 4096";
    }
    if (!power_of_two(chip->block_size) || chip->block_size < chip->page_size) {
        return "block_size must be a power of two and at least a page";
    }
    if (chip->size == 0 || chip->size % chip->block_size != 0 || chip->size > 2048u * MIB) {
        return "size must be a multiple of block_size up to 2 GiB";
    }
    if (!erase_sizes_fit(chip)) {
        return "erase_sizes must be ascending powers of two that divide the size, the first one block_size";
    }
    if (!power_of_two(chip->program_unit) || chip->program_unit > chip->page_size || chip->program_unit > chip->block_size / 8) {
        return "program_unit must be a power of two, at most a page and an eighth of a block";
    }
    if (chip->read_unit != 0 && (!power_of_two(chip->read_unit) || chip->read_unit > chip->page_size)) {
        return "read_unit must be a power of two, at most a page";
    }
    if (chip->nand > 1 || (chip->nand == 1 && chip->program_unit != chip->page_size)) {
        return "nand must be 0 or 1, and the program unit of NAND a page";
    }
    if (chip->factory_bad >= chip->size / chip->block_size || (chip->nand == 0 && (chip->spare_size != 0 || chip->factory_bad != 0))) {
        return "factory_bad must be below the number of blocks, and NOR has neither bad blocks nor spare bytes";
    }
    if (chip->nand == 0 && (chip->bus_byte_ns | chip->ecc_bits | chip->ecc_weak | chip->worn_errors_ppm | chip->disturb_reads | chip->worn_out_pct) != 0) {
        return "bus_byte_ns, ecc_bits, ecc_weak, worn_errors_ppm, disturb_reads and worn_out_pct are of NAND alone";
    }
    if (chip->ecc_bits > NAND_ECC_MAX || chip->ecc_weak > chip->ecc_bits || (chip->ecc_bits != 0 && chip->ecc_weak == 0)) {
        return "ecc_bits must be at most 32, and ecc_weak from 1 to ecc_bits where there are any";
    }
    return chip->first_byte_pct > 100 ? "first_byte_pct must be at most 100" : NULL;
}

int vflash_chip_check(const struct vflash_chip *chip, char *message, size_t message_size)
{
    const char *fault = geometry_fault(chip);
    if (fault == NULL) {
        return 0;
    }
    snprintf(message, message_size, "chip %.31s: %s", chip->name, fault);
    return -1;
}
