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
 * configUSE_RECURSIVE_MUTEXES, INCLUDE_vTaskDelay, INCLUDE_xTaskGetSchedulerState, all 1; and
 * configCPU_CLOCK_HZ or NF2_FREERTOS_CLOCK_US() (see nf2_freertos_delay). Not to be called from
 * interrupts.
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
 * For a driver that waits for its chip: functions of struct spinor_bus that have the same names.
 *
 * pause: waits about `us` microseconds, in which other tasks run. From 1 ms on, or from a tick on,
 * it sleeps: tasks of lower priority run, too, whatever the tick rate is. Shorter ones only yield,
 * and may return at once; where one yield follows the other for some ticks, one of them sleeps for
 * a tick. So a task that waits for the chip never keeps the one that holds it from running.
 *
 * delay: waits at least `us` microseconds. Below 1 ms, or two ticks, it keeps the processor busy.
 *
 * now_us: a clock for time-outs. It has the steps of the tick, also where the tick count has 16
 * bits: then it must be asked at least once while those come round, or it falls behind.
 *
 * All three hold before the scheduler starts, too: there the clock counts what was waited.
 *
 * delay, and the others before the scheduler starts, count processor clocks, of which there are
 * configCPU_CLOCK_HZ in a second. Where that is not the processor's own rate, or not defined,
 * define NF2_FREERTOS_CLOCK_US() in FreeRTOSConfig.h: a clock in microseconds with steps of one,
 * which wraps at 2^32 and runs before the scheduler starts. now_us is that clock then.
 */
void nf2_freertos_pause(void *unused, uint32_t us);
void nf2_freertos_delay(void *unused, uint32_t us);
uint32_t nf2_freertos_now_us(void *unused);

/*
 * For a chip that several tasks use, over one volume or more: two mutexes, each with priority
 * inheritance. `claim` is held for the whole of a program or erase, so that a high task that waits
 * for it lends its priority to the low one that the chip works for. `bus` is held for a transfer.
 * The functions fit into struct spinor_bus where its `context` is a struct nf2_freertos_chip, or
 * begins with one. Before the scheduler starts they do nothing.
 */
struct nf2_freertos_chip {
    StaticSemaphore_t claim_memory, bus_memory;
    SemaphoreHandle_t claim, bus;
};

void nf2_freertos_chip_init(struct nf2_freertos_chip *chip);    /* once, before spinor_start */
void nf2_freertos_claim(void *chip);
void nf2_freertos_release(void *chip);
void nf2_freertos_bus_lock(void *chip);
void nf2_freertos_bus_unlock(void *chip);

#endif
