/* SPDX-License-Identifier: BSD-2-Clause */
/* spinor.c - reading, programming and erasing; a read in the middle of an erase. */
#include "spinor.h"

#include <stddef.h>
#include <string.h>

#include "spinor_command.h"

#define BUSY 0x01u
#define FLAGS_FAILED 0x30u

/* ---- after an operation -------------------------------------------------------------------- */

/* Whether the chip says that the operation failed. */
static int judge(struct spinor *chip)
{
    uint8_t flags = 0;
    if (!chip->part.flags) {
        return SPINOR_OK;
    }
    int result = spinor_get(chip, READ_FLAGS, &flags, 1);
    if (result != 0 || (flags & FLAGS_FAILED) == 0) {
        return result;
    }
    result = spinor_command(chip, CLEAR_FLAGS);
    return result != 0 ? result : NF2_FLASH_BAD;
}

static void forget(struct spinor *chip, uint32_t address, uint32_t length)
{
    if (chip->bus->mapped != NULL && chip->bus->forget != NULL) {
        chip->bus->forget(chip->bus->context, address, length);
    }
}

/* ---- beginning and ending a piece of work ---------------------------------------------------- */

static int wake(struct spinor *chip)
{
    if (!chip->asleep) {
        return SPINOR_OK;
    }
    int result = spinor_command(chip, chip->part.wake);
    spinor_pause(chip, chip->part.wake_us);
    chip->asleep = result != 0;
    return result;
}

/* Locks the bus once nothing else is being done by another task. */
static int enter(struct spinor *chip)
{
    spinor_lock(chip);
    while (chip->work != SPINOR_IDLE) {
        spinor_unlock(chip);
        spinor_pause(chip, 50);
        spinor_lock(chip);
    }
    int result = spinor_window(chip, false);
    return result != 0 ? result : wake(chip);
}

static int leave(struct spinor *chip, int result)
{
    chip->work = SPINOR_IDLE;
    int mapped = spinor_window(chip, true);
    spinor_unlock(chip);
    return result != 0 ? result : mapped;
}

static bool on_chip(const struct spinor *chip, uint32_t address, uint32_t length)
{
    return address <= chip->part.size && length <= chip->part.size - address;
}

/* ---- reading --------------------------------------------------------------------------------- */

static int fetch(struct spinor *chip, uint32_t address, void *data, uint32_t length)
{
    const struct spinor_part *part = &chip->part;
    const struct spinor_transfer transfer = {
        .opcode = part->read, .address_bytes = part->address_bytes,
        .address_lines = part->read_address_lines, .dummy_clocks = part->read_dummies,
        .data_lines = part->read_data_lines, .address = address, .in = data, .length = length,
    };
    return spinor_send(chip, &transfer);
}

/* Whether another task's erase may be stopped for a read of that range. */
static bool may_suspend(const struct spinor *chip, uint32_t address, uint32_t length)
{
    bool apart = address + length <= chip->work_address
                 || address >= chip->work_address + chip->work_length;
    return chip->work == SPINOR_ERASES_NOW && chip->part.suspend != 0 && apart;
}

/* With the bus locked. The erase gets its time between two suspends, or it would never end. */
static int fetch_suspended(struct spinor *chip, uint32_t address, void *data, uint32_t length)
{
    uint8_t status = BUSY;
    int result = SPINOR_OK;
    if (chip->suspends++ > 0) {
        spinor_pause(chip, chip->part.resume_gap_us);
    }
    result = spinor_command(chip, chip->part.suspend);
    for (uint32_t polls = 0; result == 0 && (status & BUSY) != 0; polls++) {
        if (polls > 1000u) {
            return SPINOR_TIMEOUT;
        }
        spinor_pause(chip, 5);
        result = spinor_get(chip, READ_STATUS, &status, 1);
    }
    if (result == 0) {
        result = fetch(chip, address, data, length);
    }
    int resumed = spinor_command(chip, chip->part.resume);
    return result != 0 ? result : resumed;
}

int spinor_read(struct spinor *chip, uint32_t address, void *data, uint32_t length)
{
    const struct spinor_bus *bus = chip->bus;
    if (!on_chip(chip, address, length)) {
        return SPINOR_RANGE;
    }
    spinor_lock(chip);
    while (chip->work != SPINOR_IDLE && !may_suspend(chip, address, length)) {
        spinor_unlock(chip);
        spinor_pause(chip, 50);
        spinor_lock(chip);
    }
    int result = SPINOR_OK;
    if (chip->work != SPINOR_IDLE) {
        result = fetch_suspended(chip, address, data, length);
    } else if (bus->mapped != NULL && !chip->asleep && address + length <= bus->mapped_size) {
        memcpy(data, bus->mapped + address, length);
    } else {
        result = spinor_window(chip, false);
        result = result != 0 ? result : wake(chip);
        result = result != 0 ? result : fetch(chip, address, data, length);
        int mapped = spinor_window(chip, true);
        result = result != 0 ? result : mapped;
    }
    spinor_unlock(chip);
    return result;
}

/* ---- programming and erasing ----------------------------------------------------------------- */

static int program_page(struct spinor *chip, uint32_t address, const uint8_t *data, uint32_t length)
{
    const struct spinor_transfer transfer = {
        .opcode = chip->part.program, .address_bytes = chip->part.address_bytes, .address_lines = 1,
        .data_lines = 1, .address = address, .out = data, .length = length,
    };
    int result = spinor_write_enable(chip);
    if (result == 0) {
        result = spinor_send(chip, &transfer);
    }
    if (result == 0) {
        result = spinor_wait_idle(chip, 20, chip->part.program_max_us);
    }
    forget(chip, address, length);
    return result != 0 ? result : judge(chip);
}

int spinor_program(struct spinor *chip, uint32_t address, const void *data, uint32_t length)
{
    const uint8_t *bytes = data;
    if (!on_chip(chip, address, length)) {
        return SPINOR_RANGE;
    }
    int result = enter(chip);
    chip->work = SPINOR_PROGRAMS;
    while (result == 0 && length > 0) {
        uint32_t room = chip->part.page_size - address % chip->part.page_size;
        uint32_t piece = length < room ? length : room;
        result = program_page(chip, address, bytes, piece);
        address += piece;
        bytes += piece;
        length -= piece;
    }
    return leave(chip, result);
}

static const struct spinor_erase *erase_of(const struct spinor *chip, uint32_t length)
{
    for (uint32_t i = 0; i < SPINOR_ERASES; i++) {
        if (length != 0 && chip->part.erase[i].size == length) {
            return &chip->part.erase[i];
        }
    }
    return NULL;
}

int spinor_erase(struct spinor *chip, uint32_t address, uint32_t length)
{
    const struct spinor_erase *erase = erase_of(chip, length);
    if (erase == NULL || address % length != 0 || !on_chip(chip, address, length)) {
        return SPINOR_RANGE;
    }
    const struct spinor_transfer transfer = {
        .opcode = erase->opcode, .address_bytes = chip->part.address_bytes, .address_lines = 1,
        .data_lines = 1, .address = address,
    };
    int result = enter(chip);
    chip->suspends = 0;
    result = result != 0 ? result : spinor_write_enable(chip);
    result = result != 0 ? result : spinor_send(chip, &transfer);
    chip->work_address = address;
    chip->work_length = length;
    chip->work = SPINOR_ERASES_NOW;
    result = result != 0 ? result : spinor_wait_idle(chip, 1000, erase->max_us);
    forget(chip, address, length);
    result = result != 0 ? result : judge(chip);
    return leave(chip, result);
}

int spinor_sleep(struct spinor *chip)
{
    if (chip->part.sleep == 0 || chip->asleep) {
        return SPINOR_OK;
    }
    int result = enter(chip);
    if (result == 0) {
        result = spinor_command(chip, chip->part.sleep);
        chip->asleep = result == 0;
    }
    chip->work = SPINOR_IDLE;
    spinor_unlock(chip);               /* the window stays off: a sleeping chip does not answer */
    return result;
}
