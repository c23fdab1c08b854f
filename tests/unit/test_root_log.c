/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_root_log.c - records that are put behind those of a root log, from docs/FORMAT.md, all with a check that is right: what a mount
 * takes and what it refuses, and a GROUP that waits while the log turns.
 */
#include <stdio.h>
#include <string.h>

#include "api_volume.h"
#include "check.h"

#define PAGE 256u
#define BLOCK 4096u
#define CHECKPOINT 2u
#define GROUP 4u
#define STATE_BYTES 120u
#define STATE_NEXT 8u
#define STATE_GROUP 14u
#define STATE_FLAGS 27u         /* bit 0: left cleanly */
#define GROUP_MOST 1000u

/* The log as this test has written it. */
struct log {
    struct volume volume;
    uint8_t *block;
    uint32_t end;
    uint16_t epoch;
    uint8_t state[STATE_BYTES]; /* of the last CHECKPOINT */
};

static uint32_t get32(const uint8_t *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static void put16(uint8_t *p, uint32_t value)
{
    p[0] = (uint8_t)value;
    p[1] = (uint8_t)(value >> 8);
}

static uint32_t crc_of(uint32_t crc, const uint8_t *data, uint32_t length)
{
    for (uint32_t i = 0; i < 8 * length; i++) {
        uint32_t bit = (crc ^ (uint32_t)(data[i / 8] >> i % 8)) & 1u;
        crc = crc >> 1 ^ (bit ? 0xEDB88320u : 0);
    }
    return crc;
}

/* A volume that was left cleanly, with nothing but its root in it. */
static void log_begin(struct log *log)
{
    uint32_t last = 0, head = 0, length;

    volume_up(&log->volume, "tiny256k");
    CHECK_EQ(nf2_unmount(&log->volume.fs), NF2_OK);
    const uint8_t *chip = vflash_memory(log->volume.flash);
    for (uint32_t super = 0; super < 3; super++) {
        const uint8_t *anchor = chip + super * BLOCK + 4;
        if (memcmp(anchor, "NF2F", 4) == 0 && get32(anchor + 20) > last) {
            last = get32(anchor + 20);
            head = (uint32_t)(anchor[14] | anchor[15] << 8);
        }
    }
    CHECK(head >= 3 && head < 64);
    log->block = vflash_memory(log->volume.flash) + head * BLOCK;
    log->epoch = (uint16_t)(log->block[0] | log->block[1] << 8);
    log->end = BLOCK;
    for (uint32_t at = 2; at < BLOCK; at += length) { /* to the last one */
        length = (log->block[at] | (uint32_t)log->block[at + 1] << 8) & 0xFFFu;
        if (length == 2 + STATE_BYTES + 4) {
            memcpy(log->state, log->block + at + 2, STATE_BYTES);
            log->end = at + length;
        } else {
            CHECK_EQ(length, 0xFFF);
            length = (at + PAGE) / PAGE * PAGE + 2 - at;
        }
    }
    CHECK(log->end < BLOCK / 4 && (log->state[STATE_FLAGS] & 1u) != 0);
    log->state[STATE_FLAGS] &= 0xFEu;
}

static void emit(struct log *log, const uint8_t *data, uint32_t length)
{
    for (uint32_t i = 0; i < length; i++) {
        if (log->end % PAGE == 0) { /* a long record goes on here */
            put16(log->block + log->end, log->epoch);
            put16(log->block + log->end + 2, 4);
            log->end += 4;
        }
        log->block[log->end++] = data[i];
    }
}

/* Appends a record; its place. */
static uint32_t append(struct log *log, unsigned type, const uint8_t *payload, uint32_t length)
{
    uint8_t head[4], check[4];

    if (log->end % PAGE == 0 || log->end % PAGE + length + 6 > PAGE) {
        log->end = (log->end + PAGE - 1) / PAGE * PAGE;
        put16(log->block + log->end, log->epoch);
        log->end += 2;
    }
    uint32_t at = log->end;
    put16(head, log->epoch);
    put16(head + 2, type << 13 | (length + 6));
    uint32_t crc = ~crc_of(crc_of(0xFFFFFFFFu, head, 4), payload, length);
    put16(check, crc);
    put16(check + 2, crc >> 16);
    emit(log, head + 2, 2);
    emit(log, payload, length);
    emit(log, check, 4);
    CHECK(log->end <= BLOCK);
    return at;
}

/* Appends a CHECKPOINT that names what lies at this place. */
static void checkpoint(struct log *log, uint32_t group)
{
    put16(log->state + STATE_GROUP, group);
    (void)append(log, CHECKPOINT, log->state, STATE_BYTES);
}

/* Appends a GROUP that puts a file of `bytes` bytes into the root directory; its place. */
static uint32_t group_put(struct log *log, char name, uint32_t bytes)
{
    uint8_t group[2 * GROUP_MOST] = {0, 0, 0, 1, 1, (uint8_t)name, 2};

    put16(group + 1, 1 + bytes);
    memset(group + 7, name, bytes);
    return append(log, GROUP, group, 7 + bytes);
}

/* A GROUP of this many bytes, with removals of what is not there. */
static uint32_t group_of(struct log *log, uint32_t bytes)
{
    uint8_t group[2 * GROUP_MOST];

    for (uint32_t at = 0, n; at < bytes; at += n) {
        uint32_t left = bytes - at;
        n = left >= 29 + 6 || left == 29 ? 29 : left > 29 ? left - 6 : left;
        memset(group + at, 'x', n);
        memcpy(group + at, (const uint8_t[]){1, 0, 0, 1, (uint8_t)(n - 5)}, 5);
    }
    return append(log, GROUP, group, bytes);
}

/* A mount, of either kind, writes nothing, and answers this. */
static bool mounts(struct log *log, int status)
{
    uint64_t changes = chip_changes(log->volume.flash);

    bool right = true;

    for (int flags = 0; flags <= NF2_MOUNT_RDONLY && right; flags += NF2_MOUNT_RDONLY) {
        memset(&log->volume.fs, 0xA5, sizeof log->volume.fs);
        right = CHECK_EQ(nf2_mount(&log->volume.fs, &log->volume.config, flags), status);
        CHECK(chip_changes(log->volume.flash) == changes);
    }
    return right;
}

static bool has(struct log *log, const char *name, uint32_t bytes)
{
    uint32_t size;
    return size_of(&log->volume, name, &size) == NF2_OK && size == bytes;
}

/* The file is there, in a volume that cannot be written and in one that can. */
static void gives(struct log *log, const char *name, uint32_t bytes)
{
    bool mounted = mounts(log, NF2_OK) && CHECK(has(log, name, bytes)) && CHECK_EQ(volume_again(&log->volume, false), NF2_OK);

    if (mounted) {
        CHECK(has(log, name, bytes));
        CHECK_EQ(put(&log->volume, "more", 3000, 1), NF2_OK);
        mounted = CHECK_EQ(volume_again(&log->volume, true), NF2_OK);
    }
    if (mounted) {
        CHECK(has(log, name, bytes) && holds(&log->volume, "more", 3000, 1));
        CHECK_EQ(nf2_check(&log->volume.fs, NULL, NULL), 0);
    }
    volume_down(&log->volume, mounted);
}

static void refused(struct log *log)
{
    (void)mounts(log, NF2_ERR_CORRUPT);
    volume_down(&log->volume, false);
}

/* ---- what a CHECKPOINT names -------------------------------------------------------------------- */

TEST(none)
{
    struct log log;

    log_begin(&log);
    checkpoint(&log, 0);
    CHECK(mounts(&log, NF2_OK));
    volume_down(&log.volume, false);
}

/*
 * The block where the log goes on may still have the data that it had before. A mount looks whether the log went on there, and no
 * further: to look for records in all of its pages takes several times the instructions of all the rest.
 */
TEST(next_has_data)
{
    struct log log;
    uint64_t pages[2];

    for (unsigned data = 0; data < 2; data++) {
        log_begin(&log);
        checkpoint(&log, 0);
        uint32_t next = log.state[STATE_NEXT] | (uint32_t)log.state[STATE_NEXT + 1] << 8;
        uint8_t *block = vflash_memory(log.volume.flash) + next * BLOCK;
        for (uint32_t i = 0; i < BLOCK; i++) {
            block[i] = data ? (uint8_t)(i * i * 31u >> 7) : 0xFFu;
        }
        pages[data] = vflash_counts(log.volume.flash)->read_pages;
        CHECK(mounts(&log, NF2_OK));
        pages[data] = vflash_counts(log.volume.flash)->read_pages - pages[data];
        volume_down(&log.volume, false);
    }
    printf("a mount reads %u pages where the next block of the log is blank, %u where it has data\n", (unsigned)pages[0],
           (unsigned)pages[1]);
    CHECK(pages[1] <= pages[0] + 1);
}

TEST(place_without_group)
{
    static const uint16_t places[] = {1, 2, 126, 258, 600, BLOCK - 1, BLOCK, 0xFFFF};

    for (unsigned clean = 0; clean < 2; clean++) {
        for (unsigned i = 0; i < sizeof places / sizeof places[0]; i++) {
            struct log log;
            log_begin(&log);
            log.state[STATE_FLAGS] = (uint8_t)((log.state[STATE_FLAGS] & 0xFEu) | clean);
            checkpoint(&log, places[i]);
            refused(&log);
        }
    }
}

/* The last record is a GROUP, or a CHECKPOINT that names it. */
TEST(waits)
{
    struct log log;

    log_begin(&log);
    checkpoint(&log, 0);
    (void)group_put(&log, 'a', 100);
    gives(&log, "a", 100);
    for (unsigned clean = 0; clean < 2; clean++) {
        log_begin(&log);
        checkpoint(&log, 0);
        uint32_t at = group_put(&log, 'a', 100);
        log.state[STATE_FLAGS] = (uint8_t)((log.state[STATE_FLAGS] & 0xFEu) | clean);
        checkpoint(&log, at);
        gives(&log, "a", 100);
    }
}

TEST(done)
{
    struct log log;

    log_begin(&log);
    checkpoint(&log, 0);
    uint32_t at = group_put(&log, 'a', 100);
    checkpoint(&log, at);
    checkpoint(&log, 0);
    CHECK(mounts(&log, NF2_OK) && size_of(&log.volume, "a", NULL) == NF2_ERR_NOENT);
    volume_down(&log.volume, false);
}

/* A CHECKPOINT names what is in front of it. */
TEST(group_behind)
{
    struct log log;

    log_begin(&log);
    checkpoint(&log, 0);
    log.end = (log.end / PAGE + 1) * PAGE; /* both of them in one page */
    uint32_t at = log.end + 2 + 2 + STATE_BYTES + 4;
    checkpoint(&log, at);
    CHECK_EQ(group_put(&log, 'a', 50), at);
    refused(&log);
}

/* Only the last one may wait. */
TEST(older_group)
{
    struct log log;

    for (unsigned last = 0; last < 3; last++) {
        log_begin(&log);
        checkpoint(&log, 0);
        uint32_t at = group_put(&log, 'a', 100);
        checkpoint(&log, last == 0 ? at : 0);
        uint32_t next = group_put(&log, 'b', 200);
        if (last > 0) {
            checkpoint(&log, last == 1 ? at : next);
        }
        if (last == 2) {
            gives(&log, "b", 200);
        } else {
            refused(&log);
        }
    }
}

/* What is appended from here on is of the next session. */
static void next_session(struct log *log)
{
    log->epoch = 1 | 11 << 12;
    log->end = (log->end / PAGE + 2) * PAGE;
}

/* One bit of a GROUP turned over since a session was cut: what looks like a torn program is none, as a later session names it. */
TEST(turned_over)
{
    struct log log;

    log_begin(&log);
    checkpoint(&log, 0);
    uint32_t at = group_put(&log, 'a', 100);
    next_session(&log);
    checkpoint(&log, at);
    gives(&log, "a", 100);
    log_begin(&log);
    checkpoint(&log, 0);
    at = group_put(&log, 'a', 100);
    log.block[at + 20] ^= 1;
    next_session(&log);
    checkpoint(&log, at);
    refused(&log);
}

/* ---- how long a GROUP may be -------------------------------------------------------------------- */

TEST(longest)
{
    struct log log;

    for (unsigned named = 0; named < 2; named++) {
        for (uint32_t bytes = GROUP_MOST - 60; bytes <= GROUP_MOST; bytes++) {
            log_begin(&log);
            checkpoint(&log, 0);
            uint32_t at = group_of(&log, bytes);
            if (named) {
                checkpoint(&log, at);
            }
            CHECK(mounts(&log, NF2_OK) && size_of(&log.volume, "x", NULL) == NF2_ERR_NOENT);
            volume_down(&log.volume, false);
        }
        for (uint32_t bytes = GROUP_MOST + 1; bytes < 2 * GROUP_MOST; bytes += 499) {
            log_begin(&log);
            checkpoint(&log, 0);
            uint32_t at = group_of(&log, bytes);
            if (named) {
                checkpoint(&log, at);
            }
            refused(&log);
        }
    }
}

/* ---- the log turns while it waits --------------------------------------------------------------- */

/* A full log, in which the last GROUP waits. */
static void full(struct log *log, uint32_t bytes)
{
    log_begin(log);
    checkpoint(log, 0);
    uint32_t at = group_put(log, 'a', bytes);
    while (log->end / PAGE < BLOCK / PAGE - 1 || log->end % PAGE < PAGE / 2) {
        checkpoint(log, at);
    }
}

TEST(turns)
{
    for (uint32_t bytes = 1; bytes < GROUP_MOST - 7; bytes += 110) {
        struct log log;
        full(&log, bytes);
        gives(&log, "a", bytes);
    }
}

static struct {
    uint32_t operation, dies_at;    /* from there on, counted from 1, nothing is done; 0: all is */
} driver;

static bool dead(void)
{
    driver.operation++;
    return driver.dies_at != 0 && driver.operation >= driver.dies_at;
}

static int dying_program(void *context, uint32_t address, const void *data, uint32_t length)
{
    return dead() ? -1 : vflash_driver(context)->program(context, address, data, length);
}

static int dying_erase(void *context, uint32_t address, uint32_t length)
{
    return dead() ? -1 : vflash_driver(context)->erase(context, address, length);
}

/* The driver does nothing from this operation on: the file is there all the same, now and behind a mount. */
static bool driver_stops(uint32_t operation, uint32_t bytes)
{
    struct log log;

    full(&log, bytes);
    log.volume.driver.program = dying_program;
    log.volume.driver.erase = dying_erase;
    CHECK_EQ(volume_again(&log.volume, false), NF2_OK);
    driver.operation = 0;
    driver.dies_at = operation;
    CHECK(has(&log, "a", bytes));
    CHECK_EQ(driver.operation, 0); /* whoever reads only looks through the GROUP */
    int made = nf2_mkdir(&log.volume.fs, "b");
    bool met = driver.operation >= operation;
    CHECK_EQ(made, met ? NF2_ERR_IO : NF2_OK);
    CHECK(has(&log, "a", bytes));
    driver.dies_at = 0;
    gives(&log, "a", bytes);
    return met;
}

/* The same where power goes there, in a page's middle or behind it. */
static bool power_goes(uint32_t operation, uint32_t bytes, uint32_t byte)
{
    struct vflash_cut here = {.operation = operation, .byte = byte};
    struct log log;

    full(&log, bytes);
    CHECK_EQ(volume_again(&log.volume, false), NF2_OK);
    vflash_cut_at(log.volume.flash, &here);
    (void)nf2_mkdir(&log.volume.fs, "b");
    bool met = vflash_operations(log.volume.flash) >= operation;
    vflash_cut_at(log.volume.flash, NULL);
    vflash_power_on(log.volume.flash);
    gives(&log, "a", bytes);
    return met;
}

TEST(turn_stopped)
{
    for (uint32_t bytes = 20; bytes < GROUP_MOST - 7; bytes += 480) {
        uint32_t last = 1;
        while (last < 40 && driver_stops(last, bytes)) {
            last++;
        }
        CHECK(last > 3 && last < 40);
        for (uint32_t operation = 1; operation < last; operation++) {
            CHECK(power_goes(operation, bytes, 100));
            CHECK(power_goes(operation, bytes, 200));
            CHECK(power_goes(operation, bytes, UINT32_MAX));
        }
    }
}

int main(void)
{
    RUN(none);
    RUN(next_has_data);
    RUN(place_without_group);
    RUN(waits);
    RUN(done);
    RUN(group_behind);
    RUN(older_group);
    RUN(turned_over);
    RUN(longest);
    RUN(turns);
    RUN(turn_stopped);
    return check_done();
}
