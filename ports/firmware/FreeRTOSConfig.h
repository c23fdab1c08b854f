/* SPDX-License-Identifier: BSD-2-Clause */
/* FreeRTOSConfig.h - for the firmware on the emulated Cortex-M4. */
#ifndef FREERTOS_CONFIG_H
#define FREERTOS_CONFIG_H

void board_stop(const char *file, int line);

#define configCPU_CLOCK_HZ 200000000
#ifndef configTICK_RATE_HZ
#define configTICK_RATE_HZ 1000
#endif
#define configUSE_PREEMPTION 1
#define configMINIMAL_STACK_SIZE 512
#define configMAX_PRIORITIES 5
#define configMAX_TASK_NAME_LEN 12
#ifndef configTICK_TYPE_WIDTH_IN_BITS
#define configTICK_TYPE_WIDTH_IN_BITS TICK_TYPE_WIDTH_32_BITS
#endif
#define configUSE_IDLE_HOOK 0
#ifndef configUSE_TICK_HOOK
#define configUSE_TICK_HOOK 0
#endif
#define configUSE_MUTEXES 1
#define configUSE_RECURSIVE_MUTEXES 1
#define configUSE_TIMERS 0
#define configUSE_NEWLIB_REENTRANT 1
#define configSUPPORT_STATIC_ALLOCATION 1
#define configSUPPORT_DYNAMIC_ALLOCATION 0
#define configKERNEL_PROVIDED_STATIC_MEMORY 1
#define configCHECK_FOR_STACK_OVERFLOW 2
#define configASSERT(condition) ((condition) ? (void)0 : board_stop(__FILE__, __LINE__))

#define configPRIO_BITS 3
#define configKERNEL_INTERRUPT_PRIORITY (7 << 5)
#define configMAX_SYSCALL_INTERRUPT_PRIORITY (2 << 5)

#define INCLUDE_vTaskDelay 1
#define INCLUDE_vTaskSuspend 1
#define INCLUDE_xTaskGetSchedulerState 1
#define INCLUDE_uxTaskGetStackHighWaterMark 1

#define vPortSVCHandler board_svc
#define xPortPendSVHandler board_pendsv
#define xPortSysTickHandler board_systick

#endif
