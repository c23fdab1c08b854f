/* SPDX-License-Identifier: BSD-2-Clause */
/* model_bus.c - transfers clocked into the chip model; the board's timer makes its time pass. */
#include "model_bus.h"

#include <stddef.h>

#include "board.h"
#include "nf2_freertos.h"

#define REGISTER(address) (*(volatile uint32_t *)(uintptr_t)(address))
#define TIMER 0x7E782000u
#define TIMER_VALUE (TIMER + 0x00u)
#define TIMER_RELOAD (TIMER + 0x04u)
#define TIMER_CONTROL (TIMER + 0x30u)
#define TIMER_RUNS_AT_1_MHZ 3u          /* enabled, by the external clock */

#define PROGRAM 0x02u
#define ERASE_BLOCK 0x20u
#define ERASE_LARGE 0xD8u

static struct spi_chip *chip;
static volatile bool in_use, erase_was_last;

uint32_t model_bus_now_us(void)
{
    return UINT32_MAX - REGISTER(TIMER_VALUE);
}

struct spi_chip *model_bus_chip(void)
{
    return chip;
}

bool model_bus_erases(void)
{
    return erase_was_last && spi_chip_is_busy(chip);
}

/* The chip's clock follows the board's. */
static void catch_up(void)
{
    uint64_t now_ns = 1000u * (uint64_t)model_bus_now_us();
    if (now_ns > spi_chip_now_ns(chip)) {
        spi_chip_wait(chip, now_ns - spi_chip_now_ns(chip));
    }
}

static int bus_transfer(void *context, const struct spinor_transfer *transfer)
{
    uint8_t header[SPINOR_HEADER_MAX];
    uint32_t length = spinor_header(transfer, header);
    (void)context;
    if (in_use) {
        board_stop("two tasks use the bus at once", 0);
    }
    in_use = true;
    catch_up();
    if (transfer->opcode == ERASE_BLOCK || transfer->opcode == ERASE_LARGE) {
        erase_was_last = true;
    } else if (transfer->opcode == PROGRAM) {
        erase_was_last = false;
    }
    spi_chip_select(chip, true);
    for (uint32_t i = 0; i < length; i++) {
        (void)spi_chip_exchange(chip, header[i], 1);
    }
    for (uint32_t i = 0; i < transfer->length; i++) {
        uint8_t in = spi_chip_exchange(chip, transfer->out != NULL ? transfer->out[i] : 0, 1);
        if (transfer->in != NULL) {
            transfer->in[i] = in;
        }
    }
    spi_chip_select(chip, false);
    while (1000u * (uint64_t)model_bus_now_us() < spi_chip_now_ns(chip)) {
    }
    in_use = false;
    return 0;
}

/* Set up by model_bus_start. */
static struct nf2_freertos_chip shared;

const struct spinor_bus model_bus = {
    .context = &shared,
    .transfer = bus_transfer,
    .pause = nf2_freertos_pause,
    .delay = nf2_freertos_delay,
    .now_us = nf2_freertos_now_us,
    .lock = nf2_freertos_bus_lock,
    .unlock = nf2_freertos_bus_unlock,
    .claim = nf2_freertos_claim,
    .release = nf2_freertos_release,
    .lines = 1,
    .clock_hz = 50000000,
};

void model_bus_start(const struct spi_chip_kind *kind)
{
    REGISTER(TIMER_RELOAD) = UINT32_MAX;
    REGISTER(TIMER_CONTROL) = TIMER_RUNS_AT_1_MHZ;
    chip = spi_chip_new(kind);
    if (chip == NULL) {
        board_stop("no memory for the chip", 0);
    }
    nf2_freertos_chip_init(&shared);
}
