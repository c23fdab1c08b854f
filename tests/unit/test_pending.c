/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_pending.c - a change of several leaves is interrupted at each of its programs and erases: by a driver that fails from then on
 * (the volume stays readable), and by a cut (it is mounted read-only, then for writing). All of them show the same: all of it or nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "api_volume.h"
#include "check.h"
#include "core_traits.h"

#define FILES 40u               /* in each of two directories */
#define LARGE 60000u
#define OPERATIONS_MAX 400u

/* The driver in front of the chip's own one: from operation `dies_at` on (counted from 1; 0: never) nothing is done. */
struct dying {
    const struct nf2_flash *chip;
    uint32_t operation, dies_at;
};

static bool dead(struct dying *dying)
{
    dying->operation++;
    return dying->dies_at != 0 && dying->operation >= dying->dies_at;
}

static int dying_read(void *context, uint32_t address, void *data, uint32_t length)
{
    struct dying *dying = context;
    return dying->chip->read(dying->chip->context, address, data, length);
}

static int dying_program(void *context, uint32_t address, const void *data, uint32_t length)
{
    struct dying *dying = context;
    return dead(dying) ? -1 : dying->chip->program(dying->chip->context, address, data, length);
}

static int dying_erase(void *context, uint32_t address, uint32_t length)
{
    struct dying *dying = context;
    return dead(dying) ? -1 : dying->chip->erase(dying->chip->context, address, length);
}

/* ---- what a volume shows ------------------------------------------------------------------------ */

static uint32_t mix(uint32_t sum, const void *data, size_t length)
{
    const uint8_t *p = data;

    for (size_t i = 0; i < length; i++) {
        sum = (sum ^ p[i]) * 16777619u;
    }
    return sum;
}

/* Reads pieces of different lengths, from the front and from the back. */
static bool mix_file(nf2_t *fs, const char *path, uint32_t size, uint32_t *sum)
{
    uint8_t data[700];
    nf2_file_t file;
    int32_t got = 1;
    uint32_t at = 0;
    bool right = true;

    if (nf2_open(fs, &file, path, NF2_O_RDONLY, NULL) != NF2_OK) {
        return false;
    }
    for (uint32_t n = 1; got > 0; n = n % 660 + 37) {
        got = nf2_read(fs, &file, data, n);
        *sum = got > 0 ? mix(*sum, data, (size_t)got) : *sum;
        at += got > 0 ? (uint32_t)got : 0;
    }
    right = got == 0 && at == size && nf2_size(fs, &file) == (int32_t)size;
    for (at = size; at > 0 && right; at -= at < 333 ? at : 333) {
        right = nf2_seek(fs, &file, (int32_t)at - 1, NF2_SEEK_SET) >= 0 && nf2_read(fs, &file, data, 1) == 1;
        *sum = mix(*sum, data, 1);
    }
    return nf2_close(fs, &file) == NF2_OK && right;
}

static bool mix_directory(nf2_t *fs, const char *path, uint32_t *sum)
{
    nf2_dir_t dir;
    struct nf2_dirent entry;
    struct nf2_stat stat;
    int more;
    bool right = nf2_opendir(fs, &dir, path) == NF2_OK;

    while (right && (more = nf2_readdir(fs, &dir, &entry)) != 0) {
        char name[2 * NF2_NAME_MAX];
        snprintf(name, sizeof name, "%s/%s", path, entry.name);
        right = more == 1 && nf2_stat(fs, name, &stat) == NF2_OK && stat.size == entry.size && stat.type == entry.type;
        *sum = mix(*sum, name, strlen(name));
        if (right) {
            right = entry.type == NF2_TYPE_DIR ? mix_directory(fs, name, sum) : mix_file(fs, name, entry.size, sum);
        }
    }
    return right;
}

/* A sum over all names and contents; 0 where something cannot be read. */
static uint32_t shown(nf2_t *fs)
{
    uint32_t sum = 2166136261u;
    return mix_directory(fs, "", &sum) ? sum | 1u : 0;
}

/* ---- changes ------------------------------------------------------------------------------------ */

struct change {
    int (*prepare)(struct volume *volume);
    int (*make)(struct volume *volume);
};

static int nothing(struct volume *volume)
{
    (void)volume;
    return NF2_OK;
}

static int move_name(struct volume *volume)
{
    return nf2_rename(&volume->fs, "a/file 7", "z/moved");
}

static int move_long_name(struct volume *volume)
{
    return nf2_rename(&volume->fs, "a/file 7", "z/moved to a name that is too long for a key, so that the rest is in the body");
}

static int replace_large(struct volume *volume)
{
    return nf2_rename(&volume->fs, "a/file 7", "z/large");
}

static int remove_large(struct volume *volume)
{
    return nf2_remove(&volume->fs, "z/large");
}

/* Writes to the open file at places that lie apart. */
static int scatter(struct volume *volume, uint32_t count, uint32_t apart, uint32_t seed)
{
    uint8_t data[300];
    int32_t status = 0;

    for (uint32_t i = 0; i < count && status >= 0; i++) {
        memset(data, (int)(seed + i), sizeof data);
        status = nf2_seek(&volume->fs, &volume->file, (int32_t)(i * apart), NF2_SEEK_SET);
        status = status < 0 ? status : nf2_write(&volume->fs, &volume->file, data, sizeof data);
    }
    return status < 0 ? status : NF2_OK;
}

static int open_large(struct volume *volume)
{
    return nf2_open(&volume->fs, &volume->file, "z/large", NF2_O_RDWR, volume->page);
}

static int overwrite(struct volume *volume)
{
    int status = open_large(volume);
    return status < 0 ? status : scatter(volume, 20, 2500, 90);
}

static int overwrite_and_cut(struct volume *volume)
{
    int status = overwrite(volume);
    return status < 0 ? status : nf2_truncate(&volume->fs, &volume->file, 41111);
}

static int overwrite_and_append(struct volume *volume)
{
    int status = overwrite(volume);
    status = status < 0 ? status : nf2_seek(&volume->fs, &volume->file, 0, NF2_SEEK_END);
    return status < 0 ? status : (int)nf2_write(&volume->fs, &volume->file, "more of it", 10);
}

static int cut_short(struct volume *volume)
{
    int status = open_large(volume);
    return status < 0 ? status : nf2_truncate(&volume->fs, &volume->file, 3333);
}

static int begin_anew(struct volume *volume)
{
    int status = nf2_open(&volume->fs, &volume->file, "z/large", NF2_O_RDWR | NF2_O_TRUNC, volume->page);
    return status < 0 ? status : (int)nf2_write(&volume->fs, &volume->file, "little", 6);
}

static int sync_file(struct volume *volume)
{
    return nf2_sync(&volume->fs, &volume->file);
}

/* Small files enough for several leaves, and a file of many pieces. */
static int fill(struct volume *volume)
{
    char name[40];
    int status = nf2_mkdir(&volume->fs, "a");

    status = status < 0 ? status : nf2_mkdir(&volume->fs, "z");
    for (uint32_t i = 0; i < 2 * FILES && status >= 0; i++) {
        snprintf(name, sizeof name, "%s/file %u", i % 2 == 0 ? "a" : "z", (unsigned)(i / 2));
        status = put(volume, name, 100, i);
    }
    status = status < 0 ? status : put(volume, "z/large", LARGE, 5);
    for (uint32_t round = 0; round < 3 && status >= 0; round++) {
        status = open_large(volume);
        status = status < 0 ? status : scatter(volume, 24 - 7 * round, 2400 + 611 * round, 50 * round);
        status = status < 0 ? status : nf2_close(&volume->fs, &volume->file);
    }
    return status;
}

/* ---- interrupted -------------------------------------------------------------------------------- */

static void up(struct volume *volume, struct dying *dying)
{
    volume_new(volume, "tiny256k");
    dying->chip = vflash_driver(volume->flash);
    dying->operation = dying->dies_at = 0;
    volume->driver.context = dying;
    volume->driver.read = dying_read;
    volume->driver.program = dying_program;
    volume->driver.erase = dying_erase;
    volume_format(volume);
    CHECK_EQ(fill(volume), NF2_OK);
}

static uint32_t shown_after_mount(struct volume *volume, int flags)
{
    memset(&volume->fs, 0xA5, sizeof volume->fs);
    return nf2_mount(&volume->fs, &volume->config, flags) == NF2_OK ? shown(&volume->fs) : 0;
}

/* The change dies at this operation: whether it got so far. `seen` counts how often what had to be looked through was right. */
static bool interrupted(const struct change *change, uint32_t operation, const uint32_t *states, unsigned *seen)
{
    struct volume volume;
    struct dying dying;

    up(&volume, &dying);
    CHECK(change->prepare(&volume) >= 0);
    dying.operation = 0;
    dying.dies_at = operation;
    int status = change->make(&volume);
    bool died = dying.operation >= operation;
    if (died) {
        CHECK(status == NF2_ERR_IO);
        bool waits = core_change_waits(&volume.fs);
        uint32_t broken = shown(&volume.fs);
        CHECK(broken == states[0] || broken == states[1]);
        CHECK(!waits || broken == states[1]);
        *seen += waits;
        uint32_t operations = dying.operation;
        CHECK_EQ(shown_after_mount(&volume, NF2_MOUNT_RDONLY), broken);
        CHECK_EQ(nf2_mkdir(&volume.fs, "new"), NF2_ERR_ROFS);
        CHECK_EQ(nf2_unmount(&volume.fs), NF2_OK);
        CHECK_EQ(dying.operation, operations);
        dying.dies_at = 0;
        CHECK_EQ(shown_after_mount(&volume, NF2_MOUNT_RDWR), broken);
        CHECK_EQ(nf2_unmount(&volume.fs), NF2_OK);
        CHECK_EQ(nf2_mount_rdonly(&volume.fs, &volume.config), NF2_OK);
        CHECK_EQ(shown(&volume.fs), broken);
        CHECK_EQ(nf2_open(&volume.fs, &volume.file, "new", NF2_O_WRONLY | NF2_O_CREAT, volume.page), NF2_ERR_ROFS);
    }
    volume_down(&volume, true);
    return died;
}

/* How often it was seen through what waited. */
static unsigned interrupt(const struct change *change)
{
    struct volume volume;
    struct dying dying;
    uint32_t states[2], operation = 1;
    unsigned seen = 0;

    up(&volume, &dying);
    CHECK(change->prepare(&volume) >= 0);
    states[0] = shown(&volume.fs);
    CHECK_EQ(change->make(&volume), NF2_OK);
    states[1] = shown(&volume.fs);
    CHECK(states[0] != 0 && states[1] != 0 && states[0] != states[1]);
    volume_down(&volume, true);
    while (operation < OPERATIONS_MAX && interrupted(change, operation, states, &seen)) {
        operation++;
    }
    CHECK(operation > 1 && operation < OPERATIONS_MAX);
    return seen;
}

TEST(names)
{
    const struct change move = { nothing, move_name }, longer = { nothing, move_long_name };
    const struct change replace = { nothing, replace_large }, gone = { nothing, remove_large };

    CHECK(interrupt(&move) > 0);
    CHECK(interrupt(&longer) > 0);
    CHECK(interrupt(&replace) > 0);
    CHECK(interrupt(&gone) > 0);
}

TEST(maps)
{
    const struct change merge = { overwrite, sync_file }, shorter = { overwrite_and_cut, sync_file };
    const struct change append = { overwrite_and_append, sync_file };

    CHECK(interrupt(&merge) > 0);
    CHECK(interrupt(&shorter) > 0);
    CHECK(interrupt(&append) > 0);
}

TEST(ends)
{
    const struct change cut = { cut_short, sync_file }, anew = { begin_anew, sync_file };

    CHECK(interrupt(&cut) + interrupt(&anew) > 0); /* one of them may lie in a single leaf */
}

int main(void)
{
    RUN(names);
    RUN(maps);
    RUN(ends);
    return check_done();
}
