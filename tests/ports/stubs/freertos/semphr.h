/* SPDX-License-Identifier: BSD-2-Clause */
/* semphr.h - see FreeRTOS.h. */
#ifndef STUB_SEMPHR_H
#define STUB_SEMPHR_H

typedef struct { int count; } StaticSemaphore_t;
typedef StaticSemaphore_t *SemaphoreHandle_t;
SemaphoreHandle_t xSemaphoreCreateRecursiveMutexStatic(StaticSemaphore_t *memory);
int xSemaphoreTakeRecursive(SemaphoreHandle_t mutex, unsigned ticks);
int xSemaphoreGiveRecursive(SemaphoreHandle_t mutex);

#endif
