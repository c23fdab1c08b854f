/* SPDX-License-Identifier: BSD-2-Clause */
/* spinor_command.c - commands to a serial NOR chip, and waiting for it. */
#include "spinor_command.h"

#include <stddef.h>

#define BUSY 0x01u
#define ENABLED 0x02u
#define NOTHING 0xFFu           /* what an open line reads as */
#define CLOCK_STEP_US 10000u
#define SLACK_US (2u * CLOCK_STEP_US)
#define POWER_UP_MS 20u         /* until a program is taken */
#define PAUSES_MAX 10000000u
#define SHORT_US 2000u          /* who waits for longer sleeps between two looks */
#define SLEEP_US 1000u
#define POLLS_PER_US 4u         /* no bus asks more often: ends the wait where no clock runs */

/* ---- one command ----------------------------------------------------------------------------- */

uint32_t spinor_header(const struct spinor_transfer *transfer, uint8_t out[SPINOR_HEADER_MAX])
{
    uint32_t length = 0;
    out[length++] = transfer->opcode;
    for (uint32_t i = transfer->address_bytes; i > 0; i--) {
        out[length++] = (uint8_t)(transfer->address >> (8u * (i - 1u)));
    }
    for (uint32_t clocks = 0; clocks < transfer->dummy_clocks && length < SPINOR_HEADER_MAX;
         clocks += 8u) {
        out[length++] = 0;
    }
    return length;
}

int spinor_send(struct spinor *chip, const struct spinor_transfer *transfer)
{
    return chip->bus->transfer(chip->bus->context, transfer) != 0 ? SPINOR_BUS : SPINOR_OK;
}

int spinor_command(struct spinor *chip, uint8_t opcode)
{
    const struct spinor_transfer transfer = {.opcode = opcode, .address_lines = 1, .data_lines = 1};
    return spinor_send(chip, &transfer);
}

int spinor_get(struct spinor *chip, uint8_t opcode, uint8_t *in, uint32_t length)
{
    const struct spinor_transfer transfer = {
        .opcode = opcode, .address_lines = 1, .data_lines = 1, .in = in, .length = length,
    };
    return spinor_send(chip, &transfer);
}

int spinor_put(struct spinor *chip, uint8_t opcode, const uint8_t *out, uint32_t length)
{
    const struct spinor_transfer transfer = {
        .opcode = opcode, .address_lines = 1, .data_lines = 1, .out = out, .length = length,
    };
    return spinor_send(chip, &transfer);
}

static int enable_once(struct spinor *chip, uint8_t *status)
{
    int result = spinor_command(chip, WRITE_ENABLE);
    return result != 0 ? result : spinor_get(chip, READ_STATUS, status, 1);
}

/*
 * The chip forgets it after each program and erase. One that is write-protected may not take it,
 * nor does any for some milliseconds after power-up.
 */
int spinor_write_enable(struct spinor *chip)
{
    uint8_t status = 0;
    int result = enable_once(chip, &status);
    for (uint32_t i = 0; result == 0 && (status & (ENABLED | BUSY)) == 0 && i < POWER_UP_MS; i++) {
        result = spinor_hold(chip, 1000);
        result = result != 0 ? result : enable_once(chip, &status);
    }
    bool enabled = (status & ENABLED) != 0 && (status & BUSY) == 0;
    return result != 0 ? result : enabled ? SPINOR_OK : SPINOR_PROTECTED;
}

/* ---- waiting --------------------------------------------------------------------------------- */

void spinor_lock(struct spinor *chip)
{
    if (chip->bus->lock != NULL) {
        chip->bus->lock(chip->bus->context);
    }
}

void spinor_unlock(struct spinor *chip)
{
    if (chip->bus->unlock != NULL) {
        chip->bus->unlock(chip->bus->context);
    }
}

void spinor_claim(struct spinor *chip)
{
    if (chip->bus->claim != NULL) {
        chip->bus->claim(chip->bus->context);
    }
}

void spinor_release(struct spinor *chip)
{
    if (chip->bus->release != NULL) {
        chip->bus->release(chip->bus->context);
    }
}

void spinor_pause(struct spinor *chip, uint32_t us)
{
    chip->bus->pause(chip->bus->context, us);
}

uint32_t spinor_now_us(struct spinor *chip)
{
    return chip->bus->now_us != NULL ? chip->bus->now_us(chip->bus->context) : 0;
}

/* A pause may end early. The clock may have been about to step: its first step may be nothing. */
int spinor_hold(struct spinor *chip, uint32_t us)
{
    const struct spinor_bus *bus = chip->bus;
    if (bus->delay != NULL) {
        bus->delay(bus->context, us);
        return SPINOR_OK;
    }
    uint32_t begun_us = spinor_now_us(chip);
    spinor_pause(chip, us);
    for (uint32_t pauses = 0; bus->now_us != NULL; pauses++) {
        if (spinor_now_us(chip) - begun_us >= us + CLOCK_STEP_US) {
            break;
        }
        if (pauses == PAUSES_MAX) {
            return SPINOR_TIMEOUT;      /* the clock stands still */
        }
        spinor_pause(chip, us);
    }
    return SPINOR_OK;
}

struct waiting {
    uint32_t begin_us, waited_us, polls;
};

static bool expired(struct spinor *chip, struct waiting *waiting, uint32_t max_us)
{
    if (chip->bus->now_us != NULL) {
        waiting->waited_us = spinor_now_us(chip) - waiting->begin_us;
        max_us += SLACK_US;
    }
    return waiting->waited_us > max_us || waiting->polls++ / POLLS_PER_US > max_us;
}

/* A suspended erase is not busy, either. The bus is locked, so that it cannot be a read's. */
static int resume(struct spinor *chip)
{
    int result = spinor_command(chip, chip->part.resume);
    chip->suspended = result != 0;
    return result;
}

int spinor_look(struct spinor *chip, bool *ended)
{
    uint8_t status = NOTHING;
    int result = spinor_get(chip, READ_STATUS, &status, 1);
    *ended = true;
    if (result == 0 && spinor_has_failed(chip, status)) {
        return spinor_clear_failure(chip);
    }
    *ended = result != 0;
    if (result == 0 && (status & BUSY) == 0) {
        result = spinor_is_ready(chip, ended);
    }
    return result;
}

static int too_long(struct spinor *chip)
{
    uint8_t status = NOTHING;
    int result = spinor_get(chip, READ_STATUS, &status, 1);
    return result != 0 ? result : status == NOTHING ? SPINOR_ABSENT : SPINOR_TIMEOUT;
}

/*
 * With the bus locked. It is free while the chip works, so that others may read:
 * see fetch_suspended.
 */
int spinor_wait_idle(struct spinor *chip, uint32_t step_us, uint32_t max_us)
{
    struct waiting waiting = {.begin_us = spinor_now_us(chip)};
    uint32_t suspends = chip->suspends;
    for (;;) {
        bool ended = false;
        int result = chip->suspended ? resume(chip) : SPINOR_OK;
        result = result != 0 ? result : spinor_look(chip, &ended);
        if (result != 0 || ended) {
            return result;
        }
        /* another task read meanwhile: that time does not count */
        if (chip->suspends != suspends) {
            suspends = chip->suspends;
            waiting = (struct waiting){.begin_us = spinor_now_us(chip)};
        }
        if (expired(chip, &waiting, max_us)) {
            return too_long(chip);
        }
        step_us = waiting.waited_us > SHORT_US && step_us < SLEEP_US ? SLEEP_US : step_us;
        spinor_unlock(chip);
        spinor_pause(chip, step_us);
        spinor_lock(chip);
        waiting.waited_us += step_us;
    }
}

int spinor_wait_locked(struct spinor *chip, uint32_t step_us, uint32_t max_us)
{
    struct waiting waiting = {.begin_us = spinor_now_us(chip)};
    for (;;) {
        bool ended = false;
        int result = spinor_look(chip, &ended);
        if (result != 0 || ended) {
            return result;
        }
        if (expired(chip, &waiting, max_us)) {
            return too_long(chip);
        }
        spinor_pause(chip, step_us);
        waiting.waited_us += step_us;
    }
}

/* ---- the memory window ----------------------------------------------------------------------- */

int spinor_window(struct spinor *chip, bool on)
{
    const struct spinor_bus *bus = chip->bus;
    return bus->mapped != NULL && bus->map != NULL && bus->map(bus->context, on) != 0 ? SPINOR_BUS
                                                                                      : SPINOR_OK;
}
