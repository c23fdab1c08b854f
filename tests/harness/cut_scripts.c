/* SPDX-License-Identifier: BSD-2-Clause */
/* cut_scripts.c - see cut_scripts.h. */
#include "cut_scripts.h"

#include "nf2fs/nf2fs.h"

#define WRITE_NEW (NF2_O_WRONLY | NF2_O_CREAT | NF2_O_TRUNC)

static void open_file(struct call_list *list, int handle, int flags, const char *path)
{
    calls_add(list, OP_OPEN, handle, flags, 0, path, NULL);
}

static void on_handle(struct call_list *list, enum op op, int handle, int64_t number, uint32_t extra)
{
    calls_add(list, op, handle, number, extra, NULL, NULL);
}

static void on_path(struct call_list *list, enum op op, const char *path)
{
    calls_add(list, op, 0, 0, 0, path, NULL);
}

static void move(struct call_list *list, const char *from, const char *to)
{
    calls_add(list, OP_RENAME, 0, 0, 0, from, to);
}

/* Writes a whole file, in pieces of `step` bytes. */
static void put(struct call_list *list, const char *path, uint32_t size, uint32_t step, uint32_t seed)
{
    open_file(list, 0, WRITE_NEW, path);
    for (uint32_t at = 0; at < size; at += step) {
        on_handle(list, OP_WRITE, 0, size - at < step ? size - at : step, seed + at);
    }
    on_handle(list, OP_CLOSE, 0, 0, 0);
}

static void write_at(struct call_list *list, int handle, uint32_t offset, uint32_t length, uint32_t seed)
{
    on_handle(list, OP_SEEK, handle, offset, NF2_SEEK_SET);
    on_handle(list, OP_WRITE, handle, length, seed);
}

static const char *numbered(char *name, const char *prefix, unsigned number)
{
    snprintf(name, 64, "%s%03u", prefix, number);
    return name;
}

static void small(struct call_list *list, uint32_t volume_size, uint32_t block_size)
{
    char name[64];

    (void)volume_size;
    (void)block_size;
    for (unsigned i = 0; i < 12; i++) {
        put(list, numbered(name, "small", i), 5 + 15 * i, 1000, i);
    }
    open_file(list, 0, WRITE_NEW, "empty");
    on_handle(list, OP_CLOSE, 0, 0, 0);
    for (unsigned i = 0; i < 24; i++) {
        put(list, numbered(name, "small", i % 12), 180 - 13 * (i % 12), 100, 50 + i);
    }
    for (unsigned i = 0; i < 12; i += 2) {
        on_path(list, OP_REMOVE, numbered(name, "small", i));
    }
}

static void create_write_close(struct call_list *list, uint32_t volume_size, uint32_t block_size)
{
    static const uint32_t sizes[] = { 300, 1000, 4096, 4097, 9000, 255, 256, 257, 512, 12288 };
    char name[64];

    (void)volume_size;
    (void)block_size;
    for (unsigned i = 0; i < 10; i++) {
        put(list, numbered(name, "file", i), sizes[i], 20000, 100 + i);
    }
    for (unsigned i = 0; i < 10; i++) {
        put(list, numbered(name, "file", i), sizes[9 - i], 700, 200 + i);
    }
}

static void overwrite(struct call_list *list, uint32_t volume_size, uint32_t block_size)
{
    (void)volume_size;
    (void)block_size;
    put(list, "a", 3000, 3000, 1);
    put(list, "b", 9000, 9000, 2);
    for (uint32_t i = 0; i < 12; i++) {
        open_file(list, 1, NF2_O_RDWR, i % 2 ? "a" : "b");
        write_at(list, 1, i * 100, 50 + i * 40, i);
        if (i % 3 == 0) {
            write_at(list, 1, 2000, 700, i + 3);
        }
        on_handle(list, OP_CLOSE, 1, 0, 0);
    }
}

static void append_synced(struct call_list *list, uint32_t volume_size, uint32_t block_size)
{
    (void)volume_size;
    (void)block_size;
    open_file(list, 0, NF2_O_WRONLY | NF2_O_CREAT | NF2_O_APPEND, "log");
    for (uint32_t i = 0; i < 200; i++) {
        on_handle(list, OP_WRITE, 0, i % 4 == 3 ? 12 : 32 + i % 7, i);
        on_handle(list, OP_SYNC, 0, 0, 0);
    }
    on_handle(list, OP_CLOSE, 0, 0, 0);
    open_file(list, 0, NF2_O_WRONLY | NF2_O_APPEND | NF2_O_SYNC, "log");
    for (uint32_t i = 0; i < 20; i++) {
        on_handle(list, OP_WRITE, 0, 1 + 20 * i, i);
    }
    on_handle(list, OP_CLOSE, 0, 0, 0);
}

/* Synced appends of nearly a page: some lie in two frames, on two pages. */
static void append_halves(struct call_list *list, uint32_t volume_size, uint32_t block_size)
{
    static const uint32_t sizes[] = { 60, 250, 30, 253, 100, 256, 120, 247, 505, 90, 511, 200, 254, 509, 10, 512 };

    (void)volume_size;
    (void)block_size;
    open_file(list, 0, NF2_O_WRONLY | NF2_O_CREAT | NF2_O_APPEND | NF2_O_SYNC, "halves");
    for (uint32_t i = 0; i < 64; i++) {
        on_handle(list, OP_WRITE, 0, sizes[i % 16], i);
    }
    on_handle(list, OP_CLOSE, 0, 0, 0);
}

static void grow(struct call_list *list, uint32_t volume_size, uint32_t block_size)
{
    (void)volume_size;
    (void)block_size;
    open_file(list, 0, NF2_O_RDWR | NF2_O_CREAT, "growing");
    for (uint32_t i = 0; i < 60; i++) {
        on_handle(list, OP_WRITE, 0, 15 + i * 5, i);
        if (i % 3 != 1) {
            on_handle(list, OP_SYNC, 0, 0, 0);
        }
    }
    on_handle(list, OP_CLOSE, 0, 0, 0);
}

static void batch(struct call_list *list, uint32_t volume_size, uint32_t block_size)
{
    uint32_t size = volume_size / 5;

    (void)block_size;
    put(list, "keep", 150, 150, 1);
    put(list, "large", size, 1000, 2);
    put(list, "large", size, 4096, 3);
    put(list, "other", size / 2, 777, 4);
    on_path(list, OP_REMOVE, "large");
    put(list, "other", size, 5000, 5);
}

static void random_updates(struct call_list *list, uint32_t volume_size, uint32_t block_size)
{
    uint32_t state = 12345, size = volume_size / 6;

    (void)block_size;
    put(list, "data", size, 4096, 1);
    open_file(list, 1, NF2_O_RDWR, "data");
    for (uint32_t i = 0; i < 90; i++) {
        state = state * 1103515245u + 12345u;
        write_at(list, 1, (state >> 8) % size, i % 5 == 4 ? 4096 : 1 + (state >> 4) % 1024, i);
        if (i % 7 != 3) {
            on_handle(list, OP_SYNC, 1, 0, 0);
        }
    }
    on_handle(list, OP_CLOSE, 1, 0, 0);
}

static void truncates(struct call_list *list, uint32_t volume_size, uint32_t block_size)
{
    static const uint32_t sizes[] = { 15000, 4096, 4097, 9000, 100, 3000, 0, 50, 12000, 8191, 8192, 1, 20000, 300 };

    (void)volume_size;
    (void)block_size;
    put(list, "cut", 20000, 4000, 7);
    open_file(list, 0, NF2_O_RDWR, "cut");
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        on_handle(list, OP_TRUNCATE, 0, sizes[i], 0);
        on_handle(list, OP_SYNC, 0, 0, 0);
        write_at(list, 0, sizes[i] / 2, 200, i);
        on_handle(list, i % 2 ? OP_SYNC : OP_TELL, 0, 0, 0);
    }
    on_handle(list, OP_CLOSE, 0, 0, 0);
    open_file(list, 0, NF2_O_RDWR | NF2_O_TRUNC, "cut");
    on_handle(list, OP_CLOSE, 0, 0, 0);
}

static void renames(struct call_list *list, uint32_t volume_size, uint32_t block_size)
{
    (void)volume_size;
    (void)block_size;
    on_path(list, OP_MKDIR, "d");
    on_path(list, OP_MKDIR, "e");
    put(list, "a", 100, 100, 1);
    put(list, "d/large", 6000, 6000, 2);
    put(list, "d/small", 60, 60, 3);
    for (unsigned i = 0; i < 6; i++) {
        move(list, "a", "b");               /* in a directory */
        move(list, "b", "d/c");             /* across */
        move(list, "d/c", "e/a name that is longer than the one before");
        put(list, "a", 40 + i, 100, 10 + i);
        move(list, "e/a name that is longer than the one before", "a");     /* over, across */
        move(list, "d/large", "d/small");   /* large over small */
        move(list, "d/small", "d/large");
        put(list, "d/small", 30, 30, i);
        move(list, "d/small", "d/large");   /* small over large */
        put(list, "d/large", 5000, 5000, i);
        put(list, "d/small", 70, 30, i);
        move(list, "d", "e/d");             /* a directory, across */
        move(list, "e/d", "d");
    }
    on_path(list, OP_MKDIR, "f");
    move(list, "d", "f");                   /* over an empty directory */
    move(list, "f", "d");
}

static void directories(struct call_list *list, uint32_t volume_size, uint32_t block_size)
{
    (void)volume_size;
    (void)block_size;
    for (unsigned i = 0; i < 5; i++) {
        on_path(list, OP_MKDIR, "a");
        on_path(list, OP_MKDIR, "a/b");
        on_path(list, OP_MKDIR, "a/b/c");
        on_path(list, OP_MKDIR, "a/b/c/d");
        put(list, "a/b/c/d/file", 30, 30, i);
        put(list, "a/b/file", 3000, 3000, i);
        on_path(list, OP_REMOVE, "a/b/c/d/file");
        on_path(list, OP_REMOVE, "a/b/c/d");
        on_path(list, OP_REMOVE, "a/b/c");
        on_path(list, OP_REMOVE, "a/b/file");
        on_path(list, OP_REMOVE, "a/b");
        on_path(list, OP_REMOVE, "a");
    }
}

static void remove_large(struct call_list *list, uint32_t volume_size, uint32_t block_size)
{
    uint32_t state = 99, size = volume_size / 5;

    (void)block_size;
    for (unsigned round = 0; round < 2; round++) {
        put(list, "fragments", size, 4096, round);
        open_file(list, 1, NF2_O_RDWR, "fragments");
        for (uint32_t i = 0; i < 40; i++) {
            state = state * 1103515245u + 12345u;
            write_at(list, 1, (state >> 8) % size, 300 + (state >> 5) % 3000, i);
            if (i % 2) {
                on_handle(list, OP_SYNC, 1, 0, 0);
            }
        }
        on_handle(list, OP_CLOSE, 1, 0, 0);
        put(list, "between", 100, 100, round);
        on_path(list, OP_REMOVE, "fragments");
        for (unsigned i = 0; i < 6; i++) {
            on_handle(list, OP_MAINTAIN, 0, 5000, 0);
        }
        put(list, "after", 8000, 8000, round);
        on_handle(list, OP_MAINTAIN, 0, 1000000, 0);
    }
}

static void many_files(struct call_list *list, uint32_t volume_size, uint32_t block_size)
{
    static const char prefix[] = "a name of some length, so that nodes split soon ";
    char name[64];

    (void)volume_size;
    (void)block_size;
    for (unsigned i = 0; i < 130; i++) {
        put(list, numbered(name, prefix, i * 37 % 130), 5 + i % 40, 100, i);
    }
    for (unsigned i = 0; i < 130; i += 2) {
        on_path(list, OP_REMOVE, numbered(name, prefix, i));
    }
    for (unsigned i = 1; i < 130; i += 2) {
        on_path(list, OP_REMOVE, numbered(name, prefix, i));
    }
    put(list, "last", 100, 100, 1);
}

static void fill(struct call_list *list, uint32_t volume_size, uint32_t block_size)
{
    uint32_t size = 3 * block_size;
    unsigned count = volume_size / size + 2;
    char name[64];

    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < count; i++) {
            put(list, numbered(name, "fill", i), size, size / 2, i);
        }
        for (unsigned i = 0; i < 30; i++) {
            put(list, numbered(name, "rest", i), i * 7, 300, i);
        }
        for (unsigned i = 0; i < count; i++) {
            on_path(list, OP_REMOVE, numbered(name, "fill", (i * 7 + 3) % count));
        }
        for (unsigned i = 0; i < count; i++) {
            on_path(list, OP_REMOVE, numbered(name, "fill", i));
        }
    }
}

/* Many small updates that wait for one sync while the volume is full. */
static void updates_on_full(struct call_list *list, uint32_t volume_size, uint32_t block_size)
{
    uint32_t state = 4711, size = volume_size / 6;
    unsigned count = volume_size / (3 * block_size);
    char name[64];

    put(list, "data", size, 4096, 1);
    for (unsigned i = 0; i < count; i++) {
        put(list, numbered(name, "fill", i), 2 * block_size, 2 * block_size, i);
    }
    open_file(list, 1, NF2_O_RDWR, "data");
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < 120; i++) {
            state = state * 1103515245u + 12345u;
            write_at(list, 1, (state >> 8) % size, 1 + (state >> 28) % 8, i);
        }
        on_handle(list, OP_SYNC, 1, 0, 0);
        on_path(list, OP_REMOVE, numbered(name, "fill", round));
    }
    on_handle(list, OP_CLOSE, 1, 0, 0);
}

/* Files of all kinds rest while others come and go: idle time moves them (the rig asks for that early). */
static void exchange(struct call_list *list, uint32_t volume_size, uint32_t block_size)
{
    char name[64];

    put(list, "flat", volume_size / 5, 2 * block_size, 1);
    put(list, "mapped", volume_size / 10, block_size, 2);
    for (unsigned i = 0; i < 8; i++) {
        open_file(list, 1, NF2_O_RDWR, "mapped");
        write_at(list, 1, i * 1500, 700, i);
        on_handle(list, OP_CLOSE, 1, 0, 0);
        put(list, numbered(name, "small", i), 20 + i * 9, 300, i);
    }
    open_file(list, 2, NF2_O_RDONLY, "flat");
    for (unsigned round = 0; round < 14; round++) {
        put(list, "hot", volume_size / 4, 4 * block_size, round);
        on_path(list, OP_REMOVE, "hot");
        calls_add(list, OP_MAINTAIN, 0, 10000000, 0, NULL, NULL);
        on_handle(list, OP_READ, 2, 3000, 0);
    }
    on_handle(list, OP_CLOSE, 2, 0, 0);
}

static void maintain(struct call_list *list, uint32_t volume_size, uint32_t block_size)
{
    static const uint32_t budgets[] = { 100, 1000, 5000, 60000, 400000, 10000000 };
    char name[64];

    (void)volume_size;
    (void)block_size;
    for (unsigned i = 0; i < 60; i++) {
        put(list, numbered(name, "m", i % 7), 60 + i * 100, 4000, i);
        if (i % 5 == 4) {
            on_path(list, OP_REMOVE, numbered(name, "m", (i + 3) % 7));
        }
        on_handle(list, OP_MAINTAIN, 0, budgets[i % 6], 0);
    }
}

static void mounts(struct call_list *list, uint32_t volume_size, uint32_t block_size)
{
    char name[64];

    (void)volume_size;
    (void)block_size;
    for (unsigned i = 0; i < 14; i++) {
        on_handle(list, i % 3 == 2 ? OP_ABANDON : OP_UNMOUNT, 0, 0, 0);
        put(list, numbered(name, "x", i % 5), 20 + i * 150, 5000, i);
        if (i % 4 == 3) {
            on_handle(list, OP_UNMOUNT, 0, 0, 0);
            on_path(list, OP_MKDIR, numbered(name, "dir", i));
        }
        if (i % 4 == 1) {
            open_file(list, 1, NF2_O_WRONLY | NF2_O_CREAT, "left open");
            on_handle(list, OP_WRITE, 1, 3000, i);
        }
    }
}

static void two_writers(struct call_list *list, uint32_t volume_size, uint32_t block_size)
{
    (void)volume_size;
    (void)block_size;
    open_file(list, 0, NF2_O_RDWR | NF2_O_CREAT, "one");
    open_file(list, 1, NF2_O_RDWR | NF2_O_CREAT, "two");
    on_handle(list, OP_PREALLOCATE, 1, 16000, 0);
    for (uint32_t i = 0; i < 40; i++) {
        on_handle(list, OP_WRITE, (int)(i % 2), 100 + i * 20, i);
        if (i % 3 == 0) {
            on_handle(list, OP_SYNC, (int)(i / 3 % 2), 0, 0);
        }
        if (i % 10 == 9) {
            open_file(list, 2, WRITE_NEW, "three");
            on_handle(list, OP_WRITE, 2, 50 * i, i);
            on_handle(list, OP_CLOSE, 2, 0, 0);
        }
    }
    on_handle(list, OP_CLOSE, 0, 0, 0);
    on_handle(list, OP_CLOSE, 1, 0, 0);
}

static void replace(struct call_list *list, uint32_t volume_size, uint32_t block_size)
{
    (void)volume_size;
    (void)block_size;
    for (uint32_t i = 0; i < 60; i++) {
        put(list, "config.tmp", 20 + i * 17 % 400, 1000, i);
        move(list, "config.tmp", i % 3 ? "config" : "settings");
    }
}

static void long_names(struct call_list *list, uint32_t volume_size, uint32_t block_size)
{
    char name[NF2_NAME_MAX + 1], other[NF2_NAME_MAX + 1];

    (void)volume_size;
    (void)block_size;
    for (unsigned i = 0; i < 24; i++) {
        unsigned length = 130 + i * 5 + (i == 23 ? 10 : 0);

        for (unsigned j = 0; j < length; j++) {
            name[j] = (char)('a' + (i * 11 + j) % 26);
            other[j] = (char)('A' + (i + j) % 26);
        }
        name[length] = other[length] = 0;
        put(list, name, 10 + i * 30, 2000, i);
        if (i % 2) {
            move(list, name, other);
        }
        if (i % 3 == 0) {
            on_path(list, OP_REMOVE, i % 2 ? other : name);
        }
    }
}

#define ARCHIVES 3u
#define ENTRIES 3u                      /* in a full log */
#define ENTRY_WRITES 4u                 /* an entry is too large for the RAM: it comes in pieces, and is durable as a whole */

static void log_entry(struct call_list *list, uint32_t seed)
{
    open_file(list, 0, NF2_O_WRONLY | NF2_O_CREAT | NF2_O_APPEND, "log");
    for (uint32_t piece = 0; piece < ENTRY_WRITES; piece++) {
        on_handle(list, OP_WRITE, 0, 90 + seed % 40, seed + piece);
    }
    on_handle(list, OP_CLOSE, 0, 0, 0);
}

/* A full log becomes an archive by one rename, and the oldest archive goes. */
static void archive(struct call_list *list, uint32_t volume_size, uint32_t block_size)
{
    char name[64];

    (void)volume_size;
    (void)block_size;
    on_path(list, OP_MKDIR, "archive");
    for (unsigned i = 0; i < 2 * ARCHIVES; i++) {
        for (uint32_t entry = 0; entry < ENTRIES; entry++) {
            log_entry(list, i * 100 + entry * 10);
        }
        move(list, "log", numbered(name, "archive/log", i));
        if (i >= ARCHIVES) {
            on_path(list, OP_REMOVE, numbered(name, "archive/log", i - ARCHIVES));
        }
    }
}

const struct cut_script cut_script_archive = { "archive", archive };

const struct cut_script cut_scripts[] = {
    { "small", small },
    { "create", create_write_close },
    { "overwrite", overwrite },
    { "append", append_synced },
    { "halves", append_halves },
    { "grow", grow },
    { "batch", batch },
    { "random", random_updates },
    { "truncate", truncates },
    { "rename", renames },
    { "directories", directories },
    { "remove", remove_large },
    { "many", many_files },
    { "fill", fill },
    { "updates", updates_on_full },
    { "maintain", maintain },
    { "exchange", exchange },
    { "mounts", mounts },
    { "writers", two_writers },
    { "replace", replace },
    { "names", long_names }
};
const unsigned cut_script_count = sizeof cut_scripts / sizeof cut_scripts[0];
