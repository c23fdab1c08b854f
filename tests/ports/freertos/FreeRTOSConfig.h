/* SPDX-License-Identifier: BSD-2-Clause */
/* FreeRTOSConfig.h - for the test on this computer (the POSIX port). */
#ifndef FREERTOS_CONFIG_H
#define FREERTOS_CONFIG_H

#include <assert.h>

#define configUSE_PREEMPTION 1
#define configTICK_RATE_HZ 1000
/* more than any: a delay that counts clocks is never early */
#define configCPU_CLOCK_HZ 4000000000u
/* words: a thread of this computer needs 16 KiB and more */
#define configMINIMAL_STACK_SIZE 4096
#define configMAX_PRIORITIES 4
#define configMAX_TASK_NAME_LEN 16
#define configTICK_TYPE_WIDTH_IN_BITS TICK_TYPE_WIDTH_32_BITS
#define configUSE_IDLE_HOOK 0
#define configUSE_TICK_HOOK 0
#define configUSE_MUTEXES 1
#define configUSE_RECURSIVE_MUTEXES 1
#define configUSE_TIMERS 0
#define configSUPPORT_STATIC_ALLOCATION 1
#define configSUPPORT_DYNAMIC_ALLOCATION 0
#define configKERNEL_PROVIDED_STATIC_MEMORY 1
#define configASSERT(condition) assert(condition)

#define INCLUDE_vTaskDelay 1
#define INCLUDE_vTaskSuspend 1
#define INCLUDE_xTaskGetSchedulerState 1

#endif
