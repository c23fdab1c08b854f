/* SPDX-License-Identifier: BSD-2-Clause */
/* spi_board.c - transfers clocked into a chip, byte by byte. */
#include "spi_board.h"

#include <stdlib.h>
#include <string.h>

#define COMMAND_NS 500u         /* what a processor takes for a transaction beside its bytes */

static void clock_bytes(struct spi_board *board, const struct spinor_transfer *transfer)
{
    struct spi_chip *chip = board->chip;
    (void)spi_chip_exchange(chip, transfer->opcode, transfer->opcode_on_four ? 4 : 1);
    for (uint32_t i = transfer->address_bytes; i > 0; i--) {
        (void)spi_chip_exchange(chip, (uint8_t)(transfer->address >> (8u * (i - 1u))),
                                transfer->address_lines);
    }
    for (uint32_t i = 0; i < transfer->dummy_clocks; i += 8u / transfer->address_lines) {
        (void)spi_chip_exchange(chip, 0, transfer->address_lines);
    }
    for (uint32_t i = 0; i < transfer->length; i++) {
        uint8_t out = transfer->out != NULL ? transfer->out[i] : 0;
        uint8_t in = spi_chip_exchange(chip, out, transfer->data_lines);
        if (transfer->in != NULL) {
            transfer->in[i] = board->deaf ? 0xFF : in;
        }
    }
}

static int board_transfer(void *context, const struct spinor_transfer *transfer)
{
    struct spi_board *board = context;
    board->window_misused |= board->mapped;
    spi_chip_wait(board->chip, COMMAND_NS);
    spi_chip_select(board->chip, true);
    clock_bytes(board, transfer);
    spi_chip_select(board->chip, false);
    return spi_chip_is_cut(board->chip) ? -1 : 0;
}

static void board_delay(void *context, uint32_t us)
{
    struct spi_board *board = context;
    spi_chip_wait(board->chip, (uint64_t)us * 1000u);
}

static void board_pause(void *context, uint32_t us)
{
    struct spi_board *board = context;
    board->longest_pause_us = us > board->longest_pause_us ? us : board->longest_pause_us;
    if (board->while_busy != NULL && board->locks == 0) {
        void (*run)(void *) = board->while_busy;
        board->while_busy = NULL;       /* once at a time */
        run(board->while_busy_context);
        board->while_busy = run;
    }
    spi_chip_wait(board->chip, board->early ? 300u : (uint64_t)us * 1000u);
}

static uint32_t board_now_us(void *context)
{
    struct spi_board *board = context;
    uint32_t now_us = (uint32_t)(spi_chip_now_ns(board->chip) / 1000u);
    return board->clock_step_us > 0 ? now_us / board->clock_step_us * board->clock_step_us : now_us;
}

static void board_lock(void *context)
{
    struct spi_board *board = context;
    if (board->locks++ != 0) {
        abort();                /* a task that waits for itself */
    }
}

static void board_unlock(void *context)
{
    struct spi_board *board = context;
    board->locks--;
}

/* What runs in a pause (while_busy) is another task: it cannot wait here for the first one. */
static void board_claim(void *context)
{
    struct spi_board *board = context;
    if (board->claims++ != 0 || board->locks != 0) {
        abort();
    }
}

static void board_release(void *context)
{
    struct spi_board *board = context;
    board->claims--;
}

void spi_board_open(struct spi_board *board, const struct spi_chip_kind *kind, uint8_t lines)
{
    *board = (struct spi_board){.chip = spi_chip_new(kind)};
    if (board->chip == NULL) {
        abort();
    }
    board->bus = (struct spinor_bus){
        .context = board, .transfer = board_transfer, .pause = board_pause, .delay = board_delay,
        .now_us = board_now_us,
        .lock = board_lock, .unlock = board_unlock,
        .claim = board_claim, .release = board_release, .lines = lines,
        .clock_hz = 1000000000u / spi_chip_clock_ns(board->chip),
    };
}

static int board_turn_window(void *context, bool on)
{
    struct spi_board *board = context;
    board->mapped = on;
    return 0;
}

static void board_forget(void *context, uint32_t address, uint32_t length)
{
    struct spi_board *board = context;
    memcpy(board->window + address, spi_chip_memory(board->chip) + address, length);
}

void spi_board_map(struct spi_board *board)
{
    uint32_t size = 1u << 20;
    board->window = malloc(size);
    if (board->window == NULL) {
        abort();
    }
    memcpy(board->window, spi_chip_memory(board->chip), size);
    board->bus.mapped = board->window;
    board->bus.mapped_size = size;
    board->bus.map = board_turn_window;
    board->bus.forget = board_forget;
}

void spi_board_close(struct spi_board *board)
{
    spi_chip_free(board->chip);
    free(board->window);
}
