/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * campaign_walks.c - idle time in small pieces, so that a pass over the tree is under way for many calls; meanwhile files go from
 * directories that it has still to see to others that it has seen, and what was moved is changed at once. Cuts in between.
 */
#include "campaign.h"

#include <string.h>

#define DIRECTORIES 4u              /* and the root: in the order of their making */
#define NAMES 24u                   /* of files in each */
#define PATH_SIZE 80u
#define AGE 500u                    /* calls, at least */
#define HISTORIES 8u                /* from one aged volume */
#define STEP_PROGRAMS 40u           /* pages that one step of idle time may program and, sixteen times, read */
#define STEP_ERASES 7u              /* blocks that it may erase, less than that */
#define LARGE 9000u                 /* bytes of a file, less than that */

static const char *const walk_chips[] = { "w25q80", "tiny256k", "tinyecc1m", "tinyecc16", "tiny2m" };
#define WALK_CHIPS (sizeof walk_chips / sizeof walk_chips[0])

static uint32_t pick(struct explorer *explorer, uint32_t below)
{
    return random_number(&explorer->random, below);
}

/* A name that is long enough to fill leaves. */
static void name_of(char *path, uint32_t directory, uint32_t number)
{
    char folder[16] = "";

    if (directory > 0) {
        snprintf(folder, sizeof folder, "d%u/", (unsigned)directory);
    }
    snprintf(path, PATH_SIZE, "%sa file with a name that fills leaves %02u", folder, (unsigned)number);
}

static void some_name(struct explorer *explorer, char *path)
{
    uint32_t directory = pick(explorer, DIRECTORIES + 1);

    name_of(path, directory, pick(explorer, NAMES));
}

/* One that is there, if a few tries find one. */
static bool some_file(struct explorer *explorer, char *path)
{
    bool found = false;

    for (unsigned tries = 0; tries < 20 && !found; tries++) {
        some_name(explorer, path);
        found = model_find(&explorer->session.rig.model, path) != NULL;
    }
    return found;
}

static void put(struct explorer *explorer, struct call_list *list, const char *path)
{
    uint32_t size = pick(explorer, 3) == 0 ? pick(explorer, 100) : 300 + pick(explorer, pick(explorer, 4) ? 2500 : LARGE);

    calls_add(list, OP_OPEN, 0, NF2_O_WRONLY | NF2_O_CREAT | NF2_O_TRUNC, 0, path, NULL);
    calls_add(list, OP_WRITE, 0, size, pick(explorer, 1000), NULL, NULL);
    calls_add(list, OP_CLOSE, 0, 0, 0, NULL, NULL);
}

static void change(struct explorer *explorer, struct call_list *list, const char *path)
{
    calls_add(list, OP_OPEN, 0, NF2_O_WRONLY, 0, path, NULL);
    calls_add(list, OP_SEEK, 0, pick(explorer, 2) ? 0 : pick(explorer, 300), NF2_SEEK_SET, NULL, NULL);
    calls_add(list, OP_WRITE, 0, 1 + pick(explorer, 600), pick(explorer, 1000), NULL, NULL);
    calls_add(list, OP_CLOSE, 0, 0, 0, NULL, NULL);
}

/* Moves a file, and changes what it was or is before anything else comes. */
static void move(struct explorer *explorer, struct call_list *list)
{
    char from[PATH_SIZE], to[PATH_SIZE];

    if (!some_file(explorer, from)) {
        return;
    }
    some_name(explorer, to);
    calls_add(list, OP_RENAME, 0, 0, 0, from, to);
    switch (pick(explorer, 8)) {
    case 0: calls_add(list, OP_REMOVE, 0, 0, 0, to, NULL); break;
    case 1: put(explorer, list, from); break;
    case 2: change(explorer, list, to); break;
    case 3: calls_add(list, OP_RENAME, 0, 0, 0, to, from); break;
    default: break;
    }
}

/* Idle time that is enough for a step or a few. */
static void rest(struct explorer *explorer, struct call_list *list)
{
    const struct vflash_chip *chip = explorer->chip;
    uint32_t step = STEP_PROGRAMS * (chip->program_page_us + 16 * chip->read_page_us);
    uint32_t budget = step + pick(explorer, STEP_ERASES) * chip->erase_us[0] + pick(explorer, 20) * chip->read_page_us;

    calls_add(list, OP_MAINTAIN, 0, budget, 0, NULL, NULL);
}

static void next(struct explorer *explorer, struct call_list *list)
{
    const struct rig *rig = &explorer->session.rig;
    bool full = model_space(&rig->model) > rig->capacity / 3 * 2;
    uint32_t what = pick(explorer, 20);
    char path[PATH_SIZE];

    some_name(explorer, path);
    if (what < 6) {
        move(explorer, list);
    } else if (what < 11 && !full) {
        put(explorer, list, path);
    } else if (what < 13 && some_file(explorer, path)) {
        change(explorer, list, path);
    } else if (what < 14 || full) {
        (void)some_file(explorer, path);
        calls_add(list, OP_REMOVE, 0, 0, 0, path, NULL);
    } else if (what < 19) {
        rest(explorer, list);
    } else {                        /* something unsynced stays in a handle */
        calls_add(list, OP_CLOSE, 1, 0, 0, NULL, NULL);
        calls_add(list, OP_OPEN, 1, NF2_O_WRONLY | NF2_O_CREAT | NF2_O_APPEND, 0, path, NULL);
        calls_add(list, OP_WRITE, 1, 300 + pick(explorer, 3000), pick(explorer, 1000), NULL, NULL);
    }
}

/* So many calls, or up to a cut. */
static bool go_on(struct explorer *explorer, unsigned calls, bool to_cut)
{
    uint64_t cuts = explorer->session.tally->cuts;
    struct call_list list = { 0 };
    bool right = true;

    for (unsigned i = 0; right && i < calls && !(to_cut && explorer->session.tally->cuts != cuts); i++) {
        while (i >= list.count) {
            next(explorer, &list);
        }
        right = explorer_do(explorer, &list.call[i]) && explorer_come_back(explorer);
    }
    calls_free(&list);
    return right;
}

static bool make_directories(struct explorer *explorer)
{
    struct call_list list = { 0 };
    bool right = true;
    char path[16];

    for (unsigned i = 1; i <= DIRECTORIES; i++) {
        snprintf(path, sizeof path, "d%u", i);
        calls_add(&list, OP_MKDIR, 0, 0, 0, path, NULL);
    }
    for (unsigned i = 0; i < list.count && right; i++) {
        right = explorer_do(explorer, &list.call[i]);
    }
    calls_free(&list);
    return right;
}

/* Some cuts, the last one between two calls; then all is compared. */
static bool history(struct explorer *explorer)
{
    static const struct call abandon = { .op = OP_ABANDON };

    for (unsigned cuts = pick(explorer, 4); cuts > 0; cuts--) {
        if (!go_on(explorer, pick(explorer, 60), false) || !explorer_arm(explorer, 1 + pick(explorer, 40)) || !go_on(explorer, 60, true)) {
            return false;
        }
    }
    return explorer_arm(explorer, 0) && go_on(explorer, 20 + pick(explorer, 200), false)
           && (pick(explorer, 2) == 0 || explorer_do(explorer, &abandon)) && explorer_end(explorer, 30);
}

bool walks_cell(struct explorer *explorer, struct tally *tally, const struct campaign_options *options, uint64_t cell)
{
    const struct vflash_chip *chip = vflash_chip_find(options->chip ? options->chip : walk_chips[cell % WALK_CHIPS]);

    if (!chip) {
        return false;
    }
    explorer->deepest = options->deepest;
    bool right = explorer_begin(explorer, tally, chip, cell % 2 ? NF2_FORMAT_ERASE : NF2_FORMAT_QUICK, cell_seed(options, 7, cell));
    if (right && make_directories(explorer) && go_on(explorer, AGE + pick(explorer, AGE), false)) {
        struct snapshot *start = explorer_take(explorer);
        uint64_t random = explorer->random;

        for (unsigned i = 0; i < HISTORIES && !explorer->stopped; i++) {
            explorer->random = random + i;
            tally->histories++;
            (void)history(explorer);
            explorer_back(explorer, start);
        }
        explorer_release(start);
    }
    explorer_free(explorer);
    return true;
}
