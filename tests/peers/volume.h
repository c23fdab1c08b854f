/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * volume.h - any file system behind vfs on a virtual chip, and the model beside it: lists of calls (calls.h) are made on both.
 *
 * The chip is not strict: a program over programmed bits does what a real chip does, and is counted.
 */
#ifndef PEER_VOLUME_H
#define PEER_VOLUME_H

#include <setjmp.h>

#include "model.h"
#include "vflash/vflash.h"
#include "vfs/vfs.h"

enum volume_result {
    VOLUME_OK,
    VOLUME_CUT,                 /* the power went; the model is as before the call */
    VOLUME_FULL,                /* no space: handles are closed, the model is what is on the volume now */
    VOLUME_WRONG                /* see `failure` */
};

struct volume {
    const struct vfs_entry *entry;
    const struct vflash_chip *chip;
    struct vflash *flash;
    struct vfs fs;
    void *file[MODEL_HANDLES];
    struct model model;
    uint64_t fresh_free;        /* bytes that vfs reports right after format */
    uint64_t ghosts;            /* empty files that were never synced, found after a session that was left without a cut in a call */
    bool jump;                  /* leave a call by longjmp at a cut, so that nothing runs after it */
    bool off;
    jmp_buf at_cut;
    char failure[200];
};

/* Makes a chip, formats, mounts. False: failure. */
bool volume_init(struct volume *volume, const struct vfs_entry *entry, const struct vflash_chip *chip);
void volume_free(struct volume *volume);

/* Calls that fail by their nature, and those that vfs does not have, are left out (VOLUME_OK). */
enum volume_result volume_call(struct volume *volume, const struct call *call);

/* After a cut: power on, and a mount. VOLUME_WRONG: it does not mount. */
enum volume_result volume_come_back(struct volume *volume);

/* The whole tree, in the order of the model's. False: something cannot be read. */
bool volume_image(struct volume *volume, struct image *image);
/* The model becomes the image. */
void volume_adopt(struct volume *volume, const struct image *image);
/* Whether the tree is the model's. */
bool volume_matches_model(struct volume *volume);

/* Removes all that is there, mounts anew, and finds out how much room there is. False: something failed. */
bool volume_empty(struct volume *volume, uint64_t *free_bytes);
/* Writes one file until `size` bytes are there, reads it back, removes it. False: something failed. */
bool volume_hold(struct volume *volume, uint64_t size);

#endif
