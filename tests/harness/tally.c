/* SPDX-License-Identifier: BSD-2-Clause */
/* tally.c - see tally.h. */
#include "tally.h"

#include <string.h>

const char *const tear_names[TEAR_COUNT] = {
    "program, nothing landed", "program, a part in order", "program, a part in any order", "program, done",
    "erase, untouched", "erase, partly", "erase, a prefix", "erase, weak", "erase, unstable", "erase, done"
};

const char *const found_names[FOUND_COUNT] = { "nothing to change", "as before the call", "as after the call" };

enum tear tear_of(const struct vflash_operation *operation, const struct vflash_cut *cut)
{
    static const enum tear erases[] = { TEAR_ERASE_UNTOUCHED, TEAR_ERASE_PARTLY, TEAR_ERASE_WEAK, TEAR_ERASE_UNSTABLE, TEAR_ERASE_DONE,
                                        TEAR_ERASE_PREFIX };

    if (operation->erase) {
        return erases[cut->erase];
    }
    if (cut->byte >= operation->length) {
        return TEAR_PROGRAM_WHOLE;
    }
    if (cut->shuffle) {
        return TEAR_PROGRAM_SHUFFLED;
    }
    return cut->byte == 0 && cut->last_byte_mask == 0 ? TEAR_PROGRAM_NONE : TEAR_PROGRAM_PART;
}

struct tally_chip *tally_chip(struct tally *tally, const char *name)
{
    for (unsigned i = 0; i < TALLY_CHIPS; i++) {
        struct tally_chip *chip = &tally->chip[i];

        if (chip->name[0] == 0) {
            strncpy(chip->name, name, sizeof chip->name - 1);
        }
        if (strcmp(chip->name, name) == 0) {
            return chip;
        }
    }
    return &tally->chip[TALLY_CHIPS - 1];
}

uint64_t tally_mount(struct tally *tally, const char *name, const struct vflash_counts *before, const struct vflash_counts *after)
{
    struct tally_chip *chip = tally_chip(tally, name);
    uint64_t us = after->time_us - before->time_us, erases = 0;

    for (unsigned i = 0; i < 3; i++) {
        erases += after->erases[i] - before->erases[i];
    }
    chip->mounts++;
    chip->slow += us > TALLY_MOUNT_US;
    chip->erasing += erases > 0;
    if (us > chip->mount_us) {
        chip->mount_us = us;
        chip->mount_programs = after->program_pages - before->program_pages;
        chip->mount_pages = after->read_pages - before->read_pages;
        chip->mount_erases = erases;
    }
    return us;
}

void tally_first_write(struct tally *tally, const char *name, const struct vflash_counts *before, const struct vflash_counts *after)
{
    struct tally_chip *chip = tally_chip(tally, name);
    uint64_t us = after->time_us - before->time_us;

    chip->writes++;
    chip->slow_writes += us > 10000;
    chip->write_us = us > chip->write_us ? us : chip->write_us;
}

static void add_all(uint64_t *to, const uint64_t *from, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        to[i] += from[i];
    }
}

void tally_add(struct tally *to, const struct tally *from)
{
    to->histories += from->histories;
    to->calls += from->calls;
    to->cuts += from->cuts;
    to->looks += from->looks;
    to->emptied += from->emptied;
    to->emptying += from->emptying;
    to->breaks += from->breaks;
    to->refused += from->refused;
    to->closed += from->closed;
    to->errors += from->errors;
    to->broken += from->broken;
    to->failures += from->failures;
    add_all(to->tears, from->tears, TEAR_COUNT);
    add_all(to->found, from->found, FOUND_COUNT);
    add_all(to->depth, from->depth, TALLY_DEPTHS);
    for (unsigned i = 0; i < TALLY_CHIPS && from->chip[i].name[0]; i++) {
        struct tally_chip *chip = tally_chip(to, from->chip[i].name);

        chip->cuts += from->chip[i].cuts;
        chip->mounts += from->chip[i].mounts;
        chip->slow += from->chip[i].slow;
        chip->erasing += from->chip[i].erasing;
        chip->writes += from->chip[i].writes;
        chip->slow_writes += from->chip[i].slow_writes;
        chip->write_us = from->chip[i].write_us > chip->write_us ? from->chip[i].write_us : chip->write_us;
        if (from->chip[i].mount_us > chip->mount_us) {
            chip->mount_us = from->chip[i].mount_us;
            chip->mount_programs = from->chip[i].mount_programs;
            chip->mount_pages = from->chip[i].mount_pages;
            chip->mount_erases = from->chip[i].mount_erases;
        }
    }
}
