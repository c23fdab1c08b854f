/* SPDX-License-Identifier: BSD-2-Clause */
/* spi_board.h - a board for tests: the command-level chip of vflash behind spinor's bus. */
#ifndef SPI_BOARD_H
#define SPI_BOARD_H

#include "spi_chip.h"
#include "spinor.h"

struct spi_board {
    struct spi_chip *chip;
    struct spinor_bus bus;
    bool deaf;                              /* the line reads ones */
    uint32_t locks, claims;                 /* how often they are held at present: 0 or 1 */
    uint32_t longest_pause_us;              /* that the driver asked for */
    bool early;                             /* pauses end at once, as yields do */
    uint32_t clock_step_us;                 /* of now_us, where it is above 1 */
    void (*while_busy)(void *context);      /* called in a wait, as another task would run */
    void *while_busy_context;

    /* the chip in memory: a copy that is refreshed where the driver says that it is stale */
    uint8_t *window;
    bool mapped, window_misused;
};

/* lines: 1 or 4. */
void spi_board_open(struct spi_board *board, const struct spi_chip_kind *kind, uint8_t lines);
void spi_board_map(struct spi_board *board);        /* reads go through a window with a cache */
void spi_board_close(struct spi_board *board);

#endif
