/* SPDX-License-Identifier: BSD-2-Clause */
/* spinor.c - reading, programming and erasing; a read in the middle of an erase. */
#include "spinor.h"

#include <stddef.h>
#include <string.h>

#include "spinor_command.h"

#define BUSY 0x01u
#define CLOCK_SLACK_US 20000u   /* of a clock with steps */
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

/* An erase that was begun has ended, or failed: what spinor_erase_done will say. */
static void end_open(struct spinor *chip, int result)
{
    forget(chip, chip->work_address, chip->work_length);
    result = result != 0 ? result : spinor_judge(chip);
    int mapped = spinor_window(chip, true);
    chip->open_result = result != 0 ? result : mapped;
    chip->runs = false;
    chip->work = SPINOR_IDLE;
}

/*
 * Locks the bus once no other task's operation is under way. Without `claim` this is known by
 * asking again and again, at last so seldom that tasks of any priority get to run. An erase in the
 * background has no task that waits for it: whoever comes first does.
 */
static void enter_idle(struct spinor *chip)
{
    spinor_claim(chip);
    spinor_lock(chip);
    for (uint32_t step_us = 50; chip->work != SPINOR_IDLE;) {
        if (chip->runs && !chip->finishing) {
            chip->finishing = true;
            end_open(chip, spinor_wait_idle(chip, 1000, chip->open_max_us));
            chip->finishing = false;
            continue;
        }
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

/* Whether it has stopped: not busy, and every die that is stacked says so. */
static int has_stopped(struct spinor *chip, bool *stopped)
{
    uint8_t status = BUSY;
    int result = spinor_get(chip, READ_STATUS, &status, 1);
    *stopped = false;
    return result != 0 || (status & BUSY) != 0 ? result : spinor_is_ready(chip, stopped);
}

/* Stops the erase, if it lets itself be stopped: some chips do not with small ones. */
static int suspend(struct spinor *chip)
{
    bool stopped = false;
    chip->suspended = true;
    int result = spinor_command(chip, chip->part.suspend);
    for (uint32_t polls = 0; result == 0 && !stopped && polls < SUSPEND_POLLS; polls++) {
        result = spinor_hold(chip, chip->part.suspend_us);
        result = result != 0 ? result : has_stopped(chip, &stopped);
    }
    chip->stubborn = result == 0 && !stopped;
    return result;
}

/*
 * With the bus locked: stops the erase of another task or in the background, which gets its time
 * between two suspends, or it would never end. Always followed by end_suspend; where the bus fails
 * then, whoever waits for the erase sees to it.
 */
static int begin_suspend(struct spinor *chip)
{
    int result = chip->suspends++ > 0 ? spinor_hold(chip, chip->part.resume_gap_us) : SPINOR_OK;
    return result != 0 ? result : suspend(chip);
}

static int end_suspend(struct spinor *chip, int result)
{
    int resumed = spinor_command(chip, chip->part.resume);
    chip->suspended = resumed != 0;
    return result != 0 ? result : resumed;
}

static int fetch_suspended(struct spinor *chip, uint32_t address, void *data, uint32_t length)
{
    int result = begin_suspend(chip);
    if (result == 0 && !chip->stubborn) {
        result = fetch(chip, address, data, length);
    }
    return end_suspend(chip, result);
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

/* Inside a suspended erase the bus stays locked: nobody else may resume that one. */
static int program_page(struct spinor *chip, uint32_t address, const uint8_t *data, uint32_t length)
{
    const struct spinor_transfer transfer = {
        .opcode = chip->part.program, .address_bytes = chip->part.address_bytes, .address_lines = 1,
        .data_lines = 1, .address = address, .out = data, .length = length,
    };
    uint32_t max_us = chip->part.program_max_us;
    int result = chip->locked ? SPINOR_PROTECTED : spinor_write_enable(chip);
    if (result == 0) {
        result = spinor_send(chip, &transfer);
    }
    if (result == 0) {
        result = chip->suspended ? spinor_wait_locked(chip, 20, max_us)
                                 : spinor_wait_idle(chip, 20, max_us);
    }
    forget(chip, address, length);
    result = result != 0 ? result : spinor_judge(chip);
    return result != 0 || !chip->bus->read_back ? result : compare(chip, address, data, length);
}

/* With the bus locked. */
static int program_suspended(struct spinor *chip, uint32_t address, const uint8_t *data,
                             uint32_t length)
{
    int result = begin_suspend(chip);
    if (result == 0 && !chip->stubborn) {
        result = program_page(chip, address, data, length);
    }
    return end_suspend(chip, result);
}

static int program_behind(struct spinor *chip, uint32_t address, const uint8_t *data,
                          uint32_t length)
{
    int result = spinor_enter(chip);
    chip->work = SPINOR_PROGRAMS;
    result = result != 0 ? result : program_page(chip, address, data, length);
    return spinor_leave(chip, result);
}

static int program_part(struct spinor *chip, uint32_t address, const uint8_t *data, uint32_t length)
{
    int result = SPINOR_OK;
    spinor_lock(chip);
    bool suspends = chip->part.programs_meanwhile && may_suspend(chip, address, length);
    if (suspends) {
        result = program_suspended(chip, address, data, length);
        suspends = !chip->stubborn;
    }
    spinor_unlock(chip);
    return suspends || result != 0 ? result : program_behind(chip, address, data, length);
}

int spinor_program(struct spinor *chip, uint32_t address, const void *data, uint32_t length)
{
    const uint8_t *bytes = data;
    int result = SPINOR_OK;
    if (!on_chip(chip, address, length)) {
        return SPINOR_RANGE;
    }
    while (result == 0 && length > 0) {
        uint32_t room = chip->part.page_size - address % chip->part.page_size;
        uint32_t piece = length < room ? length : room;
        result = program_part(chip, address, bytes, piece);
        address += piece;
        bytes += piece;
        length -= piece;
    }
    return result;
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

static bool is_one_erase(const struct spinor *chip, uint32_t address, uint32_t length)
{
    const struct spinor_part *part = &chip->part;
    bool usable = address >= part->base && address - part->base < part->usable;
    return erase_of(chip, length) != NULL && address % length == 0 && usable
           && on_chip(chip, address, length);
}

/* From spinor_enter on; afterwards the chip erases, unless there was an error. */
static int send_erase(struct spinor *chip, uint32_t address, uint32_t length)
{
    const struct spinor_transfer transfer = {
        .opcode = erase_of(chip, length)->opcode, .address_bytes = chip->part.address_bytes,
        .address_lines = 1, .data_lines = 1, .address = address,
    };
    chip->suspends = 0;
    chip->suspended = false;
    chip->stubborn = false;
    int result = chip->locked ? SPINOR_PROTECTED : spinor_write_enable(chip);
    result = result != 0 ? result : spinor_send(chip, &transfer);
    chip->work_address = address;
    chip->work_length = length;
    chip->work = SPINOR_ERASES_NOW;
    return result;
}

int spinor_erase(struct spinor *chip, uint32_t address, uint32_t length)
{
    if (!is_one_erase(chip, address, length)) {
        return SPINOR_RANGE;
    }
    int result = spinor_enter(chip);
    result = result != 0 ? result : send_erase(chip, address, length);
    result = result != 0 ? result : spinor_wait_idle(chip, 1000, erase_of(chip, length)->max_us);
    forget(chip, address, length);
    result = result != 0 ? result : spinor_judge(chip);
    return spinor_leave(chip, result);
}

/* ---- an erase in the background -------------------------------------------------------------- */

/* The window stays off: a chip that erases answers no reads through it. */
int spinor_erase_begin(struct spinor *chip, uint32_t address, uint32_t length)
{
    if (!is_one_erase(chip, address, length) || chip->open) {
        return SPINOR_RANGE;
    }
    int result = spinor_enter(chip);
    result = result != 0 ? result : send_erase(chip, address, length);
    if (result != 0) {
        return spinor_leave(chip, result);
    }
    chip->open = true;
    chip->runs = true;
    chip->open_max_us = erase_of(chip, length)->max_us;
    chip->open_since_us = spinor_now_us(chip);
    chip->open_suspends = 0;
    spinor_unlock(chip);
    spinor_release(chip);
    return SPINOR_OK;
}

/* Longer than the chip's maximum, counted from the last suspend on. */
static bool takes_too_long(struct spinor *chip)
{
    if (chip->suspends != chip->open_suspends) {
        chip->open_suspends = chip->suspends;
        chip->open_since_us = spinor_now_us(chip);
    }
    uint32_t passed_us = spinor_now_us(chip) - chip->open_since_us;
    return chip->bus->now_us != NULL && passed_us > chip->open_max_us + CLOCK_SLACK_US;
}

/* With the bus locked. */
static void look_at_open(struct spinor *chip)
{
    bool ended = false;
    int result = chip->suspended ? end_suspend(chip, SPINOR_OK) : SPINOR_OK;
    result = result != 0 ? result : spinor_look(chip, &ended);
    if (result == 0 && !ended && takes_too_long(chip)) {
        result = SPINOR_TIMEOUT;
    }
    if (result != 0 || ended) {
        end_open(chip, result);
    }
}

int spinor_erase_done(struct spinor *chip)
{
    int result = 1;
    spinor_lock(chip);
    if (chip->runs && !chip->finishing) {
        look_at_open(chip);
    }
    if (chip->runs) {
        result = 0;
    } else if (chip->open) {
        chip->open = false;
        result = chip->open_result != 0 ? chip->open_result : 1;
    }
    spinor_unlock(chip);
    return result;
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
