/* SPDX-License-Identifier: BSD-2-Clause */
/* rules.c - the accesses that a real chip refuses or corrupts. */
#include <string.h>

#include "state.h"

static bool outside(const struct vflash *chip, uint32_t address, uint32_t length)
{
    return address > chip->chip.size || length > chip->chip.size - address;
}

/* Whether programming `data` over `old` asks a bit to go from 0 to 1. */
static bool raises_bits(const uint8_t *old, const uint8_t *data, uint32_t length)
{
    uint64_t raised = 0;
    for (; length >= 8; length -= 8, old += 8, data += 8) {
        uint64_t before, asked;
        memcpy(&before, old, 8);
        memcpy(&asked, data, 8);
        raised |= asked & ~before;
    }
    for (; length > 0; length--) {
        raised |= (uint8_t)(*data++ & ~*old++);
    }
    return raised != 0;
}

const char *rules_read(const struct vflash *chip, uint32_t address, uint32_t length)
{
    if (outside(chip, address, length)) {
        return "the read leaves the chip";
    }
    if (((address | length) & (chip->chip.read_unit - 1)) != 0) {
        return "the read is not aligned to read units";
    }
    if (background_overlaps(chip, address, length)) {
        return "the read hits what is being erased";
    }
    return NULL;
}

const char *rules_program(const struct vflash *chip, uint32_t address, const uint8_t *data, uint32_t length)
{
    if (outside(chip, address, length)) {
        return "the program leaves the chip";
    }
    if ((address & (chip->chip.page_size - 1)) + (uint64_t)length > chip->chip.page_size) {
        return "the program crosses a page end";
    }
    if (((address | length) & (chip->chip.program_unit - 1)) != 0) {
        return "the program is not aligned to program units";
    }
    if (background_overlaps(chip, address, length)) {
        return "the program hits what is being erased";
    }
    if (raises_bits(chip->memory + address, data, length)) {
        return "the program asks bits to go from 0 to 1";
    }
    if (units_any(chip, address, length)) {
        return "the program hits a unit that was programmed since its erase";
    }
    return nand_program_fault(chip, address, length);
}

int rules_erase_index(const struct vflash *chip, uint32_t length)
{
    for (int i = 0; i < 3; i++) {
        if (length != 0 && chip->chip.erase_sizes[i] == length) {
            return i;
        }
    }
    return -1;
}

const char *rules_erase(const struct vflash *chip, uint32_t address, uint32_t length)
{
    if (rules_erase_index(chip, length) < 0) {
        return "the chip has no erase of this size";
    }
    if (address % length != 0) {
        return "the erase is not aligned to its size";
    }
    if (outside(chip, address, length)) {
        return "the erase leaves the chip";
    }
    if (chip->state.background.open) {
        return "another erase is open";
    }
    return NULL;
}
