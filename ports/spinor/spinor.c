/* SPDX-License-Identifier: BSD-2-Clause */
/* spinor.c - commands to a serial NOR chip, and waiting for it. */
#include "spinor.h"

#include <stddef.h>
#include <string.h>

#include "spinor_sfdp.h"

enum {
    WRITE_STATUS = 0x01, PROGRAM = 0x02, WRITE_DISABLE = 0x04, READ_STATUS = 0x05,
    WRITE_ENABLE = 0x06, FAST_READ = 0x0B, WRITE_STATUS_2 = 0x31, READ_STATUS_2 = 0x35,
    WRITE_CONTROL = 0x3E, READ_CONTROL = 0x3F,
    CLEAR_FLAGS = 0x50, RESET_ENABLE = 0x66, READ_FLAGS = 0x70, RESET = 0x99, READ_ID = 0x9F,
    WAKE = 0xAB, ENTER_FOUR = 0xB7
};

#define BUSY 0x01u
#define ENABLED 0x02u
#define FLAGS_FAILED 0x30u
#define NOTHING 0xFFu           /* what an open line reads as */

#define SLACK_US 20000u         /* a clock with steps */
#define POLLS_PER_US 4u         /* no bus asks more often: ends the wait where no clock runs */
#define START_MAX_US 10000000u  /* a large erase that a reset left behind, on a worn chip */
#define REGISTER_MAX_US 100000u
#define LINE_CLOCK_HZ 50000000u

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

static int send(struct spinor *chip, const struct spinor_transfer *transfer)
{
    return chip->bus->transfer(chip->bus->context, transfer) != 0 ? SPINOR_BUS : SPINOR_OK;
}

static int command(struct spinor *chip, uint8_t opcode)
{
    const struct spinor_transfer transfer = {.opcode = opcode, .address_lines = 1, .data_lines = 1};
    return send(chip, &transfer);
}

static int get(struct spinor *chip, uint8_t opcode, uint8_t *in, uint32_t length)
{
    const struct spinor_transfer transfer = {
        .opcode = opcode, .address_lines = 1, .data_lines = 1, .in = in, .length = length,
    };
    return send(chip, &transfer);
}

static int put(struct spinor *chip, uint8_t opcode, const uint8_t *out, uint32_t length)
{
    const struct spinor_transfer transfer = {
        .opcode = opcode, .address_lines = 1, .data_lines = 1, .out = out, .length = length,
    };
    return send(chip, &transfer);
}

/*
 * The chip forgets it after each program and erase. A chip that
 * is write-protected does not take it.
 */
static int write_enable(struct spinor *chip)
{
    uint8_t status = 0;
    int result = command(chip, WRITE_ENABLE);
    if (result == 0) {
        result = get(chip, READ_STATUS, &status, 1);
    }
    if (result != 0) {
        return result;
    }
    return (status & ENABLED) != 0 && (status & BUSY) == 0 ? SPINOR_OK : SPINOR_PROTECTED;
}

/* ---- waiting --------------------------------------------------------------------------------- */

static void lock(struct spinor *chip)
{
    if (chip->bus->lock != NULL) {
        chip->bus->lock(chip->bus->context);
    }
}

static void unlock(struct spinor *chip)
{
    if (chip->bus->unlock != NULL) {
        chip->bus->unlock(chip->bus->context);
    }
}

static void pause(struct spinor *chip, uint32_t us)
{
    chip->bus->pause(chip->bus->context, us);
}

struct waiting {
    uint32_t begin_us, waited_us, polls;
};

static uint32_t now_us(struct spinor *chip)
{
    return chip->bus->now_us != NULL ? chip->bus->now_us(chip->bus->context) : 0;
}

static bool expired(struct spinor *chip, struct waiting *waiting, uint32_t max_us)
{
    if (chip->bus->now_us != NULL) {
        waiting->waited_us = now_us(chip) - waiting->begin_us;
        max_us += SLACK_US;
    }
    return waiting->waited_us > max_us || waiting->polls++ / POLLS_PER_US > max_us;
}

/*
 * With the bus locked. It is free while the chip works, so that others may read: see wait_erased.
 */
static int wait_idle(struct spinor *chip, uint32_t step_us, uint32_t max_us)
{
    struct waiting waiting = {.begin_us = now_us(chip)};
    uint32_t suspends = chip->suspends;
    for (;;) {
        uint8_t status = NOTHING;
        int result = get(chip, READ_STATUS, &status, 1);
        if (result != 0 || (status & BUSY) == 0) {
            return result;
        }
        /* another task read meanwhile: that time does not count */
        if (chip->suspends != suspends) {
            suspends = chip->suspends;
            waiting = (struct waiting){.begin_us = now_us(chip)};
        }
        if (expired(chip, &waiting, max_us)) {
            return status == NOTHING ? SPINOR_ABSENT : SPINOR_TIMEOUT;
        }
        unlock(chip);
        pause(chip, step_us);
        lock(chip);
        waiting.waited_us += step_us;
    }
}

/* Whether the chip says that the operation failed. */
static int judge(struct spinor *chip)
{
    uint8_t flags = 0;
    if (!chip->part.flags) {
        return SPINOR_OK;
    }
    int result = get(chip, READ_FLAGS, &flags, 1);
    if (result != 0 || (flags & FLAGS_FAILED) == 0) {
        return result;
    }
    result = command(chip, CLEAR_FLAGS);
    return result != 0 ? result : NF2_FLASH_BAD;
}

/* ---- the memory window ----------------------------------------------------------------------- */

static int window(struct spinor *chip, bool on)
{
    const struct spinor_bus *bus = chip->bus;
    return bus->mapped != NULL && bus->map != NULL && bus->map(bus->context, on) != 0 ? SPINOR_BUS
                                                                                      : SPINOR_OK;
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
    int result = command(chip, chip->part.wake);
    pause(chip, chip->part.wake_us);
    chip->asleep = result != 0;
    return result;
}

/* Locks the bus once nothing else is being done by another task. */
static int enter(struct spinor *chip)
{
    lock(chip);
    while (chip->work != SPINOR_IDLE) {
        unlock(chip);
        pause(chip, 50);
        lock(chip);
    }
    int result = window(chip, false);
    return result != 0 ? result : wake(chip);
}

static int leave(struct spinor *chip, int result)
{
    chip->work = SPINOR_IDLE;
    int mapped = window(chip, true);
    unlock(chip);
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
    return send(chip, &transfer);
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
        pause(chip, chip->part.resume_gap_us);
    }
    result = command(chip, chip->part.suspend);
    for (uint32_t polls = 0; result == 0 && (status & BUSY) != 0; polls++) {
        if (polls > 1000u) {
            return SPINOR_TIMEOUT;
        }
        pause(chip, 5);
        result = get(chip, READ_STATUS, &status, 1);
    }
    if (result == 0) {
        result = fetch(chip, address, data, length);
    }
    int resumed = command(chip, chip->part.resume);
    return result != 0 ? result : resumed;
}

int spinor_read(struct spinor *chip, uint32_t address, void *data, uint32_t length)
{
    const struct spinor_bus *bus = chip->bus;
    if (!on_chip(chip, address, length)) {
        return SPINOR_RANGE;
    }
    lock(chip);
    while (chip->work != SPINOR_IDLE && !may_suspend(chip, address, length)) {
        unlock(chip);
        pause(chip, 50);
        lock(chip);
    }
    int result = SPINOR_OK;
    if (chip->work != SPINOR_IDLE) {
        result = fetch_suspended(chip, address, data, length);
    } else if (bus->mapped != NULL && !chip->asleep && address + length <= bus->mapped_size) {
        memcpy(data, bus->mapped + address, length);
    } else {
        result = window(chip, false);
        result = result != 0 ? result : wake(chip);
        result = result != 0 ? result : fetch(chip, address, data, length);
        int mapped = window(chip, true);
        result = result != 0 ? result : mapped;
    }
    unlock(chip);
    return result;
}

/* ---- programming and erasing ----------------------------------------------------------------- */

static int program_page(struct spinor *chip, uint32_t address, const uint8_t *data, uint32_t length)
{
    const struct spinor_transfer transfer = {
        .opcode = chip->part.program, .address_bytes = chip->part.address_bytes, .address_lines = 1,
        .data_lines = 1, .address = address, .out = data, .length = length,
    };
    int result = write_enable(chip);
    if (result == 0) {
        result = send(chip, &transfer);
    }
    if (result == 0) {
        result = wait_idle(chip, 20, chip->part.program_max_us);
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
    result = result != 0 ? result : write_enable(chip);
    result = result != 0 ? result : send(chip, &transfer);
    chip->work_address = address;
    chip->work_length = length;
    chip->work = SPINOR_ERASES_NOW;
    result = result != 0 ? result : wait_idle(chip, 1000, erase->max_us);
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
        result = command(chip, chip->part.sleep);
        chip->asleep = result == 0;
    }
    chip->work = SPINOR_IDLE;
    unlock(chip);               /* the window stays off: a sleeping chip does not answer */
    return result;
}

/* ---- finding the chip ------------------------------------------------------------------------ */

/*
 * After a reset of the processor alone the chip may sleep, be in the middle of an erase, have it
 * suspended, or be in another addressing mode. The reset comes last: it must not hit an erase.
 */
static int settle(struct spinor *chip)
{
    uint8_t status = NOTHING;
    int result = command(chip, WAKE);
    for (uint32_t tries = 0; result == 0 && status == NOTHING; tries++) {
        if (tries == 50u) {
            return SPINOR_ABSENT;
        }
        pause(chip, 1000);
        result = get(chip, READ_STATUS, &status, 1);
    }
    result = result != 0 ? result : wait_idle(chip, 1000, START_MAX_US);
    result = result != 0 ? result : command(chip, RESET_ENABLE);
    result = result != 0 ? result : command(chip, RESET);
    pause(chip, 100);
    return result != 0 ? result : wait_idle(chip, 1000, START_MAX_US);
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
    if (part->size > (uint32_t)1 << 24) {
        part->erase[0].opcode = 0x21;
        part->erase[1].opcode = 0xDC;
        part->address_bytes = 4;
        part->read = 0x0C;
        part->program = 0x12;
    }
}

static int identify(struct spinor *chip)
{
    struct spinor_part *part = &chip->part;
    *part = (struct spinor_part){
        .page_size = 256, .program_us = 700, .program_max_us = 5000, .address_bytes = 3,
        .read = FAST_READ, .read_address_lines = 1, .read_data_lines = 1, .read_dummies = 8,
        .program = PROGRAM,
    };
    int result = get(chip, READ_ID, part->id, sizeof(part->id));
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
        result = SPINOR_OK;
    }
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
    int result = (part->enter_four & 1u) == 0 ? write_enable(chip) : SPINOR_OK;
    result = result != 0 ? result : command(chip, ENTER_FOUR);
    return result != 0 ? result : command(chip, WRITE_DISABLE);
}

/* Where the quad enable bit lies, and how it is written: word 15 of the table. */
static int enable_quad(struct spinor *chip, bool *enabled)
{
    uint8_t values[2] = {0, 0}, method = chip->part.quad_enable;
    bool first = method == 2u, control = method == 3u;
    uint8_t bit = first ? 0x40u : control ? 0x80u : 0x02u;
    uint8_t reader = first ? READ_STATUS : control ? READ_CONTROL : READ_STATUS_2;
    int result = get(chip, READ_STATUS, &values[0], 1);
    result = result != 0 ? result : get(chip, reader, &values[1], 1);
    *enabled = method == 0 || (values[1] & bit) != 0;
    if (result != 0 || *enabled || method == 7u) {
        return result;
    }
    values[0] &= 0xFCu;
    values[1] |= bit;
    bool both = method == 1u || method == 4u || method == 5u;
    uint8_t writer = control ? WRITE_CONTROL : method == 6u ? WRITE_STATUS_2 : WRITE_STATUS;
    result = write_enable(chip);
    result = result != 0 ? result : put(chip, writer, both ? values : &values[1], both ? 2 : 1);
    result = result != 0 ? result : wait_idle(chip, 1000, REGISTER_MAX_US);
    result = result != 0 ? result : get(chip, reader, &values[1], 1);
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

static int flash_read(void *context, uint32_t address, void *data, uint32_t length)
{
    return spinor_read(context, address, data, length);
}

static int flash_program(void *context, uint32_t address, const void *data, uint32_t length)
{
    return spinor_program(context, address, data, length);
}

static int flash_erase(void *context, uint32_t address, uint32_t length)
{
    return spinor_erase(context, address, length);
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
    if (block == NULL || chip->part.page_size < 256u) {
        return SPINOR_UNKNOWN;
    }
    bool pays = large->size > block->size
                && large->typical_us < large->size / block->size * block->typical_us;
    chip->driver = (struct nf2_flash){
        .context = chip, .read = flash_read, .program = flash_program, .erase = flash_erase,
        .chip_size = chip->part.size, .block_size = block->size,
        .large_erase_size = pays ? large->size : 0,
        .page_size = chip->part.page_size < 512u ? 256u : 512u, .program_unit = 1, .read_unit = 1,
        .read_page_us = page_read_us(chip), .program_page_us = chip->part.program_us,
        .erase_block_us = block->typical_us, .large_erase_us = pays ? large->typical_us : 0,
    };
    return SPINOR_OK;
}

int spinor_start(struct spinor *chip, const struct spinor_bus *bus)
{
    *chip = (struct spinor){.bus = bus};
    lock(chip);
    int result = window(chip, false);
    result = result != 0 ? result : settle(chip);
    result = result != 0 ? result : identify(chip);
    result = result != 0 ? result : use_four(chip);
    result = result != 0 ? result : use_quad(chip);
    result = result != 0 ? result : fill_driver(chip);
    int mapped = result != 0 ? SPINOR_OK : window(chip, true);
    unlock(chip);
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
        return "the chip takes no write enable";
    case SPINOR_UNKNOWN:
        return "the chip's size or addressing is not known";
    case SPINOR_RANGE:
        return "the range is not on the chip";
    case NF2_FLASH_BAD:
        return "the chip reports that the block failed";
    default:
        return "unknown error";
    }
}
