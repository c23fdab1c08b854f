/* SPDX-License-Identifier: BSD-2-Clause */
/* board.h - the emulated board: console, flash controller, and what the emulator offers. */
#ifndef BOARD_H
#define BOARD_H

#include <stdint.h>

#include "spinor.h"

/* The chip behind the flash controller: commands in its user mode, reads through its window. */
extern const struct spinor_bus board_bus;

void board_put(const char *text, uint32_t length);

/* What the emulator was given behind the program's name. */
void board_arguments(char *out, uint32_t size);

/* Ends the emulator. */
_Noreturn void board_exit(int code);
void board_stop(const char *file, int line);

/* As if the power had failed: nothing runs any more, and the console says so. */
_Noreturn void board_power_fails(void);

#endif
