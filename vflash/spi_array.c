/* SPDX-License-Identifier: BSD-2-Clause */
/* spi_array.c - the cells of a serial NOR chip: operations that take time, suspends, torn ones. */
#include <string.h>

#include "pcg32.h"
#include "spi_state.h"

#define NS_PER_US 1000u

static void end_program(struct spi_chip *chip)
{
    uint8_t *page = chip->memory + chip->address;
    bool rises = false;
    for (uint32_t i = 0; i < chip->kind.page_size; i++) {
        if (chip->touched[i]) {
            rises |= (chip->page[i] & ~page[i]) != 0;
            page[i] &= chip->page[i];
        }
    }
    chip->counts.rises += rises;
}

/* The erase is what the chip does again, suspended. */
static void end_nested(struct spi_chip *chip)
{
    if (chip->nested) {
        chip->nested = false;
        chip->operation = SPI_ERASE;
        chip->address = chip->held.address;
        chip->length = chip->held.length;
        chip->left_ns = chip->held.left_ns;
        chip->total_ns = chip->held.total_ns;
        chip->left_at_resume_ns = chip->held.left_at_resume_ns;
    }
}

static void end(struct spi_chip *chip)
{
    if (chip->operation == SPI_PROGRAM && !chip->fail_next) {
        end_program(chip);
    } else if (chip->operation == SPI_ERASE && !chip->fail_next) {
        memset(chip->memory + chip->address, 0xFF, chip->length);
    }
    if (chip->fail_next && chip->operation != SPI_WAIT) {
        chip->flags |= chip->operation == SPI_ERASE ? 0x20u : 0x10u;
        chip->fail_next = false;
    }
    chip->operation = SPI_IDLE;
    chip->enabled = chip->kind.status_errors && chip->flags != 0;
    end_nested(chip);
}

/* The operation stops for a while once the suspend has taken effect. */
static uint64_t pass_suspending(struct spi_chip *chip, uint64_t ns)
{
    uint64_t used = ns < chip->suspend_left_ns ? ns : chip->suspend_left_ns;
    chip->suspend_left_ns -= used;
    if (chip->suspend_left_ns == 0) {
        chip->suspending = false;
        chip->suspended = true;
    }
    return ns - used;
}

void spi_array_pass(struct spi_chip *chip, uint64_t ns)
{
    if (chip->suspending) {
        ns = pass_suspending(chip, ns);
    }
    if (chip->operation == SPI_IDLE || (chip->suspended && !chip->nested) || chip->suspending) {
        return;
    }
    if (chip->left_ns > ns) {
        chip->left_ns -= ns;
    } else {
        chip->left_ns = 0;
        end(chip);
    }
}

static void begin(struct spi_chip *chip, enum spi_operation operation, uint32_t address,
                  uint32_t length, uint32_t us)
{
    chip->operation = operation;
    chip->address = address;
    chip->length = length;
    chip->total_ns = (uint64_t)us * NS_PER_US;
    chip->left_ns = chip->total_ns;
    chip->resumed_ns = chip->now_ns;
    chip->left_at_resume_ns = chip->left_ns;
}

/* A fifth of a page's time goes into its first byte. */
void spi_array_program(struct spi_chip *chip)
{
    uint32_t count = 0, page = chip->kind.page_size;
    for (uint32_t i = 0; i < page; i++) {
        count += chip->touched[i];
    }
    uint32_t us = chip->kind.program_us / 5u + chip->kind.program_us / 5u * 4u * count / page;
    chip->counts.programs++;
    if (chip->suspended) {
        chip->held = (struct spi_held){chip->address, chip->length, chip->left_ns, chip->total_ns,
                                       chip->left_at_resume_ns};
        chip->nested = true;
        chip->counts.meanwhile++;
    }
    begin(chip, SPI_PROGRAM, chip->target % chip->kind.size / page * page, page, us);
}

void spi_array_erase(struct spi_chip *chip, const struct spi_chip_erase *erase)
{
    uint32_t address = chip->target % chip->kind.size / erase->size * erase->size;
    chip->counts.erases++;
    begin(chip, SPI_ERASE, address, erase->size, erase->typical_us);
}

void spi_array_suspend(struct spi_chip *chip)
{
    bool can = chip->kind.suspend_us != 0 && chip->length >= chip->kind.suspend_size;
    if (!can || chip->operation != SPI_ERASE || chip->suspended || chip->nested) {
        chip->counts.ignored++;
        return;
    }
    uint64_t ran = chip->now_ns - chip->resumed_ns;
    if (ran < (uint64_t)chip->kind.resume_gap_us * NS_PER_US) {
        chip->left_ns = chip->left_at_resume_ns;    /* too short: nothing of it counts */
    }
    chip->suspending = true;
    chip->suspend_left_ns = (uint64_t)chip->kind.suspend_us * NS_PER_US;
    chip->counts.suspends++;
}

void spi_array_resume(struct spi_chip *chip)
{
    if (!chip->suspended || chip->nested) {
        return;                 /* real chips ignore it; drivers send it to be sure */
    }
    chip->suspended = false;
    chip->resumed_ns = chip->now_ns;
    chip->left_at_resume_ns = chip->left_ns;
    chip->counts.resumes++;
}

uint8_t spi_array_read(struct spi_chip *chip, uint32_t address)
{
    address %= chip->kind.size;
    if (chip->suspended && address >= chip->address && address < chip->address + chip->length) {
        chip->counts.blind_reads++;
        return (uint8_t)(chip->memory[address] ^ (address * 29u));
    }
    return chip->memory[address];
}

/* Bits change in any order: each with the likelihood of the part of the time that has passed. */
static uint8_t torn_byte(struct pcg32 *random, uint8_t from, uint8_t to, uint32_t share)
{
    uint8_t changed = 0;
    for (uint32_t bit = 1; bit < 0x100u; bit <<= 1) {
        changed |= (uint8_t)(pcg32_below(random, 256) < share ? bit : 0);
    }
    return (uint8_t)((from & ~changed) | (to & changed));
}

static void tear_one(struct spi_chip *chip, struct pcg32 *random)
{
    if (chip->operation != SPI_PROGRAM && chip->operation != SPI_ERASE) {
        return;
    }
    uint64_t done = chip->total_ns - chip->left_ns;
    uint32_t share = (uint32_t)(done * 256u / chip->total_ns);
    for (uint32_t i = 0; i < chip->length; i++) {
        uint8_t *byte = &chip->memory[chip->address + i];
        bool erase = chip->operation == SPI_ERASE;
        if (erase || chip->touched[i]) {
            uint8_t to = erase ? 0xFF : (uint8_t)(*byte & chip->page[i]);
            *byte = torn_byte(random, *byte, to, share);
        }
    }
}

void spi_array_tear(struct spi_chip *chip)
{
    struct pcg32 random;
    pcg32_seed(&random, chip->cut_seed, 7);
    tear_one(chip, &random);
    if (chip->nested) {
        end_nested(chip);
        tear_one(chip, &random);
    }
    chip->operation = SPI_IDLE;
    chip->suspended = false;
    chip->suspending = false;
}
