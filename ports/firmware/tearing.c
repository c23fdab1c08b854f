/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tearing.c - the emulated chip finishes each operation at once:
 * what a real one leaves half done is made here.
 */
#include "tearing.h"

#include <string.h>

#include "board.h"
#include "pcg32.h"

#define PAGE_MAX 512u
#define ERASE_MAX 65536u

static struct nf2_flash torn;
static const struct nf2_flash *whole;
static uint32_t left;
static struct pcg32 random;
static uint8_t page[PAGE_MAX], block[ERASE_MAX];

/* The bits of `from` that have turned into those of `to`, each with that likelihood of 256. */
static uint8_t between(uint8_t from, uint8_t to, uint32_t share)
{
    uint8_t turned = 0;
    for (uint32_t bit = 1; bit < 0x100u; bit <<= 1) {
        turned |= (uint8_t)(pcg32_below(&random, 256) < share ? bit : 0);
    }
    return (uint8_t)((from & ~turned) | (to & turned));
}

/* Whole bytes up to some place and a few bits of the next one; or some bits of every byte. */
static void tear_program(uint32_t address, const uint8_t *data, uint32_t length)
{
    uint32_t done = pcg32_below(&random, length + 1u), share = pcg32_below(&random, 257);
    bool in_order = pcg32_below(&random, 2) == 0;
    for (uint32_t i = 0; i < length; i++) {
        uint32_t likely = !in_order ? share : i < done ? 256u : i == done ? share : 0;
        page[i] = between(0xFF, data[i], likely);
    }
    (void)whole->program(whole->context, address, page, length);
}

static void tear_erase(uint32_t address, uint32_t length)
{
    uint32_t share = pcg32_below(&random, 257), at = 0;
    for (; at < length; at += whole->block_size) {
        (void)whole->read(whole->context, address + at, block + at, whole->block_size);
    }
    if (whole->erase(whole->context, address, length) != 0) {
        return;
    }
    uint32_t first = pcg32_below(&random, 3) == 0 ? pcg32_below(&random, length) : 0;
    for (at = first / whole->page_size * whole->page_size; at < length; at += whole->page_size) {
        for (uint32_t i = 0; i < whole->page_size; i++) {
            page[i] = between(block[at + i], 0xFF, share);
        }
        (void)whole->program(whole->context, address + at, page, whole->page_size);
    }
}

static bool is_time(void)
{
    return left > 0 && --left == 0;
}

static int program(void *context, uint32_t address, const void *data, uint32_t length)
{
    if (is_time()) {
        tear_program(address, data, length);
        board_power_fails();
    }
    return whole->program(context, address, data, length);
}

static int erase(void *context, uint32_t address, uint32_t length)
{
    if (is_time()) {
        tear_erase(address, length);
        board_power_fails();
    }
    return whole->erase(context, address, length);
}

const struct nf2_flash *tearing_start(const struct nf2_flash *flash, uint32_t operation,
                                      uint32_t seed)
{
    whole = flash;
    left = operation;
    pcg32_seed(&random, seed, 3);
    torn = *flash;
    torn.program = program;
    torn.erase = erase;
    return &torn;
}
