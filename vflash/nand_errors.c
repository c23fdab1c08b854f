/* SPDX-License-Identifier: BSD-2-Clause */
/* nand_errors.c - how many bits of a NAND page are wrong, by wear and reads of its block, and what a reader is told of it. */
#include <assert.h>
#include <string.h>

#include "state.h"

/*
 * Each codeword has some cells that fail more easily than the others. Each of these has a limit of its own, and is wrong from the
 * moment when the stress of its block passes it: so wrong bits only become more until the next erase, and the same history gives the
 * same bits.
 */
#define WEAK_CELLS 32u
#define PERMILLE_MAX 100000u    /* wear beyond a hundred times the endurance counts as that */

/* Thousandths. */
static uint64_t ratio(uint64_t part, uint64_t whole)
{
    uint64_t permille = whole == 0 ? 0 : part * 1000 / whole;
    return permille < PERMILLE_MAX ? permille : PERMILLE_MAX;
}

/* The mean of wrong bits in a codeword of the block, in millionths of a bit: see `worn_errors_ppm`. */
static uint64_t mean_errors_ppm(const struct vflash *chip, uint32_t block)
{
    const struct vflash_chip *facts = &chip->chip;
    uint64_t worn = ratio(chip->wear[block], facts->endurance);
    uint64_t read = ratio(chip->block_reads[block], facts->disturb_reads);
    return facts->worn_errors_ppm * worn * worn / 1000000 + facts->worn_errors_ppm * read / 1000 * (1000 + worn) / 2000;
}

/* The chance of a weak cell to be wrong, as a share of 2^32. */
static uint32_t cell_limit(const struct vflash *chip, uint32_t block)
{
    uint64_t limit = (mean_errors_ppm(chip, block) << 32) / (1000000ull * WEAK_CELLS);
    return limit < UINT32_MAX ? (uint32_t)limit : UINT32_MAX;
}

/* The same numbers until the block is erased again. */
static void seed_codeword(const struct vflash *chip, struct pcg32 *rng, uint32_t page, uint32_t codeword)
{
    uint64_t life = chip->wear[nand_block_of(chip, page)];
    pcg32_seed(rng, chip->state.nand_seed ^ life << 32 ^ NAND_ERRORS_STREAM, (uint64_t)page * (VFLASH_PAGE_MAX / NAND_CODEWORD) + codeword);
}

static uint32_t codeword_errors(const struct vflash *chip, uint32_t page, uint32_t codeword, uint32_t limit)
{
    struct pcg32 rng;
    uint32_t wrong = 0;
    seed_codeword(chip, &rng, page, codeword);
    for (unsigned cell = 0; cell < WEAK_CELLS; cell++) {
        wrong += pcg32_next(&rng) < limit;
    }
    return wrong + chip->page_errors[page];
}

static void turn_bits(const struct vflash *chip, uint32_t page, uint32_t codeword, uint32_t count, uint8_t *data)
{
    struct pcg32 rng;
    seed_codeword(chip, &rng, page, codeword);
    uint32_t bits = NAND_CODEWORD * 8, bit = pcg32_below(&rng, bits);
    for (; count > 0; count--, bit = (bit + 1021) % bits) {      /* odd: each bit but once */
        data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
}

/* What the chip says of so many wrong bits in one codeword. */
static int judge(const struct vflash_chip *facts, uint32_t wrong)
{
    if (wrong == 0) {
        return 0;
    }
    if (wrong > facts->ecc_bits) {
        return NF2_NAND_LOST;
    }
    return wrong >= facts->ecc_weak ? NF2_NAND_WEAK : NF2_NAND_MENDED;
}

/* LOST is below 0, and comes before all. */
static int worse(int one, int other)
{
    return one < 0 || (other >= 0 && one > other) ? one : other;
}

int nand_errors(const struct vflash *chip, uint32_t page, uint8_t *data)
{
    uint32_t block = nand_block_of(chip, page), limit = cell_limit(chip, block);
    int result = 0;
    if (chip->page_errors[page] == NAND_GARBAGE) {
        return NF2_NAND_LOST;
    }
    if (!units_any(chip, page << chip->page_shift, 1) || (limit == 0 && chip->page_errors[page] == 0)) {
        return 0;
    }
    for (uint32_t codeword = 0; codeword * NAND_CODEWORD < chip->chip.page_size; codeword++) {
        uint32_t wrong = codeword_errors(chip, page, codeword, limit);
        int one = judge(&chip->chip, wrong);
        if (one == NF2_NAND_LOST) {
            turn_bits(chip, page, codeword, wrong, data + codeword * NAND_CODEWORD);
        }
        result = worse(one, result);
    }
    return result;
}

/* Each block has a limit of its own, from `worn_out_pct` of the endurance to twice as much. */
bool nand_worn_out(const struct vflash *chip, uint32_t block)
{
    struct pcg32 rng;
    uint64_t first = (uint64_t)chip->chip.endurance * chip->chip.worn_out_pct / 100;
    if (chip->chip.worn_out_pct == 0 || chip->wear[block] <= first) {
        return false;
    }
    pcg32_seed(&rng, chip->state.nand_seed ^ NAND_WEAR_STREAM, block);
    return chip->wear[block] > first + (pcg32_next(&rng) * first >> 32);
}

void vflash_nand_seed(struct vflash *chip, uint64_t seed)
{
    chip->state.nand_seed = seed;
}

void vflash_nand_age(struct vflash *chip, uint32_t block, uint32_t erases, uint32_t reads)
{
    assert(chip->chip.nand != 0 && block < chip->blocks);
    chip->wear[block] = erases;
    chip->block_reads[block] = reads;
    nand_forget(chip);
}

uint32_t vflash_nand_reads(const struct vflash *chip, uint32_t block)
{
    assert(chip->chip.nand != 0 && block < chip->blocks);
    return chip->block_reads[block];
}

void vflash_nand_spoil(struct vflash *chip, uint32_t page, uint32_t bits)
{
    assert(chip->chip.nand != 0 && page < chip->chip.size >> chip->page_shift);
    chip->page_errors[page] = (uint8_t)(bits < NAND_GARBAGE ? bits : NAND_GARBAGE);
    nand_forget(chip);
}
