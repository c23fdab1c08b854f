/* SPDX-License-Identifier: BSD-2-Clause */
/* images.h - volumes with random histories, as images, for the tests of repair. */
#ifndef IMAGES_H
#define IMAGES_H

#include "random_ops.h"
#include "repair/repair.h"
#include "rig.h"

/* A random history on a chip, both by seed; may be gone on with. */
struct history {
    struct rig rig;
    struct generator generator;
    struct call_list list;
    unsigned done;
    uint64_t random;
    struct repair_geometry geometry;
};

bool history_begin(struct history *history, uint64_t seed, const char *chip);     /* NULL: one of some chips */
void history_free(struct history *history);
/* So many calls. False: a call was wrong (not that power went: see rig.off). */
bool history_go_on(struct history *history, unsigned calls);
/* Power goes within the next calls, and is back. */
bool history_cut(struct history *history);
bool history_mount(struct history *history);

/* What a mount for writing shows of the chip as it is now. Nothing changes by that. */
bool history_mounts_as(struct history *history, struct image *found);

/* A copy of what is on the chip; to be freed. */
uint8_t *history_image(const struct history *history);

/* Compares items with an image: what differs first in `text`. Items that are not said to be whole count as different. */
bool same_items(const struct repair *repair, const struct image *truth, char *text, size_t size);

/* Prints findings and notes. */
void say_repair(const struct repair *repair);

#endif
