/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * board.h - an emulated Cortex-M4: text and exit through semihosting, a stack for the file system
 * and one for its driver.
 */
#ifndef BOARD_H
#define BOARD_H

#include <stdint.h>

#define LARGE_MEMORY __attribute__((section(".large"), aligned(8)))

/*
 * Main program, with what the emulator's command line gives (or an empty text): returns how many
 * checks failed.
 */
uint32_t run_target(char *argument);

void put_text(const char *text);
void put_number(uint32_t value);

/*
 * Calls `function` with up to five arguments of a register each, on the file system's own stack.
 * What runs between `enter` and `enter_end` in functions of the file system is what is counted.
 */
int32_t enter(uintptr_t function, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e);

#define ENTER(function, a, b, c, d, e)                                                             \
    enter((uintptr_t)(function), (uintptr_t)(a), (uintptr_t)(b), (uintptr_t)(c), (uintptr_t)(d),   \
          (uintptr_t)(e))

/* The stack of the file system: fill it with a pattern; the bytes that were used since. */
void stack_paint(void);
uint32_t stack_used(void);

#endif
