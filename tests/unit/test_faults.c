/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_faults.c - the scripts of the cut test over a driver that fails: one call of it, or all from one on. The call that meets it
 * says so or succeeds; after a mount the tree is as before that call or as after it, and the check finds nothing. The driver fails once
 * for each way that leads to it: chains of calls, as far as their last few links tell them apart; and at seeded places.
 *
 *   test_faults [--links N] [--places N] [--chip NAME] [--script NAME] [--at N]
 *       --links N       so many links are looked at (default 5; 0: seeded places only)
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "core_traits.h"
#include "cut_scripts.h"
#include "rig.h"
#include "ways.h"

#define NEVER UINT64_MAX

struct faulty {
    const struct nf2_flash *chip;
    uint64_t calls, first, last;    /* calls [first, last] fail, counted from 1 */
    bool failed;
    bool counting;
};

static unsigned places = 4;
static int links = 5;
static uint64_t way_at[WAYS_MAX];        /* of the script at hand: the call of the driver that was the first on a new way */
static unsigned ways;
static const char *only_chip, *only_script;
static uint64_t only_at;
static unsigned runs;
static unsigned refused;        /* runs in which a call said that the driver failed */

/* ---- the driver ------------------------------------------------------------------------------------ */

static __attribute__((noinline)) bool fails(struct faulty *faulty)
{
    faulty->calls++;
    if (faulty->first == NEVER && faulty->counting && links > 0 && ways < WAYS_MAX && way_is_new(links, 1)) {
        way_at[ways++] = faulty->calls;
    }
    faulty->failed |= faulty->calls >= faulty->first && faulty->calls <= faulty->last;
    return faulty->calls >= faulty->first && faulty->calls <= faulty->last;
}

static int faulty_read(void *context, uint32_t address, void *data, uint32_t length)
{
    struct faulty *faulty = context;

    if (fails(faulty)) {
        memset(data, 0x5A, length);
        return -1;
    }
    return faulty->chip->read(faulty->chip->context, address, data, length);
}

static int faulty_program(void *context, uint32_t address, const void *data, uint32_t length)
{
    struct faulty *faulty = context;

    return fails(faulty) ? -1 : faulty->chip->program(faulty->chip->context, address, data, length);
}

static int faulty_erase(void *context, uint32_t address, uint32_t length)
{
    struct faulty *faulty = context;

    return fails(faulty) ? -1 : faulty->chip->erase(faulty->chip->context, address, length);
}

/* ---- a run ----------------------------------------------------------------------------------------- */

static bool begin(struct rig *rig, const struct vflash_chip *chip, struct nf2_flash *driver, struct faulty *faulty)
{
    const struct call again = { .op = OP_ABANDON };

    if (!rig_init(rig, chip, NF2_FORMAT_ERASE)) {
        return false;
    }
    faulty->chip = vflash_driver(rig->flash);
    *driver = *faulty->chip;
    driver->context = faulty;
    driver->read = faulty_read;
    driver->program = faulty_program;
    driver->erase = faulty_erase;
    rig->config.flash = driver;
    return rig_call(rig, &again) == RIG_OK;
}

/* The driver works again: a mount, and what is there then. `call`: the one that failed. */
static bool recovers(struct rig *rig, const struct call *call)
{
    struct image before, after, found = { 0 };
    struct expect expect;
    struct nf2_stat stat;
    char as_before[200], as_after[200];

    model_image(&rig->model, true, &before);
    model_expect(&rig->model, call, &expect);
    if (expect.success && !expect.skip) {
        model_apply(&rig->model, call);
    }
    model_image(&rig->model, true, &after);
    rig->left_clean = false;
    bool right = rig_mount(rig, NF2_MOUNT_RDWR) && nf2_stat(&rig->fs, "/", &stat) == NF2_OK && rig_image(rig, &found);
    if (right && !image_matches(&found, &before, as_before, sizeof as_before) && !image_matches(&found, &after, as_after, sizeof as_after)) {
        snprintf(rig->failure, sizeof rig->failure, "neither as before (%s) nor as after (%s)", as_before, as_after);
        right = false;
    }
    right = right && rig_check(rig);
    image_free(&before);
    image_free(&after);
    image_free(&found);
    return right;
}

/* The script, with calls of the driver from `first` to `last` failing. How many calls of the driver there were; 0: something is wrong. */
static uint64_t run(const struct vflash_chip *chip, const struct call_list *list, uint64_t first, uint64_t last)
{
    struct faulty faulty = { .first = UINT64_MAX, .last = UINT64_MAX };
    struct nf2_flash driver;
    static struct rig rig;
    bool right = begin(&rig, chip, &driver, &faulty), over = false, waited = false;

    faulty.calls = 0;
    faulty.counting = true;
    faulty.first = first;
    faulty.last = last;
    ways = first == NEVER ? 0 : ways;
    for (unsigned i = 0; i < list->count && right && !over; i++) {
        const struct call *call = &list->call[i];

        faulty.failed = waited;
        rig.answer = NF2_OK;
        right = rig_call(&rig, call) == RIG_OK;
        if (!right && faulty.failed) {
            faulty.last = 0;
            over = true;
            refused++;
            right = recovers(&rig, call);
        }
        if (!right) {
            printf("call %u: %s\n", i, rig.failure);
        }
        /* its answer is right where a change that waited, and that it applied first, failed: the next call says so */
        waited = call->op == OP_SEEK && faulty.failed && core_broken(&rig.fs);
    }
    if (right && !over) {
        faulty.last = 0;
        right = rig_verify(&rig) && rig_check(&rig);
    }
    rig_free(&rig);
    return right ? faulty.calls + 1 : 0;
}

static void run_script(const char *chip_name, const struct cut_script *script)
{
    const struct vflash_chip *chip = vflash_chip_find(chip_name);
    struct call_list list = { 0 };
    uint64_t random = 99;

    script->make(&list, chip->size, chip->block_size);
    uint64_t calls = run(chip, &list, NEVER, NEVER);
    CHECK(calls > 0);
    for (unsigned i = 0; i < ways + places && calls > 0; i++) {
        uint64_t first = only_at ? only_at : i < ways ? way_at[i] : 1 + random_number(&random, (uint32_t)calls), last = i % 3 == 2 ? NEVER - 1 : first;

        runs++;
        if (!CHECK(run(chip, &list, first, last) > 0)) {
            printf("--chip %s --script %s --at %llu%s\n", chip_name, script->name, (unsigned long long)first, last == first ? "" : ", and all behind it");
        }
    }
    calls_free(&list);
}

static void run_chip(const char *chip)
{
    for (unsigned i = 0; i < cut_script_count; i++) {
        if ((!only_chip || strcmp(only_chip, chip) == 0) && (!only_script || strcmp(only_script, cut_scripts[i].name) == 0)) {
            run_script(chip, &cut_scripts[i]);
        }
    }
    CHECK(refused > 0 || only_chip || only_script);
    printf("%s: %u runs, %u calls said that the driver failed\n", chip, runs, refused);
    refused = runs = 0;
}

TEST(plain_units)
{
    run_chip("tiny256k");
}

TEST(units_written_once)
{
    run_chip("tinyecc16");
}

TEST(larger_pages)
{
    run_chip("tiny512");
}

int main(int count, char **argument)
{
    for (int i = 1; i + 1 < count; i += 2) {
        const char *value = argument[i + 1];

        if (strcmp(argument[i], "--places") == 0) {
            places = (unsigned)strtoul(value, NULL, 0);
        } else if (strcmp(argument[i], "--links") == 0) {
            links = (int)strtol(value, NULL, 0);
            links = links < 0 || links > WAYS_LINKS_MAX ? WAYS_LINKS_MAX : links;
        } else if (strcmp(argument[i], "--chip") == 0) {
            only_chip = value;
        } else if (strcmp(argument[i], "--script") == 0) {
            only_script = value;
        } else if (strcmp(argument[i], "--at") == 0) {
            only_at = strtoull(value, NULL, 0);
        }
    }
    RUN(plain_units);
    RUN(units_written_once);
    RUN(larger_pages);
    return check_done();
}
