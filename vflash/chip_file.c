/* SPDX-License-Identifier: BSD-2-Clause */
/* chip_file.c - custom chips from text files of `key = value` lines. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "vflash.h"

#define LINE_MAX_BYTES 256
#define TEXT 0u                 /* `numbers` of a text field; its size is in `text_size` */

struct key {
    const char *name;
    size_t offset;
    unsigned numbers;           /* how many values the key takes, or TEXT */
    size_t text_size;
    bool needed;
};

#define FIELD(field) .name = #field, .offset = offsetof(struct vflash_chip, field)

static const struct key keys[] = {
    {FIELD(name), .text_size = sizeof(((struct vflash_chip *)0)->name), .needed = true},
    {FIELD(description), .text_size = sizeof(((struct vflash_chip *)0)->description)},
    {FIELD(size), .numbers = 1, .needed = true},
    {FIELD(page_size), .numbers = 1, .needed = true},
    {FIELD(block_size), .numbers = 1},
    {FIELD(erase_sizes), .numbers = 3},
    {FIELD(erase_us), .numbers = 3, .needed = true},
    {FIELD(erase_max_us), .numbers = 3},
    {FIELD(program_unit), .numbers = 1},
    {FIELD(read_unit), .numbers = 1},
    {FIELD(read_page_us), .numbers = 1, .needed = true},
    {FIELD(read_page_slow_us), .numbers = 1},
    {FIELD(program_page_us), .numbers = 1, .needed = true},
    {FIELD(first_byte_pct), .numbers = 1},
    {FIELD(endurance), .numbers = 1},
    {FIELD(program_page_max_us), .numbers = 1},
    {FIELD(nand), .numbers = 1},
    {FIELD(spare_size), .numbers = 1},
    {FIELD(factory_bad), .numbers = 1},
    {FIELD(bus_byte_ns), .numbers = 1},
    {FIELD(ecc_bits), .numbers = 1},
    {FIELD(ecc_weak), .numbers = 1},
    {FIELD(worn_errors_ppm), .numbers = 1},
    {FIELD(disturb_reads), .numbers = 1},
    {FIELD(worn_out_pct), .numbers = 1},
};

#define KEY_COUNT (sizeof(keys) / sizeof(keys[0]))

struct reader {
    struct vflash_chip chip;
    unsigned seen;              /* a bit for each key */
    const char *fault;          /* what is wrong, of the line or key in `about` */
    char about[LINE_MAX_BYTES];
};

static bool fail(struct reader *reader, const char *fault, const char *about)
{
    reader->fault = fault;
    snprintf(reader->about, sizeof(reader->about), "%s", about);
    return false;
}

/* Cuts blanks off both ends. */
static char *trim(char *text)
{
    while (isspace((unsigned char)*text)) {
        text++;
    }
    size_t length = strlen(text);
    while (length > 0 && isspace((unsigned char)text[length - 1])) {
        text[--length] = '\0';
    }
    return text;
}

/* "4096", "64K", "32M". Returns false where it is no number or too large. */
static bool parse_number(const char *text, uint32_t *out)
{
    char *end;
    if (!isdigit((unsigned char)*text)) {
        return false;
    }
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    unsigned shift = *end == 'K' ? 10 : *end == 'M' ? 20 : 0;
    end += shift != 0;
    *out = (uint32_t)(value << shift);
    return errno == 0 && *end == '\0' && value <= UINT32_MAX >> shift;
}

static bool set_numbers(struct reader *reader, const struct key *key, char *value)
{
    uint32_t *field = (uint32_t *)(void *)((char *)&reader->chip + key->offset);
    unsigned count = 0;
    for (char *next = value; next != NULL; count++) {
        char *item = next;
        next = strchr(item, ',');
        if (next != NULL) {
            *next++ = '\0';
        }
        item = trim(item);
        if (count == key->numbers) {
            return fail(reader, "too many values for", key->name);
        }
        if (!parse_number(item, &field[count])) {
            return fail(reader, "not a number that fits", item);
        }
    }
    return true;
}

static bool set_text(struct reader *reader, const struct key *key, const char *value)
{
    size_t length = strlen(value);
    if (length == 0 || length >= key->text_size) {
        return fail(reader, "empty or too long:", key->name);
    }
    memcpy((char *)&reader->chip + key->offset, value, length + 1);
    return true;
}

static bool read_line(struct reader *reader, char *line)
{
    line[strcspn(line, "#")] = '\0';
    char *name = trim(line);
    if (*name == '\0') {
        return true;
    }
    char *value = strchr(name, '=');
    if (value == NULL) {
        return fail(reader, "not a line of `key = value`:", name);
    }
    *value++ = '\0';
    name = trim(name);
    value = trim(value);
    for (unsigned i = 0; i < KEY_COUNT; i++) {
        if (strcmp(keys[i].name, name) == 0) {
            if (reader->seen & 1u << i) {
                return fail(reader, "given twice:", name);
            }
            reader->seen |= 1u << i;
            return keys[i].numbers == TEXT ? set_text(reader, &keys[i], value) : set_numbers(reader, &keys[i], value);
        }
    }
    return fail(reader, "unknown key", name);
}

/* Reads the lines. Returns the number of the faulty line, 0: none. */
static unsigned read_lines(struct reader *reader, FILE *file)
{
    char line[LINE_MAX_BYTES];
    for (unsigned number = 1; fgets(line, sizeof(line), file) != NULL; number++) {
        if (strchr(line, '\n') == NULL && !feof(file)) {
            (void)fail(reader, "the line is too long", "");
            return number;
        }
        if (!read_line(reader, line)) {
            return number;
        }
    }
    return 0;
}

/* Fills in what may be left out, and finds out what is missing. */
static bool complete(struct reader *reader)
{
    struct vflash_chip *chip = &reader->chip;
    for (unsigned i = 0; i < KEY_COUNT; i++) {
        if (keys[i].needed && !(reader->seen & 1u << i)) {
            return fail(reader, "missing:", keys[i].name);
        }
    }
    chip->block_size = chip->block_size != 0 ? chip->block_size : chip->erase_sizes[0];
    chip->erase_sizes[0] = chip->erase_sizes[0] != 0 ? chip->erase_sizes[0] : chip->block_size;
    chip->read_page_slow_us = chip->read_page_slow_us != 0 ? chip->read_page_slow_us : chip->read_page_us;
    if (chip->block_size == 0) {
        return fail(reader, "missing:", "block_size or erase_sizes");
    }
    if (chip->nand == 1 && chip->program_unit == 1) {
        chip->program_unit = chip->page_size;
    }
    for (unsigned i = 0; i < 3; i++) {
        if ((chip->erase_sizes[i] != 0) != (chip->erase_us[i] != 0)) {
            return fail(reader, "each erase size needs its time:", "erase_us");
        }
    }
    return true;
}

int vflash_chip_load(const char *path, struct vflash_chip *chip, char *message, size_t message_size)
{
    struct reader reader = {.chip = {.program_unit = 1, .read_unit = 1, .first_byte_pct = 20, .endurance = 100000}};
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        snprintf(message, message_size, "%s: %s", path, strerror(errno));
        return -1;
    }
    unsigned line = read_lines(&reader, file);
    bool broken = ferror(file) != 0;
    fclose(file);
    if (broken) {
        snprintf(message, message_size, "%s: cannot be read", path);
        return -1;
    }
    if (line != 0) {
        snprintf(message, message_size, "%s:%u: %s %s", path, line, reader.fault, reader.about);
        return -1;
    }
    if (!complete(&reader)) {
        snprintf(message, message_size, "%s: %s %s", path, reader.fault, reader.about);
        return -1;
    }
    if (vflash_chip_check(&reader.chip, message, message_size) != 0) {
        return -1;
    }
    *chip = reader.chip;
    return 0;
}
