/* SPDX-License-Identifier: BSD-2-Clause */
/* campaign.c - see campaign.h. */
#include "campaign.h"

#include <stdlib.h>
#include <string.h>

#include "cut_scripts.h"

#define RANDOM_CALLS 120u           /* of the generated script */

/* Several geometries; the last four have several regions or large blocks. */
static const char *const chips[] = { "tiny256k", "tinyecc16", "tiny128k", "tinyecc32", "tiny512", "tiny2m", "tinyecc1m", "tiny8k", "tiny64k" };
#define CHIPS ((unsigned)(sizeof chips / sizeof chips[0]))
#define SMALL_CHIPS 5u

uint64_t cell_seed(const struct campaign_options *options, unsigned campaign, uint64_t cell)
{
    return options->seed * 0x9E3779B97F4A7C15u + campaign * 0xD1B54A32D192ED03u + cell * 0x2545F4914F6CDD1Du;
}

static const struct vflash_chip *chip_of(const struct campaign_options *options, uint64_t index, unsigned count)
{
    return vflash_chip_find(options->chip ? options->chip : chips[index % count]);
}

static int format_of(uint64_t cell)
{
    return cell % 3 == 2 ? NF2_FORMAT_ERASE : NF2_FORMAT_QUICK;
}

/* ---- scripts: every call of each script, cut at every operation ------------------------------------ */

/* A script of random calls, made by running the generator on a model alone. */
static void generated_script(struct call_list *list, const struct vflash_chip *chip, uint64_t seed)
{
    struct model model;
    struct generator generator;

    model_init(&model, chip->page_size, chip->block_size);
    generator_init(&generator, seed, (enum profile)(seed % PROFILE_COUNT), chip->size / 2, chip->page_size, chip->block_size);
    for (unsigned i = 0; i < RANDOM_CALLS; i++) {
        struct expect expect;

        if (i == list->count) {
            generator_next(&generator, &model, list);
        }
        model_expect(&model, &list->call[i], &expect);
        if (expect.success && !expect.skip) {
            model_apply(&model, &list->call[i]);
        }
    }
    model_free(&model);
}

static bool scripts_cell(struct explorer *explorer, struct tally *tally, const struct campaign_options *options, uint64_t cell)
{
    uint64_t scripts = cut_script_count + 1, script = cell % scripts, round = cell / scripts;
    const struct vflash_chip *chip = chip_of(options, round, SMALL_CHIPS);
    const char *name = script < cut_script_count ? cut_scripts[script].name : "generated";
    struct call_list list = { 0 };
    bool right;

    if (!chip || (options->cuts == 0 && round >= (options->chip ? 1 : SMALL_CHIPS))) {
        return false;
    }
    if (options->script && strcmp(options->script, name) != 0) {
        return true;
    }
    if (script < cut_script_count) {
        cut_scripts[script].make(&list, chip->size, chip->block_size);
    } else {
        generated_script(&list, chip, cell_seed(options, 0, cell));
    }
    explorer->deepest = options->deepest;
    explorer->cuts_an_operation = options->cuts >= 0 ? options->cuts : 0.8;
    right = explorer_begin(explorer, tally, chip, format_of(round), cell_seed(options, 0, cell));
    for (unsigned i = 0; i < list.count && right; i++) {
        right = explorer_cut_call(explorer, &list.call[i]);
    }
    explorer_free(explorer);
    calls_free(&list);
    return true;
}

/* ---- sequences: every one of up to three steps, the last one cut at every operation ---------------- */

#define STEPS 18u
#define STEP_WRITE (NF2_O_WRONLY | NF2_O_CREAT | NF2_O_TRUNC)

static void put(struct call_list *list, const char *path, uint32_t size, uint32_t seed)
{
    calls_add(list, OP_OPEN, 0, STEP_WRITE, 0, path, NULL);
    calls_add(list, OP_WRITE, 0, size, seed, NULL, NULL);
    calls_add(list, OP_CLOSE, 0, 0, 0, NULL, NULL);
}

/* Opens, writes at an offset (below 0: at the end), syncs, closes. */
static void change(struct call_list *list, const char *path, int32_t offset, uint32_t length, uint32_t seed)
{
    calls_add(list, OP_OPEN, 0, NF2_O_WRONLY, 0, path, NULL);
    calls_add(list, OP_SEEK, 0, offset < 0 ? 0 : offset, offset < 0 ? NF2_SEEK_END : NF2_SEEK_SET, NULL, NULL);
    calls_add(list, OP_WRITE, 0, length, seed, NULL, NULL);
    calls_add(list, OP_SYNC, 0, 0, 0, NULL, NULL);
    calls_add(list, OP_CLOSE, 0, 0, 0, NULL, NULL);
}

static void cut_short(struct call_list *list, const char *path, uint32_t size)
{
    calls_add(list, OP_OPEN, 0, NF2_O_WRONLY, 0, path, NULL);
    calls_add(list, OP_TRUNCATE, 0, size, 0, NULL, NULL);
    calls_add(list, OP_CLOSE, 0, 0, 0, NULL, NULL);
}

static void on_path(struct call_list *list, enum op op, const char *path, const char *path2)
{
    calls_add(list, op, 0, 0, 0, path, path2);
}

/* Steps on two names in two directories, whose entries lie in different leaves. */
static void add_step(struct call_list *list, unsigned step, uint32_t seed)
{
    switch (step) {
    case 0: put(list, "foo", 60, seed); break;
    case 1: put(list, "foo", 5000, seed); break;
    case 2: put(list, "A/bar", 300, seed); break;
    case 3: change(list, "foo", -1, 40, seed); break;
    case 4: change(list, "foo", 1000, 300, seed); break;
    case 5: change(list, "A/bar", 10, 100, seed); break;
    case 6: cut_short(list, "foo", 10); break;
    case 7: cut_short(list, "foo", 4500); break;
    case 8: on_path(list, OP_RENAME, "foo", "A/bar"); break;
    case 9: on_path(list, OP_RENAME, "A/bar", "foo"); break;
    case 10: on_path(list, OP_RENAME, "foo", "goo"); break;
    case 11: on_path(list, OP_RENAME, "goo", "foo"); break;
    case 12: on_path(list, OP_REMOVE, "foo", NULL); break;
    case 13: on_path(list, OP_REMOVE, "A/bar", NULL); break;
    case 14: on_path(list, OP_MKDIR, "A/C", NULL); break;
    case 15:        /* a writer that stays open, with something unsynced */
        calls_add(list, OP_OPEN, 1, NF2_O_WRONLY | NF2_O_CREAT | NF2_O_APPEND, 0, "log", NULL);
        calls_add(list, OP_WRITE, 1, 30, seed, NULL, NULL);
        calls_add(list, OP_SYNC, 1, 0, 0, NULL, NULL);
        calls_add(list, OP_WRITE, 1, 700, seed + 1, NULL, NULL);
        break;
    case 16: calls_add(list, OP_MAINTAIN, 0, 1000000, 0, NULL, NULL); break;
    default: calls_add(list, OP_UNMOUNT, 0, 0, 0, NULL, NULL); break;
    }
}

/* A root whose names fill more than a leaf, a directory behind it, a file of each kind; left cleanly. */
static void add_ground(struct call_list *list)
{
    char name[80];

    on_path(list, OP_MKDIR, "A", NULL);
    for (unsigned i = 0; i < 60; i++) {
        snprintf(name, sizeof name, "h: a name of some length that fills the leaf of the root %02u", i);
        put(list, name, i % 7, i);
    }
    put(list, "flat", 6000, 1);
    put(list, "indexed", 9000, 2);
    change(list, "indexed", 3000, 500, 3);
    calls_add(list, OP_UNMOUNT, 0, 0, 0, NULL, NULL);
}

/* Makes all the calls plainly. */
static bool do_plainly(struct explorer *explorer, void (*add)(struct call_list *list, unsigned step, uint32_t seed), unsigned step, uint32_t seed)
{
    struct call_list list = { 0 };
    bool right = true;

    add(&list, step, seed);
    for (unsigned i = 0; i < list.count && right; i++) {
        right = explorer_do(explorer, &list.call[i]);
    }
    calls_free(&list);
    return right;
}

static void ground_step(struct call_list *list, unsigned step, uint32_t seed)
{
    (void)step;
    (void)seed;
    add_ground(list);
}

/* From the state at hand: the step with its cuts, and back. */
static void cut_step(struct explorer *explorer, unsigned step, uint32_t seed)
{
    struct snapshot *start = explorer_take(explorer);
    struct call_list list = { 0 };
    bool right = true;

    add_step(&list, step, seed);
    for (unsigned i = 0; i < list.count && right; i++) {
        right = explorer_cut_call(explorer, &list.call[i]);
    }
    explorer_back(explorer, start);
    explorer_release(start);
    calls_free(&list);
}

/* Cells: no step in front, then each one, then each two; each with all last steps. */
static bool sequences_cell(struct explorer *explorer, struct tally *tally, const struct campaign_options *options, uint64_t cell)
{
    const unsigned prefixes = 1 + STEPS + STEPS * STEPS;
    uint64_t turn = cell / prefixes;
    unsigned prefix = (unsigned)(cell * 211 % prefixes);     /* in an order that is spread */
    const struct vflash_chip *chip = chip_of(options, turn, SMALL_CHIPS);
    bool right;

    if (!chip || turn >= (options->chip ? 1 : SMALL_CHIPS)) {
        return false;
    }
    explorer->deepest = options->deepest;
    explorer->cuts_an_operation = options->cuts >= 0 ? options->cuts : 1;
    right = explorer_begin(explorer, tally, chip, format_of(turn), cell_seed(options, 1, cell)) && do_plainly(explorer, ground_step, 0, 0);
    if (right && prefix > STEPS) {
        right = do_plainly(explorer, add_step, (prefix - 1 - STEPS) / STEPS, 31);
    }
    if (right && prefix > 0) {
        right = do_plainly(explorer, add_step, prefix > STEPS ? (prefix - 1 - STEPS) % STEPS : prefix - 1, 43);
    }
    for (unsigned step = 0; step < STEPS && right && !explorer->stopped; step++) {
        cut_step(explorer, step, 57 + step);
    }
    explorer_free(explorer);
    return true;
}

/* ---- random histories ----------------------------------------------------------------------------- */

static bool random_cell(struct explorer *explorer, struct tally *tally, const struct campaign_options *options, uint64_t cell)
{
    const struct vflash_chip *chip = chip_of(options, cell, CHIPS);
    uint64_t seed = cell_seed(options, 2, cell);

    if (!chip) {
        return false;
    }
    explorer->deepest = options->deepest;
    unsigned parts = 2 + random_number(&seed, 10), calls = 10 + random_number(&seed, 50), often = 3 + random_number(&seed, 12);
    bool right = explorer_begin(explorer, tally, chip, format_of(cell / CHIPS), seed);
    for (unsigned i = 0; i < parts && right; i++) {
        right = explorer_go_on(explorer, calls, calls / often + 1);
    }
    if (right) {
        (void)explorer_end(explorer, 2);
    }
    explorer_free(explorer);
    return true;
}

/* ---- bad blocks ----------------------------------------------------------------------------------- */

/* A script in which a block breaks at each operation of each call, one at a time. */
static void break_script(struct explorer *explorer, struct tally *tally, const struct vflash_chip *chip, const struct cut_script *script, int format, uint64_t seed)
{
    struct call_list list = { 0 };

    script->make(&list, chip->size, chip->block_size);
    bool right = explorer_begin(explorer, tally, chip, format, seed);
    for (unsigned i = 0; i < list.count && right; i++) {
        right = explorer_break_call(explorer, &list.call[i]);
    }
    calls_free(&list);
}

/* In turn: a script; random calls with blocks that break, and cuts. */
static bool bad_cell(struct explorer *explorer, struct tally *tally, const struct campaign_options *options, uint64_t cell)
{
    const struct vflash_chip *chip = chip_of(options, cell / 2 / cut_script_count, SMALL_CHIPS);
    uint64_t seed = cell_seed(options, 4, cell);

    if (!chip) {
        return false;
    }
    explorer->deepest = options->deepest;
    if (cell % 2 == 0) {
        break_script(explorer, tally, chip, &cut_scripts[cell / 2 % cut_script_count], format_of(cell), seed);
    } else {
        chip = chip_of(options, cell / 2, CHIPS);
        explorer->breaks_in = 20 + random_number(&seed, 100);
        bool right = explorer_begin(explorer, tally, chip, format_of(cell), seed);
        for (unsigned i = 0; i < 6 && right; i++) {
            right = explorer_go_on(explorer, 40, random_number(&seed, 3) ? 6 : 0);
        }
        if (right) {
            (void)explorer_end(explorer, 2);
        }
        explorer->breaks_in = 0;
    }
    explorer_free(explorer);
    return true;
}

/* ---- a driver that fails --------------------------------------------------------------------------- */

/* Where not all are made: of a script, of one call of it, of a mount and of others that read much. */
#define SCRIPT_ERRORS 100u
#define CALL_ERRORS 2u
#define LOOK_ERRORS 25u

/* In turn: a script in which calls of the driver fail, one at a time; random calls in which one fails now and then, then those of a mount, of idle work, of reading all. */
static bool errors_cell(struct explorer *explorer, struct tally *tally, const struct campaign_options *options, uint64_t cell)
{
    const struct vflash_chip *chip = chip_of(options, cell / 2, CHIPS);
    uint64_t seed = cell_seed(options, 6, cell), script = cell / 2 % (cut_script_count + 1);
    struct call_list list = { 0 };

    if (!chip) {
        return false;
    }
    explorer->deepest = options->deepest;
    explorer->fails_in = 2 + random_number(&seed, 12);
    if (cell % 2 == 0) {
        if (script < cut_script_count) {
            cut_scripts[script].make(&list, chip->size, chip->block_size);
        } else {
            generated_script(&list, chip, seed);
        }
        bool right = explorer_begin(explorer, tally, chip, format_of(cell / 2), seed);
        for (unsigned i = 0; i < list.count && right; i++) {
            bool fails = options->cuts == 0 || random_number(&seed, list.count) < SCRIPT_ERRORS / CALL_ERRORS;
            right = fails ? explorer_fail_call(explorer, &list.call[i], options->cuts == 0 ? 0 : CALL_ERRORS) : explorer_do(explorer, &list.call[i]);
        }
        calls_free(&list);
    } else {
        unsigned parts = 4 + random_number(&seed, 8);
        bool right = explorer_begin(explorer, tally, chip, format_of(cell / 2), seed);
        for (unsigned i = 0; i < parts && right; i++) {
            right = explorer_go_on(explorer, 50, random_number(&seed, 3) == 0 ? 3 : 0);
        }
        const struct call looks[] = { { .op = cell % 4 == 1 ? OP_ABANDON : OP_UNMOUNT }, { .op = OP_MAINTAIN, .number = 1000000 }, { .op = OP_CHECK },
                                      { .op = OP_VERIFY } };
        for (unsigned i = 0; i < sizeof looks / sizeof looks[0] && right; i++) {
            right = explorer_arm(explorer, 0) && explorer_fail_call(explorer, &looks[i], options->cuts == 0 ? 0 : LOOK_ERRORS);
        }
        if (right) {
            (void)explorer_end(explorer, 2);
        }
    }
    explorer_free(explorer);
    return true;
}

/* ---------------------------------------------------------------------------------------------------- */

const struct campaign campaigns[] = {
    { "scripts", "every call of each script, cut at every operation", 100, scripts_cell },
    { "sequences", "every sequence of up to three steps, the last one cut at every operation", 40, sequences_cell },
    { "random", "random calls with cuts, in mounts too, on one volume", 400, random_cell },
    { "bad", "blocks that break, one at each operation of each script; and at random, with cuts", 12, bad_cell },
    { "large", "mounts of large volumes after a cut, timed", 1, large_cell },
    { "errors", "calls of the driver that fail, in the calls of each script and at random, with cuts", 20, errors_cell },
    { "groups", "cuts while groups of blocks are emptied, over many calls, on volumes aged for that", 1, groups_cell },
    { "walks", "cuts while a pass over the tree is under way in small steps, and files are moved across it", 20, walks_cell }
};
const unsigned campaign_count = sizeof campaigns / sizeof campaigns[0];
