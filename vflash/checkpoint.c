/* SPDX-License-Identifier: BSD-2-Clause */
/* checkpoint.c - copies of a chip's whole state: one allocation, plain copies. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "state.h"

struct vflash_checkpoint {
    struct vflash_state state;
    uint32_t size, blocks, programmed_bytes;
    uint8_t arrays[];           /* wear, marks, programmed units, memory */
};

struct vflash_checkpoint *vflash_save(const struct vflash *chip)
{
    size_t wear_bytes = (size_t)chip->blocks * sizeof(*chip->wear);
    size_t all = wear_bytes + chip->blocks + chip->programmed_bytes + chip->chip.size;
    struct vflash_checkpoint *checkpoint = malloc(sizeof(*checkpoint) + all);
    if (checkpoint == NULL) {
        return NULL;
    }
    checkpoint->state = chip->state;
    checkpoint->size = chip->chip.size;
    checkpoint->blocks = chip->blocks;
    checkpoint->programmed_bytes = chip->programmed_bytes;
    uint8_t *to = checkpoint->arrays;
    memcpy(to, chip->wear, wear_bytes);
    to += wear_bytes;
    memcpy(to, chip->marks, chip->blocks);
    to += chip->blocks;
    if (chip->programmed != NULL) {
        memcpy(to, chip->programmed, chip->programmed_bytes);
        to += chip->programmed_bytes;
    }
    memcpy(to, chip->memory, chip->chip.size);
    return checkpoint;
}

void vflash_restore(struct vflash *chip, const struct vflash_checkpoint *checkpoint)
{
    assert(checkpoint->size == chip->chip.size && checkpoint->blocks == chip->blocks);
    assert(checkpoint->programmed_bytes == chip->programmed_bytes);
    size_t wear_bytes = (size_t)chip->blocks * sizeof(*chip->wear);
    const uint8_t *from = checkpoint->arrays;
    chip->state = checkpoint->state;
    memcpy(chip->wear, from, wear_bytes);
    from += wear_bytes;
    memcpy(chip->marks, from, chip->blocks);
    from += chip->blocks;
    if (chip->programmed != NULL) {
        memcpy(chip->programmed, from, chip->programmed_bytes);
        from += chip->programmed_bytes;
    }
    memcpy(chip->memory, from, chip->chip.size);
}

void vflash_release(struct vflash_checkpoint *checkpoint)
{
    free(checkpoint);
}
