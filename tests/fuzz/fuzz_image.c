/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_image.c - damaged and hostile images: mount, list, read, check, write. Nothing may crash, loop, or leave the
 * chip; what the answers are does not matter.
 *
 * An input is: the number of a base image (0x40 to 0x7F: one with a deep tree; a high one: reads of the driver fail now and then), flags, a seed for the calls, then edits of
 * four bytes. With libFuzzer the
 * inputs come from it; without (NF2_FUZZ_MAIN) from generators, of edits anywhere and of records in turn: fuzz_image [--runs N] [--seed N], or from files:
 * fuzz_image [--lines FILE] FILE...
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flat_chip.h"
#include "fuzz_count.h"
#include "fuzz_lines.h"
#include "nf2fs/nf2fs.h"
#include "inspect/inspect.h"

#define CHIP_SIZE (128u * 4096u)        /* of the largest base */
#define PAGE 256u
#define SMALL_BASES 8u
#define DEEP_BASES 2u           /* trees of many leaves */
#define BASES (SMALL_BASES + DEEP_BASES)
#define DEEP_FROM 0x40u         /* base numbers of those: from this one */
#define DEEP_TO 0x80u           /* up to this one */
#define HANDLES 3u
#define CALLS_A_BLOCK 75000u    /* of the driver, in one input, at most */
#define DEPTH_MOST 12u
#define ENTRIES_MOST 600u
#define READ_MOST (2u * CHIP_SIZE)
#define INPUT_MAX 256u
#define FAILING 0xF0u           /* base numbers from this one on: the driver fails now and then */

struct session {
    struct flat_chip chip;
    struct nf2_config config;
    uint8_t *buffer;
    nf2_t fs;
    nf2_file_t file[HANDLES];
    uint8_t *page[HANDLES];
    uint32_t random;
};

#define LINE 32u
#define LINES (CHIP_SIZE / LINE)

#define RECORDS_MOST 4096u

static uint8_t *base[BASES];
static uint32_t record[BASES][RECORDS_MOST];    /* where records begin, as places of edits (see edit) */
static uint32_t record_at[BASES][RECORDS_MOST]; /* the same, as addresses */
static uint32_t records[BASES];
static uint16_t used[BASES][LINES];     /* lines that are not blank: edits go there */
static uint32_t used_count[BASES];

static uint32_t next(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static uint8_t *exactly(uint32_t bytes)
{
    uint8_t *memory = malloc(bytes);

    if (memory == NULL) {
        abort();
    }
    return memory;
}

static uint32_t size_of(unsigned number)
{
    return number < SMALL_BASES ? 40u * 4096u : CHIP_SIZE;
}

static uint32_t unit_of(unsigned number)
{
    return number % 4 == 3 || number == BASES - 1 ? 16 : 1;
}

/* The base that an input begins with. */
static unsigned base_of(uint8_t first)
{
    return first >= DEEP_FROM && first < DEEP_TO ? SMALL_BASES + first % DEEP_BASES : first % SMALL_BASES;
}

static void begin(struct session *s, unsigned number)
{
    memset(s, 0, sizeof *s);
    flat_chip_init(&s->chip, size_of(number), unit_of(number));
    s->buffer = exactly(NF2_BUFFER_SIZE(PAGE));
    for (unsigned i = 0; i < HANDLES; i++) {
        s->page[i] = exactly(256);
    }
    s->config.flash = &s->chip.driver;
    s->config.buffer = s->buffer;
    s->config.buffer_size = NF2_BUFFER_SIZE(PAGE);
}

static void end(struct session *s)
{
    free(s->chip.bytes);
    free(s->buffer);
    for (unsigned i = 0; i < HANDLES; i++) {
        free(s->page[i]);
    }
}

/* ---- calls -------------------------------------------------------------------------------------- */

static const char *const names[] = {"a", "b", "c", "d/e", "d/f", "d/g/h", "d/g", "log", "d", "x/y", "long-name-of-a-file-that-is-there"};

static void write_some(struct session *s, unsigned handle)
{
    static const uint16_t lengths[] = {1, 12, 40, 200, 256, 700, 4096, 9000};
    static uint8_t data[9000];
    uint32_t length = lengths[next(&s->random) % 8];

    memset(data, (int)(next(&s->random) & 0xFFu), sizeof data);
    if (next(&s->random) % 4 == 0) {
        (void)nf2_seek(&s->fs, &s->file[handle], (int32_t)(next(&s->random) % 20000), NF2_SEEK_SET);
    }
    (void)nf2_write(&s->fs, &s->file[handle], data, length);
}

static void one_call(struct session *s)
{
    static const int flags[] = {NF2_O_RDWR | NF2_O_CREAT, NF2_O_RDWR | NF2_O_CREAT | NF2_O_APPEND, NF2_O_WRONLY | NF2_O_CREAT | NF2_O_TRUNC,
                                NF2_O_RDONLY};
    const char *name = names[next(&s->random) % (sizeof names / sizeof names[0])];
    unsigned handle = next(&s->random) % HANDLES;
    nf2_file_t *file = &s->file[handle];

    switch (next(&s->random) % 14) {
    case 0: case 1: case 2:
        (void)nf2_close(&s->fs, file);
        (void)nf2_open(&s->fs, file, name, flags[next(&s->random) % 4], s->page[handle]);
        break;
    case 3: case 4: case 5: write_some(s, handle); break;
    case 6: (void)nf2_sync(&s->fs, file); break;
    case 7: (void)nf2_close(&s->fs, file); break;
    case 8: (void)nf2_remove(&s->fs, name); break;
    case 9: (void)nf2_rename(&s->fs, name, names[next(&s->random) % 11]); break;
    case 10: (void)nf2_mkdir(&s->fs, name); break;
    case 11: (void)nf2_maintain(&s->fs, 400000); break;
    case 12: (void)nf2_truncate(&s->fs, file, next(&s->random) % 20000); break;
    default: (void)nf2_preallocate(&s->fs, file, next(&s->random) % 20000); break;
    }
}

/* ---- reading all that is there ------------------------------------------------------------------ */

struct reading {
    uint32_t entries, bytes;
};

static void read_file(struct session *s, const char *path, struct reading *done)
{
    uint8_t *data = exactly(1000);
    int32_t n = 0;

    if (nf2_open(&s->fs, &s->file[0], path, NF2_O_RDONLY, NULL) == NF2_OK) {
        do {
            n = nf2_read(&s->fs, &s->file[0], data, 1000);
            done->bytes += n > 0 ? (uint32_t)n : 0;
        } while (n > 0 && done->bytes < READ_MOST);
        (void)nf2_seek(&s->fs, &s->file[0], -1, NF2_SEEK_END);
        (void)nf2_read(&s->fs, &s->file[0], data, 10);
        (void)nf2_close(&s->fs, &s->file[0]);
    }
    free(data);
}

static void list(struct session *s, const char *path, unsigned depth, struct reading *done)
{
    struct nf2_dirent *entry = (struct nf2_dirent *)(void *)exactly(sizeof *entry);
    nf2_dir_t dir;
    struct nf2_stat stat;

    if (depth < DEPTH_MOST && nf2_opendir(&s->fs, &dir, path) == NF2_OK) {
        while (done->entries < ENTRIES_MOST && nf2_readdir(&s->fs, &dir, entry) > 0) {
            char *inside = (char *)exactly((uint32_t)(strlen(path) + strlen(entry->name) + 2));
            sprintf(inside, "%s/%s", path, entry->name);
            done->entries++;
            (void)nf2_stat(&s->fs, inside, &stat);
            if (entry->type == NF2_TYPE_DIR) {
                list(s, inside, depth + 1, done);
            } else if (done->bytes < READ_MOST) {
                read_file(s, inside, done);
            }
            free(inside);
        }
        (void)nf2_closedir(&s->fs, &dir);
    }
    free(entry);
}

static void look_around(struct session *s)
{
    struct reading done = {0, 0};
    struct nf2_statfs space;
    struct nf2_health health;

    list(s, "", 0, &done);
    (void)nf2_check(&s->fs, NULL, NULL);
    (void)nf2_statfs(&s->fs, &space);
    (void)nf2_health(&s->fs, &health);
    for (uint32_t block = 0; block < s->chip.driver.chip_size / 4096u; block += 7) {
        (void)nf2_block_state(&s->fs, block, NULL);
    }
}

/* ---- base images -------------------------------------------------------------------------------- */

/* The place of an edit that hits this byte, which is in a line in use. */
static uint32_t place_of(unsigned number, uint32_t at)
{
    uint32_t index = 0;

    while (index < used_count[number] && used[number][index] != at / LINE) {
        index++;
    }
    return index * LINE + at % LINE;
}

/* What looks like a record in a page that looks like one of a log. */
static void find_records(unsigned number, uint32_t unit)
{
    for (uint32_t page = 0; page < size_of(number); page += PAGE) {
        uint32_t at = page + 2, length = 6;
        while (length >= 6 && at + 6 <= page + PAGE && records[number] < RECORDS_MOST) {
            uint32_t head = base[number][at] | (uint32_t)base[number][at + 1] << 8;
            length = head == 0xFFFFu || head >> 13 == 0 || at + (head & 0xFFFu) > page + PAGE ? 0 : head & 0xFFFu;
            if (length >= 6) {
                record_at[number][records[number]] = at;
                record[number][records[number]++] = place_of(number, at);
                at += length;
                at = head & 0x1000u ? at : page + (at - page + unit - 1) / unit * unit;
            }
        }
    }
}

/* Many names in two directories, and a file in many pieces: leaves, and nodes above them. */
static void fill_deep(struct session *s)
{
    static const uint8_t data[600];
    char name[64];

    (void)nf2_mkdir(&s->fs, "d");
    for (unsigned i = 0; i < 420; i++) {
        (void)snprintf(name, sizeof name, i % 7 == 3 ? "d/name-%03u-of-more-than-a-key" : i % 2 ? "d/name-%03u" : "n%03u", i * 11u % 420u);
        (void)nf2_open(&s->fs, &s->file[0], name, NF2_O_WRONLY | NF2_O_CREAT, s->page[0]);
        (void)nf2_write(&s->fs, &s->file[0], data, i % 50);
        (void)nf2_close(&s->fs, &s->file[0]);
    }
    for (unsigned i = 0; i < 400; i++) {
        (void)nf2_open(&s->fs, &s->file[0], "a", NF2_O_RDWR | NF2_O_CREAT, s->page[0]);
        (void)nf2_seek(&s->fs, &s->file[0], (int32_t)(i * 7919u % 90000u), NF2_SEEK_SET);
        (void)nf2_write(&s->fs, &s->file[0], data, 1 + i * 37u % sizeof data);
        (void)nf2_close(&s->fs, &s->file[0]);
    }
}

/* Volumes with some history; the later half was never left properly. */
static void make_base(unsigned number)
{
    struct session s;

    begin(&s, number);
    s.random = 1000 + number;
    if (nf2_format(&s.fs, &s.config, number % 2 ? NF2_FORMAT_ERASE : NF2_FORMAT_QUICK) != NF2_OK ||
        nf2_mount(&s.fs, &s.config, NF2_MOUNT_RDWR) != NF2_OK) {
        abort();
    }
    if (number >= SMALL_BASES) {
        fill_deep(&s);
    }
    for (unsigned i = 0; i < 60u + 60u * (number % SMALL_BASES); i++) {
        one_call(&s);
    }
    if (number < SMALL_BASES / 2) {
        (void)nf2_unmount(&s.fs);
    }
    base[number] = s.chip.bytes;
    for (uint32_t line = 0; line < size_of(number) / LINE; line++) {
        bool blank = true;
        for (uint32_t i = 0; i < LINE; i++) {
            blank = blank && s.chip.bytes[line * LINE + i] == 0xFF;
        }
        if (!blank) {
            used[number][used_count[number]++] = (uint16_t)line;
        }
    }
    find_records(number, unit_of(number));
    s.chip.bytes = NULL;
    end(&s);
}

/* ---- one input ---------------------------------------------------------------------------------- */

/* What the record at an address of a deep base has there, another one near it gets, or has: the fronts of records are their keys. */
static uint8_t neighbour(unsigned number, const uint8_t *bytes, uint32_t at, uint8_t value)
{
    uint32_t i = 0, other = value % 8u;

    while (i + 1 < records[number] && record_at[number][i + 1] <= at) {
        i++;
    }
    other = (i + records[number] + other - 3u - (other < 4)) % records[number];
    return bytes[(record_at[number][other] + (at - record_at[number][i])) % size_of(number)];
}

/* An edit: 18 bits of a place among the lines in use, 2 of kind, 4 of count, a value. */
static void edit(unsigned number, uint8_t *bytes, const uint8_t *p)
{
    uint32_t size = size_of(number);
    uint32_t place = p[0] | (uint32_t)p[1] << 8 | (uint32_t)(p[2] & 3u) << 16, kind = p[2] >> 2 & 3u, count = p[2] >> 4;
    uint32_t at = used[number][place / LINE % used_count[number]] * LINE + place % LINE;

    for (uint32_t i = 0; i <= count && at + i < size; i++) {
        if (kind == 0) {
            bytes[at + i] = p[3];
        } else if (kind == 1) {
            bytes[at + i] ^= p[3];
        } else if (kind == 2) {
            bytes[at + i] = (uint8_t)(bytes[at + i] + p[3]);
        } else if (number < SMALL_BASES) {
            bytes[at + i] = bytes[(at + i + p[3] * 256u) % size];
        } else {
            bytes[at + i] = neighbour(number, bytes, at + i, p[3]);
        }
    }
}

static void run(const uint8_t *data, size_t size)
{
    struct session s;
    unsigned number = base_of(size > 0 ? data[0] : 0), flags = size > 1 ? data[1] : 0; /* read-only, look before, look after, calls */

    begin(&s, number);
    s.chip.calls_most = CALLS_A_BLOCK * (size_of(number) / 4096u);
    memcpy(s.chip.bytes, base[number], size_of(number));
    s.random = size > 2 ? data[2] : 0;
    s.chip.fails_every = size > 2 && data[0] >= FAILING ? 2u + data[2] + 16u * (data[0] & 8u) : 0;
    for (size_t i = 3; i + 4 <= size; i += 4) {
        edit(number, s.chip.bytes, data + i);
    }
    if (nf2_mount(&s.fs, &s.config, flags & 1u ? NF2_MOUNT_RDONLY : NF2_MOUNT_RDWR) == NF2_OK) {
        if (flags & 2u) {
            look_around(&s);
        }
        for (unsigned i = 0; i < (flags >> 3 & 15u); i++) {
            one_call(&s);
        }
        if (flags & 4u) {
            look_around(&s);
        }
        (void)nf2_unmount(&s.fs);
    }
    end(&s);
}

static void make_bases(void)
{
    for (unsigned i = 0; i < BASES && base[i] == NULL; i++) {
        make_base(i);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    make_bases();
    run(data, size);
    fuzz_count(0, 0);
    return 0;
}

#ifdef NF2_FUZZ_MAIN
/* Edits near each other are likelier. */
static size_t make_input(uint32_t *random, uint8_t *input)
{
    unsigned edits = 1 + next(random) % 12;
    uint32_t near = next(random) % size_of(0);

    input[0] = (uint8_t)next(random);
    input[1] = (uint8_t)next(random);
    input[2] = (uint8_t)next(random);
    for (unsigned i = 0; i < edits; i++) {
        uint32_t at = next(random) % 3 ? (near + next(random) % 300) % size_of(0) : next(random) % size_of(0);
        uint8_t *p = input + 3 + 4 * i;
        p[0] = (uint8_t)at;
        p[1] = (uint8_t)(at >> 8);
        p[2] = (uint8_t)((at >> 16 & 3u) | (next(random) & (next(random) % 3 ? 0x0Cu : 0xFCu)));
        p[3] = (uint8_t)next(random);
    }
    return 3 + 4 * edits;
}

/* A record: half of the time of any block that has some, so that those of the super blocks and the root log are not rare. */
static uint32_t some_record(unsigned number, uint32_t *random)
{
    if (records[number] == 0) { /* nothing looks like one: anything that is not blank */
        return next(random) % (used_count[number] * LINE);
    }
    uint32_t at = next(random) % records[number];

    for (unsigned tries = next(random) % 2 * 100; tries < 100; tries++) {
        uint32_t block = next(random) % (size_of(number) / 4096u), other = next(random) % records[number];
        for (uint32_t i = 0; i < records[number]; i++) {
            uint32_t place = record[number][(other + i) % records[number]];
            if (used[number][place / LINE] / (4096u / LINE) == block) {
                return place;
            }
        }
    }
    return record[number][at];
}

/* Edits of what records say of themselves and of others: their heads and first fields. */
static size_t make_records_input(uint32_t *random, uint8_t *input)
{
    static const uint8_t values[] = { 0, 1, 2, 3, 4, 0x10, 0x20, 0x27, 0x40, 0x7F, 0x80, 0xFE, 0xFF };
    unsigned edits = 1 + next(random) % 4;

    input[0] = (uint8_t)next(random);
    input[1] = (uint8_t)next(random);
    input[2] = (uint8_t)next(random);
    for (unsigned i = 0; i < edits; i++) {
        unsigned number = base_of(input[0]);
        static const uint8_t spans[] = { 12, 12, 48, 160 };
        uint32_t within = next(random) % spans[next(random) % 4], kind = next(random) % 3, count = next(random) % 4 == 0 ? next(random) % 4 : 0;
        if (number >= SMALL_BASES && next(random) % 2) { /* another record's key */
            kind = 3;
            within = next(random) % 4;
            count = next(random) % 16;
        }
        uint32_t place = some_record(number, random) + within;
        uint8_t *p = input + 3 + 4 * i;
        p[0] = (uint8_t)place;
        p[1] = (uint8_t)(place >> 8);
        p[2] = (uint8_t)((place >> 16 & 3u) | kind << 2 | count << 4);
        p[3] = next(random) % 3 ? values[next(random) % sizeof values] : (uint8_t)next(random);
    }
    return 3 + 4 * edits;
}

static int run_file(const char *path)
{
    static uint8_t input[1 << 16];
    FILE *file = fopen(path, "rb");

    if (file == NULL) {
        fprintf(stderr, "%s cannot be read\n", path);
        return 2;
    }
    size_t size = fread(input, 1, sizeof input, file);
    fclose(file);
    run(input, size);
    return 0;
}

/* The input that is being run, for the report of a process that ends. */
static uint8_t current[INPUT_MAX];
static size_t current_size;

static int generate(unsigned long runs, uint32_t seed, const char *keep)
{
    for (unsigned long i = 0; i < runs; i++) {
        uint32_t random = seed + (uint32_t)i;
        current_size = i % 2 ? make_records_input(&random, current) : make_input(&random, current);
        current[0] |= (uint8_t)(i % 5 == 0 ? FAILING : 0);
        if (keep != NULL) { /* what ends the process is the file's content then */
            FILE *file = fopen(keep, "wb");
            if (file != NULL) {
                fwrite(current, 1, current_size, file);
                fclose(file);
            }
        }
        run(current, current_size);
    }
    printf("%lu inputs from seed %lu on: no crash, no loop, nothing out of the chip\n", runs, (unsigned long)seed);
    return 0;
}

int main(int count, char **argument)
{
    unsigned long runs = 2000;
    uint32_t seed = 1;
    const char *keep = NULL;
    int status = 0, files = 0;

    make_bases();
    for (int i = 1; i < count && status == 0; i++) {
        if (strcmp(argument[i], "--runs") == 0 && i + 1 < count) {
            runs = strtoul(argument[++i], NULL, 0);
        } else if (strcmp(argument[i], "--seed") == 0 && i + 1 < count) {
            seed = (uint32_t)strtoul(argument[++i], NULL, 0);
        } else if (strcmp(argument[i], "--keep") == 0 && i + 1 < count) {
            keep = argument[++i];
        } else if (strcmp(argument[i], "--lines") == 0 && i + 1 < count) {
            status = fuzz_lines(argument[++i], LLVMFuzzerTestOneInput) < 0 ? 2 : 0;
        } else {
            status = run_file(argument[i]);
            files++;
        }
    }
    return files > 0 || status != 0 ? status : generate(runs, seed, keep);
}
#endif
