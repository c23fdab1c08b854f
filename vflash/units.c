/* SPDX-License-Identifier: BSD-2-Clause */
/* units.c - which units of a write-once chip were programmed since their erase, whatever they read. */
#include <string.h>

#include "state.h"

bool units_any(const struct vflash *chip, uint32_t address, uint32_t length)
{
    if (chip->programmed == NULL || length == 0) {
        return false;
    }
    uint32_t last = (address + length - 1) >> chip->unit_shift;
    for (uint32_t unit = address >> chip->unit_shift; unit <= last; unit++) {
        if (chip->programmed[unit / 8] & 1u << unit % 8) {
            return true;
        }
    }
    return false;
}

void units_set(struct vflash *chip, uint32_t address, uint32_t length)
{
    if (chip->programmed == NULL || length == 0) {
        return;
    }
    uint32_t last = (address + length - 1) >> chip->unit_shift;
    for (uint32_t unit = address >> chip->unit_shift; unit <= last; unit++) {
        chip->programmed[unit / 8] |= (uint8_t)(1u << unit % 8);
    }
}

void units_clear(struct vflash *chip, uint32_t address, uint32_t length)
{
    if (chip->programmed != NULL) {     /* whole blocks: whole bytes, since a block has at least 8 units */
        memset(chip->programmed + (address >> chip->unit_shift) / 8, 0, (length >> chip->unit_shift) / 8);
    }
}

static bool is_blank(const uint8_t *data, uint32_t length)
{
    for (uint32_t i = 0; i < length; i++) {
        if (data[i] != 0xFF) {
            return false;
        }
    }
    return true;
}

void units_adopt(struct vflash *chip)
{
    if (chip->programmed == NULL) {
        return;
    }
    uint32_t unit = chip->chip.program_unit;
    for (uint32_t address = 0; address < chip->chip.size; address += unit) {
        if (!is_blank(chip->memory + address, unit)) {
            units_set(chip, address, unit);
        }
    }
}
