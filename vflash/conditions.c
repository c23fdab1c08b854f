/* SPDX-License-Identifier: BSD-2-Clause */
/* conditions.c - times of programs and erases under conditions: wear, heat, content. See vflash_conditions. */
#include "state.h"

void vflash_set_conditions(struct vflash *chip, const struct vflash_conditions *conditions)
{
    chip->state.conditions = conditions != NULL ? *conditions : (struct vflash_conditions){0};
    const struct vflash_conditions *set = &chip->state.conditions;
    chip->state.conditioned = set->wear || set->content || set->slow_permille != 0;
}

/* Whether the block is one of the slow ones: the same each time. */
static bool block_is_slow(const struct vflash *chip, uint32_t block)
{
    struct pcg32 rng;
    if (chip->state.conditions.slow_permille == 0) {
        return false;
    }
    pcg32_seed(&rng, chip->state.conditions.seed, block);
    return pcg32_below(&rng, 1000) < chip->state.conditions.slow_permille;
}

/* Bytes that need a pulse. */
static uint32_t bytes_programmed(const struct program *program)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < program->length; i++) {
        count += program->data[i] != 0xFF;
    }
    return count;
}

uint64_t conditions_program_us(const struct vflash *chip, const struct program *program)
{
    const struct vflash_chip *facts = &chip->chip;
    uint32_t max_us = facts->program_page_max_us;
    if (program->length == 0) {
        return 0;
    }
    bool slow = max_us != 0 && block_is_slow(chip, program->address >> chip->block_shift);
    uint64_t page_us = slow ? max_us : facts->program_page_us;
    if (!chip->state.conditions.content) {
        return page_us;
    }
    uint64_t first = page_us * facts->first_byte_pct;
    uint64_t rest = (page_us * (100 - facts->first_byte_pct) * bytes_programmed(program)) >> chip->page_shift;
    return (first + rest + 50) / 100;
}

/* A straight line from typical at 0 erases to maximum at the endurance, and on from there at the maximum. */
static uint64_t worn_us(uint64_t typical_us, uint64_t max_us, uint64_t erases, uint64_t endurance)
{
    uint64_t at = erases < endurance ? erases : endurance;
    return endurance == 0 ? typical_us : typical_us + (max_us - typical_us) * at / endurance;
}

/* An erase of several blocks takes as long as its slowest one. */
uint64_t conditions_erase_us(const struct vflash *chip, int index, uint32_t first_block, uint32_t end_block)
{
    uint64_t typical_us = chip->chip.erase_us[index];
    uint64_t max_us = chip->chip.erase_max_us[index];
    uint64_t longest_us = typical_us;
    if (max_us <= typical_us) {
        return typical_us;
    }
    for (uint32_t block = first_block; block < end_block; block++) {
        uint64_t us = chip->state.conditions.wear ? worn_us(typical_us, max_us, chip->wear[block], chip->chip.endurance) : typical_us;
        us = block_is_slow(chip, block) ? max_us : us;
        longest_us = us > longest_us ? us : longest_us;
    }
    return longest_us;
}
