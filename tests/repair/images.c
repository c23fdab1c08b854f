/* SPDX-License-Identifier: BSD-2-Clause */
#include "images.h"

#include <stdlib.h>
#include <string.h>

static const char *const chips[] = {"tiny256k", "tinyecc16", "tiny128k", "tiny512", "tinyecc1m", "tinyecc32", "tiny2m", "tiny8k"};
static const enum profile profiles[] = {PROFILE_MIX, PROFILE_SMALL, PROFILE_LOGS, PROFILE_RANDOM, PROFILE_DIRS, PROFILE_FULL};

bool history_begin(struct history *history, uint64_t seed, const char *chip)
{
    const struct vflash_chip *facts = vflash_chip_find(chip != NULL ? chip : chips[seed % 8]);

    memset(history, 0, sizeof *history);
    history->random = seed * 77 + 5;
    history->geometry = (struct repair_geometry){facts->size, facts->block_size, facts->program_unit};
    if (!rig_init(&history->rig, facts, seed % 3 == 0 ? NF2_FORMAT_ERASE : NF2_FORMAT_QUICK)) {
        return false;
    }
    generator_init(&history->generator, seed, profiles[seed / 3 % 6], history->rig.capacity, facts->page_size, facts->block_size);
    return true;
}

void history_free(struct history *history)
{
    rig_free(&history->rig);
    calls_free(&history->list);
}

static bool next_call(struct history *history)
{
    if (history->done == history->list.count) {
        generator_next(&history->generator, &history->rig.model, &history->list);
    }
    const struct call *call = &history->list.call[history->done++];
    if (call->op == OP_CHECK || call->op == OP_VERIFY) {
        return true;
    }
    enum rig_result result = rig_call(&history->rig, call);
    if (getenv("REPAIR_CALLS") != NULL) { /* for people who look into a failure */
        printf("%d: ", (int)history->rig.answer);
        call_print(stdout, call);
    }
    if (history->rig.answer == NF2_ERR_NOSPC) {
        generator_full(&history->generator);
    }
    return result == RIG_OK;
}

bool history_go_on(struct history *history, unsigned calls)
{
    bool right = true;

    for (unsigned i = 0; i < calls && right; i++) {
        right = next_call(history);
    }
    return right;
}

bool history_cut(struct history *history)
{
    struct rig *rig = &history->rig;
    uint64_t *random = &history->random;
    bool right = true;
    struct vflash_cut cut = {.operation = 1 + random_number(random, 30), .byte = random_number(random, 300),
                             .last_byte_mask = (uint8_t)random_number(random, 256), .shuffle = random_number(random, 3) == 0,
                             .erase = (enum vflash_erase_cut)random_number(random, 6), .seed = *random};

    vflash_cut_at(rig->flash, &cut);
    while (!rig->off && right) {
        right = next_call(history) || rig->off;
    }
    vflash_cut_at(rig->flash, NULL);
    vflash_power_on(rig->flash);
    rig->off = false;
    return right;
}

/* The model is what is there now. */
bool history_mount(struct history *history)
{
    struct rig *rig = &history->rig;
    struct image found = {0};
    struct nf2_stat stat;

    rig->left_clean = false;
    bool right = rig_mount(rig, NF2_MOUNT_RDWR) && nf2_stat(&rig->fs, "/", &stat) == NF2_OK && rig_image(rig, &found);
    if (right) {
        bool short_pieces = rig->model.short_pieces;
        model_free(&rig->model);
        model_init(&rig->model, rig->chip->page_size, rig->chip->block_size);
        rig->model.short_pieces = short_pieces;
        model_from_image(&rig->model, &found);
    }
    image_free(&found);
    return right;
}

/* On the chip as it is, which is as before afterwards; and so is the volume that is mounted. */
bool history_mounts_as(struct history *history, struct image *found)
{
    struct rig *rig = &history->rig, *before = malloc(sizeof *before);
    struct vflash_checkpoint *chip = vflash_save(rig->flash);
    void *buffer = malloc(rig->config.buffer_size);
    struct nf2_stat stat;

    if (before == NULL || chip == NULL || buffer == NULL) {
        abort();
    }
    memcpy(before, rig, sizeof *rig);
    memcpy(buffer, rig->config.buffer, rig->config.buffer_size);
    rig->left_clean = false;
    bool right = rig_mount(rig, NF2_MOUNT_RDWR);
    int answer = right ? nf2_stat(&rig->fs, "/", &stat) : NF2_OK;
    if (answer != NF2_OK) {
        snprintf(before->failure, sizeof before->failure, "the first call behind a mount answers %d (%s)", answer, nf2_error_text(answer));
    }
    right = right && answer == NF2_OK && rig_image(rig, found);
    memcpy(rig, before, sizeof *rig);
    memcpy(rig->config.buffer, buffer, rig->config.buffer_size);
    vflash_restore(rig->flash, chip);
    vflash_release(chip);
    free(before);
    free(buffer);
    return right;
}

uint8_t *history_image(const struct history *history)
{
    uint8_t *bytes = malloc(history->geometry.size);

    if (bytes == NULL) {
        abort();
    }
    memcpy(bytes, vflash_memory(history->rig.flash), history->geometry.size);
    return bytes;
}

static const struct image_entry *truth_of(const struct image *truth, const char *path)
{
    for (uint32_t i = 0; i < truth->count; i++) {
        if (strcmp(truth->entry[i].path, path + 1) == 0) {
            return &truth->entry[i];
        }
    }
    return NULL;
}

bool same_items(const struct repair *repair, const struct image *truth, char *text, size_t size)
{
    uint32_t found = 0;

    for (unsigned i = 0; i < repair_count(repair); i++) {
        const struct repair_item *item = repair_item(repair, i);
        const struct image_entry *entry = truth_of(truth, item->path);
        if (entry == NULL || entry->type != item->type || item->state != REPAIR_WHOLE) {
            snprintf(text, size, "%.80s: %s", item->path, entry == NULL ? "there is no such name" : repair_state_text(item->state));
            return false;
        }
        found++;
        if (item->type == NF2_TYPE_DIR) {
            continue;
        }
        uint8_t *bytes = malloc(item->size + 1u);
        bool right = item->size == entry->content.size && repair_read(repair, i, 0, bytes, item->size) == item->size &&
                     (item->size == 0 || memcmp(bytes, entry->content.data, item->size) == 0);
        free(bytes);
        if (!right) {
            snprintf(text, size, "%.80s: other content, %u bytes, not %u", item->path, item->size, entry->content.size);
            return false;
        }
    }
    snprintf(text, size, "%u names are there, not %u", found, truth->count);
    return found == truth->count;
}

void say_repair(const struct repair *repair)
{
    for (unsigned i = 0; i < repair_findings(repair) && i < 20; i++) {
        const struct repair_finding *finding = repair_finding(repair, i);
        printf("    %s block %d offset %u id %u: %s (%s to %s)\n", repair_kind_wrong(finding->kind) ? "WRONG" : "note ",
               (int)finding->block, finding->offset, finding->id, finding->text, finding->from != NULL ? finding->from : "-",
               finding->to != NULL ? finding->to : "-");
    }
}
