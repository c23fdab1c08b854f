/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nf2_freertos.h - one volume for the tasks of a FreeRTOS program: a lock round each call, and a
 * task of the lowest priority that does the idle work. Nothing comes from FreeRTOS's heap.
 *
 *     static struct nf2_freertos volume;
 *     int result = nf2_freertos_start(&volume, &chip.driver, NF2_FREERTOS_FORMAT_BLANK);
 *     nf2_open(&volume.fs, ...)                  from any task
 *
 * FreeRTOSConfig.h needs: configSUPPORT_STATIC_ALLOCATION, configUSE_MUTEXES,
 * configUSE_RECURSIVE_MUTEXES, INCLUDE_vTaskDelay, INCLUDE_xTaskGetSchedulerState, all 1. Not to be
 * called from interrupts.
 */
#ifndef NF2_FREERTOS_H
#define NF2_FREERTOS_H

#include <stdbool.h>
#include <stdint.h>

#include "FreeRTOS.h"
#include "semphr.h"
#include "task.h"

#include "nf2fs/nf2fs.h"

#ifndef NF2_FREERTOS_PAGE_SIZE
#define NF2_FREERTOS_PAGE_SIZE 256u         /* bytes: of the largest page of a chip that is used */
#endif
#ifndef NF2_FREERTOS_STACK_BYTES
/* of the idle work's task: NF2FS's need and the driver's */
#define NF2_FREERTOS_STACK_BYTES 4096u
#endif
#define NF2_FREERTOS_STACK_WORDS (NF2_FREERTOS_STACK_BYTES / sizeof(StackType_t))

struct nf2_freertos {
    nf2_t fs;                               /* for every call, from any task */

    /* private */
    struct nf2_config config;
    StaticSemaphore_t mutex_memory;
    SemaphoreHandle_t mutex;
    StaticTask_t task_memory;
    StackType_t stack[NF2_FREERTOS_STACK_WORDS];
    TaskHandle_t task;
    bool mounted;
    uint32_t budget_us;
    uint8_t buffer[NF2_BUFFER_SIZE(NF2_FREERTOS_PAGE_SIZE)];
};

enum nf2_freertos_flags {
    NF2_FREERTOS_FORMAT_BLANK = 1,          /* where nf2_mount returns NF2_ERR_BLANK (no volume, and
                                               blank where nf2_mount has looked): format, then
                                               mount. The chip must be ready by then */
    NF2_FREERTOS_NO_IDLE_TASK = 2           /* you call nf2_maintain yourself */
};

/*
 * Mounts the volume that takes up the chip, and starts the idle work. Once, from main or from a
 * task; again after nf2_freertos_stop. `volume` is static memory, zeros at first. Errors: those of
 * nf2_mount and nf2_format.
 */
int nf2_freertos_start(struct nf2_freertos *volume, const struct nf2_flash *flash, int flags);

/* The same with a part of the chip, and the rest of `config`; its buffer and lock are filled in. */
int nf2_freertos_start_with(struct nf2_freertos *volume, const struct nf2_config *config,
                            int flags);

/* Unmounts. What other tasks call afterwards returns NF2_ERR_INVAL. */
int nf2_freertos_stop(struct nf2_freertos *volume);

/*
 * Several calls as one: no other task comes between. May be
 * nested. `volume` is a struct nf2_freertos.
 */
void nf2_freertos_lock(void *volume);
void nf2_freertos_unlock(void *volume);

/*
 * For a driver that waits for its chip (spinor_bus's `pause` and `now_us`): other tasks run
 * meanwhile. Short waits only yield, so give both.
 */
void nf2_freertos_pause(void *unused, uint32_t us);
uint32_t nf2_freertos_now_us(void *unused);

#endif
