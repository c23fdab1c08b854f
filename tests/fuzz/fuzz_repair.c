/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_repair.c - damaged and hostile images for the checker and repair: nothing may crash, loop, or read out of the
 * image, whatever it holds; and what is written to a new volume is what was read.
 *
 * An input is: the number of a base image, flags (1: also a new volume), then edits of four bytes. The build may have checks that
 * always fit (tests/repair/weak_crc.c). With libFuzzer the inputs come from it; without (NF2_FUZZ_MAIN) from a generator:
 * fuzz_repair [--runs N] [--seed N], or from files: fuzz_repair [--lines FILE] FILE...
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "flat_chip.h"
#include "fuzz_count.h"
#include "fuzz_lines.h"
#include "nf2fs/nf2fs.h"
#include "repair/repair.h"

#define CHIP_SIZE (96u * 4096u)
#define PAGE 256u
#define BASES 6u
#define INPUT_MAX 256u
#define SECONDS_MOST 60         /* of one input: more is a loop */
#define LINE 32u
#define LINES (CHIP_SIZE / LINE)

struct volume {
    struct flat_chip chip;
    struct nf2_config config;
    nf2_t fs;
    nf2_file_t file;
    uint8_t buffer[NF2_BUFFER_SIZE(PAGE)], page[PAGE];
};

static uint8_t *base[BASES];
static uint32_t used[BASES][LINES], used_count[BASES];  /* lines that are not blank: edits go there */
static uint8_t current[INPUT_MAX];

static uint32_t next(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static void volume_begin(struct volume *volume)
{
    flat_chip_init(&volume->chip, CHIP_SIZE, 1);
    volume->config = (struct nf2_config){.flash = &volume->chip.driver, .buffer = volume->buffer, .buffer_size = sizeof volume->buffer};
    if (nf2_format(&volume->fs, &volume->config, NF2_FORMAT_QUICK) != NF2_OK ||
        nf2_mount(&volume->fs, &volume->config, NF2_MOUNT_RDWR) != NF2_OK) {
        abort();
    }
}

/* ---- base images --------------------------------------------------------------------------------- */

static void some_call(struct volume *volume, uint32_t *random, unsigned names)
{
    static const uint16_t lengths[] = {0, 1, 30, 200, 700, 4096, 9000};
    static uint8_t data[9000];
    char path[80], other[80];
    uint32_t length = lengths[next(random) % 7], kind = next(random) % 12;

    snprintf(path, sizeof path, "%s%s%u", next(random) % 3 ? "" : "d/", next(random) % 4 ? "f" : "a file with a name that is rather long ",
             next(random) % names);
    snprintf(other, sizeof other, "d/%u", next(random) % names);
    memset(data, (int)(next(random) & 0xFFu), sizeof data);
    if (kind == 0) {
        (void)nf2_remove(&volume->fs, path);
    } else if (kind == 1) {
        (void)nf2_rename(&volume->fs, path, other);
    } else if (nf2_open(&volume->fs, &volume->file, path, NF2_O_RDWR | NF2_O_CREAT | (kind < 6 ? NF2_O_APPEND : 0), volume->page) == NF2_OK) {
        for (unsigned i = 0; i < (kind == 2 ? 8 : 1); i++) {
            (void)nf2_seek(&volume->fs, &volume->file, (int32_t)(next(random) % 12000), NF2_SEEK_SET);
            (void)nf2_write(&volume->fs, &volume->file, data, length);
        }
        (void)nf2_close(&volume->fs, &volume->file);
    }
}

static void make_base(unsigned number)
{
    struct volume volume;
    uint32_t random = 77 + number;

    volume_begin(&volume);
    (void)nf2_mkdir(&volume.fs, "d");
    for (unsigned i = 0; i < 80u + 120u * number; i++) {
        some_call(&volume, &random, number < 3 ? 12 : 150);
    }
    if (number % 2 == 0) {
        (void)nf2_unmount(&volume.fs);
    }
    base[number] = volume.chip.bytes;
    for (uint32_t line = 0; line < LINES; line++) {
        bool blank = true;
        for (uint32_t i = 0; i < LINE; i++) {
            blank = blank && base[number][line * LINE + i] == 0xFF;
        }
        if (!blank && line * LINE % 4096u < 4096u) {
            used[number][used_count[number]++] = line;
        }
    }
}

/* ---- one input ----------------------------------------------------------------------------------- */

/* 18 bits of a place among the lines in use, 2 of kind, 4 of count, a value. */
static void edit(unsigned number, uint8_t *bytes, const uint8_t *p)
{
    uint32_t place = p[0] | (uint32_t)p[1] << 8 | (uint32_t)(p[2] & 3u) << 16, kind = p[2] >> 2 & 3u, count = p[2] >> 4;
    uint32_t at = used[number][place / LINE % used_count[number]] * LINE + place % LINE;

    for (uint32_t i = 0; i <= count && at + i < CHIP_SIZE; i++) {
        uint8_t far = bytes[(at + i + p[3] * 256u) % CHIP_SIZE];
        bytes[at + i] = kind == 0 ? p[3] : kind == 1 ? bytes[at + i] ^ p[3] : kind == 2 ? (uint8_t)(bytes[at + i] + p[3]) : far;
    }
}

static void write_anew(struct repair *repair)
{
    struct volume volume;
    unsigned failed;

    volume_begin(&volume);
    if (repair_write(repair, &volume.fs, volume.page, &failed) == NF2_OK && repair_verify(repair, &volume.fs, &failed) != NF2_OK) {
        fprintf(stderr, "item %u of the new volume is not what was read\n", failed);
        abort();
    }
    (void)nf2_unmount(&volume.fs);
    free(volume.chip.bytes);
}

static void look_at(struct repair *repair, bool anew)
{
    uint8_t bytes[4096];
    uint32_t from, to;
    uint64_t sum = 0;

    for (unsigned i = 0; i < repair_findings(repair); i++) {
        const struct repair_finding *finding = repair_finding(repair, i);
        sum += strlen(finding->text) + (finding->from != NULL ? strlen(finding->from) : 0) + (finding->to != NULL ? strlen(finding->to) : 0);
    }
    for (uint32_t block = 0; block < CHIP_SIZE / 4096u; block++) {
        sum += (uint64_t)repair_block_use(repair, block);
        /* of one block in sixteen: flipped bits are looked for in each record */
        bool shown = block % 16u == repair_findings(repair) % 16u;
        for (unsigned i = shown ? repair_records(repair, block) : 0; i > 0; i--) {
            sum += strlen(repair_record(repair, i - 1)->name) + strlen(repair_record(repair, i - 1)->text);
        }
    }
    for (unsigned i = 0; i < repair_count(repair); i++) {
        sum += strlen(repair_item(repair, i)->path);
        for (uint32_t at = 0, n; (n = repair_read(repair, i, at, bytes, sizeof bytes)) > 0; at += n) {
            sum += bytes[n / 2];
        }
        for (unsigned range = 0; repair_lost_range(repair, i, range, &from, &to); range++) {
            sum += to - from;
        }
    }
    for (uint32_t id = 0; id < 40; id++) {
        sum += repair_path_of(repair, id) != NULL;
    }
    if (anew) {
        write_anew(repair);
    }
}

static void run(const uint8_t *data, size_t size)
{
    static const struct repair_geometry geometry = {CHIP_SIZE, 4096, 1};
    unsigned number = size > 0 ? data[0] % BASES : 0;
    uint8_t *bytes = malloc(CHIP_SIZE);     /* of its own, so that sanitizers see its ends */
    clock_t start = clock();

    if (bytes == NULL) {
        abort();
    }
    memcpy(bytes, base[number], CHIP_SIZE);
    for (size_t i = 2; i + 4 <= size; i += 4) {
        edit(number, bytes, data + i);
    }
    struct repair *repair = repair_open(bytes, &geometry);
    if (repair != NULL) {
        look_at(repair, size > 1 && (data[1] & 1u) != 0);
    }
    repair_close(repair);
    free(bytes);
    if ((clock() - start) / CLOCKS_PER_SEC > SECONDS_MOST) {
        fprintf(stderr, "more than %d seconds: a loop\n", SECONDS_MOST);
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (unsigned i = 0; i < BASES && base[i] == NULL; i++) {
        make_base(i);
    }
    run(data, size);
    fuzz_count(0, 0);
    return 0;
}

#ifdef NF2_FUZZ_MAIN
/* Edits near each other are likelier. */
static size_t make_input(uint32_t *random, uint8_t *input)
{
    static const uint8_t values[] = {0, 1, 2, 3, 4, 0x10, 0x20, 0x27, 0x40, 0x7F, 0x80, 0xFE, 0xFF};
    unsigned edits = 1 + next(random) % 12;
    uint32_t near = next(random) % CHIP_SIZE;

    input[0] = (uint8_t)next(random);
    input[1] = (uint8_t)(next(random) % 8 == 0);
    for (unsigned i = 0; i < edits; i++) {
        uint32_t at = next(random) % 3 ? near + next(random) % 300 : next(random);
        uint8_t *p = input + 2 + 4 * i;
        p[0] = (uint8_t)at;
        p[1] = (uint8_t)(at >> 8);
        p[2] = (uint8_t)((at >> 16 & 3u) | (next(random) & (next(random) % 3 ? 0x0Cu : 0xFCu)));
        p[3] = next(random) % 2 ? values[next(random) % sizeof values] : (uint8_t)next(random);
    }
    return 2 + 4 * edits;
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
    return LLVMFuzzerTestOneInput(input, size);
}

int main(int count, char **argument)
{
    unsigned long runs = 2000;
    uint32_t seed = 1;
    int status = 0, files = 0;

    for (int i = 1; i < count && status == 0; i++) {
        if (strcmp(argument[i], "--runs") == 0 && i + 1 < count) {
            runs = strtoul(argument[++i], NULL, 10);
        } else if (strcmp(argument[i], "--seed") == 0 && i + 1 < count) {
            seed = (uint32_t)strtoul(argument[++i], NULL, 10);
        } else if (strcmp(argument[i], "--lines") == 0 && i + 1 < count) {
            status = fuzz_lines(argument[++i], LLVMFuzzerTestOneInput) < 0;
        } else {
            status = run_file(argument[i]);
            files++;
        }
    }
    for (unsigned long i = 0; i < runs && status == 0 && files == 0; i++) {
        uint32_t random = seed + (uint32_t)i;
        size_t size = make_input(&random, current);
        (void)LLVMFuzzerTestOneInput(current, size);
    }
    if (files == 0) {
        printf("%lu inputs from seed %lu on: no crash, no loop\n", runs, (unsigned long)seed);
    }
    return status;
}
#endif
