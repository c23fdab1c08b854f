/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_deep_errors.c - calls of the driver that fail in a tree of some levels, of long names, with a map of many pieces
 * beside them: each kind of call, once for each way that leads to the driver (ways.h). The call says so or succeeds; all is as before it or as after it.
 *
 *   test_deep_errors [--links N]        (default 8)
 */
#include <stdlib.h>
#include <string.h>

#include "api_volume.h"
#include "check.h"
#include "core_traits.h"
#include "ways.h"

#define FILES 300u
#define PREFIX 236u             /* bytes that all names share: few children in a node */
#define MAP 40000u              /* bytes of a file in pieces */
#define PIECE 100u

static int links = 8;
static uint8_t map[MAP];

static struct {
    const struct nf2_flash *chip;
    bool noting;
    uint64_t calls, at[WAYS_MAX];
    unsigned ways;
} looked;

static __attribute__((noinline)) void note(void)
{
    looked.calls++;
    if (looked.noting && looked.ways < WAYS_MAX && way_is_new(links, 1)) {
        looked.at[looked.ways++] = looked.calls;
    }
}

static int noting_read(void *context, uint32_t address, void *data, uint32_t length)
{
    (void)context;
    note();
    return looked.chip->read(looked.chip->context, address, data, length);
}

static int noting_program(void *context, uint32_t address, const void *data, uint32_t length)
{
    (void)context;
    note();
    return looked.chip->program(looked.chip->context, address, data, length);
}

static int noting_erase(void *context, uint32_t address, uint32_t length)
{
    (void)context;
    note();
    return looked.chip->erase(looked.chip->context, address, length);
}

static const char *name_of(uint32_t number)
{
    static char names[2][NF2_NAME_MAX + 1];
    static unsigned turn;
    char *name = names[turn++ % 2u];

    memset(name, 'n', PREFIX);
    snprintf(name + PREFIX, sizeof names[0] - PREFIX, "%06u", (unsigned)number);
    return name;
}

/* ---- calls, and what shows that one is done ------------------------------------------------------ */

static int list_all(struct volume *volume)
{
    struct nf2_dirent entry;
    nf2_dir_t dir;
    int more = nf2_opendir(&volume->fs, &dir, "/"), closed;

    while (more >= 0 && (more = nf2_readdir(&volume->fs, &dir, &entry)) > 0) {
    }
    closed = nf2_closedir(&volume->fs, &dir);
    return more < 0 ? more : closed;
}

static int do_find(struct volume *volume)
{
    for (uint32_t i = 0; i < FILES; i += 60) {
        int status = size_of(volume, name_of(i), NULL);
        if (status != NF2_OK) {
            return status;
        }
    }
    return NF2_OK;
}

static int do_remove(struct volume *volume)
{
    return nf2_remove(&volume->fs, name_of(77));
}

static int do_replace(struct volume *volume)
{
    return put(volume, name_of(150), 900, 5);
}

static int do_rename(struct volume *volume)
{
    return nf2_rename(&volume->fs, name_of(210), name_of(1000000 - 1));
}

static int do_read(struct volume *volume)
{
    static uint8_t found[MAP];
    int status = nf2_open(&volume->fs, &volume->file, "map", NF2_O_RDONLY, NULL);

    if (status != NF2_OK) {
        return status;
    }
    int32_t got = nf2_read(&volume->fs, &volume->file, found, MAP);
    (void)nf2_close(&volume->fs, &volume->file);
    CHECK(got < 0 || (got == (int32_t)MAP && memcmp(found, map, MAP) == 0));
    return got < 0 ? (int)got : NF2_OK;
}

static int do_update(struct volume *volume)
{
    int status = nf2_open(&volume->fs, &volume->file, "map", NF2_O_RDWR, volume->page);

    for (uint32_t at = 350; at < MAP && status >= 0; at += 9000) { /* what is there already */
        int32_t place = nf2_seek(&volume->fs, &volume->file, (int32_t)at, NF2_SEEK_SET);
        status = place < 0 ? (int)place : (int)nf2_write(&volume->fs, &volume->file, map + at, 300);
        status = status < 0 ? status : nf2_sync(&volume->fs, &volume->file);
    }
    int closed = status == NF2_OK || status < 0 ? nf2_close(&volume->fs, &volume->file) : NF2_OK;
    return status < 0 ? status : closed;
}

static int do_maintain(struct volume *volume)
{
    int left = nf2_maintain(&volume->fs, 400000);
    return left < 0 ? left : NF2_OK;
}

static int do_check(struct volume *volume)
{
    int wrong = nf2_check(&volume->fs, NULL, NULL);

    CHECK(wrong == 0 || vflash_failed(volume->flash) > 0);
    return wrong == 0 ? NF2_OK : NF2_ERR_IO;
}

static int do_mount(struct volume *volume)
{
    return volume_again(volume, false);
}

static const struct {
    const char *name;
    int (*run)(struct volume *volume);
    unsigned times;             /* so often, noted together */
} operations[] = {
    {"find", do_find, 1}, {"list", list_all, 1}, {"read", do_read, 1}, {"remove", do_remove, 1}, {"replace", do_replace, 1}, {"rename", do_rename, 1},
    {"update", do_update, 1}, {"maintain", do_maintain, 4}, {"check", do_check, 1}, {"mount", do_mount, 1},
};
#define OPERATIONS ((unsigned)(sizeof operations / sizeof operations[0]))

static int run_all(struct volume *volume, unsigned number)
{
    int status = NF2_OK;

    for (unsigned i = 0; i < operations[number].times && status == NF2_OK; i++) {
        status = operations[number].run(volume);
    }
    return status;
}

/* Names and contents that no call changes; what one does is done or not. */
static bool all_there(struct volume *volume)
{
    bool right = do_read(volume) == NF2_OK;

    for (uint32_t i = 0; i < FILES && right; i += 39) {
        right = i % 5 == 4 || i == 77 || i == 150 || i == 210 || holds(volume, name_of(i), 3, i);
    }
    int removed = size_of(volume, name_of(77), NULL), from = size_of(volume, name_of(210), NULL), to = size_of(volume, name_of(1000000 - 1), NULL);
    bool replaced = holds(volume, name_of(150), 900, 5) || holds(volume, name_of(150), 3, 150) || holds(volume, name_of(150), 0, 0);
    return right && replaced && (removed == NF2_OK || removed == NF2_ERR_NOENT) && (from == NF2_OK) != (to == NF2_OK);
}

static void fill(struct volume *volume)
{
    for (uint32_t i = 0; i < MAP; i++) {
        map[i] = content_byte(9, i);
    }
    CHECK_EQ(put(volume, "map", MAP, 9), NF2_OK);
    CHECK_EQ(nf2_open(&volume->fs, &volume->file, "map", NF2_O_RDWR, volume->page), NF2_OK);
    for (uint32_t i = 0; i < MAP / PIECE; i++) {
        uint32_t at = i * 7u % (MAP / PIECE) * PIECE;
        for (uint32_t j = 0; j < PIECE; j++) {
            map[at + j] = (uint8_t)(i + j * 3u);
        }
        CHECK_EQ(nf2_seek(&volume->fs, &volume->file, (int32_t)at, NF2_SEEK_SET), (int32_t)at);
        CHECK_EQ(nf2_write(&volume->fs, &volume->file, map + at, PIECE), (int32_t)PIECE);
        CHECK_EQ(nf2_sync(&volume->fs, &volume->file), NF2_OK);
    }
    CHECK_EQ(nf2_close(&volume->fs, &volume->file), NF2_OK);
    for (uint32_t i = 0; i < FILES; i++) {
        uint32_t number = i * 7 % FILES;
        CHECK_EQ(put(volume, name_of(number), 3, number), NF2_OK);
    }
    for (uint32_t i = 4; i < FILES; i += 5) { /* leaves to be merged */
        CHECK_EQ(nf2_remove(&volume->fs, name_of(i)), NF2_OK);
    }
}

TEST(each_way)
{
    static struct volume volume;
    unsigned runs = 0, refused = 0;

    volume_new(&volume, "tiny2m");
    looked.chip = vflash_driver(volume.flash);
    volume.driver.read = noting_read;
    volume.driver.program = noting_program;
    volume.driver.erase = noting_erase;
    volume.config.wear_age = 1;
    volume.config.wear_spread = 2;
    volume_format(&volume);
    fill(&volume);
    struct vflash_checkpoint *ground = vflash_save(volume.flash);
    for (unsigned number = 0; number < OPERATIONS && check_state.failures == 0; number++) {
        vflash_restore(volume.flash, ground);
        CHECK_EQ(volume_again(&volume, false), NF2_OK);
        looked.calls = looked.ways = 0;
        looked.noting = true;
        CHECK_EQ(run_all(&volume, number), NF2_OK);
        looked.noting = false;
        for (unsigned i = 0; i < looked.ways && check_state.failures == 0; i++, runs++) {
            vflash_restore(volume.flash, ground);
            CHECK_EQ(volume_again(&volume, false), NF2_OK);
            vflash_fail_from(volume.flash, looked.at[i], i % 4 == 3 ? 6 : 1);
            int status = run_all(&volume, number);
            vflash_fail_at(volume.flash, 0);
            refused += status != NF2_OK;
            bool right = CHECK(status == NF2_OK || status == NF2_ERR_IO);
            right = right && (operations[number].run == do_mount || core_broken(&volume.fs) || CHECK(all_there(&volume)));
            right = right && CHECK_EQ(volume_again(&volume, false), NF2_OK) && CHECK(all_there(&volume));
            right = right && (runs % 8 != 0 || CHECK_EQ(nf2_check(&volume.fs, NULL, NULL), 0));
            if (!right) {
                printf("%s: call %llu of the driver fails\n", operations[number].name, (unsigned long long)looked.at[i]);
            }
        }
    }
    CHECK(refused > runs / 4);
    printf("%u runs, %u calls said that the driver failed\n", runs, refused);
    vflash_release(ground);
    volume_down(&volume, true);
}

int main(int count, char **argument)
{
    for (int i = 1; i + 1 < count; i += 2) {
        if (strcmp(argument[i], "--links") == 0) {
            links = (int)strtol(argument[i + 1], NULL, 0);
        }
    }
    RUN(each_way);
    return check_done();
}
