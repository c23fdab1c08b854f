/* SPDX-License-Identifier: BSD-2-Clause */
/* fault.c - power cuts and what they leave, failing calls, blocks that are weak, unstable or broken, bits that turn over. */
#include <assert.h>
#include <string.h>

#include "state.h"

#define NOISE_STREAM 1u         /* of a cut's seed: disturbed programs and reads */
#define TEAR_STREAM 2u          /* of a cut's seed: what the torn operation leaves */
#define FLIP_STREAM 3u          /* of a flip's seed: which bits */

/* ---- calls that fail, operations that are cut ----------------------------------------------------- */

bool fault_call_fails(struct vflash *chip)
{
    if (chip->state.fail_in == 0 || --chip->state.fail_in > 0) {
        return false;
    }
    chip->state.failed++;
    chip->state.fail_in = --chip->state.fail_count > 0;
    return true;
}

bool fault_operation_cut(struct vflash *chip, bool erase, uint32_t address, uint32_t length)
{
    if (chip->watch != NULL) {
        chip->watch(chip->watch_context, &(struct vflash_operation){.erase = erase, .address = address, .length = length});
    }
    if (chip->state.break_in != 0 && --chip->state.break_in == 0) {
        vflash_break_block(chip, address >> chip->block_shift, chip->state.break_silent);
    }
    return ++chip->state.operations == chip->state.cut.operation;
}

int fault_power_off(struct vflash *chip)
{
    chip->state.off = true;
    background_tear(chip);
    if (chip->on_cut != NULL) {
        chip->on_cut(chip->on_cut_context);
    }
    return VFLASH_OFF;
}

/* ---- programs ----------------------------------------------------------------------------------- */

/* Byte `i` of the program lands, as to the bits in `mask`. */
static void land(struct vflash *chip, const struct program *program, uint32_t i, uint8_t mask)
{
    uint32_t at = program->address + i;
    if (i >= program->straight) {
        at -= chip->chip.page_size;
    }
    uint8_t value = program->data[i];
    /* A byte that is not asked to change is not programmed; of the others, a weak block spoils one in four. */
    if (value != 0xFF && chip->marks[at >> chip->block_shift] & (MARK_WEAK | MARK_UNSTABLE)) {
        uint32_t random = pcg32_next(&chip->state.noise);
        uint32_t turned = random | 1u << (random >> 8) % 8;
        value = (uint8_t)(random >> 30 == 0 ? value ^ turned : value);
    }
    chip->memory[at] &= (uint8_t)(value | (uint8_t)~mask);
}

void fault_weak_program(struct vflash *chip, const struct program *program)
{
    for (uint32_t i = 0; i < program->length; i++) {
        land(chip, program, i, 0xFF);
    }
}

/* Puts a random choice of `chosen` of the numbers below `length` in front. */
static void shuffle(uint16_t *order, uint32_t length, uint32_t chosen, struct pcg32 *rng)
{
    for (uint32_t i = 0; i < chosen; i++) {
        uint32_t other = i + pcg32_below(rng, length - i);
        uint16_t swapped = order[i];
        order[i] = order[other];
        order[other] = swapped;
    }
}

void fault_tear_program(struct vflash *chip, const struct program *program)
{
    const struct vflash_cut *cut = &chip->state.cut;
    uint32_t whole = cut->byte < program->length ? cut->byte : program->length;
    uint16_t order[VFLASH_PAGE_MAX];
    for (uint32_t i = 0; i < program->length; i++) {
        order[i] = (uint16_t)i;
    }
    if (cut->shuffle) {
        struct pcg32 rng;
        pcg32_seed(&rng, cut->seed, TEAR_STREAM);
        shuffle(order, program->length, program->length, &rng);
    }
    for (uint32_t i = 0; i < whole; i++) {
        land(chip, program, order[i], 0xFF);
    }
    if (whole < program->length) {
        land(chip, program, order[whole], cut->last_byte_mask);
    }
}

/* ---- erases ------------------------------------------------------------------------------------- */

/* How a part of an erase lies over its range; a seed chooses. */
enum shape {
    SHAPE_MIXED,                /* bytes untouched, erased and half erased, in any order */
    SHAPE_FRONT,                /* erased up to some byte */
    SHAPE_BACK,                 /* erased from some byte on */
    SHAPE_NEARLY,               /* all but a few bytes erased */
    SHAPE_COUNT
};

static bool byte_is_erased(enum shape shape, uint32_t i, uint32_t edge, struct pcg32 *rng)
{
    switch (shape) {
    case SHAPE_FRONT:
        return i < edge;
    case SHAPE_BACK:
        return i >= edge;
    case SHAPE_NEARLY:
        return pcg32_below(rng, 256) != 0;
    default:
        return pcg32_below(rng, 3) == 0;
    }
}

/* A half erased byte may hold any bits: chips program all bits to 0 before they erase, so 1s may be lost, too. */
static void erase_partly(struct vflash *chip, uint32_t first_block, uint32_t end_block)
{
    uint32_t start = first_block << chip->block_shift;
    uint32_t length = (end_block - first_block) << chip->block_shift;
    struct pcg32 rng;
    pcg32_seed(&rng, chip->state.cut.seed, TEAR_STREAM);
    enum shape shape = (enum shape)pcg32_below(&rng, SHAPE_COUNT);
    uint32_t edge = pcg32_below(&rng, length);
    for (uint32_t i = 0; i < length; i++) {
        uint8_t *byte = &chip->memory[start + i];
        bool erased = byte_is_erased(shape, i, edge, &rng);
        bool half = i == edge || pcg32_below(&rng, 2) == 0;
        uint8_t bits = (uint8_t)pcg32_next(&rng);
        if (chip->marks[(start + i) >> chip->block_shift] & MARK_BROKEN) {
            continue;
        }
        if (erased && i != edge) {
            *byte = 0xFF;
        } else if (half) {
            *byte = bits;
        }
    }
}

/* Erased up to a byte, of which some bits are. */
static void erase_prefix(struct vflash *chip, uint32_t first_block, uint32_t end_block)
{
    const struct vflash_cut *cut = &chip->state.cut;
    uint32_t start = first_block << chip->block_shift;
    uint32_t length = (end_block - first_block) << chip->block_shift;
    for (uint32_t i = 0; i < length && i <= cut->byte; i++) {
        if (!(chip->marks[(start + i) >> chip->block_shift] & MARK_BROKEN)) {
            chip->memory[start + i] |= i < cut->byte ? 0xFF : cut->last_byte_mask;
        }
    }
}

void fault_tear_erase(struct vflash *chip, uint32_t first_block, uint32_t end_block)
{
    enum vflash_erase_cut left = chip->state.cut.erase;
    if (left == VFLASH_ERASE_PARTLY) {
        erase_partly(chip, first_block, end_block);
    } else if (left == VFLASH_ERASE_PREFIX) {
        erase_prefix(chip, first_block, end_block);
    } else if (left == VFLASH_ERASE_DONE) {
        (void)chip_erase_blocks(chip, first_block, end_block);
    } else if (left == VFLASH_ERASE_WEAK || left == VFLASH_ERASE_UNSTABLE) {
        for (uint32_t block = first_block; block < end_block; block++) {
            if (chip->marks[block] & MARK_BROKEN) {
                continue;
            }
            if (left == VFLASH_ERASE_WEAK) {
                memset(chip->memory + ((size_t)block << chip->block_shift), 0xFF, chip->chip.block_size);
            }
            fault_mark(chip, block, left == VFLASH_ERASE_WEAK ? MARK_WEAK : MARK_UNSTABLE, 0);
        }
    }
}

/* ---- reads -------------------------------------------------------------------------------------- */

/* One read of an unstable block: the old data, blank, or (as often as both) a quarter of the bits turned over. */
static void disturb(struct pcg32 *noise, uint8_t *data, uint32_t length)
{
    uint32_t kind = pcg32_below(noise, 4);
    if (kind == 0) {
        return;
    }
    if (kind == 1) {
        memset(data, 0xFF, length);
        return;
    }
    for (uint32_t i = 0; i < length; i++) {
        uint32_t random = pcg32_next(noise);
        data[i] ^= (uint8_t)(random & random >> 8);
    }
}

void fault_disturb_read(struct vflash *chip, uint32_t address, uint8_t *data, uint32_t length)
{
    while (length > 0) {
        uint32_t left = chip->chip.block_size - (address & (chip->chip.block_size - 1));
        uint32_t part = length < left ? length : left;
        if (chip->marks[address >> chip->block_shift] & MARK_UNSTABLE) {
            disturb(&chip->state.noise, data, part);
        }
        address += part;
        data += part;
        length -= part;
    }
}

/* ---- what a test asks for ------------------------------------------------------------------------- */

void fault_mark(struct vflash *chip, uint32_t block, unsigned set, unsigned clear)
{
    unsigned before = chip->marks[block];
    unsigned after = (before & ~clear) | set;
    chip->state.marked += (uint32_t)(after != 0) - (uint32_t)(before != 0);
    chip->marks[block] = (uint8_t)after;
}

void vflash_cut_at(struct vflash *chip, const struct vflash_cut *cut)
{
    chip->state.cut = cut != NULL ? *cut : (struct vflash_cut){0};
    chip->state.operations = 0;
    if (cut != NULL) {
        pcg32_seed(&chip->state.noise, cut->seed, NOISE_STREAM);
    }
}

void vflash_watch(struct vflash *chip, void (*watch)(void *context, const struct vflash_operation *operation), void *context)
{
    chip->watch = watch;
    chip->watch_context = context;
}

void vflash_on_cut(struct vflash *chip, void (*on_cut)(void *context), void *context)
{
    chip->on_cut = on_cut;
    chip->on_cut_context = context;
}

uint64_t vflash_operations(const struct vflash *chip)
{
    return chip->state.operations;
}

void vflash_power_on(struct vflash *chip)
{
    chip->state.off = false;
    nand_forget(chip);
}

void vflash_fail_at(struct vflash *chip, uint64_t operation)
{
    vflash_fail_from(chip, operation, 1);
}

void vflash_fail_from(struct vflash *chip, uint64_t operation, uint64_t count)
{
    chip->state.fail_in = count > 0 ? operation : 0;
    chip->state.fail_count = count;
}

uint64_t vflash_failed(const struct vflash *chip)
{
    return chip->state.failed;
}

void vflash_break_block(struct vflash *chip, uint32_t block, bool silent)
{
    assert(block < chip->blocks);
    fault_mark(chip, block, MARK_BROKEN | (silent ? MARK_SILENT : 0), MARK_SILENT);
}

void vflash_break_at(struct vflash *chip, uint64_t operation, bool silent)
{
    chip->state.break_in = operation;
    chip->state.break_silent = silent;
}

void vflash_flip(struct vflash *chip, uint32_t address, uint8_t mask)
{
    assert(address < chip->chip.size && !chip->read_only);
    chip->memory[address] ^= mask;
}

/* Each bit is taken with the chance that the wanted number among those left has: every choice of bits is as likely as another. */
uint32_t vflash_flip_seeded(struct vflash *chip, uint32_t address, uint32_t length, uint32_t count, uint64_t seed)
{
    assert(length <= chip->chip.size && address <= chip->chip.size - length && length <= UINT32_MAX / 8);
    struct pcg32 rng;
    pcg32_seed(&rng, seed, FLIP_STREAM);
    uint32_t turned = 0, bits = length * 8;
    for (uint32_t bit = 0; bit < bits && turned < count; bit++) {
        if (pcg32_below(&rng, bits - bit) < count - turned) {
            vflash_flip(chip, address + bit / 8, (uint8_t)(1u << bit % 8));
            turned++;
        }
    }
    return turned;
}
