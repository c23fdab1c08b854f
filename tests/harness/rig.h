/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rig.h - a volume on a virtual chip and its model, side by side: each call is made on both and judged.
 */
#ifndef RIG_H
#define RIG_H

#include <setjmp.h>

#include "model.h"
#include "vflash/vflash.h"

enum rig_result { RIG_OK, RIG_WRONG, RIG_CUT, RIG_FAILED };

struct rig {
    const struct vflash_chip *chip;
    struct vflash *flash;
    struct nf2_config config;
    nf2_t fs;
    nf2_file_t file[MODEL_HANDLES];
    uint8_t *page[MODEL_HANDLES];   /* each exactly a page, so that the address sanitizer sees overruns */
    nf2_dir_t dir[MODEL_LISTS];
    uint8_t *scratch;
    bool left_clean;                /* the last session ended with an unmount */
    bool free_exact;                /* the number of free blocks is; else, from a mount that settles a cut to the end of idle work, there may be more of them */
    bool mounted;
    struct model model;
    uint32_t free_formatted;        /* blocks */
    uint64_t capacity;              /* bytes available after format */
    int32_t answer;                 /* of the last call */
    int mount_answer;               /* of the last mount */
    uint64_t failed_before;         /* calls of the driver that failed before the call at hand (vflash_failed) */
    bool jump;                      /* leave the call by longjmp at a cut, so that nothing runs after it */
    bool off;                       /* the chip was cut */
    unsigned breaks;                /* blocks that were told to fail, at most */
    jmp_buf at_cut;
    uint64_t nospc;                 /* how often the volume was full */
    uint64_t emptying;              /* calls that were made while groups of blocks were being emptied */
    char failure[512];              /* what is wrong */
};

/* Makes a chip, formats, mounts. False: failure. */
bool rig_init(struct rig *rig, const struct vflash_chip *chip, int format_flags);
void rig_free(struct rig *rig);

/*
 * Makes the call on both and judges. RIG_CUT: the power went, or a bad block was too much; RIG_FAILED: the driver failed (vflash_fail_at,
 * which counts in this call only), and the call said so. The model is as before the call then.
 */
enum rig_result rig_call(struct rig *rig, const struct call *call);

/* Makes the call on the volume only. RIG_OK: it returned. */
enum rig_result rig_do(struct rig *rig, const struct call *call);

/* Are groups of blocks being emptied, over many calls? Nothing of that is on the chip. */
bool rig_emptying(const struct rig *rig);

/* Mounts (again) without touching the model; checks that it programs nothing. */
bool rig_mount(struct rig *rig, int flags);
/* Reads the whole tree. False: failure. */
bool rig_image(struct rig *rig, struct image *image);
/* Compares the whole tree with the model. */
bool rig_verify(struct rig *rig);
/* nf2_check, and a recount of the blocks by their states against nf2_statfs; erased blocks must be erased. */
bool rig_check(struct rig *rig);
/* Removes everything (the model too), maintains, and checks that the space came back. Handles must be closed. */
bool rig_empty(struct rig *rig);

#endif
