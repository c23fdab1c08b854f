/* SPDX-License-Identifier: BSD-2-Clause */
/* after_cut.c - see after_cut.h. */
#include "peers/after_cut.h"

#include <string.h>

#define SECOND_WITHIN 5u            /* a second cut comes at one of so many operations from the mount on */
#define SECOND_IN 3u                /* it is tried in one case out of so many */
#define HOLD_IN 4u                  /* the empty volume is filled in one case out of so many */
#define PROBE "first write"
#define SETTLE "settle"

static uint32_t pick(uint64_t *random, uint32_t below)
{
    return random_number(random, below);
}

struct vflash_cut cut_for(enum tear tear, uint64_t operation, uint32_t length, uint32_t block_size, uint64_t *random)
{
    static const enum vflash_erase_cut erases[TEAR_COUNT] = {
        [TEAR_ERASE_UNTOUCHED] = VFLASH_ERASE_UNTOUCHED, [TEAR_ERASE_PARTLY] = VFLASH_ERASE_PARTLY, [TEAR_ERASE_PREFIX] = VFLASH_ERASE_PREFIX,
        [TEAR_ERASE_WEAK] = VFLASH_ERASE_WEAK, [TEAR_ERASE_UNSTABLE] = VFLASH_ERASE_UNSTABLE, [TEAR_ERASE_DONE] = VFLASH_ERASE_DONE
    };
    struct vflash_cut cut = { .operation = operation, .seed = pick(random, UINT32_MAX), .erase = erases[tear] };

    if (tear == TEAR_PROGRAM_PART || tear == TEAR_PROGRAM_SHUFFLED) {
        cut.byte = pick(random, length);
        cut.last_byte_mask = (uint8_t)(pick(random, 255) + 1);
        cut.shuffle = tear == TEAR_PROGRAM_SHUFFLED;
    } else if (tear == TEAR_PROGRAM_WHOLE) {
        cut.byte = UINT32_MAX;
    } else if (tear == TEAR_ERASE_PREFIX) {
        cut.byte = pick(random, block_size);
        cut.last_byte_mask = (uint8_t)pick(random, 256);
    }
    return cut;
}

/* ---- judging --------------------------------------------------------------------------------------- */

static bool breaks(struct outcome *outcome, enum promise promise, const char *text)
{
    if (!outcome->broken) {
        snprintf(outcome->text, sizeof outcome->text, "%s: %s", promise_names[promise], text);
    }
    outcome->broken |= 1u << promise;
    return false;
}

static void checked(struct outcome *outcome, enum promise promise)
{
    outcome->checked |= 1u << promise;
}

static bool mounts(struct volume *volume, struct outcome *outcome)
{
    enum volume_result result;

    checked(outcome, PROMISE_MOUNTS);
    while ((result = volume_come_back(volume)) == VOLUME_CUT) {
        outcome->second = true;
        vflash_cut_at(volume->flash, NULL);
    }
    return result == VOLUME_OK || breaks(outcome, PROMISE_MOUNTS, volume->failure);
}

/* Reading may program: a first call that ends what the mount left. So it may be cut, too. */
static bool read_tree(struct volume *volume, struct image *found, struct outcome *outcome)
{
    bool jump = volume->jump, right;

    checked(outcome, PROMISE_READABLE);
    volume->jump = false;
    right = volume_image(volume, found);
    if (volume->off) {
        outcome->second = true;
        vflash_cut_at(volume->flash, NULL);
        image_free(found);
        if (!mounts(volume, outcome)) {
            return false;
        }
        right = volume_image(volume, found);
    }
    volume->jump = jump;
    if (!right) {
        image_free(found);
        return breaks(outcome, PROMISE_READABLE, volume->failure);
    }
    return true;
}

/*
 * A small write, whatever it answers, and the tree behind it: some file systems settle what a cut left no sooner. It is removed again.
 */
static bool read_again(struct volume *volume, struct image *found)
{
    const struct vfs_ops *ops = volume->fs.ops;
    void *file;

    vflash_cut_at(volume->flash, NULL);
    if (ops->open(volume->fs.context, "/" SETTLE, VFS_WRITE | VFS_CREATE | VFS_TRUNC, &file) == 0) {
        (void)ops->write(volume->fs.context, file, "settle", 6);
        (void)ops->close(volume->fs.context, file);
    }
    (void)ops->remove(volume->fs.context, "/" SETTLE);
    return volume_image(volume, found);
}

/* Compares the tree with what may be found; the model becomes what is there. False: no use in going on. */
static bool look(struct volume *volume, const struct call *call, struct outcome *outcome)
{
    const unsigned lasting = 1u << PROMISE_DURABLE | 1u << PROMISE_WHOLE | 1u << PROMISE_RENAME;
    bool rename = call->op == OP_RENAME, right = true;
    struct image found, before, after, now;
    struct expect expect;
    char text[200] = "";

    if (!read_tree(volume, &found, outcome)) {
        return false;
    }
    model_image(&volume->model, true, &before);
    model_expect(&volume->model, call, &expect);
    if (expect.success && !expect.skip) {
        model_apply(&volume->model, call);
    }
    model_image(&volume->model, true, &after);
    model_image(&volume->model, false, &now);
    outcome->checked |= 1u << PROMISE_DURABLE | 1u << PROMISE_NO_GHOST | 1u << (rename ? PROMISE_RENAME : PROMISE_WHOLE);
    unsigned broken = judge(&found, &before, &after, &now, rename, text, sizeof text);
    if (broken & lasting) {
        image_free(&found);
        right = read_again(volume, &found);
        unsigned still = right ? judge(&found, &before, &after, &now, rename, text, sizeof text) : 0;
        outcome->until_write |= broken & lasting & ~still;
        broken = (broken & ~lasting) | still;
    }
    if (broken && !outcome->broken) {
        memcpy(outcome->text, text, sizeof text);
    }
    outcome->broken |= broken;
    volume_adopt(volume, &found);
    image_free(&found);
    image_free(&before);
    image_free(&after);
    image_free(&now);
    return right || breaks(outcome, PROMISE_READABLE, volume->failure);
}

/* A first small write; where it is cut all is judged once more. */
static bool first_write(struct volume *volume, struct outcome *outcome)
{
    struct call calls[] = {
        { .op = OP_OPEN, .number = NF2_O_WRONLY | NF2_O_CREAT | NF2_O_TRUNC, .path = (char *)(uintptr_t)PROBE },
        { .op = OP_WRITE, .number = 20, .extra = 5 },
        { .op = OP_CLOSE }
    };

    for (unsigned i = 0; i < 3; i++) {
        switch (volume_call(volume, &calls[i])) {
        case VOLUME_OK: break;
        case VOLUME_FULL: return true;
        case VOLUME_CUT:
            outcome->second = true;
            vflash_cut_at(volume->flash, NULL);
            return mounts(volume, outcome) && look(volume, &calls[i], outcome);
        default: return breaks(outcome, PROMISE_GOES_ON, volume->failure);
        }
    }
    return true;
}

/* ---- going on -------------------------------------------------------------------------------------- */

static void put(struct call_list *list, const char *path, int flags, uint32_t size, uint32_t seed)
{
    calls_add(list, OP_OPEN, 0, flags, 0, path, NULL);
    calls_add(list, OP_WRITE, 0, size, seed, NULL, NULL);
    calls_add(list, OP_CLOSE, 0, 0, 0, NULL, NULL);
}

static void some_calls(struct call_list *list)
{
    const int anew = NF2_O_WRONLY | NF2_O_CREAT | NF2_O_TRUNC, append = NF2_O_WRONLY | NF2_O_CREAT | NF2_O_APPEND | NF2_O_SYNC;

    calls_add(list, OP_MKDIR, 0, 0, 0, "then", NULL);
    put(list, "then/a", anew, 300, 3);
    put(list, "then/b", anew, 5000, 4);
    for (uint32_t i = 0; i < 6; i++) {
        put(list, "then/log", append, 40, i);
        put(list, "then/a", anew, 100 + 50 * i, i);
    }
    calls_add(list, OP_RENAME, 0, 0, 0, "then/a", "then/b");
    calls_add(list, OP_REMOVE, 0, 0, 0, PROBE, NULL);
    calls_add(list, OP_UNMOUNT, 0, 0, 0, NULL, NULL);
}

static bool goes_on(struct volume *volume, struct outcome *outcome)
{
    struct call_list list = { 0 };
    bool right = true;

    checked(outcome, PROMISE_GOES_ON);
    some_calls(&list);
    for (unsigned i = 0; i < list.count && right; i++) {
        enum volume_result result = volume_call(volume, &list.call[i]);

        right = result == VOLUME_OK || result == VOLUME_FULL;
    }
    right = right && volume_matches_model(volume);
    calls_free(&list);
    return right || breaks(outcome, PROMISE_GOES_ON, volume->failure);
}

static void space(struct volume *volume, uint64_t capacity, bool hold, struct outcome *outcome)
{
    uint64_t blocks = volume->chip->size / volume->chip->block_size, allowed = (4 + blocks / 64) * volume->chip->block_size, left;
    char text[100];

    checked(outcome, PROMISE_SPACE);
    if (!volume_empty(volume, &left)) {
        breaks(outcome, PROMISE_SPACE, volume->failure);
    } else if (left + allowed < volume->fresh_free) {
        snprintf(text, sizeof text, "emptied, %lu bytes are free, %lu after format", (unsigned long)left, (unsigned long)volume->fresh_free);
        breaks(outcome, PROMISE_SPACE, text);
    } else if (hold && !volume_hold(volume, capacity - allowed)) {
        breaks(outcome, PROMISE_SPACE, "a file that fitted on the fresh volume does not fit on the emptied one");
    }
}

/* ---------------------------------------------------------------------------------------------------- */

static void come_back(struct volume *volume, const struct call *call, bool again, uint64_t capacity, bool hold, struct outcome *outcome)
{
    struct vflash_counts before = *vflash_counts(volume->flash);

    if (!mounts(volume, outcome)) {
        return;
    }
    if (!outcome->second) {
        const struct vflash_counts *counts = vflash_counts(volume->flash);

        outcome->mount_us = counts->time_us - before.time_us;
        for (unsigned i = 0; i < 3; i++) {
            outcome->mount_erases += counts->erases[i] - before.erases[i];
        }
    }
    if (!look(volume, call, outcome)) {
        return;
    }
    uint64_t looked = vflash_counts(volume->flash)->time_us;
    if (!first_write(volume, outcome)) {
        return;
    }
    if (!again) {
        outcome->write_us = outcome->mount_us + vflash_counts(volume->flash)->time_us - looked;
    }
    vflash_cut_at(volume->flash, NULL);
    if (goes_on(volume, outcome)) {
        space(volume, capacity, hold, outcome);
    }
}

void cut_and_judge(struct volume *volume, const struct call *call, const struct vflash_cut *cut, uint64_t capacity, uint64_t random,
                   struct outcome *outcome)
{
    bool again = pick(&random, SECOND_IN) == 0, hold = pick(&random, HOLD_IN) == 0;

    outcome->checked = 1u << PROMISE_RUNS;
    volume->jump = pick(&random, 2) == 0;
    vflash_cut_at(volume->flash, cut);
    outcome->reached = volume_call(volume, call) == VOLUME_CUT;
    if (outcome->reached) {
        struct vflash_cut second = cut_for((enum tear)pick(&random, TEAR_COUNT), 1 + pick(&random, SECOND_WITHIN), 16,
                                           volume->chip->block_size, &random);

        vflash_cut_at(volume->flash, again ? &second : NULL);
        come_back(volume, call, again, capacity, hold, outcome);
    }
    outcome->violations = vflash_counts(volume->flash)->violations;
    outcome->done = true;
}
