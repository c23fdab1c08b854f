/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * known_loop.c - a function whose instructions are known: 2 for each of `turns` (at least 1), and
 * the return.
 */
#include <stdint.h>

void known_loop(uint32_t turns);

__attribute__((naked)) void known_loop(uint32_t turns)
{
    (void)turns;
    __asm__ volatile("1: subs r0, #1\n bne 1b\n bx lr");
}
