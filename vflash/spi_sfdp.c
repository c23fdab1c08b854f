/* SPDX-License-Identifier: BSD-2-Clause */
/* spi_sfdp.c - the parameter tables (JESD216B) that a chip of a kind would answer 5Ah with. */
#include <string.h>

#include "spi_state.h"

#define BASIC_AT 0x30u
#define BASIC_WORDS 16u
#define FOUR_AT 0x80u
#define FOUR_WORDS 2u
#define MAP_AT 0x90u
#define MAP_WORDS_MAX (4u + 2u * SPI_CHIP_REGIONS)

static void put(uint8_t *table, uint32_t word, uint32_t value)
{
    for (uint32_t i = 0; i < 4; i++) {
        table[4u * (word - 1u) + i] = (uint8_t)(value >> (8u * i));
    }
}

static uint32_t power_of(uint32_t size)
{
    uint32_t power = 0;
    while (((uint32_t)1 << power) < size) {
        power++;
    }
    return power;
}

/* A count below 32 and one of four units, as the tables give times. */
static uint32_t scaled(uint32_t value, const uint32_t units[4])
{
    uint32_t unit = 0;
    while (unit < 3u && (value + units[unit] - 1u) / units[unit] > 32u) {
        unit++;
    }
    uint32_t count = (value + units[unit] - 1u) / units[unit];
    return (count > 0 ? count - 1u : 0) | unit << 5;
}

static void put_erases(const struct spi_chip_kind *kind, uint8_t *basic)
{
    static const uint32_t units[4] = {1000, 16000, 128000, 1000000};
    uint32_t sizes[2] = {0, 0}, times = 3;      /* the maximum is 2 x (3 + 1) times the typical */
    for (uint32_t i = 0; i < SPI_CHIP_ERASES; i++) {
        const struct spi_chip_erase *erase = &kind->erase[i];
        if (erase->size != 0) {
            uint32_t type = power_of(erase->size) | (uint32_t)erase->opcode << 8;
            sizes[i / 2] |= type << (16u * (i % 2u));
            times |= scaled(erase->typical_us, units) << (4u + 7u * i);
        }
    }
    put(basic, 8, sizes[0]);
    put(basic, 9, sizes[1]);
    put(basic, 10, times);
}

static uint32_t addressing(const struct spi_chip_kind *kind)
{
    return kind->size > 1u << 24 || kind->four_mode ? 1u : 0u;
}

static void put_basic(const struct spi_chip_kind *kind, uint8_t *basic)
{
    static const uint32_t waits[4] = {1, 1, 8, 64};
    uint32_t quad = kind->quad ? 1u << 21 | 1u << 22 : 0;
    put(basic, 1, 1u | 0x20u << 8 | addressing(kind) << 17 | quad | 7u << 29);
    put(basic, 2, kind->size * 8u - 1u);
    put(basic, 3, kind->quad ? 4u | 2u << 5 | 0xEBu << 8 | 8u << 16 | 0x6Bu << 24 : 0);
    put_erases(kind, basic);
    uint32_t program = (kind->program_us + 63u) / 64u - 1u;
    put(basic, 11, 3u | power_of(kind->page_size) << 4 | (program & 31u) << 8 | 1u << 13);
    uint32_t gap = (kind->resume_gap_us + 63u) / 64u;
    uint32_t suspend = scaled(kind->suspend_us, waits);
    suspend = (suspend & 31u) | ((suspend >> 5) == 0 ? 1u : suspend >> 5) << 5;
    uint32_t meanwhile = kind->programs_meanwhile ? 1u << 5 : 0;
    uint32_t never = kind->suspend_us != 0 ? 0 : 1u << 31;
    put(basic, 12, meanwhile | (gap > 0 ? gap - 1u : 0) << 20 | suspend << 24 | never);
    uint32_t stop = kind->suspend != 0 ? kind->suspend : 0x75;
    uint32_t go = kind->resume != 0 ? kind->resume : 0x7A;
    put(basic, 13, stop << 24 | go << 16 | stop << 8 | go);
    uint32_t wake = scaled(kind->wake_us, waits);
    wake = (wake & 31u) | ((wake >> 5) == 0 ? 1u : wake >> 5) << 5;
    uint32_t sleep = 0xABu << 15 | 0xB9u << 23 | (kind->wake_us ? 0 : 1u << 31);
    put(basic, 14, 1u << 2 | (kind->flag_status ? 1u << 3 : 0) | wake << 8 | sleep);
    uint32_t method = kind->quad_method == 0                       ? 4u
                      : kind->quad_method == SPI_CHIP_QUAD_ALWAYS ? 0
                                                                  : kind->quad_method;
    put(basic, 15, kind->quad ? method << 20 : 0);
    uint32_t enter = kind->four_mode ? (kind->four_mode_latched ? 2u : 1u) : 0;
    enter |= kind->four_opcodes ? 1u << 5 : 0;
    put(basic, 16, enter << 24 | 1u << 12);
}

static void put_four(const struct spi_chip_kind *kind, uint8_t *four)
{
    uint32_t support = 1u | 2u | 1u << 6 | (kind->quad ? 1u << 4 | 1u << 5 : 0), codes = 0;
    for (uint32_t i = 0; i < SPI_CHIP_ERASES; i++) {
        if (kind->erase[i].size != 0 && kind->erase[i].opcode4 != 0) {
            support |= 1u << (9u + i);
            codes |= (uint32_t)kind->erase[i].opcode4 << (8u * i);
        } else {
            codes |= 0xFFu << (8u * i);
        }
    }
    put(four, 1, support);
    put(four, 2, codes);
}

/* How many there are; each becomes a word with its size and the erases that work in it. */
static uint32_t put_regions(const struct spi_chip_region *regions, uint8_t *map, uint32_t word)
{
    uint32_t count = 0;
    while (count < SPI_CHIP_REGIONS && regions[count].size != 0) {
        put(map, word + count, (regions[count].size / 256u - 1u) << 8 | regions[count].erases);
        count++;
    }
    return count;
}

/* One map, or two and before them the command that tells which of them holds. Returns the words. */
static uint32_t put_map(const struct spi_chip_kind *kind, uint8_t *map)
{
    uint32_t word = 1, choice = kind->map_bit != 0;
    if (choice) {
        put(map, 1, 1u << 0 | (uint32_t)kind->map_opcode << 8 | (uint32_t)kind->map_bit << 24);
        put(map, 2, 0);
        word = 3;
    }
    for (uint32_t id = 0; id <= choice; id++) {
        uint32_t count = put_regions(id == 0 ? kind->regions : kind->other, map, word + 1u);
        put(map, word, (id == choice) | 2u | id << 8 | (count - 1u) << 16);
        word += count + 1u;
    }
    return word - 1u;
}

void spi_sfdp_build(const struct spi_chip_kind *kind, uint8_t out[SPI_SFDP_SIZE])
{
    memset(out, 0xFF, SPI_SFDP_SIZE);
    if (!kind->sfdp) {
        return;
    }
    uint8_t map[4u * MAP_WORDS_MAX];
    bool mapped = kind->regions[0].size != 0;
    uint32_t map_words = mapped ? put_map(kind, map) : 0;
    uint8_t tables = 0;
    const uint8_t basic[8] = {
        0, kind->sfdp_first ? 0 : 6, 1, kind->sfdp_first ? 9 : BASIC_WORDS, BASIC_AT, 0, 0, 0xFF};
    const uint8_t four[8] = {0x84, 0, 1, FOUR_WORDS, FOUR_AT, 0, 0, 0xFF};
    const uint8_t by_place[8] = {0x81, 0, 1, (uint8_t)map_words, MAP_AT, 0, 0, 0xFF};
    memcpy(out + 8, basic, 8);
    if (kind->four_opcodes) {
        memcpy(out + 8u + 8u * ++tables, four, 8);
    }
    if (mapped) {
        memcpy(out + 8u + 8u * ++tables, by_place, 8);
        memcpy(out + MAP_AT, map, 4u * map_words);
        memset(out + MAP_AT, 0xFF, kind->map_garbled ? 4u * map_words : 0);
    }
    const uint8_t header[8] = {'S', 'F', 'D', 'P', 6, 1, tables, 0xFF};
    memcpy(out, header, 8);
    memset(out + BASIC_AT, 0, 4u * BASIC_WORDS);
    put_basic(kind, out + BASIC_AT);
    if (kind->four_opcodes) {
        put_four(kind, out + FOUR_AT);
    }
}
