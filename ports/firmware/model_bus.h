/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * model_bus.h - the chip model of vflash/ behind spinor's bus, on the board. The emulator's own
 * chip finishes every erase at once; this one takes its time, and suspends.
 */
#ifndef MODEL_BUS_H
#define MODEL_BUS_H

#include "spi_chip.h"
#include "spinor.h"

extern const struct spinor_bus model_bus;

/* A blank chip of that kind. Time runs in it as on the board's timer. */
void model_bus_start(const struct spi_chip_kind *kind);
struct spi_chip *model_bus_chip(void);

/* Microseconds of the board's timer, which runs from model_bus_start on. */
uint32_t model_bus_now_us(void);

/* Whether the chip is busy with an erase. */
bool model_bus_erases(void);

#endif
