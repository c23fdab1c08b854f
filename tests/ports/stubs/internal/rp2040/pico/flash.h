/* SPDX-License-Identifier: BSD-2-Clause */
/* flash.h - see ../../README.md. */
#include <stdint.h>

#define PICO_OK 0
int flash_safe_execute(void (*function)(void *context), void *context, uint32_t timeout_ms);
