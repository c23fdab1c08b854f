/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * product.c - days of a product on a virtual chip: how long each call takes, and how long a record
 * of its log waits.
 *
 *     product --fs nf2fs|littlefs [--days D] [--period-ms P] [--idle-ms I] [--chip NAME]
 *             [--fill PERCENT] [--seed N] [--flip BITS]
 *
 * The product appends a record of 32 bytes to its log each P ms (10), and syncs it. Each minute it
 * replaces one of its 40 files of settings by a new file and a rename, each ten seconds it reads
 * one. Once a day it fetches an update of 1 MiB, 4 KiB each 100 ms beside the rest, and renames it
 * over the last one. Each second it gives the file system I ms of idle time. Files that never
 * change fill the chip up to the percentage that is given (70), with all of the log and two updates
 * counted.
 *
 * The clock goes on by the times of the data sheet for each operation of the chip; where nothing is
 * due, it goes on to the next thing that is. The processor takes no time. What is late waits, and
 * is made up for. Each day, and after a remount at the end, everything is read and compared; that
 * takes no time either. With --flip so many bits turn over before the last look, which must see it.
 * Prints one line of JSON. Exit code 1: a call failed, a byte was wrong, or the load is more than
 * the file system can carry.
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "latency.h"
#include "peers.h"
#include "vflash.h"
#include "vfs.h"

#define KIB 1024u
#define SECOND_US 1000000u
#define DAY_US (86400ull * SECOND_US)
#define RECORD 32u
#define LOG_FILE (256u * KIB)           /* bytes */
#define LOG_FILES 8u                    /* at a time, the one that is written included */
#define LOG_RECORDS (LOG_FILE / RECORD) /* of each of them */
#define SETTINGS 40u
#define SETTING_MAX 400u
#define PIECE (4u * KIB)
#define UPDATE_PIECES 256u
#define UPDATE_EACH_US 100000u
#define UPDATE_AT_US (3ull * 3600 * SECOND_US)      /* of each day */
#define COLD_FILE (64u * KIB)
#define LATE_MAX_US (600ull * SECOND_US)            /* later than that: it cannot carry the load */
#define PATH_SIZE 32u

enum kind {
    RECORD_LATE, LOG_WRITE, LOG_SYNC, LOG_CLOSE, LOG_REMOVE, LOG_OPEN,
    SET_OPEN, SET_WRITE, SET_CLOSE, SET_RENAME, GET_OPEN, GET_READ, GET_CLOSE,
    UPDATE_OPEN, UPDATE_WRITE, UPDATE_CLOSE, UPDATE_RENAME, IDLE, KINDS
};

static const char *const kind_names[KINDS] = {
    "record", "log_write", "log_sync", "log_close", "log_remove", "log_open",
    "setting_open", "setting_write", "setting_close", "setting_rename",
    "read_open", "read_read", "read_close",
    "update_open", "update_write", "update_close", "update_rename", "idle",
};

struct arguments {
    const char *fs, *chip;
    double days;
    uint32_t period_ms, idle_ms, fill, seed, flip;
};

struct product {
    struct arguments arguments;
    struct vfs fs;
    struct vflash *chip;
    uint64_t waited_us, untimed_us;     /* the clock is the chip's time with and without these */
    void *log, *update;                 /* open files; NULL: none */
    uint64_t records;
    uint32_t cold_files;
    uint32_t setting[SETTINGS];         /* which version each has; 0: there is none yet */
    uint32_t settings_made;
    uint32_t update_pieces, updates;    /* of the one that comes in; complete ones */
    uint64_t next_piece_us;
    struct latency latency[KINDS];
};

static struct product product;

static void fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

static uint64_t now_us(void)
{
    return vflash_counts(product.chip)->time_us + product.waited_us - product.untimed_us;
}

static void fail(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    fprintf(stderr, "product: %s, after %.4f days: ", product.arguments.fs,
            product.chip == NULL ? 0 : (double)now_us() / DAY_US);
    vfprintf(stderr, format, list);
    fputc('\n', stderr);
    va_end(list);
    exit(1);
}

static int32_t must(int32_t result, const char *what)
{
    if (result < 0) {
        fail("%s returned %d", what, (int)result);
    }
    return result;
}

/* ---- calls that are measured ----------------------------------------------------------------- */

#define TIMED(kind, call) \
    do { \
        uint64_t begun_us = now_us(); \
        int32_t result = (int32_t)(call); \
        latency_add(&product.latency[kind], now_us() - begun_us); \
        must(result, kind_names[kind]); \
    } while (0)

static const struct vfs_ops *ops(void)
{
    return product.fs.ops;
}

static void *context(void)
{
    return product.fs.context;
}

/* ---- contents -------------------------------------------------------------------------------- */

/* The bytes of everything follow from what it is: nothing needs to be kept to compare it. */
static void fill_bytes(uint8_t *bytes, uint32_t length, uint64_t what, uint64_t number)
{
    uint64_t state = (what << 56) ^ number * 0x9E3779B97F4A7C15u ^ product.arguments.seed;
    for (uint32_t i = 0; i < length; i += 8) {
        state += 0x9E3779B97F4A7C15u;
        uint64_t mixed = (state ^ state >> 30) * 0xBF58476D1CE4E5B9u;
        mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EBu;
        mixed ^= mixed >> 31;
        memcpy(bytes + i, &mixed, length - i < 8 ? length - i : 8);
    }
}

enum what { COLD = 1, LOG, SETTING, UPDATE };

static uint32_t setting_size(uint32_t version)
{
    return 20 + version * 7919 % (SETTING_MAX - 20 + 1);
}

/* ---- the log --------------------------------------------------------------------------------- */

static void log_path(char *path, uint64_t file)
{
    snprintf(path, PATH_SIZE, "/log/%08llu", (unsigned long long)file);
}

/* A file is full: the oldest one goes, and a new one begins. */
static void turn_log(void)
{
    char path[PATH_SIZE];
    uint64_t file = product.records / LOG_RECORDS;
    if (product.log != NULL) {
        TIMED(LOG_CLOSE, ops()->close(context(), product.log));
    }
    if (file >= LOG_FILES) {
        log_path(path, file - LOG_FILES);
        TIMED(LOG_REMOVE, ops()->remove(context(), path));
    }
    log_path(path, file);
    int flags = VFS_WRITE | VFS_CREATE | VFS_APPEND;
    TIMED(LOG_OPEN, ops()->open(context(), path, flags, &product.log));
}

static void append_record(uint64_t due_us)
{
    uint8_t record[RECORD];
    if (product.log == NULL || product.records % LOG_RECORDS == 0) {
        turn_log();
    }
    fill_bytes(record, RECORD, LOG, product.records);
    TIMED(LOG_WRITE, ops()->write(context(), product.log, record, RECORD));
    TIMED(LOG_SYNC, ops()->sync(context(), product.log));
    product.records++;
    uint64_t late_us = now_us() - due_us;
    latency_add(&product.latency[RECORD_LATE], late_us);
    if (late_us > LATE_MAX_US) {
        fail("a record is late by %.0f s: the load is too much", (double)late_us / SECOND_US);
    }
}

/* ---- settings -------------------------------------------------------------------------------- */

static void setting_path(char *path, uint32_t index)
{
    snprintf(path, PATH_SIZE, "/set/s%02u", (unsigned)index);
}

static void replace_setting(void)
{
    uint8_t bytes[SETTING_MAX];
    char path[PATH_SIZE];
    void *file;
    uint32_t version = ++product.settings_made, index = version * 17 % SETTINGS;
    uint32_t size = setting_size(version);
    fill_bytes(bytes, size, SETTING, version);
    setting_path(path, index);
    int flags = VFS_WRITE | VFS_CREATE | VFS_TRUNC;
    TIMED(SET_OPEN, ops()->open(context(), "/set/new", flags, &file));
    TIMED(SET_WRITE, ops()->write(context(), file, bytes, size));
    TIMED(SET_CLOSE, ops()->close(context(), file));
    TIMED(SET_RENAME, ops()->rename(context(), "/set/new", path));
    product.setting[index] = version;
}

static void read_setting(uint64_t number)
{
    uint8_t bytes[SETTING_MAX];
    char path[PATH_SIZE];
    void *file;
    uint32_t index = (uint32_t)(number * 7 % SETTINGS);
    if (product.setting[index] == 0) {
        return;
    }
    setting_path(path, index);
    TIMED(GET_OPEN, ops()->open(context(), path, VFS_READ, &file));
    TIMED(GET_READ, ops()->read(context(), file, bytes, SETTING_MAX));
    TIMED(GET_CLOSE, ops()->close(context(), file));
}

/* ---- the update ------------------------------------------------------------------------------ */

static void update_piece(void)
{
    static uint8_t piece[PIECE];
    if (product.update == NULL) {
        int flags = VFS_WRITE | VFS_CREATE | VFS_TRUNC;
        TIMED(UPDATE_OPEN, ops()->open(context(), "/update.new", flags, &product.update));
    }
    uint64_t number = (uint64_t)product.updates * UPDATE_PIECES + product.update_pieces;
    fill_bytes(piece, PIECE, UPDATE, number);
    TIMED(UPDATE_WRITE, ops()->write(context(), product.update, piece, PIECE));
    if (++product.update_pieces < UPDATE_PIECES) {
        product.next_piece_us += UPDATE_EACH_US;
        return;
    }
    TIMED(UPDATE_CLOSE, ops()->close(context(), product.update));
    TIMED(UPDATE_RENAME, ops()->rename(context(), "/update.new", "/update"));
    product.update = NULL;
    product.update_pieces = 0;
    product.updates++;
    product.next_piece_us = product.updates * DAY_US + UPDATE_AT_US;
}

/* ---- everything is compared ------------------------------------------------------------------ */

struct source {
    enum what what;
    uint64_t first;                     /* of the pieces that the file is made of */
    uint32_t piece, length;             /* bytes of each piece, and of the file */
};

static void compare_file(const char *path, struct source source)
{
    static uint8_t found[PIECE], expected[PIECE];
    void *file;
    must(ops()->open(context(), path, VFS_READ, &file), path);
    for (uint32_t at = 0; at < source.length; at += source.piece) {
        uint32_t size = source.length - at < source.piece ? source.length - at : source.piece;
        int32_t read = must(ops()->read(context(), file, found, size), path);
        fill_bytes(expected, size, source.what, source.first + at / source.piece);
        if ((uint32_t)read != size || memcmp(found, expected, size) != 0) {
            fail("%s: other bytes than were written, from byte %u on", path, (unsigned)at);
        }
    }
    if (must(ops()->read(context(), file, found, 1), path) != 0) {
        fail("%s: longer than %u bytes", path, (unsigned)source.length);
    }
    must(ops()->close(context(), file), path);
}

static void cold_path(char *path, uint32_t index)
{
    snprintf(path, PATH_SIZE, "/cold/c%04u", (unsigned)index);
}

static void compare_all(void)
{
    char path[PATH_SIZE];
    uint64_t begun = now_us();
    for (uint32_t i = 0; i < product.cold_files; i++) {
        cold_path(path, i);
        compare_file(path, (struct source){COLD, (uint64_t)i * 16, PIECE, COLD_FILE});
    }
    for (uint32_t i = 0; i < SETTINGS; i++) {
        uint32_t version = product.setting[i], size = setting_size(version);
        setting_path(path, i);
        if (version != 0) {
            compare_file(path, (struct source){SETTING, version, size, size});
        }
    }
    if (product.updates > 0) {
        uint64_t first = (uint64_t)(product.updates - 1) * UPDATE_PIECES;
        compare_file("/update", (struct source){UPDATE, first, PIECE, UPDATE_PIECES * PIECE});
    }
    uint64_t files = (product.records + LOG_RECORDS - 1) / LOG_RECORDS;
    for (uint64_t file = files > LOG_FILES ? files - LOG_FILES : 0; file < files; file++) {
        uint64_t left = product.records - file * LOG_RECORDS;
        uint32_t records = (uint32_t)(left < LOG_RECORDS ? left : LOG_RECORDS);
        log_path(path, file);
        compare_file(path, (struct source){LOG, file * LOG_RECORDS, RECORD, records * RECORD});
    }
    product.untimed_us += now_us() - begun;
}

/* ---- the days -------------------------------------------------------------------------------- */

static void make_cold(void)
{
    static uint8_t piece[PIECE];
    char path[PATH_SIZE];
    uint64_t hot = LOG_FILES * LOG_FILE + 2ull * UPDATE_PIECES * PIECE;
    uint64_t all = (uint64_t)vflash_chip_of(product.chip)->size * product.arguments.fill / 100;
    if (all < hot) {
        fail("log and updates alone fill the chip to more than %u%%",
             (unsigned)product.arguments.fill);
    }
    must(ops()->mkdir(context(), "/cold"), "mkdir");
    must(ops()->mkdir(context(), "/log"), "mkdir");
    must(ops()->mkdir(context(), "/set"), "mkdir");
    product.cold_files = (uint32_t)((all - hot) / COLD_FILE);
    for (uint32_t i = 0; i < product.cold_files; i++) {
        void *file;
        cold_path(path, i);
        must(ops()->open(context(), path, VFS_WRITE | VFS_CREATE, &file), path);
        for (uint32_t at = 0; at < COLD_FILE / PIECE; at++) {
            fill_bytes(piece, PIECE, COLD, (uint64_t)i * 16 + at);
            must(ops()->write(context(), file, piece, PIECE), path);
        }
        must(ops()->close(context(), file), path);
    }
}

static void wait_until(uint64_t due_us)
{
    uint64_t now = now_us();
    product.waited_us += due_us > now ? due_us - now : 0;
}

/* What is due in the second that begins, beside the log. */
static void each_second(uint64_t second)
{
    if (product.arguments.idle_ms > 0 && ops()->maintain != NULL) {
        TIMED(IDLE, ops()->maintain(context(), product.arguments.idle_ms * 1000));
    }
    if (second % 60 == 30) {
        replace_setting();
    }
    if (second % 10 == 5) {
        read_setting(second / 10);
    }
    if (second % 86400 == 86399) {
        compare_all();
    }
}

static void run_days(void)
{
    uint64_t end_us = (uint64_t)(product.arguments.days * DAY_US), second = 0;
    uint64_t period_us = product.arguments.period_ms * 1000ull;
    product.next_piece_us = UPDATE_AT_US;
    for (uint64_t due_us = 0; due_us < end_us; due_us += period_us) {
        for (; (second + 1) * SECOND_US <= due_us; second++) {
            wait_until((second + 1) * SECOND_US);
            each_second(second);
        }
        while (product.next_piece_us <= due_us) {
            update_piece();
        }
        wait_until(due_us);
        append_record(due_us);
    }
}

static void report_latency(const struct latency *latency)
{
    printf("{\"count\":%llu,\"sum_us\":%llu,", (unsigned long long)latency->count,
           (unsigned long long)latency->sum_us);
    static const struct {
        const char *name;
        uint64_t per_million;
    } ranks[] = {{"p50", 500000}, {"p99", 990000}, {"p999", 999000}, {"p9999", 999900}};
    for (unsigned i = 0; i < sizeof(ranks) / sizeof(ranks[0]); i++) {
        printf("\"%s\":%llu,", ranks[i].name,
               (unsigned long long)latency_rank(latency, ranks[i].per_million));
    }
    printf("\"max\":%llu,\"above_100ms\":%llu,\"above_1s\":%llu}",
           (unsigned long long)latency->max_us, (unsigned long long)latency->above_100ms,
           (unsigned long long)latency->above_1s);
}

/* Of the chip from `start` to `counts`, of which `busy_us` were in time. */
static void report(const struct vflash_counts *start, const struct vflash_counts *counts,
                   uint64_t busy_us, uint64_t days_us)
{
    const struct vflash_chip *chip = vflash_chip_of(product.chip);
    uint64_t wear = 0, most = 0, least = UINT64_MAX, blocks = chip->size / chip->block_size;
    for (uint32_t block = 0; block < blocks; block++) {
        uint64_t erases = vflash_wear(product.chip, block);
        wear += erases;
        most = erases > most ? erases : most;
        least = erases < least ? erases : least;
    }
    const struct arguments *a = &product.arguments;
    printf("{\"fs\":\"%s\",\"chip\":\"%s\",\"days\":%g,", a->fs, a->chip, a->days);
    printf("\"period_ms\":%u,\"idle_ms\":%u,\"fill\":%u,", (unsigned)a->period_ms,
           (unsigned)a->idle_ms, (unsigned)a->fill);
    printf("\"records\":%llu,\"settings\":%u,\"updates\":%u,",
           (unsigned long long)product.records, (unsigned)product.settings_made,
           (unsigned)product.updates);
    printf("\"busy\":%.6f,\"program_pages\":%llu,\"erases\":[%llu,%llu,%llu],",
           (double)busy_us / (double)days_us,
           (unsigned long long)(counts->program_pages - start->program_pages),
           (unsigned long long)(counts->erases[0] - start->erases[0]),
           (unsigned long long)(counts->erases[1] - start->erases[1]),
           (unsigned long long)(counts->erases[2] - start->erases[2]));
    printf("\"wear\":{\"least\":%llu,\"mean\":%.2f,\"most\":%llu},\"calls\":{",
           (unsigned long long)least, (double)wear / (double)blocks, (unsigned long long)most);
    for (int kind = 0; kind < KINDS; kind++) {
        printf("%s\"%s\":", kind > 0 ? "," : "", kind_names[kind]);
        report_latency(&product.latency[kind]);
    }
    printf("}}\n");
}

/* ---- the program ----------------------------------------------------------------------------- */

static const struct vfs_entry *entry_of(const char *name)
{
    if (strcmp(vfs_nf2fs_entry.name, name) == 0) {
        return &vfs_nf2fs_entry;
    }
    for (unsigned i = 0; peers_at(i) != NULL; i++) {
        if (strcmp(peers_at(i)->name, name) == 0) {
            return peers_at(i);
        }
    }
    fail("there is no file system of this name, or it was not fetched before the build");
}

static uint32_t number_of(const char *text, uint32_t least, uint32_t most)
{
    char *end;
    unsigned long value = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || value < least || value > most) {
        fail("\"%s\" is not a number from %u to %u", text, (unsigned)least, (unsigned)most);
    }
    return (uint32_t)value;
}

static void parse(struct arguments *arguments, int count, char **values)
{
    *arguments = (struct arguments){"nf2fs", "w25q128", 1, 10, 100, 70, 42, 0};
    for (int i = 1; i + 1 < count; i += 2) {
        const char *name = values[i], *value = values[i + 1];
        char *end;
        if (strcmp(name, "--fs") == 0) {
            arguments->fs = value;
        } else if (strcmp(name, "--chip") == 0) {
            arguments->chip = value;
        } else if (strcmp(name, "--days") == 0) {
            arguments->days = strtod(value, &end);
            if (*end != '\0' || !(arguments->days > 0 && arguments->days <= 3650)) {
                fail("\"%s\" is no number of days up to 3650", value);
            }
        } else if (strcmp(name, "--period-ms") == 0) {
            arguments->period_ms = number_of(value, 1, 3600000);
        } else if (strcmp(name, "--idle-ms") == 0) {
            arguments->idle_ms = number_of(value, 0, 1000);
        } else if (strcmp(name, "--fill") == 0) {
            arguments->fill = number_of(value, 1, 100);
        } else if (strcmp(name, "--seed") == 0) {
            arguments->seed = number_of(value, 0, UINT32_MAX);
        } else if (strcmp(name, "--flip") == 0) {
            arguments->flip = number_of(value, 0, 1000000);
        } else {
            fail("there is no option %s", name);
        }
    }
    if (count % 2 == 0) {
        fail("%s has no value", values[count - 1]);
    }
}

int main(int count, char **values)
{
    parse(&product.arguments, count, values);
    const struct vfs_entry *entry = entry_of(product.arguments.fs);
    const struct vflash_chip *chip = vflash_chip_find(product.arguments.chip);
    if (chip == NULL || chip->nand != 0) {
        fail("there is no NOR chip %s", product.arguments.chip);
    }
    struct vflash *flash = vflash_new(chip);
    if (flash == NULL) {
        fail("no memory for the chip");
    }
    product.chip = flash;
    must(entry->make(vflash_driver(flash), &product.fs), "the adapter");
    must(ops()->format(context()), "format");
    must(ops()->mount(context()), "mount");
    make_cold();
    struct vflash_counts start = *vflash_counts(flash);
    product.untimed_us = start.time_us;
    run_days();
    struct vflash_counts end = *vflash_counts(flash);
    uint64_t days_us = now_us(), busy_us = end.time_us - product.untimed_us;
    must(ops()->close(context(), product.log), "close");
    if (product.update != NULL) {
        must(ops()->close(context(), product.update), "close");
    }
    must(ops()->unmount(context()), "unmount");
    vflash_flip_seeded(flash, 0, chip->size, product.arguments.flip, product.arguments.seed);
    must(ops()->mount(context()), "the mount at the end");
    compare_all();
    must(ops()->unmount(context()), "unmount");
    report(&start, &end, busy_us, days_us);
    vfs_destroy(&product.fs);
    vflash_free(flash);
    return 0;
}
