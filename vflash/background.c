/* SPDX-License-Identifier: BSD-2-Clause */
/* background.c - an erase that is open while other calls are made. */
#include "state.h"

bool background_overlaps(const struct vflash *chip, uint32_t address, uint32_t length)
{
    const struct background *open = &chip->state.background;
    uint64_t start = (uint64_t)open->first_block << chip->block_shift;
    uint64_t end = (uint64_t)open->end_block << chip->block_shift;
    return open->open && address < end && (uint64_t)address + length > start;
}

void background_begin(struct vflash *chip, int index, uint32_t address, uint32_t length, bool cut)
{
    uint32_t first = address >> chip->block_shift, end = first + (length >> chip->block_shift);
    bool conditioned = chip->state.conditioned;
    uint64_t us = conditioned ? conditions_erase_us(chip, index, first, end) : chip->chip.erase_us[index];
    count_erase_begun(chip, index, first, end);
    chip->state.background = (struct background){
        .open = true, .cut = cut, .first_block = first, .end_block = end, .left_us = us};
}

static void run(struct vflash *chip, uint64_t us)
{
    struct background *open = &chip->state.background;
    open->left_us -= us < open->left_us ? us : open->left_us;
}

bool background_cut(struct vflash *chip)
{
    return chip->state.background.open && chip->state.background.cut;
}

void background_give_way(struct vflash *chip)
{
    struct background *open = &chip->state.background;
    if (!open->open || open->left_us == 0) {
        return;
    }
    count_time(chip, chip->suspend_us != 0 ? chip->suspend_us : open->left_us);
    run(chip, chip->suspend_us != 0 ? 0 : open->left_us);
}

int background_end(struct vflash *chip)
{
    struct background *open = &chip->state.background;
    if (!open->open) {
        return 1;
    }
    if (open->left_us > 0) {
        return 0;
    }
    open->open = false;
    int result = chip_erase_blocks(chip, open->first_block, open->end_block);
    return result != 0 ? result : 1;
}

/* What has ended is erased, whether someone asked or not. */
void background_tear(struct vflash *chip)
{
    struct background *open = &chip->state.background;
    if (!open->open) {
        return;
    }
    open->open = false;
    if (open->left_us == 0 && !open->cut) {
        (void)chip_erase_blocks(chip, open->first_block, open->end_block);
    } else {
        fault_tear_erase(chip, open->first_block, open->end_block);
    }
    open->cut = false;
}

bool vflash_is_erasing(const struct vflash *chip)
{
    return chip->state.background.open && chip->state.background.left_us > 0;
}

void vflash_pass(struct vflash *chip, uint64_t us)
{
    if (background_cut(chip)) {
        (void)fault_power_off(chip);
    }
    count_time(chip, us);
    run(chip, us);
}
