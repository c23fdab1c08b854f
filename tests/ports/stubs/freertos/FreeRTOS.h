/* SPDX-License-Identifier: BSD-2-Clause */
/* FreeRTOS.h - see ../esp_partition.h: ESP-IDF has its own copy of FreeRTOS, under this path. */
#ifndef STUB_FREERTOS_H
#define STUB_FREERTOS_H

#define portMAX_DELAY 0xFFFFFFFFu
typedef struct { int owner; } portMUX_TYPE;
#define portMUX_INITIALIZER_UNLOCKED {0}
#define portENTER_CRITICAL(mux) ((mux)->owner++)
#define portEXIT_CRITICAL(mux) ((mux)->owner--)

#endif
