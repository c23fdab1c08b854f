/* SPDX-License-Identifier: BSD-2-Clause */
/* test_sync_writes.c - synchronous writes on a volume that is getting full: each is there as a whole, or nothing of it; and
   updates that wait for a sync there. */
#include <stdio.h>
#include <string.h>

#include "api_volume.h"
#include "check.h"

#define MOST (1024u * 1024u)

static uint8_t content[MOST], found[MOST];
static uint32_t state;

static uint32_t below(uint32_t limit)
{
    state = state * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)state * limit >> 32);
}

/* The handle and the file, read through another one, hold this. */
static void holds_so_much(struct volume *volume, uint32_t size)
{
    nf2_file_t reader;

    CHECK_EQ(nf2_size(&volume->fs, &volume->file), (int32_t)size);
    CHECK_EQ(nf2_open(&volume->fs, &reader, "f", NF2_O_RDONLY, NULL), NF2_OK);
    CHECK_EQ(nf2_read(&volume->fs, &reader, found, MOST), (int32_t)size);
    CHECK(memcmp(found, content, size) == 0);
    CHECK_EQ(nf2_close(&volume->fs, &reader), NF2_OK);
}

/* One write at `at`; whether it was accepted. */
static bool write_at(struct volume *volume, uint32_t at, uint32_t length, uint32_t *size, unsigned *refused)
{
    static uint8_t data[MOST];

    for (uint32_t i = 0; i < length; i++) {
        data[i] = (uint8_t)(1u + below(255));
    }
    CHECK_EQ(nf2_seek(&volume->fs, &volume->file, (int32_t)at, NF2_SEEK_SET), (int32_t)at);
    int32_t answer = nf2_write(&volume->fs, &volume->file, data, length);
    if (answer == NF2_ERR_NOSPC) {
        ++*refused;
        CHECK_EQ(nf2_tell(&volume->fs, &volume->file), (int32_t)at);
        holds_so_much(volume, *size);
        return false;
    }
    CHECK_EQ(answer, (int32_t)length);
    memcpy(content + at, data, length);
    *size = at + length > *size ? at + length : *size;
    return true;
}

#define FILES 8u

static const char *name_of(unsigned i)
{
    static char name[4];

    (void)snprintf(name, sizeof name, "x%u", i);
    return name;
}

/* Appends of this length and of a few bytes, or writes of these lengths anywhere, until some have been refused; half of what else is there goes, and again. */
static void fill(const char *chip, uint32_t length, bool anywhere)
{
    struct volume volume;
    uint32_t size = 0;
    unsigned refused = 0;

    state = length + anywhere;
    volume_up(&volume, chip);
    for (unsigned i = 0; i < FILES; i++) {
        CHECK_EQ(put(&volume, name_of(i), 3000, i), NF2_OK);
    }
    CHECK_EQ(nf2_open(&volume.fs, &volume.file, "f", NF2_O_RDWR | NF2_O_CREAT | NF2_O_SYNC, volume.page), NF2_OK);
    for (unsigned i = 0; i < FILES; i += 2) {
        for (unsigned until = refused + 3; refused < until && size + length <= MOST;) {
            uint32_t n = below(3) == 0 ? 1 + below(200) : length;
            bool append = !anywhere || size < n || below(2) == 0;
            (void)write_at(&volume, append ? size : below(size - n + 1), n, &size, &refused);
        }
        holds_so_much(&volume, size);
        CHECK_EQ(nf2_remove(&volume.fs, name_of(i)), NF2_OK);
    }
    CHECK(refused > 0);
    CHECK_EQ(nf2_write(&volume.fs, &volume.file, NULL, 0), 0); /* what was refused last is not missed */
    CHECK_EQ(nf2_close(&volume.fs, &volume.file), NF2_OK);
    CHECK_EQ(volume_again(&volume, true), NF2_OK);
    CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0);
    CHECK_EQ(nf2_open(&volume.fs, &volume.file, "f", NF2_O_RDONLY, NULL), NF2_OK);
    holds_so_much(&volume, size);
    CHECK_EQ(nf2_close(&volume.fs, &volume.file), NF2_OK);
    volume_down(&volume, true);
}

TEST(appends)
{
    static const uint32_t lengths[] = {700, 4096, 5000, 24000, 60000};

    for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        fill("tiny256k", lengths[i], false);
        fill("tinyecc16", lengths[i], false);
        fill("tiny512", lengths[i], false);
    }
}

TEST(anywhere)
{
    static const uint32_t lengths[] = {700, 4096, 5000, 24000};

    for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        fill("tiny256k", lengths[i], true);
        fill("tinyecc16", lengths[i], true);
        fill("tiny512", lengths[i], true);
    }
}

/* Many small updates that wait for one sync, where few blocks are left: it is made or refused, and the volume goes on. */
static void sync_updates(const char *chip, uint32_t blocks_left)
{
    struct volume volume;
    nf2_t *fs = &volume.fs;
    nf2_file_t *file = &volume.file;
    struct nf2_statfs stat;
    uint32_t size = 60000, at;
    uint8_t byte;

    state = 77;
    volume_up(&volume, chip);
    CHECK_EQ(put(&volume, "data", size, 3), NF2_OK);
    for (at = 0; at < size; at++) {
        content[at] = content_byte(3, at);
    }
    CHECK_EQ(nf2_statfs(fs, &stat), NF2_OK);
    CHECK_EQ(put(&volume, "fill", (stat.blocks_available - blocks_left) * stat.block_size, 1), NF2_OK);
    CHECK_EQ(nf2_open(fs, file, "data", NF2_O_RDWR, volume.page), NF2_OK);
    for (unsigned i = 0; i < 3000; i++) {
        at = below(size);
        byte = (uint8_t)below(256);
        CHECK_EQ(nf2_seek(fs, file, (int32_t)at, NF2_SEEK_SET), (int32_t)at);
        int32_t written = nf2_write(fs, file, &byte, 1);
        if (written != 1) {
            CHECK_EQ(written, NF2_ERR_NOSPC);
            CHECK_EQ(nf2_write(fs, file, NULL, 0), 0); /* this one is not missed */
            break;
        }
        content[at] = byte;
    }
    int synced = nf2_sync(fs, file);
    CHECK(synced == NF2_OK || synced == NF2_ERR_NOSPC);
    if (synced == NF2_ERR_NOSPC) { /* the map cannot grow: they wait in the handle for room */
        CHECK_EQ(nf2_remove(fs, "fill"), NF2_OK);
        CHECK_EQ(nf2_sync(fs, file), NF2_OK);
    }
    CHECK_EQ(volume_again(&volume, false), NF2_OK);
    CHECK_EQ(nf2_check(fs, NULL, NULL), 0);
    CHECK_EQ(nf2_open(fs, file, "data", NF2_O_RDONLY, volume.page), NF2_OK);
    CHECK_EQ(nf2_read(fs, file, found, size), (int32_t)size);
    CHECK(memcmp(found, content, size) == 0);
    CHECK_EQ(nf2_close(fs, file), NF2_OK);
    CHECK_EQ(nf2_remove(fs, "fill"), synced == NF2_OK ? NF2_OK : NF2_ERR_NOENT);
    CHECK_EQ(put(&volume, "again", 30000, 9), NF2_OK);
    volume_down(&volume, true);
}

static void updates_on(const char *chip)
{
    for (uint32_t blocks = 3; blocks < 24; blocks += 5) {
        sync_updates(chip, blocks);
    }
}

TEST(updates_on_full_chip)
{
    updates_on("tiny256k");
    updates_on("tinyecc16");
    updates_on("tiny512");
}

/* ---- several writes, one sync ------------------------------------------------------- */

#define PIECES_BYTES 1024u
#define ROUNDS 20u

static void write_anywhere(struct volume *volume)
{
    uint32_t at = below(MOST - PIECES_BYTES);

    for (uint32_t i = 0; i < PIECES_BYTES; i++) {
        content[at + i] = (uint8_t)below(256);
    }
    CHECK_EQ(nf2_seek(&volume->fs, &volume->file, (int32_t)at, NF2_SEEK_SET), (int32_t)at);
    CHECK_EQ(nf2_write(&volume->fs, &volume->file, content + at, PIECES_BYTES), (int32_t)PIECES_BYTES);
}

/* What a sync of a few writes programs that lie apart in a file of a thousand pieces. */
TEST(writes_apart)
{
    struct volume volume;
    nf2_t *fs = &volume.fs;

    state = 5;
    volume_up(&volume, "w25q256");
    CHECK_EQ(nf2_open(fs, &volume.file, "f", NF2_O_RDWR | NF2_O_CREAT, volume.page), NF2_OK);
    memset(content, 0xA5, MOST);
    CHECK_EQ(nf2_write(fs, &volume.file, content, MOST), (int32_t)MOST);
    for (unsigned i = 0; i < 1000; i++) {
        write_anywhere(&volume);
        CHECK_EQ(nf2_sync(fs, &volume.file), NF2_OK);
    }
    for (unsigned writes = 1; writes <= 8; writes++) {
        uint64_t programs = 0, most = 0;
        for (unsigned round = 0; round < ROUNDS; round++) {
            for (unsigned i = 0; i < writes; i++) {
                write_anywhere(&volume);
            }
            vflash_counts_reset(volume.flash);
            CHECK_EQ(nf2_sync(fs, &volume.file), NF2_OK);
            uint64_t n = vflash_counts(volume.flash)->program_pages;
            programs += n;
            most = n > most ? n : most;
        }
        printf("a sync of %u writes apart: %lu pages programmed in the mean, %lu at most\n", writes,
               (unsigned long)(programs / ROUNDS), (unsigned long)most);
        CHECK(programs < 6u * (writes + 1) * ROUNDS); /* not those of the whole map */
    }
    CHECK_EQ(nf2_close(fs, &volume.file), NF2_OK);
    CHECK_EQ(volume_again(&volume, true), NF2_OK);
    CHECK_EQ(nf2_check(fs, NULL, NULL), 0);
    CHECK_EQ(nf2_open(fs, &volume.file, "f", NF2_O_RDONLY, NULL), NF2_OK);
    holds_so_much(&volume, MOST);
    CHECK_EQ(nf2_close(fs, &volume.file), NF2_OK);
    volume_down(&volume, true);
}

/* ---- refused in its middle ---------------------------------------------------------- */

/* Appends into blocks that lie apart, some of which are refused: the handle has what it had, and can be synced. */
static unsigned refuse_append(const char *on, uint32_t before, bool synced, unsigned more)
{
    struct volume volume;
    nf2_t *fs = &volume.fs;
    nf2_file_t *file = &volume.file, other;
    uint8_t page[NF2_PAGE_MAX];
    struct nf2_statfs stat;
    char name[12];
    int status = NF2_OK;
    unsigned files = 0, refused = 0;
    uint32_t size = before;

    volume_up(&volume, on);
    for (uint32_t i = 0; i < MOST; i++) {
        content[i] = (uint8_t)below(256);
    }
    CHECK_EQ(nf2_open(fs, file, "f", NF2_O_RDWR | NF2_O_CREAT, volume.page), NF2_OK);
    CHECK_EQ(nf2_write(fs, file, content, before), (int32_t)before);
    CHECK_EQ(synced ? nf2_sync(fs, file) : NF2_OK, NF2_OK);
    for (; status == NF2_OK; files++) {
        (void)snprintf(name, sizeof name, "x%u", files);
        status = nf2_open(fs, &other, name, NF2_O_WRONLY | NF2_O_CREAT, page);
        status = status == NF2_OK && nf2_write(fs, &other, found, 4096) < 0 ? NF2_ERR_NOSPC : status;
        status = nf2_close(fs, &other) == NF2_OK ? status : NF2_ERR_NOSPC;
    }
    for (unsigned i = 1; i + 1 < files; i += 2) {
        (void)snprintf(name, sizeof name, "x%u", i);
        CHECK_EQ(nf2_remove(fs, name), NF2_OK);
    }
    for (unsigned i = 0; i < more; i++) { /* the first ones of about what is free */
        CHECK_EQ(nf2_statfs(fs, &stat), NF2_OK);
        uint32_t room = (i < 4 ? files / 2 + 4 - 4 * i : 4) * stat.block_size, length = i % 2 ? 300 : room - below(8000);
        length = length < MOST - size ? length : MOST - size;
        CHECK_EQ(nf2_seek(fs, file, 0, NF2_SEEK_END), (int32_t)size);
        int32_t answer = nf2_write(fs, file, content + size, length);
        CHECK(answer == (int32_t)length || answer == NF2_ERR_NOSPC);
        refused += answer < 0;
        size += answer < 0 ? 0 : length;
        CHECK_EQ(nf2_size(fs, file), (int32_t)size);
        CHECK_EQ(nf2_seek(fs, file, 0, NF2_SEEK_SET), 0);
        CHECK_EQ(nf2_read(fs, file, found, MOST), (int32_t)size);
        CHECK(memcmp(found, content, size) == 0);
    }
    for (unsigned i = 0; i < files / 4; i += 2) {
        (void)snprintf(name, sizeof name, "x%u", i);
        CHECK_EQ(nf2_remove(fs, name), NF2_OK);
    }
    CHECK_EQ(nf2_write(fs, file, NULL, 0), 0);
    CHECK_EQ(nf2_sync(fs, file), NF2_OK);
    holds_so_much(&volume, size);
    CHECK_EQ(nf2_check(fs, NULL, NULL), 0);
    CHECK_EQ(volume_again(&volume, true), NF2_OK);
    CHECK_EQ(nf2_open(fs, file, "f", NF2_O_RDONLY, NULL), NF2_OK);
    holds_so_much(&volume, size);
    CHECK_EQ(nf2_close(fs, file), NF2_OK);
    volume_down(&volume, true);
    return refused;
}

TEST(refused_appends)
{
    static const uint32_t before[] = {100, 5000, 20000};
    unsigned refused = 0;

    for (unsigned i = 0; i < 30; i++) {
        state = i;
        refused += refuse_append(i % 2 ? "w25q80" : "tiny512", before[i % 3], i / 3 % 2 != 0, 1 + i / 3);
    }
    printf("%u appends refused\n", refused);
    CHECK(refused > 10);
}

static uint64_t calls_of(struct vflash *flash)
{
    const struct vflash_counts *counts = vflash_counts(flash);

    return counts->read_calls + chip_changes(flash);
}

/* A write that is refused and cannot put back what was there, since a read fails: the error says so, not that there is no room. */
TEST(refused_and_not_put_back)
{
    static struct volume volume, before;
    nf2_t *fs = &volume.fs;
    nf2_file_t *file = &volume.file;
    char name[8];
    unsigned failed = 0, refused = 0;

    volume_new(&volume, "tiny256k");
    volume.config.size = 32u * 4096u;
    volume_format(&volume);
    for (unsigned i = 0; i < 40; i++) {
        (void)snprintf(name, sizeof name, "o%u", i);
        CHECK_EQ(put(&volume, name, i % 5 ? 100 : 6000, i), NF2_OK);
    }
    CHECK_EQ(nf2_open(fs, file, "s", NF2_O_RDWR | NF2_O_CREAT | NF2_O_SYNC, volume.page), NF2_OK);
    CHECK_EQ(nf2_write(fs, file, content, 26), 26);
    struct vflash_checkpoint *whole = vflash_save(volume.flash);
    before = volume;
    uint64_t last = 0;
    for (uint64_t at = 0; at <= last; at = at == 0 ? last - 60 : at + 1) { /* the last calls of the driver, one at a time */
        vflash_restore(volume.flash, whole);
        volume = before;
        uint64_t failures = vflash_failed(volume.flash), calls = calls_of(volume.flash);
        vflash_fail_at(volume.flash, at);
        int32_t answer = nf2_write(fs, file, content, 65536);
        vflash_fail_at(volume.flash, 0);
        failed += vflash_failed(volume.flash) != failures;
        last = at == 0 ? calls_of(volume.flash) - calls : last;
        if (answer == NF2_ERR_NOSPC) {
            refused++;
            CHECK_EQ(nf2_size(fs, file), 26);
            CHECK_EQ(nf2_sync(fs, file), NF2_ERR_NOSPC);
            CHECK_EQ(nf2_write(fs, file, NULL, 0), 0);
            CHECK_EQ(nf2_sync(fs, file), NF2_OK);
        } else {
            CHECK_EQ(answer, NF2_ERR_IO);
        }
    }
    CHECK(failed > 30 && refused > 0);
    vflash_release(whole);
    volume_down(&volume, false);
}

int main(void)
{
    RUN(refused_and_not_put_back);
    RUN(appends);
    RUN(anywhere);
    RUN(updates_on_full_chip);
    RUN(writes_apart);
    RUN(refused_appends);
    return check_done();
}
