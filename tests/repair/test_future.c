/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_future.c - images of volumes that a newer library made, built by hand: what this one does not know it refuses, keeps, or
 * stops at, as FORMAT.md says.
 */
#include <stdlib.h>
#include <string.h>

#include "api_volume.h"
#include "check.h"
#include "made.h"

static const struct repair_geometry geometry = {MADE_BLOCKS * MADE_BLOCK, MADE_BLOCK, 1};

/* A chip with the image. */
static void put_on_chip(struct volume *volume, const struct made *made)
{
    volume_new(volume, "tiny256k");
    memcpy(vflash_memory(volume->flash), made->bytes, MADE_BLOCKS * MADE_BLOCK);
}

/* The image is built, and mounted for writing. */
static int mounted(struct volume *volume, struct made *made)
{
    made_build(made);
    put_on_chip(volume, made);
    return nf2_mount(&volume->fs, &volume->config, NF2_MOUNT_RDWR);
}

/* Writes, and idle work, until a call fails: its error, or 0. */
static int use(struct volume *volume)
{
    for (uint32_t i = 0; i < 400; i++) {
        int status = put(volume, "new", 100 + i % 7 * 300, i);
        status = status == NF2_OK ? nf2_maintain(&volume->fs, 1000000) : status;
        if (status < 0) {
            return status;
        }
    }
    return NF2_OK;
}

/* What is in `inline` of each image. */
static bool reads(struct volume *volume)
{
    uint8_t data[8];
    int status = nf2_open(&volume->fs, &volume->file, "/inline", NF2_O_RDONLY, NULL);
    int32_t read = status == NF2_OK ? nf2_read(&volume->fs, &volume->file, data, sizeof data) : status;

    (void)nf2_close(&volume->fs, &volume->file);
    return read == 5 && memcmp(data, "hello", 5) == 0;
}

TEST(nothing_new)
{
    struct made made;
    struct volume volume;

    made_begin(&made);
    CHECK_EQ(mounted(&volume, &made), NF2_OK);
    CHECK(reads(&volume));
    CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
    CHECK_EQ(use(&volume), NF2_OK);
    volume_down(&volume, true);
    made_end(&made);
}

/* ---- first bytes of bodies ----------------------------------------------------------------------- */

static bool without_blocks(unsigned kind)
{
    return kind == 1 || kind == 2 || kind == 4 || kind == 11 || kind == 13 || kind == 14 || (kind >= 0x20 && kind <= 0x3F);
}

/* The walk stops, nothing is programmed or erased any more, and what was there before can be read. */
static void expect_no_writes(struct volume *volume)
{
    CHECK_EQ(use(volume), NF2_ERR_VERSION);
    uint64_t changes = chip_changes(volume->flash);
    CHECK(one_of(put(volume, "later", 10, 1), NF2_ERR_ROFS, NF2_ERR_VERSION, NF2_ERR_VERSION));
    CHECK(one_of(nf2_mkdir(&volume->fs, "more"), NF2_ERR_ROFS, NF2_ERR_VERSION, NF2_ERR_VERSION));
    CHECK(one_of(nf2_remove(&volume->fs, "inline"), NF2_ERR_ROFS, NF2_ERR_VERSION, NF2_ERR_VERSION));
    CHECK_EQ(nf2_maintain(&volume->fs, 1000000), 0);
    CHECK(reads(volume));
    CHECK_EQ(nf2_unmount(&volume->fs), NF2_ERR_ROFS);
    CHECK_EQ(chip_changes(volume->flash), changes);
    CHECK_EQ(nf2_mount(&volume->fs, &volume->config, NF2_MOUNT_RDONLY), NF2_OK);
    CHECK(reads(volume));
}

/* An entry of this form, as a name or of an id that nothing of this library leads to. */
static void look_at_kind(uint32_t id, const void *key, uint8_t length, unsigned kind)
{
    const uint8_t body[12] = {(uint8_t)kind, MADE_DATA, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1};
    struct made made;
    struct volume volume;
    unsigned long wrong = check_state.failures;

    made_begin(&made);
    (void)made_add(&made, id, key, length, body, sizeof body);
    CHECK_EQ(mounted(&volume, &made), NF2_OK);
    if (without_blocks(kind)) {
        CHECK_EQ(use(&volume), NF2_OK);
        CHECK(reads(&volume));
        CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
        CHECK_EQ(nf2_unmount(&volume.fs), NF2_OK);
    } else {
        expect_no_writes(&volume);
    }
    if (check_state.failures != wrong) {
        printf("  kind %u of id %u\n", kind, id);
    }
    volume_down(&volume, true);
    made_end(&made);
}

TEST(kinds_of_bodies)
{
    for (unsigned kind = 0; kind < 256; kind++) {
        if (kind != 3 && kind != 5 && (kind < 8 || kind > 10)) {
            look_at_kind(1, "odd", 3, kind);
            look_at_kind(9, "\0\0\0\7", 4, kind);
        }
    }
}

/* A piece of a kind that is not known, in a list and in a map. */
TEST(kinds_of_pieces)
{
    static const uint8_t list[] = {3, 8, MADE_DATA, 0, 0, 0, 0, 5, 0x42, MADE_DATA, 0, 0, 0, 2, 5, 0, 1, 2, 3, 4};
    struct made made;
    struct volume volume;
    uint32_t size;

    made_begin(&made);
    (void)made_name(&made, 1, "newer", list, sizeof list);
    CHECK_EQ(mounted(&volume, &made), NF2_OK);
    expect_no_writes(&volume);
    CHECK_EQ(size_of(&volume, "newer", &size), NF2_ERR_VERSION);
    volume_down(&volume, true);
    made_end(&made);

    made_begin(&made);
    made_piece(&made, 3, 5096, MADE_DATA + 3, 2048, 100)->body[0] = 0x62;
    CHECK_EQ(mounted(&volume, &made), NF2_OK);
    CHECK_EQ(size_of(&volume, "map", &size), NF2_ERR_VERSION);
    CHECK_EQ(use(&volume), NF2_ERR_VERSION);
    volume_down(&volume, true);
    made_end(&made);
}

/* The checker names what it does not know, and does not take it for free blocks. */
TEST(kinds_in_the_checker)
{
    struct made made;

    made_begin(&made);
    (void)made_name(&made, 1, "newer", "\x42\x08\0\0\0\2\5\0\1\2\3\4", 12);
    made_build(&made);
    struct repair *repair = repair_open(made.bytes, &geometry);
    CHECK(repair != NULL);
    CHECK_EQ(repair_wrong(repair), 1);
    CHECK_EQ(repair_finding(repair, 0)->kind, REPAIR_ENTRY);
    repair_close(repair);
    made_end(&made);
}

int main(void)
{
    RUN(nothing_new);
    RUN(kinds_of_bodies);
    RUN(kinds_of_pieces);
    RUN(kinds_in_the_checker);
    return check_done();
}
