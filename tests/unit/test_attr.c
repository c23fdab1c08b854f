/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_attr.c - attributes and times: what nf2fs/attributes.h promises, call by call; and random calls beside a model, of each of which
 * cuts are made: content and attributes are as before or as after, and where the header says that they come one after the other, the
 * content may be new already.
 *
 *   test_attr [--calls N] [--cuts N] [--seed N]
 *       --cuts N        cuts of each call (default 6)
 */
#include <stdio.h>
#include <stdlib.h>

#include "api_volume.h"
#include "calls.h"
#include "check.h"

static unsigned calls = 300, cuts = 6;
static uint64_t seed = 1;
static struct volume volume;
static uint8_t data[20000];
static uint64_t now;

static uint64_t clock_s(void *context)
{
    (void)context;
    return now;
}

static void fill(uint32_t length, uint32_t of)
{
    for (uint32_t i = 0; i < length; i++) {
        data[i] = content_byte(of, i);
    }
}

static int set_one(const char *path, uint8_t id, const void *value, uint8_t length)
{
    const struct nf2_attr one = { id, length, value };

    return nf2_setattr(&volume.fs, path, &one, 1);
}

static bool is(const char *path, uint8_t id, const void *value, uint8_t length)
{
    uint8_t found[256];

    memset(found, 0xA5, sizeof found);
    return nf2_getattr(&volume.fs, path, id, found, sizeof found) == length && memcmp(found, value, length) == 0 && found[length] == 0xA5;
}

static uint64_t time_of(const char *path)
{
    uint8_t found[5];
    uint64_t time = 0;
    int32_t length = nf2_getattr(&volume.fs, path, NF2_ATTR_TIME, found, sizeof found);

    if (length != 5) {
        return length == NF2_ERR_NOENT ? 0 : UINT64_MAX;
    }
    for (unsigned i = 5; i > 0; i--) {
        time = time << 8 | found[i - 1];
    }
    return time;
}

/* ---- call by call -------------------------------------------------------------------------------- */

TEST(set_and_get)
{
    static const char *const paths[] = { "small", "large", "d", "d/a name of more than 24 bytes", "d/another name of more than 24 bytes" };
    uint8_t ids[4], value[256];

    volume_up(&volume, "w25q80");
    CHECK_EQ(nf2_mkdir(&volume.fs, "d"), NF2_OK);
    CHECK_EQ(put(&volume, paths[0], 100, 1), NF2_OK);
    CHECK_EQ(put(&volume, paths[1], 20000, 1), NF2_OK);
    CHECK_EQ(put(&volume, paths[3], 50, 1), NF2_OK);
    CHECK_EQ(nf2_mkdir(&volume.fs, paths[4]), NF2_OK);
    fill(256, 3);
    for (unsigned i = 0; i < 5; i++) {
        const char *path = paths[i];
        CHECK_EQ(nf2_listattr(&volume.fs, path, ids, 4), 0);
        CHECK_EQ(nf2_getattr(&volume.fs, path, 0x20, value, 10), NF2_ERR_NOENT);
        CHECK_EQ(set_one(path, 0x21, "abc", 3), NF2_OK);
        CHECK_EQ(set_one(path, 0x20, "", 0), NF2_OK);
        CHECK_EQ(set_one(path, 0x3F, data, 30), NF2_OK);
        CHECK_EQ(set_one(path, NF2_ATTR_MODE, "\244\1", 2), NF2_OK);
        uint64_t before = chip_changes(volume.flash);
        CHECK_EQ(set_one(path, 0x21, "abc", 3), NF2_OK); /* it is there */
        CHECK_EQ(set_one(path, 0x22, NULL, 0), NF2_OK); /* it is not */
        CHECK_EQ(chip_changes(volume.flash), before);
        CHECK(is(path, 0x21, "abc", 3) && is(path, 0x20, "", 0) && is(path, 0x3F, data, 30));
        CHECK_EQ(nf2_listattr(&volume.fs, path, ids, 4), 4);
        CHECK_MEM(ids, "\x3F\x21\x20\x01", 4);
        ids[2] = 0xA5;
        CHECK_EQ(nf2_listattr(&volume.fs, path, ids, 2), 4);
        CHECK_EQ(nf2_listattr(&volume.fs, path, NULL, 0), 4);
        CHECK_MEM(ids, "\x3F\x21\xA5\x01", 4);
        CHECK_EQ(nf2_getattr(&volume.fs, path, 0x3F, value, 5), 30); /* a part of it */
        CHECK_MEM(value, data, 5);
        CHECK_EQ(nf2_getattr(&volume.fs, path, 0x3F, NULL, 0), 30);
        /* no more than all: 4 of them have 35 bytes, and 8 besides */
        CHECK_EQ(set_one(path, 0x30, data, 255 - 43 - 2 + 1), NF2_ERR_FBIG);
        CHECK_EQ(nf2_listattr(&volume.fs, path, NULL, 0), 4);
        CHECK_EQ(set_one(path, 0x30, data, 255 - 43 - 2), NF2_OK);
        CHECK(is(path, 0x30, data, 210));
        CHECK_EQ(set_one(path, 0x31, "", 0), NF2_ERR_FBIG);
        const struct nf2_attr several[] = { { 0x30, 0, NULL }, { 0x31, 200, data }, { 0x21, 2, "xy" }, { 0x31, 3, "new" } };
        CHECK_EQ(nf2_setattr(&volume.fs, path, several, 4), NF2_ERR_INVAL); /* one of them twice */
        CHECK_EQ(nf2_setattr(&volume.fs, path, several, 3), NF2_OK);
        CHECK_EQ(nf2_setattr(&volume.fs, path, several + 3, 1), NF2_OK);
        CHECK(is(path, 0x31, "new", 3) && is(path, 0x21, "xy", 2) && is(path, NF2_ATTR_MODE, "\244\1", 2));
        CHECK_EQ(nf2_getattr(&volume.fs, path, 0x30, value, 10), NF2_ERR_NOENT);
        CHECK_EQ(volume_again(&volume, i % 2 == 0), NF2_OK);
        CHECK(is(path, 0x31, "new", 3) && is(path, 0x21, "xy", 2) && is(path, NF2_ATTR_MODE, "\244\1", 2));
    }
    CHECK(holds(&volume, paths[0], 100, 1) && holds(&volume, paths[1], 20000, 1) && holds(&volume, paths[3], 50, 1));
    CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
    /* a rename takes them along, and one that replaces keeps its own */
    CHECK_EQ(nf2_rename(&volume.fs, "small", "d/now a name of more than 24 bytes"), NF2_OK);
    CHECK(is("d/now a name of more than 24 bytes", 0x31, "new", 3));
    CHECK_EQ(nf2_rename(&volume.fs, "d/now a name of more than 24 bytes", "large"), NF2_OK);
    CHECK(holds(&volume, "large", 100, 1) && is("large", 0x31, "new", 3));
    CHECK_EQ(set_one("large", 0x31, NULL, 0), NF2_OK);
    CHECK_EQ(put(&volume, "plain", 10, 1), NF2_OK);
    CHECK_EQ(nf2_rename(&volume.fs, "plain", "large"), NF2_OK);
    CHECK_EQ(nf2_listattr(&volume.fs, "large", NULL, 0), 0);
    /* the last one goes: the entry is as it was without any */
    CHECK_EQ(set_one("large", 0x20, "x", 1), NF2_OK);
    CHECK_EQ(set_one("large", 0x20, NULL, 0), NF2_OK);
    CHECK(holds(&volume, "large", 10, 1));
    CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
    volume_down(&volume, true);
}

TEST(errors)
{
    nf2_t *fs = &volume.fs;
    nf2_file_t writer;
    const struct nf2_attr one = { 0x20, 1, "x" }, none = { 0x20, 1, NULL }, two[] = { { 0x20, 1, "y" }, { 0x40, 1, "y" } };
    static const uint8_t refused[] = { 0, 0x02, 0x0F, 0x11, 0x1F, 0x40, NF2_ATTR_CHECKSUM, 0x80, 0xFF };

    volume_up(&volume, "w25q80");
    CHECK_EQ(put(&volume, "f", 100, 1), NF2_OK);
    CHECK_EQ(nf2_setattr(fs, "f", &one, 1), NF2_OK);
    uint64_t before = chip_changes(volume.flash);
    CHECK_EQ(nf2_setattr(fs, "g", &one, 1), NF2_ERR_NOENT);
    CHECK_EQ(nf2_setattr(fs, "/", &one, 1), NF2_ERR_INVAL);
    CHECK_EQ(nf2_setattr(fs, "f/", &one, 1), NF2_ERR_NOTDIR);
    CHECK_EQ(nf2_setattr(fs, NULL, &one, 1), NF2_ERR_INVAL);
    CHECK_EQ(nf2_setattr(fs, "f", NULL, 1), NF2_ERR_INVAL);
    CHECK_EQ(nf2_setattr(fs, "f", NULL, 0), NF2_OK);
    CHECK_EQ(nf2_setattr(fs, "f", &none, 1), NF2_ERR_INVAL);
    CHECK_EQ(nf2_setattr(fs, "f", two, 2), NF2_ERR_INVAL);
    for (unsigned i = 0; i < sizeof refused; i++) {
        CHECK_EQ(set_one("f", refused[i], "x", 1), NF2_ERR_INVAL);
        CHECK_EQ(nf2_getattr(fs, "f", refused[i], data, 1), NF2_ERR_NOENT);
    }
    CHECK_EQ(nf2_getattr(fs, "/", 0x20, data, 1), NF2_ERR_INVAL);
    CHECK_EQ(nf2_getattr(fs, "f", 0x20, NULL, 1), NF2_ERR_INVAL);
    CHECK_EQ(nf2_getattr(fs, NULL, 0x20, data, 1), NF2_ERR_INVAL);
    CHECK_EQ(nf2_listattr(fs, "f", NULL, 1), NF2_ERR_INVAL);
    CHECK_EQ(nf2_listattr(fs, "g", data, 1), NF2_ERR_NOENT);
    CHECK_EQ(nf2_save_attr(fs, "f", data, 300, two, 2), NF2_ERR_INVAL);
    CHECK_EQ(nf2_save_attr(fs, "f", NULL, 1, &one, 1), NF2_ERR_INVAL);
    CHECK_EQ(nf2_sync_attr(fs, NULL, &one, 1), NF2_ERR_BADF);
    CHECK_EQ(nf2_keep_times(fs), NF2_ERR_INVAL);
    CHECK_EQ(chip_changes(volume.flash), before);
    CHECK(is("f", 0x20, "x", 1) && holds(&volume, "f", 100, 1));
    /* what does not fit changes nothing, whatever the content is; a new file is not made */
    const struct nf2_attr large[] = { { 0x21, 200, data }, { 0x22, 60, data } }, fits = { 0x21, 252, data };
    static const uint32_t sizes[] = { 10, 300, 9000 };
    for (unsigned i = 0; i < 3; i++) {
        CHECK_EQ(nf2_save_attr(fs, "f", data, sizes[i], large, 2), NF2_ERR_FBIG);
        CHECK_EQ(nf2_save_attr(fs, "f", data, sizes[i], &fits, 1), NF2_ERR_FBIG); /* beside the one that it has */
        CHECK(is("f", 0x20, "x", 1) && holds(&volume, "f", 100, 1));
        CHECK_EQ(nf2_save_attr(fs, "new", data, sizes[i], large, 2), NF2_ERR_FBIG);
        CHECK_EQ(nf2_save_attr(fs, "a new name of more than 24 bytes", data, sizes[i], large, 2), NF2_ERR_FBIG);
        CHECK_EQ(nf2_stat(fs, "new", &(struct nf2_stat){ 0 }), NF2_ERR_NOENT);
        CHECK_EQ(nf2_stat(fs, "a new name of more than 24 bytes", &(struct nf2_stat){ 0 }), NF2_ERR_NOENT);
    }
    /* handles */
    CHECK_EQ(nf2_open(fs, &writer, "f", NF2_O_WRONLY, volume.page), NF2_OK);
    CHECK_EQ(nf2_setattr(fs, "f", &one, 1), NF2_ERR_BUSY);
    CHECK_EQ(nf2_save_attr(fs, "f", data, 1, &one, 1), NF2_ERR_BUSY);
    CHECK(is("f", 0x20, "x", 1));
    CHECK_EQ(nf2_sync_attr(fs, &writer, two, 2), NF2_ERR_INVAL);
    CHECK_EQ(nf2_sync_attr(fs, &writer, &(struct nf2_attr){ 0x20, 1, "z" }, 1), NF2_OK);
    CHECK(is("f", 0x20, "z", 1));
    CHECK_EQ(nf2_write(fs, &writer, "new", 3), 3);
    CHECK_EQ(nf2_sync_attr(fs, &writer, large, 2), NF2_ERR_FBIG);
    CHECK(holds(&volume, "f", 100, 1)); /* not synced, and not lost */
    CHECK_EQ(nf2_close(fs, &writer), NF2_OK);
    CHECK(is("f", 0x20, "z", 1) && !holds(&volume, "f", 100, 1));
    CHECK_EQ(nf2_sync_attr(fs, &writer, &one, 1), NF2_ERR_BADF);
    CHECK_EQ(nf2_open(fs, &writer, "f", NF2_O_RDONLY, NULL), NF2_OK);
    CHECK_EQ(nf2_sync_attr(fs, &writer, &one, 1), NF2_ERR_BADF);
    CHECK_EQ(nf2_setattr(fs, "f", &one, 1), NF2_OK);
    CHECK_EQ(nf2_read(fs, &writer, data, 3), 3);
    CHECK_MEM(data, "new", 3);
    CHECK_EQ(nf2_close(fs, &writer), NF2_OK);
    CHECK_EQ(nf2_open(fs, &writer, "made", NF2_O_WRONLY | NF2_O_CREAT, volume.page), NF2_OK);
    CHECK_EQ(nf2_setattr(fs, "made", &one, 1), NF2_ERR_BUSY);
    CHECK_EQ(nf2_listattr(fs, "made", NULL, 0), 0);
    CHECK_EQ(nf2_sync_attr(fs, &writer, &one, 1), NF2_OK); /* it is there with its first sync */
    CHECK_EQ(nf2_discard(fs, &writer), NF2_OK);
    CHECK(is("made", 0x20, "x", 1) && holds(&volume, "made", 0, 0));
    /* mounted for reading only */
    CHECK_EQ(nf2_unmount(fs), NF2_OK);
    CHECK_EQ(nf2_setattr(fs, "f", &one, 1), NF2_ERR_INVAL);
    CHECK_EQ(nf2_getattr(fs, "f", 0x20, data, 1), NF2_ERR_INVAL);
    volume.config.time_s = clock_s;
    CHECK_EQ(nf2_mount_rdonly(fs, &volume.config), NF2_OK);
    CHECK_EQ(nf2_setattr(fs, "f", &one, 1), NF2_ERR_ROFS);
    CHECK_EQ(nf2_save_attr(fs, "f", data, 1, &one, 1), NF2_ERR_ROFS);
    CHECK_EQ(nf2_keep_times(fs), NF2_ERR_ROFS);
    CHECK(is("f", 0x20, "x", 1));
    volume_down(&volume, true);
}

/* Content and attributes are one program. */
TEST(programs)
{
    unsigned one = 0;

    volume_up(&volume, "w25q80");
    CHECK_EQ(put(&volume, "other", 10, 1), NF2_OK);
    for (unsigned i = 0; i < 100; i++) {
        const struct nf2_attr list[] = { { 0x20, 10, data }, { 0x21, 1, &(uint8_t){ (uint8_t)i } } };
        fill(60, i);
        uint64_t before = chip_changes(volume.flash);
        CHECK_EQ(nf2_save_attr(&volume.fs, "f", data, 60, list, 2), NF2_OK);
        one += chip_changes(volume.flash) - before == 1;
        before = chip_changes(volume.flash);
        CHECK_EQ(nf2_save_attr(&volume.fs, "f", data, 60, list, 2), NF2_OK); /* all of it is there */
        CHECK_EQ(chip_changes(volume.flash), before);
    }
    CHECK(one >= 75);
    volume_down(&volume, true);
}

/* ---- times --------------------------------------------------------------------------------------- */

static void times_up(void)
{
    volume_up(&volume, "w25q80");
    volume.config.time_s = clock_s;
    now = 1000;
    CHECK_EQ(nf2_keep_times(&volume.fs), NF2_OK);
}

TEST(times_of_small_files)
{
    nf2_file_t file;
    unsigned one = 0;

    times_up();
    CHECK_EQ(put(&volume, "f", 100, 1), NF2_OK);
    CHECK_EQ(time_of("f"), 1000);
    for (unsigned i = 0; i < 100; i++) {
        now++;
        uint64_t before = chip_changes(volume.flash);
        CHECK_EQ(put(&volume, "f", 100, i), NF2_OK);
        one += chip_changes(volume.flash) - before == 1;
        CHECK_EQ(time_of("f"), now);
    }
    CHECK(one >= 75);           /* with its time */
    now = 5000;
    fill(100, 99);
    CHECK_EQ(nf2_save(&volume.fs, "f", data, 100), NF2_OK); /* it is that already */
    CHECK_EQ(time_of("f"), 1100);
    fill(100, 98);
    CHECK_EQ(nf2_save(&volume.fs, "f", data, 100), NF2_OK);
    CHECK_EQ(time_of("f"), 5000);
    now = (1ull << 40) - 1;
    CHECK_EQ(nf2_open(&volume.fs, &file, "f", NF2_O_RDWR, volume.page), NF2_OK);
    CHECK_EQ(nf2_close(&volume.fs, &file), NF2_OK); /* nothing was written */
    CHECK_EQ(time_of("f"), 5000);
    CHECK_EQ(nf2_open(&volume.fs, &file, "f", NF2_O_RDWR, volume.page), NF2_OK);
    CHECK_EQ(nf2_write(&volume.fs, &file, "x", 1), 1);
    CHECK_EQ(nf2_discard(&volume.fs, &file), NF2_OK);
    CHECK_EQ(time_of("f"), 5000);
    CHECK_EQ(put(&volume, "f", 100, 7), NF2_OK);
    CHECK_EQ(time_of("f"), now);
    /* not known: none */
    static const uint64_t unknown[] = { 0, 1ull << 40, UINT64_MAX };
    for (unsigned i = 0; i < 3; i++) {
        now = unknown[i];
        CHECK_EQ(put(&volume, "f", 100, 20 + i), NF2_OK);
        CHECK_EQ(time_of("f"), 0);
        now = 7000;
        CHECK_EQ(put(&volume, "f", 100, 30 + i), NF2_OK);
        CHECK_EQ(time_of("f"), 7000);
    }
    /* one that is given goes before the clock's */
    CHECK_EQ(nf2_save_attr(&volume.fs, "f", data, 50, &(struct nf2_attr){ NF2_ATTR_TIME, 5, "\1\0\0\0\0" }, 1), NF2_OK);
    CHECK_EQ(time_of("f"), 1);
    CHECK_EQ(nf2_save_attr(&volume.fs, "f", data, 51, &(struct nf2_attr){ 0x20, 1, "x" }, 1), NF2_OK);
    CHECK_EQ(time_of("f"), 7000);
    CHECK(is("f", 0x20, "x", 1));
    /* a mount without them, and a program that keeps none */
    CHECK_EQ(volume_again(&volume, true), NF2_OK);
    CHECK_EQ(time_of("f"), 7000);
    CHECK_EQ(put(&volume, "f", 100, 40), NF2_OK);
    CHECK_EQ(time_of("f"), 0);  /* void */
    CHECK_EQ(nf2_listattr(&volume.fs, "f", data, 5), 1);
    CHECK(is("f", 0x20, "x", 1) && holds(&volume, "f", 100, 40));
    CHECK_EQ(set_one("f", 0x21, "y", 1), NF2_OK); /* what is void is not brought back by a change */
    CHECK_EQ(time_of("f"), 0);
    CHECK_EQ(put(&volume, "f", 0, 40), NF2_OK);
    CHECK(is("f", 0x20, "x", 1) && is("f", 0x21, "y", 1) && holds(&volume, "f", 0, 0));
    CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
    volume_down(&volume, true);
}

TEST(times_of_large_files)
{
    nf2_file_t file;

    times_up();
    CHECK_EQ(put(&volume, "f", 1000, 1), NF2_OK); /* pieces */
    CHECK_EQ(time_of("f"), 1000);
    now = 2000;
    fill(20000, 2);
    CHECK_EQ(nf2_save(&volume.fs, "a name of more than 24 bytes", data, 20000), NF2_OK);
    CHECK_EQ(time_of("a name of more than 24 bytes"), 2000);
    now = 3000;
    CHECK_EQ(nf2_save(&volume.fs, "a name of more than 24 bytes", data, 30), NF2_OK);
    CHECK_EQ(time_of("a name of more than 24 bytes"), 3000);
    /* appends that are frames, and updates of a map: the time comes with the close */
    CHECK_EQ(nf2_open(&volume.fs, &file, "f", NF2_O_WRONLY | NF2_O_APPEND, volume.page), NF2_OK);
    for (unsigned i = 0; i < 10; i++) {
        now = 4000 + i;
        uint64_t before = chip_changes(volume.flash);
        CHECK_EQ(nf2_write(&volume.fs, &file, "line\n", 5), 5);
        CHECK_EQ(nf2_sync(&volume.fs, &file), NF2_OK);
        CHECK(i < 2 || chip_changes(volume.flash) - before == 1); /* as without times */
    }
    uint64_t before = chip_changes(volume.flash);
    now = 5000;
    CHECK_EQ(nf2_close(&volume.fs, &file), NF2_OK);
    CHECK_EQ(chip_changes(volume.flash) - before, 1);
    CHECK_EQ(time_of("f"), 5000);
    CHECK_EQ(nf2_open(&volume.fs, &file, "f", NF2_O_WRONLY, volume.page), NF2_OK);
    for (unsigned i = 0; i < 12; i++) {
        CHECK_EQ(nf2_seek(&volume.fs, &file, (int32_t)(i * 5 % 12 * 300), NF2_SEEK_SET), (int32_t)(i * 5 % 12 * 300));
        CHECK_EQ(nf2_write(&volume.fs, &file, data, 200), 200);
        CHECK_EQ(nf2_sync(&volume.fs, &file), NF2_OK);
    }
    now = 6000;
    CHECK_EQ(nf2_close(&volume.fs, &file), NF2_OK);
    CHECK_EQ(time_of("f"), 6000);
    CHECK_EQ(nf2_open(&volume.fs, &file, "f", NF2_O_WRONLY | NF2_O_SYNC, volume.page), NF2_OK);
    now = 7000;
    CHECK_EQ(nf2_write(&volume.fs, &file, data, 300), 300);
    now = 8000;
    CHECK_EQ(nf2_close(&volume.fs, &file), NF2_OK);
    CHECK_EQ(time_of("f"), 8000);
    /* attributes of a handle, with content of each form */
    static const uint32_t sizes[] = { 20, 213 - 7 - 3, 213 - 7 - 2, 1000, 20000 };
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        now = 9000 + i;
        CHECK_EQ(nf2_open(&volume.fs, &file, "g", NF2_O_WRONLY | NF2_O_CREAT | NF2_O_TRUNC, volume.page), NF2_OK);
        fill(sizes[i], i);
        CHECK_EQ(nf2_write(&volume.fs, &file, data, sizes[i]), (int32_t)sizes[i]);
        CHECK_EQ(nf2_sync_attr(&volume.fs, &file, &(struct nf2_attr){ 0x20, 1, &(uint8_t){ (uint8_t)i } }, 1), NF2_OK);
        CHECK(is("g", 0x20, &(uint8_t){ (uint8_t)i }, 1));
        CHECK_EQ(time_of("g"), now);
        CHECK(holds(&volume, "g", sizes[i], i));
        CHECK_EQ(nf2_close(&volume.fs, &file), NF2_OK);
    }
    CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
    volume_down(&volume, true);
}

/* A volume is full: content that was accepted stays, with its time or without. */
TEST(full)
{
    char path[32];

    volume_up(&volume, "tiny256k");
    volume.config.time_s = clock_s;
    now = 100;
    CHECK_EQ(nf2_keep_times(&volume.fs), NF2_OK);
    unsigned made = 0, refused = 0;
    for (unsigned i = 0; i < 3000 && refused < 20; i++) {
        (void)snprintf(path, sizeof path, "file%u", i);
        fill(40, i);
        int answer = i % 4 == 3 ? set_one("file0", 0x20, &i, 4)
                     : nf2_save_attr(&volume.fs, path, data, i % 5 == 0 ? 3000 : 40, &(struct nf2_attr){ 0x20, 4, &i }, 1);
        CHECK(answer == NF2_OK || answer == NF2_ERR_NOSPC);
        refused += answer == NF2_ERR_NOSPC;
        made += answer == NF2_OK && i % 4 != 3;
        if (answer == NF2_OK && i % 4 != 3) {
            CHECK(is(path, 0x20, &i, 4));
            CHECK_EQ(time_of(path), 100);
        }
    }
    CHECK(refused == 20 && made > 30);
    CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
    for (unsigned i = 0; i < 3000; i++) { /* all of it can be removed */
        (void)snprintf(path, sizeof path, "file%u", i);
        int answer = nf2_remove(&volume.fs, path);
        CHECK(answer == NF2_OK || answer == NF2_ERR_NOENT);
    }
    volume_down(&volume, true);
}

/* ---- beside a model, with cuts ------------------------------------------------------------------- */

#define NAMES 6u
#define GIVEN 3u

static const char *const names[NAMES] = {
    "a", "d/just 23 bytes of name!!", "d/a name that has more than 24 bytes", "another one that has more than 24 bytes", "b", "d"
};
#define FOLDER 5u
static const uint8_t ids[] = { 0x3F, 0x21, 0x20, 0x01 };
#define IDS ((unsigned)sizeof ids)

struct known {
    bool there;
    uint32_t size, seed;
    uint8_t length[IDS];        /* of attributes, and one more; 0: it is not there */
    uint8_t value[IDS][250];
};

struct world {
    struct known file[NAMES];
};

enum kind { SET, SAVE, SAVE_PLAIN, WRITE, APPEND, RENAME, REMOVE, MAINTAIN, AGAIN, KINDS };

struct action {
    enum kind kind;
    unsigned name, other;
    uint32_t size, seed;
    unsigned count;
    struct nf2_attr given[GIVEN];
    uint8_t value[GIVEN][250];
};

static void choose(struct action *action, const struct world *world)
{
    static const uint32_t sizes[] = { 0, 5, 60, 150, 213, 215, 300, 5000 };
    static const uint8_t lengths[] = { 0, 1, 8, 30, 100, 240 };

    memset(action, 0, sizeof *action);
    action->kind = (enum kind)random_number(&seed, KINDS);
    action->name = random_number(&seed, action->kind == SET ? NAMES : FOLDER);
    action->other = random_number(&seed, FOLDER);
    action->size = sizes[random_number(&seed, 8)];
    action->seed = random_number(&seed, 100000);
    if (action->kind == APPEND && world->file[action->name].size > 12000) {
        action->kind = WRITE;
    }
    bool gives = action->kind == SET || action->kind == SAVE || action->kind == WRITE || action->kind == APPEND;
    action->count = gives ? 1 + random_number(&seed, GIVEN) : 0;
    for (unsigned i = 0; i < action->count; i++) {
        struct nf2_attr *attr = &action->given[i];
        attr->id = ids[(action->seed + i) % IDS];
        attr->length = lengths[random_number(&seed, 6)];
        for (unsigned j = 0; j < attr->length; j++) {
            action->value[i][j] = content_byte(action->seed + i, j);
        }
        attr->data = random_number(&seed, 4) == 0 ? NULL : action->value[i];
        attr->length = attr->data == NULL ? 0 : attr->length;
    }
}

static int write_file(const struct action *action, const struct known *known)
{
    nf2_file_t file;
    int flags = NF2_O_WRONLY | NF2_O_CREAT | (action->kind == APPEND ? NF2_O_APPEND : NF2_O_TRUNC);
    uint32_t from = action->kind == APPEND ? known->size : 0;
    int status = nf2_open(&volume.fs, &file, names[action->name], flags, volume.page);

    if (status == NF2_OK) {
        for (uint32_t i = 0; i < action->size; i++) {
            data[i] = content_byte(action->kind == APPEND ? known->seed : action->seed, from + i);
        }
        int32_t written = nf2_write(&volume.fs, &file, data, action->size);
        status = written < 0 ? (int)written : nf2_sync_attr(&volume.fs, &file, action->given, action->count);
        int closed = status == NF2_OK ? nf2_close(&volume.fs, &file) : nf2_discard(&volume.fs, &file);
        status = status == NF2_OK ? closed : status;
    }
    return status;
}

static int perform(const struct action *action, const struct world *world)
{
    const char *path = names[action->name];

    switch (action->kind) {
    case SET: return nf2_setattr(&volume.fs, path, action->given, action->count);
    case SAVE: fill(action->size, action->seed); return nf2_save_attr(&volume.fs, path, data, action->size, action->given, action->count);
    case SAVE_PLAIN: fill(action->size, action->seed); return nf2_save(&volume.fs, path, data, action->size);
    case WRITE: case APPEND: return write_file(action, &world->file[action->name]);
    case RENAME: return nf2_rename(&volume.fs, path, names[action->other]);
    case REMOVE: return nf2_remove(&volume.fs, path);
    case MAINTAIN: return nf2_maintain(&volume.fs, 500000) < 0 ? NF2_ERR_IO : NF2_OK;
    default: return volume_again(&volume, action->seed % 2 == 0);
    }
}

static uint32_t bytes_of(const struct known *known)
{
    uint32_t bytes = 0;

    for (unsigned i = 0; i < IDS; i++) {
        bytes += known->length[i] > 0 ? 1u + known->length[i] : 0;
    }
    return bytes;
}

static void give(struct known *known, const struct action *action)
{
    for (unsigned i = 0; i < action->count; i++) {
        unsigned at = (unsigned)((const uint8_t *)memchr(ids, action->given[i].id, IDS) - ids);
        known->length[at] = action->given[i].data == NULL ? 0 : (uint8_t)(action->given[i].length + 1);
        memcpy(known->value[at], action->value[i], action->given[i].length);
    }
}

/* A handle makes a long name at once, empty. */
static void made_empty(const struct action *action, struct world *world)
{
    struct known *known = &world->file[action->name];

    if ((action->kind == WRITE || action->kind == APPEND) && !known->there && strlen(names[action->name]) > 25) {
        memset(known, 0, sizeof *known);
        known->there = true;
    }
}

/* What the action answers; `after` has what it makes, `middle` what a cut may leave of it besides. */
static int expect(const struct action *action, const struct world *world, struct world *after, struct world *middle)
{
    struct known *known = &after->file[action->name];

    *after = *middle = *world;
    switch (action->kind) {
    case SET:
        if (!known->there) {
            return NF2_ERR_NOENT;
        }
        give(known, action);
        break;
    case SAVE: case WRITE: case SAVE_PLAIN: case APPEND:
        known->size = action->size + (action->kind == APPEND ? known->size : 0);
        known->seed = action->kind == APPEND && known->there ? known->seed : action->seed;
        if (action->kind == APPEND && !world->file[action->name].there) {
            known->seed = world->file[action->name].seed;
        }
        known->there = true;
        *middle = *after;
        give(known, action);
        if (bytes_of(known) > 255) {
            break;
        }
        if (strlen(names[action->name]) - (names[action->name][1] == '/' ? 2 : 0) <= 23 && action->kind == SAVE && bytes_of(known) > 0 &&
            known->size + bytes_of(known) <= NF2_ATTR_INLINE) {
            *middle = *world;   /* all or nothing */
        }
        break;
    case RENAME:
        if (!known->there) {
            return NF2_ERR_NOENT;
        }
        if (action->other != action->name) {
            after->file[action->other] = *known;
            memset(known, 0, sizeof *known);
        }
        break;
    case REMOVE:
        if (!known->there) {
            return NF2_ERR_NOENT;
        }
        memset(known, 0, sizeof *known);
        break;
    default:
        break;
    }
    if (bytes_of(known) > 255) {
        *after = *middle = *world;
        made_empty(action, after);
        return NF2_ERR_FBIG;
    }
    return NF2_OK;
}

static bool is_so(const struct world *world)
{
    for (unsigned i = 0; i < NAMES; i++) {
        const struct known *known = &world->file[i];
        struct nf2_stat stat;
        unsigned count = 0;
        if (nf2_stat(&volume.fs, names[i], &stat) != (known->there ? NF2_OK : NF2_ERR_NOENT)) {
            return false;
        }
        if (!known->there) {
            continue;
        }
        if (i != FOLDER && (stat.size != known->size || !holds(&volume, names[i], known->size, known->seed))) {
            return false;
        }
        for (unsigned j = 0; j < IDS; j++) {
            bool right = known->length[j] == 0 ? nf2_getattr(&volume.fs, names[i], ids[j], NULL, 0) == NF2_ERR_NOENT
                         : is(names[i], ids[j], known->value[j], (uint8_t)(known->length[j] - 1));
            if (!right) {
                return false;
            }
            count += known->length[j] > 0;
        }
        if (nf2_listattr(&volume.fs, names[i], NULL, 0) != (int)count) {
            return false;
        }
    }
    return true;
}

static struct { unsigned old, middle, new; } left;

/* One cut of the action, and what is there behind it. */
static void cut_once(const struct action *action, const struct world *world, const struct world *after, const struct world *middle, uint64_t operations)
{
    struct vflash_cut cut = { .operation = 1 + random_number(&seed, (uint32_t)operations), .seed = seed, .erase = (enum vflash_erase_cut)random_number(&seed, 5) };

    cut.byte = random_number(&seed, 3) == 0 ? UINT32_MAX : random_number(&seed, 256);
    cut.last_byte_mask = (uint8_t)random_number(&seed, 256);
    cut.shuffle = random_number(&seed, 3) == 0;
    vflash_cut_at(volume.flash, &cut);
    (void)perform(action, world);
    vflash_cut_at(volume.flash, NULL);
    vflash_power_on(volume.flash);
    CHECK_EQ(volume_again(&volume, false), NF2_OK);
    static struct world empty;
    empty = *world;
    made_empty(action, &empty);
    for (unsigned look = 0; look < 2; look++) { /* as it is read, and when it is settled */
        bool old = is_so(world) || is_so(&empty), new = is_so(after), between = is_so(middle);
        if (!CHECK(old || new || between)) {
            printf("seed of the cut: operation %u of %u, action %d of %s\n", (unsigned)cut.operation, (unsigned)operations, (int)action->kind, names[action->name]);
        }
        left.old += old;
        left.new += !old && new;
        left.middle += !old && !new && between;
        CHECK_EQ(maintain_all(&volume), 0);
        CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
    }
}

static void random_calls(const char *chip)
{
    static struct world world, after, middle;
    struct action action;

    memset(&world, 0, sizeof world);
    world.file[FOLDER].there = true;
    volume_up(&volume, chip);
    CHECK_EQ(nf2_mkdir(&volume.fs, "d"), NF2_OK);
    uint8_t *buffer = malloc(volume.config.buffer_size);
    for (unsigned i = 0; i < calls; i++) {
        choose(&action, &world);
        int answer = expect(&action, &world, &after, &middle);
        struct vflash_checkpoint *start = vflash_save(volume.flash);
        nf2_t fs = volume.fs;
        memcpy(buffer, volume.config.buffer, volume.config.buffer_size);
        vflash_cut_at(volume.flash, NULL);
        CHECK_EQ(perform(&action, &world), answer);
        uint64_t operations = vflash_operations(volume.flash);
        if (!CHECK(is_so(&after))) {
            printf("call %u: %d of %s\n", i, (int)action.kind, names[action.name]);
            vflash_release(start);
            break;
        }
        for (unsigned j = 0; j < cuts && operations > 0; j++) {
            vflash_restore(volume.flash, start);
            volume.fs = fs;
            memcpy(volume.config.buffer, buffer, volume.config.buffer_size);
            cut_once(&action, &world, &after, &middle, operations);
        }
        vflash_restore(volume.flash, start);
        volume.fs = fs;
        memcpy(volume.config.buffer, buffer, volume.config.buffer_size);
        vflash_release(start);
        vflash_cut_at(volume.flash, NULL);
        CHECK_EQ(perform(&action, &world), answer);
        world = after;
    }
    CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
    free(buffer);
    volume_down(&volume, true);
}

TEST(cuts)
{
    random_calls("tiny256k");
    random_calls("tinyecc16");
    random_calls("tiny512");
    printf("cuts: %u left the old state, %u the new one, %u new content without its attributes\n", left.old, left.new, left.middle);
    CHECK(left.old > 100 && left.new > 50 && left.middle > 5);
}

int main(int count, char **arguments)
{
    for (int i = 1; i + 1 < count; i += 2) {
        unsigned long long value = strtoull(arguments[i + 1], NULL, 10);
        if (strcmp(arguments[i], "--calls") == 0) {
            calls = (unsigned)value;
        } else if (strcmp(arguments[i], "--cuts") == 0) {
            cuts = (unsigned)value;
        } else if (strcmp(arguments[i], "--seed") == 0) {
            seed = value;
        }
    }
    RUN(set_and_get);
    RUN(errors);
    RUN(programs);
    RUN(times_of_small_files);
    RUN(times_of_large_files);
    RUN(full);
    RUN(cuts);
    return check_done();
}
