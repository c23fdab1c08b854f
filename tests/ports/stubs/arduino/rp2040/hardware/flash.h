/* SPDX-License-Identifier: BSD-2-Clause */
/* flash.h - see ../../README.md: the functions of the ROM, over memory of the host. */
#ifndef STUB_HARDWARE_FLASH_H
#define STUB_HARDWARE_FLASH_H

#include <stddef.h>
#include <stdint.h>

extern uint8_t xip[];
#define XIP_BASE ((uintptr_t)xip)
void flash_range_program(uint32_t offset, const uint8_t *data, size_t length);
void flash_range_erase(uint32_t offset, size_t length);

/* Of Arduino.h: */
void noInterrupts();
void interrupts();
struct RP2040 { void idleOtherCore(); void resumeOtherCore(); };
extern RP2040 rp2040;

#endif
