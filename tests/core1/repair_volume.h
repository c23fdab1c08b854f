/* SPDX-License-Identifier: BSD-2-Clause */
/* repair_volume.h - volumes with random histories, as images, for the tests of repair. */
#ifndef REPAIR_VOLUME_H
#define REPAIR_VOLUME_H

#include "rig.h"

#include "repair/repair.h"

enum ending { LEFT_CLEANLY, ABANDONED, CUT };

struct volume {
    const struct vflash_chip *chip;
    struct repair_geometry geometry;
    enum ending ending;
    bool clean;                 /* for a mount */
    uint8_t *bytes;
    struct image truth;         /* as it mounts */
    struct repair *sound;       /* of the undamaged image */
};

/* By seed. False: its history ended with an error. To be freed in any case. */
bool volume_make(struct volume *volume, uint64_t seed);
void volume_free(struct volume *volume);

#endif
