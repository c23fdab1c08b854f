/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_idle_errors.c - calls of the driver that fail in idle work, on a volume that has work of each kind: what rests in little worn blocks,
 * a large file in pieces, leaves to be merged, removed files: once for each way that leads to the driver (ways.h). The same is there, at once
 * and behind a mount; the work goes on to its end.
 *
 *   test_idle_errors [--links N] [--rounds N]
 */
#include <stdlib.h>
#include <string.h>

#include "api_volume.h"
#include "calls.h"
#include "check.h"
#include "core_traits.h"
#include "ways.h"

#define CHIP "w25q80"           /* 256 blocks of 4 KiB; it erases 64 KiB at once */
#define FLAT 5u                 /* files that rest */
#define LARGE 300000u           /* bytes of one that is overwritten in pieces */
#define NAMES 60u
#define HOT 200000u

static int links = 8;
static uint32_t rounds = 4;
static uint8_t large[LARGE];    /* what it holds */

/* The driver in front of the chip's own one: it notes the first call on each way. */
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

struct saved {
    struct vflash_checkpoint *chip;
    struct volume volume;
    uint8_t buffer[NF2_BUFFER_SIZE(NF2_PAGE_MAX)];
};

static void save(struct saved *saved, const struct volume *volume)
{
    saved->chip = vflash_save(volume->flash);
    saved->volume = *volume;
    memcpy(saved->buffer, volume->config.buffer, volume->config.buffer_size);
}

static void back(const struct saved *saved, struct volume *volume)
{
    vflash_restore(volume->flash, saved->chip);
    *volume = saved->volume;
    memcpy(volume->config.buffer, saved->buffer, volume->config.buffer_size);
}

static void name_of(char *name, size_t size, unsigned number)
{
    snprintf(name, size, "name of a small file %u", number);
}

/* Synced writes to the large file. */
static void overwrite(struct volume *volume, uint64_t *random, unsigned writes)
{
    CHECK_EQ(nf2_open(&volume->fs, &volume->file, "large", NF2_O_RDWR, volume->page), NF2_OK);
    for (unsigned i = 0; i < writes; i++) {
        uint32_t length = 100 + random_number(random, 5000), at = random_number(random, LARGE - length);
        call_data(large + at, length, 5 + i);
        CHECK_EQ(nf2_seek(&volume->fs, &volume->file, (int32_t)at, NF2_SEEK_SET), (int32_t)at);
        CHECK_EQ(nf2_write(&volume->fs, &volume->file, large + at, length), (int32_t)length);
        CHECK_EQ(nf2_sync(&volume->fs, &volume->file), NF2_OK);
    }
    CHECK_EQ(nf2_close(&volume->fs, &volume->file), NF2_OK);
}

static void fill(struct volume *volume, uint64_t *random)
{
    char name[40];

    for (unsigned i = 0; i < FLAT; i++) {
        name_of(name, sizeof name, 100 + i);
        CHECK_EQ(put(volume, name, 3000 + i * i * 3000, i), NF2_OK);
    }
    call_data(large, LARGE, 7);
    CHECK_EQ(nf2_open(&volume->fs, &volume->file, "large", NF2_O_RDWR | NF2_O_CREAT, volume->page), NF2_OK);
    CHECK_EQ(nf2_write(&volume->fs, &volume->file, large, LARGE), (int32_t)LARGE);
    CHECK_EQ(nf2_close(&volume->fs, &volume->file), NF2_OK);
    overwrite(volume, random, 40);
}

/* New work: blocks are worn, names come and most go, pieces of the large file die. */
static void make_work(struct volume *volume, uint64_t *random)
{
    char name[40];

    for (unsigned i = 0; i < NAMES; i++) {
        name_of(name, sizeof name, i);
        CHECK_EQ(put(volume, name, 50, i), NF2_OK);
    }
    for (unsigned i = 0; i < NAMES; i++) {
        name_of(name, sizeof name, i);
        CHECK_EQ(nf2_remove(&volume->fs, name), NF2_OK);
    }
    CHECK_EQ(put(volume, "hot", HOT, 1), NF2_OK);
    overwrite(volume, random, 25);
    CHECK_EQ(nf2_remove(&volume->fs, "hot"), NF2_OK);
}

/* All is there, and nothing else. */
static bool all_there(struct volume *volume)
{
    static uint8_t found[LARGE];
    char name[40];
    bool right = size_of(volume, "hot", NULL) == NF2_ERR_NOENT;

    for (unsigned i = 0; i < FLAT && right; i++) {
        name_of(name, sizeof name, 100 + i);
        right = holds(volume, name, 3000 + i * i * 3000, i);
    }
    right = right && nf2_open(&volume->fs, &volume->file, "large", NF2_O_RDONLY, NULL) == NF2_OK;
    right = right && nf2_read(&volume->fs, &volume->file, found, LARGE) == (int32_t)LARGE && memcmp(found, large, LARGE) == 0;
    return right && nf2_close(&volume->fs, &volume->file) == NF2_OK;
}

/* In idle work, so many of the driver's calls fail from this one on. */
static bool fail_at(struct volume *volume, uint64_t at, uint64_t count)
{
    uint64_t before = vflash_failed(volume->flash);
    bool thorough = at % 4 == 0;

    vflash_fail_from(volume->flash, at, count);
    int status = maintain_all(volume);
    vflash_fail_at(volume->flash, 0);
    bool broken = core_broken(&volume->fs);
    bool right = CHECK(vflash_failed(volume->flash) != before) && CHECK(status == 0 || status == NF2_ERR_IO) && CHECK(status < 0 || !broken) &&
                 CHECK(all_there(volume));
    right = right && (broken || CHECK_EQ(nf2_check(&volume->fs, NULL, NULL), 0));
    right = right && (broken || !thorough || CHECK_EQ(maintain_all(volume), 0)); /* on from where it stopped */
    right = right && CHECK_EQ(volume_again(volume, !broken && at % 3 == 0), NF2_OK) && CHECK_EQ(nf2_check(&volume->fs, NULL, NULL), 0);
    right = right && CHECK(all_there(volume));
    right = right && (!thorough || (CHECK_EQ(maintain_all(volume), 0) && CHECK_EQ(nf2_check(&volume->fs, NULL, NULL), 0)));
    if (!right) {
        printf("%llu calls from call %llu on\n", (unsigned long long)count, (unsigned long long)at);
    }
    return right;
}

TEST(idle_work)
{
    static struct volume volume;
    static struct saved saved;
    uint64_t random = 3;
    unsigned runs = 0;

    volume_new(&volume, CHIP);
    looked.chip = vflash_driver(volume.flash);
    volume.driver.read = noting_read;
    volume.driver.program = noting_program;
    volume.driver.erase = noting_erase;
    volume.config.wear_age = 1;
    volume.config.wear_spread = 3;
    volume_format(&volume);
    fill(&volume, &random);
    for (unsigned round = 0; round < rounds && check_state.failures == 0; round++) {
        make_work(&volume, &random);
        save(&saved, &volume);
        looked.calls = looked.ways = 0;
        looked.noting = true;
        CHECK_EQ(maintain_all(&volume), 0);
        looked.noting = false;
        CHECK(all_there(&volume));
        for (unsigned i = 0; i < looked.ways && check_state.failures == 0; i++, runs++) {
            back(&saved, &volume);
            (void)fail_at(&volume, looked.at[i], i % 4 == 3 ? 5 : 1);
        }
        back(&saved, &volume);
        CHECK_EQ(maintain_all(&volume), 0);
        vflash_release(saved.chip);
    }
    printf("%u runs\n", runs);
    volume_down(&volume, true);
}

int main(int count, char **argument)
{
    for (int i = 1; i + 1 < count; i += 2) {
        if (strcmp(argument[i], "--links") == 0) {
            links = (int)strtol(argument[i + 1], NULL, 0);
        } else if (strcmp(argument[i], "--rounds") == 0) {
            rounds = (uint32_t)strtoul(argument[i + 1], NULL, 0);
        }
    }
    RUN(idle_work);
    return check_done();
}
