/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_sound.c - the checker on volumes that nothing happened to but calls and power cuts. Volumes with random histories are looked
 * at every few calls, as if power went between two of them, behind cuts inside of calls, behind the mounts that follow, and when they
 * were left cleanly. What must hold each time: nothing is wrong, nothing is lost, and what is read is what a mount shows.
 *
 *     test_sound [--runs N] [--seed N] [--keep DIR] [--model 1]
 *
 * --keep: images that fail. --model: what is read must also be what the calls say, which is a test of the core.
 */
#include <stdlib.h>
#include <string.h>

#include "api_volume.h"
#include "images.h"

static unsigned long wrong_count, looks, ended;
static const char *keep;
static bool with_model;
static char context[200];

static void fail(const struct history *history, const struct repair *repair, const char *what, const uint8_t *bytes)
{
    wrong_count++;
    printf("%s: %s\n", context, what);
    if (repair != NULL) {
        say_repair(repair);
    }
    if (keep != NULL && bytes != NULL) {
        char path[300];
        snprintf(path, sizeof path, "%s/%lu-%s.img", keep, wrong_count, history->rig.chip->name);
        FILE *file = fopen(path, "wb");
        if (file != NULL) {
            fwrite(bytes, 1, history->geometry.size, file);
            fclose(file);
        }
    }
}

/* Compares an image with what must be in it. */
static void look(const struct history *history, const uint8_t *bytes, const struct image *truth, bool clean)
{
    struct repair *repair = repair_open(bytes, &history->geometry);
    char text[300];

    looks++;
    if (repair == NULL) {
        fail(history, NULL, "nothing of a volume", bytes);
        return;
    }
    if (repair_wrong(repair) > 0 || repair_lossy(repair)) {
        fail(history, repair, "something is wrong", bytes);
    } else if (!same_items(repair, truth, text, sizeof text)) {
        fail(history, repair, text, bytes);
    } else if (clean && !repair_clean(repair)) {
        fail(history, repair, "it was left cleanly", bytes);
    }
    repair_close(repair);
}

static void look_now(struct history *history, bool clean)
{
    struct image truth = {0};
    uint8_t *bytes = history_image(history);

    if (with_model) {
        model_image(&history->rig.model, true, &truth);
    } else if (!history_mounts_as(history, &truth)) {
        fail(history, NULL, history->rig.failure, bytes);
    }
    look(history, bytes, &truth, clean);
    image_free(&truth);
    free(bytes);
}

/* Power goes in the mount behind a cut, or in its first changes, and again. */
static void cut_mounts(struct history *history)
{
    struct rig *rig = &history->rig;
    uint64_t *random = &history->random;

    for (unsigned i = 0; i < 3 && random_number(random, 2) == 0; i++) {
        struct vflash_cut cut = {.operation = 1 + random_number(random, 8), .byte = random_number(random, 200),
                                 .last_byte_mask = (uint8_t)random_number(random, 256), .shuffle = random_number(random, 3) == 0,
                                 .erase = (enum vflash_erase_cut)random_number(random, 6), .seed = *random};
        vflash_cut_at(rig->flash, &cut);
        if (nf2_mount(&rig->fs, &rig->config, NF2_MOUNT_RDWR) == NF2_OK) {
            (void)nf2_mkdir(&rig->fs, "/in a mount that is cut");
            (void)nf2_remove(&rig->fs, "/in a mount that is cut");
        }
        vflash_cut_at(rig->flash, NULL);
        vflash_power_on(rig->flash);
        rig->off = false;
        look_now(history, false);
    }
}

/* Power goes: what the checker reads is what the next mount shows, a change that waits included. */
static bool look_after_cut(struct history *history)
{
    bool right = history_cut(history), model = with_model;

    with_model = false; /* the call that was cut may have happened or not */
    if (right) {
        look_now(history, false);
        cut_mounts(history);
    }
    with_model = model;
    return right && history_mount(history);
}

static void run(uint64_t seed, bool model)
{
    static struct history history;
    bool right = history_begin(&history, seed, NULL);

    with_model = model;
    unsigned cuts = seed % 2 ? 6 : 1;

    for (unsigned i = 0; i < 12 && right; i++) {
        snprintf(context, sizeof context, "seed %lu, step %u, chip %s", (unsigned long)seed, i, history.rig.chip->name);
        right = history_go_on(&history, 10 + random_number(&history.random, 60));
        if (right) {
            look_now(&history, false);
        }
        if (right && i >= 12 - cuts) {
            right = look_after_cut(&history);
        }
    }
    right = right && history_go_on(&history, 60);
    if (!right) { /* a call had a wrong answer: the tests of the core are for that */
        ended++;
        printf("%s: the history ends: %s\n", context, history.rig.failure);
    } else {
        bool changed = nf2_mkdir(&history.rig.fs, "/a last change") == NF2_OK; /* a session that changed nothing leaves no mark */
        with_model = false;
        if (nf2_unmount(&history.rig.fs) == NF2_OK) {
            history.rig.mounted = false;
            look_now(&history, changed);
        }
    }
    history_free(&history);
}

/* A session that changes nothing behind a cut settles it all the same: its unmount leaves the volume cleanly. */
static void leave_unchanged(const char *chip)
{
    struct volume volume;

    volume_up(&volume, chip);
    bool right = put(&volume, "file", 3000, 1) == NF2_OK && volume_again(&volume, false) == NF2_OK &&
                 volume_again(&volume, true) == NF2_OK;
    const struct nf2_flash *flash = &volume.driver;
    const struct repair_geometry geometry = {flash->chip_size, flash->block_size, flash->program_unit};
    struct repair *repair = right ? repair_open(vflash_memory(volume.flash), &geometry) : NULL;
    if (repair == NULL || !repair_clean(repair) || repair_wrong(repair) > 0) {
        printf("%s: a session without a change did not leave the volume cleanly\n", chip);
        wrong_count++;
    }
    repair_close(repair);
    volume_down(&volume, right);
}

int main(int count, char **argument)
{
    unsigned long runs = 10, seed = 1;
    bool model = false;

    for (int i = 1; i + 1 < count; i += 2) {
        if (strcmp(argument[i], "--runs") == 0) {
            runs = strtoul(argument[i + 1], NULL, 10);
        } else if (strcmp(argument[i], "--seed") == 0) {
            seed = strtoul(argument[i + 1], NULL, 10);
        } else if (strcmp(argument[i], "--model") == 0) {
            model = true;
        } else if (strcmp(argument[i], "--keep") == 0) {
            keep = argument[i + 1];
        }
    }
    leave_unchanged("tiny256k");
    leave_unchanged("tinyecc16");
    for (unsigned long i = 0; i < runs; i++) {
        run(seed + i, model);
    }
    printf("%lu images: %lu wrong; %lu of %lu histories ended early\n", looks, wrong_count, ended, runs);
    return wrong_count > 0 || looks == 0 || ended > runs / 10;
}
