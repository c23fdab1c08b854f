/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_refused.c - a write that a full volume refuses, and what becomes of the file: its old content stays until the
 * caller has written what was meant, or has said that what was accepted is enough.
 */
#include "api_volume.h"
#include "check.h"

#define SETTINGS 8000u          /* bytes of the file that is saved in place */
#define PART 1000u

static uint8_t data[SETTINGS];

/* A volume with settings, on which nothing more fits; "rest" fills it, and may be removed. */
static void begin(struct volume *volume, const char *chip)
{
    int32_t written;

    volume_up(volume, chip);
    CHECK_EQ(put(volume, "settings", SETTINGS, 1), NF2_OK);
    CHECK_EQ(put(volume, "small", 40, 3), NF2_OK);
    CHECK_EQ(nf2_open(&volume->fs, &volume->file, "rest", NF2_O_WRONLY | NF2_O_CREAT | NF2_O_APPEND, volume->page), NF2_OK);
    do {
        written = nf2_write(&volume->fs, &volume->file, data, 200);
    } while (written > 0);
    CHECK_EQ(written, NF2_ERR_NOSPC);
    CHECK_EQ(nf2_write(&volume->fs, &volume->file, NULL, 0), 0); /* what was accepted is enough */
    CHECK_EQ(nf2_close(&volume->fs, &volume->file), NF2_OK);
    for (uint32_t i = 0; i < SETTINGS; i++) {
        data[i] = content_byte(2, i);
    }
}

static void end(struct volume *volume)
{
    CHECK_EQ(nf2_check(&volume->fs, NULL, NULL), 0);
    volume_down(volume, true);
}

static int open_settings(struct volume *volume, const char *path, int flags)
{
    return nf2_open(&volume->fs, &volume->file, path, NF2_O_RDWR | NF2_O_CREAT | flags, volume->page);
}

/* Writes the new settings in parts, from `from` on: the first part that is not taken. */
static uint32_t write_parts(struct volume *volume, uint32_t from)
{
    int32_t written = (int32_t)PART;

    while (from < SETTINGS && (written = nf2_write(&volume->fs, &volume->file, data + from, PART)) > 0) {
        from += PART;
    }
    CHECK_EQ(written, from < SETTINGS ? NF2_ERR_NOSPC : (int32_t)PART);
    return from;
}

/* As firmware saves its settings: open, write, close, whatever the write said. */
static int save(struct volume *volume, const char *path, int flags)
{
    CHECK_EQ(open_settings(volume, path, flags), NF2_OK);
    CHECK(write_parts(volume, 0) < SETTINGS);
    return nf2_close(&volume->fs, &volume->file);
}

static const char *const chips[] = {"tiny256k", "tiny512", "tinyecc16"};

#define EACH_CHIP(i) for (unsigned i = 0; i < sizeof chips / sizeof chips[0]; i++)

/* The close says that it was refused, and the old settings are there, also after a remount. */
TEST(save_in_place)
{
    EACH_CHIP(i) {
        struct volume volume;
        begin(&volume, chips[i]);
        for (unsigned round = 0; round < 3; round++) {
            CHECK_EQ(save(&volume, "settings", NF2_O_TRUNC), NF2_ERR_NOSPC);
            CHECK(holds(&volume, "settings", SETTINGS, 1));
            CHECK_EQ(save(&volume, "settings", 0), NF2_ERR_NOSPC);      /* over the old ones */
            CHECK(holds(&volume, "settings", SETTINGS, 1));
            CHECK_EQ(save(&volume, "small", NF2_O_TRUNC), NF2_ERR_NOSPC);
            CHECK(holds(&volume, "small", 40, 3));
            CHECK_EQ(save(&volume, "settings", NF2_O_APPEND), NF2_ERR_NOSPC);
            CHECK(holds(&volume, "settings", SETTINGS, 1));
            CHECK_EQ(volume_again(&volume, round == 1), NF2_OK);
            CHECK(holds(&volume, "settings", SETTINGS, 1) && holds(&volume, "small", 40, 3));
        }
        end(&volume);
    }
}

/* A new file whose content was refused is not there. */
TEST(new_file)
{
    EACH_CHIP(i) {
        struct volume volume;
        begin(&volume, chips[i]);
        CHECK_EQ(save(&volume, "new", 0), NF2_ERR_NOSPC);
        CHECK_EQ(size_of(&volume, "new", NULL), NF2_ERR_NOENT);
        CHECK_EQ(volume_again(&volume, false), NF2_OK);
        CHECK_EQ(size_of(&volume, "new", NULL), NF2_ERR_NOENT);
        end(&volume);
    }
}

/* A sync says the same, as often as it is asked; reading shows what was accepted. */
TEST(sync_says_so)
{
    EACH_CHIP(i) {
        struct volume volume;
        uint8_t found[PART];
        begin(&volume, chips[i]);
        CHECK_EQ(open_settings(&volume, "settings", NF2_O_TRUNC), NF2_OK);
        uint32_t taken = write_parts(&volume, 0);
        CHECK_EQ(nf2_sync(&volume.fs, &volume.file), NF2_ERR_NOSPC);
        CHECK_EQ(nf2_sync(&volume.fs, &volume.file), NF2_ERR_NOSPC);
        CHECK_EQ(nf2_size(&volume.fs, &volume.file), (int32_t)taken);
        CHECK_EQ(nf2_tell(&volume.fs, &volume.file), (int32_t)taken);
        CHECK_EQ(nf2_seek(&volume.fs, &volume.file, 0, NF2_SEEK_SET), 0);
        uint32_t most = taken < PART ? taken : PART;
        CHECK_EQ(nf2_read(&volume.fs, &volume.file, found, PART), (int32_t)most);
        CHECK(memcmp(found, data, most) == 0);
        CHECK_EQ(nf2_close(&volume.fs, &volume.file), NF2_ERR_NOSPC);
        CHECK(holds(&volume, "settings", SETTINGS, 1));
        end(&volume);
    }
}

/* When there is room again the write is repeated, and all of it counts. */
TEST(tried_again)
{
    EACH_CHIP(i) {
        struct volume volume;
        begin(&volume, chips[i]);
        CHECK_EQ(open_settings(&volume, "settings", NF2_O_TRUNC), NF2_OK);
        uint32_t taken = write_parts(&volume, 0);
        CHECK_EQ(nf2_sync(&volume.fs, &volume.file), NF2_ERR_NOSPC);
        CHECK_EQ(nf2_remove(&volume.fs, "rest"), NF2_OK);
        CHECK_EQ(nf2_sync(&volume.fs, &volume.file), NF2_ERR_NOSPC);    /* the rest is still missing */
        CHECK_EQ(write_parts(&volume, taken), SETTINGS);
        CHECK_EQ(nf2_close(&volume.fs, &volume.file), NF2_OK);
        CHECK(holds(&volume, "settings", SETTINGS, 2));
        CHECK_EQ(volume_again(&volume, true), NF2_OK);
        CHECK(holds(&volume, "settings", SETTINGS, 2));
        end(&volume);
    }
}

/* A log keeps the lines that were accepted if the caller says so: by a write of nothing, or by the size as it is. */
TEST(enough)
{
    EACH_CHIP(i) {
        struct volume volume;
        begin(&volume, chips[i]);
        for (unsigned truncates = 0; truncates < 2; truncates++) {
            CHECK_EQ(nf2_remove(&volume.fs, "small"), NF2_OK);  /* some room */
            CHECK_EQ(open_settings(&volume, "log", NF2_O_APPEND), NF2_OK);
            uint32_t size = (uint32_t)nf2_size(&volume.fs, &volume.file);
            while (nf2_write(&volume.fs, &volume.file, data + size, 1) > 0) {
                size++;
            }
            CHECK(size > 0 && size < SETTINGS);
            CHECK_EQ(nf2_sync(&volume.fs, &volume.file), NF2_ERR_NOSPC);
            CHECK_EQ(truncates ? nf2_truncate(&volume.fs, &volume.file, size) : nf2_write(&volume.fs, &volume.file, NULL, 0), 0);
            CHECK_EQ(nf2_close(&volume.fs, &volume.file), NF2_OK);
            CHECK(holds(&volume, "log", size, 2));
            CHECK_EQ(nf2_remove(&volume.fs, "log"), NF2_OK);
            CHECK_EQ(put(&volume, "small", 40, 3), NF2_OK);
        }
        end(&volume);
    }
}

/* So it is with a size that is refused. */
TEST(size_refused)
{
    struct volume volume;

    begin(&volume, "tiny256k");
    CHECK_EQ(nf2_open(&volume.fs, &volume.file, "settings", NF2_O_RDWR, volume.page), NF2_OK);
    CHECK_EQ(nf2_truncate(&volume.fs, &volume.file, 100), NF2_OK);
    nf2_file_t other[12];
    static uint8_t page[12][NF2_PAGE_MAX];
    unsigned files = 0;
    int result = NF2_OK;
    for (; files < 12 && result == NF2_OK; files++) { /* zeros take an entry each */
        char name[4] = {'z', (char)('a' + (int)files), 0};
        CHECK_EQ(nf2_open(&volume.fs, &other[files], name, NF2_O_RDWR | NF2_O_CREAT, page[files]), NF2_OK);
        for (uint32_t n = 1; n < 300 && result == NF2_OK; n++) {
            (void)nf2_seek(&volume.fs, &other[files], (int32_t)(n * 700u), NF2_SEEK_SET);
            result = nf2_write(&volume.fs, &other[files], data, 1) < 0 ? NF2_ERR_NOSPC : nf2_truncate(&volume.fs, &other[files], n * 700u + 300u);
        }
    }
    CHECK_EQ(result, NF2_ERR_NOSPC);
    CHECK_EQ(nf2_close(&volume.fs, &other[files - 1]), NF2_ERR_NOSPC);
    for (unsigned i = 0; i + 1 < files; i++) {
        CHECK_EQ(nf2_discard(&volume.fs, &other[i]), NF2_OK);
    }
    CHECK_EQ(nf2_close(&volume.fs, &volume.file), NF2_OK);
    uint32_t size = 0;
    CHECK_EQ(size_of(&volume, "settings", &size), NF2_OK);
    CHECK_EQ(size, 100);
    end(&volume);
}

/* With NF2_O_SYNC each write is durable or not; the close still says that one was refused. */
TEST(synced_writes)
{
    EACH_CHIP(i) {
        struct volume volume;
        uint32_t size = 0;
        begin(&volume, chips[i]);
        CHECK_EQ(open_settings(&volume, "settings", NF2_O_SYNC | NF2_O_APPEND), NF2_OK);
        uint32_t taken = write_parts(&volume, 0);
        CHECK(taken < SETTINGS);
        CHECK_EQ(nf2_close(&volume.fs, &volume.file), NF2_ERR_NOSPC);
        CHECK_EQ(size_of(&volume, "settings", &size), NF2_OK);
        CHECK_EQ(size, SETTINGS + taken);
        CHECK_EQ(open_settings(&volume, "settings", NF2_O_SYNC | NF2_O_TRUNC), NF2_OK);
        CHECK(nf2_write(&volume.fs, &volume.file, data, SETTINGS) < 0);
        CHECK_EQ(nf2_close(&volume.fs, &volume.file), NF2_ERR_NOSPC);
        CHECK_EQ(size_of(&volume, "settings", &size), NF2_OK);
        CHECK_EQ(size, SETTINGS + taken);
        end(&volume);
    }
}

/* ---- giving up ------------------------------------------------------------------------------- */

/* What is not synced goes, whatever it is, and the room that it took comes back. */
TEST(discard)
{
    EACH_CHIP(i) {
        struct volume volume;
        struct nf2_statfs before, after;
        volume_up(&volume, chips[i]);
        CHECK_EQ(put(&volume, "settings", SETTINGS, 1), NF2_OK);
        CHECK_EQ(maintain_all(&volume), NF2_OK);
        CHECK_EQ(nf2_statfs(&volume.fs, &before), NF2_OK);
        for (unsigned round = 0; round < 6; round++) {
            const char *path = round % 3 == 2 ? "new" : "settings";
            CHECK_EQ(open_settings(&volume, path, round % 3 == 0 ? NF2_O_TRUNC : 0), NF2_OK);
            for (uint32_t n = 0; n < 40; n++) { /* in round 3 on: so many pieces that they go to the tree */
                (void)nf2_seek(&volume.fs, &volume.file, (int32_t)(round < 3 ? n * 200u : n * 977u % 7000u), NF2_SEEK_SET);
                CHECK_EQ(nf2_write(&volume.fs, &volume.file, data + n, 300), 300);
            }
            uint64_t changes = chip_changes(volume.flash);
            CHECK_EQ(nf2_discard(&volume.fs, &volume.file), NF2_OK);
            CHECK_EQ(chip_changes(volume.flash), changes);
            CHECK_EQ(nf2_discard(&volume.fs, &volume.file), NF2_ERR_BADF);
            CHECK(holds(&volume, "settings", SETTINGS, 1));
            CHECK_EQ(size_of(&volume, "new", NULL), NF2_ERR_NOENT);
        }
        CHECK_EQ(maintain_all(&volume), NF2_OK);
        CHECK_EQ(nf2_statfs(&volume.fs, &after), NF2_OK);
        CHECK(after.blocks_free + 3 >= before.blocks_free);     /* blocks with room for more are kept */
        CHECK_EQ(volume_again(&volume, true), NF2_OK);
        CHECK(holds(&volume, "settings", SETTINGS, 1));
        end(&volume);
    }
}

/* Of this length, in one write: the last part of it waits in the handle's buffer, for which there is a block. */
static int write_at_once(struct volume *volume, nf2_file_t *file, const char *path, uint32_t length, uint32_t seed, uint8_t *page)
{
    static uint8_t bytes[40000];

    for (uint32_t i = 0; i < length; i++) {
        bytes[i] = content_byte(seed, i);
    }
    int status = nf2_open(&volume->fs, file, path, NF2_O_WRONLY | NF2_O_CREAT, page);
    return status == NF2_OK && nf2_write(&volume->fs, file, bytes, length) == (int32_t)length ? NF2_OK : NF2_ERR_IO;
}

/* A handle gives up the blocks that it took ahead: those of another one, which took some behind it, stay that one's. */
TEST(discard_beside_another)
{
    EACH_CHIP(i) {
        for (uint32_t blocks = 1; blocks < 5; blocks++) {
            struct volume volume;
            nf2_file_t other, third;
            uint8_t page[2][NF2_PAGE_MAX];
            volume_new(&volume, chips[i]);
            CHECK_EQ(nf2_format(&volume.fs, &volume.config, NF2_FORMAT_ERASE), NF2_OK); /* so that several are taken at a time */
            CHECK_EQ(nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDWR), NF2_OK);
            uint32_t length = blocks * volume.driver.block_size + 100;
            CHECK_EQ(write_at_once(&volume, &volume.file, "given up", length, 1, volume.page), NF2_OK);
            CHECK_EQ(write_at_once(&volume, &other, "other", length, 2, page[0]), NF2_OK);
            CHECK_EQ(nf2_discard(&volume.fs, &volume.file), NF2_OK);
            CHECK_EQ(write_at_once(&volume, &third, "third", length, 3, page[1]), NF2_OK);
            CHECK_EQ(nf2_close(&volume.fs, &third), NF2_OK);
            CHECK_EQ(nf2_close(&volume.fs, &other), NF2_OK);
            CHECK_EQ(put(&volume, "fourth", 3 * length, 4), NF2_OK);
            CHECK_EQ(volume_again(&volume, i % 2 == 0), NF2_OK);
            CHECK(holds(&volume, "other", length, 2) && holds(&volume, "third", length, 3) && holds(&volume, "fourth", 3 * length, 4));
            end(&volume);
        }
    }
}

/* Idle time that had nothing more to do finds what was given up, in whatever form the handle held it. */
TEST(discarded_room)
{
    static const uint32_t lengths[] = {4096, 8192, 8292, 20480, 300};

    for (unsigned i = 0; i < 2 * sizeof lengths / sizeof lengths[0]; i++) {
        struct volume volume;
        struct nf2_statfs before, after;
        uint32_t length = lengths[i / 2];
        volume_up(&volume, "tiny256k");
        CHECK_EQ(put(&volume, "settings", SETTINGS, 1), NF2_OK);
        for (unsigned round = 0; round < 3; round++) {
            CHECK_EQ(maintain_all(&volume), NF2_OK);
            CHECK_EQ(nf2_statfs(&volume.fs, &before), NF2_OK);
            CHECK_EQ(write_at_once(&volume, &volume.file, "new", length, 5, volume.page), NF2_OK);
            for (uint32_t n = 0; i % 2 == 1 && n < 30; n++) { /* pieces, until they go to the tree */
                CHECK_EQ(nf2_seek(&volume.fs, &volume.file, (int32_t)(n * 977u % length), NF2_SEEK_SET), (int32_t)(n * 977u % length));
                CHECK_EQ(nf2_write(&volume.fs, &volume.file, data, 260), 260);
            }
            CHECK_EQ(nf2_discard(&volume.fs, &volume.file), NF2_OK);
            CHECK_EQ(maintain_all(&volume), NF2_OK);
            CHECK_EQ(nf2_statfs(&volume.fs, &after), NF2_OK);
            CHECK(after.blocks_free + 1 >= before.blocks_free); /* the rest of a block waits for more */
        }
        end(&volume);
    }
}

/* What was synced before stays; a reader is closed, no more; promised room is free again. */
TEST(discard_of_what)
{
    struct volume volume;
    nf2_file_t reader;

    volume_up(&volume, "tiny256k");
    CHECK_EQ(open_settings(&volume, "log", NF2_O_APPEND), NF2_OK);
    CHECK_EQ(nf2_write(&volume.fs, &volume.file, data, 0), 0);
    for (uint32_t i = 0; i < 100; i++) {
        uint8_t byte = content_byte(4, i);
        CHECK_EQ(nf2_write(&volume.fs, &volume.file, &byte, 1), 1);
        CHECK_EQ(i < 60 ? nf2_sync(&volume.fs, &volume.file) : NF2_OK, NF2_OK);
    }
    CHECK_EQ(nf2_preallocate(&volume.fs, &volume.file, 100000), NF2_OK);
    CHECK(nf2_preallocate(&volume.fs, &volume.file, 100000) == NF2_OK);
    CHECK_EQ(nf2_discard(&volume.fs, &volume.file), NF2_OK);
    CHECK(holds(&volume, "log", 60, 4));
    CHECK_EQ(put(&volume, "large", 120000, 5), NF2_OK);         /* else that much was set aside */
    CHECK_EQ(nf2_open(&volume.fs, &reader, "log", NF2_O_RDONLY, NULL), NF2_OK);
    CHECK_EQ(nf2_discard(&volume.fs, &reader), NF2_OK);
    CHECK_EQ(nf2_discard(&volume.fs, &reader), NF2_ERR_BADF);
    CHECK_EQ(nf2_discard(&volume.fs, NULL), NF2_ERR_BADF);
    CHECK_EQ(open_settings(&volume, "log", NF2_O_TRUNC), NF2_OK);
    CHECK_EQ(nf2_unmount(&volume.fs), NF2_OK);
    CHECK_EQ(nf2_discard(&volume.fs, &volume.file), NF2_ERR_BADF);
    CHECK_EQ(nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDWR), NF2_OK);
    CHECK(holds(&volume, "log", 60, 4));
    end(&volume);
}

/* After an error of the driver it still closes. */
TEST(discard_after_an_error)
{
    struct volume volume;

    volume_up(&volume, "tiny256k");
    CHECK_EQ(put(&volume, "settings", SETTINGS, 1), NF2_OK);
    CHECK_EQ(open_settings(&volume, "settings", NF2_O_TRUNC), NF2_OK);
    vflash_fail_at(volume.flash, 1);
    CHECK_EQ(nf2_write(&volume.fs, &volume.file, data, SETTINGS), NF2_ERR_IO);
    vflash_fail_at(volume.flash, 0);
    CHECK_EQ(nf2_discard(&volume.fs, &volume.file), NF2_OK);
    CHECK(holds(&volume, "settings", SETTINGS, 1));
    CHECK_EQ(volume_again(&volume, false), NF2_OK);
    CHECK(holds(&volume, "settings", SETTINGS, 1));
    end(&volume);
}

int main(void)
{
    RUN(save_in_place);
    RUN(new_file);
    RUN(sync_says_so);
    RUN(tried_again);
    RUN(enough);
    RUN(size_refused);
    RUN(synced_writes);
    RUN(discard);
    RUN(discard_beside_another);
    RUN(discarded_room);
    RUN(discard_of_what);
    RUN(discard_after_an_error);
    return check_done();
}
