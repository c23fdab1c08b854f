/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_frames.c - small synced appends, what is written behind them, and a bit of them that turns
 * over at rest: then the content is whole, or an error is reported. Holes behind them are zeros.
 */
#include <stdlib.h>

#include "api_volume.h"
#include "check.h"

#define APPEND 50u
#define APPENDS 3u
#define FRONT 2000u             /* bytes in front of them, too many to lie beside the name */
#define BEHIND (FRONT + APPENDS * APPEND)
#define MORE 3000u
#define MOST 20000u

static uint8_t content[MOST];
static uint32_t size;

static void write_at(struct volume *volume, uint32_t at, uint32_t length, uint32_t seed)
{
    for (uint32_t i = 0; i < length; i++) {
        content[at + i] = content_byte(seed, at + i);
    }
    size = at + length > size ? at + length : size;
    CHECK_EQ(nf2_seek(&volume->fs, &volume->file, (int32_t)at, NF2_SEEK_SET), (int)at);
    CHECK_EQ(nf2_write(&volume->fs, &volume->file, content + at, length), (int)length);
    CHECK_EQ(nf2_sync(&volume->fs, &volume->file), NF2_OK);
}

/* Small appends, each synced, in a file that is open for writing then. */
static void begin(struct volume *volume, const char *chip)
{
    volume_up(volume, chip);
    memset(content, 0, sizeof content);
    size = 0;
    CHECK_EQ(nf2_open(&volume->fs, &volume->file, "log", NF2_O_RDWR | NF2_O_CREAT, volume->page),
             NF2_OK);
    write_at(volume, 0, FRONT, 9);
    for (uint32_t i = 0; i < APPENDS; i++) {
        write_at(volume, FRONT + i * APPEND, APPEND, 1);
    }
}

/* What is read: 1 the content, 0 an error, -1 something else. */
static int judge(struct volume *volume)
{
    static uint8_t data[MOST + 1u];
    nf2_file_t file;

    if (nf2_open(&volume->fs, &file, "log", NF2_O_RDONLY, NULL) != NF2_OK) {
        return 0;
    }
    int32_t got = nf2_read(&volume->fs, &file, data, sizeof data);
    CHECK_EQ(nf2_close(&volume->fs, &file), NF2_OK);
    return got < 0 ? 0 : got == (int32_t)size && memcmp(data, content, size) == 0 ? 1 : -1;
}

/* ---- holes ------------------------------------------------------------------------------- */

static void look(struct volume *volume)
{
    CHECK_EQ(judge(volume), 1);
    CHECK_EQ(nf2_check(&volume->fs, NULL, NULL), 0);
}

static void close_and_look(struct volume *volume)
{
    look(volume);
    CHECK_EQ(nf2_close(&volume->fs, &volume->file), NF2_OK);
    CHECK_EQ(volume_again(volume, true), NF2_OK);
    look(volume);
    CHECK_EQ(maintain_all(volume), 0);
    look(volume);
    volume_down(volume, true);
}

static void set_size(struct volume *volume, uint32_t to)
{
    memset(content + to, 0, sizeof content - to);
    size = to;
    CHECK_EQ(nf2_truncate(&volume->fs, &volume->file, to), NF2_OK);
    CHECK_EQ(nf2_sync(&volume->fs, &volume->file), NF2_OK);
}

TEST(holes)
{
    static const uint32_t places[] = {BEHIND + 1u, BEHIND + 50u, 2700, 4096, 9000};
    struct volume volume;

    for (unsigned i = 0; i < 2u * sizeof places / sizeof places[0]; i++) {
        const char *chip = i % 2u ? "tinyecc16" : "tiny256k";
        uint32_t at = places[i / 2u];
        begin(&volume, chip);
        write_at(&volume, at, 20, 2);
        look(&volume);
        write_at(&volume, at + 100u, APPEND, 3);
        look(&volume);
        write_at(&volume, BEHIND - 10u, at + 5u - BEHIND, 4);
        close_and_look(&volume);

        begin(&volume, chip);
        set_size(&volume, at);
        look(&volume);
        write_at(&volume, at, APPEND, 2);
        look(&volume);
        set_size(&volume, BEHIND - 20u);
        write_at(&volume, BEHIND - 20u, APPEND, 5);
        set_size(&volume, at);
        close_and_look(&volume);
    }
}

/* ---- flipped bits ------------------------------------------------------------------------ */

enum then { NOTHING, OVERWRITE, SHORTEN, THENS };

/* The place of the last small append on the chip, which is left with one as it was written. */
static uint32_t find_last(struct volume *volume)
{
    const uint8_t *memory = vflash_memory(volume->flash);
    uint32_t end = vflash_chip_of(volume->flash)->size - APPEND, at = 0;

    while (at < end && memcmp(memory + at, content + BEHIND - APPEND, APPEND) != 0) {
        at++;
    }
    CHECK(at < end);
    return at;
}

/* Changes the file after the bit has turned over: what cannot be read must not become zeros. */
static void change(struct volume *volume, enum then then)
{
    nf2_file_t file;
    uint8_t data[10];
    int32_t status = NF2_OK;

    if (then == NOTHING ||
        nf2_open(&volume->fs, &file, "log", NF2_O_RDWR, volume->page) != NF2_OK) {
        return;
    }
    memset(data, 0x77, sizeof data);
    if (then == OVERWRITE) {
        CHECK_EQ(nf2_seek(&volume->fs, &file, BEHIND - 30, NF2_SEEK_SET), (int)BEHIND - 30);
        status = nf2_write(&volume->fs, &file, data, sizeof data);
    } else {
        status = nf2_truncate(&volume->fs, &file, BEHIND - 20u);
    }
    int closed = nf2_close(&volume->fs, &file);
    bool done = status >= 0 && closed == NF2_OK;
    if (done && then == OVERWRITE) {
        memcpy(content + BEHIND - 30, data, sizeof data);
    }
    size = done && then == SHORTEN ? BEHIND - 20u : size;
}

/* `more`: a longer piece follows the appends; else the file ends with the last of them. */
static void flip(const char *chip, enum then then, bool more)
{
    static uint8_t before[MOST];
    struct volume volume;
    unsigned found[3] = {0};

    begin(&volume, chip);
    if (more) {
        write_at(&volume, BEHIND, MORE, 2);
    }
    CHECK_EQ(nf2_close(&volume.fs, &volume.file), NF2_OK);
    CHECK_EQ(nf2_unmount(&volume.fs), NF2_OK);
    struct vflash_checkpoint *whole = vflash_save(volume.flash);
    memcpy(before, content, sizeof before);
    uint32_t at = find_last(&volume), kept = size;
    for (uint32_t bit = 0; bit < 8u * (APPEND + 12u); bit++) {
        vflash_flip(volume.flash, at - 6u + bit / 8u, (uint8_t)(1u << bit % 8u));
        CHECK_EQ(nf2_mount(&volume.fs, &volume.config, NF2_MOUNT_RDWR), NF2_OK);
        change(&volume, then);
        int seen = judge(&volume);
        if (!CHECK(seen >= 0)) {
            printf("%s: bit %lu of byte %ld of the append, then change %d\n", chip,
                   (unsigned long)bit % 8u, (long)(bit / 8u) - 6, (int)then);
        }
        CHECK(seen != 0 || nf2_check(&volume.fs, NULL, NULL) > 0);
        found[seen + 1]++;
        (void)nf2_unmount(&volume.fs);
        vflash_restore(volume.flash, whole);
        memcpy(content, before, sizeof content);
        size = kept;
    }
    printf("%s, change %d: %u whole, %u errors\n", chip, (int)then, found[2], found[1]);
    vflash_release(whole);
    volume_down(&volume, false);
}

TEST(flips)
{
    for (enum then then = NOTHING; then < THENS; then++) {
        for (int more = 0; more < 2; more++) {
            flip("tiny256k", then, more != 0);
            flip("tiny512", then, more != 0);
            flip("tinyecc16", then, more != 0);
        }
    }
}

/* ---- cuts --------------------------------------------------------------------------------- */

#define PARTS 12u               /* behind the appends, with holes between: more than one record clears */

/* Overwrites from the appends on over all parts, or cuts the file within the appends. */
static int big_change(struct volume *volume, bool overwrite)
{
    nf2_file_t *file = &volume->file;
    int32_t status = nf2_open(&volume->fs, file, "log", NF2_O_RDWR, volume->page);

    if (status == NF2_OK && overwrite) {
        status = nf2_seek(&volume->fs, file, BEHIND - 30, NF2_SEEK_SET);
        status = status < 0 ? status : nf2_write(&volume->fs, file, content + BEHIND - 30, 40u * PARTS);
    } else if (status == NF2_OK) {
        status = nf2_truncate(&volume->fs, file, BEHIND - 30);
    }
    return status < 0 ? (int)status : nf2_close(&volume->fs, file);
}

/* Cut at this operation: the content is as before or as after. Whether the operation was reached. */
static bool cut_at(struct volume *volume, bool overwrite, uint64_t operation, const uint8_t *before)
{
    struct vflash_cut cut = {.operation = operation, .byte = (uint32_t)(operation % 3u) * 20u};
    uint32_t size_before = BEHIND + 40u * PARTS - 20u;
    uint32_t size_after = overwrite ? size_before : BEHIND - 30;

    CHECK_EQ(volume_again(volume, false), NF2_OK);
    vflash_cut_at(volume->flash, &cut);
    int status = big_change(volume, overwrite);
    vflash_cut_at(volume->flash, NULL);
    vflash_power_on(volume->flash);
    CHECK_EQ(volume_again(volume, false), NF2_OK);
    size = size_after;
    int after = judge(volume);
    if (after != 1) {
        uint8_t wanted[MOST];
        memcpy(wanted, content, sizeof wanted);
        memcpy(content, before, sizeof content);
        size = size_before;
        CHECK(status < 0);
        CHECK_EQ(judge(volume), 1);
        memcpy(content, wanted, sizeof content);
    }
    CHECK_EQ(nf2_check(&volume->fs, NULL, NULL), 0);
    return status < 0;
}

static void cuts(const char *chip, bool overwrite)
{
    static uint8_t before[MOST];
    struct volume volume;
    uint64_t operation = 1;

    begin(&volume, chip);
    for (uint32_t i = 0; i < PARTS; i++) {
        write_at(&volume, BEHIND + i * 40u, 20, 3);
    }
    CHECK_EQ(nf2_close(&volume.fs, &volume.file), NF2_OK);
    CHECK_EQ(nf2_unmount(&volume.fs), NF2_OK);
    struct vflash_checkpoint *whole = vflash_save(volume.flash);
    memcpy(before, content, sizeof before);
    for (uint32_t i = 0; i < 40u * PARTS; i++) {
        content[BEHIND - 30 + i] = content_byte(5, i);
    }
    while (cut_at(&volume, overwrite, operation, before) && check_state.failures == 0) {
        operation++;
        vflash_restore(volume.flash, whole);
    }
    CHECK(operation > 2u);
    vflash_release(whole);
    volume_down(&volume, true);
}

TEST(cuts_behind_appends)
{
    for (unsigned overwrite = 0; overwrite < 2; overwrite++) {
        cuts("tiny256k", overwrite);
        cuts("tinyecc16", overwrite);
    }
}

int main(void)
{
    RUN(holes);
    RUN(cuts_behind_appends);
    RUN(flips);
    return check_done();
}
