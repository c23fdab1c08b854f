/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * spinor_sfdp.c - the tables by which a chip describes itself
 * (JESD216). Words count from 1, as there.
 */
#include "spinor_sfdp.h"

#include <string.h>

#define READ_SFDP 0x5Au
#define HEADERS_MAX 16u
#define BASIC_ID 0xFF00u
#define FOUR_ID 0xFF84u
#define MAP_ID 0xFF81u
#define TABLE_WORDS 48u         /* the longest: maps of erases by place */
#define BASIC_WORDS 16u
#define BASIC_WORDS_MIN 9u      /* the first edition has no times */
#define SMALLEST_ERASE 4096u
#define LARGEST_ERASE 65536u    /* that NF2FS takes as a block */

#define TYPICAL_64K_US 500000u  /* where the chip gives no times */
#define TYPICAL_4K_US 50000u

struct table {
    uint32_t word[TABLE_WORDS];
    uint32_t words;             /* that were read */
    bool longer;                /* there are more */
};

static int fetch(const struct spinor_bus *bus, uint32_t address, uint8_t *in, uint32_t length)
{
    const struct spinor_transfer transfer = {
        .opcode = READ_SFDP, .address_bytes = 3, .address_lines = 1, .dummy_clocks = 8,
        .data_lines = 1, .address = address, .in = in, .length = length,
    };
    return bus->transfer(bus->context, &transfer) != 0 ? SPINOR_BUS : SPINOR_OK;
}

static uint32_t field(const struct table *table, uint32_t word, uint32_t low, uint32_t bits)
{
    if (word > table->words) {
        return 0;
    }
    return (table->word[word - 1u] >> low) & (((uint32_t)1 << bits) - 1u);
}

static int fetch_table(const struct spinor_bus *bus, uint32_t address, uint32_t words,
                       struct table *out)
{
    out->words = words < TABLE_WORDS ? words : TABLE_WORDS;
    out->longer = words > TABLE_WORDS;
    for (uint32_t i = 0; i < out->words; i++) {
        uint8_t bytes[4];
        int result = fetch(bus, address + 4u * i, bytes, sizeof(bytes));
        if (result != 0) {
            return result;
        }
        out->word[i] = (uint32_t)bytes[3] << 24 | (uint32_t)bytes[2] << 16
                       | (uint32_t)bytes[1] << 8 | bytes[0];
    }
    return SPINOR_OK;
}

/* The table of that id, or none (`words` is 0). */
static int find_table(const struct spinor_bus *bus, uint32_t id, struct table *out)
{
    uint8_t header[8];
    int result = fetch(bus, 0, header, sizeof(header));
    out->words = 0;
    if (result != 0 || memcmp(header, "SFDP", 4) != 0) {
        return result;
    }
    uint32_t count = header[6] < HEADERS_MAX ? header[6] + 1u : HEADERS_MAX;
    for (uint32_t i = 0; i < count && out->words == 0; i++) {
        result = fetch(bus, 8u + 8u * i, header, sizeof(header));
        if (result != 0) {
            return result;
        }
        if (((uint32_t)header[7] << 8 | header[0]) == id) {
            uint32_t at = (uint32_t)header[6] << 16 | (uint32_t)header[5] << 8 | header[4];
            result = fetch_table(bus, at, header[3], out);
        }
    }
    return result;
}

static void take_size(const struct table *basic, struct spinor_part *part)
{
    uint32_t density = field(basic, 2, 0, 31);
    if (field(basic, 2, 31, 1) == 0) {
        part->size = density / 8u + 1u;         /* the table has bits, less one */
    } else {
        part->size = density >= 3u && density < 35u ? (uint32_t)1 << (density - 3u) : 0;
    }
}

static void take_times(const struct table *basic, struct spinor_part *part)
{
    static const uint32_t erase_unit[4] = {1000, 16000, 128000, 1000000};
    uint32_t longer = 2u * (field(basic, 10, 0, 4) + 1u);
    for (uint32_t i = 0; i < SPINOR_ERASES; i++) {
        struct spinor_erase *erase = &part->erase[i];
        uint32_t units = field(basic, 10, 4u + 7u * i, 5) + 1u;
        erase->typical_us = units * erase_unit[field(basic, 10, 9u + 7u * i, 2)];
        if (basic->words < 10u) {
            erase->typical_us = erase->size <= SMALLEST_ERASE ? TYPICAL_4K_US : TYPICAL_64K_US;
            longer = 16;
        }
        erase->max_us = longer * erase->typical_us;
    }
    if (basic->words >= 11u) {
        part->page_size = (uint32_t)1 << field(basic, 11, 4, 4);
        part->program_us = (field(basic, 11, 8, 5) + 1u) * (field(basic, 11, 13, 1) ? 64u : 8u);
        part->program_max_us = 2u * (field(basic, 11, 0, 4) + 1u) * part->program_us;
    }
}

static void take_erases(const struct table *basic, struct spinor_part *part)
{
    for (uint32_t i = 0; i < SPINOR_ERASES; i++) {
        uint32_t word = 8u + i / 2u, low = 16u * (i % 2u);
        uint32_t power = field(basic, word, low, 8);
        part->erase[i].size = power >= 12u && power < 24u ? (uint32_t)1 << power : 0;
        part->erase[i].opcode = (uint8_t)field(basic, word, low + 8u, 8);
    }
    take_times(basic, part);
}

/* Address on one line before address on four: the first one needs no mode bits. */
static void take_quad(const struct table *basic, struct spinor_part *part)
{
    if (field(basic, 1, 22, 1) != 0) {
        part->quad = (uint8_t)field(basic, 3, 24, 8);
        part->quad_dummies = (uint8_t)(field(basic, 3, 16, 5) + field(basic, 3, 21, 3));
        part->quad_lines = 1;
    } else if (field(basic, 1, 21, 1) != 0) {
        part->quad = (uint8_t)field(basic, 3, 8, 8);
        part->quad_dummies = (uint8_t)(field(basic, 3, 0, 5) + field(basic, 3, 5, 3));
        part->quad_lines = 4;
    }
    part->quad_enable = (uint8_t)field(basic, 15, 20, 3);
    if (basic->words < 15u) {
        part->quad = 0;         /* how to enable it is not said */
    }
}

static uint32_t delay_us(const struct table *basic, uint32_t word, uint32_t low)
{
    static const uint32_t unit_ns[4] = {128, 1000, 8000, 64000};
    uint32_t ns = (field(basic, word, low, 5) + 1u) * unit_ns[field(basic, word, low + 5u, 2)];
    return (ns + 999u) / 1000u;
}

static void take_states(const struct table *basic, struct spinor_part *part)
{
    if (basic->words >= 13u && field(basic, 12, 31, 1) == 0) {
        part->suspend = (uint8_t)field(basic, 13, 24, 8);
        part->resume = (uint8_t)field(basic, 13, 16, 8);
        part->programs_meanwhile = field(basic, 12, 5, 1) != 0;
        part->suspend_us = delay_us(basic, 12, 24);
        part->resume_gap_us = (field(basic, 12, 20, 4) + 1u) * 64u;
    }
    if (basic->words >= 14u) {
        bool sleeps = field(basic, 14, 31, 1) == 0;
        part->sleep = sleeps ? (uint8_t)field(basic, 14, 23, 8) : 0;
        part->wake = sleeps ? (uint8_t)field(basic, 14, 15, 8) : 0;
        part->wake_us = sleeps ? delay_us(basic, 14, 8) : 0;
        part->failures = field(basic, 14, 3, 1) != 0 ? SPINOR_FLAGS : SPINOR_SILENT;
    }
}

/*
 * Opcodes with four address bytes whatever the mode: a reset
 * cannot leave the chip in the wrong one.
 */
static void take_four(const struct table *four, struct spinor_part *part)
{
    bool plain = field(four, 1, 1, 1) != 0 && field(four, 1, 6, 1) != 0;
    uint32_t erases = 0;
    for (uint32_t i = 0; i < SPINOR_ERASES; i++) {
        bool has = part->erase[i].size != 0 && field(four, 1, 9u + i, 1) != 0;
        part->erase[i].size = plain && !has ? 0 : part->erase[i].size;
        part->erase[i].opcode = plain ? (uint8_t)field(four, 2, 8u * i, 8) : part->erase[i].opcode;
        erases += has;
    }
    if (!plain || erases == 0) {
        return;
    }
    part->address_bytes = 4;
    part->read = 0x0C;
    part->program = 0x12;
    bool quad = field(four, 1, part->quad_lines == 1 ? 4 : 5, 1) != 0;
    part->quad = part->quad == 0 || !quad ? 0 : part->quad_lines == 1 ? 0x6C : 0xEC;
}

/* ---- erases by place ------------------------------------------------------------------------- */

#define IS_LAST 1u              /* in the first word of a descriptor */
#define IS_MAP 2u

/*
 * A register that tells which map holds: one bit of the map's number. Its address, if it has one,
 * is in the word behind.
 */
static int detect(const struct spinor_bus *bus, const uint32_t word[2], uint32_t *number)
{
    uint32_t address = word[0] >> 22 & 3u, dummies = word[0] >> 16 & 15u;
    uint8_t value = 0;
    const struct spinor_transfer transfer = {
        .opcode = (uint8_t)(word[0] >> 8),
        .address_bytes = address == 0 ? 0 : address == 2u ? 4 : 3,
        .address_lines = 1, .dummy_clocks = dummies == 15u ? 8 : (uint8_t)dummies, .data_lines = 1,
        .address = word[1], .in = &value, .length = 1,
    };
    int result = bus->transfer(bus->context, &transfer);
    *number = *number << 1 | ((word[0] >> 24 & value) != 0);
    return result != 0 ? SPINOR_BUS : SPINOR_OK;
}

/* The first word of the map that holds, 0: the table makes no sense. Words count from 0 here. */
static int find_map(const struct spinor_bus *bus, const struct table *table, uint32_t *first,
                    uint32_t *count)
{
    uint32_t at = 0, number = 0;
    *count = 0;
    while (at + 1u < table->words && (table->word[at] & IS_MAP) == 0) {
        int result = detect(bus, &table->word[at], &number);
        if (result != 0) {
            return result;
        }
        at += 2u;
    }
    while (at < table->words && (table->word[at] & IS_MAP) != 0) {
        uint32_t regions = (table->word[at] >> 16 & 0xFFu) + 1u;
        bool whole = regions < table->words - at;
        if (whole && (table->word[at] >> 8 & 0xFFu) == number) {
            *first = at + 1u;
            *count = regions;
            return SPINOR_OK;
        }
        if (!whole || (table->word[at] & IS_LAST) != 0) {
            return SPINOR_OK;
        }
        at += regions + 1u;
    }
    return SPINOR_OK;
}

static bool is_useful(const struct spinor_part *part, uint32_t types)
{
    for (uint32_t i = 0; i < SPINOR_ERASES; i++) {
        uint32_t size = part->erase[i].size;
        if ((types & 1u << i) != 0 && size >= SMALLEST_ERASE && size <= LARGEST_ERASE) {
            return true;
        }
    }
    return false;
}

static void keep(struct spinor_part *part, uint32_t types)
{
    for (uint32_t i = 0; i < SPINOR_ERASES; i++) {
        part->erase[i].size = (types & 1u << i) != 0 ? part->erase[i].size : 0;
    }
}

/*
 * What works in all regions is kept. If nothing does, the largest region with a useful erase is the
 * chip. A region's word has its size, in pieces of 256 bytes less one, and a bit for each erase.
 */
static void take_regions(const uint32_t *region, uint32_t count, struct spinor_part *part)
{
    uint32_t common = 15, at = 0, types = 0;
    uint64_t total = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t size = ((region[i] >> 8) + 1u) * 256u;
        common &= region[i];
        if (is_useful(part, region[i]) && size > part->usable) {
            part->base = at;
            part->usable = size;
            types = region[i];
        }
        at += size;
        total += size;
    }
    bool even = is_useful(part, common);
    if (even || total != part->size) {
        part->base = 0;
        part->usable = part->size;
    }
    keep(part, total != part->size ? 0 : even ? common : types);
}

void spinor_drop_uneven(struct spinor_part *part)
{
    bool s25fl = part->id[0] == 0x01u && (part->id[1] == 0x02u || part->id[1] == 0x20u);
    bool sst26 = part->id[0] == 0xBFu && part->id[1] == 0x26u;
    for (uint32_t i = 0; i < SPINOR_ERASES; i++) {
        uint32_t size = part->erase[i].size;
        bool partial = (s25fl && size < 65536u) || (sst26 && size != SMALLEST_ERASE);
        part->erase[i].size = partial ? 0 : size;
    }
}

/* `table` is room for it. */
static int take_map(const struct spinor_bus *bus, struct table *table, struct spinor_part *part)
{
    uint32_t first = 0, count = 0;
    int result = find_table(bus, MAP_ID, table);
    if (result != 0) {
        return result;
    }
    if (table->words == 0) {
        spinor_drop_uneven(part);
        return SPINOR_OK;
    }
    result = table->longer ? SPINOR_OK : find_map(bus, table, &first, &count);
    if (result == 0 && count > 0) {
        take_regions(&table->word[first], count, part);
    } else {
        keep(part, 0);
    }
    return result;
}

int spinor_sfdp(const struct spinor_bus *bus, struct spinor_part *part)
{
    struct table table;
    int result = find_table(bus, BASIC_ID, &table);
    if (result != 0 || table.words < BASIC_WORDS_MIN) {
        return result != 0 ? result : SPINOR_UNKNOWN;
    }
    take_size(&table, part);
    take_erases(&table, part);
    take_quad(&table, part);
    take_states(&table, part);
    if (table.words >= 16u) {
        part->enter_four = (uint8_t)field(&table, 16, 24, 8);
    /* it can, and how is not said: the way that all take */
    } else if (field(&table, 1, 17, 2) == 1u) {
        part->enter_four = 2;
    }
    if (part->size > (uint32_t)1 << 24) {
        result = find_table(bus, FOUR_ID, &table);
        if (result == 0 && table.words >= 2u) {
            take_four(&table, part);
        }
    }
    return result != 0 ? result : take_map(bus, &table, part);
}
