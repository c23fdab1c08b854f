/* SPDX-License-Identifier: BSD-2-Clause */
/* checkpoint.c - copies of a chip's whole state, in memory (one allocation, plain copies) and in a file. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "state.h"

struct vflash_checkpoint {
    struct vflash_state state;
    uint32_t size, blocks, programmed_bytes;
    uint8_t arrays[];           /* as parts_of() names them, one behind the other */
};

struct part {
    void *bytes;
    size_t size;
};

#define PARTS 8u

static void parts_of(const struct vflash *chip, struct part parts[PARTS])
{
    parts[0] = (struct part){chip->wear, (size_t)chip->blocks * sizeof(*chip->wear)};
    parts[1] = (struct part){chip->marks, chip->blocks};
    parts[2] = (struct part){chip->programmed, chip->programmed_bytes};
    parts[3] = (struct part){chip->spare, (size_t)(chip->chip.size >> chip->page_shift) * chip->chip.spare_size};
    bool nand = chip->chip.nand != 0;
    parts[4] = (struct part){chip->page_errors, nand ? chip->chip.size >> chip->page_shift : 0};
    parts[5] = (struct part){chip->block_reads, nand ? chip->blocks * sizeof(*chip->block_reads) : 0};
    parts[6] = (struct part){chip->page_buffer, nand ? chip->chip.page_size : 0};
    parts[7] = (struct part){chip->memory, chip->chip.size};
}

/* ---- in memory ------------------------------------------------------------------------------------ */

struct vflash_checkpoint *vflash_save(const struct vflash *chip)
{
    struct part parts[PARTS];
    size_t all = 0;
    parts_of(chip, parts);
    for (unsigned i = 0; i < PARTS; i++) {
        all += parts[i].size;
    }
    struct vflash_checkpoint *checkpoint = malloc(sizeof(*checkpoint) + all);
    if (checkpoint == NULL) {
        return NULL;
    }
    checkpoint->state = chip->state;
    checkpoint->size = chip->chip.size;
    checkpoint->blocks = chip->blocks;
    checkpoint->programmed_bytes = chip->programmed_bytes;
    uint8_t *to = checkpoint->arrays;
    for (unsigned i = 0; i < PARTS; i++) {
        if (parts[i].size > 0) {
            memcpy(to, parts[i].bytes, parts[i].size);
            to += parts[i].size;
        }
    }
    return checkpoint;
}

void vflash_restore(struct vflash *chip, const struct vflash_checkpoint *checkpoint)
{
    struct part parts[PARTS];
    assert(checkpoint->size == chip->chip.size && checkpoint->blocks == chip->blocks);
    assert(checkpoint->programmed_bytes == chip->programmed_bytes);
    const uint8_t *from = checkpoint->arrays;
    chip->state = checkpoint->state;
    parts_of(chip, parts);
    for (unsigned i = 0; i < PARTS; i++) {
        if (parts[i].size > 0) {
            memcpy(parts[i].bytes, from, parts[i].size);
            from += parts[i].size;
        }
    }
}

void vflash_release(struct vflash_checkpoint *checkpoint)
{
    free(checkpoint);
}

/* ---- in a file: of this program on this machine, as the structures lie in memory ------------------- */

#define FILE_MARK 0x56464C41u

struct file_head {
    uint32_t mark, head_size;
    struct vflash_chip chip;
    struct vflash_state state;
};

static int refuse(char *message, size_t message_size, const char *text)
{
    snprintf(message, message_size, "%s", text);
    return -1;
}

int vflash_store(const struct vflash *chip, FILE *file, char *message, size_t message_size)
{
    struct part parts[PARTS];
    struct file_head head;
    memset(&head, 0, sizeof(head));
    head.mark = FILE_MARK;
    head.head_size = sizeof(head);
    head.chip = chip->chip;
    head.state = chip->state;
    head.state.violation = NULL;
    bool good = fwrite(&head, sizeof(head), 1, file) == 1;
    parts_of(chip, parts);
    for (unsigned i = 0; i < PARTS; i++) {
        good = good && (parts[i].size == 0 || fwrite(parts[i].bytes, parts[i].size, 1, file) == 1);
    }
    return good ? 0 : refuse(message, message_size, "the state of the chip cannot be written");
}

int vflash_load(struct vflash *chip, FILE *file, char *message, size_t message_size)
{
    struct part parts[PARTS];
    struct file_head head;
    if (fread(&head, sizeof(head), 1, file) != 1 || head.mark != FILE_MARK || head.head_size != sizeof(head)) {
        return refuse(message, message_size, "this is no stored state of a chip, or of another version");
    }
    if (memcmp(&head.chip, &chip->chip, sizeof(head.chip)) != 0) {
        return refuse(message, message_size, "the stored state is of another chip");
    }
    parts_of(chip, parts);
    for (unsigned i = 0; i < PARTS; i++) {
        if (parts[i].size != 0 && fread(parts[i].bytes, parts[i].size, 1, file) != 1) {
            return refuse(message, message_size, "the stored state ends early");
        }
    }
    chip->state = head.state;
    return 0;
}
