/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_save.c - nf2_save and nf2_load: what they promise in the header, call by call; and with cuts at each byte of each of their programs
 * and between them, bad blocks, and a driver that fails. The content is the old or the new one.
 *
 *   test_save [--cuts N] [--seed N]
 *       --cuts N        of each program and erase so many of its cuts are made on average (default 1; 0: all)
 */
#include <stdio.h>
#include <stdlib.h>

#include "api_volume.h"
#include "check.h"
#include "explore.h"

#define LONGEST 150000u

static double cuts = 1;
static uint64_t first_seed = 1;
static struct volume volume;
static uint8_t data[LONGEST], found[LONGEST + 1];

static void fill(uint32_t length, uint32_t seed)
{
    for (uint32_t i = 0; i < length; i++) {
        data[i] = content_byte(seed, i);
    }
}

static int save(const char *path, uint32_t length, uint32_t seed)
{
    fill(length, seed);
    return nf2_save(&volume.fs, path, data, length);
}

/* The file, read by each call that reads, is just this. */
static void holds_just(const char *path, uint32_t length, uint32_t seed)
{
    fill(length, seed);
    CHECK(holds(&volume, path, length, seed));
    memset(found, 0xE7, sizeof found);
    CHECK_EQ(nf2_load(&volume.fs, path, found, length), (int32_t)length);
    CHECK_MEM(found, data, length);
    CHECK_EQ(found[length], 0xE7);
}

static const char *long_name(unsigned length)
{
    static char name[NF2_NAME_MAX + 2];

    memset(name, 'n', sizeof name);
    name[length] = 0;
    return name;
}

/* ---- call by call -------------------------------------------------------------------------------- */

/* Lengths around each bound: of an entry, of a page, of a block, of what a handle notes. */
static const uint32_t lengths[] = { 0, 1, 100, 214, 215, 216, 217, 255, 256, 257, 511, 512, 513, 4095, 4096, 4097, 20000, 70000, LONGEST };
#define LENGTHS (sizeof lengths / sizeof *lengths)

static void all_lengths(const char *chip, const char *name)
{
    volume_up(&volume, chip);
    struct nf2_statfs stat;
    CHECK_EQ(nf2_statfs(&volume.fs, &stat), NF2_OK);
    uint32_t room = stat.blocks_available * stat.block_size;
    for (unsigned i = 0; i < LENGTHS; i++) {
        for (unsigned j = 0; j < LENGTHS; j++) {
            if (lengths[i] + lengths[j] + 40000 > room || (lengths[i] > 5000 && lengths[j] > 5000)) {
                continue;
            }
            CHECK_EQ(save(name, lengths[i], i), NF2_OK);
            holds_just(name, lengths[i], i);
            CHECK_EQ(save(name, lengths[j], 100 + j), NF2_OK);
            holds_just(name, lengths[j], 100 + j);
            if ((i + j) % 5 == 0) {
                CHECK_EQ(volume_again(&volume, (i + j) % 2 == 0), NF2_OK); /* behind an unmount, or a cut */
                holds_just(name, lengths[j], 100 + j);
                CHECK_EQ(nf2_remove(&volume.fs, name), NF2_OK); /* the next one is new */
            }
        }
    }
    CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
    volume_down(&volume, true);
}

TEST(lengths)
{
    all_lengths("w25q80", "file");
    all_lengths("tinyecc16", "file");
    all_lengths("tiny512", "a name of just 23 bytes");
}

TEST(long_names)
{
    all_lengths("w25q80", "a name of just 24 bytes!");
    all_lengths("tinyecc16", long_name(NF2_NAME_MAX));
    all_lengths("tiny512", "a name of more than 24 bytes");
}

/* Short content is one program; equal content none. */
TEST(programs)
{
    volume_up(&volume, "w25q80");
    CHECK_EQ(nf2_mkdir(&volume.fs, "settings"), NF2_OK);
    CHECK_EQ(save("settings/a", 100, 1), NF2_OK); /* the session is open, and what it needs is known */
    for (unsigned i = 0; i < 20; i++) {
        CHECK_EQ(save(i % 2 ? "settings/a" : "settings/of another part", 215 - i, i), NF2_OK);
        uint64_t before = chip_changes(volume.flash);
        CHECK_EQ(save(i % 2 ? "settings/a" : "settings/of another part", 215 - i, i), NF2_OK);
        CHECK_EQ(chip_changes(volume.flash), before);
    }
    unsigned one = 0;
    for (unsigned i = 0; i < 100; i++) {
        uint64_t before = chip_changes(volume.flash);
        CHECK_EQ(save("settings/a", 50, 1000 + i), NF2_OK);
        one += chip_changes(volume.flash) - before == 1;
    }
    CHECK(one >= 75);           /* the others begin a page, or a leaf */
    for (unsigned i = 0; i < LENGTHS; i++) {
        CHECK_EQ(save("b", lengths[i], i), NF2_OK);
        uint64_t before = chip_changes(volume.flash);
        CHECK_EQ(save("b", lengths[i], i), NF2_OK);
        CHECK_EQ(chip_changes(volume.flash), before);
        if (lengths[i] > 0) {   /* one byte differs */
            data[lengths[i] - 1] ^= 1;
            CHECK_EQ(nf2_save(&volume.fs, "b", data, lengths[i]), NF2_OK);
            CHECK(chip_changes(volume.flash) > before);
            CHECK_EQ(nf2_load(&volume.fs, "b", found, sizeof found), (int32_t)lengths[i]);
            CHECK_MEM(found, data, lengths[i]);
        }
    }
    volume_down(&volume, true);
}

TEST(errors)
{
    static const char *const directories[] = { "d", "/", "", ".", "d/", "d/e/..", "new/", "new/." };
    nf2_t *fs = &volume.fs;
    nf2_file_t writer;

    volume_up(&volume, "w25q80");
    CHECK_EQ(nf2_mkdir(fs, "d"), NF2_OK);
    CHECK_EQ(save("f", 300, 1), NF2_OK);
    uint64_t before = chip_changes(volume.flash);
    for (unsigned i = 0; i < sizeof directories / sizeof *directories; i++) {
        CHECK_EQ(save(directories[i], 10, 2), NF2_ERR_ISDIR);
        bool is_new = strncmp(directories[i], "new", 3) == 0;
        CHECK_EQ(nf2_load(fs, directories[i], found, 10), is_new ? NF2_ERR_NOENT : NF2_ERR_ISDIR);
    }
    CHECK_EQ(save("f/", 10, 2), NF2_ERR_NOTDIR);
    CHECK_EQ(save("f/g", 10, 2), NF2_ERR_NOTDIR);
    CHECK_EQ(save("missing/g", 10, 2), NF2_ERR_NOENT);
    CHECK_EQ(save(long_name(NF2_NAME_MAX + 1), 10, 2), NF2_ERR_NAMETOOLONG);
    CHECK_EQ(nf2_save(fs, NULL, data, 1), NF2_ERR_INVAL);
    CHECK_EQ(nf2_save(fs, "f", NULL, 1), NF2_ERR_INVAL);
    CHECK_EQ(nf2_save(fs, "f", data, NF2_FILE_MAX + 1u), NF2_ERR_INVAL);
    CHECK_EQ(nf2_load(fs, NULL, found, 1), NF2_ERR_INVAL);
    CHECK_EQ(nf2_load(fs, "f", NULL, 1), NF2_ERR_INVAL);
    CHECK_EQ(nf2_load(fs, "f/", found, 1), NF2_ERR_NOTDIR);
    CHECK_EQ(nf2_load(fs, "g", found, 1), NF2_ERR_NOENT);
    memset(found, 0xE7, sizeof found);
    CHECK_EQ(nf2_load(fs, "f", found, 299), NF2_ERR_FBIG);
    CHECK_EQ(nf2_load(fs, "f", NULL, 0), NF2_ERR_FBIG);
    CHECK_EQ(found[0], 0xE7);
    CHECK_EQ(chip_changes(volume.flash), before);
    /* a handle that writes it */
    CHECK_EQ(nf2_open(fs, &writer, "f", NF2_O_WRONLY, volume.page), NF2_OK);
    CHECK_EQ(nf2_write(fs, &writer, "x", 1), 1);
    CHECK_EQ(save("f", 10, 2), NF2_ERR_BUSY);
    holds_just("f", 300, 1);    /* not what it has not synced */
    CHECK_EQ(nf2_discard(fs, &writer), NF2_OK);
    CHECK_EQ(nf2_open(fs, &writer, "made", NF2_O_WRONLY | NF2_O_CREAT, volume.page), NF2_OK);
    CHECK_EQ(nf2_write(fs, &writer, "x", 1), 1);
    CHECK_EQ(save("made", 10, 2), NF2_ERR_BUSY);
    CHECK_EQ(nf2_load(fs, "made", found, 10), 0);
    CHECK_EQ(nf2_discard(fs, &writer), NF2_OK);
    CHECK_EQ(nf2_load(fs, "made", found, 10), NF2_ERR_NOENT);
    /* mounted for reading only */
    CHECK_EQ(nf2_unmount(fs), NF2_OK);
    CHECK_EQ(save("f", 10, 2), NF2_ERR_INVAL);
    CHECK_EQ(nf2_load(fs, "f", found, 300), NF2_ERR_INVAL);
    CHECK_EQ(nf2_mount_rdonly(fs, &volume.config), NF2_OK);
    CHECK_EQ(save("f", 10, 2), NF2_ERR_ROFS);
    CHECK_EQ(save("new", 10, 2), NF2_ERR_ROFS);
    holds_just("f", 300, 1);
    volume_down(&volume, true);
}

/* Open readers see the new content. */
TEST(readers)
{
    nf2_file_t reader;

    volume_up(&volume, "w25q80");
    CHECK_EQ(save("f", 5000, 1), NF2_OK);
    CHECK_EQ(nf2_open(&volume.fs, &reader, "f", NF2_O_RDONLY, NULL), NF2_OK);
    for (unsigned i = 0; i < LENGTHS; i++) {
        CHECK_EQ(nf2_seek(&volume.fs, &reader, 0, NF2_SEEK_SET), 0);
        CHECK(nf2_read(&volume.fs, &reader, found, 10) >= 0);
        CHECK_EQ(save("f", lengths[i], 50 + i), NF2_OK);
        CHECK_EQ(nf2_size(&volume.fs, &reader), (int32_t)lengths[i]);
        CHECK_EQ(nf2_seek(&volume.fs, &reader, 0, NF2_SEEK_SET), 0);
        CHECK_EQ(nf2_read(&volume.fs, &reader, found, sizeof found), (int32_t)lengths[i]);
        CHECK_MEM(found, data, lengths[i]);
    }
    CHECK_EQ(nf2_close(&volume.fs, &reader), NF2_OK);
    volume_down(&volume, true);
}

/* On a volume that is full the old content stays, and nothing is lost by it. */
static void full(const char *chip, const char *name, uint32_t length)
{
    struct nf2_statfs first, last;
    unsigned refused = 0;
    char path[32];

    volume_up(&volume, chip);
    CHECK_EQ(save(name, length, 1), NF2_OK);
    for (unsigned i = 0; i < 2000 && refused < 3; i++) {
        (void)snprintf(path, sizeof path, "fill%u", i);
        int answer = save(path, i % 7 == 0 ? 60 : 9000, i);
        CHECK(answer == NF2_OK || answer == NF2_ERR_NOSPC);
        refused += answer == NF2_ERR_NOSPC;
        struct nf2_stat stat;
        CHECK_EQ(nf2_stat(&volume.fs, path, &stat), answer == NF2_OK ? NF2_OK : NF2_ERR_NOENT);
    }
    CHECK_EQ(refused, 3);
    CHECK_EQ(nf2_statfs(&volume.fs, &first), NF2_OK);
    uint32_t seed = 1, now = length;
    for (unsigned i = 0; i < 50; i++) {
        uint32_t other = i % 3 ? length : length / 2 + 1;
        int answer = save(name, other, 10 + i);
        CHECK(answer == NF2_OK || answer == NF2_ERR_NOSPC);
        if (answer == NF2_OK) {
            seed = 10 + i;
            now = other;
        }
        holds_just(name, now, seed);
    }
    CHECK_EQ(maintain_all(&volume), 0);
    CHECK_EQ(nf2_statfs(&volume.fs, &last), NF2_OK);
    CHECK(last.blocks_free + 2 >= first.blocks_free); /* what was refused is given back */
    for (unsigned i = 1; i < 6; i++) {
        (void)snprintf(path, sizeof path, "fill%u", i);
        CHECK_EQ(nf2_remove(&volume.fs, path), NF2_OK);
    }
    CHECK_EQ(maintain_all(&volume), 0);
    CHECK_EQ(save(name, 9000, 3), NF2_OK);
    holds_just(name, 9000, 3);
    CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
    volume_down(&volume, true);
}

TEST(full_volumes)
{
    full("tiny256k", "f", 150);
    full("tiny256k", "f", 9000);
    full("tiny256k", long_name(60), 5000);
    full("tinyecc16", "f", 9000);
}

/* What cannot be read is replaced all the same. */
TEST(damaged)
{
    volume_up(&volume, "w25q80");
    CHECK_EQ(save("f", 3000, 1), NF2_OK);
    int calls = 0;
    for (unsigned i = 1; i < 40; i++) { /* a read fails, wherever: the call says so, or the content is the new one */
        vflash_fail_at(volume.flash, i);
        int answer = save("f", 3000 + i % 2, 1 + i);
        vflash_fail_at(volume.flash, 0);
        calls += answer == NF2_ERR_IO;
        CHECK(answer == NF2_OK || answer == NF2_ERR_IO);
        if (answer == NF2_ERR_IO) {
            CHECK_EQ(volume_again(&volume, false), NF2_OK);
            fill(3000 + i % 2, 1 + i);
            bool as_new = nf2_load(&volume.fs, "f", found, sizeof found) == (int32_t)(3000 + i % 2) && memcmp(found, data, 3000) == 0;
            if (!as_new) {
                CHECK_EQ(save("f", 3000 + i % 2, 1 + i), NF2_OK);
            }
        }
        holds_just("f", 3000 + i % 2, 1 + i);
    }
    CHECK(calls > 0);
    volume_down(&volume, true);
}

/* ---- beside the model ---------------------------------------------------------------------------- */

static void add(struct call_list *list, enum op op, const char *path, uint32_t length, uint32_t seed)
{
    calls_add(list, op, 0, length, seed, path, NULL);
}

/* Saves of each kind over each kind: in the entry, in a page, in blocks, in a map; new, with names of each kind; beside a handle. */
static void script(struct call_list *list)
{
    static const uint32_t sizes[] = { 20, 215, 300, 0, 4096, 9000, 120, 700, 1, 24000 };
    static const char *const names[] = { "s", "d/settings of the radio", "d/a name that has more than 24 bytes", "d/another name of more than 24 bytes" };
    uint32_t seed = 3;

    calls_add(list, OP_MKDIR, 0, 0, 0, "d", NULL);
    for (unsigned n = 0; n < sizeof names / sizeof *names; n++) {
        for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++, seed += 7) {
            add(list, OP_SAVE, names[n], sizes[(i + 3 * n) % 10], seed);
            add(list, OP_LOAD, names[n], 30000, 0);
            if (i == 4) {
                calls_add(list, OP_REMOVE, 0, 0, 0, names[n], NULL);
            }
        }
    }
    for (unsigned i = 0; i < 3; i++, seed += 7) { /* a map of pieces, and frames at a file's end, are replaced */
        calls_add(list, OP_OPEN, 1, NF2_O_WRONLY | NF2_O_CREAT, 0, names[i], NULL);
        for (unsigned j = 0; j < 8; j++) {
            calls_add(list, OP_SEEK, 1, 3000 * ((j * 5) % 8), NF2_SEEK_SET, NULL, NULL);
            calls_add(list, OP_WRITE, 1, 500, seed + j, NULL, NULL);
        }
        calls_add(list, OP_SYNC, 1, 0, 0, NULL, NULL);
        add(list, OP_SAVE, names[i], 10, seed); /* BUSY */
        calls_add(list, OP_SEEK, 1, 0, NF2_SEEK_END, NULL, NULL);
        calls_add(list, OP_WRITE, 1, 30, seed, NULL, NULL);
        calls_add(list, OP_CLOSE, 1, 0, 0, NULL, NULL);
        add(list, OP_SAVE, names[i], i == 1 ? 40000 : 50, seed);
        add(list, OP_LOAD, names[i], 30000, 0);
        calls_add(list, OP_MAINTAIN, 0, 1000000, 0, NULL, NULL);
    }
}

enum kind { CUTS, BREAKS, ERRORS };

static void explore(const char *chip, enum kind kind, double cuts_of_one, unsigned one_in)
{
    struct tally tally = { 0 };
    struct explorer explorer = { .deepest = 2, .cuts_an_operation = cuts_of_one };
    struct call_list list = { 0 };
    uint64_t seed = first_seed;

    script(&list);
    bool right = CHECK(explorer_begin(&explorer, &tally, vflash_chip_find(chip), NF2_FORMAT_QUICK, seed));
    for (unsigned i = 0; i < list.count && right; i++) {
        const struct call *call = &list.call[i];
        if (call->op != OP_SAVE || random_number(&seed, one_in) != 0) {
            right = explorer_do(&explorer, call);
        } else {
            right = kind == CUTS ? explorer_cut_call(&explorer, call) : kind == BREAKS ? explorer_break_call(&explorer, call)
                    : explorer_fail_call(&explorer, call, 6);
        }
        if (!CHECK(right)) {
            printf("call %u: %s\n", i, explorer.session.rig.failure);
        }
    }
    CHECK_EQ(tally.failures, 0);
    CHECK(kind == CUTS ? tally.cuts > 100 && tally.found[FOUND_BEFORE] > 0 && tally.found[FOUND_AFTER] > 0 : tally.breaks + tally.errors > 10);
    printf("%s: %llu histories, %llu cuts (%llu old, %llu new), %llu blocks that broke, %llu errors of the driver\n", chip,
           (unsigned long long)tally.histories, (unsigned long long)tally.cuts, (unsigned long long)tally.found[FOUND_BEFORE],
           (unsigned long long)tally.found[FOUND_AFTER], (unsigned long long)tally.breaks, (unsigned long long)tally.errors);
    calls_free(&list);
    explorer_free(&explorer);
}

TEST(cuts)
{
    explore("tiny256k", CUTS, cuts, 1);
    explore("tinyecc16", CUTS, cuts, 1);
}

TEST(bad_blocks)
{
    explore("tiny256k", BREAKS, 0, 2);
}

TEST(a_driver_that_fails)
{
    explore("tiny256k", ERRORS, 0, 1);
    explore("tinyecc16", ERRORS, 0, 2);
}

int main(int count, char **arguments)
{
    for (int i = 1; i + 1 < count; i += 2) {
        if (strcmp(arguments[i], "--cuts") == 0) {
            cuts = strtod(arguments[i + 1], NULL);
        } else if (strcmp(arguments[i], "--seed") == 0) {
            first_seed = strtoull(arguments[i + 1], NULL, 10);
        }
    }
    RUN(lengths);
    RUN(long_names);
    RUN(programs);
    RUN(errors);
    RUN(readers);
    RUN(full_volumes);
    RUN(damaged);
    RUN(cuts);
    RUN(bad_blocks);
    RUN(a_driver_that_fails);
    return check_done();
}
