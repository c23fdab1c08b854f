/* SPDX-License-Identifier: BSD-2-Clause */
/* spinor.c - reading, programming and erasing; a read in the middle of an erase. */
#include "spinor.h"

#include <stddef.h>
#include <string.h>

#include "spinor_command.h"

#define BUSY 0x01u
#define SUSPEND_POLLS 8u        /* each after as long as a suspend takes at most */

/* ---- beginning and ending a piece of work ---------------------------------------------------- */

static void forget(struct spinor *chip, uint32_t address, uint32_t length)
{
    if (chip->bus->mapped != NULL && chip->bus->forget != NULL) {
        chip->bus->forget(chip->bus->context, address, length);
    }
}

static int wake(struct spinor *chip)
{
    if (!chip->asleep) {
        return SPINOR_OK;
    }
    int result = spinor_command(chip, chip->part.wake);
    result = result != 0 ? result : spinor_hold(chip, chip->part.wake_us);
    chip->asleep = result != 0;
    return result;
}

/*
 * Locks the bus once no other task's operation is under way. Without `claim` this is known by
 * asking again and again, at last so seldom that tasks of any priority get to run.
 */
static void enter_idle(struct spinor *chip)
{
    spinor_claim(chip);
    spinor_lock(chip);
    for (uint32_t step_us = 50; chip->work != SPINOR_IDLE;) {
        spinor_unlock(chip);
        spinor_pause(chip, step_us);
        spinor_lock(chip);
        step_us = step_us < 1000u ? 2u * step_us : step_us;
    }
}

int spinor_enter(struct spinor *chip)
{
    enter_idle(chip);
    int result = spinor_window(chip, false);
    return result != 0 ? result : wake(chip);
}

int spinor_leave(struct spinor *chip, int result)
{
    chip->work = SPINOR_IDLE;
    int mapped = spinor_window(chip, true);
    spinor_unlock(chip);
    spinor_release(chip);
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
    return chip->work == SPINOR_ERASES_NOW && chip->part.suspend != 0 && !chip->stubborn && apart;
}

/* Stops the erase, if it lets itself be stopped: some chips do not with small ones. */
static int suspend(struct spinor *chip)
{
    uint8_t status = BUSY;
    chip->suspended = true;
    int result = spinor_command(chip, chip->part.suspend);
    for (uint32_t polls = 0; result == 0 && (status & BUSY) != 0 && polls < SUSPEND_POLLS; polls++) {
        result = spinor_hold(chip, chip->part.suspend_us);
        result = result != 0 ? result : spinor_get(chip, READ_STATUS, &status, 1);
    }
    chip->stubborn = result == 0 && (status & BUSY) != 0;
    return result;
}

/*
 * With the bus locked. The erase gets its time between two suspends, or it would never end. Whatever
 * happened, it goes on afterwards; where the bus fails then, spinor_wait_idle sees to it.
 */
static int fetch_suspended(struct spinor *chip, uint32_t address, void *data, uint32_t length)
{
    int result = chip->suspends++ > 0 ? spinor_hold(chip, chip->part.resume_gap_us) : SPINOR_OK;
    result = result != 0 ? result : suspend(chip);
    if (result == 0 && !chip->stubborn) {
        result = fetch(chip, address, data, length);
    }
    int resumed = spinor_command(chip, chip->part.resume);
    chip->suspended = resumed != 0;
    return result != 0 ? result : resumed;
}

static int read_idle(struct spinor *chip, uint32_t address, void *data, uint32_t length)
{
    const struct spinor_bus *bus = chip->bus;
    if (bus->mapped != NULL && !chip->asleep && address + length <= bus->mapped_size) {
        memcpy(data, bus->mapped + address, length);
        return SPINOR_OK;
    }
    int result = spinor_window(chip, false);
    result = result != 0 ? result : wake(chip);
    result = result != 0 ? result : fetch(chip, address, data, length);
    int mapped = spinor_window(chip, true);
    return result != 0 ? result : mapped;
}

/* Behind the operation of another task. */
static int read_behind(struct spinor *chip, uint32_t address, void *data, uint32_t length)
{
    enter_idle(chip);
    int result = read_idle(chip, address, data, length);
    spinor_unlock(chip);
    spinor_release(chip);
    return result;
}

int spinor_read(struct spinor *chip, uint32_t address, void *data, uint32_t length)
{
    int result = SPINOR_OK;
    if (!on_chip(chip, address, length)) {
        return SPINOR_RANGE;
    }
    spinor_lock(chip);
    bool behind = chip->work != SPINOR_IDLE && !may_suspend(chip, address, length);
    if (chip->work == SPINOR_IDLE) {
        result = read_idle(chip, address, data, length);
    } else if (!behind) {
        result = fetch_suspended(chip, address, data, length);
        behind = result == 0 && chip->stubborn;
    }
    spinor_unlock(chip);
    return behind ? read_behind(chip, address, data, length) : result;
}

/* ---- programming and erasing ----------------------------------------------------------------- */

/* A program that the chip ignored is one that reads differently. */
static int compare(struct spinor *chip, uint32_t address, const uint8_t *data, uint32_t length)
{
    int result = SPINOR_OK;
    while (result == 0 && length > 0) {
        uint8_t found[32];
        uint32_t piece = length < sizeof(found) ? length : (uint32_t)sizeof(found);
        result = fetch(chip, address, found, piece);
        result = result == 0 && memcmp(found, data, piece) != 0 ? SPINOR_DIFFERS : result;
        address += piece;
        data += piece;
        length -= piece;
    }
    return result;
}

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
    result = result != 0 ? result : spinor_judge(chip);
    return result != 0 || !chip->bus->read_back ? result : compare(chip, address, data, length);
}

int spinor_program(struct spinor *chip, uint32_t address, const void *data, uint32_t length)
{
    const uint8_t *bytes = data;
    if (!on_chip(chip, address, length)) {
        return SPINOR_RANGE;
    }
    int result = spinor_enter(chip);
    result = result == 0 && chip->locked ? SPINOR_PROTECTED : result;
    chip->work = SPINOR_PROGRAMS;
    while (result == 0 && length > 0) {
        uint32_t room = chip->part.page_size - address % chip->part.page_size;
        uint32_t piece = length < room ? length : room;
        result = program_page(chip, address, bytes, piece);
        address += piece;
        bytes += piece;
        length -= piece;
    }
    return spinor_leave(chip, result);
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
    const struct spinor_part *part = &chip->part;
    bool usable = address >= part->base && address - part->base < part->usable;
    if (erase == NULL || address % length != 0 || !usable || !on_chip(chip, address, length)) {
        return SPINOR_RANGE;
    }
    const struct spinor_transfer transfer = {
        .opcode = erase->opcode, .address_bytes = chip->part.address_bytes, .address_lines = 1,
        .data_lines = 1, .address = address,
    };
    int result = spinor_enter(chip);
    chip->suspends = 0;
    chip->suspended = false;
    chip->stubborn = false;
    result = result == 0 && chip->locked ? SPINOR_PROTECTED : result;
    result = result != 0 ? result : spinor_write_enable(chip);
    result = result != 0 ? result : spinor_send(chip, &transfer);
    chip->work_address = address;
    chip->work_length = length;
    chip->work = SPINOR_ERASES_NOW;
    result = result != 0 ? result : spinor_wait_idle(chip, 1000, erase->max_us);
    forget(chip, address, length);
    result = result != 0 ? result : spinor_judge(chip);
    return spinor_leave(chip, result);
}

int spinor_sleep(struct spinor *chip)
{
    if (chip->part.sleep == 0 || chip->asleep) {
        return SPINOR_OK;
    }
    int result = spinor_enter(chip);
    if (result == 0) {
        result = spinor_command(chip, chip->part.sleep);
        chip->asleep = result == 0;
    }
    chip->work = SPINOR_IDLE;
    spinor_unlock(chip);               /* the window stays off: a sleeping chip does not answer */
    spinor_release(chip);
    return result;
}
