/* SPDX-License-Identifier: BSD-2-Clause */
/* spinor_start.c - finding the chip, and what it can do. */
#include "spinor.h"

#include <stddef.h>

#include "spinor_command.h"
#include "spinor_sfdp.h"

#define NOTHING 0xFFu           /* what an open line reads as */
#define START_MAX_US 10000000u  /* a large erase that a reset left behind, on a worn chip */
#define ANSWER_MS 50u
#define REGISTER_MAX_US 100000u
#define LINE_CLOCK_HZ 50000000u

/* ---- finding the chip ------------------------------------------------------------------------ */

/*
 * Ones on the line for as long as an address and its mode bits take, on four lines or on two, with
 * three bytes or four: these end continuous reading. FFh and F5h on four lines end QPI, and on one
 * line FFh does, too, where the others are pulled up. No chip takes them for anything else.
 */
static int leave_modes(struct spinor *chip)
{
    static const uint8_t ones[4] = {NOTHING, NOTHING, NOTHING, NOTHING};
    static const uint8_t lengths[] = {0, 1, 4};
    int result = SPINOR_OK;
    for (uint32_t i = 0; result == 0 && i < sizeof(lengths); i++) {
        const struct spinor_transfer transfer = {
            .opcode = LEAVE_MODE, .address_lines = 1, .data_lines = 1, .out = ones,
            .length = lengths[i],
        };
        result = spinor_send(chip, &transfer);
    }
    for (uint32_t i = 0; result == 0 && chip->bus->lines == 4u && i < 2u; i++) {
        const struct spinor_transfer transfer = {
            .opcode = i == 0 ? LEAVE_MODE : LEAVE_QPI, .opcode_on_four = true, .address_lines = 4,
            .data_lines = 4,
        };
        result = spinor_send(chip, &transfer);
    }
    return result;
}

/* It may sleep, not have had its power for long, or not understand. */
static int make_answer(struct spinor *chip)
{
    uint8_t status = NOTHING;
    for (uint32_t tries = 0; tries < ANSWER_MS; tries++) {
        int result = leave_modes(chip);
        result = result != 0 ? result : spinor_command(chip, WAKE);
        result = result != 0 ? result : spinor_hold(chip, 1000);
        result = result != 0 ? result : spinor_get(chip, READ_STATUS, &status, 1);
        if (result != 0 || status != NOTHING) {
            return result;
        }
    }
    return SPINOR_ABSENT;
}

/*
 * After a reset of the processor alone the chip may sleep, be in the middle of an erase, have it
 * suspended, or be in another mode. A suspended erase goes on: one of two opcodes resumes it, the
 * other one at most clears bits of failures. The reset comes last: it must not hit an erase.
 */
static int settle(struct spinor *chip)
{
    int result = make_answer(chip);
    if (result == SPINOR_ABSENT && chip->bus->reset != NULL) {
        chip->bus->reset(chip->bus->context);
        result = make_answer(chip);
    }
    result = result != 0 ? result : spinor_command(chip, RESUME);
    result = result != 0 ? result : spinor_command(chip, CLEAR_STATUS);
    result = result != 0 ? result : spinor_wait_idle(chip, 1000, START_MAX_US);
    result = result != 0 ? result : spinor_command(chip, RESET_ENABLE);
    result = result != 0 ? result : spinor_command(chip, RESET);
    result = result != 0 ? result : spinor_hold(chip, 100);
    return result != 0 ? result : spinor_wait_idle(chip, 1000, START_MAX_US);
}

/*
 * Of the third byte: 24 is 16 MiB, 25 is 32 MiB; from 32 on (64
 * MiB) some makers count on from there.
 */
static uint32_t size_of(uint8_t capacity)
{
    uint32_t power = capacity < 32u ? capacity : capacity - 6u;
    return power >= 17u && power < 31u ? (uint32_t)1 << power : 0;
}

/* What chips without a table have had for twenty years, with patient times. */
static void suppose(struct spinor_part *part)
{
    part->size = size_of(part->id[2]);
    part->erase[0] = (struct spinor_erase){4096, 0x20, 60000, 1000000};
    part->erase[1] = (struct spinor_erase){65536, 0xD8, 700000, 5000000};
    spinor_drop_uneven(part);
    if (part->size > (uint32_t)1 << 24) {
        part->erase[0].opcode = 0x21;
        part->erase[1].opcode = 0xDC;
        part->address_bytes = 4;
        part->read = 0x0C;
        part->program = 0x12;
    }
}

/*
 * S25FL-S without a table: of the two more bytes that it tells, the last one says whether its
 * sectors have 256 KiB, for which there is no other opcode.
 */
static int suppose_sectors(struct spinor *chip)
{
    uint8_t id[5] = {0};
    struct spinor_part *part = &chip->part;
    bool s25fl = part->id[0] == 0x01u && (part->id[1] == 0x02u || part->id[1] == 0x20u);
    int result = s25fl ? spinor_get(chip, READ_ID, id, sizeof(id)) : SPINOR_OK;
    if (result == 0 && s25fl && id[4] == 0) {
        part->erase[1] = (struct spinor_erase){262144, part->erase[1].opcode, 520000, 2600000};
    }
    return result;
}

static int identify(struct spinor *chip)
{
    struct spinor_part *part = &chip->part;
    *part = (struct spinor_part){
        .page_size = 256, .program_us = 700, .program_max_us = 5000, .address_bytes = 3,
        .read = FAST_READ, .read_address_lines = 1, .read_data_lines = 1, .read_dummies = 8,
        .program = PROGRAM,
    };
    int result = spinor_get(chip, READ_ID, part->id, sizeof(part->id));
    if (result != 0) {
        return result;
    }
    if ((part->id[0] == 0 && part->id[1] == 0) || part->id[0] == NOTHING) {
        return SPINOR_ABSENT;
    }
    result = spinor_sfdp(chip->bus, part);
    part->sfdp = result == SPINOR_OK;
    if (result == SPINOR_UNKNOWN) {
        suppose(part);
        result = suppose_sectors(chip);
    }
    part->usable = part->usable != 0 ? part->usable : part->size;
    spinor_know_maker(part);
    return result != 0 ? result : part->size == 0 ? SPINOR_UNKNOWN : SPINOR_OK;
}

/* Only a chip beyond 16 MiB without opcodes of its own for that needs a mode. */
static int use_four(struct spinor *chip)
{
    struct spinor_part *part = &chip->part;
    if (part->size <= (uint32_t)1 << 24 || part->address_bytes == 4) {
        return SPINOR_OK;
    }
    part->address_bytes = 4;
    if ((part->enter_four & 0x40u) != 0) {      /* it knows nothing else */
        return SPINOR_OK;
    }
    if ((part->enter_four & 3u) == 0) {
        return SPINOR_UNKNOWN;
    }
    int result = (part->enter_four & 1u) == 0 ? spinor_write_enable(chip) : SPINOR_OK;
    result = result != 0 ? result : spinor_command(chip, ENTER_FOUR);
    return result != 0 ? result : spinor_command(chip, WRITE_DISABLE);
}

/* Where the quad enable bit lies, and how it is written: word 15 of the table. */
static int enable_quad(struct spinor *chip, bool *enabled)
{
    uint8_t values[2] = {0, 0}, method = chip->part.quad_enable;
    bool first = method == 2u, control = method == 3u;
    uint8_t bit = first ? 0x40u : control ? 0x80u : 0x02u;
    uint8_t reader = first ? READ_STATUS : control ? READ_CONTROL : READ_STATUS_2;
    int result = spinor_get(chip, READ_STATUS, &values[0], 1);
    result = result != 0 ? result : spinor_get(chip, reader, &values[1], 1);
    *enabled = method == 0 || (values[1] & bit) != 0;
    if (result != 0 || *enabled || method == 7u) {
        return result;
    }
    values[0] &= 0xFCu;
    values[1] |= bit;
    bool both = method == 1u || method == 4u || method == 5u;
    uint8_t writer = control ? WRITE_CONTROL : method == 6u ? WRITE_STATUS_2 : WRITE_STATUS;
    result = spinor_write_enable(chip);
    const uint8_t *out = both ? values : &values[1];
    result = result != 0 ? result : spinor_put(chip, writer, out, both ? 2 : 1);
    result = result != 0 ? result : spinor_wait_idle(chip, 1000, REGISTER_MAX_US);
    result = result != 0 ? result : spinor_get(chip, reader, &values[1], 1);
    *enabled = (values[1] & bit) != 0;
    return result;
}

static int use_quad(struct spinor *chip)
{
    struct spinor_part *part = &chip->part;
    bool enabled = false;
    if (chip->bus->lines != 4u || part->quad == 0) {
        return SPINOR_OK;
    }
    int result = enable_quad(chip, &enabled);
    if (result == 0 && enabled) {
        part->read = part->quad;
        part->read_dummies = part->quad_dummies;
        part->read_address_lines = part->quad_lines;
        part->read_data_lines = 4;
    }
    return result;
}

/* ---- as NF2FS's driver ----------------------------------------------------------------------- */

static uint32_t base_of(const struct spinor *chip)
{
    return chip->part.base;
}

static int flash_read(void *context, uint32_t address, void *data, uint32_t length)
{
    return spinor_read(context, base_of(context) + address, data, length);
}

static int flash_program(void *context, uint32_t address, const void *data, uint32_t length)
{
    return spinor_program(context, base_of(context) + address, data, length);
}

static int flash_erase(void *context, uint32_t address, uint32_t length)
{
    return spinor_erase(context, base_of(context) + address, length);
}

static int flash_erase_begin(void *context, uint32_t address, uint32_t length)
{
    return spinor_erase_begin(context, base_of(context) + address, length);
}

static int flash_erase_done(void *context)
{
    return spinor_erase_done(context);
}

static uint32_t page_read_us(const struct spinor *chip)
{
    uint32_t hz = chip->bus->clock_hz != 0 ? chip->bus->clock_hz : LINE_CLOCK_HZ;
    uint32_t clocks = 8u + 8u * chip->part.address_bytes + chip->part.read_dummies
                      + 8u * chip->part.page_size / chip->part.read_data_lines;
    uint32_t per_us = hz >= 1000000u ? hz / 1000000u : 1u;
    return (clocks + per_us - 1u) / per_us;
}

/* The smallest erase is the block; of the others the largest up to 64 KiB is the large one. */
static int fill_driver(struct spinor *chip)
{
    const struct spinor_erase *block = NULL, *large = NULL;
    for (uint32_t i = 0; i < SPINOR_ERASES; i++) {
        const struct spinor_erase *erase = &chip->part.erase[i];
        if (erase->size >= 4096u && erase->size <= 65536u) {
            block = block == NULL || erase->size < block->size ? erase : block;
            large = large == NULL || erase->size > large->size ? erase : large;
        }
    }
    if (chip->part.page_size < 256u) {
        return SPINOR_UNKNOWN;
    }
    if (block == NULL) {
        return SPINOR_UNEVEN;
    }
    bool pays = large->size > block->size
                && large->typical_us < large->size / block->size * block->typical_us;
    chip->driver = (struct nf2_flash){
        .context = chip, .read = flash_read, .program = flash_program, .erase = flash_erase,
        .chip_size = chip->part.usable, .block_size = block->size,
        .large_erase_size = pays ? large->size : 0,
        .page_size = chip->part.page_size < 512u ? 256u : 512u, .program_unit = 1, .read_unit = 1,
        .read_page_us = page_read_us(chip), .program_page_us = chip->part.program_us,
        .erase_block_us = block->typical_us, .large_erase_us = pays ? large->typical_us : 0,
    };
    if (chip->part.suspend != 0 && chip->part.programs_meanwhile) {
        chip->driver.erase_begin = flash_erase_begin;
        chip->driver.erase_done = flash_erase_done;
    }
    return SPINOR_OK;
}

int spinor_start(struct spinor *chip, const struct spinor_bus *bus)
{
    *chip = (struct spinor){.bus = bus};
    spinor_lock(chip);
    int result = spinor_window(chip, false);
    result = result != 0 ? result : settle(chip);
    result = result != 0 ? result : identify(chip);
    result = result != 0 ? result : use_four(chip);
    result = result != 0 ? result : use_quad(chip);
    result = result != 0 ? result : spinor_look_at_protection(chip);
    result = result != 0 ? result : fill_driver(chip);
    int mapped = result != 0 ? SPINOR_OK : spinor_window(chip, true);
    spinor_unlock(chip);
    return result != 0 ? result : mapped;
}

const char *spinor_error_text(int error)
{
    switch (error) {
    case SPINOR_OK:
        return "no error";
    case SPINOR_BUS:
        return "the bus transfer failed";
    case SPINOR_ABSENT:
        return "no chip answers";
    case SPINOR_TIMEOUT:
        return "the chip stays busy";
    case SPINOR_PROTECTED:
        return "the chip takes no write enable, or is write-protected";
    case SPINOR_UNKNOWN:
        return "the chip's size or addressing is not known";
    case SPINOR_RANGE:
        return "the range is not on the chip";
    case SPINOR_UNEVEN:
        return "no erase of 4 KiB to 64 KiB is known to work on the whole chip";
    case SPINOR_DIFFERS:
        return "what was programmed reads differently";
    case NF2_FLASH_BAD:
        return "the chip reports that the block failed";
    default:
        return "unknown error";
    }
}
