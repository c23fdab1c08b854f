/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_out_of_order.c - trees whose records all fit their checks, but whose keys are out of order: in a leaf, between
 * leaves, or twice. Each call of the core ends: whoever goes on from a key meets a higher one, or an error.
 */
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "made.h"
#include "nf2fs/nf2fs.h"

#define READS_MOST 400000u      /* of the driver, in all calls of an image; some 3,000 where it is sound */
#define LISTED_MOST 200u

static uint8_t chip[MADE_BLOCKS * MADE_BLOCK];
static uint32_t reads;
static bool bounded;            /* a loop is left at `endless` */
static const char *call;        /* the one that is made */
static jmp_buf endless;

static int chip_read(void *context, uint32_t address, void *data, uint32_t length)
{
    (void)context;
    if (++reads > READS_MOST && bounded) {
        longjmp(endless, 1);
    }
    memcpy(data, chip + address, length);
    return 0;
}

static int chip_program(void *context, uint32_t address, const void *data, uint32_t length)
{
    const uint8_t *from = data;

    (void)context;
    if (++reads > READS_MOST && bounded) {
        longjmp(endless, 1);
    }
    for (uint32_t i = 0; i < length; i++) {
        chip[address + i] &= from[i];
    }
    return 0;
}

static int chip_erase(void *context, uint32_t address, uint32_t length)
{
    (void)context;
    memset(chip + address, 0xFF, length);
    return 0;
}

/* ---- all calls --------------------------------------------------------------------------------- */

static nf2_t fs;
static nf2_file_t file;
static uint8_t page[MADE_PAGE];
static unsigned long errors;

static void count(int32_t result)
{
    errors += result < 0;
}

/* How many entries there are. */
static int list(const char *path)
{
    static struct nf2_dirent entry;
    nf2_dir_t dir;
    int found = nf2_opendir(&fs, &dir, path), listed = 0;

    call = "nf2_readdir";
    while (found >= 0 && (found = nf2_readdir(&fs, &dir, &entry)) > 0 && listed < (int)LISTED_MOST) {
        listed++;
    }
    count(found);
    CHECK(listed < (int)LISTED_MOST);
    return listed;
}

static void read_all(const char *path)
{
    static uint8_t data[1000];
    int32_t n = nf2_open(&fs, &file, path, NF2_O_RDONLY, NULL);

    call = "nf2_read";
    for (unsigned i = 0; i < 20 && n >= 0; i++) {
        n = nf2_read(&fs, &file, data, sizeof data);
    }
    count(n);
    (void)nf2_close(&fs, &file);
}

static void write_to(const char *path, int32_t at, uint32_t length)
{
    static const uint8_t data[5000];
    int32_t n = nf2_open(&fs, &file, path, NF2_O_RDWR | NF2_O_CREAT, page);

    call = "nf2_write";
    if (n == NF2_OK) {
        (void)nf2_seek(&fs, &file, at, NF2_SEEK_SET);
        count(nf2_write(&fs, &file, data, length));
        count(nf2_truncate(&fs, &file, (uint32_t)at + length / 2));
        n = nf2_close(&fs, &file);
    }
    count(n);
}

static void change_all(void)
{
    static const char *const names[] = {"inline", "list", "log", "map", "dir/inside", "dir/zz a name of more than twenty-three bytes",
                                        "dir/new", "new", "a new name of more than twenty-three bytes"};

    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        write_to(names[i], (int32_t)(i * 700u), 3000);
        call = "nf2_rename";
        count(nf2_rename(&fs, names[i], "renamed"));
        call = "nf2_mkdir";
        count(nf2_mkdir(&fs, names[i]));
    }
    call = "nf2_maintain";
    for (unsigned i = 0; i < 40; i++) {
        count(nf2_maintain(&fs, 300000));
    }
    call = "nf2_remove";
    count(nf2_remove(&fs, "renamed"));
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        count(nf2_remove(&fs, names[i]));
    }
}

static void look_at_all(void)
{
    call = "nf2_check";
    count(nf2_check(&fs, NULL, NULL));
    (void)list("");
    (void)list("dir");
    read_all("map");
    read_all("list");
    read_all("log");
}

static int mount_image(const struct made *made)
{
    static uint8_t buffer[NF2_BUFFER_SIZE(MADE_PAGE)];
    static struct nf2_flash driver = {.read = chip_read, .program = chip_program, .erase = chip_erase,
                                      .chip_size = MADE_BLOCKS * MADE_BLOCK, .block_size = MADE_BLOCK, .page_size = MADE_PAGE,
                                      .program_unit = 1, .read_unit = 1, .read_page_us = 4, .program_page_us = 400, .erase_block_us = 45000};
    static struct nf2_config config = {.flash = &driver, .buffer = buffer, .buffer_size = sizeof buffer};

    memcpy(chip, made->bytes, sizeof chip);
    reads = 0;
    call = "nf2_mount";
    return nf2_mount(&fs, &config, NF2_MOUNT_RDWR);
}

/* Makes all calls on the image; `what` says how it was made. */
static void try_calls(struct made *made, const char *what, unsigned a, unsigned b)
{
    made_build(made);
    bounded = true;
    if (setjmp(endless) != 0) {
        CHECK(false);
        printf("  %s, %u and %u: %s does not end\n", what, a, b, call);
    } else if (mount_image(made) == NF2_OK) {
        look_at_all();
        change_all();
        look_at_all();
        CHECK(nf2_unmount(&fs) <= NF2_OK);
    }
    bounded = false;
}

/* ---- images ------------------------------------------------------------------------------------ */

/* Without anything out of order no call fails but those that must: what is counted below is not that. */
TEST(sound)
{
    struct made made;

    made_begin(&made);
    errors = 0;
    try_calls(&made, "sound", 0, 0);
    printf("sound: %lu calls failed, %u reads and programs\n", errors, (unsigned)reads);
    CHECK(reads < READS_MOST / 50u);
    made_end(&made);
}

/* A leaf that has a place twice in the node above it. */
TEST(leaf_twice)
{
    struct made made;

    for (unsigned again = 1; again < 4; again++) {
        made_begin(&made);
        made.again = again;
        try_calls(&made, "second leaf twice", again, 0);
        made_end(&made);
    }
}

/* The second leaf begins with the key of any entry, of the first leaf or of its own. */
TEST(bound_elsewhere)
{
    struct made made;

    made_begin(&made);
    unsigned entries = made.entries;
    made_end(&made);
    for (unsigned i = 1; i < entries; i++) {
        for (unsigned again = 0; again < 2; again++) {
            made_begin(&made);
            made.bound_key = i;
            made.again = again;
            try_calls(&made, "second leaf from another key on", i, again);
            made_end(&made);
        }
    }
}

/* Two entries change places; or one gets the key of another. */
static void with_pairs(bool same_key, bool one_leaf)
{
    struct made made;
    unsigned entries = 2;

    for (unsigned a = 0; a < entries; a++) {
        for (unsigned b = 0; b < entries; b++) {
            made_begin(&made);
            entries = made.entries;
            if (one_leaf) {
                made.level = 0;
                made.root = MADE_LEAF;
            }
            struct made_entry *first = &made.entry[a], *second = &made.entry[b], kept = *first;
            if (same_key) {
                first->id = second->id;
                first->length = second->length;
                memcpy(first->key, second->key, sizeof first->key);
            } else {
                *first = *second;
                *second = kept;
            }
            if (a != b) {
                try_calls(&made, same_key ? "one key of two entries" : "two entries in the other order", a, b);
            }
            made_end(&made);
        }
    }
}

TEST(entries_in_another_order)
{
    with_pairs(false, false);
    with_pairs(false, true);
}

TEST(entries_with_one_key)
{
    with_pairs(true, false);
    with_pairs(true, true);
}

/* A leaf with so many entries in its tail, and behind them a record that removes what lies at a place; false: one of them does. */
static bool make_removal(struct made *made, unsigned entries, uint32_t place)
{
    uint8_t payload[40], kill[2] = {(uint8_t)place, (uint8_t)(place >> 8)};
    bool nothing = true;

    made_begin(made);
    made_build(made);
    nothing = place >= made->end[MADE_LEAF];
    for (unsigned i = 0; i < entries; i++) {
        payload[0] = 0;         /* in front of the others of the tail */
        uint32_t n = 1 + made_key(payload + 1, 1, i == 0 ? "b" : "a", 1);
        memcpy(payload + n, "\2new", 4);
        nothing = made_record(made, MADE_LEAF, 6, false, payload, n + 4) != place && nothing;
    }
    (void)made_record(made, MADE_LEAF, 4, false, kill, sizeof kill);
    return nothing;
}

/* Where nothing is there that is alive, nothing else goes. */
TEST(removals_of_nothing)
{
    struct made made;

    for (unsigned entries = 0; entries < 3; entries++) {
        for (uint32_t place = 0; place < MADE_BLOCK; place += 3) {
            if (make_removal(&made, entries, place)) {
                CHECK_EQ(mount_image(&made), NF2_OK);
                CHECK_EQ(list(""), 5 + (int)entries);
                CHECK_EQ(list("dir"), 2);
                CHECK_EQ(nf2_unmount(&fs), NF2_OK);
            }
            made_end(&made);
        }
    }
}

int main(void)
{
    RUN(removals_of_nothing);
    RUN(sound);
    RUN(leaf_twice);
    RUN(bound_elsewhere);
    RUN(entries_in_another_order);
    RUN(entries_with_one_key);
    return check_done();
}
