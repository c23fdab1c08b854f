/* SPDX-License-Identifier: BSD-2-Clause */
#include "repair_volume.h"

#include <stdlib.h>
#include <string.h>

#include "random_ops.h"
#include "src/meta.h"

static bool next_call(struct rig *rig, struct generator *generator, struct call_list *list, unsigned *done)
{
    if (*done == list->count) {
        generator_next(generator, &rig->model, list);
    }
    const struct call *call = &list->call[(*done)++];
    if (call->op == OP_CHECK || call->op == OP_VERIFY) {
        return true;
    }
    enum rig_result result = rig_call(rig, call);
    if (rig->answer == NF2_ERR_NOSPC) {
        generator_full(generator);
    }
    return result == RIG_OK;
}

/* Calls until power is cut; it is back afterwards. */
static bool cut_power(struct rig *rig, uint64_t seed, struct generator *generator, struct call_list *list, unsigned *done)
{
    uint64_t random = seed * 91 + 7;
    bool right = true;
    struct vflash_cut cut = {.operation = 1 + random_number(&random, 30), .byte = random_number(&random, 300),
                             .last_byte_mask = (uint8_t)random_number(&random, 256), .shuffle = random_number(&random, 3) == 0,
                             .erase = (enum vflash_erase_cut)random_number(&random, 6), .seed = seed};

    vflash_cut_at(rig->flash, &cut);
    while (!rig->off && right) {
        right = next_call(rig, generator, list, done) || rig->off;
    }
    vflash_cut_at(rig->flash, NULL);
    vflash_power_on(rig->flash);
    rig->off = false;
    return right;
}

static bool make_history(struct rig *rig, uint64_t seed, enum profile profile, enum ending ending)
{
    struct generator generator;
    struct call_list list = {0};
    uint64_t random = seed * 77 + 5;
    unsigned done = 0, calls = 100 + random_number(&random, 700);
    bool right = true;

    generator_init(&generator, seed, profile, rig->capacity, rig->chip->page_size, rig->chip->block_size);
    while (done < calls && right) {
        right = next_call(rig, &generator, &list, &done);
    }
    if (ending == LEFT_CLEANLY) {
        right = right && nf2_unmount(&rig->fs) == NF2_OK;
    } else if (ending == CUT) {
        right = right && cut_power(rig, seed, &generator, &list, &done);
    }
    rig->left_clean = ending == LEFT_CLEANLY;
    calls_free(&list);
    return right;
}

/*
 * Some sessions that power cuts ended, the last one left cleanly or not: their traces are no damage. No model: files by number. `late`:
 * the cuts come where the meta log is about to turn.
 */
static bool make_cut_sessions(struct rig *rig, uint64_t seed, bool late, bool leave)
{
    static uint8_t page[NF2_PAGE_MAX], data[3000];
    uint64_t random = seed * 13 + 1;
    unsigned sessions = 2 + random_number(&random, 4);
    bool right = true;

    for (unsigned session = 0; session < sessions && right; session++) {
        struct vflash_cut cut = {.operation = 1 + random_number(&random, 120), .byte = random_number(&random, 300),
                                 .last_byte_mask = (uint8_t)random_number(&random, 256), .shuffle = random_number(&random, 3) == 0,
                                 .erase = (enum vflash_erase_cut)random_number(&random, 6), .seed = random};
        right = nf2_mount(&rig->fs, &rig->config, NF2_MOUNT_RDWR) == NF2_OK;
        if (late) {
            cut.operation = 1 + cut.operation % 4;
        } else if (session + 1 < sessions) {
            vflash_cut_at(rig->flash, &cut);
        }
        for (unsigned call = 0, calls = late ? 200 : 60; call < calls && right && !rig->off; call++) {
            char path[24];
            nf2_file_t file;
            snprintf(path, sizeof path, "/cut %u", random_number(&random, 12));
            if (random_number(&random, 5) == 0) {
                (void)nf2_remove(&rig->fs, path);
            } else if (nf2_open(&rig->fs, &file, path, NF2_O_WRONLY | NF2_O_CREAT | (random_number(&random, 2) ? NF2_O_APPEND : 0), page) == NF2_OK) {
                (void)nf2_write(&rig->fs, &file, data, random_number(&random, sizeof data));
                (void)nf2_close(&rig->fs, &file);
            }
            if (late && !rig->off && !nf2_meta_room(&rig->fs, rig->fs.meta_end)) {
                if (random_number(&random, 3) == 0) {
                    break;
                }
                vflash_cut_at(rig->flash, session + 1 < sessions ? &cut : NULL);
            }
        }
        if (session + 1 < sessions) {
            vflash_cut_at(rig->flash, NULL);
            vflash_power_on(rig->flash);
            rig->off = false;
        } else if (leave) {
            right = right && nf2_unmount(&rig->fs) == NF2_OK;
        }
    }
    rig->left_clean = leave;
    return right;
}

bool volume_make(struct volume *volume, uint64_t seed)
{
    static const char *const chips[] = {"tiny256k", "tinyecc16", "tiny128k", "tiny512", "tinyecc1m", "tinyecc32", "tiny2m", "tiny8k"};
    static const enum profile profiles[] = {PROFILE_MIX, PROFILE_SMALL, PROFILE_LOGS, PROFILE_RANDOM, PROFILE_DIRS};
    static struct rig rig;
    bool right;

    memset(volume, 0, sizeof *volume);
    volume->chip = vflash_chip_find(chips[seed % 8]);
    volume->ending = seed / 8 % 5 < 3 ? LEFT_CLEANLY : seed / 8 % 5 == 3 ? ABANDONED : CUT;
    volume->geometry = (struct repair_geometry){volume->chip->size, volume->chip->block_size, volume->chip->page_size, volume->chip->program_unit};
    right = rig_init(&rig, volume->chip, seed % 3 == 0 ? NF2_FORMAT_ERASE : NF2_FORMAT_QUICK) &&
            make_history(&rig, seed, profiles[seed / 3 % 5], volume->ending);
    if (right && volume->ending == LEFT_CLEANLY && seed % 2 == 0) {
        volume->ending = seed / 2 % 9 == 0 ? ABANDONED : LEFT_CLEANLY;
        right = make_cut_sessions(&rig, seed, seed / 2 % 3 > 0, volume->ending == LEFT_CLEANLY);
    }
    volume->bytes = malloc(volume->chip->size);
    memcpy(volume->bytes, vflash_memory(rig.flash), volume->chip->size);
    right = right && nf2_mount(&rig.fs, &rig.config, NF2_MOUNT_RDONLY) == NF2_OK;
    volume->clean = right && rig.fs.clean;
    right = right && nf2_check(&rig.fs, NULL, NULL) == 0; /* what the core leaves is another test's business */
    right = right && nf2_unmount(&rig.fs) == NF2_OK && rig_mount(&rig, NF2_MOUNT_RDWR) && rig_image(&rig, &volume->truth);
    volume->sound = right ? repair_open(volume->bytes, &volume->geometry) : NULL;
    rig_free(&rig);
    return right;
}

void volume_free(struct volume *volume)
{
    repair_close(volume->sound);
    image_free(&volume->truth);
    free(volume->bytes);
}
