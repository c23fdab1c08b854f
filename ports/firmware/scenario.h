/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * scenario.h - work whose every step can be computed again. An actor's state after n steps is a
 * function of its seed and n; so after a power loss the volume can be compared with the state that
 * was promised. The firmware runs it in its tasks, and the host judges images with the same code.
 */
#ifndef SCENARIO_H
#define SCENARIO_H

#include <stdbool.h>
#include <stdint.h>

#include "nf2fs/nf2fs.h"

#define SCENARIO_ACTORS 4u
#define SCENARIO_FILES 6u       /* of an actor of kind FILES */
#define SCENARIO_FILE_MAX 3000u /* bytes of each */
#define SCENARIO_CHUNKS 96u
#define SCENARIO_PAGE 256u

enum scenario_kind {
    SCENARIO_MODEL,             /* random calls on a few files, compared with a model in RAM */
    SCENARIO_LOG,               /* durable records of 32 bytes, files that take turns */
    SCENARIO_UPDATES            /* synced updates of 1 KiB in a file */
};

struct scenario_file {
    bool there;
    uint16_t size;
    uint8_t data[SCENARIO_FILE_MAX];
};

struct scenario {
    enum scenario_kind kind;
    uint32_t actor;
    uint64_t seed;
    uint32_t steps;             /* done, and durable */
    nf2_t *fs;

    nf2_file_t file;
    uint8_t buffer[SCENARIO_PAGE];
    uint8_t scratch[1024];
    struct scenario_file files[SCENARIO_FILES];     /* MODEL */
    uint16_t versions[SCENARIO_CHUNKS];             /* UPDATES: step that wrote each, 0: none */
    char failed[64];            /* which comparison or call, or empty */
};

void scenario_init(struct scenario *scenario, nf2_t *fs, uint32_t actor, uint64_t seed);

/*
 * The volume may show `acknowledged` steps or one more, nothing else. Sets `steps` to what it
 * shows, and `failed` where it shows neither. Returns 0, or a negative error.
 */
int scenario_resume(struct scenario *scenario, uint32_t acknowledged);

/* Does the next step, durable on return. 0, or an error. */
int scenario_step(struct scenario *scenario);

/*
 * Compares the whole volume's part of this actor with its state.
 * 0, or a negative error with `failed`.
 */
int scenario_compare(struct scenario *scenario);

#endif
