/* SPDX-License-Identifier: BSD-2-Clause */
/* rows.c - what is measured. Every byte that is read is compared with what was written. */
#include "board.h"
#include "chip.h"
#include "pcg32.h"
#include "row.h"
#include "volume.h"

#define SEED 19u
#define PATTERN 65536u /* bytes of random data that payloads are taken from */
#define LARGE_FILE (512u << 10)
#define AGED_FILES 32u
#define AGED_FILE (64u << 10)
#define PIECE 4096u
#define STEPS_MAX 400u

static struct pcg32 rng;
static uint8_t pattern[PATTERN], back[PIECE];
static LARGE_MEMORY uint8_t model[AGED_FILES * AGED_FILE]; /* what the large files hold */
static char path[16];

void known_loop(uint32_t turns);

static uint32_t below(uint32_t bound)
{
    return pcg32_below(&rng, bound);
}

/* `prefix` and four digits, in `path`. */
static const char *numbered(const char *prefix, uint32_t number)
{
    char *at = path;
    while (*prefix)
        *at++ = *prefix++;
    for (uint32_t unit = 1000; unit > 0; unit /= 10)
        *at++ = (char)('0' + number / unit % 10);
    *at = 0;
    return path;
}

static bool same(const uint8_t *a, const uint8_t *b, uint32_t length)
{
    for (uint32_t i = 0; i < length; i++)
        if (a[i] != b[i])
            return false;
    return true;
}

/*
 * Puts `length` bytes of the pattern from `from` on into the model at `at`, and returns where they
 * are.
 */
static const uint8_t *payload(uint32_t at, uint32_t from, uint32_t length)
{
    for (uint32_t i = 0; i < length; i++)
        model[at + i] = pattern[from + i];
    return &model[at];
}

static void new_volume(uint32_t size, bool erased)
{
    pcg32_seed(&rng, SEED, 1);
    for (uint32_t i = 0; i < PATTERN; i++)
        pattern[i] = (uint8_t)below(256);
    chip_new(size, erased ? 0xFF : 0);
    row_begin("format");
    OPERATION(GOOD(volume_format(erased)));
    row_end();
    row_begin("mount_empty");
    OPERATION(GOOD(volume_mount()));
    row_end();
}

static void write_file(const char *name, const uint8_t *data, uint32_t length)
{
    GOOD(volume_open(name, WRITE | CREATE | TRUNCATE));
    EQUAL(volume_write(data, length), length);
    GOOD(volume_close());
}

static void read_file(const char *name, uint32_t length)
{
    GOOD(volume_open(name, READ));
    EQUAL(volume_read(back, length), length);
    GOOD(volume_close());
}

/* ---- small files and one large file --------------------------------------------------------- */

static void creates(void)
{
    GOOD(volume_mkdir("d"));
    row_begin("create");
    for (uint32_t i = 0; i < 100; i++) {
        numbered("d/e", i);
        OPERATION(GOOD(volume_open(path, WRITE | CREATE)); GOOD(volume_close()));
    }
    row_end();
    GOOD(volume_mkdir("s"));
    row_begin("create32");
    for (uint32_t i = 0; i < 100; i++) {
        numbered("s/f", i);
        OPERATION(write_file(path, pattern + i, 32));
    }
    row_end();
}

static void appends(void)
{
    GOOD(volume_open("log", WRITE | CREATE | APPEND));
    row_begin("append32");
    for (uint32_t i = 0; i < 2000; i++)
        OPERATION(EQUAL(volume_write(pattern + i, 32), 32); GOOD(volume_sync()));
    row_end();
    GOOD(volume_close());
    GOOD(volume_open("log", READ));
    for (uint32_t i = 0; i < 2000; i++) {
        EQUAL(volume_read(back, 32), 32);
        expect(same(back, pattern + i, 32), "log differs", (int32_t)i);
    }
    GOOD(volume_close());
}

static void write_large(void)
{
    row_begin("write4k");
    GOOD(volume_open("big", WRITE | CREATE));
    for (uint32_t at = 0; at < LARGE_FILE; at += PIECE) {
        const uint8_t *data = payload(at, at % (PATTERN - PIECE), PIECE);
        OPERATION(EQUAL(volume_write(data, PIECE), PIECE));
    }
    OPERATION(GOOD(volume_close()));
    row_end();
}

static void read_in_order(const char *name)
{
    GOOD(volume_open("big", READ));
    row_begin(name);
    for (uint32_t at = 0; at < LARGE_FILE; at += 1024) {
        OPERATION(EQUAL(volume_read(back, 1024), 1024));
        expect(same(back, model + at, 1024), "data differs", (int32_t)at);
    }
    row_end();
    GOOD(volume_close());
}

static void read_at_random(const char *name)
{
    GOOD(volume_open("big", READ));
    row_begin(name);
    for (uint32_t i = 0; i < 200; i++) {
        uint32_t at = below(LARGE_FILE - 1023);
        OPERATION(GOOD(volume_seek(at)); EQUAL(volume_read(back, 1024), 1024));
        expect(same(back, model + at, 1024), "data differs", (int32_t)at);
    }
    row_end();
    GOOD(volume_close());
}

static void updates(const char *name, uint32_t count)
{
    GOOD(volume_open("big", READ | WRITE));
    row_begin(name);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = below(LARGE_FILE - 1023);
        const uint8_t *data = payload(at, below(PATTERN - 1024), 1024);
        OPERATION(GOOD(volume_seek(at)); EQUAL(volume_write(data, 1024), 1024);
                  GOOD(volume_sync()));
    }
    row_end();
    GOOD(volume_close());
}

static void reads(const char *name, bool ordered)
{
    row_begin(name);
    for (uint32_t i = 0; i < 100; i++) {
        uint32_t which = ordered ? i : below(100);
        numbered("s/f", which);
        OPERATION(read_file(path, 32));
        expect(same(back, pattern + which, 32), "file differs", (int32_t)which);
    }
    row_end();
}

static void remount(void)
{
    row_begin("unmount");
    OPERATION(GOOD(volume_unmount()));
    row_end();
    row_begin("mount");
    OPERATION(GOOD(volume_mount()));
    row_end();
    row_begin("first_read");
    OPERATION(read_file("s/f0050", 32));
    row_end();
    row_begin("first_write");
    OPERATION(write_file("s/new", pattern, 32));
    row_end();
}

static void replacements(void)
{
    row_begin("replace");
    for (uint32_t i = 0; i < 100; i++) {
        numbered("s/f", i);
        OPERATION(write_file("s/tmp", pattern + 100 + i, 100); GOOD(volume_rename("s/tmp", path)));
    }
    row_end();
    for (uint32_t i = 0; i < 100; i++) {
        read_file(numbered("s/f", i), 100);
        expect(same(back, pattern + 100 + i, 100), "replaced file differs", (int32_t)i);
    }
}

/* Steps of idle work until nothing is left, or for STEPS_MAX. */
static void steps(const char *name, uint32_t budget_us)
{
    if (!volume_has_steps)
        return;
    row_begin(name);
    int more = 1;
    for (uint32_t i = 0; i < STEPS_MAX && more == 1; i++)
        OPERATION(more = volume_maintain(budget_us));
    row_end();
    GOOD(more);
}

static void removals(void)
{
    row_begin("remove32");
    for (uint32_t i = 0; i < 100; i++) {
        numbered("s/f", i);
        OPERATION(GOOD(volume_remove(path)));
    }
    row_end();
}

static void suite_files(void)
{
    new_volume(CHIP_SIZE_MAX, true);
    creates();
    appends();
    write_large();
    read_in_order("read1k_flat");
    updates("update1k_first20", 20);
    updates("update1k", 200);
    read_in_order("read1k");
    read_at_random("read1k_random");
    reads("read32", true);
    reads("read32_random", false);
    remount();
    replacements();
    updates("update1k_later", 200);
    steps("step250_files", 250000);
    read_in_order("read1k_idle");
    removals();
    GOOD(volume_unmount());
}

/* ---- a directory of 1,000 ------------------------------------------------------------------- */

static void suite_directory(void)
{
    new_volume(CHIP_SIZE_MAX, true);
    GOOD(volume_mkdir("m"));
    row_begin("create_to_1000");
    for (uint32_t i = 0; i < 1000; i++) {
        numbered("m/n", i);
        OPERATION(GOOD(volume_open(path, WRITE | CREATE)); GOOD(volume_close()));
    }
    row_end();
    row_begin("stat_in_1000");
    for (uint32_t i = 0; i < 100; i++) {
        uint32_t size;
        numbered("m/n", below(1000));
        OPERATION(GOOD(volume_stat(path, &size)));
    }
    row_end();
    row_begin("list_1000");
    OPERATION(EQUAL(volume_list("m"), 1000));
    row_end();
    row_begin("create_in_1000");
    for (uint32_t i = 0; i < 100; i++) {
        numbered("m/", i * 4871 % 10000);
        path[2] = (char)('a' + below(26)); /* before and behind the names that are there */
        OPERATION(GOOD(volume_open(path, WRITE | CREATE)); GOOD(volume_close()));
    }
    row_end();
    GOOD(volume_unmount());
    row_begin("mount_1000");
    OPERATION(GOOD(volume_mount()));
    row_end();
    GOOD(volume_unmount());
}

/* ---- 32 files of 64 KiB on a chip of 4 MiB -------------------------------------------------- */

static void write_piece(uint32_t file, uint32_t at)
{
    const uint8_t *data = payload(file * AGED_FILE + at, below(PATTERN - PIECE), PIECE);
    GOOD(volume_open(numbered("f", file), READ | WRITE));
    GOOD(volume_seek(at));
    EQUAL(volume_write(data, PIECE), PIECE);
    GOOD(volume_close());
}

/* A used chip, half full, after `count` updates of 4 KiB at random. */
static void age(uint32_t count)
{
    new_volume(4u << 20, false);
    for (uint32_t file = 0; file < AGED_FILES; file++) {
        GOOD(volume_open(numbered("f", file), WRITE | CREATE));
        for (uint32_t at = 0; at < AGED_FILE; at += PIECE) {
            const uint8_t *data = payload(file * AGED_FILE + at, below(PATTERN - PIECE), PIECE);
            EQUAL(volume_write(data, PIECE), PIECE);
        }
        GOOD(volume_close());
    }
    for (uint32_t i = 0; i < count; i++)
        write_piece(below(AGED_FILES), below(AGED_FILE / PIECE) * PIECE);
}

static void aged_updates(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t file = below(AGED_FILES), at = below(AGED_FILE / PIECE) * PIECE;
        const uint8_t *data = payload(file * AGED_FILE + at, below(PATTERN - PIECE), PIECE);
        numbered("f", file);
        OPERATION(GOOD(volume_open(path, READ | WRITE)); GOOD(volume_seek(at));
                  EQUAL(volume_write(data, PIECE), PIECE); GOOD(volume_close()));
    }
}

static void compare_all(void)
{
    for (uint32_t file = 0; file < AGED_FILES; file++) {
        GOOD(volume_open(numbered("f", file), READ));
        for (uint32_t at = 0; at < AGED_FILE; at += PIECE) {
            EQUAL(volume_read(back, PIECE), PIECE);
            expect(same(back, model + file * AGED_FILE + at, PIECE), "data differs",
                   (int32_t)(file * AGED_FILE + at));
        }
        GOOD(volume_close());
    }
}

static void suite_aged(void)
{
    age(1500);
    row_begin("update4k_aged");
    aged_updates(500);
    row_end();
    GOOD(volume_unmount());
    row_begin("mount_aged");
    OPERATION(GOOD(volume_mount()));
    row_end();
    compare_all();
    GOOD(volume_unmount());
}

/* The same with idle time: three steps behind each update. */
static void suite_idle(void)
{
    if (!volume_has_steps)
        return;
    age(300);
    row_begin("update4k_idle");
    for (uint32_t i = 0; i < 300; i++) {
        aged_updates(1);
        for (int more = 1, k = 0; more == 1 && k < 3; k++)
            GOOD(more = volume_maintain(250000));
    }
    row_end();
    row_begin("step250_idle");
    for (uint32_t i = 0; i < 100; i++) {
        write_piece(below(AGED_FILES), below(AGED_FILE / PIECE) * PIECE);
        int more = 1;
        for (uint32_t k = 0; more == 1 && k < 3; k++)
            OPERATION(more = volume_maintain(250000));
        GOOD(more);
    }
    row_end();
    compare_all();
    GOOD(volume_unmount());
}

/* Steps of three budgets, each from the same state: 100 updates after a mount of the aged chip. */
static void suite_steps(void)
{
    static const struct {
        const char *name;
        uint32_t budget_us;
    } budgets[] = {{"step20", 20000}, {"step50", 50000}, {"step250", 250000}};
    if (!volume_has_steps)
        return;
    age(1000);
    GOOD(volume_unmount());
    chip_save();
    uint32_t seed = below(UINT32_MAX);
    for (uint32_t i = 0; i < 3; i++) {
        chip_restore();
        pcg32_seed(&rng, seed, 2);
        GOOD(volume_mount());
        for (uint32_t k = 0; k < 100; k++)
            write_piece(below(AGED_FILES), below(AGED_FILE / PIECE) * PIECE);
        steps(budgets[i].name, budgets[i].budget_us);
        compare_all();
        GOOD(volume_unmount());
    }
}

static void suite_loop(void)
{
    row_begin("known_loop");
    OPERATION(ENTER(known_loop, 1000000u, 0, 0, 0, 0));
    row_end();
}

/* Cuts the text at its first space; returns what follows, or an empty text. */
static char *cut_word(char *text)
{
    while (*text && *text != ' ')
        text++;
    if (*text)
        *text++ = 0;
    return text;
}

static bool equal_text(const char *a, const char *b)
{
    while (*a && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

/* `argument`: a suite, and the row to be profiled, if any. */
uint32_t run_target(char *argument)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } suites[] = {{"loop", suite_loop}, {"files", suite_files}, {"directory", suite_directory},
                  {"aged", suite_aged}, {"idle", suite_idle},   {"steps", suite_steps}};
    row_profile(cut_word(argument));
    put_text("{\"volume\": \"");
    put_text(volume_name);
    put_text("\", \"ram\": ");
    put_number(volume_ram());
    put_text("}\n");
    bool found = false;
    for (uint32_t i = 0; i < sizeof suites / sizeof suites[0]; i++)
        if (equal_text(argument, suites[i].name)) {
            found = true;
            suites[i].run();
        }
    expect(found, "no such suite", 0);
    put_text("{\"end\": true, \"failures\": ");
    put_number(failed_checks());
    put_text("}\n");
    return failed_checks();
}
